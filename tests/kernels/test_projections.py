"""Squared lengths of projected rows, for tiles and for pairs: the obvious sums."""

import numpy as np
import pytest

from sparsemix._kernels.gaussians import _quadratic


def problem(n, d, n_components, rank, dtype, seed=0):
    rng = np.random.default_rng(seed)
    arrays = rng.normal(size=(n, d)), rng.normal(size=(n_components, rank, d)), rng.normal(size=(n_components, rank))
    return [a.astype(dtype) for a in arrays]


def twin(x, loadings, offsets):
    """(n, K), one pair at a time."""
    out = np.zeros((len(x), len(loadings)))
    for n, row in enumerate(x.astype(np.float64)):
        for k in range(len(loadings)):
            out[n, k] = 0.5 * ((loadings[k].astype(np.float64) @ row - offsets[k]) ** 2).sum()
    return out


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d", "n_components", "rank"), [(1, 1, 1, 1), (70, 13, 5, 6), (131, 40, 3, 4), (64, 17, 2, 9), (3, 2, 4, 3)]
)
def test_projections_are_the_obvious_sums(n, d, n_components, rank, dtype):
    x, loadings, offsets = problem(n, d, n_components, rank, dtype)
    out = np.full((n, n_components), -2.0, dtype=dtype)
    _quadratic.add_projections(x, loadings, offsets, out)
    np.testing.assert_allclose(out, twin(x, loadings, offsets) - 2.0, rtol=1e-4 if dtype is np.float32 else 1e-12)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_have_the_bits_of_tiles(dtype):
    x, loadings, offsets = problem(150, 21, 4, 6, dtype)
    whole = np.zeros((150, 4), dtype=dtype)
    _quadratic.add_projections(x, loadings, offsets, whole)
    rng = np.random.default_rng(1)
    lists = [np.sort(rng.choice(150, size=size, replace=False)) for size in (0, 1, 70, 150)]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.intp)
    rows = np.concatenate(lists).astype(np.intc)
    out = np.zeros(len(rows), dtype=dtype)
    _quadratic.add_pair_projections(x, loadings, offsets, starts, rows, out)
    np.testing.assert_array_equal(out, np.concatenate([whole[each, k] for k, each in enumerate(lists)]))


def test_nothing_to_add():
    x, loadings, offsets = problem(5, 3, 2, 2, np.float64)
    out = np.ones((5, 2))
    _quadratic.add_projections(x, loadings[:, :0].copy(), offsets[:, :0].copy(), out)
    _quadratic.add_projections(x[:0], loadings, offsets, out[:0])
    assert (out == 1.0).all()
    none = np.zeros(3, dtype=np.intp), np.zeros(0, dtype=np.intc), np.zeros(0)
    _quadratic.add_pair_projections(x, loadings, offsets, *none)


def test_shapes_that_do_not_agree_are_refused():
    x, loadings, offsets = problem(5, 3, 2, 2, np.float64)
    with pytest.raises(ValueError, match="loadings must be"):
        _quadratic.add_projections(x, loadings[:, :, :2].copy(), offsets, np.zeros((5, 2)))
    with pytest.raises(ValueError, match="out must be"):
        _quadratic.add_projections(x, loadings, offsets, np.zeros((4, 2)))
    pairs = np.array([0, 1, 2], dtype=np.intp), np.array([0, 4], dtype=np.intc)
    with pytest.raises(ValueError, match="loadings must be"):
        _quadratic.add_pair_projections(x, loadings, offsets[:, :1].copy(), *pairs, np.zeros(2))
    with pytest.raises(ValueError, match="starts must lead"):
        _quadratic.add_pair_projections(x, loadings, offsets, pairs[0][:2], pairs[1], np.zeros(2))
    with pytest.raises(ValueError, match="out must be"):
        _quadratic.add_pair_projections(x, loadings, offsets, *pairs, np.zeros(3))
