"""Log densities of rows with noise, and rows without it: the compiled loops against plain NumPy."""

import numpy as np
import pytest

from sparsemix._kernels.gaussians import _missing, _noisy
from sparsemix._stats import symmetric

KINDS = ["variances", "matrices"]


def rows_with_noise(rng, n, d, kind):
    """Rows with NaN, whose last row has no value; their noise, (n, D, D), and both as kernels read them."""
    x = rng.normal(size=(n, d))
    x[rng.random(x.shape) < 0.2] = np.nan
    x[0], x[-1] = 1.0, np.nan
    roots = rng.normal(size=(n, d, d))
    noise = roots @ roots.transpose(0, 2, 1) if kind == "matrices" else rng.gamma(1.0, size=(n, d, 1)) * np.eye(d)
    noise[1] = 0.0
    packed = symmetric.pack(noise) if kind == "matrices" else np.einsum("nii->ni", noise)
    return x, noise, np.concatenate([x, packed], axis=1)


def matrices(rng, n_components, d):
    """Covariances and means."""
    roots = rng.normal(size=(n_components, d, d)) + 2.0 * np.eye(d)
    return roots @ roots.transpose(0, 2, 1), rng.normal(size=(n_components, d))


def observed(x, noise, mean, covariance):
    """The observed columns of a row, its residuals, and the covariance of these."""
    seen = ~np.isnan(x)
    return seen, (x - mean)[seen], (covariance + noise)[np.ix_(seen, seen)]


def log_normal(y, covariance):
    """Log density under a Gaussian of mean zero."""
    return -0.5 * (y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(2.0 * np.pi * covariance)[1])


def log_densities(covariances, means, constants, x):
    """The kernel's densities of rows as it reads them."""
    out, d = np.full((len(x), len(means)), np.nan), means.shape[1]
    logs = np.log(np.diagonal(covariances, axis1=1, axis2=2))
    blocks = _missing.in_blocks(covariances), _missing.in_blocks(np.stack([means, logs], axis=-1))
    _noisy.log_density(x, *blocks, constants, d, out)
    return out


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_components", [1, 8, 9])
@pytest.mark.parametrize("d", [1, 2, 5, 19])
def test_densities(d, n_components, kind):
    rng = np.random.default_rng(d)
    (x, noise, read), (covariances, means) = rows_with_noise(rng, 20, d, kind), matrices(rng, n_components, d)
    constants = rng.normal(size=n_components)
    want = np.array([
        [log_normal(*observed(*row, mean, c)[1:]) for mean, c in zip(means, covariances, strict=True)]
        for row in zip(x, noise, strict=True)
    ])  # fmt: skip
    np.testing.assert_allclose(log_densities(covariances, means, constants, read), want + constants, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-60, 1e100])
def test_densities_under_noise_of_any_size(size):
    """The determinant of twelve columns overflows; so do the products of ratios of variances."""
    d, covariances, means = 12, np.tile(1e-30 * np.eye(12), (2, 1, 1)), np.zeros((2, 12))
    x, total = np.zeros((1, 2 * d)), 1e-30 + size
    x[0, :d], x[0, d:] = np.sqrt(total), size
    want = -0.5 * d * (1.0 + np.log(2.0 * np.pi * total))
    np.testing.assert_allclose(log_densities(covariances, means, np.zeros(2), x), np.full((1, 2), want), rtol=1e-9)


def test_round_off_of_large_correlated_noise_leaves_densities_finite():
    rng = np.random.default_rng(0)
    direction = rng.normal(size=4)
    noise = 1e20 * np.outer(direction, direction)
    x = np.concatenate([1e10 * direction, symmetric.pack(noise)])[None]
    assert np.isfinite(log_densities(np.eye(4)[None], np.zeros((1, 4)), np.zeros(1), x)).all()
    spread, out, one = np.zeros((4, 4)), np.empty((1, 4)), np.zeros(1, dtype=np.intc)
    term = _noisy.denoise(x, one, np.ones(1), np.eye(4), np.zeros(4), 0.0, spread, out)
    assert np.isfinite([term, *spread.ravel(), *out.ravel()]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_rows_without_their_noise(d, kind):
    """Means and covariances of the posterior; its entropy plus its log density of the noise, as a difference."""
    rng = np.random.default_rng(d)
    (x, noise, read), (covariances, means) = rows_with_noise(rng, 20, d, kind), matrices(rng, 1, d)
    chosen, resp = np.array([0, 1, 4, 19, 3], dtype=np.intc), rng.random(5)
    c, mean, spread, out = covariances[0], means[0], np.zeros((d, d)), np.full((5, d), np.nan)
    got = _noisy.denoise(read, chosen, resp, c, mean, np.linalg.slogdet(c)[1], spread, out)
    want, total = 0.0, np.zeros((d, d))
    for row, r, found in zip(chosen, resp, out, strict=True):
        seen, y, t = observed(x[row], noise[row], mean, c)
        gain = c[:, seen] @ np.linalg.inv(t)
        v, posterior = mean + gain @ y, c - gain @ c[seen]
        np.testing.assert_allclose(found, v, rtol=1e-9, atol=1e-12)
        total += r * posterior
        expected = log_normal(v - mean, c) - 0.5 * np.trace(np.linalg.solve(c, posterior))
        want += r * (log_normal(y, t) - expected)
    np.testing.assert_allclose(np.tril(spread), np.tril(total), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_no_rows_and_no_components():
    (covariances, means), none = matrices(np.random.default_rng(0), 3, 2), np.empty((0, 4))
    assert log_densities(covariances, means, np.zeros(3), none).shape == (0, 3)
    spread, out, nothing = np.zeros((2, 2)), np.empty((0, 2)), np.empty(0)
    assert _noisy.denoise(none, nothing.astype(np.intc), nothing, np.eye(2), np.zeros(2), 0.0, spread, out) == 0.0


@pytest.mark.parametrize("width", [1, 4])
def test_rows_of_another_width_are_refused(width):
    covariances, means = matrices(np.random.default_rng(0), 3, 2)
    with pytest.raises(ValueError, match="x must hold 2 values and their noise in a row"):
        log_densities(covariances, means, np.zeros(3), np.zeros((5, 2 + width)))
