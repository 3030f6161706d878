"""Fitted skip-gram topics, and their predictions for documents, positions and words."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sparsemix._compat import configured_sparse
from sparsemix._estimator.base import published
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.tables import table_of
from sparsemix._estimator.writing import replacing
from sparsemix._kernels.skipgram import _positions
from sparsemix._rows.blocks import spans
from sparsemix._rows.sequences import Sequences
from sparsemix._rows.threads import Workers
from sparsemix._stats.word_clocks import WordClocks
from sparsemix._typing import Array, FilePath, RowsLike, SparseArray, Table
from sparsemix._warnings import warn_caller
from sparsemix.skipgram._input import check_sequences, counts_of, word_number
from sparsemix.skipgram._vectors import nearest, word2vec_lines
from sparsemix.topics._evaluation import LEAST_DOCUMENTS, LEAST_EPOCHS, MARGIN, MOST_DOCUMENTS, MOST_NUMBERS
from sparsemix.topics._fitted import FittedTopics

# Responsibilities that a thread holds at once: 4 MB.
TILE_NUMBERS = 1 << 20
# Tokens per block.
BLOCK_TOKENS = 1 << 18
# Similar words must occur at least this number of times the mass of their prior.
LEAST_OF_PRIOR = 2.0


class FittedSkipGram(FittedTopics):
    """Model and statistics of a completed step."""

    counts_rows = "documents"  # the mass is of positions

    def __init__(self, model, stats):
        super().__init__(model.renewed(0), stats)  # drops the tables of the sampler

    @property
    def background(self):
        """Amount added to the counts of every word in every topic."""
        return float(self.stats["offset"]) + self.model.topic_word_prior

    @cached_property
    def word_topics(self):
        """Posterior means of the topics of input words, (V, K), rows sum to one."""
        counts = self._input_counts()
        counts = counts + self.model.doc_topic_prior.astype(counts.dtype)
        counts /= counts.sum(axis=1, keepdims=True)
        return counts

    @cached_property
    def occurrences(self):
        """Occurrences of each input word with a context, (V,)."""
        return self._input_counts().sum(axis=1, dtype=np.float64)

    def _input_counts(self):
        counts, factor = self.stats.unfolded("input_topic")
        return counts.toarray() if isinstance(counts, WordClocks) else counts * counts.dtype.type(factor)

    @cached_property
    def logs(self):
        """Logarithms of ``word_topics`` and of the topics' words, both (V, padded K)."""
        return padded_logs(self.word_topics), padded_logs(self.word_topic, self.totals)


def padded_logs(table, divisor=1.0):
    """log(table / divisor), in rows padded to whole vectors; padding has no probability."""
    n_words, n_components = table.shape
    out = _positions.log_table(n_words, n_components, table.dtype)
    every = np.arange(n_words, dtype=np.int32)
    # the numbers are positive, so nothing has to be added before the logarithm
    _positions.log_rows(np.ascontiguousarray(table), every, None, 1.0, np.zeros(n_components), out)
    out[:, :n_components] -= np.log(divisor).astype(table.dtype)
    return out


# -- documents and positions


def fit_transform(self, X: RowsLike, y: object = None, **fit_params: Any) -> Any:
    """Fit, then transform the same documents.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
        Documents as in ``fit``.
    y : None
        Ignored.
    **fit_params : dict
        Further arguments of ``fit``.

    Returns
    -------
    doc_topic : ndarray of shape (n_samples, n_components), float64
        As ``transform``.
    """
    return self.fit(X, y, **fit_params).transform(X)


