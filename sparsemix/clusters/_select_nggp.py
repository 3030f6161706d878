"""Hyperparameters of a streaming mixture from the first rows of its stream."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from sparsemix._estimator.parameters import plain_arguments
from sparsemix.clusters._parameters import check_data, weighted_rows


@plain_arguments
def select_nggp_hyperparameters(estimator, X, param_grid, *, train_size=0.8, sample_weight=None):
    """Choose parameters of a StreamingNGGPMixture on a prefix of its stream.

    One pass of assumed density filtering over the first part of ``X`` for each point of the grid, scored on the rest
    ([1]_, supplement 4.1); then the stream goes on with the parameters that scored best. Rows stay in their order,
    and nothing is fitted twice: this costs a pass over ``X`` a point.

    Parameters
    ----------
    estimator : StreamingNGGPMixture
        Holds the parameters that are not in the grid; it is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The first rows of the stream: some hundred at least, since differences of scores are small.
    param_grid : dict or list of dict
        Values to try for each parameter, as for ``GridSearchCV``: ``{"concentration": [1, 10, 100],
        "dirichlet_prior": [0.05, 0.1, 0.2]}``. The tilt matters through concentration * tilt ** discount alone.
    train_size : float in (0, 1), default=0.8
        Share of the rows that is learned from.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row in learning and in the score.

    Returns
    -------
    best : StreamingNGGPMixture
        Unfitted, with the parameters that scored best; of equals the first of the grid.
    results : list of dict
        For each point of the grid "params", "score" (mean log predictive density of the held-out rows) and
        "n_clusters".

    Raises
    ------
    ValueError
        When one of the two parts has no rows, for bad rows, and for parameters that the estimator does not have.

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
    >>> best, results = select_nggp_hyperparameters(
    ...     StreamingNGGPMixture(), X, {"dirichlet_prior": [0.1, 10.0]}
    ... )
    >>> best.dirichlet_prior
    0.1
    """
    if not 0.0 < train_size < 1.0:
        raise ValueError(f"train_size is {train_size}; it must be between 0 and 1")
    X, counts = check_data(clone(estimator), X, reset=True)
    rows, _ = weighted_rows(X, counts, sample_weight)
    n_train = round(train_size * len(rows))
    if not 0 < n_train < len(rows):
        raise ValueError(f"X has {len(rows)} rows, of which train_size={train_size} leaves one part empty; give more")
    X, weight = rows.X, rows.sample_weight
    results = []
    for params in ParameterGrid(param_grid):
        trial = clone(estimator).set_params(**params)
        trial._counts = counts  # all trials read the rows alike, however many each sees
        trial.partial_fit(X[:n_train], sample_weight=None if weight is None else weight[:n_train])
        score = trial.score(X[n_train:], sample_weight=None if weight is None else weight[n_train:])
        results.append({"params": params, "score": score, "n_clusters": trial.n_clusters_})
    best = results[int(np.argmax([result["score"] for result in results]))]
    return clone(estimator).set_params(**best["params"]), results
