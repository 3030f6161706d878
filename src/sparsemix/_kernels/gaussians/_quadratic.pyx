"""Gaussian log densities of a tile of rows under all components, as wide as the processor's registers.

Every family of Gaussians comes down to ``constant[k] - 0.5 * |R_k x - o_k|^2``; the loops are in quadratic_loops.h.
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
    void sparsemix_log_density_float(int, int, const float*, Py_ssize_t, Py_ssize_t, const float*, const float*,
                                     const float*, Py_ssize_t, float*, float*)
    void sparsemix_log_density_double(int, int, const double*, Py_ssize_t, Py_ssize_t, const double*, const double*,
                                      const double*, Py_ssize_t, double*, double*)


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
    """Log densities of the rows of ``x`` under K Gaussians; a row's result does not depend on the other rows."""
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
        if real is float:
            sparsemix_log_density_float(level, shape, &x[0, 0], n, d, &factors[0], &offsets[0, 0], &constants[0], k,
                                        &pack[0], &out[0, 0])
        else:
            sparsemix_log_density_double(level, shape, &x[0, 0], n, d, &factors[0], &offsets[0, 0], &constants[0], k,
                                         &pack[0], &out[0, 0])
