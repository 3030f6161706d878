"""Log densities of K Gaussians, precomputed for a tile of rows.

A table is what the local step reads; it does not depend on priors. Shapes of ``covariances``: full (K, D (D + 1) / 2),
packed lower triangles; diagonal (K, D); spherical (K,). Tied: the same without K; tied_spherical: one number, (1,).
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from sparsemix._kernels.gaussians import _factor, _quadratic
from sparsemix._stats import symmetric

LOG_2PI = np.log(2.0 * np.pi)


def serial(function, n):
    """Run ``function`` over all n pieces in one call; the engine passes a threaded ``split``."""
    function(0, n)


class Structured:
    """Properties derived from the name of a ``structure``."""

    structure: str

    @property
    def tied(self):
        """Whether all components share one covariance."""
        return self.structure.startswith("tied")

    @property
    def shape(self):
        """Shape of one covariance, or of its part without loadings: "full", "diag" or "spherical"."""
        return {"tied": "full", "low_rank": "diag"}.get(self.structure, self.structure.removeprefix("tied_"))


@dataclass(frozen=True)
class Gaussians(Structured):
    """Means (K, D) and covariances of K Gaussians; ``extra`` (K,) is added to their log densities.

    ``floor`` (D,): each row is a cloud with these variances, which lowers its mean log density by half the trace of
    C^-1 diag(floor).
    """

    structure: str
    means: np.ndarray
    covariances: np.ndarray
    extra: np.ndarray | float = 0.0
    floor: np.ndarray | None = None

    def table(self, log_weights, dtype, split=serial):
        """Table of ``log_weights[k] + log N(x | means[k], covariances[k]) + extra[k]``.

        ``split(function, n)`` may distribute ``function(first, last)`` over threads, for n components.
        """
        return TABLES[self.structure](self, log_weights + self.extra, np.dtype(dtype), split)

    def check(self):
        """Raise if a variance is zero; full matrices are checked during factorisation."""
        if self.shape != "full":
            variances = self.covariances.reshape(1 if self.tied else len(self.means), -1)
            refuse(np.flatnonzero(~(variances > 0.0).all(axis=1)))

    def take(self, components):
        """The given components, in that order."""
        covariances = self.covariances if self.tied else self.covariances[components]
        return replace(self, means=self.means[components], covariances=covariances)

    def log_dets(self):
        """Log determinants of the covariances, (K,) or, tied, (1,)."""
        if self.shape == "diag":
            return np.log(self.covariances).sum(axis=-1, keepdims=self.tied)
        if self.shape == "spherical":
            return self.means.shape[1] * np.log(self.covariances)
        return self.whitened()[2]

    def precision_traces(self):
        """Traces of the inverse covariances, (K,) or, tied, (1,)."""
        if self.shape == "diag":
            return (1.0 / self.covariances).sum(axis=-1, keepdims=self.tied)
        if self.shape == "spherical":
            return self.means.shape[1] / self.covariances
        return np.einsum("kt,kt->k", self.whitened()[0], self.whitened()[0])

    def definite(self):
        """The same Gaussians with positive definite matrices, as used for tables."""
        if self.shape != "full":
            return self
        covariances = np.atleast_2d(self.covariances)
        _, _, log_dets = factors_of(covariances, np.zeros((len(covariances), self.means.shape[1])), np.float64)
        bad = np.flatnonzero(np.isnan(log_dets))
        if not len(bad):
            return self
        covariances = covariances.copy()
        covariances[bad] = repaired(covariances, bad)
        return replace(self, covariances=covariances.reshape(self.covariances.shape))

    def whitened(self):
        """Inverse Cholesky factors of full covariances with the other results of ``whiten``; (1, ...) if tied."""
        covariances = np.atleast_2d(self.covariances)
        return whiten(covariances, np.zeros((len(covariances), self.means.shape[1])), np.float64)


def whiten(covariances, means, dtype, split=serial):
    """Packed inverse Cholesky factors R_k, offsets R_k m_k and log determinants.

    Repairs a matrix that is not positive definite, with a warning (see ``repaired``).
    """
    means = np.ascontiguousarray(means, dtype=np.float64)
    factors, offsets, log_dets = factors_of(covariances, means, dtype, split)
    bad = np.flatnonzero(np.isnan(log_dets))
    if len(bad):
        repaired_factors, repaired_offsets, repaired_log_dets = factors[bad], offsets[bad], log_dets[bad]
        _factor.whiten(repaired(covariances, bad), means[bad], repaired_log_dets, repaired_factors, repaired_offsets)
        refuse(bad[np.isnan(repaired_log_dets)])
        factors[bad], offsets[bad], log_dets[bad] = repaired_factors, repaired_offsets, repaired_log_dets
    return factors, offsets, log_dets


def factors_of(covariances, means, dtype, split=serial):
    """As ``whiten`` without repair: an indefinite matrix gets the log determinant NaN."""
    factors, offsets = np.empty(covariances.shape, dtype=dtype), np.empty(means.shape, dtype=dtype)
    log_dets = np.empty(len(means))
    split(lambda first, last: _factor.whiten(covariances, means, log_dets, factors, offsets, first, last), len(means))
    return factors, offsets, log_dets


def cholesky(covariances):
    """Packed lower Cholesky factors of packed matrices (K, D (D + 1) / 2), repaired as in ``whiten``."""
    factors = symmetric.cholesky(covariances)
    bad = np.flatnonzero(np.isnan(factors[:, 0]))
    if len(bad):
        factors[bad] = symmetric.cholesky(repaired(covariances, bad))
        refuse(bad[np.isnan(factors[bad, 0])])
    return factors


def repaired(covariances, bad):
    """Add 1e-6 of each variance to the matrices ``bad``, with a warning.

    A variance that is not positive gets 1e-6 of the mean variance.
    """
    warnings.warn(
        f"the covariance of component {bad[0]} is not positive definite; 1e-6 of its variances is added to its "
        "diagonal; raise reg_covar or covariance_prior to avoid this",
        RuntimeWarning,
        stacklevel=3,
    )
    out = covariances[bad]
    diagonal = symmetric.diagonal_positions(symmetric.n_features_of(out.shape[1]))
    variances = out[:, diagonal]
    out[:, diagonal] += 1e-6 * np.where(variances > 0.0, variances, variances.mean(axis=1, keepdims=True))
    return out


def refuse(bad):
    """Raise if any matrix is still not positive definite after the repair."""
    if len(bad):
        raise ValueError(
            f"the covariance of component {bad[0]} is not positive definite; raise reg_covar or covariance_prior, or "
            "lower n_components"
        )


def as_constants(values, dtype):
    """Log weights cast to a dtype; a component without rows may underflow to -inf."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=dtype)


