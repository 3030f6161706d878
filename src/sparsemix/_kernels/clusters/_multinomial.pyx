"""Clusters of documents: multinomials with a symmetric Dirichlet prior, integrated out."""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int64_t

from sparsemix._kernels.clusters._clusters cimport Clusters
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.collapsed._cvb import check_entries


cdef extern from "clusters/multinomial.h" nogil:
    enum:
        SPARSEMIX_SLOTS
    ctypedef struct sparsemix_document:
        const int* words
        const double* counts
        Py_ssize_t n_entries
        double n_tokens
        int small_totals
    void sparsemix_scores(
        int, const sparsemix_document*, const double*, Py_ssize_t, const double*, Py_ssize_t, double*)
    double sparsemix_log_rising(double x, double c)
    double sparsemix_score_without(
        const sparsemix_document*, const double*, Py_ssize_t, double, double, double, Py_ssize_t, double)
    void sparsemix_move(const sparsemix_document*, double*, Py_ssize_t, double*, double, double, Py_ssize_t, double)


cdef class MultinomialClusters(Clusters):
    """Dirichlet-multinomial clusters over a block of documents.

    ``table[w, k]`` is prior + S_wk and ``totals[k]`` its sum over words, in every slot; both change in place.
    """

    cdef const int64_t[::1] indptr
    cdef const int[::1] indices
    cdef const double[::1] counts
    cdef double[:, ::1] table
    cdef double[::1] totals
    cdef double prior, log_prior, total_prior
    cdef int level
    cdef sparsemix_document document

    def __init__(
        self,
        const int64_t[::1] indptr,     # IN    (n + 1,) entries of document d are indptr[d] to indptr[d + 1]
        const int[::1] indices,        # IN    (nnz,) words
        const double[::1] counts,      # IN    (nnz,) positive
        double[:, ::1] table,          # INOUT (V, capacity) starts on a cache line
        double[::1] totals,            # INOUT (capacity,) likewise
        double prior,                  # IN    beta
        Py_ssize_t n_slots,            # IN    in use
    ):
        check_entries(indptr, indices, counts.shape[0], table.shape[0], None)
        self.n_rows = indptr.shape[0] - 1
        self.capacity = table.shape[1]
        self.n_slots = n_slots
        if self.capacity % SPARSEMIX_SLOTS or totals.shape[0] != self.capacity:
            raise ValueError(f"table and totals must have the same number of slots, a multiple of {SPARSEMIX_SLOTS}")
        if not 0 <= n_slots <= self.capacity:
            raise ValueError(f"n_slots must be 0 to {self.capacity}")
        if self.capacity and table.shape[0] and (<size_t> &table[0, 0] % 64 or <size_t> &totals[0] % 64):
            raise ValueError("table and totals must start on a cache line")
        self.indptr, self.indices, self.counts = indptr, indices, counts
        self.table, self.totals = table, totals
        self.prior, self.log_prior, self.total_prior = prior, log(prior), prior * table.shape[0]
        self.level = instruction_level()
        self.document.small_totals = self.total_prior < 16.0

    cdef bint begin(self, Py_ssize_t row) noexcept nogil:
        cdef Py_ssize_t e, start = self.indptr[row]
        cdef sparsemix_document* d = &self.document
        d.n_entries = self.indptr[row + 1] - start
        d.n_tokens = 0.0
        if d.n_entries == 0:
            return False
        d.words, d.counts = &self.indices[start], &self.counts[start]
        for e in range(d.n_entries):
            d.n_tokens += d.counts[e]
        return True

    cdef double score_new(self) noexcept nogil:
        cdef Py_ssize_t e, n_single = 0
        cdef double sum = 0.0
        for e in range(self.document.n_entries):
            if self.document.counts[e] == 1.0:
                n_single += 1
            else:
                sum += sparsemix_log_rising(self.prior, self.document.counts[e])
        return sum + n_single * self.log_prior - sparsemix_log_rising(self.total_prior, self.document.n_tokens)

    cdef void score(self, double* out) noexcept nogil:
        if self.n_slots:
            sparsemix_scores(
                self.level, &self.document, &self.table[0, 0], self.capacity, &self.totals[0], self.n_slots, out)

    cdef double score_without(self, Py_ssize_t slot, double mass) noexcept nogil:
        return sparsemix_score_without(
            &self.document, &self.table[0, 0], self.capacity, self.totals[slot], self.prior, self.total_prior, slot,
            mass)

    cdef void move(self, Py_ssize_t slot, double change) noexcept nogil:
        sparsemix_move(
            &self.document, &self.table[0, 0], self.capacity, &self.totals[slot], self.prior, self.total_prior, slot,
            change)


def log_rising(const double[::1] x, double count):
    """log Gamma(x + count) - log Gamma(x) of each x, as the loops take it; for tests."""
    return np.array([sparsemix_log_rising(value, count) for value in x])
