"""Mixtures of linear likelihoods as the engine sees them: the model of Gaussian mixtures with other parameters."""

from sparsemix._stats.families import serial
from sparsemix.mixture._model import MixtureModel


class LinearMixture(MixtureModel):
    """VB or EM over a ``LinearFamily``; a table is one matrix, and its weights are one product.

    Parameters
    ----------
    family : LinearFamily
    weights : prior of the mixture weights
    variational : bool
        Whether what components are is uncertain.
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

    def prepare(self, x, workers):
        """The table, which pickles leave out; ``global_step`` has made it anywhere else."""
        if self.table is None:
            self._make_linear()
        super().prepare(x, workers)

    def global_step(self, stats, split=serial):  # noqa: ARG002
        """Parameters that maximise the bound, and the table of the next local step."""
        self.parameters = self.fitted(stats)
        self._expected_log = self.weights.expected_log(stats["count"])
        self._make_linear()
        if self.search is not None:
            self.search = self.search.updated(self.family.moments(self.parameters), self.table)

    def _make_linear(self):
        expected = self.family.expected(self.parameters, self.variational)
        self.table = expected.table(self._expected_log, self.dtype)

    def lower_bound(self, stats):
        """Bound (VB) or expected log likelihood plus entropy (EM) at the last global step; all rows."""
        data = self.family.objective(self.parameters, stats, self.variational)
        return self.weights.evidence(stats["count"]) + data + float(stats["entropy"])

    def permute(self, order):
        """See MixtureModel."""
        super().permute(order)
        self.parameters = self.parameters.permuted(order)
