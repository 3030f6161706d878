"""Dense inference of documents under fixed topics, shared by all estimators that score or transform documents."""

import numpy as np

from sparsemix._kernels.documents._docstep import Workspace
from sparsemix._kernels.documents._entries import Entries
from sparsemix._kernels.proportions import _proportions

# Entries (document, word) per kernel call.
ENTRIES = 1 << 15


def infer_doc_topic(
    X, word_topic, doc_topic_prior, *, max_iter=100, tol=1e-3, relative=False, linear=False, workers=None
):
    """Posterior Dirichlet parameters of documents by dense variational inference ([HS16] Algorithm 2), or by CVB0.

    Parameters
    ----------
    X : csr_array of shape (n, V)
        Counts, without duplicates.
    word_topic : ndarray of shape (V, K), float32 or float64
        exp E[log phi], or the topics' word probabilities; each row may be scaled by any positive factor.
    doc_topic_prior : ndarray of shape (K,) or (n, K)
        alpha of all documents, or of each.
    max_iter : int
    tol : float
        Converged when no N_dk changes by more, in tokens.
    relative : bool
        ``tol`` is a share of the document's tokens.
    linear : bool
        Weights are word_topic times (alpha_k + N_dk) instead of times exp digamma(alpha_k + N_dk): the CVB0 update
        (Asuncion et al. 2009) with fixed topics.
    workers : Workers or None
        Threads.

    Returns
    -------
    theta : ndarray of shape (n, K), float64
        alpha_k + N_dk; alpha for a document without tokens.
    """
    dtype = word_topic.dtype
    n, n_components = X.shape[0], word_topic.shape[1]
    prior = np.ascontiguousarray(doc_topic_prior, dtype=np.float64)
    indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
    counts = np.ascontiguousarray(X.data, dtype=dtype)
    theta = np.empty((n, n_components))

    def share(start, stop):
        workspace = Workspace(dtype)
        for a, b in tiles(indptr, start, stop):
            first, last = indptr[a], indptr[b]
            entries = Entries(indptr[a : b + 1] - first, indices[first:last], counts[first:last])
            _proportions.infer(
                entries, word_topic, prior[a:b] if prior.ndim == 2 else prior, max_iter, tol, linear, theta[a:b],
                np.empty(b - a, dtype=np.int64), workspace, relative=relative,
            )  # fmt: skip

    if workers is None:
        share(0, n)
    else:
        workers.split(share, n)
    return theta


def tiles(indptr, start, stop):
    """Spans of documents with about ``ENTRIES`` entries each; the result of a document does not depend on the spans."""
    while start < stop:
        end = int(np.searchsorted(indptr, indptr[start] + ENTRIES, side="right")) - 1
        end = min(max(end, start + 1), start + 512, stop)
        yield start, end
        start = end
