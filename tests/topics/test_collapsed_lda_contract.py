"""CollapsedLDA as scikit-learn sees it, in every method: checks, input, meta-estimators, interrupts, copies."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted
from topic_cases import (
    BAD_CALLS,
    COOKING,
    COPIES,
    FORMS,
    GIVEN,
    LATER,
    READ,
    SIZES,
    SPACE,
    K,
    N,
    Recorder,
    V,
    X,
    counter,
    fail_at,
    spoilt,
    spoilt_csr,
    state_of,
    texts,
)

from sparsemix import CollapsedLDA, __version__
from sparsemix._engine import documents as documents_module
from sparsemix._engine.monitor import Monitor
from sparsemix._estimator.checks import check_counts
from sparsemix.datasets import make_sparse_lda
from sparsemix.metrics import document_completion
from sparsemix.topics._collapsed.sweep_models import GibbsModel, SecondOrderModel, ZeroOrderModel

# Fits of a few sweeps: what is looked at is whether they are valid, not how far they came.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

METHODS = {"cvb0": ZeroOrderModel, "cvb": SecondOrderModel, "gibbs": GibbsModel}
per_method = pytest.mark.parametrize("method", METHODS)
OBJECTIVE = {"cvb0": "change", "cvb": "lower_bound", "gibbs": "log_joint"}


def lda(method="cvb0", n_components=K, **params):
    return CollapsedLDA(n_components, method=method, **({"max_iter": 3, "tol": 0.0, "random_state": 0} | params))


def said(est, rows=X):
    """What a model says of documents and of itself."""
    arrays = [est.transform(rows), est.components_, est.doc_topic_prior_, est.topic_word_prior_]
    return [np.asarray(array) for array in [*arrays, est.topic_weights_, est.score(rows)]]


def assert_same_bits(first, second, rows=X):
    for a, b in zip(said(first, rows), said(second, rows), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def snapshot(est):
    return dict(vars(est)), said(est)


def assert_unchanged(est, before):
    attributes, old = before
    assert dict(vars(est)) == attributes
    for a, b in zip(said(est), old, strict=True):
        np.testing.assert_array_equal(a, b)


def assert_never_fitted(est):
    assert sorted(vars(est)) == sorted(est.get_params())
    assert not hasattr(est, "components_")


def assert_valid(est, rows):
    """Everything finite, proportions and weights distributions, as many counts as tokens."""
    assert est.components_.shape == (est.n_components, np.shape(rows)[1])
    assert np.isfinite(est.components_).all()
    assert (est.components_ > 0).all()
    assert est.topic_weights_.sum() == pytest.approx(1.0)
    theta = est.transform(rows)
    assert (theta >= 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-9)
    assert all(np.isfinite(record[OBJECTIVE[est.method]]) for record in est.history_)
    sums = est.components_.sum(axis=0, dtype=float) - est.n_components * est.topic_word_prior_
    totals = np.asarray(rows.sum(axis=0)).ravel()
    np.testing.assert_allclose(sums, totals, rtol=1e-4, atol=1e-5 * totals.sum())


# -- scikit-learn's own checks

SETTINGS = [
    CollapsedLDA(4),
    CollapsedLDA(4, method="cvb", topic_word_prior=0.1),
    CollapsedLDA(3, method="cvb0", optimize_priors=True, max_iter=30),
    CollapsedLDA(3, method="cvb", optimize_priors=True, max_iter=15),
    CollapsedLDA(1),
]


def expected_failures(est):
    if est.n_components == 1:
        return {}
    reason = (
        "a sweep visits the copies of a document one after the other, and the start draws responsibilities for each; "
        "test_weight_of_two_is_two_documents_in_the_end asserts that both end at the same topics"
    )
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


WHOLE = [
    CollapsedLDA(3, method="gibbs", max_iter=20),
    CollapsedLDA(3, method="gibbs", max_iter=30, optimize_priors=True),
]


@parametrize_with_checks(WHOLE, expected_failed_checks=expected_failures)
def test_sklearn_checks_of_whole_counts(estimator, check, monkeypatch):
    """Most of the checks fit real numbers, of which Gibbs sampling sees tenths as its tokens here."""

    def whole_counts(*args, **kwargs):
        rows = check_counts(*args, **kwargs)
        if sparse.issparse(rows):
            rows = rows.copy()
            rows.data = np.floor(10 * rows.data)
            return rows
        return np.floor(10 * np.array(rows))

    monkeypatch.setattr("sparsemix.topics._collapsed.collapsed_lda.check_counts", whole_counts)
    check(estimator)


# -- parameters, tags, attributes


def test_parameters_survive_clone_and_set_params():
    est = CollapsedLDA(5, method="gibbs", doc_topic_prior=np.full(5, 0.3), init_params=GIVEN, burn_in=9, random_state=3)
    twin = clone(est)
    for name, value in est.get_params().items():
        np.testing.assert_array_equal(twin.get_params()[name], value, err_msg=name)
    assert twin.set_params(n_components=7, method="cvb") is twin
    assert (twin.n_components, twin.method, est.n_components) == (7, "cvb", 5)
    with pytest.raises(ValueError, match="n_jobs"):
        est.set_params(n_jobs=2)  # a sweep is one thread
    assert repr(est).startswith("CollapsedLDA(")


@per_method
def test_fit_leaves_parameters_alone(method):
    prior, start = np.full(K, 0.3), GIVEN.copy()
    est = lda(method, doc_topic_prior=prior, init_params=start, optimize_priors=True, max_iter=15)
    before = est.get_params()
    est.fit(X)
    assert all(est.get_params()[name] is value for name, value in before.items())
    np.testing.assert_array_equal(prior, 0.3)
    np.testing.assert_array_equal(start, GIVEN)
    assert not np.array_equal(est.doc_topic_prior_, prior)  # it was learned


def test_tags_say_transformer_of_sparse_counts():
    tags = get_tags(CollapsedLDA())
    assert tags.estimator_type is None
    assert tags.input_tags.sparse
    assert tags.input_tags.positive_only
    assert not tags.input_tags.allow_nan
    assert tags.transformer_tags.preserves_dtype == []


def test_unfitted_estimator_says_so():
    est = CollapsedLDA(2)
    with pytest.raises(NotFittedError):
        check_is_fitted(est)
    for method in ("transform", "score", "perplexity"):
        with pytest.raises(NotFittedError):
            getattr(est, method)(X)
    for call in (est.topic_table, est.get_feature_names_out):
        with pytest.raises(NotFittedError):
            call()
    for name in ("components_", "doc_topic_prior_", "topic_word_prior_", "topic_weights_", "n_iter_", "history_",
                 "lower_bound_", "n_samples_", "converged_"):  # fmt: skip
        assert not hasattr(est, name)


@per_method
def test_attributes_of_a_fit(method):
    est = lda(method, max_iter=4, burn_in=2, thin=2).fit(X)
    assert_valid(est, X)
    assert est.components_.dtype == np.float32
    assert est.n_features_in_ == V
    assert est.n_iter_ == 4
    assert [record["n_iter"] for record in est.history_] == [1, 2, 3, 4]
    assert (np.diff([record["seconds"] for record in est.history_]) > 0).all()
    name = OBJECTIVE[method]
    for record in est.history_:
        assert sorted(record) == sorted(["n_iter", "seconds", name, f"{name}_per_token"])
        assert record[f"{name}_per_token"] == pytest.approx(record[name] / X.sum(), rel=1e-12)
    assert hasattr(est, "lower_bound_") == hasattr(est, "lower_bounds_") == (method == "cvb")
    assert hasattr(est, "n_samples_") == (method == "gibbs")
    if method == "cvb":
        assert est.lower_bounds_ == [record["lower_bound"] for record in est.history_]
    assert not hasattr(est, "_row_state")  # it is as large as the documents times the topics
    assert not hasattr(est, "restart_acceptance_")


@per_method
def test_data_frame_gives_feature_names_and_takes_proportions(method):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X.toarray(), columns=[f"word{v}" for v in range(V)], index=np.arange(N) + 1000)
    est, plain = lda(method).fit(frame), lda(method).fit(X.toarray())
    assert list(est.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(est.transform(frame), plain.transform(X.toarray()))
    out = est.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == list(est.get_feature_names_out()) == [f"collapsedlda{k}" for k in range(K)]
    assert list(out.index) == list(frame.index)
    with pytest.raises(ValueError, match="feature names"):
        est.transform(frame[frame.columns[::-1]])
    assert est.topic_table(n_top_words=3)[0]["words"][0].startswith("word")


# -- wrong input


@per_method
@pytest.mark.parametrize("name", BAD_CALLS)
def test_wrong_input_is_named_and_leaves_an_unfitted_estimator_unfitted(name, method):
    rows, sample_weight, message = BAD_CALLS[name]
    est = lda(method)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        est.fit(rows, sample_weight=sample_weight)
    assert_never_fitted(est)


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("name", BAD_CALLS)
def test_wrong_input_leaves_a_fitted_model_alone(name, warm_start):
    rows, sample_weight, message = LATER[name]
    est = lda(warm_start=warm_start, max_iter=1).fit(X)
    before = snapshot(est)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        est.fit(rows, sample_weight=sample_weight)
    assert_unchanged(est, before)


@pytest.mark.parametrize("reader", ["transform", "score", "perplexity"])
@pytest.mark.parametrize("name", READ)
def test_readers_name_wrong_input(name, reader):
    rows, _, message = READ[name]
    est = lda(max_iter=1).fit(X)
    before = snapshot(est)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, reader)(rows)
    assert_unchanged(est, before)


@pytest.mark.parametrize("rows", [spoilt(1.5), spoilt_csr(1.5), sparse.csc_array(spoilt_csr(1.5))],
                         ids=["dense", "CSR", "CSC"])  # fmt: skip
def test_gibbs_refuses_counts_that_are_not_whole(rows):
    weight = np.ones(N)
    weight[:20] = 0.0  # the row is the caller's
    fitted = lda("gibbs").fit(X)
    before = snapshot(fitted)
    for est in (lda("gibbs"), fitted):
        with pytest.raises(ValueError, match=r'row 41 of X has the count 1\.5.*whole numbers.*round.*method="cvb0"'):
            est.fit(rows, sample_weight=weight)
    assert_unchanged(fitted, before)
    for method in ("cvb0", "cvb"):
        assert_valid(lda(method).fit(rows), rows)
    assert np.isfinite(fitted.transform(rows)).all()  # new documents may have any weights


@per_method
@pytest.mark.parametrize(
    ("rows", "weight"),
    [
        (np.zeros((4, V)), None),
        (sparse.csr_array((np.zeros(3), np.arange(3), [0, 1, 2, 3, 3]), shape=(4, V)), None),
        (np.vstack([np.zeros((3, V)), np.ones((1, V))]), [1.0, 1.0, 2.0, 0.0]),
    ],
    ids=["dense", "stored zeros", "no weight"],
)
def test_corpus_without_tokens_is_refused(rows, weight, method):
    est = lda(method)
    with pytest.raises(ValueError, match=r"no document of X has a token of positive weight.*at least one"):
        est.fit(rows, sample_weight=weight)
    assert_never_fitted(est)


BAD_PARAMETERS = {
    "n_components": [0, -1, 2.5, "many", None],
    "method": ["vb", None],
    "doc_topic_prior": [0, -1.0, np.nan, np.inf, "auto"],
    "topic_word_prior": [0, -1.0, np.nan, np.inf, "auto", [0.1] * V],
    "optimize_priors": ["yes", 2],
    "init_params": ["em", None, 3],
    "max_iter": [-1, 1.5, None],
    "tol": [-1.0, np.nan],
    "burn_in": [-1, 1.5],
    "thin": [0, -1, 1.5, None],
    "max_doc_update_iter": [0, 1.5],
    "warm_start": ["yes", 2],
    "verbose": [-1, "loud"],
    "random_state": ["seed", -1.5],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_PARAMETERS.items() for value in values]
)
def test_invalid_parameter_is_named(name, value):
    est = lda().set_params(**{name: value})
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of CollapsedLDA"):
        est.fit(X)
    assert_never_fitted(est)


def test_every_parameter_has_wrong_values_above():
    assert sorted(BAD_PARAMETERS) == sorted(CollapsedLDA().get_params())


@per_method
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"doc_topic_prior": [0.1] * 4}, r"doc_topic_prior has shape \(4,\), expected a number or \(5,\)"),
        ({"doc_topic_prior": [0.1] * 4 + [0.0]}, "doc_topic_prior must be positive and finite"),
        ({"init_params": GIVEN[:4]}, rf"init_params has shape \(4, {V}\), expected \(5, {V}\): topics by"),
        ({"init_params": np.vstack([GIVEN[:4], np.zeros((1, V))])}, "every topic needs a word"),
        ({"init_params": np.where(GIVEN > 2, np.nan, GIVEN)}, "init_params contains NaN"),
    ],
)
def test_wrong_array_is_named(params, message, method):
    est = lda(method, **params)
    with pytest.raises(ValueError, match=message):
        est.fit(X)
    assert_never_fitted(est)


# -- counts in every form


def all_results(rows, method):
    est = lda(method).fit(rows)
    weighed = lda(method, max_iter=1).fit(rows, sample_weight=np.arange(N))
    return [est.transform(rows), est.score(rows), np.array(est.components_), np.array(weighed.components_)]


@pytest.fixture(scope="module")
def wanted():
    return {method: all_results(X, method) for method in METHODS}


@per_method
@pytest.mark.parametrize("name", FORMS)
def test_form_of_the_counts_changes_neither_result_nor_data(name, method, wanted):
    rows = FORMS[name]
    before = state_of(rows)
    for got, want in zip(all_results(rows, method), wanted[method], strict=True):
        np.testing.assert_array_equal(got, want)
    for a, b in zip(before, state_of(rows), strict=True):
        np.testing.assert_array_equal(a, b)


@per_method
@pytest.mark.parametrize("optimize_priors", [False, True])
@pytest.mark.parametrize("n_components", [1, 3, 40])
@pytest.mark.parametrize("name", SIZES)
def test_unusual_corpora_give_valid_topics(name, n_components, optimize_priors, method):
    est = lda(method, n_components, optimize_priors=optimize_priors, max_iter=13)
    assert_valid(est.fit(SIZES[name]), SIZES[name])


@pytest.mark.parametrize("method", ["cvb0", "cvb"])
@pytest.mark.parametrize("factor", [1e-3, 1e7])
def test_huge_and_small_counts(factor, method):
    est = lda(method, max_iter=20).fit(X * factor)
    assert_valid(est, X * factor)
    assert np.isfinite(est.score(X * factor))


@pytest.mark.parametrize("method", ["cvb0", "cvb"])
def test_real_valued_counts(method):
    rows = TfidfTransformer().fit_transform(X)
    assert_valid(lda(method, max_iter=20).fit(rows), rows)


def test_tables_of_many_tokens_are_exact(monkeypatch):
    """Single precision counts to 2**24; where there are more tokens, or weights are parts, tables are double."""
    assert lda("gibbs").fit(X).components_.dtype == np.float32
    assert lda("gibbs").fit(X, sample_weight=np.full(N, 2.0)).components_.dtype == np.float32
    assert lda("gibbs").fit(X, sample_weight=np.full(N, 0.1)).components_.dtype == np.float64
    assert lda("cvb0").fit(X, sample_weight=np.full(N, 0.1)).components_.dtype == np.float32
    one = lda("gibbs").fit(X)
    monkeypatch.setattr("sparsemix.topics._collapsed.assemble_sweeps.EXACT", 100)
    many = lda("gibbs").fit(X)
    assert many.components_.dtype == np.float64
    np.testing.assert_allclose(many.components_, one.components_, rtol=1e-6)


@per_method
def test_words_that_never_occur_stay_at_the_prior(method):
    rows = np.hstack([X.toarray(), np.zeros((N, 2), dtype=int)])
    est = lda(method, topic_word_prior=0.05).fit(rows)
    np.testing.assert_allclose(est.components_[:, -2:], 0.05, rtol=1e-6)


# -- the same bits


@per_method
@pytest.mark.parametrize("optimize_priors", [False, True])
def test_fit_gives_the_same_bits_twice_whatever_the_chunks(method, optimize_priors, monkeypatch):
    many = make_sparse_lda(1400, n_features=V, n_components=K, doc_length=20, random_state=2)[0]
    weight = np.random.default_rng(0).uniform(0.0, 2.0, 1400)
    params = {"optimize_priors": optimize_priors, "max_iter": 12}
    one, again = (lda(method, **params).fit(many, sample_weight=weight) for _ in range(2))
    assert_same_bits(one, again, many)
    assert [r[OBJECTIVE[method]] for r in one.history_] == [r[OBJECTIVE[method]] for r in again.history_]
    monkeypatch.setattr(documents_module, "CHUNK_BYTES", 1 << 15)
    chunked = lda(method, **params).fit(many, sample_weight=weight)
    np.testing.assert_allclose(chunked.components_, one.components_, rtol=1e-2, atol=1e-2)
    other = lda(method, random_state=1, **params).fit(many, sample_weight=weight)
    assert not np.allclose(other.components_, one.components_, rtol=1e-2, atol=1e-2)


@per_method
def test_random_state_instance_moves_on(method):
    state = np.random.RandomState(0)
    first, second = lda(method, random_state=state).fit(X), lda(method, random_state=state).fit(X)
    assert not np.array_equal(first.components_, second.components_)
    assert_same_bits(first, lda(method, random_state=np.random.RandomState(0)).fit(X))


@per_method
def test_transform_is_of_each_document_alone(method, monkeypatch):
    monkeypatch.setattr("sparsemix.topics._readings.DOCUMENTS", 25)
    est = lda(method, max_iter=30).fit(X)
    theta = est.transform(X)
    assert theta.dtype == np.float64
    np.testing.assert_array_equal(est.transform(X), theta)  # no randomness
    order = np.random.default_rng(0).permutation(N)
    np.testing.assert_array_equal(est.transform(X[order]), theta[order])
    np.testing.assert_array_equal(np.vstack([est.transform(X[[n]]) for n in range(0, N, 5)]), theta[::5])
    np.testing.assert_array_equal(lda(method, max_iter=30).fit_transform(X), theta)


def test_score_is_document_completion():
    est = lda(doc_topic_prior=[0.1, 0.2, 0.3, 0.4, 1.0]).fit(X[:50])
    score = est.score(X[50:])
    assert isinstance(score, float)
    assert score == document_completion(est, X[50:])
    assert score == document_completion(np.array(est.components_), X[50:], doc_topic_prior=est.doc_topic_prior_)
    assert est.perplexity(X[50:]) == np.exp(-score)


# -- weights


@per_method
def test_documents_without_weight_leave_first(method):
    weight = np.random.default_rng(3).integers(0, 3, N).astype(float)
    weighed = lda(method).fit(X, sample_weight=weight)
    removed = lda(method).fit(X[weight > 0], sample_weight=weight[weight > 0])
    assert_same_bits(weighed, removed)
    totals = np.asarray(X.T @ weight).ravel()
    np.testing.assert_allclose(weighed.components_.sum(axis=0) - K * 0.01, totals, rtol=1e-4, atol=1e-3)


@per_method
def test_weights_of_one_change_nothing(method):
    plain = lda(method).fit(X)
    assert_same_bits(plain, lda(method).fit(X, sample_weight=np.ones(N)))
    assert_same_bits(plain, lda(method).fit(X, sample_weight=1))
    weighed, longer = lda(method).fit(X, sample_weight=np.full(N, 2.0)), lda(method).fit(2 * X)
    assert weighed.components_.sum() == pytest.approx(longer.components_.sum(), rel=1e-5)
    assert np.abs(weighed.components_ - longer.components_).max() > 1  # a weight is not a longer document


# -- fits again


@per_method
def test_warm_start_continues(method):
    params = {"burn_in": 0, "thin": 6} if method == "gibbs" else {}
    straight = lda(method, max_iter=6, **params).fit(X)
    params = {"burn_in": 0, "thin": 3} if method == "gibbs" else {}
    resumed = lda(method, max_iter=3, warm_start=True, **params).fit(X)
    resumed.fit(X)
    np.testing.assert_allclose(resumed.components_, straight.components_, rtol=1e-3, atol=1e-3)
    one, two = (est.history_[-1][OBJECTIVE[method]] for est in (resumed, straight))
    assert one == pytest.approx(two, rel=1e-3)
    cold = lda(method, max_iter=3, **params).fit(X).fit(X)  # without warm_start, all anew
    assert not np.allclose(cold.components_, straight.components_, rtol=1e-3, atol=1e-3)


@per_method
def test_warm_start_with_other_documents_or_method_goes_on_from_the_topics(method):
    many = sparse.csr_array(make_sparse_lda(300, n_features=V, n_components=K, doc_length=50, random_state=2)[0])
    est = lda(method, max_iter=60, warm_start=True, topic_word_prior=0.1).fit(many)
    score, other = est.score(many), many[::-1]
    cold = lda(method, max_iter=2).fit(other).score(many)
    for name in (method, *METHODS):
        est.set_params(max_iter=2, method=name).fit(other)
        assert est.score(many) > cold + 0.8 * (score - cold)
        assert_valid(est, other)
    for rows in (many[:200], sparse.vstack([many, many], format="csr"), 2 * many, many):
        assert_valid(est.fit(rows), rows)


def test_warm_start_with_other_topics_is_refused():
    est = lda(warm_start=True).fit(X)
    before = snapshot(est)
    with pytest.raises(ValueError, match=r"warm_start.*5 topics.*keep n_components.*warm_start=False"):
        est.set_params(n_components=4).fit(X)
    assert_unchanged(est.set_params(n_components=5), before)


def test_warm_start_goes_on_from_learned_priors():
    est = lda(warm_start=True, optimize_priors=True, max_iter=14).fit(X)
    prior = est.doc_topic_prior_
    est.set_params(max_iter=0).fit(X)
    np.testing.assert_array_equal(est.doc_topic_prior_, prior)


@per_method
@pytest.mark.parametrize(("verbose", "n_lines"), [(0, 0), (1, 6), (2, 3)])
def test_verbose_prints_a_line_every_so_many_sweeps(verbose, n_lines, method, capsys):
    lda(method, verbose=verbose, max_iter=6).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == n_lines
    text = OBJECTIVE[method].replace("_", " ") + " per token"
    assert all(line.startswith("CollapsedLDA pass") and text in line for line in lines)


@pytest.mark.parametrize(("method", "tol"), [("cvb0", 0.1), ("cvb", 0.03), ("cvb0", None), ("cvb", None)])
def test_convergence_is_reported_and_its_absence_warned_of(method, tol):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = lda(method, max_iter=2000, tol=tol).fit(X)
    assert est.converged_
    assert 12 <= est.n_iter_ < 2000  # in the first sweeps topics are nearly alike and change little
    limit = {"cvb0": 5e-3, "cvb": 1e-3}[method] if tol is None else tol
    if method == "cvb":
        gain = np.diff(est.lower_bounds_)[10:] / X.sum()
        settled = (gain >= 0) & (gain < limit)
    else:
        changes = np.array([record["change_per_token"] for record in est.history_])
        settled = ((changes[1:] < limit) & (changes[1:] <= changes[:-1]))[10:]
    assert settled[-1]
    assert not settled[:-1].any()
    with pytest.warns(ConvergenceWarning, match="max_iter=2 sweeps"):
        assert not est.set_params(max_iter=2, tol=1e-9).fit(X).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not est.set_params(tol=0.0).fit(X).converged_  # as many sweeps as asked for
        assert not est.set_params(method="gibbs", tol=1.0).fit(X).converged_  # a chain has none
    assert est.n_iter_ == 2


@per_method
@pytest.mark.parametrize("start", ["random", GIVEN], ids=["random", "given"])
def test_no_sweep_leaves_the_start(start, method):
    est = lda(method, init_params=start, max_iter=0).fit(X)
    assert (est.n_iter_, est.history_) == (0, [])
    assert est.components_.sum() == pytest.approx(X.sum() + K * V * est.topic_word_prior_, rel=1e-3)
    if not isinstance(start, str):
        np.testing.assert_allclose(est.components_ - 0.01, GIVEN / GIVEN.sum() * X.sum(), rtol=1e-3)


# -- interrupts


@per_method
@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("name", ["sweep", "recount", "global_step", "step"])
def test_failure_before_the_first_sweep_is_complete_restores_the_model(name, warm_start, method, monkeypatch):
    est, new = lda(method, warm_start=warm_start).fit(X), lda(method)
    before, attributes = said(est), dict(vars(est))
    for one in (est, new):
        with monkeypatch.context() as patch:
            fail_at(patch, Monitor if name == "step" else METHODS[method], name, 1)
            with pytest.raises(KeyboardInterrupt):
                one.fit(2 * X[::-1])
    assert dict(vars(est)) == attributes
    for a, b in zip(before, said(est), strict=True):
        np.testing.assert_array_equal(a, b)
    assert_never_fitted(new)


@per_method
@pytest.mark.parametrize("optimize_priors", [False, True])
@pytest.mark.parametrize("where", ["sweep", "global_step", "step"])
def test_interrupt_leaves_the_last_completed_sweep(where, optimize_priors, method, monkeypatch):
    monkeypatch.setattr(documents_module, "CHUNK_BYTES", 1 << 12)  # two chunks: sweeps are interrupted half way
    rows = sparse.vstack([X] * 10, format="csr")
    params = {"optimize_priors": optimize_priors, "max_iter": 30, "burn_in": 5, "thin": 3}
    est = lda(method, **params).fit(rows[:, ::-1])  # an old model, which must not shine through
    calls = {"sweep": 2 * 12 + 2, "global_step": 13, "step": 13}[where]
    with monkeypatch.context() as patch:
        fail_at(patch, Monitor if where == "step" else METHODS[method], where, calls)
        with pytest.raises(KeyboardInterrupt):
            est.fit(rows)
    twelve = lda(method, **(params | {"max_iter": 12})).fit(rows)
    assert est.n_iter_ == len(est.history_) == 12
    assert not est.converged_
    assert_same_bits(est, twelve)
    if method == "gibbs":
        assert est.n_samples_ == twelve.n_samples_ == 2


@per_method
def test_interrupted_state_of_rows_is_not_gone_on_with(method, monkeypatch):
    est = lda(method, warm_start=True, max_iter=5).fit(X)
    before = said(est)
    with monkeypatch.context() as patch:
        fail_at(patch, METHODS[method], "global_step", 1)
        with pytest.raises(KeyboardInterrupt):
            est.fit(X)
    for a, b in zip(before, said(est), strict=True):
        np.testing.assert_array_equal(a, b)
    with monkeypatch.context() as patch:
        original = METHODS[method].sweep

        def half(self, *args):
            original(self, *args)
            raise KeyboardInterrupt

        patch.setattr(METHODS[method], "sweep", half)
        with pytest.raises(KeyboardInterrupt):
            est.fit(X)
    assert not est._row_state.whole
    est.fit(X)
    assert est._row_state.whole
    assert_valid(est, X)


# -- callbacks, from scikit-learn 1.9 on


@pytest.fixture
def recorder():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    return Recorder()


@per_method
def test_callback_is_called_once_a_sweep(method, recorder):
    est = lda(method, optimize_priors=True, burn_in=0, thin=1).set_callbacks(recorder).fit(X)
    assert recorder.calls == ["setup", "begin fit", *["begin pass", "end pass"] * 3, "end fit", "teardown"]
    assert recorder.scores[-1] == est.score(X)
    assert len(set(recorder.scores[:3])) == 3
    for fitted, theta in recorder.seen:
        np.testing.assert_array_equal(fitted.transform(X), theta)
    assert_same_bits(clone(est).set_callbacks().fit(X), est)


@per_method
def test_callback_may_stop_the_fit_or_fail(method, recorder):
    recorder.stop_after = 2
    est = lda(method, max_iter=50, tol=1e-9).set_callbacks(recorder).fit(X)
    assert est.n_iter_ == len(est.history_) == 2
    failing = Recorder(fail_after=2)
    est = lda(method, max_iter=50).fit(X[::-1]).set_callbacks(failing)
    with pytest.raises(RuntimeError, match="the callback fails"):
        est.fit(X)
    assert_same_bits(est.set_callbacks(), lda(method, max_iter=2, burn_in=25).fit(X))


# -- copies


@per_method
@pytest.mark.parametrize("copied", COPIES)
def test_copy_of_a_fit_is_the_fit(copied, method, tmp_path):
    est = lda(method, optimize_priors=True, warm_start=True, max_iter=12).fit(X)
    twin = copied(est, tmp_path)
    assert_same_bits(est, twin)
    assert (twin.n_iter_, twin.history_) == (est.n_iter_, est.history_)
    assert getattr(twin, "lower_bounds_", None) == getattr(est, "lower_bounds_", None)
    assert_same_bits(est.fit(X), twin.fit(X))  # and goes on as it would have


def test_pickle_carries_the_version_and_no_tables():
    est = lda().fit(X)
    state = est.__getstate__()
    assert state["_sparsemix_version"] == __version__
    state["_sparsemix_version"] = "0.0.1"
    with pytest.warns(UserWarning, match=rf"CollapsedLDA was pickled by sparsemix 0\.0\.1 .*{__version__}"):
        CollapsedLDA().__setstate__(state)
    before = pickle.dumps(est)
    said(est)
    assert len(pickle.dumps(est)) == len(before)
    many = lda().fit(sparse.vstack([X] * 10, format="csr"))
    assert len(pickle.dumps(many)) < len(before) + 100  # nothing of documents
    assert len(pickle.dumps(copy.copy(est))) == len(before)


# -- meta-estimators


@per_method
def test_topics_of_two_vocabularies_separate(method):
    params = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1, "random_state": 0}
    pipeline = make_pipeline(counter(), CollapsedLDA(2, method=method, **params)).fit(texts())
    theta = pipeline.transform(texts())
    labels = theta.argmax(axis=1)
    assert len(set(labels[::2])) == len(set(labels[1::2])) == 1
    assert labels[0] != labels[1]
    assert theta.max(axis=1).min() > 0.8
    table = pipeline[-1].topic_table(pipeline[:-1].get_feature_names_out())
    assert sorted(sorted(row["words"]) for row in table) == sorted([sorted(COOKING), sorted(SPACE)])
    assert pipeline[-1].perplexity(pipeline[:-1].transform(texts(seed=1))) < 13


@per_method
def test_grid_search_over_a_pipeline_of_text(method):
    pipeline = make_pipeline(counter(), CollapsedLDA(method=method, max_iter=40, topic_word_prior=0.1, random_state=0))
    search = GridSearchCV(pipeline, {"collapsedlda__n_components": [1, 2]}, cv=3).fit(texts())
    assert search.best_params_ == {"collapsedlda__n_components": 2}


def test_sample_weights_are_routed_through_a_grid_search():
    weight = np.random.default_rng(2).uniform(0.5, 2.0, N)
    with config_context(enable_metadata_routing=True):
        base = lda().set_fit_request(sample_weight=True)
        search = GridSearchCV(base, {"n_components": [K]}, cv=2).fit(X, sample_weight=weight)
    assert_same_bits(search.best_estimator_, lda().fit(X, sample_weight=weight))