def transform(self, X: RowsLike) -> Any:
    """Topic proportions of documents: means of the topics of their positions, each inferred with its context.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
        Documents as in ``fit``.

    Returns
    -------
    doc_topic : ndarray of shape (n_samples, n_components), float64
        Rows sum to one. A document of one word has the topics of that word. A document without words has those of
        the prior.

    Raises
    ------
    ValueError
        For entries that are not word numbers or not in the vocabulary, with row and place.
    """
    check_is_fitted(self)
    theta = np.zeros((X.shape[0] if hasattr(X, "shape") else len(X), self._n_features_out))

    def mean(first, x, resp):
        lengths = np.diff(x.indptr)
        some = np.flatnonzero(lengths)
        if len(some):
            sums = np.add.reduceat(resp, x.indptr[some], axis=0, dtype=np.float64)
            theta[first + some] = sums / lengths[some, None]

    self._visit(X, mean, resp=True)
    empty = ~theta.any(axis=1)
    theta[empty] = self._fitted.model.doc_topic_prior
    theta /= theta.sum(axis=1, keepdims=True)
    return theta


@plain_arguments
def transform_words(self, X: RowsLike, n_nonzero: int = 8) -> SparseArray:
    """Topics of every word of the documents in its context, which distinguish the senses of a word.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
        Documents as in ``fit``.
    n_nonzero : int, default=8
        Number of topics to keep per word; their probabilities are normalised.

    Returns
    -------
    word_topic : CSR array or matrix of shape (n_words_of_X, n_components), float32
        One row per word, document by document in order; rows sum to one. scikit-learn's setting
        ``sparse_interface`` chooses between array and matrix.
    """
    check_is_fitted(self)
    n = int(min(n_nonzero, self._n_features_out))
    if n < 1:
        raise ValueError(f"n_nonzero is {n_nonzero}; it must be at least 1")
    parts = {}

    def best(first, x, resp):  # noqa: ARG001
        topics = np.sort(np.argpartition(-resp, n - 1, axis=1)[:, :n], axis=1)
        values = np.take_along_axis(resp, topics, axis=1)
        parts[first] = topics.astype(np.int32), (values / values.sum(axis=1, keepdims=True)).astype(np.float32)

    self._visit(X, best, resp=True)
    n_components = self._n_features_out
    if not parts:
        return configured_sparse(sparse.csr_array((0, n_components), dtype=np.float32))
    topics, values = (np.concatenate(arrays) for arrays in zip(*(parts[a] for a in sorted(parts)), strict=True))
    shape = len(topics), n_components
    indptr = n * np.arange(len(topics) + 1)
    return configured_sparse(sparse.csr_array((values.ravel(), topics.ravel(), indptr), shape=shape))


def count_words(self, X: RowsLike) -> SparseArray:
    """Word counts of documents, for ``metrics.topic_coherence`` and models of counts.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
        Documents as in ``fit``.

    Returns
    -------
    counts : CSR array or matrix of shape (n_samples, n_features), float32
        scikit-learn's setting ``sparse_interface`` chooses between array and matrix.
    """
    check_is_fitted(self)
    X, _ = check_sequences(self, X, self.n_features_in_)
    return configured_sparse(counts_of(X, self.n_features_in_))


def score(self, X: RowsLike, y: object = None) -> float:  # noqa: ARG001
    """Held-out log likelihood per context word.

    The mean, over all pairs of a position and a word of its context, of
    :math:`\\log \\sum_k \\theta_{w k} \\prod_c \\phi_{k w_c}`. A position has one such value, shared by the words
    of its context. Scores are comparable between numbers of topics and values of ``inference``, but not between
    windows, because a wide context predicts its words better.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
        Held-out documents.
    y : None
        Ignored.

    Returns
    -------
    score : float
        Natural logarithm.
    """
    totals, n_pairs = self.score_by_document(X)
    if not n_pairs.any():
        raise ValueError("no document of X has two words within a window; give longer documents to score")
    return float(totals.sum() / n_pairs.sum())


