"""Topics of words by Metropolis-Hastings-Walker chains: frozen alias tables propose, the document's target accepts.

The tables are in word_tables.h, the chains in chain.h and chain_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.documents._packed cimport start_of

from sparsemix._kernels.random import _alias

ctypedef fused real:
    float
    double


cdef extern from "collapsed/word_tables.h" nogil:
    int sparsemix_word_table(
        const void*, int, double, double, const double*, double*, int*, void*, void*, int*, uint64_t*, int*, double*)


cdef extern from "collapsed/chain.h" nogil:
    ctypedef struct sparsemix_chain_settings:
        Py_ssize_t n_components
        int n_samples, n_sweeps, n_even, check, exclude
        uint64_t seed
        int64_t visit, n_rho
        const double* rho
        double sparsity, share, scale, offset, prior
        const double* inverse
        const double* alpha
    ctypedef struct sparsemix_counts:
        int n
        int* topic
        int* slot
        int* before
        double* value
        double* start
        double* inverse
        double* own
        double* factor
        double* prefix
    double sparsemix_acceptance(double, double, double, double)
    double frozen_float(const sparsemix_word_tables*, int, int)
    double frozen_double(const sparsemix_word_tables*, int, int)
    int draw_word_float(const sparsemix_word_tables*, int, double)
    int draw_word_double(const sparsemix_word_tables*, int, double)
    int64_t sparsemix_sample_documents(
        sparsemix_counts*, const sparsemix_chain_settings*, const sparsemix_word_tables*, const void*, Py_ssize_t,
        const int64_t*, const int*, const void*, const int64_t*, const int64_t*, const int*, const void*, int*, int*,
        void*, int*, int64_t, int64_t*, int*, void*, int64_t*)


# Which counts of a word's own last responsibilities are excluded from its target.
EXCLUDE = ("none", "document", "both")


def acceptance(double target_new, double target_old, double density_new, double density_old):
    """Acceptance probability of a move from old to new: target pi, density of the whole proposal."""
    return min(1.0, sparsemix_acceptance(target_new, target_old, density_new, density_old))


# -- frozen proposals


# Entries of tables built in temporary memory before they are appended; few compared with those of a vocabulary.
AT_ONCE = 1 << 22


class WordTables:
    """Alias tables of words' topics, all built from one snapshot of the topics' totals: one age class.

    A word's proposal is :math:`\\tilde q_w(k) = \\alpha_k (N_{wk} + \\beta) / (N_k + V \\beta)` with
    :math:`N_{wk} = s G_{wk} + u`. The part with G is stored on the non-zeros of G's row; the part with
    :math:`u + \\beta` is one table shared by all words.

    Parameters
    ----------
    n_words, n_components : int
        V and K.
    dtype : dtype
        Of the table G.
    """

    def __init__(self, n_words, n_components, dtype):
        self.n_words, self.n_components, self.dtype = n_words, n_components, np.dtype(dtype)
        self.begin = np.zeros(n_words, dtype=np.int64)
        self.length = np.full(n_words, -1, dtype=np.intc)
        self.total = np.zeros(n_words)
        self.weight = np.zeros(n_components)
        self.shared_density, self.shared_prob = (np.zeros(n_components, dtype=self.dtype) for _ in range(2))
        self.shared_alias = np.zeros(n_components, dtype=np.intc)
        self.shared_total, self.used = 0.0, 0
        self._pool = self._empty(0)

    def _empty(self, n):
        """Arrays of n entries: topics, densities, shares of columns, aliases."""
        dtypes = np.intc, self.dtype, self.dtype, np.intc
        return [np.empty(n, dtype=dtype) for dtype in dtypes]

    @property
    def pool(self):
        """Entries of all words: topics, densities, shares of columns, aliases."""
        return self._pool

    @property
    def nbytes(self):
        """Memory of the entries in use."""
        return sum(array[:self.used].nbytes for array in self._pool)

    def clear(self, alpha, inverse, smallest):
        """Start a new age class: no word has a table.

        Stores copies of ``alpha`` (K,), ``inverse`` = 1 / (N_k + V beta) (K,) and ``smallest`` = u + beta.
        """
        self.length.fill(-1)
        self.used = 0
        np.multiply(alpha, inverse, out=self.weight)
        np.multiply(self.weight, smallest, out=self.shared_density, casting="same_kind")
        self.shared_total = float(self.shared_density.sum(dtype=np.float64))
        _alias.build(self.shared_density, self.shared_prob, self.shared_alias)

    def build(self, words, table, scale, workers=None, smallest=0.0):
        """Build the tables of those ``words`` (int32) that have none; ``workers`` may share the work.

        Counts ``scale`` G_wk up to ``smallest`` are covered by the shared part.
        """
        missing = np.zeros(self.n_words, dtype=bool)
        missing[words] = True
        words = np.flatnonzero(missing & (self.length < 0)).astype(np.intc)
        size = max(1, AT_ONCE // self.n_components)
        if len(words) > size:
            self._reserve(words, table, smallest / scale, size)
        for start in range(0, len(words), size):
            self._build(words[start:start + size], table, scale, smallest / scale, workers)

    def _reserve(self, words, table, smallest, size):
        """Reserve space for the entries of many words at once; repeated growth would hold them twice."""
        parts = (table[words[start:start + size]] for start in range(0, len(words), size))
        used = self.used + sum(int(np.count_nonzero(part > smallest)) for part in parts)
        if used > len(self._pool[0]):
            self._pool = _grown(self._pool, self.used, used)

    def _build(self, words, table, scale, smallest, workers):
        """Build the tables of some words separately, then append them."""
        parts = {}

        def share(first, last):
            parts[first] = self._rows(words[first:last], table, scale, smallest)

        if workers is None:
            share(0, len(words))
        else:
            workers.split(share, len(words))
        for first in sorted(parts):
            self._append(words[first:first + len(parts[first][0])], *parts[first])

    def _rows(self, words, table, scale, smallest):
        """Lengths, totals and entries of some words."""
        lengths, totals = np.empty(len(words), dtype=np.intc), np.empty(len(words))
        buffers = self._empty(self.n_components + 16 * len(words))
        masks = np.empty(self.n_components // 64 + 1, dtype=np.uint64)
        stack, excess = np.empty(self.n_components, dtype=np.intc), np.empty(self.n_components)
        done = used = 0
        while True:
            done, used = word_tables(
                words, table, scale, smallest, self.weight, done, used, lengths, totals, *buffers, masks, stack, excess)
            if done == len(words):
                return lengths, totals, [array[:used] for array in buffers]
            buffers = _grown(buffers, used, 2 * len(buffers[0]) + self.n_components)

    def _append(self, words, lengths, totals, entries):
        used = self.used + len(entries[0])
        if used > len(self._pool[0]):
            self._pool = _grown(self._pool, self.used, used + used // 2)
        for array, part in zip(self._pool, entries, strict=True):
            array[self.used:used] = part
        self.begin[words] = self.used + np.cumsum(lengths, dtype=np.int64) - lengths
        self.length[words] = lengths
        self.total[words] = totals
        self.used = used

    def sums(self):
        """(V,) sum over topics of each word's proposal."""
        return self.total + self.shared_total

    def density(self, word, topics):
        """Frozen proposal of a word at some topics, up to the word's sum; for tests and diagnostics."""
        return _density(self, self.shared_density, word, np.asarray(topics, dtype=np.intc))

    def draw(self, word, u):
        """Topics of a word drawn from its proposal, one per uniform number; for tests."""
        return _draw(self, self.shared_density, word, np.asarray(u, dtype=np.float64))


