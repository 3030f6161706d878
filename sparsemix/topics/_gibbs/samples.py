"""Samples of a chain of topics."""

from copy import copy

from scipy import sparse

from sparsemix._engine.sweeps import Mean
from sparsemix.topics._collapsed.assemble_sweeps import doc_counts
from sparsemix.topics._fitted import FittedCollapsedTopics


class TopicSamples(Mean):
    """The mean of the samples of a chain, as ``Mean``; it also stores each sample, and sums the counts of documents.

    Parameters
    ----------
    burn_in, thin : int
    model : GibbsModel
    state : RowState
    documents : Documents
    kept : ndarray of shape (n_samples,), bool, or None
        Rows that are ``documents``; None: all.

    Attributes
    ----------
    kept : list of FittedCollapsedTopics
    """

    def __init__(self, burn_in, thin, model, state, documents, kept=None):
        super().__init__(burn_in, thin)
        self.kept = []
        self._model, self._state, self._documents, self._rows = model, state, documents, kept
        self._doc_counts = None

    def __call__(self, epoch, stats):
        """Statistics to publish after an epoch that left ``stats``."""
        n_samples, out = self.n_samples, super().__call__(epoch, stats)
        if self.n_samples > n_samples:
            self.kept.append(FittedCollapsedTopics(copy(self._model), stats.copy()))
            now = self._now()
            self._doc_counts = now if self._doc_counts is None else self._doc_counts + now
        return out

    def _now(self):
        """Tokens by document and topic of the current sweep."""
        counts = doc_counts(self._model, self._state, self._documents, self._rows)
        return sparse.csr_array(counts, shape=(len(counts[2]) - 1, self._model.n_components))

    def doc_counts(self):
        """Mean tokens by document and topic over the samples, as ``doc_counts``; before the first, as now."""
        mean = self._now() if self._doc_counts is None else self._doc_counts * (1.0 / self.n_samples)
        return mean.data, mean.indices, mean.indptr
