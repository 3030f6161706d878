"""Ward's tree of rows by a chain of nearest neighbours (Murtagh 1983), without the table of all distances."""

import numpy as np

from libc.math cimport INFINITY


cdef extern from "clusters/ward.h" nogil:
    void sparsemix_ward_rises(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, const double*, Py_ssize_t, double*)


def merge(
    double[:, ::1] means,      # INOUT (D, n) columns are rows; then undefined
    double[::1] heights,       # OUT   (n - 1,) rise of the sum of squares within clusters by each merge
    Py_ssize_t[:, ::1] pairs,  # OUT   (n - 1, 2) a row of each of the two clusters
    double alike,              # largest ratio of rises that may differ by round-off
):
    """All merges, not in the order of their heights; False at the first one that has an alternative."""
    cdef Py_ssize_t d = means.shape[0], n = means.shape[1], length = 0, left = n, a, b, j, k
    cdef double least, second, share
    cdef bint unique = True
    if d == 0 or n == 0 or heights.shape[0] != n - 1 or pairs.shape[0] != n - 1 or pairs.shape[1] != 2:
        raise ValueError("means must not be empty, and heights and pairs must have one entry less than rows")
    cdef Py_ssize_t[::1] rows = np.arange(n), chain = np.empty(n, dtype=np.intp)  # a row of each cluster; clusters
    cdef double[::1] sizes = np.ones(n), rises = np.empty(n)
    with nogil:
        while left > 1:
            if length == 0:
                chain[0] = 0
                length = 1
            a = chain[length - 1]
            sparsemix_ward_rises(left, d, &means[0, 0], n, &sizes[0], a, &rises[0])
            rises[a] = least = second = INFINITY
            b = 0
            for k in range(left):
                if rises[k] < least:
                    second = least
                    least = rises[k]
                    b = k
                elif rises[k] < second:
                    second = rises[k]
            if second <= alike * least:
                unique = False
                break
            if length == 1 or b != chain[length - 2]:
                chain[length] = b
                length += 1
                continue
            length -= 2
            left -= 1
            heights[left - 1] = least
            pairs[left - 1, 0] = rows[a]
            pairs[left - 1, 1] = rows[b]
            share = sizes[b] / (sizes[a] + sizes[b])
            for j in range(d):
                means[j, a] += share * (means[j, b] - means[j, a])
                means[j, b] = means[j, left]
            sizes[a] += sizes[b]
            sizes[b] = sizes[left]  # the last cluster fills the gap
            rows[b] = rows[left]
            for k in range(length):
                if chain[k] == left:
                    chain[k] = b
    return unique


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
