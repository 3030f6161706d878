"""The interface between clusters of any likelihood and a sweep over rows.

Clusters occupy slots; ``score`` may write up to the next multiple of SLOTS. All results are computed row by row, so
they do not depend on how rows are cut into blocks.
"""

import numpy as np

from libc.math cimport INFINITY

from sparsemix._kernels.vectors._simd import aligned_empty

# Capacities are multiples of this.
SLOTS = 32


def padded_prior(log_prior, n_slots, capacity):
    """Log prior weights, padded with minus infinity for unused slots."""
    if len(log_prior) != n_slots:
        raise ValueError("log_prior must be (n_slots,)")
    out = aligned_empty(capacity, np.float64)
    out[:n_slots], out[n_slots:] = log_prior, -np.inf
    return out


cdef class Clusters:
    """Abstract base: the operations that every likelihood offers to a sweep."""

    cdef bint begin(self, Py_ssize_t row) noexcept nogil:
        """Select the current row of the block; returns whether it carries information."""
        return False

    cdef double score_new(self) noexcept nogil:
        return 0.0

    cdef void score(self, double* out) noexcept nogil:
        pass

    cdef void score_likely(self, const double* log_prior, double known, double* out) noexcept nogil:
        self.score(out)

    cdef double score_without(self, Py_ssize_t slot, double mass) noexcept nogil:
        return 0.0

    cdef void move(self, Py_ssize_t slot, double change) noexcept nogil:
        pass

    def scores(self, Py_ssize_t first, Py_ssize_t last, log_prior=None):
        """Log predictive densities of rows ``first`` to ``last`` of the block in every slot, and under the prior.

        With log prior weights, (n_slots,): minus infinity in slots whose share of the row is below round-off.

        Returns
        -------
        scores : ndarray of shape (last - first, n_slots)
        new : ndarray of shape (last - first,)
        """
        if not 0 <= first <= last <= self.n_rows:
            raise ValueError(f"first and last must be rows of the block, 0 to {self.n_rows}")
        cdef Py_ssize_t i, k
        cdef bint likely = log_prior is not None
        cdef double[:, ::1] out = np.empty((last - first, self.n_slots))
        cdef double[::1] new = np.empty(last - first)
        cdef double[::1] row = aligned_empty(max(self.capacity, 1), np.float64)
        cdef double[::1] prior = padded_prior(log_prior, self.n_slots, self.capacity) if likely else row
        with nogil:
            for i in range(last - first):
                if not self.begin(first + i):
                    out[i, :], new[i] = 0.0, 0.0
                    continue
                new[i] = self.score_new()
                if likely:
                    self.score_likely(&prior[0], -INFINITY, &row[0])
                else:
                    self.score(&row[0])
                for k in range(self.n_slots):
                    out[i, k] = row[k]
        return np.asarray(out), np.asarray(new)

    def likely_scores(self, Py_ssize_t row, log_prior, double known):
        """``score_likely`` for one row, (n_slots,), where ``known`` is a known lower bound; for tests."""
        self._check(row, 0)
        cdef double[::1] prior = padded_prior(log_prior, self.n_slots, self.capacity)
        cdef double[::1] out = aligned_empty(self.capacity, np.float64)
        self.begin(row)
        self.score_likely(&prior[0], known, &out[0])
        return np.asarray(out)[:self.n_slots]

    def place(self, int slot):
        """Labels that assign all rows to one slot; -1 for rows that carry no information."""
        cdef Py_ssize_t i
        cdef int[::1] labels = np.empty(self.n_rows, dtype=np.intc)
        for i in range(self.n_rows):
            labels[i] = slot if self.begin(i) else -1
        return np.asarray(labels)

    def score_one_without(self, Py_ssize_t row, Py_ssize_t slot, double mass):
        """Log predictive density of a row in one slot, minus ``mass`` times the row's own statistics; for tests."""
        self._check(row, slot)
        self.begin(row)
        return self.score_without(slot, mass)

    def move_one(self, Py_ssize_t row, Py_ssize_t slot, double change):
        """Add ``change`` times the statistics of a row to a slot."""
        self._check(row, slot)
        self.begin(row)
        self.move(slot, change)

    def _check(self, Py_ssize_t row, Py_ssize_t slot):
        if not (0 <= row < self.n_rows and 0 <= slot < self.n_slots):
            raise ValueError(f"row and slot must be below {self.n_rows} and {self.n_slots}")
