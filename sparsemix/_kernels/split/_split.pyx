"""Gibbs sampling of a block of documents under frozen topics, in time proportional to the topics of each document.

The loops are in split_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memset

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


def sum_blocks(
    const real[:, ::1] table,      # IN  (V, K) counts by word and topic
    double base,                   # IN  added to every count
    const real[::1] fixed,         # IN  (K padded,) alpha_k / (N_k + V beta), in units of the table
    const int[::1] words,          # IN  (n,)
    Py_ssize_t first,              # IN  words first to last only
    Py_ssize_t last,               # IN
    real[:, ::1] blocks,           # OUT (V, blocks) sums of (table + base) fixed up to the end of each block of topics
):
    """The fixed part of the conditionals of some words."""
    cdef int level = instruction_level()
    cdef Py_ssize_t n_components = table.shape[1]
    if fixed.shape[0] < n_components or fixed.shape[0] % SPARSEMIX_GROUP:
        raise ValueError(f"fixed must be padded, with space for {n_components} topics")
    if blocks.shape[0] != table.shape[0] or blocks.shape[1] != n_blocks(n_components):
        raise ValueError(f"blocks must be ({table.shape[0]}, {n_blocks(n_components)})")
    if first >= last:
        return
    with nogil:
        sparsemix_split_blocks(
            level, &table[0, 0], n_components, blocks.shape[1], base, &fixed[0], &words[0], first, last, &blocks[0, 0])


def sum_packed_blocks(
    packed,                        # IN  PackedCounts (V, K)
    double base,                   # IN  added to every count
    const real[::1] fixed,         # IN  (K padded,)
    const int[::1] words,          # IN  (n,)
    Py_ssize_t first,              # IN  words first to last only
    Py_ssize_t last,               # IN
    real[:, ::1] blocks,           # OUT (V, blocks)
):
    """``sum_blocks`` from packed counts, in time proportional to their number."""
    cdef int level = instruction_level()
    cdef Py_ssize_t n_components = packed.shape[1]
    cdef real[::1] background = np.empty(blocks.shape[1], dtype=np.float32 if real is float else np.float64)
    cdef any_counts packed_counts
    if fixed.shape[0] < n_components or fixed.shape[0] % SPARSEMIX_GROUP:
        raise ValueError(f"fixed must be padded, with space for {n_components} topics")
    if blocks.shape[0] != packed.shape[0] or blocks.shape[1] != n_blocks(n_components):
        raise ValueError(f"blocks must be ({packed.shape[0]}, {n_blocks(n_components)})")
    if first >= last:
        return
    cdef const void* rows = point_to(packed, &packed_counts, &fixed[0])
    with nogil:
        sparsemix_split_packed_blocks(
            level, rows, n_components, blocks.shape[1], base, &fixed[0], &background[0], &words[0], first, last,
            &blocks[0, 0])


def local_step(
    const int64_t[::1] indptr,       # IN  (n + 1,) entries of document d are indptr[d] to indptr[d + 1]
    const int[::1] indices,          # IN  (nnz,) rows of the table
    const real[::1] counts,          # IN  (nnz,) positive
    const real[:, ::1] table,        # IN  (V, K) counts by word and topic, or None:
    packed,                          # IN  the same as PackedCounts, or None
    double base,                     # IN  added to every count
    const real[::1] inverse,         # IN  (K padded,) 1 / (N_k + V beta), in units of the table
    const real[::1] fixed,           # IN  (K padded,) alpha_k times that
    const real[:, ::1] blocks,       # IN  (V, blocks) from sum_blocks, for the current words
    int n_sweeps,                    # IN  over a document's types
    int exclude,                     # IN  own tokens are excluded from the document's counts
    const int64_t[::1] numbers,      # IN  (n,) global row numbers, which key the random numbers
    uint64_t seed,                   # IN
    int64_t visit,                   # IN  of these documents
    const int64_t[::1] start_indptr,  # IN  (n + 1,) initial N_jk of documents without samples, sparse, or None
    const int[::1] start_topics,     # IN
    const real[::1] start_values,    # IN
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
    cdef Py_ssize_t d, n = indptr.shape[0] - 1
    cdef sparsemix_split_settings s
    cdef sparsemix_states samples
    cdef int status = 0, level = instruction_level()
    if n <= 0 or counts.shape[0] == 0:
        return
    cdef any_counts packed_counts
    cdef const real* whole = NULL
    s.n_components, s.n_blocks = work.n_components, blocks.shape[1]
    memset(&packed_counts, 0, sizeof(packed_counts))
    if packed is None:
        whole = &table[0, 0]
    else:
        point_to(packed, &packed_counts, &fixed[0])
    shape = table.shape[0] if packed is None else packed.shape[0], table.shape[1] if packed is None else packed.shape[1]
    s.n_sweeps, s.exclude, s.seed, s.visit, s.base = n_sweeps, exclude, seed, visit, base
    if min(inverse.shape[0], fixed.shape[0]) < s.n_components or shape[1] != s.n_components:
        raise ValueError(f"inverse, fixed and work must be for {s.n_components} topics")
    if blocks.shape[0] != shape[0] or s.n_blocks != n_blocks(s.n_components):
        raise ValueError("blocks must be those of the table")
    if min(indices.shape[0], counts.shape[0], records.shape[0], shares.shape[0]) < indptr[n] or records.shape[1] != 3:
        raise ValueError("indices, counts, records (nnz, 3) and shares must hold indptr[-1] entries")
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
    cdef const int64_t* begin = NULL
    cdef const int* topics = NULL
    cdef const real* values = NULL
    if start_indptr is not None:
        if start_indptr.shape[0] != n + 1 or min(start_topics.shape[0], start_values.shape[0]) < start_indptr[n]:
            raise ValueError("start_indptr must be (n + 1,), and start_topics and start_values hold its entries")
        begin = &start_indptr[0]
        if start_topics.shape[0]:
            topics, values = &start_topics[0], &start_values[0]
    with nogil:
        status = sparsemix_split_documents(
            level, &s, n, &indptr[0], &indices[0], &counts[0], &numbers[0], whole, <const void*> &packed_counts,
            &inverse[0], &fixed[0], &blocks[0, 0], begin, topics, values, &work.work, &state_indptr[0], samples,
            <sparsemix_split_record*> &records[0, 0], &shares[0], &order[0], &next[0],
            &own[0] if own is not None else NULL)
    if status == SPARSEMIX_SPLIT_NO_TOPIC:
        raise ValueError(f"a state is no topic from 0 to {s.n_components - 1}")
    if status != SPARSEMIX_SPLIT_OK:
        raise MemoryError("no memory for what documents leave")


def sum_rows(
    const int64_t[::1] starts,     # IN  (V + 1,) entries by word
    const int[::1] entries,        # IN  (nnz,)
    const int64_t[:, ::1] records,  # IN  (nnz, 3) of local_step, whose workspaces must be alive
    const real[::1] shares,        # IN  (nnz,)
    const real[::1] weights,       # IN  (nnz,) of the entries' documents, or None: all one
    const real[:, ::1] table,      # IN  (V, K)
    double base,                   # IN
    const real[::1] fixed,         # IN  (K padded,)
    const int[::1] words,          # IN  (n,) word of each row of the sums
    Py_ssize_t first,              # IN  rows first to last only
    Py_ssize_t last,               # IN
    real[::1] row,                 # TMP (K padded,) aligned
    real[:, ::1] out,              # OUT (n, K) sum of c gamma by word
    double[::1] totals,            # INOUT (K,) += their sums
):
    """Rows of S_vk from the records of entries, in document order."""
    cdef int level = instruction_level()
    cdef Py_ssize_t n_components = table.shape[1]
    cdef const real* weight = NULL
    if out.shape[1] != n_components or words.shape[0] != out.shape[0] or totals.shape[0] != n_components:
        raise ValueError(f"every row of the sums must have a word and {n_components} columns")
    if min(fixed.shape[0], row.shape[0]) < n_components or fixed.shape[0] % SPARSEMIX_GROUP:
        raise ValueError(f"fixed and row must be padded, with space for {n_components} topics")
    if min(records.shape[0], shares.shape[0]) < entries.shape[0] or starts.shape[0] != table.shape[0] + 1:
        raise ValueError("records and shares must be one for each entry, and starts one for each word and one more")
    if first >= last or entries.shape[0] == 0:
        return
    if weights is not None:
        weight = &weights[0]
    with nogil:
        sparsemix_split_rows(
            level, &starts[0], &entries[0], <const sparsemix_split_record*> &records[0, 0], &shares[0], weight,
            &table[0, 0], base, &fixed[0], n_components, &words[0], first, last, &row[0], &out[0, 0], &totals[0])


def add_rows(
    const int64_t[::1] starts,     # IN  (V + 1,) entries by word
    const int[::1] entries,        # IN  (nnz,)
    const int64_t[:, ::1] records,  # IN  (nnz, 3) of local_step, whose workspaces must be alive
    const real[::1] shares,        # IN  (nnz,)
    const real[::1] weights,       # IN  (nnz,) of the entries' documents, or None: all one
    real[:, ::1] table,            # INOUT (V, K) += factor S_vk
    double base,                   # IN
    const real[::1] fixed,         # IN  (K padded,)
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
    cdef Py_ssize_t g, n_groups = bounds.shape[0] - 1, n_components = table.shape[1]
    cdef const real* weight = NULL
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
    if fixed.shape[0] < n_components or fixed.shape[0] % SPARSEMIX_GROUP:
        raise ValueError(f"fixed must be padded, with space for {n_components} topics")
    if min(records.shape[0], shares.shape[0]) < entries.shape[0] or starts.shape[0] != table.shape[0] + 1:
        raise ValueError("records and shares must be one for each entry, and starts one for each word and one more")
    if entries.shape[0] == 0:
        return
    if weights is not None:
        weight = &weights[0]
    with nogil:
        g = sparsemix_fetch_add(&taken[0], 1)
        while g < n_groups:
            sparsemix_split_add_rows(
                level, &starts[0], &entries[0], <const sparsemix_split_record*> &records[0, 0], &shares[0], weight,
                &table[0, 0], base, &fixed[0], n_components, &words[0], bounds[g], bounds[g + 1], factor, &row[0],
                &part[0], &totals[g, 0])
            g = sparsemix_fetch_add(&taken[0], 1)


def sum_sparse(
    const int64_t[::1] starts,     # IN  (V + 1,) entries by word
    const int[::1] entries,        # IN  (nnz,)
    const int64_t[:, ::1] records,  # IN  (nnz, 3) of local_step, whose workspaces must be alive
    real[::1] shares,              # IN  (nnz,)
    const real[::1] weights,       # IN  (nnz,) of the entries' documents, or None: all one
    const real[:, ::1] table,      # IN  (V, K) counts, or None:
    packed,                        # IN  PackedCounts, or None
    double base,                   # IN
    const real[::1] fixed,         # IN  (K padded,)
    const real[:, ::1] blocks,     # IN  (V, blocks)
    const int[::1] words,          # IN  (n,) increasing
    Py_ssize_t first,              # IN  words first to last only
    Py_ssize_t last,               # IN
    int n_even,                    # IN  topics drawn for each token of the fixed part
    uint64_t seed,                 # IN
    int64_t visit,                 # IN
    int64_t[::1] lengths,          # OUT (n,) topics of each word
    int[::1] topics,               # OUT increasing in a word, word after word; large enough for all
    real[::1] values,              # OUT
    double factor=1.0,             # IN  with gains: of the sums
    double smallest=0.0,           # IN  with gains: smaller counts on new topics become this or zero at random
    double[::1] gains=None,        # INOUT (K,) to add the sums to the packed counts: += gain of each topic
):
    """Sparse S_vk: as ``sum_rows``, with a fixed part that is sampled; returns the number of entries.

    With ``gains`` the sums are added to the packed counts; topics and values then need space for one word only.
    """
    cdef int level = instruction_level()
    cdef sparsemix_split_settings s
    cdef const real* weight = NULL
    cdef real[::1] row = np.zeros(fixed.shape[0], dtype=np.float32 if real is float else np.float64)
    cdef uint64_t[::1] touched = np.zeros(fixed.shape[0] // 64 + 1, dtype=np.uint64)
    cdef int64_t n = 0
    if first >= last or entries.shape[0] == 0:
        return 0
    cdef any_counts packed_counts
    cdef const real* whole = NULL
    cdef double* gained = NULL
    memset(&packed_counts, 0, sizeof(packed_counts))
    if packed is None:
        whole = &table[0, 0]
    else:
        point_to(packed, &packed_counts, &fixed[0])
    shape = table.shape[0] if packed is None else packed.shape[0], table.shape[1] if packed is None else packed.shape[1]
    s.n_components, s.n_blocks, s.base, s.seed, s.visit = shape[1], blocks.shape[1], base, seed, visit
    if gains is not None:
        if packed is None or gains.shape[0] != s.n_components or topics.shape[0] < s.n_components:
            raise ValueError("gains need packed counts, one for each topic, and space for the topics of a word")
        gained = &gains[0]
    if fixed.shape[0] < s.n_components or fixed.shape[0] % SPARSEMIX_GROUP or s.n_blocks != n_blocks(s.n_components):
        raise ValueError("fixed and blocks must be those of the table")
    if min(records.shape[0], shares.shape[0]) < entries.shape[0] or starts.shape[0] != shape[0] + 1:
        raise ValueError("records and shares must be one for each entry, and starts one for each word and one more")
    if lengths.shape[0] != words.shape[0] or topics.shape[0] != values.shape[0]:
        raise ValueError("lengths must be one for each word, and topics as many as values")
    if weights is not None:
        weight = &weights[0]
    with nogil:
        n = sparsemix_split_sparse_rows(
            level, &s, &starts[0], &entries[0], <const sparsemix_split_record*> &records[0, 0], &shares[0], weight,
            whole, <const void*> &packed_counts, &fixed[0], &blocks[0, 0], &words[0], first, last, n_even, &row[0],
            &touched[0], &lengths[0], &topics[0], &values[0], factor, smallest, gained)
    return n
