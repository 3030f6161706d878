"""Collapsed clusters of documents: multinomials with a symmetric Dirichlet prior.

Their statistics are stored in panels, tables (V, width) of adjacent slots; adding slots appends a panel.
"""

import numpy as np

from libc.math cimport INFINITY, floor, log
from libc.stdint cimport int64_t, uint8_t

from sparsemix._kernels.clusters._clusters cimport Clusters
from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.clusters._clusters import padded_prior
from sparsemix._kernels.vectors._simd import aligned_empty


cdef extern from "vectors/portable.h" nogil:
    int64_t sparsemix_fetch_add(int64_t*, int64_t)
    int64_t sparsemix_load(const int64_t*)


cdef extern from "threads/wake_signal.h" nogil:
    int64_t sparsemix_watch(const int64_t*, int64_t, double)


cdef extern from "clusters/codes.h" nogil:
    double SPARSEMIX_LARGEST_RATIO
    uint8_t sparsemix_code(double, double)
    ctypedef struct sparsemix_copies:
        pass
    void sparsemix_set_copies(sparsemix_copies*, double)


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
    void sparsemix_move(
        const sparsemix_document*, double*, uint8_t*, Py_ssize_t, double*, double, double, Py_ssize_t, double)
    void sparsemix_scores_of_eight(
        int, const sparsemix_document*, const double*, Py_ssize_t, const double*, double*)
    void sparsemix_bounds(
        int, const sparsemix_document*, const sparsemix_copies*, const uint8_t*, Py_ssize_t, const double*,
        const double*, double, Py_ssize_t, double*, double*)
    void sparsemix_eights(int, const double*, Py_ssize_t, double, int*, Py_ssize_t*)


# Bounds pay off for documents with at least this many words and this many clusters.
cdef Py_ssize_t LEAST_WORDS = 24
cdef Py_ssize_t LEAST_SLOTS = 128
# Clusters that together have less than this share of a row's largest weight are skipped: e^-30.
cdef double LEFT_OUT = 30.0
# If more than this share of the clusters remains, all are evaluated: contiguous reads are faster.
cdef double MANY = 0.25
# Counts whose log Gammas are cached.
cdef enum:
    KEPT_COUNTS = 17
# Flag of a panel with codes; below it, the number counts earlier requests for codes.
cdef int64_t CODED = 1 << 40


