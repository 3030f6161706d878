"""A counter that threads spin on briefly before they sleep, because waking a thread takes longer than many tasks."""

from libc.stdint cimport int64_t


cdef extern from "vectors/portable.h" nogil:
    int64_t sparsemix_fetch_add(int64_t*, int64_t)


cdef extern from "threads/wake_signal.h" nogil:
    int64_t sparsemix_load(const int64_t*)
    int64_t sparsemix_watch(const int64_t*, int64_t, double)


cdef class WakeSignal:
    """Counts notifications."""

    @property
    def count(self):
        """Number of notifications so far."""
        return sparsemix_load(&self.n_sent)

    def notify(self):
        """Send one notification."""
        sparsemix_fetch_add(&self.n_sent, 1)

    def wait(self, int64_t count, double seconds):
        """Spin without the GIL until there are ``count`` notifications or the time is up; returns whether there are."""
        with nogil:
            count -= sparsemix_watch(&self.n_sent, count, seconds)
        return count <= 0
