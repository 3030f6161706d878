from libc.stdint cimport int64_t


cdef class WakeSignal:
    cdef int64_t n_sent, n_awaited
