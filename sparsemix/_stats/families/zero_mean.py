"""Gaussians with mean zero and full covariances, Wishart prior on the precision."""

import numpy as np

from sparsemix._kernels.gaussians import _accumulate
from sparsemix._stats import symmetric
from sparsemix._stats.families._base import student
from sparsemix._stats.families._tables import Gaussians
from sparsemix._stats.families.full import (
    FullGaussian,
    NormalWishart,
    extra_log_det,
    prior_scale,
    rank_one_divergences,
    white,
)


class ZeroMeanGaussian(FullGaussian):
    """The full family without means: sums of outer products only ([HS16] B.1)."""

    name = "zero_mean"
    has_means = False

    def spec(self):
        """See GaussianFamily."""
        return {"second": (symmetric.packed_size(self.n_features),)}, {}

    def accumulate(self, stats, x, groups, first, last):
        """See GaussianFamily."""
        _accumulate.add_outer(x, groups.starts, groups.rows, groups.resp, first, last, stats["second"])

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):  # noqa: ARG002
        """Defaults: nu0 = D + 2, B0 = (nu0 - D - 1) second moment of the data."""
        d = self.n_features
        dof = d + 2.0 if dof is None else dof
        scale = prior_scale(data, dof, covariance, d)
        return NormalWishart(np.zeros((1, d)), None, np.array([dof]), scale[None])

    def posterior(self, prior, stats):
        """nu = nu0 + N, B = B0 + sum of outer products."""
        mean = np.zeros((stats.n_components, self.n_features))
        return NormalWishart(mean, None, prior.dof + stats["count"], prior.scale + stats["second"])

    def expected(self, post):
        """E log F = log N(x | 0, B / nu) + (E log|Lambda| + log|B / nu|) / 2."""
        extra = 0.5 * extra_log_det(post.dof, self.n_features)
        return Gaussians("full", post.mean, post.scale / post.dof[:, None], extra)

    def log_predictive(self, post, x):
        """Student-t with nu - D + 1 degrees of freedom, location 0 and scale B / (nu - D + 1)."""
        dof = post.dof - self.n_features + 1
        return student(Gaussians("full", post.mean, post.scale / dof[:, None]), dof, x)

    def covariances_of(self, stats, means, counts):  # noqa: ARG002
        """See GaussianFamily."""
        return stats["second"] / counts[:, None]

    def stats_of(self, gaussians, counts):
        """See GaussianFamily."""
        stats = self.empty_stats(len(counts))
        stats["count"] = counts
        stats["mass"] = counts.sum()
        stats["second"] = counts[:, None] * gaussians.covariances
        return stats

    def n_parameters(self, n_components):
        """See GaussianFamily."""
        return n_components * symmetric.packed_size(self.n_features)

    def item_divergences(self, prior, x):
        """As for the full family, without the term of the means."""
        return rank_one_divergences(white(x, prior.mean[0], prior.scale[0]), 1.0, 0.0)
