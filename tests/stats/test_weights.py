"""Priors of the mixture weights: against scikit-learn, urns, quadrature and draws."""

from itertools import permutations

import numpy as np
import pytest
import reference
from scipy.integrate import dblquad, quad
from scipy.stats import beta as beta_distribution
from sklearn.mixture import BayesianGaussianMixture

from sparsemix._stats.weights import (
    DirichletWeights,
    EqualWeights,
    MaximumLikelihoodWeights,
    StickBreakingWeights,
    log_dirichlet,
)

PRIORS = {"dirichlet_distribution": DirichletWeights, "dirichlet_process": StickBreakingWeights}
COUNTS = np.array([12.3, 0.4, 0.0, 150.0, 3.25])


def sklearn_mixture(kind, concentration, counts):
    mixture = BayesianGaussianMixture(n_components=len(counts), weight_concentration_prior_type=kind)
    mixture.weight_concentration_prior_ = concentration
    mixture._estimate_weights(counts)
    return mixture


def draws(weights, counts, rng, n_draws):
    """Samples of pi from q, (n_draws, K)."""
    if isinstance(weights, DirichletWeights):
        return rng.dirichlet(weights.posterior(counts), size=n_draws)
    order = np.argsort(-counts)
    sticks = rng.beta(*np.stack(weights.posterior(counts))[:, order], size=(n_draws, len(counts)))
    rest = np.cumprod(1.0 - sticks, axis=1)
    return (sticks * np.column_stack([np.ones(n_draws), rest[:, :-1]]))[:, np.argsort(order)]


