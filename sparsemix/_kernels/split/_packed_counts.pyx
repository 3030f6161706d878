"""A sparse table of counts by word and topic with rows that grow, in one array of values.

The layout is in counts.h.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sparsemix._kernels.split._packed_counts cimport SPARSEMIX_GROUP, any_counts, point_to
from sparsemix._kernels.vectors._simd cimport instruction_level

ctypedef fused real:
    float
    double


cdef extern from "split/packed_rows.h" nogil:
    int sparsemix_lowest_bit(uint64_t)
    int64_t sparsemix_counts_length(const uint64_t*, Py_ssize_t)
    void sparsemix_add_packed_rows(
        int, const void*, const int*, Py_ssize_t, const int64_t*, int*, void*, double, double, uint64_t, double*)


GROUP = SPARSEMIX_GROUP


def lengths(
    const uint64_t[:, ::1] heads,  # IN  (V, groups)
    const int[::1] words,          # IN  (n,)
    int64_t[::1] out,              # OUT (n,)
):
    """Number of counts in the rows of some words."""
    cdef Py_ssize_t i
    if out.shape[0] != words.shape[0]:
        raise ValueError("out must have one number for each word")
    for i in range(words.shape[0]):
        if not 0 <= words[i] < heads.shape[0]:
            raise ValueError(f"there is no word {words[i]}")
    with nogil:
        for i in range(words.shape[0]):
            out[i] = sparsemix_counts_length(&heads[words[i], 0], heads.shape[1])


def fill_rows(
    const uint64_t[:, ::1] heads,  # IN  (V, groups)
    const int64_t[::1] starts,     # IN  (V,)
    const real[::1] values,        # IN
    const int[::1] words,          # IN  (n,)
    real[:, ::1] out,              # OUT (n, K)
):
    """Dense rows of some words."""
    cdef Py_ssize_t i, g
    cdef int64_t at
    cdef uint32_t bits
    if out.shape[0] != words.shape[0]:
        raise ValueError("out must have one row for each word")
    with nogil:
        for i in range(words.shape[0]):
            out[i, :] = 0
            at = starts[words[i]]
            for g in range(heads.shape[1]):
                bits = <uint32_t> heads[words[i], g]
                while bits:
                    out[i, SPARSEMIX_GROUP * g + sparsemix_lowest_bit(bits)] = values[at]
                    at += 1
                    bits &= bits - 1


def fill_sparse(
    const uint64_t[:, ::1] heads,  # IN  (V, groups)
    const int64_t[::1] starts,     # IN  (V,)
    const real[::1] values,        # IN
    const int[::1] words,          # IN  (n,)
    const int64_t[::1] indptr,     # IN  (n + 1,) from lengths
    int[::1] out_topics,           # OUT
    real[::1] out_values,          # OUT
):
    """The counts of some words as sparse rows."""
    cdef Py_ssize_t i, g, n = words.shape[0]
    cdef int64_t at, to
    cdef uint32_t bits
    if indptr.shape[0] != n + 1 or min(out_topics.shape[0], out_values.shape[0]) < indptr[n]:
        raise ValueError("topics and values must have space for all counts")
    with nogil:
        for i in range(n):
            at, to = starts[words[i]], indptr[i]
            for g in range(heads.shape[1]):
                bits = <uint32_t> heads[words[i], g]
                while bits:
                    out_topics[to] = <int> (SPARSEMIX_GROUP * g + sparsemix_lowest_bit(bits))
                    out_values[to] = values[at]
                    at += 1
                    to += 1
                    bits &= bits - 1


def move_rows(
    const int64_t[::1] lengths,  # IN  (V,)
    int64_t[::1] starts,         # INOUT (V,) old, then new starts of rows
    const int[::1] capacity,     # IN  (V,) space of each row at its new place
    const real[::1] source,      # IN
    real[::1] out,               # OUT
):
    """Move rows together, without the gaps between them; returns where they end."""
    cdef Py_ssize_t v
    cdef int64_t end = 0
    with nogil:
        for v in range(lengths.shape[0]):
            if lengths[v]:
                memcpy(&out[end], &source[starts[v]], lengths[v] * sizeof(real))
            starts[v] = end
            end += capacity[v]
    return end


def add(
    packed,                     # INOUT PackedCounts, with space reserved at the end
    const int[::1] words,       # IN  (n,) different
    const int64_t[::1] indptr,  # IN  (n + 1,)
    int[::1] topics,            # TMP increasing in a word
    real[::1] sums,             # TMP
    double factor,              # IN
    double smallest,            # IN  smaller counts on new topics become this or zero at random
    uint64_t key,               # IN  of the random numbers
    double[::1] gains,          # INOUT (K,) += gain of each topic
):
    """Add factor times sums to the rows of some words."""
    cdef int level = instruction_level()
    cdef any_counts counts
    if indptr.shape[0] != words.shape[0] + 1 or min(topics.shape[0], sums.shape[0]) < indptr[words.shape[0]]:
        raise ValueError("indptr must tell the sums of each word")
    if words.shape[0] == 0 or indptr[words.shape[0]] == 0:
        return
    cdef const void* rows = point_to(packed, &counts, &sums[0])
    with nogil:
        sparsemix_add_packed_rows(
            level, rows, &words[0], words.shape[0], &indptr[0], &topics[0], &sums[0], factor, smallest, key, &gains[0])
