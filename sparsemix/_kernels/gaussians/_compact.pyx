"""Compact clusters of few rows: greedy k-means++ and Lloyd's k-means, and the nearest neighbours of rows."""

import numpy as np

from libc.math cimport INFINITY

from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty


cdef extern from "gaussians/compact.h" nogil:
    enum:
        SPARSEMIX_POINTS
    void sparsemix_within(int, const double*, Py_ssize_t, double, unsigned char*)
    void sparsemix_squares(int, const double*, Py_ssize_t, const double*, Py_ssize_t, double*)
    Py_ssize_t sparsemix_nearest_points(
        int, Py_ssize_t, const double*, Py_ssize_t, const double*, Py_ssize_t, Py_ssize_t, double*, int*, double*)


cdef extern from "gaussians/outer.h" nogil:
    void sparsemix_outer(int isa, const double* y, Py_ssize_t n, Py_ssize_t width, double* square)


cdef enum:
    GATHER = 128  # differences gathered at once


cdef Py_ssize_t padded_points(Py_ssize_t n) noexcept nogil:
    return (n + SPARSEMIX_POINTS - 1) // SPARSEMIX_POINTS * SPARSEMIX_POINTS


cdef double[:, ::1] empty_points(Py_ssize_t d, Py_ssize_t n):
    """Points as columns, those of the padding infinitely far."""
    points = aligned_empty(d * padded_points(n), np.float64).reshape(d, -1)
    points[:, n:] = np.inf
    return points


cdef check_rows(const double[:, ::1] x, const double[::1] weight, double[:, ::1] centres):
    if x.shape[0] == 0 or centres.shape[0] == 0 or x.shape[1] == 0:
        raise ValueError("rows, columns and centres must not be empty")
    if weight.shape[0] != x.shape[0] or centres.shape[1] != x.shape[1]:
        raise ValueError("weight must be (n,) and centres (K, D) for x (n, D)")


def plus_plus(
    const double[:, ::1] x,         # IN  (n, D)
    const double[::1] weight,       # IN  (n,) not all zero
    const double[:, ::1] uniforms,  # IN  (K, T) random numbers in [0, 1); the first line needs one
    double[:, ::1] centres,         # OUT (K, D)
):
    """Rows chosen as centres by greedy k-means++ (Arthur & Vassilvitskii 2007).

    T rows are drawn in proportion to weight times the squared distance to the nearest centre so far. The one that
    leaves the smallest sum of these becomes the next centre. Where all rows are centres, rows are drawn by weight.
    """
    check_rows(x, weight, centres)
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], trials = uniforms.shape[1], i, j, k, t, best, padded
    if uniforms.shape[0] != centres.shape[0] or trials < 1:
        raise ValueError("uniforms must be (K, T)")
    padded = padded_points(trials)
    cdef double[:, ::1] points = empty_points(d, trials), squares = empty_points(n, trials)
    cdef double[::1] nearest = np.ones(n), sums = np.empty(n), left = np.empty(trials)
    cdef int isa = instruction_level()
    with nogil:
        for k in range(centres.shape[0]):
            if not weighted_sums(weight, nearest, sums):
                nearest[:] = 1.0
                weighted_sums(weight, nearest, sums)
                nearest[:] = 0.0
            for t in range(trials):
                i = drawn(sums, uniforms[k, t])
                for j in range(d):
                    points[j, t] = x[i, j]
                left[t] = 0.0
                if k == 0:
                    break
            for i in range(n):
                sparsemix_squares(isa, &x[i, 0], d, &points[0, 0], padded, &squares[i, 0])
                if k > 0:
                    for t in range(trials):
                        left[t] += weight[i] * min(nearest[i], squares[i, t])
            best = 0
            for t in range(1, trials if k > 0 else 1):
                best = t if left[t] < left[best] else best
            for j in range(d):
                centres[k, j] = points[j, best]
            for i in range(n):
                nearest[i] = squares[i, best] if k == 0 else min(nearest[i], squares[i, best])


cdef bint weighted_sums(const double[::1] weight, const double[::1] nearest, double[::1] sums) noexcept nogil:
    """Cumulated sums of weight times distance; whether their end is positive."""
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(sums.shape[0]):
        total += weight[i] * nearest[i]
        sums[i] = total
    return total > 0.0


