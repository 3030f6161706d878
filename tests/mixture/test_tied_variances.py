"""Variances that all components share: what they have in common with k-means."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from sparsemix import SparseGaussianMixture

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

K = 8
X, labels = make_blobs(600, 5, centers=K, cluster_std=0.5, random_state=3)
FIRST = np.array([X[np.flatnonzero(labels == k)[0]] for k in range(K)])
TIED = ["tied_diag", "tied_spherical"]


def mixture(covariance_type, n_components=K, **params):
    params = {"learning_method": "batch", "tol": 0.0, "random_state": 0} | params
    return SparseGaussianMixture(n_components, covariance_type=covariance_type, **params)


def precisions(covariance_type, value):
    return np.full(5, value) if covariance_type == "tied_diag" else value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("covariance_type", TIED)
def test_small_variance_assigns_rows_to_the_nearest_mean(covariance_type, dtype):
    rng = np.random.default_rng(0)
    rows, means = rng.normal(size=(500, 5)).astype(dtype), rng.normal(size=(40, 5))
    weights = rng.dirichlet(np.ones(40))
    start = {"weights": weights, "means": means, "precisions": precisions(covariance_type, 1e6)}
    est = mixture(covariance_type, 40, inference="em", max_iter=0, init_params=start).fit(rows)
    squares = ((rows[:, None].astype(np.float64) - means) ** 2).sum(axis=2)
    two = np.sort(squares, axis=1)[:, :2]
    clear = two[:, 1] - two[:, 0] > 1e-3  # what weights may add is log(40) / 1e6, and a little round-off
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(est.predict(rows)[clear], squares.argmin(axis=1)[clear])


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", TIED)
def test_labels_and_means_of_separate_clusters_are_those_of_k_means(covariance_type, inference):
    theirs = KMeans(K, init=FIRST, n_init=1).fit(X)
    est = mixture(covariance_type, inference=inference, n_nonzero=1, init_params=FIRST, max_iter=30).fit(X)
    np.testing.assert_array_equal(est.predict(X), theirs.labels_)
    # the prior of the means counts as a ten-thousandth of a row
    np.testing.assert_allclose(est.means_, theirs.cluster_centers_, atol=1e-10 if inference == "em" else 1e-4)


def test_equal_weights_end_where_k_means_ends():
    """On rows without gaps, where the sizes of clusters move their borders."""
    rows = np.random.default_rng(0).exponential(size=(2_000, 3))
    theirs = KMeans(6, init=rows[:6], n_init=1, tol=0.0, max_iter=500).fit(rows)
    params = {"n_nonzero": 1, "init_params": rows[:6], "max_iter": 100, "mean_precision_prior": 1e-20}
    usual = mixture("tied_spherical", 6, **params).fit(rows)
    params["init_params"] = theirs.cluster_centers_
    equal = mixture("tied_spherical", 6, **params, weight_concentration_prior=np.inf).fit(rows)
    errors = [((rows - est.means_[est.predict(rows)]) ** 2).sum() / theirs.inertia_ for est in (equal, usual)]
    assert errors[0] < 1.001  # the uncertainty of a mean still moves single rows
    assert errors[1] > 1.05
    np.testing.assert_array_equal(equal.weights_, np.full(6, 1.0 / 6.0))
    assert np.diff(equal.lower_bounds_).min() > -1e-9 * abs(equal.lower_bound_)
    n_parameters = 6 * 3 + 1  # means and the variance
    bic = -2 * len(rows) * equal.score(rows) + np.log(len(rows)) * n_parameters
    assert equal.bic(rows) == pytest.approx(bic)


def test_a_dirichlet_process_refuses_equal_weights():
    params = {"weight_concentration_prior": np.inf, "weight_concentration_prior_type": "dirichlet_process"}
    with pytest.raises(ValueError, match=r"weight_concentration_prior=inf makes all weights equal.*; set weight_conc"):
        mixture("tied_spherical", **params).fit(X)


def test_hard_em_of_one_variance_has_the_inertia_of_k_means_as_its_variance():
    est = mixture("tied_spherical", inference="em", n_nonzero=1, init_params=FIRST, max_iter=30, reg_covar=0.0).fit(X)
    inertia = ((X - est.means_[est.predict(X)]) ** 2).sum()
    assert est.covariances_ == pytest.approx(inertia / X.size, rel=1e-10)


@pytest.mark.parametrize("covariance_type", TIED)
def test_one_component_has_the_variances_of_the_rows(covariance_type):
    est = mixture(covariance_type, 1, inference="em", reg_covar=0.0, max_iter=2).fit(X)
    variances = X.var(axis=0)
    np.testing.assert_allclose(
        est.covariances_, variances if covariance_type == "tied_diag" else variances.mean(), rtol=1e-12
    )


@pytest.mark.parametrize("covariance_type", TIED)
def test_units_of_all_rows_scale_the_variances(covariance_type):
    start = {"responsibilities": np.eye(K)[labels]}
    plain, scaled = (mixture(covariance_type, init_params=start, max_iter=5).fit(c * X) for c in (1.0, 1e3))
    np.testing.assert_allclose(scaled.covariances_, 1e6 * np.asarray(plain.covariances_), rtol=1e-9)
    np.testing.assert_allclose(scaled.means_, 1e3 * plain.means_, rtol=1e-9)


@pytest.mark.parametrize("covariance_type", TIED)
def test_candidates_find_what_all_components_find(covariance_type):
    exact, few = (
        mixture(covariance_type, candidates=c, n_nonzero=2, learning_method="memoized").fit(X) for c in ("all", 3)
    )
    np.testing.assert_array_equal(exact.predict(X), few.predict(X))
    assert few.lower_bound_ == pytest.approx(exact.lower_bound_, rel=1e-6)
