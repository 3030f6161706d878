"""StreamingNGGPMixture as scikit-learn sees it: checks, parameters, input, meta-estimators, callbacks."""

import warnings

import numpy as np
import pytest
from cluster_cases import (
    APART,
    GAUSSIANS,
    GROUPS,
    LIKELIHOODS,
    STREAM_NAMES,
    TEXTS,
    apart,
    assert_never_fitted,
    assert_same_bits,
    assert_unchanged,
    assert_valid,
    rows_of,
    said,
    same_partition,
    snapshot,
    stream,
    streaming,
)
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted
from topic_cases import BAD_CALLS, FORMS, LATER, READ, SIZES, Recorder, V, X, counter, state_of, texts

from sparsemix import StreamingNGGPMixture

per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)
EPOCHS = {"ADF": 1, "EP": 4}
per_method = pytest.mark.parametrize("n_epochs", EPOCHS.values(), ids=EPOCHS)

# -- scikit-learn's own checks

SETTINGS = [
    StreamingNGGPMixture(),
    StreamingNGGPMixture(n_epochs=5),
    StreamingNGGPMixture(concentration=1.0, discount=0.5, merge_criterion="bayes_factor", merge_every=5),
    StreamingNGGPMixture(discount=0.7, tilt=0.0, merge_criterion="similarity", prune_threshold=1.5, merge_every=5),
    StreamingNGGPMixture(
        discount=0.5, u_rule="quadrature", expected_clusters="count", merge_criterion="responsibility", merge_every=5
    ),
    StreamingNGGPMixture(n_nonzero=1, max_components=3, n_epochs=5, merge_criterion="responsibility"),
    StreamingNGGPMixture("full"),
    StreamingNGGPMixture("full", n_epochs=5, discount=0.5, u_rule="quadrature", max_components=4),
    StreamingNGGPMixture("diag", n_epochs=5),
    StreamingNGGPMixture("spherical", discount=0.7, tilt=0.0, prune_threshold=1.0, merge_every=10),
    StreamingNGGPMixture("zero_mean", n_epochs=3),
]
ONE_ARRIVAL = "a row of weight w arrives once with mass w: it is not w rows, each of which may open a cluster"
NOT_FOR_COUNTS = "the rows are blobs around zero, and the likelihood is one of counts"
NOT_FOR_MEANS = "the rows are blobs with different means, and the likelihood has mean zero"
AS_A_CLASSIFIER = "predict_proba has a column for each cluster found, and the check wants the four of a classifier"


def expected_failures(est):
    sparse_checks = ["check_estimator_sparse_array", "check_estimator_sparse_matrix"]
    failing = dict.fromkeys(sparse_checks, AS_A_CLASSIFIER) if est.likelihood in ("auto", "multinomial") else {}
    if est.likelihood == "multinomial":
        return failing | dict.fromkeys(["check_clustering", "check_clusterer_compute_labels_predict"], NOT_FOR_COUNTS)
    failing |= {"check_sample_weight_equivalence_on_dense_data": ONE_ARRIVAL}
    return failing | ({"check_clustering": NOT_FOR_MEANS} if est.likelihood == "zero_mean" else {})


@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


# -- parameters, tags, attributes


def test_parameters_survive_clone_and_set_params():
    est = StreamingNGGPMixture("diag", mean_prior=np.arange(3.0), discount=0.5, n_epochs=3, random_state=3)
    twin = clone(est.fit(np.random.default_rng(0).normal(size=(20, 3))))
    assert_never_fitted(twin)
    for name, value in est.get_params().items():
        np.testing.assert_array_equal(twin.get_params()[name], value, err_msg=name)
    assert twin.set_params(likelihood="full", concentration=2.0) is twin
    assert (twin.likelihood, twin.concentration, est.likelihood) == ("full", 2.0, "diag")
    with pytest.raises(ValueError, match="n_jobs"):
        est.set_params(n_jobs=2)  # rows come one after the other
    assert repr(est).startswith("StreamingNGGPMixture(")


@per_likelihood
def test_fit_leaves_parameters_alone(likelihood):
    est = streaming(likelihood, n_epochs=3)
    before = est.get_params()
    stream(est.fit(rows_of(likelihood)), rows_of(likelihood), 50)
    assert all(est.get_params()[name] is value for name, value in before.items())


