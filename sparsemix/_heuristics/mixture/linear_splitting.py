"""Splits of components whose log densities are linear in the row; rows are sparse."""

import numpy as np
from scipy.sparse import csr_array

from sparsemix._heuristics.mixture import policy
from sparsemix._heuristics.mixture.splitting import Splitting, pairs_of
from sparsemix._stats.linear import LinearTable, csr, dense

# Power iterations for the longest axes; six chose no better splits.
AXIS_STEPS = 3


class LinearSplitting(Splitting):
    """``Splitting`` of sparse rows under a ``LinearMixture``, along the longest axes."""

    # The prior of frequencies is no reason to keep two clusters in one component: the bound decides.
    least_gain = -np.inf

    def __init__(self, model, rows, rng, workers, labels, n):
        self.model, self.rows, self.rng, self.workers = model, rows, rng, workers
        self.everything = slice(0, len(rows))
        self.x, self.plain = rows.read(self.everything), rows
        self.labels, self.n = labels, n
        self.base = None

    def pair_weights(self, model, starts, rows):
        """See Splitting."""
        return model.table.linear.pair_weights(self.x, starts, rows)

    def mergeable(self, model, stats):
        """See Splitting: each component with those that give its mean row the highest weights."""
        table = model.table.linear
        means = dense(stats["first"]) / np.maximum(stats["count"], 1e-30)[:, None]
        weights = means @ table.natural.T + table.constants
        np.fill_diagonal(weights, np.inf)
        n_partners = min(policy.POLICY.partners + 1, len(weights))
        return pairs_of(np.argpartition(-weights, n_partners - 1, axis=1)[:, :n_partners])

    def refused(self, parents, halves):  # noqa: ARG002
        """No split: priors bound the likelihoods of constant columns."""
        return np.zeros(len(parents), dtype=bool)

    def _proposals(self, order, starts):
        x, dtype = csr(self.x, self.x.n_words), self.x.counts.dtype
        direction = self.rng.standard_normal((self.n, x.shape[1])).astype(dtype)
        mean = self._sums(np.ones(len(order), dtype), x, order, starts)
        mean /= np.maximum(np.diff(starts), 1)[:, None]
        scales = self.model.family.axes(x.shape[1])
        direction *= scales
        for _ in range(AXIS_STEPS):  # sums of projections are zero, so the rows need not be centred
            direction = self._sums(self._along(direction, mean, starts, order), x, order, starts)
            direction *= scales
            direction /= np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-30)
        side = np.empty(len(order), dtype=bool)
        side[order] = self._along(direction, mean, starts, order) > 0
        yield side

    def _sums(self, values, x, order, starts):
        """Sums of rows of each component, multiplied by ``values``."""
        return (csr_array((values, order, starts), shape=(self.n, len(self.x))) @ x).toarray()

    def _along(self, direction, mean, starts, order):
        """Projection of each row on the axis of its component, relative to the mean."""
        table = LinearTable(direction, -np.einsum("kd,kd->k", direction, mean))
        return table.pair_weights(self.x, starts, order)
