"""Consensus of fits that differ by their seeds: topics that several of them share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import Bunch

from sparsemix._estimator.base import seeded
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import RowsLike
from sparsemix.metrics._checks import read_topics

# Words of each topic that are compared, most probable first.
COMPARED = 1000
# Rounds of matching and averaging: more change nothing.
ROUNDS = 3


@plain_arguments
def consensus_topics(models: Sequence[Any]) -> Any:
    """Average the topics of several fits, so that conclusions depend less on the seed.

    Topics of all fits are matched one to one with reference topics, and the matched topics are averaged with their
    likeness as weights; then the averages are the reference. The first reference is the fit that is most like the
    others. This is consensus clustering of topics as in [1]_, with one topic of each fit in every cluster.

    :func:`fit_consensus` makes the fits, and one more that starts from ``components``. More of its topics return in a
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
    fit_consensus : Fits models of several seeds, and a last one from their consensus.
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
    for i, one in enumerate(weights):
        if one.shape != weights[0].shape:
            raise ValueError(
                f"models[{i}] has topics of shape {one.shape}, models[0] of {weights[0].shape}; give fits of one "
                "number of topics to the same words"
            )
    shares = [one.sum(axis=1, dtype=np.float64) for one in weights]
    topics = [one / total[:, None].astype(one.dtype) for one, total in zip(weights, shares, strict=True)]
    rooted = [roots(one) for one in topics]
    reference = topics[most_typical(rooted)]
    for _ in range(ROUNDS):
        ours = roots(reference)
        found = [match(ours, one) for one in rooted]
        places, likeness = (np.array(part) for part in zip(*found, strict=True))
        reference = np.zeros_like(reference)
        for one, place, alike in zip(topics, places, likeness, strict=True):
            reference += alike[:, None].astype(one.dtype) * one[place]
        reference /= reference.sum(axis=1, keepdims=True)
    mean_share = np.mean([total[place] / total.sum() for total, place in zip(shares, places, strict=True)], axis=0)
    reference *= mean_share[:, None].astype(reference.dtype)
    return Bunch(components=reference, topics=places, likeness=likeness)


@plain_arguments
def fit_consensus(estimator: Any, X: RowsLike, n_runs: int = 10, **fit_params: Any) -> Any:
    """Fit a topic model from the consensus of several seeds, and measure how stable each topic is.

    Clones of the estimator are fitted with different seeds. One more fit starts from their consensus
    (:func:`consensus_topics`). Topics of low stability are chance: another seed has other ones.

    Parameters
    ----------
    estimator : estimator
        Topic model with ``n_components``, ``random_state`` and an ``init_params`` that takes topics, for example
        :class:`SparseSCVB0LDA`. It is cloned. Seeds of all fits are drawn from its ``random_state``.
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
            The last fit. Its ``init_params`` is that of the given estimator, so that it has no second table of topics.
        stability : ndarray of shape (n_components,)
            Of each topic of the last fit: mean Bhattacharyya coefficient of it and its counterpart in each of the
            ``n_runs`` fits, from 0 to 1.
        components : ndarray of shape (n_components, n_features)
            Consensus topics, from which the last fit starts.

    Raises
    ------
    ValueError
        For an estimator without ``init_params``, fewer than two runs, and for errors of ``fit``.

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
    if "init_params" not in estimator.get_params():
        raise ValueError(
            f"estimator is a {type(estimator).__name__} without the parameter init_params, from which the last fit "
            "starts; give a SparseSCVB0LDA, or fitted models to consensus_topics"
        )
    if not isinstance(n_runs, int) or n_runs < 2:
        raise ValueError(f"n_runs is {n_runs!r}; give the number of fits to match, two or more")
    seeds = seeded(estimator.random_state).integers(2**31 - 1, size=n_runs + 1).tolist()
    # of each run the topics remain, not what it knows of documents
    runs = [np.array(clone(estimator).set_params(random_state=seed).fit(X, **fit_params).components_)
            for seed in seeds[:-1]]  # fmt: skip
    components = consensus_topics(runs).components
    final = clone(estimator).set_params(random_state=seeds[-1], init_params=components).fit(X, **fit_params)
    final.set_params(init_params=estimator.init_params)
    return Bunch(estimator=final, stability=topic_stability(final.components_, runs), components=components)


def topic_stability(components, runs):
    """Mean likeness (K,) of each topic to its counterparts in the topics of several runs, from 0 to 1."""
    ours = roots(components)
    return np.mean([np.minimum(match(ours, roots(run))[1], 1.0) for run in runs], axis=0)


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


def match(ours, theirs):
    """For each of our topics, given by ``roots``, one of theirs and the likeness, so that the sum is largest."""
    likeness = (ours @ theirs.T).toarray()
    _, place = linear_sum_assignment(-likeness)
    return place, likeness[np.arange(len(place)), place]


def most_typical(rooted):
    """The fit whose topics are most like the matched topics of the other fits."""
    total = np.zeros(len(rooted))
    for i in range(len(rooted)):
        for j in range(i):
            alike = match(rooted[i], rooted[j])[1].sum()
            total[[i, j]] += alike
    return int(total.argmax())
