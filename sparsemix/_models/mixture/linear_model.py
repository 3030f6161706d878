"""The model of mixtures of linear likelihoods: a MixtureModel with other parameters."""

from copy import copy

import numpy as np
from scipy import sparse

from sparsemix._models.mixture.model import Groups, MixtureModel
from sparsemix._stats.families import serial

# Maximum numbers of rows and of weights in a tile of sparse rows.
SPARSE_TILE, SPARSE_WEIGHTS = 1 << 11, 1 << 22


class LinearMixture(MixtureModel):
    """VB or EM over a ``LinearFamily``; a table is one matrix, and its weights are one product.

    Parameters
    ----------
    family : LinearFamily
    weights : prior of the mixture weights
    variational : bool
        Whether the parameters of the components have a posterior distribution (VB) or are point estimates (EM).
    """

    def __init__(self, family, weights, n_components, n_nonzero, dtype, variational, search=None):
        super().__init__(family, weights, n_components, n_nonzero, dtype, search=search)
        self.variational = variational
        self.parameters = None

    def __getstate__(self):
        return vars(self) | {"table": None}

    def fitted(self, stats):
        """Parameters given the statistics."""
        return self.family.fit(stats, self.variational, self.parameters)

    def blocking(self, rows):
        """See MixtureModel. Tiles of sparse rows are larger, since each tile reads the whole table."""
        tile, chunk = super().blocking(rows)
        if not rows.sparse or self.search is not None:
            return tile, chunk
        tile = max(tile, min(SPARSE_TILE, SPARSE_WEIGHTS // self.n_components // 64 * 64))
        return tile, max(1, chunk // tile) * tile

    def reading(self, rows):
        """The model for these rows. It computes all components if its candidate search is for the other kind of rows.
        """
        if self.search is None or self.search.sparse == rows.sparse:
            return self
        seen = copy(self)
        seen.search = None
        return seen

    def empty_stats(self, rows=None, selection=None):  # noqa: ARG002
        """See MixtureModel; statistics of sparse rows have sparse sums."""
        sums = sparse.csr_array if rows is not None and rows.sparse else np.zeros
        return self.family.empty_stats(self.n_components, sums=sums)

    def accumulate(self, x, resp, sample_weight, stats, workers):
        """See MixtureModel."""
        super().accumulate(x, resp, sample_weight, stats, workers)
        if not isinstance(x, np.ndarray):
            self.family.accumulate_sparse(stats, x, Groups.of(resp, sample_weight, self.n_components))

    def prepare(self, x, workers):
        """Make the table if it is missing, as after unpickling; else ``global_step`` made it."""
        if self.table is None:
            self._make_linear()
        super().prepare(x, workers)

    def global_step(self, stats, split=serial):
        """Parameters that maximise the bound, and the table of the next local step."""
        self.parameters = self.fitted(stats)
        self._expected_log = self.weights.expected_log(stats["count"])
        self._make_linear(split)
        if self.search is not None:
            moments = stats if self.search.sparse else self.family.moments(self.parameters)
            self.search = self.search.updated(moments, self.table)

    def _make_linear(self, split=serial):
        expected = self.family.expected(self.parameters, self.variational)
        self.table = expected.table(self._expected_log, self.dtype, split)

    def lower_bound(self, stats):
        """Bound (VB), or expected log likelihood plus entropy (EM), of all rows at the parameters that the statistics
        give."""
        data = self.family.objective(self.fitted(stats), stats, self.variational)
        return self.weights.evidence(stats["count"]) + data + float(stats["entropy"])
