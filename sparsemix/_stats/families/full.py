"""Gaussians with full covariances, and their Normal-Wishart priors; matrices are packed lower triangles."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.special import digamma, gammaln

from sparsemix._kernels.gaussians import _accumulate, _scales
from sparsemix._stats import symmetric
from sparsemix._stats.families._base import ConjugateParameters, GaussianFamily, PackedCovariances, add_first, student
from sparsemix._stats.families._shapes import serial, whiten
from sparsemix._stats.families._tables import LOG_2PI, Gaussians


@dataclass(frozen=True)
class NormalWishart(ConjugateParameters):
    """mu | Lambda ~ N(mean, (mean_precision Lambda)^-1), Lambda ~ Wishart(dof, scale), E[Lambda] = dof scale^-1.

    ``mean_precision`` is None for a Wishart alone (the mean is zero and known).
    """

    mean: np.ndarray  # (K, D)
    mean_precision: np.ndarray | None  # (K,)
    dof: np.ndarray  # (K,)
    scale: np.ndarray  # (K, D (D + 1) / 2)

    @cached_property
    def log_det(self):
        """Log determinants of the scales, (K,)."""
        return whiten(self.scale, np.zeros((len(self.scale), self.mean.shape[1])), np.float64)[2]

    def unrepaired(self):
        """See ConjugateParameters."""
        return self.knowing(symmetric.log_dets(self.scale))

    def knowing(self, log_det):
        """A copy with known log determinants."""
        out = replace(self)
        vars(out)["log_det"] = log_det
        return out


def multi_gammaln(a, d):
    """Log of the multivariate gamma function, elementwise."""
    return 0.25 * d * (d - 1) * np.log(np.pi) + gammaln(a[..., None] - 0.5 * np.arange(d)).sum(axis=-1)


def log_normalizer(params):
    """A(kappa, nu, B) of each component ([HS16] B.1; the Normal-Wishart adds the terms of kappa)."""
    d = params.mean.shape[1]
    dof = params.dof
    out = 0.5 * dof * d * np.log(2.0) + multi_gammaln(0.5 * dof, d) - 0.5 * dof * params.log_det
    if params.mean_precision is not None:
        out = out + 0.5 * d * (LOG_2PI - np.log(params.mean_precision))
    return out


def extra_log_det(dof, d):
    """E log|Lambda| + log|scale| - D log(dof): the expected log determinant minus that of dof scale^-1."""
    return d * np.log(2.0) + digamma(0.5 * (dof[:, None] - np.arange(d))).sum(axis=1) - d * np.log(dof)


def expected_covariance(dof, scale, d):
    """Posterior mean of the covariance, scale / (dof - D - 1); scale / dof where the mean does not exist."""
    divisor = np.where(dof > d + 1, dof - d - 1, dof)
    return scale / divisor[..., None]


def rank_one_divergences(y, spread, location):
    """Kullback-Leibler divergences between single-row Gaussians N(m_n, (1 + spread y_n y_n^T) / c), rows whitened.

    ``location`` is c / (kappa0 + 1)^2, the weight of the means (0 for a zero-mean family). The covariances are rank-one
    updates of one matrix, so a centre costs one product with y.
    """
    norms = np.einsum("nd,nd->n", y, y)
    ones = 1.0 + spread * norms
    log_ones = np.log(ones)

    def from_row(n, rows=slice(None)):
        products = y[rows] @ y[n]
        trace = spread * norms[rows] - spread * norms[n] / ones[n] - spread * products * (spread * products / ones[n])
        out = log_ones[n] - log_ones[rows] + trace
        if location:
            apart = norms[rows] - 2.0 * products + norms[n]
            along = products - norms[n]
            out += location * (apart - spread * along * (along / ones[n]))  # avoids squares, which may overflow
        return 0.5 * np.maximum(out, 0.0)

    return from_row


def white(x, mean, packed):
    """Rows minus ``mean``, whitened by the packed covariance; in the dtype of ``x``."""
    basis = np.linalg.cholesky(symmetric.unpack(packed))
    whitening = solve_triangular(basis, np.eye(len(basis)), lower=True).T.astype(x.dtype)
    y = x @ whitening
    y -= (mean @ whitening).astype(x.dtype)
    return y


def prior_scale(data, dof, covariance, d):
    """Packed B0: the argument (D, D), or (dof - D - 1) times the data's covariance, made positive definite.

    The data's variances are positive. If columns are linearly dependent, each gets 1e-6 of its variance added.
    """
    if covariance is not None:
        return symmetric.pack(covariance)
    covariance = np.array(data.covariances).reshape(-1)
    if is_singular(covariance):
        diagonal = symmetric.diagonal_positions(d)
        covariance[diagonal] *= 1.0 + 1e-6
    return max(dof - d - 1, 1e-3) * covariance


def whitening_of(packed):
    """Lower triangular W (D, D) with W B W^T = 1 for a packed matrix B."""
    basis = np.linalg.cholesky(symmetric.unpack(packed))
    inverse, _ = lapack.dtrtrs(basis.T, np.eye(len(basis)), lower=0, trans=1)  # faster than by solve_triangular
    return np.ascontiguousarray(inverse)


def best_scales(prior, matrices, prior_dof, dofs, split):
    """Scales of a prior's packed matrix that maximise the evidence of posteriors (K, D (D + 1) / 2); shape of dofs."""
    scales = np.empty(dofs.shape)
    given = matrices, prior, whitening_of(prior), prior_dof, dofs, scales
    split(lambda first, last: _scales.scales_of(*given, first, last), len(matrices))
    return scales