@per_likelihood
def test_tags_depend_on_the_likelihood(likelihood):
    tags = get_tags(StreamingNGGPMixture(likelihood))
    assert tags.estimator_type == "clusterer"
    assert tags.input_tags.sparse == tags.input_tags.positive_only == (likelihood == "multinomial")
    assert not tags.input_tags.allow_nan
    assert not tags.target_tags.required
    assert tags.requires_fit


def test_unfitted_estimator_says_so():
    est = StreamingNGGPMixture()
    with pytest.raises(NotFittedError):
        check_is_fitted(est)
    for method in ("predict", "predict_proba", "predict_sparse_proba", "transform", "score_samples", "score"):
        with pytest.raises(NotFittedError):
            getattr(est, method)(TEXTS)
    with pytest.raises(NotFittedError):
        est.get_feature_names_out()
    for name in [*STREAM_NAMES, "covariances_", "labels_", "n_iter_", "history_", "converged_"]:
        assert not hasattr(est, name), name


@per_likelihood
@per_method
def test_attributes_of_a_fit(n_epochs, likelihood):
    rows = rows_of(likelihood)
    est = streaming(likelihood, n_epochs=n_epochs, tol=0.0).fit(rows)
    assert_valid(est, rows)
    n_live = int((np.abs(rows).sum(axis=1) > 0).sum())
    assert est.counts_.sum() <= n_live * (1 + 1e-12)
    assert est.n_features_in_ == rows.shape[1]
    assert est.n_samples_seen_ == 150
    assert (est.n_iter_, est.converged_) == (n_epochs, False)
    assert est.labels_.dtype == np.int64
    np.testing.assert_array_equal(est.labels_, est.predict(rows))
    np.testing.assert_array_equal(clone(est).fit_predict(rows), est.labels_)
    assert [record["n_iter"] for record in est.history_] == list(range(1, n_epochs + 1))
    assert (np.diff([record["seconds"] for record in est.history_]) > 0).all()
    for record in est.history_:
        assert sorted(record) == ["change", "log_predictive", "log_predictive_per_row", "n_iter", "seconds"]
        assert record["log_predictive_per_row"] == pytest.approx(record["log_predictive"] / n_live, rel=1e-9)
    assert hasattr(est, "covariances_") == (likelihood != "multinomial")
    shapes = {"full": (2, 2), "zero_mean": (2, 2), "diag": (2,), "spherical": ()}
    if likelihood != "multinomial":
        assert est.covariances_.shape == (est.n_clusters_, *shapes[likelihood])
    else:
        with pytest.raises(AttributeError, match="'multinomial' has no covariances"):
            _ = est.covariances_
    assert not hasattr(est.set_params(compute_labels=False).fit(rows), "labels_")


def test_partial_fit_drops_what_told_of_a_fit():
    est = streaming().fit(TEXTS)
    ids = est.cluster_ids_
    est.partial_fit(TEXTS[:10])
    for name in ("labels_", "n_iter_", "history_", "converged_"):
        assert not hasattr(est, name)
    assert est.n_samples_seen_ == 160
    np.testing.assert_array_equal(est.cluster_ids_[: len(ids)], ids)  # the clusters of the fit go on


def test_data_frame_gives_feature_names_and_takes_responsibilities():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(APART, columns=[f"word{v}" for v in range(30)], index=np.arange(120) + 1000)
    est = streaming().fit(frame)
    assert list(est.feature_names_in_) == list(frame.columns)
    out = est.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == list(est.get_feature_names_out())
    assert list(out.columns) == [f"streamingnggpmixture{k}" for k in range(est.n_clusters_)]
    assert list(out.index) == list(frame.index)
    np.testing.assert_array_equal(out.to_numpy(), est.predict_proba(frame))
    with pytest.raises(ValueError, match="feature names"):
        est.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        est.partial_fit(frame[frame.columns[::-1]])
    assert_same_bits(est.partial_fit(frame), streaming().fit(frame).partial_fit(frame), frame)


# -- wrong input


