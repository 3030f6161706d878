"""Sums over documents by word: the statistics of topics, one row per word.

Entries (document, word type) are first grouped by word (counting sort), then each word adds its own entries in document
order: no locks, and the same bits for any distribution of the words over threads.
"""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.documents._packed cimport any_packed, point_to, sparsemix_entry
from sparsemix._kernels.threads._pool cimport Pool, share_items
from sparsemix._kernels.vectors._simd cimport instruction_level

ctypedef fused real:
    float
    double


cdef extern from "documents/packed.h" nogil:
    int sparsemix_lowest_bit(uint64_t x)


cdef extern from "random/random.h" nogil:
    uint64_t sparsemix_mix(uint64_t)
    uint64_t sparsemix_key(uint64_t, uint64_t)
    double sparsemix_uniform(uint64_t)


cdef extern from "documents/rows.h" nogil:
    enum:
        SPARSEMIX_PADDING
    void sparsemix_sum_rows(
        int, const int64_t*, const int*, const void*, const void*, Py_ssize_t, const int*, Py_ssize_t, Py_ssize_t,
        Py_ssize_t, int, void*)
    void sparsemix_add_whole_rows(int, const int*, Py_ssize_t, const void*, double, Py_ssize_t, void*, double*)


cdef enum:
    PARTS = 64  # of words that threads take in turn


def group_by_word(
    const int[::1] indices,     # IN  (nnz,) word of each entry
    int64_t[::1] starts,        # OUT (V + 2,) word v has entries starts[v] to starts[v + 1] of the next array
    int[::1] entries,           # OUT (nnz,) increasing within a word
    int[::1] words,             # OUT (V,) set up to the returned number: words with entries, increasing
    int64_t[::1] bounds,        # OUT (groups + 1,) of these words, in groups of about equally many entries
):
    """Counting sort of entries by word; returns the number of words with entries."""
    cdef Py_ssize_t e, v, n = 0, g = 0, nnz = indices.shape[0], n_words = starts.shape[0] - 2
    cdef Py_ssize_t n_groups = bounds.shape[0] - 1
    cdef int64_t count, before = 0
    if n_words < 0 or words.shape[0] < n_words or n_groups < 1:
        raise ValueError("starts must have two more numbers than there are words, and bounds two or more")
    if entries.shape[0] < nnz:
        raise ValueError("entries must have space for all")
    with nogil:
        starts[:] = 0
        for e in range(nnz):
            starts[indices[e] + 2] += 1
        for v in range(n_words):  # without a branch, which would be hard to predict
            words[n] = <int> v
            count = starts[v + 2]
            n += count != 0
            starts[v + 1] = before
            before += count
        for e in range(nnz):
            v = indices[e]
            entries[starts[v + 1]] = <int> e
            starts[v + 1] += 1
        for v in range(n):
            while g <= n_groups and starts[words[v]] >= g * nnz // n_groups:
                bounds[g] = v
                g += 1
        for g in range(g, n_groups + 1):
            bounds[g] = n
    return n


def sum_sparse(
    const int64_t[::1] starts,    # IN  (V + 1,)
    const int[::1] entries,       # IN  (nnz,)
    const int[:, ::1] topics,     # IN  (nnz, L)
    const real[:, ::1] values,    # IN  (nnz, L)
    table,                        # IN  (V, K) exp E[log phi] up to a factor, or PackedTable; None without energies
    double smallest,              # IN  smaller sums (and shares, of rows below one) are dropped, their mass divided
    Py_ssize_t n_components,      # IN  K
    Py_ssize_t first,             # IN  words first to last only
    Py_ssize_t last,              # IN
    int64_t[::1] lengths,         # OUT (V,) entries of each row
    int[::1] out_topics,          # OUT of words first to last, row after row, increasing
    real[::1] out_values,         # OUT
    double[::1] energies,         # OUT (V,) sum_k S_vk log table_vk, before anything is dropped
):
    """Rows of S_vk = sum of values by word and topic, sparse; returns the number of entries."""
    cdef Py_ssize_t v, at, e, j, k, block, n_blocks = (n_components + 63) // 64, n_nonzero = topics.shape[1]
    cdef int64_t count = 0, begin
    cdef double total, kept, largest, limit
    cdef double[::1] row = np.zeros(n_components)
    cdef uint64_t[::1] touched = np.zeros(n_blocks, dtype=np.uint64)
    cdef uint64_t bits
    cdef bint with_energies = isinstance(table, np.ndarray), is_packed = table is not None and not with_energies
    cdef const real[:, ::1] whole
    cdef double entry
    cdef any_packed packed_table
    cdef const void* packed_start = NULL
    if is_packed:
        packed_start = point_to(table, &packed_table, &values[0, 0])
    elif with_energies:
        whole = table
    if out_topics.shape[0] < out_values.shape[0]:
        raise ValueError("out_topics and out_values must be of one length")
    with nogil:
        for v in range(first, last):
            begin = count
            total = kept = largest = energies[v] = 0.0
            for at in range(starts[v], starts[v + 1]):
                e = entries[at]
                for j in range(n_nonzero):
                    if values[e, j] > 0:
                        k = topics[e, j]
                        row[k] += values[e, j]
                        touched[k >> 6] |= (<uint64_t> 1) << (k & 63)
            for block in range(n_blocks):
                bits = touched[block]
                while bits:
                    k = 64 * block + sparsemix_lowest_bit(bits)
                    bits &= bits - 1
                    total += row[k]
                    largest = max(largest, row[k])
                    if is_packed:
                        entry = sparsemix_entry(&values[0, 0], packed_start, v, k)
                        energies[v] += row[k] * log(entry)
                    elif with_energies:
                        energies[v] += row[k] * log(whole[v, k])
            limit = min(smallest * min(total, 1.0), largest)  # the largest entry is always kept
            for block in range(n_blocks):
                bits = touched[block]
                touched[block] = 0
                while bits:
                    k = 64 * block + sparsemix_lowest_bit(bits)
                    bits &= bits - 1
                    if row[k] >= limit:
                        kept += row[k]
                        out_topics[count] = <int> k
                        out_values[count] = <real> row[k]
                        count += 1
                    row[k] = 0.0
            lengths[v] = count - begin
            if kept > 0.0 and kept < total:
                for at in range(begin, count):
                    out_values[at] *= <real> (total / kept)
    return count


