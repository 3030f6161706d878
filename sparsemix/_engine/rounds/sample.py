"""Subsamples that report full-data totals; rows are chosen by a hash of their numbers."""

import numpy as np

from sparsemix._rows.blocks import Rows, spans
from sparsemix._rows.documents import Documents

# Row numbers hashed at once.
NUMBERS = 1 << 20


class SampledRows(Rows):
    """A subsample of numeric rows; mass and mean are those of all rows.

    Parameters
    ----------
    X, sample_weight
        Of the subsample.
    source : object
        Visitor of the full blocks; ``moments(model)`` returns the statistics of all rows under a model of one
        component, and ``plan`` holds the steps.
    mass : float
    mean : ndarray of shape (D,)
    """

    def __init__(self, X, sample_weight, source, mass, mean):
        super().__init__(X, sample_weight)
        self.source = source
        self._mass, self._mean = mass, mean

    @property
    def mass(self):
        """Total weight of all rows."""
        return self._mass

    def mean(self):
        """Mean of all rows."""
        return self._mean


class SampledDocuments(Documents):
    """A subsample of documents; totals are those of all documents.

    Parameters
    ----------
    X, sample_weight, dtype
        Of the subsample.
    source : object
        Visitor of the full blocks.
    n_rows : int
    mass, entries : float
        Total weight and mean number of stored entries of all documents.
    totals : ndarray of shape (V,)
        Weighted tokens of each word.
    """

    def __init__(self, X, sample_weight, dtype, source, n_rows, mass, entries, totals):
        super().__init__(X, sample_weight, dtype)
        self.source, self._n_rows = source, n_rows
        self._mass, self._entries, self._totals = mass, entries, totals

    @property
    def mass(self):
        """Total weight of all documents."""
        return self._mass

    @property
    def n_rows(self):
        """Number of all documents."""
        return self._n_rows

    @property
    def entries(self):
        """Mean stored entries of all documents."""
        return self._entries

    def word_totals(self):
        """Weighted tokens of each word in all documents."""
        return self._totals


def chosen_rows(n_rows, size, seed):
    """The ``size`` row numbers with the smallest hashes, increasing; all rows if there are fewer."""
    if size >= n_rows:
        return np.arange(n_rows)
    best, rows = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    for start, stop in spans(n_rows, NUMBERS):
        numbers = np.arange(start, stop, dtype=np.int64)
        best, rows = np.concatenate([best, hashed(numbers, seed)]), np.concatenate([rows, numbers])
        if len(best) > size:
            kept = np.argpartition(best, size - 1)[:size]
            best, rows = best[kept], rows[kept]
    return np.sort(rows)


def hashed(numbers, seed):
    """SplitMix64 of row numbers under a seed; a bijection, so hashes are distinct."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
