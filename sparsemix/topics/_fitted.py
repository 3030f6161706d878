"""A fitted topic model: statistics, and what follows from them when it is asked for."""

from copy import copy
from functools import cached_property

import numpy as np
from scipy.special import psi

from sparsemix._engine.blocks import spans

# Numbers of a table that are made at once, in double precision.
NUMBERS = 1 << 17


def by_rows(function, table):
    """A function of each row of a table (V, K), in some rows at a time: nothing else of its size is made."""
    out = np.empty(table.shape, dtype=table.dtype)
    for start, stop in spans(len(table), max(1, NUMBERS // table.shape[1])):
        out[start:stop] = function(table[start:stop])
    return out


class FittedTopics:
    """Model and statistics of a completed step; tables are made on first use and not pickled."""

    shared = False  # whether others may hold the same statistics
    linear = False  # how documents are inferred from ``table``

    def __init__(self, model, stats):
        self.model = copy(model)  # the original may go on learning
        self.stats = stats
        stats.fold()  # now, and not by several threads that read

    def keep(self, stats):
        """Hold a copy of the statistics from now on: the ones of before are about to change."""
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
        """What every word has in every topic beside its counts."""
        return self.model.topic_word_prior

    @cached_property
    def totals(self):
        """Sum of the parameters of each topic, (K,) float64."""
        return self.stats["count"] + self.model.n_words * self.model.topic_word_prior

    @cached_property
    def exp_log_word(self):
        """exp E[log phi] (V, K), each row over its largest entry: what documents are inferred from."""
        totals = psi(self.totals)

        def rows(parameters):
            out = psi(parameters)
            out -= totals
            out -= out.max(axis=1, keepdims=True)
            return np.exp(out)

        return by_rows(rows, self.word_topic)

    @property
    def table(self):
        """What documents are inferred from, (V, K)."""
        return self.exp_log_word


class FittedCollapsedTopics(FittedTopics):
    """The same for topics whose distributions were integrated out: documents see their posterior means."""

    linear = True

    @cached_property
    def table(self):
        """Posterior means of phi (V, K), each row over its largest entry."""
        totals = self.totals

        def rows(parameters):
            out = parameters / totals
            out /= out.max(axis=1, keepdims=True)
            return out

        return by_rows(rows, self.word_topic)


class FittedCounts(FittedCollapsedTopics):
    """The same with a background that all words and topics share."""

    def __init__(self, model, stats):
        super().__init__(model.renewed(0), stats)  # without the tables that samples were drawn from

    @property
    def background(self):
        """The prior, and those counts."""
        return float(self.stats["offset"]) + self.model.topic_word_prior
