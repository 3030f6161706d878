"""Screens: components ranked by one matrix product, compared with exact weights of all components."""

import numpy as np
import pytest
from mixture_cases import assert_same_bits

from sparsemix import SparseGaussianMixture, SparseVonMisesFisherMixture
from sparsemix._models.mixture import model as _model
from sparsemix._models.mixture.screen import Screen, suits
from sparsemix._stats.families import Gaussians
from sparsemix._stats.linear.von_mises_fisher import Cones

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
K, D = 30, 40


def table_of(structure, dtype, far=1.0):
    rng = np.random.default_rng(0)
    means = far * rng.standard_normal((K, D))
    if structure == "cones":
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return Cones(means, rng.uniform(20.0, 90.0, K), rng.standard_normal(K)).table(np.zeros(K), dtype)
    covariances = np.float64(0.7) if structure == "tied_spherical" else rng.uniform(0.5, 2.0, K)
    return Gaussians(structure, means, covariances).table(rng.standard_normal(K), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("structure", ["cones", "spherical", "tied_spherical"])
def test_screen_ranks_as_exact_weights_do(structure, dtype):
    table = table_of(structure, dtype)
    x = table.rows(np.random.default_rng(1).standard_normal((700, D)).astype(dtype))
    assert suits(table)
    exact = table.kernel.weights(x, np.empty((700, K), dtype))
    chosen = np.take_along_axis(exact, Screen(table.kernel).best(x, 5), axis=1)
    close = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(np.sort(chosen, axis=1), np.sort(exact, axis=1)[:, -5:], rtol=0, atol=close)


def test_means_far_from_the_origin_are_not_screened():
    assert not suits(table_of("tied_spherical", np.float32, far=1e3))
    assert suits(table_of("tied_spherical", np.float64, far=1e3))


def test_rows_that_overflow_have_components():
    x = np.full((2, D), 1e38, dtype=np.float32)
    x[1] = 0.0
    best = Screen(table_of("spherical", np.float32).kernel).best(x, 3)
    assert (np.diff(best, axis=1) > 0).all()
    assert best.min() >= 0
    assert best.max() < K


def clustered(n=900, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, D)) + 3.0 * rng.standard_normal((12, D))[rng.integers(12, size=n)]


def estimators(**params):
    params = {"n_components": K, "n_nonzero": 2, "max_iter": 10, "tol": 0.0, "random_state": 0} | params
    yield SparseGaussianMixture(covariance_type="tied_spherical", **params)
    yield SparseVonMisesFisherMixture(**params)


@pytest.mark.parametrize("which", [0, 1])
def test_screened_fits_are_as_good_as_dense_fits_and_their_bound_never_falls(which):
    X = clustered()
    lists, dense = (list(estimators(candidates=c))[which].fit(X) for c in (3, "all"))
    assert lists._fitted.model.search.screens
    bounds = np.asarray(lists.lower_bounds_)
    assert np.diff(bounds).min() >= -1e-8 * np.abs(bounds).max()
    assert lists.score(X) > dense.score(X) - 0.1


@pytest.mark.parametrize("which", [0, 1])
def test_number_of_threads_changes_no_bit(which, monkeypatch):
    monkeypatch.setattr(_model, "TILE", 128)
    X = clustered()
    one, other = (list(estimators(candidates=3, n_jobs=n, max_iter=4))[which].fit(X) for n in (1, 3))
    assert_same_bits(*([est.weights_, est.means_, est.score_samples(X)] for est in (one, other)))
