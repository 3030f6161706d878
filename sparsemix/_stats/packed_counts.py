"""A sparse table of counts by word and topic whose rows can grow."""

import numpy as np
from scipy import sparse

from sparsemix._kernels.split import _packed_counts
from sparsemix._stats.sums import CsrSums
from sparsemix._stats.word_rows import multiplied

# Share of a new value array that is left free for growing rows.
SPARE = 0.25
# Padding after the last value, so that kernels may load a full vector from any position.
BEHIND = 16


class PackedCounts:
    """A table (V, K) that stores non-zeros only and supports look-ups, additions and scaling in place.

    A row has a head for every 32 topics: bits for the topics that have a count, and their position. A look-up takes
    two loads, and the table takes a fraction of V x K numbers. A row that outgrows its space moves to the end of the
    array; from time to time all rows are compacted.

    Parameters
    ----------
    shape : tuple
        (V, K).
    dtype : dtype
        float32 or float64.
    """

    def __init__(self, shape, dtype):
        n_words, n_components = shape
        self.shape = int(n_words), int(n_components)
        self.heads = np.empty((n_words, -(-n_components // _packed_counts.GROUP)), dtype=np.uint64)
        self.heads[...] = 0
        self.starts = np.zeros(n_words, dtype=np.int64)
        self.capacity = np.zeros(n_words, dtype=np.int32)
        self.values = np.zeros(BEHIND, dtype=dtype)
        self.end = np.zeros(1, dtype=np.int64)

    @classmethod
    def of(cls, table):
        """Convert a sparse table (V, K)."""
        out = cls(table.shape, table.dtype)
        out.add(table)
        return out

    def __getstate__(self):
        """The counts as a sparse table; the layout is rebuilt on unpickling."""
        return {"table": self.tocsr()}

    def __setstate__(self, state):
        table = sparse.csr_array(state["table"])
        table.check_format(full_check=True)  # the file may be damaged, and kernels do not check
        table.sum_duplicates()
        self.__init__(table.shape, table.dtype)
        self.add(table)

    @property
    def dtype(self):
        """Dtype of the counts."""
        return self.values.dtype

    @property
    def nbytes(self):
        """Memory of all arrays."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def __repr__(self):
        return f"PackedCounts{self.shape}, {self.lengths().sum()} counts"

    def lengths(self, words=None):
        """Number of counts of each word."""
        words = np.arange(self.shape[0], dtype=np.int32) if words is None else words
        out = np.empty(len(words), dtype=np.int64)
        _packed_counts.lengths(self.heads, words, out)
        return out

    def copy(self):
        """Independent copy."""
        out = object.__new__(type(self))
        vars(out).update({name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in vars(self).items()})
        return out

    def zeros_like(self):
        """An empty table of the same shape."""
        return PackedCounts(self.shape, self.dtype)

    @property
    def is_writeable(self):
        """Whether the arrays may change in place; read-only memory maps may not."""
        return all(value.flags.writeable for value in vars(self).values() if isinstance(value, np.ndarray))

    def writeable(self):
        """This table, or a copy if it is read-only."""
        return self if self.is_writeable else self.copy()

    def __imul__(self, factor):
        self.values *= self.dtype.type(factor)
        return self

    # -- the protocol of sums

    is_deferred = False
    places = slice(None)
    cleared = zeros_like

    def scaled(self, factor):
        """The counts times a factor, in place unless they are read-only."""
        return multiplied(self.writeable(), factor)

    def plus(self, other, factor, signed=False):
        """The counts plus ``factor`` times others; a CSR table after a subtraction, unless that is ``signed``."""
        other = sparse.csr_array(other.tocsr())
        if factor < 0.0:
            less = self.tocsr() + other * self.dtype.type(factor)
            return PackedCounts.of(less) if signed else less
        table = self.writeable()
        other.sum_duplicates()
        table.add(other, factor)
        return table

    def kept(self, other):
        """A function that restores the rows of the words of ``other``."""
        return self.kept_words(other.words.astype(np.int32))

    def compressed(self, smallest, key):  # noqa: ARG002
        """Unchanged."""
        return self

    def add_to(self, out, factor, signed=False):
        """Add ``factor`` times the counts to a dense table."""
        CsrSums(self.tocsr()).add_to(out, factor, signed)

    def added_to_rows(self, rows, factor):
        """``rows`` plus ``factor`` times the counts."""
        return CsrSums(self.tocsr()).added_to_rows(rows, factor)

    def summand(self):
        """What CSR tables add."""
        return self.tocsr()

    # -- other forms and sizes

    def __getitem__(self, key):
        """``table[:, components]``: the given components, in that order."""
        every, components = key
        if every != slice(None):
            raise IndexError("packed counts can be indexed by components only: table[:, components]")
        return PackedCounts.of(self.tocsr()[:, components].sorted_indices())

    def reserve(self, n):
        """Make space for n values at the end."""
        if self.end[0] + n + BEHIND <= len(self.values):
            return
        lengths = self.lengths()
        capacity = np.where(lengths > 0, np.minimum(self.capacity, lengths + lengths // 4 + 16), 0)
        size = int((1.0 + SPARE) * (capacity.sum() + 2 * n)) + BEHIND
        old, self.capacity = self.values, capacity.astype(np.int32)
        self.values = np.empty(size, dtype=old.dtype)
        self.values[...] = 0.0
        self.end[0] = _packed_counts.move_rows(lengths, self.starts, self.capacity, old, self.values)

    def add(self, table, factor=1.0, smallest=0.0, key=0):
        """Add ``factor`` times a sparse table with increasing topics; return the gain of each topic (K,)."""
        gains = np.zeros(self.shape[1])
        words = np.flatnonzero(np.diff(table.indptr)).astype(np.int32)
        indptr = np.append(table.indptr[words], table.indptr[-1]).astype(np.int64)
        self.reserve(space_for(self.lengths(words), np.diff(indptr)))
        _packed_counts.add(
            self, words, indptr, table.indices.astype(np.int32), table.data.astype(self.dtype), factor, smallest, key,
            gains,
        )  # fmt: skip
        return gains

    def rows(self, words):
        """Dense rows of some words."""
        out = np.empty((len(words), self.shape[1]), dtype=self.dtype)
        words = np.ascontiguousarray(words, dtype=np.int32)
        _packed_counts.fill_rows(self.heads, self.starts, self.values, words, out)
        return out

    def toarray(self):
        """The table as a dense array."""
        return self.rows(np.arange(self.shape[0]))

    def tocsr(self, words=None):
        """A sparse copy, of all rows or of the rows of some words in order."""
        words = np.arange(self.shape[0], dtype=np.int32) if words is None else words
        indptr = np.concatenate([[0], np.cumsum(self.lengths(words))])
        topics, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=self.dtype)
        _packed_counts.fill_sparse(self.heads, self.starts, self.values, words, indptr, topics, values)
        return sparse.csr_array((values, topics, indptr), shape=(len(words), self.shape[1]))

    def sum(self, axis=0, dtype=None):
        """Sums over words, (K,)."""
        if axis != 0:
            raise ValueError("packed counts are summed over words: axis=0")
        counts = self.tocsr()
        return np.bincount(counts.indices, counts.data, minlength=self.shape[1]).astype(dtype or self.dtype)

    def kept_words(self, words):
        """A function that restores the rows of some words."""
        before = self.tocsr(words)
        indptr = np.zeros(self.shape[0] + 1, dtype=np.int64)
        indptr[words + 1] = np.diff(before.indptr)
        before = sparse.csr_array((before.data, before.indices, np.cumsum(indptr)), shape=self.shape)

        def put_back():
            self.heads[words] = 0
            self.add(before)

        return put_back


def space_for(lengths, n_new):
    """Upper bound of the space at the end that rows need if each grows by ``n_new``."""
    longest = lengths + n_new
    return int((longest + longest // 4 + 16).sum())
