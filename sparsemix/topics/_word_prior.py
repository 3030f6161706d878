"""Priors of topics over words: arrays, and a readable way to make them from words of a vocabulary."""

import numbers
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator

from sparsemix._compat import Interval
from sparsemix._estimator.input.checks import LARGEST_COUNT, SMALLEST_COUNT, SMALLEST_PRIOR
from sparsemix._estimator.input.forms import numbers_of
from sparsemix._estimator.parameters import check_parameters
from sparsemix._models.topics.gibbs_sampler import DENSE_SUMS
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix._stats.prior_counts import PriorCounts
from sparsemix._warnings import warn_caller
from sparsemix.metrics._checks import read_topics

# Default prior of a word in a topic.
WORD_PRIOR = 0.01
LARGEST_PRIOR = LARGEST_COUNT
# Prior of a word that a topic excludes, in shares of that of other words; its counts are kept at zero.
EXCLUDED = 1e-4
# Occurrences of the corpus that the prior of a fixed topic is worth: its words hardly move.
FIXED = 1e3
# Largest part of the occurrences of a seed word that its prior is worth.
MOST = 0.5
# A larger share of entries is stored as a dense table.
DENSE = 0.1
# Words named in a warning.
NAMED = 10


class WordPrior(BaseEstimator):
    """Prior of topics over words, from words that belong to a topic, words that do not, and known topics.

    Give it to a topic estimator as ``topic_word_prior``. Seed words guide a topic: the prior is worth some occurrences
    of them in it, so data can still move a word to another topic. A prior acts in every step of a fit and of a stream,
    and no step forgets it.

    Fixed topics come first, then seeded topics in the order of ``seeds``, then free topics.

    Parameters
    ----------
    vocabulary : array-like of str of shape (n_words,), dict of str to int, or vectorizer, default=None
        The words of the columns, in order or with their numbers, or the fitted vectorizer that counted them (any object
        with ``get_feature_names_out``). None: words are given as numbers of columns.
    seeds : dict of str to list of words, default=None
        Words of each seeded topic, by the name of the topic. Words outside the vocabulary are left out with a warning.
    exclude : dict of str or int to list of words, default=None
        Words that a topic must not have, by the name of a seeded topic or the number of a topic; without effect where a
        word would have no topic, or a topic no word. Takes memory for one more table of topics by words, and time for
        it in every step.
    fixed : fitted topic model or array-like of shape (n_fixed, n_words), default=None
        Topics whose words stay as they are. Rows are normalised.
    strength : float, default=0.02
        Weight of the seeds of a topic: share of the mean size of a topic (tokens of the fit, divided by
        ``n_components``) that the prior adds, in equal parts for its seed words. A word gets at most half of its
        occurrences, so that rare words do not lead.
    word_prior : float, default=0.01
        Dirichlet prior of all other words.

    See Also
    --------
    SparseSCVB0LDA, SparseLDA, CollapsedLDA, GibbsLDA : Take it as ``topic_word_prior``.

    Notes
    -----
    The prior of one of s seed words in its topic is ``word_prior + min(strength * n / n_components / s, n_w / 2)``:
    the documents of ``fit`` have n tokens, n_w of them of this word. In a stream, the documents are those of the first
    block, scaled to ``total_samples`` if that is given. Asymmetric priors from seed words are due to [1]_ and [2]_.

    References
    ----------
    .. [1] Andrzejewski, D. and Zhu, X. (2009). "Latent Dirichlet Allocation with Topic-in-Set Knowledge". NAACL HLT
       Workshop on Semi-supervised Learning for NLP.
    .. [2] Jagarlamudi, J., Daume, H. and Udupa, R. (2012). "Incorporating Lexical Priors into Topic Models". EACL.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.topics import WordPrior
    >>> texts = ["the court and the judge", "a ball and a goal", "judge and court", "goal of the match"] * 20
    >>> vectorizer = CountVectorizer(stop_words="english")
    >>> X = vectorizer.fit_transform(texts)
    >>> prior = WordPrior(vectorizer, seeds={"sport": ["goal"], "justice": ["court"]})
    >>> model = SparseSCVB0LDA(2, topic_word_prior=prior, max_iter=5, random_state=0).fit(X)
    >>> model.topic_names_
    ['sport', 'justice']
    """

    _parameter_constraints = {  # noqa: RUF012
        "vocabulary": "no_validation",
        "seeds": [Mapping, None],
        "exclude": [Mapping, None],
        "fixed": "no_validation",
        "strength": [Interval(numbers.Real, 0.0, None, closed="left")],
        "word_prior": [Interval(numbers.Real, SMALLEST_PRIOR, LARGEST_COUNT, closed="both")],
    }

    def __init__(
        self,
        vocabulary: Any = None,
        *,
        seeds: Mapping[str, Sequence[Any]] | None = None,
        exclude: Mapping[Any, Sequence[Any]] | None = None,
        fixed: Any = None,
        strength: float = 0.02,
        word_prior: float = WORD_PRIOR,
    ) -> None:
        self.vocabulary = vocabulary
        self.seeds = seeds
        self.exclude = exclude
        self.fixed = fixed
        self.strength = strength
        self.word_prior = word_prior

    def _known_topics(self):
        """Word probabilities of the fixed topics, (n_fixed, n_words)."""
        if self.fixed is None:
            return np.empty((0, 0))
        topics = read_topics(self.fixed, "fixed").astype(np.float64)
        return topics / topics.sum(axis=1, keepdims=True)

    def _names(self, n_components):
        """Name of each topic; empty for those without seeds."""
        seeds = [] if self.seeds is None else [str(name) for name in self.seeds]
        names = [""] * len(self._known_topics()) + seeds
        return (names + [""] * n_components)[:n_components]

    def _n_guided(self):
        """Number of fixed and seeded topics."""
        return len(self._known_topics()) + len(self.seeds or ())

    def _base(self):
        """The least prior of a word in a topic."""
        check_parameters(self)
        return float(self.word_prior * (EXCLUDED if self.exclude else 1.0))

    def _counts(self, n_components, totals):
        """Prior above ``_base``, (V, K), from the occurrences of the words."""
        places, known, missing = self._places(len(totals)), self._known_topics(), []
        seeds = dict(enumerate((self.seeds or {}).items(), len(known)))
        if len(known) + len(seeds) > n_components:
            raise ValueError(
                f"topic_word_prior has {len(known)} fixed and {len(seeds)} seeded topics, and n_components is "
                f"{n_components}; raise n_components"
            )
        if len(known) and known.shape[1] != len(totals):
            raise ValueError(f"fixed has {known.shape[1]} words, the data {len(totals)}; give topics of these words")
        shape, mean_size = (len(totals), n_components), totals.sum() / n_components
        out = np.full(shape, self.word_prior - self._base()) if self.exclude else sparse.lil_array(shape)
        for k, topic in enumerate(known):
            words = np.flatnonzero(topic)
            out[words, [k]] += FIXED * totals.sum() * topic[words]
        for k, (name, words) in seeds.items():
            found = columns(words, places, f"seeds[{name!r}]", missing)
            out[found, [k]] += np.minimum(self.strength * mean_size / len(found), MOST * totals[found])
        numbers = {name: k for k, (name, _) in seeds.items()} | {k: k for k in range(n_components)}
        for topic, words in (self.exclude or {}).items():
            if topic not in numbers:
                raise ValueError(
                    f"exclude names the topic {topic!r}; give the name of a seeded topic, or a number below "
                    "n_components"
                )
            out[columns(words, places, f"exclude[{topic!r}]", missing), numbers[topic]] = 0.0
        warn_of_missing(missing, places)
        return out

    def _places(self, n_words):
        """Column of each word."""
        words = self.vocabulary
        if words is None:
            return {v: v for v in range(n_words)}
        if hasattr(words, "get_feature_names_out"):
            words = words.get_feature_names_out()
        places = words if isinstance(words, Mapping) else {word: v for v, word in enumerate(words)}
        if len(words) != n_words or sorted(places.values()) != list(range(n_words)):
            raise ValueError(
                f"vocabulary of topic_word_prior has {len(words)} words, {len(places)} of them different, and the data "
                f"{n_words} columns; give one word for each column"
            )
        return places

    def __sklearn_clone__(self):
        """A copy with the same vocabulary and fixed topics: a clone of these would lack what it has learned."""
        return copy(self)


