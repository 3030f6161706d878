"""Collapsed Gibbs sampling: the topic of every token is drawn from its conditional distribution, document by document.

The loops are in gibbs_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "collapsed/gibbs.h" nogil:
    enum:
        SPARSEMIX_COLUMNS
        SPARSEMIX_GIBBS_WORK
    ctypedef struct sparsemix_gibbs_settings:
        Py_ssize_t n_components, padded
        double word_prior, total_prior
        uint64_t seed, first_row, sweep
    double sparsemix_log_gamma(double x)
    double sparsemix_uniform(uint64_t bits)
    uint64_t sparsemix_bits(uint64_t key, uint64_t draw)
    uint64_t sparsemix_document_key(uint64_t seed, int64_t row, int64_t visit)
    void sparsemix_gibbs(
        int, const sparsemix_gibbs_settings*, Py_ssize_t, const int64_t*, const int*, const void*, const double*,
        const void*, const double*, void*, int*, void*, double*, void*, double*)
    void sparsemix_conditional(
        int, const sparsemix_gibbs_settings*, const void*, const void*, const void*, const double*, Py_ssize_t, double,
        void*)


cdef sparsemix_gibbs_settings settings_of(Py_ssize_t n_components, Py_ssize_t n_words, double topic_word_prior):
    cdef sparsemix_gibbs_settings s
    s.n_components = n_components
    s.padded = (n_components + SPARSEMIX_COLUMNS - 1) // SPARSEMIX_COLUMNS * SPARSEMIX_COLUMNS
    s.word_prior, s.total_prior = topic_word_prior, topic_word_prior * n_words
    s.seed = s.first_row = s.sweep = 0
    return s


cdef check(Entries entries, const int[::1] topics, Py_ssize_t n_words, Py_ssize_t n_components):
    entries.check(n_words)
    if topics.shape[0] != np.sum(entries.counts[:entries.indptr[entries.n]], dtype=np.int64):
        raise ValueError("topics must hold one number for each token")
    if topics.shape[0] and (np.max(topics) >= n_components or np.min(topics) < -1):
        raise ValueError(f"topics must be from -1 to {n_components - 1}")


def sweep(
    Entries entries not None,       # IN    counts are whole numbers
    const real[::1] alpha,          # IN    (K,) Dirichlet prior of the documents' topics
    double topic_word_prior,        # IN
    uint64_t seed,                  # IN
    uint64_t first_row,             # IN    row number of the first document
    uint64_t number,                # IN    of the sweep
    int[::1] topics,                # INOUT (tokens,) of each token, copies of a type together; -1 has none yet
    real[:, ::1] word_topic,        # INOUT (V, K) tokens by word and topic
    double[::1] totals,             # INOUT (K,) tokens by topic
    real[:, ::1] doc_topic,         # OUT   (n, K) tokens by document and topic; or None
    double[::1] sums,               # INOUT (2,) += tokens that changed their topic, log p(z)
):
    """Draw every token's topic once, in order (Griffiths & Steyvers 2004, Eq. 5)."""
    cdef Py_ssize_t n = entries.n, n_components = word_topic.shape[1], k
    cdef int level = instruction_level()
    cdef sparsemix_gibbs_settings s = settings_of(n_components, word_topic.shape[0], topic_word_prior)
    cdef const real[::1] counts = entries.counts
    check(entries, topics, word_topic.shape[0], n_components)
    if alpha.shape[0] != n_components or totals.shape[0] != n_components:
        raise ValueError(f"alpha and totals must be ({n_components},)")
    if doc_topic is not None and (doc_topic.shape[0] != n or doc_topic.shape[1] != n_components):
        raise ValueError(f"doc_topic must be ({n}, {n_components})")
    if sums.shape[0] != 2:
        raise ValueError("sums must be (2,)")
    if n == 0 or topics.shape[0] == 0:
        if doc_topic is not None:
            np.asarray(doc_topic)[...] = 0
        return
    s.seed, s.first_row, s.sweep = seed, first_row, number
    dtype = np.float32 if real is float else np.float64
    cdef real[::1] work = aligned_empty(SPARSEMIX_GIBBS_WORK * s.padded + SPARSEMIX_COLUMNS, dtype)
    cdef double[::1] log_gamma_alpha = np.empty(n_components)
    for k in range(n_components):
        log_gamma_alpha[k] = sparsemix_log_gamma(alpha[k])
    cdef const double* weight_start = NULL if entries.weight is None else <double*> &entries.weight[0]
    cdef real* doc_topic_start = NULL if doc_topic is None else &doc_topic[0, 0]
    with nogil:
        sparsemix_gibbs(
            level, &s, n, &entries.indptr[0], &entries.indices[0], &counts[0], weight_start, &alpha[0],
            &log_gamma_alpha[0], &work[0], &topics[0], &word_topic[0, 0], &totals[0], doc_topic_start, &sums[0])


