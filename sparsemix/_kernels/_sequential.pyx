"""Sweeps over rows in order, each of which changes its clusters at once: assumed density filtering, expectation
propagation and collapsed Gibbs sampling for normalized generalized gamma process mixtures, whatever the likelihood.

What a row says stands in Clusters, what the prior says in Rule.
"""

import numpy as np

from libc.math cimport INFINITY, exp, isfinite, log, log1p
from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels._clusters cimport Clusters
from sparsemix._kernels._simd cimport instruction_level
from sparsemix._kernels._topl cimport top_l

from sparsemix._kernels._simd import aligned_empty


cdef extern from "nggp.h" nogil:
    ctypedef struct sparsemix_nggp:
        double a, sigma, tau
    double sparsemix_nggp_log_new(double, double, const sparsemix_nggp*, int, double*)


cdef extern from "weigh.h" nogil:
    enum:
        SPARSEMIX_PADDING
    void sparsemix_weigh(int, const double*, const double*, Py_ssize_t, double*, double*, double*)


cdef extern from "random.h" nogil:
    uint64_t sparsemix_document_key(uint64_t, int64_t, int64_t)
    uint64_t sparsemix_bits(uint64_t, uint64_t)
    double sparsemix_uniform(uint64_t)


cdef extern from *:
    """
    /* Responsibilities below this share of a row are zero. */
    #define SMALLEST_SHARE 1e-6
    /* A count below this is what round-off has left of nothing. */
    #define NOTHING 1e-9
    """
    double SMALLEST_SHARE
    double NOTHING


# Places of the numbers that belong to all clusters together.
cdef enum:
    MASS = 0
    EXPECTED = 1
    USABLE = 2
    LOG_U = 3


TOTALS = {"mass": MASS, "expected": EXPECTED, "usable": USABLE, "log_u": LOG_U}


cdef inline double log_sum(double a, double b) noexcept nogil:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a if b == -INFINITY else a + log1p(exp(b - a))


