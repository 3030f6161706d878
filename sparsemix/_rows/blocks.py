"""Numeric rows in blocks: tiles for the local step, chunks for the sums, batches for the schedule.

All sizes depend on the shape of the data and on the model, never on the number of threads.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

# Bytes of a chunk: rows and responsibilities. Large enough that a component's matrix product has many rows.
CHUNK_BYTES = 1 << 24
# Weights of a tile: 2^18 floats are 1 MB, the L2 cache of current processors.
TILE_WEIGHTS = 1 << 18
# Kinds of values. Those with noise may be missing too: such a value has infinite noise.
COMPLETE, MISSING, NOISY = "complete", "missing", "noisy"


@dataclass(frozen=True)
class Observation:
    """How rows are observed, and in which form a model reads them.

    Weights are no part of it, since they are a factor of the sums; nor is a background, which is a component of the
    model.

    Attributes
    ----------
    missing : bool
        Whether values may be missing (NaN).
    noise : int
        Number of columns that hold the noise of a row, after its values; 0 without noise.
    labelled : bool
        Whether a last column holds a label.
    """

    missing: bool = False
    noise: int = 0
    labelled: bool = False

    @property
    def value(self):
        """COMPLETE, MISSING or NOISY."""
        return NOISY if self.noise else MISSING if self.missing else COMPLETE

    def followed_by(self, rows):
        """What a model reads that has seen rows of this kind and now sees those of another."""
        return Observation(self.missing or rows.missing, rows.noise, self.labelled or rows.labelled)

    def covers(self, rows):
        """Whether a model for rows of this kind reads those of another kind as they are."""
        return self.missing >= rows.missing and self.labelled >= rows.labelled and self.noise == rows.noise


class Rows:
    """Rows of the data with their weights, read in blocks; never copies an array as large as the data.

    Parameters
    ----------
    X : ndarray of shape (N, D), any order, read-only or not; of another type than float32 and float64 with ``dtype``
    sample_weight : ndarray of shape (N,), float64, or None
    shift : ndarray of shape (D,) or None
        Subtracted from every row when read.
    dtype : dtype, default: that of X
        Of the rows as read.
    """

    sparse = False  # kind of the blocks as read
    memory = None  # no per-row state between visits
    first_row = 0  # number of the first row, if these rows are a block of the data
    source = None  # visitor of the full blocks, if these rows are a subsample
    informative = True  # False if the rows hold nothing to learn from
    kept = None  # the numbers of these rows in the caller's array; None: all

    def __init__(self, X, sample_weight=None, shift=None, dtype=None):
        self.X = X
        self.sample_weight = sample_weight
        self.shift = shift
        self.dtype = np.dtype(X.dtype if dtype is None else dtype)

    def __len__(self):
        return len(self.X)

    @cached_property
    def observation(self):
        """Whether a row has missing values (NaN); one pass over the rows, at the first use."""
        dtype = np.result_type(self.X.dtype, np.float32)  # sums of float16 overflow
        size = max(1, CHUNK_BYTES // self.X[:1].nbytes)
        return Observation(any(np.isnan(np.sum(self.X[a:b], dtype=dtype)) for a, b in spans(len(self), size)))

    @property
    def width(self):
        """Numbers of a row in a chunk, without a label."""
        return self.X.shape[1]

    @property
    def mass(self):
        """Total weight of the rows."""
        return float(len(self) if self.sample_weight is None else self.sample_weight.sum())

    def chunk_size(self, n_components, n_nonzero):
        """Rows of a chunk, a multiple of the tile."""
        tile = tile_size(n_components)
        row_bytes = 12 * n_nonzero + self.width * self.dtype.itemsize
        return max(1, CHUNK_BYTES // row_bytes // tile) * tile

    @property
    def values(self):
        """These rows without labels and noise."""
        return self

    @property
    def unlabelled(self):
        """These rows without labels."""
        return self

    def blocking(self, n_components, n_nonzero):
        """Rows per tile and per chunk."""
        return tile_size(n_components), self.chunk_size(n_components, n_nonzero)

    def weight(self, selection):
        """Weights of the selected rows, or None when all are one."""
        return None if self.sample_weight is None else np.ascontiguousarray(self.sample_weight[selection])

    def buffer(self, selection):
        """An array for the selected rows: a view of the data where possible, else uninitialised memory."""
        if self._is_view(selection):
            return self.X[selection]
        return np.empty((length(selection), self.X.shape[1]), dtype=self.dtype)

    def load(self, selection, start, stop, buffer):
        """Rows ``start`` to ``stop`` of a selection, less the shift, C-ordered, in the array made by ``buffer``."""
        out = buffer[start:stop]
        if self._is_view(selection):
            return out
        if isinstance(selection, slice) or self.dtype != self.X.dtype or not self.X.flags.c_contiguous:
            out[...] = self.X[part(selection, start, stop)]
        else:  # "clip" avoids a temporary copy; of another layout np.take would first copy all rows
            np.take(self.X, selection[start:stop], axis=0, out=out, mode="clip")
        if self.shift is not None:
            np.subtract(out, self.shift, out=out, casting="same_kind")
        return out

    def with_values(self, selection, least):  # noqa: ARG002
        """The selected rows with enough observed values for an initialisation, at least so many, else all of them."""
        return selection

    def read_ahead(self, selection):
        """Do nothing: threads load rows when they need them."""

    def read(self, selection):
        """All selected rows, less the shift."""
        return self.load(selection, 0, length(selection), self.buffer(selection))

    def shifted(self, shift):
        """The same rows with a shift."""
        out = copy(self)
        out.shift = shift
        return out

    def chosen(self, selection, dtype=None):
        """Some of these rows, as rows alone."""
        return Rows(self.X[selection], self.weight(selection), self.shift, self.dtype if dtype is None else dtype)

    def mean(self):
        """Weighted mean of the columns, before any shift; (D,) float64. NaN for columns without a value."""
        if not self.observation.missing:
            return self.total() / self.mass
        total, observed = self.observed()
        with np.errstate(invalid="ignore"):
            return total / observed

    def observed(self):
        """Weighted sums of the observed values of the columns, before any shift, and their weights; (D,) float64."""
        if not self.observation.missing:
            return self.total(), np.full(self.X.shape[1], self.mass)
        total, observed = np.zeros((2, self.X.shape[1]))
        for start, stop in spans(len(self), max(1, CHUNK_BYTES // (8 * self.X.shape[1]))):
            block = gathered(self.X, slice(start, stop), np.float64)
            weight = self.weight(slice(start, stop))
            weight = np.ones(len(block)) if weight is None else weight
            total += weight @ np.where(np.isnan(block), 0.0, block)
            observed += weight @ ~np.isnan(block)
        return total, observed

    def total(self):
        """Weighted sum of the columns, before any shift; (D,) float64."""
        total = np.zeros(self.X.shape[1])
        for start, stop in spans(len(self), max(1, CHUNK_BYTES // (8 * self.X.shape[1]))):
            block = gathered(self.X, slice(start, stop), np.float64)
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


def gathered(X, selection, dtype=None):
    """Selected rows of a dense array of any layout, C-ordered, since the order of sums follows that in memory."""
    return np.ascontiguousarray(X[selection], dtype=dtype)


def length(selection):
    """Number of rows of a slice or index array."""
    return selection.stop - selection.start if isinstance(selection, slice) else len(selection)


def part(selection, start, stop):
    """Rows ``start`` to ``stop`` of a slice or index array."""
    if isinstance(selection, slice):
        return slice(selection.start + start, selection.start + stop)
    return selection if start == 0 and stop == len(selection) else selection[start:stop]


def same(selection, other):
    """Whether two slices or index arrays select the same rows in the same order."""
    if selection is other:
        return True
    if isinstance(selection, slice) or isinstance(other, slice):
        return isinstance(selection, slice) and isinstance(other, slice) and selection == other
    return np.array_equal(selection, other)


def chunks(selection, size):
    """Split a slice or index array into parts of at most ``size`` rows."""
    return (part(selection, start, stop) for start, stop in spans(length(selection), size))


def numbers(selection, start, stop):
    """Row numbers ``start`` to ``stop`` of a slice or index array."""
    if isinstance(selection, slice):
        return np.arange(selection.start + start, selection.start + stop)
    return selection[start:stop]


def spans(n, size):
    """Consecutive spans (start, stop) of at most ``size``."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def tile_size(n_components):
    """Rows of a tile."""
    return min(max(TILE_WEIGHTS // n_components // 64 * 64, 64), 512)


def shares(n, tile, n_shares):
    """At most ``n_shares`` consecutive spans, each of whole tiles."""
    if n <= tile:
        return [(0, n)] if n else []
    n_tiles = -(-n // tile)
    bounds = [min(n, round(i * n_tiles / n_shares) * tile) for i in range(n_shares)] + [n]
    return [(start, stop) for start, stop in pairwise(bounds) if stop > start]
