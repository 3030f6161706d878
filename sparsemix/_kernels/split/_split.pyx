"""Gibbs sampling of a block of documents under frozen topics, in time proportional to the topics of each document.

The loops are in split_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memset

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.split._packed_counts cimport any_counts, point_to
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


cdef extern from "split/split.h" nogil:
    enum:
        SPARSEMIX_GROUP
        SPARSEMIX_SPLIT_BLOCK
        SPARSEMIX_SPLIT_OK
        SPARSEMIX_SPLIT_NO_TOPIC
    ctypedef struct sparsemix_split_settings:
        Py_ssize_t n_components, n_blocks
        int n_sweeps, exclude
        uint64_t seed
        int64_t visit
        double base
    ctypedef struct sparsemix_split_record:
        int64_t values, topics, n
    ctypedef struct sparsemix_split_work:
        int* slot
    ctypedef struct sparsemix_states:
        void* values
        int wide
    int sparsemix_split_samples(double)
    void sparsemix_split_free(sparsemix_split_work*)
    int sparsemix_split_documents(
        int, const sparsemix_split_settings*, Py_ssize_t, const int64_t*, const int*, const void*, const int64_t*,
        const void*, const void*, const void*, const void*, const void*, const int64_t*, const int*, const void*,
        sparsemix_split_work*, const int64_t*, sparsemix_states, sparsemix_split_record*, void*, const int*, int64_t*,
        const double*)
    void sparsemix_split_blocks(
        int, const void*, Py_ssize_t, Py_ssize_t, double, const void*, const int*, Py_ssize_t, Py_ssize_t, void*)
    void sparsemix_split_packed_blocks(
        int, const void*, Py_ssize_t, Py_ssize_t, double, const void*, void*, const int*, Py_ssize_t, Py_ssize_t, void*)
    void sparsemix_split_rows(
        int, const int64_t*, const int*, const sparsemix_split_record*, const void*, const void*, const void*, double,
        const void*, Py_ssize_t, const int*, Py_ssize_t, Py_ssize_t, void*, void*, double*)
    void sparsemix_split_add_rows(
        int, const int64_t*, const int*, const sparsemix_split_record*, const void*, const void*, void*, double,
        const void*, Py_ssize_t, const int*, Py_ssize_t, Py_ssize_t, double, void*, void*, double*)
    int64_t sparsemix_split_sparse_rows(
        int, const sparsemix_split_settings*, const int64_t*, const int*, const sparsemix_split_record*, void*,
        const void*, const void*, const void*, const void*, const void*, const int*, Py_ssize_t, Py_ssize_t, int, void*,
        uint64_t*, int64_t*, int*, void*, double, double, double*)


cdef enum:
    SHORT_TOPICS = 1 << 15  # more do not go into two bytes


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
    cdef int64_t[::1] starts = np.zeros(n + 1, dtype=np.int64)
    if indptr[n] > counts.shape[0]:
        raise ValueError(f"counts must hold {indptr[n]} entries")
    with nogil:
        for d in range(n):
            starts[d + 1] = starts[d]
            for e in range(indptr[d], indptr[d + 1]):
                starts[d + 1] += sparsemix_split_samples(counts[e])
    return np.asarray(starts)


def tokens_of_samples(const int64_t[::1] indptr, const real[::1] counts, int64_t[::1] starts, real[::1] tokens):
    """Tokens represented by each sample, (n_samples(counts),), and the start of each document's samples, (n + 1,)."""
    cdef Py_ssize_t d, e, i = 0
    cdef int s, n
    with nogil:
        for d in range(indptr.shape[0] - 1):
            starts[d] = i
            for e in range(indptr[d], indptr[d + 1]):
                n = sparsemix_split_samples(counts[e])
                for s in range(n):
                    tokens[i + s] = counts[e] / n
                i += n
        starts[indptr.shape[0] - 1] = i


def n_blocks(Py_ssize_t n_components):
    """Number of blocks of topics."""
    return (n_components + SPARSEMIX_SPLIT_BLOCK - 1) // SPARSEMIX_SPLIT_BLOCK


def padded(values, dtype):
    """A vector of K numbers padded with zeros to whole groups of topics, which are whole registers."""
    size = (len(values) + SPARSEMIX_GROUP - 1) // SPARSEMIX_GROUP * SPARSEMIX_GROUP
    out = aligned_empty(size, dtype)
    out[:len(values)] = values
    out[len(values):] = 0
    return out


