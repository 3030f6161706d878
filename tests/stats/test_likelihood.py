"""Densities, maximum likelihood and divergences of the likelihood families, against plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from scipy.stats import chi2
from sklearn.mixture import GaussianMixture

from sparsemix._engine import initialize
from sparsemix._stats.families import GAUSSIANS, FactorAnalysers, Gaussians

K, D = 4, 3
WITH_MEANS = [name for name in GAUSSIANS if name != "zero_mean"]


@pytest.fixture(params=GAUSSIANS)
def name(request):
    return request.param


def random_gaussians(name, rng, n_components=K, d=D):
    """Gaussians of a family, and their covariances as (K, D, D)."""
    family = GAUSSIANS[name](d)
    a = rng.normal(size=(n_components, d, d))
    covariances = a @ np.swapaxes(a, 1, 2) + 0.5 * np.eye(d)
    covariances = [reference.one_covariance(name, matrix) for matrix in covariances]
    covariances = covariances[0] if family.tied else np.array(covariances)
    means = np.zeros((n_components, d)) if name == "zero_mean" else rng.normal(size=(n_components, d))
    gaussians = Gaussians(family.structure, means, family.pack_covariances(covariances))
    if family.has_loadings:
        loadings = rng.normal(size=(n_components, family.rank, d))
        gaussians = FactorAnalysers(means=means, covariances=gaussians.covariances, loadings=loadings)
        return family, gaussians, gaussians.dense()
    return family, gaussians, reference.dense_covariances(name, covariances, n_components, d)


def rows_and_stats(name, n_rows=60, n_nonzero=2, weighted=False):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n_rows, D)) @ np.diag([1.0, 2.0, 0.5]) + 0.7
    resp = reference.random_responsibilities(rng, n_rows, K, n_nonzero)
    weight = rng.uniform(0.5, 2.0, size=n_rows) if weighted else None
    family = GAUSSIANS[name](D)
    stats = reference.fill(family.empty_stats(K), reference.statistics(name, x, resp, weight))
    return family, x, resp * reference.weight_column(resp, weight), stats


def dense(family, name, gaussians):
    if family.has_loadings:
        return gaussians.dense()
    covariances = family.unpack_covariances(gaussians.covariances)
    return reference.dense_covariances(name, covariances, len(gaussians.means), family.n_features)


# -- densities


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 9])
def test_table_holds_log_densities(name, d, dtype):
    rng = np.random.default_rng(d)
    _, gaussians, covariances = random_gaussians(name, rng, d=d)
    log_weights, extra = rng.normal(size=K), rng.normal(size=K)
    gaussians = replace(gaussians, extra=extra)
    x = rng.normal(size=(90, d)).astype(dtype)
    out = gaussians.table(log_weights, dtype).weights(x, np.empty((90, K), dtype=dtype))
    expected = reference.log_densities(x, gaussians.means, covariances) + log_weights + extra
    if dtype is np.float32:
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_allclose(out, expected, rtol=1e-11)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_clouds_have_the_mean_log_density_of_their_rows(covariance_type):
    """Rows with variances ``floor`` of their own lose half the trace of the floor in units of the covariance."""
    rng = np.random.default_rng(4)
    _, gaussians, covariances = random_gaussians(covariance_type, rng)
    x, floor = rng.normal(size=(7, D)), np.array([0.3, 0.1, 0.7])
    points, clouds = (
        replace(gaussians, floor=each).table(np.zeros(K), np.float64).weights(x, np.empty((7, K)))
        for each in (None, floor)
    )
    loss = 0.5 * np.diagonal(np.linalg.inv(covariances), axis1=1, axis2=2) @ floor
    np.testing.assert_allclose(points - clouds, np.tile(loss, (7, 1)), rtol=1e-9)


def test_log_determinants_and_traces_of_precisions(name):
    _, gaussians, covariances = random_gaussians(name, np.random.default_rng(0))
    traces = np.trace(np.linalg.inv(covariances), axis1=1, axis2=2)
    np.testing.assert_allclose(gaussians.log_dets() + np.zeros(K), np.linalg.slogdet(covariances)[1], rtol=1e-12)
    np.testing.assert_allclose(gaussians.precision_traces() + np.zeros(K), traces, rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in GAUSSIANS if name != "low_rank"])  # which has matrices to read only
def test_covariances_change_shape_and_come_back(name):
    family, gaussians, covariances = random_gaussians(name, np.random.default_rng(1))
    unpacked = family.unpack_covariances(gaussians.covariances)
    np.testing.assert_array_equal(reference.dense_covariances(name, unpacked, K, D), covariances)
    np.testing.assert_array_equal(family.pack_covariances(unpacked), gaussians.covariances)
    unit = Gaussians(family.structure, gaussians.means, family.unit_covariances(K))
    np.testing.assert_array_equal(dense(family, name, unit), np.tile(np.eye(D), (K, 1, 1)))
    wider = family.add_to_diagonal(gaussians.covariances.copy(), 0.25)
    wider = Gaussians(family.structure, gaussians.means, wider)
    np.testing.assert_allclose(dense(family, name, wider), covariances + 0.25 * np.eye(D), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ["full", "tied", "zero_mean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singular_covariance_warns_and_is_mended(name, dtype):
    family, gaussians, covariances = random_gaussians(name, np.random.default_rng(2))
    singular = covariances.copy()
    bad = slice(None) if name == "tied" else [2]
    singular[bad] = np.diag([1.0, 0.0, 2.0])
    mended = singular.copy()
    mended[bad] += 1e-6 * np.diag([1.0, 1.0, 2.0])  # 1e-6 of each variance, or of their mean, which is 1
    packed = family.pack_covariances(singular[0] if name == "tied" else singular)
    x = np.random.default_rng(3).normal(size=(20, D))
    x[:, 1] *= 1e-3
    expected = reference.log_densities(x.astype(dtype), gaussians.means * [1, 0, 1], mended)
    with pytest.warns(RuntimeWarning, match=f"component {0 if name == 'tied' else 2} is not positive definite"):
        table = Gaussians(family.structure, gaussians.means * [1, 0, 1], packed).table(np.zeros(K), dtype)
    out = table.weights(x.astype(dtype), np.empty((20, K), dtype=dtype))
    np.testing.assert_allclose(out, expected, rtol=1e-4 if dtype is np.float32 else 1e-9)


@pytest.mark.parametrize("name", ["full", "zero_mean"])
def test_covariance_beyond_mending_raises(name):
    family, gaussians, covariances = random_gaussians(name, np.random.default_rng(4))
    covariances[[1, 3]] = np.diag([1.0, 0.0, 1.0])
    covariances[3] = np.diag([1.0, -1.0, 1.0])
    gaussians = Gaussians(family.structure, gaussians.means, family.pack_covariances(covariances))
    with (
        pytest.warns(RuntimeWarning, match="component 1 is not positive definite"),
        pytest.raises(ValueError, match="component 3 is not positive definite; raise reg_covar"),
    ):
        gaussians.table(np.zeros(K), np.float64)


# -- maximum likelihood


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg_covar", [0.0, 0.3])
def test_maximum_likelihood_equals_the_sums_over_rows(name, reg_covar, weighted):
    family, x, resp, stats = rows_and_stats(name, weighted=weighted)
    gaussians = family.maximum_likelihood(stats, reg_covar)
    means, covariances = reference.maximum_likelihood(name, x, resp, reg_covar)
    np.testing.assert_allclose(gaussians.means, means, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(dense(family, name, gaussians), covariances, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("reg_covar", [0.0, 0.3])
def test_expected_log_likelihood_equals_the_sum_over_rows(name, reg_covar):
    family, x, resp, stats = rows_and_stats(name, weighted=True)
    gaussians = family.maximum_likelihood(stats, reg_covar)
    densities = reference.log_densities(x, gaussians.means, dense(family, name, gaussians))
    direct = (resp * densities).sum()
    np.testing.assert_allclose(family.expected_log_lik(gaussians, stats, reg_covar), direct, rtol=1e-11)


def test_no_other_parameters_are_more_likely(name):
    family, x, resp, stats = rows_and_stats(name)
    gaussians = family.maximum_likelihood(stats, 0.0)
    best = family.expected_log_lik(gaussians, stats, 0.0)
    rng = np.random.default_rng(6)
    for _ in range(20):
        means = gaussians.means + 0.05 * rng.normal(size=(K, D)) * (name != "zero_mean")
        other = replace(gaussians, means=means, covariances=gaussians.covariances * rng.uniform(0.9, 1.1))
        assert (resp * reference.log_densities(x, means, dense(family, name, other))).sum() < best


def test_empty_component_keeps_its_previous_parameters(name):
    family, x, resp, _ = rows_and_stats(name, n_nonzero=K)
    resp[:, 1] = 0.0
    resp /= resp.sum(axis=1, keepdims=True)
    resp[:, 0] += resp[:, 2]
    resp[:, 2] = 1e-14  # as good as empty
    stats = reference.fill(family.empty_stats(K), reference.statistics(name, x, resp))
    _, previous, before = random_gaussians(name, np.random.default_rng(7))
    gaussians = family.maximum_likelihood(stats, 0.1, previous)
    np.testing.assert_array_equal(gaussians.means[[1, 2]], previous.means[[1, 2]])
    expected_means, expected = reference.maximum_likelihood(name, x, resp[:, [0, 3]], 0.1)
    np.testing.assert_allclose(gaussians.means[[0, 3]], expected_means, rtol=1e-11, atol=1e-12)
    found = dense(family, name, gaussians)
    np.testing.assert_allclose(found[[0, 3]], expected, rtol=1e-10, atol=1e-11)
    if not family.tied:
        np.testing.assert_array_equal(found[[1, 2]], before[[1, 2]])
    first = family.maximum_likelihood(stats, 0.1)
    assert (first.means[[1, 2]] == 0.0).all()
    if not family.tied:
        np.testing.assert_array_equal(dense(family, name, first)[1], np.eye(D))


def test_statistics_of_gaussians_have_them_as_maximum_likelihood(name):
    rng = np.random.default_rng(8)
    family, gaussians, covariances = random_gaussians(name, rng)
    counts = rng.uniform(1.0, 20.0, size=K)
    stats = family.stats_of(gaussians, counts)
    np.testing.assert_array_equal(stats["count"], counts)
    np.testing.assert_allclose(stats["mass"], counts.sum(), rtol=1e-15)
    again = family.maximum_likelihood(stats, 0.0)
    np.testing.assert_allclose(again.means, gaussians.means, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(dense(family, name, again), covariances, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", WITH_MEANS)
def test_free_parameters_are_as_many_as_in_scikit_learn(name):
    if name == "low_rank":  # a mean, a variance and a loading for each feature
        assert GAUSSIANS[name](D).n_parameters(K) == 3 * K * D
        return
    if name.startswith("tied_"):  # which scikit-learn lacks
        assert GAUSSIANS[name](D).n_parameters(K) == K * D + {"tied_diag": D, "tied_spherical": 1}[name]
        return
    theirs = GaussianMixture(n_components=K, covariance_type=name).fit(np.random.default_rng(9).normal(size=(50, D)))
    assert GAUSSIANS[name](D).n_parameters(K) == theirs._n_parameters() - (K - 1)


def test_free_parameters_without_means():
    assert GAUSSIANS["zero_mean"](D).n_parameters(K) == K * D * (D + 1) // 2


# -- divergences


def random_prior(name, rng, n_features):
    """A family, its prior, and the prior's scale in scikit-learn's shape."""
    family = GAUSSIANS[name](n_features)
    a = rng.normal(size=(n_features, n_features))
    scale = reference.one_covariance(name, a @ a.T + np.eye(n_features))
    mean = rng.normal(size=n_features)
    return family, family.prior(None, 0.4, mean, n_features + 2.5, scale), mean, scale


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_divergence_is_that_of_the_smoothed_gaussians(name, n_features):
    rng = np.random.default_rng(n_features)
    family, prior, mean, scale = random_prior(name, rng, n_features)
    x = 2.0 * rng.normal(size=(15, n_features))
    smoothed = [reference.smoothed(name, row, mean, 0.4, n_features + 2.5, scale) for row in x]
    from_row = family.item_divergences(prior, x)
    for n in range(len(x)):
        expected = [reference.kullback_leibler(*item, *smoothed[n]) for item in smoothed]
        np.testing.assert_allclose(from_row(n), expected, rtol=1e-10, atol=1e-12)


def test_divergence_is_zero_for_equal_rows_only(name):
    rng = np.random.default_rng(10)
    family, prior, _, _ = random_prior(name, rng, D)
    x = rng.normal(size=(40, D))
    x[20:] = x[:20]
    from_row = family.item_divergences(prior, x)
    for n in range(20):
        divergence = from_row(n)
        assert (divergence >= 0.0).all()
        equal = np.arange(40) % 20 == n
        assert (divergence[equal] < 1e-14).all()
        assert (divergence[~equal] > 1e-6).all()


def test_divergence_stays_sharp_far_from_the_prior_mean(name):
    rng = np.random.default_rng(11)
    family, prior, mean, scale = random_prior(name, rng, D)
    x = 1e3 * rng.normal(size=(10, D))
    from_row = family.item_divergences(prior, x)
    smoothed = [reference.smoothed(name, row, mean, 0.4, D + 2.5, scale) for row in x]
    for n in range(10):
        expected = [reference.kullback_leibler(*item, *smoothed[n]) for item in smoothed]
        np.testing.assert_allclose(from_row(n), expected, rtol=1e-6, atol=1e-6)


def test_divergence_in_single_precision_far_from_the_prior_mean(name):
    family, prior, _, _ = random_prior(name, np.random.default_rng(11), D)
    x = 1e16 * np.random.default_rng(12).normal(size=(10, D))
    single, double = family.item_divergences(prior, x.astype(np.float32)), family.item_divergences(prior, x)
    for n in range(10):
        np.testing.assert_allclose(single(n), double(n), rtol=1e-2, atol=1e-6 * double(n).max())


@pytest.mark.slow
def test_second_centre_is_drawn_in_proportion_to_divergence(name):
    rng = np.random.default_rng(12)
    family, prior, _, _ = random_prior(name, rng, 2)
    x, weight = rng.normal(size=(5, 2)), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    from_row = family.item_divergences(prior, x)
    divergences = np.array([from_row(n) for n in range(5)])
    np.fill_diagonal(divergences, 0.0)
    odds = weight * divergences
    expected = (weight / weight.sum())[:, None] * odds / odds.sum(axis=1, keepdims=True)
    seen, n_draws = np.zeros((5, 5)), 4000
    for _ in range(n_draws):
        centres = []

        def recorded(n, centres=centres):
            centres.append(n)
            return divergences[n]

        initialize.plus_plus(recorded, 5, 2, rng, weight)
        seen[centres[0], centres[1]] += 1
    assert (np.diag(seen) == 0).all()
    possible = expected > 0
    statistic = ((seen - n_draws * expected)[possible] ** 2 / (n_draws * expected[possible])).sum()
    assert statistic < chi2(possible.sum() - 1).ppf(1 - 1e-4)
