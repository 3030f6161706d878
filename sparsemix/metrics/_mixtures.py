"""Held-out likelihood of Gaussian mixtures."""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from sparsemix._engine.blocks import spans
from sparsemix._estimator.input.forms import floats_of
from sparsemix._estimator.parameters import plain_arguments


def mixture_log_likelihood(X, weights, means, covariances, *, basis=None):
    """Mean log density of rows under a mixture of Gaussians with full covariances.

    Use it to compare mixtures of different classes on held-out rows. If the data lie in a subspace, pass a ``basis``
    of it: the density along a direction without variance depends only on a prior or a jitter.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    weights : ndarray of shape (n_components,)
        Mixture weights; components of weight zero are skipped.
    means : ndarray of shape (n_components, n_features)
        Means.
    covariances : ndarray of shape (n_components, n_features, n_features)
        Covariances.
    basis : ndarray of shape (n_features, n_directions), default=None
        Orthonormal columns; rows and mixture are projected onto them.

    Returns
    -------
    log_likelihood : float
        Natural logarithm, mean over rows.

    Raises
    ------
    ValueError
        Without rows, and for a covariance that is not positive definite; the message names the component.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import mixture_log_likelihood
    >>> X = np.zeros((1, 2))
    >>> round(mixture_log_likelihood(X, np.ones(1), np.zeros((1, 2)), np.eye(2)[None]), 4)
    -1.8379
    """
    X, means, weights = floats_of(X, "X"), floats_of(means, "means"), floats_of(weights, "weights")
    covariances = floats_of(covariances, "covariances")
    if X.ndim != 2 or not len(X):
        raise ValueError(f"X has shape {X.shape}; give at least one row, as an array of shape (n_samples, n_features)")
    if basis is not None:
        X, means, covariances = X @ basis, means @ basis, basis.T @ covariances @ basis
    live = np.flatnonzero(weights > 0)
    log_weights = np.log(weights[live])
    factors = np.array([factor_of(covariances[k], k) for k in live])
    constants = log_weights - np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    constants -= 0.5 * X.shape[1] * np.log(2.0 * np.pi)
    total = 0.0
    for start, stop in spans(len(X), 4096):
        log_density = np.empty((len(live), stop - start))
        for i, k in enumerate(live):
            z = solve_triangular(factors[i], (X[start:stop] - means[k]).T, lower=True)
            log_density[i] = constants[i] - 0.5 * np.einsum("dn,dn->n", z, z)
        total += logsumexp(log_density, axis=0).sum()
    return float(total / len(X))


def factor_of(covariance, k):
    """Cholesky factor of the covariance of component k."""
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"the covariance of component {k} is not positive definite; add a little to its diagonal, or project onto "
            "directions with variance by basis"
        ) from None


@plain_arguments
def basis_without_constant(n_features):
    """Orthonormal basis of the complement of the constant vector: the subspace of patches without their means.

    Parameters
    ----------
    n_features : int
        Number of pixels of a patch.

    Returns
    -------
    basis : ndarray of shape (n_features, n_features - 1)
    """
    q, _ = np.linalg.qr(np.column_stack([np.ones(n_features), np.eye(n_features)[:, 1:]]))
    return q[:, 1:]
