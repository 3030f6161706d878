"""Counts in every form give the same topics; wrong ones are named, and leave the model and the caller's data alone."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils._param_validation import InvalidParameterError
from topic_cases import (
    BAD_CALLS,
    FORMS,
    GIVEN,
    LATER,
    READ,
    SIZES,
    K,
    N,
    V,
    X,
    spoilt_csr,
    state_of,
)

from sparsemix import SparseLDA

# Fits of a few passes: what is looked at is whether they are valid, not how far they came.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

METHODS = ["batch", "memoized", "online"]
STARTS = ["em", "random", "bregman"]


class ExactLDA(SparseLDA):
    """Tables in double precision."""

    _table_dtype = np.float64


def lda(n_components=K, **params):
    return SparseLDA(n_components, **({"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "random_state": 0} | params))


def said(est, rows=X):
    """What a model says of documents and of itself."""
    arrays = [est.transform(rows), est.components_, est.exp_dirichlet_component_, est.doc_topic_prior_]
    return [*arrays, est.topic_weights_, est.expected_stats(rows)["count"]]


def assert_same_bits(first, second, rows=X):
    for a, b in zip(said(first, rows), said(second, rows), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def snapshot(est):
    """All attributes by identity, and what the model says of documents, by value."""
    return dict(vars(est)), said(est)


def assert_unchanged(est, before, but=()):
    attributes, old = before
    assert list(vars(est)) == list(attributes)
    assert [name for name, value in vars(est).items() if value is not attributes[name]] == list(but)
    for a, b in zip(said(est), old, strict=True):
        np.testing.assert_array_equal(a, b)


def assert_never_fitted(est):
    assert sorted(vars(est)) == sorted(est.get_params())
    assert not hasattr(est, "components_")


def assert_valid(est, rows):
    """Everything finite, proportions and weights distributions, as many counts as tokens."""
    n_words = np.shape(rows)[1]
    assert est.components_.shape == (est.n_components, n_words)
    assert np.isfinite(est.components_).all()
    assert (est.components_ > 0).all()
    assert est.topic_weights_.sum() == pytest.approx(1.0)
    theta = est.transform(rows)
    assert theta.shape == (np.shape(rows)[0], est.n_components)
    assert (theta >= 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-9)
    assert all(np.isfinite(record["lower_bound"]) for record in est.history_)
    if est.learning_method != "online":
        assert float(est._fitted.stats["tokens"]) == pytest.approx(float(rows.sum()), rel=1e-5)
        assert est._fitted.stats["count"].sum() == pytest.approx(float(rows.sum()), rel=1e-4)


# -- wrong counts


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform"])
@pytest.mark.parametrize("name", BAD_CALLS)
def test_wrong_input_is_named_and_leaves_an_unfitted_estimator_unfitted(name, method):
    rows, sample_weight, message = BAD_CALLS[name]
    est = lda()
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, method)(rows, sample_weight=sample_weight)
    assert_never_fitted(est)


STREAM = ["partial_fit", "expected_stats"]


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize(
    ("name", "method"),
    [(name, "fit") for name in BAD_CALLS] + [(name, method) for name in LATER for method in STREAM],
)
def test_wrong_input_leaves_a_fitted_model_alone(name, method, warm_start):
    rows, sample_weight, message = LATER[name]
    est = lda(warm_start=warm_start, max_iter=1, init_params="random").fit(X)
    before = snapshot(est)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, method)(rows, sample_weight=sample_weight)
    assert_unchanged(est, before)


@pytest.mark.parametrize("method", ["transform", "score", "perplexity"])
@pytest.mark.parametrize("name", READ)
def test_readers_name_wrong_input(name, method):
    rows, _, message = READ[name]
    est = lda(max_iter=1, init_params="random").fit(X)
    before = snapshot(est)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, method)(rows)
    assert_unchanged(est, before)


def test_row_is_the_callers_in_spite_of_weights_of_zero():
    weight = np.ones(N)
    weight[:20] = 0.0
    with pytest.raises(ValueError, match="row 41 of X"):
        lda().fit(spoilt_csr(np.nan), sample_weight=weight)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("rows", "weight"),
    [
        (np.zeros((4, V)), None),
        (sparse.csr_array((4, V)), None),
        (sparse.csr_array((np.zeros(3), np.arange(3), [0, 1, 2, 3, 3]), shape=(4, V)), None),
        (np.vstack([np.zeros((3, V)), np.ones((1, V))]), [1.0, 1.0, 2.0, 0.0]),
    ],
    ids=["dense", "sparse", "stored zeros", "no weight"],
)
def test_corpus_without_tokens_is_refused(rows, weight, method):
    est, fitted = lda(), lda().fit(X)
    with pytest.raises(ValueError, match=r"no document of X has a token of positive weight.*at least one"):
        getattr(est, method)(rows, sample_weight=weight)
    assert_never_fitted(est)
    before = snapshot(fitted)
    with pytest.raises(ValueError, match="no document of X has a token"):
        fitted.fit(rows, sample_weight=weight)
    assert_unchanged(fitted, before)


def test_documents_too_short_to_score_are_named():
    est = lda().fit(X)
    with pytest.raises(ValueError, match=r"no row of X has two distinct words.*longer documents"):
        est.score(7 * np.eye(V))
    with pytest.raises(ValueError, match="no row of X has two distinct words"):
        est.perplexity(np.zeros((3, V)))
    short = sparse.vstack([X, sparse.csr_array(7 * np.eye(V, dtype=np.int64))], format="csr")
    assert est.score(short) == pytest.approx(est.score(X), rel=1e-12)  # they are left out


# -- wrong parameters

BAD_PARAMETERS = {
    "n_components": [0, -1, 2.5, "many", None],
    "n_nonzero": [0, -1, 2.5, "all"],
    "doc_topic_prior": [0, -1.0, np.nan, np.inf, "auto"],
    "topic_word_prior": [0, -1.0, np.nan, np.inf, "auto", [0.1] * V],
    "optimize_priors": ["yes", 2],
    "learning_method": ["svi", None],
    "init_params": ["magic", None, 3],
    "init_size": [0, -5, 1.5],
    "n_init_iter": [0, -1, 1.5],
    "n_restarts": [-1, 0.5],
    "warm_documents": [-1, "cold", 1.5],
    "max_iter": [-1, 1.5, None],
    "tol": [-1.0, np.nan, None],
    "max_doc_update_iter": [0, 1.5],
    "doc_update_tol": [-0.1, np.nan],
    "batch_size": [0, -1, 10.5],
    "total_samples": [0, -1, np.nan, np.inf],
    "learning_decay": [0.0, -0.5, 1.5, np.nan],
    "learning_offset": [-1.0, np.nan],
    "warm_start": ["yes", 2],
    "n_jobs": [1.5, "all"],
    "verbose": [-1, "loud"],
    "random_state": ["seed", -1.5],
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_PARAMETERS.items() for value in values]
)
def test_invalid_parameter_is_named(name, value, method):
    est = lda(**{name: value}) if name != "n_components" else lda(value)
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of SparseLDA"):
        getattr(est, method)(X)
    assert_never_fitted(est)


def test_every_parameter_has_wrong_values_above():
    assert sorted(BAD_PARAMETERS) == sorted(SparseLDA().get_params())


BAD_ARRAYS = {
    "short prior": ({"doc_topic_prior": [0.1] * 4}, r"doc_topic_prior has shape \(4,\), expected a number or \(5,\)"),
    "long prior": ({"doc_topic_prior": [0.1] * 6}, r"doc_topic_prior has shape \(6,\), expected a number or \(5,\)"),
    "square prior": ({"doc_topic_prior": [[0.1] * 5]}, r"doc_topic_prior has shape \(1, 5\)"),
    "negative prior": ({"doc_topic_prior": [0.1] * 4 + [-1.0]}, "doc_topic_prior must be positive and finite"),
    "zero prior": ({"doc_topic_prior": [0.1] * 4 + [0.0]}, "doc_topic_prior must be positive and finite"),
    "NaN prior": ({"doc_topic_prior": [0.1] * 4 + [np.nan]}, "doc_topic_prior must be positive and finite"),
    "infinite prior": ({"doc_topic_prior": [0.1] * 4 + [np.inf]}, "doc_topic_prior must be positive and finite"),
    "few topics": ({"init_params": GIVEN[:4]}, rf"init_params has shape \(4, {V}\), expected \(5, {V}\): topics by"),
    "few words": ({"init_params": GIVEN[:, 1:]}, rf"init_params has shape \(5, {V - 1}\), expected \(5, {V}\)"),
    "words by topics": ({"init_params": GIVEN.T}, rf"init_params has shape \({V}, 5\), expected \(5, {V}\)"),
    "flat topics": ({"init_params": GIVEN.ravel()}, "Expected 2D array"),
    "negative topics": ({"init_params": GIVEN - 1.0}, "init_params must not be negative"),
    "empty topic": ({"init_params": np.vstack([GIVEN[:4], np.zeros((1, V))])}, "every topic needs a word"),
    "NaN topics": ({"init_params": np.where(GIVEN > 2, np.nan, GIVEN)}, "init_params contains NaN"),
    "infinite topics": ({"init_params": np.where(GIVEN > 2, np.inf, GIVEN)}, "init_params contains infinity"),
    "between": ({"n_components": 80, "n_nonzero": 65}, "n_nonzero=65 is larger than 64 and smaller than n_comp.*None"),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_wrong_array_is_named(name, method):
    params, message = BAD_ARRAYS[name]
    est, fitted = lda(**params), lda(max_iter=1, init_params="random").fit(X)
    with pytest.raises(ValueError, match=message):
        getattr(est, method)(X)
    assert_never_fitted(est)
    before = snapshot(fitted)
    with pytest.raises(ValueError, match=message):
        fitted.set_params(**params).fit(X)
    fitted.set_params(**lda(max_iter=1, init_params="random").get_params())
    assert_unchanged(fitted, before)


@pytest.mark.parametrize("rate", [0.0, -0.5, 1.5])
def test_learning_rate_outside_its_range_is_refused(rate):
    est = lda().fit(X)
    before, stats = snapshot(est), est.expected_stats(X)
    with pytest.raises(ValueError, match=r"learning_rate is .*\(0, 1\]"):
        est.update_from_stats(stats, learning_rate=rate)
    assert_unchanged(est, before)


# -- counts in every form


VARIANTS = [
    {"init_params": "em", "batch_size": 20},
    {"init_params": "bregman", "learning_method": "online", "batch_size": 20},
    {"init_params": "random", "learning_method": "batch", "n_nonzero": None, "optimize_priors": True},
]


def all_results(rows, params):
    """What fits, streams and readings give for the same counts in some form."""
    est = lda(**params).fit(rows)
    out = [est.transform(rows), est.score(rows), est.expected_stats(rows)["count"], np.array(est.components_)]
    out.append(np.array(est.partial_fit(rows).components_))
    return [*out, np.array(lda(max_iter=1, **params).fit(rows, sample_weight=np.arange(N)).components_)]


@pytest.fixture(scope="module")
def wanted():
    return [all_results(X, params) for params in VARIANTS]


@pytest.mark.parametrize("variant", range(len(VARIANTS)), ids=["em", "bregman", "random"])
@pytest.mark.parametrize("name", FORMS)
def test_form_of_the_counts_changes_neither_result_nor_data(name, variant, wanted):
    rows = FORMS[name]
    before = state_of(rows)
    for got, want in zip(all_results(rows, VARIANTS[variant]), wanted[variant], strict=True):
        np.testing.assert_array_equal(got, want)
    for a, b in zip(before, state_of(rows), strict=True):
        np.testing.assert_array_equal(a, b)


def test_booleans_are_counts_of_one():
    binary = X.toarray() > 0
    want = lda().fit(binary.astype(float))
    assert_same_bits(want, lda().fit(binary))
    assert_same_bits(want, lda().fit(sparse.csr_array(binary)))


def test_order_of_documents_is_not_data_of_a_batch():
    order = np.random.default_rng(0).permutation(N)
    params = {"learning_method": "batch", "init_params": GIVEN}
    first, second = lda(**params).fit(X), lda(**params).fit(X[order])
    assert first.lower_bounds_ == pytest.approx(second.lower_bounds_, rel=1e-6)
    np.testing.assert_allclose(first.components_, second.components_, rtol=1e-3, atol=1e-2)


# -- empty documents, unusual sizes


@pytest.mark.parametrize("n_nonzero", [2, None])
def test_empty_documents_change_no_topic(n_nonzero):
    holes = sparse.vstack([sparse.csr_array((2, V), dtype=np.int64), X[:30], sparse.csr_array((1, V), dtype=np.int64),
                           X[30:], sparse.csr_array((4, V), dtype=np.int64)], format="csr")  # fmt: skip
    params = {"learning_method": "batch", "init_params": GIVEN, "n_nonzero": n_nonzero}
    plain, est = lda(**params).fit(X), lda(**params).fit(holes)
    np.testing.assert_allclose(est.components_, plain.components_, rtol=1e-5)
    assert est.lower_bounds_ == pytest.approx(plain.lower_bounds_, rel=1e-7)
    assert float(est._fitted.stats["mass"]) == N + 7
    np.testing.assert_allclose(est.transform(holes)[[0, 32, -1]], 1 / K, rtol=1e-9)


@pytest.mark.parametrize("optimize_priors", [False, True])
@pytest.mark.parametrize("learning_method", METHODS)
@pytest.mark.parametrize("init_params", STARTS)
def test_mostly_empty_documents(init_params, learning_method, optimize_priors):
    rows = np.zeros((40, V))
    rows[17] = X.toarray()[0]
    params = {"init_params": init_params, "learning_method": learning_method, "optimize_priors": optimize_priors}
    assert_valid(lda(batch_size=7, **params).fit(rows), rows)
    assert_valid(lda(batch_size=7, n_nonzero=None, **params).fit(sparse.csr_array(rows)), rows)


@pytest.mark.parametrize("n_nonzero", [1, 2, None])
@pytest.mark.parametrize("learning_method", METHODS)
@pytest.mark.parametrize("init_params", STARTS)
@pytest.mark.parametrize("name", SIZES)
def test_unusual_corpora_give_valid_topics(name, init_params, learning_method, n_nonzero):
    params = {"init_params": init_params, "learning_method": learning_method, "n_nonzero": n_nonzero}
    for more in ({}, {"optimize_priors": True, "n_restarts": 2}):
        assert_valid(lda(**params, **more, n_init_iter=2).fit(SIZES[name]), SIZES[name])


@pytest.mark.parametrize("total_samples", [None, 100])
@pytest.mark.parametrize("name", SIZES)
def test_unusual_blocks_of_a_stream(name, total_samples):
    rows = SIZES[name]
    est = lda(total_samples=total_samples, n_nonzero=None).partial_fit(rows)
    for n in range(min(3, rows.shape[0])):
        est.partial_fit(rows[[n]])
    assert np.isfinite(est.components_).all()
    np.testing.assert_allclose(est.transform(rows).sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("n_nonzero", [2, None])
def test_stream_of_single_documents(n_nonzero):
    est = lda(n_nonzero=n_nonzero)
    for n in range(N):
        est.partial_fit(X[[n]])
    assert (est.n_samples_seen_, est.n_steps_) == (N, N)
    totals = np.asarray(X.sum(axis=0)).ravel()
    np.testing.assert_allclose(est.components_.sum(axis=0) - K * est.topic_word_prior_, totals, rtol=1e-3, atol=1e-2)
    assert (est.transform(X) > 0).all()


def test_words_that_never_occur_stay_at_the_prior():
    rows = np.hstack([X.toarray(), np.zeros((N, 2), dtype=int)])
    est = lda(topic_word_prior=0.05).fit(rows)
    np.testing.assert_allclose(est.components_[:, -2:], 0.05, rtol=1e-6)
    new = rows[:3].copy()
    new[:, -1] = 4  # and may come up later
    np.testing.assert_allclose(est.transform(new).sum(axis=1), 1.0)
    assert np.isfinite(est.score(new))
    est.partial_fit(new)
    np.testing.assert_allclose(est.components_[:, -1].sum(), 5 * 0.05 + 12, rtol=1e-3)


@pytest.mark.parametrize("n_nonzero", [K, K + 1, 100, None])
def test_more_responsibilities_than_topics_are_all_of_them(n_nonzero):
    assert_same_bits(lda(n_nonzero=n_nonzero).fit(X), lda(n_nonzero=K).fit(X))


@pytest.mark.parametrize("n_nonzero", [63, 64, 80, 200, None])
def test_many_responsibilities(n_nonzero):
    assert_valid(lda(80, n_nonzero=n_nonzero, batch_size=25).fit(X), X)


@pytest.mark.parametrize("optimize_priors", [False, True])
@pytest.mark.parametrize("learning_method", METHODS)
def test_one_topic(learning_method, optimize_priors):
    est = lda(1, learning_method=learning_method, optimize_priors=optimize_priors).fit(X)
    assert_valid(est, X)
    np.testing.assert_array_equal(est.transform(X), 1.0)
    assert 1e-6 < est.doc_topic_prior_[0] < 1e6  # documents say nothing of it
    assert est.score(X) == pytest.approx(lda(1, learning_method="batch").fit(X).score(X), abs=0.2)


# -- sizes of counts


@pytest.mark.parametrize("optimize_priors", [False, True])
@pytest.mark.parametrize("n_nonzero", [1, 2, None])
@pytest.mark.parametrize("factor", [1e-3, 1e7])
def test_huge_and_small_counts(factor, n_nonzero, optimize_priors):
    for method in METHODS:
        est = lda(n_nonzero=n_nonzero, optimize_priors=optimize_priors, learning_method=method)
        est.set_params(n_init_iter=2, n_restarts=1).fit(X * factor)
        assert_valid(est, X * factor)
        assert np.isfinite(est.score(X * factor))
    if factor > 1:  # with so many tokens priors do not matter: a word's topics are those that its documents have
        assert est.transform(X * factor).max(axis=1).min() > 0.2


@pytest.mark.parametrize("n_nonzero", [1, 2, None])
def test_small_weights_are_not_lost(n_nonzero):
    """Small sums of a word and topic leave the statistics, but never all of a word."""
    est = lda(n_nonzero=n_nonzero, learning_method="batch").fit(X * 1e-4)
    totals = 1e-4 * np.asarray(X.sum(axis=0)).ravel()
    np.testing.assert_allclose(est.components_.sum(axis=0) - K * est.topic_word_prior_, totals, rtol=0.01, atol=1e-6)


def test_largest_integers_are_counts():
    rows = (X > 0).astype(np.int32) * np.int32(2**31 - 1)
    assert_same_bits(lda().fit(rows), lda().fit(rows.astype(np.float64)))
    assert_valid(lda().fit(rows), rows.astype(np.float64))


def test_real_valued_counts():
    rows = TfidfTransformer().fit_transform(X)
    est = lda().fit(rows)
    assert_valid(est, rows)
    other = lda().fit(rows.astype(np.float32).toarray())
    np.testing.assert_allclose(other.components_, est.components_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(est.components_.sum(axis=0) - K * est.topic_word_prior_,
                               np.asarray(rows.sum(axis=0)).ravel(), rtol=1e-3, atol=1e-3)  # fmt: skip


# -- priors


def test_asymmetric_prior_of_documents_is_used():
    prior = np.array([5.0, 0.01, 0.01, 0.01, 0.01])
    est = lda(doc_topic_prior=prior, init_params=GIVEN, learning_method="batch").fit(X)
    np.testing.assert_array_equal(est.doc_topic_prior_, prior)
    assert est.topic_weights_.argmax() == 0
    plain = lda(doc_topic_prior=0.01, init_params=GIVEN, learning_method="batch").fit(X)
    assert est.topic_weights_[0] > plain.topic_weights_[0] + 0.2
    np.testing.assert_allclose(est.transform(np.zeros((1, V)))[0], prior / prior.sum(), rtol=1e-12)
    turned = lda(doc_topic_prior=prior[::-1], init_params=GIVEN[::-1], learning_method="batch", n_nonzero=None).fit(X)
    est.set_params(n_nonzero=None).fit(X)
    np.testing.assert_allclose(turned.components_[::-1], est.components_, rtol=1e-3, atol=1e-3)  # topics have no order
    prior[0] = 1e9  # the caller's array is not the model's
    assert est.doc_topic_prior_[0] == 5.0


@pytest.mark.parametrize("value", [0.3, np.float32(0.3), 3, [0.3] * K, np.full(K, 0.3)])
def test_number_as_prior_is_that_of_every_topic(value):
    est = lda(doc_topic_prior=value).fit(X)
    np.testing.assert_array_equal(est.doc_topic_prior_, np.full(K, value if np.ndim(value) == 0 else 0.3))
    assert est.doc_topic_prior_.dtype == np.float64


def test_default_priors():
    est = lda().fit(X)
    np.testing.assert_array_equal(est.doc_topic_prior_, np.full(K, 0.1))
    assert est.topic_word_prior_ == 0.01
    many = lda(400, max_iter=1, init_params="random").fit(X)
    np.testing.assert_array_equal(many.doc_topic_prior_, np.full(400, 0.05))


@pytest.mark.parametrize("n_nonzero", [1, 2, None])
@pytest.mark.parametrize("prior", [1e-2, 1e-3, 1e-4, 1e-6])
def test_small_prior_of_words_with_an_idle_topic(prior, n_nonzero):
    """exp E[log phi] spans more than single precision: topics must not vanish because one of them is empty."""
    start = np.vstack([GIVEN[:4], 1e-6 * GIVEN[4:]])
    params = {"n_nonzero": n_nonzero, "topic_word_prior": prior, "init_params": start, "learning_method": "batch"}
    params |= {"n_components": K, "max_iter": 10, "tol": 0.0}
    est, exact = SparseLDA(**params).fit(X), ExactLDA(**params).fit(X)
    assert est.lower_bound_ == pytest.approx(exact.lower_bound_, rel=5e-3)


@pytest.mark.parametrize("init", [GIVEN, GIVEN.astype(np.float32), GIVEN.tolist(), np.asfortranarray(GIVEN), 7 * GIVEN],
                         ids=["array", "float32", "list", "fortran", "scaled"])  # fmt: skip
def test_given_topics_in_every_form(init):
    params = {"learning_method": "batch", "max_iter": 1}
    np.testing.assert_allclose(lda(init_params=init, **params).fit(X).components_,
                               lda(init_params=GIVEN, **params).fit(X).components_, rtol=1e-3, atol=1e-3)  # fmt: skip


@pytest.mark.parametrize("switch", [False, np.False_])
def test_documents_are_forgotten_on_request(switch):
    params = {"learning_method": "batch", "init_params": "random", "max_iter": 6}
    cold, warm = (lda(warm_documents=value, **params).fit(X) for value in (switch, True))
    single = lda(init_params="random", learning_method="batch", max_iter=1, warm_start=True).fit(X)
    for _ in range(5):
        single.fit(X)  # each fit meets documents anew
    np.testing.assert_array_equal(cold.components_, single.components_)
    assert not np.array_equal(warm.components_, cold.components_)
