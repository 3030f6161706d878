"""Rows with missing values (NaN) under Gaussians: log densities of the observed values, and completed rows.

The loops over all components are in missing_loops.h; their tables are blocks of components (``in_blocks``). The other
loops take the rows of one component.
"""

import numpy as np
from libc.math cimport log, sqrt
from libc.stdint cimport uintptr_t

from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "gaussians/missing.h" nogil:
    enum:
        SPARSEMIX_BLOCK_BYTES
    void sparsemix_observed_diagonal(
        int, const void*, Py_ssize_t, Py_ssize_t, const int*, const int*, const void*, const void*, Py_ssize_t, void*)
    void sparsemix_observed_matrix(
        int, const double*, Py_ssize_t, const int*, const Py_ssize_t*, Py_ssize_t, const int*, const int*,
        const double*, const double*, const double*, Py_ssize_t, double*, double*)


cdef double LOG_2PI = 1.8378770664093454836


def in_blocks(values):
    """An array of shape (K, ...) as blocks of components, components last, padded with ones, in aligned memory."""
    width = SPARSEMIX_BLOCK_BYTES // values.dtype.itemsize
    n_blocks, size = -(-len(values) // width), values[:1].size
    out = aligned_empty(n_blocks * size * width, values.dtype).reshape(n_blocks, size, width)
    out[n_blocks - 1 :] = 1
    for first in range(n_blocks):
        some = values[first * width : (first + 1) * width].reshape(-1, size)
        out[first, :, : len(some)] = some.T
    return out.reshape(-1)


cdef int observed_columns(const real* row, Py_ssize_t d, int* columns) noexcept nogil:
    """List the observed columns of a row, then the missing ones; return the number of the former."""
    cdef Py_ssize_t j
    cdef int seen = 0, lost = 0
    for j in range(d):
        if row[j] == row[j]:
            columns[seen] = j
            seen += 1
    for j in range(d):
        if row[j] != row[j]:
            columns[seen + lost] = j
            lost += 1
    return seen


cdef int check_groups(const int[::1] order, const Py_ssize_t[::1] starts, Py_ssize_t n) except -1:
    """Refuse groups that are not those of n rows."""
    cdef Py_ssize_t i, groups = starts.shape[0] - 1
    if order.shape[0] != n or groups < 0 or starts[0] != 0 or starts[groups] != n:
        raise ValueError("starts must lead from 0 to the number of rows")
    for i in range(n):
        if not 0 <= order[i] < n:
            raise ValueError(f"order holds {order[i]}, which is no row")
    return 0


cdef int check_gaussians(const double[:, :, ::1] precisions, const double[:, ::1] means, Py_ssize_t d) except -1:
    """Refuse means and precision matrices of different sizes."""
    cdef Py_ssize_t k = means.shape[0]
    if precisions.shape[0] not in (1, k) or precisions.shape[1] != d or precisions.shape[2] != d or means.shape[1] != d:
        raise ValueError(f"precisions must be ({k}, {d}, {d}) or (1, {d}, {d}), and means ({k}, {d})")
    return 0


def observed_diagonal(
    const real[:, ::1] x,        # IN  (n, D) with NaN
    const real[::1] table,       # IN  blocks of (K, D, 3): factors 1 / s, offsets m / s, logs of 2 pi s^2
    const real[::1] constants,   # IN  (K,)
    real[:, ::1] out,            # OUT (n, K) constants[k] - 0.5 sum over observed j of ((x_j - m_j) / s_j)^2 + log
):
    """Log densities of the observed values under variances; costs only the observed values."""
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], k = constants.shape[0], row
    cdef Py_ssize_t width = SPARSEMIX_BLOCK_BYTES // sizeof(real)
    cdef int level = instruction_level()
    if table.shape[0] != (k + width - 1) // width * width * 3 * d:
        raise ValueError(f"table must hold blocks of {k} x {d} x 3 numbers")
    if out.shape[0] != n or out.shape[1] != k:
        raise ValueError(f"out must be ({n}, {k})")
    if n == 0 or k == 0 or d == 0:
        return
    if <uintptr_t> &table[0] % SPARSEMIX_BLOCK_BYTES:
        raise ValueError("table must begin on a cache line")
    cdef int[:, ::1] columns = np.empty((n, d), dtype=np.intc)
    cdef int[::1] sizes = np.empty(n, dtype=np.intc)
    with nogil:
        for row in range(n):
            sizes[row] = observed_columns(&x[row, 0], d, &columns[row, 0])
        sparsemix_observed_diagonal(
            level, &x[0, 0], n, d, &columns[0, 0], &sizes[0], &table[0], &constants[0], k, &out[0, 0])


