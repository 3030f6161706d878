"""Selection of the hyperparameters of a streaming mixture on the first rows of its stream."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Bunch

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import RowsLike, Weights
from sparsemix.clusters._parameters import check_data, weighted_rows


@plain_arguments
def select_nggp_hyperparameters(
    estimator: Any, X: RowsLike, candidates: Any, *, train_size: float = 0.8, sample_weight: Weights = None
) -> Any:
    """Compare parameters of a StreamingNGGPMixture on the first rows of its stream.

    For each candidate, a copy of the estimator learns the first part of ``X`` in one epoch of assumed density
    filtering. Its score is that of the remaining rows ([1]_, supplement 4.1). Rows stay in order. The cost is one epoch
    over ``X`` for each candidate.

    Parameters
    ----------
    estimator : StreamingNGGPMixture
        Estimator with the parameters that do not vary. It is cloned.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The first rows of the stream. Give at least some hundreds, since scores differ little.
    candidates : dict or list of dict
        Values to try for each parameter, as the ``param_grid`` of ``GridSearchCV``: ``{"concentration": [1, 10, 100],
        "word_prior": [0.05, 0.1, 0.2]}``. Only concentration * tilt ** discount matters, so do not vary both.
    train_size : float in (0, 1), default=0.8
        Share of the rows for learning.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row in learning and in the score.

    Returns
    -------
    choice : :class:`~sklearn.utils.Bunch`
        With these attributes:

        results : list of dict
            For each candidate "params", "score" (mean log predictive density of the held-out rows) and "n_clusters".
            ``pandas.DataFrame(choice.results)`` shows them.
        best_by_score : dict
            The parameters with the largest score; the first of them in a tie.
            ``StreamingNGGPMixture().set_params(**choice.best_by_score)`` uses them.

    Raises
    ------
    ValueError
        If one of the two parts has no rows, for invalid rows, and for unknown parameters.

    See Also
    --------
    sparsemix.topics.choose_n_topics : Compares numbers of topics.

    References
    ----------
    .. [1] Tank, A., Foti, N. J. and Fox, E. B., "Streaming Variational Inference for Bayesian Nonparametric Mixture
       Models", AISTATS 2015.

    Examples
    --------
    >>> from sparsemix import StreamingNGGPMixture
    >>> from sparsemix.datasets import make_bars_mixture
    >>> from sparsemix.clusters import select_nggp_hyperparameters
    >>> X = make_bars_mixture(random_state=0)[0]
    >>> choice = select_nggp_hyperparameters(StreamingNGGPMixture(), X, {"word_prior": [0.1, 10.0]})
    >>> choice.best_by_score
    {'word_prior': 0.1}
    """
    if not 0.0 < train_size < 1.0:
        raise ValueError(f"train_size is {train_size}; it must be between 0 and 1")
    X, counts = check_data(clone(estimator), X, reset=True)
    rows, _ = weighted_rows(X, counts, sample_weight)
    n_train = round(train_size * len(rows))
    if not 0 < n_train < len(rows):
        raise ValueError(f"train_size={train_size} leaves one part of the {len(rows)} rows of X empty; give more rows")
    X, weight = rows.X, rows.sample_weight
    results = []
    for params in ParameterGrid(candidates):
        trial = clone(estimator).set_params(**params)
        trial._counts = counts  # all trials must treat the rows as the same kind of data
        trial.partial_fit(X[:n_train], sample_weight=None if weight is None else weight[:n_train])
        score = trial.score(X[n_train:], sample_weight=None if weight is None else weight[n_train:])
        results.append({"params": params, "score": score, "n_clusters": trial.n_clusters_})
    best = results[int(np.argmax([result["score"] for result in results]))]
    return Bunch(results=results, best_by_score=best["params"])
