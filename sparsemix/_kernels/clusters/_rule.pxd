from libc.stdint cimport int64_t

from sparsemix._kernels.clusters._clusters cimport Clusters


cdef extern from "clusters/nggp.h" nogil:
    ctypedef struct sparsemix_nggp:
        double a, sigma, tau, theta


# Indices into ``sums``, the numbers shared by all clusters.
cdef enum:
    MASS = 0
    EXPECTED = 1
    USABLE = 2
    LOG_U = 3


# Indices into ``progress``.
cdef enum:
    N_SLOTS = 0
    NEXT_ID = 1
    N_ROWS = 2
    N_READ = 3


cdef class Rule:
    cdef sparsemix_nggp prior
    cdef bint quadrature, recursion
    cdef double threshold
    cdef Py_ssize_t n_nonzero, max_components
    cdef double[::1] counts, absent, sums
    cdef double[::1] log_prior, scores, shares, values, heap
    cdef int[::1] slots, chosen
    cdef Py_ssize_t n_kept, n_live
    cdef int level
    cdef int64_t[::1] ids, progress

    # Log prior weight of a cluster with this many rows, without the term shared by all clusters.
    cdef double log_weight(self, double count) noexcept nogil
    cdef void set_count(self, Py_ssize_t slot, double count) noexcept nogil
    # End a kernel call that has opened slots up to ``n_slots`` and seen this many new rows and numbers.
    cdef void note(self, Py_ssize_t n_slots, Py_ssize_t n_rows, Py_ssize_t n_read) noexcept nogil
    cdef bint full(self, Py_ssize_t n_live) noexcept nogil
    cdef void weigh(self, Py_ssize_t n_slots, double* largest, double* total) noexcept nogil
    cdef bint respond(self, Clusters clusters, double mass, double expected, Py_ssize_t n_live, double usable,
                      double row_mass, double* log_predictive) noexcept nogil
    cdef void keep(self, Py_ssize_t slot, double share) noexcept nogil
    cdef bint keep_best(self, Py_ssize_t n_slots) noexcept nogil
    cdef void truncate(self) noexcept nogil


cdef class Responsibilities:
    cdef int64_t[::1] starts
    cdef int[::1] lengths, slots
    cdef double[::1] values
    cdef Py_ssize_t used

    cdef bint has_capacity(self, Py_ssize_t n) noexcept nogil
    cdef void write(self, Py_ssize_t row, Rule rule) noexcept nogil
