cdef class Clusters:
    cdef readonly Py_ssize_t n_slots    # slots in use; empty clusters among them equal the prior
    cdef readonly Py_ssize_t capacity   # slots allocated
    cdef readonly Py_ssize_t n_rows     # of the current block

    # Select the row for the calls below; returns whether it carries information.
    cdef bint begin(self, Py_ssize_t row) noexcept nogil
    # Its log predictive density under the prior; in all slots below n_slots; in one, minus ``mass`` of its own part.
    cdef double score_new(self) noexcept nogil
    cdef void score(self, double* out) noexcept nogil
    cdef double score_without(self, Py_ssize_t slot, double mass) noexcept nogil
    # As ``score``, with minus infinity for clusters whose share of the row is below round-off: their log prior weight
    # plus density is far below the largest, or below the known lower bound ``known``.
    cdef void score_likely(self, const double* log_prior, double known, double* out) noexcept nogil
    # Add ``change`` times the row's statistics to a slot.
    cdef void move(self, Py_ssize_t slot, double change) noexcept nogil
