"""Ward's tree of rows by a chain of nearest neighbours (Murtagh 1983), without the table of all distances."""

import numpy as np

from libc.math cimport INFINITY


cdef extern from "clusters/ward.h" nogil:
    void sparsemix_ward_rises(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, const double*, Py_ssize_t, double*)


def merge(
    double[:, ::1] means,      # INOUT (D, n) columns are rows; then undefined
    double[::1] heights,       # OUT   (n - 1,) rise of the sum of squares within clusters by each merge
    Py_ssize_t[:, ::1] pairs,  # OUT   (n - 1, 2) a row of each of the two clusters
):
    """All merges, not in the order of their heights."""
    cdef Py_ssize_t d = means.shape[0], n = means.shape[1], length = 0, done = 0, left = n, a, b, j, k
    cdef double least, share
    if d == 0 or n == 0 or heights.shape[0] != n - 1 or pairs.shape[0] != n - 1 or pairs.shape[1] != 2:
        raise ValueError("means must not be empty, and heights and pairs must have one entry less than rows")
    # row of the cluster at a place, and the place of such a row; rows of the chain
    cdef Py_ssize_t[::1] rows = np.arange(n), places = np.arange(n), chain = np.empty(n, dtype=np.intp)
    cdef double[::1] sizes = np.ones(n), rises = np.empty(n)
    with nogil:
        while left > 1:
            if length == 0:
                chain[0] = rows[0]
                for k in range(left):
                    chain[0] = min(chain[0], rows[k])
                length = 1
            a = places[chain[length - 1]]
            sparsemix_ward_rises(left, d, &means[0, 0], n, &sizes[0], a, &rises[0])
            rises[a] = INFINITY
            b = places[chain[length - 2]] if length > 1 else <Py_ssize_t> (a == 0)
            least = rises[b]
            for k in range(left):
                if rises[k] < least or rises[k] == least and rows[k] < rows[b] and (
                    length == 1 or rows[b] != chain[length - 2]
                ):  # of equal ones the first
                    least = rises[k]
                    b = k
            if length < left and (length == 1 or rows[b] != chain[length - 2]):
                chain[length] = rows[b]
                length += 1
                continue
            heights[done] = least
            pairs[done, 0] = rows[a]
            pairs[done, 1] = rows[b]
            done += 1
            length = length - 2 if rows[b] == chain[length - 2] else 0  # round-off may close the chain
            share = sizes[b] / (sizes[a] + sizes[b])
            left -= 1
            for j in range(d):
                means[j, a] += share * (means[j, b] - means[j, a])
                means[j, b] = means[j, left]
            sizes[a] += sizes[b]
            sizes[b] = sizes[left]
            rows[a] = max(rows[a], rows[b])
            places[rows[a]] = a
            if b != left:  # the last cluster fills the gap
                rows[b] = rows[left]
                places[rows[b]] = b


def number(
    Py_ssize_t[:, ::1] pairs,  # INOUT (n - 1, 2) rows of merged clusters in order of height; then nodes n, n + 1, ...
):
    """Nodes of merged clusters, the smaller one first."""
    cdef Py_ssize_t n = pairs.shape[0] + 1, node, k, side
    cdef Py_ssize_t[::1] above = np.arange(2 * n - 1)
    with nogil:
        for k in range(n - 1):
            for side in range(2):
                node = pairs[k, side]
                while above[node] != node:
                    above[node] = above[above[node]]
                    node = above[node]
                pairs[k, side] = node
            above[pairs[k, 0]] = n + k
            above[pairs[k, 1]] = n + k
            if pairs[k, 0] > pairs[k, 1]:
                pairs[k, 0], pairs[k, 1] = pairs[k, 1], pairs[k, 0]
