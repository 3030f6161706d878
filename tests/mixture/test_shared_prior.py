"""The prior that many components share and learn: oracles, who learns it, and every way of learning."""

from dataclasses import replace

import numpy as np
import pytest
from fitted import few_epochs

from sparsemix import SparseGaussianMixture, blocks
from sparsemix._models.mixture.model import VariationalMixture
from sparsemix._models.mixture.shared_prior import MOST_DOF, with_learned_prior
from sparsemix._stats import symmetric
from sparsemix._stats.altered import altered
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.weights import DirichletWeights

D, DOF, KAPPA = 3, 12.0, 0.2
SCALE = np.array([[4.0, 1.0, 0.5], [1.0, 2.0, -0.3], [0.5, -0.3, 1.0]])


def components_of_one_prior(n_components, n_rows, equal=False):
    """Statistics of components drawn from one prior, and a model with another prior."""
    rng = np.random.default_rng(0)
    family = GAUSSIANS["full"](D)
    stats = family.empty_stats(n_components)
    whitening = np.linalg.cholesky(np.linalg.inv(SCALE))
    fixed = rng.normal(size=(n_rows, D))
    for k in range(n_components):
        root = whitening @ rng.normal(size=(D, int(DOF)))
        deviations = np.linalg.cholesky(np.linalg.inv(root @ root.T))
        rows = fixed if equal else rng.normal(size=(n_rows, D)) @ deviations.T
        rows = rows + (0.0 if equal else deviations @ rng.normal(size=D) / np.sqrt(KAPPA))
        stats["first"][k], stats["second"][k] = rows.sum(axis=0), symmetric.pack(rows.T @ rows)
    stats["count"][:] = n_rows
    prior = family.prior(family.stats_of, 1e-4, np.zeros(D), D + 2.0, np.eye(D))
    sizes = n_components, 1, np.float64
    return VariationalMixture(family, DirichletWeights(1.0), prior, *sizes, learned_prior="all"), stats


def converged(model, stats):
    """The model after updates, none of which may lower the bound, until they end."""
    before = model.data_bound(stats)
    for _ in range(500):
        learned = with_learned_prior(model, stats)
        after = learned.data_bound(stats)
        assert after >= before
        if learned is model or after - before < 1e-11 * abs(after):
            return learned
        model, before = learned, after
    raise AssertionError("updates do not converge")


def test_components_of_a_known_prior_recover_it():
    learned = converged(*components_of_one_prior(600, 30)).prior
    assert float(learned.dof[0]) == pytest.approx(DOF, rel=0.1)
    assert float(learned.mean_precision[0]) == pytest.approx(KAPPA, rel=0.1)
    np.testing.assert_allclose(symmetric.unpack(learned.scale[0]) / learned.dof[0], SCALE / DOF, rtol=0.1, atol=0.01)


@pytest.mark.parametrize("equal", [False, True])
def test_two_updates_are_near_the_optimum(equal):
    """Also if covariances are equal, where the best nu_0 is as large as may be and steps of EM hardly move S_0."""
    model, stats = components_of_one_prior(60, 30, equal)
    first, best = model.data_bound(stats), converged(model, stats).data_bound(stats)
    for _ in range(2):
        model = with_learned_prior(model, stats)
    assert model.data_bound(stats) > first + 0.999 * (best - first)


@pytest.mark.parametrize("learn_scales", [False, True])
def test_no_direction_raises_the_evidence_of_the_learned_prior(learn_scales):
    model, stats = components_of_one_prior(20, 15)
    model.learn_scales = learn_scales
    if learn_scales:
        model.prior = replace(model.prior, scale=1e-6 * model.prior.scale)
    best = converged(model, stats)
    prior, rng = best.prior, np.random.default_rng(1)

    def bound(step, direction=None, **factors):
        scale = prior.scale if direction is None else symmetric.pack(root @ (np.eye(D) + step * direction) @ root.T)
        changes = {name: getattr(prior, name) * np.exp(step * factor) for name, factor in factors.items()}
        return altered(best, prior=replace(prior, scale=scale.reshape(1, -1), **changes)).data_bound(stats)

    root = np.linalg.cholesky(symmetric.unpack(prior.scale[0]))
    directions = [a + a.T for a in rng.normal(size=(4, D, D))]
    for change in [{"dof": 1.0}, {"mean_precision": 1.0}, *({"direction": each} for each in directions)]:
        low, at, high = (bound(step, **change) for step in (-0.05, 0.0, 0.05))
        assert at >= max(low, high)
        # the derivative is a small share of what the start of the learning had
        assert abs(high - low) < 0.2 * max(2.0 * at - low - high, 1e-3)


