"""What a report says of topics: weight, coherence, words, documents."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

# Rows of doc_topic that exist at a time.
BLOCK = 4096
N_DOCUMENTS = 3


@dataclass(frozen=True)
class Topic:
    """One topic in words."""

    index: int
    weight: float
    coherence: float
    words: list
    probabilities: np.ndarray
    documents: list


def summarize(model, X, feature_names, names, n_top_words):
    """Topics of a fitted model, the largest first.

    Parameters
    ----------
    model : estimator
        With ``components_`` and ``transform``.
    X : CSR matrix of shape (n_documents, n_words)
        Counts, for weights, coherence and documents.
    feature_names : ndarray of shape (n_words,)
        The words.
    names : sequence of str
        Of the documents.
    n_top_words : int
        Words of a topic.

    Returns
    -------
    topics : list of Topic
    """
    from sparsemix.metrics import top_words, topic_coherence

    n_top_words = min(n_top_words, X.shape[1])
    weights, shares, documents = weights_and_documents(model, X)
    coherence = topic_coherence(model.components_, X, measure="npmi", n_top_words=n_top_words)
    words = top_words(model.components_, n_top_words)
    probabilities = np.take_along_axis(model.components_, words, axis=1)
    probabilities = probabilities / model.components_.sum(axis=1, keepdims=True)
    return [
        Topic(
            index=int(k),
            weight=float(weights[k]),
            coherence=float(coherence[k]),
            words=feature_names[words[k]].tolist(),
            probabilities=probabilities[k],
            documents=[(names[d], float(s)) for d, s in zip(documents[k], shares[k], strict=True) if s > 0],
        )
        for k in np.argsort(-weights, kind="stable")
    ]


def weights_and_documents(model, X):
    """Share of all tokens that each topic explains, and the documents with its largest shares.

    Returns
    -------
    weights : ndarray of shape (n_components,)
    shares, documents : ndarray of shape (n_components, at most N_DOCUMENTS)
        Largest first.
    """
    n_components = len(model.components_)
    weights = np.zeros(n_components)
    shares, documents = np.zeros((n_components, 0)), np.zeros((n_components, 0), dtype=np.int64)
    for rows in gen_batches(X.shape[0], BLOCK):
        doc_topic = model.transform(X[rows])
        weights += np.asarray(X[rows].sum(axis=1)).ravel() @ doc_topic
        shares = np.hstack([shares, doc_topic.T])
        numbers = np.broadcast_to(np.arange(rows.start, rows.stop), doc_topic.T.shape)
        documents = np.hstack([documents, numbers])
        best = np.argsort(-shares, axis=1, kind="stable")[:, :N_DOCUMENTS]
        shares, documents = np.take_along_axis(shares, best, axis=1), np.take_along_axis(documents, best, axis=1)
    return weights / weights.sum(), shares, documents
