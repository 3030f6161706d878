from libc.stdint cimport int64_t


cdef extern from "collapsed/chain.h" nogil:
    ctypedef struct sparsemix_word_tables:
        int n_components
        const int64_t* begin
        const int* length
        const int* topics
        const int* alias
        const int* shared_alias
        const double* total
        const void* prob
        const void* density
        const void* shared_prob
        const void* shared_density
        double shared_total


cdef class _Views:
    cdef sparsemix_word_tables c
    cdef object arrays
