"""The fit loop: bounds rise at every visit, schedules agree where they must, threads change no bit."""

import numpy as np
import pytest
import reference

from sparsemix._engine import loop
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.schedules import Batch, Memoized, Stochastic
from sparsemix._heuristics.mixture.start import data_gaussian
from sparsemix._models.mixture.model import MaximumLikelihoodMixture, VariationalMixture
from sparsemix._rows import blocks
from sparsemix._rows.threads import Workers
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix._stats.weights import DirichletWeights, MaximumLikelihoodWeights, StickBreakingWeights

K, N, D = 5, 240, 2
WEIGHTS = {"dirichlet": DirichletWeights(0.5), "sticks": StickBreakingWeights(2.0)}


class Visits:
    """A monitor that asks for the bound at every step and never ends a fit early."""

    n_epochs_done, converged = 0, False  # of a fit that continues

    def __init__(self, model, max_iter):
        self.model = model
        self.max_iter = max_iter
        self.bounds = []
        self.epochs = []

    def begin(self, epoch):
        self.epochs.append(epoch)

    def before_step(self):
        pass

    def step(self, stats):
        self.bounds.append(self.model.lower_bound(stats))

    def epoch(self, epoch, model, stats, undone=False):  # noqa: ARG002
        assert epoch == self.epochs[-1]
        assert model is self.model
        np.testing.assert_allclose(self.bounds[-1], model.lower_bound(stats), rtol=1e-13)

    ended = False


