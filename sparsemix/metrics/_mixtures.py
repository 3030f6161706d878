"""Held-out likelihood of Gaussian mixtures."""

import numbers

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from sparsemix._estimator.input.forms import floats_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._rows.blocks import spans
from sparsemix._typing import Array, ArrayLike


def mixture_log_likelihood(
    X: ArrayLike, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike, *, basis: ArrayLike | None = None
) -> float:
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
        Natural logarithm, mean over rows; -inf if a density is zero in double precision.

    Raises
    ------
    ValueError
        Without rows, for parameters whose shapes differ, for values that are not finite, for weights that are negative
        or all zero, and for a covariance that is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import mixture_log_likelihood
    >>> X = np.zeros((1, 2))
    >>> round(mixture_log_likelihood(X, np.ones(1), np.zeros((1, 2)), np.eye(2)[None]), 4)
    -1.8379
    """
    X = floats_of(X, "X")
    if X.ndim != 2 or not X.size:
        raise ValueError(f"X has shape {X.shape}; give at least one row, as an array of shape (n_samples, n_features)")
    n_features = X.shape[1]
    X = read_array("X", X, X.shape)
    weights = read_array("weights", weights, (np.size(weights),))
    if not weights.any() or weights.min() < 0:
        found = weights.min(initial=0)
        raise ValueError(f"the smallest of weights is {found}; give nonnegative weights, one of them positive")
    means = read_array("means", means, (len(weights), n_features), weights > 0)
    covariances = read_array("covariances", covariances, (len(weights), n_features, n_features), weights > 0)
    if basis is not None:
        basis = read_array("basis", basis, (n_features, np.shape(basis)[-1] if np.ndim(basis) else 1))
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


def read_array(name, value, shape, used=True):
    """An argument as float64; raises unless it has this shape and is finite in the components that are used."""
    array = floats_of(value, name)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; the other arguments imply {shape}")
    wrong = np.argwhere(~np.isfinite(array) & np.reshape(used, (-1,) + (1,) * (array.ndim - 1)))
    if len(wrong):
        place = ", ".join(map(str, wrong[0]))
        raise ValueError(f"{name}[{place}] is {array[tuple(wrong[0])]}; remove or replace values that are not finite")
    return array


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
def basis_without_constant(n_features: int) -> Array:
    """Orthonormal basis of the complement of the constant vector: the subspace of patches without their means.

    Parameters
    ----------
    n_features : int
        Number of pixels of a patch, at least 2.

    Returns
    -------
    basis : ndarray of shape (n_features, n_features - 1)
        Orthonormal columns that sum to zero.

    Raises
    ------
    ValueError
        For fewer than two features.

    Examples
    --------
    >>> from sparsemix.metrics import basis_without_constant
    >>> abs(basis_without_constant(2)).round(4)
    array([[0.7071],
           [0.7071]])
    """
    if not isinstance(n_features, numbers.Integral) or n_features < 2:
        raise ValueError(f"n_features is {n_features!r}; give a number of pixels from 2 on")
    q, _ = np.linalg.qr(np.column_stack([np.ones(n_features), np.eye(n_features)[:, 1:]]))
    return q[:, 1:]