def columns(words, places, name, missing):
    """Columns of words; those that are not in the vocabulary are added to ``missing``."""
    if isinstance(words, str):
        raise ValueError(f"{name} of topic_word_prior is the text {words!r}; give a list of words")
    found = [places[word] for word in words if word in places]
    missing += [word for word in words if word not in places]
    if not found:
        raise ValueError(
            f"no word of {name} of topic_word_prior is in the vocabulary; give at least one that is"
            f"{other_case(words, places)}"
        )
    return np.unique(found)


def other_case(words, places):
    """A hint at words of the vocabulary that differ from some missing words in capitals only; "" if there are none."""
    known = {word.lower(): word for word in places if isinstance(word, str)}
    found = [known[word.lower()] for word in words if isinstance(word, str) and word.lower() in known]
    return f"; capitals count, and the vocabulary has {', '.join(map(repr, found[:NAMED]))}" if found else ""


def warn_of_missing(words, places):
    """Name words outside the vocabulary."""
    if words := list(dict.fromkeys(words)):
        more = "" if len(words) <= NAMED else f" and {len(words) - NAMED} more"
        warn_caller(
            f"{', '.join(map(repr, words[:NAMED]))}{more} of topic_word_prior are not in the vocabulary and have no "
            f"effect{other_case(words, places)}",
        )


