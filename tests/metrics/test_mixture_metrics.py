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
    for value in (0.0, np.nan):
        more = np.full((1, D), value), np.full((1, D, D), value)
        wider = np.append(weights, 0.0), np.vstack([means, more[0]]), np.concatenate([covariances, more[1]])
        assert mixture_log_likelihood(X, *wider) == mixture_log_likelihood(X, *mixture)


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


ROWS, PARAMETERS = np.zeros((2, D)), (np.full(K, 1 / K), np.zeros((K, D)), np.stack([np.eye(D)] * K))
ON_MIXTURES = {
    "mixture_log_likelihood": lambda rows=ROWS, **changed: mixture_log_likelihood(
        rows, **(dict(zip(("weights", "means", "covariances"), PARAMETERS, strict=True)) | changed)
    ),
    "basis_without_constant": lambda n_features=D: basis_without_constant(n_features),
}
BAD_ARGUMENTS = [
    ("mixture_log_likelihood", {"rows": np.full((2, D), np.nan)}, r"X\[0, 0\] is nan"),
    ("mixture_log_likelihood", {"rows": np.full((2, D), np.inf)}, r"X\[0, 0\] is inf"),
    ("mixture_log_likelihood", {"rows": ROWS[0]}, r"X has shape \(4,\); give at least one row"),
    ("mixture_log_likelihood", {"rows": ROWS[:0]}, r"X has shape \(0, 4\); give at least one row"),
    ("mixture_log_likelihood", {"weights": np.array([2.0, -0.5, 0.5])}, r"weights is -0\.5; give nonnegative"),
    ("mixture_log_likelihood", {"weights": np.zeros(K)}, r"smallest of weights is 0\.0; give nonnegative"),
    ("mixture_log_likelihood", {"weights": np.full(K, np.nan)}, r"weights\[0\] is nan"),
    ("mixture_log_likelihood", {"weights": np.ones(2)}, r"means has shape \(3, 4\); .* imply \(2, 4\)"),
    ("mixture_log_likelihood", {"means": np.zeros((K, 3))}, r"means has shape \(3, 3\); .* imply \(3, 4\)"),
    ("mixture_log_likelihood", {"means": np.full((K, D), np.inf)}, r"means\[0, 0\] is inf"),
    ("mixture_log_likelihood", {"covariances": np.ones((K, D))}, r"covariances has shape \(3, 4\); .* \(3, 4, 4\)"),
    ("mixture_log_likelihood", {"covariances": np.full((K, D, D), np.nan)}, r"covariances\[0, 0, 0\] is nan"),
    ("mixture_log_likelihood", {"basis": np.eye(3)}, r"basis has shape \(3, 3\); .* imply \(4, 3\)"),
    ("basis_without_constant", {"n_features": 1}, "n_features is 1; give a number of pixels from 2 on"),
    ("basis_without_constant", {"n_features": 2.5}, r"n_features is 2\.5"),
]


@pytest.mark.parametrize(("call", "changed", "message"), BAD_ARGUMENTS)
def test_bad_arguments(call, changed, message):
    with pytest.raises(ValueError, match=message):
        ON_MIXTURES[call](**changed)


def test_every_metric_of_this_table_meets_bad_arguments():
    assert {call for call, *_ in BAD_ARGUMENTS} == set(ON_MIXTURES)


def test_a_row_beyond_all_densities_has_the_logarithm_of_zero():
    assert mixture_log_likelihood(np.full((1, D), 1e200), *PARAMETERS) == -np.inf