def as_factors(values, dtype):
    """Scale factors of rows cast to a dtype, (K, ...), or (D, ...) if tied; raises if they overflow."""
    with np.errstate(over="ignore"):
        out = values.astype(dtype, copy=False)
    if dtype != np.float64 and not np.isfinite(out).all():
        raise ValueError(
            f"a component is so narrow that the inverse of its spread is beyond {dtype}; raise reg_covar or "
            "covariance_prior, or give rows of float64"
        )
    return out


class KernelTable:
    """Factors, offsets and constants of one covariance shape, evaluated by the kernel."""

    def __init__(self, shape, factors, offsets, constants, dtype):
        self.shape = shape
        self.dtype = dtype
        self.factors = np.ascontiguousarray(as_factors(factors, dtype)).reshape(-1)
        self.offsets = np.ascontiguousarray(as_factors(offsets, dtype))
        self.constants = as_constants(constants, dtype)

    @property
    def kernel(self):
        """The table read by the kernel."""
        return self

    def rows(self, x):
        """Rows in the coordinates of the kernel's table."""
        return x

    def weights(self, x, out):
        """Log densities of rows ``x`` (n, D) in ``out`` (n, K), both C-ordered and of the table's dtype."""
        _quadratic.log_density(self.shape, x, self.factors, self.offsets, self.constants, out)
        return out