cdef class Topics:
    """Frozen topics phi_wk = (counts_wk + base) inverse_k, and the fixed part of conditionals."""

    cdef object table, fixed, inverse, blocks
    cdef bint packed
    cdef double base
    cdef Py_ssize_t n_words, n_components, n_blocks

    def __init__(
        self,
        table,         # IN  (V, K) counts by word and topic, or PackedCounts
        double base,   # IN  added to every count
        fixed,         # IN  (K padded,) alpha_k times inverse
        inverse=None,  # IN  (K padded,) 1 / (N_k + V beta), in units of the table
        blocks=None,   # IN  (V, blocks) from sum_blocks
    ):
        self.table, self.base, self.fixed, self.inverse, self.blocks = table, base, fixed, inverse, blocks
        self.packed = not isinstance(table, np.ndarray)
        self.n_words, self.n_components = table.shape
        self.n_blocks = n_blocks(self.n_components)
        if len(fixed) < self.n_components or len(fixed) % SPARSEMIX_GROUP:
            raise ValueError(f"fixed must be padded, with space for {self.n_components} topics")
        if inverse is not None and len(inverse) < self.n_components:
            raise ValueError(f"inverse must be for {self.n_components} topics")
        if blocks is not None:
            self.check_blocks(blocks.shape)

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


def sum_blocks(
    Topics topics not None,        # IN
    const int[::1] words,          # IN  (n,)
    Py_ssize_t first,              # IN  words first to last only
    Py_ssize_t last,               # IN
    real[:, ::1] blocks,           # OUT (V, blocks) sums of (table + base) fixed up to the end of each block of topics
):
    """The fixed part of the conditionals of some words; from packed counts in time proportional to their number."""
    cdef int level = instruction_level()
    cdef any_counts packed
    cdef const real[::1] fixed = topics.fixed
    cdef const real* whole = whole_rows(topics, &packed, &fixed[0])
    cdef real[::1] background = np.empty(topics.n_blocks, dtype=np.float32 if real is float else np.float64)
    topics.check_blocks((blocks.shape[0], blocks.shape[1]))
    if first >= last:
        return
    with nogil:
        if whole == NULL:
            sparsemix_split_packed_blocks(
                level, <const void*> &packed, topics.n_components, topics.n_blocks, topics.base, &fixed[0],
                &background[0], &words[0], first, last, &blocks[0, 0])
        else:
            sparsemix_split_blocks(
                level, whole, topics.n_components, topics.n_blocks, topics.base, &fixed[0], &words[0], first, last,
                &blocks[0, 0])


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
    int64_t[::1] next,               # INOUT (1,) number of documents taken; shared by all threads
    Workspace work not None,         # OUT holds the data of the records
    const double[::1] own=None,      # IN  (n,) one token of a document in the table, in its units; None: none is there
):
    """Sweeps of Gibbs sampling over each document separately; the last sweep records expected counts."""
    cdef Py_ssize_t d, n = entries.n
    cdef sparsemix_split_settings s
    cdef sparsemix_states samples
    cdef any_counts packed
    cdef int status = 0, level = instruction_level()
    if n <= 0 or entries.n_entries == 0:
        return
    cdef const real[::1] counts = entries.counts, inverse = topics.inverse, fixed = topics.fixed
    cdef const real[:, ::1] blocks = topics.blocks
    cdef const real* whole = whole_rows(topics, &packed, &fixed[0])
    s.n_components, s.n_blocks, s.base = topics.n_components, topics.n_blocks, topics.base
    s.n_sweeps, s.exclude, s.seed, s.visit = n_sweeps, exclude, seed, visit
    if work.n_components != s.n_components:
        raise ValueError(f"work must be for {s.n_components} topics")
    if min(records.shape[0], shares.shape[0]) < entries.indptr[n] or records.shape[1] != 3:
        raise ValueError("records (nnz, 3) and shares must hold indptr[-1] entries")
    if state_indptr.shape[0] != n + 1 or states.shape[0] != state_indptr[n] or numbers.shape[0] != n:
        raise ValueError("states must be as many as the samples of the entries, and numbers one for each document")
    if next.shape[0] != 1 or sparsemix_fetch_add(&next[0], 0) < 0:  # an atomic read: other threads may change it
        raise ValueError("next must be one number")
    if own is not None and own.shape[0] != n:
        raise ValueError("own must have one number for each document")
    if order.shape[0] != n:
        raise ValueError("order must have every document once")
    for d in range(n):
        if not 0 <= order[d] < n:
            raise ValueError(f"order must have the documents from 0 to {n - 1}")
    if states.shape[0] == 0:
        return
    if state is short and s.n_components > SHORT_TOPICS:
        raise ValueError(f"states of {s.n_components} topics need four bytes")
    samples.values, samples.wide = &states[0], state is int
    cdef const int64_t[::1] start_indptr
    cdef const int[::1] start_topics
    cdef const real[::1] start_values
    cdef const int64_t* begin = NULL
    cdef const int* first_topic = NULL
    cdef const real* first_value = NULL
    if start is not None:
        start_indptr, start_topics, start_values = start
        if start_indptr.shape[0] != n + 1 or min(start_topics.shape[0], start_values.shape[0]) < start_indptr[n]:
            raise ValueError("the start must have the topics and values of every document")
        begin = &start_indptr[0]
        if start_topics.shape[0]:
            first_topic, first_value = &start_topics[0], &start_values[0]
    with nogil:
        status = sparsemix_split_documents(
            level, &s, n, &entries.indptr[0], &entries.indices[0], &counts[0], &numbers[0], whole,
            <const void*> &packed, &inverse[0], &fixed[0], &blocks[0, 0], begin, first_topic, first_value, &work.work,
            &state_indptr[0], samples, <sparsemix_split_record*> &records[0, 0], &shares[0], &order[0], &next[0],
            &own[0] if own is not None else NULL)
    if status == SPARSEMIX_SPLIT_NO_TOPIC:
        raise ValueError(f"a state is no topic from 0 to {s.n_components - 1}")
    if status != SPARSEMIX_SPLIT_OK:
        raise MemoryError("no memory for what documents leave")


