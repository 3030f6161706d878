"""Births: components that died come back, a stream finds what comes late, and neither costs what was there."""

import numpy as np
import pytest
from fitted import few_epochs
from mixture_cases import assert_same_bits, assert_valid, fitted_arrays
from plans import without_hooks
from seeds import one_of_three
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from sparsemix import SparseGaussianMixture
from sparsemix._engine.loop import collect
from sparsemix._heuristics.mixture import births as _births
from sparsemix._heuristics.mixture.births import Births, Near, late_births, mergers, new_rows
from sparsemix._heuristics.mixture.splitting import cut_gains
from sparsemix._rows.blocks import Rows
from sparsemix._rows.threads import Workers
from sparsemix._stats.families import GAUSSIANS, serial
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix.mixture._recipe import GaussianRecipe

pytestmark = few_epochs
FAMILIES = ["full", "diag", "spherical"]
CENTRES = np.array([[6.0 * i, 6.0 * j] for i in range(5) for j in range(4)])


def blobs(n=2000, seed=0):
    """Twenty clusters on a grid, and their labels."""
    return make_blobs(n, centers=CENTRES, random_state=seed)


def dead_start(y, n_dead=6):
    """Responsibilities under which some components share all rows, and all other components are empty."""
    return np.eye(20)[y % (20 - n_dead)]


def mixture(**params):
    defaults = {"n_components": 20, "max_iter": 30, "tol": 0.0, "random_state": 0}
    return SparseGaussianMixture(**(defaults | params))


# -- in a fit


@pytest.mark.parametrize("learning_method", ["batch", "memoized", "online"])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
@pytest.mark.slow
def test_dead_components_are_born_again(covariance_type, inference, learning_method, monkeypatch):
    X, y = blobs()
    start = {"responsibilities": dead_start(y)}
    params = {"covariance_type": covariance_type, "inference": inference, "init_params": start}
    params |= {"learning_method": learning_method, "batch_size": 400}
    est = mixture(**params).fit(X)
    without_hooks(monkeypatch, GaussianRecipe, Births)
    without = mixture(**params).fit(X)
    assert (without.weights_ < 0.002).sum() >= 4
    # four clusters in a square may stay together: to halve them gains a round component nothing
    assert (est.weights_ < 0.002).sum() < (without.weights_ < 0.002).sum()
    assert est.score(X) > without.score(X) + 0.1
    assert adjusted_rand_score(y, est.predict(X)) > adjusted_rand_score(y, without.predict(X)) + 0.03
    assert_valid(est, X)


@pytest.mark.parametrize("candidates", ["all", 4])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("prior", ["dirichlet_distribution", "dirichlet_process"])
def test_bounds_never_fall_with_births(prior, learning_method, candidates, monkeypatch):
    settled = []
    original = Births.end

    def settle(self, *args):
        waiting = self._before is not None
        stats, undone = original(self, *args)
        settled.extend([undone] * waiting)
        return stats, undone

    monkeypatch.setattr(Births, "end", settle)
    X, y = blobs()
    params = {"weight_concentration_prior_type": prior, "learning_method": learning_method, "candidates": candidates}
    est = mixture(init_params={"responsibilities": dead_start(y)}, batch_size=400, **params).fit(X)
    assert False in settled
    assert np.diff(est.lower_bounds_).min() >= -1e-8 * np.abs(est.lower_bounds_).max()


@pytest.mark.parametrize("candidates", ["all", 4])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em"])
def test_births_that_lower_the_bound_are_taken_back(inference, learning_method, candidates, monkeypatch):
    """The test makes every bound after a birth too low."""
    original, undone = Births.end, []

    def settle(self, *args):
        if self._before is not None:
            self._before = (np.inf, *self._before[1:])
        stats, was = original(self, *args)
        undone.append(was)
        return stats, was

    X, y = blobs()
    params = {"inference": inference, "learning_method": learning_method, "candidates": candidates}
    params |= {"init_params": {"responsibilities": dead_start(y)}, "batch_size": 400}
    if inference == "vb":  # a prior that is learned depends on the number of epochs
        params |= {"degrees_of_freedom_prior": X.shape[1] + 2.0}
    with monkeypatch.context() as patch:
        patch.setattr(Births, "end", settle)
        est = mixture(**params, max_iter=9).fit(X)
    n_undone = sum(undone)
    assert n_undone >= 2
    assert np.diff(est.lower_bounds_).min() >= -1e-8 * np.abs(est.lower_bounds_).max()
    if candidates == "all":  # each epoch that was taken back is as if it had not been
        without_hooks(monkeypatch, GaussianRecipe, Births)
        same = mixture(**params, max_iter=9 - n_undone).fit(X)
        assert_same_bits(fitted_arrays(est, X)[:-1], fitted_arrays(same, X)[:-1])


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_births_that_are_taken_back_leave_the_lists_of_before(learning_method, monkeypatch):
    propose, settle, changed = Births.before, Births.end, []

    def proposed(self, epoch, fit, stats):
        self.lists = fit.rows.memory.lists.copy()
        return propose(self, epoch, fit, stats)

    def settled(self, epoch, fit, stats):
        if self._before is not None:
            self._before = (np.inf, *self._before[1:])
            changed.append((fit.rows.memory.lists != self.lists).any())
        stats, undone = settle(self, epoch, fit, stats)
        assert not undone or (fit.rows.memory.lists == self.lists).all()
        return stats, undone

    monkeypatch.setattr(Births, "before", proposed)
    monkeypatch.setattr(Births, "end", settled)
    X, y = blobs()
    params = {"learning_method": learning_method, "candidates": 4, "batch_size": 400}
    mixture(init_params={"responsibilities": dead_start(y)}, max_iter=3, **params).fit(X)
    assert True in changed


