"""Gibbs sampling of a block of documents under frozen topics, in time proportional to the topics of each document.

The loops are in split_loops.h.
"""

import math

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memset

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.split._packed_counts cimport any_counts, point_to
from sparsemix._kernels.threads._pool cimport Pool, share_items
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double

ctypedef fused state:
    short
    int


cdef extern from "vectors/portable.h" nogil:
    int64_t sparsemix_fetch_add(int64_t*, int64_t)


cdef enum:
    SHORT_TOPICS = 1 << 15  # more do not go into two bytes
    PARTS = 64              # of words that threads take in turn


def state_dtype(Py_ssize_t n_components):
    """Dtype of sampled topics: the smallest possible, because they are stored for all documents."""
    return np.int16 if n_components <= SHORT_TOPICS else np.int32


cdef class Workspace:
    """Scratch memory of one thread; it holds the records of its documents until it visits others."""

    cdef sparsemix_split_work work
    cdef readonly Py_ssize_t n_components

    def __cinit__(self, Py_ssize_t n_components):
        memset(&self.work, 0, sizeof(self.work))
        self.n_components = n_components
        self.work.slot = <int*> malloc(n_components * sizeof(int))
        if self.work.slot == NULL:
            raise MemoryError(f"no memory for the slots of {n_components} topics")
        memset(self.work.slot, 255, n_components * sizeof(int))

    def __dealloc__(self):
        sparsemix_split_free(&self.work)


def sample_starts(
    const int64_t[::1] indptr,  # IN  (n + 1,) entries of documents
    const real[::1] counts,     # IN  (nnz,)
):
    """Start of the samples of each document, (n + 1,): an entry has one sample per token, up to a limit."""
    cdef Py_ssize_t d, e, n = indptr.shape[0] - 1
    out = np.empty(n + 1, dtype=np.int64)  # not made from the view, which takes as long as a small batch
    cdef int64_t[::1] starts = out
    cdef int64_t at = 0
    if indptr[n] > counts.shape[0]:
        raise ValueError(f"counts must hold {indptr[n]} entries")
    with nogil:
        starts[0] = 0
        for d in range(n):
            for e in range(indptr[d], indptr[d + 1]):
                at += sparsemix_split_samples(counts[e])
            starts[d + 1] = at
    return out


def tokens_of_samples(
    const int64_t[::1] indptr,  # IN  (n + 1,) entries of documents
    const real[::1] counts,     # IN  (nnz,)
    real[::1] tokens,           # OUT (samples,) as many as sample_starts tells
):
    """Tokens represented by each sample."""
    cdef Py_ssize_t e, i = 0, n_documents = indptr.shape[0] - 1
    cdef int s, n
    if indptr[n_documents] > counts.shape[0]:
        raise ValueError(f"counts must hold {indptr[n_documents]} entries")
    with nogil:
        for e in range(indptr[0], indptr[n_documents]):
            n = sparsemix_split_samples(counts[e])
            if i + n > tokens.shape[0]:
                i = -1
                break
            for s in range(n):
                tokens[i + s] = counts[e] / n
            i += n
    if i != tokens.shape[0]:
        raise ValueError("tokens must be as many as the samples of the entries")


def n_blocks(Py_ssize_t n_components):
    """Number of blocks of topics."""
    return (n_components + SPARSEMIX_SPLIT_BLOCK - 1) // SPARSEMIX_SPLIT_BLOCK


def padded(values, dtype):
    """Rows of K numbers padded with zeros to whole groups of topics, which are whole registers."""
    *shape, n = np.shape(values)
    width = (n + SPARSEMIX_GROUP - 1) // SPARSEMIX_GROUP * SPARSEMIX_GROUP
    out = aligned_empty(math.prod(shape) * width, dtype).reshape(*shape, width)
    out[..., :n] = values
    out[..., n:] = 0
    return out


cdef void fill_fixed_parts(
    const double[::1] inverse, double factor, const double[::1] alpha, double limit, real[:, ::1] out
) noexcept nogil:
    cdef Py_ssize_t k, n_components = inverse.shape[0]
    cdef double largest = -INFINITY, prior = 1.0, x
    for k in range(n_components):
        x = factor * inverse[k]
        if x > largest or x != x:  # NaN stays, as in NumPy
            largest = x
        prior = max(prior, alpha[k])
    largest = limit / (largest * prior)
    if not largest < 1.0:
        largest = 1.0
    for k in range(n_components):
        x = factor * inverse[k] * largest
        out[0, k], out[1, k] = <real> x, <real> (x * alpha[k])
    for k in range(n_components, out.shape[1]):
        out[0, k] = out[1, k] = 0


