"""Metrics of topics without documents: top words, diversity, exclusivity, alignment."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import Array
from sparsemix.metrics._checks import check_n_top_words, check_share, read_topics

# A log ratio below this is round-off: the word is as frequent in the topic as in all.
EQUAL = 1e-6
TINY = np.finfo(np.float64).tiny


@plain_arguments
def top_words(topics: Any, n_top_words: int = 10) -> Array:
    """Most probable words of each topic.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights.
    n_top_words : int, default=10
        Words per topic.

    Returns
    -------
    words : ndarray of shape (n_topics, n_top_words), int64
        Columns of the vocabulary, most probable first; ties go to the lower index.

    Raises
    ------
    ValueError
        For weights that are negative or not finite, a topic without weight, and more top words than words.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import top_words
    >>> top_words(np.array([[1, 5, 3, 3], [2, 0, 2, 4]]), n_top_words=3)
    array([[1, 2, 3],
           [3, 0, 2]])
    """
    weights = read_topics(topics)
    n = check_n_top_words(n_top_words, weights.shape[1])
    return np.array([most_probable(row, n) for row in weights])


@plain_arguments
def distinctive_words(topics: Any, n_top_words: int = 10) -> Array:
    """Words by which each topic differs most from all topics together.

    Words are sorted by :math:`\\phi_{kv} \\log(\\phi_{kv} / p_v)`, their terms of the relative entropy of a topic to
    the mean :math:`p` of all topics. Use them to list topics: words that all topics share come late, and so do rare
    words.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights. Their row sums weight the topics in the mean.
    n_top_words : int, default=10
        Words per topic.

    Returns
    -------
    words : ndarray of shape (n_topics, n_top_words), int64
        Columns of the vocabulary, most distinctive first. Ties go to the more probable word, then to the lower index.
        Words without weight in the topic come last.

    Raises
    ------
    ValueError
        As :func:`top_words`.

    References
    ----------
    Kullback and Leibler (1951). "On Information and Sufficiency", The Annals of Mathematical Statistics 22.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import distinctive_words, top_words
    >>> topics = np.array([[6, 3, 1, 0], [6, 0, 1, 3]])
    >>> distinctive_words(topics, n_top_words=1), top_words(topics, n_top_words=1)
    (array([[1],
           [3]]), array([[0],
           [0]]))
    """
    weights = read_topics(topics)
    n, mean = check_n_top_words(n_top_words, weights.shape[1]), mean_topic(weights)
    return np.array([most_distinctive(row, mean, n) for row in weights])


def mean_topic(weights):
    """Probability of each word in all topics together, which their row sums weight."""
    largest = float(weights.max())
    mean = sum(row.astype(np.float64) / largest for row in weights)  # the sum of large weights overflows
    return mean / mean.sum()


def most_distinctive(row, mean, n):
    """Indices of the n words with the largest phi log(phi / p), p being the ``mean`` of all topics."""
    row = row / float(row.max())
    phi = row / row.sum(dtype=np.float64)
    terms = np.full(len(row), -np.inf)
    held = np.flatnonzero(phi)
    terms[held] = phi[held] * (np.log(phi[held]) - np.log(np.maximum(mean[held], TINY)))
    terms[held[np.abs(terms[held]) <= EQUAL * phi[held]]] = 0.0
    chosen = np.flatnonzero(terms >= np.partition(terms, len(row) - n)[len(row) - n])
    return chosen[np.lexsort((-phi[chosen], -terms[chosen]))][:n]


def most_probable(row, n):
    """Indices of the n largest values in descending order, without a full sort."""
    least = np.partition(row, len(row) - n)[len(row) - n]
    above = np.flatnonzero(row > least)
    chosen = np.sort(np.concatenate([above, np.flatnonzero(row == least)[: n - len(above)]]))
    return chosen[np.argsort(-row[chosen], kind="stable")]


@plain_arguments
def topic_diversity(topics: Any, n_top_words: int = 25) -> float:
    """Fraction of distinct words among the top words of all topics.

    Near 1, topics are about different things; near 0, they repeat each other. Read it together with
    :func:`topic_coherence`, because copies of one good topic are coherent.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights.
    n_top_words : int, default=25
        Words per topic.

    Returns
    -------
    diversity : float
        From 1 / n_topics to 1.

    Raises
    ------
    ValueError
        As :func:`top_words`.

    References
    ----------
    Dieng, Ruiz, Blei (2020). "Topic Modeling in Embedding Spaces", TACL 8.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import topic_diversity
    >>> topic_diversity(np.array([[3, 2, 1, 0], [3, 0, 1, 2]]), n_top_words=2)
    0.75
    """
    words = top_words(topics, n_top_words)
    return len(np.unique(words)) / words.size


@plain_arguments
def topic_exclusivity(topics: Any, n_top_words: int = 10, frequency_weight: float = 0.7) -> Array:
    """Mean FREX score of the top words of each topic: are they frequent in the topic and rare in other topics?

    The exclusivity of a word to topic k is :math:`\\phi_{kv} / \\sum_j \\phi_{jv}`, its frequency :math:`\\phi_{kv}`.
    Let F and E be their empirical distribution functions over the words of topic k: the fraction of words with a value
    that is not larger. The score is the harmonic mean :math:`1 / (w / F + (1 - w) / E)`.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights.
    n_top_words : int, default=10
        Words per topic.
    frequency_weight : float, default=0.7
        Weight w of frequency, from 0 to 1. Other programs weight exclusivity: ``exclusivity(frexw=0.7)`` of the R
        package stm, which sums over the top words, corresponds to ``frequency_weight=0.3``.

    Returns
    -------
    exclusivity : ndarray of shape (n_topics,)
        From 0 to 1; higher for topics whose top words are rare in other topics.

    Raises
    ------
    ValueError
        As :func:`top_words`, and for a weight that is not between 0 and 1.

    References
    ----------
    Bischof, Airoldi (2012). "Summarizing topical content with word frequency and exclusivity", ICML.
    Roberts et al. (2014). "Structural Topic Models for Open-Ended Survey Responses", AJPS 58.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import topic_exclusivity
    >>> topic_exclusivity(np.array([[6, 3, 1, 0], [0, 1, 3, 6]]), n_top_words=1)
    array([1., 1.])
    """
    weights = read_topics(topics)
    w = check_share(frequency_weight, "frequency_weight", ends=True)
    totals = weights.sum(axis=1, dtype=np.float64)
    everywhere = sum(row / total for row, total in zip(weights, totals, strict=True))
    out = np.empty(len(weights))
    for k, words in enumerate(top_words(weights, n_top_words)):
        frequency = weights[k] / totals[k]
        exclusivity = np.divide(frequency, everywhere, out=np.zeros_like(everywhere), where=everywhere > 0)
        out[k] = np.mean(1.0 / (w / rank_share(frequency, words) + (1.0 - w) / rank_share(exclusivity, words)))
    return out


def rank_share(values, chosen):
    """Empirical distribution function of all values, evaluated at the chosen entries."""
    return np.searchsorted(np.sort(values), values[chosen], side="right") / len(values)


def align_topics(topics: Any, true_topics: Any) -> tuple[Array, Array]:
    """Match topics to true topics with the least total distance.

    The distance of two topics is the total variation distance of their word distributions,
    :math:`\\frac12 \\sum_v |\\phi_{kv} - \\phi'_{jv}|`. Use it to measure how well a model recovers known topics, or
    to match the topics of two fits.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights.
    true_topics : estimator or array of shape (n_true, n_words)
        The topics to find, in the same form.

    Returns
    -------
    order : ndarray of shape (n_true,), int64
        The topic matched to each true topic; -1 for true topics without a match, if there are fewer topics.
    distances : ndarray of shape (min(n_topics, n_true),)
        Distances of the pairs, from 0 to 1, in the order of the true topics.

    Raises
    ------
    ValueError
        For weights that are negative or not finite, a topic without weight, and different numbers of words.

    References
    ----------
    Kuhn (1955). "The Hungarian Method for the Assignment Problem", Naval Research Logistics Quarterly 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import align_topics
    >>> order, distances = align_topics(np.array([[0, 0, 2], [3, 1, 0]]), np.array([[1, 0, 0], [0, 0, 1]]))
    >>> order, distances
    (array([1, 0]), array([0.25, 0.  ]))
    """
    found, true = read_topics(topics), read_topics(true_topics, "true_topics")
    if found.shape[1] != true.shape[1]:
        raise ValueError(
            f"topics have {found.shape[1]} words and true_topics {true.shape[1]}; give both over one vocabulary"
        )
    cost = 0.5 * cdist(normalized(true), normalized(found), "cityblock")
    rows, columns = linear_sum_assignment(cost)
    order = np.full(len(true), -1)
    order[rows] = columns
    return order, cost[rows, columns]


def normalized(weights):
    """Rows normalised to sum one, in float64."""
    return weights / weights.sum(axis=1, dtype=np.float64, keepdims=True)
