"""Compression of rows with few large entries."""

ctypedef fused real:
    float
    double

ctypedef fused column:
    unsigned short
    int


def keep_large(
    const real[:, ::1] rows,  # IN  (n, K) not negative
    double share,             # IN  entries above this share of their row's sum are kept
    int[::1] lengths,         # OUT (n,) how many of each row
    column[::1] columns,      # OUT increasing in a row; large enough for all
    real[::1] values,         # OUT
):
    """The large entries of some rows, row after row; returns their number."""
    cdef Py_ssize_t i, k, n = 0, begin, n_columns = rows.shape[1]
    cdef double total
    cdef real lowest
    if lengths.shape[0] != rows.shape[0] or min(columns.shape[0], values.shape[0]) < rows.shape[0] * n_columns:
        raise ValueError("lengths must be (n,), and columns and values have space for all entries")
    with nogil:
        for i in range(rows.shape[0]):
            begin, total = n, 0.0
            for k in range(n_columns):  # select the positive entries first, then the large ones among them
                if rows[i, k] > 0:
                    columns[n], values[n] = <column> k, rows[i, k]
                    total += rows[i, k]
                    n += 1
            lowest = <real> (share * total)
            lengths[i] = 0
            for k in range(begin, n):
                if values[k] > lowest:
                    columns[begin + lengths[i]], values[begin + lengths[i]] = columns[k], values[k]
                    lengths[i] += 1
            n = begin + lengths[i]
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
