from libc.stdint cimport int64_t


cdef class Entries:
    cdef const int64_t[::1] indptr
    cdef const int[::1] indices
    cdef object counts
    cdef const double[::1] weight
    cdef Py_ssize_t n, n_entries, longest
    cdef check(self, Py_ssize_t n_words)
