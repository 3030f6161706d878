"""Steps of few Gaussians on few rows by one kernel, where the model's own steps take longer than their arithmetic."""

import numpy as np

from sparsemix._kernels.gaussians import _few
from sparsemix._models.mixture.model import VariationalMixture
from sparsemix._rows.blocks import Observation
from sparsemix._stats.families import DiagonalGaussian, FullGaussian, SphericalGaussian, TiedGaussian
from sparsemix._stats.families._tables import LOG_2PI
from sparsemix._stats.families.full import whitening_of
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix._stats.weights import DirichletWeights, EqualWeights

# Components, and numbers that a step adds to their sums.
MOST_COMPONENTS, MOST_NUMBERS = 64, 1_000_000
FAMILIES = FullGaussian, TiedGaussian, DiagonalGaussian, SphericalGaussian


def sums_of(stats):
    """Sums that the kernel uses; components with a shared covariance have second moments of all rows."""
    return stats["count"], stats["first"], stats["scatter" if "scatter" in stats else "second"]


def lower_bound(model, stats, few):
    """``lower_bound`` of a model, by the kernel where ``few`` are its FewGaussians, or None."""
    return model.lower_bound(stats) if few is None else few.lower_bound(model, stats)


class FewGaussians:
    """Steps of a model with any small number of components on few rows: ``of`` makes it where it applies.

    Attributes
    ----------
    x, weight : ndarray of shape (n, D), (n,)
    kernel : _few.FewGaussians
    """

    def __init__(self, model, rows):
        self.x = np.ascontiguousarray(rows.read(slice(0, len(rows))), dtype=np.float64)
        self.weight = np.ones(len(self.x)) if rows.sample_weight is None else rows.weight(slice(0, len(rows)))
        self.weight = np.ascontiguousarray(self.weight, dtype=np.float64)
        family, prior = model.family, model.prior
        scale = np.ascontiguousarray(np.atleast_2d(prior.scale)[0])
        whitening = whitening_of(scale) if family.shape.correlated else None
        floor = np.zeros(family.n_features) if model.floor is None else np.ascontiguousarray(model.floor)
        self.kernel = _few.FewGaussians(
            family.shape.correlated, family.tied, np.ascontiguousarray(prior.mean[0]), float(prior.mean_precision[0]),
            float(np.ravel(prior.dof)[0]), scale, whitening, floor, model.usual_scale if model.learn_scales else 0.0,
            model.weights.concentration, float(family.log_normalizers(prior)[-1]),
        )  # fmt: skip
        # shared sums of all rows, which no step changes
        self.shared = family.empty_stats(1)
        family.accumulate_shared(self.shared, self.x, None, self.weight)

    @classmethod
    def of(cls, model, rows):
        """For a model whose formulas the kernel has, and rows that are few; else None."""
        if not (
            type(model) is VariationalMixture
            and type(model.family) in FAMILIES
            and type(model.weights) in (DirichletWeights, EqualWeights)
            and model.observation == Observation()
            and model.background is None
            and model.search is None
            and not rows.sparse
            and model.n_components < MOST_COMPONENTS
            and model.prior.mean_precision.ndim == 1
        ):
            return None
        size = model.n_components * model.prior.scale.shape[-1]
        return cls(model, rows) if len(rows) * size <= MOST_NUMBERS else None

    def collect(self, model, resp):
        """Statistics of all rows under given responsibilities."""
        stats = self._no_stats(model)
        stats["entropy"] = self.kernel.collect(self.x, self.weight, resp.indices, resp.values, *sums_of(stats))
        return stats

    def _no_stats(self, model):
        """Statistics with the sums that no step changes."""
        stats = model.empty_stats()
        stats["mass"] = self.weight.sum()
        if model.family.tied:
            stats["scatter"] = self.shared["scatter"].copy()
        return stats

    def climb(self, model, stats, most, tol):
        """Statistics and responsibilities after steps from given statistics, or None; see ``climb``."""
        out = self._no_stats(model)
        for new, given in zip(sums_of(out), sums_of(stats), strict=True):
            new[...] = given
        resp = SparseResponsibilities.empty(len(self.x), model.n_nonzero)
        ends = resp.indices, resp.values, resp.log_z
        entropy = self.kernel.climb(self.x, self.weight, most, tol, *sums_of(out), *ends)
        if np.isnan(entropy):
            return None
        out["entropy"] = entropy
        return out, resp

    def evidences(self, count, first, second):
        """``log_evidences`` of a model from sums of components, or None if one has no density; tied, their sum first.
        """
        out = np.empty(len(count))
        return out if self.kernel.log_evidences(count, first, second, out) else None

    def lower_bound(self, model, stats):
        """``lower_bound`` of the model."""
        evidences = self.evidences(*sums_of(stats))
        if evidences is None:
            return model.lower_bound(stats)
        constant = 0.5 * model.family.n_features * LOG_2PI * float(stats["count"].sum())
        return model.weights.evidence(stats["count"]) + float(evidences.sum()) - constant + float(stats["entropy"])
