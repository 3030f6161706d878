"""Ward's tree of rows, against SciPy's."""

import numpy as np
import pytest
from scipy.cluster import hierarchy

from sparsemix._heuristics.clusters.tree import ward
from sparsemix._kernels.clusters import _ward


def merged(x):
    heights, pairs = np.empty(len(x) - 1), np.empty((len(x) - 1, 2), dtype=np.intp)
    unique = _ward.merge(x.T.copy(), heights, pairs, 1.0 + 1e-9)
    return heights, pairs, unique


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
@pytest.mark.parametrize("digits", [0, 1, 2])
def test_equal_distances_and_equal_rows_have_the_order_of_scipy(n_features, digits):
    x = np.random.default_rng(digits).normal(size=(200, n_features)).round(digits)
    np.testing.assert_array_equal(ward(x), hierarchy.ward(x)[:, :2])


def test_equal_heights_have_the_order_of_scipy():
    """No merge has an alternative, but those of far pairs have equal heights."""
    x = np.random.default_rng(0).permutation(np.add.outer([0.0, 10.0, 30.0, 70.0, 150.0], [0.0, 1.0]).ravel())[:, None]
    assert merged(x)[2]
    np.testing.assert_array_equal(ward(x), hierarchy.ward(x)[:, :2])


def test_one_row_has_no_pairs_and_wrong_shapes_are_refused():
    assert ward(np.ones((1, 3))).shape == (0, 2)
    for shape, n_heights, n_pairs in (((0, 3), 2, 2), ((2, 0), 0, 0), ((2, 3), 3, 2), ((2, 3), 2, 3)):
        with pytest.raises(ValueError, match="one entry less than rows"):
            _ward.merge(np.ones(shape), np.empty(n_heights), np.empty((n_pairs, 2), dtype=np.intp), 1.0)
