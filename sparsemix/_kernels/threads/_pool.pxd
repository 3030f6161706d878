from libc.stdint cimport int64_t


cdef extern from "threads/pool.h" nogil:
    ctypedef void (*sparsemix_item)(void*, int64_t) noexcept nogil
    ctypedef struct sparsemix_pool:
        pass


cdef class Pool:
    cdef sparsemix_pool c


cdef int share_items(Pool pool, sparsemix_item run, void* task, int64_t n_items) except -1
