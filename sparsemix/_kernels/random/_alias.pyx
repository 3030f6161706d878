"""Alias tables: constant-time draws from any distribution over n entries, once the table is built."""

import numpy as np

from libc.math cimport isfinite

ctypedef fused real:
    float
    double


cdef extern from "random/alias.h" nogil:
    int sparsemix_alias_draw(const void* prob, const int* alias, int n, double u)
    void sparsemix_alias_build(const void*, int, double, void*, int*, int*, double*)


def build(
    const real[::1] weights,   # IN  (n,) not negative, one at least positive
    real[::1] prob,            # OUT (n,) share of column i that belongs to entry i
    int[::1] alias,            # OUT (n,) entry that has the rest of the column
):
    """Vose's algorithm with two stacks, O(n)."""
    cdef int n = <int> weights.shape[0], i
    cdef double total = 0.0
    cdef bint negative = False
    if prob.shape[0] != n or alias.shape[0] != n:
        raise ValueError(f"prob and alias must be ({n},)")
    for i in range(n):
        total += weights[i]
        negative |= not weights[i] >= 0.0
    if negative or not total > 0.0 or not isfinite(total):
        raise ValueError("weights must not be negative, and their sum must be positive and finite")
    cdef int[::1] stack = np.empty(n, dtype=np.intc)
    cdef double[::1] excess = np.empty(n)
    with nogil:
        sparsemix_alias_build(&weights[0], n, total, &prob[0], &alias[0], &stack[0], &excess[0])


def draw(
    const real[::1] prob,      # IN  (n,)
    const int[::1] alias,      # IN  (n,)
    const double[::1] u,       # IN  (m,) uniform in [0, 1)
    int[::1] out,              # OUT (m,) entries
):
    """One entry per uniform number."""
    cdef int n = <int> prob.shape[0]
    cdef Py_ssize_t i
    if n == 0 or alias.shape[0] != n or out.shape[0] != u.shape[0]:
        raise ValueError("prob and alias must be of one length, not empty, and so must u and out")
    with nogil:
        for i in range(u.shape[0]):
            out[i] = sparsemix_alias_draw(&prob[0], &alias[0], n, u[i])
