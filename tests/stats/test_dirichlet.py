"""Priors learned from expected logarithms: the optimum, from anywhere."""

import numpy as np
import pytest
from scipy.special import gammaln, psi

from sparsemix._stats.dirichlet import LARGEST, log_normalizer, maximize_prior, maximize_symmetric_prior

TRUTHS = [
    [1.0], [1e-3], [200.0], [0.5, 0.5], [0.01, 3.0], [0.1, 0.2, 0.3, 40.0], [1e-3] * 50, [5.0, 700.0, 20.0],
    list(np.geomspace(1e-3, 1e2, 30)),
]  # fmt: skip
STARTS = [1e-3, 0.05, 1.0, 30.0, 1e3]


def objective(a, expected_log, mass):
    return mass * (gammaln(a.sum()) - gammaln(a).sum()) + a @ expected_log


def slope(a, expected_log, mass):
    """Derivative of the objective with respect to log a."""
    return a * (mass * (psi(a.sum()) - psi(a)) + expected_log)


def bent(first, size):
    """Bad starts: the wrong size, and the wrong proportions."""
    return np.full(size, first) * np.linspace(0.1, 3.0, size) if size > 1 else np.full(1, first)


def draws(a, n, rng):
    """Logarithms of Dirichlet draws: those of small Gamma variates through G(a + 1) U^(1/a)."""
    shape = n, len(a)
    log_gamma = np.log(rng.standard_gamma(np.asarray(a) + 1.0, shape)) + np.log(rng.uniform(size=shape)) / a
    return log_gamma - np.logaddexp.reduce(log_gamma, axis=1, keepdims=True)


def test_normalizer_integrates_to_one():
    assert log_normalizer(np.array([1.0, 1.0, 1.0])) == pytest.approx(np.log(2.0))  # the triangle's area is a half
    assert log_normalizer(np.array([2.0, 3.0])) == pytest.approx(np.log(12.0))
    assert isinstance(log_normalizer(np.array([0.1])), float)
    assert log_normalizer(np.array([0.1])) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("first", STARTS)
@pytest.mark.parametrize("truth", TRUTHS[3:], ids=len)
def test_expectations_of_a_prior_give_it_back(truth, first):
    truth = np.array(truth)
    expected_log = 7.0 * (psi(truth) - psi(truth.sum()))
    found = maximize_prior(bent(first, len(truth)), expected_log, 7.0)
    np.testing.assert_allclose(found, truth, rtol=1e-6)


@pytest.mark.parametrize("first", STARTS)
@pytest.mark.parametrize("size", [2, 3, 50, 5000])
@pytest.mark.parametrize("truth", [1e-3, 0.02, 0.5, 1.0, 40.0])
def test_expectations_of_a_symmetric_prior_give_it_back(truth, size, first):
    expected_log = 7.0 * size * (psi(truth) - psi(size * truth))
    found = maximize_symmetric_prior(first, size, expected_log, 7.0)
    assert isinstance(found, float)
    assert found == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("first", STARTS)
@pytest.mark.parametrize("truth", TRUTHS[3:], ids=len)
def test_slope_is_zero_at_the_optimum_of_draws(truth, first):
    logs = draws(truth, 400, np.random.default_rng(0))
    expected_log, begin = logs.sum(axis=0), bent(first, len(truth))
    found = maximize_prior(begin, expected_log, 400.0)
    assert np.isfinite(found).all()
    assert (found > 0).all()
    scale = 400.0 + np.abs(found * expected_log)
    assert (np.abs(slope(found, expected_log, 400.0)) < 1e-7 * scale).all()
    assert objective(found, expected_log, 400.0) >= objective(begin, expected_log, 400.0) - 1e-7


def test_many_draws_recover_the_parameters():
    rng = np.random.default_rng(1)
    for truth in ([0.05, 0.1, 0.4], [2.0, 9.0, 0.5, 30.0], [0.3] * 8):
        logs = draws(truth, 40_000, rng)
        found = maximize_prior(np.ones(len(truth)), logs.sum(axis=0), 40_000.0)
        # the standard error of log a is below 1.5 / sqrt(n) for all of these
        np.testing.assert_allclose(np.log(found), np.log(truth), rtol=0, atol=0.03)
    for truth, size in [(0.05, 20), (3.0, 6)]:
        logs = draws([truth] * size, 5_000, rng)
        found = maximize_symmetric_prior(1.0, size, logs.sum(), 5_000.0)
        assert np.log(found / truth) == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize("first", STARTS)
