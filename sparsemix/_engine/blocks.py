"""The data in blocks: tiles for the local step, chunks for the sums, batches for the schedule.

All bounds depend on the data's shape and on the model alone, never on the number of threads.
"""

from copy import copy
from itertools import pairwise

import numpy as np

# Bytes of a chunk: rows and responsibilities. Large enough that a component's matrix product has many rows.
CHUNK_BYTES = 1 << 24
# Weights of a tile: 2^18 floats are 1 MB, the second-level cache of current processors.
TILE_WEIGHTS = 1 << 18


class Rows:
    """Rows of the data with their weights, read in blocks; nothing as large as the data is ever copied.

    Parameters
    ----------
    X : ndarray of shape (N, D), float32 or float64, any order, read-only or not
    sample_weight : ndarray of shape (N,), float64, or None
    shift : ndarray of shape (D,) or None
        Subtracted from every row when it is read.
    dtype : dtype, default: that of X
        Of the rows as they are read.
    """

    memory = None  # nothing is kept of a row from visit to visit
    first_row = 0  # number of the first of these rows in all the data, where they are a block of it
    source = None  # what visits the blocks that these rows stand for, where they are a sample
    informative = True  # whether there is anything to learn from
    kept = None  # which of the rows that a caller gave these are; None: all

    def __init__(self, X, sample_weight=None, shift=None, dtype=None):
        self.X = X
        self.sample_weight = sample_weight
        self.shift = shift
        self.dtype = np.dtype(X.dtype if dtype is None else dtype)

    def __len__(self):
        return len(self.X)

    @property
    def mass(self):
        """Total weight of the rows."""
        return float(len(self) if self.sample_weight is None else self.sample_weight.sum())

    def chunk_size(self, n_components, n_nonzero):
        """Rows whose responsibilities are kept at once, a multiple of the tile."""
        tile = tile_size(n_components)
        row_bytes = 12 * n_nonzero + self.X.shape[1] * self.dtype.itemsize
        return max(1, CHUNK_BYTES // row_bytes // tile) * tile

    def blocking(self, n_components, n_nonzero):
        """What a tile and a chunk hold."""
        return tile_size(n_components), self.chunk_size(n_components, n_nonzero)

    def weight(self, selection):
        """Weights of some rows, or None when all are one."""
        return None if self.sample_weight is None else np.ascontiguousarray(self.sample_weight[selection])

    def buffer(self, selection):
        """An array for the chosen rows: a view of the data where it can serve as it is, else room to load into."""
        if self._is_view(selection):
            return self.X[selection]
        return np.empty((length(selection), self.X.shape[1]), dtype=self.dtype)

    def load(self, selection, start, stop, buffer):
        """Rows ``start`` to ``stop`` of a selection, less the shift, C-ordered, in the buffer made for it."""
        out = buffer[start:stop]
        if self._is_view(selection):
            return out
        if isinstance(selection, slice) or self.dtype != self.X.dtype:
            out[...] = self.X[part(selection, start, stop)]
        else:
            np.take(self.X, selection[start:stop], axis=0, out=out, mode="clip")  # "clip": no copy in between
        if self.shift is not None:
            np.subtract(out, self.shift, out=out, casting="same_kind")
        return out

    def read_ahead(self, selection):
        """Nothing: threads load rows where they need them."""

    def read(self, selection):
        """All chosen rows, less the shift."""
        return self.load(selection, 0, length(selection), self.buffer(selection))

    def shifted(self, shift):
        """The same rows with a shift."""
        out = copy(self)
        out.shift = shift
        return out

    def mean(self):
        """Weighted mean of the columns, before any shift; (D,) float64."""
        return self.total() / self.mass

    def total(self):
        """Weighted sum of the columns, before any shift; (D,) float64."""
        total = np.zeros(self.X.shape[1])
        for start, stop in spans(len(self), max(1, CHUNK_BYTES // (8 * self.X.shape[1]))):
            block = np.asarray(self.X[start:stop], dtype=np.float64)
            weight = self.weight(slice(start, stop))
            total += block.sum(axis=0) if weight is None else weight @ block
        return total

    def _is_view(self, selection):
        return (
            isinstance(selection, slice)
            and self.shift is None
            and self.dtype == self.X.dtype
            and self.X.flags.c_contiguous
        )


def length(selection):
    """Number of rows of a slice or index array."""
    return selection.stop - selection.start if isinstance(selection, slice) else len(selection)


def part(selection, start, stop):
    """Rows ``start`` to ``stop`` of a slice or index array."""
    if isinstance(selection, slice):
        return slice(selection.start + start, selection.start + stop)
    return selection[start:stop]


def same(selection, other):
    """Whether two slices or index arrays choose the same rows in the same order."""
    if isinstance(selection, slice) or isinstance(other, slice):
        return isinstance(selection, slice) and isinstance(other, slice) and selection == other
    return np.array_equal(selection, other)


def chunks(selection, size):
    """A slice or index array in parts of at most ``size`` rows."""
    return (part(selection, start, stop) for start, stop in spans(length(selection), size))


def numbers(selection, start, stop):
    """Row numbers ``start`` to ``stop`` of a slice or index array."""
    if isinstance(selection, slice):
        return np.arange(selection.start + start, selection.start + stop)
    return selection[start:stop]


def spans(n, size):
    """Consecutive (start, stop) of at most ``size``."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def tile_size(n_components):
    """Rows whose weights are made at once."""
    return int(np.clip(TILE_WEIGHTS // n_components // 64 * 64, 64, 512))


def shares(n, tile, n_shares):
    """At most ``n_shares`` consecutive spans of whole tiles."""
    n_tiles = -(-n // tile)
    bounds = [min(n, round(i * n_tiles / n_shares) * tile) for i in range(n_shares)] + [n]
    return [(start, stop) for start, stop in pairwise(bounds) if stop > start]
