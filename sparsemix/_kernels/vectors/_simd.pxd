cdef int instruction_level() noexcept nogil
