"""Gaussians whose covariances are a few loadings and a diagonal: log densities, and what a row tells of its factors.

x = mean + W^T z + noise with z ~ N(0, 1) of few dimensions Q, so that the covariance is W^T W + diag(noise). Everything
follows from Q x Q matrices by the Woodbury identity; no D x D matrix is ever made.
"""

from dataclasses import dataclass, replace

import numpy as np

from sparsemix._kernels.gaussians import _quadratic
from sparsemix._stats.families._tables import LOG_2PI, TABLES, Gaussians, KernelTable, serial

# The share of a row's squared length that its factors explain is subtracted from it. Beyond this ratio of the largest
# variance to the noise, float32 would lose the difference, and tables are of float64.
FLOAT32_GAIN = 1e4


@dataclass(frozen=True)
class FactorAnalysers(Gaussians):
    """``covariances`` are the variances of the noise, (K, D); ``loadings`` (K, Q, D) is W."""

    structure: str = "low_rank"
    means: np.ndarray = None
    covariances: np.ndarray = None
    loadings: np.ndarray = None

    @property
    def noise(self):
        """The same Gaussians without their loadings."""
        return Gaussians("diag", self.means, self.covariances)

    def scaled_loadings(self):
        """W diag(noise)^-1, (K, Q, D), and the precisions of the factors given a row, 1 + W diag(noise)^-1 W^T."""
        scaled = self.loadings / self.covariances[:, None]
        return scaled, np.eye(self.loadings.shape[1]) + scaled @ self.loadings.transpose(0, 2, 1)

    def log_dets(self):
        """See Gaussians."""
        return self.noise.log_dets() + np.linalg.slogdet(self.scaled_loadings()[1])[1]

    def precision_traces(self):
        """See Gaussians."""
        return self.precision_diagonals().sum(axis=1)

    def precision_diagonals(self):
        """Diagonals of the inverse covariances, (K, D)."""
        scaled, precisions = self.scaled_loadings()
        return 1.0 / self.covariances - (scaled * np.linalg.solve(precisions, scaled)).sum(axis=1)

    def diagonals(self):
        """Diagonals of the covariances, (K, D)."""
        return self.covariances + (self.loadings**2).sum(axis=1)

    def dense(self):
        """Covariances as matrices, (K, D, D)."""
        out = self.loadings.transpose(0, 2, 1) @ self.loadings
        diagonal = np.arange(out.shape[1])
        out[:, diagonal, diagonal] += self.covariances
        return out

    def take(self, components):
        """See Gaussians."""
        return replace(super().take(components), loadings=self.loadings[components])

    def view(self):
        """What rows tell of their factors: see FactorView."""
        scaled, precisions = self.scaled_loadings()
        covariances = np.linalg.inv(precisions)
        maps = covariances @ scaled
        entropies = 0.5 * (np.linalg.slogdet(covariances)[1] + covariances.shape[1])
        return FactorView(maps, np.einsum("kqd,kd->kq", maps, self.means), covariances, entropies)


@dataclass(frozen=True)
class FactorView:
    """q(z | x, k) = N(maps_k x - offsets_k, covariances_k); its entropy less that of as many standard normals' 2 pi."""

    maps: np.ndarray  # (K, Q, D)
    offsets: np.ndarray  # (K, Q)
    covariances: np.ndarray  # (K, Q, Q)
    entropies: np.ndarray  # (K,)

    @classmethod
    def of_directions(cls, directions, means):
        """Coordinates of rows along given directions (K, Q, D) from the means, as if they were factors known exactly."""
        n_components, rank, _ = directions.shape
        offsets = np.einsum("kqd,kd->kq", directions, means)
        return cls(directions, offsets, np.zeros((n_components, rank, rank)), np.zeros(n_components))


class LowRankTable:
    """Log densities of Gaussians with few loadings: those of the noise, and what the factors explain.

    (x - m)^T C^-1 (x - m) = |x - m|^2 in units of the noise - |L x - L m|^2, where L = H^-1 W diag(noise)^-1 and H is
    the lower Cholesky factor of 1 + W diag(noise)^-1 W^T.
    """

    def __init__(self, gaussians, constants, dtype, split=serial):  # noqa: ARG002
        scaled, precisions = gaussians.scaled_loadings()
        self.dtype = dtype
        gain = np.diagonal(precisions, axis1=1, axis2=2).max(initial=1.0)
        inner = dtype if gain < FLOAT32_GAIN else np.dtype(np.float64)
        roots = np.linalg.cholesky(precisions)
        log_dets = gaussians.noise.log_dets() + 2.0 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        constants = constants - 0.5 * (log_dets + gaussians.means.shape[1] * LOG_2PI)
        if gaussians.floor is not None:
            constants = constants - 0.5 * (gaussians.floor / gaussians.covariances).sum(axis=1)
        factors = 1.0 / np.sqrt(gaussians.covariances)
        self.kernel = KernelTable(_quadratic.DIAGONAL, factors, factors * gaussians.means, constants, inner)
        projections = np.linalg.solve(roots, scaled)
        self.projections = np.ascontiguousarray(projections, dtype=inner)
        self.projected_means = np.ascontiguousarray(np.einsum("kqd,kd->kq", projections, gaussians.means), dtype=inner)

    def rows(self, x):
        """Rows in the precision of the table."""
        return np.ascontiguousarray(x, dtype=self.kernel.dtype)

    def weights(self, x, out):
        """Log densities of rows ``x`` (n, D) in ``out`` (n, K)."""
        x = self.rows(x)
        inner = out if out.dtype == x.dtype else np.empty(out.shape, dtype=x.dtype)
        self.kernel.weights(x, inner)
        _quadratic.add_projections(x, self.projections, self.projected_means, inner)
        if inner is not out:
            out[...] = inner
        return out

    def complete_pairs(self, x, starts, rows, out):
        """What the factors explain, added to the weights of pairs (see PairTable)."""
        _quadratic.add_pair_projections(x, self.projections, self.projected_means, starts, rows, out)


TABLES["low_rank"] = LowRankTable
