"""Seeds of clusters: labels are the nearest centres, and draws follow the odds."""

import numpy as np
import pytest

from sparsemix._engine import initialize
from sparsemix._stats.families import GAUSSIANS

N, D = 57, 3


def matrix():
    return np.random.default_rng(0).normal(size=(N, D))


def squared_distances(x, calls=None):
    def from_row(n):
        if calls is not None:
            calls.append(n)
        return ((x - x[n]) ** 2).sum(axis=1)

    return from_row


@pytest.mark.parametrize("seed", ["plus_plus", "random_centres"])
@pytest.mark.parametrize("n_clusters", [1, 2, 5, N])
def test_labels_are_the_nearest_centres(seed, n_clusters):
    x, calls = matrix(), []
    labels = getattr(initialize, seed)(squared_distances(x, calls), N, n_clusters, np.random.default_rng(2))
    centres = calls[:n_clusters]
    assert len(set(centres)) == n_clusters
    np.testing.assert_array_equal(labels[centres], np.arange(n_clusters))
    distances = ((x[:, None] - x[centres]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))


@pytest.mark.parametrize("seed", ["plus_plus", "random_centres"])
def test_rows_without_weight_are_never_centres(seed):
    x, weight = matrix(), np.zeros(N)
    weight[[0, 7, 30, 56]] = [1.0, 0.1, 5.0, 2.0]
    for trial in range(50):
        calls = []
        getattr(initialize, seed)(squared_distances(x, calls), N, 4, np.random.default_rng(trial), weight)
        assert sorted(calls) == [0, 7, 30, 56]


def test_of_several_trials_the_one_that_leaves_least_is_a_centre():
    x, weight, asked = matrix(), np.random.default_rng(0).uniform(0.5, 2.0, N), []
    squares = ((x[:, None] - x) ** 2).sum(axis=2)

    def from_row(rows):
        asked.append(rows)
        return squares[rows]

    labels = initialize.plus_plus(from_row, N, 6, np.random.default_rng(1), weight, n_trials=4)
    centres = [asked[0]]
    for tried in asked[1:]:
        assert len(tried) == 4
        left = [weight @ np.minimum(squares[centres].min(axis=0), squares[row]) for row in tried]
        centres.append(tried[np.argmin(left)])
    assert len(set(centres)) == 6
    np.testing.assert_array_equal(labels, squares[centres].argmin(axis=0))


@pytest.mark.parametrize("n_distinct", [1, 2, 4])
def test_plus_plus_stops_when_all_distinct_rows_are_centres(n_distinct):
    x, calls = np.repeat(matrix()[:n_distinct], 6, axis=0), []
    labels = initialize.plus_plus(squared_distances(x, calls), len(x), 10, np.random.default_rng(3))
    assert len(calls) == n_distinct
    assert set(labels) == set(range(n_distinct))
    for distinct in range(n_distinct):
        assert len(set(labels[6 * distinct : 6 * distinct + 6])) == 1


@pytest.mark.parametrize("name", GAUSSIANS)
def test_equal_rows_are_one_cluster_under_the_divergence_of_a_family(name):
    family = GAUSSIANS[name](D)
    shapes = {"diag": np.ones(D), "spherical": 1.0, "low_rank": np.ones(D)}
    covariance = shapes.get(name.removeprefix("tied_"), np.eye(D))
    prior = family.prior(None, 0.5, np.zeros(D), D + 2.0, covariance)
    x = np.repeat(matrix()[:4], 6, axis=0)
    labels = initialize.plus_plus(family.item_divergences(prior, x), len(x), 4, np.random.default_rng(4))
    assert sorted(labels.reshape(4, 6).min(axis=1)) == [0, 1, 2, 3]
    assert (np.ptp(labels.reshape(4, 6), axis=1) == 0).all()


def test_draws_follow_the_odds():
    odds, rng = np.array([0.0, 1.0, 0.0, 3.0, 6.0, 0.0]), np.random.default_rng(5)
    seen = np.bincount([initialize.draw(odds, rng) for _ in range(5000)], minlength=6)
    assert (seen[[0, 2, 5]] == 0).all()
    expected = 5000 * odds / 10
    statistic = ((seen - expected)[[1, 3, 4]] ** 2 / expected[[1, 3, 4]]).sum()
    assert statistic < 18.4  # exceeded once in ten thousand by chi-square with 2 degrees of freedom


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2.0**-53])
def test_draw_at_the_ends_of_the_unit_interval(uniform):
    class Fixed:
        def uniform(self, size=None):  # noqa: ARG002
            return uniform

    for odds in ([0.0, 0.0, 0.3, 0.1, 0.0], [0.0, 0.1, 0.2, 0.7, 0.1, 0.0, 0.0], [0.0, 1e-300, 0.0]):
        assert odds[initialize.draw(np.array(odds), Fixed())] > 0.0


def test_random_labels_are_as_many_of_each_as_can_be():
    labels = initialize.random_labels(N, 5, np.random.default_rng(6))
    assert labels.dtype == np.int32
    counts = np.bincount(labels, minlength=5)
    assert counts.sum() == N
    assert np.ptp(counts) <= 1
    assert (np.diff(labels) != 1).any()
