cdef Py_ssize_t whiten_one(const double* packed, int d, double* square, double* log_det) noexcept nogil
