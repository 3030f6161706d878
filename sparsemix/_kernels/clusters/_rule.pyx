"""The prior in a sweep over rows: weights of clusters, and the responsibilities of a row given its scores."""

import numpy as np

from libc.math cimport INFINITY, exp, isfinite, log, log1p

from sparsemix._kernels.clusters._clusters cimport Clusters
from sparsemix._kernels.vectors._simd cimport instruction_level
from sparsemix._kernels.vectors._topl cimport top_l

from sparsemix._kernels.vectors._simd import aligned_empty


cdef extern from "clusters/nggp.h" nogil:
    double sparsemix_nggp_log_new(double, double, const sparsemix_nggp*, int, double*)


cdef extern from "clusters/weigh.h" nogil:
    enum:
        SPARSEMIX_PADDING
    void sparsemix_weigh(int, const double*, const double*, Py_ssize_t, double*, double*, double*)


cdef extern from *:
    """
    /* Responsibilities below this share of a row are zero. */
    #define SMALLEST_SHARE 1e-6
    /* Smaller counts are round-off of zero. */
    #define NOTHING 1e-9
    """
    double SMALLEST_SHARE
    double NOTHING


PROGRESS = {"n_slots": N_SLOTS, "next_id": NEXT_ID, "n_rows": N_ROWS, "n_read": N_READ}
TOTALS = {"mass": MASS, "expected": EXPECTED, "usable": USABLE, "log_u": LOG_U}


cdef inline double log_sum(double a, double b) noexcept nogil:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a if b == -INFINITY else a + log1p(exp(b - a))


