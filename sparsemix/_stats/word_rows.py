"""Sums by word of a batch: entries grouped by word; rows for some words only, or computed only when they are added.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sparsemix._kernels.documents import _words

# Number of groups of words that threads share. Each group has its own totals, so that results do not depend on the
# number of threads.
GROUPS = 16


def multiplied(value, factor):
    """value times factor, in place; beyond the float32 range in two steps."""
    for step in [factor] if 1e-37 < factor < 1e38 else [factor**0.5] * 2:
        value *= step
    return value


class WordRows:
    """A table (V, K) with non-zero rows for some words only, such as those of a batch.

    Parameters
    ----------
    words : ndarray of shape (n,), int32
        Increasing.
    rows : ndarray of shape (n, K), float32 or float64
        Rows of these words.
    n_words : int
        V.
    """

    def __init__(self, words, rows, n_words):
        self.words = np.ascontiguousarray(words, dtype=np.int32)
        self.rows = np.ascontiguousarray(rows)
        self.n_words = int(n_words)
        if self.words.shape != (len(self.rows),) or self.rows.ndim != 2:
            raise ValueError(f"words has shape {self.words.shape} and rows {self.rows.shape}: give one row a word")
        if len(self.words) and (self.words[0] < 0 or self.words[-1] >= self.n_words):
            raise ValueError(f"words must be from 0 to {self.n_words - 1}")
        if (np.diff(self.words) <= 0).any():
            raise ValueError("words must increase")

    @property
    def shape(self):
        """(V, K)."""
        return self.n_words, self.rows.shape[1]

    @property
    def dtype(self):
        """Of the rows."""
        return self.rows.dtype

    @property
    def nbytes(self):
        """Memory of both arrays."""
        return self.words.nbytes + self.rows.nbytes

    def __repr__(self):
        return f"WordRows{self.shape}, {len(self.words)} words"

    def copy(self):
        """Independent copy."""
        return WordRows(self.words.copy(), self.rows.copy(), self.n_words)

    def zeros_like(self):
        """An empty table of the same shape."""
        return WordRows(self.words[:0], np.empty((0, self.rows.shape[1]), dtype=self.dtype), self.n_words)

    def __imul__(self, factor):
        self.rows *= self.dtype.type(factor)
        return self

    # -- the protocol of sums

    is_deferred = False
    is_writeable = True  # ``scaled`` copies read-only rows

    @property
    def places(self):
        """The words."""
        return self.words

    cleared = zeros_like

    def scaled(self, factor):
        """The sums times a factor, in place unless they are read-only."""
        return multiplied(self if self.rows.flags.writeable else self.copy(), factor)

    def plus(self, other, factor, signed=False):  # noqa: ARG002
        """The sums plus ``factor`` times ``other``; dense if ``other`` is dense."""
        return other.added_to_rows(self, factor)

    def kept(self, other):  # noqa: ARG002
        """A function that restores the current sums."""
        before = self.copy()

        def undo():
            self.words, self.rows = before.words, before.rows

        return undo

    def add_to(self, out, factor, signed=False):  # noqa: ARG002
        """Add ``factor`` times the sums to a dense table."""
        _words.add_whole_rows(self.words, self.rows.astype(out.dtype, copy=False), factor, out)

    def added_to_rows(self, rows, factor):
        """``rows`` plus ``factor`` times the sums."""
        rows = rows.with_words(self.words)
        at = np.searchsorted(rows.words, self.words).astype(np.int32)
        _words.add_whole_rows(at, self.rows.astype(rows.dtype, copy=False), factor, rows.rows)
        return rows

    def summand(self):
        """What CSR tables add."""
        return self.tocsr()

    # -- other forms

    def __getitem__(self, key):
        """``table[:, components]``: the given components, in that order."""
        every, components = key
        if every != slice(None):
            raise IndexError("a table of some words' rows can be indexed by components only: table[:, components]")
        return WordRows(self.words, self.rows[:, components], self.n_words)

    def sum(self, axis=0, dtype=None):
        """Sums over words, (K,)."""
        if axis != 0:
            raise ValueError("a table of some words' rows is summed over words: axis=0")
        return self.rows.sum(axis=0, dtype=dtype)

    def toarray(self):
        """The table as a dense array."""
        out = np.zeros(self.shape, dtype=self.dtype)
        out[self.words] = self.rows
        return out

    def tocsr(self):
        """A sparse copy that stores all entries of the rows, including zeros."""
        n, n_components = self.rows.shape
        indptr = np.zeros(self.n_words + 1, dtype=np.int64)
        indptr[self.words + 1] = n_components
        indices = np.tile(np.arange(n_components, dtype=np.int32), n)
        return sparse.csr_array((self.rows.ravel(), indices, np.cumsum(indptr)), shape=self.shape)

    def compressed(self, smallest, key=0):
        """A sparse table; entries below ``smallest`` become zero or ``smallest`` at random, keyed by ``key``."""
        lengths = np.zeros(self.n_words, dtype=np.int64)
        topics, values = np.empty(self.rows.size, dtype=np.int32), np.empty(self.rows.size, dtype=self.dtype)
        n = _words.compress_rows(self.words, self.rows, smallest, key, lengths, topics, values)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return sparse.csr_array((values[:n].copy(), topics[:n].copy(), indptr), shape=self.shape)

    def with_words(self, words):
        """The same sums, with rows for these words added."""
        union = np.union1d(self.words, words)
        if len(union) == len(self.words):
            return self
        rows = np.zeros((len(union), self.rows.shape[1]), dtype=self.dtype)
        rows[np.searchsorted(union, self.words)] = self.rows
        return WordRows(union, rows, self.n_words)


class DeferredRows:
    """A table (V, K) of sums that can be computed from a model's table of counts while they are added to it.

    The sums of a word are a few numbers times the row of counts that its documents were visited with. Adding them
    directly to that row reads and writes it once; storing them first would cost another write and read.

    Statistics keep this object until they are added or read; then it becomes a ``WordRows``.

    Attributes
    ----------
    words : ndarray of shape (n,), int32
        Words with sums, increasing.
    table : ndarray of shape (V, K)
        The counts; must not change before the sums are computed.
    unit : float
        ``word_unit`` of the statistics that own the table, when this object was made.
    """

    is_deferred = True

    @property
    def places(self):
        """The words."""
        return self.words

    def add_to_table(self, factor, scale):
        """Add ``factor`` times the sums to the table, which was scaled by ``scale`` since; return their totals (K,)."""
        raise NotImplementedError

    def rows(self):
        """The sums as ``WordRows``, and their totals (K,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class ByWord:
    """Entries of a block of documents, grouped by word.

    Attributes
    ----------
    starts : ndarray of shape (V + 1,), int64
        The entries of word v are ``entries[starts[v]:starts[v + 1]]``.
    entries : ndarray of shape (nnz,), int32
        Increasing within a word.
    words : ndarray of shape (n,), int32
        Words with entries, increasing.
    bounds : ndarray of shape (groups + 1,), int64
        Start of each group of ``words``; groups have about equally many entries.
    """

    starts: np.ndarray
    entries: np.ndarray
    words: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, indices, n_words):
        """Group the entries by ``indices``, the word of each entry."""
        starts, entries = np.empty(n_words + 2, dtype=np.int64), np.empty(len(indices), dtype=np.int32)
        words, bounds = np.empty(n_words, dtype=np.int32), np.empty(GROUPS + 1, dtype=np.int64)
        n = _words.group_by_word(indices, starts, entries, words, bounds)
        return cls(starts[:-1], entries, words[:n].copy(), bounds)