@pytest.mark.parametrize("size", [2, 30, 1000])
@pytest.mark.parametrize("truth", [0.01, 0.3, 5.0])
def test_symmetric_slope_is_zero_at_the_optimum_of_draws(truth, size, first):
    """The best single number maximises the objective among equal entries, and is no better than the best vector."""
    logs = draws([truth] * size, 50, np.random.default_rng(2))
    found = maximize_symmetric_prior(first, size, logs.sum(), 50.0)
    total = slope(np.full(size, found), logs.sum(axis=0), 50.0).sum()
    assert abs(total) < 1e-7 * (50.0 * size + abs(found * logs.sum()))
    value = objective(np.full(size, found), logs.sum(axis=0), 50.0)
    assert value >= objective(np.full(size, first), logs.sum(axis=0), 50.0) - 1e-7
    for other in (0.99 * found, 1.01 * found):
        assert objective(np.full(size, other), logs.sum(axis=0), 50.0) < value
    vector = maximize_prior(np.full(size, found), logs.sum(axis=0), 50.0)
    assert objective(vector, logs.sum(axis=0), 50.0) >= value - 1e-7


def test_mass_and_sums_scale_together():
    expected_log = np.array([-30.0, -12.0, -55.0])
    found = maximize_prior(np.ones(3), expected_log, 10.0)
    np.testing.assert_allclose(maximize_prior(np.ones(3), 1e-3 * expected_log, 1e-2), found, rtol=1e-9)
    one = maximize_symmetric_prior(1.0, 3, expected_log.sum(), 10.0)
    assert maximize_symmetric_prior(1.0, 3, 1e-3 * expected_log.sum(), 1e-2) == pytest.approx(one, rel=1e-9)


def test_order_of_components_does_not_matter():
    begin, expected_log = np.array([0.1, 2.0, 1.0]), np.array([-30.0, -12.0, -55.0])
    found, order = maximize_prior(begin, expected_log, 10.0), [2, 0, 1]
    np.testing.assert_allclose(maximize_prior(begin[order], expected_log[order], 10.0), found[order], rtol=1e-9)


@pytest.mark.parametrize("first", STARTS)
def test_one_component_stays_finite(first):
    """The prior of a single component does not change the objective."""
    found = maximize_prior(np.array([first]), np.zeros(1), 5.0)
    assert np.isfinite(found).all()
    assert (found > 0).all()
    found = maximize_symmetric_prior(first, 1, 0.0, 5.0)
    assert np.isfinite(found)
    assert found > 0


def test_the_start_is_left_alone():
    begin = np.ones(3)
    maximize_prior(begin, np.array([-30.0, -12.0, -55.0]), 10.0)
    assert (begin == 1.0).all()


@pytest.mark.parametrize("first", [1e-3, 1.0, 4e7, 1e20])
@pytest.mark.parametrize("size", [2, 4, 1000])
def test_draws_that_are_all_the_same_have_no_endless_prior(size, first):
    found = np.full(size, first)
    for _ in range(3):
        found = maximize_prior(found, np.full(size, -5.0 * np.log(size)), 5.0)
        assert found.max() <= max(1e6, first) * (1 + 1e-9)
        assert found.min() >= 1e6 * (1 - 1e-9)  # larger ones are all the same to round-off


@pytest.mark.parametrize("first", [4e7, 1e12, 1e20])
def test_the_way_back_from_a_prior_that_is_too_large(first):
    truth = np.array([0.3, 5.0, 0.01])
    found = maximize_prior(np.full(3, first), 7.0 * (psi(truth) - psi(truth.sum())), 7.0)
    for _ in range(3):
        found = maximize_prior(found, 7.0 * (psi(truth) - psi(truth.sum())), 7.0)
    np.testing.assert_allclose(found, truth, rtol=1e-6)


def test_a_start_beyond_the_largest_prior_may_stay():
    """Draws that are all the same would have an endless prior: its sum is at most the largest, or that of the start."""
    for first in (1.0, 3.0 * LARGEST):
        found = maximize_prior(np.full(4, first), 10.0 * np.full(4, np.log(0.25)), 10.0)
        assert found.sum() == pytest.approx(4.0 * max(first, LARGEST), rel=1e-6)