cdef class MultinomialClusters(Clusters):
    """Dirichlet-multinomial clusters over a block of documents.

    ``panels`` hold prior + S_wk for adjacent slots, ``codes`` one byte per number, ``totals[k]`` the sum over words in
    slot k; all change in place. The codes of a panel are computed for the first document that needs them and kept up to
    date from then on: a stream of short documents would wait for memory that is never read. Predictions may request
    codes from several threads at once.
    """

    cdef const int64_t[::1] indptr
    cdef const int[::1] indices
    cdef const double[::1] counts
    cdef list panels, codes, coded
    cdef uint8_t* code_tables[SPARSEMIX_PANELS]
    cdef int64_t* are_coded[SPARSEMIX_PANELS]
    cdef double* tables[SPARSEMIX_PANELS]
    cdef Py_ssize_t ends[SPARSEMIX_PANELS]
    cdef Py_ssize_t n_panels, n_features
    cdef double[::1] totals, bounds
    cdef int[::1] eights
    cdef double prior, log_prior, total_prior
    cdef double log_rising[KEPT_COUNTS]
    cdef int level
    cdef sparsemix_document document
    cdef sparsemix_copies copies

    def __init__(
        self,
        const int64_t[::1] indptr,     # IN    (n + 1,) entries of document d are indptr[d] to indptr[d + 1]
        const int[::1] indices,        # IN    (nnz,) words
        const double[::1] counts,      # IN    (nnz,) positive
        list panels,                   # INOUT of (V, width), each starts on a cache line; widths add up to the capacity
        list codes,                    # INOUT of (V, width), codes of the same
        list coded,                    # INOUT of (1,), int64, request counters and flags
        double[::1] totals,            # INOUT (capacity,) likewise
        double prior,                  # IN    beta
        Py_ssize_t n_features,         # IN    V
        Py_ssize_t n_slots,            # IN    in use
    ):
        cdef double[:, ::1] panel
        cdef uint8_t[:, ::1] code
        cdef int64_t[::1] is_coded
        cdef Py_ssize_t end, c
        Entries(indptr, indices, counts).check(n_features)
        self.n_rows = indptr.shape[0] - 1
        self.capacity = totals.shape[0]
        self.n_slots = n_slots
        if len(panels) > SPARSEMIX_PANELS:
            raise ValueError(f"there are at most {SPARSEMIX_PANELS} panels")
        self.n_panels, self.n_features, end = 0, n_features, 0
        if len(codes) != len(panels) or len(coded) != len(panels):
            raise ValueError("there must be codes of every panel, and whether they are")
        for panel, code, is_coded in zip(panels, codes, coded):
            if code.shape[0] != panel.shape[0] or code.shape[1] != panel.shape[1] or is_coded.shape[0] != 1:
                raise ValueError("codes must be of the shapes of the panels, and whether they are one number each")
            if panel.shape[0] != n_features or not panel.shape[1] or panel.shape[1] % SPARSEMIX_SLOTS:
                raise ValueError(f"panels must have a row for each word, and a multiple of {SPARSEMIX_SLOTS} slots")
            if n_features and <size_t> &panel[0, 0] % 64:
                raise ValueError("panels must start on a cache line")
            end += panel.shape[1]
            self.tables[self.n_panels] = &panel[0, 0] if n_features else NULL
            self.code_tables[self.n_panels] = &code[0, 0] if n_features else NULL
            self.are_coded[self.n_panels] = &is_coded[0]
            self.ends[self.n_panels] = end
            self.n_panels += 1
        if end != self.capacity or (self.capacity and <size_t> &totals[0] % 64):
            raise ValueError("totals must have as many slots as the panels, and start on a cache line")
        if not 0 <= n_slots <= self.capacity:
            raise ValueError(f"n_slots must be 0 to {self.capacity}")
        self.indptr, self.indices, self.counts = indptr, indices, counts
        self.panels, self.codes, self.coded, self.totals = panels, codes, coded, totals
        self.prior, self.log_prior, self.total_prior = prior, log(prior), prior * n_features
        self.level = instruction_level()
        self.document.small_totals = self.total_prior < 16.0
        self.bounds = aligned_empty(self.capacity, np.float64)
        self.eights = np.empty(self.capacity // 8, dtype=np.intc)
        sparsemix_set_copies(&self.copies, prior)
        self.log_rising[0], self.log_rising[1] = 0.0, self.log_prior
        for c in range(2, KEPT_COUNTS):
            self.log_rising[c] = sparsemix_log_rising(prior, c)

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
        return self.numerator() - sparsemix_log_rising(self.total_prior, self.document.n_tokens)

    cdef double numerator(self) noexcept nogil:
        """Log weight of the current row's words under the prior, without the term of their number."""
        cdef Py_ssize_t e, n_single = 0
        cdef double c, sum = 0.0
        for e in range(self.document.n_entries):
            c = self.document.counts[e]
            if c == 1.0:
                n_single += 1
            elif c < KEPT_COUNTS and c == <int> c:
                sum += self.log_rising[<int> c]
            else:
                sum += sparsemix_log_rising(self.prior, c)
        return sum + n_single * self.log_prior

    cdef void score(self, double* out) noexcept nogil:
        cdef Py_ssize_t p, start = 0
        for p in range(self.n_panels):
            if start >= self.n_slots:
                break
            sparsemix_scores(
                self.level, &self.document, self.tables[p], self.ends[p] - start, &self.totals[start],
                min(self.n_slots, self.ends[p]) - start, out + start)
            start = self.ends[p]

    cdef void score_likely(self, const double* log_prior, double known, double* out) noexcept nogil:
        cdef double tokens = self.document.n_tokens
        if self.document.n_entries < LEAST_WORDS or self.n_slots < LEAST_SLOTS or tokens != floor(tokens):
            self.score(out)
        else:
            self.score_bounded(log_prior, known, out)

    cdef void score_bounded(self, const double* log_prior, double known, double* out) noexcept nogil:
        """The densities, computed without bounds."""
        cdef Py_ssize_t i, k, n_left = 0
        cdef double largest = self.bound(log_prior), least
        for k in range(self.n_slots):
            if self.bounds[k] >= largest and self.bounds[k] > -INFINITY:
                known = max(known, self.weight_of(k, log_prior))
        least = known - self.numerator() - LEFT_OUT - log(self.n_slots)
        sparsemix_eights(self.level, &self.bounds[0], self.n_slots, least, &self.eights[0], &n_left)
        if 8 * n_left > MANY * self.n_slots:
            self.score(out)
            self.drop_below(least, 0, self.n_slots, out)
            return
        for k in range(self.n_slots):
            out[k] = -INFINITY
        for i in range(n_left):
            k = 8 * self.eights[i]
            self.score_eight(k, out + k)
            self.drop_below(least, k, k + 8, out)

    cdef double bound(self, const double* log_prior) noexcept nogil:
        """Upper bounds of the current row's log weights, without its numerator; returns the largest."""
        cdef Py_ssize_t p, start = 0
        cdef double largest = -INFINITY
        for p in range(self.n_panels):
            if start >= self.n_slots:
                break
            if sparsemix_load(self.are_coded[p]) < CODED:
                self.encode_panel(p, self.ends[p] - start)
            sparsemix_bounds(
                self.level, &self.document, &self.copies, self.code_tables[p], self.ends[p] - start,
                &self.totals[start], log_prior + start, SPARSEMIX_LARGEST_RATIO * self.prior,
                min(self.n_slots, self.ends[p]) - start, &self.bounds[start], &largest)
            start = self.ends[p]
        return largest

    cdef void encode_panel(self, Py_ssize_t p, Py_ssize_t width) noexcept nogil:
        """Compute codes once; other threads that need them wait."""
        cdef Py_ssize_t i
        if sparsemix_fetch_add(self.are_coded[p], 1) == 0:
            for i in range(self.n_features * width):
                self.code_tables[p][i] = sparsemix_code(self.tables[p][i], self.prior)
            sparsemix_fetch_add(self.are_coded[p], CODED)
        while sparsemix_watch(self.are_coded[p], CODED, 1.0) < CODED:
            pass

    def bounds_of(self, Py_ssize_t row, const double[::1] log_prior):
        """Upper bounds of log_prior + log density of one row, (n_slots,); for tests."""
        self._check(row, 0)
        cdef double[::1] padded = padded_prior(log_prior, self.n_slots, self.capacity)
        self.begin(row)
        self.bound(&padded[0])
        return np.asarray(self.bounds)[:self.n_slots] + self.numerator()

    cdef double weight_of(self, Py_ssize_t slot, const double* log_prior) noexcept nogil:
        """Log weight of the current row in one slot."""
        cdef double eight[8]
        self.score_eight(slot // 8 * 8, eight)
        return log_prior[slot] + eight[slot % 8]

    cdef void score_eight(self, Py_ssize_t first, double* out) noexcept nogil:
        """Densities in eight adjacent slots."""
        cdef Py_ssize_t start = 0, p = self.panel_of(first, &start)
        sparsemix_scores_of_eight(
            self.level, &self.document, self.tables[p] + (first - start), self.ends[p] - start, &self.totals[first],
            out)

    cdef void drop_below(self, double least, Py_ssize_t first, Py_ssize_t last, double* out) noexcept nogil:
        """Set slots with smaller bounds to minus infinity, whatever the bounds of adjacent slots."""
        cdef Py_ssize_t k
        for k in range(first, last):
            if self.bounds[k] < least:
                out[k] = -INFINITY

    cdef Py_ssize_t panel_of(self, Py_ssize_t slot, Py_ssize_t* start) noexcept nogil:
        """The panel that contains a slot, and the first slot of that panel."""
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
            &self.document, self.tables[p], self.code_tables[p] if self.are_coded[p][0] else NULL,
            self.ends[p] - start, &self.totals[slot], self.prior, self.total_prior, slot - start, change)


def encode(
    const double[:, ::1] sums,     # IN    (V, n) prior + S_wk
    double prior,                  # IN    beta
    uint8_t[:, ::1] codes,         # OUT   (V, n)
):
    """Codes of numbers, used for bounds."""
    if codes.shape[0] != sums.shape[0] or codes.shape[1] != sums.shape[1]:
        raise ValueError("codes must be of the shape of the sums")
    cdef Py_ssize_t w, k
    with nogil:
        for w in range(sums.shape[0]):
            for k in range(sums.shape[1]):
                codes[w, k] = sparsemix_code(sums[w, k], prior)


def look(
    list panels,                   # IN    of (V, width), side by side
    double prior,                  # IN    beta
    const int64_t[::1] slots,      # IN    (n,) ascending
    int[:, ::1] words,             # OUT   (n, M) heaviest words of each slot, the heaviest first, the first of equals
    double[:, ::1] counts,         # OUT   (n, M) their S_wk; 0 if a slot has fewer words
    double[::1] squares,           # OUT   (n_slots,) sum of S_wk ** 2 over words
):
    """Heaviest words of some slots and squared lengths of all, in one pass over the table by rows."""
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
    """Insert a word into the descending list of the heaviest, if it belongs there."""
    cdef Py_ssize_t place = n - 1
    if not count > counts[place]:
        return
    while place > 0 and counts[place - 1] < count:
        words[place], counts[place] = words[place - 1], counts[place - 1]
        place -= 1
    words[place], counts[place] = word, count


def log_rising(const double[::1] x, double count):
    """log Gamma(x + count) - log Gamma(x) of each x, as computed by the loops; for tests."""
    return np.array([sparsemix_log_rising(value, count) for value in x])
