"""Sparse rows under linear components: weights of all and of pairs, sums, tables of words, against NumPy."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import digamma

from sparsemix._kernels.documents import _linear

DTYPES = [np.float32, np.float64]
# Components are taken 32 at once, entries of a row under chosen ones four at once; some rows have none.
SIZES = [(0, 8), (1, 1), (5, 7), (9, 8), (6, 31), (3, 32), (20, 33), (4, 64), (7, 81)]


def sparse_rows(rng, n, d, dtype):
    x = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    x[:1] = 0.0
    x = sparse.csr_array(x.astype(dtype))
    return x, (x.indptr.astype(np.int64), x.indices.astype(np.intc), x.data)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_weights_of_all_and_of_pairs_are_products(instruction_set, n, k, dtype):  # noqa: ARG001
    rng = np.random.default_rng(n + k)
    x, arrays = sparse_rows(rng, n, 23, dtype)
    natural, constants = rng.normal(size=(k, 23)).astype(dtype), rng.normal(size=k).astype(dtype)
    expected = x.toarray().astype(float) @ natural.T.astype(float) + constants
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    out = np.empty((n, k), dtype)
    _linear.weights(natural, constants, *arrays, out)
    np.testing.assert_allclose(out, expected, atol=tolerance)
    if not n:
        return
    alone = np.empty((1, k), dtype)
    last = slice(arrays[0][-2], None)
    _linear.weights(natural, constants, arrays[0][-2:] - arrays[0][-2], arrays[1][last], arrays[2][last], alone)
    np.testing.assert_array_equal(alone[0], out[-1])
    components = np.sort(rng.integers(k, size=40))
    rows = rng.integers(n, size=40).astype(np.intc)
    starts = np.searchsorted(components, np.arange(k + 1)).astype(np.intp)
    pairs = np.empty(40, dtype)
    _linear.pair_weights(natural, constants, *arrays, starts, rows, pairs)
    np.testing.assert_allclose(pairs, expected[rows, components], atol=tolerance)


def test_sums_of_any_sign_are_added():
    rng = np.random.default_rng(0)
    x, arrays = sparse_rows(rng, 6, 11, np.float64)
    out = rng.normal(size=(6, 11))
    expected = out - 0.5 * x.toarray()
    _linear.add_rows(*arrays, -0.5, out)
    np.testing.assert_allclose(out, expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("prior", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("n_words", [1, 15, 16, 17, 70])
def test_word_logs_equal_scipy(instruction_set, n_words, prior, dtype):  # noqa: ARG001
    rng = np.random.default_rng(n_words)
    sums = rng.gamma(0.3, 5.0, (4, n_words)) * (rng.random((4, n_words)) < 0.3)
    sums[0], sums[1, 0] = 0.0, -1e-15  # round-off is nothing
    for is_digamma, function in ((True, digamma), (False, np.log)):
        totals = rng.normal(size=4)
        out = np.full((4, n_words), np.nan, dtype)
        _linear.word_logs(sums, prior, is_digamma, totals, 0, 3, out)
        _linear.word_logs(sums, prior, is_digamma, totals, 3, 4, out)
        expected = function(prior + np.maximum(sums, 0.0)) - totals[:, None]
        tolerance = 1e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)


def test_what_does_not_fit_is_refused():
    rng = np.random.default_rng(0)
    _, (indptr, indices, data) = sparse_rows(rng, 4, 11, np.float64)
    natural, constants, out = np.zeros((3, 11)), np.zeros(3), np.zeros((4, 3))
    with pytest.raises(IndexError, match="features 0 to 2"):
        _linear.weights(natural[:, :3].copy(), constants, indptr, indices, data, out)
    with pytest.raises(ValueError, match="number of entries"):
        _linear.weights(natural, constants, indptr + 1, indices, data, out)
    with pytest.raises(ValueError, match="out must be"):
        _linear.weights(natural, constants, indptr, indices, data, out[:3])
    with pytest.raises(ValueError, match="must not fall"):
        _linear.weights(natural, constants, indptr[[0, 2, 1, 3, 4]], indices, data, out)
    starts, rows = np.array([0, 1, 1, 1]), np.array([4], dtype=np.intc)
    with pytest.raises(IndexError, match="no row 4"):
        _linear.pair_weights(natural, constants, indptr, indices, data, starts, rows, np.zeros(1))
    with pytest.raises(ValueError, match="number of pairs"):
        _linear.pair_weights(natural, constants, indptr, indices, data, starts, rows, np.zeros(2))
    with pytest.raises(ValueError, match="indptr must be"):
        _linear.add_rows(indptr, indices, data, 1.0, np.zeros((3, 11)))
    with pytest.raises(ValueError, match="no components 1 to 4"):
        _linear.word_logs(natural, 0.1, True, constants, 1, 4, natural.copy())
    with pytest.raises(ValueError, match="shape of sums"):
        _linear.word_logs(natural, 0.1, True, constants[:2], 0, 2, natural.copy())
