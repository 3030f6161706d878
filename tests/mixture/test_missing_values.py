"""Rows with missing values: densities against marginal mixtures, statistics and steps against a slow twin."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sparsemix import SparseGaussianMixture

TYPES = ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical", ("low_rank", 2), "zero_mean"]
RNG = np.random.default_rng(0)
COMPLETE = np.concatenate([
    RNG.normal(m, 1.0, (200, 5)) @ (np.eye(5) + 0.4 * RNG.normal(size=(5, 5))) for m in (-2.0, 0.0, 3.0)
])  # fmt: skip


def with_gaps(X, share=0.3):
    """Rows with missing values; row 7 has no value, row 9 has all."""
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    X[7], X[9] = np.nan, np.arange(X.shape[1])
    return X


X = with_gaps(COMPLETE)


def fitted(covariance_type, **params):
    """A mixture fitted to complete rows."""
    params = {"n_nonzero": None, "max_iter": 5, "tol": 0.0, "random_state": 0} | params
    return SparseGaussianMixture(3, covariance_type=covariance_type, **params).fit(COMPLETE)


def component_densities(mixture, x):
    """log weight + log density of the observed values of each row under each component, from dense matrices."""
    given = mixture.density_parameters()
    covariances = dense(given, x.shape[1])
    means = np.zeros((3, x.shape[1])) if given["means"] is None else given["means"]
    out = np.empty((len(x), 3))
    for n, row in enumerate(x):
        seen = ~np.isnan(row)
        for k in range(3):
            c, y = covariances[k][np.ix_(seen, seen)], (row - means[k])[seen]
            out[n, k] = -0.5 * (y @ np.linalg.solve(c, y) + np.linalg.slogdet(2.0 * np.pi * c)[1])
    return out + np.log(given["weights"])


def dense(given, d):
    """Covariances of 3 components as matrices."""
    value, kind = given["covariances"], given["covariance_type"]
    if kind == "low_rank":
        return [w.T @ w + np.diag(v) for w, v in zip(*value, strict=True)]
    value = [value] * 3 if kind.startswith("tied") else value
    return [c if np.ndim(c) == 2 else np.eye(d) * c for c in value]


# -- predictions


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", TYPES)
def test_densities_are_those_of_the_observed_values(covariance_type, inference):
    mixture = fitted(covariance_type, inference=inference)
    log_density = mixture.score_samples(X)
    np.testing.assert_allclose(log_density, logsumexp(component_densities(mixture, X), axis=1), rtol=1e-10, atol=1e-10)
    for n in (0, 1, 2, 9):  # the same by enumeration
        seen = np.flatnonzero(~np.isnan(X[n]))
        marginal = mixture.marginal(seen).score_samples(X[n : n + 1, seen])
        np.testing.assert_allclose(log_density[n], marginal[0], rtol=1e-10)
    assert abs(log_density[7]) < 1e-12
    assert mixture.score(X) == pytest.approx(log_density.mean())


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", TYPES)
def test_predictions_agree_and_depend_on_the_row_alone(covariance_type, inference):
    mixture = fitted(covariance_type, inference=inference)
    resp = mixture.predict_proba(X)
    if inference == "em":
        want = component_densities(mixture, X)
        np.testing.assert_allclose(resp, np.exp(want - logsumexp(want, axis=1, keepdims=True)), atol=1e-10)
    np.testing.assert_array_equal(mixture.predict(X), resp.argmax(axis=1))
    np.testing.assert_allclose(mixture.transform(X).toarray(), resp, atol=1e-12)
    np.testing.assert_array_equal(mixture.predict_proba(X[5:15]), resp[5:15])
    complete = X.copy()
    complete[::2] = COMPLETE[::2]
    np.testing.assert_array_equal(mixture.predict_proba(complete)[::2], mixture.predict_proba(COMPLETE)[::2])
    single = mixture.score_samples(X.astype(np.float32))
    np.testing.assert_allclose(single, mixture.score_samples(X), rtol=1e-4, atol=1e-4)