@per_method
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", BAD_CALLS)
def test_wrong_counts_are_named_and_leave_an_unfitted_estimator_unfitted(name, call, n_epochs):
    rows, sample_weight, message = BAD_CALLS[name]
    est = streaming(n_epochs=n_epochs)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, call)(rows, sample_weight=sample_weight)
    assert_never_fitted(est)


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", LATER)
def test_wrong_counts_leave_a_fitted_model_alone(name, call):
    if call == "fit" and "width" in name:
        pytest.skip("a fit may have another width")
    rows, sample_weight, message = LATER[name]
    est = streaming().fit(X)
    before = snapshot(est, X)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, call)(rows, sample_weight=sample_weight)
    assert_unchanged(est, before, X)
    assert_same_bits(est.partial_fit(X), streaming().fit(X).partial_fit(X), X)


@pytest.mark.parametrize("reader", ["predict", "predict_proba", "predict_sparse_proba", "score_samples", "score"])
@pytest.mark.parametrize("name", READ)
def test_readers_name_wrong_counts(name, reader):
    rows, _, message = READ[name]
    est = streaming().fit(X)
    before = snapshot(est, X)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, reader)(rows)
    assert_unchanged(est, before, X)


@pytest.mark.parametrize("method", ["partial_fit", "predict", "score"])
def test_a_wider_vocabulary_is_refused_with_the_remedy(method):
    est = streaming().partial_fit(TEXTS)
    wide = sparse.hstack([TEXTS, TEXTS], format="csr")
    before = snapshot(est)
    with pytest.raises(ValueError, match=r"50 features.*expecting 25 features.*hash the words.*HashingVectorizer"):
        getattr(est, method)(wide)
    assert_unchanged(est, before)


def bad_rows(value, row=41):
    out = np.array(rows_of("full"))
    out[row, 1] = value
    return out


BAD_ROWS = {
    "NaN": (bad_rows(np.nan), None, "NaN in row 41, column 1.*remove such rows or impute"),
    "infinity": (bad_rows(-np.inf), None, "infinity in row 41, column 1"),
    "float32": (bad_rows(np.nan, 0).astype(np.float32), None, "NaN in row 0"),
    "sparse": (sparse.csr_array(rows_of("full")), None, "[Ss]parse"),
    "no rows": (np.empty((0, 2)), None, "0 sample"),
    "one dimension": (np.ones(2), None, "Reshape your data"),
    "negative weight": (rows_of("full"), np.r_[np.ones(149), -1.0], r"sample_weight of row 149 is -1\.0"),
    "NaN weight": (rows_of("full"), np.r_[np.nan, np.ones(149)], "sample_weight of row 0 is nan"),
    "few weights": (rows_of("full"), np.ones(149), r"sample_weight has shape \(149,\), expected \(150,\)"),
    "zero weights": (rows_of("full"), np.zeros(150), "every sample_weight is zero"),
}


@pytest.mark.parametrize("likelihood", GAUSSIANS)
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", BAD_ROWS)
def test_wrong_rows_are_named_and_change_nothing(name, call, likelihood):
    rows, sample_weight, message = BAD_ROWS[name]
    new, est = streaming(likelihood), streaming(likelihood).fit(rows_of(likelihood))
    before = snapshot(est)
    for one in (new, est):
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(one, call)(rows, sample_weight=sample_weight)
    assert_never_fitted(new)
    assert_unchanged(est, before)


@pytest.mark.parametrize("likelihood", GAUSSIANS)
def test_a_row_without_finite_density_is_named_and_ends_the_stream_before_it(likelihood):
    rows = rows_of(likelihood).copy()
    rows[100] = 1e200
    weight = np.ones(150)
    weight[:20] = 0.0  # the row is the caller's
    est = streaming(likelihood).partial_fit(rows[:50])
    with pytest.raises(ValueError, match=r"row 100 of X has no finite density.*rescale X, or remove"):
        est.partial_fit(rows, sample_weight=weight)
    assert_same_bits(est, stream(streaming(likelihood), np.vstack([rows[:50], rows[20:100]])), rows[:100])
    fitted = streaming(likelihood, n_epochs=2).fit(rows[:100])
    before = snapshot(fitted, rows[:100])
    for one in (fitted, streaming(likelihood)):
        with pytest.raises(ValueError, match="row 100 of X has no finite density"):
            one.fit(rows)
    assert_unchanged(fitted, before, rows[:100])
    new = streaming(likelihood)
    with pytest.raises(ValueError, match="row 0 of X has no finite density"):
        new.partial_fit(rows[100:])
    assert_never_fitted(new)


