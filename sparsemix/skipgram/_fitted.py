"""Fitted skip-gram topics: statistics, and tables computed on first access."""

from functools import cached_property

import numpy as np

from sparsemix._kernels.skipgram import _positions
from sparsemix._stats.word_clocks import WordClocks
from sparsemix.topics._fitted import FittedTopics


class FittedSkipGram(FittedTopics):
    """Model and statistics of a completed step."""

    def __init__(self, model, stats):
        super().__init__(model.renewed(0), stats)  # drops the tables of the sampler

    @property
    def background(self):
        """Amount added to the counts of every word in every topic."""
        return float(self.stats["offset"]) + self.model.topic_word_prior

    @cached_property
    def word_topics(self):
        """Posterior means of the topics of input words, (V, K), rows sum to one."""
        counts = self._input_counts()
        counts = counts + self.model.doc_topic_prior.astype(counts.dtype)
        counts /= counts.sum(axis=1, keepdims=True)
        return counts

    @cached_property
    def occurrences(self):
        """Occurrences of each input word with a context, (V,)."""
        return self._input_counts().sum(axis=1, dtype=np.float64)

    def _input_counts(self):
        counts, factor = self.stats.unfolded("input_topic")
        return counts.toarray() if isinstance(counts, WordClocks) else counts * counts.dtype.type(factor)

    @cached_property
    def logs(self):
        """Logarithms of ``word_topics`` and of the topics' words, both (V, padded K)."""
        return padded_logs(self.word_topics), padded_logs(self.word_topic, self.totals)


def padded_logs(table, divisor=1.0):
    """log(table / divisor), in rows padded to whole vectors; padding has no probability."""
    n_words, n_components = table.shape
    out = _positions.log_table(n_words, n_components, table.dtype)
    every = np.arange(n_words, dtype=np.int32)
    # the numbers are positive, so nothing has to be added before the logarithm
    _positions.log_rows(np.ascontiguousarray(table), every, None, 1.0, np.zeros(n_components), out)
    out[:, :n_components] -= np.log(divisor).astype(table.dtype)
    return out