def is_singular(packed):
    """Whether a column depends linearly on earlier ones up to 1e-8 of its variance; independent of units."""
    try:
        pivots = np.diag(np.linalg.cholesky(symmetric.unpack(packed))) ** 2
    except np.linalg.LinAlgError:
        return True
    variances = packed[symmetric.diagonal_positions(len(pivots))]
    return not (pivots > 1e-8 * variances).all()


class FullGaussian(PackedCovariances, GaussianFamily):
    """Sums of rows (K, D) and of their outer products (K, D (D + 1) / 2)."""

    name = "full"
    has_scales = True

    def spec(self):
        """See GaussianFamily."""
        return {"first": (self.n_features,), "second": (symmetric.packed_size(self.n_features),)}, {}

    def accumulate(self, stats, x, groups, first, last):
        """See GaussianFamily."""
        add_first(stats, x, groups, first, last)
        _accumulate.add_outer(x, groups.starts, groups.rows, groups.resp, first, last, stats["second"])

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """Defaults: kappa0 = 1e-4, m0 = the data's mean, nu0 = D + 2, B0 = (nu0 - D - 1) data covariance."""
        d = self.n_features
        dof = d + 2.0 if dof is None else dof
        return NormalWishart(
            np.array(data.means[0] if mean is None else mean, dtype=np.float64)[None],
            np.array([1e-4 if mean_precision is None else mean_precision]),
            np.array([dof]),
            prior_scale(data, dof, covariance, d)[None],
        )

    def posterior(self, prior, stats):
        """kappa = kappa0 + N, nu = nu0 + N, m and B from the sums."""
        kappa = prior.mean_precision + stats["count"]
        mean = (prior.mean_precision[:, None] * prior.mean + stats["first"]) / kappa[:, None]
        scale = symmetric.pack_outer(mean)
        scale *= -kappa[:, None]
        scale += stats["second"]
        scale += prior.scale + prior.mean_precision[:, None] * symmetric.pack_outer(prior.mean)
        return NormalWishart(mean, kappa, prior.dof + stats["count"], scale)

    def prior_scales(self, prior, post, split=serial, n_means=0.0):
        """See GaussianFamily."""
        dofs = self.dof_of_scales(prior, post, n_means)
        return best_scales(prior.scale[0], post.scale, float(prior.dof[0]), dofs, split)

    def expected(self, post):
        """E log F = log N(x | m, B / nu) + (E log|Lambda| + log|B / nu| - D / kappa) / 2."""
        d = self.n_features
        extra = 0.5 * (extra_log_det(post.dof, d) - d / post.mean_precision)
        return Gaussians("full", post.mean, post.scale / post.dof[:, None], extra)

    def point_estimate(self, post):
        """See GaussianFamily."""
        return Gaussians("full", post.mean, expected_covariance(post.dof, post.scale, self.n_features))

    def log_normalizers(self, params):
        """See GaussianFamily."""
        return log_normalizer(params)

    def log_predictive(self, post, x):
        """Student-t with nu - D + 1 degrees of freedom and scale B (kappa + 1) / (kappa (nu - D + 1))."""
        dof = post.dof - self.n_features + 1
        factor = (post.mean_precision + 1) / (post.mean_precision * dof)
        return student(Gaussians("full", post.mean, post.scale * factor[:, None]), dof, x)

    def covariances_of(self, stats, means, counts):
        """See GaussianFamily."""
        return stats["second"] / counts[:, None] - symmetric.pack_outer(means)

    def unit_covariances(self, n_components):
        """See GaussianFamily."""
        return np.tile(symmetric.pack_identity(self.n_features), (n_components, 1))

    def stats_of(self, gaussians, counts):
        """See GaussianFamily."""
        stats = self.empty_stats(len(counts))
        stats["count"] = counts
        stats["mass"] = counts.sum()
        stats["first"] = counts[:, None] * gaussians.means
        stats["second"] = counts[:, None] * (gaussians.covariances + symmetric.pack_outer(gaussians.means))
        return stats

    def n_parameters(self, n_components):
        """See GaussianFamily."""
        return n_components * (self.n_features + symmetric.packed_size(self.n_features))

    def item_divergences(self, prior, x):
        """Divergences between single-row Gaussians, rank-one updates of the prior's: see rank_one_divergences."""
        kappa = prior.mean_precision[0]
        d = self.n_features
        y = white(x, prior.mean[0], prior.scale[0])
        degrees = max(prior.dof[0] - d, 1e-3)
        return rank_one_divergences(y, kappa / (kappa + 1), degrees / (kappa + 1) ** 2)
