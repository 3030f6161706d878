"""Screens: components ranked by one matrix product, compared with exact weights of all components."""

import numpy as np
import pytest
from mixture_cases import assert_same_bits

from sparsemix import SparseGaussianMixture, SparseVonMisesFisherMixture
from sparsemix._kernels.vectors import _topl
from sparsemix._models.mixture import model as _model
from sparsemix._models.mixture.candidates import CandidateLists
from sparsemix._models.mixture.linear_search import DirectionSearch
from sparsemix._models.mixture.screen import Screen, suits
from sparsemix._stats.families import Gaussians
from sparsemix._stats.linear.von_mises_fisher import Cones
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix.mixture import _plan

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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("structure", ["cones", "spherical", "tied_spherical"])
def test_screened_labels_are_those_of_exact_weights_even_in_ties(structure, dtype):
    table = table_of(structure, dtype).kernel
    table.offsets[K // 2 :] = table.offsets[: K // 2]  # pairs of equal components,
    table.factors[K // 2 :], table.constants[K // 2 :] = table.factors[: K // 2], table.constants[: K // 2]
    table.constants[::3] += dtype(4e-6)  # and of almost equal ones
    table.constants[4] = -np.inf
    x = np.random.default_rng(1).standard_normal((700, D)).astype(dtype)
    exact = table.weights(x, np.empty((700, K), dtype))
    screen = Screen(table)
    labels, close = screen.labels(x, np.empty((700, K), dtype))
    assert 0 < len(close) <= 700
    labels[close] = exact[close].argmax(axis=1)
    np.testing.assert_array_equal(labels, exact.argmax(axis=1))
    rough = screen.weights(x, np.empty((700, K), dtype)).astype(np.float64)
    gaps = [w - w[:, :1] for w in (rough, exact.astype(np.float64))]
    with np.errstate(invalid="ignore"):
        assert np.nanmax(np.abs(gaps[0] - gaps[1]), axis=1)[:, None].max() < screen.round_off(x).max()


def test_predictions_are_those_of_exact_weights():
    X = clustered().astype(np.float32)
    for est in estimators(max_iter=3):
        rows = est.fit(X)._recipe().exact_rows(est._fitted, X).read(slice(0, len(X)))
        table = est._fitted.table("responsibility", np.float32)
        weights = table.weights(rows, np.empty((len(X), K), np.float32))
        np.testing.assert_array_equal(est.predict(X), weights.argmax(axis=1))


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


@pytest.mark.parametrize(("which", "least"), [(0, 1000), (1, 1000), (1, 0)])
def test_screened_fits_are_as_good_as_dense_fits_and_their_bound_never_falls(which, least, monkeypatch):
    monkeypatch.setattr(_plan, "SCREENED_ONCE", least)
    X = clustered()
    lists, dense = (list(estimators(candidates=c))[which].fit(X) for c in (3, "all"))
    assert lists._fitted.model.search.screens
    bounds = np.asarray(lists.lower_bounds_)
    assert np.diff(bounds).min() >= -1e-8 * np.abs(bounds).max()
    assert lists.score(X) > dense.score(X) - 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_first_visits_of_directions_give_the_responsibilities_of_all_weights(dtype):
    table = table_of("cones", dtype)
    x = np.random.default_rng(1).standard_normal((1100, D)).astype(dtype)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    search, lists, rows = DirectionSearch(3, 0, all_first=True), CandidateLists(1100, 6), np.arange(1100)
    search = search.updated(Gaussians("spherical", table.means, np.ones(K)), table)
    search.prepare(table)
    weights = table.weights(x, np.empty((1100, K), dtype))
    for n_listed in (6, 3, 3):
        found, exact = SparseResponsibilities.empty(1100, 2), SparseResponsibilities.empty(1100, 2)
        search.local_step(x, found, rows, lists)
        _topl.top_l_responsibilities(weights, exact.indices, exact.values, exact.log_z)
        np.testing.assert_array_equal(found.indices, exact.indices)
        np.testing.assert_allclose(found.values, exact.values, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-12)
        best = np.sort(np.argsort(-weights, axis=1)[:, :n_listed], axis=1)
        np.testing.assert_array_equal(lists.lists[:, :n_listed], best)
        assert (lists.lists[:, n_listed:] == -1).all()


@pytest.mark.parametrize(("which", "least"), [(0, 1000), (1, 1000), (1, 0)])
def test_number_of_threads_changes_no_bit(which, least, monkeypatch):
    monkeypatch.setattr(_plan, "SCREENED_ONCE", least)
    monkeypatch.setattr(_model, "TILE", 128)
    X = clustered()
    one, other = (list(estimators(candidates=3, n_jobs=n, max_iter=4))[which].fit(X) for n in (1, 3))
    assert_same_bits(*([est.weights_, est.means_, est.score_samples(X)] for est in (one, other)))
