"""Log densities of observed values, and completed rows: the compiled loops against plain NumPy."""

import numpy as np
import pytest

from sparsemix._kernels.gaussians import _missing

DTYPES = [np.float32, np.float64]


def gaps(rng, n, d, dtype=np.float64):
    """Rows with missing values; the first is complete, the last has none."""
    x = rng.normal(size=(n, d)).astype(dtype)
    x[rng.random(x.shape) < 0.4] = np.nan
    x[0], x[-1] = 1.0, np.nan
    return x


def matrices(rng, n_components, d):
    """Covariances and means."""
    roots = rng.normal(size=(n_components, d, d)) + 2.0 * np.eye(d)
    return roots @ roots.transpose(0, 2, 1), rng.normal(size=(n_components, d))


def log_density(x, mean, covariance):
    """Log density of the observed values of a row."""
    seen = ~np.isnan(x)
    c, y = covariance[np.ix_(seen, seen)], (x - mean)[seen]
    return -0.5 * (y @ np.linalg.solve(c, y) + np.linalg.slogdet(2.0 * np.pi * c)[1])


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [1, 7, 8, 17, 33])
@pytest.mark.parametrize("d", [1, 2, 5, 19])
def test_densities_under_variances(d, n_components, dtype):
    rng = np.random.default_rng(d)
    x, means = gaps(rng, 30, d, dtype), rng.normal(size=(n_components, d))
    variances = rng.gamma(2.0, size=(n_components, d))
    table = np.stack([variances**-0.5, means * variances**-0.5, np.log(2.0 * np.pi * variances)], axis=-1)
    constants, out = rng.normal(size=n_components), np.full((30, n_components), np.nan, dtype)
    _missing.observed_diagonal(x, _missing.in_blocks(table.astype(dtype)), constants.astype(dtype), out)
    want = [[log_density(row, m, np.diag(v)) for m, v in zip(means, variances, strict=True)] for row in x.astype(float)]
    tolerance = 1e-11 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(out, np.array(want) + constants, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("n_components", [1, 8, 9])
@pytest.mark.parametrize("d", [1, 2, 5, 19])
def test_densities_under_matrices(d, n_components):
    rng = np.random.default_rng(d)
    x, (covariances, means) = gaps(rng, 30, d), matrices(rng, n_components, d)
    x[10:20] = np.where(np.isnan(x[10]), np.nan, rng.normal(size=(10, d)))  # one pattern
    precisions = np.linalg.inv(covariances)
    logs = np.log(np.diagonal(precisions, axis1=1, axis2=2))
    constants = -0.5 * np.linalg.slogdet(2.0 * np.pi * covariances)[1]
    order = np.random.default_rng(0).permutation(30).astype(np.intc)
    order = np.concatenate([order[(order < 10) | (order >= 20)], np.arange(10, 20)]).astype(np.intc)
    starts, out = np.array([*range(20), 20, 20, 30], dtype=np.intp), np.full((30, n_components), np.nan)
    blocks = _missing.in_blocks(precisions), _missing.in_blocks(np.stack([means, logs], axis=-1))
    _missing.observed_matrix(x, order, starts, *blocks, constants, out)
    want = [[log_density(row, m, c) for m, c in zip(means, covariances, strict=True)] for row in x]
    np.testing.assert_allclose(out, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 2, 5, 19])
