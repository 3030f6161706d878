cdef enum:
    PACKED_ROWS = 64  # rows that the buffer of ``densities`` holds in addition to its own

# See ``log_density``; ``pack`` has (n + PACKED_ROWS) D numbers on a cache line.
cdef void densities(
    int shape, const double* x, Py_ssize_t n, Py_ssize_t d, const double* factors, const double* offsets,
    const double* constants, Py_ssize_t n_components, double* pack, double* out
) noexcept nogil
