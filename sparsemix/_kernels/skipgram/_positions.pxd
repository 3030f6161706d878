"""Arguments that the kernels of positions share; the classes are documented in ``_positions.pyx``."""

from libc.stdint cimport int64_t


cdef extern from "skipgram/context.h" nogil:
    ctypedef struct sparsemix_context:
        int n
        int* word
        int* before
        int* times


cdef class Positions:
    cdef const int64_t[::1] indptr
    cdef const int[::1] places, words
    cdef Py_ssize_t n, n_tokens
    cdef int window
    cdef check(self, Py_ssize_t n_words)


cdef class Priors:
    cdef const double[::1] alpha, factors
    cdef double beta, scale, base


cdef class Context:
    cdef sparsemix_context c
    cdef int[:, ::1] integers
