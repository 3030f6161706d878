"""Clumped collapsed inference of a block of documents under frozen topics, over all topics.

The loops are in scvb_loops.h.
"""

import numpy as np

from libc.stdint cimport int64_t

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.vectors._simd cimport instruction_level

ctypedef fused real:
    float
    double


cdef extern from "collapsed/scvb.h" nogil:
    enum:
        SPARSEMIX_PADDING
    ctypedef struct sparsemix_scvb_settings:
        Py_ssize_t n_components, width
        int n_sweeps, exclude, exact
        double base, prior, own, floor
        Py_ssize_t n_rates
        const double* rates
    void sparsemix_scvb_documents(
        int, const sparsemix_scvb_settings*, Py_ssize_t, const int64_t*, const int*, const void*, const void*,
        const void*, const void*, void*, void*, void*, void*)


EXCLUDE = {"none": 0, "document": 1, "both": 2}


PADDING = SPARSEMIX_PADDING


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
    real[:, ::1] total,            # OUT (n, K) sums of c gamma over each document's entries
    scratch,                       # TMP Workspace of the table's dtype
):
    """Sweeps of CVB0 ([TNW07], Asuncion et al. 2009) or SCVB0 (Foulds et al. 2013), each document separately."""
    cdef Py_ssize_t n = entries.n
    cdef sparsemix_scvb_settings s
    cdef int level = instruction_level()
    if n <= 0 or entries.n_entries == 0:
        np.asarray(doc_topic)[...] = 0
        np.asarray(total)[...] = 0
        return
    s.n_components = table.shape[1]
    s.width = (s.n_components + SPARSEMIX_PADDING - 1) // SPARSEMIX_PADDING * SPARSEMIX_PADDING
    s.n_sweeps, s.exclude, s.exact = n_sweeps, exclude, rates is None
    s.base, s.prior, s.own = (offset + topic_word_prior) / factor, topic_word_prior / factor, 1.0 / factor
    s.floor = table.shape[0] * s.prior
    s.n_rates, s.rates = 0, NULL
    if inverse.shape[0] != s.n_components or alpha.shape[0] != s.n_components:
        raise ValueError(f"inverse and alpha must be ({s.n_components},)")
    if doc_topic.shape[0] != n or doc_topic.shape[1] != s.n_components:
        raise ValueError(f"doc_topic must be ({n}, {s.n_components})")
    if total.shape[0] != n or total.shape[1] != s.n_components:
        raise ValueError(f"total must be ({n}, {s.n_components})")
    if resp.shape[0] < entries.indptr[n] or resp.shape[1] != s.width:
        raise ValueError(f"resp must hold indptr[-1] entries and {s.width} topics")
    if rates is not None:
        if rates.shape[0] == 0 or exclude != 0:
            raise ValueError("rates must not be empty, and own tokens can be left out of exact sums only")
        s.n_rates, s.rates = rates.shape[0], <const double*> &rates[0]
    cdef const real[::1] counts = entries.counts
    cdef real[::1] work = scratch.of(6 * s.width, 0)[0]
    with nogil:
        sparsemix_scvb_documents(
            level, &s, n, &entries.indptr[0], &entries.indices[0], &counts[0], &table[0, 0], &inverse[0], &alpha[0],
            &work[0], &doc_topic[0, 0], &resp[0, 0], &total[0, 0])
