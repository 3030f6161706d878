"""One topic model from two that have different vocabularies."""

import operator
from copy import copy
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import ArrayLike
from sparsemix.topics._edit.consensus import roots
from sparsemix.topics._edit.edited import check_topic_model, combined, counts_by_topic, edited, one_hot


@plain_arguments
def join_models(a: Any, b: Any, vocabulary_a: ArrayLike | None = None, vocabulary_b: ArrayLike | None = None) -> Any:
    """Join two fitted topic models of different documents and vocabularies, without their documents.

    The counts of both are added up as if one fit had seen all documents. A topic of ``a`` and one of ``b`` become one
    topic if each is most like the other among all topics of both models, by the Bhattacharyya coefficient of their
    counts. So no threshold is needed: the topics of one model show how alike different topics are. All other topics of
    ``b`` follow those of ``a``. Document priors are averaged by numbers of documents; a topic of one model has none in
    the documents of the other.

    Parameters
    ----------
    a, b : SparseSCVB0LDA, SparseLDA, CollapsedLDA or GibbsLDA
        Fitted models of one class, of documents that have no document in common; they do not change. The result has the
        parameters of ``a``.
    vocabulary_a, vocabulary_b : array-like of shape (n_features,), default=None
        Words of the columns of each model. None takes ``feature_names_in_``.

    Returns
    -------
    joined : :class:`~sklearn.utils.Bunch`
        With these attributes:

        model : estimator
            A fitted model of the same class, as from ``merge_topics``. It has no ``doc_topic_distribution_``. Of
            samples of GibbsLDA it has the mean only.
        vocabulary : ndarray of shape (n_words,)
            The words of ``a``, then those that only ``b`` has.
        topics : ndarray of shape (n_components_b,)
            Number of the topic of ``model`` that contains each topic of ``b``; those of ``a`` keep their numbers.
        likeness : ndarray of shape (n_components_b,)
            Largest likeness of each topic of ``b`` to a topic of ``a``, from 0 to 1.

    Raises
    ------
    ValueError
        For vocabularies that are missing, repeat a word or have another length, and for models of different classes.
    TypeError, NotFittedError
        For anything but fitted topic models of documents.

    See Also
    --------
    merge_topics : Adds up topics of one model.
    consensus_topics : Averages fits to the same documents.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import join_models
    >>> X, words = make_bars(n_samples=500, random_state=0)[0], [f"pixel {v}" for v in range(25)]
    >>> a, b = (SparseSCVB0LDA(10, max_iter=10, random_state=0).fit(half) for half in (X[:250], X[250:]))
    >>> join_models(a, b, words, words).vocabulary.shape
    (25,)
    """
    check_topic_model(a, "a")
    check_topic_model(b, "b")
    names_a, names_b = words_of(a, vocabulary_a, "a"), words_of(b, vocabulary_b, "b")
    if type(a) is not type(b):
        raise ValueError(f"a is a {type(a).__name__} and b a {type(b).__name__}; fit both models by one class")
    place = {word: v for v, word in enumerate(names_a)}
    places_b = np.array([place.setdefault(word, len(place)) for word in names_b])
    words_a, words_b = (one_hot(at, len(place)) for at in (np.arange(len(names_a)), places_b))
    counts = [counts_by_topic(one._fitted.stats) @ words for one, words in ((a, words_a), (b, words_b))]
    pairs, likeness = alike(*(roots(each.toarray()) for each in counts))
    n_a, alone = counts[0].shape[0], pairs < 0
    n_topics = n_a + alone.sum()
    pairs[alone] = np.arange(n_a, n_topics)
    columns_a, columns_b = one_hot(np.arange(n_a), n_topics), one_hot(pairs, n_topics)

    def change(fitted):
        stats, priors = combined(fitted, columns_a, words_a)
        others, other_priors = combined(b._fitted, columns_b, words_b)
        n_documents = [float(one["documents" if "documents" in one else "mass"]) for one in (stats, others)]
        given = [one.prior for one in (stats, others) if one.prior is not None]
        stats = stats.hold(None).add(others.hold(None))
        if given:
            stats.hold(reduce(operator.add, given))
        return stats, averaged(priors, other_priors, n_documents[1] / sum(n_documents))

    model = named(edited(without_samples(a), change), a, b, list(place))
    return Bunch(model=model, vocabulary=np.array(list(place), dtype=object), topics=pairs, likeness=likeness)


def words_of(model, vocabulary, name):
    """Words of the columns of a model."""
    words = getattr(model, "feature_names_in_", None) if vocabulary is None else vocabulary
    if words is None:
        raise ValueError(
            f"vocabulary_{name} is missing, and {name} has no feature_names_in_; give the words of its columns"
        )
    words = np.asarray(words, dtype=object).tolist()
    if len(words) != model.n_features_in_ or len(set(words)) < len(words):
        raise ValueError(
            f"vocabulary_{name} has {len(words)} words, {len(set(words))} of them different; give one word for each of "
            f"the {model.n_features_in_} columns of {name}"
        )
    return words


def alike(ours, theirs):
    """Topic of ours that each of theirs joins, or -1, and its largest likeness; both given by ``roots``."""
    n, both = ours.shape[0], np.vstack([ours.toarray(), theirs.toarray()])
    likeness = both @ both.T
    np.fill_diagonal(likeness, -1.0)
    nearest = likeness.argmax(axis=1)
    found, at = nearest[n:], np.arange(n, len(both))
    joins = (found < n) & (nearest[found] == at) & (likeness[at, found] > 0.0)
    return np.where(joins, found, -1), likeness[n:, :n].max(axis=1)


def averaged(ours, theirs, share):
    """Priors of both models, those of the second with weight ``share``."""

    def mean(one, other):
        return tuple(map(mean, one, other)) if isinstance(one, tuple) else (1.0 - share) * one + share * other

    return {name: mean(value, theirs[name]) for name, value in ours.items()}


def without_samples(model):
    """A copy whose predictions average no samples, because samples of two chains have nothing in common."""
    out = copy(model)
    if "_samples" in vars(out):
        out._samples, out.n_samples_ = [], 0
    return out


def named(model, a, b, words):
    """The joined model with the names and numbers of its columns, and the number of its documents."""
    model.n_features_in_ = len(words)
    if hasattr(a, "feature_names_in_"):
        model.feature_names_in_ = np.asarray(words, dtype=object)
    if hasattr(model, "n_samples_seen_"):
        model.n_samples_seen_ = a.n_samples_seen_ + b.n_samples_seen_
    return model
