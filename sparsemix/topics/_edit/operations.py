"""Topics of a fitted model merged, dropped or split, without another fit of all topics."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sparsemix._estimator.input.checks import SMALLEST_PRIOR, check_counts
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._models.topics.sums import SMALLEST_COUNT
from sparsemix._models.topics.word_prior import log_evidence_of_words
from sparsemix._rows.blocks import spans
from sparsemix._rows.documents import canonical
from sparsemix._typing import RowsLike, Seed
from sparsemix.topics._collapsed.collapsed_lda import CollapsedLDA
from sparsemix.topics._edit.edited import (
    check_topic_model,
    combined,
    counts_by_topic,
    edited,
    one_hot,
    regrouped,
    topic_numbers,
)
from sparsemix.topics._fitted import NUMBERS
from sparsemix.topics._predict import DOCUMENTS

# Fits of the parts of a topic, of which the one of largest evidence is taken: some end far from the best.
STARTS = 4


@plain_arguments
def merge_topics(model: Any, groups: Sequence[Sequence[int]]) -> Any:
    """Add up the topics of each group, without another fit.

    Counts, ``topic_weights_`` and document priors of the topics of a group are summed. ``transform`` infers proportions
    again, and those of a merged topic are sums only about: words whose probabilities differ between the topics lose
    some of it, and documents may prefer another topic with nearly the same words. In half of the pairs of drawn corpora
    the mean proportions were sums within 0.002. Others lost up to a third, and single documents moved as a whole. A
    topic that a prior fixes keeps its words, so that those of topics merged with it are lost.

    Parameters
    ----------
    model : SparseSCVB0LDA, SparseLDA, CollapsedLDA or GibbsLDA
        Fitted; it does not change.
    groups : sequence of sequences of int
        Numbers of the topics to merge, such as ``[[3, 7], [0, 2, 5]]``. A topic is in at most one group.

    Returns
    -------
    merged : estimator
        A fitted model of the same class. A merged topic has the place of the smallest number of its group; topics after
        removed ones move up. It has no bound and no stored documents. ``partial_fit`` continues with its topics.

    Raises
    ------
    ValueError
        For numbers that are not of topics, or that are in two groups.
    TypeError, NotFittedError
        For anything but a fitted topic model of documents.

    See Also
    --------
    reduce_topics : Merges that cost least.
    drop_topics : Removes topics.
    split_topic : Divides a topic.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import merge_topics
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = SparseSCVB0LDA(10, max_iter=10, random_state=0).fit(X)
    >>> merge_topics(lda, [[3, 7], [0, 2, 5]]).components_.shape
    (7, 25)
    """
    check_topic_model(model)
    n = model._fitted.model.n_components
    places, groups = np.arange(n), [topic_numbers(group, n, f"groups[{i}]") for i, group in enumerate(groups)]
    if not groups:
        raise ValueError("groups is empty; give one group of topics or more")
    topic_numbers(np.concatenate(groups), n, "groups")
    for group in groups:
        places[group] = group.min()
    kept, places = np.unique(places, return_inverse=True)
    return regrouped(model, places, len(kept))


@plain_arguments
def drop_topics(model: Any, topics: Iterable[int]) -> Any:
    """Remove topics, without another fit.

    The tokens of these topics are forgotten. The counts and document priors of the remaining topics do not change.

    Parameters
    ----------
    model : SparseSCVB0LDA, SparseLDA, CollapsedLDA or GibbsLDA
        Fitted; it does not change.
    topics : iterable of int
        Numbers of the topics to remove; at least one topic must remain.

    Returns
    -------
    remaining : estimator
        A fitted model of the same class, whose topics keep their order, as from ``merge_topics``.

    Raises
    ------
    ValueError
        For numbers that are not of topics, or are given twice, and if no topic remains.
    TypeError, NotFittedError
        For anything but a fitted topic model of documents.

    See Also
    --------
    merge_topics : Adds up topics.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import drop_topics
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = SparseSCVB0LDA(10, max_iter=10, random_state=0).fit(X)
    >>> drop_topics(lda, [0, 4]).components_.shape
    (8, 25)
    """
    check_topic_model(model)
    n = model._fitted.model.n_components
    gone = topic_numbers(list(topics), n, "topics")
    kept = np.delete(np.arange(n), gone)
    if not len(kept):
        raise ValueError(f"topics contains all {n} topics of model; leave out at least one")
    places = np.full(n, -1)
    places[kept] = np.arange(len(kept))
    return regrouped(model, places, len(kept))


@plain_arguments
def split_topic(model: Any, topic: int, X: RowsLike, n_parts: int = 2, *, random_state: Seed = 0) -> Any:
    """Divide a topic into several, by the tokens that documents have of it.

    The expected counts of the topic in X are documents of a small model with ``n_parts`` topics, whose document prior
    is that of the topic in equal parts: :class:`~sparsemix.CollapsedLDA` with the topics of all other tokens fixed. Of
    four fits the one of largest evidence determines the share of each part in every word. The counts of the topic are
    divided in these shares, so that the parts sum to the topic, and other topics do not change.

    Parameters
    ----------
    model : SparseSCVB0LDA, SparseLDA, CollapsedLDA or GibbsLDA
        Fitted; it does not change.
    topic : int
        Number of the topic.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts, of the training documents or of similar ones.
    n_parts : int, default=2
        Number of parts.
    random_state : int, RandomState instance or None, default=0
        Seed of the small models.

    Returns
    -------
    divided : estimator
        A fitted model of the same class, as from ``merge_topics``. The first part, which is the largest, keeps the
        number of the topic; the other parts follow the last topic. It has no ``doc_topic_distribution_``.

    Raises
    ------
    ValueError
        For a number that is not of a topic, fewer than two parts, and if no document of X has tokens of the topic.
    TypeError, NotFittedError
        For anything but a fitted topic model of documents.

    See Also
    --------
    merge_topics : Adds up topics.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import merge_topics, split_topic
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = SparseSCVB0LDA(10, max_iter=10, random_state=0).fit(X)
    >>> split_topic(merge_topics(lda, [[0, 1]]), 0, X).components_.shape
    (10, 25)
    """
    check_topic_model(model)
    n = model._fitted.model.n_components
    (topic,) = topic_numbers([topic], n, "topic")
    if not isinstance(n_parts, int) or n_parts < 2:
        raise ValueError(f"n_parts is {n_parts!r}; give a whole number from 2 on")
    X = check_counts(model, X, reset=False)
    shares = shares_of_words(model, topic, tokens_of(model, topic, X), n_parts, random_state)
    parts = np.array([topic, *range(n, n + n_parts - 1)])

    def change(fitted):
        counts = counts_by_topic(fitted.stats)[[topic]].toarray()[0]
        sizes = counts @ shares + np.finfo(np.float64).tiny
        sizes /= sizes.sum()
        components = sparse.lil_array(one_hot(np.arange(n), n + n_parts - 1))
        components[topic, parts] = sizes
        factors = dict(zip(parts, (shares / sizes).T, strict=True))
        return combined(fitted, sparse.csr_array(components), factors=factors)

    return edited(model, change)


def tokens_of(model, topic, X):
    """Expected counts of a topic in each document, csr_array (n, V)."""
    words, blocks = model.topic_word_distribution_.T.copy(), []
    step = max(1, NUMBERS // words.shape[1])
    for start, stop in spans(X.shape[0], DOCUMENTS):
        block = canonical(X[start:stop])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # X was checked with its names
            theta = model.transform(block)
        rows = np.repeat(np.arange(len(theta)), np.diff(block.indptr))
        counts = np.empty(len(rows))
        for first, last in spans(len(rows), step):
            weights = theta[rows[first:last]] * words[block.indices[first:last]]
            counts[first:last] = block.data[first:last] * (weights[:, topic] / weights.sum(axis=1))
        counts[counts < SMALLEST_COUNT] = 0.0
        blocks.append(sparse.csr_array((counts, block.indices, block.indptr), shape=block.shape))
        blocks[-1].eliminate_zeros()
    tokens = sparse.csr_array(sparse.vstack(blocks))
    if not tokens.nnz:
        raise ValueError(f"no document of X has a token of topic {topic}; give the documents that it was learned from")
    return tokens


def shares_of_words(model, topic, tokens, n_parts, random_state):
    """Share of each part in every word of a topic, (V, n_parts), largest part first."""
    alpha, beta = max(SMALLEST_PRIOR, model.doc_topic_prior_[topic] / n_parts), np.median(model.topic_word_prior_)
    best, evidence, seeds = None, -np.inf, check_random_state(random_state)
    for seed in seeds.randint(2**31 - 1, size=STARTS):
        small = CollapsedLDA(n_parts, doc_topic_prior=alpha, topic_word_prior=beta, random_state=int(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of topics that are parts, and of few epochs
            stats = small.fit(tokens)._fitted.stats
        if (found := log_evidence_of_words(stats, beta)) > evidence:
            best, evidence = stats, found
    counts = counts_by_topic(best).toarray().T
    counts = counts[:, np.argsort(-counts.sum(axis=0), kind="stable")]
    counts += beta * counts.sum(axis=0) / counts.sum()  # words without tokens are divided like all tokens
    return counts / counts.sum(axis=1, keepdims=True)