def test_few_components_may_stay_dead():
    """Births need 16 components: with fewer, empty ones may show that n_components is too large."""
    X, y = make_blobs(600, centers=[[0, 0], [9, 9], [0, 9]], random_state=0)
    est = SparseGaussianMixture(6, init_params={"responsibilities": np.eye(6)[y]}, random_state=0).fit(X)
    assert (est.weights_ > 0.01).sum() == 3


def test_births_are_the_same_bits_for_any_number_of_threads():
    X, y = blobs()
    fits = [mixture(init_params={"responsibilities": dead_start(y)}, n_jobs=n, max_iter=5).fit(X) for n in (1, 3)]
    assert_same_bits(*(fitted_arrays(est, X)[:-1] for est in fits))


def test_interrupted_trial_leaves_a_whole_mixture(monkeypatch):
    X, y = blobs()
    calls = []

    def interrupt(self, *args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, *args)

    original = _births.Births.end
    monkeypatch.setattr(Births, "end", interrupt)
    est = mixture(init_params={"responsibilities": dead_start(y)}, inference="em")
    with pytest.raises(KeyboardInterrupt):
        est.fit(X)
    assert_valid(est, X)


# -- what cuts gain


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical", "tied", "tied_diag", "tied_spherical"])
def test_cut_gains_are_differences_of_bounds(covariance_type):
    """Under hard assignments the bound has no entropy; a covariance that all share is taken as it is."""
    X = np.random.default_rng(0).standard_normal((90, 2)) + np.repeat([[0, 0], [9, 0], [0, 4]], 30, axis=0)
    est = SparseGaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    model, family = est._fitted.model, GAUSSIANS[covariance_type](2)
    rows = Rows(X, None, model.shift)
    with Workers(1) as workers:
        halves, whole = (
            collect(model, rows, slice(0, 90), workers, given=SparseResponsibilities.from_labels(labels))
            for labels in (np.repeat([0, 1, 2], 30), np.repeat([0, 0, 2], 30))
        )
        model.global_step(halves)
        gain = cut_gains(model, halves.take([0]), halves.take([1]))[0]
    by_bounds = model.lower_bound(halves) - model.lower_bound(whole)
    if family.tied:  # less one, of the shared covariance, which the cut makes smaller
        assert 0 < gain < 20 * by_bounds

    else:
        assert gain == pytest.approx(by_bounds, rel=1e-9)


@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_to_join_halves_of_a_cluster_gains_their_parameters(covariance_type):
    """The gain is some nats for each saved parameter, and none for a row: the entropy of halves, log 2, is lost."""
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((900, 2)), rng.permutation(np.repeat([0, 1], 300))
    X[600:] += 6.0
    labels = np.append(labels, np.full(300, 2))
    est = SparseGaussianMixture(3, covariance_type=covariance_type, random_state=0, max_iter=1).fit(X)
    model = est._fitted.model
    with Workers(1) as workers:
        resp = SparseResponsibilities.from_labels(labels)
        stats = collect(model, Rows(X, None, model.shift), slice(0, 900), workers, given=resp)
        model.global_step(stats)
    pairs, gains = mergers(model, stats, serial)
    assert pairs[0].tolist() == [0, 1]
    assert 0.0 < gains[0] < 0.25 * 600 * np.log(2.0)


# -- in a stream


def stream(rng, centres, clusters, n_blocks, size=1000):
    """Blocks of rows from some of the clusters, and the labels of all."""
    for _ in range(n_blocks):
        y = rng.choice(clusters, size)
        yield centres[y] + rng.standard_normal((size, centres.shape[1])), y


