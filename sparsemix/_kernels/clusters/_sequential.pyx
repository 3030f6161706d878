"""Sweeps over rows in order that update the clusters after each row: assumed density filtering, expectation propagation
and collapsed Gibbs sampling for normalized generalized gamma process mixtures with any likelihood.

Clusters holds the likelihood, Rule the prior.
"""

import numpy as np

from libc.math cimport INFINITY, exp, isfinite, log, log1p
from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.clusters._clusters cimport Clusters
from sparsemix._kernels.clusters._rule cimport EXPECTED, MASS, USABLE, Responsibilities, Rule


cdef extern from "random/random.h" nogil:
    uint64_t sparsemix_document_key(uint64_t, int64_t, int64_t)
    uint64_t sparsemix_bits(uint64_t, uint64_t)
    double sparsemix_uniform(uint64_t)


cdef extern from *:
    """
    /* Smaller counts are round-off of zero. */
    #define NOTHING 1e-9
    """
    double NOTHING


cdef inline bint has_capacity(Clusters clusters, Rule rule, Responsibilities out) noexcept nogil:
    """Whether another row has space for a new cluster and for its responsibilities."""
    return clusters.n_slots < clusters.capacity and (out is None or out.has_capacity(clusters.n_slots + 1))


cdef inline void open_slot(Clusters clusters, Rule rule, Py_ssize_t own) noexcept nogil:
    """The slot of the cluster opened by the current row: ``own``, where the row was alone, or for -1 the next slot."""
    cdef Py_ssize_t j = rule.n_kept - 1, new = clusters.n_slots
    cdef double q
    if j < 0 or rule.slots[j] != new:
        return
    if own < 0:
        rule.absent[new], rule.counts[new] = 1.0, 0.0
        clusters.n_slots += 1
        return
    q = rule.values[j]
    while j > 0 and rule.slots[j - 1] > own:
        rule.slots[j], rule.values[j] = rule.slots[j - 1], rule.values[j - 1]
        j -= 1
    rule.slots[j], rule.values[j] = <int> own, q


cdef inline void add(Clusters clusters, Rule rule, Py_ssize_t k, double q, double w) noexcept nogil:
    """Add the current row, of weight w, to cluster k with responsibility q."""
    clusters.move(k, w * q)
    rule.set_count(k, rule.counts[k] + w * q)
    rule.sums[EXPECTED] += q * rule.absent[k]
    rule.absent[k] *= 1.0 - q


cdef inline Py_ssize_t seen(Py_ssize_t stop) noexcept nogil:
    """The first row that a sweep has not seen, decoded from its return value."""
    return stop if stop >= 0 else -1 - stop


def check(Clusters clusters, Rule rule, weight, Py_ssize_t first, *responsibilities):
    """Checks shared by all sweeps."""
    cdef Responsibilities rows
    if rule.counts.shape[0] != clusters.capacity:
        raise ValueError("rule and clusters must have the same capacity")
    if weight is not None and len(weight) != clusters.n_rows:
        raise ValueError("weight must be (n,)")
    if not 0 <= first <= clusters.n_rows:
        raise ValueError(f"first must be 0 to {clusters.n_rows}")
    for rows in responsibilities:
        if rows is not None and rows.starts.shape[0] != clusters.n_rows:
            raise ValueError("responsibilities must be of (n,) rows")


