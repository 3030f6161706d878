"""Components that are linear in a sparse row: weights under all or selected components, sums of rows, word tables.

The parameters of a component are contiguous. For weights under all components, the words of a tile are gathered into
panels of several components, which stay in the cache while all rows are processed: linear_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t

from sparsemix._kernels.vectors._simd cimport instruction_level

ctypedef fused real:
    float
    double


cdef extern from "documents/linear.h" nogil:
    void sparsemix_word_logs(int, const double*, Py_ssize_t, double, int, double, void*)
    enum:
        SPARSEMIX_PANEL
    void sparsemix_fill_panel(int, const void*, Py_ssize_t, Py_ssize_t, const int*, Py_ssize_t, void*)
    void sparsemix_panel_products(
        int, const void*, const int64_t*, const int*, const void*, Py_ssize_t, const void*, Py_ssize_t, Py_ssize_t,
        void*)


def word_logs(
    const double[:, ::1] sums,      # IN  (K, V) expected counts; those below zero are round-off
    double prior,                   # IN  of each word
    bint digamma,                   # IN  f: digamma, or else the logarithm
    const double[::1] totals,       # IN  (K,) f of the sums of prior + sums over words
    Py_ssize_t first,               # IN  components to make
    Py_ssize_t last,                # IN
    real[:, ::1] out,               # OUT (K, V) f(prior + sums) - totals
):
    """Tables of E[log phi], or of log E[phi]."""
    cdef Py_ssize_t k, n_words = sums.shape[1]
    cdef int level = instruction_level()
    if out.shape[0] != sums.shape[0] or out.shape[1] != n_words or totals.shape[0] != sums.shape[0]:
        raise ValueError("out must have the shape of sums, and totals one number a component")
    if not 0 <= first <= last <= sums.shape[0]:
        raise ValueError(f"there are no components {first} to {last}")
    with nogil:
        for k in range(first if n_words else last, last):
            sparsemix_word_logs(level, &sums[k, 0], n_words, prior, digamma, totals[k], &out[k, 0])


cdef inline real product(const real* natural, const int* words, const real* counts, Py_ssize_t n) noexcept nogil:
    """counts . natural[words], in four independent sums."""
    cdef real a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a = a + counts[i] * natural[words[i]]
        b = b + counts[i + 1] * natural[words[i + 1]]
        c = c + counts[i + 2] * natural[words[i + 2]]
        d = d + counts[i + 3] * natural[words[i + 3]]
        i += 4
    while i < n:
        a = a + counts[i] * natural[words[i]]
        i += 1
    return (a + b) + (c + d)


def weights(
    const real[:, ::1] natural,     # IN  (K, D) eta_k
    const real[::1] constants,      # IN  (K,)
    const int64_t[::1] indptr,      # IN  (n + 1,) entries of row i are indptr[i] to indptr[i + 1]
    const int[::1] indices,         # IN  (nnz,)
    const real[::1] counts,         # IN  (nnz,)
    real[:, ::1] out,               # OUT (n, K) constants[k] + x . eta_k
):
    """Weights of all components; the weights of a row do not depend on other rows."""
    cdef Py_ssize_t n = indptr.shape[0] - 1, n_components = natural.shape[0], d = natural.shape[1], k, i, b, width
    cdef Py_ssize_t n_panels = (n_components + SPARSEMIX_PANEL - 1) // SPARSEMIX_PANEL
    cdef int level = instruction_level()
    check(d, indptr, indices, counts.shape[0])
    if constants.shape[0] != n_components or out.shape[0] != n or out.shape[1] != n_components:
        raise ValueError("out must be (n, K) and constants (K,)")
    if not counts.shape[0]:
        for i in range(n):
            for k in range(n_components):
                out[i, k] = constants[k]
        return
    places, words = distinct(indices, d)
    cdef const int[::1] place = places, word = words
    cdef real[::1] panel = np.empty(len(words) * SPARSEMIX_PANEL, dtype=np.float32 if real is float else np.float64)
    with nogil:
        for b in range(n_panels):
            k = b * SPARSEMIX_PANEL
            width = min(<Py_ssize_t> SPARSEMIX_PANEL, n_components - k)
            sparsemix_fill_panel(level, &natural[k, 0], d, width, &word[0], word.shape[0], &panel[0])
            sparsemix_panel_products(
                level, &panel[0], &indptr[0], &place[0], &counts[0], n, &constants[k], width, n_components, &out[0, k])


cdef tuple distinct(const int[::1] indices, Py_ssize_t n_features):
    """The distinct words in order, and the position of each entry among them."""
    cdef Py_ssize_t i, w, n_words = 0
    seen_, places_ = np.zeros(n_features, dtype=np.intc), np.empty(indices.shape[0], dtype=np.intc)
    words_ = np.empty(min(indices.shape[0], n_features), dtype=np.intc)
    cdef int[::1] seen = seen_, places = places_, words = words_
    with nogil:
        for i in range(indices.shape[0]):
            seen[indices[i]] = 1
        for w in range(n_features):
            if seen[w]:
                words[n_words] = <int> w
                seen[w] = <int> n_words
                n_words += 1
        for i in range(indices.shape[0]):
            places[i] = seen[indices[i]]
    return places_, words_[:n_words]


def pair_weights(
    const real[:, ::1] natural,     # IN  (K, D) eta_k
    const real[::1] constants,      # IN  (K,)
    const int64_t[::1] indptr,      # IN  (n + 1,) entries of row i are indptr[i] to indptr[i + 1]
    const int[::1] indices,         # IN  (nnz,)
    const real[::1] counts,         # IN  (nnz,)
    const Py_ssize_t[::1] starts,   # IN  (K + 1,) pairs of component k are starts[k] to starts[k + 1]
    const int[::1] rows,            # IN  (n_pairs,) their rows
    real[::1] out,                  # OUT (n_pairs,) constants[k] + x . eta_k
):
    """Weights of selected pairs; the result of a pair does not depend on the other pairs."""
    cdef Py_ssize_t n = indptr.shape[0] - 1, n_components = natural.shape[0], k, p
    cdef int64_t first
    cdef int row
    cdef const int* words = NULL
    cdef const real* values = NULL
    check(natural.shape[1], indptr, indices, counts.shape[0])
    if constants.shape[0] != n_components or starts.shape[0] != n_components + 1:
        raise ValueError("starts must be (K + 1,) and constants (K,)")
    if starts[0] != 0 or starts[n_components] != rows.shape[0] or out.shape[0] != rows.shape[0]:
        raise ValueError("starts must lead from 0 to the number of pairs, and out be (n_pairs,)")
    for p in range(rows.shape[0]):
        if not 0 <= rows[p] < n:
            raise IndexError(f"there is no row {rows[p]}")
    if counts.shape[0]:
        words, values = &indices[0], &counts[0]
    with nogil:
        for k in range(n_components):
            for p in range(starts[k], starts[k + 1]):
                row = rows[p]
                first = indptr[row]
                out[p] = constants[k] + product(&natural[k, 0], words + first, values + first, indptr[row + 1] - first)


def add_rows(
    const int64_t[::1] indptr,      # IN    (K + 1,)
    const int[::1] indices,         # IN    (nnz,)
    const double[::1] data,         # IN    (nnz,)
    double factor,                  # IN
    double[:, ::1] out,             # INOUT (K, D) += factor data
):
    """Add ``factor`` times sparse sums, of any sign, to dense ones."""
    cdef Py_ssize_t k
    cdef int64_t i
    check(out.shape[1], indptr, indices, data.shape[0])
    if indptr.shape[0] != out.shape[0] + 1:
        raise ValueError("indptr must be (K + 1,)")
    with nogil:
        for k in range(out.shape[0]):
            for i in range(indptr[k], indptr[k + 1]):
                out[k, indices[i]] += factor * data[i]


cdef int check(
    Py_ssize_t n_features, const int64_t[::1] indptr, const int[::1] indices, Py_ssize_t n_entries
) except -1:
    """Refuse inconsistent sparse rows."""
    cdef Py_ssize_t i
    cdef int most = -1, least = 0
    cdef Py_ssize_t n = indptr.shape[0] - 1
    if indices.shape[0] != n_entries or n < 0 or indptr[0] != 0 or indptr[n] != n_entries:
        raise ValueError("indptr must lead from 0 to the number of entries")
    for i in range(n):
        if indptr[i] > indptr[i + 1]:
            raise ValueError("indptr must not fall")
    for i in range(n_entries):
        most, least = max(most, indices[i]), min(least, indices[i])
    if least < 0 or most >= n_features:
        raise IndexError(f"entries must be of features 0 to {n_features - 1}")
    return 0
