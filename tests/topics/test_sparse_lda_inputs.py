"""Unusual counts and settings of SparseLDA: what is counted, short documents, priors, many and few topics."""

import numpy as np
import pytest
from fitted import assert_never_fitted
from scipy import sparse
from topic_cases import GIVEN, ExactLDA, K, N, V, X, assert_valid

from sparsemix import SparseLDA

# Fits of a few epochs: the tests check that they are valid, not that they converge.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")



def lda(n_components=K, **params):
    return SparseLDA(n_components, **({"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "random_state": 0} | params))


# -- wrong counts


def test_documents_too_short_to_score_are_named():
    est = lda().fit(X)
    with pytest.raises(ValueError, match=r"no row of X has two distinct words.*longer documents"):
        est.score(7 * np.eye(V))
    with pytest.raises(ValueError, match="no row of X has two distinct words"):
        est.perplexity(np.zeros((3, V)))
    short = sparse.vstack([X, sparse.csr_array(7 * np.eye(V, dtype=np.int64))], format="csr")
    assert est.score(short) == pytest.approx(est.score(X), rel=1e-12)  # they are left out


# -- wrong parameters


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_more_responsibilities_than_kept_and_fewer_than_all_are_refused(method):
    est = lda(80, n_nonzero=65)
    with pytest.raises(ValueError, match=r"n_nonzero=65 is larger than 64 and smaller than n_comp.*None"):
        getattr(est, method)(X)
    assert_never_fitted(est)


# -- empty documents, unusual sizes


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


@pytest.mark.parametrize("n_nonzero", [63, 64, 80, 200, None])
def test_many_responsibilities(n_nonzero):
    assert_valid(lda(80, n_nonzero=n_nonzero, batch_size=25).fit(X), X)


# -- sizes of counts


@pytest.mark.parametrize("n_nonzero", [1, 2, None])
@pytest.mark.filterwarnings("ignore:X has the sum")
def test_small_weights_are_not_lost(n_nonzero):
    """Small sums of a word and topic leave the statistics, but never all of a word."""
    est = lda(n_nonzero=n_nonzero, learning_method="batch").fit(X * 1e-4)
    totals = 1e-4 * np.asarray(X.sum(axis=0)).ravel()
    np.testing.assert_allclose(est.components_.sum(axis=0) - K * est.topic_word_prior_, totals, rtol=0.01, atol=1e-6)


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
    np.testing.assert_array_equal(many.doc_topic_prior_, np.full(400, 0.0125))


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
        single.fit(X)  # each fit meets documents again
    np.testing.assert_array_equal(cold.components_, single.components_)
    assert not np.array_equal(warm.components_, cold.components_)