cdef class Records:
    """Records of the entries of documents, by word."""

    cdef const int64_t[::1] starts
    cdef const int[::1] entries
    cdef const int64_t[:, ::1] records
    cdef object shares, weights

    def __init__(
        self,
        starts,        # IN  (V + 1,) entries by word
        entries,       # IN  (nnz,)
        records,       # IN  (nnz, 3) of local_step, whose workspaces must be alive
        shares,        # IN  (nnz,)
        weights=None,  # IN  (nnz,) of the entries' documents, or None: all one
    ):
        self.starts, self.entries, self.records, self.shares, self.weights = starts, entries, records, shares, weights
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
    real[::1] row,                 # TMP (K padded,) aligned
    real[:, ::1] out,              # OUT (n, K) sum of c gamma by word
    double[::1] totals,            # INOUT (K,) += their sums
):
    """Rows of S_vk from the records of entries, in document order."""
    cdef int level = instruction_level()
    cdef Py_ssize_t n_components = topics.n_components
    cdef const real[:, ::1] table = topics.table
    cdef const real[::1] fixed = topics.fixed, shares = records.shares
    cdef const real* weight = weights_of(records, &fixed[0])
    records.check(topics)
    if out.shape[1] != n_components or words.shape[0] != out.shape[0] or totals.shape[0] != n_components:
        raise ValueError(f"every row of the sums must have a word and {n_components} columns")
    if row.shape[0] < fixed.shape[0]:
        raise ValueError("row must be as long as fixed")
    if first >= last or records.entries.shape[0] == 0:
        return
    with nogil:
        sparsemix_split_rows(
            level, &records.starts[0], &records.entries[0], <const sparsemix_split_record*> &records.records[0, 0],
            &shares[0], weight, &table[0, 0], topics.base, &fixed[0], n_components, &words[0], first, last, &row[0],
            &out[0, 0], &totals[0])


def add_rows(
    Records records not None,      # IN
    Topics topics not None,        # INOUT whose whole rows of counts += factor S_vk
    const int[::1] words,          # IN  (n,) that have entries
    const int64_t[::1] bounds,     # IN  (groups + 1,) of the words
    int64_t[::1] taken,            # INOUT (1,) number of groups taken; shared by all threads
    double factor,                 # IN
    real[::1] row,                 # TMP (K padded,) aligned, zero before and after
    real[::1] part,                # TMP the same
    double[:, ::1] totals,         # INOUT (groups, K) += sums of S_vk
):
    """Add the sums of ``sum_rows`` to the table that the documents were visited with."""
    cdef int level = instruction_level()
    cdef Py_ssize_t g, n_groups = bounds.shape[0] - 1, n_components = topics.n_components
    cdef real[:, ::1] table = topics.table
    cdef const real[::1] fixed = topics.fixed, shares = records.shares
    cdef const real* weight = weights_of(records, &fixed[0])
    records.check(topics)
    if (
        totals.shape[0] != n_groups or totals.shape[1] != n_components
        or taken.shape[0] != 1 or sparsemix_fetch_add(&taken[0], 0) < 0
    ):
        raise ValueError(f"every group must have {n_components} totals, and taken be one number")
    for g in range(n_groups):
        if not 0 <= bounds[g] <= bounds[g + 1] <= words.shape[0]:
            raise ValueError(f"bounds must increase from 0 to {words.shape[0]}")
    if min(row.shape[0], part.shape[0]) < fixed.shape[0]:
        raise ValueError("row and part must be as long as fixed")
    if records.entries.shape[0] == 0:
        return
    with nogil:
        g = sparsemix_fetch_add(&taken[0], 1)
        while g < n_groups:
            sparsemix_split_add_rows(
                level, &records.starts[0], &records.entries[0], <const sparsemix_split_record*> &records.records[0, 0],
                &shares[0], weight, &table[0, 0], topics.base, &fixed[0], n_components, &words[0], bounds[g],
                bounds[g + 1], factor, &row[0], &part[0], &totals[g, 0])
            g = sparsemix_fetch_add(&taken[0], 1)


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
