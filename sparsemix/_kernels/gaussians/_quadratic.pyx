"""Gaussian log densities of a tile of rows under all components, vectorised for the CPU.

All families reduce to ``constant[k] - 0.5 * |R_k x - o_k|^2``, plus ``0.5 * |L_k x - p_k|^2`` for low-rank covariances.
The loops are in quadratic_loops.h.
"""

import numpy as np

from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "gaussians/quadratic.h" nogil:
    enum:
        SPARSEMIX_MAX_ROWS
        SPARSEMIX_TRIANGULAR
        SPARSEMIX_DIAGONAL
        SPARSEMIX_SPHERICAL
    void sparsemix_log_density(
        int, int, const void*, Py_ssize_t, Py_ssize_t, const void*, const void*, const void*, Py_ssize_t, void*, void*)
    void sparsemix_projections(
        int, const void*, Py_ssize_t, Py_ssize_t, const void*, Py_ssize_t, const void*, Py_ssize_t, const Py_ssize_t*,
        const int*, void*, void*)


TRIANGULAR = SPARSEMIX_TRIANGULAR
DIAGONAL = SPARSEMIX_DIAGONAL
SPHERICAL = SPARSEMIX_SPHERICAL


def log_density(
    int shape,                   # IN  of R_k: TRIANGULAR (inverse of a lower Cholesky factor), DIAGONAL or SPHERICAL
    const real[:, ::1] x,        # IN  (n, D)
    const real[::1] factors,     # IN  (K * D (D + 1) / 2,) triangles row by row; (K * D,); or (K,)
    const real[:, ::1] offsets,  # IN  (K, D) o_k = R_k m_k; for SPHERICAL the means m_k themselves
    const real[::1] constants,   # IN  (K,) may be -inf
    real[:, ::1] out,            # OUT (n, K) constants[k] - 0.5 |R_k x - o_k|^2
):
    """Log densities of the rows of ``x`` under K Gaussians; a row's result does not depend on other rows."""
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], k = constants.shape[0]
    cdef Py_ssize_t size = 1
    cdef int level = instruction_level()
    if shape == SPARSEMIX_TRIANGULAR:
        size = d * (d + 1) // 2
    elif shape == SPARSEMIX_DIAGONAL:
        size = d
    if factors.shape[0] != k * size or offsets.shape[0] != k or offsets.shape[1] != d:
        raise ValueError(f"factors must hold {k} x {size} numbers and offsets {k} x {d}")
    if out.shape[0] != n or out.shape[1] != k:
        raise ValueError(f"out must be ({n}, {k})")
    if n == 0 or k == 0:
        return
    cdef real[::1] pack = aligned_empty((n + SPARSEMIX_MAX_ROWS) * d, np.float32 if real is float else np.float64)
    with nogil:
        sparsemix_log_density(
            level, shape, &x[0, 0], n, d, &factors[0], &offsets[0, 0], &constants[0], k, &pack[0], &out[0, 0])


cdef void densities(
    int shape, const double* x, Py_ssize_t n, Py_ssize_t d, const double* factors, const double* offsets,
    const double* constants, Py_ssize_t n_components, double* pack, double* out
) noexcept nogil:
    sparsemix_log_density(instruction_level(), shape, x, n, d, factors, offsets, constants, n_components, pack, out)


def add_projections(
    const real[:, ::1] x,           # IN    (n, D)
    const real[:, :, ::1] loadings,  # IN    (K, Q, D) L_k
    const real[:, ::1] offsets,     # IN    (K, Q) p_k
    real[:, ::1] out,               # INOUT (n, K) += 0.5 |L_k x - p_k|^2
):
    """Add half the squared lengths of projected rows; a row's result does not depend on other rows."""
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], k = loadings.shape[0], rank = loadings.shape[1]
    cdef int level = instruction_level()
    if loadings.shape[2] != d or offsets.shape[0] != k or offsets.shape[1] != rank:
        raise ValueError(f"loadings must be (K, Q, {d}) and offsets (K, Q)")
    if out.shape[0] != n or out.shape[1] != k:
        raise ValueError(f"out must be ({n}, {k})")
    if n == 0 or k == 0 or rank == 0:
        return
    cdef real[::1] pack = aligned_empty((n + SPARSEMIX_MAX_ROWS) * d, np.float32 if real is float else np.float64)
    with nogil:
        sparsemix_projections(
            level, &x[0, 0], n, d, &loadings[0, 0, 0], rank, &offsets[0, 0], k, NULL, NULL, &pack[0], &out[0, 0])


def add_pair_projections(
    const real[:, ::1] x,           # IN    (n, D)
    const real[:, :, ::1] loadings,  # IN    (K, Q, D) L_k
    const real[:, ::1] offsets,     # IN    (K, Q) p_k
    const Py_ssize_t[::1] starts,   # IN    (K + 1,) pairs of component k are starts[k] to starts[k + 1]
    const int[::1] rows,            # IN    (n_pairs,) their rows
    real[::1] out,                  # INOUT (n_pairs,) += 0.5 |L_k x - p_k|^2
):
    """``add_projections`` for selected pairs of a row and a component, with the same bits."""
    cdef Py_ssize_t d = x.shape[1], k = loadings.shape[0], rank = loadings.shape[1]
    cdef int level = instruction_level()
    if loadings.shape[2] != d or offsets.shape[0] != k or offsets.shape[1] != rank:
        raise ValueError(f"loadings must be (K, Q, {d}) and offsets (K, Q)")
    if starts.shape[0] != k + 1 or starts[0] != 0 or starts[k] != rows.shape[0]:
        raise ValueError("starts must lead from 0 to the number of pairs")
    if out.shape[0] != rows.shape[0]:
        raise ValueError("out must be (n_pairs,)")
    if rows.shape[0] == 0 or rank == 0:
        return
    cdef real[::1] pack = aligned_empty(SPARSEMIX_MAX_ROWS * d, np.float32 if real is float else np.float64)
    with nogil:
        sparsemix_projections(
            level, &x[0, 0], 0, d, &loadings[0, 0, 0], rank, &offsets[0, 0], k, &starts[0], &rows[0], &pack[0], &out[0])
