"""Gaussians with one variance per component, Normal-Gamma prior."""

from dataclasses import replace

import numpy as np
from scipy.special import digamma, gammaln

from sparsemix._kernels.gaussians import _accumulate
from sparsemix._stats.families._base import GaussianFamily, add_first, student
from sparsemix._stats.families._tables import LOG_2PI, Gaussians
from sparsemix._stats.families.diag import NormalGamma, default_prior


class SphericalGaussian(GaussianFamily):
    """Sums of rows (K, D) and of their squared lengths (K, 1); the prior's scale is (K, 1) as well."""

    name = structure = "spherical"

    def spec(self):
        """See GaussianFamily."""
        return {"first": (self.n_features,), "second": (1,)}, {}

    def accumulate(self, stats, x, groups, first, last):
        """See GaussianFamily."""
        add_first(stats, x, groups, first, last)
        lengths = np.einsum("nd,nd->n", x, x, dtype=np.float64)[:, None]
        _accumulate.add_first(lengths, groups.starts, groups.rows, groups.resp, first, last, stats["second"])

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """Defaults: kappa0 = 1e-4, m0 = the data's mean, nu0 = 3, b0 = (nu0 - 2) mean data variance."""
        return default_prior(data, 1, mean_precision, mean, dof, covariance)

    def posterior(self, prior, stats):
        """kappa = kappa0 + N, nu = nu0 + D N, m and b from the sums."""
        kappa = prior.mean_precision + stats["count"]
        mean = (prior.mean_precision[:, None] * prior.mean + stats["first"]) / kappa[:, None]
        before = prior.mean_precision * (prior.mean**2).sum(axis=1)
        scale = prior.scale[:, 0] + before + stats["second"][:, 0] - kappa * (mean**2).sum(axis=1)
        scale = np.maximum(scale[:, None], prior.scale)  # true without round-off
        return NormalGamma(mean, kappa, prior.dof + self.n_features * stats["count"], scale)

    def blurred(self, post, counts, blur):
        """See GaussianFamily."""
        return replace(post, scale=post.scale + (counts * blur.sum())[:, None])

    def expected(self, post):
        """E log F = log N(x | m, b / nu) + D (digamma(nu / 2) - log(nu / 2) - 1 / kappa) / 2."""
        half = 0.5 * post.dof
        extra = 0.5 * self.n_features * (digamma(half) - np.log(half) - 1.0 / post.mean_precision)
        return Gaussians("spherical", post.mean, post.scale[:, 0] / post.dof, extra)

    def point_estimate(self, post):
        """Variances b / (nu - 2), or b / nu where the mean of the variance does not exist."""
        return Gaussians("spherical", post.mean, post.scale[:, 0] / np.where(post.dof > 2, post.dof - 2, post.dof))

    def log_normalizers(self, params):
        """See GaussianFamily."""
        d = self.n_features
        out = gammaln(0.5 * params.dof) - 0.5 * params.dof * np.log(0.5 * params.scale[:, 0])
        return out + 0.5 * d * (LOG_2PI - np.log(params.mean_precision))

    def log_predictive(self, post, x):
        """Student-t with nu degrees of freedom and scale (b / nu) (kappa + 1) / kappa."""
        scale = post.scale[:, 0] * (post.mean_precision + 1) / (post.mean_precision * post.dof)
        return student(Gaussians("spherical", post.mean, scale), post.dof, x)

    def covariances_of(self, stats, means, counts):
        """See GaussianFamily."""
        lengths = stats["second"][:, 0] / counts - (means**2).sum(axis=1)
        return np.maximum(lengths / self.n_features, 0.0)

    def unit_covariances(self, n_components):
        """See GaussianFamily."""
        return np.ones(n_components)

    def stats_of(self, gaussians, counts):
        """See GaussianFamily."""
        stats = self.empty_stats(len(counts))
        stats["count"] = counts
        stats["mass"] = counts.sum()
        stats["first"] = counts[:, None] * gaussians.means
        lengths = self.n_features * gaussians.covariances + (gaussians.means**2).sum(axis=1)
        stats["second"] = (counts * lengths)[:, None]
        return stats

    def n_parameters(self, n_components):
        """See GaussianFamily."""
        return n_components * (self.n_features + 1)

    def item_divergences(self, prior, x):
        """Kullback-Leibler divergences between single-row Gaussians, whose means are shrunk to the prior mean."""
        kappa = prior.mean_precision[0]
        d = self.n_features
        centred = x - prior.mean
        lengths = np.einsum("nd,nd->n", centred, centred)
        variances = (prior.scale[0, 0] + kappa / (kappa + 1) * lengths) / max(prior.dof[0] + d - 2.0, 1e-3)
        logs = np.log(variances)

        def from_row(n, rows=slice(None)):
            apart = np.maximum(lengths[rows] - 2.0 * (centred[rows] @ centred[n]) + lengths[n], 0.0) / (kappa + 1) ** 2
            ratio = (d * variances[rows] + apart) / variances[n]
            return 0.5 * np.maximum(d * (logs[n] - logs[rows]) + ratio - d, 0.0)

        return from_row
