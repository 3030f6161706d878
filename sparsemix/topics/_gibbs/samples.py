"""Samples of a chain of topics."""

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

    Attributes
    ----------
    kept : list of FittedCollapsedTopics
    """

    def __init__(self, burn_in, thin, model, state, documents):
        super().__init__(burn_in, thin)
        self.kept = []
        self._now = model, state, documents
        self._doc_counts = None

    def __call__(self, epoch, stats):
        """Statistics to publish after an epoch that left ``stats``."""
        n_samples, out = self.n_samples, super().__call__(epoch, stats)
        if self.n_samples > n_samples:
            self.kept.append(FittedCollapsedTopics(self._now[0], stats.copy()))
            counts = doc_counts(*self._now)
            self._doc_counts = counts if self._doc_counts is None else self._doc_counts + counts
        return out

    def doc_counts(self):
        """Mean of ``doc_counts`` over the samples; before the first, those of the last sweep."""
        return doc_counts(*self._now) if self._doc_counts is None else self._doc_counts * (1.0 / self.n_samples)