def stream(
    Clusters clusters,          # INOUT
    Rule rule,                  # INOUT
    const double[::1] weight,   # IN    (n,) of rows, or None
    Py_ssize_t first,           # IN    row to begin with
    Responsibilities out,       # INOUT of rows; or None
    double[::1] sums,           # INOUT (1,) += weighted log predictive densities of rows before they were seen
    double[:, ::1] overlap=None,            # INOUT (capacity, capacity) as of ``add_overlap``; or None
    const int64_t[::1] indptr=None,         # IN    start of each row's numbers, to count those read; or None
):
    """Assumed density filtering: a row's responsibilities given the earlier rows; then the row joins the clusters.

    Returns
    -------
    row : int
        The first row not seen, because space ran out; or -1 - row for a row without finite scores.
    """
    check(clusters, rule, weight, first, out)
    if sums.shape[0] != 1:
        raise ValueError("sums must be (1,)")
    if overlap is not None and not overlap.shape[0] == overlap.shape[1] == clusters.capacity:
        raise ValueError("overlap must be (capacity, capacity)")
    if indptr is not None and indptr.shape[0] != clusters.n_rows + 1:
        raise ValueError("indptr must be (n + 1,)")
    cdef Py_ssize_t row, i, j, stop = clusters.n_rows
    cdef double w = 1.0, log_predictive = 0.0
    with nogil:
        for row in range(first, clusters.n_rows):
            if not has_capacity(clusters, rule, out):
                stop = row
                break
            if not clusters.begin(row):
                rule.n_kept = 0
            else:
                w = 1.0 if weight is None else weight[row]
                clusters.score_likely(&rule.log_prior[0], -INFINITY, &rule.scores[0])
                if not rule.respond(clusters, rule.sums[MASS], rule.sums[EXPECTED] if rule.recursion else rule.n_live,
                                    rule.n_live, rule.sums[USABLE], w, &log_predictive):
                    stop = -1 - row
                    break
                open_slot(clusters, rule, -1)
                sums[0] += w * log_predictive
                for j in range(rule.n_kept):
                    add(clusters, rule, rule.slots[j], rule.values[j], w)
                if overlap is not None:
                    for i in range(rule.n_kept):
                        for j in range(i + 1, rule.n_kept):
                            overlap[rule.slots[i], rule.slots[j]] += w * smaller(rule.values[i], rule.values[j])
            if out is not None:
                out.write(row, rule)
        row = seen(stop)
        rule.note(clusters.n_slots, row - first, 0 if indptr is None else indptr[row] - indptr[first])
    return stop


def revisit(
    Clusters clusters,                # INOUT
    Rule rule,                        # INOUT
    const double[::1] weight,         # IN    (n,) of rows, or None
    Py_ssize_t first,                 # IN    row to begin with
    Responsibilities old not None,    # IN    of rows, contained in the clusters
    Responsibilities out not None,    # INOUT the new ones
    double[::1] sums,                 # INOUT (2,) += log predictive densities given all other rows, changes |q - q_old|
):
    """Expectation propagation: a row's responsibilities given all other rows; clusters get the difference.

    A row that was alone in a cluster and opens one keeps its slot: otherwise it would change slots in every sweep.

    Returns
    -------
    row : int
        As for ``stream``.
    """
    check(clusters, rule, weight, first, old, out)
    if sums.shape[0] != 2:
        raise ValueError("sums must be (2,)")
    cdef Py_ssize_t row, j, k, own, start, n_old, n_live, stop = clusters.n_rows
    cdef double w = 1.0, log_predictive = 0.0, q, usable, rest, sigma = rule.prior.sigma
    with nogil:
        for row in range(first, clusters.n_rows):
            if not has_capacity(clusters, rule, out):
                stop = row
                break
            if not clusters.begin(row):
                rule.n_kept = 0
                out.write(row, rule)
                continue
            w = 1.0 if weight is None else weight[row]
            start, n_old = old.starts[row], old.lengths[row]
            usable, n_live, own = rule.sums[USABLE], rule.n_live, -1
            for j in range(start, start + n_old):
                k, q = old.slots[j], old.values[j]
                rest = rule.counts[k] - w * q
                if rest <= NOTHING:
                    rest = 0.0
                    n_live -= rule.counts[k] > NOTHING  # smaller counts did not include a live cluster
                    own = k if own < 0 else own
                rule.log_prior[k] = rule.log_weight(rest)
                usable += max(rest - sigma, 0.0) - max(rule.counts[k] - sigma, 0.0)
            score_others(clusters, rule, old, start, n_old, w)
            rest = rule.sums[MASS] - (w if n_old else 0.0)
            if not rule.respond(clusters, rest if rest > NOTHING else 0.0, n_live, n_live, max(usable, 0.0), w,
                                &log_predictive):
                stop = -1 - row
                break
            open_slot(clusters, rule, own)
            sums[0] += w * log_predictive
            sums[1] += w * replace(clusters, rule, old, start, n_old, w)
            out.write(row, rule)
        rule.note(clusters.n_slots, 0, 0)
    return stop


cdef void score_others(Clusters clusters, Rule rule, Responsibilities old, Py_ssize_t start, Py_ssize_t n_old,
                       double w) noexcept nogil:
    """Densities of the current row in all clusters, excluding the row; ``log_prior`` excludes it as well."""
    cdef Py_ssize_t i, k
    cdef double known = -INFINITY, log_prior
    for i in range(n_old):  # clusters that contain a part of the row are scored without it
        k = old.slots[start + i]
        log_prior = rule.log_prior[k]
        rule.values[i], rule.heap[i] = clusters.score_without(k, w * old.values[start + i]), log_prior
        known = max(known, log_prior + rule.values[i])
        rule.log_prior[k] = -INFINITY
    clusters.score_likely(&rule.log_prior[0], known, &rule.scores[0])
    for i in range(n_old):
        k = old.slots[start + i]
        rule.scores[k], rule.log_prior[k] = rule.values[i], rule.heap[i]


