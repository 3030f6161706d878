"""L-sparse responsibilities from a block of weights."""

import numpy as np

from sparsemix._kernels.vectors._topl cimport ROW_NOT_FINITE, ROW_OK, real, softmax, top_l


def top_l_responsibilities(
    const real[:, ::1] weights,  # IN  (n, K)
    int[:, ::1] indices,         # OUT (n, L), increasing in each row
    double[:, ::1] values,       # OUT (n, L), each row sums to one
    double[::1] log_z,           # OUT (n,) log of the sum of exp(weights) over the support
    const Py_ssize_t[::1] numbers=None,  # IN  (n,) row numbers in messages; None: from 0
):
    """The best responsibilities with at most L non-zeros per row: r maximises sum_k r_k W_k + h(r_k).

    The support is the L largest weights (the lower index among equals), the values their softmax
    ([HS16] Algorithm 1). Raises ValueError with the row's number for NaN, +inf, or a row of -inf only.
    """
    cdef Py_ssize_t row, n = weights.shape[0]
    cdef int status = ROW_OK
    cdef int n_components = weights.shape[1]
    cdef int n_nonzero = indices.shape[1]
    if not 1 <= n_nonzero <= n_components:
        raise ValueError(f"cannot keep {n_nonzero} of {n_components} weights; n_nonzero must be in [1, n_components]")
    if indices.shape[0] != n or values.shape[0] != n or values.shape[1] != n_nonzero or log_z.shape[0] != n:
        raise ValueError("indices and values must be (n, L) and log_z (n,) for weights (n, K)")
    if n == 0:
        return
    cdef real[::1] heap = np.empty(n_nonzero, dtype=np.float32 if real is float else np.float64)
    with nogil:
        for row in range(n):
            status = top_l(&weights[row, 0], n_components, n_nonzero, &heap[0], &indices[row, 0])
            if status == ROW_OK:
                status = softmax(&weights[row, 0], &indices[row, 0], n_nonzero, &values[row, 0], &log_z[row])
            if status != ROW_OK:
                break
    number = row if numbers is None or status == ROW_OK else numbers[row]
    if status == ROW_NOT_FINITE:
        raise ValueError(f"the weights of row {number} hold NaN or +inf; check the row for extreme values")
    if status != ROW_OK:
        raise ValueError(f"every weight of row {number} is -inf; no component explains it, check for extreme values")