def _grown(arrays, used, n):
    """Longer arrays that start with the old entries."""
    out = [np.empty(n, dtype=array.dtype) for array in arrays]
    for new, old in zip(out, arrays, strict=True):
        new[:used] = old[:used]
    return out


def word_tables(
    const int[::1] words,               # IN  (n,)
    const real[:, ::1] table,           # IN  (V, K) G
    double scale,                       # IN  its pending factor s
    double smallest,                    # IN  entries of G up to this are not stored
    const double[::1] weight,           # IN  (K,) alpha_k / (N_k + V beta)
    Py_ssize_t done,                    # IN  words already built
    int64_t used,                       # IN  entries already there
    int[::1] lengths,                   # OUT (n,) entries of each word
    double[::1] totals,                 # OUT (n,) sums of their densities
    int[::1] topics,                    # OUT entries of the words one after the other
    real[::1] density,                  # OUT
    real[::1] prob,                     # OUT
    int[::1] alias,                     # OUT
    uint64_t[::1] masks,                # TMP (K / 64 + 1,)
    int[::1] stack,                     # TMP (K,)
    double[::1] excess,                 # TMP (K,)
):
    """Tables of words while the longest row still fits; returns the number of words and of entries."""
    cdef int n_components = <int> table.shape[1]
    cdef Py_ssize_t v
    if masks.shape[0] < n_components // 64 + 1 or table.shape[1] != weight.shape[0]:
        raise ValueError(f"weight must be ({n_components},) and masks ({n_components // 64 + 1},)")
    if stack.shape[0] < n_components or excess.shape[0] < n_components:
        raise ValueError(f"stack and excess must be ({n_components},)")
    if density.shape[0] != topics.shape[0] or prob.shape[0] != topics.shape[0] or alias.shape[0] != topics.shape[0]:
        raise ValueError("topics, density, prob and alias must be of one length")
    with nogil:
        while done < words.shape[0] and used + n_components <= topics.shape[0]:
            v = words[done]
            lengths[done] = sparsemix_word_table(
                &table[v, 0], n_components, scale, <real> smallest, &weight[0], &totals[done], &topics[used],
                &density[used], &prob[used], &alias[used], &masks[0], &stack[0], &excess[0])
            used += lengths[done]
            done += 1
    return done, used