def full_table(gaussians, constants, dtype, split):
    """Table for full covariances."""
    factors, offsets, log_dets = whiten(gaussians.covariances, gaussians.means, dtype, split)
    n_features = gaussians.means.shape[1]
    constants = constants - 0.5 * (log_dets + n_features * LOG_2PI)
    if gaussians.floor is not None:
        columns = np.concatenate([np.arange(i + 1) for i in range(n_features)])
        roots = np.minimum(np.sqrt(gaussians.floor[columns]), np.finfo(dtype).max).astype(dtype)
        # each product of a factor and a root is dimensionless; squared factors may overflow the dtype
        constants = constants - 0.5 * np.einsum("kt,t,kt,t->k", factors, roots, factors, roots)
    return KernelTable(_quadratic.TRIANGULAR, factors, offsets, constants, dtype)


def diagonal_table(gaussians, constants, dtype, split):  # noqa: ARG001
    """Table for diagonal covariances."""
    factors = 1.0 / np.sqrt(gaussians.covariances)
    constants = constants - 0.5 * (gaussians.log_dets() + gaussians.means.shape[1] * LOG_2PI)
    if gaussians.floor is not None:
        constants = constants - 0.5 * (gaussians.floor / gaussians.covariances).sum(axis=1)
    return KernelTable(_quadratic.DIAGONAL, factors, factors * gaussians.means, constants, dtype)


def spherical_table(gaussians, constants, dtype, split):  # noqa: ARG001
    """Table for spherical covariances."""
    as_factors(1.0 / gaussians.covariances, dtype)  # the kernel squares them
    factors = 1.0 / np.sqrt(gaussians.covariances)
    constants = constants - 0.5 * (gaussians.log_dets() + gaussians.means.shape[1] * LOG_2PI)
    if gaussians.floor is not None:
        constants = constants - 0.5 * gaussians.floor.sum() / gaussians.covariances
    return KernelTable(_quadratic.SPHERICAL, factors, gaussians.means, constants, dtype)


class TiedTable:
    """One shared covariance: rows are whitened once, then every component is a unit sphere."""

    def __init__(self, gaussians, constants, dtype, split):  # noqa: ARG002
        n_features = gaussians.means.shape[1]
        factors, _, log_dets = whiten(gaussians.covariances[None], np.zeros((1, n_features)), np.float64)
        self.dtype = dtype
        self.whitening = np.asfortranarray(symmetric.unpack_triangle(factors[0]).T)
        constants = constants - 0.5 * (log_dets[0] + n_features * LOG_2PI)
        self.kernel = KernelTable(
            _quadratic.SPHERICAL, np.ones(len(constants)), gaussians.means @ self.whitening, constants, dtype
        )
        self.whitening = as_factors(self.whitening, dtype)

    def rows(self, x):
        """Rows in the coordinates in which the covariance is the identity."""
        return np.ascontiguousarray(x @ self.whitening)

    def weights(self, x, out):
        """Log densities of rows ``x`` (n, D) in ``out`` (n, K)."""
        return self.kernel.weights(self.rows(x), out)


class ScaledTable:
    """One shared variance, or one per dimension: rows are scaled once, then every component is a unit sphere."""

    def __init__(self, gaussians, constants, dtype, split):  # noqa: ARG002
        n_features = gaussians.means.shape[1]
        scale = 1.0 / np.sqrt(gaussians.covariances)
        constants = constants - 0.5 * (gaussians.log_dets() + n_features * LOG_2PI)
        self.dtype = dtype
        self.kernel = KernelTable(
            _quadratic.SPHERICAL, np.ones(len(constants)), gaussians.means * scale, constants, dtype
        )
        self.scale = as_factors(scale, dtype)

    def rows(self, x):
        """Rows in the units in which every variance is one."""
        return np.ascontiguousarray(x * self.scale)

    def weights(self, x, out):
        """Log densities of rows ``x`` (n, D) in ``out`` (n, K)."""
        return self.kernel.weights(self.rows(x), out)


TABLES = {
    "full": full_table,
    "diag": diagonal_table,
    "spherical": spherical_table,
    "tied": TiedTable,
    "tied_diag": ScaledTable,
    "tied_spherical": ScaledTable,
}
