"""Whitening factors of many small covariances."""

import numpy as np
from libc.math cimport NAN, log
from scipy.linalg.cython_lapack cimport dpotrf, dtrtri

ctypedef fused real:
    float
    double


# A pivot below this multiple of D eps times its variance is round-off: the matrix counts as singular. The ratio does
# not depend on the units of the columns.
cdef double LEAST_PIVOT = 16.0 * 2.220446049250313e-16


cdef Py_ssize_t whiten_one(const double* packed, int d, double* square, double* log_det) noexcept nogil:
    """Inverse lower Cholesky factor of one packed matrix, in ``square``; returns 0 or the number of a bad pivot.

    LAPACK is column-major, so a lower triangle stored by rows is its upper triangle: A = U^T U, and the inverse of U,
    upper by columns, is the inverse of L, lower by rows.
    """
    cdef int i, j, info = 0
    cdef Py_ssize_t at = 0
    for i in range(d):
        for j in range(i + 1):
            square[i * d + j] = packed[at]
            at += 1
    dpotrf(b"U", &d, square, &d, &info)
    if info != 0:
        return info
    log_det[0] = 0.0
    for i in range(d):
        if square[i * d + i] * square[i * d + i] < LEAST_PIVOT * d * packed[i * (i + 3) // 2]:
            return i + 1
        log_det[0] += 2.0 * log(square[i * d + i])
    dtrtri(b"U", b"N", &d, square, &d, &info)
    return info


def whiten(
    const double[:, ::1] matrices,  # IN  (K, D (D + 1) / 2) symmetric positive definite, lower triangles row by row
    const double[:, ::1] means,     # IN  (K, D)
    double[::1] log_dets,           # OUT (K,)
    real[:, ::1] factors,           # OUT (K, D (D + 1) / 2) R_k, lower triangular, R_k matrices[k] R_k^T = 1
    real[:, ::1] offsets,           # OUT (K, D) R_k means[k]
    Py_ssize_t first=0,             # IN  matrices first to last only
    Py_ssize_t last=-1,             # IN  -1 for all
):
    """Factor K matrices; indefinite ones get NaN in ``log_dets``."""
    cdef Py_ssize_t k, at, n_components = matrices.shape[0]
    cdef int d = means.shape[1], i, j
    cdef double total
    cdef Py_ssize_t size = d * (d + 1) // 2
    if matrices.shape[1] != size or means.shape[0] != n_components or log_dets.shape[0] != n_components:
        raise ValueError(f"{n_components} matrices of {size} numbers need as many means and log_dets")
    if factors.shape[0] != n_components or factors.shape[1] != size:
        raise ValueError("factors must have the shape of matrices")
    if offsets.shape[0] != n_components or offsets.shape[1] != d:
        raise ValueError("offsets must have the shape of means")
    if last < 0:
        last = n_components
    if not 0 <= first <= last <= n_components:
        raise ValueError(f"no matrices {first} to {last} among {n_components}")
    cdef double[:, ::1] square = np.empty((d, d))
    with nogil:
        for k in range(first, last):
            if whiten_one(&matrices[k, 0], d, &square[0, 0], &log_dets[k]) != 0:
                log_dets[k] = NAN
                continue
            at = 0
            for i in range(d):
                total = 0.0
                for j in range(i + 1):
                    factors[k, at] = <real> square[i, j]
                    total += square[i, j] * means[k, j]
                    at += 1
                offsets[k, i] = <real> total