def fixed_parts(
    const double[::1] inverse,  # IN  (K,) 1 / (N_k + V beta)
    double factor,              # IN  times inverse
    const double[::1] alpha,    # IN  (K,)
    double limit,               # IN  of products: larger ones are scaled down
    dtype,                      # IN  of the result
):
    """Padded rows of inverse and of alpha inverse, (2, K padded), scaled together."""
    cdef Py_ssize_t width = (inverse.shape[0] + SPARSEMIX_GROUP - 1) // SPARSEMIX_GROUP * SPARSEMIX_GROUP
    cdef float[:, ::1] single
    cdef double[:, ::1] whole
    if alpha.shape[0] != inverse.shape[0]:
        raise ValueError("alpha must have one number for each of inverse")
    out = aligned_empty(2 * width, dtype).reshape(2, width)
    if out.itemsize == sizeof(float):
        single = out
        fill_fixed_parts(inverse, factor, alpha, limit, single)
    else:
        whole = out
        fill_fixed_parts(inverse, factor, alpha, limit, whole)
    return out


cdef class Topics:
    """Frozen topics phi_wk = (counts_wk + base) inverse_k, and the fixed part of conditionals.

    Documents may have priors of a few groups. ``blocks`` are then not used: each document sums those of its words.
    """

    cdef object table, fixed, inverse, blocks, groups
    cdef bint packed
    cdef double base
    cdef Py_ssize_t n_words, n_components, n_blocks, width, n_groups

    def __init__(
        self,
        table,         # IN  (V, K) counts by word and topic, or PackedCounts
        double base,   # IN  added to every count
        fixed,         # IN  (K padded,) alpha_k times inverse, or (groups, K padded)
        inverse=None,  # IN  (K padded,) 1 / (N_k + V beta), in units of the table
        blocks=None,   # IN  (V, blocks) from sum_blocks
        groups=None,   # IN  (n,) int32, group of each document
    ):
        self.table, self.base, self.fixed, self.inverse, self.blocks = table, base, fixed.ravel(), inverse, blocks
        self.groups, self.n_groups = groups, len(fixed) if fixed.ndim == 2 else 0
        self.width = len(self.fixed) // max(self.n_groups, 1)
        self.packed = not isinstance(table, np.ndarray)
        self.n_words, self.n_components = table.shape
        self.n_blocks = n_blocks(self.n_components)
        if self.width < self.n_components or self.width % SPARSEMIX_GROUP:
            raise ValueError(f"fixed must be padded, with space for {self.n_components} topics")
        if inverse is not None and len(inverse) < self.n_components:
            raise ValueError(f"inverse must be for {self.n_components} topics")
        if blocks is not None:
            self.check_blocks(blocks.shape)

    cdef const int* groups_of(self, groups, Py_ssize_t n) except? NULL:
        """Groups of n documents or entries, or NULL if all have one prior."""
        cdef const int[::1] view = groups
        cdef Py_ssize_t i
        if self.packed and self.n_groups:
            raise ValueError("packed counts have no groups")
        if (groups is None) != (self.n_groups == 0) or groups is not None and view.shape[0] < n:
            raise ValueError(f"groups must be one for each of {n} if fixed has groups")
        if groups is None or n == 0:
            return NULL
        for i in range(n):
            if not 0 <= view[i] < self.n_groups:
                raise ValueError(f"groups must be from 0 to {self.n_groups - 1}")
        return &view[0]

    cdef check_blocks(self, shape):
        if shape[0] != self.n_words or shape[1] != self.n_blocks:
            raise ValueError(f"blocks must be ({self.n_words}, {self.n_blocks})")


cdef const real* whole_rows(Topics topics, any_counts* packed, const real* like) except? NULL:
    """Whole rows of the table, or NULL: then ``packed`` has them; ``like`` gives the type."""
    cdef const real[:, ::1] table
    memset(packed, 0, sizeof(any_counts))
    if topics.packed:
        point_to(topics.table, packed, like)
        return NULL
    table = topics.table
    return &table[0, 0]


