"""Fitted skip-gram topics: statistics, and the tables that follow from them when they are asked for."""

from functools import cached_property

import numpy as np

from sparsemix._kernels.skipgram import _positions
from sparsemix._stats.word_clocks import WordClocks
from sparsemix.topics._fitted import FittedTopics


class FittedSkipGram(FittedTopics):
    """Model and statistics of a completed step."""

    def __init__(self, model, stats):
        super().__init__(model.renewed(0), stats)  # without the tables that topics were drawn from

    @property
    def background(self):
        """What every word has in every topic beside its counts."""
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
        """Of input words with a context, (V,)."""
        return self._input_counts().sum(axis=1, dtype=np.float64)

    def _input_counts(self):
        counts, factor = self.stats.unfolded("input_topic")
        return counts.toarray() if isinstance(counts, WordClocks) else counts * counts.dtype.type(factor)

    @cached_property
    def logs(self):
        """Logarithms of ``word_topics`` and of the topics' words, (V, padded K) both."""
        return padded_logs(self.word_topics), padded_logs(self.word_topic, self.totals)


def padded_logs(table, divisor=1.0):
    """log(table / divisor) in rows that are whole vectors; no topic behind the last."""
    n_words, n_components = table.shape
    out = _positions.log_table(n_words, n_components, table.dtype)
    every = np.arange(n_words, dtype=np.int32)
    # of positive numbers, so that nothing has to be added
    _positions.log_rows(np.ascontiguousarray(table), every, None, 1.0, np.zeros(n_components), out)
    out[:, :n_components] -= np.log(divisor).astype(table.dtype)
    return out