def observed_matrix(
    const double[:, ::1] x,          # IN  (n, D) with NaN
    const int[::1] order,            # IN  (n,) row numbers; rows of a group have one pattern
    const Py_ssize_t[::1] starts,    # IN  (G + 1,) group g is order[starts[g]] to order[starts[g + 1] - 1]
    const double[::1] table,         # IN  blocks of (K, D, D): precision matrices P
    const double[::1] means,         # IN  blocks of (K, D, 2): means, logs of the diagonal of P
    const double[::1] constants,     # IN  (K,) log weight - 0.5 (log |P^-1| + D log 2 pi)
    double[:, ::1] out,              # OUT (n, K) log weight + log density of the observed values
):
    """Log densities of the observed values under matrices; one factorisation for each group and component."""
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], k = constants.shape[0], groups = starts.shape[0] - 1, g
    cdef Py_ssize_t width = SPARSEMIX_BLOCK_BYTES // sizeof(double)
    cdef Py_ssize_t padded = (k + width - 1) // width * width
    cdef int level = instruction_level()
    if table.shape[0] != padded * d * d or means.shape[0] != padded * 2 * d:
        raise ValueError(f"table must hold blocks of {k} x {d} x {d} numbers, means of {k} x {d} x 2")
    if out.shape[0] != n or out.shape[1] != k:
        raise ValueError(f"out must be ({n}, {k})")
    check_groups(order, starts, n)
    if n == 0 or k == 0 or d == 0:
        return
    if (<uintptr_t> &table[0] | <uintptr_t> &means[0]) % SPARSEMIX_BLOCK_BYTES:
        raise ValueError("table and means must begin on a cache line")
    cdef int[:, ::1] columns = np.empty((groups, d), dtype=np.intc)
    cdef int[::1] sizes = np.empty(groups, dtype=np.intc)
    cdef double[::1] scratch = aligned_empty((3 + d) * d * width, np.float64)
    with nogil:
        for g in range(groups):
            if starts[g] < starts[g + 1]:
                sizes[g] = observed_columns(&x[order[starts[g]], 0], d, &columns[g, 0])
            else:
                sizes[g] = d
        sparsemix_observed_matrix(
            level, &x[0, 0], d, &order[0], &starts[0], groups, &columns[0, 0], &sizes[0], &table[0], &means[0],
            &constants[0], k, &scratch[0], &out[0, 0])


def fill(
    const real[:, ::1] x,        # IN    (n, D) with NaN
    const int[::1] rows,         # IN    (m,) rows to fill
    const double[::1] resp,      # IN    (m,) their responsibilities
    const double[::1] mean,      # IN    (D,)
    double[::1] lost,            # INOUT (D,) += sum of resp over the rows that lack the value
    double[:, ::1] out,          # OUT   (m, D) the rows, with means in place of missing values
):
    """Fill missing values with means."""
    cdef Py_ssize_t at, j, d = x.shape[1], m = rows.shape[0]
    cdef const real* row
    cdef double* target
    cdef double* sums
    cdef const double* centre
    cdef double r
    if mean.shape[0] != d or lost.shape[0] != d or resp.shape[0] != m or out.shape[0] != m or out.shape[1] != d:
        raise ValueError(f"mean and lost must be ({d},), resp ({m},) and out ({m}, {d})")
    if m == 0 or d == 0:
        return
    sums, centre = &lost[0], &mean[0]
    with nogil:
        for at in range(m):
            row, target, r = &x[rows[at], 0], &out[at, 0], resp[at]
            for j in range(d):  # two loops without branches, which compilers turn into vectors
                target[j] = centre[j] if row[j] != row[j] else <double> row[j]
            for j in range(d):
                sums[j] += r if row[j] != row[j] else 0.0


