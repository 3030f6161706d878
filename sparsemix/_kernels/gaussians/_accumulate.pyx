"""Responsibility-weighted sums of rows, component by component.

Rows are first grouped by component (counting sort), then each component adds its own rows in row order: no locks, no
copies of the sums, and the same bits for any distribution of the components over threads.
"""

import numpy as np
from libc.math cimport sqrt

from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double

cdef extern from "gaussians/outer.h" nogil:
    void sparsemix_outer(int isa, const double* y, Py_ssize_t n, Py_ssize_t width, double* square)


# Smaller responsibilities do not change a sum that contains a whole row.
cdef double NEGLIGIBLE = 2.0 ** -53

cdef enum:
    GATHER = 128  # rows gathered at once: 128 x 64 doubles stay in the L2 cache


def group_by_component(
    const int[:, ::1] indices,     # IN  (n, L)
    const double[:, ::1] values,   # IN  (n, L)
    const double[::1] weights,     # IN  (n,) sample weights, or None
    Py_ssize_t[::1] starts,        # OUT (K + 1,) component k has entries starts[k] to starts[k + 1]
    int[::1] rows,                 # OUT (n L,) the row of each entry, increasing within a component
    double[::1] resp,              # OUT (n L,) responsibility times sample weight
):
    """Convert responsibilities by row to responsibilities by component; drops negligible ones."""
    cdef Py_ssize_t row, k, at, n = indices.shape[0], n_components = starts.shape[0] - 1
    cdef Py_ssize_t j, n_nonzero = indices.shape[1]
    cdef double value
    cdef bint weighted = weights is not None
    if values.shape[0] != n or values.shape[1] != n_nonzero or (weighted and weights.shape[0] != n):
        raise ValueError("indices and values must be (n, L) and weights (n,)")
    if rows.shape[0] < n * n_nonzero or resp.shape[0] < n * n_nonzero:
        raise ValueError("rows and resp must have space for n L entries")
    with nogil:
        starts[:] = 0
        for row in range(n):
            for j in range(n_nonzero):
                if values[row, j] > NEGLIGIBLE:
                    starts[indices[row, j] + 1] += 1
        for k in range(n_components):
            starts[k + 1] += starts[k]
        for row in range(n):
            for j in range(n_nonzero):
                value = values[row, j]
                if value > NEGLIGIBLE:
                    k = indices[row, j]
                    at = starts[k]
                    rows[at] = row
                    resp[at] = value * weights[row] if weighted else value
                    starts[k] += 1
        for k in range(n_components, 0, -1):
            starts[k] = starts[k - 1]
        starts[0] = 0


def add_counts(
    const Py_ssize_t[::1] starts,  # IN  (K + 1,)
    const double[::1] resp,        # IN
    double[::1] out,               # INOUT (K,) += sum of resp
):
    """Add the expected number of rows of each component."""
    cdef Py_ssize_t k, at
    cdef double total
    with nogil:
        for k in range(out.shape[0]):
            total = 0.0
            for at in range(starts[k], starts[k + 1]):
                total += resp[at]
            out[k] += total


def add_first(
    const real[:, ::1] x,          # IN  (n, D)
    const Py_ssize_t[::1] starts,  # IN  (K + 1,)
    const int[::1] rows,           # IN
    const double[::1] resp,        # IN
    Py_ssize_t first,              # IN  components first to last only
    Py_ssize_t last,               # IN
    double[:, ::1] out,            # INOUT (K, D) += sum of resp x
):
    """Add the weighted sums of rows."""
    cdef Py_ssize_t k, at, j, d = x.shape[1]
    cdef const real* row
    cdef double* sums
    cdef double r
    with nogil:
        for k in range(first, last):
            sums = &out[k, 0]
            for at in range(starts[k], starts[k + 1]):
                row, r = &x[rows[at], 0], resp[at]
                for j in range(d):
                    sums[j] += r * row[j]


def add_squares(
    const real[:, ::1] x,          # IN  (n, D)
    const Py_ssize_t[::1] starts,  # IN  (K + 1,)
    const int[::1] rows,           # IN
    const double[::1] resp,        # IN
    Py_ssize_t first,              # IN  components first to last only
    Py_ssize_t last,               # IN
    double[:, ::1] out,            # INOUT (K, D) += sum of resp x * x
):
    """Add the weighted sums of squared entries."""
    cdef Py_ssize_t k, at, j, d = x.shape[1]
    cdef const real* row
    cdef double* sums
    cdef double r
    with nogil:
        for k in range(first, last):
            sums = &out[k, 0]
            for at in range(starts[k], starts[k + 1]):
                row, r = &x[rows[at], 0], resp[at]
                for j in range(d):
                    sums[j] += r * (<double> row[j] * <double> row[j])


def add_outer(
    const real[:, ::1] x,          # IN  (n, D)
    const Py_ssize_t[::1] starts,  # IN  (K + 1,)
    const int[::1] rows,           # IN
    const double[::1] resp,        # IN
    Py_ssize_t first,              # IN  components first to last only
    Py_ssize_t last,               # IN
    double[:, ::1] out,            # INOUT (K, D (D + 1) / 2) += sum of resp x x^T, lower triangles row by row
):
    """Add the weighted sums of outer products: one symmetric product per component, of rows gathered as doubles."""
    cdef Py_ssize_t k, at, i, j, begin, m, d = x.shape[1]
    cdef Py_ssize_t width = (d + 15) // 16 * 16
    cdef double root
    cdef double[::1] square = aligned_empty(width * width, np.float64)
    cdef double[::1] gathered = aligned_empty(GATHER * width, np.float64)
    cdef const real* row
    cdef double* target
    cdef int level = instruction_level()
    gathered[:] = 0.0  # the padding stays zero
    with nogil:
        for k in range(first, last):
            if starts[k] == starts[k + 1]:
                continue
            square[:] = 0.0
            begin = starts[k]
            while begin < starts[k + 1]:
                m = min(<Py_ssize_t> GATHER, starts[k + 1] - begin)
                for at in range(m):
                    row, root, target = &x[rows[begin + at], 0], sqrt(resp[begin + at]), &gathered[at * width]
                    for j in range(d):
                        target[j] = root * row[j]
                sparsemix_outer(level, &gathered[0], m, width, &square[0])
                begin += m
            at = 0
            for i in range(d):
                for j in range(i + 1):
                    out[k, at] += square[i * width + j]
                    at += 1
