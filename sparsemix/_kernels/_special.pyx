"""Digamma and log Gamma over tables of counts by word and topic, and the table that documents are inferred from."""

import numpy as np

from sparsemix._kernels._simd cimport instruction_level
from sparsemix._kernels._topl cimport INFINITY, ROW_NOT_FINITE, ROW_OK, top_l

from sparsemix._kernels._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "tables.h" nogil:
    enum:
        SPARSEMIX_PADDING
    double sparsemix_word_row_float(int, const float*, Py_ssize_t, double, float, int, const float*, float*,
                                    float*)
    double sparsemix_word_row_double(int, const double*, Py_ssize_t, double, double, int, const double*, double*,
                                     double*)
    double sparsemix_log_gamma(double x)
    double sparsemix_digamma(double x)


def exp_log_word(
    const real[:, ::1] counts,  # IN  (V, K) expected counts
    double factor,              # IN  times the counts
    double prior,               # IN  topic_word_prior
    bint linear,                # IN  the posterior mean of phi in the place of exp E[log phi]
    const real[::1] inverse,    # IN  (K,) exp -digamma(totals), or 1 / totals, up to a factor
    const int[::1] words,       # IN  (n,) rows to make
    Py_ssize_t first,           # IN  of these the ones from first to last
    Py_ssize_t last,            # IN
    real[:, ::1] table,         # OUT (V, K) exp E[log phi], the largest entry of a row is 1
    int[:, ::1] lists,          # OUT (V, L) topics of the L largest entries, increasing; or None
):
    """Rows of exp(E[log phi_kv]) = exp(digamma(factor counts + prior)) inverse, and their best topics."""
    cdef Py_ssize_t i, k, v, n_components = counts.shape[1]
    cdef Py_ssize_t padded = (n_components + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING
    cdef int level = instruction_level(), n_nonzero = 0 if lists is None else lists.shape[1], status = ROW_OK
    cdef double total
    dtype = np.float32 if real is float else np.float64
    cdef real[::1] x = aligned_empty(padded, dtype), weight = aligned_empty(padded, dtype)
    cdef real[::1] heap = np.empty(max(n_nonzero, 1), dtype=dtype)
    if table.shape[0] != counts.shape[0] or table.shape[1] != n_components or inverse.shape[0] != n_components:
        raise ValueError("table must have the shape of counts and inverse one number a topic")
    with nogil:
        for k in range(padded):
            weight[k] = inverse[k] if k < n_components else 0
        for i in range(first, last):
            v = words[i]
            if real is float:
                total = sparsemix_word_row_float(level, &counts[v, 0], n_components, factor, prior, linear,
                                                 &weight[0], &x[0], &table[v, 0])
            else:
                total = sparsemix_word_row_double(level, &counts[v, 0], n_components, factor, prior, linear,
                                                  &weight[0], &x[0], &table[v, 0])
            if not total < INFINITY:
                status = ROW_NOT_FINITE
                break
            if n_nonzero > 0:
                status = top_l(&table[v, 0], <int> n_components, n_nonzero, &heap[0], &lists[v, 0])
                if status != ROW_OK:
                    break
    if status != ROW_OK:
        raise ValueError(f"the counts of word {words[i]} hold NaN or infinity; check its counts for extreme values")


def log_gamma_sum(const real[:, ::1] counts, double factor, double prior, Py_ssize_t first, Py_ssize_t last):
    """Sum over rows first to last of lgamma(factor counts + prior) - lgamma(prior)."""
    cdef Py_ssize_t v, k
    cdef double total = 0.0, none = sparsemix_log_gamma(prior)
    with nogil:
        for v in range(first, last):
            for k in range(counts.shape[1]):
                if counts[v, k] > 0:
                    total += sparsemix_log_gamma(factor * counts[v, k] + prior) - none
    return total


def digamma_sum(const real[:, ::1] counts, double factor, double prior, Py_ssize_t first, Py_ssize_t last):
    """Sum over rows first to last of digamma(factor counts + prior) - digamma(prior)."""
    cdef Py_ssize_t v, k
    cdef double total = 0.0, none = sparsemix_digamma(prior)
    with nogil:
        for v in range(first, last):
            for k in range(counts.shape[1]):
                if counts[v, k] > 0:
                    total += sparsemix_digamma(factor * counts[v, k] + prior) - none
    return total


def expected_log(
    const real[:, ::1] doc_topic,  # IN  (n, K) N_dk
    const real[::1] alpha,         # IN  (K,)
    double[:, ::1] out,            # OUT (n, K) digamma(alpha_k + N_dk) - digamma(alpha_k)
):
    """The documents' E[log pi_dk] as far as they differ from that of a document without tokens."""
    cdef Py_ssize_t d, k
    cdef double[::1] none = np.empty(alpha.shape[0])
    with nogil:
        for k in range(alpha.shape[0]):
            none[k] = sparsemix_digamma(alpha[k])
        for d in range(doc_topic.shape[0]):
            for k in range(doc_topic.shape[1]):
                out[d, k] = 0.0
                if doc_topic[d, k] > 0:
                    out[d, k] = sparsemix_digamma(<double> alpha[k] + doc_topic[d, k]) - none[k]
