"""Cells: the nearest of many, sought in a part; how much of all is looked at is counted."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from sparsemix._engine import initialize
from sparsemix._engine.initialize import MANY, Cells, n_cells
from sparsemix._rows.threads import Workers


def rows_of(n, n_features, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n_features))


def counted(x, seen):
    """Squared distances of all rows from one, or of some of them; ``seen`` collects how many are made."""

    def from_row(n, rows=slice(None)):
        seen.append(len(x[rows]))
        return ((x[rows] - x[n]) ** 2).sum(axis=1)

    return from_row


@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.slow
def test_random_centres_are_sought_in_a_part_of_all(n_features):
    x, seen = rows_of(5000, n_features), []
    from_row = counted(x, seen)
    labels = initialize.random_centres(from_row, len(x), MANY, np.random.default_rng(1), in_parts=True)
    centres = np.random.default_rng(1).choice(len(x), size=MANY, replace=False)
    np.testing.assert_array_equal(labels[centres], np.arange(MANY))
    squares = ((x[:, None] - x[centres]) ** 2).sum(axis=2)
    assert (labels == squares.argmin(axis=1)).mean() > 0.9
    assert squares[np.arange(len(x)), labels].mean() < 1.1 * squares.min(axis=1).mean()
    assert sum(seen) < 0.3 * len(x) * MANY


def test_distances_grow_with_the_root_of_the_number_of_centres():
    counts = []
    for n_centres in (MANY, 4 * MANY):
        x, seen = rows_of(4 * MANY, 2), []
        initialize.random_centres(counted(x, seen), len(x), n_centres, np.random.default_rng(1), in_parts=True)
        counts.append(sum(seen))
    assert counts[1] < 2.4 * counts[0]


def test_few_centres_are_those_of_before(monkeypatch):
    x, rngs = rows_of(400, 3), [np.random.default_rng(2) for _ in range(3)]
    expected = initialize.random_centres(counted(x, []), len(x), 90, rngs[0])
    found = initialize.random_centres(counted(x, []), len(x), 90, rngs[1], in_parts=True)
    np.testing.assert_array_equal(found, expected)
    monkeypatch.setattr(initialize, "MANY", 90)
    found = initialize.random_centres(counted(x, []), len(x), 90, rngs[2], in_parts=True)
    assert (found == expected).mean() > 0.98


def test_a_cell_that_holds_everything_is_looked_at_in_part():
    n_pivots, n = 200, 3000
    parts = list(Cells(np.zeros(n, dtype=np.int32), np.zeros((n_pivots, n_pivots))).parts(np.zeros(n, dtype=np.int32)))
    assert len(parts) == 1
    rows, near = parts[0]
    np.testing.assert_array_equal(rows, np.arange(n))
    assert len(near) == int(initialize.MOST * initialize.NEAR * n / n_pivots)


def test_parts_are_the_rows_of_a_cell_and_centres_near_to_it():
    owners, homes = np.array([2, 0, 2, 1, 0]), np.array([1, 2, 2, 0])
    places = np.array([0.0, 1.0, 10.0])
    apart = np.abs(places[:, None] - places)
    found = {tuple(rows): set(near) for rows, near in Cells(owners, apart).parts(homes)}
    assert found == {(1, 4): {0, 1, 2, 3}, (3,): {0, 1, 2, 3}, (0, 2): {0, 1, 2, 3}}
    far = {tuple(rows): list(near) for rows, near in Cells(owners, apart).parts(np.array([2]))}
    assert far == {(1, 4): [0], (3,): [0], (0, 2): [0]}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kmeans_in_cells_is_as_compact_as_kmeans(dtype, monkeypatch):
    x, looked_at = rows_of(6000, 3).astype(dtype), []
    nearest_centres = initialize.nearest_centres
    monkeypatch.setattr(
        initialize, "nearest_centres", lambda y, c: looked_at.append(len(y) * len(c)) or nearest_centres(y, c)
    )
    labels = initialize.kmeans_in_cells(x, MANY, None, len(x), 8, np.random.default_rng(0))
    seeds = initialize.euclidean_centres(x, MANY, 1, np.random.default_rng(0))
    theirs = KMeans(MANY, init=seeds, n_init=1, max_iter=8).fit(x)
    centres = initialize.means(x, labels, None, np.zeros((MANY, 3), dtype=dtype))
    assert len(np.unique(labels)) > 0.99 * MANY
    assert ((x - centres[labels]) ** 2).sum() < 1.03 * theirs.inertia_
    assert sum(looked_at) < 0.35 * 9 * len(x) * MANY  # of nine assignments to all, pivots included


@pytest.mark.parametrize("n_iter", [1, 4, 100])
def test_kmeans_from_given_centres_is_that_of_scikit_learn(n_iter):
    x, weight = rows_of(1300, 3), np.random.default_rng(1).uniform(0.5, 2.0, size=1300)
    with Workers(2) as workers:
        labels = initialize.kmeans_from(x, x[:20], weight, n_iter, workers)
    theirs = KMeans(20, init=x[:20], n_init=1, max_iter=n_iter, tol=0.0).fit(x, sample_weight=weight)
    np.testing.assert_array_equal(labels, theirs.labels_)


@pytest.mark.parametrize("factor", [2.0**-100, 2.0**120])
def test_the_unit_of_weights_changes_no_label(factor):
    """Sums have the dtype of the rows, in which such weights would overflow."""
    x, weight = rows_of(500, 2).astype(np.float32), np.random.default_rng(1).uniform(1e6, 2e6, size=500)
    with Workers(1) as workers:
        labels = [initialize.kmeans_from(x, x[:7], each, 20, workers) for each in (weight, factor * weight)]
    np.testing.assert_array_equal(*labels)


def test_kmeans_in_cells_of_few_distinct_rows():
    x = np.repeat(rows_of(50, 2), 100, axis=0)
    labels = initialize.kmeans_in_cells(x, MANY, None, len(x), 2, np.random.default_rng(0))
    assert labels.shape == (5000,)
    assert ((labels >= 0) & (labels < MANY)).all()
    for distinct in range(50):
        assert len(set(labels[100 * distinct : 100 * distinct + 100])) == 1


def test_means_of_labels():
    rng = np.random.default_rng(0)
    x, labels, weight = rows_of(30, 2), rng.integers(4, size=30), rng.uniform(0.5, 2.0, 30)
    before = rows_of(6, 2, seed=1)
    found = initialize.means(x, labels, weight, before)
    for k in range(4):
        np.testing.assert_allclose(found[k], np.average(x[labels == k], axis=0, weights=weight[labels == k]))
    np.testing.assert_array_equal(found[4:], before[4:])


def test_cells_number_some_root_of_centres():
    assert n_cells(MANY) == round(initialize.CELLS * np.sqrt(MANY)) < MANY