cdef double factor(
    const double* precision, Py_ssize_t d, const int* lost, Py_ssize_t n, double* lower,
) noexcept nogil:
    """Cholesky factor (n, n) of the missing block of a precision matrix; returns its log determinant."""
    cdef Py_ssize_t i, j, k
    cdef double value, log_det = 0.0
    for i in range(n):
        for j in range(i + 1):
            value = precision[lost[i] * d + lost[j]]
            for k in range(j):
                value -= lower[i * n + k] * lower[j * n + k]
            if j < i:
                lower[i * n + j] = value / lower[j * n + j]
            else:
                lower[i * n + i] = sqrt(value)
                log_det += log(value)
    return log_det


cdef void add_inverse(
    const double* lower, const int* lost, Py_ssize_t n, Py_ssize_t d, double weight, double* inverse,
    double* out,
) noexcept nogil:
    """Add ``weight`` times the inverse of L L^T at the missing columns of ``out`` (D, D), lower triangle."""
    cdef Py_ssize_t i, j, k
    cdef double value
    for i in range(n):  # the inverse of L, lower triangular
        for j in range(i + 1):
            value = 1.0 if i == j else 0.0
            for k in range(j, i):
                value -= lower[i * n + k] * inverse[k * n + j]
            inverse[i * n + j] = value / lower[i * n + i]
    for i in range(n):
        for j in range(i + 1):
            value = 0.0
            for k in range(i, n):
                value += inverse[k * n + i] * inverse[k * n + j]
            out[lost[i] * d + lost[j]] += weight * value


cdef double solve_lower(
    const double* precision, Py_ssize_t d, const int* columns, Py_ssize_t seen, const double* lower,
    const double* y, double* u,
) noexcept nogil:
    """u = L^-1 P_mo y for the deviations y of the observed values; returns |u|^2."""
    cdef Py_ssize_t i, j, n = d - seen
    cdef double value, square = 0.0
    cdef const double* own
    for i in range(n):
        own, value = precision + columns[seen + i] * d, 0.0
        for j in range(seen):
            value += own[columns[j]] * y[j]
        for j in range(i):
            value -= lower[i * n + j] * u[j]
        u[i] = value / lower[i * n + i]
        square += u[i] * u[i]
    return square


cdef void solve_upper(const double* lower, Py_ssize_t n, double* u) noexcept nogil:
    """Replace u by L^-T u."""
    cdef Py_ssize_t i, j
    cdef double value
    for i in range(n - 1, -1, -1):
        value = u[i]
        for j in range(i + 1, n):
            value -= lower[j * n + i] * u[j]
        u[i] = value / lower[i * n + i]