cdef double replace(Clusters clusters, Rule rule, Responsibilities old, Py_ssize_t start, Py_ssize_t n_old,
                    double w) noexcept nogil:
    """Replace the old responsibilities of the current row by the new ones; both have increasing slots.

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
    """Collapsed Gibbs sampling: each row's cluster is drawn from its conditional given all other rows and u.

    Returns
    -------
    row : int
        As for ``stream``.
    """
    check(clusters, rule, weight, first)
    if labels.shape[0] != clusters.n_rows or members.shape[0] != clusters.capacity or sums.shape[0] != 1:
        raise ValueError("labels must be (n,), members as long as counts, sums (1,)")
    if labels.shape[0] and np.max(labels) >= clusters.n_slots:
        raise ValueError(f"labels must be below {clusters.n_slots}")
    cdef Py_ssize_t row, k, old, stop = clusters.n_rows
    cdef double w = 1.0, new = 0.0, largest = 0.0, total = 0.0, u
    cdef bint alone
    with nogil:
        for row in range(first, clusters.n_rows):
            if not clusters.begin(row):
                continue
            w = 1.0 if weight is None else weight[row]
            old = labels[row]
            alone = old >= 0 and members[old] == 1
            if not weigh_others(clusters, rule, w, old, alone, log_new, &new, &largest, &total):
                stop = -1 - row
                break
            u = sparsemix_uniform(sparsemix_bits(
                sparsemix_document_key(seed, <int64_t> (first_row + row), <int64_t> number), 0))
            k = choose(rule, clusters.n_slots, new, largest, total, rule.full(rule.n_live) and not alone, u)
            if k < 0:  # a new cluster: the row's own slot if it is alone there, else the first slot without members
                k = old if alone else first_free(members, clusters.n_slots)
                if k == clusters.capacity:
                    stop = row
                    break
                if k == clusters.n_slots:
                    rule.counts[k] = 0.0
                    clusters.n_slots += 1
            if k == old:
                continue
            sums[0] += 1.0
            if old >= 0:
                clusters.move(old, -w)
                members[old] -= 1
                rule.set_count(old, rule.counts[old] - w if members[old] else 0.0)
            clusters.move(k, w)
            members[k] += 1
            rule.set_count(k, rule.counts[k] + w)
            labels[row] = <int> k
        rule.note(clusters.n_slots, seen(stop) - first if number == 0 else 0, 0)
    return stop


cdef bint weigh_others(Clusters clusters, Rule rule, double w, Py_ssize_t own, bint alone, double log_new,
                       double* new, double* largest, double* total) noexcept nogil:
    """Shares of clusters without the current row, which is in slot ``own``, and the log weight of a new one.

    Returns whether they are finite.
    """
    cdef double score = 0.0, log_prior = -INFINITY
    if own >= 0:
        if not alone:
            log_prior, score = rule.log_weight(rule.counts[own] - w), clusters.score_without(own, w)
        rule.log_prior[own] = -INFINITY
    clusters.score_likely(&rule.log_prior[0], log_prior + score, &rule.scores[0])
    if own >= 0:
        rule.log_prior[own], rule.scores[own] = log_prior, score
    rule.weigh(clusters.n_slots, largest, total)
    if own >= 0:
        rule.log_prior[own] = rule.log_weight(rule.counts[own])
    new[0] = log_new + clusters.score_new()
    return isfinite(new[0]) and largest[0] < INFINITY and isfinite(total[0])


def conditional(
    Clusters clusters,      # IN
    Rule rule,              # IN
    double weight,          # IN    of the row
    Py_ssize_t row,         # IN
    Py_ssize_t own,         # IN    its slot, -1 has none
    bint alone,             # IN    whether it is the only row there
    double log_new,         # IN
):
    """The distribution from which ``draw`` draws a row's cluster, (n_slots + 1,); the last entry is a new cluster."""
    check(clusters, rule, None, row)
    if not (row < clusters.n_rows and -1 <= own < clusters.n_slots):
        raise ValueError("row and own must be a row and a slot")
    cdef double new = 0.0, largest = 0.0, total = 0.0
    cdef bint full = rule.full(rule.n_live) and not alone
    clusters.begin(row)
    weigh_others(clusters, rule, weight, own, alone, log_new, &new, &largest, &total)
    shares = np.append(np.asarray(rule.shares)[:clusters.n_slots], 0.0)
    if total <= 0.0:
        shares[:] = 0.0
    if total <= 0.0 or not full:
        scale = max(largest, new)
        shares *= exp(largest - scale)
        shares[clusters.n_slots] = exp(new - scale)
    return shares / shares.sum()


