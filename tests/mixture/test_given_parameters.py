"""A mixture whose parameters are given, without a fit: scikit-learn's with the same numbers."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from sparsemix import SparseGaussianMixture
from sparsemix._stats.families import GAUSSIANS

SIZES = 5, 3  # K, D


def given(covariance_type, scale=1.0, offset=0.0):
    """Weights, means and covariances."""
    rng, (k, d) = np.random.default_rng(0), SIZES
    factors = rng.standard_normal((k, d, 2 * d))
    square = scale * factors @ np.swapaxes(factors, -1, -2) / d
    variances = np.diagonal(square, axis1=-2, axis2=-1)
    covariances = {
        "full": square, "zero_mean": square, "tied": square[0], "diag": variances, "tied_diag": variances[0],
        "spherical": variances[:, 0], "tied_spherical": variances[0, 0],
    }[covariance_type]  # fmt: skip
    means = None if covariance_type == "zero_mean" else offset + 3.0 * rng.standard_normal((k, d))
    return rng.dirichlet(np.full(k, 3.0)), means, covariances


def make(covariance_type, *, scale=1.0, offset=0.0, **params):
    parameters = given(covariance_type, scale, offset)
    return SparseGaussianMixture.from_parameters(*parameters, covariance_type=covariance_type, **params)


def theirs(covariance_type, offset=0.0):
    """scikit-learn's mixture with parameters set by hand."""
    weights, means, covariances = given(covariance_type, offset=offset)
    k, d = SIZES
    kinds = {"tied_diag": "diag", "tied_spherical": "spherical", "zero_mean": "full"}
    kind = kinds.get(covariance_type, covariance_type)
    if covariance_type in ("tied_diag", "tied_spherical"):
        covariances = np.array([covariances] * k)
    est = GaussianMixture(k, covariance_type=kind, random_state=0)
    est.weights_, est.means_ = weights, np.zeros((k, d)) if means is None else means
    if kind in ("full", "tied"):
        est.precisions_cholesky_ = np.swapaxes(np.linalg.inv(np.linalg.cholesky(covariances)), -1, -2)
    else:
        est.precisions_cholesky_ = 1.0 / np.sqrt(covariances)
    return est


TYPES = ("full", "tied", "diag", "spherical", "tied_diag", "tied_spherical", "zero_mean")


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_rows_read_as_under_scikit_learns_mixture(covariance_type, offset):
    est, other = make(covariance_type, offset=offset), theirs(covariance_type, offset=offset)
    X = 4.0 * np.random.default_rng(1).standard_normal((200, SIZES[1]))
    X += 0.0 if covariance_type == "zero_mean" else offset
    tolerance = 1e-9 if offset == 0.0 else 1e-6  # theirs has lost digits far from zero
    np.testing.assert_allclose(est.score_samples(X), other.score_samples(X), rtol=tolerance)
    np.testing.assert_allclose(est.predict_proba(X), other.predict_proba(X), rtol=1e-6, atol=tolerance)
    np.testing.assert_array_equal(est.predict(X), other.predict(X))
    dense = make(covariance_type, offset=offset, n_nonzero=None)
    np.testing.assert_allclose(dense.predict_sparse_proba(X).toarray(), est.predict_proba(X), atol=tolerance)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_parameters_are_those_that_were_given(covariance_type):
    weights, means, covariances = given(covariance_type)
    est = make(covariance_type)
    np.testing.assert_allclose(est.weights_, weights, rtol=1e-14)
    np.testing.assert_allclose(est.means_, np.zeros(SIZES) if means is None else means, rtol=1e-12)
    np.testing.assert_allclose(est.covariances_, covariances, rtol=1e-14)
    assert est.n_features_in_ == SIZES[1]
    assert est.n_components == SIZES[0]
    assert (est.n_samples_seen_, est.n_steps_, est.init_params_) == (0, 0, "given")
    assert not hasattr(est, "lower_bound_")
    for twin in (pickle.loads(pickle.dumps(est)), clone(est).fit(est.sample(50)[0])):
        assert twin.score_samples(np.zeros((1, SIZES[1]))).shape == (1,)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_rows_are_drawn_from_it(covariance_type):
    est = make(covariance_type, random_state=0)
    X, y = est.sample(40_000)
    np.testing.assert_allclose(np.bincount(y) / len(y), est.weights_, atol=0.01)
    mean = est.weights_ @ est.means_
    within = est.score(X) - theirs(covariance_type).score(X)
    assert abs(within) < 1e-9
    np.testing.assert_allclose(X.mean(axis=0), mean, atol=0.08)


def em_step(est, X):
    """scikit-learn's M-step from responsibilities of all components, "full"."""
    resp = est.predict_proba(X)
    counts = resp.sum(axis=0)
    means = resp.T @ X / counts[:, None]
    covariances = [(r[:, None] * (X - m)).T @ (X - m) / r.sum() for r, m in zip(resp.T, means, strict=True)]
    return counts / len(X), means, np.array(covariances)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", GAUSSIANS)
