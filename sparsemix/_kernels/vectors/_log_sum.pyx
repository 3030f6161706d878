"""Row-wise log-sum-exp: log densities of mixtures."""

from libc.math cimport INFINITY

from sparsemix._kernels.vectors._simd cimport instruction_level

cdef extern from "vectors/log_sum.h" nogil:
    double sparsemix_log_sum(int isa, const void* x, Py_ssize_t n)


ctypedef fused real:
    float
    double


def log_sum_exp(
    const real[:, ::1] weights,  # IN  (n, K), no NaN
    double[::1] out,             # OUT (n,) log sum_k exp(weights); -inf if all weights are, or K = 0
):
    """scipy's logsumexp over the columns; one pass finds the largest weight, one adds up."""
    cdef Py_ssize_t row, n = weights.shape[0], n_components = weights.shape[1]
    cdef int isa = instruction_level()
    if out.shape[0] != n:
        raise ValueError("out must be (n,) for weights (n, K)")
    if n_components == 0:  # there is no first element to take the address of
        out[:] = -INFINITY
        return
    with nogil:
        for row in range(n):
            out[row] = sparsemix_log_sum(isa, &weights[row, 0], n_components)
