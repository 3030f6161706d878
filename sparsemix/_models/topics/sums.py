"""Memory of a thread, and sums of responsibilities by word and topic, for additive topic models."""

from itertools import pairwise

import numpy as np
from scipy import sparse

from sparsemix._kernels.documents import _docstep, _words

# Smaller sums of a word and topic in a chunk are dropped; their mass goes to the word's remaining topics.
SMALLEST_COUNT = 1e-2


class Scratch:
    """Working memory of one thread."""

    def __init__(self, n_documents, n_components, dtype):
        self.workspace = _docstep.Workspace(dtype)
        self.doc_topic = np.empty((n_documents, n_components), dtype=dtype)


def sum_by_word(x, resp, n_words, n_components, workers, table=None, smallest=0.0):
    """Sums S_vk of a tile of documents as a sparse table, and sum_vk S_vk log table_vk.

    Parameters
    ----------
    x : DocumentBlock
    resp : object
        Has ``topics`` and ``values`` (nnz, L): count times responsibility.
    n_words, n_components : int
    workers : Workers
    table : ndarray of shape (V, K), PackedTable or None
        Table with which the documents were inferred; None makes ``log_phi`` zero.
    smallest : float
        Smaller sums are dropped; their mass goes to the word's remaining topics.

    Returns
    -------
    sums : csr_array of shape (V, K)
    log_phi : float
    """
    starts, entries = x.by_word.starts, x.by_word.entries
    return sum_groups(starts, entries, resp, n_words, n_components, workers, table, smallest)


def sum_groups(starts, entries, resp, n_words, n_components, workers, table=None, smallest=0.0):
    """As ``sum_by_word``; word v has the rows ``entries[starts[v]:starts[v + 1]]`` of the responsibilities."""
    lengths, energies = np.zeros(n_words, dtype=np.int64), np.zeros(n_words)
    bounds = np.searchsorted(starts, np.linspace(0, starts[-1], workers.n_jobs + 1)[1:-1])
    bounds = [0, *(int(b) for b in bounds), n_words]
    parts = {}

    def share(first, last):
        capacity = int(min((starts[last] - starts[first]) * resp.values.shape[1], (last - first) * n_components))
        topics, values = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=resp.values.dtype)
        n = _words.sum_sparse(
            starts, entries, resp.topics, resp.values, table, smallest, n_components, first, last, lengths, topics,
            values, energies,
        )  # fmt: skip
        parts[first] = topics[:n].copy(), values[:n].copy()

    workers.map(share, [(first, last) for first, last in pairwise(bounds) if last > first])
    topics, values = (np.concatenate(arrays) for arrays in zip(*(parts[a] for a in sorted(parts)), strict=True))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indptr = indptr.astype(np.int32 if len(topics) <= np.iinfo(np.int32).max else np.int64)  # same type as the indices
    return sparse.csr_array((values, topics, indptr), shape=(n_words, n_components)), energies.sum()
