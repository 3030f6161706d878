"""k-means of few rows and their neighbours, against slow twins and scikit-learn, at every instruction set."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from sparsemix._kernels.gaussians import _compact

pytestmark = pytest.mark.usefixtures("instruction_set")


def rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def greedy_twin(x, weight, uniforms):
    """Rows chosen as centres."""

    def drawn(odds, uniform):
        sums = np.cumsum(odds)
        return min(int(np.searchsorted(sums, uniform * sums[-1], side="right")), len(x) - 1)

    chosen = [drawn(weight, uniforms[0, 0])]
    for line in uniforms[1:]:
        nearest = cdist(x, x[chosen], "sqeuclidean").min(axis=1)
        odds = weight * nearest if (weight * nearest).sum() > 0.0 else weight
        tried = [drawn(odds, uniform) for uniform in line]
        left = [weight @ np.minimum(nearest, cdist(x, x[[i]], "sqeuclidean")[:, 0]) for i in tried]
        chosen.append(tried[int(np.argmin(left))])
    return x[chosen]


@pytest.mark.parametrize(("n", "d", "n_clusters", "trials"), [(30, 1, 4, 1), (40, 3, 9, 3), (60, 17, 20, 9)])
def test_greedy_centres_equal_their_twin(n, d, n_clusters, trials):
    x, rng = rows(n, d), np.random.default_rng(1)
    weight, uniforms, centres = rng.uniform(size=n), rng.uniform(size=(n_clusters, trials)), np.empty((n_clusters, d))
    weight[:5] = 0.0
    _compact.plus_plus(x, weight, uniforms, centres)
    np.testing.assert_array_equal(centres, greedy_twin(x, weight, uniforms))


def test_centres_of_fewer_distinct_rows_than_centres():
    x, centres = np.repeat(rows(2, 3), 5, axis=0), np.empty((6, 3))
    _compact.plus_plus(x, np.ones(10), np.random.default_rng(0).uniform(size=(6, 2)), centres)
    assert len(np.unique(centres, axis=0)) == 2
    labels = np.empty(10, dtype=np.intc)
    assert _compact.lloyd(x, np.ones(10), centres, labels, 20, 0.0) == 0.0
    assert len(np.unique(labels)) == 2


@pytest.mark.parametrize("max_iter", [0, 1, 3, 300])
@pytest.mark.parametrize(("n", "d", "n_clusters"), [(30, 1, 3), (200, 5, 8), (90, 12, 17)])
def test_lloyd_as_scikit_learn(n, d, n_clusters, max_iter):
    x, weight = rows(n, d), np.random.default_rng(2).uniform(0.5, 2.0, size=n)
    centres, labels = x[:n_clusters].copy(), np.empty(n, dtype=np.intc)
    inertia = _compact.lloyd(x, weight, centres, labels, max_iter, 0.0)
    if max_iter == 0:
        np.testing.assert_array_equal(labels, cdist(x, x[:n_clusters]).argmin(axis=1))
        return
    theirs = KMeans(n_clusters, init=x[:n_clusters], n_init=1, max_iter=max_iter, tol=0.0).fit(x, sample_weight=weight)
    np.testing.assert_array_equal(labels, theirs.labels_)
    np.testing.assert_allclose(centres, theirs.cluster_centers_)
    assert inertia == pytest.approx(theirs.inertia_)


def test_steps_end_below_the_tolerance():
    x = rows(300, 2)
    centres, labels = x[:5].copy(), np.empty(300, dtype=np.intc)
    _compact.lloyd(x, np.ones(300), centres, labels, 1, 0.0)
    again = x[:5].copy()
    _compact.lloyd(x, np.ones(300), again, labels, 100, 1e9)
    np.testing.assert_array_equal(again, centres)
    np.testing.assert_array_equal(labels, cdist(x, centres).argmin(axis=1))


def test_a_centre_without_rows_takes_the_farthest_row():
    x = np.array([[0.0], [0.1], [0.2], [5.0]])
    centres, labels = np.array([[0.0], [100.0]]), np.empty(4, dtype=np.intc)
    assert _compact.lloyd(x, np.ones(4), centres, labels, 20, 0.0) == pytest.approx(0.02)
    np.testing.assert_array_equal(labels, [0, 0, 0, 1])
    np.testing.assert_allclose(centres, [[0.1], [5.0]])


@pytest.mark.parametrize(("n", "d", "asked", "kept"), [(2, 1, 2, 1), (50, 3, 50, 49), (300, 7, 99, 5), (999, 2, 9, 40)])
def test_neighbours_equal_their_twin(n, d, asked, kept):
    """In other units too, from the neighbours before."""
    x, near = rows(n, d), np.full((asked, kept), -1)
    for units in (1.0, np.geomspace(1.0, 3.0, d)):
        _compact.nearest_rows(units * x, near)
        squares = cdist(units * x[:asked], units * x, "sqeuclidean")
        squares[np.arange(asked), np.arange(asked)] = np.inf
        np.testing.assert_array_equal(near, np.argsort(squares, axis=1, kind="stable")[:, :kept])


@pytest.mark.parametrize(("n", "d", "asked", "kept"), [(9, 1, 9, 3), (400, 17, 90, 5), (30, 16, 30, 0)])
def test_products_of_differences_equal_their_twin(n, d, asked, kept):
    x, near = rows(n, d), np.random.default_rng(1).integers(n, size=(asked, kept))
    out = np.full((d, d), np.nan)
    _compact.products_of_differences(x, near, out)
    apart = (x[:asked, None] - x[near]).reshape(-1, d)
    np.testing.assert_allclose(out, apart.T @ apart, rtol=1e-12, atol=1e-12)


def test_equal_distances_take_the_first_rows():
    near = np.full((1, 3), -1)
    _compact.nearest_rows(np.array([[0.0], [2.0], [1.0], [-1.0], [1.0], [-1.0]]), near)
    np.testing.assert_array_equal(near, [[2, 3, 4]])


def test_arrays_that_do_not_fit_are_refused():
    x, labels = rows(4, 2), np.empty(4, dtype=np.intc)
    with pytest.raises(ValueError, match="weight must be"):
        _compact.lloyd(x, np.ones(3), np.zeros((2, 2)), labels, 1, 0.0)
    with pytest.raises(ValueError, match="labels must be"):
        _compact.lloyd(x, np.ones(4), np.zeros((2, 2)), labels[:3], 1, 0.0)
    with pytest.raises(ValueError, match="uniforms must be"):
        _compact.plus_plus(x, np.ones(4), np.zeros((3, 1)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="must not be empty"):
        _compact.plus_plus(x[:0], np.ones(0), np.zeros((2, 1)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="near must be"):
        _compact.nearest_rows(x, np.full((4, 4), -1))
    with pytest.raises(ValueError, match="out \\(D, D\\)"):
        _compact.products_of_differences(x, np.zeros((4, 1), dtype=np.intp), np.empty((3, 3)))
    with pytest.raises(ValueError, match="near must name rows"):
        _compact.products_of_differences(x, np.full((4, 1), 4), np.empty((2, 2)))
