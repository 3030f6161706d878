"""Entries of documents grouped by word, from which sums by word are computed."""

from dataclasses import dataclass

import numpy as np

from sparsemix._kernels.documents import _words

# Number of groups of words that threads share. Each group has its own totals, so that results do not depend on the
# number of threads.
GROUPS = 16


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
        starts, entries = np.empty(n_words + 1, dtype=np.int64), np.empty(len(indices), dtype=np.int32)
        _words.group_by_word(indices, starts, entries)
        words = np.flatnonzero(starts[1:] != starts[:-1]).astype(np.int32)
        bounds = np.searchsorted(starts[words], np.arange(GROUPS + 1) * len(entries) // GROUPS)
        return cls(starts, entries, words, bounds)
