"""Counts of a prior: a constant part of statistics by word, which no learning rule scales, averages or forgets."""

import numpy as np
from scipy import sparse


class PriorCounts:
    """What a Dirichlet prior has for words in topics above a number that it has for all of them.

    Conjugacy makes a prior and counts the same thing, so loops read both from one table of counts. Statistics that hold
    these counts keep them apart by arithmetic: whatever scales the statistics adds back what these counts have lost.

    Parameters
    ----------
    table : ndarray or csr_array of shape (V, K)
        Not negative.
    names : list of str, default=None
        Names of the topics; empty for those without one.
    excludes : bool, default=False
        Whether entries of zero are words that a topic must not have.
    """

    def __init__(self, table, names=None, excludes=False):
        self.table, self.excludes = table, excludes
        self.names = [""] * table.shape[1] if names is None else names
        self.totals = np.asarray(table.sum(axis=0, dtype=np.float64)).ravel()

    def scaled(self, factor):
        """The counts times a factor."""
        return PriorCounts(self.table * self.table.dtype.type(factor), self.names, self.excludes)

    def taken(self, components):
        """Those of some topics."""
        return PriorCounts(self.table[:, components], [self.names[k] for k in components], self.excludes)

    def toarray(self):
        """The counts as a dense array."""
        return self.table.toarray() if sparse.issparse(self.table) else self.table