def complete(
    const real[:, ::1] x,            # IN    (n, D) with NaN
    const int[::1] rows,             # IN    (m,) rows to complete; equal patterns should follow each other
    const double[::1] resp,          # IN    (m,) their responsibilities
    const double[:, ::1] precision,  # IN    (D, D) P
    const double[::1] mean,          # IN    (D,)
    double[:, ::1] spread,           # INOUT (D, D) += sum of resp times the covariances of missing values, lower half
    double[:, ::1] out,              # OUT   (m, D) the rows, with conditional means in place of missing values
    double[::1] log_density,         # OUT   (m,) or None: of the observed values, less 0.5 log |P| - 0.5 D log 2 pi
):
    """Complete rows under one Gaussian; returns the sum of resp times the entropies of the missing values."""
    cdef Py_ssize_t at, i, j, d = x.shape[1], m = rows.shape[0], n, seen = 0
    cdef double weight = 0.0, log_det = 0.0, entropy = 0.0, value, q
    cdef const real* row
    cdef bint same
    if precision.shape[0] != d or precision.shape[1] != d or mean.shape[0] != d:
        raise ValueError(f"precision must be ({d}, {d}) and mean ({d},)")
    if spread.shape[0] != d or spread.shape[1] != d or out.shape[1] != d:
        raise ValueError(f"spread must be ({d}, {d}) and out ({m}, {d})")
    cdef bint wanted = log_density is not None
    if resp.shape[0] != m or out.shape[0] != m or (wanted and log_density.shape[0] != m):
        raise ValueError(f"resp, out and log_density must have {m} rows")
    cdef int[::1] columns = np.arange(d, dtype=np.intc), new = np.empty(d, dtype=np.intc)
    cdef double[::1] y = np.empty(d), u = np.empty(d)
    cdef double[:, ::1] lower = np.empty((d, d)), inverse = np.empty((d, d))
    if m == 0 or d == 0:
        return 0.0
    n = 0
    seen = d
    with nogil:
        for at in range(m):
            row = &x[rows[at], 0]
            i = observed_columns(row, d, &new[0])
            same = i == seen
            for j in range(d):
                same = same and columns[j] == new[j]
            if not same:
                if n:
                    add_inverse(&lower[0, 0], &columns[seen], n, d, weight, &inverse[0, 0], &spread[0, 0])
                weight, seen, n = 0.0, i, d - i
                columns[:] = new
                log_det = factor(&precision[0, 0], d, &columns[0] + seen, n, &lower[0, 0]) if n else 0.0
            weight += resp[at]
            entropy += 0.5 * resp[at] * (n * (1.0 + LOG_2PI) - log_det)
            q = 0.0
            for i in range(seen):
                y[i] = row[columns[i]] - mean[columns[i]]
                out[at, columns[i]] = row[columns[i]]
            for i in range(seen if wanted else 0):
                value = 0.0
                for j in range(i):
                    value += precision[columns[i], columns[j]] * y[j]
                q += y[i] * (precision[columns[i], columns[i]] * y[i] + 2.0 * value)
            q -= solve_lower(&precision[0, 0], d, &columns[0], seen, &lower[0, 0], &y[0], &u[0])
            solve_upper(&lower[0, 0], n, &u[0])
            for i in range(n):
                out[at, columns[seen + i]] = mean[columns[seen + i]] - u[i]
            if wanted:
                log_density[at] = -0.5 * (q + log_det - n * LOG_2PI)
        if n:
            add_inverse(&lower[0, 0], &columns[seen], n, d, weight, &inverse[0, 0], &spread[0, 0])
    return entropy


def expect(
    const double[:, ::1] x,              # IN  (n, D) with NaN
    const int[::1] order,                # IN  (n,) row numbers; rows of a group have one pattern
    const Py_ssize_t[::1] starts,        # IN  (G + 1,) group g is order[starts[g]] to order[starts[g + 1] - 1]
    const double[:, ::1] resp,           # IN  (n, K) responsibilities
    double least,                        # IN  responsibilities below it do not count
    const double[:, :, ::1] precisions,  # IN  (K, D, D), or (1, D, D) if all components have one
    const double[:, ::1] means,          # IN  (K, D)
    const double[:, ::1] normals,        # IN  (n, D) or None: standard normal numbers, which make draws of the means
    double[:, ::1] out,                  # OUT (n, D) sums over k of resp times conditional means where missing, or 0
):
    """Missing values under a mixture of Gaussians; one factorisation for each group and component that counts."""
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], n_components = means.shape[0], groups = starts.shape[0] - 1
    cdef Py_ssize_t g, at, i, k, row, seen, lost
    cdef bint drawn = normals is not None, ready
    cdef const double* precision
    if resp.shape[0] != n or resp.shape[1] != n_components or out.shape[0] != n or out.shape[1] != d:
        raise ValueError(f"resp must be ({n}, {n_components}) and out ({n}, {d})")
    if drawn and (normals.shape[0] != n or normals.shape[1] != d):
        raise ValueError(f"normals must be ({n}, {d})")
    check_gaussians(precisions, means, d)
    check_groups(order, starts, n)
    out[:] = 0.0
    if n == 0 or d == 0:
        return
    cdef int[::1] columns = np.empty(d, dtype=np.intc)
    cdef double[::1] y = np.empty(d), u = np.empty(d), lower = np.empty(d * d)
    with nogil:
        for g in range(groups):
            if starts[g] == starts[g + 1]:
                continue
            seen = observed_columns(&x[order[starts[g]], 0], d, &columns[0])
            lost = d - seen
            for k in range(n_components if lost else 0):
                precision = &precisions[k if precisions.shape[0] > 1 else 0, 0, 0]
                ready = False
                for at in range(starts[g], starts[g + 1]):
                    row = order[at]
                    if resp[row, k] < least:
                        continue
                    if not ready:
                        factor(precision, d, &columns[0] + seen, lost, &lower[0])
                        ready = True
                    for i in range(seen):
                        y[i] = x[row, columns[i]] - means[k, columns[i]]
                    solve_lower(precision, d, &columns[0], seen, &lower[0], &y[0], &u[0])
                    for i in range(lost if drawn else 0):  # the covariance is L^-T L^-1
                        u[i] -= normals[row, columns[seen + i]]
                    solve_upper(&lower[0], lost, &u[0])
                    for i in range(lost):
                        out[row, columns[seen + i]] += resp[row, k] * (means[k, columns[seen + i]] - u[i])


