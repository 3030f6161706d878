"""Densities of mixtures, against SciPy's."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from sparsemix.metrics import basis_without_constant, mixture_log_likelihood

K, D = 3, 4


@pytest.fixture
def mixture():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(K, D, D))
    return np.array([0.5, 0.2, 0.3]), rng.normal(size=(K, D)), factors @ factors.swapaxes(1, 2) + np.eye(D)


def expected(X, weights, means, covariances):
    parts = zip(weights, means, covariances, strict=True)
    return logsumexp([np.log(w) + multivariate_normal(m, c).logpdf(X) for w, m, c in parts], axis=0).mean()


@pytest.mark.parametrize("n", [1, 5000])  # less than a block, and more
def test_it_is_the_mean_log_density(mixture, n):
    X = 2.0 * np.random.default_rng(1).normal(size=(n, D))
    X = X[0] if n == 1 else X
    assert mixture_log_likelihood(np.atleast_2d(X), *mixture) == pytest.approx(expected(X, *mixture), rel=1e-12)


def test_components_without_weight_are_skipped_whatever_they_are(mixture):
    weights, means, covariances = mixture
    X = np.random.default_rng(2).normal(size=(20, D))
    more = np.append(weights, 0.0), np.vstack([means, means[:1]]), np.concatenate([covariances, np.zeros((1, D, D))])
    assert mixture_log_likelihood(X, *more) == mixture_log_likelihood(X, *mixture)


def test_a_basis_leaves_a_direction_out(mixture):
    weights, means, covariances = mixture
    X, basis = np.random.default_rng(3).normal(size=(20, D)), basis_without_constant(D)
    np.testing.assert_allclose(basis.T @ basis, np.eye(D - 1), atol=1e-14)
    np.testing.assert_allclose(basis.T @ np.ones(D), 0.0, atol=1e-14)
    projected = expected(X @ basis, weights, means @ basis, basis.T @ covariances @ basis)
    assert mixture_log_likelihood(X, *mixture, basis=basis) == pytest.approx(projected, rel=1e-12)


def test_a_singular_covariance_is_named(mixture):
    weights, means, covariances = mixture
    covariances[1] = np.ones((D, D))
    with pytest.raises(ValueError, match=r"the covariance of component 1 is not positive definite; add a little"):
        mixture_log_likelihood(np.zeros((1, D)), weights, means, covariances)
