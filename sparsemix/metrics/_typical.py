"""Topic shares of documents, and the documents in which a topic has its largest shares."""

from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from sparsemix._typing import Array

# Rows of doc_topic in memory at once.
BLOCK = 4096


class Typical:
    """The documents with the largest shares of each topic, largest first; ``add`` reads blocks of documents in order.

    Parameters
    ----------
    n_components : int
        Number of topics.
    n_documents : int
        Number of documents of each topic.

    Attributes
    ----------
    documents : ndarray of shape (n_components, n_documents)
        Numbers of documents; fewer columns after fewer documents.
    shares : ndarray of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.extend import Typical
    >>> typical = Typical(2, 1)
    >>> typical.add(0, np.array([[0.9, 0.1], [0.4, 0.6]]))
    >>> typical.add(2, np.array([[0.2, 0.8]]))
    >>> typical.documents.tolist()
    [[0], [2]]
    """

    def __init__(self, n_components: int, n_documents: int) -> None:
        self.n_documents = n_documents
        self.shares, self.documents = np.zeros((n_components, 0)), np.zeros((n_components, 0), dtype=np.int64)

    def add(self, start: int, doc_topic: Array) -> None:
        """Read the shares (n, K) of documents whose numbers begin with ``start``."""
        shares = np.hstack([self.shares, doc_topic.T])
        numbers = np.broadcast_to(np.arange(start, start + len(doc_topic)), doc_topic.T.shape)
        best = np.argsort(-shares, axis=1, kind="stable")[:, : self.n_documents]
        self.documents = np.take_along_axis(np.hstack([self.documents, numbers]), best, axis=1)
        self.shares = np.take_along_axis(shares, best, axis=1)


def typical_documents(model, X, n_documents):
    """The ``Typical`` documents of all topics."""
    found = Typical(len(model.components_), n_documents)
    for rows in gen_batches(X.shape[0], BLOCK):
        found.add(rows.start, shares_of(model, X[rows]))
    return found


def shares_of(model: Any, X: Any) -> Array:
    """Topic shares of documents for any topic model; rows that do not sum to one are normalised.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``transform``, including scikit-learn's.
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Rows that ``transform`` reads.

    Returns
    -------
    shares : ndarray of shape (n_documents, n_components), float64
        Rows of zeros, as of nonnegative matrix factorisation, become equal shares.

    Examples
    --------
    >>> from sklearn.decomposition import NMF
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.extend import shares_of
    >>> X = make_bars(n_samples=50, random_state=0)[0]
    >>> bool(abs(shares_of(NMF(3, max_iter=1000).fit(X), X).sum(axis=1) - 1).max() < 1e-9)
    True
    """
    doc_topic = np.asarray(model.transform(X), dtype=np.float64)
    totals = doc_topic.sum(axis=1, keepdims=True)
    return np.divide(doc_topic, totals, out=np.full_like(doc_topic, 1.0 / doc_topic.shape[1]), where=totals > 0)
