"""The memory of fits and models in the documentation is within a fifth of what NumPy allocates."""

import pickle
import tracemalloc

import numpy as np
import pytest
from fitted import few_epochs
from scipy import sparse

from sparsemix import CollapsedLDA, SparseGaussianMixture, SparseLDA, SparseMultinomialMixture, SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda

pytestmark = few_epochs
N, V, K, D = 600, 4000, 60, 24


@pytest.fixture(scope="module")
def counts():
    return sparse.csr_array(make_sparse_lda(N, n_features=V, n_components=8, doc_length=300, random_state=0)[0])


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(20_000, D))


def added(call):
    """The most bytes that there are at once during a call, beyond those of before."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    call()
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return most


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: SparseSCVB0LDA(K, max_iter=1, random_state=0), 4 * V * K),
        (lambda: SparseLDA(K, n_nonzero=None, learning_method="online", max_iter=1, random_state=0), 4 * V * K),
        (lambda: SparseMultinomialMixture(K, max_iter=1, random_state=0), 8 * V * K),
    ],
    ids=["SparseSCVB0LDA", "SparseLDA", "SparseMultinomialMixture"],
)
def test_models_of_words(make, expected, counts):
    assert len(pickle.dumps(make().fit(counts))) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(
    ("covariance_type", "numbers"),
    [("full", D * (D + 1) / 2 + D), ("diag", 2 * D), ("spherical", D + 1)],
)
def test_statistics_and_pickles_of_rows(covariance_type, numbers, rows):
    est = SparseGaussianMixture(200, covariance_type=covariance_type, max_iter=1, random_state=0, init_params="random")
    kept = sum(np.asarray(value).nbytes for _, value in est.fit(rows)._fitted.stats._arrays())
    assert kept == pytest.approx(8 * 200 * numbers, rel=0.2)
    assert len(pickle.dumps(est)) == pytest.approx(kept, rel=0.2)


@pytest.mark.parametrize("method", ["cvb0", "cvb"])
def test_responsibilities_of_collapsed_variational_inference(method, counts):
    expected = 4 * counts.nnz * K + (2 if method == "cvb0" else 4) * 4 * V * K
    assert added(lambda: CollapsedLDA(K, inference=method, max_iter=1).fit(counts)) == pytest.approx(expected, rel=0.2)


def test_no_fit_of_a_mixture_holds_all_responsibilities(rows):
    """16 MB of a chunk, and what a start looks at; N x K numbers would be 96 MB."""
    est = SparseGaussianMixture(600, covariance_type="diag", max_iter=1, random_state=0, init_params="random")
    assert added(lambda: est.fit(rows)) < 8 * len(rows) * 600 / 2


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", "i4", "i8", "u2", "f2"])
@pytest.mark.parametrize("call", ["predict", "score_samples", "predict_proba"])
def test_predictions_convert_rows_of_other_types_tile_by_tile(call, dtype, rows):
    """A whole copy as float64 would be 3.8 MB."""
    rows = np.rint(9 + rows).astype(np.float64)
    est = SparseGaussianMixture(3, covariance_type="diag", max_iter=1, random_state=0, init_params="random").fit(rows)
    given = rows.astype(dtype)
    assert added(lambda: getattr(est, call)(given)) < added(lambda: getattr(est, call)(rows)) + rows.nbytes / 2
    np.testing.assert_array_equal(getattr(est, call)(given), getattr(est, call)(rows))


@pytest.mark.slow
@pytest.mark.parametrize("make", [SparseLDA, SparseSCVB0LDA])
@pytest.mark.parametrize("call", ["transform", "score"])
def test_a_document_of_all_words_needs_no_second_table(make, call):
    """Parameters and what documents are inferred from, (V, K) each; 64 MB of the document, twice, or of a block."""
    n_words, n_topics = 125_000, 140
    X = sparse.csr_array(np.ones((1, n_words), dtype=np.float32))
    few = sparse.csr_array(([1.0, 2.0], ([0, 1], [5, 7])), shape=(2, n_words))
    est = make(n_topics, init_params="random", max_iter=1, max_doc_update_iter=1, random_state=0).fit(few)
    assert added(lambda: getattr(est, call)(X)) < 2.2 * 4 * n_words * n_topics + (2 << 26)


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "tables"), [("gibbs", 4.6), ("mhw", 9.0)])
def test_a_stream_that_begins_with_a_document_of_all_words(sampler, tables):
    """The model, its copy of a step, its start and its sums, (V, K) each; "mhw" tables of words, 16 bytes an entry."""
    n_words, n_topics = 40_000, 512
    X = sparse.csr_array(np.ones((1, n_words), dtype=np.float32))
    few = sparse.csr_array(([1.0, 2.0, 1.0], ([0, 1, 1], [5, 7, 8])), shape=(2, n_words))
    est = SparseSCVB0LDA(n_topics, sampler=sampler, random_state=0)
    X = sparse.csr_array(sparse.vstack([X, few]))
    assert added(lambda: est.partial_fit(X)) < tables * 4 * n_words * n_topics