cdef class _Views:
    """C view of ``WordTables``; keeps its arrays alive."""

    def __cinit__(self, tables):
        arrays = tables.begin, tables.length, tables.total, *tables.pool, tables.shared_density, tables.shared_prob
        self.arrays = arrays, tables.shared_alias
        self.c.n_components, self.c.shared_total = tables.n_components, tables.shared_total
        begin, length, total, topics, density, prob, alias, shared_density, shared_prob = arrays
        self.c.begin, self.c.length = <const int64_t*> start_of(begin), <const int*> start_of(length)
        self.c.total, self.c.topics = <const double*> start_of(total), <const int*> start_of(topics)
        self.c.density, self.c.prob, self.c.alias = start_of(density), start_of(prob), <const int*> start_of(alias)
        self.c.shared_density, self.c.shared_prob = start_of(shared_density), start_of(shared_prob)
        self.c.shared_alias = <const int*> start_of(tables.shared_alias)


def _density(tables, const real[::1] kind, int word, const int[::1] topics):
    cdef _Views views = _Views(tables)
    cdef Py_ssize_t i
    out = np.empty(topics.shape[0])
    for i in range(topics.shape[0]):
        if real is float:
            out[i] = frozen_float(&views.c, word, topics[i])
        else:
            out[i] = frozen_double(&views.c, word, topics[i])
    return out


def _draw(tables, const real[::1] kind, int word, const double[::1] u):
    cdef _Views views = _Views(tables)
    cdef double total = tables.sums()[word]
    cdef Py_ssize_t i
    out = np.empty(u.shape[0], dtype=np.intc)
    cdef int[::1] target = out
    for i in range(u.shape[0]):
        if real is float:
            target[i] = draw_word_float(&views.c, word, u[i] * total)
        else:
            target[i] = draw_word_double(&views.c, word, u[i] * total)
    return out


# -- chains


class ChainWorkspace:
    """Scratch memory of one thread for the counts of one document, reused for all documents."""

    def __init__(self, n_components, n_samples):
        self.slots = np.full(n_components, -1, dtype=np.intc)
        self.topics = np.empty(n_components, dtype=np.intc)
        self.before = np.empty(n_samples, dtype=np.intc)
        self.reals = np.empty((6, n_components))