@pytest.mark.parametrize("rows", [np.zeros((4, 5)), sparse.csr_array(([0.0, 0.0], ([0, 1], [2, 3])), shape=(4, 5))],
                         ids=["dense", "stored zeros"])  # fmt: skip
def test_a_fit_without_words_is_refused(rows):
    est = streaming()
    with pytest.raises(ValueError, match=r"no document of X has a token of positive weight.*at least one"):
        est.fit(rows)
    assert_never_fitted(est)


BAD_PARAMETERS = {
    "likelihood": ["tied", "poisson", None],
    "concentration": [0, -1.0, np.nan, "auto"],
    "discount": [-0.1, 1.0, np.nan, None],
    "tilt": [-1.0, np.nan, None],
    "new_cluster_threshold": [-0.1, 1.1, "auto"],
    "n_nonzero": [0, -1, 1.5],
    "max_components": [0, -1, 1.5],
    "dirichlet_prior": [0, -1.0, np.nan, None],
    "mean_precision_prior": [0, -1.0, "auto"],
    "mean_prior": [1.0, "zero"],
    "degrees_of_freedom_prior": [0, -1.0, "auto"],
    "covariance_prior": [0, -1.0, "auto"],
    "u_rule": ["mean", None],
    "expected_clusters": ["all", None],
    "merge_criterion": ["evidence", True],
    "merge_threshold": ["high", [1.0]],
    "merge_every": [0, -1, 1.5, None],
    "prune_threshold": [-1.0, "auto"],
    "half_life": [0.0, -1.0, "auto"],
    "n_epochs": [0, -1, 1.5, None],
    "tol": [-1.0, None],
    "shuffle": ["yes", 2],
    "compute_labels": ["yes", 2],
    "verbose": [-1, "loud"],
    "random_state": ["seed", -1.5],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_PARAMETERS.items() for value in values]
)
def test_invalid_parameter_is_named(name, value):
    est = streaming().set_params(**{name: value})
    for call in (est.fit, est.partial_fit):
        with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of StreamingNGGPMixture"):
            call(TEXTS)
    assert_never_fitted(est)


def test_every_parameter_has_wrong_values_above():
    assert sorted(BAD_PARAMETERS) == sorted(StreamingNGGPMixture().get_params())


@pytest.mark.parametrize(
    ("likelihood", "params", "message"),
    [
        ("multinomial", {"discount": 0.0, "tilt": 0.0}, "discount and tilt are both 0.*positive"),
        ("full", {"discount": 0.0, "tilt": 0.0}, "discount and tilt are both 0"),
        ("multinomial", {"discount": 0.5, "new_cluster_threshold": 0.4}, "is 0.4.*at least discount=0.5"),
        ("full", {"mean_prior": np.ones(3)}, r"mean_prior has shape \(3,\), expected \(2,\)"),
        ("diag", {"mean_prior": [1.0, np.nan]}, "mean_prior contains NaN"),
        ("full", {"degrees_of_freedom_prior": 1.0}, "degrees_of_freedom_prior is 1.0; it must be greater than 1"),
        ("full", {"covariance_prior": -np.eye(2)}, "covariance_prior must be symmetric and positive definite"),
        ("diag", {"covariance_prior": [1.0, 0.0]}, "covariance_prior holds 0.0; all its entries must be positive"),
        ("diag", {"covariance_prior": np.ones(3)}, r"covariance_prior has shape \(3,\)"),
    ],
)
def test_parameters_that_do_not_fit_are_named_and_change_nothing(likelihood, params, message):
    rows = rows_of(likelihood)
    new, est = streaming(likelihood), streaming(likelihood).partial_fit(rows)
    new.set_params(**params)
    with pytest.raises(ValueError, match=message):
        new.fit(rows)
    with pytest.raises(ValueError, match=message):
        new.partial_fit(rows)
    assert_never_fitted(new)
    est.set_params(**params)
    before = snapshot(est)
    with pytest.raises(ValueError, match=message):
        est.fit(rows)
    assert_unchanged(est, before)
    if likelihood == "multinomial":  # a Gaussian prior is that of the first call
        with pytest.raises(ValueError, match=message):
            est.partial_fit(rows)
        assert_unchanged(est, before)


