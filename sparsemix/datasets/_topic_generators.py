"""Synthetic corpora with known topics."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import Array, ArrayLike, Seed, SparseArray


@plain_arguments
def make_sparse_lda(
    n_samples: int = 1000,
    n_features: int = 500,
    n_components: int = 20,
    *,
    doc_length: ArrayLike = 100,
    doc_topic_prior: float = 0.1,
    topic_word_prior: float = 0.05,
    random_state: Seed = None,
) -> tuple[SparseArray, Array, Array]:
    """Draw documents from latent Dirichlet allocation.

    Use it to test whether an estimator recovers known topics. Small priors give few topics per document and few words
    per topic.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    n_features : int, default=500
        Number of words.
    n_components : int, default=20
        Number of topics.
    doc_length : int or array of shape (n_samples,), default=100
        Tokens per document.
    doc_topic_prior : float, default=0.1
        Concentration of the Dirichlet distribution of a document's topics.
    topic_word_prior : float, default=0.05
        Concentration of the Dirichlet distribution of a topic's words.
    random_state : int, RandomState instance or None, default=None
        Seed; pass an int for reproducible documents.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features), float32
        Counts.
    topics : ndarray of shape (n_components, n_features)
        Probabilities of words, rows sum to one.
    doc_topic : ndarray of shape (n_samples, n_components)
        Probabilities of topics, rows sum to one.

    Raises
    ------
    ValueError
        If a prior is not positive.

    Examples
    --------
    >>> from sparsemix.datasets import make_sparse_lda
    >>> X, topics, doc_topic = make_sparse_lda(50, n_features=30, n_components=4, doc_length=20, random_state=0)
    >>> X.shape, topics.shape, doc_topic.shape, float(X.sum())
    ((50, 30), (4, 30), (50, 4), 1000.0)
    """
    rng = check_random_state(random_state)
    topics = draw_dirichlet("topic_word_prior", topic_word_prior, (n_components, n_features), rng)
    doc_topic = draw_dirichlet("doc_topic_prior", doc_topic_prior, (n_samples, n_components), rng)
    return draw_documents(topics, doc_topic, doc_length, rng), topics, doc_topic


@plain_arguments
def make_bars(
    n_side: int = 5,
    n_samples: int = 500,
    *,
    doc_length: ArrayLike = 100,
    doc_topic_prior: float = 1.0,
    random_state: Seed = None,
) -> tuple[SparseArray, Array, Array]:
    """Draw the bars corpus: words are the pixels of a square, topics are its rows and columns.

    A small corpus whose topics are easy to check: reshape a topic to ``(n_side, n_side)``.

    Parameters
    ----------
    n_side : int, default=5
        Edge of the square: ``n_side ** 2`` words and ``2 * n_side`` topics, rows first.
    n_samples : int, default=500
        Number of documents.
    doc_length : int or array of shape (n_samples,), default=100
        Tokens per document.
    doc_topic_prior : float, default=1.0
        Concentration of the Dirichlet distribution of a document's topics.
    random_state : int, RandomState instance or None, default=None
        Seed; pass an int for reproducible documents.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_side ** 2), float32
        Counts.
    topics : ndarray of shape (2 * n_side, n_side ** 2)
        Probabilities of words, rows sum to one.
    doc_topic : ndarray of shape (n_samples, 2 * n_side)
        Probabilities of topics, rows sum to one.

    Raises
    ------
    ValueError
        If the prior is not positive.

    References
    ----------
    T. L. Griffiths and M. Steyvers, "Finding scientific topics", PNAS 101, 2004, figure 1.

    Examples
    --------
    >>> from sparsemix.datasets import make_bars
    >>> X, topics, doc_topic = make_bars(3, n_samples=10, random_state=0)
    >>> topics[0].reshape(3, 3).round(2)
    array([[0.33, 0.33, 0.33],
           [0.  , 0.  , 0.  ],
           [0.  , 0.  , 0.  ]])
    """
    rng = check_random_state(random_state)
    rows = np.repeat(np.eye(n_side), n_side, axis=1)
    columns = np.tile(np.eye(n_side), n_side)
    topics = np.vstack([rows, columns]) / n_side
    doc_topic = draw_dirichlet("doc_topic_prior", doc_topic_prior, (n_samples, len(topics)), rng)
    return draw_documents(topics, doc_topic, doc_length, rng), topics, doc_topic


def draw_dirichlet(name, prior, shape, rng):
    """Draw rows from a symmetric Dirichlet distribution.

    With small parameters gamma variates underflow, at worst all of a row. Their logarithms do not: for uniform U,
    G(a + 1) U^(1/a) has the distribution of G(a).
    """
    if not 0 < prior < np.inf:
        raise ValueError(f"{name} must be positive and finite, got {prior}.")
    log_gamma = np.log(rng.standard_gamma(prior + 1.0, shape)) + np.log1p(-rng.uniform(size=shape)) / prior
    gamma = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
    return gamma / gamma.sum(axis=1, keepdims=True)


def draw_documents(topics, doc_topic, doc_length, rng):
    """Word counts: draw a topic for each token, then a word of that topic."""
    n_samples, n_components = doc_topic.shape
    lengths = np.broadcast_to(doc_length, n_samples)
    tokens = np.array([rng.multinomial(n, p) for n, p in zip(lengths, doc_topic, strict=True)], dtype=np.int64)
    tokens = tokens.reshape(n_samples, n_components)
    documents = [np.repeat(np.arange(n_samples), tokens[:, k]) for k in range(n_components)]
    return draw_words(topics, documents, n_samples, rng)


def draw_words(topics, documents, n_samples, rng):
    """Word counts; ``documents[k]`` lists the document of each token of topic k."""
    words = [rng.choice(topics.shape[1], size=len(d), p=p) for d, p in zip(documents, topics, strict=True)]
    documents, words = np.concatenate(documents), np.concatenate(words)
    ones = np.ones(len(words), dtype=np.float32)
    return sparse.csr_matrix((ones, (documents, words)), shape=(n_samples, topics.shape[1]))


@plain_arguments
def make_skip_gram(
    n_samples: int = 500,
    n_features: int = 200,
    n_components: int = 10,
    *,
    doc_length: ArrayLike = 50,
    segment_length: int | None = None,
    topic_word_prior: float = 0.05,
    random_state: Seed = None,
) -> tuple[SparseArray, Array, Array]:
    """Draw word sequences in which neighbouring words share a topic, for :class:`~sparsemix.SkipGramTopicModel`.

    A document consists of segments. Each segment has one topic, from which its words are drawn. ``word_topics`` is the
    probability of each topic given the word.

    Parameters
    ----------
    n_samples : int, default=500
        Number of documents.
    n_features : int, default=200
        Number of words.
    n_components : int, default=10
        Number of topics.
    doc_length : int or array of shape (n_samples,), default=50
        Words per document.
    segment_length : int, default=None
        Words per segment; None makes a document one segment. Windows near a border cover two segments.
    topic_word_prior : float, default=0.05
        Concentration of the Dirichlet distribution of a topic's words.
    random_state : int, RandomState instance or None, default=None
        Seed; pass an int for reproducible documents.

    Returns
    -------
    X : CSR matrix of shape (n_samples, longest), int32
        Word number + 1 at each place.
    topics : ndarray of shape (n_components, n_features)
        Probabilities of words, rows sum to one.
    word_topics : ndarray of shape (n_features, n_components)
        Probabilities of topics given a word; rows sum to one. Uniform for a word without a topic.

    Raises
    ------
    ValueError
        If the prior is not positive.

    See Also
    --------
    sparsemix.SkipGramTopicModel : Learns such topics.

    Examples
    --------
    >>> from sparsemix.datasets import make_skip_gram
    >>> X, topics, word_topics = make_skip_gram(20, n_features=30, n_components=4, doc_length=15, random_state=0)
    >>> X.shape, topics.shape, word_topics.shape, X.nnz
    ((20, 15), (4, 30), (30, 4), 300)
    """
    rng = check_random_state(random_state)
    topics = draw_dirichlet("topic_word_prior", topic_word_prior, (n_components, n_features), rng)
    even, total = np.full(topics.shape, 1.0 / max(1, n_components)), topics.sum(axis=0)
    word_topics = np.divide(topics, total, out=even, where=total > 0.0).T
    rows = []
    for length in np.broadcast_to(doc_length, n_samples):
        segment = max(1, length) if segment_length is None else segment_length
        chosen = np.repeat(rng.randint(n_components, size=-(-length // segment)), segment)[:length]
        row = np.empty(length, dtype=np.int32)
        for k in np.unique(chosen):
            row[chosen == k] = rng.choice(n_features, size=(chosen == k).sum(), p=topics[k])
        rows.append(row + 1)
    lengths = np.array([len(row) for row in rows])
    places = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    shape = n_samples, max(1, lengths.max())
    return sparse.csr_array((np.concatenate(rows), places, indptr), shape=shape), topics, word_topics
