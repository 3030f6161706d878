"""Copies the documents of a batch out of the data."""

from libc.stdint cimport int64_t

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
    const int64_t[::1] rows,    # IN  (n,)
    int64_t[::1] out,           # OUT (n + 1,) start of each row's entries in the copy
):
    """Start of each row in a new block."""
    cdef Py_ssize_t i
    if out.shape[0] != rows.shape[0] + 1:
        raise ValueError("out must have one number for each row, and one more")
    for i in range(rows.shape[0]):
        if not 0 <= rows[i] < indptr.shape[0] - 1:
            raise IndexError(f"there is no row {rows[i]}")
    with nogil:
        out[0] = 0
        for i in range(rows.shape[0]):
            out[i + 1] = out[i] + (indptr[rows[i] + 1] - indptr[rows[i]])


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
