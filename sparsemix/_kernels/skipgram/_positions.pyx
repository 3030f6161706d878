"""All topics of positions: responsibilities and systematic samples of them, Gibbs sampling, sums over contexts.

The loops are in positions_loops.h. Tables of logarithms have rows that are padded to whole vectors.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "skipgram/context.h" nogil:
    void sparsemix_slide(const int*, int64_t, int64_t, int, int64_t*, int64_t*)


cdef extern from "skipgram/positions.h" nogil:
    enum:
        SPARSEMIX_PADDING
    ctypedef struct sparsemix_position_settings:
        Py_ssize_t n_components, padded
        int window
        double inverse_temperature, scale, base, total_prior
        uint64_t seed, first_row, visit
        const double* alpha
        double* totals
        const int* slots
    void sparsemix_log_rows(
        int, const void*, const int*, const double*, Py_ssize_t, Py_ssize_t, Py_ssize_t, double, const double*, void*)
    void sparsemix_positions(
        int, const sparsemix_position_settings*, Py_ssize_t, const int64_t*, const int*, const int*, const int64_t*,
        const void*, const void*, const void*, const void*, sparsemix_context*, void*, void*, int, int*, double*, void*,
        int*)
    void sparsemix_sweep(
        int, const sparsemix_position_settings*, Py_ssize_t, const int64_t*, const int*, const int*, void*, void*,
        void*, void*, void*, sparsemix_context*, void*, void*, int*, int64_t*, double*)


def padded(n_components):
    """Number of topics, padded to whole vectors."""
    return -(-n_components // SPARSEMIX_PADDING) * SPARSEMIX_PADDING


def log_table(n_rows, n_components, dtype):
    """Uninitialised rows of logarithms."""
    return aligned_empty(n_rows * padded(n_components), dtype).reshape(n_rows, padded(n_components))


def log_rows(
    const real[:, ::1] table,    # IN  (V, K) counts up to factors
    const int[::1] words,        # IN  (n,)
    const double[::1] factors,   # IN  (V,) of the rows; or None
    double scale,                # IN  of all
    const double[::1] base,      # IN  (K,) positive
    real[:, ::1] out,            # OUT (n, padded K)
):
    """log(factors[w] scale table[w, k] + base[k]) for some words; the padding marks missing topics."""
    cdef Py_ssize_t n = table.shape[1]
    cdef int level = instruction_level()
    if base.shape[0] != n or out.shape[1] != padded(n) or out.shape[0] < words.shape[0]:
        raise ValueError(f"base must be ({n},) and out ({words.shape[0]}, {padded(n)})")
    cdef const double* first = NULL if factors is None else <double*> &factors[0]
    if words.shape[0] == 0:
        return
    with nogil:
        sparsemix_log_rows(
            level, &table[0, 0], &words[0], first, words.shape[0], n, out.shape[1], scale, &base[0], &out[0, 0])


def total_rows(totals, total_prior, window, dtype):
    """sum_{c < m} log(N_k + V beta + c) for m = 0, ..., 2 window; (2 window + 1, padded K)."""
    out = log_table(2 * window + 1, len(totals), dtype)
    out[...] = 0.0
    terms = np.log(np.asarray(totals) + total_prior + np.arange(2 * window)[:, None])
    out[1:, :len(totals)] = np.cumsum(terms, axis=0)
    return out


cdef class Positions:
    """Positions of some documents, each with a context: the words within a window around it."""

    def __init__(
        self,
        const int64_t[::1] indptr,  # IN  (n + 1,) tokens of document d are indptr[d] to indptr[d + 1]
        const int[::1] places,      # IN  (n_tokens,) increasing within a document
        const int[::1] words,       # IN  (n_tokens,)
        int window,                 # IN
    ):
        cdef Py_ssize_t d
        cdef int64_t e
        self.indptr, self.places, self.words, self.window = indptr, places, words, window
        self.n, self.n_tokens = indptr.shape[0] - 1, words.shape[0]
        if self.n < 0 or indptr[self.n] > self.n_tokens or places.shape[0] != self.n_tokens or window < 1:
            raise ValueError("places and words must hold indptr[-1] entries, and window must be at least 1")
        for d in range(self.n):
            for e in range(indptr[d] + 1, indptr[d + 1]):
                if places[e] <= places[e - 1]:
                    raise ValueError("places must increase within a document")

    cdef check(self, Py_ssize_t n_words):
        cdef int word
        for word in self.words:
            if not 0 <= word < n_words:
                raise ValueError(f"words must be from 0 to {n_words - 1}")


cdef class Priors:
    """Priors of topics and of their words, and what tables of counts lack."""

    def __init__(
        self,
        const double[::1] alpha,         # IN  (K,) prior of an input word's topics
        double beta,                     # IN  prior of a topic's words
        const double[::1] factors=None,  # IN  (V,) of the rows of the table by input word; or None
        double scale=1.0,                # IN  context words by word and topic are scale times their table plus offset
        double offset=0.0,               # IN
    ):
        self.alpha, self.beta, self.factors, self.scale, self.base = alpha, beta, factors, scale, offset + beta


cdef class Context:
    """Scratch memory for the words of one context."""

    def __cinit__(self, int window):
        cdef int[:, ::1] integers = np.empty((3, 2 * window), dtype=np.intc)
        self.integers, self.c.n = integers, 0
        self.c.word, self.c.before, self.c.times = &integers[0, 0], &integers[1, 0], &integers[2, 0]


def positions(
    Positions block not None,        # IN
    const int[::1] slots,            # IN  (V,) rows of words in the two tables of logarithms
    const real[:, ::1] input_logs,   # IN  (., padded K) log(N_wk + alpha_k), or log theta
    const real[:, ::1] context_logs,  # IN  (., padded K) log(G + beta), or log phi
    const real[:, ::1] total_logs,   # IN  (2 window + 1, padded K) of ``total_rows``, or None
    const real[:, ::1] table,        # IN  (V, K) G, for repeated words of a context; or None to ignore repeats
    Priors priors,                   # IN  or None, without a table
    double temperature,              # IN
    Py_ssize_t n_components,         # IN  K
    const int64_t[::1] numbers=None,  # IN  (n,) global row numbers, which key the random numbers
    uint64_t seed=0,                 # IN
    uint64_t visit=0,                # IN
    int[:, ::1] topics=None,         # OUT (n_tokens, M) each for an equal part of the responsibilities
    double[::1] log_sums=None,       # OUT (n_tokens,) logarithm of the sum over topics
    real[:, ::1] resp=None,          # OUT (n_tokens, K)
    int[::1] sizes=None,             # OUT (n_tokens,) words of the context
):
    """Visit every position under fixed tables; ``topics``, ``log_sums``, ``resp``, ``sizes`` are optional outputs."""
    cdef Py_ssize_t n_tokens = block.n_tokens, p = padded(n_components)
    cdef int level = instruction_level(), n_even = 0 if topics is None else <int> topics.shape[1]
    cdef sparsemix_position_settings s
    cdef int word
    block.check(slots.shape[0])
    if not temperature > 0.0:
        raise ValueError("temperature must be positive")
    if input_logs.shape[1] != p or context_logs.shape[1] != p:
        raise ValueError(f"tables of logarithms must have {p} columns")
    if total_logs is not None and (total_logs.shape[0] != 2 * block.window + 1 or total_logs.shape[1] != p):
        raise ValueError(f"total_logs must be ({2 * block.window + 1}, {p})")
    if topics is not None and (
        topics.shape[0] != n_tokens or n_even < 1 or numbers is None or numbers.shape[0] != block.n
    ):
        raise ValueError("topics must be (n_tokens, M) and numbers (n,)")
    if table is not None and (
        priors is None or table.shape[0] != slots.shape[0] or table.shape[1] != n_components
    ):
        raise ValueError(f"table must be ({slots.shape[0]}, {n_components}), with priors")
    if (log_sums is not None and log_sums.shape[0] != n_tokens) or (sizes is not None and sizes.shape[0] != n_tokens):
        raise ValueError("log_sums and sizes must be (n_tokens,)")
    if resp is not None and (resp.shape[0] != n_tokens or resp.shape[1] != n_components):
        raise ValueError(f"resp must be (n_tokens, {n_components})")
    if n_tokens == 0:
        return
    for word in block.words:
        if slots[word] < 0 or slots[word] >= min(input_logs.shape[0], context_logs.shape[0]):
            raise ValueError(f"word {word} has no row in the tables of logarithms")
    s.n_components, s.padded, s.window, s.inverse_temperature = n_components, p, block.window, 1.0 / temperature
    s.scale, s.base, s.total_prior, s.seed, s.visit, s.first_row = 1.0, 0.0, 0.0, seed, visit, 0
    s.alpha, s.totals, s.slots = NULL, NULL, &slots[0]
    cdef Context context = Context(block.window)
    cdef real[:, ::1] work = log_table(2, n_components, np.float32 if real is float else np.float64)
    cdef const real* total_start = NULL if total_logs is None else <real*> &total_logs[0, 0]
    cdef const real* table_start = NULL
    if table is not None:
        table_start, s.scale, s.base = &table[0, 0], priors.scale, priors.base
    cdef const int64_t* number_start = NULL if numbers is None else <int64_t*> &numbers[0]
    cdef int* topic_start = NULL if topics is None else &topics[0, 0]
    cdef double* sum_start = NULL if log_sums is None else &log_sums[0]
    cdef real* resp_start = NULL if resp is None else &resp[0, 0]
    cdef int* size_start = NULL if sizes is None else &sizes[0]
    with nogil:
        sparsemix_positions(
            level, &s, block.n, &block.indptr[0], &block.places[0], &block.words[0], number_start, &input_logs[0, 0],
            &context_logs[0, 0], total_start, table_start, &context.c, &work[0, 0], &work[1, 0], n_even, topic_start,
            sum_start, resp_start, size_start)


def sweep(
    Positions block not None,      # IN
    Priors priors not None,        # IN    without factors, of whole counts
    uint64_t seed,                 # IN
    uint64_t first_row,            # IN    row number of the first document
    uint64_t number,               # IN    of the sweep
    int[::1] topics,               # INOUT (n_tokens,) of each position, -1 has none yet
    real[:, ::1] input_table,      # INOUT (V, K) positions by input word and topic
    real[:, ::1] table,            # INOUT (V, K) context words by word and topic
    double[::1] totals,            # INOUT (K,) sums of the latter
    real[:, ::1] input_logs,       # INOUT (V, padded K) log(input_table + alpha)
    real[:, ::1] context_logs,     # INOUT (V, padded K) log(table + beta)
    real[:, ::1] total_logs,       # INOUT (2 window + 1, padded K)
    double[::1] conditional=None,  # OUT   (K,) of the first position that has a context; then nothing is drawn
):
    """Draw the topic of every position with a context, in order ([IF19] Eq. 5); returns the number of changes."""
    cdef Py_ssize_t n_words = table.shape[0], n_components = table.shape[1], p = padded(n_components)
    cdef int level = instruction_level()
    cdef int64_t moved = 0
    cdef sparsemix_position_settings s
    block.check(n_words)
    if input_table.shape[0] != n_words or input_table.shape[1] != n_components:
        raise ValueError("both tables must be of one shape")
    if priors.alpha.shape[0] != n_components or totals.shape[0] != n_components:
        raise ValueError(f"alpha and totals must be ({n_components},)")
    if context_logs.shape[0] != n_words or context_logs.shape[1] != p or input_logs.shape[0] != n_words or (
        input_logs.shape[1] != p or total_logs.shape[0] != 2 * block.window + 1 or total_logs.shape[1] != p
    ):
        raise ValueError(f"tables of logarithms must have {p} columns, and a row for each word or size of a context")
    if topics.shape[0] != block.n_tokens or (conditional is not None and conditional.shape[0] != n_components):
        raise ValueError(f"topics must be ({block.n_tokens},) and conditional ({n_components},)")
    if topics.shape[0] == 0:
        return 0
    if np.max(topics) >= n_components or np.min(topics) < -1:
        raise ValueError(f"topics must be from -1 to {n_components - 1}")
    cdef int[::1] slots = np.arange(n_words, dtype=np.intc)
    s.n_components, s.padded, s.window, s.inverse_temperature = n_components, p, block.window, 1.0
    s.scale, s.base, s.total_prior = 1.0, priors.beta, n_words * priors.beta
    s.seed, s.visit, s.first_row = seed, number, first_row
    s.alpha, s.totals, s.slots = &priors.alpha[0], &totals[0], &slots[0]
    cdef Context context = Context(block.window)
    cdef real[:, ::1] work = log_table(2, n_components, np.float32 if real is float else np.float64)
    cdef double* first = NULL if conditional is None else &conditional[0]
    with nogil:
        sparsemix_sweep(
            level, &s, block.n, &block.indptr[0], &block.places[0], &block.words[0], &input_logs[0, 0],
            &context_logs[0, 0], &total_logs[0, 0], &input_table[0, 0], &table[0, 0], &context.c, &work[0, 0],
            &work[1, 0], &topics[0], &moved, first)
    return moved


def pairs(
    Positions block not None,      # IN
    int64_t[::1] starts,           # OUT (V + 1,) pairs of each context word
    int[::1] centres,              # OUT (n_pairs,) the positions of a word's pairs, increasing; or None, to count
):
    """Pairs of a position and a word of its context, grouped by that word; returns their number."""
    cdef Py_ssize_t d, v, n_words = starts.shape[0] - 1
    cdef int64_t e, i, first, last, total
    block.check(n_words)
    with nogil:
        starts[:] = 0
        for d in range(block.n):
            first = last = block.indptr[d]
            for e in range(block.indptr[d], block.indptr[d + 1]):
                sparsemix_slide(&block.places[0], block.indptr[d + 1], e, block.window, &first, &last)
                # pairs are symmetric: this is how often e is in a context
                starts[block.words[e] + 1] += last - first - 1
        for v in range(n_words):
            starts[v + 1] += starts[v]
    total = starts[n_words]
    if centres is None:
        return total
    if centres.shape[0] < total:
        raise ValueError(f"centres must have space for {total} pairs")
    with nogil:
        for d in range(block.n):
            first = last = block.indptr[d]
            for e in range(block.indptr[d], block.indptr[d + 1]):
                sparsemix_slide(&block.places[0], block.indptr[d + 1], e, block.window, &first, &last)
                for i in range(first, last):
                    if i != e:
                        centres[starts[block.words[i]]] = <int> e
                        starts[block.words[i]] += 1
        for v in range(n_words, 0, -1):
            starts[v] = starts[v - 1]
        starts[0] = 0
    return total


def add_up(
    Positions block not None,      # IN
    const int[::1] topics,         # IN    (n_tokens,) -1 has none
    real[:, ::1] table,            # INOUT (V, K) += amount for each context word
    real[:, ::1] input_table=None,  # INOUT (V, K) += amount; or None
    double amount=1.0,              # IN
):
    """Add the counts of positions, computed from their topics."""
    cdef Py_ssize_t d
    cdef int64_t e, i, first, last
    cdef bint by_input = input_table is not None
    block.check(table.shape[0])
    if topics.shape[0] != block.n_tokens or (topics.shape[0] and np.max(topics) >= table.shape[1]):
        raise ValueError(f"topics must be one for each token, below {table.shape[1]}")
    with nogil:
        for d in range(block.n):
            first = last = block.indptr[d]
            for e in range(block.indptr[d], block.indptr[d + 1]):
                sparsemix_slide(&block.places[0], block.indptr[d + 1], e, block.window, &first, &last)
                if topics[e] < 0 or last - first < 2:
                    continue
                if by_input:
                    input_table[block.words[e], topics[e]] += <real> amount
                for i in range(first, last):
                    if i != e:
                        table[block.words[i], topics[e]] += <real> amount