@pytest.mark.parametrize(("first", "then"), [("multinomial", "full"), ("full", "diag"), ("diag", "multinomial")])
def test_the_likelihood_of_a_stream_cannot_change(first, then):
    rows = np.abs(rows_of("full"))
    est = streaming(first).partial_fit(rows).set_params(likelihood=then)
    attributes = dict(vars(est))
    with pytest.raises(ValueError, match=f"likelihood is '{then}', but the stream began with '{first}'"):
        est.partial_fit(rows)
    assert vars(est) == attributes
    assert est.set_params(covariance_prior=None).fit(rows).n_clusters_ > 0


# -- counts in every form


def all_results(rows, n_epochs):
    est = streaming(n_epochs=n_epochs).fit(rows)
    streamed = streaming(merge_criterion="similarity", merge_threshold=0.8, merge_every=13).partial_fit(rows)
    weighed = streaming(n_epochs=n_epochs).fit(rows, sample_weight=np.arange(X.shape[0]))
    return [value for one in (est, streamed, weighed) for value in said(one, rows)]


@pytest.fixture(scope="module")
def wanted():
    return {n_epochs: all_results(X, n_epochs) for n_epochs in EPOCHS.values()}


@per_method
@pytest.mark.parametrize("name", FORMS)
def test_form_of_the_counts_changes_neither_result_nor_data(name, n_epochs, wanted):
    rows = FORMS[name]
    if name in ("list", "CSC", "COO", "LIL matrix"):  # they have no rows to read one by one; the estimator converts
        est = streaming(n_epochs=n_epochs).fit(rows)
        assert_same_bits(est, streaming(n_epochs=n_epochs).fit(X), X)
        return
    before = state_of(rows)
    for got, want in zip(all_results(rows, n_epochs), wanted[n_epochs], strict=True):
        np.testing.assert_array_equal(got, want)
    for a, b in zip(before, state_of(rows), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("likelihood", GAUSSIANS)
def test_form_of_the_rows_changes_neither_result_nor_data(likelihood):
    rows = rows_of(likelihood).astype(np.float32).astype(np.float64)  # single precision holds them
    frozen = rows.copy()
    frozen.flags.writeable = False
    forms = [frozen, rows.astype(np.float32), np.asfortranarray(rows), rows[::-1].copy()[::-1], rows.tolist()]
    for n_epochs in EPOCHS.values():
        est = streaming(likelihood, n_epochs=n_epochs).fit(rows)
        for form in forms:
            twin = streaming(likelihood, n_epochs=n_epochs).fit(form)
            assert_same_bits(est, twin, rows)
            np.testing.assert_array_equal(twin.predict_proba(form), est.predict_proba(rows))
    np.testing.assert_array_equal(frozen, rows)


@per_method
@pytest.mark.parametrize("params", [{}, {"discount": 0.5, "u_rule": "quadrature"}, {"n_nonzero": 1}], ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_unusual_corpora_give_valid_clusters(name, params, n_epochs):
    est = streaming(n_epochs=n_epochs, **params).fit(SIZES[name])
    assert_valid(est, SIZES[name])
    assert est.counts_.sum() == pytest.approx(SIZES[name].shape[0], rel=1e-9)
    assert_valid(streaming(**params).partial_fit(SIZES[name]), SIZES[name])


@per_method
@pytest.mark.parametrize("factor", [1e-3, 0.3, 1e7])
def test_real_huge_and_small_counts(factor, n_epochs):
    assert_valid(streaming(n_epochs=n_epochs).fit(TEXTS * factor), TEXTS * factor)


@per_method
@pytest.mark.parametrize("likelihood", GAUSSIANS)
@pytest.mark.parametrize("n_features", [1, 2, 9])
def test_unusual_rows_give_valid_clusters(n_features, likelihood, n_epochs):
    rng = np.random.default_rng(0)
    some, two = rng.normal(size=(40, n_features)), rng.normal(size=(2, n_features))
    for rows in (some, 1e6 + some, two, np.repeat(two, 30, axis=0)):
        with warnings.catch_warnings():
            # fewer rows than features: the data's covariance, which scales the prior, is singular
            warnings.filterwarnings("ignore", "the covariance of component 0", RuntimeWarning)
            est = StreamingNGGPMixture(likelihood, n_epochs=n_epochs).fit(rows)
        assert_valid(est, rows)
        assert est.counts_.sum() == pytest.approx(len(rows), rel=1e-9)


@pytest.mark.parametrize("likelihood", GAUSSIANS)
def test_a_prior_that_is_taken_from_the_data_needs_some(likelihood):
    rows = rows_of(likelihood)
    est = StreamingNGGPMixture(likelihood)
    for weight in (None, np.r_[1.0, 0.0]):
        n = 1 if weight is None else 2
        with pytest.raises(ValueError, match=r"1 sample.*mean_prior and covariance_prior, or a larger first block"):
            est.partial_fit(rows[:n], sample_weight=weight)
        assert_never_fitted(est)
    assert streaming(likelihood).partial_fit(rows[:1]).n_clusters_ == 1  # given in full
    assert StreamingNGGPMixture(likelihood).fit(rows[:1]).n_clusters_ == 1


# -- the same bits


@per_likelihood
@per_method
def test_fit_gives_the_same_bits_twice_and_another_order_others(n_epochs, likelihood):
    rows = rows_of(likelihood)
    one, again = (streaming(likelihood, n_epochs=n_epochs).fit(rows) for _ in range(2))
    assert_same_bits(one, again)
    assert_same_bits(one, again.fit(rows))  # nothing is left of the first
    assert [r["log_predictive"] for r in one.history_] == [r["log_predictive"] for r in again.history_]
    other = streaming(likelihood, n_epochs=n_epochs, random_state=1).fit(rows)
    assert not np.array_equal(other.counts_, one.counts_)
    seeds = np.random.RandomState(0)
    first, second = (streaming(likelihood, random_state=seeds).fit(rows) for _ in range(2))
    assert not np.array_equal(first.counts_, second.counts_)


@per_likelihood
def test_fit_in_the_order_of_the_data_is_a_stream(likelihood):
    rows = rows_of(likelihood)
    params = {"merge_criterion": "responsibility", "merge_threshold": 0.4, "prune_threshold": 0.8, "merge_every": 13}
    est = streaming(likelihood, shuffle=False, **params).fit(rows)
    assert_same_bits(est, stream(streaming(likelihood, **params), rows, 7))


@per_likelihood
@per_method
def test_rows_of_weight_zero_are_not_there(n_epochs, likelihood):
    rows = rows_of(likelihood)
    weight = np.random.default_rng(3).integers(0, 3, len(rows_of("full"))).astype(float)
    weighed = streaming(likelihood, n_epochs=n_epochs).fit(rows, sample_weight=weight)
    removed = streaming(likelihood, n_epochs=n_epochs).fit(rows[weight > 0], sample_weight=weight[weight > 0])
    assert weighed.n_samples_seen_ == (weight > 0).sum()
    assert_same_bits(weighed, removed)
    assert len(weighed.labels_) == len(weight)  # but they have labels
    with_tokens = np.asarray(np.abs(rows).sum(axis=1)).ravel() > 0
    assert weighed.counts_.sum() == pytest.approx(weight[with_tokens].sum(), rel=1e-9)
    plain = streaming(likelihood, n_epochs=n_epochs).fit(rows)
    for ones in (np.ones(len(weight)), 1):
        assert_same_bits(plain, streaming(likelihood, n_epochs=n_epochs).fit(rows, sample_weight=ones))


# -- progress


@pytest.mark.parametrize(("verbose", "n_lines"), [(0, 0), (1, 6), (2, 3)])
def test_verbose_prints_a_line_every_so_many_epochs(verbose, n_lines, capsys):
    streaming(n_epochs=6, tol=0.0, verbose=verbose).fit(TEXTS)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == n_lines
    assert all(line.startswith("StreamingNGGPMixture pass") for line in lines)
    assert all("log predictive per row" in line for line in lines)


@pytest.fixture
def recorder():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    return Recorder()


@per_likelihood
def test_callback_is_called_once_an_epoch(likelihood, recorder):
    rows = rows_of(likelihood)
    est = streaming(likelihood, n_epochs=3, tol=0.0).set_callbacks(recorder).fit(rows)
    assert recorder.calls == ["setup", "begin fit", *["begin pass", "end pass"] * 3, "end fit", "teardown"]
    assert recorder.scores[-1] == est.score(rows)
    assert len(set(recorder.scores[:3])) == 3
    for fitted, resp in recorder.seen:  # each is of its epoch, for good
        np.testing.assert_array_equal(fitted.transform(rows), resp)
    assert_same_bits(clone(est).set_callbacks().fit(rows), est)


def test_callback_may_stop_the_fit_or_fail(recorder):
    recorder.stop_after = 2
    est = streaming(n_epochs=50, tol=0.0).set_callbacks(recorder).fit(TEXTS)
    two = streaming(n_epochs=2, tol=0.0).fit(TEXTS)
    assert est.n_iter_ == len(est.history_) == 2
    assert_same_bits(est, two)
    failing = Recorder(fail_after=2)
    est = streaming(n_epochs=50, tol=0.0).fit(TEXTS[::-1]).set_callbacks(failing)
    with pytest.raises(RuntimeError, match="the callback fails"):
        est.fit(TEXTS)
    assert est.n_iter_ == 2
    assert_same_bits(est.set_callbacks(), two)


# -- meta-estimators


@per_likelihood
def test_what_is_far_apart_is_told_apart(likelihood):
    rows, groups = apart(likelihood)
    for n_epochs in EPOCHS.values():
        est = StreamingNGGPMixture(likelihood, n_epochs=n_epochs, random_state=0).fit(rows)
        assert same_partition(est.labels_, groups)
        assert est.n_clusters_ == len(set(groups))


def test_pipelines_of_text():
    labels = np.arange(60) % 2
    counted = make_pipeline(counter(), StreamingNGGPMixture(concentration=1.0, random_state=0))
    assert same_partition(counted.fit_predict(texts()), labels)
    assert list(counted.get_feature_names_out()) == ["streamingnggpmixture0", "streamingnggpmixture1"]
    assert counted.transform(texts(seed=1)).shape == (60, 2)
    hashed = HashingVectorizer(n_features=2**10, norm=None, alternate_sign=False)
    est = StreamingNGGPMixture(concentration=1.0)
    for start in range(0, 60, 20):  # the vocabulary of the later texts need not be known
        est.partial_fit(hashed.transform(texts()[start : start + 20]))
    assert same_partition(est.predict(hashed.transform(texts(seed=1))), labels)
    rows = make_pipeline(StandardScaler(), StreamingNGGPMixture("diag", random_state=0))
    assert same_partition(rows.fit_predict(apart("diag")[0]), apart("diag")[1])


def test_grid_search_chooses_by_held_out_density():
    grid = {"concentration": [1.0, 100.0], "dirichlet_prior": [0.1, 50.0]}
    search = GridSearchCV(StreamingNGGPMixture(random_state=0), grid, cv=3).fit(APART)
    assert search.best_params_["dirichlet_prior"] == 0.1
    scores = search.cv_results_["mean_test_score"].reshape(2, 2)
    assert (scores[:, 0] > scores[:, 1] + 1.0).all()
    assert same_partition(search.predict(APART), GROUPS)
    pipeline = make_pipeline(counter(), StreamingNGGPMixture())
    search = GridSearchCV(pipeline, {"streamingnggpmixture__n_epochs": [1, 3]}, cv=2).fit(texts())
    assert np.isfinite(search.best_score_)


def test_sample_weights_are_routed_through_a_grid_search():
    weight = np.random.default_rng(2).uniform(0.5, 2.0, TEXTS.shape[0])
    with config_context(enable_metadata_routing=True):
        base = streaming().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(base, {"discount": [0.0]}, cv=2).fit(TEXTS, sample_weight=weight)
    assert_same_bits(search.best_estimator_, streaming().fit(TEXTS, sample_weight=weight))
    first, second = np.split(np.arange(TEXTS.shape[0]), 2)
    halves = [streaming().fit(TEXTS[a], sample_weight=weight[a]).score(TEXTS[b], sample_weight=weight[b])
              for a, b in ((second, first), (first, second))]  # fmt: skip
    assert search.best_score_ == pytest.approx(np.mean(halves), rel=1e-12)


def test_counts_of_a_topic_corpus_have_the_width_they_came_with():
    est = streaming().fit(X)
    assert est.n_features_in_ == V
    assert est.means_.shape == (est.n_clusters_, V)
