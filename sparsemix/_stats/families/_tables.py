"""Log densities of K Gaussians, precomputed for a tile of rows.

A table is what the local step reads; it does not depend on priors. Shapes of ``covariances``: full (K, D (D + 1) / 2),
packed lower triangles; diagonal (K, D); spherical (K,). Tied: the same without K; tied_spherical: one number, (1,).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sparsemix._kernels.gaussians import _quadratic
from sparsemix._stats import symmetric
from sparsemix._stats.families._shapes import DIAGONAL, FULL, SPHERICAL, DiagonalShape, refuse, repaired, serial, whiten

LOG_2PI = np.log(2.0 * np.pi)


@dataclass(frozen=True)
class Structure:
    """A covariance structure: the shape of one covariance, or of its part without loadings; its table of log densities;
    and whether all components share one covariance."""

    shape: DiagonalShape
    table: object
    tied: bool = False


class Structured:
    """Capabilities that a ``structure`` declares in STRUCTURES."""

    structure: str

    @property
    def tied(self):
        """Whether all components share one covariance."""
        return STRUCTURES[self.structure].tied

    @property
    def shape(self):
        """Shape of one covariance, or of its part without loadings."""
        return STRUCTURES[self.structure].shape


@dataclass(frozen=True)
class Gaussians(Structured):
    """Means (K, D) and covariances of K Gaussians; ``extra`` (K,) is added to their log densities.

    ``floor`` (D,) are variances of noise around each row. Its mean log density is smaller by half the trace of C^-1
    diag(floor).
    """

    has_loadings: ClassVar = False
    structure: str
    means: np.ndarray
    covariances: np.ndarray
    extra: np.ndarray | float = 0.0
    floor: np.ndarray | None = None

    def table(self, log_weights, dtype, split=serial):
        """Table of ``log_weights[k] + log N(x | means[k], covariances[k]) + extra[k]``.

        ``split(function, n)`` may distribute ``function(first, last)`` over threads, for n components.
        """
        return STRUCTURES[self.structure].table(self, log_weights + self.extra, np.dtype(dtype), split)

    def check(self):
        """Raise if a variance is zero; full matrices are checked during factorisation."""
        refuse(self.shape.refused(self.covariances, 1 if self.tied else len(self.means)))

    def take(self, components):
        """The given components, in that order."""
        covariances = self.covariances if self.tied else self.covariances[components]
        return replace(self, means=self.means[components], covariances=covariances)

    def log_dets(self):
        """Log determinants of the covariances, (K,) or, tied, (1,)."""
        return self.shape.log_dets(self.covariances, self.means.shape[1], self.tied)

    def precision_traces(self):
        """Traces of the inverse covariances, (K,) or, tied, (1,)."""
        return self.shape.precision_traces(self.covariances, self.means.shape[1], self.tied)

    def variances(self):
        """Variances of the columns, (K, D)."""
        variances = self.shape.variances(self.covariances, self.means.shape[1])
        return np.broadcast_to(variances, self.means.shape)

    def definite(self):
        """The same Gaussians with positive definite matrices, as used for tables."""
        covariances = np.atleast_2d(self.covariances)
        bad = self.shape.indefinite(covariances)
        if not len(bad):
            return self
        covariances = covariances.copy()
        covariances[bad] = repaired(covariances, bad)
        return replace(self, covariances=covariances.reshape(self.covariances.shape))


def as_constants(values, dtype):
    """Log weights cast to a dtype; a component without rows may underflow to -inf."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=dtype)


def as_factors(values, dtype):
    """Scale factors of rows cast to a dtype, (K, ...), or (D, ...) if tied; raises if they overflow."""
    if values.dtype == dtype == np.float64:
        return values
    with np.errstate(over="ignore"):
        out = values.astype(dtype, copy=False)
    if not np.isfinite(out).all():
        raise ValueError(
            f"a component is so narrow that the inverse of its spread is beyond {dtype}; raise reg_covar or "
            "covariance_prior, or give rows of float64"
        )
    return out


class KernelTable:
    """Factors, offsets and constants of one covariance shape, evaluated by the kernel."""

    complete_pairs = None  # function that adds to the kernel's weights of pairs (see LowRankTable); most need none

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

    complete_pairs = None

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

    complete_pairs = None

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


STRUCTURES = {
    "full": Structure(FULL, full_table),
    "diag": Structure(DIAGONAL, diagonal_table),
    "spherical": Structure(SPHERICAL, spherical_table),
    "tied": Structure(FULL, TiedTable, tied=True),
    "tied_diag": Structure(DIAGONAL, ScaledTable, tied=True),
    "tied_spherical": Structure(SPHERICAL, ScaledTable, tied=True),
}
