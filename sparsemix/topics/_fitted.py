"""Fitted topic models: statistics, and tables computed on first access."""

from copy import copy
from functools import cached_property

import numpy as np
from scipy.special import psi

from sparsemix._rows.blocks import spans

# Entries of a table that are computed at once, in double precision.
NUMBERS = 1 << 17


def by_rows(function, table):
    """Apply a function to each row of a table (V, K), a few rows at a time, without temporary tables of full size."""
    out = np.empty(table.shape, dtype=table.dtype)
    for start, stop in spans(len(table), max(1, NUMBERS // table.shape[1])):
        out[start:stop] = function(table[start:stop])
    return out


class FittedTopics:
    """Model and statistics of a completed step. Tables are computed on first access and not pickled."""

    shared = False  # whether other objects may hold the same statistics
    linear = False  # how ``table`` is used in inference
    counts_rows = "mass"

    def __init__(self, model, stats):
        self.model = copy(model)  # the original may be changed by further steps
        self.stats = stats
        stats.settle()  # now, before several threads read
        stats.fold()

    def keep(self, stats):
        """Hold a copy of the statistics, because the old ones are about to change."""
        self.stats = self.model.stats = stats

    def __getstate__(self):
        return {"model": self.model, "stats": self.stats}

    @cached_property
    def word_topic(self):
        """Posterior Dirichlet parameters, (V, K): topic_word_prior + counts."""
        counts, factor = self.stats.unfolded("word_topic")
        if not isinstance(counts, np.ndarray):
            counts = counts.toarray()
            counts *= counts.dtype.type(factor)
            counts += counts.dtype.type(self.background)
            return counts
        out = counts * counts.dtype.type(factor)
        out += counts.dtype.type(self.background)
        return out

    @property
    def background(self):
        """Amount added to the counts of every word in every topic."""
        return self.model.topic_word_prior

    @cached_property
    def totals(self):
        """Sum of the parameters of each topic, (K,) float64."""
        return self.stats["count"] + self.model.n_words * self.model.topic_word_prior

    @cached_property
    def exp_log_word(self):
        """exp E[log phi] (V, K), each row divided by its largest entry."""
        totals = psi(self.totals)

        def rows(parameters):
            out = psi(parameters)
            out -= totals
            out -= out.max(axis=1, keepdims=True)
            return np.exp(out)

        return by_rows(rows, self.word_topic)

    @property
    def table(self):
        """Table from which documents are inferred, (V, K)."""
        return self.exp_log_word


class FittedCollapsedTopics(FittedTopics):
    """Fitted topics of collapsed inference: documents are inferred from posterior means of the topics."""

    linear = True

    @cached_property
    def table(self):
        """Posterior means of phi (V, K), each row divided by its largest entry."""
        totals = self.totals

        def rows(parameters):
            out = parameters / totals
            out /= out.max(axis=1, keepdims=True)
            return out

        return by_rows(rows, self.word_topic)


class FittedCounts(FittedCollapsedTopics):
    """Fitted topics with a background count that all words and topics share."""

    counts_rows = "documents"  # the mass is of tokens

    def __init__(self, model, stats):
        super().__init__(model.renewed(0), stats)  # drops the tables of the sampler

    @property
    def background(self):
        """The prior plus the background count."""
        return float(self.stats["offset"]) + self.model.topic_word_prior