cdef void sum_some_blocks(blocks_task* t, int64_t part, const real* like) noexcept nogil:
    cdef Py_ssize_t first = t.n_words * part // PARTS, last = t.n_words * (part + 1) // PARTS
    if t.whole == NULL:
        sparsemix_split_packed_blocks(
            t.level, <const void*> &t.packed, t.n_components, t.n_blocks, t.base, <const real*> t.fixed,
            <real*> t.background + part * t.n_blocks, t.words, first, last, <real*> t.blocks)
    else:
        sparsemix_split_blocks(
            t.level, <const real*> t.whole, t.n_components, t.n_blocks, t.base, <const real*> t.fixed, t.words, first,
            last, <real*> t.blocks)


cdef void blocks_item(void* task, int64_t part) noexcept nogil:
    if (<blocks_task*> task).is_double:
        sum_some_blocks(<blocks_task*> task, part, <const double*> NULL)
    else:
        sum_some_blocks(<blocks_task*> task, part, <const float*> NULL)


def sum_blocks(
    Topics topics not None,        # IN
    const int[::1] words,          # IN  (n,)
    real[:, ::1] blocks,           # OUT (V, blocks) sums of (table + base) fixed up to the end of each block of topics
    Pool pool=None,                # IN  of threads
):
    """The fixed part of the conditionals of some words; from packed counts in time proportional to their number."""
    cdef blocks_task t
    cdef const real[::1] fixed = topics.fixed
    cdef real[:, ::1] background = np.empty((PARTS, topics.n_blocks), dtype=np.float32 if real is float else np.float64)
    topics.check_blocks((blocks.shape[0], blocks.shape[1]))
    if words.shape[0] == 0:
        return
    t.whole = whole_rows(topics, &t.packed, &fixed[0])
    t.level, t.is_double = instruction_level(), real is double
    t.fixed, t.background, t.blocks, t.words = &fixed[0], &background[0, 0], &blocks[0, 0], &words[0]
    t.n_components, t.n_blocks, t.n_words, t.base = topics.n_components, topics.n_blocks, words.shape[0], topics.base
    share_items(pool, blocks_item, &t, PARTS)


cdef void visit_some(visit_task* t, int64_t seat, const real* like) noexcept nogil:
    """Documents that no other seat has taken."""
    cdef int status = sparsemix_split_documents(
        t.level, &t.s, t.n, t.indptr, t.indices, <const real*> t.counts, t.numbers, t.whole, <const void*> &t.packed,
        t.inverse, t.fixed, t.blocks, t.start_indptr, t.start_topics, t.start_values,
        <sparsemix_split_work*> t.seats[seat], t.state_indptr, t.states, t.records, t.shares, t.order, &t.n_taken,
        t.own, t.groups)
    if status == SPARSEMIX_SPLIT_NO_TOPIC:
        sparsemix_fetch_add(&t.n_without_topic, 1)
    elif status != SPARSEMIX_SPLIT_OK:
        sparsemix_fetch_add(&t.n_without_memory, 1)


cdef void visit_item(void* task, int64_t seat) noexcept nogil:
    if (<visit_task*> task).is_double:
        visit_some(<visit_task*> task, seat, <const double*> NULL)
    else:
        visit_some(<visit_task*> task, seat, <const float*> NULL)


