"""Gaussians that share one diagonal covariance, or one variance: Normal-Gamma priors with one Gamma per variance."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln

from sparsemix._kernels.gaussians import _accumulate, _scales
from sparsemix._stats.families._base import GaussianFamily, add_first
from sparsemix._stats.families._shapes import serial
from sparsemix._stats.families._tables import LOG_2PI, Gaussians
from sparsemix._stats.families.diag import DiagonalGaussian, NormalGamma
from sparsemix._stats.families.spherical import SphericalGaussian


@dataclass(frozen=True)
class TiedNormalGamma:
    """mu_kd | tau ~ N(mean_kd, 1 / (mean_precision_k tau_d)), tau_v ~ Gamma(dof / 2, rate scale_v / 2)."""

    mean: np.ndarray  # (K, D)
    mean_precision: np.ndarray  # (K,)
    dof: float
    scale: np.ndarray  # (D,), or (1,) if all dimensions share one tau

    def repeat(self, n_components):
        """The prior as if it were the posterior of K components without rows."""
        return replace(
            self,
            mean=np.repeat(self.mean, n_components, axis=0),
            mean_precision=np.repeat(self.mean_precision, n_components),
        )


class TiedDiagonalGaussian(GaussianFamily):
    """Sums of rows (K, D), and the shared sums of squares of all rows (1, D)."""

    name = structure = "tied_diag"
    has_scales = True
    additive_alone = False
    alone = DiagonalGaussian  # the same structure, not tied
    n_shared = 1  # dimensions per variance

    def fold(self, squares):
        """Sums of squares (..., D), added up over the dimensions that share a variance."""
        return squares

    def spec(self):
        """See GaussianFamily."""
        return {"first": (self.n_features,)}, {"scatter": (1, self.n_features // self.n_shared)}

    def accumulate(self, stats, x, groups, first, last):
        """See GaussianFamily."""
        add_first(stats, x, groups, first, last)

    def accumulate_shared(self, stats, x, groups, sample_weight):  # noqa: ARG002
        """Responsibilities sum to one, so every row counts fully, whatever its components."""
        starts = np.array([0, len(x)], dtype=np.intp)
        weight = np.ones(len(x)) if sample_weight is None else sample_weight
        squares = np.zeros((1, self.n_features))
        _accumulate.add_squares(x, starts, np.arange(len(x), dtype=np.int32), weight, 0, 1, squares)
        stats["scatter"] += self.fold(squares)

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """As for the family with untied covariances."""
        prior = self.alone(self.n_features).prior(data, mean_precision, mean, dof, covariance)
        return TiedNormalGamma(prior.mean, prior.mean_precision, float(prior.dof[0]), prior.scale[0])

    def posterior(self, prior, stats):
        """nu = nu0 + N, or D N if D dimensions share a variance; b adds the squares of all rows about their means."""
        kappa = prior.mean_precision + stats["count"]
        mean = (prior.mean_precision[:, None] * prior.mean + stats["first"]) / kappa[:, None]
        before = stats.n_components * prior.mean_precision[0] * self.fold(prior.mean[0] ** 2)
        scale = prior.scale + before + stats["scatter"][0] - kappa @ self.fold(mean**2)
        scale = np.maximum(scale, prior.scale)  # true without round-off
        return TiedNormalGamma(mean, kappa, prior.dof + self.n_shared * float(stats["count"].sum()), scale)

    def prior_scales(self, prior, post, split=serial, n_means=0.0):  # noqa: ARG002
        """See GaussianFamily; one scale."""
        spectra, scales = (post.scale / prior.scale - 1.0)[None], np.empty((2, 1))
        dof = self.dof_of_scales(prior, post, n_means)
        _scales.diagonal_scales(spectra, prior.dof, dof, scales)
        return scales

    def blurred(self, post, counts, blur):
        """See GaussianFamily."""
        return replace(post, scale=post.scale + counts.sum() * self.fold(blur))

    def expected(self, post):
        """E log F = log N(x | m, b / nu) + D (digamma(nu / 2) - log(nu / 2) - 1 / kappa) / 2."""
        half = 0.5 * post.dof
        extra = 0.5 * self.n_features * (digamma(half) - np.log(half) - 1.0 / post.mean_precision)
        return self.gaussians(post, post.dof, extra)

    def point_estimate(self, post):
        """Variances b / (nu - 2), or b / nu where the mean of the variance does not exist."""
        return self.gaussians(post, post.dof - 2 if post.dof > 2 else post.dof)

    def gaussians(self, post, divisor, extra=0.0):
        """Gaussians with variances b / divisor."""
        return Gaussians(self.structure, post.mean, post.scale / divisor, extra)

    def log_normalizers(self, params):
        """The terms of kappa for each mean, and the Gammas."""
        kappas = 0.5 * self.n_features * (LOG_2PI - np.log(params.mean_precision))
        half = 0.5 * params.dof
        return np.append(kappas, (gammaln(half) - half * np.log(0.5 * params.scale)).sum())

    def log_predictive(self, post, x):
        """As for the family with untied covariances."""
        n_components = len(post.mean)
        dof, scale = np.full(n_components, post.dof), np.tile(post.scale, (n_components, 1))
        return self.alone(self.n_features).log_predictive(NormalGamma(post.mean, post.mean_precision, dof, scale), x)

    def covariances_of(self, stats, means, counts):  # noqa: ARG002
        """See GaussianFamily."""
        live = stats["count"]
        scatter = stats["scatter"][0] - live @ self.fold(means**2)
        return np.maximum(scatter / (self.n_shared * live.sum()), 0.0)

    def unit_covariances(self, n_components):  # noqa: ARG002
        """See GaussianFamily."""
        return np.ones(self.n_features // self.n_shared)

    def stats_of(self, gaussians, counts):
        """See GaussianFamily."""
        stats = self.empty_stats(len(counts))
        stats["count"] = counts
        stats["mass"] = counts.sum()
        stats["first"] = counts[:, None] * gaussians.means
        within = self.n_shared * counts.sum() * gaussians.covariances
        stats["scatter"] = (within + counts @ self.fold(gaussians.means**2))[None]
        return stats

    def n_parameters(self, n_components):
        """See GaussianFamily."""
        return n_components * self.n_features + self.n_features // self.n_shared

    def item_divergences(self, prior, x):
        """As for the family with untied covariances."""
        own_prior = NormalGamma(prior.mean, prior.mean_precision, np.array([prior.dof]), prior.scale[None])
        return self.alone(self.n_features).item_divergences(own_prior, x)


class TiedSphericalGaussian(TiedDiagonalGaussian):
    """One variance for all components and dimensions, as in k-means, with probabilities.

    Statistics are sums of rows (K, D), and the shared sum of squared lengths of all rows (1, 1).
    """

    name = structure = "tied_spherical"
    has_scales = False
    alone = SphericalGaussian

    @property
    def n_shared(self):
        """All dimensions share one variance."""
        return self.n_features

    def fold(self, squares):
        """See TiedDiagonalGaussian."""
        return squares.sum(axis=-1, keepdims=True)

    def pack_covariances(self, covariances):
        """One number."""
        return np.array([covariances], dtype=np.float64)

    def unpack_covariances(self, covariances):
        """One number."""
        return float(covariances[0])
