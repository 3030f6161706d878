"""Documents as an argument of kernels."""

from libc.stdint cimport int64_t


cdef class Entries:
    """Entries of some documents: words and their counts.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of document d are indptr[d] to indptr[d + 1].
    indices : ndarray of shape (nnz,), int32
        Rows of the tables.
    counts : ndarray of shape (nnz,)
        Positive; kernels check the type.
    """

    def __init__(self, const int64_t[::1] indptr, const int[::1] indices, counts):
        cdef Py_ssize_t d
        self.indptr, self.indices, self.counts = indptr, indices, counts
        self.n, self.n_entries, self.longest = indptr.shape[0] - 1, len(counts), 0
        if self.n < 0 or indptr[self.n] > min(indices.shape[0], self.n_entries):
            raise ValueError("indices and counts must hold indptr[-1] entries")
        for d in range(self.n):
            self.longest = max(self.longest, indptr[d + 1] - indptr[d])
