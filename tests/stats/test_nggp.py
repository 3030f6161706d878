"""The prior of normalized generalized gamma processes: auxiliary variable, predictions, partitions."""

from itertools import pairwise, product

import numpy as np
import pytest
import reference_nggp as oracle
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammaln
from scipy.stats import chisquare

from sparsemix._kernels.clusters import _nggp
from sparsemix._stats.nggp import NGGP

# Concentration, discount, tilt, theta: Dirichlet, inverse Gaussian, stable, between, and Pitman-Yor.
PRIORS = [
    NGGP(1.7, 0.0, 1.0),
    NGGP(1.3, 0.5, 0.7),
    NGGP(10.0, 0.5, 1.0),
    NGGP(0.4, 0.25, 3.0),
    NGGP(2.0, 0.9, 0.1),
    NGGP(0.7, 0.3, 0.0),
    NGGP.pitman_yor(1.4, 0.4),
    NGGP(0.3, 0.6, 0.0, 2.0),
]
TILTED = [prior for prior in PRIORS if prior.discount and prior.tilt]
EXTREME = [NGGP(*measure) for measure in product([1e-6, 1.0, 1e6], [0.0, 1e-6, 0.01, 0.5, 0.99], [1e-12, 1.0, 1e6])]
ROWS = np.array([1e-3, 1.0, 2.0, 1e2, 1e9])


def partitions(n):
    """Sizes of the clusters of every set partition of n."""
    sizes = [[]]
    for _ in range(n):
        sizes = [[*s[:k], s[k] + 1, *s[k + 1 :]] for s in sizes for k in range(len(s))] + [[*s, 1] for s in sizes]
    return sizes


def log_joint(prior, sizes, v):
    """Log p(partition, log U = v) written out: u^n / Gamma(n) exp(-psi(u)) prod_k kappa_{n_k}(u)."""
    n, a, sigma, tau = sum(sizes), prior.concentration, prior.discount, prior.tilt
    u = np.exp(v)
    psi = a * np.log1p(u / tau) if sigma == 0 else a / sigma * ((u + tau) ** sigma - tau**sigma)
    kappa = [np.log(a) + gammaln(m - sigma) - gammaln(1 - sigma) - (m - sigma) * np.log(u + tau) for m in sizes]
    return n * v - gammaln(n) - psi + sum(kappa)


def integral(prior, sizes, function=None):
    """Integral of the joint, or of the joint times a function of v: SciPy's quadrature, in pieces."""
    ends = prior.log_mode(sum(sizes), len(sizes)) + np.array([-120, -40, -12, -4, -1, 0, 1, 2, 4, 8, 16, 40])
    if prior.discount == 0:
        ends = np.append(ends, ends[-1] + 200)

    def integrand(v):
        return np.exp(log_joint(prior, sizes, v)) * (1.0 if function is None else function(v))

    with np.errstate(under="ignore"):
        return sum(quad(integrand, *pair, epsabs=0, epsrel=1e-12)[0] for pair in pairwise(ends))


def exact_predictive(prior, sizes):
    """((n_k - sigma) E[u / (u + tau)], a E[u (u + tau)^(sigma - 1)]) / n."""
    a, sigma, tau, n = prior.concentration, prior.discount, prior.tilt, sum(sizes)
    mass = integral(prior, sizes)
    old = integral(prior, sizes, lambda v: 1 / (1 + tau * np.exp(-v))) / mass
    new = integral(prior, sizes, lambda v: a * np.exp(v) * (np.exp(v) + tau) ** (sigma - 1)) / mass
    return np.append((np.array(sizes) - sigma) * old, new) / n


def residual(prior, n, k, v):
    """Log of both sides of the equation of the mode, their difference, and its derivative by v."""
    a, sigma, log_tau = prior.concentration, prior.discount, np.log(prior.tilt)
    with np.errstate(divide="ignore"):
        terms = np.log(sigma * k), np.log(n) + log_tau - v
    right, shift = np.logaddexp(*terms), np.logaddexp(v, log_tau)
    return np.log(a) + sigma * shift - right, sigma * np.exp(v - shift) + np.exp(terms[1] - right)


# -- the mode of log U


def test_mode_of_the_worked_example():
    prior = NGGP(1.3, 0.5, 0.7)
    assert np.exp(prior.log_mode(7, 3)) == pytest.approx(3.849578972562773, rel=1e-14)
    new = np.exp(prior.log_new_weight(7, 3, "mode"))
    assert new / (new + 7 - 0.5 * 3) == pytest.approx(0.33517602, abs=5e-9)


