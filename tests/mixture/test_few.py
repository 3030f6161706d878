"""Steps of few Gaussians by the kernel equal those of the model."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from sparsemix import SparseGaussianMixture
from sparsemix._engine import loop
from sparsemix._heuristics.mixture import splitting
from sparsemix._models.mixture.few import FewGaussians, lower_bound
from sparsemix._models.mixture.model import VariationalMixture
from sparsemix._rows.blocks import Rows
from sparsemix._rows.threads import Workers
from sparsemix._stats.altered import altered
from sparsemix._stats.families import DiagonalGaussian, FullGaussian, Gaussians, SphericalGaussian, TiedGaussian
from sparsemix._stats.families._shapes import SPHERICAL
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix._stats.weights import DirichletWeights, EqualWeights

K, D = 4, 3
FAMILIES = {"full": FullGaussian, "tied": TiedGaussian, "diag": DiagonalGaussian, "spherical": SphericalGaussian}
SETTINGS = {
    "plain": {},
    "few kept": {"n_nonzero": 2},
    "noise": {"floor": np.array([1e-3, 0.2, 0.0])},
    "scales": {"learn_scales": True},
    "usual scale": {"learn_scales": True, "usual_scale": 1e3},
    "equal weights": {"weights": EqualWeights()},
}


def problem(name="full", weighted=False, n=60, **changes):
    """A model, rows in clusters of one, a few and many rows, and the label of each row."""
    x, labels = make_blobs([1, 3, 20, n - 24], D, random_state=0)
    family = FAMILIES[name](D)
    covariance = np.cov(x.T)[np.tril_indices(D)] if family.shape.correlated else x.var(axis=0)
    covariance = covariance if family.shape is not SPHERICAL else covariance.mean()
    covariance = covariance if family.tied else np.array([covariance])
    prior = family.prior(Gaussians(name, x.mean(axis=0)[None], covariance), mean_precision=0.3)
    prior = replace(prior, scale=0.02 * prior.scale)
    model = VariationalMixture(family, DirichletWeights(0.25), prior, K, K, np.float64)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, size=n) if weighted else None
    return altered(model, **changes), Rows(x, weight), labels.astype(np.int32)


SUMS = {each: ("count", "first", name, "mass", "entropy") for each, name in (("own", "second"), ("tied", "scatter"))}
CASES = [(name, setting) for name in FAMILIES for setting in SETTINGS if name != "spherical" or "scale" not in setting]


def by_model(monkeypatch):
    monkeypatch.setattr(FewGaussians, "of", lambda model, rows: None)  # noqa: ARG005


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "setting"), CASES)
def test_climb_equals_the_steps_of_the_model(name, setting, weighted, monkeypatch):
    model, rows, labels = problem(name, weighted, **SETTINGS[setting])
    ends = []
    for few in (True, False):
        if not few:
            by_model(monkeypatch)
        with Workers(1) as workers:
            ends.append(
                splitting.climb(model, rows, SparseResponsibilities.from_labels(labels), 3, workers, -np.inf)
            )
    (stats, resp), (expected, expected_resp) = ends
    for sums in SUMS["tied" if name == "tied" else "own"]:
        np.testing.assert_allclose(stats[sums], expected[sums], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(resp.indices, expected_resp.indices)
    np.testing.assert_allclose(resp.values, expected_resp.values, atol=1e-9)
    np.testing.assert_allclose(resp.log_z, expected_resp.log_z, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "setting"), CASES)
def test_splits_equal_those_of_the_model(name, setting, weighted):
    model, rows, labels = problem(name, weighted, **SETTINGS[setting])
    order = np.argsort(labels, kind="stable").astype(np.intc)
    starts = np.searchsorted(labels[order], np.arange(K + 1)).astype(np.intp)
    with Workers(1) as workers:
        given = model, rows, np.random.default_rng(0), workers, labels, K
        few, twin = splitting.splitting(*given), splitting.Splitting(*given)
        assert isinstance(few, splitting.FewSplitting)
        if not model.family.tied:
            np.testing.assert_array_equal(few._outer_side(order, starts), twin._outer_side(order, starts))
        side = np.random.default_rng(2).random(len(labels)) < 0.5
        (found, gains), (expected, expected_gains) = (each._chosen(side, order, starts) for each in (few, twin))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(gains, expected_gains, rtol=1e-9)
        assert np.isneginf(gains[0])  # one row


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "setting"), CASES)
def test_sums_bounds_and_merges_equal_those_of_the_model(name, setting, weighted):
    model, rows, labels = problem(name, weighted, **SETTINGS[setting])
    resp = np.random.default_rng(3).dirichlet(np.ones(K), size=len(labels))
    resp = SparseResponsibilities.from_matrix(np.where(resp < 0.1, 0.0, resp))
    few = FewGaussians.of(model, rows)
    with Workers(1) as workers:
        stats, expected = few.collect(model, resp), loop.collect(model, rows, slice(0, len(rows)), workers, given=resp)
        for sums in SUMS["tied" if name == "tied" else "own"]:
            np.testing.assert_allclose(stats[sums], expected[sums], rtol=1e-12, atol=1e-9)
        assert lower_bound(model, stats, few) == pytest.approx(model.lower_bound(stats), rel=1e-11)
        given = model, rows, np.random.default_rng(0), workers, labels, K
        pairs, lost = splitting.splitting(*given, few=few).merges(model, stats)
        twin_pairs, twin_lost = splitting.Splitting(*given).merges(model, stats)
    np.testing.assert_array_equal(pairs, twin_pairs)
    np.testing.assert_allclose(lost, twin_lost, rtol=1e-9, atol=1e-9)


def test_axes_are_the_longest_ones():
    """But for the start of the power iteration, which has other random numbers, and the sign."""
    model, rows, labels = problem(n=200)
    order = np.argsort(labels, kind="stable").astype(np.intc)
    starts = np.searchsorted(labels[order], np.arange(K + 1)).astype(np.intp)
    with Workers(1) as workers:
        side = splitting.splitting(model, rows, np.random.default_rng(0), workers, labels, K)._axis_side(order, starts)
    x = rows.X[labels == 3] / rows.X.std(axis=0)
    centred = x - x.mean(axis=0)
    expected = centred @ np.linalg.svd(centred, full_matrices=False)[2][0] > 0
    assert max((side[labels == 3] == expected).mean(), (side[labels == 3] != expected).mean()) > 0.98


def test_other_models_take_their_own_steps():
    model, rows, _ = problem()
    assert FewGaussians.of(model, rows) is not None
    assert FewGaussians.of(altered(model, n_components=64), rows) is None
    assert FewGaussians.of(altered(model, search=object()), rows) is None
    assert FewGaussians.of(model, Rows(np.zeros((100_000, D)))) is None


def test_a_component_without_density_is_left_to_the_model():
    """It repairs covariances, or refuses them, with words."""
    model, rows, _ = problem()
    broken = altered(model, prior=replace(model.prior, scale=0.0 * model.prior.scale + np.eye(D)[np.tril_indices(D)]))
    few = FewGaussians.of(broken, rows)
    stats = model.empty_stats()
    stats["count"], stats["second"] = 1.0, -1e3 * np.eye(D)[np.tril_indices(D)]
    assert few.climb(broken, stats, 2, 0.0) is None
    assert few.evidences(*(stats[name] for name in ("count", "first", "second"))) is None
    refused = pytest.raises(ValueError, match="not positive definite")
    with Workers(1) as workers, pytest.warns(RuntimeWarning, match="not positive definite"), refused:
        splitting.climb_from(stats, broken, rows, 2, workers)


@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_fits_agree_with_those_of_the_model(covariance_type, monkeypatch):
    X, _ = make_blobs(300, 4, centers=5, random_state=3)
    fits = []
    for few in (True, False):
        if not few:
            by_model(monkeypatch)
        fits.append(SparseGaussianMixture(5, covariance_type=covariance_type, random_state=0).fit(X))
    assert fits[0].lower_bound_ == pytest.approx(fits[1].lower_bound_)
    np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))