def rows_of(name, n_rows=N, d=D, dtype=np.float64, weighted=False, seed=0):
    """Rows of K overlapping clusters less their mean, and ``labels``, some of which are wrong.

    Every cluster has many more rows than dimensions, so that maximum likelihood stays away from singular covariances.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice(K, size=n_rows, p=np.array([3, 3, 3, 2, 4]) / 15)
    x = rng.normal(size=(n_rows, d))
    if name == "zero_mean":
        x *= 6.0 ** labels[:, None]
    else:
        x += 3.0 * np.column_stack([np.cos(1.2 * labels), np.sin(1.2 * labels)])
    x = x.astype(dtype)
    weight = rng.uniform(0.2, 3.0, size=n_rows) if weighted else None
    rows = blocks.Rows(x, weight, None if name == "zero_mean" else blocks.Rows(x, weight).mean())
    if name == "zero_mean":  # one row of a much wider cluster would make it as wide
        rows.labels = np.where(rng.uniform(size=n_rows) < 0.3, np.minimum(labels + 1, K - 1), labels)
    else:
        rows.labels = np.where(rng.uniform(size=n_rows) < 0.3, rng.integers(K, size=n_rows), labels)
    return rows


def make(name, n_nonzero, inference, rows):
    """Model and initial statistics from the labels of the rows."""
    family = GAUSSIANS[name](rows.X.shape[1])
    sizes = K, n_nonzero, rows.dtype, rows.shift
    with Workers(1) as workers:
        if inference == "em":
            model = MaximumLikelihoodMixture(family, MaximumLikelihoodWeights(), 0.0, *sizes)
        else:
            prior = family.prior(data_gaussian(family, rows, workers), mean_precision=0.1)
            model = VariationalMixture(family, WEIGHTS[inference], prior, *sizes)
        resp = SparseResponsibilities.from_labels(rows.labels)
        return model, loop.collect(model, rows, slice(0, len(rows)), workers, given=resp)


def run(model, rows, schedule, stats, epochs, n_jobs=1):
    visits = Visits(model, epochs)
    with Workers(n_jobs) as workers:
        return loop.run(model, rows, schedule, visits, workers, stats.copy()), visits.bounds


def memoized(rows, batch_size):
    return Memoized(len(rows), batch_size, np.random.default_rng(3))


def assert_same(stats, others, names=("count", "mass", "entropy", "first", "second", "scatter"), **tolerance):
    for name in names:
        assert (name in stats) == (name in others)
        if name in stats:
            np.testing.assert_allclose(stats[name], others[name], err_msg=name, **(tolerance or {"rtol": 0, "atol": 0}))


@pytest.fixture(params=GAUSSIANS)
def name(request):
    return request.param


# -- bounds


@pytest.mark.parametrize("inference", ["dirichlet", "sticks", "em"])
@pytest.mark.parametrize("n_nonzero", [1, 2, 3, K])
@pytest.mark.parametrize("learning", ["batch", "memoized"])
def test_bound_never_falls_at_any_visit(name, learning, n_nonzero, inference):
    rows = rows_of(name)
    model, initial = make(name, n_nonzero, inference, rows)
    schedule = Batch(N) if learning == "batch" else memoized(rows, 60)
    _, bounds = run(model, rows, schedule, initial, epochs=12)
    first = 0 if learning == "batch" else 3  # the last visit of the first epoch
    assert len(bounds) == (12 if learning == "batch" else 48)
    gains = np.diff(bounds[first:])
    assert (gains >= -1e-8 * abs(bounds[-1])).all()
    assert bounds[-1] > bounds[first] or n_nonzero == 1  # hard assignments may be final after one epoch


@pytest.mark.parametrize("learning", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["dirichlet", "sticks", "em"])
def test_bound_of_weighted_rows_never_falls(learning, inference):
    rows = rows_of("full", weighted=True)
    model, initial = make("full", 2, inference, rows)
    schedule = Batch(N) if learning == "batch" else memoized(rows, 60)
    _, bounds = run(model, rows, schedule, initial, epochs=10)
    assert (np.diff(bounds[3:]) >= -1e-8 * abs(bounds[-1])).all()


@pytest.mark.parametrize("inference", ["dirichlet", "em"])
def test_bound_rises_with_the_number_of_non_zeros(name, inference):
    """From the same parameters, a local step with more components a row reaches a higher bound."""
    rows = rows_of(name)
    values = []
    for n_nonzero in range(1, K + 1):
        model, initial = make(name, n_nonzero, inference, rows)
        model.global_step(initial)
        with Workers(1) as workers:
            resp, _ = loop.respond(model, rows, slice(0, N), workers)
        values.append(resp.log_z.sum())
    assert (np.diff(values) > 0).all()


def test_dense_bound_of_maximum_likelihood_is_below_the_log_likelihood(name):
    rows = rows_of(name)
    model, initial = make(name, K, "em", rows)
    stats, bounds = run(model, rows, Batch(N), initial, epochs=20)
    weights = model.table.weights(rows.read(slice(0, N)), np.empty((N, K)))
    log_likelihood = np.logaddexp.reduce(weights, axis=1).sum()
    assert bounds[-1] <= log_likelihood + 1e-8 * abs(log_likelihood)
    np.testing.assert_allclose(stats["count"].sum(), N, rtol=1e-12)


# -- one step


def test_collected_statistics_equal_the_dense_sums(name, monkeypatch):
    monkeypatch.setattr(blocks, "CHUNK_BYTES", 1)  # a chunk is one tile
    rows = rows_of(name, n_rows=1100, weighted=True)
    model, initial = make(name, 2, "dirichlet", rows)
    model.global_step(initial)
    x = rows.read(slice(0, 1100))
    weights = model.table.weights(x, np.empty((1100, K)))
    indices, values, _ = reference.top_l(weights, 2)
    expected = reference.statistics(name, x, reference.dense(indices, values, K), rows.sample_weight)
    with Workers(1) as workers:
        found = loop.collect(model, rows, slice(0, 1100), workers)
    assert_same(found, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(found.shift if name != "zero_mean" else 0, rows.shift if name != "zero_mean" else 0)


def test_selection_of_rows_equals_those_rows_alone(name):
    rows = rows_of(name, n_rows=700, weighted=True)
    model, initial = make(name, 2, "dirichlet", rows)
    model.global_step(initial)
    chosen = np.sort(np.random.default_rng(2).choice(700, 300, replace=False))
    alone = blocks.Rows(rows.X[chosen], rows.sample_weight[chosen], rows.shift)
    with Workers(1) as workers:
        assert_same(loop.collect(model, rows, chosen, workers), loop.collect(model, alone, slice(0, 300), workers))
        halves = loop.collect(model, rows, slice(0, 350), workers) + loop.collect(model, rows, slice(350, 700), workers)
        assert_same(halves, loop.collect(model, rows, slice(0, 700), workers), rtol=1e-12, atol=1e-10)


def test_single_precision_is_close_to_double(name):
    found = []
    for dtype in (np.float32, np.float64):
        rows = rows_of(name, dtype=np.float32)
        rows.X, rows.dtype = rows.X.astype(dtype), np.dtype(dtype)
        model, initial = make(name, 2, "dirichlet", rows)
        found.append(run(model, rows, Batch(N), initial, epochs=1)[0])
    assert all(stats["count"].dtype == np.float64 for stats in found)
    assert_same(*found, rtol=1e-4, atol=1e-3)


# -- schedules agree


@pytest.mark.parametrize("inference", ["dirichlet", "em"])
def test_full_step_on_all_rows_is_a_batch_step(name, inference):
    rows = rows_of(name, weighted=True)
    found = []
    for schedule in (Batch(N), Stochastic(N, N, np.random.default_rng(0), 0.7, 0.0, rows.mass)):
        model, initial = make(name, 2, inference, rows)
        found.append(run(model, rows, schedule, initial, epochs=1))
    assert_same(found[0][0], found[1][0], rtol=1e-12)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-12)


@pytest.mark.parametrize("inference", ["dirichlet", "em"])
def test_one_memoized_batch_is_batch_learning(name, inference):
    rows = rows_of(name, weighted=True)
    found = []
    for kind in ("batch", "memoized"):
        model, initial = make(name, 2, inference, rows)
        schedule = Batch(N) if kind == "batch" else memoized(rows, N)
        found.append(run(model, rows, schedule, initial, epochs=4))
    assert_same(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[1][1], found[0][1])


def test_memoized_learning_converges_to_a_fixed_point_of_batch_learning():
    rows = rows_of("full")
    model, initial = make("full", 2, "dirichlet", rows)
    stats, bounds = run(model, rows, memoized(rows, 60), initial, epochs=400)
    again, more = run(model, rows, Batch(N), stats, epochs=1)
    np.testing.assert_allclose(more[0], bounds[-1], rtol=1e-9)
    assert_same(again, stats, rtol=1e-4, atol=1e-3)


# -- the record of a fit


class Constant:
    """A model whose bound is a given sequence."""

    def __init__(self, *bounds):
        self.bounds = list(bounds)

    unit, objective, change = "row", "lower_bound", None

    def size(self, stats):
        return stats["mass"]

    def lower_bound(self, stats):
        assert stats["mass"] == 10.0
        return self.bounds.pop(0)


def epochs_until_stop(schedule, bounds, tol=0.125, **kwargs):
    monitor = Monitor(len(bounds), tol, schedule, **kwargs)
    model = Constant(*bounds)
    for epoch in range(1, len(bounds) + 1):
        monitor.begin(epoch)
        if monitor.epoch(epoch, model, {"mass": np.array(10.0)}):
            break
    return monitor


@pytest.mark.parametrize(
    ("bounds", "epochs", "converged"),
    [
        ([0.0, 5.0, 6.0, 9.0], 3, True),  # gains less than 0.125 a row
        ([0.0, 5.0, 5.0, 9.0], 3, True),
        ([0.0, 5.0, 4.999, 9.0], 4, False),  # a loss is not convergence
        ([0.0, 1.25, 2.5, 3.75], 4, False),  # exactly the tolerance
        ([5.0], 1, False),
    ],
)
def test_batch_fit_ends_when_an_epoch_gains_little(bounds, epochs, converged):
    monitor = epochs_until_stop(Batch(10), bounds)
    assert monitor.n_epochs_done == epochs
    assert monitor.converged is converged
    assert monitor.lower_bounds == bounds[:epochs]
    assert [record["n_iter"] for record in monitor.history] == list(range(1, epochs + 1))
    per_row = [record["lower_bound_per_row"] for record in monitor.history]
    np.testing.assert_allclose(per_row, np.array(bounds[:epochs]) / 10)


def test_memoized_fit_compares_from_the_second_epoch():
    monitor = epochs_until_stop(memoized(range(10), 5), [1.0, 1.0, 1.0, 9.0])
    assert monitor.n_epochs_done == 3
    assert monitor.lower_bounds == [1.0, 1.0]
    assert monitor.converged


def test_fit_without_bound_makes_all_its_epochs():
    monitor = epochs_until_stop(Stochastic(10, 5, None, 0.6, 1.0, 10.0), [1.0] * 5)
    assert monitor.n_epochs_done == 5
    assert monitor.lower_bounds == []
    assert not monitor.converged


def test_observer_hears_of_every_epoch_and_may_stop():
    class Observer:
        heard = ()

        def begin(self, epoch):
            self.heard += (epoch,)

        def end(self, monitor):
            self.heard += (-monitor.n_epochs_done,)
            return monitor.n_epochs_done == 2

    observer = Observer()
    monitor = epochs_until_stop(Batch(10), [0.0, 2.0, 4.0, 6.0], observer=observer)
    assert observer.heard == (1, -1, 2, -2)
    assert not monitor.converged


def test_verbose_fit_prints_every_so_many_epochs(capsys):
    epochs_until_stop(Batch(10), [0.0, 2.0, 4.0, 6.0, 6.0], verbose=2, name="Mixture")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("Mixture epoch   2/5")
    assert lines[1].endswith("lower bound per row 0.6000")


def test_loop_stops_when_the_monitor_says_so():
    class Stop(Visits):
        def epoch(self, epoch, model, stats, undone=False):  # noqa: ARG002
            self.ended = epoch == 3

    rows = rows_of("diag")
    model, initial = make("diag", 2, "dirichlet", rows)
    stop = Stop(model, 10)
    with Workers(1) as workers:
        loop.run(model, rows, Batch(N), stop, workers, initial)
    assert stop.epochs == [1, 2, 3]