cdef class Rule:
    """Prior weights of clusters, and what follows for a row: n_k - sigma for each, one weight for a new one.

    ``sums`` holds the mass of all clusters, the expected number of clusters E[K], the sum of max(n_k - sigma, 0), and
    the last mode of log U. It changes in place with ``counts`` and ``absent``.
    """

    cdef sparsemix_nggp prior
    cdef bint quadrature, recursion
    cdef double threshold
    cdef Py_ssize_t n_nonzero, max_components
    cdef double[::1] counts, absent, sums
    cdef double[::1] log_prior, scores, shares, values, heap
    cdef int[::1] slots, chosen
    cdef Py_ssize_t n_kept, n_live
    cdef int level

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
        Py_ssize_t n_nonzero=0,         # IN    L; 0 is no limit
        Py_ssize_t max_components=0,    # IN    0 is no limit
        bint quadrature=False,          # IN    U integrated out, or its mode
        bint recursion=True,            # IN    E[K] by the recursion, or the number of clusters
    ):
        cdef Py_ssize_t k, capacity = counts.shape[0]
        if absent.shape[0] != capacity or sums.shape[0] != 4 or not 0 <= n_slots <= capacity:
            raise ValueError("absent must be as long as counts, sums (4,), n_slots at most the capacity")
        self.prior.a, self.prior.sigma, self.prior.tau = concentration, discount, tilt
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

    cdef inline double log_weight(self, double count) noexcept nogil:
        return log(count - self.prior.sigma) if count > self.prior.sigma else -INFINITY

    cdef void set_count(self, Py_ssize_t slot, double count) noexcept nogil:
        """n_k changes, and what hangs on it."""
        cdef double sigma = self.prior.sigma, old = self.counts[slot]
        count = count if count > NOTHING else 0.0
        self.sums[USABLE] += max(count - sigma, 0.0) - max(old - sigma, 0.0)
        self.sums[MASS] += count - old
        self.n_live += (count > NOTHING) - (old > NOTHING)
        self.counts[slot] = count
        self.log_prior[slot] = self.log_weight(count)

    cdef bint full(self) noexcept nogil:
        return self.max_components > 0 and self.n_live >= self.max_components

    cdef bint respond(self, Clusters clusters, double mass, double expected, double usable, double row_mass,
                      double* log_predictive) noexcept nogil:
        """Responsibilities of the row at hand, in ``slots`` and ``values``; a new cluster is slot n_slots.

        ``scores`` holds the row's log predictive densities. False when they are not numbers.
        """
        cdef Py_ssize_t k, n_slots = clusters.n_slots
        cdef double log_new, new, old, largest = 0.0, total = 0.0, share, floor, scale
        cdef bint opens
        log_new = sparsemix_nggp_log_new(mass, expected, &self.prior, self.quadrature, &self.sums[LOG_U])
        new = log_new + clusters.score_new()
        sparsemix_weigh(self.level, &self.log_prior[0], &self.scores[0],
                        (n_slots + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING,
                        &self.shares[0], &largest, &total)
        old = largest + log(total) if total > 0.0 else -INFINITY
        log_predictive[0] = log_sum(old, new) - log(usable + exp(log_new))
        if not (new < INFINITY and largest < INFINITY and isfinite(log_predictive[0])):
            return False
        share = exp(new - log_sum(old, new))
        opens = not self.full() and (
            old == -INFINITY or (share > self.threshold and share * row_mass > self.prior.sigma))
        self.n_kept = 0
        if not opens and old == -INFINITY:  # no room, and no cluster with weight: the one that explains it best
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

    cdef inline void keep(self, Py_ssize_t slot, double share) noexcept nogil:
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
        """Keep at most the L largest, and let them sum to one."""
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
    """Rows of few responsibilities each, written one after the other."""

    cdef int64_t[::1] starts
    cdef int[::1] lengths, slots
    cdef double[::1] values
    cdef Py_ssize_t used

    def __init__(
        self,
        int64_t[::1] starts,    # INOUT (n,) where a row begins
        int[::1] lengths,       # INOUT (n,) and how many entries it has
        int[::1] slots,         # INOUT (size,)
        double[::1] values,     # INOUT (size,)
        Py_ssize_t used=0,      # IN    entries written
    ):
        if lengths.shape[0] != starts.shape[0] or slots.shape[0] != values.shape[0] or used > slots.shape[0]:
            raise ValueError("starts and lengths must have one entry a row, slots and values one an entry")
        self.starts, self.lengths, self.slots, self.values, self.used = starts, lengths, slots, values, used

    @property
    def n_used(self):
        """Entries written."""
        return self.used

    cdef bint has_room(self, Py_ssize_t n) noexcept nogil:
        return self.used + n <= self.slots.shape[0]

    cdef void write(self, Py_ssize_t row, Rule rule) noexcept nogil:
        cdef Py_ssize_t j
        self.starts[row], self.lengths[row] = self.used, <int> rule.n_kept
        for j in range(rule.n_kept):
            self.slots[self.used + j], self.values[self.used + j] = rule.slots[j], rule.values[j]
        self.used += rule.n_kept


cdef inline bint has_room(Clusters clusters, Rule rule, Responsibilities out) noexcept nogil:
    """Whether one more row finds a slot for a new cluster and a place for its responsibilities."""
    return clusters.n_slots < clusters.capacity and (out is None or out.has_room(clusters.n_slots + 1))


cdef inline void open_slot(Clusters clusters, Rule rule) noexcept nogil:
    """The next slot holds a cluster if the row at hand opens one."""
    cdef Py_ssize_t new = clusters.n_slots
    if rule.n_kept and rule.slots[rule.n_kept - 1] == new:
        rule.absent[new], rule.counts[new] = 1.0, 0.0
        clusters.n_slots += 1


def check(Clusters clusters, Rule rule, weight, Py_ssize_t first):
    """What all sweeps ask."""
    if rule.counts.shape[0] != clusters.capacity:
        raise ValueError("rule and clusters must have the same capacity")
    if weight is not None and len(weight) != clusters.n_rows:
        raise ValueError("weight must be (n,)")
    if not 0 <= first <= clusters.n_rows:
        raise ValueError(f"first must be 0 to {clusters.n_rows}")


def stream(
    Clusters clusters,          # INOUT
    Rule rule,                  # INOUT
    const double[::1] weight,   # IN    (n,) of rows, or None
    Py_ssize_t first,           # IN    row to begin with
    Responsibilities out,       # INOUT of rows; or None
    double[::1] sums,           # INOUT (1,) += weighted log predictive densities of rows before they were seen
):
    """Assumed density filtering: each row's responsibilities under what came before it, then added to its clusters.

    Returns
    -------
    row : int
        The first row that was not seen, for want of room; or -1 - row for one without finite scores.
    """
    check(clusters, rule, weight, first)
    cdef Py_ssize_t row, j, k, stop = clusters.n_rows
    cdef double w = 1.0, log_predictive = 0.0, q
    with nogil:
        for row in range(first, clusters.n_rows):
            if not has_room(clusters, rule, out):
                stop = row
                break
            if not clusters.begin(row):
                rule.n_kept = 0
            else:
                w = 1.0 if weight is None else weight[row]
                clusters.score(&rule.scores[0])
                if not rule.respond(clusters, rule.sums[MASS], rule.sums[EXPECTED] if rule.recursion else rule.n_live,
                                    rule.sums[USABLE], w, &log_predictive):
                    stop = -1 - row
                    break
                open_slot(clusters, rule)
                sums[0] += w * log_predictive
                for j in range(rule.n_kept):
                    k, q = rule.slots[j], rule.values[j]
                    clusters.move(k, w * q)
                    rule.set_count(k, rule.counts[k] + w * q)
                    rule.sums[EXPECTED] += q * rule.absent[k]
                    rule.absent[k] *= 1.0 - q
            if out is not None:
                out.write(row, rule)
    return stop


def revisit(
    Clusters clusters,          # INOUT
    Rule rule,                  # INOUT
    const double[::1] weight,   # IN    (n,) of rows, or None
    Py_ssize_t first,           # IN    row to begin with
    Responsibilities old,       # IN    of rows, contained in the clusters
    Responsibilities out,       # INOUT the new ones
    double[::1] sums,           # INOUT (2,) += log predictive densities of rows given all others, changes |q - q_old|
):
    """Expectation propagation: each row's responsibilities under all other rows; clusters get the difference.

    Returns
    -------
    row : int
        As for ``stream``.
    """
    check(clusters, rule, weight, first)
    cdef Py_ssize_t row, j, k, start, n_old, n_live, stop = clusters.n_rows
    cdef double w = 1.0, log_predictive = 0.0, q, usable, rest, sigma = rule.prior.sigma
    with nogil:
        for row in range(first, clusters.n_rows):
            if not has_room(clusters, rule, out):
                stop = row
                break
            if not clusters.begin(row):
                rule.n_kept = 0
                out.write(row, rule)
                continue
            w = 1.0 if weight is None else weight[row]
            start, n_old = old.starts[row], old.lengths[row]
            clusters.score(&rule.scores[0])
            usable, n_live = rule.sums[USABLE], rule.n_live
            for j in range(start, start + n_old):
                k, q = old.slots[j], old.values[j]
                rest = rule.counts[k] - w * q
                rule.scores[k] = clusters.score_without(k, w * q)
                rule.log_prior[k] = rule.log_weight(rest)
                usable += max(rest - sigma, 0.0) - max(rule.counts[k] - sigma, 0.0)
                n_live -= rest <= NOTHING
            rest = rule.sums[MASS] - w
            if not rule.respond(clusters, rest if rest > NOTHING else 0.0, n_live, max(usable, 0.0), w,
                                &log_predictive):
                stop = -1 - row
                break
            open_slot(clusters, rule)
            sums[0] += w * log_predictive
            sums[1] += w * replace(clusters, rule, old, start, n_old, w)
            out.write(row, rule)
    return stop


cdef double replace(Clusters clusters, Rule rule, Responsibilities old, Py_ssize_t start, Py_ssize_t n_old,
                    double w) noexcept nogil:
    """Give clusters the new responsibilities of the row at hand for the old ones; both have slots increasing.

    Returns the sum of the absolute changes.
    """
    cdef Py_ssize_t i = 0, j = start, k
    cdef double change, total = 0.0
    while i < rule.n_kept or j < start + n_old:
        if j == start + n_old or (i < rule.n_kept and rule.slots[i] < old.slots[j]):
            k, change = rule.slots[i], rule.values[i]
            i += 1
        elif i == rule.n_kept or old.slots[j] < rule.slots[i]:
            k, change = old.slots[j], -old.values[j]
            j += 1
        else:
            k, change = rule.slots[i], rule.values[i] - old.values[j]
            i += 1
            j += 1
        if change != 0.0:
            clusters.move(k, w * change)
        rule.set_count(k, rule.counts[k] + w * change)
        total += abs(change)
    return total


def draw(
    Clusters clusters,          # INOUT
    Rule rule,                  # INOUT the counts are those of the labels
    const double[::1] weight,   # IN    (n,) of rows, or None
    Py_ssize_t first,           # IN    row to begin with
    int[::1] labels,            # INOUT (n,) slot of each row, -1 has none
    int64_t[::1] members,       # INOUT (capacity,) rows in each slot
    double log_new,             # IN    log weight of a new cluster, log a + sigma log(u + tau)
    uint64_t seed,              # IN
    uint64_t first_row,         # IN    number of the block's first row
    uint64_t number,            # IN    of the sweep
    double[::1] sums,           # INOUT (1,) += rows that changed their cluster
):
    """Collapsed Gibbs sampling: each row's cluster drawn from its conditional given all others and u.

    Returns
    -------
    row : int
        As for ``stream``.
    """
    check(clusters, rule, weight, first)
    if labels.shape[0] != clusters.n_rows or members.shape[0] != clusters.capacity:
        raise ValueError("labels must be (n,), members as long as counts")
    cdef Py_ssize_t row, k, old, n_free = 0, stop = clusters.n_rows
    cdef double w = 1.0, new, largest = 0.0, total = 0.0, rest, u
    cdef bint alone
    cdef int[::1] free = np.empty(clusters.capacity, dtype=np.intc)
    with nogil:
        for k in range(clusters.n_slots - 1, -1, -1):
            if members[k] == 0:
                free[n_free] = <int> k
                n_free += 1
        for row in range(first, clusters.n_rows):
            if n_free == 0 and clusters.n_slots == clusters.capacity:
                stop = row
                break
            if not clusters.begin(row):
                continue
            w = 1.0 if weight is None else weight[row]
            old = labels[row]
            clusters.score(&rule.scores[0])
            if old >= 0:
                rest = rule.counts[old] - w if members[old] > 1 else 0.0
                rule.log_prior[old] = rule.log_weight(rest)
                if members[old] > 1:
                    rule.scores[old] = clusters.score_without(old, w)
            new = log_new + clusters.score_new()
            sparsemix_weigh(rule.level, &rule.log_prior[0], &rule.scores[0],
                            (clusters.n_slots + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING,
                            &rule.shares[0], &largest, &total)
            if not (isfinite(new) and largest < INFINITY):
                stop = -1 - row
                break
            alone = old >= 0 and members[old] == 1
            u = sparsemix_uniform(sparsemix_bits(
                sparsemix_document_key(seed, <int64_t> (first_row + row), <int64_t> number), 0))
            k = choose(rule, clusters.n_slots, new, largest, total, rule.full() and not alone, u)
            if k < 0:  # a new one: the row's own if it is alone there, else a free slot, else the next
                if alone:
                    k = old
                elif n_free:
                    n_free -= 1
                    k = free[n_free]
                else:
                    k = clusters.n_slots
                    rule.counts[k] = 0.0
                    clusters.n_slots += 1
            if k == old:
                rule.log_prior[old] = rule.log_weight(rule.counts[old])
                continue
            sums[0] += 1.0
            if old >= 0:
                clusters.move(old, -w)
                members[old] -= 1
                rule.set_count(old, rule.counts[old] - w if members[old] else 0.0)
                if members[old] == 0:
                    free[n_free] = <int> old
                    n_free += 1
            clusters.move(k, w)
            members[k] += 1
            rule.set_count(k, rule.counts[k] + w)
            labels[row] = <int> k
    return stop


cdef Py_ssize_t choose(Rule rule, Py_ssize_t n_slots, double new, double largest, double total, bint full,
                       double u) noexcept nogil:
    """A slot in proportion to the shares, or -1 for a new cluster."""
    cdef Py_ssize_t k, last = -1
    cdef double share = 1.0, rest
    if total > 0.0:
        share = 1.0 / (1.0 + exp(largest + log(total) - new))
    if not full or total <= 0.0:
        if u < share:
            return -1
        u = (u - share) / (1.0 - share)
    rest = u * total
    for k in range(n_slots):
        if rule.shares[k] > 0.0:
            last = k
            if rest < rule.shares[k]:
                return k
            rest -= rule.shares[k]
    return last  # by round-off behind the last one