cdef Py_ssize_t drawn(const double[::1] sums, double uniform) noexcept nogil:
    """The first row whose cumulated sum exceeds a random share of the last one."""
    cdef Py_ssize_t low = 0, high = sums.shape[0] - 1, middle
    cdef double level = uniform * sums[high]
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > level:
            high = middle
        else:
            low = middle + 1
    return low


def lloyd(
    const double[:, ::1] x,     # IN    (n, D)
    const double[::1] weight,   # IN    (n,)
    double[:, ::1] centres,     # INOUT (K, D)
    int[::1] labels,            # OUT   (n,) the nearest centre of each row
    Py_ssize_t max_iter,        # IN    most steps of the centres
    double tol,                 # IN    they end when the squares of a step of all centres sum to this, or labels stay
):
    """Lloyd's k-means; returns the weighted sum of squared distances to the nearest centres.

    A centre without rows moves to the row that is farthest from its centre.
    """
    check_rows(x, weight, centres)
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], n_centres = centres.shape[0], i, j, k, step, padded
    if labels.shape[0] != n:
        raise ValueError("labels must be (n,)")
    padded = padded_points(n_centres)
    cdef double[:, ::1] points = empty_points(d, n_centres), sums = np.empty((n_centres, d))
    cdef double[::1] nearest = np.empty(n), scratch = aligned_empty(padded, np.float64), sizes = np.empty(n_centres)
    cdef double moved, inertia = 0.0
    cdef int isa = instruction_level()
    labels[:] = -1
    with nogil:
        for step in range(max_iter + 1):
            for k in range(n_centres):
                for j in range(d):
                    points[j, k] = centres[k, j]
            i = sparsemix_nearest_points(isa, n, &x[0, 0], d, &points[0, 0], padded, n_centres, &scratch[0],
                                         &labels[0], &nearest[0])
            if i == 0 or step == max_iter:
                break
            add_rows(x, weight, labels, sums, sizes)
            fill_empty(x, weight, labels, nearest, sums, sizes)
            moved = 0.0
            for k in range(n_centres):
                if sizes[k] > 0.0:
                    for j in range(d):
                        sums[k, j] /= sizes[k]
                        moved += (sums[k, j] - centres[k, j]) * (sums[k, j] - centres[k, j])
                        centres[k, j] = sums[k, j]
            if moved <= tol:
                max_iter = step + 1
        for i in range(n):
            inertia += weight[i] * nearest[i]
    return inertia


cdef void add_rows(const double[:, ::1] x, const double[::1] weight, const int[::1] labels, double[:, ::1] sums,
                   double[::1] sizes) noexcept nogil:
    """Sums and weights of the rows of each label."""
    cdef Py_ssize_t i, j, k
    sums[:] = 0.0
    sizes[:] = 0.0
    for i in range(x.shape[0]):
        k = labels[i]
        sizes[k] += weight[i]
        for j in range(x.shape[1]):
            sums[k, j] += weight[i] * x[i, j]


cdef void fill_empty(const double[:, ::1] x, const double[::1] weight, const int[::1] labels, double[::1] nearest,
                     double[:, ::1] sums, double[::1] sizes) noexcept nogil:
    """Give each centre without rows the row that adds most to the sum of squares."""
    cdef Py_ssize_t i, j, k, far, owner
    for k in range(sizes.shape[0]):
        if sizes[k] > 0.0:
            continue
        far = 0
        for i in range(1, x.shape[0]):
            far = i if weight[i] * nearest[i] > weight[far] * nearest[far] else far
        owner = labels[far]
        if not weight[far] * nearest[far] > 0.0 or not sizes[owner] > weight[far]:
            return
        sizes[k], nearest[far] = weight[far], 0.0
        sizes[owner] -= weight[far]
        for j in range(x.shape[1]):
            sums[k, j] = weight[far] * x[far, j]
            sums[owner, j] -= sums[k, j]