@pytest.mark.parametrize("prior", TILTED)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 2), (7, 3), (40, 40), (1000, 12.5), (2.5, 0.8)])
def test_mode_solves_its_equation_and_is_where_the_density_is_largest(prior, n, k):
    v = prior.log_mode(n, k)
    root = brentq(lambda x: residual(prior, n, k, x)[0], v - 50, v + 50, xtol=1e-13, rtol=1e-14)
    assert v == pytest.approx(root, abs=1e-11)
    grid = root + np.arange(-2, 2, 1e-3)
    assert abs(grid[np.argmax(prior.log_density_of_log_u(grid, n, k))] - v) <= 1.5e-3
    assert prior.slope_of_log_density(v, n, k) == pytest.approx(0.0, abs=1e-9 * n)


@pytest.mark.parametrize("prior", EXTREME)
def test_mode_solves_its_equation_at_the_edges(prior):
    n = np.repeat(ROWS, 4)
    k = np.stack([np.full(5, 1e-9), np.ones(5), ROWS**0.3, ROWS], axis=1).ravel()
    v = prior.log_mode(n, k)
    assert np.isfinite(v).all()
    value, slope = residual(prior, n, k, v)
    scale = 1 + np.abs(v) * (prior.discount + 1e-3)  # what rounding leaves of logarithms of this size
    assert (np.abs(value) <= 1e-11 * scale + 1e-10 * slope).all()
    for rule in ("mode", "quadrature"):
        weight = prior.log_new_weight(n, k, rule)
        assert np.isfinite(weight).all()