def local_step(
    Entries entries not None,        # IN
    Topics topics not None,          # IN  with blocks of the current words
    int n_sweeps,                    # IN  over a document's types
    int exclude,                     # IN  own tokens are excluded from the document's counts
    const int64_t[::1] numbers,      # IN  (n,) global row numbers, which key the random numbers
    uint64_t seed,                   # IN
    int64_t visit,                   # IN  of these documents
    start,                           # IN  initial N_jk of documents without samples, sparse, as indptr (n + 1,), topics
                                     #     and values; or None
    const int64_t[::1] state_indptr,  # IN  (n + 1,) from sample_starts
    state[::1] states,               # INOUT sampled topics, -1 throughout a document: none yet; from state_dtype
    int64_t[:, ::1] records,         # OUT (nnz, 3) records of entries, for sum_rows
    real[::1] shares,                # OUT (nnz,) their factor of the fixed part
    const int[::1] order,            # IN  (n,) order in which documents are taken
    list works not None,             # OUT Workspaces, one for each thread; hold the data of the records
    const double[::1] own=None,      # IN  (n,) one token of a document in the table, in its units; None: none is there
    Pool pool=None,                  # IN  of threads
):
    """Sweeps of Gibbs sampling over each document separately; the last sweep records expected counts."""
    cdef Py_ssize_t d, n = entries.n
    cdef visit_task t
    cdef Workspace work
    if n <= 0 or entries.n_entries == 0:
        return
    memset(&t, 0, sizeof(t))
    cdef const real[::1] counts = entries.counts, inverse = topics.inverse, fixed = topics.fixed
    cdef const real[:, ::1] blocks = topics.blocks
    t.groups, t.s.width = topics.groups_of(topics.groups, n), topics.width
    cdef int64_t[::1] seats = np.empty(len(works), dtype=np.int64)
    t.whole = whole_rows(topics, &t.packed, &fixed[0])
    t.s.n_components, t.s.n_blocks, t.s.base = topics.n_components, topics.n_blocks, topics.base
    t.s.n_sweeps, t.s.exclude, t.s.seed, t.s.visit = n_sweeps, exclude, seed, visit
    for d, work in enumerate(works):
        if work.n_components != t.s.n_components:
            raise ValueError(f"works must be for {t.s.n_components} topics")
        seats[d] = <int64_t> &work.work
    if min(records.shape[0], shares.shape[0]) < entries.indptr[n] or records.shape[1] != 3:
        raise ValueError("records (nnz, 3) and shares must hold indptr[-1] entries")
    if state_indptr.shape[0] != n + 1 or states.shape[0] != state_indptr[n] or numbers.shape[0] != n:
        raise ValueError("states must be as many as the samples of the entries, and numbers one for each document")
    if own is not None and own.shape[0] != n:
        raise ValueError("own must have one number for each document")
    if order.shape[0] != n:
        raise ValueError("order must have every document once")
    for d in range(n):
        if not 0 <= order[d] < n:
            raise ValueError(f"order must have the documents from 0 to {n - 1}")
    if states.shape[0] == 0:
        return
    if state is short and t.s.n_components > SHORT_TOPICS:
        raise ValueError(f"states of {t.s.n_components} topics need four bytes")
    t.states.values, t.states.wide = &states[0], state is int
    cdef const int64_t[::1] start_indptr
    cdef const int[::1] start_topics
    cdef const real[::1] start_values
    if start is not None:
        start_indptr, start_topics, start_values = start
        if start_indptr.shape[0] != n + 1 or min(start_topics.shape[0], start_values.shape[0]) < start_indptr[n]:
            raise ValueError("the start must have the topics and values of every document")
        t.start_indptr = &start_indptr[0]
        if start_topics.shape[0]:
            t.start_topics, t.start_values = &start_topics[0], &start_values[0]
    t.level, t.is_double, t.n = instruction_level(), real is double, n
    t.indptr, t.indices, t.counts, t.numbers = &entries.indptr[0], &entries.indices[0], &counts[0], &numbers[0]
    t.inverse, t.fixed, t.seats = &inverse[0], &fixed[0], &seats[0]
    if blocks is not None:
        t.blocks = &blocks[0, 0]
    t.state_indptr, t.records, t.shares = &state_indptr[0], <sparsemix_split_record*> &records[0, 0], &shares[0]
    t.order, t.own = &order[0], &own[0] if own is not None else NULL
    share_items(pool, visit_item, &t, seats.shape[0])
    if t.n_without_topic:
        raise ValueError(f"a state is no topic from 0 to {t.s.n_components - 1}")
    if t.n_without_memory:
        raise MemoryError("no memory for what documents leave")


cdef class Records:
    """Records of the entries of documents, by word."""

    cdef const int64_t[::1] starts
    cdef const int[::1] entries
    cdef const int64_t[:, ::1] records
    cdef object shares, weights, groups

    def __init__(
        self,
        starts,        # IN  (V + 1,) entries by word
        entries,       # IN  (nnz,)
        records,       # IN  (nnz, 3) of local_step, whose workspaces must be alive
        shares,        # IN  (nnz,)
        weights=None,  # IN  (nnz,) of the entries' documents, or None: all one
        groups=None,   # IN  (nnz,) int32, of the entries' documents, if they have groups
    ):
        self.starts, self.entries, self.records, self.shares, self.weights = starts, entries, records, shares, weights
        self.groups = groups
        if min(len(records), len(shares)) < len(entries):
            raise ValueError("records and shares must be one for each entry")

    cdef check(self, Topics topics):
        if self.starts.shape[0] != topics.n_words + 1:
            raise ValueError("starts must be one for each word and one more")