def max_entries(indptr, start, n_components, n_samples, n_sweeps):
    """Upper bound of the entries in the returned counts of some documents."""
    entries = np.diff(indptr) * n_samples * n_sweeps
    if start is not None:
        entries = entries + np.diff(start[0])
    return int(np.minimum(entries, n_components).sum())


cdef class Settings:
    """Frozen counts as the chains see them, and how they run."""

    cdef sparsemix_chain_settings c
    cdef const double[::1] inverse, alpha, rho

    def __init__(
        self,
        double scale,             # IN  counts by word and topic are scale G_wk + offset
        double offset,            # IN
        double prior,             # IN  beta
        const double[::1] inverse,  # IN  (K,) 1 / (N_k + V beta)
        const double[::1] alpha,  # IN  (K,)
        uint64_t seed,            # IN
        int64_t visit,            # IN  of these documents, keys the random numbers
        int n_samples,            # IN  S
        int n_sweeps,             # IN  over the types of a document; responsibilities are those of the last
        const double[::1] rho,    # IN  step by tokens seen in the visit, then its last number; None: exact sums
        double sparsity,          # IN  tau: before the last sweep, N_jk below tau rho C_j become 0; steps only
        str exclude,              # IN  of EXCLUDE, for exact sums only; "both" does not change 1 / (N_k + V beta)
        double share,             # IN  N_jk below this share of C_j are not returned
        bint fresh=False,         # IN  tables are built from exactly these counts, so no proposal is rejected
    ):
        if exclude not in EXCLUDE:
            raise ValueError(f"exclude must be one of {EXCLUDE}, got {exclude!r}")
        if n_samples < 1 or n_sweeps < 1:
            raise ValueError("n_samples and n_sweeps must be at least 1")
        if rho is not None and (exclude != "none" or rho.shape[0] == 0):
            raise ValueError("steps exclude nothing, and rho must not be empty; give None for exact sums")
        self.inverse, self.alpha, self.rho = inverse, alpha, rho
        self.c.scale, self.c.offset, self.c.prior = scale, offset, prior
        self.c.seed, self.c.visit, self.c.n_samples, self.c.n_sweeps = seed, visit, n_samples, n_sweeps
        self.c.sparsity, self.c.exclude, self.c.share = sparsity, EXCLUDE.index(exclude), share
        self.c.check = not fresh or exclude == "both"
        self.c.inverse, self.c.alpha, self.c.rho, self.c.n_rho = &inverse[0], &alpha[0], NULL, 0
        if rho is not None:
            self.c.rho, self.c.n_rho = &rho[0], rho.shape[0]


