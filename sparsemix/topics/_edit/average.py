"""Fits of several seeds, and a model of the mean statistics of fits that start from their consensus."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch

from sparsemix._estimator.base import seeded
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import RowsLike
from sparsemix.topics._edit.consensus import consensus_of, n_guided, topic_stability
from sparsemix.topics._edit.edited import check_topic_estimator, check_topic_model, combined, edited, one_hot
from sparsemix.topics._edit.join import averaged, without_samples

# What a fit knows of its documents, which is larger than the topics.
OF_DOCUMENTS = ("_first_documents", "_row_state", "_doc_counts")
# Fits from the consensus, whose mean is the result. A third one gains a fifth to a third of what the second one gains.
LAST = 2


@plain_arguments
def fit_consensus(estimator: Any, X: RowsLike, n_runs: int = 10, **fit_params: Any) -> Any:
    """Fit a topic model from the consensus of several seeds, and measure how stable each topic is.

    Clones of the estimator are fitted with different seeds. Two more fits start from their consensus
    (:func:`consensus_topics`), so that their topics have the same numbers, and the result is the mean of these two.
    Topics of low stability are chance: another seed has other ones.

    Parameters
    ----------
    estimator : SparseSCVB0LDA, SparseLDA, CollapsedLDA or GibbsLDA
        It is cloned. Seeds of all fits are drawn from its ``random_state``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts.
    n_runs : int, default=10
        Number of fits to match, at least two.
    fit_params : dict
        Further arguments of each ``fit``, for example ``validation_data``.

    Returns
    -------
    consensus : :class:`~sklearn.utils.Bunch`
        With these attributes:

        estimator : estimator
            A fitted model, whose priors and statistics are the means of the last two fits. Its ``init_params`` is that
            of the given estimator. ``history_``, ``n_iter_`` and ``stop_reason_`` are those of the first of the two. It
            has no ``doc_topic_distribution_``, and of samples of GibbsLDA the mean only.
        stability : ndarray of shape (n_components,)
            Of each topic of ``estimator``: mean Bhattacharyya coefficient of it and its counterpart in each of the
            ``n_runs`` fits, from 0 to 1.
        components : ndarray of shape (n_components, n_features)
            Consensus topics, from which the last fits start.

    Raises
    ------
    ValueError
        For fewer than two runs, and for errors of ``fit``.
    TypeError
        For anything but topic models of documents.

    See Also
    --------
    consensus_topics : Averages topics of models that are already fitted.

    References
    ----------
    Kotliar, D. et al. (2019). "Identifying gene expression programs of cell-type identity and cellular activity with
    single-cell RNA-Seq". eLife 8:e43803.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import fit_consensus
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> consensus = fit_consensus(SparseSCVB0LDA(10, max_iter=10, random_state=0), X, n_runs=3)
    >>> consensus.estimator.components_.shape, consensus.stability.shape
    ((10, 25), (10,))
    """
    check_topic_estimator(estimator, "estimator")
    if not isinstance(n_runs, int) or n_runs < 2:
        raise ValueError(f"n_runs is {n_runs!r}; give the number of fits to match, two or more")
    seeds = seeded(estimator.random_state).integers(2**31 - 1, size=n_runs + LAST).tolist()

    def fitted(seed, start):
        return clone(estimator).set_params(random_state=seed, init_params=start).fit(X, **fit_params)

    # of each run the topics remain, not what it knows of documents
    runs = [np.array(fitted(seed, estimator.init_params).components_) for seed in seeds[:n_runs]]
    n_first = n_guided(estimator)
    components = consensus_of(runs, n_first).components
    final = mean_of_fits([without_documents(fitted(seed, components)) for seed in seeds[n_runs:]])
    final.set_params(init_params=estimator.init_params)
    return Bunch(estimator=final, stability=topic_stability(final.components_, runs, n_first), components=components)


def checked_fits(models):
    """Fitted models of one class and shape, as a list."""
    models = list(models)
    if not models:
        raise ValueError("models is empty; give one or more fits")
    for i, model in enumerate(models):
        check_topic_model(model, f"models[{i}]")
        if type(model) is not type(models[0]):
            kinds = f"models[{i}] is a {type(model).__name__}, models[0] a {type(models[0]).__name__}"
            raise TypeError(f"{kinds}; give fits of one class")
        if model.components_.shape != models[0].components_.shape:
            raise ValueError(
                f"models[{i}] has topics of shape {model.components_.shape}, models[0] of "
                f"{models[0].components_.shape}; give fits of one number of topics to the same words"
            )
    return models


def without_documents(model):
    """A model, without what it knows of its documents, which can be larger than the topics."""
    for name in OF_DOCUMENTS:
        vars(model).pop(name, None)
    return model


def mean_of_fits(models: Sequence[Any]) -> Any:
    """A model of the mean statistics of fits whose topics have the same numbers, as fits from one consensus have.

    Parameters
    ----------
    models : sequence of SparseSCVB0LDA, SparseLDA, CollapsedLDA or GibbsLDA
        Fitted estimators of one class, with equal numbers of topics and words. They do not change.

    Returns
    -------
    model : estimator
        A fitted model, whose priors and statistics are means. ``history_``, ``n_iter_`` and ``stop_reason_`` are those
        of the first one. It has no ``doc_topic_distribution_``, and of samples of GibbsLDA the mean only.

    Raises
    ------
    ValueError
        For no model, and for different shapes.
    TypeError
        For anything but topic models of documents of one class.

    See Also
    --------
    fit_consensus : Makes the fits.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import consensus_topics, mean_of_fits
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> runs = [SparseSCVB0LDA(10, max_iter=5, random_state=seed).fit(X) for seed in range(3)]
    >>> start = consensus_topics(runs).components
    >>> mean = mean_of_fits([run.set_params(init_params=start).fit(X) for run in runs[:2]])
    >>> mean.components_.shape
    (10, 25)
    """
    models = [without_documents(copy(model)) for model in checked_fits(models)]
    (first, *_), share = models, 1.0 / len(models)

    def change(_):
        n_components = first._fitted.model.n_components
        same = one_hot(np.arange(n_components), n_components)
        (stats, priors), *others = (combined(model._fitted, same) for model in models)
        stats.scale(share)
        for i, (more, more_priors) in enumerate(others, 2):
            stats.add(more, share)
            priors = averaged(priors, more_priors, 1.0 / i)
        return stats, priors

    mean = edited(without_samples(first), change)
    names = {"doc_topic_prior", "topic_word_prior"} & set(first.get_params())
    mean.set_params(**{name: getattr(first, name) for name in names})
    mean.history_ = first.history_
    return mean