cdef class Rule:
    """Prior weights of clusters and responsibilities of a row: n_k - sigma per cluster, one weight for a new one.

    ``sums`` holds the mass of all clusters, the expected number of clusters E[K], the sum of max(n_k - sigma, 0), and
    the last mode of log U. It changes in place, like ``counts`` and ``absent``.

    A kernel call also records in ``progress`` the number of slots in use and of rows seen, and numbers new slots in
    ``ids``. No Python code runs between its first and last change, so an exception never sees a partial update.
    """

    def __init__(
        self,
        double[::1] counts,             # INOUT (capacity,) n_k
        double[::1] absent,             # INOUT (capacity,) probability that no row so far is of the cluster
        double[::1] sums,               # INOUT (4,)
        Py_ssize_t n_slots,             # IN    in use
        double concentration,           # IN    a
        double discount,                # IN    sigma
        double tilt,                    # IN    tau
        double threshold,               # IN    epsilon
        double theta=0.0,               # IN    of Pitman and Yor's process; positive only if tau = 0
        Py_ssize_t n_nonzero=0,         # IN    L; 0 is no limit
        Py_ssize_t max_components=0,    # IN    0 is no limit
        bint quadrature=False,          # IN    U integrated out, or its mode
        bint recursion=True,            # IN    E[K] by the recursion, or the number of clusters
        int64_t[::1] ids=None,          # INOUT (capacity,) number of each cluster; or None
        int64_t[::1] progress=None,     # INOUT (4,); or None
    ):
        cdef Py_ssize_t k, capacity = counts.shape[0]
        if absent.shape[0] != capacity or sums.shape[0] != 4 or not 0 <= n_slots <= capacity:
            raise ValueError("absent must be as long as counts, sums (4,), n_slots at most the capacity")
        if (ids is None) != (progress is None):
            raise ValueError("ids and progress belong together")
        if ids is not None and (ids.shape[0] != capacity or progress.shape[0] != 4):
            raise ValueError("ids must be as long as counts, progress (4,)")
        self.ids, self.progress = ids, progress
        self.prior.a, self.prior.sigma, self.prior.tau = concentration, discount, tilt
        self.prior.theta = theta
        self.quadrature, self.recursion = quadrature, recursion
        self.threshold, self.n_nonzero, self.max_components = threshold, n_nonzero, max_components
        self.counts, self.absent, self.sums = counts, absent, sums
        self.level = instruction_level()
        size = (capacity // SPARSEMIX_PADDING + 2) * SPARSEMIX_PADDING
        self.log_prior = aligned_empty(size, np.float64)
        self.scores = aligned_empty(size, np.float64)
        self.shares = aligned_empty(size, np.float64)
        self.values, self.heap = np.empty(size), np.empty(size)
        self.slots, self.chosen = np.empty(size, dtype=np.intc), np.empty(size, dtype=np.intc)
        self.n_live = 0
        for k in range(size):
            self.log_prior[k], self.scores[k] = -INFINITY, 0.0
        for k in range(n_slots):
            self.log_prior[k] = self.log_weight(counts[k])
            self.n_live += counts[k] > NOTHING

    cdef double log_weight(self, double count) noexcept nogil:
        return log(count - self.prior.sigma) if count > self.prior.sigma else -INFINITY

    cdef void set_count(self, Py_ssize_t slot, double count) noexcept nogil:
        """Change n_k and everything derived from it."""
        cdef double sigma = self.prior.sigma, old = self.counts[slot]
        count = count if count > NOTHING else 0.0
        self.sums[USABLE] += max(count - sigma, 0.0) - max(old - sigma, 0.0)
        self.sums[MASS] += count - old
        self.n_live += (count > NOTHING) - (old > NOTHING)
        self.counts[slot] = count
        self.log_prior[slot] = self.log_weight(count)

    cdef void note(self, Py_ssize_t n_slots, Py_ssize_t n_rows, Py_ssize_t n_read) noexcept nogil:
        cdef Py_ssize_t k
        if self.progress is None:
            return
        for k in range(self.progress[N_SLOTS], n_slots):
            self.ids[k] = self.progress[NEXT_ID]
            self.progress[NEXT_ID] += 1
        self.progress[N_SLOTS] = n_slots
        self.progress[N_ROWS] += n_rows
        self.progress[N_READ] += n_read

    cdef bint full(self, Py_ssize_t n_live) noexcept nogil:
        return self.max_components > 0 and n_live >= self.max_components

    cdef void weigh(self, Py_ssize_t n_slots, double* largest, double* total) noexcept nogil:
        """Shares of the clusters: exp(log prior weight + score - largest), and their total."""
        cdef Py_ssize_t padded = (n_slots + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING
        sparsemix_weigh(self.level, &self.log_prior[0], &self.scores[0], padded, &self.shares[0], largest, total)

    cdef bint respond(self, Clusters clusters, double mass, double expected, Py_ssize_t n_live, double usable,
                      double row_mass, double* log_predictive) noexcept nogil:
        """Responsibilities of the current row, in ``slots`` and ``values``; a new cluster is slot n_slots.

        ``scores`` holds the row's log predictive densities. Returns False if they are not finite.
        """
        cdef Py_ssize_t k, n_slots = clusters.n_slots
        cdef double log_new, new, old, largest = 0.0, total = 0.0, share, floor, scale
        cdef bint opens
        log_new = sparsemix_nggp_log_new(mass, expected, &self.prior, self.quadrature, &self.sums[LOG_U])
        new = log_new + clusters.score_new()
        self.weigh(n_slots, &largest, &total)
        old = largest + log(total) if total > 0.0 else -INFINITY
        log_predictive[0] = log_sum(old, new) - log(usable + exp(log_new))
        if not (new < INFINITY and largest < INFINITY and isfinite(total) and isfinite(log_predictive[0])):
            return False
        share = exp(new - log_sum(old, new))
        opens = not self.full(n_live) and (
            old == -INFINITY or (share > max(self.threshold, SMALLEST_SHARE) and share * row_mass > self.prior.sigma))
        self.n_kept = 0
        if not opens and old == -INFINITY:  # no slot is free and no cluster has weight: take the best fit
            return self.keep_best(n_slots)
        scale = exp(largest - new) if opens and new > largest else 1.0
        total = total * scale + ((1.0 if new > largest else exp(new - largest)) if opens else 0.0)
        floor = SMALLEST_SHARE * total
        for k in range(n_slots):
            share = self.shares[k] * scale
            if share >= floor:
                self.keep(k, share)
        if opens:
            self.keep(n_slots, 1.0 if new > largest else exp(new - largest))
        self.truncate()
        return True

    cdef void keep(self, Py_ssize_t slot, double share) noexcept nogil:
        self.slots[self.n_kept], self.values[self.n_kept] = slot, share
        self.n_kept += 1

    cdef bint keep_best(self, Py_ssize_t n_slots) noexcept nogil:
        cdef Py_ssize_t k, best = 0
        for k in range(1, n_slots):
            if self.scores[k] > self.scores[best]:
                best = k
        self.keep(best, 1.0)
        return n_slots > 0

    cdef void truncate(self) noexcept nogil:
        """Keep at most the L largest responsibilities, normalised."""
        cdef Py_ssize_t j
        cdef double total = 0.0
        if 0 < self.n_nonzero < self.n_kept:
            top_l(&self.values[0], <int> self.n_kept, <int> self.n_nonzero, &self.heap[0], &self.chosen[0])
            for j in range(self.n_nonzero):
                self.slots[j], self.values[j] = self.slots[self.chosen[j]], self.values[self.chosen[j]]
            self.n_kept = self.n_nonzero
        for j in range(self.n_kept):
            total += self.values[j]
        for j in range(self.n_kept):
            self.values[j] /= total


cdef class Responsibilities:
    """Sparse responsibilities of rows, written consecutively."""

    def __init__(
        self,
        int64_t[::1] starts,    # INOUT (n,) start of each row
        int[::1] lengths,       # INOUT (n,) entries of each row
        int[::1] slots,         # INOUT (size,)
        double[::1] values,     # INOUT (size,)
        Py_ssize_t used=0,      # IN    entries written
    ):
        if lengths.shape[0] != starts.shape[0] or slots.shape[0] != values.shape[0] or used > slots.shape[0]:
            raise ValueError("starts and lengths must have one entry a row, slots and values one an entry")
        self.starts, self.lengths, self.slots, self.values, self.used = starts, lengths, slots, values, used

    @property
    def n_used(self):
        """Number of entries written."""
        return self.used

    cdef bint has_capacity(self, Py_ssize_t n) noexcept nogil:
        return self.used + n <= self.slots.shape[0]

    cdef void write(self, Py_ssize_t row, Rule rule) noexcept nogil:
        cdef Py_ssize_t j
        self.starts[row], self.lengths[row] = self.used, <int> rule.n_kept
        for j in range(rule.n_kept):
            self.slots[self.used + j], self.values[self.used + j] = rule.slots[j], rule.values[j]
        self.used += rule.n_kept