def test_completed_rows(d, dtype):
    rng = np.random.default_rng(d)
    x, (covariances, means) = gaps(rng, 30, d, dtype), matrices(rng, 1, d)
    covariance, mean, resp = covariances[0], means[0], rng.random(40)
    rows = np.sort(rng.integers(30, size=40)).astype(np.intc)
    spread, out, densities = np.zeros((d, d)), np.full((40, d), np.nan), np.full(40, np.nan)
    entropy = _missing.complete(x, rows, resp, np.linalg.inv(covariance), mean, spread, out, densities)
    want_spread, want_entropy = np.zeros((d, d)), 0.0
    for at, (n, r) in enumerate(zip(rows, resp, strict=True)):
        row = x[n].astype(float)
        lost = np.isnan(row)
        seen, m = ~lost, np.flatnonzero(lost)
        gain = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, lost)]).T
        left = covariance[np.ix_(lost, lost)] - gain @ covariance[np.ix_(seen, lost)]
        row[lost] = mean[lost] + gain @ (row - mean)[seen]
        np.testing.assert_allclose(out[at], row, rtol=1e-8, atol=1e-8)
        want_spread[np.ix_(m, m)] += r * left
        want_entropy += 0.5 * r * (np.linalg.slogdet(2.0 * np.pi * np.e * left)[1] if lost.any() else 0.0)
        whole = 0.5 * np.linalg.slogdet(2.0 * np.pi * covariance)[1]
        density = log_density(x[n].astype(float), mean, covariance) + whole
        assert densities[at] == pytest.approx(density, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(np.tril(spread), np.tril(want_spread), rtol=1e-8, atol=1e-8)
    assert entropy == pytest.approx(want_entropy, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("n_precisions", [1, 4])
@pytest.mark.parametrize("d", [1, 2, 5, 19])
def test_expected_values(d, n_precisions, drawn):
    rng = np.random.default_rng(d)
    x, (covariances, means) = gaps(rng, 30, d), matrices(rng, 4, d)
    covariances = covariances[:n_precisions]
    x[10:20] = np.where(np.isnan(x[10]), np.nan, rng.normal(size=(10, d)))  # one pattern
    resp, normals = rng.random((30, 4)), rng.normal(size=(30, d)) if drawn else None
    order, starts = np.arange(29, -1, -1, dtype=np.intc), np.array([*range(11), 20, 20, *range(21, 31)], dtype=np.intp)
    out = np.full((30, d), np.nan)
    _missing.expect(x, order, starts, resp, 0.1, np.linalg.inv(covariances), means, normals, out)
    want = np.zeros((30, d))
    for row, (values, weights) in enumerate(zip(x, resp, strict=True)):
        lost = np.isnan(values)
        for k in np.flatnonzero(weights >= 0.1):
            precision, y = np.linalg.inv(covariances[k % n_precisions]), (values - means[k])[~lost]
            root = np.linalg.cholesky(precision[np.ix_(lost, lost)])
            mean = means[k, lost] - np.linalg.solve(root @ root.T, precision[np.ix_(lost, ~lost)] @ y)
            shift = np.linalg.solve(root.T, normals[row, lost]) if drawn else 0.0
            want[row, lost] += weights[k] * (mean + shift)
    np.testing.assert_allclose(out, want, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("n_precisions", [1, 4])
@pytest.mark.parametrize("d", [2, 5, 19])
def test_moments(d, n_precisions, last):
    rng = np.random.default_rng(d)
    x, (covariances, means) = gaps(rng, 30, d), matrices(rng, 4, d)
    covariances = covariances[:n_precisions]
    x[10:20] = np.where(np.isnan(x[10]), np.nan, rng.normal(size=(10, d)))  # one pattern
    x[:, -last:] = np.nan
    order, starts = np.arange(29, -1, -1, dtype=np.intc), np.array([*range(11), 20, 20, *range(21, 31)], dtype=np.intp)
    out, want = np.full((2, 30, 4, last), np.nan), np.empty((2, 30, 4, last))
    _missing.moments(x, order, starts, np.linalg.inv(covariances), means, *out)
    for row, values in enumerate(x):
        seen = ~np.isnan(values)
        for k, mean in enumerate(means):
            covariance = covariances[k % n_precisions]
            gain = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[seen, -last:]).T
            want[0, row, k] = mean[-last:] + gain @ (values - mean)[seen]
            want[1, row, k] = np.diag(covariance[-last:, -last:] - gain @ covariance[seen, -last:])
    np.testing.assert_allclose(out, want, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("wrong", ["x", "order", "starts", "precisions", "means", "centres", "variances"])
def test_wrong_shapes_of_moments_are_refused(wrong):
    given = {
        "x": np.full((4, 2), np.nan), "order": np.arange(4, dtype=np.intc), "starts": np.array([0, 4]),
        "precisions": np.ones((3, 2, 2)), "means": np.zeros((3, 2)), "centres": np.empty((4, 3, 1)),
        "variances": np.empty((4, 3, 1)),
    }  # fmt: skip
    given[wrong] = {
        "x": np.zeros((4, 2)), "order": np.full(4, 4, dtype=np.intc), "starts": np.array([0, 3])
    }.get(wrong, given[wrong][:, :1].copy() if given[wrong].ndim > 1 else None)  # fmt: skip
    with pytest.raises(ValueError, match=wrong):
        _missing.moments(*given.values())


@pytest.mark.parametrize("wrong", ["order", "starts", "resp", "precisions", "means", "normals", "out"])
def test_wrong_shapes_of_expected_values_are_refused(wrong):
    given = {
        "order": np.arange(4, dtype=np.intc), "starts": np.array([0, 4]), "resp": np.ones((4, 3)), "least": 0.0,
        "precisions": np.ones((3, 2, 2)), "means": np.zeros((3, 2)), "normals": np.zeros((4, 2)),
        "out": np.empty((4, 2)),
    }  # fmt: skip
    short = np.ascontiguousarray(given[wrong][..., :1]) if np.ndim(given[wrong]) > 1 else None
    given[wrong] = {"order": np.full(4, 4, dtype=np.intc), "starts": np.array([0, 3])}.get(wrong, short)
    with pytest.raises(ValueError, match=wrong):
        _missing.expect(np.zeros((4, 2)), *given.values())


@pytest.mark.parametrize("dtype", DTYPES)
def test_filled_rows(dtype):
    rng = np.random.default_rng(0)
    x, mean, resp = gaps(rng, 20, 6, dtype), rng.normal(size=6), rng.random(25)
    rows, lost, out = rng.integers(20, size=25).astype(np.intc), np.ones(6), np.empty((25, 6))
    _missing.fill(x, rows, resp, mean, lost, out)
    np.testing.assert_array_equal(out, np.where(np.isnan(x[rows]), mean, x[rows]))
    np.testing.assert_allclose(lost, 1.0 + resp @ np.isnan(x[rows]))


@pytest.mark.parametrize("wrong", ["table", "out", "order", "starts"])
def test_wrong_shapes_are_refused(wrong):
    x, blocks = np.zeros((4, 2)), _missing.in_blocks(np.tile(np.eye(2), (3, 1, 1)))
    given = {
        "order": np.arange(4, dtype=np.intc), "starts": np.array([0, 4]), "table": blocks,
        "means": _missing.in_blocks(np.zeros((3, 2, 2))), "constants": np.zeros(3), "out": np.empty((4, 3)),
    }  # fmt: skip
    given[wrong] = {
        "table": blocks[1:], "out": np.empty((4, 2)), "order": np.full(4, 4, dtype=np.intc), "starts": np.array([0, 3])
    }[wrong]  # fmt: skip
    with pytest.raises(ValueError, match=wrong):
        _missing.observed_matrix(x, *given.values())
