"""Posteriors of Gaussian clusters in slots: conjugate families with parameters integrated out."""

from copy import copy
from dataclasses import replace

import numpy as np

from sparsemix._kernels.clusters._gaussian_clusters import COUNT, MEAN, GaussianClusters
from sparsemix._models.clusters.merge_search import MergeSearch
from sparsemix._stats import symmetric
from sparsemix._stats.families import bhattacharyya, cholesky, marginal_bounds
from sparsemix._stats.families.full import expected_covariance


class GaussianSlots:
    """Posterior parameters, one row of ``table`` for each slot, updated for each row of the data.

    The table holds parameters instead of sums, so that data far from the origin lose no digits. ``stats`` and
    ``set_stats`` convert between the two.

    Parameters
    ----------
    family : GaussianFamily
        A family with ``additive_alone``: the evidence of a cluster depends on its own rows only.
    prior : ConjugateParameters
        Prior of one component.
    capacity : int, default=0
        Number of allocated slots; ``take`` and ``reserve`` change it.
    shift : ndarray of shape (D,) or None, default=None
        Vector that was subtracted from the rows and the prior's mean.
    steps : Rounding or None, default=None
        Rounding steps of the columns. None means that rows are read without jitter.
    scales : ndarray of shape (D,) or None, default=None
        Scales by which the columns were divided. None means one.

    Notes
    -----
    A slot takes 8 (3 + D + size of the scale) bytes, the scale being D (D + 1) / 2 numbers, D or one.
    """

    has_covariances = True

    def __init__(self, family, prior, capacity=0, shift=None, steps=None, scales=None):
        if not family.additive_alone:
            raise ValueError(f"clusters of {family.name!r} depend on each other; use 'full', 'diag' or 'spherical'")
        self.family = family
        self.shift = shift
        self.steps = steps
        self.scales = scales
        self.table = np.empty((0, MEAN + family.n_features + prior.scale.shape[1]))
        self._begin_from(prior)
        self.reserve(capacity)

    def __setstate__(self, state):
        # arrays of a read-only memory map cannot change in place
        vars(self).update(state, table=np.array(state["table"]), prior_slot=np.array(state["prior_slot"]))

    def _begin_from(self, prior):
        """Set the prior, and make the content of an empty slot from it."""
        self.prior, self.log_normalizer = prior, self.family.log_normalizers(prior)
        scale = cholesky(prior.scale) if self._has_matrices else prior.scale
        self.prior_slot = np.concatenate([np.zeros(MEAN), prior.mean[0], scale[0]])
        self._kernel_of_no_rows()  # completes the slot

    @property
    def likelihood(self):
        """Value of the parameter ``likelihood``."""
        return self.family.name

    @property
    def n_features(self):
        """D."""
        return self.family.n_features

    @property
    def capacity(self):
        """Number of allocated slots."""
        return len(self.table)

    @property
    def look_price(self):
        """Zero: a search for merges reads only the clusters that are due."""
        return 0

    @property
    def _has_matrices(self):
        return self.family.shape.correlated

    def kernel(self, x, n_slots):
        """Kernel object for a block of rows (n, D), float64 in C order; it changes the slots in place."""
        prior = self.prior
        kappa = 0.0 if prior.mean_precision is None else prior.mean_precision[0]
        return GaussianClusters(x, self.table, self.prior_slot, self.family.name, kappa, prior.dof[0], n_slots)

    def _kernel_of_no_rows(self):
        return self.kernel(np.empty((0, self.n_features)), 0)

    # -- allocation of slots

    def copy(self):
        """A deep copy."""
        return copy(self)  # as __setstate__ does it

    def clear(self, slots=slice(None)):
        """Reset these slots, or all, to the prior."""
        self.table[slots] = self.prior_slot

    def take(self, slots, capacity=None):
        """Keep these slots, in this order, and allocate ``capacity`` slots; None keeps the capacity."""
        kept = self.table[slots]
        self.table = np.tile(self.prior_slot, (self.capacity if capacity is None else capacity, 1))
        self.table[: len(kept)] = kept

    def reserve(self, capacity):
        """Allocate more slots if necessary."""
        if capacity > self.capacity:
            self.take(np.arange(self.capacity), capacity)

    # -- posteriors and statistics

    def posterior(self, slots, multiply=True):
        """Posteriors of these slots as parameters of the family.

        ``multiply=False`` leaves out the products of factors, which log normalisers do not need.
        """
        rows = self.table[np.asarray(slots, dtype=np.intp)]
        count, scale = rows[:, COUNT], rows[:, MEAN + self.n_features :]
        kappa = self.prior.mean_precision
        post = replace(
            self.prior,
            mean=np.ascontiguousarray(rows[:, MEAN : MEAN + self.n_features]),
            mean_precision=None if kappa is None else kappa + (count if kappa.ndim == 1 else count[:, None]),
            dof=self.prior.dof + count * self.family.shape.dof_of_row(self.n_features),
            scale=symmetric.pack_product(scale) if self._has_matrices and multiply else np.ascontiguousarray(scale),
        )
        if not self._has_matrices:
            return post
        roots = scale[:, symmetric.diagonal_positions(self.n_features)]
        return post.knowing(2.0 * np.log(roots).sum(axis=1))  # for far rows the product loses the log determinant

    def stats(self, slots):
        """Statistics of the rows in these slots: posterior - prior."""
        post, prior = self.posterior(slots), self.prior
        stats = self.family.empty_stats(len(post.dof), self.shift)
        stats["count"] = self.table[slots, COUNT]
        stats["mass"] = stats["count"].sum()
        stats["second"] = post.scale - prior.scale
        if self.family.has_means:
            kappa, kappa0 = (k[:, None] if k.ndim == 1 else k for k in (post.mean_precision, prior.mean_precision))
            stats["first"] = kappa * post.mean - kappa0 * prior.mean
            squares = self.family.shape.squares
            stats["second"] += kappa * squares(post.mean) - kappa0 * squares(prior.mean)
        return stats

    def set_stats(self, slots, stats):
        """Posterior = prior + statistics, in these slots."""
        slots = np.asarray(slots, dtype=np.intp)
        post = self.family.posterior(self.prior, self.family.empty_stats(len(slots), self.shift).add(stats))
        self.table[slots, COUNT] = stats["count"]
        self.table[slots, MEAN : MEAN + self.n_features] = post.mean
        self.table[slots, MEAN + self.n_features :] = cholesky(post.scale) if self._has_matrices else post.scale
        self._kernel_of_no_rows().refresh(slots)

    def change_prior(self, prior):
        """Replace the prior and recompute the posteriors of the same rows."""
        slots = np.flatnonzero(self.table[:, COUNT])
        stats = self.stats(slots)
        self._begin_from(prior)
        self.clear()
        self.set_stats(slots, stats)

    # -- merges

    def held(self, slots):
        """Content of some slots, for ``put_back``."""
        return self.table[slots]

    def put_back(self, slots, held):
        """Restore the content of slots."""
        self.table[slots] = held

    def put(self, slots, other, theirs):
        """Copy clusters of another object with the same prior into free slots."""
        self.table[slots] = other.table[theirs]

    def merge(self, kept, gone):
        """Add the rows of one slot to another's, and clear it."""
        both = self.stats([kept, gone])
        self.set_stats([kept], both.take([0]).put([0], both.take([1]), np.ones(1), kept=1.0))
        self.clear([gone])

    def fade(self, slots, factor):
        """Multiply the weight of the rows in these slots by ``factor``."""
        slots = np.asarray(slots)[self.table[slots, COUNT] > 0.0]
        if len(slots):
            self.set_stats(slots, self.stats(slots).scale(factor))

    def evidence(self, slots):
        """A(posterior) - A(prior) of each slot: log evidence of its rows up to their base measure, (len(slots),)."""
        return self._evidence(self.posterior(slots, multiply=False))

    def merged_evidence(self, slot, others):
        """``evidence`` of the union of one slot with each of ``others``, (len(others),).

        NaN if round-off leaves no covariance, as for two clusters that are very far apart.
        """
        stats, mine = self.stats(others), self.stats([slot])
        for name in ("count", "second", *(["first"] if self.family.has_means else [])):
            stats[name] += mine[name]
        return self._evidence(self.family.posterior(self.prior, stats).unrepaired())

    def union_gains(self, slot, others):
        """Gain of evidence from merging one slot with each of ``others``, (len(others),)."""
        gains = self.merged_evidence(slot, others) - self.evidence([slot]) - self.evidence(others)
        return np.where(np.isnan(gains), -np.inf, gains)

    def _evidence(self, post):
        return self.family.log_normalizers(post) - self.log_normalizer

    def look(self, slots, n_slots):  # noqa: ARG002
        """Search for clusters to merge with these slots."""
        return GaussianMergeSearch(self, slots)

    def probes(self, slots):
        """Representative rows of clusters: their means, or a typical row for "zero_mean", where all means are equal."""
        rows, d = self.table[slots], self.n_features
        if self.family.has_means:
            return np.ascontiguousarray(rows[:, MEAN : MEAN + d])
        return np.sqrt(expected_covariance(
            self.prior.dof + rows[:, COUNT], symmetric.product_diagonal(rows[:, MEAN + d :]), d
        ))  # fmt: skip

    def similarity(self, slots, others=None, least=0.0):
        """Bhattacharyya coefficients of the Gaussians with posterior mean parameters, (len(slots), len(others)).

        None for ``others`` means all pairs of ``slots``. Values below ``least`` may be zero: for matrices a bound from
        single dimensions excludes most pairs.
        """
        slots = np.asarray(slots, dtype=np.intp)
        others = slots if others is None else np.asarray(others, dtype=np.intp)
        if least <= 0.0 or not self._has_matrices:
            return bhattacharyya(self._gaussians(slots), self._gaussians(others))
        out = np.zeros((len(slots), len(others)))
        (means, variances), (other_means, other_variances) = self._marginals(slots), self._marginals(others)
        for k in range(len(slots)):
            near = marginal_bounds(means[k], variances[k], other_means, other_variances) >= least
            out[k, near] = bhattacharyya(self._gaussians(slots[k : k + 1]), self._gaussians(others[near]))[0]
        return out

    def _gaussians(self, slots):
        """Gaussians with the posterior means of means and covariances."""
        return self.family.point_estimate(self.posterior(slots))

    def _marginals(self, slots):
        """Marginal means and variances of these Gaussians, for matrices from their factors."""
        if not self._has_matrices:
            gaussians = self._gaussians(slots)
            variances = gaussians.covariances.reshape(len(slots), -1)
            return gaussians.means, np.broadcast_to(variances, gaussians.means.shape)
        rows, d = self.table[slots], self.n_features
        dof = self.prior.dof + rows[:, COUNT]
        squares = symmetric.product_diagonal(rows[:, MEAN + d :])
        return rows[:, MEAN : MEAN + d], expected_covariance(dof, squares, d)

    # -- fitted attributes

    def means(self, slots):
        """Posterior means in the coordinates of the data, (len(slots), D)."""
        means = self.posterior(slots, multiply=False).mean
        means = means if self.scales is None else means * self.scales
        return means if self.shift is None else means + self.shift

    def variances(self, slots):
        """Posterior mean variances of the columns in the coordinates of the data, (len(slots), D)."""
        variances = self._marginals(slots)[1]
        return variances if self.scales is None else variances * self.scales**2

    def covariances(self, slots):
        """Posterior mean covariances of the scaled columns, in scikit-learn's shape."""
        return self.family.unpack_covariances(self._gaussians(slots).covariances)


class GaussianMergeSearch(MergeSearch):
    """Merge search of Gaussian clusters. A Bhattacharyya coefficient is at most that of any single dimension.

    Parameters
    ----------
    sums : GaussianSlots
    slots : ndarray of shape (n,)
    """

    def __init__(self, sums, slots):
        self.sums, self.slots = sums, slots

    def probes(self):
        """Representative rows of the clusters."""
        return self.sums.probes(self.slots)

    def bounds(self, others):
        """See MergeSearch."""
        shape = *others.shape, -1
        means, variances = (value[:, None] for value in self.sums._marginals(self.slots))
        return marginal_bounds(
            means, variances, *(value.reshape(shape) for value in self.sums._marginals(others.ravel()))
        )

    def similarity(self, i, others):
        """See MergeSearch."""
        return self.sums.similarity(self.slots[i : i + 1], others)[0]
