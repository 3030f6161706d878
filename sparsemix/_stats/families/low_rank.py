"""Factor analysers: Gaussians with low-rank loadings plus diagonal noise, Normal-Gamma prior of means and noise.

x = mean + W^T z + noise with Q-dimensional z ~ N(0, 1), so the covariance is W^T W + diag(noise). Densities need Q x Q
matrices only, by the Woodbury identity; learning never forms a D x D matrix.

Given its factors z, a row is a linear regression on (z, 1) in each feature (Ghahramani and Hinton 1996). Factors are
latent variables of each row and component; means and noise have posteriors, loadings are point estimates. A factorised
posterior of the loadings (Ghahramani and Beal 2000) would ignore their dependence on the factors and shrink them
towards zero (news, K = 100: the held-out log likelihood loses a third of the gain from loadings, and all of it under a
flatter prior).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import digamma

from sparsemix._kernels.gaussians import _accumulate, _quadratic
from sparsemix._stats.families._base import EMPTY, GaussianFamily, add_first
from sparsemix._stats.families._shapes import DIAGONAL, serial
from sparsemix._stats.families._tables import LOG_2PI, STRUCTURES, Gaussians, KernelTable, Structure, as_factors
from sparsemix._stats.families.diag import DiagonalGaussian, NormalGamma

# Penalty: half of this, times the squared loading in units of its feature's noise variance.
LOADING_PRECISION = 1.0
# Rows whose factors are computed at once; they stay in the CPU cache.
ROWS = 1024
# The quadratic form is |row|^2 minus the part explained by its factors. If the largest variance exceeds the noise by
# more than this ratio, the difference cancels in float32, so tables use float64.
FLOAT32_GAIN = 1e4


@dataclass(frozen=True)
class FactorAnalysers(Gaussians):
    """``covariances`` are the variances of the noise, (K, D); ``loadings`` (K, Q, D) is W."""

    has_loadings: ClassVar = True
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

    def precision_factors(self):
        """Upper triangular U of the inverse covariances U U^T, (K, D, D).

        Uses an orthogonal factorisation of the loadings scaled by the noise; the explicit sum would cancel small noise.
        """
        roots = np.sqrt(self.covariances)
        eye = np.broadcast_to(np.eye(roots.shape[1]), (*roots.shape, roots.shape[1]))
        upper = np.linalg.qr(np.concatenate([self.loadings / roots[:, None], eye], axis=1), mode="r")
        upper *= np.sign(np.diagonal(upper, axis1=1, axis2=2))[:, :, None]
        return np.linalg.inv(upper) / roots[:, :, None]

    def precisions(self):
        """Inverse covariances, (K, D, D)."""
        factors = self.precision_factors()
        return factors @ np.swapaxes(factors, 1, 2)

    def variances(self):
        """See Gaussians."""
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
        """Posterior of the factors given a row: see FactorView."""
        scaled, precisions = self.scaled_loadings()
        covariances = np.linalg.inv(precisions)
        maps = covariances @ scaled
        entropies = 0.5 * (np.linalg.slogdet(covariances)[1] + covariances.shape[1])
        return FactorView(maps, np.einsum("kqd,kd->kq", maps, self.means), covariances, entropies)


@dataclass(frozen=True)
class FactorView:
    """q(z | x, k) = N(maps_k x - offsets_k, covariances_k), and its entropies without the 2 pi terms."""

    maps: np.ndarray  # (K, Q, D)
    offsets: np.ndarray  # (K, Q)
    covariances: np.ndarray  # (K, Q, Q)
    entropies: np.ndarray  # (K,)

    @classmethod
    def of_directions(cls, directions, means):
        """Coordinates of rows along given directions (K, Q, D), treated as exactly known factors."""
        n_components, rank, _ = directions.shape
        offsets = np.einsum("kqd,kd->kq", directions, means)
        return cls(directions, offsets, np.zeros((n_components, rank, rank)), np.zeros(n_components))


class LowRankTable:
    """Log densities of Gaussians with low-rank loadings: the noise term plus the part explained by the factors.

    (x - m)^T C^-1 (x - m) = |x - m|^2 / noise - |L x - L m|^2, where L = H^-1 W diag(noise)^-1 and H is the lower
    Cholesky factor of 1 + W diag(noise)^-1 W^T.
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
        self.projections = np.ascontiguousarray(as_factors(projections, inner))
        self.projected_means = as_factors(np.einsum("kqd,kd->kq", projections, gaussians.means), inner)

    def rows(self, x):
        """Rows in the dtype of the table."""
        return np.ascontiguousarray(x, dtype=self.kernel.dtype)

    def weights(self, x, out):
        """Log densities of rows ``x`` (n, D) in ``out`` (n, K)."""
        x = self.rows(x)
        inner = out if out.dtype == x.dtype else np.empty(out.shape, dtype=x.dtype)
        self.kernel.weights(x, inner)
        _quadratic.add_projections(x, self.projections, self.projected_means, inner)
        if inner is not out:
            with np.errstate(over="ignore"):  # overflow gives -inf, as in all tables
                out[...] = inner
        return out

    def complete_pairs(self, x, starts, rows, out):
        """Add the part explained by the factors to the weights of pairs (see PairTable)."""
        _quadratic.add_pair_projections(x, self.projections, self.projected_means, starts, rows, out)


STRUCTURES["low_rank"] = Structure(DIAGONAL, LowRankTable)


