"""Topic proportions of documents under fixed topics, over all topics; the loops are in proportions_loops.h."""

import numpy as np

from libc.stdint cimport int64_t

from sparsemix._kernels.documents._entries cimport Entries
from sparsemix._kernels.vectors._simd cimport instruction_level

ctypedef fused real:
    float
    double


cdef extern from "proportions/proportions.h" nogil:
    enum:
        SPARSEMIX_GROUP
    ctypedef struct sparsemix_proportion_settings:
        Py_ssize_t n_components, longest, kept, step
        int max_iter, linear, relative
        double tol
    Py_ssize_t sparsemix_whole(Py_ssize_t n, Py_ssize_t group)
    Py_ssize_t sparsemix_proportion_work_size(const sparsemix_proportion_settings* s)
    Py_ssize_t sparsemix_proportion_int_work_size(const sparsemix_proportion_settings* s)
    void sparsemix_proportions(
        int, const sparsemix_proportion_settings*, Py_ssize_t, const int64_t*, const int*, const void*, const void*,
        const double*, void*, int*, double*, int64_t*)


def infer(
    Entries entries not None,      # IN
    const real[:, ::1] table,      # IN  (V, K) exp E[log phi] or means of phi, any positive factor a row
    prior not None,                # IN  (K,) alpha, or (n, K) of each document, float64
    int max_iter,                  # IN  updates of all topics
    double tol,                    # IN  converged when no N_dk changes by this much in one
    bint linear,                   # IN  p = alpha + N_dk, not exp E[log pi]
    double[:, ::1] theta,          # OUT (n, K) alpha_k + N_dk
    int64_t[::1] n_iter,           # OUT (n,) updates of all topics
    scratch,                       # TMP Workspace of the table's dtype
    Py_ssize_t kept=1 << 24,       # IN  largest panel kept in memory, in numbers; larger ones are read in each update
    bint relative=False,           # IN  tol is a share of the document's tokens
):
    """Infer the documents' topics ([HS16] Algorithm 2, or CVB0); a document's result does not depend on other ones."""
    cdef Py_ssize_t n = entries.n
    cdef sparsemix_proportion_settings s
    cdef int level = instruction_level()
    cdef const double[:, ::1] priors = np.atleast_2d(prior)
    if n <= 0 or entries.n_entries == 0:
        np.asarray(theta)[...] = np.asarray(prior)
        np.asarray(n_iter)[...] = 0
        return
    s.n_components, s.longest = table.shape[1], sparsemix_whole(entries.longest, SPARSEMIX_GROUP)
    s.step = s.n_components if prior.ndim == 2 else 0
    s.max_iter, s.tol, s.linear, s.kept, s.relative = max_iter, tol, linear, kept, relative
    if priors.shape[1] != s.n_components or priors.shape[0] != (n if s.step else 1):
        raise ValueError(f"prior must be ({s.n_components},) or ({n}, {s.n_components})")
    if theta.shape[0] != n or theta.shape[1] != s.n_components:
        raise ValueError(f"theta must be ({n}, {s.n_components})")
    if n_iter.shape[0] != n:
        raise ValueError("n_iter must be (n,)")
    reals, ints = scratch.of(sparsemix_proportion_work_size(&s), sparsemix_proportion_int_work_size(&s))
    cdef const real[::1] counts = entries.counts
    cdef real[::1] work = reals
    cdef int[::1] int_work = ints
    with nogil:
        sparsemix_proportions(
            level, &s, n, &entries.indptr[0], &entries.indices[0], &counts[0], &table[0, 0], &priors[0, 0], &work[0],
            &int_work[0], &theta[0, 0], &n_iter[0])
