cdef enum:
    WORK = 64  # numbers of work space for each column

cdef double best_scale(
    const double* diagonal, const double* squares, int d, double prior_dof, double dof
) noexcept nogil
cdef void tridiagonal(
    const double* matrix, const double* prior, const double* whitening, int d, double* square, double* rows,
    double* work
) noexcept nogil
