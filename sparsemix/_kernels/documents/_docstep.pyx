"""Local inference of a block of documents: dense, or with at most L topics per word type.

The loops are in document_steps.h and document_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.documents._packed cimport any_packed, point_to
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "documents/document.h" nogil:
    enum:
        SPARSEMIX_MAX_SELECT
        SPARSEMIX_PADDING
    ctypedef struct sparsemix_settings:
        Py_ssize_t n_components, width, max_topics
        int n_nonzero, max_iter, list_iter, select_first, select_every, n_restarts, restart_iter, warm, linear
        double tol, active, enter
    Py_ssize_t sparsemix_work_size(const sparsemix_settings* s)
    Py_ssize_t sparsemix_int_work_size(const sparsemix_settings* s)
    void sparsemix_documents(
        int, const sparsemix_settings*, Py_ssize_t, const int64_t*, const int*, const void*, const void*, const void*,
        const int*, const void*, const void*, void*, int*, int*, void*, void*, void*, double*, double*, int64_t*)


MAX_SELECT = SPARSEMIX_MAX_SELECT


class Workspace:
    """Scratch memory of one thread, which grows to the largest document and is reused."""

    def __init__(self, dtype):
        self.reals = aligned_empty(0, dtype)
        self.ints = np.empty(0, dtype=np.intc)

    def of(self, n_reals, n_ints):
        """Make space for this many numbers of each kind."""
        if len(self.reals) < n_reals:
            self.reals = aligned_empty(n_reals, self.reals.dtype)
        if len(self.ints) < n_ints:
            self.ints = np.empty(n_ints, dtype=np.intc)
        return self.reals, self.ints


cdef class Settings:
    """How documents are inferred."""

    cdef sparsemix_settings c

    def __init__(
        self,
        int max_iter,      # IN
        double tol,        # IN  converged when no N_dk changes by this much
        int list_iter,     # IN  iterations on the lists alone before the active topics are gathered
        int select_first,  # IN  supports are selected in this many first iterations,
        int select_every,  # IN  and then at this interval
        int n_restarts,    # IN  restart proposals a document
        int restart_iter,  # IN  iterations of each
        double active,     # IN  topics with at most this mass are dropped
        bint linear,       # IN  p = alpha + N_dk, not exp E[log pi]
        double enter,      # IN  a topic on a type's list enters a warm document if it would have this share
    ):
        self.c.max_iter, self.c.tol, self.c.list_iter = max_iter, tol, list_iter
        self.c.select_first, self.c.select_every = select_first, select_every
        self.c.n_restarts, self.c.restart_iter = n_restarts, restart_iter
        self.c.active, self.c.linear, self.c.enter = active, linear, enter


def local_step(
    Entries entries not None,      # IN
    table,                         # IN  (V, K) exp E[log phi], any positive factor a row; or PackedTable, with lists
    const int[:, ::1] lists,       # IN  (V, L) topics of the L largest entries of each row; None for dense inference
    const real[::1] alpha,         # IN  (K,) Dirichlet prior of the documents' topics
    Settings settings not None,    # IN
    bint warm,                     # IN  start at doc_topic
    int[:, ::1] topics,            # OUT (nnz, L), unused when dense
    real[:, ::1] values,           # OUT (nnz, L) count times responsibility, or (nnz, 1) count / Z when dense; or None
    real[:, ::1] p,                # OUT (n, K) exp E[log pi] up to a factor, when dense; or None
    real[:, ::1] doc_topic,        # INOUT (n, K) N_dk = sum_u c_u r_uk
    double[::1] bound,             # OUT (n,) L_d, up to a function of the document's length
    double[::1] energy,            # OUT (n,) sum_u c_u log Z_u - sum_k N_dk log p_k
    int64_t[:, ::1] tally,         # OUT (n, 3) iterations, restarts proposed, restarts accepted
    scratch,                       # TMP Workspace of the table's dtype
):
    """Infer the documents' topics ([HS16] Algorithm 2); a document's result does not depend on other ones."""
    cdef Py_ssize_t n = entries.n, n_entries = entries.n_entries, n_words
    cdef sparsemix_settings s = settings.c
    cdef int level = instruction_level()
    cdef object out
    if n <= 0 or n_entries == 0:
        for out in (doc_topic, bound, energy, tally, p):
            if out is not None:
                np.asarray(out)[...] = 0
        return
    n_words, s.n_components = table.shape
    s.n_nonzero = s.n_components if lists is None else lists.shape[1]
    s.width = (entries.longest + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING
    s.max_topics, s.warm = s.n_components, warm
    if lists is None and not isinstance(table, np.ndarray):
        raise ValueError("a packed table needs lists")
    if lists is not None:
        if lists.shape[0] != n_words or not 1 <= s.n_nonzero <= min(SPARSEMIX_MAX_SELECT, s.n_components):
            raise ValueError(f"lists must be ({n_words}, L) with L at most {SPARSEMIX_MAX_SELECT} and K")
        if not warm:
            s.max_topics = min(s.n_components, entries.longest * s.n_nonzero)
    if alpha.shape[0] != s.n_components or doc_topic.shape[0] != n or doc_topic.shape[1] != s.n_components:
        raise ValueError(f"alpha must be ({s.n_components},) and doc_topic ({n}, {s.n_components})")
    if bound.shape[0] != n or energy.shape[0] != n or tally.shape[0] != n or tally.shape[1] != 3:
        raise ValueError("bound and energy must be (n,) and tally (n, 3)")
    if values is not None:
        if values.shape[0] < entries.indptr[n] or values.shape[1] != (1 if lists is None else s.n_nonzero):
            raise ValueError("values must be (nnz, L), or (nnz, 1) when dense")
        if lists is not None and (topics.shape[0] < entries.indptr[n] or topics.shape[1] != s.n_nonzero):
            raise ValueError("topics must be (nnz, L)")
        if lists is None and (p is None or p.shape[0] != n or p.shape[1] != s.n_components):
            raise ValueError("p must be (n, K) when dense")
    reals, ints = scratch.of(sparsemix_work_size(&s), sparsemix_int_work_size(&s))
    cdef real[::1] work = reals
    cdef int[::1] int_work = ints
    cdef const real[::1] counts = entries.counts
    cdef const real[:, ::1] rows
    cdef const real* table_start = NULL
    cdef const real* best_start = NULL
    cdef any_packed packed_table
    cdef const void* packed_start = NULL
    if isinstance(table, np.ndarray):
        rows = table
        table_start = &rows[0, 0]
    else:
        packed_start = point_to(table, &packed_table, &alpha[0])
        rows = table.best
        best_start = &rows[0, 0]
    cdef int* list_start = NULL if lists is None else <int*> &lists[0, 0]
    cdef real* p_start = NULL if p is None else &p[0, 0]
    cdef int* topics_start = NULL if lists is None or values is None else &topics[0, 0]
    cdef real* values_start = NULL if values is None else &values[0, 0]
    with nogil:
        sparsemix_documents(
            level, &s, n, &entries.indptr[0], &entries.indices[0], &counts[0], table_start, packed_start, list_start,
            best_start, &alpha[0], &work[0], &int_work[0], topics_start, values_start, p_start, &doc_topic[0, 0],
            &bound[0], &energy[0], &tally[0, 0])
