"""A bell that threads listen for before they go to sleep: to wake one takes longer than many a piece of work."""

from libc.stdint cimport int64_t


cdef extern from "vectors/portable.h" nogil:
    int64_t sparsemix_fetch_add(int64_t*, int64_t)


cdef extern from "threads/bell.h" nogil:
    int64_t sparsemix_load(const int64_t*)
    int64_t sparsemix_watch(const int64_t*, int64_t, double)


cdef class Bell:
    """Counts how often it was rung."""

    cdef int64_t times, heard

    @property
    def rung(self):
        """How often so far."""
        return sparsemix_load(&self.times)

    def ring(self):
        """Once more."""
        sparsemix_fetch_add(&self.times, 1)

    def listen(self, int64_t times, double seconds):
        """Wait until it was rung so often, or for so long, without the interpreter; whether it was."""
        with nogil:
            times -= sparsemix_watch(&self.times, times, seconds)
        return times <= 0

    def listen_again(self, double seconds):
        """Wait for the ring after those that were waited for, or for so long: to be called once for each ring.

        Nothing is allocated, for a thread that has no memory to say so.
        """
        self.heard += 1
        with nogil:
            sparsemix_watch(&self.times, self.heard, seconds)
