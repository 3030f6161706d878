"""One protocol for all kinds of sums: dense arrays, CSR tables, rows of some words, packed counts and word clocks.

WordRows, DeferredRows, PackedCounts and WordClocks implement it themselves. ``as_sums`` adapts arrays and CSR tables.
The methods:

- ``copy()``, ``zeros_like()``, ``cleared()``: a copy; zeros of the same shape and kind; these, in place if dense.
- ``scaled(factor)``: the sums times a factor, in place unless they are read-only.
- ``plus(other, factor, signed=False)``: the sums plus ``factor`` times others of any kind, in place if possible.
  ``signed``: the added numbers may be negative.
- ``kept(other)``: a function that undoes what adding ``other`` changes in place.
- ``compressed(smallest, key)``: sums for transfer or for a memo.
- ``add_to(out, factor, signed)``, ``added_to_rows(rows, factor)``, ``summand()``, ``tocsr()``: the sums as the second
  term: added to a dense array or to WordRows; what a CSR table adds; as CSR.
- ``words``, ``places``: the words, and the entries of a dense array, that adding the sums changes.
- ``nbytes``, ``is_writeable`` (whether arrays that change in place may do so), ``is_deferred``.
"""

import numpy as np
from scipy import sparse

from sparsemix._kernels.documents import _linear, _words
from sparsemix._stats.word_rows import WordRows, multiplied

# Entries of a dense sum scaled at once, so that no temporary is as large as the sum.
PIECE = 1 << 16


def as_sums(value):
    """Sums of any kind as an object with this protocol."""
    if isinstance(value, np.ndarray):
        return DenseSums(value)
    return CsrSums(value) if sparse.issparse(value) else value


def is_deferred(value):
    """Whether sums of any kind are still to be computed; without the object that ``as_sums`` makes of an array."""
    return getattr(value, "is_deferred", False)


def added(value, other, factor, signed=False):
    """value + factor other, as arrays or objects of any kind; in place if possible."""
    if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):  # most often, and small
        DenseSums(other).add_to(value, factor)
        return value
    return as_sums(value).plus(as_sums(other), factor, signed)


class DenseSums:
    """An array of any shape."""

    is_deferred = False
    places = slice(None)

    def __init__(self, value):
        self.value = value

    @property
    def nbytes(self):
        """Memory."""
        return self.value.nbytes

    @property
    def is_writeable(self):
        """False for a read-only memory map."""
        return self.value.flags.writeable

    def copy(self):
        """See the module."""
        return np.copy(self.value)

    def zeros_like(self):
        """See the module."""
        return np.zeros(self.value.shape, self.value.dtype)

    def cleared(self):
        """See the module."""
        self.value[...] = 0.0
        return self.value

    def scaled(self, factor):
        """See the module."""
        return multiplied(self.value if self.is_writeable else np.copy(self.value), factor)

    def plus(self, other, factor, signed=False):
        """See the module."""
        other.add_to(self.value, factor, signed)
        return self.value

    def kept(self, other):
        """See the module."""
        at = other.places
        before = self.value[at].copy()

        def put_back():
            self.value[at] = before

        return put_back

    def compressed(self, smallest, key):  # noqa: ARG002
        """Unchanged."""
        return self.value

    def add_to(self, out, factor, signed=False):  # noqa: ARG002
        """Piece by piece."""
        if abs(factor) == 1.0:
            (np.add if factor > 0.0 else np.subtract)(out, self.value, out=out)
            return
        factor = out.dtype.type(factor)
        if out.size <= PIECE:
            out += factor * self.value
            return
        step = max(1, PIECE * len(out) // out.size)
        for first in range(0, len(out), step):
            out[first : first + step] += factor * self.value[first : first + step]

    def added_to_rows(self, rows, factor):
        """A dense array."""
        return DenseSums(rows.toarray()).plus(self, factor)

    def summand(self):
        """What CSR tables add."""
        return self.value

    def tocsr(self):
        """See the module."""
        return sparse.csr_array(self.value)


class CsrSums:
    """A CSR table; sums of two are a new table."""

    is_deferred = False
    is_writeable = True  # nothing changes in place

    def __init__(self, value):
        self.value = value

    @property
    def nbytes(self):
        """Memory."""
        return self.value.data.nbytes + self.value.indices.nbytes + self.value.indptr.nbytes

    @property
    def words(self):
        """Rows with entries."""
        return np.flatnonzero(np.diff(self.value.indptr))

    @property
    def places(self):
        """Rows and columns of the entries."""
        return np.repeat(np.arange(self.value.shape[0]), np.diff(self.value.indptr)), self.value.indices

    def copy(self):
        """See the module."""
        return self.value.copy()

    def zeros_like(self):
        """See the module."""
        return type(self.value)(self.value.shape, dtype=self.value.dtype)

    cleared = zeros_like

    def scaled(self, factor):
        """See the module."""
        return multiplied(self.value if self.value.data.flags.writeable else self.value.copy(), factor)

    def plus(self, other, factor, signed=False):  # noqa: ARG002
        """See the module."""
        return self.value + other.summand() * self.value.dtype.type(factor)

    def kept(self, other):  # noqa: ARG002
        """Nothing to undo."""
        return lambda: None

    def compressed(self, smallest, key):  # noqa: ARG002
        """Unchanged."""
        return self.value

    def add_to(self, out, factor, signed=False):
        """See the module."""
        indptr = self.value.indptr.astype(np.int64, copy=False)
        indices = self.value.indices.astype(np.int32, copy=False)
        if signed:
            _linear.add_rows(indptr, indices, self.value.data, factor, out)
        else:
            _words.add_rows(indptr, indices, self.value.data.astype(out.dtype, copy=False), factor, out)

    def added_to_rows(self, rows, factor):
        """See the module."""
        words = self.words
        return WordRows(words, self.value[words].toarray(), self.value.shape[0]).added_to_rows(rows, factor)

    def summand(self):
        """What CSR tables add."""
        return self.value

    tocsr = summand