def sum_dense(
    const int64_t[::1] starts,    # IN  (V + 1,)
    const int[::1] entries,       # IN  (nnz,)
    const int[::1] documents,     # IN  (nnz,) document of each entry
    const real[::1] scale,        # IN  (nnz,) count / Z
    const real[:, ::1] p,         # IN  (n, K) exp E[log pi] up to a factor
    const real[:, ::1] table,     # IN  (V, K) exp E[log phi] up to a factor
    Py_ssize_t first,             # IN  words first to last only
    Py_ssize_t last,              # IN
    real[:, ::1] out,             # INOUT (V, K) += S_vk = table_vk sum_d scale_dv p_dk
):
    """Rows of S_vk for dense responsibilities: products of a number of the word, of the document and of the entry."""
    cdef Py_ssize_t v, at, k, n_components = table.shape[1]
    cdef real weight
    cdef const real* source
    cdef real[::1] row = np.empty(n_components, dtype=np.float32 if real is float else np.float64)
    with nogil:
        for v in range(first, last):
            if starts[v] == starts[v + 1]:
                continue
            row[:] = 0
            for at in range(starts[v], starts[v + 1]):
                source, weight = &p[documents[entries[at]], 0], scale[entries[at]]
                for k in range(n_components):
                    row[k] += weight * source[k]
            for k in range(n_components):
                out[v, k] += row[k] * table[v, k]


def add_rows(
    const int64_t[::1] indptr,   # IN  (V + 1,)
    const int[::1] indices,      # IN  (nnz,) topics
    const real[::1] data,        # IN  (nnz,)
    double factor,               # IN
    real[:, ::1] out,            # INOUT (V, K) += factor data, not below zero
):
    """Add ``factor`` times a sparse table to a dense one; clips negative round-off of subtractions to zero."""
    cdef Py_ssize_t v, at, k
    cdef double value
    with nogil:
        for v in range(out.shape[0]):
            for at in range(indptr[v], indptr[v + 1]):
                k = indices[at]
                value = out[v, k] + factor * data[at]
                out[v, k] = <real> (value if value > 0.0 else 0.0)


cdef struct rows_task:
    int level, is_double, fresh
    const int64_t* starts
    const int* entries
    const void* counts
    const void* resp
    const int* words
    void* rows
    void* out
    double* totals  # of each part, or NULL
    double factor
    Py_ssize_t stride, n_words, n_components, n_parts


