"""Rows with noise of known covariance under Gaussians: log densities, and posteriors of the rows without noise.

A row holds D values, then D variances of their noise or D (D + 1) / 2 covariances. NaN is a value that was not
observed; the noise of it is not read. The loop over all components is in noisy_loops.h.
"""

import numpy as np
from libc.math cimport log, sqrt
from libc.stdint cimport uintptr_t

from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty


cdef extern from "gaussians/noisy.h" nogil:
    enum:
        SPARSEMIX_BLOCK_BYTES
    double SPARSEMIX_LEAST_PIVOT
    double SPARSEMIX_NOISE(const double*, bint, Py_ssize_t, Py_ssize_t)
    void sparsemix_noisy_matrix(
        int, const double*, Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const double*, const double*,
        Py_ssize_t, int*, double*, double*)


cdef double LOG_2PI = 1.8378770664093454836


cdef int check_width(Py_ssize_t d, Py_ssize_t width) except -1:
    if width != d and width != d * (d + 1) // 2:
        raise ValueError(f"x must hold {d} values and their noise in a row")
    return 0


def log_density(
    const double[:, ::1] x,          # IN  (n, D + noise)
    const double[::1] table,         # IN  blocks of (K, D, D): covariances
    const double[::1] means,         # IN  blocks of (K, D, 2): means, logs of the variances
    const double[::1] constants,     # IN  (K,)
    Py_ssize_t d,                    # IN  D
    double[:, ::1] out,              # OUT (n, K) constants[k] + log density of the observed values
):
    """Log densities of rows under covariances plus noise; one factorisation for each row and component."""
    cdef Py_ssize_t n = x.shape[0], width = x.shape[1] - d, k = constants.shape[0]
    cdef Py_ssize_t lanes = SPARSEMIX_BLOCK_BYTES // sizeof(double)
    cdef Py_ssize_t padded = (k + lanes - 1) // lanes * lanes
    cdef int level = instruction_level()
    check_width(d, width)
    if table.shape[0] != padded * d * d or means.shape[0] != padded * 2 * d:
        raise ValueError(f"table must hold blocks of {k} x {d} x {d} numbers, means of {k} x {d} x 2")
    if out.shape[0] != n or out.shape[1] != k:
        raise ValueError(f"out must be ({n}, {k})")
    if n == 0 or k == 0 or d == 0:
        return
    if (<uintptr_t> &table[0] | <uintptr_t> &means[0]) % SPARSEMIX_BLOCK_BYTES:
        raise ValueError("table and means must begin on a cache line")
    cdef int[::1] columns = np.empty(d, dtype=np.intc)
    cdef double[::1] scratch = aligned_empty((2 + d) * d * lanes, np.float64)
    with nogil:
        sparsemix_noisy_matrix(
            level, &x[0, 0], n, d, width, &table[0], &means[0], &constants[0], k, &columns[0], &scratch[0], &out[0, 0])


cdef double inverse_factor(
    const double* noise, bint packed, const double* covariance, Py_ssize_t d, const int* seen, Py_ssize_t n,
    double* lower, double* inverse,
) noexcept nogil:
    """The inverse (n, n) of the Cholesky factor of covariance + noise of the seen columns; returns log |C + S|."""
    cdef Py_ssize_t i, j, c
    cdef double value, diagonal, log_det = 0.0
    for i in range(n):
        for j in range(i + 1):
            value = covariance[seen[i] * d + seen[j]] + SPARSEMIX_NOISE(noise, packed, seen[i], seen[j])
            diagonal = value
            for c in range(j):
                value -= lower[i * n + c] * lower[j * n + c]
            if j < i:
                lower[i * n + j] = value / lower[j * n + j]
            else:
                value = max(value, SPARSEMIX_LEAST_PIVOT * diagonal)
                log_det += log(value)
                lower[i * n + i] = sqrt(value)
        for j in range(i + 1):
            value = 1.0 if i == j else 0.0
            for c in range(j, i):
                value -= lower[i * n + c] * inverse[c * n + j]
            inverse[i * n + j] = value / lower[i * n + i]
    return log_det


def denoise(
    const double[:, ::1] x,           # IN    (n, D + noise)
    const int[::1] rows,              # IN    (m,) rows
    const double[::1] resp,           # IN    (m,) their responsibilities
    const double[:, ::1] covariance,  # IN    (D, D) C
    const double[::1] mean,           # IN    (D,)
    double log_det,                   # IN    log |C|
    double[:, ::1] spread,            # INOUT (D, D) += sum of resp times the posterior covariances, lower half
    double[:, ::1] out,               # OUT   (m, D) the posterior means
):
    """Posteriors of rows without their noise under one Gaussian.

    Returns the sum of resp times the posterior's entropy plus its mean log density of the noise. With T = C + S over
    the n observed columns and u = T^-1 (x - m) that is half of log |C| - log |T| + tr(T^-1 S) - u^T S u + (D - n) (1 +
    log 2 pi), where tr(T^-1 S) = n - tr(T^-1 C).
    """
    cdef Py_ssize_t at, i, j, c, n, d = mean.shape[0], m = rows.shape[0], width = x.shape[1] - d
    cdef bint packed = width != d
    cdef double total = 0.0, own, value
    cdef const double* row
    cdef const double* noise
    check_width(d, width)
    if covariance.shape[0] != d or covariance.shape[1] != d or spread.shape[0] != d or spread.shape[1] != d:
        raise ValueError(f"covariance and spread must be ({d}, {d})")
    if resp.shape[0] != m or out.shape[0] != m or out.shape[1] != d:
        raise ValueError(f"resp must be ({m},) and out ({m}, {d})")
    if m == 0 or d == 0:
        return 0.0
    cdef int[::1] seen = np.empty(d, dtype=np.intc)
    cdef double[:, ::1] lower = np.empty((d, d)), inverse = np.empty((d, d)), gain = np.empty((d, d))
    cdef double[::1] y = np.empty(d), u = np.empty(d)
    with nogil:
        for at in range(m):
            row = &x[rows[at], 0]
            noise = row + d
            n = 0
            for j in range(d):
                if row[j] == row[j]:
                    seen[n] = j
                    n += 1
            own = log_det + (d - n) * (1.0 + LOG_2PI) + n
            own -= inverse_factor(noise, packed, &covariance[0, 0], d, &seen[0], n, &lower[0, 0], &inverse[0, 0])
            for i in range(n):  # y = L^-1 (x - m), gain = L^-1 C
                y[i] = 0.0
                gain[i, :] = 0.0
                for j in range(i + 1):
                    value = (&inverse[0, 0])[i * n + j]
                    y[i] += value * (row[seen[j]] - mean[seen[j]])
                    for c in range(d):
                        gain[i, c] += value * covariance[seen[j], c]
                for j in range(i + 1):
                    own -= (&inverse[0, 0])[i * n + j] * gain[i, seen[j]]
            for i in range(n):
                u[i] = 0.0
                for j in range(i, n):
                    u[i] += (&inverse[0, 0])[j * n + i] * y[j]
                for j in range(i + 1):
                    value = SPARSEMIX_NOISE(noise, packed, seen[i], seen[j]) * u[i] * u[j]
                    own -= value if i == j else 2.0 * value
            for c in range(d):
                out[at, c] = mean[c]
                for i in range(n):
                    out[at, c] += gain[i, c] * y[i]
                for j in range(c + 1):
                    value = covariance[c, j]
                    for i in range(n):
                        value -= gain[i, c] * gain[i, j]
                    spread[c, j] += resp[at] * value
            total += 0.5 * resp[at] * own
    return total
