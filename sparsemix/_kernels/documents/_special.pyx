"""Digamma and log Gamma over tables of counts by word and topic, and the table used to infer documents."""

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.vectors._simd cimport instruction_level
from sparsemix._kernels.vectors._topl cimport INFINITY, ROW_NOT_FINITE, ROW_OK, top_l

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double

ctypedef fused topic:
    short
    int

cdef enum:
    FEW = 8  # tokens of a topic in a short document


cdef extern from "documents/tables.h" nogil:
    enum:
        SPARSEMIX_PADDING
    double sparsemix_word_row(int, const void*, Py_ssize_t, double, double, int, const void*, void*, void*)
    double sparsemix_packed_row(
        int, const void*, Py_ssize_t, double, double, const void*, double, void*, int*, uint64_t*, void*, void*, void*,
        Py_ssize_t*)
    enum:
        SPARSEMIX_HEAD_TOPICS
    float SPARSEMIX_LOWEST_float
    double SPARSEMIX_LOWEST_double
    double sparsemix_log_gamma(double x)
    double sparsemix_digamma(double x)


def exp_log_word(
    const real[:, ::1] counts,  # IN  (V, K) expected counts
    double factor,              # IN  times the counts
    double prior,               # IN  topic_word_prior
    bint linear,                # IN  the posterior mean of phi in the place of exp E[log phi]
    const real[::1] inverse,    # IN  (K,) exp -digamma(totals), or 1 / totals, up to a factor
    const int[::1] words,       # IN  (n,) rows to make
    Py_ssize_t first,           # IN  only words first to last of these
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
            total = sparsemix_word_row(
                level, &counts[v, 0], n_components, factor, prior, linear, &weight[0], &x[0], &table[v, 0])
            if not total < INFINITY:
                status = ROW_NOT_FINITE
                break
            if n_nonzero > 0:
                status = top_l(&table[v, 0], <int> n_components, n_nonzero, &heap[0], &lists[v, 0])
                if status != ROW_OK:
                    break
    if status != ROW_OK:
        raise ValueError(f"the counts of word {words[i]} hold NaN or infinity; check its counts for extreme values")


class PackedTable:
    """The table of ``exp_log_word``, storing only the entries with counts above zero.

    Each remaining entry is a number of its row times a number of its topic. With thousands of topics the packed table
    has a few percent of the size and fits the cache.

    Attributes
    ----------
    heads : ndarray of shape (V, ceil(K / 40)), uint64
        For each 40 topics, one bit per stored entry; above these bits, the number of entries before.
    starts : ndarray of shape (V,), int64
        Start of each row in ``values``.
    values : ndarray
        Entries. It has space for V K numbers, but only the pages in use take memory.
    rest, scale : ndarray of shape (V,)
        An entry that is not stored is rest[v] inverse[k] scale[v], but at least 1e-30 (in float64 1e-250).
    inverse : ndarray of shape (K,)
    lists, best : ndarray of shape (V, L), int32 and real
        Topics of the L largest entries of a row, increasing, and those entries.
    """

    def __init__(self, n_words, n_components, n_nonzero, dtype):
        self.shape = n_words, n_components
        self.heads = np.zeros((n_words, -(-n_components // SPARSEMIX_HEAD_TOPICS)), dtype=np.uint64)
        self.starts = np.zeros(n_words, dtype=np.int64)
        self.rest, self.scale = np.ones(n_words, dtype=dtype), np.ones(n_words, dtype=dtype)
        self.inverse = np.ones(n_components, dtype=dtype)
        self.lists = np.zeros((n_words, n_nonzero), dtype=np.int32)
        self.best = np.ones((n_words, n_nonzero), dtype=dtype)
        self.values = self.version = None
        self.forget()

    def forget(self):
        """Mark all rows as stale."""
        n_words, n_components = self.shape
        if self.values is None or 2 * self._n_kept < self._n_resident:  # release pages that few entries do not need
            self.values = None
            self.values, self._n_resident = np.empty(n_words * n_components + 1, dtype=self.rest.dtype), 0
        self._n_made = self._n_kept = 0

    def make(self, counts, factor, prior, inverse, words, split):
        """Compute stale rows of some words from dense or sparse counts (V, K); ``split`` distributes the work."""
        self.inverse[...] = inverse
        dense = isinstance(counts, np.ndarray)
        parts = (counts, None, None, None) if dense else (
            None, counts.indptr.astype(np.int64, copy=False), counts.indices.astype(np.int32, copy=False), counts.data
        )
        kept = []

        def share(first, last):
            at = (self._n_made + first) * self.shape[1]  # space for whole rows, so places do not depend on other rows
            kept.append(packed_rows(self, self.inverse, *parts, factor, prior, words, first, last, at))

        split(share, len(words))
        self._n_made += len(words)
        self._n_kept += sum(kept)
        self._n_resident = max(self._n_resident, self._n_kept)

    def toarray(self, words=None):
        """Dense rows of some words, or of all."""
        n_components = self.shape[1]
        out = np.empty((self.shape[0] if words is None else len(words), n_components), dtype=self.rest.dtype)
        for i, v in enumerate(range(self.shape[0]) if words is None else words):
            bits = np.unpackbits(self.heads[v, :, None].view(np.uint8), axis=1, bitorder="little")
            has = bits[:, :SPARSEMIX_HEAD_TOPICS].ravel()[:n_components].astype(bool)
            lowest = 1e-30 if out.dtype == np.float32 else 1e-250
            out[i] = np.maximum(self.rest[v] * self.inverse * self.scale[v], out.dtype.type(lowest))
            out[i, has] = self.values[self.starts[v] : self.starts[v] + has.sum()]
        return out


def packed_rows(
    table,                        # OUT PackedTable
    const real[::1] inverse,      # IN  (K,) exp -digamma(totals) up to a factor
    const real[:, ::1] counts,    # IN  (V, K) expected counts; or None, and then as a sparse table:
    const int64_t[::1] indptr,    # IN  (V + 1,)
    const int[::1] indices,       # IN  (nnz,)
    const real[::1] data,         # IN  (nnz,)
    double factor,                # IN  times the counts
    double prior,                 # IN  topic_word_prior
    const int[::1] words,         # IN  (n,) rows to make
    Py_ssize_t first,             # IN  only words first to last of these
    Py_ssize_t last,              # IN
    int64_t at,                   # IN  where they begin in values
):
    """Rows of a packed table; returns the number of stored entries."""
    cdef uint64_t[:, ::1] heads = table.heads
    cdef int64_t[::1] starts = table.starts
    cdef real[::1] values = table.values, rest = table.rest, scale = table.scale
    cdef int[:, ::1] lists = table.lists
    cdef real[:, ::1] best = table.best
    cdef Py_ssize_t i, j, k, v, n_kept, n_components = inverse.shape[0], n_nonzero = lists.shape[1]
    cdef Py_ssize_t padded = (n_components + 1 + SPARSEMIX_PADDING) // SPARSEMIX_PADDING * SPARSEMIX_PADDING
    cdef int level = instruction_level(), status = ROW_OK
    cdef int64_t begin = at
    cdef double total
    cdef real largest = 0
    cdef const real* row
    dtype = np.float32 if real is float else np.float64
    cdef real[::1] x = aligned_empty(padded, dtype), whole = np.zeros(n_components, dtype=dtype)
    cdef real[::1] heap = np.empty(max(n_nonzero, 1), dtype=dtype)
    cdef int[::1] topics = np.empty(n_components, dtype=np.intc)
    if values.shape[0] < at + (last - first) * n_components:
        raise ValueError("values must have space for whole rows")
    with nogil:
        for k in range(n_components):
            largest = max(largest, inverse[k])
        for i in range(first, last):
            v = words[i]
            if counts is None:
                for j in range(indptr[v], indptr[v + 1]):
                    whole[indices[j]] = data[j]
                row = &whole[0]
            else:
                row = &counts[v, 0]
            starts[v] = at
            total = sparsemix_packed_row(
                level, row, n_components, factor, prior, &inverse[0], largest, &x[0], &topics[0], &heads[v, 0],
                &values[at], &rest[v], &scale[v], &n_kept)
            if counts is None:
                for j in range(indptr[v], indptr[v + 1]):
                    whole[indices[j]] = 0
            if not total < INFINITY:
                status = ROW_NOT_FINITE
                break
            status = best_topics(&values[at], &topics[0], n_kept, rest[v], scale[v], &inverse[0], largest,
                                 n_components, n_nonzero, &x[0], &heap[0], &lists[v, 0], &best[v, 0])
            if status != ROW_OK:
                break
            at += n_kept
    if status != ROW_OK:
        raise ValueError(f"the counts of word {words[i]} hold NaN or infinity; check its counts for extreme values")
    return at - begin


cdef int best_topics(
    const real* values, const int* topics, Py_ssize_t n_kept, real rest, real scale, const real* inverse, real largest,
    Py_ssize_t n_components, Py_ssize_t n_nonzero, real* x, real* heap, int* chosen, real* best,
) noexcept nogil:
    """The L largest entries of a packed row, ties to the lower topic; ``x`` is scratch of K numbers."""
    cdef real lowest = SPARSEMIX_LOWEST_float if real is float else SPARSEMIX_LOWEST_double
    cdef real other = max(rest * largest * scale, lowest)
    cdef Py_ssize_t i, j, k
    cdef int status
    if n_kept >= n_nonzero:
        status = top_l(values, <int> n_kept, n_nonzero, heap, chosen)
        if status != ROW_OK:
            return status
        for j in range(n_nonzero):
            best[j] = values[chosen[j]]
            if best[j] <= other:
                break
        else:
            for j in range(n_nonzero):
                chosen[j] = topics[chosen[j]]
            return ROW_OK
    for k in range(n_components):  # entries that are not stored may be among the largest
        x[k] = max(rest * inverse[k] * scale, lowest)
    for i in range(n_kept):
        x[topics[i]] = values[i]
    status = top_l(x, <int> n_components, n_nonzero, heap, chosen)
    for j in range(n_nonzero):
        best[j] = x[chosen[j]]
    return status


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
    """E[log pi_dk] of documents, relative to a document without tokens."""
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


cdef inline double draws(double n, double prior, double none) noexcept nogil:
    """prior (digamma(prior + n) - digamma(prior)): the expected number among n tokens that are new draws of the prior.

    n below one is the probability of a single token; ``none`` is digamma(prior).
    """
    return n if n < 1.0 else prior * (sparsemix_digamma(prior + n) - none)


def draws_sum(const real[:, ::1] counts, double factor, double prior, Py_ssize_t first, Py_ssize_t last):
    """Sum over rows first to last of the expected draws from the prior among factor counts tokens."""
    cdef Py_ssize_t v, k
    cdef double total = 0.0, none = sparsemix_digamma(prior)
    with nogil:
        for v in range(first, last):
            for k in range(counts.shape[1]):
                total += draws(factor * counts[v, k], prior, none)
    return total


def sum_draws(
    const int64_t[::1] indptr,  # IN  (n + 1,) document d has indptr[d] to indptr[d + 1] of the following
    const topic[::1] topics,    # IN  a topic may come several times in a document
    const real[::1] values,     # IN  its counts, which are added up
    const double[::1] weight,   # IN  (n,) of the documents
    const double[::1] alpha,    # IN  (K,)
    double[::1] out,            # INOUT (K,) += weight times the draws
):
    """Expected number of tokens of each topic that are draws from the documents' prior."""
    cdef Py_ssize_t d, i, k
    cdef int whole
    cdef double drawn
    cdef double[::1] none = np.empty(alpha.shape[0]), n = np.zeros(alpha.shape[0])
    cdef double[:, ::1] few = np.full((alpha.shape[0], FEW + 1), -1.0)  # draws of 0, 1, ... tokens, made when needed
    if weight.shape[0] != indptr.shape[0] - 1 or out.shape[0] != alpha.shape[0]:
        raise ValueError("weight must be one number a document, and out one a topic")
    if min(topics.shape[0], values.shape[0]) < indptr[indptr.shape[0] - 1]:
        raise ValueError("topics and values must hold indptr[-1] entries")
    with nogil:
        for k in range(alpha.shape[0]):
            none[k] = sparsemix_digamma(alpha[k])
            few[k, 0] = 0.0
        for d in range(weight.shape[0]):
            for i in range(indptr[d], indptr[d + 1]):
                n[topics[i]] += values[i]
            for i in range(indptr[d], indptr[d + 1]):
                k = topics[i]  # if it comes again, it has no tokens left: no branch, which would be hard to predict
                whole = <int> n[k] if n[k] <= FEW else 0
                if whole == n[k]:
                    drawn = few[k, whole]
                    if drawn < 0.0:
                        drawn = few[k, whole] = draws(n[k], alpha[k], none[k])
                    out[k] += weight[d] * drawn
                elif n[k] > 0:
                    out[k] += weight[d] * draws(n[k], alpha[k], none[k])
                n[k] = 0.0


def gains_of_whole(
    const double[::1] numbers,  # IN  (n,) not negative
    const double[::1] values,   # IN  (m,) of a function at 0 to m - 1
):
    """values[number] - values[0] of each number, (n,); None if one is no whole number below m."""
    cdef Py_ssize_t i, whole
    cdef bint found = True
    out = np.empty(numbers.shape[0])
    cdef double[::1] gains = out
    with nogil:
        for i in range(numbers.shape[0]):
            if not 0.0 <= numbers[i] < values.shape[0]:
                found = False
                break
            whole = <Py_ssize_t> numbers[i]
            if whole != numbers[i]:
                found = False
                break
            gains[i] = values[whole] - values[0]
    return out if found else None


def sum_tables(
    const int64_t[::1] indptr,  # IN  (n + 1,) as in sum_draws
    const topic[::1] topics,    # IN
    const real[::1] values,     # IN
    const double[::1] weight,   # IN  (n,) of the documents
    const double[:, ::1] alpha,  # IN  (G, K) of each group of documents
    const double[:, ::1] rows,  # IN  (G, P) covariates of each group
    const int[::1] groups,      # IN  (n,)
    double[:, ::1] out,         # INOUT (K, P) += weight times draws times covariates
):
    """Sums over documents of the draws from their priors times their covariates."""
    cdef Py_ssize_t d, i, k, p, g
    cdef double[::1] n = np.zeros(alpha.shape[1])
    cdef double drawn
    if weight.shape[0] != indptr.shape[0] - 1 or groups.shape[0] != weight.shape[0]:
        raise ValueError("groups must be one number a document, and weight too")
    if rows.shape[0] != alpha.shape[0] or out.shape[0] != alpha.shape[1] or out.shape[1] != rows.shape[1]:
        raise ValueError("alpha must be (G, K), rows (G, P) and out (K, P)")
    if min(topics.shape[0], values.shape[0]) < indptr[indptr.shape[0] - 1]:
        raise ValueError("topics and values must hold indptr[-1] entries")
    for d in range(groups.shape[0]):
        if not 0 <= groups[d] < alpha.shape[0]:
            raise ValueError(f"groups must be from 0 to {alpha.shape[0] - 1}")
    with nogil:
        for d in range(weight.shape[0]):
            g = groups[d]
            for i in range(indptr[d], indptr[d + 1]):
                n[topics[i]] += values[i]
            for i in range(indptr[d], indptr[d + 1]):
                k = topics[i]
                if n[k] > 0:
                    drawn = weight[d] * draws(n[k], alpha[g, k], sparsemix_digamma(alpha[g, k]))
                    n[k] = 0.0
                    for p in range(rows.shape[1]):
                        out[k, p] += drawn * rows[g, p]