def draw(
    Entries entries not None,       # IN    counts are whole numbers
    const real[:, ::1] theta,       # IN    (n, K) proportions of the documents, of any scale
    const real[:, ::1] phi,         # IN    (V, K) probabilities of the words
    uint64_t seed,                  # IN
    uint64_t first_row,             # IN    row number of the first document
    uint64_t number,                # IN    of the sweep
    int[::1] topics,                # INOUT (tokens,) of each token; -1 has none yet
    real[:, ::1] word_topic,        # INOUT (V, K) tokens by word and topic
    double[::1] totals,             # INOUT (K,) tokens by topic
):
    """Draw every token's topic given proportions and topics, theta_jk phi_kw; return the weight of those that moved."""
    cdef Py_ssize_t n = entries.n, n_components = phi.shape[1], d, e, k, low, high, t = 0, start, end
    cdef double w, total, rest, moved = 0.0
    cdef uint64_t key
    cdef const real[::1] counts = entries.counts
    check(entries, topics, phi.shape[0], n_components)
    if theta.shape[0] != n or theta.shape[1] != n_components or totals.shape[0] != n_components:
        raise ValueError(f"theta must be ({n}, {n_components}), totals ({n_components},)")
    if word_topic.shape[0] != phi.shape[0] or word_topic.shape[1] != n_components:
        raise ValueError("word_topic must have the shape of phi")
    cdef const int[::1] indices = entries.indices
    cdef double[::1] cumulated = np.empty(n_components)
    with nogil:
        for d in range(n):
            key = sparsemix_document_key(seed, <int64_t> (first_row + d), <int64_t> number)
            w, start = 1.0 if entries.weight is None else entries.weight[d], t
            for e in range(entries.indptr[d], entries.indptr[d + 1]):
                total = 0.0
                for k in range(n_components):
                    total += <double> theta[d, k] * phi[indices[e], k]
                    cumulated[k] = total
                end = t + <Py_ssize_t> counts[e]
                while t < end:
                    rest = sparsemix_uniform(sparsemix_bits(key, <uint64_t> (t - start))) * total
                    low, high = 0, n_components - 1
                    while low < high:  # the first topic whose cumulated probability exceeds the draw
                        k = (low + high) // 2
                        if cumulated[k] > rest:
                            high = k
                        else:
                            low = k + 1
                    if low != topics[t]:
                        if topics[t] >= 0:
                            word_topic[indices[e], topics[t]] -= <real> w
                            totals[topics[t]] -= w
                        word_topic[indices[e], low] += <real> w
                        totals[low] += w
                        topics[t] = <int> low
                        moved += w
                    t += 1
    return moved


def conditional(
    const real[::1] doc_topic,      # IN  (K,) tokens of the document by topic
    const real[::1] alpha,          # IN  (K,)
    const real[:, ::1] word_topic,  # IN  (V, K)
    const double[::1] totals,       # IN  (K,)
    double topic_word_prior,        # IN
    Py_ssize_t word,                # IN  of the token
    Py_ssize_t old,                 # IN  its topic, which is in all counts; -1: it is in none
    double copy,                    # IN  the document's weight
):
    """Conditional distribution of one token's topic given all other tokens, as used by ``sweep``; (K,)."""
    cdef Py_ssize_t n_components = word_topic.shape[1]
    cdef int level = instruction_level()
    cdef sparsemix_gibbs_settings s = settings_of(n_components, word_topic.shape[0], topic_word_prior)
    if doc_topic.shape[0] != n_components or alpha.shape[0] != n_components or totals.shape[0] != n_components:
        raise ValueError(f"doc_topic, alpha and totals must be ({n_components},)")
    if not (0 <= word < word_topic.shape[0] and -1 <= old < n_components):
        raise ValueError("word and old must be a row and a column of word_topic")
    dtype = np.float32 if real is float else np.float64
    cdef real[::1] work = aligned_empty(SPARSEMIX_GIBBS_WORK * s.padded + SPARSEMIX_COLUMNS, dtype)
    sparsemix_conditional(level, &s, &doc_topic[0], &alpha[0], &word_topic[word, 0], &totals[0], old, copy, &work[0])
    weights = np.asarray(work)[3 * s.padded:3 * s.padded + n_components].astype(np.float64)
    return weights / weights.sum()


def add_up(
    Entries entries not None,       # IN    counts are whole numbers
    const int[::1] topics,          # IN    (tokens,) -1 has none
    double[:, ::1] word_topic,      # INOUT (V, K) += weight
):
    """The sums by word that ``sweep`` updates, recomputed from the topics."""
    cdef Py_ssize_t d, e, t = 0
    check(entries, topics, word_topic.shape[0], word_topic.shape[1])
    cdef const int64_t[::1] ends = np.cumsum(entries.counts, dtype=np.int64)
    with nogil:
        for d in range(entries.n):
            for e in range(entries.indptr[d], entries.indptr[d + 1]):
                while t < ends[e]:
                    if topics[t] >= 0:
                        word_topic[entries.indices[e], topics[t]] += (
                            1.0 if entries.weight is None else entries.weight[d])
                    t += 1