def test_degrees_of_freedom_of_equal_components_grow_to_a_limit():
    model, stats = components_of_one_prior(20, 15, equal=True)
    for _ in range(40):
        model = with_learned_prior(model, stats)
    assert 60.0 < float(model.prior.dof[0]) <= MOST_DOF * D


def rows_of_few(n_rows=900, n_features=8):
    """Correlated rows of heavy tails, which components of few rows overfit."""
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(0.5 * np.eye(n_features) + 0.5)
    return rng.normal(size=(n_rows, n_features)) @ root.T / np.sqrt(rng.chisquare(3, size=(n_rows, 1)))


def learned_priors(**params):
    est = SparseGaussianMixture(16, max_iter=2, tol=0, random_state=0, **params).fit(rows_of_few())
    return est.degrees_of_freedom_prior_ != 10.0, est.mean_precision_prior_ != 1e-4


@few_epochs
def test_what_the_caller_gives_stays():
    assert learned_priors() == (True, True)
    assert learned_priors(covariance_prior="learned") == (True, True)
    assert learned_priors(mean_precision_prior=1e-4) == (True, False)
    assert learned_priors(degrees_of_freedom_prior=10.0) == (False, False)
    assert learned_priors(covariance_prior=1.0) == (False, False)
    assert learned_priors(covariance_prior="fixed") == (False, False)
    assert learned_priors(covariance_prior=("learned", 0.01)) == (False, False)
    few = SparseGaussianMixture(15, max_iter=2, tol=0, random_state=0).fit(rows_of_few())
    assert few.degrees_of_freedom_prior_ == 10.0


@few_epochs
@pytest.mark.parametrize(("covariance_type", "gain"), [("full", 0.8), ("zero_mean", 0.01)])
def test_more_components_cost_little_held_out_score(covariance_type, gain):
    X = rows_of_few(3900)

    def score(n_components, **params):
        kind = {"covariance_type": covariance_type, "random_state": 0, "max_iter": 8}
        est = SparseGaussianMixture(n_components, **kind, **params)
        return est.fit(X[:900]).score(X[900:])

    many = score(48)
    assert many > score(16) - 0.2
    assert many > score(48, degrees_of_freedom_prior=10.0) + gain


@few_epochs
@pytest.mark.parametrize("n_nonzero", [1, None])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_bound_never_falls_while_the_prior_is_learned(learning_method, n_nonzero):
    params = {"learning_method": learning_method, "n_nonzero": n_nonzero, "max_iter": 12, "tol": 0, "random_state": 0}
    est = SparseGaussianMixture(16, **params).fit(rows_of_few())
    assert (np.diff(est.lower_bounds_) > -1e-9 * abs(est.lower_bounds_[0])).all()
    assert est.lower_bound() == pytest.approx(est.lower_bound_, rel=1e-12)
    assert est.degrees_of_freedom_prior_ > 10.0


def same(first, second):
    for name in ("means_", "covariance_prior_", "degrees_of_freedom_prior_", "mean_precision_prior_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@few_epochs
@pytest.mark.parametrize("learning_method", ["memoized", "online"])
def test_threads_and_checkpoints_change_no_bit(learning_method, tmp_path):
    X, params = rows_of_few(), {"learning_method": learning_method, "tol": 0, "random_state": 0}
    one, two = (SparseGaussianMixture(16, max_iter=5, n_jobs=n_jobs, **params).fit(X) for n_jobs in (1, 2))
    assert one.degrees_of_freedom_prior_ > 10.0
    same(one, two)
    SparseGaussianMixture(16, max_iter=3, **params).fit(X, checkpoint=tmp_path)
    same(one, SparseGaussianMixture(16, max_iter=5, **params).fit(X, checkpoint=tmp_path))


@few_epochs
def test_blocks_and_streams_learn_it():
    X = rows_of_few()
    make = SparseGaussianMixture(16, max_iter=4, tol=0, random_state=0)
    whole = blocks.fit(make, [X[:400], X[400:]])
    assert whole.degrees_of_freedom_prior_ > 10.0
    stream = SparseGaussianMixture(16, random_state=0)
    for start in range(0, 900, 300):
        stream.partial_fit(X[start : start + 300])
    assert stream.degrees_of_freedom_prior_ > 10.0