def check_range(prior, name="topic_word_prior"):
    """Raise unless all of a prior is within the limits."""
    least, most = np.min(prior), np.max(prior)
    if not SMALLEST_PRIOR <= least <= most <= LARGEST_PRIOR:
        bad = most if least >= SMALLEST_PRIOR else least
        raise ValueError(f"{name} is {bad}; it must be from {SMALLEST_PRIOR:g} to {LARGEST_PRIOR:g}")


def is_number(prior):
    """Whether a ``topic_word_prior`` is one number for all words and topics, given, learned or the default."""
    return prior is None or isinstance(prior, (str, int, float))


def prior_of_words(prior):
    """The least prior of a word in a topic: a checked number; None and "learned" mean the default."""
    if isinstance(prior, WordPrior):
        return prior._base()
    if prior is None or isinstance(prior, str) or sparse.issparse(prior):  # sparse numbers are added to the default
        return WORD_PRIOR
    prior = numbers_of(prior, "topic_word_prior")
    check_range(prior)
    return float(np.min(prior))


def prior_counts(prior, n_components, totals, dtype):
    """``PriorCounts`` of what a prior that is no ``is_number`` has above ``prior_of_words``; None if that is nothing.

    Parameters
    ----------
    prior : object
        The parameter.
    n_components : int
    totals : ndarray of shape (V,)
        Occurrences of each word in the data.
    dtype : dtype
        Type of the counts by word.
    """
    names = None
    if isinstance(prior, WordPrior):
        table, names = prior._counts(n_components, totals), prior._names(n_components)
    else:
        table = by_topic(prior, (n_components, len(totals)))
    n_entries = table.nnz if sparse.issparse(table) else np.count_nonzero(table)
    if n_entries == 0 and names is None:
        return None
    if n_entries <= DENSE * np.prod(table.shape, dtype=np.float64):
        table = sparse.csr_array(table, dtype=dtype)
        table.sort_indices()
        return PriorCounts(table, names)
    if n_components > DENSE_SUMS:
        raise ValueError(
            f"topic_word_prior differs in most of its entries, which more than {DENSE_SUMS} topics do not support; "
            "give a number, or seeds without exclude"
        )
    table = table.toarray() if sparse.issparse(table) else table
    excludes = isinstance(prior, WordPrior) and bool(prior.exclude)
    return PriorCounts(np.ascontiguousarray(table, dtype=dtype), names, excludes)


def by_topic(prior, shape):
    """A checked array of topics by words, above its least value, or above the default if sparse; (V, K)."""
    table = numbers_of(prior, "topic_word_prior")
    if table.shape != shape:
        raise ValueError(f"topic_word_prior has shape {table.shape}, expected {shape}: topics by words")
    if sparse.issparse(table):
        check_range(np.append(table.data, 0.0) + WORD_PRIOR)
        return table.T
    check_range(table)
    return table.T.astype(np.float64) - np.min(table)


def holding(stats, prior):
    """Statistics of a start that hold a prior; what they have of excluded words is left out, because it would grow."""
    if prior.excludes:
        counts = stats["word_topic"].toarray() if sparse.issparse(stats["word_topic"]) else stats["word_topic"]
        if "offset" in stats:
            counts += counts.dtype.type(stats["offset"])
            stats["offset"] = 0.0
        words, before = np.unique(prior.excluded[0]), counts.sum(axis=1, dtype=np.float64)
        counts[prior.excluded] = 0.0
        left = np.maximum(counts[words].sum(axis=1, dtype=np.float64), SMALLEST_COUNT)
        counts[words] *= (before[words] / left)[:, None].astype(counts.dtype)  # a word keeps its total
        stats.replace("word_topic", counts)
        stats["count"] = counts.sum(axis=0, dtype=np.float64)
    return stats.hold(prior)


def aligned(stats, prior):
    """Statistics of a start, its topics in the order of a prior: each gets the one that has most of its words.

    Its words are those whose prior is above the usual one, which is the median.
    """
    counts = stats["word_topic"]
    counts = counts.tocsr() if isinstance(counts, PackedCounts) else counts
    table = prior.table if sparse.issparse(prior.table) else np.maximum(prior.table - np.median(prior.table), 0.0)
    totals = np.asarray(table.sum(axis=0, dtype=np.float64)).ravel()
    per_word = np.maximum(np.asarray(counts.sum(axis=1, dtype=np.float64)).ravel(), 1e-300)
    with_prior = np.flatnonzero(totals > 0.0)
    likeness = (sparse.diags_array(1.0 / per_word) @ table).T[with_prior] @ counts
    likeness = likeness.toarray() if sparse.issparse(likeness) else likeness
    places, found = linear_sum_assignment(-likeness / totals[with_prior, None])
    order = np.full(len(totals), -1)
    order[with_prior[places]] = found
    order[order < 0] = np.setdiff1d(np.arange(len(order)), found)
    return stats.take(order)
