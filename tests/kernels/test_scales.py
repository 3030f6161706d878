"""Scales of priors that maximise an evidence: the compiled loops against eigenvalues and a search."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sparsemix._kernels.gaussians import _scales
from sparsemix._stats import symmetric


def spread_matrices(rng, n, d, scale):
    """Sums of outer products of few or many rows, of very different lengths."""
    counts = rng.integers(0, 4 * d, size=n)
    rows = [scale * np.exp(2.0 * rng.normal()) * rng.normal(size=(count, d)) for count in counts]
    return np.array([x.T @ x for x in rows]), counts.astype(np.float64)


def best_scale(eigenvalues, prior_dof, dof):
    """The best scale by a numerical search over log s."""
    d = len(eigenvalues)

    def loss(log_scale):
        return dof * np.log(np.exp(log_scale) + eigenvalues).sum() - prior_dof * d * log_scale

    found = minimize_scalar(loss, bounds=(0.0, 40.0), method="bounded", options={"xatol": 1e-9})
    return np.exp(found.x) if loss(found.x) < loss(0.0) - 1e-7 else 1.0  # flat without rows


def scales_of(matrices, prior, prior_dof, dofs, **kwargs):
    dofs = np.atleast_2d(dofs)
    out = np.full(dofs.shape, np.nan)
    whitening = np.linalg.inv(np.linalg.cholesky(prior))
    _scales.scales_of(
        symmetric.pack(matrices + prior), symmetric.pack(prior), np.ascontiguousarray(whitening), prior_dof, dofs, out,
        **kwargs,
    )  # fmt: skip
    return out[0] if len(out) == 1 else out


@pytest.mark.parametrize("d", [1, 2, 3, 8, 31, 33, 64])
def test_scales_maximise_the_evidence(d):
    rng = np.random.default_rng(d)
    prior = spread_matrices(rng, 1, d, 1.0)[0][0] + np.eye(d)
    matrices, counts = spread_matrices(rng, 12, d, 2.0)
    out = scales_of(matrices, prior, d + 2.0, d + 2.0 + counts)
    whitening = np.linalg.inv(np.linalg.cholesky(prior))
    expected = [
        best_scale(np.linalg.eigvalsh(whitening @ m @ whitening.T).clip(0.0), d + 2.0, d + 2.0 + n)
        for m, n in zip(matrices, counts, strict=True)
    ]
    assert (out >= 1.0).all()
    assert (out > 1.0).any()
    np.testing.assert_allclose(out, expected, rtol=1e-5)


@pytest.mark.parametrize("d", [1, 2, 17])
def test_diagonal_scales_maximise_the_evidence(d):
    rng = np.random.default_rng(d)
    spectra, counts = rng.exponential(size=(20, d)) * np.exp(3.0 * rng.normal(size=(20, 1))), rng.uniform(0, 9, size=20)
    dofs, out = np.array([3.0 + counts, 4.0 + counts]), np.empty((2, 20))
    _scales.diagonal_scales(spectra, 3.0, dofs, out)
    for found, given in zip(out, dofs, strict=True):
        expected = [best_scale(values, 3.0, dof) for values, dof in zip(spectra, given, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_components_without_rows_keep_the_prior():
    out = scales_of(np.zeros((3, 4, 4)), np.eye(4), 6.0, np.full(3, 6.0))
    np.testing.assert_array_equal(out, 1.0)
    assert scales_of(np.zeros((0, 4, 4)), np.eye(4), 6.0, np.zeros(0)).shape == (0,)


def test_little_round_off_does_no_harm():
    """Scatter of one row may have eigenvalues a little below zero; scales of tiny and of huge rows are found too."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 5))
    for size in (1e-12, 1e12):
        assert np.isfinite(scales_of(size * (x.T @ x)[None], np.eye(5), 7.0, np.array([9.0]))).all()
    assert scales_of(-1e-14 * np.eye(5)[None], np.eye(5), 7.0, np.array([8.0])) == [1.0]


def test_parts_make_the_whole():
    rng = np.random.default_rng(1)
    matrices, counts = spread_matrices(rng, 7, 6, 3.0)
    whole = scales_of(matrices, np.eye(6), 8.0, 8.0 + counts)
    first = scales_of(matrices, np.eye(6), 8.0, 8.0 + counts, first=0, last=3)
    last = scales_of(matrices, np.eye(6), 8.0, 8.0 + counts, first=3, last=7)
    np.testing.assert_array_equal(np.concatenate([first[:3], last[3:]]), whole)
    several = scales_of(matrices, np.eye(6), 8.0, np.array([9.0 + counts, 8.0 + counts]))
    np.testing.assert_array_equal(several[1], whole)
    assert np.isnan(first[3:]).all()


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="numbers"):
        _scales.scales_of(np.ones((2, 3)), np.ones(4), np.eye(2), 4.0, np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="as many dofs"):
        _scales.scales_of(np.ones((2, 3)), np.ones(3), np.eye(2), 4.0, np.ones((1, 3)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="no matrices"):
        _scales.scales_of(np.ones((2, 3)), np.ones(3), np.eye(2), 4.0, np.ones((1, 2)), np.ones((1, 2)), 1, 3)
    with pytest.raises(ValueError, match="as many dofs"):
        _scales.diagonal_scales(np.ones((2, 3)), 4.0, np.ones((2, 2)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="no matrices"):
        _scales.diagonal_scales(np.ones((2, 3)), 4.0, np.ones((1, 2)), np.ones((1, 2)), 0, 3)
