"""Clumped collapsed inference of a block of documents under frozen topics, over all topics.

The loops are in scvb_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.threads._pool cimport Pool, share_items
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty

ctypedef fused real:
    float
    double


cdef extern from "collapsed/scvb.h" nogil:
    enum:
        SPARSEMIX_PADDING
        SPARSEMIX_SCVB_ROWS
    ctypedef struct sparsemix_scvb_settings:
        Py_ssize_t n_components, width
        int n_sweeps, exclude, exact
        double base, prior, own, floor
        Py_ssize_t n_rates
        const double* rates
    void sparsemix_scvb_documents(
        int, const sparsemix_scvb_settings*, Py_ssize_t, const int64_t*, const int*, const void*, const void*,
        const void*, const void*, void*, void*, void*, const int*, int64_t*)


EXCLUDE = {"none": 0, "document": 1, "both": 2}


PADDING = SPARSEMIX_PADDING


cdef struct visit_task:
    int level, is_double
    sparsemix_scvb_settings s
    Py_ssize_t n
    const int64_t* indptr
    const int* indices
    const void* counts
    const void* table
    const void* inverse
    const void* alpha
    void* memory
    void* doc_topic
    void* resp
    const int* order
    int64_t n_taken


cdef void visit_some(visit_task* t, int64_t seat, const real* like) noexcept nogil:
    """Documents that no other seat has taken."""
    sparsemix_scvb_documents(
        t.level, &t.s, t.n, t.indptr, t.indices, <const real*> t.counts, t.table, t.inverse, t.alpha,
        <real*> t.memory + seat * SPARSEMIX_SCVB_ROWS * t.s.width, t.doc_topic, t.resp, t.order, &t.n_taken)


cdef void visit_item(void* task, int64_t seat) noexcept nogil:
    if (<visit_task*> task).is_double:
        visit_some(<visit_task*> task, seat, <const double*> NULL)
    else:
        visit_some(<visit_task*> task, seat, <const float*> NULL)


def memory_of(Py_ssize_t n_threads, Py_ssize_t n_components, dtype):
    """Scratch memory of some threads."""
    width = (n_components + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING * SPARSEMIX_SCVB_ROWS
    return aligned_empty(n_threads * width, dtype).reshape(n_threads, width)


def local_step(
    Entries entries not None,      # IN
    const real[:, ::1] table,      # IN  (V, K) counts by word and topic,
    double factor,                 # IN  times this,
    double offset,                 # IN  plus this
    double topic_word_prior,       # IN  beta
    const real[::1] inverse,       # IN  (K,) factor / (N_k + V beta)
    const real[::1] alpha,         # IN  (K,) Dirichlet prior of the documents' topics
    int n_sweeps,                  # IN  over a document's types
    int exclude,                   # IN  own tokens are excluded from nothing, the document, or also the topics
    const double[::1] rates,       # IN  rho by the whole tokens seen in a visit, or None: exact sums
    real[:, ::1] doc_topic,        # INOUT (n, K) N_jk, to start from and at the end
    real[:, ::1] resp,             # OUT (nnz, K padded) gamma of the last sweep
    const int[::1] order,          # IN  (n,) order in which documents are taken
    real[:, ::1] memory,           # TMP from memory_of
    Pool pool=None,                # IN  of threads
):
    """Sweeps of CVB0 ([TNW07], Asuncion et al. 2009) or SCVB0 (Foulds et al. 2013), each document separately."""
    cdef Py_ssize_t d, n = entries.n
    cdef visit_task t
    if n <= 0 or entries.n_entries == 0:
        np.asarray(doc_topic)[...] = 0
        return
    t.s.n_components = table.shape[1]
    t.s.width = (t.s.n_components + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING
    t.s.n_sweeps, t.s.exclude, t.s.exact = n_sweeps, exclude, rates is None
    t.s.base, t.s.prior, t.s.own = (offset + topic_word_prior) / factor, topic_word_prior / factor, 1.0 / factor
    t.s.floor = table.shape[0] * t.s.prior
    t.s.n_rates, t.s.rates = 0, NULL
    if inverse.shape[0] != t.s.n_components or alpha.shape[0] != t.s.n_components:
        raise ValueError(f"inverse and alpha must be ({t.s.n_components},)")
    if doc_topic.shape[0] != n or doc_topic.shape[1] != t.s.n_components:
        raise ValueError(f"doc_topic must be ({n}, {t.s.n_components})")
    if resp.shape[0] < entries.indptr[n] or resp.shape[1] != t.s.width:
        raise ValueError(f"resp must hold indptr[-1] entries and {t.s.width} topics")
    if rates is not None:
        if rates.shape[0] == 0 or exclude != 0:
            raise ValueError("rates must not be empty, and own tokens can be left out of exact sums only")
        t.s.n_rates, t.s.rates = rates.shape[0], <const double*> &rates[0]
    if order.shape[0] != n or memory.shape[1] != SPARSEMIX_SCVB_ROWS * t.s.width:
        raise ValueError(f"order must have {n} documents, and memory be for {t.s.n_components} topics")
    for d in range(n):
        if not 0 <= order[d] < n:
            raise ValueError(f"order must have the documents from 0 to {n - 1}")
    cdef const real[::1] counts = entries.counts
    t.level, t.is_double, t.n, t.n_taken = instruction_level(), real is double, n, 0
    t.indptr, t.indices, t.counts = &entries.indptr[0], &entries.indices[0], &counts[0]
    t.table, t.inverse, t.alpha, t.order = &table[0, 0], &inverse[0], &alpha[0], &order[0]
    t.memory, t.doc_topic, t.resp = &memory[0, 0], &doc_topic[0, 0], &resp[0, 0]
    share_items(pool, visit_item, &t, memory.shape[0])