def test_mode_has_closed_forms_without_discount_and_without_tilt():
    n, k = np.array([1.0, 7.0, 1e5]), np.array([1.0, 2.5, 300.0])
    np.testing.assert_allclose(NGGP(1.7, 0.0, 0.3).log_mode(n, k), np.log(n * 0.3 / 1.7), rtol=1e-14)
    np.testing.assert_allclose(NGGP(1.7, 0.25, 0.0).log_mode(n, k), 4 * np.log(0.25 * k / 1.7), rtol=1e-14)
    np.testing.assert_allclose(NGGP(1.7, 0.25, 1e-14).log_mode(n, k), 4 * np.log(0.25 * k / 1.7), rtol=1e-9)
    np.testing.assert_allclose(NGGP(1.7, 1e-12, 0.3).log_mode(n, k), np.log(n * 0.3 / 1.7), rtol=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
def test_before_the_first_row_only_a_new_cluster_can_be(prior):
    assert prior.log_mode(0.0, 0.0) == -np.inf
    for rule in ("mode", "quadrature"):
        assert np.isfinite(prior.log_new_weight(0.0, 0.0, rule))


@pytest.mark.parametrize("prior", PRIORS)
def test_density_is_the_joint_up_to_a_constant(prior):
    v = np.linspace(-6, 6, 30)
    for sizes in ([1], [4, 2, 1], [1, 1, 1]):
        if prior.tilt == 0:
            joint = [(prior.theta + len(sizes) * prior.discount) * x - prior.laplace_exponent(x) for x in v]
        else:
            joint = [log_joint(prior, sizes, x) for x in v]
        density = prior.log_density_of_log_u(v, sum(sizes), len(sizes))
        np.testing.assert_allclose(np.diff(density), np.diff(joint), rtol=1e-9, atol=1e-11)
        slope = (prior.log_density_of_log_u(v + 1e-6, 7, 3) - prior.log_density_of_log_u(v - 1e-6, 7, 3)) / 2e-6
        np.testing.assert_allclose(prior.slope_of_log_density(v, 7, 3), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("prior", PRIORS[:5])
def test_laplace_exponent_and_kappa_are_integrals_of_the_intensity(prior):
    def intensity(w, power):
        scale = prior.concentration / np.exp(gammaln(1 - prior.discount))
        return scale * w ** (power - 1 - prior.discount) * np.exp(-prior.tilt * w)

    for u in (0.3, 4.0):
        v = np.log(u)
        # w = x^20 spreads out what happens near zero
        value = quad(lambda x, u=u: -np.expm1(-u * x**20) * intensity(x**20, 0) * 20 * x**19, 0, 1.6, epsrel=1e-11)[0]
        value += quad(lambda w, u=u: -np.expm1(-u * w) * intensity(w, 0), 1.6**20, np.inf)[0]
        assert prior.laplace_exponent(v) == pytest.approx(value, rel=1e-6)
        for m in (1, 3):
            value = quad(lambda x, u=u, m=m: np.exp(-u * x**20) * intensity(x**20, m) * 20 * x**19, 0, 1.5)[0]
            value += quad(lambda w, u=u, m=m: np.exp(-u * w) * intensity(w, m), 1.5**20, np.inf)[0]
            assert np.exp(prior.log_kappa(m, v)) == pytest.approx(value, rel=1e-6)


# -- predictions


def test_predictive_of_the_worked_example():
    expected = [0.41194617, 0.17654836, 0.05884945, 0.35265601]
    np.testing.assert_allclose(oracle.predictive(NGGP(1.3, 0.5, 0.7), [4, 2, 1]), expected, atol=6e-9)


@pytest.mark.parametrize("prior", PRIORS[:5])
@pytest.mark.parametrize("sizes", [[1], [1, 1], [3, 2], [4, 2, 1], [100, 50, 20, 3, 1]])
def test_predictive_equals_moments_of_u(prior, sizes):
    expected = exact_predictive(prior, sizes)
    assert expected.sum() == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(oracle.predictive(prior, sizes), expected, rtol=1e-8)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("sizes", [[1], [3, 2], [4, 2, 1]])
def test_predictive_equals_ratios_of_partitions(prior, sizes):
    larger = [[*sizes[:j], sizes[j] + 1, *sizes[j + 1 :]] for j in range(len(sizes))] + [[*sizes, 1]]
    ratios = np.exp([oracle.log_eppf(prior, s) - oracle.log_eppf(prior, sizes) for s in larger])
    np.testing.assert_allclose(oracle.predictive(prior, sizes), ratios, rtol=1e-10)


@pytest.mark.parametrize("prior", TILTED)
@pytest.mark.parametrize("factor", [1e-3, 0.2, 50.0])
def test_predictions_depend_on_concentration_and_tilt_through_one_number(prior, factor):
    a, sigma, tau = prior.concentration, prior.discount, prior.tilt
    other = NGGP(a * factor**-sigma, sigma, tau * factor)
    n, k = np.array([1.0, 7.0, 300.0]), np.array([1.0, 3.0, 20.5])
    for rule in ("mode", "quadrature"):
        np.testing.assert_allclose(other.log_new_weight(n, k, rule), prior.log_new_weight(n, k, rule), atol=1e-10)
    np.testing.assert_allclose(other.log_mode(n, k), prior.log_mode(n, k) + np.log(factor), atol=1e-10)


@pytest.mark.parametrize("tau", [1e-9, 0.3, 1.0, 1e6])
@pytest.mark.parametrize("rule", ["mode", "quadrature"])
def test_without_discount_it_is_the_chinese_restaurant(rule, tau):
    n, k = np.array([1.0, 7.0, 300.0]), np.array([1.0, 3.0, 20.5])
    np.testing.assert_allclose(np.exp(NGGP(2.5, 0.0, tau).log_new_weight(n, k, rule)), 2.5, rtol=1e-14)
    np.testing.assert_allclose(oracle.predictive(NGGP(2.5, 0.0, tau), [4, 2]), np.array([4, 2, 2.5]) / 8.5, rtol=1e-12)
    near = NGGP(2.5 * tau**-1e-6, 1e-6, tau)
    share, limit = (np.exp(p.log_new_weight(n, k, rule)) / (n + 2.5) for p in (near, NGGP(2.5, 0.0, tau)))
    np.testing.assert_allclose(share, limit, atol=1e-5)


@pytest.mark.parametrize("tau", [0.0, 1e-30])
@pytest.mark.parametrize("rule", ["mode", "quadrature"])
def test_without_tilt_it_is_the_urn_of_pitman_and_yor(rule, tau):
    n, k = np.array([1.0, 7.0, 300.0]), np.array([1.0, 3.0, 20.5])
    prior = NGGP(1.4, 0.4, tau)
    np.testing.assert_allclose(np.exp(prior.log_new_weight(n, k, rule)), 0.4 * k, rtol=1e-8)
    np.testing.assert_allclose(oracle.predictive(prior, [4, 2]), np.array([3.6, 1.6, 0.8]) / 6, rtol=1e-8)


@pytest.mark.parametrize("a", [0.2, 1.4, 30.0])
@pytest.mark.parametrize("rule", ["mode", "quadrature"])
def test_with_theta_it_is_the_urn_of_pitman_and_yor_for_any_concentration(rule, a):
    n, k = np.array([1.0, 7.0, 300.0]), np.array([1.0, 3.0, 20.5])
    prior = NGGP(a, 0.4, 0.0, 1.4)
    np.testing.assert_allclose(np.exp(prior.log_new_weight(n, k, rule)), 1.4 + 0.4 * k, rtol=1e-14)
    np.testing.assert_allclose(oracle.predictive(prior, [4, 2]), np.array([3.6, 1.6, 2.2]) / 7.4, rtol=1e-12)
    v = prior.log_mode(n, k)
    np.testing.assert_allclose(a * np.exp(0.4 * v), 1.4 + 0.4 * k, rtol=1e-12)
    assert NGGP.pitman_yor(1.4, 0.0) == NGGP(1.4, 0.0, 1.0)


def test_pitman_and_yor_is_a_generalized_gamma_process_of_random_concentration():
    """a ~ Gamma(theta / sigma, 1 / sigma), tau = 1: the mean over a of the joint of partition and U."""
    theta, sigma = 1.4, 0.4
    a = np.exp(np.linspace(-12.0, 6.0, 4001))
    density = a ** (theta / sigma) * np.exp(-a / sigma)
    density /= density.sum()
    for sizes in ([1], [2, 1], [3, 1, 1], [1, 1, 1, 2]):
        values = [integral(NGGP(one, sigma, 1.0), sizes) for one in a[::50]]
        mean = density[::50] @ values / density[::50].sum()
        assert mean == pytest.approx(np.exp(oracle.log_eppf(NGGP.pitman_yor(theta, sigma), sizes)), rel=1e-6)


def test_the_mode_comes_close_to_the_exact_weight_as_rows_come():
    prior = NGGP(10.0, 0.5, 1.0)
    sizes = np.array([1, 10, 100, 1000])
    error = prior.log_new_weight(sizes * 17, sizes * 5, "mode") - prior.log_new_weight(sizes * 17, sizes * 5)
    assert (np.abs(error[1:]) < np.abs(error[:-1]) / 3).all()
    assert abs(error[-1]) < 1e-6
    # where U hardly varies, a billion rows leave rounding alone
    few = NGGP(0.1, 0.1, 1.0)
    assert few.log_new_weight(1e9, 4000.0) == pytest.approx(few.log_new_weight(1e9, 4000.0, "mode"), abs=1e-9)


# -- partitions


def test_probability_of_a_partition_of_the_worked_example():
    assert np.exp(oracle.log_eppf(NGGP(1.7, 0.0, 1.0), [3, 2])) == pytest.approx(0.012704006731629, rel=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_probabilities_of_partitions_sum_to_one(prior):
    sizes = partitions(5)
    assert len(sizes) == 52
    assert sum(np.exp(oracle.log_eppf(prior, s)) for s in sizes) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("prior", PRIORS[:5])
@pytest.mark.parametrize("sizes", [[1], [2], [1, 1], [3, 2], [1, 1, 1, 2], [20, 3, 1]])
def test_probability_of_a_partition_equals_the_integral(prior, sizes):
    assert np.exp(oracle.log_eppf(prior, sizes)) == pytest.approx(integral(prior, sizes), rel=1e-8)


def test_log_probability_of_a_partition_is_that_of_pitman_and_yor():
    """prod_k (theta + sigma k) / (theta + 1)_(n - 1) prod_k (1 - sigma)_(n_k - 1), up to a constant."""
    prior, sizes = NGGP.pitman_yor(1.4, 0.4), partitions(6)
    assert len(sizes) == 203
    opened = [np.log(1.4 + 0.4 * np.arange(1, len(s))).sum() for s in sizes]
    joins = [(gammaln(np.array(s) - 0.4) - gammaln(0.6)).sum() for s in sizes]
    exact = opened + np.array(joins) - np.log(1.4 + np.arange(1, 6)).sum()
    np.testing.assert_allclose([oracle.log_eppf(prior, s) for s in sizes], exact, rtol=1e-12, atol=1e-12)
    found = np.array([prior.log_partition(np.array(s, dtype=float), 6.0) for s in sizes])
    np.testing.assert_allclose(np.diff(found), np.diff(exact), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_order_of_clusters_does_not_matter(prior):
    orders = [oracle.log_eppf(prior, sizes) for sizes in ([9, 1, 4], [1, 4, 9], [4, 9, 1])]
    np.testing.assert_allclose(orders, orders[0], rtol=1e-11)


@pytest.mark.parametrize("prior", PRIORS)
def test_expected_clusters_equal_the_sum_over_partitions(prior):
    for n in (1, 2, 6):
        mean = sum(len(sizes) * np.exp(oracle.log_eppf(prior, sizes)) for sizes in partitions(n))
        assert prior.expected_clusters(n) == pytest.approx(mean, rel=1e-10)


def test_expected_clusters_grow_as_logarithm_or_power():
    n = np.array([100, 200, 400])
    sums = [(1.7 / (1.7 + np.arange(m))).sum() for m in n]
    np.testing.assert_allclose([NGGP(1.7, 0.0, 1.0).expected_clusters(m) for m in n], sums, rtol=1e-12)
    for sigma in (0.3, 0.5):
        stable = np.exp(gammaln(n + sigma) - gammaln(1 + sigma) - gammaln(n))
        np.testing.assert_allclose([NGGP(2.0, sigma, 0.0).expected_clusters(m) for m in n], stable, rtol=1e-10)
        growth = np.diff(np.log([NGGP(2.0, sigma, 0.01).expected_clusters(m) for m in n])) / np.log(2)
        assert sigma < growth[1] < growth[0] < sigma + 0.06


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_drawn_partitions_have_their_probabilities(prior):
    rng = np.random.RandomState(0)
    n, n_draws = 4, 4000
    counts = {}
    for _ in range(n_draws):
        labels = tuple(oracle.sample_partition(prior, n, rng))
        counts[labels] = counts.get(labels, 0) + 1
    expected = {}
    for labels in product(range(n), repeat=n):
        if all(label <= max(labels[:i], default=-1) + 1 for i, label in enumerate(labels)):
            expected[labels] = n_draws * np.exp(oracle.log_eppf(prior, np.bincount(labels)))
    assert len(expected) == 15
    assert set(counts) <= set(expected)
    observed = np.array([counts.get(labels, 0) for labels in expected])
    assert chisquare(observed, list(expected.values()), sum_check=False).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("rng", [np.random.RandomState(1), np.random.default_rng(1)], ids=["old", "new"])
@pytest.mark.parametrize("prior", [NGGP(5.0, 0.0, 1.0), NGGP(1.0, 0.5, 1.0)])
def test_number_of_drawn_clusters_is_as_expected(prior, rng):
    draws = [oracle.sample_partition(prior, 300, rng) for _ in range(40)]
    assert all((np.unique(labels) == np.arange(labels.max() + 1)).all() for labels in draws)
    n_clusters = np.array([labels.max() + 1 for labels in draws])
    error = n_clusters.std() / np.sqrt(len(draws))
    assert abs(n_clusters.mean() - prior.expected_clusters(300)) < 4 * error


def test_partitions_of_no_row_and_of_one_row():
    prior = NGGP(1.0, 0.5, 1.0)
    rng = np.random.RandomState(0)
    assert oracle.sample_partition(prior, 0, rng).shape == (0,)
    assert oracle.sample_partition(prior, 1, rng).tolist() == [0]
    assert oracle.log_eppf(prior, [1]) == 0.0
    assert prior.expected_clusters(1) == 1.0


# -- draws of U and of the concentration


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (7, 3), (40, 40), (5000, 60)])
def test_draws_of_log_u_have_the_moments_of_its_density(prior, n, k):
    rng = np.random.RandomState(n)
    draws = np.array([prior.sample_log_u(n, k, rng) for _ in range(3000)])
    low, high = draws.min() - 3 * np.ptp(draws), draws.max() + 3 * np.ptp(draws)
    grid = np.linspace(low, high, 20_001)
    density = np.exp(prior.log_density_of_log_u(grid, n, k) - prior.log_density_of_log_u(prior.log_mode(n, k), n, k))
    density /= density.sum()
    mean = density @ grid
    variance = density @ (grid - mean) ** 2
    assert abs(draws.mean() - mean) < 4 * np.sqrt(variance / len(draws))
    fourth = density @ (grid - mean) ** 4
    assert abs(((draws - mean) ** 2).mean() - variance) < 4 * np.sqrt((fourth - variance**2) / len(draws))
    edges = np.interp(np.arange(1, 20) / 20, np.cumsum(density), grid + (grid[1] - grid[0]) / 2)
    assert chisquare(np.bincount(np.searchsorted(edges, draws), minlength=20)).pvalue > 1e-3


@pytest.mark.parametrize("prior", EXTREME)
def test_draws_of_log_u_end_at_the_edges(prior):
    rng = np.random.RandomState(0)
    for n, k in ((1, 1), (10, 10), (10**9, 1), (10**9, 10**6), (10**6, 10**6)):
        assert np.isfinite([prior.sample_log_u(n, k, rng) for _ in range(5)]).all()


@pytest.mark.parametrize("prior", PRIORS)
def test_concentration_given_clusters_and_u_is_a_gamma_variable(prior):
    v, shape, rate = 0.4, 2.0, 0.5
    sizes = [4, 2, 1]
    rng = np.random.RandomState(3)
    draws = [prior.sample_concentration(len(sizes), v, rng, shape, rate) for _ in range(4000)]
    a = np.linspace(1e-3, 60, 60_001)
    # the joint's dependence on a, times the prior of a
    laplace = np.array(prior.laplace_exponent(v)) / prior.concentration
    density = a ** (len(sizes) + shape - 1) * np.exp(-a * (laplace + rate))
    density /= density.sum()
    mean = density @ a
    error = np.sqrt(density @ (a - mean) ** 2 / len(draws))
    assert abs(np.mean(draws) - mean) < 4 * error


# -- what is refused


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ((0.0, 0.5, 1.0), "concentration must be positive"),
        ((1.0, 1.0, 1.0), r"discount in \[0, 1\)"),
        ((1.0, -0.1, 1.0), r"discount in \[0, 1\)"),
        ((1.0, 0.5, -1.0), "tilt not negative"),
        ((np.nan, 0.5, 1.0), "got nan"),
        ((1.0, 0.5, np.inf), "and inf"),
        ((1.0, 0.0, 0.0), "tilt must be positive where discount is 0"),
        ((1.0, 0.5, 1.0, 0.3), "theta must not be negative, and 0 where tilt is positive"),
        ((1.0, 0.5, 0.0, -0.3), "theta must not be negative"),
        ((1.0, 0.5, 0.0, np.inf), "theta must not be negative"),
    ],
)
def test_a_measure_that_cannot_be_is_refused(measure, message):
    with pytest.raises(ValueError, match=message):
        NGGP(*measure)
    with pytest.raises(ValueError, match=r"need a > 0|theta must not be"):
        _nggp.log_mode(np.ones(1), np.ones(1), *(*measure, 0.0)[:4], np.empty(1))