@dataclass(frozen=True)
class LoadedNormalGamma(NormalGamma):
    """A posterior, with the loadings that maximise the bound."""

    loadings: np.ndarray  # (K, Q, D)


class LowRankGaussian(GaussianFamily):
    """Sums of rows, factors and their products: K (2 D + Q D + Q^2 + Q + 2) numbers.

    Sums need rows, responsibilities and the posterior of the factors, the ``view``. Without a view, factors have their
    prior distribution, and the family equals that of diagonal covariances.
    """

    name = structure = "low_rank"
    has_loadings = True
    has_scales = True
    additive_alone = False  # the sums of the factors depend on their posterior

    def __init__(self, n_features, rank=1):
        super().__init__(n_features)
        self.rank = min(rank, n_features - 1)  # a higher rank would be a full covariance
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
                    # fancy indexing continues with wrong rows if NumPy has no memory to widen the index; take does not
                    y = x.take(groups.rows[part], axis=0).astype(np.float64, copy=False)
                    z = y @ self.view.maps[k].T - self.view.offsets[k]
                    weighted = (resp[:, None] * z).T
                    factor_first[k] += weighted.sum(axis=1)
                    factor_second[k] += weighted @ z
                    cross[k] += weighted @ y
            factor_second[k] += count * (np.eye(self.rank) if self.view is None else self.view.covariances[k])
            stats["factor_entropy"][k] += count * (0.5 * self.rank if self.view is None else self.view.entropies[k])

    def add_spread(self, stats, k, spread):
        """See GaussianFamily; the factors given the completed row have the mean maps_k x - offsets_k."""
        stats["second"][k] += np.diagonal(spread)
        if self.view is not None:
            moved = self.view.maps[k] @ spread
            stats["cross"][k] += moved
            stats["factor_second"][k] += moved @ self.view.maps[k].T

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
        """Regression of every feature on the factors; kappa = kappa0 + N, nu = nu0 + N, b from the residuals."""
        kappa0 = prior.mean_precision
        squares, products = self.design(stats)
        squares[:, np.arange(self.rank), np.arange(self.rank)] += LOADING_PRECISION
        squares[:, -1, -1] += kappa0
        products[:, -1] += kappa0[:, None] * prior.mean
        coefficients = np.linalg.solve(squares, products)
        explained = np.einsum("kqd,kqd->kd", coefficients, products)
        scale = prior.scale + kappa0[:, None] * prior.mean**2 + stats["second"] - explained
        scale = np.maximum(scale, prior.scale)  # true without round-off
        count = stats["count"]
        return LoadedNormalGamma(
            coefficients[:, -1], kappa0 + count, prior.dof + count, scale, np.ascontiguousarray(coefficients[:, :-1])
        )

    def prior_scales(self, prior, post, split=serial, n_means=0.0):
        """See GaussianFamily; scales of the noise."""
        return self.plain.prior_scales(prior, post, split, n_means)

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
        """See GaussianFamily; adds the factor terms. Loadings have a penalty instead of a normalised prior."""
        return super().evidence(prior, post, stats) + float(self.factor_terms(stats).sum())

    def log_predictive(self, post, x):
        """No closed form: densities at the posterior means."""
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
        """See GaussianFamily; without loadings."""
        return self.plain.covariances_of(stats, means, counts)

    def expected_log_lik(self, gaussians, stats, reg_covar):
        """See GaussianFamily: given the factors, residuals are noise."""
        return super().expected_log_lik(gaussians.noise, stats, reg_covar) + float(self.factor_terms(stats).sum())

    def unit_covariances(self, n_components):
        """See GaussianFamily."""
        return np.ones((n_components, self.n_features))

    @property
    def directions(self):
        """See GaussianFamily: the loadings."""
        return self.rank

    @classmethod
    def directions_of_batch(cls, n_features, rank):  # noqa: ARG003
        """See GaussianFamily."""
        return 2 * rank

    def published_covariances(self, gaussians):
        """See GaussianFamily; dense matrices."""
        return gaussians.dense()

    def published_precisions(self, gaussians):
        """See GaussianFamily."""
        return gaussians.precisions()

    def precision_factors(self, gaussians):
        """See GaussianFamily."""
        return gaussians.precision_factors()

    def square_roots(self, gaussians):
        """See GaussianFamily."""
        return lambda k: np.linalg.cholesky(gaussians.take([k]).dense()[0])

    def density_covariances(self, gaussians):
        """See GaussianFamily: loadings and noise variances."""
        return gaussians.loadings, gaussians.covariances

    def stats_of(self, gaussians, counts):
        """See GaussianFamily; factors follow the posterior under these Gaussians."""
        stats, loadings = self.empty_stats(len(counts)), gaussians.loadings
        weight = counts[:, None]
        stats["count"] = counts
        stats["mass"] = counts.sum()
        stats["first"] = weight * gaussians.means
        stats["second"] = weight * (gaussians.variances() + gaussians.means**2)
        stats["cross"] = weight[:, :, None] * loadings
        stats["factor_second"] = weight[:, :, None] * np.eye(self.rank)
        stats["factor_entropy"] = counts * gaussians.view().entropies
        return stats

    def n_parameters(self, n_components):
        """See GaussianFamily; rotations of the loadings do not count."""
        d, q = self.n_features, self.rank
        return n_components * (2 * d + q * d - q * (q - 1) // 2)

    def item_divergences(self, prior, x):
        """As for the family without loadings."""
        return self.plain.item_divergences(prior, x)
