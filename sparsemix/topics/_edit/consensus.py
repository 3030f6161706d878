"""Consensus of fits that differ by their seeds: topics that several of them share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.utils import Bunch

from sparsemix._estimator.parameters import plain_arguments
from sparsemix.metrics._checks import read_topics
from sparsemix.topics._word_prior import WordPrior

# Words of each topic that are compared, most probable first.
COMPARED = 1000
# Rounds of matching and averaging: more change nothing.
ROUNDS = 3


@plain_arguments
def consensus_topics(models: Sequence[Any]) -> Any:
    """Average the topics of several fits, so that conclusions depend less on the seed.

    Topics of all fits are matched one to one with reference topics, seeded and fixed ones by their numbers, and the
    matched topics are averaged with their likeness as weights; then the averages are the reference. The first reference
    is the fit that is most like the other fits. This is consensus clustering of topics as in [1]_, with one topic of
    each fit in every cluster.

    :func:`fit_consensus` makes the fits, and two more that start from ``components``. More of its topics return in a
    consensus of other seeds than topics of one seed do, and on most corpora they score better on held-out documents. To
    choose one of several fits by its score helps less: the differences between seeds are mostly noise of the held-out
    documents.

    Parameters
    ----------
    models : sequence of estimators or of arrays of shape (n_components, n_words)
        Two or more fits to the same documents, whose seeds differ.

    Returns
    -------
    consensus : :class:`~sklearn.utils.Bunch`
        With these attributes:

        components : ndarray of shape (n_components, n_words)
            Consensus topics, in the order of the first reference. A row sums to the topic's mean share of all tokens.
        topics : ndarray of shape (n_models, n_components)
            Number of the topic of each model that matches each consensus topic.
        likeness : ndarray of shape (n_models, n_components)
            Bhattacharyya coefficient of both: 1 for equal topics, 0 for topics without a common word.

    Raises
    ------
    ValueError
        For fewer than two models, models of different shapes, and topics that are negative or not finite.

    See Also
    --------
    fit_consensus : Fits models of several seeds, and two from their consensus.
    choose_n_topics : Compares numbers of topics.

    References
    ----------
    .. [1] Kotliar, D. et al. (2019). "Identifying gene expression programs of cell-type identity and cellular activity
       with single-cell RNA-Seq". eLife 8:e43803.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import consensus_topics
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> runs = [SparseSCVB0LDA(10, max_iter=10, random_state=seed).fit(X) for seed in range(3)]
    >>> consensus = consensus_topics(runs)
    >>> final = SparseSCVB0LDA(10, max_iter=10, random_state=0, init_params=consensus.components).fit(X)
    >>> consensus.likeness.shape
    (3, 10)
    """
    models = list(models)
    if len(models) < 2:
        raise ValueError(f"models has {len(models)} fits; give two or more, of different seeds")
    weights = [read_topics(model, f"models[{i}]") for i, model in enumerate(models)]
    return consensus_of(weights, max(map(n_guided, models)))


@plain_arguments
def match_topics(model: Any, others: Sequence[Any]) -> Any:
    """Match the topics of a model one to one with those of other fits.

    The sum of the Bhattacharyya coefficients is the largest possible one. Topics that a :class:`WordPrior` of ``model``
    fixes or seeds match those of the same number.

    Parameters
    ----------
    model : estimator or array of shape (n_components, n_words)
        Fitted topic model, or nonnegative weights.
    others : sequence of estimators or of arrays of shape (n_components, n_words)
        Fits to the same words with the same number of topics.

    Returns
    -------
    found : :class:`~sklearn.utils.Bunch`
        With these attributes:

        topics : ndarray of shape (n_others, n_components)
            Number of the topic of each other fit that matches each topic of the model.
        likeness : ndarray of shape (n_others, n_components)
            Bhattacharyya coefficient of both: 1 for equal topics, 0 for topics without a common word. Means over the
            fits tell how stable each topic is.

    Raises
    ------
    ValueError
        For topics of different shapes, and for weights that are negative or not finite.

    See Also
    --------
    sparsemix.metrics.align_topics : Matches topics by their total variation distances.
    consensus_topics : Averages matched topics.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.topics import match_topics
    >>> topics = np.array([[6.0, 3.0, 0.0], [0.0, 1.0, 8.0]])
    >>> found = match_topics(topics, [topics[::-1]])
    >>> found.topics, found.likeness.round(6)
    (array([[1, 0]]), array([[1., 1.]]))
    """
    weights, others = read_topics(model, "model"), list(others)
    shape = len(others), len(weights)
    ours, places, likeness = roots(weights), np.empty(shape, dtype=np.int64), np.empty(shape)
    for i, other in enumerate(others):
        theirs = read_topics(other, f"others[{i}]")
        if theirs.shape != weights.shape:
            raise ValueError(
                f"others[{i}] has topics of shape {theirs.shape}, model of {weights.shape}; give fits of one number of "
                "topics to the same words"
            )
        places[i], alike = match(ours, roots(theirs), n_guided(model))
        likeness[i] = np.minimum(alike, 1.0)
    return Bunch(topics=places, likeness=likeness)


def n_guided(model):
    """Number of the first topics of an estimator that a ``WordPrior`` fixes or seeds: they keep their numbers."""
    prior = getattr(model, "topic_word_prior", None)
    return prior._n_guided() if isinstance(prior, WordPrior) else 0


def consensus_of(weights, n_first=0):
    """The consensus of topics (K, V) of several fits; the ``n_first`` first ones keep their numbers."""
    for i, one in enumerate(weights):
        if one.shape != weights[0].shape:
            raise ValueError(
                f"models[{i}] has topics of shape {one.shape}, models[0] of {weights[0].shape}; give fits of one "
                "number of topics to the same words"
            )
    shares = [one.sum(axis=1, dtype=np.float64) for one in weights]
    topics = [one / total[:, None].astype(one.dtype) for one, total in zip(weights, shares, strict=True)]
    rooted = [roots(one) for one in topics]
    reference = topics[most_typical(rooted, n_first)]
    for _ in range(ROUNDS):
        ours = roots(reference)
        found = [match(ours, one, n_first) for one in rooted]
        places, likeness = (np.array(part) for part in zip(*found, strict=True))
        reference = np.zeros_like(reference)
        for one, place, alike in zip(topics, places, likeness, strict=True):
            reference += alike[:, None].astype(one.dtype) * one[place]
        reference /= reference.sum(axis=1, keepdims=True)
    mean_share = np.mean([total[place] / total.sum() for total, place in zip(shares, places, strict=True)], axis=0)
    reference *= mean_share[:, None].astype(reference.dtype)
    return Bunch(components=reference, topics=places, likeness=likeness)


def topic_stability(components, runs, n_first=0):
    """Mean likeness (K,) of each topic to its counterparts in the topics of several runs, from 0 to 1."""
    ours = roots(components)
    return np.mean([np.minimum(match(ours, roots(run), n_first)[1], 1.0) for run in runs], axis=0)


def roots(weights):
    """Unit vectors of the roots of word weights, of the most probable words of each row; CSR.

    The product of two is their Bhattacharyya coefficient.
    """
    n, v = weights.shape
    m = min(COMPARED, v)
    words = np.argpartition(-weights, m - 1, axis=1)[:, :m]
    values = np.sqrt(np.take_along_axis(weights, words, axis=1).astype(np.float64))
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
    return sparse.csr_array((values.ravel(), words.ravel(), np.arange(n + 1) * m), shape=(n, v))


def match(ours, theirs, n_first=0):
    """For each of our topics, given by ``roots``, one of theirs and the likeness, so that the sum is largest.

    The ``n_first`` first topics match those of the same number.
    """
    likeness = (ours @ theirs.T).toarray()
    gain, first = likeness.copy(), np.arange(n_first)
    gain[first, first] += len(gain)  # more than all others together
    _, place = linear_sum_assignment(-gain)
    return place, likeness[np.arange(len(place)), place]


def most_typical(rooted, n_first=0):
    """The fit whose topics are most like the matched topics of the other fits."""
    total = np.zeros(len(rooted))
    for i in range(len(rooted)):
        for j in range(i):
            alike = match(rooted[i], rooted[j], n_first)[1].sum()
            total[[i, j]] += alike
    return int(total.argmax())
