"""Weights of selected pairs of a row and a component: candidate lists, their neighbours, and the best candidates.

The loops over features are in pairs_loops.h.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t, uintptr_t

from sparsemix._kernels.vectors._simd cimport instruction_level
from sparsemix._kernels.vectors._topl cimport softmax

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "gaussians/pairs.h" nogil:
    enum:
        SPARSEMIX_PAIR_BLOCK
        SPARSEMIX_PAIRS_TRIANGULAR
        SPARSEMIX_PAIRS_DIAGONAL
        SPARSEMIX_PAIRS_SPHERICAL
    ctypedef struct sparsemix_pairs:
        int shape
        Py_ssize_t n_features, n_components, factor_size, offset_size
        const Py_ssize_t* starts
        const int* rows
    Py_ssize_t sparsemix_column_size(Py_ssize_t)
    void sparsemix_log_density_pairs(
        int, const sparsemix_pairs*, const void*, const void*, const void*, const void*, void*)


cdef extern from "random/random.h" nogil:
    uint64_t sparsemix_document_key(uint64_t, int64_t, int64_t)
    uint64_t sparsemix_bits(uint64_t, uint64_t)
    unsigned int sparsemix_below(uint64_t, unsigned int)


TRIANGULAR = SPARSEMIX_PAIRS_TRIANGULAR
DIAGONAL = SPARSEMIX_PAIRS_DIAGONAL
SPHERICAL = SPARSEMIX_PAIRS_SPHERICAL
BLOCK = SPARSEMIX_PAIR_BLOCK


def by_columns(
    const real[::1] factors,    # IN  (K D (D + 1) / 2,) triangles row by row
    Py_ssize_t n_features,      # IN  D
):
    """Triangles by columns, padded, in the layout read by ``log_density``."""
    cdef Py_ssize_t size = n_features * (n_features + 1) // 2
    if n_features < 1 or factors.shape[0] % size:
        raise ValueError(f"factors must hold whole triangles of {n_features} features")
    cdef Py_ssize_t n_components = factors.shape[0] // size
    cdef Py_ssize_t padded = (n_features + SPARSEMIX_PAIR_BLOCK - 1) // SPARSEMIX_PAIR_BLOCK * SPARSEMIX_PAIR_BLOCK
    cdef Py_ssize_t total = sparsemix_column_size(n_features), k, i, j, top, at
    cdef real[::1] out = aligned_empty(n_components * total, np.float32 if real is float else np.float64)
    with nogil:
        for k in range(n_components):
            at = k * total
            for j in range(n_features):
                top = j // SPARSEMIX_PAIR_BLOCK * SPARSEMIX_PAIR_BLOCK
                for i in range(top, padded):
                    if j <= i < n_features:
                        out[at + i - top] = factors[k * size + i * (i + 1) // 2 + j]
                    else:
                        out[at + i - top] = 0
                at += padded - top
    return np.asarray(out)


def log_density(
    int shape,                      # IN  of R_k: TRIANGULAR (by columns), DIAGONAL or SPHERICAL
    const real[:, ::1] x,           # IN  (n, D)
    const real[::1] factors,        # IN  from ``by_columns``; (K D,); or (K,)
    const real[:, ::1] offsets,     # IN  (K, D) o_k, for TRIANGULAR padded with zeros and on a cache line
    const real[::1] constants,      # IN  (K,)
    const Py_ssize_t[::1] starts,   # IN  (K + 1,) pairs of component k are starts[k] to starts[k + 1]
    const int[::1] rows,            # IN  (n_pairs,) their rows
    real[::1] out,                  # OUT (n_pairs,) constants[k] - 0.5 |R_k x - o_k|^2, for pairs of these components
):
    """Log densities of pairs; the result of a pair does not depend on the other pairs."""
    cdef sparsemix_pairs s
    cdef Py_ssize_t n_components = constants.shape[0]
    s.shape, s.n_features, s.n_components = shape, x.shape[1], n_components
    s.factor_size, s.offset_size = 1, x.shape[1]
    if shape == SPARSEMIX_PAIRS_TRIANGULAR:
        s.factor_size = sparsemix_column_size(x.shape[1])
        s.offset_size = (x.shape[1] + SPARSEMIX_PAIR_BLOCK - 1) // SPARSEMIX_PAIR_BLOCK * SPARSEMIX_PAIR_BLOCK
    elif shape == SPARSEMIX_PAIRS_DIAGONAL:
        s.factor_size = x.shape[1]
    if (factors.shape[0] != n_components * s.factor_size or offsets.shape[0] != n_components
            or offsets.shape[1] != s.offset_size):
        raise ValueError(
            f"factors must hold {n_components} x {s.factor_size} numbers, offsets {n_components} x {s.offset_size}"
        )
    if starts.shape[0] != n_components + 1 or starts[0] < 0 or starts[n_components] > rows.shape[0]:
        raise ValueError("starts must lead from 0 at least to the number of pairs at most")
    if out.shape[0] != rows.shape[0]:
        raise ValueError("out must be (n_pairs,)")
    if rows.shape[0] == 0:
        return
    if shape == SPARSEMIX_PAIRS_TRIANGULAR and (<uintptr_t> &factors[0] | <uintptr_t> &offsets[0, 0]) % 64:
        raise ValueError("factors and offsets of triangles must begin on a cache line")
    s.starts, s.rows = &starts[0], &rows[0]
    cdef int level = instruction_level()
    with nogil:
        sparsemix_log_density_pairs(level, &s, &x[0, 0], &factors[0], &offsets[0, 0], &constants[0], &out[0])


def expand(
    const int[:, ::1] lists,        # IN  (n, C) components of each row
    const int[:, ::1] neighbours,   # IN  (K, G) of each component, itself among them
    const int64_t[::1] numbers,     # IN  (n,) of the rows, which key their random components
    Py_ssize_t n_random,            # IN  random components per row in addition to the neighbours,
    Py_ssize_t least,               # IN  and more until the row has this many
    uint64_t seed,                  # IN
    uint64_t visit,                 # IN
    int64_t[::1] indptr,            # OUT (n + 1,)
    int[::1] out,                   # OUT (n max(C (G + 1) + n_random, least),) of each row, none twice, its list first
):
    """Candidates of rows: the neighbours of the components on their lists, and random ones; returns their number."""
    cdef Py_ssize_t n = lists.shape[0], n_components = neighbours.shape[0], row, c, g, at = 0
    cdef int k
    cdef uint64_t key
    cdef int[::1] seen = np.full(n_components, -1, dtype=np.intc)
    if numbers.shape[0] != n or indptr.shape[0] != n + 1:
        raise ValueError("numbers must be (n,) and indptr (n + 1,)")
    if least > n_components:
        raise ValueError(f"least must be at most {n_components}")
    if out.shape[0] < n * max(lists.shape[1] * (neighbours.shape[1] + 1) + n_random, least):
        raise ValueError("out is too small")
    with nogil:
        indptr[0] = 0
        for row in range(n):
            for c in range(lists.shape[1]):
                k = lists[row, c]
                if k >= 0 and seen[k] != row:
                    seen[k], out[at] = <int> row, k
                    at += 1
            for c in range(lists.shape[1]):
                if lists[row, c] < 0:
                    continue
                for g in range(neighbours.shape[1]):
                    k = neighbours[lists[row, c], g]
                    if seen[k] != row:
                        seen[k], out[at] = <int> row, k
                        at += 1
            key = sparsemix_document_key(seed, numbers[row], <int64_t> visit)
            for c in range(n_random):
                k = <int> sparsemix_below(sparsemix_bits(key, <uint64_t> c), <unsigned int> n_components)
                if seen[k] != row:
                    seen[k], out[at] = <int> row, k
                    at += 1
            k = <int> sparsemix_below(sparsemix_bits(key, <uint64_t> n_random), <unsigned int> n_components)
            while at - indptr[row] < least:
                k = k + 1 if k + 1 < n_components else 0
                if seen[k] != row:
                    seen[k], out[at] = <int> row, k
                    at += 1
            indptr[row + 1] = at
    return at


def group(
    const int64_t[::1] indptr,      # IN  (n + 1,)
    const int[::1] candidates,      # IN  (n_pairs,) components, row by row
    Py_ssize_t[::1] starts,         # OUT (K + 1,)
    int[::1] rows,                  # OUT (n_pairs,) row of each pair, component by component
    int[::1] places,                # OUT (n_pairs,) position of each pair in the order by component
):
    """Regroup pairs from by row to by component."""
    cdef Py_ssize_t n = indptr.shape[0] - 1, n_components = starts.shape[0] - 1, row, e, k
    if candidates.shape[0] != indptr[n] or rows.shape[0] != indptr[n] or places.shape[0] != indptr[n]:
        raise ValueError("candidates, rows and places must be (n_pairs,)")
    cdef Py_ssize_t[::1] at = np.zeros(n_components + 1, dtype=np.intp)
    with nogil:
        for e in range(indptr[n]):
            at[candidates[e] + 1] += 1
        for k in range(n_components):
            at[k + 1] += at[k]
        for k in range(n_components + 1):
            starts[k] = at[k]
        for row in range(n):
            for e in range(indptr[row], indptr[row + 1]):
                k = candidates[e]
                rows[at[k]], places[e] = <int> row, <int> at[k]
                at[k] += 1


def choose(
    const int64_t[::1] indptr,      # IN  (n + 1,)
    const int[::1] candidates,      # IN  (n_pairs,) components, row by row
    const int[::1] places,          # IN  (n_pairs,)
    const real[::1] weights,        # IN  (n_pairs,) component by component
    int[:, ::1] lists,              # OUT (n, C) the best of each row, increasing; -1 as padding
    int[:, ::1] indices,            # OUT (n, L) support, increasing; or None
    double[:, ::1] values,          # OUT (n, L) responsibilities
    double[::1] log_z,              # OUT (n,) log of the sum of exp(weights) over the support
):
    """The best C candidates of each row; with ``indices``, also the responsibilities of the best L.

    Ties go to the lower component. Returns the first row without L weights of which one is finite, or -1.
    """
    cdef Py_ssize_t n = indptr.shape[0] - 1, row, start, size, bad = -1
    cdef int j, n_kept = <int> lists.shape[1], n_nonzero = 0 if indices is None else <int> indices.shape[1]
    dtype = np.float32 if real is float else np.float64
    cdef real[::1] found = np.empty(n_kept, dtype=dtype)
    cdef int[::1] names = np.empty(n_kept, dtype=np.intc), order = np.arange(n_kept, dtype=np.intc)
    if candidates.shape[0] != indptr[n] or places.shape[0] != indptr[n] or weights.shape[0] != indptr[n]:
        raise ValueError("candidates, places and weights must be (n_pairs,)")
    if lists.shape[0] != n or log_z.shape[0] != n or (
            n_nonzero and (indices.shape[0] != n or values.shape[0] != n or values.shape[1] != n_nonzero)):
        raise ValueError("lists must be (n, C), indices and values (n, L), and log_z (n,)")
    if n_nonzero > n_kept:
        raise ValueError(f"lists must be as long as the {n_nonzero} responsibilities of a row")
    with nogil:
        for row in range(n):
            start = indptr[row]
            size = best(&candidates[start], &places[start], weights, indptr[row + 1] - start, names, found)
            if size < n_nonzero or (n_nonzero and softmax(&found[0], &order[0], n_nonzero, &values[row, 0],
                                                          &log_z[row])):
                bad = row
                break
            if n_nonzero:
                for j in range(n_nonzero):
                    indices[row, j] = names[j]
                sort_names(&indices[row, 0], &values[row, 0], n_nonzero)
            for j in range(n_kept):
                lists[row, j] = names[j] if j < size else -1
            sort_names(&lists[row, 0], NULL, <int> size)
    return bad


cdef Py_ssize_t best(const int* candidates, const int* places, const real[::1] weights, Py_ssize_t size,
                     int[::1] names, real[::1] found) noexcept nogil:
    """The largest weights and their components, in decreasing order; returns their number, or -1 for NaN or +inf."""
    cdef Py_ssize_t e, j, count = 0, n_kept = names.shape[0]
    cdef int k
    cdef real w
    for e in range(size):
        k, w = candidates[e], weights[places[e]]
        if not w < <real> INFINITY:
            return -1
        if count == n_kept and (w < found[count - 1] or (w == found[count - 1] and k > names[count - 1])):
            continue
        j = count if count < n_kept else n_kept - 1
        count = min(count + 1, n_kept)
        while j > 0 and (found[j - 1] < w or (found[j - 1] == w and names[j - 1] > k)):
            names[j], found[j] = names[j - 1], found[j - 1]
            j -= 1
        names[j], found[j] = k, w
    return count


cdef inline void sort_names(int* names, double* values, int n) noexcept nogil:
    """Sort components in increasing order, and their values with them."""
    cdef int i, j, k
    cdef double v = 0.0
    for i in range(1, n):
        k, j = names[i], i
        if values:
            v = values[i]
        while j > 0 and names[j - 1] > k:
            names[j] = names[j - 1]
            if values:
                values[j] = values[j - 1]
            j -= 1
        names[j] = k
        if values:
            values[j] = v
