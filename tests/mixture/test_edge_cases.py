"""Unusual data and settings: a finite, valid mixture, or one clear sentence."""

import numpy as np
import pytest
import reference
from mixture_cases import assert_valid

from sparsemix import SparseGaussianMixture

# The tests assert that fits stay valid, not that they converge in a few epochs.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FAMILIES = ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical", "zero_mean"]
METHODS = ["batch", "memoized", "online"]
ALL_FITS = [(inference, method) for inference in ("vb", "em") for method in METHODS]


def rows(n=50, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 4.0 * rng.standard_normal((3, d))[np.arange(n) % 3]


def mixture(n_components=3, **params):
    defaults = {"n_nonzero": 2, "max_iter": 4, "tol": 0.0, "batch_size": 20, "random_state": 0}
    return SparseGaussianMixture(n_components, **(defaults | params))


# -- sizes


@pytest.mark.parametrize("inference", ["vb", "em"])
def test_in_one_dimension_full_and_diagonal_are_the_same(inference):
    X = rows(d=1)
    start = {"responsibilities": np.eye(3)[np.arange(50) % 3]}
    params, priors = {"inference": inference, "init_params": start}, ({}, {})
    if inference == "vb":
        priors = ({"degrees_of_freedom_prior": 3.0, "covariance_prior": value} for value in ([[2.0]], [2.0]))
    full, diag = (mixture(covariance_type=kind, **params, **prior).fit(X)
                  for kind, prior in zip(("full", "diag"), priors, strict=True))  # fmt: skip
    np.testing.assert_allclose(full.means_, diag.means_, rtol=1e-10)  # the same formulas but for round-off
    np.testing.assert_allclose(full.covariances_[:, 0], diag.covariances_, rtol=1e-10)
    np.testing.assert_allclose(full.lower_bound_, diag.lower_bound_, rtol=1e-10)


@pytest.mark.parametrize(("inference", "learning_method"), ALL_FITS)
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_one_component_is_one_gaussian(covariance_type, inference, learning_method):
    X = rows()
    est = mixture(1, covariance_type=covariance_type, inference=inference, learning_method=learning_method).fit(X)
    assert_valid(est, X)
    np.testing.assert_array_equal(est.predict(X), 0)
    np.testing.assert_array_equal(est.predict_proba(X), 1.0)
    if learning_method != "online":  # kappa0 = 1e-4 and the prior mean is the data's mean: no shrinkage at all
        np.testing.assert_allclose(est.means_[0], 0 if covariance_type == "zero_mean" else X.mean(axis=0), atol=1e-12)
    if inference == "em" and learning_method != "online" and covariance_type in ("full", "tied"):
        want = np.cov(X.T, bias=True) + 1e-6 * np.eye(3)
        np.testing.assert_allclose(est.covariances_.reshape(3, 3), want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("learning_method", METHODS)
@pytest.mark.parametrize("batch_size", [1, 7, 1000])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_any_batch_size(covariance_type, batch_size, learning_method):
    X = rows()
    params = {"covariance_type": covariance_type, "learning_method": learning_method, "batch_size": batch_size}
    est = mixture(**params).fit(X)
    assert_valid(est, X)
    if learning_method == "memoized":  # sums over batches are sums over rows
        assert est._fitted.stats["count"].sum() == pytest.approx(len(X))
        assert np.diff(est.lower_bounds_).min() >= -1e-8 * abs(est.lower_bound_)


@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_hardly_more_rows_than_dimensions(covariance_type):
    X = np.random.default_rng(1).standard_normal((70, 64)) + np.repeat([[0.0], [3.0]], 35, axis=0)
    est = mixture(2, covariance_type=covariance_type, max_iter=10, learning_method="batch").fit(X)
    assert_valid(est, X)
    assert np.diff(est.lower_bounds_).min() >= -1e-8 * abs(est.lower_bound_)
    fresh = np.random.default_rng(2).standard_normal((20, 64))
    assert np.isfinite(est.score(fresh))


# -- rows that are hardly different


@pytest.mark.parametrize(("inference", "learning_method"), ALL_FITS)
@pytest.mark.parametrize("n_distinct", [1, 2])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_fewer_distinct_rows_than_components(covariance_type, n_distinct, inference, learning_method):
    X = np.repeat(rows(n=n_distinct), 12, axis=0)
    est = mixture(4, covariance_type=covariance_type, inference=inference, learning_method=learning_method).fit(X)
    assert_valid(est, X)


@pytest.mark.parametrize("init_params", ["bregman", "kmeans", "random_from_data", "random"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_every_start_survives_equal_rows(covariance_type, init_params):
    X = np.full((10, 2), 3.0)
    est = mixture(3, covariance_type=covariance_type, init_params=init_params).fit(X)
    assert_valid(est, X)


# -- components without rows


@pytest.mark.parametrize("learning_method", METHODS)
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_empty_component_of_em_keeps_its_place_and_gets_no_weight(covariance_type, learning_method):
    X = rows()
    single = reference.one_covariance(covariance_type, np.eye(3))
    precisions = single if reference.is_tied(covariance_type) else np.array([single, single, 1e12 * single])
    means = {} if covariance_type == "zero_mean" else {"means": np.vstack([X[:2], [[1e4, 1e4, 1e4]]])}
    est = mixture(
        covariance_type=covariance_type, inference="em", learning_method=learning_method, n_nonzero=1,
        init_params={"precisions": precisions} | means, step_size=(0.0, 1.0),
    ).fit(X)  # fmt: skip
    assert_valid(est, X)
    if learning_method == "batch" or covariance_type != "zero_mean":
        assert est.weights_[2] <= 1e-12
    if learning_method == "batch" and covariance_type != "zero_mean":
        np.testing.assert_array_equal(est.weights_[2], 0.0)
        np.testing.assert_allclose(est.means_[2], 1e4, rtol=1e-9)  # the parameters it last had
        assert not (est.predict(X) == 2).any()
        assert (est.predict_proba(X)[:, 2] == 0.0).all()


@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_empty_component_of_vb_is_its_prior(covariance_type):
    X = rows()
    start = {"responsibilities": np.eye(3)[np.arange(50) % 2]}
    est = mixture(covariance_type=covariance_type, learning_method="batch", init_params=start, max_iter=60, n_nonzero=1,
                  weight_concentration_prior=1e-3, degrees_of_freedom_prior=6.0).fit(X)  # fmt: skip
    assert_valid(est, X)
    stats = est._fitted.stats
    for k in np.flatnonzero(stats["count"] == 0):
        assert est.weight_concentration_[k] == 1e-3
        if not reference.is_tied(covariance_type):
            assert est.degrees_of_freedom_[k] == 6.0
        np.testing.assert_allclose(est.means_[k], 0 if covariance_type == "zero_mean" else X.mean(axis=0), atol=1e-9)
    assert (stats["count"] > 0).any()


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("learning_method", METHODS)
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_rows_without_weight_leave(covariance_type, learning_method, inference):
    X = rows()
    weight = np.tile([1.0, 0.5, 0.0, 2.0, 0.0], 10)
    X[weight == 0] = 1e9  # would spoil everything
    params = {"covariance_type": covariance_type, "learning_method": learning_method, "inference": inference}
    est = mixture(**params).fit(X, sample_weight=weight)
    kept = mixture(**params).fit(X[weight > 0], sample_weight=weight[weight > 0])
    np.testing.assert_array_equal(est.means_, kept.means_)
    np.testing.assert_array_equal(est.covariances_, kept.covariances_)
    resp = np.random.default_rng(3).dirichlet(np.ones(3), len(X))
    est = mixture(init_params={"responsibilities": resp}, **params).fit(X, sample_weight=weight)
    kept = mixture(init_params={"responsibilities": resp[weight > 0]}, **params)
    kept.fit(X[weight > 0], sample_weight=weight[weight > 0])
    np.testing.assert_array_equal(est.means_, kept.means_)


@pytest.mark.filterwarnings("ignore:sample_weight has the sum")
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_of_the_weights_hardly_matters_to_em(scale):
    X, weight = rows(), np.random.default_rng(4).uniform(0.5, 2.0, 50)
    # given parameters: a start from rows adds one row of weight one to each cluster
    params = {"inference": "em", "learning_method": "batch"}
    params["init_params"] = {"weights": np.full(3, 1 / 3), "means": X[:3], "precisions": np.tile(np.eye(3), (3, 1, 1))}
    plain, scaled = (mixture(**params).fit(X, sample_weight=w) for w in (weight, scale * weight))
    # counts below 1e-10 are taken for empty, which these are not
    np.testing.assert_allclose(scaled.means_, plain.means_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(scaled.weights_, plain.weights_, rtol=1e-8)


# -- numbers far from one


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES[:-1])
def test_small_spread_far_from_the_origin(covariance_type, inference):
    X = 1e-3 * rows()
    far = X + 1e6
    params = {"covariance_type": covariance_type, "inference": inference, "learning_method": "batch", "reg_covar": 0.0}
    params["init_params"] = {"responsibilities": np.eye(3)[np.arange(50) % 3]}
    near, there = mixture(**params).fit(X), mixture(**params).fit(far)
    assert_valid(there, far)
    # at 1e6 rows are rounded to 1e-10, which is 1e-7 of the spread; 1e-4 allows a few steps
    np.testing.assert_allclose(there.means_ - 1e6, near.means_, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(there.covariances_, near.covariances_, rtol=1e-4, atol=1e-10)


@pytest.mark.parametrize("covariance_type", FAMILIES)
@pytest.mark.parametrize("inference", ["vb", "em"])
def test_columns_of_very_different_scale(covariance_type, inference):
    X = rows() * [1e-6, 1.0, 1e6]
    assert_valid(mixture(covariance_type=covariance_type, inference=inference, learning_method="batch").fit(X), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_unit_of_measurement_does_not_matter_to_vb(covariance_type, scale, dtype):
    X = rows()
    params = {"covariance_type": covariance_type, "learning_method": "batch"}
    params["init_params"] = {"responsibilities": np.eye(3)[np.arange(50) % 3]}
    plain = mixture(**params).fit(X)
    scaled = mixture(**params).fit((X * scale).astype(dtype))
    tolerance = 1e-8 if dtype == np.float64 else 1e-3  # a factor is exact but for round-off
    np.testing.assert_allclose(scaled.means_ / scale, plain.means_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(scaled.weights_, plain.weights_, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:row 7 of X has the extreme value", "ignore:rows of X are far from the bulk")
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_a_far_outlier_is_survived(covariance_type):
    X = rows()
    X[7] = [1e8, -1e8, 1e8]
    for inference in ("vb", "em"):
        # a component that has the outlier alone: what EM adds to 1e16 must not be lost in its round-off
        est = mixture(covariance_type=covariance_type, inference=inference, learning_method="batch", reg_covar=1e3)
        assert_valid(est.fit(X), X)
    near = mixture(covariance_type=covariance_type).fit(rows())
    assert np.isfinite(near.score_samples(X)).all()
    np.testing.assert_allclose(near.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:the covariance of component:RuntimeWarning")
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "zero_mean"])
def test_what_follows_from_covariances_that_round_off_made_singular(covariance_type, inference):
    """A row so far out that nothing else of the covariance is left: what is published is positive definite."""
    for direction in np.random.default_rng(0).standard_normal((12, 3)):
        est = mixture(1, covariance_type=covariance_type, inference=inference).fit(rows())
        est.partial_fit(1e17 * direction[None])
        with pytest.warns(RuntimeWarning, match="component 0 is not positive definite; 1e-6 of its variances"):
            covariances = est.covariances_
        # the mended matrix has condition 1e6 or so: its smallest eigenvalue is far above the round-off of the largest
        assert (np.linalg.eigvalsh(covariances) > 0.0).all()
        assert (np.linalg.eigvalsh(est.precisions_) > 0.0).all()
        identity = np.broadcast_to(np.eye(3), covariances.shape)
        np.testing.assert_allclose(covariances @ est.precisions_, identity, atol=1e-8)
        U = est.precisions_cholesky_
        np.testing.assert_allclose(U @ np.swapaxes(U, -1, -2), est.precisions_, rtol=1e-12)
        assert np.isfinite(est.sample(5)[0]).all()
        assert np.isfinite(est.score_samples(rows())).all()