@pytest.mark.parametrize("kind", PRIORS)
@pytest.mark.parametrize("concentration", [0.01, 1.0, 7.5])
@pytest.mark.parametrize("n_components", [1, 2, 5])
def test_posterior_and_expected_logs_equal_those_of_scikit_learn(n_components, concentration, kind):
    counts = np.sort(COUNTS[:n_components])[::-1]
    theirs = sklearn_mixture(kind, concentration, counts)
    weights = PRIORS[kind](concentration)
    np.testing.assert_allclose(weights.posterior(counts), theirs.weight_concentration_, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(weights.expected_log(counts), theirs._estimate_log_weights(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["posterior", "expected_log", "mean", "evidence"])
def test_order_of_components_changes_no_bit_of_sticks(name):
    function = getattr(StickBreakingWeights(2.0), name)
    order = np.array([3, 0, 4, 2, 1])
    expected, moved = np.asarray(function(COUNTS)), np.asarray(function(COUNTS[order]))
    np.testing.assert_array_equal(moved, expected[..., order] if expected.ndim else expected)


@pytest.mark.parametrize("kind", PRIORS)
def test_expected_logs_equal_the_mean_over_draws(kind):
    counts = np.array([4.0, 2.5, 9.0, 1.0])
    weights = PRIORS[kind](2.0)
    logs = np.log(draws(weights, counts, np.random.default_rng(0), 40_000))
    error = logs.std(axis=0) / np.sqrt(len(logs))
    assert (np.abs(logs.mean(axis=0) - weights.expected_log(counts)) < 4 * error).all()


@pytest.mark.parametrize("kind", PRIORS)
def test_mean_equals_the_mean_over_draws(kind):
    counts = np.array([4.0, 2.5, 9.0, 1.0])
    weights = PRIORS[kind](2.0)
    pi = draws(weights, counts, np.random.default_rng(1), 40_000)
    error = pi.std(axis=0) / np.sqrt(len(pi))
    mean = weights.mean(counts)
    np.testing.assert_allclose(mean.sum(), 1.0, rtol=1e-14)
    # sticks that leave a rest are scaled to sum to one, after the mean
    total = pi.mean(axis=0).sum()
    assert (np.abs(pi.mean(axis=0) - mean * total) < 4 * error + 1e-12).all()


@pytest.mark.parametrize("concentration", [0.01, 1.0, 7.5])
@pytest.mark.parametrize("labels", [[0], [0, 0, 0], [2, 1, 1, 0, 2, 2], [3] * 20 + [0] * 5])
@pytest.mark.parametrize("kind", PRIORS)
def test_evidence_of_labels_equals_the_urn(kind, labels, concentration):
    urn = {
        "dirichlet_distribution": reference.log_dirichlet_multinomial,
        "dirichlet_process": reference.log_stick_breaking,
    }[kind]
    counts = np.bincount(labels, minlength=4).astype(float)
    evidence = PRIORS[kind](concentration).evidence(counts)
    best = max(urn([names[k] for k in labels], concentration, 4) for names in permutations(range(4)))
    np.testing.assert_allclose(evidence, best, rtol=1e-11, atol=1e-12)


def test_dirichlet_evidence_equals_the_integral():
    counts, concentration = np.array([3.7, 1.2]), 1.6
    density = beta_distribution(concentration, concentration).pdf
    value, _ = quad(lambda p: p ** counts[0] * (1 - p) ** counts[1] * density(p), 0, 1, epsabs=0, epsrel=1e-11)
    np.testing.assert_allclose(DirichletWeights(concentration).evidence(counts), np.log(value), rtol=1e-9)


def test_stick_breaking_evidence_equals_the_integral():
    counts, concentration = np.array([2.5, 1.25]), 1.7

    def integrand(second, first):
        prior = concentration**2 * ((1 - first) * (1 - second)) ** (concentration - 1)  # two Beta(1, concentration)
        return prior * first ** counts[0] * ((1 - first) * second) ** counts[1]

    value, _ = dblquad(integrand, 0, 1, 0, 1, epsabs=0, epsrel=1e-9)
    np.testing.assert_allclose(StickBreakingWeights(concentration).evidence(counts), np.log(value), rtol=1e-8)


@pytest.mark.parametrize("kind", PRIORS)
def test_evidence_is_the_bound_at_the_posterior_and_no_other_q_is_better(kind):
    """E_q[log p(z, pi) - log q(pi)] over draws from q: constant at the posterior, lower on average elsewhere."""
    counts = np.array([9.0, 4.0, 2.5])
    weights = PRIORS[kind](1.5)
    rng = np.random.default_rng(2)
    for moved, least in ((counts, -1e-9), (counts + np.array([3.0, 0.0, -2.0]), 0.01)):
        pi = draws(weights, moved, rng, 20_000)
        sticks = pi / np.column_stack([np.ones(len(pi)), 1.0 - np.cumsum(pi, axis=1)[:, :-1]])
        bound = np.log(pi) @ counts + log_prior_density(kind, weights, np.zeros(3), pi, sticks)
        bound -= log_prior_density(kind, weights, moved, pi, sticks)
        gap = weights.evidence(counts) - bound.mean()
        assert gap >= least
        if least < 0:
            np.testing.assert_allclose(bound, weights.evidence(counts), rtol=1e-8)


def log_prior_density(kind, weights, counts, pi, sticks):
    """Log density of pi (or of its sticks) under the posterior of these counts."""
    if kind == "dirichlet_distribution":
        post = weights.posterior(counts)
        return log_dirichlet(post) + np.log(pi) @ (post - 1)
    return beta_distribution(*weights.posterior(counts)).logpdf(sticks).sum(axis=1)


@pytest.mark.parametrize("kind", PRIORS)
def test_one_component_has_all_the_weight(kind):
    weights = PRIORS[kind](0.7)
    np.testing.assert_allclose(weights.mean(np.array([5.0])), [1.0], rtol=1e-15)
    np.testing.assert_allclose(weights.mean(np.array([0.0])), [1.0], rtol=1e-15)
    if kind == "dirichlet_distribution":
        np.testing.assert_allclose(weights.expected_log(np.array([5.0])), [0.0], atol=1e-15)
        np.testing.assert_allclose(weights.evidence(np.array([5.0])), 0.0, atol=1e-14)


def test_sticks_of_counts_that_do_not_sum_exactly_stay_positive():
    counts = np.full(30, 0.1)  # the cumulative sum passes the sum by round-off
    _, after = StickBreakingWeights(1e-20).posterior(counts)
    assert (after > 0).all()
    assert np.isfinite(StickBreakingWeights(1e-3).expected_log(counts)).all()


@pytest.mark.parametrize("name", ["expected_log", "mean", "evidence"])
def test_equal_weights_are_the_limit_of_large_concentrations(name):
    large, equal = DirichletWeights(1e7), EqualWeights()
    np.testing.assert_allclose(getattr(equal, name)(COUNTS), getattr(large, name)(COUNTS), rtol=1e-4)
    assert (equal.posterior(COUNTS) == np.inf).all()


def test_maximum_likelihood_weights_are_relative_frequencies():
    weights = MaximumLikelihoodWeights()
    counts = np.array([3.0, 0.0, 1.0])
    np.testing.assert_array_equal(weights.mean(counts), [0.75, 0.0, 0.25])
    np.testing.assert_allclose(weights.expected_log(counts), [np.log(0.75), -np.inf, np.log(0.25)], rtol=1e-15)
    np.testing.assert_allclose(weights.evidence(counts), 3 * np.log(0.75) + np.log(0.25), rtol=1e-15)
    np.testing.assert_allclose(weights.expected_log(np.array([4.0])), [0.0], atol=0)


def test_round_off_of_an_empty_component_is_no_weight():
    weights, counts = MaximumLikelihoodWeights(), np.array([3.0, -1e-16, 1.0])
    np.testing.assert_array_equal(weights.mean(counts), [0.75, 0.0, 0.25])
    assert weights.expected_log(counts)[1] == -np.inf
    np.testing.assert_allclose(weights.evidence(counts), 3 * np.log(0.75) + np.log(0.25), rtol=1e-15)