@pytest.mark.parametrize("candidates", ["all", 4])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical", "tied_diag", "tied_spherical"])
@pytest.mark.slow
@pytest.mark.statistical
def test_stream_finds_clusters_that_appear_late(covariance_type, inference, candidates):
    rng = np.random.default_rng(0)
    centres = rng.uniform(-10, 10, (10, 6))
    blocks = [*stream(rng, centres, np.arange(5), 4), *stream(rng, centres, np.arange(5, 10), 6)]
    X, y = next(stream(rng, centres, np.arange(10), 1, 3000))
    truth = SparseGaussianMixture(
        10, covariance_type=covariance_type, inference=inference, max_iter=5,
        init_params={"responsibilities": np.eye(10)[y]},
    ).fit(X)  # fmt: skip

    def succeeds(seed):
        est = SparseGaussianMixture(
            10, covariance_type=covariance_type, inference=inference, candidates=candidates, random_state=seed
        )
        for block, _ in blocks:
            est.partial_fit(block)
        assert est.n_samples_seen_ == 10_000
        assert est.weights_.sum() == pytest.approx(1.0)
        assert float(est._fitted.stats["mass"]) == pytest.approx(10_000)
        assert est._fitted.stats["count"].sum() == pytest.approx(10_000)  # no row was counted twice, none was lost
        return adjusted_rand_score(y, est.predict(X)) > 0.98 and est.score(X) > truth.score(X) - 0.1

    assert one_of_three(succeeds)


def test_stream_of_one_kind_is_left_alone(monkeypatch):
    """Tails of what is known are no new clusters."""
    rng = np.random.default_rng(0)
    blocks = [rng.standard_t(4, (500, 3)) for _ in range(12)]
    on = SparseGaussianMixture(5, random_state=0)
    off = SparseGaussianMixture(5, random_state=0)
    for block in blocks:
        on.partial_fit(block)
    monkeypatch.setattr(GaussianRecipe, "between", lambda _, state, rows, *__: (state, rows))
    for block in blocks:
        off.partial_fit(block)
    X = rng.standard_t(4, (3000, 3))
    assert on.score(X) > off.score(X) - 0.05


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_a_single_row_is_not_searched_for_births(offset, monkeypatch):
    """The search would find none, however far the row is; two rows are searched."""
    X = blobs()[0]
    est = mixture(max_iter=2).fit(X)
    model, stats = est._fitted.model, est._fitted.stats
    searched = []
    monkeypatch.setattr(_births, "Near", lambda *given: searched.append(Near(*given)) or searched[-1])
    for n_rows in (1, 2):
        _, rows = est._recipe().seen(model, Rows(X[:n_rows] + offset), 0)
        with Workers(1) as workers:
            found = late_births(model, stats, rows, workers)
            assert len(searched) == n_rows - 1
            near = Near(model, rows, np.arange(n_rows), workers)
            assert near.far.all() == (offset > 0.0)
            assert n_rows > 1 or (found is None and new_rows(model, stats, near, workers) is None)


# -- forgetting


def test_half_life_weighs_rows_by_their_age():
    rng = np.random.default_rng(0)
    blocks = [rng.normal([3.0 * i, 0.0], 1.0, (200, 2)) for i in range(3)]
    est = SparseGaussianMixture(1, step_size=("half_life", 100.0), random_state=0)
    for block in blocks:
        est.partial_fit(block)
    weights = np.repeat([1 / 16, 1 / 4, 1.0], 200)  # 200 rows are two half-lives
    assert float(est._fitted.stats["mass"]) == pytest.approx(weights.sum())
    mean = np.average(np.concatenate(blocks), axis=0, weights=weights)
    np.testing.assert_allclose(est.means_[0], mean, rtol=1e-3)
    assert est.n_samples_seen_ == 600


def test_long_half_life_forgets_nothing():
    rng = np.random.default_rng(0)
    blocks = [rng.standard_normal((200, 2)) for _ in range(3)]
    plain = SparseGaussianMixture(2, random_state=0)
    long = SparseGaussianMixture(2, step_size=("half_life", 1e12), random_state=0)
    for block in blocks:
        plain.partial_fit(block)
        long.partial_fit(block)
    np.testing.assert_allclose(long.means_, plain.means_, rtol=1e-6)


def test_half_life_follows_a_drift():
    scores = []
    for step_size in ((10.0, 0.6), ("half_life", 2000.0)):
        rng = np.random.default_rng(0)
        est = SparseGaussianMixture(5, step_size=step_size, random_state=0)
        for t in range(40):
            y = rng.integers(5, size=500)
            block = rng.standard_normal((500, 2)) + 8.0 * np.stack([np.cos(y + 0.02 * t), np.sin(y + 0.02 * t)], axis=1)
            score = est.score(block) if t else 0.0
            est.partial_fit(block)
        scores.append(score)
    assert scores[1] > scores[0] + 0.1


def test_half_life_is_for_rows_that_come_once():
    X = np.random.default_rng(0).standard_normal((50, 2))
    est = SparseGaussianMixture(2, step_size=("half_life", 10.0), total_samples=100)
    with pytest.raises(ValueError, match="give only one of them"):
        est.partial_fit(X)
    with pytest.raises(ValueError, match="is for partial_fit; give"):
        SparseGaussianMixture(2, step_size=("half_life", 10.0), learning_method="online").fit(X)
