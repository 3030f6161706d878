"""Documents as an argument of kernels."""

import numpy as np

from libc.stdint cimport int64_t


cdef class Entries:
    """Entries of some documents: words and their counts."""

    def __init__(
        self,
        const int64_t[::1] indptr,  # IN  (n + 1,) entries of document d are indptr[d] to indptr[d + 1]
        const int[::1] indices,     # IN  (nnz,) rows of tables
        counts,                     # IN  (nnz,) positive; kernels check their type
        const double[::1] weight=None,  # IN  (n,) of documents, in sums over them; None: all one
    ):
        cdef Py_ssize_t d
        self.indptr, self.indices, self.counts, self.weight = indptr, indices, counts, weight
        self.n, self.n_entries, self.longest = indptr.shape[0] - 1, len(counts), 0
        if self.n < 0 or indptr[self.n] > min(indices.shape[0], self.n_entries):
            raise ValueError("indices and counts must hold indptr[-1] entries")
        for d in range(self.n):
            self.longest = max(self.longest, indptr[d + 1] - indptr[d])
        if weight is not None and weight.shape[0] != self.n:
            raise ValueError("weight must be (n,)")

    cdef check(self, Py_ssize_t n_words):
        if self.indices.shape[0] and np.max(self.indices) >= n_words:
            raise ValueError(f"indices must be below the {n_words} rows of the table")
