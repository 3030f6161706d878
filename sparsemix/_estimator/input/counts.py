"""Whether a dense table may hold word counts or zeros and ones instead of measurements."""

from dataclasses import dataclass

import numpy as np

from sparsemix._rows.blocks import spans

# Largest share of non-zero entries of a table that may hold word counts.
MOSTLY_ZERO = 0.5


@dataclass(frozen=True)
class WholeNumbers:
    """Numbers of entries of a table of whole numbers >= 0, and the totals of its rows."""

    size: int
    n_nonzero: int
    n_ones: int
    n_twos: int
    least_total: float
    largest_total: float

    @classmethod
    def of(cls, X):
        """Read dense rows; None if an entry is negative, not whole, or NaN."""
        n_nonzero = n_ones = n_twos = 0
        least, largest = np.inf, -np.inf
        for start, stop in spans(len(X), max(1, (1 << 20) // X.shape[1])):
            block = X[start:stop]
            if not (block >= 0).all() or (block != np.floor(block)).any():
                return None
            n_nonzero += np.count_nonzero(block)
            n_ones += np.count_nonzero(block == 1.0)
            n_twos += np.count_nonzero(block == 2.0)
            totals = block.sum(axis=1)
            least, largest = min(least, totals.min()), max(largest, totals.max())
        return cls(X.size, n_nonzero, n_ones, n_twos, least, largest)

    @property
    def zeros_and_ones(self):
        """Whether all entries are 0 or 1, and not all are 0."""
        return 0 < self.n_nonzero == self.n_ones

    @property
    def mostly_zero(self):
        """Whether the table may hold word counts of documents: few words occur in a document."""
        return self.n_nonzero <= MOSTLY_ZERO * self.size
