"""Gaussians that share one full covariance, Normal-Wishart prior with one Wishart."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sparsemix._kernels.gaussians import _accumulate
from sparsemix._stats import symmetric
from sparsemix._stats.families._base import GaussianFamily, PackedCovariances, add_first, student
from sparsemix._stats.families._shapes import serial
from sparsemix._stats.families._tables import Gaussians
from sparsemix._stats.families.full import (
    FullGaussian,
    NormalWishart,
    best_scales,
    expected_covariance,
    extra_log_det,
    log_normalizer,
)


@dataclass(frozen=True)
class TiedNormalWishart:
    """mu_k | Lambda ~ N(mean_k, (mean_precision_k Lambda)^-1), one Lambda ~ Wishart(dof, scale)."""

    mean: np.ndarray  # (K, D)
    mean_precision: np.ndarray  # (K,)
    dof: float
    scale: np.ndarray  # (D (D + 1) / 2,)

    def repeat(self, n_components):
        """The prior as if it were the posterior of K components without rows."""
        return replace(
            self,
            mean=np.repeat(self.mean, n_components, axis=0),
            mean_precision=np.repeat(self.mean_precision, n_components),
        )

    @cached_property
    def wishart(self):
        """The shared Wishart as one component."""
        d = self.mean.shape[1]
        return NormalWishart(np.zeros((1, d)), None, np.array([self.dof]), self.scale[None])


class TiedGaussian(PackedCovariances, GaussianFamily):
    """Sums of rows (K, D), and the shared sum of outer products of all rows (1, D (D + 1) / 2)."""

    name = structure = "tied"
    has_scales = True
    additive_alone = False

    def spec(self):
        """See GaussianFamily."""
        return {"first": (self.n_features,)}, {"scatter": (1, symmetric.packed_size(self.n_features))}

    def accumulate(self, stats, x, groups, first, last):
        """See GaussianFamily."""
        add_first(stats, x, groups, first, last)

    def accumulate_shared(self, stats, x, groups, sample_weight):  # noqa: ARG002
        """Responsibilities sum to one, so every row counts fully, whatever its components."""
        starts = np.array([0, len(x)], dtype=np.intp)
        weight = np.ones(len(x)) if sample_weight is None else sample_weight
        _accumulate.add_outer(x, starts, np.arange(len(x), dtype=np.int32), weight, 0, 1, stats["scatter"])

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """As for the full family."""
        prior = FullGaussian(self.n_features).prior(data, mean_precision, mean, dof, covariance)
        return TiedNormalWishart(prior.mean, prior.mean_precision, float(prior.dof[0]), prior.scale[0])

    def posterior(self, prior, stats):
        """nu = nu0 + N of all rows; B adds the scatter of all rows about their components' means."""
        kappa = prior.mean_precision + stats["count"]
        mean = (prior.mean_precision[:, None] * prior.mean + stats["first"]) / kappa[:, None]
        between = kappa @ symmetric.pack_outer(mean)
        before = stats.n_components * prior.mean_precision[0] * symmetric.pack_outer(prior.mean[0])
        scale = prior.scale + before + stats["scatter"][0] - between
        return TiedNormalWishart(mean, kappa, prior.dof + float(stats["count"].sum()), scale)

    def prior_scales(self, prior, post, split=serial, n_means=0.0):
        """See GaussianFamily; one scale."""
        return best_scales(prior.scale, post.scale[None], prior.dof, self.dof_of_scales(prior, post, n_means), split)

    def blurred(self, post, counts, blur):
        """See GaussianFamily."""
        post.scale[symmetric.diagonal_positions(self.n_features)] += counts.sum() * blur
        return post

    def expected(self, post):
        """As for the full family."""
        d = self.n_features
        extra = 0.5 * (extra_log_det(post.wishart.dof, d)[0] - d / post.mean_precision)
        return Gaussians("tied", post.mean, post.scale / post.dof, extra)

    def point_estimate(self, post):
        """See GaussianFamily."""
        covariance = expected_covariance(post.wishart.dof, post.wishart.scale, self.n_features)[0]
        return Gaussians("tied", post.mean, covariance)

    def log_normalizers(self, params):
        """The terms of kappa for each mean, and one Wishart."""
        kappas = 0.5 * self.n_features * (np.log(2.0 * np.pi) - np.log(params.mean_precision))
        return np.append(kappas, log_normalizer(params.wishart))

    def log_predictive(self, post, x):
        """Student-t with nu - D + 1 degrees of freedom and scale B (kappa + 1) / (kappa (nu - D + 1))."""
        dof = post.dof - self.n_features + 1
        out = np.empty((len(x), len(post.mean)))
        for k, kappa in enumerate(post.mean_precision):
            scale = post.scale[None] * (kappa + 1) / (kappa * dof)
            out[:, k] = student(Gaussians("full", post.mean[k : k + 1], scale), dof, x)[:, 0]
        return out

    def covariances_of(self, stats, means, counts):  # noqa: ARG002
        """See GaussianFamily."""
        live = stats["count"]
        scatter = stats["scatter"][0] - live @ symmetric.pack_outer(means)
        return scatter / live.sum()

    def unit_covariances(self, n_components):  # noqa: ARG002
        """See GaussianFamily."""
        return symmetric.pack_identity(self.n_features)

    def stats_of(self, gaussians, counts):
        """See GaussianFamily."""
        stats = self.empty_stats(len(counts))
        stats["count"] = counts
        stats["mass"] = counts.sum()
        stats["first"] = counts[:, None] * gaussians.means
        stats["scatter"] = counts.sum() * gaussians.covariances + counts @ symmetric.pack_outer(gaussians.means)
        return stats

    def n_parameters(self, n_components):
        """See GaussianFamily."""
        return n_components * self.n_features + symmetric.packed_size(self.n_features)

    def item_divergences(self, prior, x):
        """As for the full family."""
        kappa = prior.mean_precision
        wishart = NormalWishart(prior.mean, kappa, np.array([prior.dof]), prior.scale[None])
        return FullGaussian(self.n_features).item_divergences(wishart, x)