def test_density_parameters_reproduce_the_scores_of_a_fit(covariance_type, inference):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((300, 5)) + 3.0 * rng.standard_normal((4, 5))[np.arange(300) % 4]) * [1, 1, 1, 1e6, 1e-6]
    if covariance_type != "zero_mean":
        X += [0.0, 1e3, 0.0, 0.0, 1.0]
    params = {"covariance_type": covariance_type, "inference": inference, "reg_covar": 1e-14}
    mixture = SparseGaussianMixture(12, max_iter=5, tol=0.0, random_state=0, **params).fit(X)
    parameters = mixture.density_parameters()
    assert parameters["covariance_type"] == covariance_type
    same = SparseGaussianMixture.from_parameters(**parameters)
    np.testing.assert_allclose(same.score_samples(X), mixture.score_samples(X), rtol=0.0, atol=1e-6)
    covariances = mixture.covariances_
    if covariance_type == "low_rank":
        covariances = mixture.loadings_, mixture.noise_variance_
    posterior = same.from_parameters(**parameters | {"covariances": covariances}).score_samples(X)
    apart = np.abs(posterior - mixture.score_samples(X)).max()
    assert apart > 1e-4 if inference == "vb" else apart < 1e-6


def test_a_block_and_an_epoch_continue_from_it():
    X, _ = make("full", random_state=1).sample(3_000)
    exact = {"n_nonzero": None, "reg_covar": 0.0}
    batch = make("full", warm_start=True, learning_method="batch", max_iter=1, tol=0, **exact)
    for est in (make("full", **exact).partial_fit(X), batch.fit(X)):
        for ours, expected in zip((est.weights_, est.means_, est.covariances_), em_step(make("full"), X), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-10)
        assert est.n_samples_seen_ == len(X)


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("params", [{}, {"candidates": 2, "n_nonzero": 1}, {"total_samples": 2_000.0}])
def test_streams_continue_with_births_too(covariance_type, params):
    est = make(covariance_type, random_state=0, **params)
    X, _ = make(covariance_type, random_state=1).sample(600)
    before = est.score(X)
    for block in np.array_split(X, 3):
        est.partial_fit(block)
    est.partial_fit(X[:50] + 100.0)  # rows that no component explains
    assert est.n_samples_seen_ == 650
    assert np.isfinite(est.score(X))
    assert np.isfinite(before)


def test_float32_rows_and_weights_of_zero():
    weights, means, covariances = given("diag")
    weights[0] = 0.0
    est = SparseGaussianMixture.from_parameters(weights / weights.sum(), means, covariances, covariance_type="diag")
    X = est.sample(100)[0]
    assert (est.predict(X) > 0).all()
    assert est.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(est.score_samples(X.astype(np.float32)), est.score_samples(X), rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [0.5, 0.4]}, "weights must not be negative and sum to one; they sum to 0.9"),
        ({"weights": [[1.0]]}, r"weights has shape \(1, 1\), expected \(1,\)"),
        ({"weights": []}, r"weights has shape \(0,\), expected \(1,\)"),
        ({"means": [[0.0, 1.0]]}, r"means has shape \(1, 2\), expected \(2, 2\)"),
        ({"means": [0.0, 1.0]}, r"means has shape \(2,\); give a row of it for each component"),
        ({"means": [[0.0, np.nan], [0.0, 0.0]]}, "means contains NaN"),
        ({"means": None}, "covariance_type='full' needs means"),
        ({"covariance_type": "zero_mean"}, "covariance_type='zero_mean' has no means"),
        ({"covariances": np.ones((2, 2))}, r"covariances has shape \(2, 2\), expected \(2, 2, 2\)"),
        ({"covariances": -np.ones((2, 2)), "covariance_type": "diag"}, "all its entries must be positive"),
        ({"covariances": np.ones((2, 2, 2))}, "covariances must be symmetric and positive definite"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"n_nonzero": 0}, "n_nonzero"),
    ],
)
def test_invalid_parameters_are_refused(change, message):
    numbers = {"weights": [0.5, 0.5], "means": np.zeros((2, 2)), "covariances": np.array([np.eye(2)] * 2)}
    with pytest.raises(ValueError, match=message):
        SparseGaussianMixture.from_parameters(**numbers | change)


@pytest.mark.parametrize("name", ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"])
def test_setting_a_parameter_names_the_way(name):
    est = SparseGaussianMixture(2)
    sentence = rf"{name} is computed by .*; SparseGaussianMixture.from_parameters\(weights, means, covariances, covar"
    with pytest.raises(AttributeError, match=sentence):
        setattr(est, name, np.ones(2))
    assert not hasattr(est, name)
    est = make("full")
    value = np.array(getattr(est, name))
    with pytest.raises(AttributeError, match=sentence):
        setattr(est, name, value)
    np.testing.assert_array_equal(getattr(est, name), value)