def nearest_rows(
    const double[:, ::1] x,     # IN  (n, D)
    Py_ssize_t[:, ::1] near,    # INOUT (m, k) for each of the first m rows its k nearest ones, without itself
):
    """Neighbours by Euclidean distance, the nearest first, and of equally distant ones the first row.

    ``near`` begins with -1, or with k other rows for each, which save time if they are near.
    """
    cdef Py_ssize_t n = x.shape[0], d = x.shape[1], kept = near.shape[1], i, j, padded
    cdef double limit
    if near.shape[0] > n or kept >= n or d == 0:
        raise ValueError("near must be (m, k) with m <= n and k < n, and rows must have columns")
    if kept == 0 or near.shape[0] == 0:
        return
    padded = padded_points(n)
    cdef double[:, ::1] points = empty_points(d, n)
    np.asarray(points)[:, :n] = np.asarray(x).T
    cdef double[::1] squares = aligned_empty(padded, np.float64), best = np.empty(kept)
    cdef unsigned char[::1] within = np.empty(padded // SPARSEMIX_POINTS, dtype=np.uint8)
    cdef int isa = instruction_level()
    with nogil:
        for i in range(near.shape[0]):
            sparsemix_squares(isa, &x[i, 0], d, &points[0, 0], padded, &squares[0])
            squares[i] = INFINITY
            limit = 0.0
            for j in range(kept):
                limit = max(limit, squares[near[i, j]] if 0 <= near[i, j] < n else INFINITY)
            sparsemix_within(isa, &squares[0], padded, limit, &within[0])
            keep_least(squares, n, i, within, limit, best, near[i])


cdef void keep_least(const double[::1] squares, Py_ssize_t n, Py_ssize_t own, const unsigned char[::1] within,
                     double limit, double[::1] best, Py_ssize_t[::1] names) noexcept nogil:
    """Numbers of the least squares in increasing order, of which enough are at most ``limit``.

    Blocks without one of them, as ``within`` says, are skipped.
    """
    cdef Py_ssize_t kept = best.shape[0], found = 0, block, first, j, at
    for block in range(within.shape[0]):
        if not within[block]:
            continue
        first = block * SPARSEMIX_POINTS
        for j in range(first, min(first + SPARSEMIX_POINTS, n)):
            if j == own or not (squares[j] < best[kept - 1] if found == kept else squares[j] <= limit):
                continue
            at = found if found < kept else kept - 1
            found = min(found + 1, kept)
            while at > 0 and squares[j] < best[at - 1]:
                best[at], names[at] = best[at - 1], names[at - 1]
                at -= 1
            best[at], names[at] = squares[j], j


def products_of_differences(
    const double[:, ::1] x,           # IN  (n, D)
    const Py_ssize_t[:, ::1] near,    # IN  (m, k) rows to compare with each of the first m
    double[:, ::1] out,               # OUT (D, D) sum of the outer products of their differences
):
    """Scatter of rows about their neighbours."""
    cdef Py_ssize_t d = x.shape[1], i, j, at
    if near.shape[0] > x.shape[0] or out.shape[0] != d or out.shape[1] != d:
        raise ValueError("near must be (m, k) with m <= n, and out (D, D)")
    if near.size and not 0 <= np.min(near) <= np.max(near) < x.shape[0]:
        raise ValueError("near must name rows")
    cdef Py_ssize_t width = (d + 15) // 16 * 16, filled = 0
    cdef double[:, ::1] square = aligned_empty(width * width, np.float64).reshape(width, width)
    cdef double[:, ::1] apart = aligned_empty(GATHER * width, np.float64).reshape(GATHER, width)
    cdef int isa = instruction_level()
    square[:] = 0.0
    apart[:] = 0.0  # the padding stays zero
    with nogil:
        for i in range(near.shape[0]):
            for at in range(near.shape[1]):
                for j in range(d):
                    apart[filled, j] = x[i, j] - x[near[i, at], j]
                filled += 1
                if filled == GATHER:
                    sparsemix_outer(isa, &apart[0, 0], filled, width, &square[0, 0])
                    filled = 0
        sparsemix_outer(isa, &apart[0, 0], filled, width, &square[0, 0])
        for i in range(d):
            for j in range(i + 1):
                out[i, j] = out[j, i] = square[i, j]