cdef void sum_some_rows(rows_task* t, int64_t part, const real* like) noexcept nogil:
    sparsemix_sum_rows(
        t.level, t.starts, t.entries, <const real*> t.counts, t.resp, t.stride, t.words, t.n_words * part // t.n_parts,
        t.n_words * (part + 1) // t.n_parts, t.n_components, t.fresh, t.out)


cdef void sum_item(void* task, int64_t part) noexcept nogil:
    if (<rows_task*> task).is_double:
        sum_some_rows(<rows_task*> task, part, <const double*> NULL)
    else:
        sum_some_rows(<rows_task*> task, part, <const float*> NULL)


def sum_rows(
    const int64_t[::1] starts,   # IN  (V + 1,)
    const int[::1] entries,      # IN  (nnz,)
    const real[::1] counts,      # IN  (nnz,) c of each entry, times the weight of its document
    const real[:, ::1] resp,     # IN  (nnz, width) gamma of each entry, width at least K
    const int[::1] words,        # IN  (n,) word of each row of the sums
    bint fresh,                  # IN  out is not initialised; else the sums are added to it
    real[:, ::1] out,            # INOUT (n, K) sum of c gamma by word
    Pool pool=None,              # IN  of threads
):
    """Rows of S_vk for dense responsibilities, in document order."""
    cdef rows_task t
    t.stride, t.n_words, t.n_components, t.n_parts = resp.shape[1], words.shape[0], out.shape[1], PARTS
    if t.stride < t.n_components or t.stride % SPARSEMIX_PADDING or words.shape[0] != out.shape[0]:
        raise ValueError(f"resp must have {t.n_components} columns and padding, and every row of the sums a word")
    if t.n_words == 0 or t.n_components == 0:
        return
    if counts.shape[0] == 0:
        if fresh:
            out[:, :] = 0
        return
    t.level, t.is_double, t.fresh = instruction_level(), real is double, fresh
    t.starts, t.entries, t.counts, t.resp = &starts[0], &entries[0], &counts[0], &resp[0, 0]
    t.words, t.out = &words[0], &out[0, 0]
    share_items(pool, sum_item, &t, PARTS)


cdef void add_some_rows(rows_task* t, int64_t part, const real* like) noexcept nogil:
    cdef Py_ssize_t first = t.n_words * part // t.n_parts, last = t.n_words * (part + 1) // t.n_parts
    sparsemix_add_whole_rows(
        t.level, t.words + first, last - first, <const real*> t.rows + first * t.n_components, t.factor,
        t.n_components, t.out, NULL if t.totals == NULL else t.totals + part * t.n_components)


cdef void add_item(void* task, int64_t part) noexcept nogil:
    if (<rows_task*> task).is_double:
        add_some_rows(<rows_task*> task, part, <const double*> NULL)
    else:
        add_some_rows(<rows_task*> task, part, <const float*> NULL)


def add_whole_rows(
    const int[::1] words,        # IN  (n,) rows of out, increasing
    const real[:, ::1] rows,     # IN  (n, K)
    double factor,               # IN
    real[:, ::1] out,            # INOUT (V, K) += factor rows, not below zero
    double[:, ::1] totals=None,  # INOUT (parts, K) += sums of the rows of some words each
    Pool pool=None,              # IN  of threads
):
    """Add ``factor`` times the rows of some words to a dense table; clips negative round-off to zero."""
    cdef rows_task t
    cdef Py_ssize_t i
    if rows.shape[0] != words.shape[0] or rows.shape[1] != out.shape[1]:
        raise ValueError("rows must be one for each word, of the table's width")
    if totals is not None and totals.shape[1] != out.shape[1]:
        raise ValueError(f"totals must be for {out.shape[1]} topics")
    for i in range(words.shape[0]):
        if not 0 <= words[i] < out.shape[0]:
            raise ValueError(f"word {words[i]} has no row in the table")
    if words.shape[0] == 0 or out.shape[1] == 0:
        return
    t.level, t.is_double, t.factor = instruction_level(), real is double, factor
    t.n_words, t.n_components, t.n_parts = words.shape[0], out.shape[1], PARTS
    t.words, t.rows, t.out, t.totals = &words[0], <void*> &rows[0, 0], &out[0, 0], NULL
    if totals is not None:
        t.n_parts, t.totals = totals.shape[0], &totals[0, 0]
    share_items(pool, add_item, &t, t.n_parts)


def compress_rows(
    const int[::1] words,        # IN  (n,) increasing
    const real[:, ::1] rows,     # IN  (n, K) not negative
    double smallest,             # IN  smaller entries (and shares, of rows below one) become this or zero at random
    uint64_t key,                # IN  of the random numbers: of this table
    int64_t[::1] lengths,        # OUT (V,) entries of each row; not set for other words
    int[::1] out_topics,         # OUT (n K,) set up to the returned number
    real[::1] out_values,        # OUT (n K,)
):
    """Compress rows to a sparse table; returns the number of entries.

    Small entries are sampled systematically: one per ``smallest`` of their sum, from a random offset. This keeps the
    expectation of each; giving their sum to the large entries would bias all topics in which a word is rare.
    """
    cdef Py_ssize_t i, k, n_components = rows.shape[1]
    cdef int64_t count = 0, begin, at
    cdef double total, kept, limit, carried
    cdef real largest, value
    if rows.shape[0] != words.shape[0] or min(out_topics.shape[0], out_values.shape[0]) < rows.shape[0] * n_components:
        raise ValueError("rows must be one for each word, with space for all their entries")
    with nogil:
        for i in range(words.shape[0]):
            begin, total, kept, largest = count, 0.0, 0.0, 0
            for k in range(n_components):
                total += rows[i, k]
                largest = max(largest, rows[i, k])
            limit = min(smallest * min(total, 1.0), <double> largest)  # the largest entry is always kept
            carried = limit * sparsemix_uniform(sparsemix_key(sparsemix_mix(key), <uint64_t> words[i]))
            for k in range(n_components):
                value = rows[i, k]
                if value < limit:
                    carried += value
                    if carried < limit:
                        continue
                    carried -= limit
                    value = <real> limit
                if value > 0:
                    kept += value
                    out_topics[count] = <int> k
                    out_values[count] = value
                    count += 1
            lengths[words[i]] = count - begin
            for at in range(begin, count):
                out_values[at] *= <real> (total / kept)
    return count