cdef const real* weights_of(Records records, const real* like) except? NULL:
    cdef const real[::1] weights = records.weights
    if weights is None:
        return NULL
    return &weights[0]


def sum_rows(
    Records records not None,      # IN
    Topics topics not None,        # IN  of whole rows
    const int[::1] words,          # IN  (n,) word of each row of the sums
    Py_ssize_t first,              # IN  rows first to last only
    Py_ssize_t last,               # IN
    real[::1] row,                 # TMP (K padded,) aligned; two with groups
    real[:, ::1] out,              # OUT (n, K) sum of c gamma by word
    double[::1] totals,            # INOUT (K,) += their sums
):
    """Rows of S_vk from the records of entries, in document order."""
    cdef int level = instruction_level()
    cdef Py_ssize_t n_components = topics.n_components
    cdef const real[:, ::1] table = topics.table
    cdef const real[::1] fixed = topics.fixed, shares = records.shares
    cdef const real* weight = weights_of(records, &fixed[0])
    cdef sparsemix_split_groups groups
    records.check(topics)
    groups.of_entry, groups.width = topics.groups_of(records.groups, records.entries.shape[0]), topics.width
    if out.shape[1] != n_components or words.shape[0] != out.shape[0] or totals.shape[0] != n_components:
        raise ValueError(f"every row of the sums must have a word and {n_components} columns")
    if row.shape[0] < (topics.width if groups.of_entry == NULL else 2 * topics.width):
        raise ValueError("row must be as long as fixed, and twice as long with groups")
    groups.memory = &row[0] + topics.width
    if first >= last or records.entries.shape[0] == 0:
        return
    with nogil:
        sparsemix_split_rows(
            level, &records.starts[0], &records.entries[0], <const sparsemix_split_record*> &records.records[0, 0],
            &shares[0], weight, &table[0, 0], topics.base, &fixed[0], groups, n_components, &words[0], first, last,
            &row[0], &out[0, 0], &totals[0])


cdef void add_some_rows(rows_task* t, int64_t seat, const real* like) noexcept nogil:
    """Groups of words that no other seat has taken."""
    cdef real* row = <real*> t.memory + (2 if t.groups.of_entry == NULL else 3) * seat * t.width
    cdef int64_t g = sparsemix_fetch_add(&t.n_taken, 1)
    cdef sparsemix_split_groups groups = t.groups
    groups.memory = row + 2 * t.width
    while g < t.n_groups:
        sparsemix_split_add_rows(
            t.level, t.starts, t.entries, t.records, <const real*> t.shares, t.weight, t.table, t.base, t.fixed,
            groups, t.n_components, t.words, t.bounds[g], t.bounds[g + 1], t.factor, row, row + t.width,
            t.totals + g * t.n_components)
        g = sparsemix_fetch_add(&t.n_taken, 1)


cdef void rows_item(void* task, int64_t seat) noexcept nogil:
    if (<rows_task*> task).is_double:
        add_some_rows(<rows_task*> task, seat, <const double*> NULL)
    else:
        add_some_rows(<rows_task*> task, seat, <const float*> NULL)


