"""Counts of a prior: a constant part of statistics by word, which no learning rule scales, averages or forgets."""

from itertools import pairwise

import numpy as np
from scipy import sparse


class PriorCounts:
    """Pseudo-counts of a Dirichlet prior by word and topic, beyond one number for all words and topics.

    Conjugacy makes a prior and counts the same thing, so loops read both from one table of counts. Statistics that hold
    these counts keep them apart by arithmetic: whatever scales the statistics adds back what these counts have lost.

    Parameters
    ----------
    table : ndarray or csr_array of shape (V, K)
        Not negative.
    names : list of str, default=None
        Names of the topics; empty for those without one.
    excludes : bool, default=False
        Whether entries of zero are words that a topic must not have. Words without a topic and topics without a word
        exclude nothing.
    """

    def __init__(self, table, names=None, excludes=False):
        self.table, self.excludes = table, excludes
        some = table != 0.0 if excludes else None
        self.excluded = np.nonzero(~some & some.any(axis=1)[:, None] & some.any(axis=0)) if excludes else None
        self.names = [""] * table.shape[1] if names is None else names
        self.totals = np.asarray(table.sum(axis=0, dtype=np.float64)).ravel()

    def scaled(self, factor):
        """The counts times a factor."""
        return PriorCounts(self.table * self.table.dtype.type(factor), self.names, self.excludes)

    def taken(self, components):
        """Those of some topics."""
        table = self.table[:, components]
        if sparse.issparse(table):
            table.sort_indices()
        return PriorCounts(table, [self.names[k] for k in components], self.excludes)

    def combined(self, components, by_word):
        """Those of combined topics, as in ``SufficientStatistics.combined``; the names of a sum are in one."""
        columns = components.tocsc()
        parts = (columns.indices[a:b] for a, b in pairwise(columns.indptr))
        names = [" / ".join(dict.fromkeys(self.names[k] for k in sorted(part) if self.names[k])) for part in parts]
        for j, name in enumerate(names):  # parts of a topic have numbers
            if name and (n := names[:j].count(name)):
                names[j] = f"{name} ({n + 1})"
        return PriorCounts(by_word(self.table), names, self.excludes)

    def __add__(self, other):
        """The sum of two for the same words and topics."""
        table = self.toarray() + other.toarray()
        table = sparse.csr_array(table) if sparse.issparse(self.table) and sparse.issparse(other.table) else table
        names = [" / ".join(dict.fromkeys(filter(None, pair))) for pair in zip(self.names, other.names, strict=True)]
        return PriorCounts(table, names, self.excludes and other.excludes)

    def toarray(self):
        """The counts as a dense array."""
        return self.table.toarray() if sparse.issparse(self.table) else self.table
