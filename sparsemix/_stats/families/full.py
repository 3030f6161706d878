"""Gaussians with full covariances, Normal-Wishart prior."""

import numpy as np
from scipy.linalg import solve_triangular

from sparsemix._kernels.gaussians import _accumulate, _scales
from sparsemix._stats import symmetric
from sparsemix._stats.families import _wishart
from sparsemix._stats.families._base import GaussianFamily, PackedCovariances, add_first, student
from sparsemix._stats.families._shapes import serial
from sparsemix._stats.families._tables import Gaussians


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
        return _wishart.NormalWishart(
            np.array(data.means[0] if mean is None else mean, dtype=np.float64)[None],
            np.array([1e-4 if mean_precision is None else mean_precision]),
            np.array([dof]),
            _wishart.prior_scale(data, dof, covariance, d)[None],
        )

    def posterior(self, prior, stats):
        """kappa = kappa0 + N, nu = nu0 + N, m and B from the sums."""
        kappa = prior.mean_precision + stats["count"]
        mean = (prior.mean_precision[:, None] * prior.mean + stats["first"]) / kappa[:, None]
        scale = symmetric.pack_outer(mean)
        scale *= -kappa[:, None]
        scale += stats["second"]
        scale += prior.scale + prior.mean_precision[:, None] * symmetric.pack_outer(prior.mean)
        return _wishart.NormalWishart(mean, kappa, prior.dof + stats["count"], scale)

    def prior_scales(self, prior, post, split=serial):
        """See GaussianFamily."""
        basis = np.linalg.cholesky(symmetric.unpack(prior.scale[0]))
        whitening = np.ascontiguousarray(solve_triangular(basis, np.eye(self.n_features), lower=True))
        scales = np.empty(len(post.scale))
        given = post.scale, prior.scale[0], whitening, float(prior.dof[0]), post.dof, scales
        split(lambda first, last: _scales.scales_of(*given, first, last), len(scales))
        return scales

    def expected(self, post):
        """E log F = log N(x | m, B / nu) + (E log|Lambda| + log|B / nu| - D / kappa) / 2."""
        d = self.n_features
        extra = 0.5 * (_wishart.extra_log_det(post.dof, d) - d / post.mean_precision)
        return Gaussians("full", post.mean, post.scale / post.dof[:, None], extra)

    def point_estimate(self, post):
        """See GaussianFamily."""
        return Gaussians("full", post.mean, _wishart.expected_covariance(post.dof, post.scale, self.n_features))

    def log_normalizers(self, params):
        """See GaussianFamily."""
        return _wishart.log_normalizer(params)

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
        y = _wishart.white(x, prior.mean[0], prior.scale[0])
        degrees = max(prior.dof[0] - d, 1e-3)
        return _wishart.rank_one_divergences(y, kappa / (kappa + 1), degrees / (kappa + 1) ** 2)
