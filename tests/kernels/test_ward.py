"""Ward's tree of rows, against SciPy's."""

import numpy as np
import pytest
from scipy.cluster import hierarchy

from sparsemix._heuristics.clusters.tree import ward
from sparsemix._kernels.clusters import _ward


def merged(x):
    heights, pairs = np.empty(len(x) - 1), np.empty((len(x) - 1, 2), dtype=np.intp)
    _ward.merge(x.T.copy(), heights, pairs)
    return heights, pairs


@pytest.mark.parametrize("n_features", [1, 2, 7, 30])
@pytest.mark.parametrize("n", [2, 3, 10, 300])
def test_trees_are_those_of_scipy(n, n_features):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, n_features)) + 5.0 * rng.integers(3, size=(n, 1))
    expected = hierarchy.ward(x)
    np.testing.assert_array_equal(ward(x), expected[:, :2])
    heights = np.sort(merged(x)[0])
    np.testing.assert_allclose(heights, 0.5 * expected[:, 2] ** 2, rtol=1e-9)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_equal_distances_and_equal_rows_make_a_tree(n_features):
    """Which of several trees is open; their sums of squares by the number of clusters are those of a tree of merges."""
    x = np.random.default_rng(0).integers(4, size=(200, n_features)) / 10.0
    heights, pairs = merged(x)
    assert heights.sum() == pytest.approx(((x - x.mean(axis=0)) ** 2).sum())
    assert np.count_nonzero(heights == 0.0) == 200 - len(np.unique(x, axis=0))
    _ward.number(pairs := pairs[np.argsort(heights, kind="stable")])
    np.testing.assert_array_equal(np.sort(pairs.ravel()), np.arange(398))
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert (pairs[:, 1] < np.arange(200, 399)).all()


def test_one_row_has_no_pairs_and_wrong_shapes_are_refused():
    assert ward(np.ones((1, 3))).shape == (0, 2)
    for shape, n_heights, n_pairs in (((0, 3), 2, 2), ((2, 0), 0, 0), ((2, 3), 3, 2), ((2, 3), 2, 3)):
        with pytest.raises(ValueError, match="one entry less than rows"):
            _ward.merge(np.ones(shape), np.empty(n_heights), np.empty((n_pairs, 2), dtype=np.intp))
