"""Compression of rows with few large entries."""

from libc.stdint cimport int64_t

from sparsemix._kernels.threads._pool cimport Pool, share_items

cdef enum:
    ROWS = 16  # that a thread takes at once

ctypedef fused real:
    float
    double

ctypedef fused column:
    unsigned short
    int


cdef struct rows_task:
    int is_double, is_wide
    const void* rows
    Py_ssize_t n_rows, n_columns
    double share
    int* lengths
    void* columns
    void* values


cdef void keep_some(rows_task* t, Py_ssize_t i, const real* like, column* columns) noexcept nogil:
    """The large entries of one row, at the place of its first entry."""
    cdef Py_ssize_t k, n = 0
    cdef const real* row = <const real*> t.rows + i * t.n_columns
    cdef real* values = <real*> t.values + i * t.n_columns
    cdef double total = 0.0
    cdef real lowest
    for k in range(t.n_columns):  # select the positive entries first, then the large ones among them
        if row[k] > 0:
            columns[n], values[n] = <column> k, row[k]
            total += row[k]
            n += 1
    lowest = <real> (t.share * total)
    t.lengths[i] = 0
    for k in range(n):
        if values[k] > lowest:
            columns[t.lengths[i]], values[t.lengths[i]] = columns[k], values[k]
            t.lengths[i] += 1


cdef void keep_item(void* task, int64_t item) noexcept nogil:
    cdef rows_task* t = <rows_task*> task
    cdef Py_ssize_t i
    for i in range(item * ROWS, min((item + 1) * ROWS, t.n_rows)):
        if t.is_double and t.is_wide:
            keep_some(t, i, <const double*> NULL, <int*> t.columns + i * t.n_columns)
        elif t.is_double:
            keep_some(t, i, <const double*> NULL, <unsigned short*> t.columns + i * t.n_columns)
        elif t.is_wide:
            keep_some(t, i, <const float*> NULL, <int*> t.columns + i * t.n_columns)
        else:
            keep_some(t, i, <const float*> NULL, <unsigned short*> t.columns + i * t.n_columns)


def keep_large(
    const real[:, ::1] rows,  # IN  (n, K) not negative
    double share,             # IN  entries above this share of their row's sum are kept
    int[::1] lengths,         # OUT (n,) how many of each row
    column[::1] columns,      # OUT increasing in a row; large enough for all
    real[::1] values,         # OUT
    Pool pool=None,           # IN  of threads
):
    """The large entries of some rows, row after row; returns their number."""
    cdef rows_task t
    cdef Py_ssize_t i, k, n = 0, n_columns = rows.shape[1]
    if lengths.shape[0] != rows.shape[0] or min(columns.shape[0], values.shape[0]) < rows.shape[0] * n_columns:
        raise ValueError("lengths must be (n,), and columns and values have space for all entries")
    if rows.shape[0] == 0 or n_columns == 0:
        lengths[:] = 0
        return 0
    t.is_double, t.is_wide, t.share = real is double, column is int, share
    t.rows, t.n_rows, t.n_columns = <const void*> &rows[0, 0], rows.shape[0], n_columns
    t.lengths, t.columns, t.values = &lengths[0], &columns[0], &values[0]
    share_items(pool, keep_item, &t, (t.n_rows + ROWS - 1) // ROWS)
    with nogil:
        for i in range(rows.shape[0]):
            for k in range(i * n_columns, i * n_columns + lengths[i]):
                columns[n], values[n] = columns[k], values[k]
                n += 1
    return n


def fill_rows(
    const int[::1] lengths,     # IN  (n,)
    const column[::1] columns,  # IN
    const real[::1] values,     # IN
    real[:, ::1] rows,          # OUT (n, K) zero elsewhere
):
    """Dense rows from the output of ``keep_large``."""
    cdef Py_ssize_t i, j, n = 0
    with nogil:
        rows[:, :] = 0
        for i in range(rows.shape[0]):
            for j in range(n, n + lengths[i]):
                rows[i, columns[j]] = values[j]
            n += lengths[i]
