"""Streams that forget: a row counts half after ``half_life`` rows."""

import numpy as np
import pytest
from cluster_cases import LIKELIHOODS, assert_same_bits, assert_valid, rows_of, stream, streaming

per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)


def drifting(n=3000):
    """A cluster that moves slowly, and one that ends after a third of the rows."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 2))
    rows[:, 0] += np.linspace(0.0, 40.0, n)
    rows[: n // 3 : 2] = rng.normal(size=(len(rows[: n // 3 : 2]), 2)) + np.array([0.0, 60.0])
    return rows


@per_likelihood
def test_sums_shrink_with_the_masses(likelihood):
    rows = rows_of(likelihood)
    whole = streaming(likelihood).partial_fit(rows)
    state = whole._fitted.state.copy()
    slots = whole._fitted.slots
    before = state.sums.evidence(slots)
    counts, means = state.counts[slots].copy(), state.sums.means(slots)
    state.fade(1.0, 0.0, 0.0)
    np.testing.assert_allclose(state.sums.evidence(slots), before, rtol=1e-9)
    np.testing.assert_allclose(state.sums.means(slots), means, rtol=1e-9, atol=1e-12)
    state.fade(0.25, 0.0, 0.0)
    np.testing.assert_allclose(state.counts[slots], counts / 4)
    assert state.mass == pytest.approx(counts.sum() / 4)
    if likelihood == "multinomial":
        np.testing.assert_allclose(
            state.sums.statistics(slots), whole._fitted.state.sums.statistics(slots) / 4, atol=1e-12
        )
    else:
        np.testing.assert_allclose(state.sums.stats(slots)["count"], counts / 4)
        twice = state.copy()
        twice.fade(4.0, 0.0, 0.0)
        np.testing.assert_allclose(twice.sums.evidence(slots), before, rtol=1e-6)


@per_likelihood
def test_a_stream_that_forgets_has_the_mass_of_its_last_rows(likelihood):
    rows = rows_of(likelihood)
    est = streaming(likelihood, half_life=20.0, merge_every=5)
    for _ in range(4):
        stream(est, rows, 50)
    step = 0.5 ** (5 / 20)
    assert est.counts_.sum() == pytest.approx(5 * step / (1 - step), rel=0.2)  # less the clusters that are gone
    assert_valid(est, rows)


@per_likelihood
def test_the_bits_do_not_depend_on_the_cuts(likelihood):
    rows = rows_of(likelihood)
    settings = {"half_life": 30.0, "merge_every": 7}
    assert_same_bits(
        stream(streaming(likelihood, **settings), rows, 11), stream(streaming(likelihood, **settings), rows, 64), rows
    )


def test_clusters_follow_and_end():
    rows = drifting()
    prior = {"mean_prior": [0.0, 0.0], "covariance_prior": 4.0 * np.eye(2), "mean_precision_prior": 0.001}
    forgetting = streaming("full", half_life=150.0, merge_every=50, **prior).partial_fit(rows)
    keeping = streaming("full", **prior).partial_fit(rows)
    assert (forgetting.means_[:, 1] < 30.0).all()  # the other one is gone
    assert (keeping.means_[:, 1] > 30.0).any()
    assert abs(forgetting.means_[forgetting.counts_.argmax(), 0] - 40.0) < 6.0
    late = rows[-300:]
    assert forgetting.score(late) > keeping.score(late)
