"""Gaussians with diagonal covariances, Normal-Gamma prior in every dimension."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from sparsemix._kernels.gaussians import _accumulate, _scales
from sparsemix._stats.families._base import ConjugateParameters, GaussianFamily, add_first
from sparsemix._stats.families._shapes import serial
from sparsemix._stats.families._tables import LOG_2PI, Gaussians


@dataclass(frozen=True)
class NormalGamma(ConjugateParameters):
    """mu_d | tau_d ~ N(mean_d, 1 / (mean_precision_d tau_d)), tau_d ~ Gamma(dof / 2, rate scale_d / 2)."""

    mean: np.ndarray  # (K, D)
    mean_precision: np.ndarray  # (K,), or (K, D) if columns differ
    dof: np.ndarray  # (K,)
    scale: np.ndarray  # (K, D)

    @property
    def kappas(self):
        """The mean precisions as (K, 1) or (K, D)."""
        return self.mean_precision[:, None] if self.mean_precision.ndim == 1 else self.mean_precision


def default_prior(data, n_variances, mean_precision, mean, dof, covariance):
    """Prior of one component; b0 is (nu0 - 2) times the data's variances, which are positive."""
    dof = 3.0 if dof is None else dof
    if covariance is None:
        covariance = max(dof - 2.0, 1e-3) * np.atleast_2d(data.covariances)[0]
    return NormalGamma(
        np.array(data.means[0] if mean is None else mean, dtype=np.float64)[None],
        np.array([1e-4 if mean_precision is None else mean_precision]),
        np.array([dof]),
        np.full((1, n_variances), covariance, dtype=np.float64),
    )


class DiagonalGaussian(GaussianFamily):
    """Sums of rows (K, D) and of their squares (K, D)."""

    name = structure = "diag"
    has_scales = True

    def spec(self):
        """See GaussianFamily."""
        return {"first": (self.n_features,), "second": (self.n_features,)}, {}

    def accumulate(self, stats, x, groups, first, last):
        """See GaussianFamily."""
        add_first(stats, x, groups, first, last)
        _accumulate.add_squares(x, groups.starts, groups.rows, groups.resp, first, last, stats["second"])

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """Defaults: kappa0 = 1e-4, m0 = the data's mean, nu0 = 3, b0 = (nu0 - 2) data variances."""
        return default_prior(data, self.n_features, mean_precision, mean, dof, covariance)

    def posterior(self, prior, stats):
        """kappa = kappa0 + N, nu = nu0 + N, m and b from the sums."""
        kappa0 = prior.kappas
        kappa = kappa0 + stats["count"][:, None]
        mean = (kappa0 * prior.mean + stats["first"]) / kappa
        scale = prior.scale + kappa0 * prior.mean**2 + stats["second"] - kappa * mean**2
        kappa = kappa[:, 0] if prior.mean_precision.ndim == 1 else kappa
        return NormalGamma(mean, kappa, prior.dof + stats["count"], np.maximum(scale, prior.scale))  # but for round-off

    def prior_scales(self, prior, post, split=serial, n_means=0.0):
        """See GaussianFamily."""
        scales = np.empty((2, len(post.scale)))
        spectra = post.scale / prior.scale - 1.0
        dof = self.dof_of_scales(prior, post, n_means)
        given = spectra, float(prior.dof[0]), dof, scales
        split(lambda first, last: _scales.diagonal_scales(*given, first, last), len(spectra))
        return scales

    def expected(self, post):
        """E log F = log N(x | m, b / nu) + D (digamma(nu / 2) - log(nu / 2) - 1 / kappa) / 2."""
        half = 0.5 * post.dof
        spread = (1.0 / post.kappas).mean(axis=1)
        extra = 0.5 * self.n_features * (digamma(half) - np.log(half) - spread)
        return Gaussians("diag", post.mean, post.scale / post.dof[:, None], extra)

    def point_estimate(self, post):
        """Variances b / (nu - 2), or b / nu where the mean of the variance does not exist."""
        divisor = np.where(post.dof > 2, post.dof - 2, post.dof)
        return Gaussians("diag", post.mean, post.scale / divisor[:, None])

    def log_normalizers(self, params):
        """See GaussianFamily."""
        d = self.n_features
        rates = np.log(0.5 * params.scale).sum(axis=1)
        out = d * gammaln(0.5 * params.dof) - 0.5 * params.dof * rates
        return out + 0.5 * d * (LOG_2PI - np.log(params.kappas).mean(axis=1))

    def log_predictive(self, post, x):
        """Product of Student-t's with nu degrees of freedom and scale^2 b (kappa + 1) / (kappa nu)."""
        dof = post.dof[:, None]
        variances = post.scale * (post.kappas + 1) / (post.kappas * dof)
        constants = gammaln(0.5 * (dof + 1)) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi * variances)
        out = np.empty((len(x), len(post.dof)))
        for k in range(len(post.dof)):
            squares = (x - post.mean[k]) ** 2 / (variances[k] * dof[k])
            out[:, k] = constants[k].sum() - 0.5 * (dof[k] + 1) * np.log1p(squares).sum(axis=1)
        return out

    def covariances_of(self, stats, means, counts):
        """See GaussianFamily."""
        return np.maximum(stats["second"] / counts[:, None] - means**2, 0.0)

    def unit_covariances(self, n_components):
        """See GaussianFamily."""
        return np.ones((n_components, self.n_features))

    def stats_of(self, gaussians, counts):
        """See GaussianFamily."""
        stats = self.empty_stats(len(counts))
        stats["count"] = counts
        stats["mass"] = counts.sum()
        stats["first"] = counts[:, None] * gaussians.means
        stats["second"] = counts[:, None] * (gaussians.covariances + gaussians.means**2)
        return stats

    def n_parameters(self, n_components):
        """See GaussianFamily."""
        return n_components * 2 * self.n_features

    def item_divergences(self, prior, x):
        """Kullback-Leibler divergences between single-row Gaussians, whose means are shrunk to the prior mean."""
        kappa = prior.kappas[0]
        centred = x - prior.mean
        variances = (prior.scale + kappa / (kappa + 1) * centred**2) / max(prior.dof[0] - 1.0, 1e-3)
        means = centred / (kappa + 1)
        log_dets = np.log(variances).sum(axis=1)

        def from_row(n, rows=slice(None)):
            ratio = (variances[rows] + (means[rows] - means[n]) ** 2) / variances[n]
            return 0.5 * np.maximum(log_dets[n] - log_dets[rows] + ratio.sum(axis=1) - x.shape[1], 0.0)

        return from_row
