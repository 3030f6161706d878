"""Sequential allocation of a cluster's rows to two clusters, for split and merge proposals."""

from libc.math cimport INFINITY, exp, isfinite, log, log1p
from libc.stdint cimport uint64_t

from sparsemix._kernels.clusters._clusters cimport Clusters


cdef extern from "random/random.h" nogil:
    uint64_t sparsemix_bits(uint64_t, uint64_t)
    double sparsemix_uniform(uint64_t)


def allocate(
    Clusters clusters,      # INOUT of a block of rows; the three slots are empty before
    int[::1] sides,         # INOUT (n,) 0 or 1, which of two slots a row is in; those of rows 0 and 1 are 0 and 1
    bint given,             # IN    sides are as they are, else they are drawn
    Py_ssize_t first,       # IN    slot of side 0
    Py_ssize_t second,      # IN    slot of side 1
    Py_ssize_t whole,       # IN    slot of all rows
    double discount,        # IN
    uint64_t seed,          # IN    keys the draws
):
    """Allocate rows in order to one of two slots, with probability proportional to (n - discount) p(row | slot).

    Returns
    -------
    log_q : float
        Log probability of the sides, given the first two rows.
    first, second, whole : float
        Log evidence of the rows of each slot; not finite if a row has no finite density.
    """
    if sides.shape[0] != clusters.n_rows or clusters.n_rows < 2:
        raise ValueError("sides must be (n,), of two rows at least")
    if not (0 <= min(first, second, whole) and max(first, second, whole) < clusters.capacity):
        raise ValueError(f"slots must be 0 to {clusters.capacity - 1}")
    if sides[0] != 0 or sides[1] != 1:
        raise ValueError("the first row must be on side 0, the second on side 1")
    cdef Py_ssize_t row
    cdef int side
    cdef double near = 0.0, far = 0.0, log_q = 0.0, gap, all_rows = 0.0
    cdef double[2] n
    cdef double[2] evidence
    n[0] = n[1] = evidence[0] = evidence[1] = 0.0
    with nogil:
        for row in range(clusters.n_rows):
            clusters.begin(row)
            near, far = clusters.score_without(first, 0.0), clusters.score_without(second, 0.0)
            all_rows += clusters.score_without(whole, 0.0)
            if row > 1:
                gap = near + log(n[0] - discount) - far - log(n[1] - discount)
                if not isfinite(gap):
                    all_rows = -INFINITY
                    gap = 0.0
                if not given:
                    sides[row] = sparsemix_uniform(sparsemix_bits(seed, <uint64_t> row)) >= 1.0 / (1.0 + exp(-gap))
                log_q -= softplus(-gap if sides[row] == 0 else gap)
            side = sides[row] != 0
            evidence[side] += far if side else near
            n[side] += 1.0
            clusters.move(second if side else first, 1.0)
            clusters.move(whole, 1.0)
    return log_q, evidence[0], evidence[1], all_rows


cdef inline double softplus(double x) noexcept nogil:
    return (x if x > 0.0 else 0.0) + log1p(exp(-x if x > 0.0 else x))


def transfer(
    Clusters clusters,      # INOUT
    const int[::1] sides,   # IN    (n,)
    int side,               # IN    -1 is both
    Py_ssize_t source,      # IN    a slot to take rows from; -1 is none
    Py_ssize_t target,      # IN    a slot to add them to; -1 is none
):
    """Move the rows of one side between slots."""
    cdef Py_ssize_t row
    if sides.shape[0] != clusters.n_rows or max(source, target) >= clusters.capacity:
        raise ValueError(f"sides must be (n,), slots below {clusters.capacity}")
    with nogil:
        for row in range(clusters.n_rows):
            if side >= 0 and sides[row] != side:
                continue
            clusters.begin(row)
            if source >= 0:
                clusters.move(source, -1.0)
            if target >= 0:
                clusters.move(target, 1.0)
