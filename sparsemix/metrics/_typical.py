"""Topic shares of documents, and the documents in which a topic has its largest shares."""

import numpy as np
from sklearn.utils import gen_batches

# Rows of doc_topic in memory at once.
BLOCK = 4096


class Typical:
    """The documents with the largest shares of each topic, largest first; ``add`` reads blocks of documents in order.

    ``documents`` and ``shares`` have shape (K, n_documents), or fewer columns after fewer documents.
    """

    def __init__(self, n_components, n_documents):
        self.n_documents = n_documents
        self.shares, self.documents = np.zeros((n_components, 0)), np.zeros((n_components, 0), dtype=np.int64)

    def add(self, start, doc_topic):
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


def shares_of(model, X):
    """Topic shares of documents; rows that do not sum to one are normalised."""
    doc_topic = np.asarray(model.transform(X), dtype=np.float64)
    totals = doc_topic.sum(axis=1, keepdims=True)
    return np.divide(doc_topic, totals, out=np.full_like(doc_topic, 1.0 / doc_topic.shape[1]), where=totals > 0)
