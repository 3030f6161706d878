"""Clusters of documents: multinomials with a symmetric Dirichlet prior, integrated out.

Their statistics lie in panels, tables (V, width) of neighbouring slots: more slots are a panel more.
"""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int64_t

from sparsemix._kernels.clusters._clusters cimport Clusters
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.collapsed._cvb import check_entries


cdef extern from "clusters/multinomial.h" nogil:
    enum:
        SPARSEMIX_SLOTS
        SPARSEMIX_PANELS
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

    ``panels`` hold prior + S_wk side by side, ``totals[k]`` its sum over words, in every slot; both change in place.
    """

    cdef const int64_t[::1] indptr
    cdef const int[::1] indices
    cdef const double[::1] counts
    cdef list panels
    cdef double* tables[SPARSEMIX_PANELS]
    cdef Py_ssize_t ends[SPARSEMIX_PANELS]
    cdef Py_ssize_t n_panels
    cdef double[::1] totals
    cdef double prior, log_prior, total_prior
    cdef int level
    cdef sparsemix_document document

    def __init__(
        self,
        const int64_t[::1] indptr,     # IN    (n + 1,) entries of document d are indptr[d] to indptr[d + 1]
        const int[::1] indices,        # IN    (nnz,) words
        const double[::1] counts,      # IN    (nnz,) positive
        list panels,                   # INOUT of (V, width), each starts on a cache line; widths add up to the capacity
        double[::1] totals,            # INOUT (capacity,) likewise
        double prior,                  # IN    beta
        Py_ssize_t n_features,         # IN    V
        Py_ssize_t n_slots,            # IN    in use
    ):
        cdef double[:, ::1] panel
        cdef Py_ssize_t end
        check_entries(indptr, indices, counts.shape[0], n_features, None)
        self.n_rows = indptr.shape[0] - 1
        self.capacity = totals.shape[0]
        self.n_slots = n_slots
        if len(panels) > SPARSEMIX_PANELS:
            raise ValueError(f"there are at most {SPARSEMIX_PANELS} panels")
        self.n_panels, end = 0, 0
        for panel in panels:
            if panel.shape[0] != n_features or not panel.shape[1] or panel.shape[1] % SPARSEMIX_SLOTS:
                raise ValueError(f"panels must have a row for each word, and a multiple of {SPARSEMIX_SLOTS} slots")
            if n_features and <size_t> &panel[0, 0] % 64:
                raise ValueError("panels must start on a cache line")
            end += panel.shape[1]
            self.tables[self.n_panels] = &panel[0, 0] if n_features else NULL
            self.ends[self.n_panels] = end
            self.n_panels += 1
        if end != self.capacity or (self.capacity and <size_t> &totals[0] % 64):
            raise ValueError("totals must have as many slots as the panels, and start on a cache line")
        if not 0 <= n_slots <= self.capacity:
            raise ValueError(f"n_slots must be 0 to {self.capacity}")
        self.indptr, self.indices, self.counts = indptr, indices, counts
        self.panels, self.totals = panels, totals
        self.prior, self.log_prior, self.total_prior = prior, log(prior), prior * n_features
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
        cdef Py_ssize_t p, start = 0
        for p in range(self.n_panels):
            if start >= self.n_slots:
                break
            sparsemix_scores(
                self.level, &self.document, self.tables[p], self.ends[p] - start, &self.totals[start],
                min(self.n_slots, self.ends[p]) - start, out + start)
            start = self.ends[p]

    cdef Py_ssize_t panel_of(self, Py_ssize_t slot, Py_ssize_t* start) noexcept nogil:
        """The panel that a slot lies in, and the first slot of that."""
        cdef Py_ssize_t p = 0
        start[0] = 0
        while self.ends[p] <= slot:
            start[0] = self.ends[p]
            p += 1
        return p

    cdef double score_without(self, Py_ssize_t slot, double mass) noexcept nogil:
        cdef Py_ssize_t start = 0, p = self.panel_of(slot, &start)
        return sparsemix_score_without(
            &self.document, self.tables[p], self.ends[p] - start, self.totals[slot], self.prior, self.total_prior,
            slot - start, mass)

    cdef void move(self, Py_ssize_t slot, double change) noexcept nogil:
        cdef Py_ssize_t start = 0, p = self.panel_of(slot, &start)
        sparsemix_move(
            &self.document, self.tables[p], self.ends[p] - start, &self.totals[slot], self.prior, self.total_prior,
            slot - start, change)


def look(
    list panels,                   # IN    of (V, width), side by side
    double prior,                  # IN    beta
    const int64_t[::1] slots,      # IN    (n,) ascending
    int[:, ::1] words,             # OUT   (n, M) heaviest words of each slot, the heaviest first, the first of equals
    double[:, ::1] counts,         # OUT   (n, M) their S_wk; 0 where a slot has fewer words
    double[::1] squares,           # OUT   (n_slots,) sum of S_wk ** 2 over words
):
    """Heaviest words of some slots and lengths of all, in one pass over the table, row by row."""
    cdef Py_ssize_t n = slots.shape[0], n_slots = squares.shape[0], n_features, width, start = 0, first = 0, last
    cdef Py_ssize_t w, k, j
    cdef const double[:, ::1] panel
    cdef const double* row
    cdef double* sums
    if words.shape[0] != n or counts.shape[0] != n or counts.shape[1] != words.shape[1] or not words.shape[1]:
        raise ValueError("words and counts must have a row for each slot")
    for j in range(n):
        if not 0 <= slots[j] < n_slots or j and slots[j] <= slots[j - 1]:
            raise ValueError("slots must ascend, below n_slots")
    words[...] = 0
    counts[...] = 0.0
    squares[...] = 0.0
    for panel in panels:
        n_features, width = panel.shape[0], min(panel.shape[1], n_slots - start)
        if width <= 0:
            break
        last = first
        while last < n and slots[last] < start + width:
            last += 1
        sums = &squares[start]
        with nogil:
            for w in range(n_features):
                row = &panel[w, 0]
                for k in range(width):
                    sums[k] += (row[k] - prior) * (row[k] - prior)
                for j in range(first, last):
                    insert(<int> w, row[slots[j] - start] - prior, &words[j, 0], &counts[j, 0], words.shape[1])
        first, start = last, start + panel.shape[1]
    if start < n_slots and n_slots > 0 and first < n:
        raise ValueError("the panels have fewer slots")


cdef inline void insert(int word, double count, int* words, double* counts, Py_ssize_t n) noexcept nogil:
    """Among the heaviest, which lie in descending order, if it is one of them."""
    cdef Py_ssize_t place = n - 1
    if not count > counts[place]:
        return
    while place > 0 and counts[place - 1] < count:
        words[place], counts[place] = words[place - 1], counts[place - 1]
        place -= 1
    words[place], counts[place] = word, count


def log_rising(const double[::1] x, double count):
    """log Gamma(x + count) - log Gamma(x) of each x, as the loops take it; for tests."""
    return np.array([sparsemix_log_rising(value, count) for value in x])