def moments(
    const double[:, ::1] x,              # IN  (n, D) with NaN, among them all of the last Q columns
    const int[::1] order,                # IN  (n,) row numbers; rows of a group have one pattern
    const Py_ssize_t[::1] starts,        # IN  (G + 1,) group g is order[starts[g]] to order[starts[g + 1] - 1]
    const double[:, :, ::1] precisions,  # IN  (K, D, D), or (1, D, D) if all components have one
    const double[:, ::1] means,          # IN  (K, D)
    double[:, :, ::1] centres,           # OUT (n, K, Q) conditional means of the last columns
    double[:, :, ::1] variances,         # OUT (n, K, Q) their conditional variances
):
    """Moments of the last columns under each component, given the observed values of the row."""
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], n_components = means.shape[0], groups = starts.shape[0] - 1
    cdef Py_ssize_t g, at, i, j, k, t, row, seen, lost, last = centres.shape[2]
    cdef const double* precision
    cdef double value
    if np.shape(centres) != (n, n_components, min(last, d)) or np.shape(variances) != np.shape(centres):
        raise ValueError(f"centres and variances must be ({n}, {n_components}, Q) with Q at most {d}")
    check_gaussians(precisions, means, d)
    check_groups(order, starts, n)
    if n == 0 or last == 0:
        return
    if not np.isnan(np.asarray(x)[:, d - last :]).all():
        raise ValueError(f"x must be NaN in the last {last} columns")
    cdef int[::1] columns = np.empty(d, dtype=np.intc)
    cdef double[::1] y = np.empty(d), u = np.empty(d), v = np.empty(d), lower = np.empty(d * d), spread = np.empty(last)
    with nogil:
        for g in range(groups):
            if starts[g] == starts[g + 1]:
                continue
            seen = observed_columns(&x[order[starts[g]], 0], d, &columns[0])
            lost = d - seen
            for k in range(n_components):
                precision = &precisions[k if precisions.shape[0] > 1 else 0, 0, 0]
                factor(precision, d, &columns[0] + seen, lost, &lower[0])
                for t in range(last):  # |L^-1 e|^2 for the unit vector e of column t; zero before it
                    spread[t] = 0.0
                    for i in range(lost - last + t, lost):
                        value = 1.0 if i == lost - last + t else 0.0
                        for j in range(lost - last + t, i):
                            value -= lower[i * lost + j] * v[j]
                        v[i] = value / lower[i * lost + i]
                        spread[t] += v[i] * v[i]
                for at in range(starts[g], starts[g + 1]):
                    row = order[at]
                    for i in range(seen):
                        y[i] = x[row, columns[i]] - means[k, columns[i]]
                    solve_lower(precision, d, &columns[0], seen, &lower[0], &y[0], &u[0])
                    solve_upper(&lower[0], lost, &u[0])
                    for t in range(last):
                        centres[row, k, t] = means[k, d - last + t] - u[lost - last + t]
                        variances[row, k, t] = spread[t]
