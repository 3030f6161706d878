cdef class Clusters:
    cdef readonly Py_ssize_t n_slots    # slots in use; dead clusters among them are like the prior
    cdef readonly Py_ssize_t capacity   # slots that there is room for
    cdef readonly Py_ssize_t n_rows     # of the block at hand

    # The row that the calls below are about; whether it says anything.
    cdef bint begin(self, Py_ssize_t row) noexcept nogil
    # Its log predictive density under the prior; in every slot below n_slots; in one, less ``mass`` of its own part.
    cdef double score_new(self) noexcept nogil
    cdef void score(self, double* out) noexcept nogil
    cdef double score_without(self, Py_ssize_t slot, double mass) noexcept nogil
    # As ``score``, with minus infinity for clusters that have no share beyond round-off of the row: whose log prior
    # weights and densities are far below the largest, or below ``known`` where more is known.
    cdef void score_likely(self, const double* log_prior, double known, double* out) noexcept nogil
    # Add ``change`` times the row's statistics to a slot.
    cdef void move(self, Py_ssize_t slot, double change) noexcept nogil
