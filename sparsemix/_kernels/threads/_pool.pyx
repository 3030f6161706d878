"""Threads that take the items of kernels, without the interpreter."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from sparsemix._kernels.threads._wake_signal cimport WakeSignal


cdef extern from "threads/pool.h" nogil:
    void sparsemix_share_items(sparsemix_pool*, sparsemix_item, void*, int64_t)
    void sparsemix_listen(sparsemix_pool*, const int64_t*, int64_t, double)


cdef class Pool:
    """Where a kernel puts its items, for the threads that listen."""

    def __cinit__(self):
        memset(&self.c, 0, sizeof(self.c))

    def listen(self, WakeSignal wake not None, double seconds):
        """Take items until the next notification, or until none has come for some seconds; once per notification.

        Allocates nothing, so that a thread without memory can call it.
        """
        wake.n_awaited += 1
        with nogil:
            sparsemix_listen(&self.c, &wake.n_sent, wake.n_awaited, seconds)


cdef int share_items(Pool pool, sparsemix_item run, void* task, int64_t n_items) except -1:
    """Call ``run(task, item)`` for all items, on this thread and those that listen; None: on this thread alone."""
    cdef sparsemix_pool* c = NULL if pool is None else &pool.c
    with nogil:
        sparsemix_share_items(c, run, task, n_items)
    return 0
