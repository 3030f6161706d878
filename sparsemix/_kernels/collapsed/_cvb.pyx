"""Collapsed variational inference: responsibilities document by document, with the sums updated after each.

The loops are in collapsed_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "collapsed/collapsed.h" nogil:
    enum:
        SPARSEMIX_PADDING
        SPARSEMIX_COLLAPSED_WORK
    ctypedef struct sparsemix_collapsed_settings:
        Py_ssize_t n_components, padded
        int second_order
        double word_prior, total_prior
    double sparsemix_log_gamma(double x)
    double sparsemix_expected_log_gamma(double mean, double variance, double prior, double log_gamma_prior)
    void sparsemix_cvb(
        int, const sparsemix_collapsed_settings*, Py_ssize_t, const int64_t*, const int*, const void*, const double*,
        const void*, const double*, void*, void*, void*, void*, double*, double*, void*, double*)


def sweep(
    Entries entries not None,       # IN
    const real[::1] alpha,          # IN    (K,) Dirichlet prior of the documents' topics
    double topic_word_prior,        # IN
    real[:, ::1] gamma,             # INOUT (nnz, K) responsibilities; a row of zeros is a type that has none yet
    real[:, ::1] word_topic,        # INOUT (V, K) means of the counts by word and topic
    double[::1] totals,             # INOUT (K,) means of the counts by topic
    real[:, ::1] word_variance,     # INOUT (V, K) their variances: CVB; or None: CVB0
    double[::1] total_variance,     # INOUT (K,) or None
    real[:, ::1] doc_topic,         # OUT   (n, K) N_jk after the visit; or None
    double[::1] sums,               # INOUT (3,) += sum of c |change of gamma|, entropy, E_q[log p(z)]; CVB0: the first
):
    """Visit every document once, in order ([TNW07] Eq. 18; without variances Asuncion et al. 2009)."""
    cdef Py_ssize_t n = entries.n, n_components = gamma.shape[1], k
    cdef int level = instruction_level()
    cdef sparsemix_collapsed_settings s
    cdef const real[::1] counts = entries.counts
    entries.check(word_topic.shape[0])
    if gamma.shape[0] < entries.indptr[n]:
        raise ValueError("gamma must hold indptr[-1] entries")
    if alpha.shape[0] != n_components or word_topic.shape[1] != n_components or totals.shape[0] != n_components:
        raise ValueError(f"alpha and totals must be ({n_components},) and word_topic (V, {n_components})")
    s.second_order = word_variance is not None
    if s.second_order and (
        word_variance.shape[0] != word_topic.shape[0] or word_variance.shape[1] != n_components
        or total_variance is None or total_variance.shape[0] != n_components
    ):
        raise ValueError(f"variances must have the shapes of the means, (V, {n_components}) and ({n_components},)")
    if doc_topic is not None and (doc_topic.shape[0] != n or doc_topic.shape[1] != n_components):
        raise ValueError(f"doc_topic must be ({n}, {n_components})")
    if sums.shape[0] != 3:
        raise ValueError("sums must be (3,)")
    if n == 0 or entries.indptr[n] == 0:
        if doc_topic is not None:
            np.asarray(doc_topic)[...] = 0
        return
    s.n_components = n_components
    s.padded = (n_components + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING
    s.word_prior, s.total_prior = topic_word_prior, topic_word_prior * word_topic.shape[0]
    cdef real[::1] work = aligned_empty(SPARSEMIX_COLLAPSED_WORK * s.padded, np.float32 if real is float else float)
    cdef double[::1] log_gamma_alpha = np.empty(n_components)
    for k in range(n_components):
        log_gamma_alpha[k] = sparsemix_log_gamma(alpha[k])
    cdef const double* weight_start = NULL if entries.weight is None else <double*> &entries.weight[0]
    cdef real* variance_start = NULL if word_variance is None else &word_variance[0, 0]
    cdef double* total_variance_start = NULL if word_variance is None else &total_variance[0]
    cdef real* doc_topic_start = NULL if doc_topic is None else &doc_topic[0, 0]
    with nogil:
        sparsemix_cvb(
            level, &s, n, &entries.indptr[0], &entries.indices[0], &counts[0], weight_start, &alpha[0],
            &log_gamma_alpha[0], &work[0], &gamma[0, 0], &word_topic[0, 0], variance_start, &totals[0],
            total_variance_start, doc_topic_start, &sums[0])


def add_up(
    Entries entries not None,       # IN
    const real[:, ::1] gamma,       # IN    (nnz, K)
    double[:, ::1] word_topic,      # INOUT (V, K) += weight count gamma
    double[:, ::1] word_variance,   # INOUT (V, K) += weight count gamma (1 - gamma); or None
):
    """The sums by word that ``sweep`` updates, recomputed from the responsibilities."""
    cdef Py_ssize_t d, e, k, n_components = gamma.shape[1]
    cdef double mass
    cdef double* row
    cdef const real[::1] counts = entries.counts
    entries.check(word_topic.shape[0])
    if gamma.shape[0] < entries.indptr[entries.n]:
        raise ValueError("gamma must hold indptr[-1] entries")
    if word_topic.shape[1] != n_components:
        raise ValueError(f"word_topic must be (V, {n_components})")
    if word_variance is not None and (
        word_variance.shape[0] != word_topic.shape[0] or word_variance.shape[1] != n_components
    ):
        raise ValueError(f"word_variance must be (V, {n_components})")
    with nogil:
        for d in range(entries.n):
            for e in range(entries.indptr[d], entries.indptr[d + 1]):
                mass = counts[e] if entries.weight is None else counts[e] * entries.weight[d]
                row = &word_topic[entries.indices[e], 0]
                for k in range(n_components):
                    row[k] += mass * gamma[e, k]
                if word_variance is not None:
                    row = &word_variance[entries.indices[e], 0]
                    for k in range(n_components):
                        row[k] += mass * gamma[e, k] * (1.0 - gamma[e, k])


def expected_log_gamma_sum(
    const real[:, ::1] means,       # IN  (n, K)
    const real[:, ::1] variances,   # IN  (n, K)
    double prior,                   # IN
):
    """Sum of E[log Gamma(prior + n)] - log Gamma(prior) for counts n with these means and variances."""
    cdef Py_ssize_t i, k
    cdef double total = 0.0, none = sparsemix_log_gamma(prior)
    if variances.shape[0] != means.shape[0] or variances.shape[1] != means.shape[1]:
        raise ValueError("means and variances must have one shape")
    with nogil:
        for i in range(means.shape[0]):
            for k in range(means.shape[1]):
                if means[i, k] > 0:
                    total += sparsemix_expected_log_gamma(means[i, k], variances[i, k], prior, none)
    return total