def test_kernels_refuse_arrays_of_different_lengths():
    one, two = np.ones(1), np.ones(2)
    with pytest.raises(ValueError, match="of one length"):
        _nggp.log_mode(one, two, 1.0, 0.5, 1.0, 0.0, np.empty(2))
    with pytest.raises(ValueError, match="of one length"):
        _nggp.log_new(two, two, 1.0, 0.5, 1.0, 0.0, True, np.empty(1), np.empty(2))


@pytest.mark.parametrize("discount", [0.3, 0.7])
def test_stable_process_is_the_limit_of_small_tilts(discount):
    v = np.linspace(-1.0, 3.0, 5)
    stable, nearly = (NGGP(1.5, discount, tilt) for tilt in (0.0, 1e-14))
    np.testing.assert_allclose(stable.laplace_exponent(v), nearly.laplace_exponent(v), rtol=1e-3)
    np.testing.assert_allclose(stable.log_kappa(3.0, v), nearly.log_kappa(3.0, v), rtol=1e-9)


@pytest.mark.parametrize("discount", [0.0, 1e-10, 1e-3, 0.5, 0.999])
@pytest.mark.parametrize("concentration", [1e-100, 1e-30, 1.0, 1e30, 1e100])
def test_measures_of_any_size_have_draws_and_weights(concentration, discount):
    """If a density is too narrow or too flat for double precision, the draw is its mode."""
    for tilt, (n, k) in product([1e-300, 1e-30, 1.0, 1e30, 1e100], [(0.1, 1), (2, 1), (1e3, 10), (1e25, 5)]):
        prior = NGGP(concentration, discount, tilt)
        assert np.isfinite(prior.sample_log_u(n, k, np.random.default_rng(0)))
        for rule in ("mode", "quadrature"):
            assert np.isfinite(prior.log_new_weight(n, k, rule))
