"""Factor analysers: Gaussians with a few loadings and a diagonal each, Normal-Gamma prior of means and noise.

Given its factors z, a row is a linear regression on (z, 1) in each feature. Factors of rows are latent variables beside
the component; means and noise have posteriors, loadings are point estimates. With posteriors of their own ([GB00]) they
would be taken as independent of the factors, which they are not: that shrinks them away (news, K = 100: the held-out
log likelihood loses a third of what loadings gain, and all of it under a flatter prior).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from sparsemix._kernels.gaussians import _accumulate
from sparsemix._stats.families._base import EMPTY, GaussianFamily, add_first
from sparsemix._stats.families._factor_analysers import FactorAnalysers
from sparsemix._stats.families._tables import serial
from sparsemix._stats.families.diag import DiagonalGaussian, NormalGamma

# Penalty of a squared loading in units of the variance of its feature's noise: half of this.
LOADING_PRECISION = 1.0
# Rows whose factors are made at once: they stay in the caches.
ROWS = 1024


@dataclass(frozen=True)
class LoadedNormalGamma(NormalGamma):
    """A posterior with the loadings that maximise the bound."""

    loadings: np.ndarray  # (K, Q, D)


class LowRankGaussian(GaussianFamily):
    """Sums of rows, factors and their products: K (2 D + Q D + Q^2 + Q + 2) numbers.

    They follow from rows and responsibilities only together with what Gaussians say of a row's factors, the ``view``;
    without one, factors have their prior, and the family is that of diagonal covariances.
    """

    structure = "low_rank"
    has_loadings = True
    has_scales = True

    def __init__(self, n_features, rank=1):
        super().__init__(n_features)
        self.rank = min(rank, n_features - 1)  # of which more would be a full covariance
        self.view = None

    @property
    def plain(self):
        """The family without loadings."""
        return DiagonalGaussian(self.n_features)

    def under(self, gaussians):
        """See GaussianFamily."""
        new = type(self)(self.n_features, self.rank)
        new.view = gaussians.view()
        return new

    # -- statistics

    def spec(self):
        """See GaussianFamily."""
        d, q = self.n_features, self.rank
        factors = {"factor_first": (q,), "factor_second": (q, q), "cross": (q, d), "factor_entropy": ()}
        return {"first": (d,), "second": (d,)} | factors, {}

    def accumulate(self, stats, x, groups, first, last):
        """See GaussianFamily."""
        add_first(stats, x, groups, first, last)
        _accumulate.add_squares(x, groups.starts, groups.rows, groups.resp, first, last, stats["second"])
        factor_first, factor_second, cross = (stats[name] for name in ("factor_first", "factor_second", "cross"))
        for k in range(first, last):
            count = 0.0
            for start in range(groups.starts[k], groups.starts[k + 1], ROWS):
                part = slice(start, min(start + ROWS, groups.starts[k + 1]))
                resp = groups.resp[part]
                count += resp.sum()
                if self.view is not None:
                    y = x[groups.rows[part]].astype(np.float64, copy=False)
                    z = y @ self.view.maps[k].T - self.view.offsets[k]
                    weighted = (resp[:, None] * z).T
                    factor_first[k] += weighted.sum(axis=1)
                    factor_second[k] += weighted @ z
                    cross[k] += weighted @ y
            factor_second[k] += count * (np.eye(self.rank) if self.view is None else self.view.covariances[k])
            stats["factor_entropy"][k] += count * (0.5 * self.rank if self.view is None else self.view.entropies[k])

    def design(self, stats):
        """Sums of (z, 1) (z, 1)^T, (K, Q + 1, Q + 1), and of (z, 1) x^T, (K, Q + 1, D)."""
        factor_first = stats["factor_first"][:, :, None]
        above = np.concatenate([stats["factor_second"], factor_first], axis=2)
        below = np.concatenate([factor_first, stats["count"][:, None, None]], axis=1).transpose(0, 2, 1)
        return np.concatenate([above, below], axis=1), np.concatenate([stats["cross"], stats["first"][:, None]], axis=1)

    def factor_terms(self, stats):
        """Sum over rows of E[log p(z)] and the entropy of q(z), without the 2 pi of both, (K,)."""
        return stats["factor_entropy"] - 0.5 * np.trace(stats["factor_second"], axis1=1, axis2=2)

    # -- Bayesian updates

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """As for diagonal covariances: of means and noise."""
        plain = self.plain.prior(data, mean_precision, mean, dof, covariance)
        return LoadedNormalGamma(
            plain.mean, plain.mean_precision, plain.dof, plain.scale, np.zeros((1, self.rank, self.n_features))
        )

    def posterior(self, prior, stats):
        """The regression of every feature on the factors; kappa = kappa0 + N, nu = nu0 + N, b from what is left."""
        kappa0 = prior.mean_precision
        squares, products = self.design(stats)
        squares[:, np.arange(self.rank), np.arange(self.rank)] += LOADING_PRECISION
        squares[:, -1, -1] += kappa0
        products[:, -1] += kappa0[:, None] * prior.mean
        coefficients = np.linalg.solve(squares, products)
        explained = np.einsum("kqd,kqd->kd", coefficients, products)
        scale = prior.scale + kappa0[:, None] * prior.mean**2 + stats["second"] - explained
        count = stats["count"]
        return LoadedNormalGamma(
            coefficients[:, -1], kappa0 + count, prior.dof + count, scale, np.ascontiguousarray(coefficients[:, :-1])
        )

    def prior_scales(self, prior, post, split=serial):
        """See GaussianFamily: of the noise."""
        return self.plain.prior_scales(prior, post, split)

    def expected(self, post):
        """E log F = log N(x | m, W^T W + b / nu) + D (digamma(nu / 2) - log(nu / 2) - 1 / kappa) / 2."""
        half = 0.5 * post.dof
        extra = 0.5 * self.n_features * (digamma(half) - np.log(half) - 1.0 / post.mean_precision)
        return FactorAnalysers(
            means=post.mean, covariances=post.scale / post.dof[:, None], extra=extra, loadings=post.loadings
        )

    def point_estimate(self, post):
        """Noise b / (nu - 2), or b / nu where the mean of the variance does not exist."""
        variances = self.plain.point_estimate(post).covariances
        return FactorAnalysers(means=post.mean, covariances=variances, loadings=post.loadings)

    def log_normalizers(self, params):
        """See GaussianFamily."""
        return self.plain.log_normalizers(params)

    def evidence(self, prior, post, stats):
        """See GaussianFamily; and what the factors add. Loadings have a penalty and no normalised prior."""
        return super().evidence(prior, post, stats) + float(self.factor_terms(stats).sum())

    def log_predictive(self, post, x):
        """There is no closed form: densities of the posterior means."""
        gaussians = self.point_estimate(post)
        table = gaussians.table(np.zeros(len(gaussians.means)), np.float64)
        return table.weights(np.ascontiguousarray(x, dtype=np.float64), np.empty((len(x), len(gaussians.means))))

    # -- maximum likelihood

    def maximum_likelihood(self, stats, reg_covar, previous=None):
        """See GaussianFamily: the same regressions without a prior."""
        live = stats["count"] > EMPTY
        squares, products = self.design(stats)
        squares[~live] = np.eye(self.rank + 1)
        coefficients = np.linalg.solve(squares, products)
        residual = stats["second"] - np.einsum("kqd,kqd->kd", coefficients, products)
        noise = np.maximum(residual / np.where(live, stats["count"], 1.0)[:, None], 0.0) + reg_covar
        loadings, means = coefficients[:, :-1], coefficients[:, -1]
        if previous is None:
            zeros = np.zeros_like(means)
            previous = FactorAnalysers(means=zeros, covariances=zeros + 1.0, loadings=np.zeros_like(loadings))
        keep = live[:, None]
        return FactorAnalysers(
            means=np.where(keep, means, previous.means),
            covariances=np.where(keep, noise, previous.covariances),
            loadings=np.where(keep[:, :, None], loadings, previous.loadings),
        )

    def covariances_of(self, stats, means, counts):
        """See GaussianFamily: those without loadings."""
        return self.plain.covariances_of(stats, means, counts)

    def expected_log_lik(self, gaussians, stats, reg_covar):
        """See GaussianFamily: given the factors, what is left is noise."""
        return super().expected_log_lik(gaussians.noise, stats, reg_covar) + float(self.factor_terms(stats).sum())

    def unit_covariances(self, n_components):
        """See GaussianFamily."""
        return np.ones((n_components, self.n_features))

    def published_covariances(self, gaussians):
        """See GaussianFamily: matrices."""
        return gaussians.dense()

    def stats_of(self, gaussians, counts):
        """See GaussianFamily; rows tell of their factors what these Gaussians say."""
        stats, loadings = self.empty_stats(len(counts)), gaussians.loadings
        weight = counts[:, None]
        stats["count"] = counts
        stats["mass"] = counts.sum()
        stats["first"] = weight * gaussians.means
        stats["second"] = weight * (gaussians.diagonals() + gaussians.means**2)
        stats["cross"] = weight[:, :, None] * loadings
        stats["factor_second"] = weight[:, :, None] * np.eye(self.rank)
        stats["factor_entropy"] = counts * gaussians.view().entropies
        return stats

    def n_parameters(self, n_components):
        """See GaussianFamily; loadings that are rotated describe the same covariance."""
        d, q = self.n_features, self.rank
        return n_components * (2 * d + q * d - q * (q - 1) // 2)

    def item_divergences(self, prior, x):
        """As for the family without loadings."""
        return self.plain.item_divergences(prior, x)