cdef inline Py_ssize_t first_free(const int64_t[::1] members, Py_ssize_t n_slots) noexcept nogil:
    """The first free slot, the same however rows are cut into blocks; n_slots if none is free."""
    cdef Py_ssize_t k
    for k in range(n_slots):
        if members[k] == 0:
            return k
    return n_slots


cdef Py_ssize_t choose(Rule rule, Py_ssize_t n_slots, double new, double largest, double total, bint full,
                       double u) noexcept nogil:
    """A slot drawn in proportion to the shares, or -1 for a new cluster."""
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
    return last  # round-off went past the last slot


def rename(Responsibilities resp, const int[::1] index):
    """Renumber slots by ``index`` and sort them again; adds up two entries of one slot.

    Entries whose slot becomes -1 are dropped, and the remaining entries of their row are renormalised.
    """
    cdef Py_ssize_t row, i, j, start, n
    cdef int slot
    cdef double value, total
    with nogil:
        for row in range(resp.starts.shape[0]):
            start, n, total = resp.starts[row], 0, 0.0
            for j in range(start, start + resp.lengths[row]):
                slot, value = index[resp.slots[j]], resp.values[j]
                if slot < 0:
                    continue
                total += value
                i = start + n
                while i > start and resp.slots[i - 1] > slot:
                    i -= 1
                if i > start and resp.slots[i - 1] == slot:
                    resp.values[i - 1] += value
                    continue
                insert(resp, i, start + n, slot, value)
                n += 1
            for j in range(start, start + n):
                resp.values[j] /= total
            resp.lengths[row] = <int> n


cdef inline void insert(Responsibilities resp, Py_ssize_t at, Py_ssize_t end, int slot, double value) noexcept nogil:
    """Insert an entry at a position."""
    cdef Py_ssize_t j
    for j in range(end, at, -1):
        resp.slots[j], resp.values[j] = resp.slots[j - 1], resp.values[j - 1]
    resp.slots[at], resp.values[at] = slot, value


ctypedef double (*of_two)(double p, double q) noexcept nogil


cdef double smaller(double p, double q) noexcept nogil:
    return min(p, q)


cdef double entropy_of_two(double p, double q) noexcept nogil:
    return p * log1p(q / p) + q * log1p(p / q) if p > 0.0 and q > 0.0 else 0.0


cdef void add_shared(Responsibilities resp, const double[::1] weight, of_two function, double[:, ::1] sums):
    """Sums over rows of a function of the responsibilities of two clusters, for all pairs."""
    cdef Py_ssize_t row, i, j, end
    cdef double w
    with nogil:
        for row in range(resp.starts.shape[0]):
            w = 1.0 if weight is None else weight[row]
            end = resp.starts[row] + resp.lengths[row]
            for i in range(resp.starts[row], end):
                for j in range(i + 1, end):
                    sums[resp.slots[i], resp.slots[j]] += w * function(resp.values[i], resp.values[j])


def add_overlap(
    Responsibilities resp,      # IN    of rows
    const double[::1] weight,   # IN    (n,) of rows, or None
    double[:, ::1] overlap,     # INOUT (capacity, capacity) += sums over rows of min(q_k, q_l), for k < l
):
    """Overlap of pairs of clusters: the responsibility they share in rows."""
    add_shared(resp, weight, smaller, overlap)


def add_entropy(
    Responsibilities resp,      # IN    of rows
    const double[::1] weight,   # IN    (n,) of rows, or None
    double[:, ::1] entropy,     # INOUT (capacity, capacity) += entropy that a merge removes, for k < l
):
    """Entropy that a merge of two clusters removes: sum over rows of (q_k + q_l) H(q_k / (q_k + q_l))."""
    add_shared(resp, weight, entropy_of_two, entropy)


def add_up(
    Clusters clusters,          # INOUT
    Rule rule,                  # INOUT
    const double[::1] weight,   # IN    (n,) of rows, or None
    Responsibilities resp,      # IN    of rows
):
    """Add rows to clusters with their responsibilities."""
    check(clusters, rule, weight, 0, resp)
    cdef Py_ssize_t row, j
    cdef double w
    with nogil:
        for row in range(clusters.n_rows):
            if not clusters.begin(row):
                continue
            w = 1.0 if weight is None else weight[row]
            for j in range(resp.starts[row], resp.starts[row] + resp.lengths[row]):
                add(clusters, rule, resp.slots[j], resp.values[j], w)
