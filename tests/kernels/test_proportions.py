"""Proportions of documents under given topics: the compiled loops against plain NumPy."""

import numpy as np
import pytest
from scipy.special import psi
from sparsemix._kernels.documents._docstep import Workspace
from test_document_kernels import Corpus

from sparsemix._kernels.proportions import _proportions

SIZES = [1, 5, 16, 37, 200]


def infer(corpus, prior, *, max_iter=1000, tol=1e-9, linear=False, **kept):
    n, n_components = len(corpus), corpus.table.shape[1]
    theta, n_iter = np.full((n, n_components), np.nan), np.full(n, -1)
    _proportions.infer(
        corpus.documents, corpus.table, prior, max_iter, tol, linear, theta, n_iter, Workspace(corpus.dtype), **kept
    )
    return theta, n_iter


def weights(theta, linear):
    return theta if linear else np.exp(psi(theta) - psi(theta.sum()))


def updated(corpus, d, prior, p):
    """One update of all topics at given weights."""
    e = corpus.entries(d)
    rows, counts = corpus.table[corpus.indices[e]].astype(np.float64), corpus.counts[e].astype(np.float64)
    return prior + p * (rows.T @ (counts / (rows @ p)))


def plain(corpus, d, prior, linear, n_iter):
    """Updates of all topics, one after the other, from equal weights."""
    theta = updated(corpus, d, prior, np.ones(len(prior)))
    for _ in range(n_iter):
        theta = updated(corpus, d, prior, weights(theta, linear))
    return theta


def corpus_of(n_components, dtype, alpha=0.2):
    prior = alpha * np.random.default_rng(3).uniform(0.5, 1.5, size=n_components)
    return Corpus(dtype, n_components=n_components, n_documents=8), prior


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("n_components", SIZES)
@pytest.mark.usefixtures("instruction_set")
def test_first_updates_equal_the_twin(n_components, linear, dtype):
    """Whole updates, in which no topic is treated in another way; an empty document has the prior."""
    corpus, prior = corpus_of(n_components, dtype)
    theta, n_iter = infer(corpus, prior, max_iter=1, tol=0.0, linear=linear)
    for d in range(len(corpus)):
        if corpus.indptr[d] == corpus.indptr[d + 1]:
            np.testing.assert_array_equal(theta[d], prior)
            assert n_iter[d] == 0
            continue
        want = plain(corpus, d, prior, linear, 1)
        np.testing.assert_allclose(theta[d], want, rtol=1e-4 if dtype == np.float32 else 1e-9, atol=1e-6)
        assert n_iter[d] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("n_components", SIZES)
@pytest.mark.usefixtures("instruction_set")
def test_long_documents_are_read_from_the_table(n_components, linear, dtype):
    """The bits are the same. Without space for topics, all are updated and converge to the same point."""
    corpus, prior = corpus_of(n_components, dtype)
    whole, n_iter = infer(corpus, prior, max_iter=2, tol=0.0, linear=linear)
    for kept in (0, 400):
        theta, n = infer(corpus, prior, max_iter=2, tol=0.0, linear=linear, kept=kept)
        np.testing.assert_array_equal(theta, whole)
        np.testing.assert_array_equal(n, n_iter)
    tol = 1e-9 if dtype == np.float64 else 1e-4
    whole, _ = infer(corpus, prior, tol=tol, linear=linear)
    for kept in (0, 400):
        theta, n = infer(corpus, prior, tol=tol, linear=linear, kept=kept)
        assert n.max() < 1000
        np.testing.assert_allclose(theta, whole, atol=1e-6 if dtype == np.float64 else 0.05)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("n_components", SIZES)
@pytest.mark.usefixtures("instruction_set")
def test_ends_are_fixed_points(n_components, linear):
    """After any mix of skipped, settled and extrapolated topics, one more update of all topics changes none."""
    corpus, prior = corpus_of(n_components, np.float64)
    theta, n_iter = infer(corpus, prior, linear=linear)
    assert n_iter.max() < 1000
    for d in np.flatnonzero(np.diff(corpus.indptr)):
        np.testing.assert_allclose(theta[d], updated(corpus, d, prior, weights(theta[d], linear)), atol=1e-8)


@pytest.mark.parametrize(("n_components", "linear"), [(5, False), (37, False), (200, True)])
def test_fixed_points_are_those_of_plain_updates(n_components, linear):
    corpus, prior = corpus_of(n_components, np.float64)
    theta, _ = infer(corpus, prior, linear=linear)
    for d in range(2):
        np.testing.assert_allclose(theta[d], plain(corpus, d, prior, linear, 5000), atol=1e-5)


@pytest.mark.parametrize("linear", [False, True])
def test_a_document_does_not_depend_on_the_others(linear):
    corpus, prior = corpus_of(37, np.float32)
    together, _ = infer(corpus, prior, tol=1e-3, linear=linear)
    for d in range(len(corpus)):
        alone, _ = infer(corpus.part([d]), prior, tol=1e-3, linear=linear)
        np.testing.assert_array_equal(alone[0], together[d])


@pytest.mark.parametrize("linear", [False, True])
def test_tolerance_may_be_a_share_of_the_tokens(linear):
    corpus, prior = corpus_of(37, np.float64)
    theta, n_iter = infer(corpus, prior, tol=1e-4, linear=linear, relative=True)
    lengths = np.add.reduceat(corpus.counts, corpus.indptr[:-1][np.diff(corpus.indptr) > 0])
    assert lengths.max() > 2.0 * lengths.min()
    for d, length in zip(np.flatnonzero(np.diff(corpus.indptr)), lengths, strict=True):
        alone, n = infer(corpus.part([d]), prior, tol=1e-4 * float(length), linear=linear)
        np.testing.assert_array_equal(alone[0], theta[d])
        assert n[0] == n_iter[d]


def test_words_without_probability_leave_numbers_finite():
    corpus, prior = corpus_of(16, np.float32)
    corpus.table[corpus.indices[corpus.entries(0)]] = 0.0
    theta, _ = infer(corpus, prior, linear=True)
    assert np.isfinite(theta).all()


def test_shapes_are_checked():
    corpus, prior = corpus_of(5, np.float64)
    with pytest.raises(ValueError, match="prior must be"):
        infer(corpus, prior[:4])


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_documents_with_priors_of_their_own_are_inferred_as_alone(dtype, linear):
    corpus, prior = corpus_of(37, dtype)
    priors = prior * np.random.default_rng(5).uniform(0.2, 5.0, size=(len(corpus), 1))
    theta, n_iter = infer(corpus, priors, max_iter=30, linear=linear)
    for d in range(len(corpus)):
        alone, n_alone = infer(corpus, priors[d], max_iter=30, linear=linear)
        np.testing.assert_array_equal(theta[d], alone[d])
        assert n_iter[d] == n_alone[d]
    with pytest.raises(ValueError, match="prior must be"):
        infer(corpus, priors[1:], linear=linear)