def add_rows(
    Records records not None,      # IN
    Topics topics not None,        # INOUT whose whole rows of counts += factor S_vk
    const int[::1] words,          # IN  (n,) that have entries
    const int64_t[::1] bounds,     # IN  (groups + 1,) of the words
    double factor,                 # IN
    double[:, ::1] totals,         # INOUT (groups, K) += sums of S_vk
    real[:, ::1] memory,           # TMP (threads, two K padded; three with groups) aligned, zero before and after
    Pool pool=None,                # IN  of threads
):
    """Add the sums of ``sum_rows`` to the table that the documents were visited with."""
    cdef rows_task t
    cdef Py_ssize_t g, n_groups = bounds.shape[0] - 1, n_components = topics.n_components
    cdef real[:, ::1] table = topics.table
    cdef const real[::1] fixed = topics.fixed, shares = records.shares
    records.check(topics)
    if totals.shape[0] != n_groups or totals.shape[1] != n_components:
        raise ValueError(f"every group must have {n_components} totals")
    for g in range(n_groups):
        if not 0 <= bounds[g] <= bounds[g + 1] <= words.shape[0]:
            raise ValueError(f"bounds must increase from 0 to {words.shape[0]}")
    t.groups.of_entry, t.groups.width = topics.groups_of(records.groups, records.entries.shape[0]), topics.width
    if memory.shape[1] != (2 if t.groups.of_entry == NULL else 3) * topics.width:
        raise ValueError("memory must have two rows as long as fixed for each thread, three with groups")
    if records.entries.shape[0] == 0:
        return
    t.weight = weights_of(records, &fixed[0])
    t.level, t.is_double = instruction_level(), real is double
    t.starts, t.entries, t.shares = &records.starts[0], &records.entries[0], &shares[0]
    t.records = <const sparsemix_split_record*> &records.records[0, 0]
    t.table, t.fixed, t.base, t.factor = &table[0, 0], &fixed[0], topics.base, factor
    t.n_components, t.width, t.n_groups, t.n_taken = n_components, topics.width, n_groups, 0
    t.words, t.bounds, t.memory, t.totals = &words[0], &bounds[0], &memory[0, 0], &totals[0, 0]
    share_items(pool, rows_item, &t, memory.shape[0])


def sum_sparse(
    Records records not None,      # IN
    Topics topics not None,        # IN  with blocks
    const int[::1] words,          # IN  (n,) increasing
    Py_ssize_t first,              # IN  words first to last only
    Py_ssize_t last,               # IN
    int n_even,                    # IN  topics drawn for each token of the fixed part
    uint64_t seed,                 # IN
    int64_t visit,                 # IN
    int64_t[::1] lengths,          # OUT (n,) topics of each word
    int[::1] columns,              # OUT topics, increasing in a word, word after word; large enough for all
    real[::1] values,              # OUT
    double factor=1.0,             # IN  with gains: of the sums
    double smallest=0.0,           # IN  with gains: smaller counts on new topics become this or zero at random
    double[::1] gains=None,        # INOUT (K,) to add the sums to the packed counts: += gain of each topic
):
    """Sparse S_vk: as ``sum_rows``, with a fixed part that is sampled; returns the number of entries.

    With ``gains`` the sums are added to the packed counts; columns and values then need space for one word only.
    """
    cdef int level = instruction_level()
    cdef sparsemix_split_settings s
    cdef any_counts packed
    cdef real[::1] shares = records.shares
    cdef const real[::1] fixed = topics.fixed
    cdef const real[:, ::1] blocks = topics.blocks
    cdef const real* weight = weights_of(records, &fixed[0])
    cdef const real* whole = whole_rows(topics, &packed, &fixed[0])
    cdef real[::1] row = np.zeros(fixed.shape[0], dtype=np.float32 if real is float else np.float64)
    cdef uint64_t[::1] touched = np.zeros(fixed.shape[0] // 64 + 1, dtype=np.uint64)
    cdef double* gained = NULL
    cdef int64_t n = 0
    records.check(topics)
    if first >= last or records.entries.shape[0] == 0:
        return 0
    s.n_components, s.n_blocks, s.base, s.seed, s.visit = topics.n_components, topics.n_blocks, topics.base, seed, visit
    if gains is not None:
        if whole != NULL or gains.shape[0] != s.n_components or columns.shape[0] < s.n_components:
            raise ValueError("gains need packed counts, one for each topic, and space for the topics of a word")
        gained = &gains[0]
    if lengths.shape[0] != words.shape[0] or columns.shape[0] != values.shape[0]:
        raise ValueError("lengths must be one for each word, and columns as many as values")
    with nogil:
        n = sparsemix_split_sparse_rows(
            level, &s, &records.starts[0], &records.entries[0], <const sparsemix_split_record*> &records.records[0, 0],
            &shares[0], weight, whole, <const void*> &packed, &fixed[0], &blocks[0, 0], &words[0], first, last, n_even,
            &row[0], &touched[0], &lengths[0], &columns[0], &values[0], factor, smallest, gained)
    return n