def score_by_document(self, X: RowsLike) -> tuple[Array, Array]:
    """Sums of ``score`` for each document, for standard errors and comparisons of documents.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
        Held-out documents.

    Returns
    -------
    log_likelihoods : ndarray of shape (n_samples,)
        Log probabilities of the context words of each document.
    n_words : ndarray of shape (n_samples,)
        Numbers of these. ``score`` is the ratio of both sums.
    """
    check_is_fitted(self)
    found = {-1: (np.zeros(0), np.zeros(0))}

    def add(first, x, log_sums, sizes):
        rows = np.repeat(np.arange(len(x)), np.diff(x.indptr))
        logs = np.where(sizes > 0, log_sums, 0.0)
        found[first] = np.bincount(rows, logs, len(x)), np.bincount(rows, sizes, len(x))

    self._visit(X, add)
    parts = [found[first] for first in sorted(found)]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def _visit(self, X, use, resp=False):
    """Call ``use(first document, x, ...)`` for each tile, with responsibilities, or with log sums and sizes."""
    model, (inputs, contexts) = self._fitted.model, self._fitted.logs
    X, _ = check_sequences(self, X, model.n_words)
    slots = np.arange(model.n_words, dtype=np.int32)

    def tile(first, x):
        shape = len(x.words), model.n_components
        gamma = np.empty(shape, dtype=inputs.dtype) if resp else None
        log_sums, sizes = np.empty(len(x.words)), np.empty(len(x.words), dtype=np.int32)
        _positions.positions(
            x.positions(model.window), slots, inputs, contexts, None, None, None, 1.0, model.n_components,
            log_sums=log_sums, resp=gamma, sizes=sizes,
        )  # fmt: skip
        use(first, x, gamma) if resp else use(first, x, log_sums, sizes)

    with Workers(self._params.n_jobs) as workers:
        for first, block in Sequences(X, model.n_words).blocks(BLOCK_TOKENS):
            size = max(1, TILE_NUMBERS // model.n_components * len(block) // max(1, len(block.words)))

            def share(a, b, first=first, block=block):
                tile(first + a, block.part(a, b))

            workers.map(share, spans(len(block), size))


# -- words


@published
def word_topics_(self):
    """Topics of each input word, (V, n_components); rows sum to one."""
    return self._fitted_part("word_topics")


@published
def word_vectors_(self):
    """Square roots of ``word_topics_``: vectors of length one whose cosine is the Bhattacharyya coefficient."""
    return np.sqrt(self.word_topics_)


@published
def input_topic_prior_(self):
    """Dirichlet prior of the topics of an input word, (n_components,)."""
    return self.doc_topic_prior_


@plain_arguments
def most_similar(
    self, word: Any, n: int = 10, feature_names: Any = None, min_count: float | None = None
) -> list[Any]:
    """Words whose topics are most similar to those of a word.

    Parameters
    ----------
    word : int, str or sequence of these
        Number or name of the word, or those of several words.
    n : int, default=10
        Number of similar words.
    feature_names : array-like of shape (n_features,) or TokenSequences, default=None
        Names of the words, or the vectorizer; None returns numbers.
    min_count : float, default=None
        Least number of occurrences of a similar word. None means twice the sum of ``input_topic_prior_``, 10 by
        default: the topics of rarer words are close to the prior, like those of words with many topics.

    Returns
    -------
    words : list of (word, float)
        Similar words and their Bhattacharyya coefficients, from 0 to 1, in descending order, without the word. For
        several words a list with such a list for each.
    """
    check_is_fitted(self)
    vectors = self.word_vectors_
    feature_names = None if feature_names is None else self._words(feature_names)
    words = [word] if isinstance(word, str) or np.ndim(word) == 0 else word
    numbers = [word_number(each, feature_names, len(vectors)) for each in words]
    found = []
    for near, likeness in zip(*nearest(vectors, numbers, n, self._known(min_count)), strict=True):
        names = near.tolist() if feature_names is None else feature_names[near]
        found.append(list(zip(names, likeness.tolist(), strict=True)))
    return found[0] if words is not word else found


def _known(self, min_count=None):
    """Words with at least this number of occurrences."""
    least = LEAST_OF_PRIOR * self.input_topic_prior_.sum() if min_count is None else min_count
    return np.flatnonzero(self._fitted_part("occurrences") >= least * (1.0 - 1e-6))  # sums are of single precision


@plain_arguments
def word_topic_table(
    self,
    word: int | str,
    n_topics: int = 5,
    feature_names: Any = None,
    n_top_words: int = 10,
    order: str = "distinctive",
) -> Table:
    """The most probable topics of a word, which are its senses, in the form of ``topic_table``.

    Parameters
    ----------
    word : int or str
        Number or name of the word.
    n_topics : int, default=5
        Maximal number of topics.
    feature_names : array-like of shape (n_features,) or TokenSequences, default=None
        Names of the words, or the vectorizer.
    n_top_words : int, default=10
        Words per topic.
    order : {"distinctive", "probable"}, default="distinctive"
        As in ``topic_table``.

    Returns
    -------
    table : pandas.DataFrame, or list of dict without pandas
        As in ``topic_table``, with "probability": that of the topic given the word, largest first.
    """
    check_is_fitted(self)
    feature_names = None if feature_names is None else self._words(feature_names)
    row = self.word_topics_[word_number(word, feature_names, self.n_features_in_)]
    table = {record["topic"]: record for record in self._topic_rows(feature_names, n_top_words, order)}
    best = np.argsort(-row, kind="stable")[:n_topics]
    return table_of(table[int(k)] | {"probability": float(row[k])} for k in best)


def save_word_vectors(self, path: FilePath, feature_names: Any, binary: bool = True) -> None:
    """Write ``word_vectors_`` in word2vec format, for example for gensim's ``KeyedVectors``.

    Parameters
    ----------
    path : str or path
        Name of the file.
    feature_names : array-like of shape (n_features,) or TokenSequences
        Names of the words, without white space, or the vectorizer.
    binary : bool, default=True
        Write four bytes per number; False writes text.

    Raises
    ------
    ValueError
        For a wrong number of names, and names with white space.
    OSError
        If the file cannot be written; an existing file is then unchanged.
    """
    check_is_fitted(self)
    lines = word2vec_lines(self._words(feature_names), self.word_vectors_, binary)
    with replacing(path) as file:
        file.writelines(lines)



# -- comparison with the frequencies of words


def warn_if_worse_than_unigrams(est, X, n_epochs):
    """Warn if word frequencies predict the context words of documents that were learned from better than topics do.

    Parameters
    ----------
    est : SkipGramTopicModel
    X : CSR array of shape (N, longest)
        Word numbers + 1.
    n_epochs : int
        Fits of fewer than ``LEAST_EPOCHS`` are not judged.
    """
    n_words = est.n_features_in_
    if n_epochs < LEAST_EPOCHS or est._n_features_out * n_words > MOST_NUMBERS:
        return
    chosen = X[:: -(-X.shape[0] // MOST_DOCUMENTS)]
    if np.count_nonzero(np.diff(chosen.indptr) > 1) < LEAST_DOCUMENTS:
        return
    totals = np.asarray(counts_of(X, n_words).sum(axis=0), dtype=np.float64).ravel()
    topics, frequencies = est.score(chosen), unigram_score(est, chosen, totals)
    if topics < frequencies - MARGIN:
        warn_caller(
            f"the topics predict context words worse ({topics:.2f} nats a word) than word frequencies do "
            f"({frequencies:.2f}); lower n_components, or raise max_iter",
        )


def unigram_score(est, X, totals):
    """As ``score``, under the frequencies of words.

    Windows are symmetric, so a position is a context word as often as it has context words.
    """
    logs, sums = np.log(np.maximum(totals, 1.0) / totals.sum()), {}

    def add(first, x, log_sums, sizes):  # noqa: ARG001
        sums[first] = sizes @ logs[x.words], sizes.sum()

    est._visit(X, add)
    return float(sum(total for total, _ in sums.values()) / sum(n for _, n in sums.values()))
