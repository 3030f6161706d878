"""The scale of each component's prior that maximises its evidence."""

import numpy as np
from libc.math cimport exp, fabs, log
from scipy.linalg.cython_blas cimport dtrmm
from scipy.linalg.cython_lapack cimport dsytrd

# Relative tolerance of a scale.
cdef double EXACT = 1e-13
cdef int MOST_STEPS = 100


cdef double slope(const double* diagonal, const double* squares, int d, double s, double* curvature) noexcept nogil:
    """tr (1 + T / s)^-1 of a symmetric tridiagonal T, and its derivative by log s.

    log det (s + T) is the sum of the logs of the pivots p_i = s + t_i - e_i^2 / p_(i-1), which are differentiated
    along the recurrence.
    """
    cdef int i
    cdef double pivot = 1.0, first = 0.0, second = 0.0, ratio, before, trace = 0.0, change = 0.0
    for i in range(d):
        ratio = squares[i - 1] / (pivot * pivot) if i > 0 else 0.0
        before = first
        first = 1.0 + ratio * before
        second = ratio * (second - 2.0 * before * before / pivot)
        pivot = s + diagonal[i] - ratio * pivot
        trace += first / pivot
        change += (second - first * first / pivot) / pivot
    curvature[0] = s * (trace + s * change)
    return s * trace


cdef double slope_of_diagonal(const double* diagonal, int d, double s, double* curvature) noexcept nogil:
    """The same for a diagonal T."""
    cdef int i
    cdef double trace = 0.0, squares = 0.0, share
    for i in range(d):
        share = 1.0 / (s + diagonal[i])
        trace += share
        squares += share * share
    curvature[0] = s * (trace - s * squares)
    return s * trace


cdef inline double slope_at(
    const double* diagonal, const double* squares, int d, double s, double* curvature
) noexcept nogil:
    if squares == NULL:
        return slope_of_diagonal(diagonal, d, s, curvature)
    return slope(diagonal, squares, d, s, curvature)


cdef double best_scale(
    const double* diagonal, const double* squares, int d, double prior_dof, double dof
) noexcept nogil:
    """The s >= 1 that maximises nu0 D log(s) - nu log det (s + T): Newton in log s, safeguarded by shrinking bounds.

    T is diagonal if there are no ``squares`` of off-diagonal entries.
    """
    cdef double low = 0.0, high = 0.0, at, gap, curvature, step
    cdef int i, _
    if slope_at(diagonal, squares, d, 1.0, &curvature) * dof >= prior_dof * d or not dof > prior_dof:
        return 1.0
    for i in range(d):
        high += diagonal[i]
    high = log(high * prior_dof / (d * (dof - prior_dof)))  # upper bound: exact if all eigenvalues were equal
    at = 0.5 * high
    for _ in range(MOST_STEPS):
        gap = prior_dof * d - dof * slope_at(diagonal, squares, d, exp(at), &curvature)
        if gap > 0.0:
            low = at
        elif gap < 0.0:
            high = at
        else:
            break
        step = gap / (dof * curvature) if curvature > 0.0 else 2.0 * high
        if not low < at + step < high:
            step = 0.5 * (low + high) - at
        at += step
        if fabs(step) <= EXACT:
            break
    return exp(at)


cdef void tridiagonal(
    const double* matrix, const double* prior, const double* whitening, int d, double* square, double* rows,
    double* work
) noexcept nogil:
    """Tridiagonal form of W (M - B0) W^T: its diagonal in line 0 of ``rows`` (4, D), squares of the next one in line 3.

    ``square`` has D^2 numbers, and ``work`` WORK times D.
    """
    cdef int i, j, at = 0, info = 0, size = WORK * d
    cdef double one = 1.0
    for i in range(d):
        for j in range(i + 1):
            square[i * d + j] = square[j * d + i] = matrix[at] - prior[at]
            at += 1
    # LAPACK is column-major: W, lower by rows, is its upper W^T; the square matrix is symmetric
    dtrmm(b"L", b"U", b"T", b"N", &d, &d, &one, <double*> whitening, &d, square, &d)
    dtrmm(b"R", b"U", b"N", b"N", &d, &d, &one, <double*> whitening, &d, square, &d)
    dsytrd(b"U", &d, square, &d, rows, rows + d, rows + 2 * d, work, &size, &info)
    for i in range(d - 1):
        rows[3 * d + i] = rows[d + i] * rows[d + i]


def diagonal_scales(
    const double[:, ::1] diagonals,  # IN  (K, D)
    double prior_dof,                # IN  nu0
    const double[:, ::1] dofs,       # IN  (n, K) nu_k, n of each matrix
    double[:, ::1] scales,           # OUT (n, K) s_k >= 1 that maximises nu0 D log(s) - nu_k log det (s + T_k)
    Py_ssize_t first=0,              # IN  matrices first to last only
    Py_ssize_t last=-1,              # IN  -1 for all
):
    """Scales for diagonal matrices."""
    cdef Py_ssize_t i, k, n_components = diagonals.shape[0]
    check_dofs(dofs, scales, n_components)
    if last < 0:
        last = n_components
    if not 0 <= first <= last <= n_components:
        raise ValueError(f"no matrices {first} to {last} among {n_components}")
    with nogil:
        for k in range(first, last):
            for i in range(dofs.shape[0]):
                scales[i, k] = best_scale(&diagonals[k, 0], NULL, <int> diagonals.shape[1], prior_dof, dofs[i, k])


cdef check_dofs(const double[:, ::1] dofs, double[:, ::1] scales, Py_ssize_t n):
    if dofs.shape[1] != n or scales.shape[1] != n or dofs.shape[0] != scales.shape[0]:
        raise ValueError(f"{n} matrices need as many dofs and scales")


def scales_of(
    const double[:, ::1] matrices,   # IN  (K, D (D + 1) / 2) symmetric M_k, lower triangles row by row
    const double[::1] prior,         # IN  (D (D + 1) / 2) B0
    double[:, ::1] whitening,        # IN  (D, D) W, lower triangular, W B0 W^T = 1
    double prior_dof,                # IN  nu0
    const double[:, ::1] dofs,       # IN  (n, K) nu_k, n of each matrix
    double[:, ::1] scales,           # OUT (n, K) s_k >= 1 that maximises nu0 D log(s) - nu_k log det (s B0 + M_k - B0)
    Py_ssize_t first=0,              # IN  matrices first to last only
    Py_ssize_t last=-1,              # IN  -1 for all
):
    """Factors of the prior's matrix in the posteriors M_k that maximise the evidence."""
    cdef Py_ssize_t k, n_components = matrices.shape[0]
    cdef int d = whitening.shape[0], i
    if matrices.shape[1] != d * (d + 1) // 2 or prior.shape[0] != matrices.shape[1] or whitening.shape[1] != d:
        raise ValueError(f"matrices and prior need {d * (d + 1) // 2} numbers, whitening {d} x {d}")
    check_dofs(dofs, scales, n_components)
    if last < 0:
        last = n_components
    if not 0 <= first <= last <= n_components:
        raise ValueError(f"no matrices {first} to {last} among {n_components}")
    cdef double[:, ::1] square = np.empty((d, d)), rows = np.empty((4, d))
    cdef double[::1] work = np.empty(WORK * d)
    with nogil:
        for k in range(first, last):
            tridiagonal(&matrices[k, 0], &prior[0], &whitening[0, 0], d, &square[0, 0], &rows[0, 0], &work[0])
            for i in range(dofs.shape[0]):
                scales[i, k] = best_scale(&rows[0, 0], &rows[3, 0], d, prior_dof, dofs[i, k])