def sample_documents(
    Entries entries not None,         # IN
    const int64_t[::1] numbers,       # IN  (n,) global row numbers, which key the random numbers
    start,                            # IN  recalled N_jk, sparse, as indptr (n + 1,), topics and values; or None
    const real[:, ::1] table,         # IN  (V, K) G
    Settings settings not None,       # IN
    tables,                           # IN  WordTables that have all the words
    int[::1] states,                  # INOUT (nnz,) chain of each entry, -1: its first proposal is taken
    int[:, ::1] topics,               # OUT (nnz, S)
    real[:, ::1] values,              # OUT (nnz, S) count / S
    int64_t[::1] out_indptr,          # OUT (n + 1,) N_jk at the end, sparse; topics in order of arrival
    int[::1] out_topics,              # OUT of the size that ``max_entries`` returns
    real[::1] out_values,             # OUT
    int64_t[:, ::1] tally,            # OUT (n, 3) draws, proposals from the document's part, accepted
    scratch,                          # TMP ChainWorkspace
    int[:, ::1] even=None,            # OUT (nnz, M) topics for the sums by word, each for count / M; or None
):
    """Sampled responsibilities of a tile of documents ([IF19] Section 4), independent of each other.

    Steps: N_j moves towards C_j times the responsibilities of each type ([IF19] Eq. 9). Exact sums: N_j is the sum of
    counts times last responsibilities, optionally without a type's own; recalled counts fade in the first sweep as
    types are visited, in proportion to the tokens not yet visited.
    """
    cdef Py_ssize_t n = entries.n, n_entries = entries.n_entries
    cdef sparsemix_chain_settings s = settings.c
    cdef sparsemix_counts c
    cdef int64_t used
    s.n_components, s.n_even = table.shape[1], 0 if even is None else <int> even.shape[1]
    if settings.inverse.shape[0] != s.n_components or settings.alpha.shape[0] != s.n_components:
        raise ValueError(f"inverse and alpha must be ({s.n_components},)")
    if tables.n_components != s.n_components or tables.n_words != table.shape[0] or (
        tables.dtype.itemsize != sizeof(real)
    ):
        raise ValueError("tables must be of the table's shape and dtype")
    if min(states.shape[0], topics.shape[0], values.shape[0]) < n_entries or (
        topics.shape[1] != s.n_samples or values.shape[1] != s.n_samples
    ):
        raise ValueError("states must be (nnz,), topics and values (nnz, S)")
    if numbers.shape[0] != n or out_indptr.shape[0] != n + 1 or tally.shape[0] != n or tally.shape[1] != 3:
        raise ValueError("numbers must be (n,), out_indptr (n + 1,) and tally (n, 3)")
    if out_topics.shape[0] != out_values.shape[0]:
        raise ValueError("out_topics and out_values must be of one length")
    out_indptr[0] = 0
    if n == 0 or n_entries == 0:
        np.asarray(out_indptr)[...] = 0
        np.asarray(tally)[...] = 0
        return
    cdef int[::1] slots = scratch.slots, topic = scratch.topics, before = scratch.before
    cdef double[:, ::1] reals = scratch.reals
    if slots.shape[0] != s.n_components or before.shape[0] < s.n_samples:
        raise ValueError("scratch must be of K topics and S samples")
    c.n = 0
    c.slot, c.topic, c.before = &slots[0], &topic[0], &before[0]
    c.value, c.start, c.inverse = &reals[0, 0], &reals[1, 0], &reals[2, 0]
    c.own, c.factor, c.prefix = &reals[3, 0], &reals[4, 0], &reals[5, 0]
    cdef const real[::1] counts = entries.counts
    cdef const int64_t[::1] start_indptr
    cdef const int[::1] start_topics
    cdef const real[::1] start_values
    cdef const int64_t* starts = NULL
    cdef const int* first_topic = NULL
    cdef const real* first_value = NULL
    if start is not None:
        start_indptr, start_topics, start_values = start
        if start_indptr.shape[0] != n + 1 or min(start_topics.shape[0], start_values.shape[0]) < start_indptr[n]:
            raise ValueError("the start must have the topics and values of every document")
        if start_indptr[n] > 0:
            starts, first_topic, first_value = &start_indptr[0], &start_topics[0], &start_values[0]
    cdef int* first_even = NULL
    if s.n_even > 0:
        if even.shape[0] < n_entries:
            raise ValueError(f"even must have a row for each of {n_entries} entries")
        first_even = &even[0, 0]
    cdef int64_t capacity = out_topics.shape[0]
    cdef int* out_topic = NULL if capacity == 0 else &out_topics[0]
    cdef real* out_value = NULL if capacity == 0 else &out_values[0]
    cdef _Views views = _Views(tables)
    with nogil:
        used = sparsemix_sample_documents(
            &c, &s, &views.c, &table[0, 0], n, &entries.indptr[0], &entries.indices[0], &counts[0], &numbers[0],
            starts, first_topic, first_value, &states[0], &topics[0, 0], &values[0, 0], first_even, capacity,
            &out_indptr[0], out_topic, out_value, &tally[0, 0])
    if used < 0:
        raise ValueError(
            f"word {entries.indices[-1 - used]} has no table; build the tables of all words of the documents")
    if used > capacity:
        raise ValueError(f"out_topics must have the size that ``max_entries`` returns, got {capacity}")
