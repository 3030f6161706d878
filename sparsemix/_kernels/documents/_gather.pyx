"""Copies the documents of a batch out of the data, and describes them."""

import numpy as np

from libc.stdint cimport int64_t


cdef extern from "vectors/portable.h" nogil:
    void sparsemix_prefetch(const void*)


ctypedef fused real:
    float
    double

ctypedef fused place:
    int
    int64_t

ctypedef fused count:
    int
    int64_t
    float
    double


def lengths(
    const place[::1] indptr,    # IN  (N + 1,)
    const place[::1] indices,   # IN  words
    const count[::1] data,      # IN  counts
    const int64_t[::1] rows,    # IN  (n,)
    int64_t[::1] out,           # OUT (n + 1,) start of each row's entries in the copy
):
    """Start of each row in a new block; fetches the first entries of each, since rows lie far apart."""
    cdef Py_ssize_t i
    cdef int64_t first
    if out.shape[0] != rows.shape[0] + 1:
        raise ValueError("out must have one number for each row, and one more")
    for i in range(rows.shape[0]):
        if not 0 <= rows[i] < indptr.shape[0] - 1:
            raise IndexError(f"there is no row {rows[i]}")
    with nogil:
        out[0] = 0
        for i in range(rows.shape[0]):
            first = indptr[rows[i]]
            out[i + 1] = out[i] + (indptr[rows[i] + 1] - first)
            if out[i + 1] > out[i]:
                sparsemix_prefetch(&indices[first])
                sparsemix_prefetch(&data[first])


def gather(
    const place[::1] indptr,    # IN  (N + 1,)
    const place[::1] indices,   # IN  words
    const count[::1] data,      # IN  counts
    const int64_t[::1] rows,    # IN  (n,)
    const int64_t[::1] starts,  # IN  (n + 1,) of lengths
    int[::1] out_indices,       # OUT (nnz,)
    real[::1] out_counts,       # OUT (nnz,)
):
    """Words and counts of the selected rows, in consecutive memory."""
    cdef Py_ssize_t i, n = rows.shape[0]
    cdef int64_t at, to
    if starts.shape[0] != n + 1 or min(out_indices.shape[0], out_counts.shape[0]) < starts[n]:
        raise ValueError("starts and the results must be of the size that lengths tells")
    with nogil:
        for i in range(n):
            to = starts[i]
            for at in range(indptr[rows[i]], indptr[rows[i] + 1]):
                out_indices[to] = <int> indices[at]
                out_counts[to] = <real> data[at]
                to += 1


def tokens(
    const int64_t[::1] indptr,  # IN  (n + 1,) entries of documents
    const real[::1] counts,     # IN  (nnz,)
):
    """Tokens of each document, (n,), as differences of running sums."""
    cdef Py_ssize_t d, e, n = indptr.shape[0] - 1
    cdef double before, total = 0.0
    result = np.empty(n)
    cdef double[::1] out = result
    if counts.shape[0] < indptr[n]:
        raise ValueError(f"counts must hold {indptr[n]} entries")
    with nogil:
        for d in range(n):
            before = total
            for e in range(indptr[d], indptr[d + 1]):
                total += counts[e]
            out[d] = total - before
    return result


def longest_first(
    const int64_t[::1] indptr,  # IN  (n + 1,) entries of documents
):
    """Documents by decreasing number of entries, (n,); those of equal length in order."""
    cdef Py_ssize_t d, n = indptr.shape[0] - 1
    cdef int64_t longest = 0, length, before = 0
    result = np.empty(n, dtype=np.int32)
    cdef int[::1] out = result
    for d in range(n):
        longest = max(longest, indptr[d + 1] - indptr[d])
    cdef int64_t[::1] places = np.zeros(longest + 1, dtype=np.int64)  # of the next document of each length
    with nogil:
        for d in range(n):
            places[indptr[d + 1] - indptr[d]] += 1
        for length in range(longest, -1, -1):
            before += places[length]
            places[length] = before - places[length]
        for d in range(n):
            length = indptr[d + 1] - indptr[d]
            out[places[length]] = <int> d
            places[length] += 1
    return result
