"""How an estimator learns from all rows: its recipe makes a plan, a value, and one function runs the plan."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sparsemix._compat import FitObserver
from sparsemix._engine.loop import collect, run
from sparsemix._estimator.checkpoints import CheckpointFolder
from sparsemix._estimator.input.checks import warn_of_light_weights
from sparsemix._estimator.progress import Checkpoints, Progress, identity, make_monitor
from sparsemix._rows.threads import Workers
from sparsemix._warnings import warn_caller

# Attributes of the last ``fit``; a later step of a stream removes them.
OF_FIT = ("lower_bound_", "lower_bounds_", "converged_", "history_", "labels_")
# Attributes of a stream; ``fit`` and ``update_from_stats`` remove them.
OF_STREAM = ("_first_documents", "_recent")


@dataclass(frozen=True)
class Plan:
    """A fit, or the beginning of a stream: what the loop runs.

    Attributes
    ----------
    rows : Rows
        In the form that the model reads, with their memory.
    model : Model
    stats : SufficientStatistics
        Before the first epoch; of the mass of all rows.
    schedule : Schedule or None
        None: an epoch over the first block of a stream is one step.
    hooks : tuple of Hook
        What acts between epochs. They are made again when a fit continues from a checkpoint, so that no state of theirs
        may outlive an epoch.
    about : dict
        Attributes of the estimator that describe the initialisation.
    max_iter : int or None
        Epochs; None means the parameter, and for a stream no epoch.
    tol : float or None
        Convergence threshold; None means the parameter.
    judge : callable or None
        Maps monitor and observer to an observer that scores documents held out and may end the fit; its ``restore``
        chooses the epoch.
    finish : callable or None
        Called with the monitor and workers after the last epoch; it may replace the result.
    """

    rows: Any
    model: Any
    stats: Any
    schedule: Any = None
    hooks: tuple = ()
    about: dict = field(default_factory=dict)
    max_iter: int | None = None
    tol: float | None = None
    judge: Callable | None = None
    finish: Callable | None = None


class Recipe(Protocol):
    """From rows and parameters to plans, in the order of use.

    A frozen dataclass of the estimator's parameters ``params`` and of what the caller said of the rows. It has no base
    class: who reads a recipe from top to bottom has read all that an estimator does to learn.
    """

    params: Any

    def check(self, estimator, X, reset):
        """X as checked numbers; the estimator keeps the number and the names of its features."""

    def prepared(self, estimator):
        """This recipe once the features are known: with what was given in addition to the rows, checked."""

    def rows(self, X, sample_weight, part=False):
        """Rows of positive weight of checked X, which may be a part of all rows."""

    def fingerprints(self, rows):
        """Fingerprints of all data that determine a fit; without the rows if these are None."""

    def plan(self, rows, rng, workers, before=None):
        """The plan of a fit; ``before`` is the fitted state that a warm start continues."""

    def resumed(self, rows, saved, rng):
        """The plan of a fit that continues from the checkpoint ``saved``; ``rng`` is as ``plan`` gets it."""

    def published(self, model, stats, about):
        """Attributes of the estimator after a fit: ``_fitted`` and others."""

    def done(self, estimator, X):
        """Warn of a fit that is of no use, or add what only all rows at hand give; X as it was checked."""


class StreamRecipe(Recipe, Protocol):
    """Recipe of an estimator with ``partial_fit``.

    ``numbers_go_on`` says whether row numbers, which seed random numbers, continue from block to block; ``kept_as`` is
    the attribute in which the estimator keeps what the stream remembers.
    """

    numbers_go_on: bool
    kept_as: str

    def structure(self, fitted):
        """Parameters that define the fitted model, with their values; a call that continues it refuses others."""

    def stream(self, rows, rng, workers):
        """The plan of a stream, from its first block."""

    def begun(self, plan, stats):
        """The ``StreamState`` before the first block is counted, from its plan and the statistics after its epochs."""

    def between(self, state, rows, workers):
        """A ``StreamState`` as the next block should find it, and the rows of this block."""

    def seen(self, model, rows, n_seen, fitted=None):
        """Model and rows of a visit; ``fitted`` is the published state, if the model is its model."""

    def memory(self, model, n_rows, first_row):
        """An empty memory of rows between visits, or None."""


class BlockRecipe(StreamRecipe, Protocol):
    """Recipe of an estimator that fits blocks of rows."""

    def refuse_blocks(self):
        """Raise for parameters that need all rows at once."""

    def survey(self, rows):
        """Sums of a block that a plan needs of all rows."""

    def sample_size(self, survey):
        """Number of rows for the initialisation."""

    def sample(self, survey, X, weight, source):
        """Rows that report the totals of all blocks, from a sample of them."""

    def step_rows(self, rows, survey):
        """Rows of a step."""

    def moments(self, one, rows, workers):
        """Statistics of a block under a model of one component; asked of mixtures of Gaussians only."""


# -- fits


def fit_rows(estimator, recipe, X, sample_weight, checkpoint=None, monitor=None):
    """Learn from all rows. If the call fails, the estimator is as before, or has the last completed step."""
    params, monitor = estimator._params, make_monitor(estimator) if monitor is None else monitor
    with (
        estimator._all_or_nothing(lambda: publish(estimator, recipe, monitor)),
        Workers(params.n_jobs) as workers,
    ):
        before = getattr(estimator, "_fitted", None) if params.warm_start else None
        recipe, X, rows = read(estimator, recipe, X, sample_weight, reset=before is None)
        warn_of_light_weights(rows.sample_weight)
        opened = nullcontext()
        if checkpoint is not None:
            opened = CheckpointFolder(checkpoint, identity(estimator, recipe.fingerprints(rows)))
        with opened as folder:
            learn(estimator, recipe, monitor, rows, workers, before, X, check_random_state(params.random_state), folder)
    warn_unless_converged(estimator, monitor)
    recipe.done(estimator, X)
    return estimator


def read(estimator, recipe, X, sample_weight, reset, part=False):
    """The recipe that knows the features, checked X, and its rows of positive weight."""
    X = recipe.check(estimator, X, reset)
    recipe = recipe.prepared(estimator)
    return recipe, X, recipe.rows(X, sample_weight, part)


def learn(estimator, recipe, monitor, rows, workers, before, X, seeds, folder):
    """Run the plan of a new fit, or that of a checkpoint, and publish the result."""
    params = estimator._params
    progress = Progress(folder, seeds.randint(2**31 - 1))
    observer = FitObserver(estimator, params.max_iter, lambda monitor: attributes(recipe, monitor), X)
    saved, rng = progress.resumed(params.max_iter), np.random.default_rng(progress.seed)
    plan = recipe.plan(rows, rng, workers, before) if saved is None else recipe.resumed(rows, saved, rng)
    carry_out(plan, monitor, workers, observer, progress, saved)
    publish(estimator, recipe, monitor)
    observer.finish()


def carry_out(plan, monitor, workers, observer=None, progress=None, saved=None):
    """Run all epochs of a plan; the monitor holds the state that an interrupt publishes."""
    source = plan.rows.source
    monitor.max_iter = monitor.max_iter if plan.max_iter is None else plan.max_iter
    monitor.tol = monitor.tol if plan.tol is None else plan.tol
    observer = observer if plan.judge is None else plan.judge(monitor, observer)
    monitor.schedule, monitor.observer, monitor.about = plan.schedule, observer, plan.about
    monitor.model, monitor.n_rows = plan.model, len(plan.rows)
    visit, memory = collect, lambda: plan.rows.memory
    if source is not None:
        monitor.n_rows = source.begin(plan, monitor, None if saved is None else saved["memory"])
        visit, memory = source.collect, source.memory
    if saved is not None:
        monitor.resume(saved["record"])
        monitor.about = plan.about  # files of earlier versions lack some
        if saved["observer"] is not None:
            observer.resume(saved["observer"])
    last = () if progress is None else (Checkpoints(progress, memory, observer),)  # after all changes
    monitor.stats = run(
        plan.model, plan.rows, plan.schedule, monitor, workers, plan.stats, visit, (*plan.hooks, *last)
    )  # fmt: skip
    if plan.judge is not None:
        observer.restore(monitor, workers)
    if plan.finish is not None:
        plan.finish(monitor, workers)


def plan_of_checkpoint(rows, source, saved):
    """The plan that a checkpoint holds, for rows in the form that its model reads; without what is made again."""
    if source is None:
        rows.memory = saved["memory"]
    else:
        rows.source = source
    return Plan(rows, saved["model"], saved["stats"], saved["schedule"], about=saved["record"]["about"])


# -- results


def attributes(recipe, monitor):
    """Fitted attributes after the last step of a monitor."""
    found = {
        "n_samples_seen_": monitor.n_rows if monitor.max_iter else 0,  # an initialisation alone counts no rows
        "n_iter_": monitor.n_epochs_done,
        "n_steps_": 0,
        "converged_": monitor.converged,
        "history_": list(monitor.history),
        **recipe.published(monitor.model, monitor.stats, monitor.about),
    }
    monitor.view(found["_fitted"])
    if monitor.lower_bounds:
        found |= {"lower_bounds_": monitor.lower_bounds, "lower_bound_": monitor.lower_bounds[-1]}
    return found


def publish(estimator, recipe, monitor):
    """Publish the fit if it has completed a step; return whether it has."""
    if monitor.stats is None:
        return False
    for name in (*OF_FIT, *OF_STREAM):
        vars(estimator).pop(name, None)
    vars(estimator).update(attributes(recipe, monitor))
    return True


def warn_unless_converged(estimator, monitor):
    """Warn of a fit that could have converged and did not."""
    params = estimator._params
    could_have = monitor.schedule.has_bound and params.tol != 0  # tol=0 means max_iter epochs
    if could_have and not estimator.converged_ and 0 < params.max_iter == estimator.n_iter_:
        warn_caller(
            f"the fit did not converge in max_iter={params.max_iter} epochs; raise max_iter or tol",
            ConvergenceWarning,
        )
