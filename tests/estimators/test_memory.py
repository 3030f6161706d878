"""What documentation says that fits and models take of memory, beside what NumPy has asked for: within a fifth."""

import pickle
import tracemalloc

import numpy as np
import pytest
from fitted import few_passes
from scipy import sparse

from sparsemix import CollapsedLDA, SparseGaussianMixture, SparseLDA, SparseMultinomialMixture, SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda

pytestmark = few_passes
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
def test_statistics_of_rows(covariance_type, numbers, rows):
    est = SparseGaussianMixture(200, covariance_type=covariance_type, max_iter=1, random_state=0, init_params="random")
    kept = sum(np.asarray(value).nbytes for _, value in est.fit(rows)._fitted.stats._arrays())
    assert kept == pytest.approx(8 * 200 * numbers, rel=0.2)


@pytest.mark.parametrize("method", ["cvb0", "cvb"])
def test_responsibilities_of_collapsed_variational_inference(method, counts):
    expected = 4 * counts.nnz * K + (2 if method == "cvb0" else 4) * 4 * V * K
    assert added(lambda: CollapsedLDA(K, method=method, max_iter=1).fit(counts)) == pytest.approx(expected, rel=0.2)


def test_no_fit_of_a_mixture_holds_all_responsibilities(rows):
    """16 MB of a chunk, and what a start looks at; N x K numbers would be 96 MB."""
    est = SparseGaussianMixture(600, covariance_type="diag", max_iter=1, random_state=0, init_params="random")
    assert added(lambda: est.fit(rows)) < 8 * len(rows) * 600 / 2
