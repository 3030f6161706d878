"""Base class of estimators whose state is prior + statistics: fits, streams, and steps from external statistics."""

import warnings
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsemix._compat import FitObserver
from sparsemix._engine.loop import advance, collect, run
from sparsemix._engine.schedules import LARGEST_TIMES, stream
from sparsemix._estimator import row_memory
from sparsemix._estimator.absent import UNFITTED, Absent, by_fit, check_continues
from sparsemix._estimator.base import SparsemixEstimator, seeded
from sparsemix._estimator.checkpoints import CheckpointFolder
from sparsemix._estimator.input.checks import warn_of_light_weights
from sparsemix._estimator.parameters import plain, plain_arguments
from sparsemix._estimator.progress import Checkpoints, Progress, fingerprint, identity, make_monitor
from sparsemix._rows.rates import learning_rate, rule_of
from sparsemix._rows.threads import Workers, interrupts_wait
from sparsemix._stats.suffstats import SufficientStatistics

# Attributes of the last ``fit``; a later step of a stream removes them.
OF_FIT = ("lower_bound_", "lower_bounds_", "converged_", "history_")
# Attributes of a stream; ``fit`` and ``update_from_stats`` remove them.
OF_STREAM = ("_first_documents", "_recent")


@dataclass
class FitSetup:
    """Initial state of a fit or a stream: rows in the form that the model reads, the model, and statistics of all rows.
    """

    rows: object
    model: object
    stats: object
    schedule: object = None  # of a stream: schedule of the epochs over its first block; None means batch steps
    about: dict = field(default_factory=dict)  # attributes of the estimator that describe the initialisation


def no_bound(estimator):
    """Reason for a missing bound of the last fit, with a remedy."""
    if not hasattr(estimator, "_fitted"):
        return UNFITTED
    other = "call lower_bound(expected_stats(X))"
    if estimator._params.learning_method == "online":
        return f'learning_method="online" computes no bound of all rows; use "batch" or "memoized", or {other}'
    if "history_" not in vars(estimator):
        return f"only fit sets it, and what was learned last did not come from fit; {other}"
    if estimator._params.learning_method == "memoized":
        return f'learning_method="memoized" computes it from epoch 2 on; set max_iter to at least 2, or {other}'
    return f"the fit ran no epoch; set max_iter to at least 1, or {other}"


class AdditiveEstimator(SparsemixEstimator):
    """Learns by steps from statistics. ``_fitted`` holds a model and its statistics.

    An estimator has the parameters ``max_iter``, ``total_samples``, ``step_size``, ``warm_start``, ``n_jobs``,
    ``verbose`` and ``random_state``, may have ``tol``, and defines

    - ``_fitted_class``: class of the published state, made of model and statistics;
    - ``_check(X, reset)``: X as checked numbers;
    - ``_weighted(X, sample_weight, part)``: rows of positive weight of checked X, which may be a ``part`` of all rows;
    - ``_begin_fit(rows, rng, workers, warm)`` and ``_begin_stream(rows, rng, workers)``: a ``FitSetup``;
    - ``_view(model, rows, n_seen)``: model and rows of a visit, if the model converts rows or depends on their number;
    - ``_row_memory(model, n_rows, first_row)``, if the model stores something for each row between visits.

    It also defines the documented public methods, which call those of this class.
    """

    _fixed_params = {"tol": 0.0}  # noqa: RUF012
    lower_bound_, lower_bounds_ = Absent(no_bound), Absent(no_bound)
    converged_, history_, n_iter_ = Absent(by_fit), Absent(by_fit), Absent(by_fit)
    n_samples_seen_, n_steps_ = Absent(UNFITTED), Absent(UNFITTED)
    # Name of the statistic that counts rows, if "mass", which scales statistics, counts something else.
    _rows_statistic = "mass"
    # Epochs over the first block of a stream before it is counted; no later call sees this block.
    _stream_first_passes = 0
    # Whether row numbers, which seed random numbers, continue from block to block of a stream; else each call starts at
    # 0.
    _numbers_go_on = False
    # First rows of a stream, to repeat its initialisation; ``fit`` and ``update_from_stats`` remove them.
    _first_documents = None
    # Seconds after which the current epoch is the last; for the command line.
    _stop_after = None

    # -- learning

    def _read(self, X, sample_weight, reset, may_be_empty=False, **annotations):
        """Checked X, and its rows of positive weight."""
        X = self._check(X, reset)
        return X, self._weighted(X, sample_weight, may_be_empty, **annotations)

    def _fit(self, X, sample_weight, checkpoint=None, **annotations):
        """Learn from all rows; ``annotations`` are what ``_weighted`` takes besides weights."""
        params = self._params
        monitor = make_monitor(self)
        with self._all_or_nothing(lambda: self._publish(monitor)), Workers(params.n_jobs) as workers:
            warm = params.warm_start and hasattr(self, "_fitted")
            X, rows = self._read(X, sample_weight, reset=not warm, **annotations)
            warn_of_light_weights(rows.sample_weight)
            opened = nullcontext()
            if checkpoint is not None:
                opened = CheckpointFolder(checkpoint, identity(self, self._fingerprints(rows)))
            with opened as folder:
                self._learn(monitor, rows, workers, warm, X, check_random_state(params.random_state), folder)
        self._warn_unless_converged(monitor)
        self._check_fit(X)
        return self

    def _check_fit(self, X):
        """Warn of a fit that is of no use; X as it was checked."""

    def _fingerprints(self, rows):
        """Fingerprints of all data that determine a fit."""
        return [fingerprint(rows.X, rows.sample_weight), *self._other_fingerprints()]

    def _other_fingerprints(self):
        """Fingerprints of data other than the rows."""
        return []

    @contextmanager
    def _watched_by(self, validation_data):
        """Context of a fit that monitors validation rows; most estimators accept none."""
        if validation_data is not None:
            raise TypeError(f"{type(self).__name__} does not use validation_data; leave it out")
        yield

    def _learn(self, monitor, rows, workers, warm, X, seeds, folder=None):
        """Fit from an initialisation or a checkpoint, with callbacks."""
        progress = Progress(folder, seeds.randint(2**31 - 1))
        observer = FitObserver(self, self._params.max_iter, self._attributes, X)
        self._run(monitor, rows, np.random.default_rng(progress.seed), workers, warm, observer, progress)
        self._publish(monitor)
        observer.finish()

    def _run(self, monitor, rows, rng, workers, warm, observer, progress):
        """Run all epochs; the monitor holds the state that an interrupt publishes."""
        resumed = progress.resumed(self._params.max_iter)
        begin = self._begin_fit(rows, rng, workers, warm) if resumed is None else self._resume(rows, resumed)
        source = begin.rows.source
        monitor.schedule, monitor.observer = begin.schedule, observer
        monitor.model, monitor.n_rows, monitor.about = begin.model, len(begin.rows), begin.about
        if source is not None:
            monitor.n_rows = source.begin(begin, monitor, None if resumed is None else resumed["memory"])
        if resumed is not None:
            monitor.resume(resumed["record"])
            if resumed["observer"] is not None:
                observer.resume(resumed["observer"])
        memory = (lambda: begin.rows.memory) if source is None else source.memory
        hooks = [*self._hooks(begin), Checkpoints(progress, memory, observer)]  # the last, after all changes
        monitor.stats = run(
            begin.model, begin.rows, begin.schedule, monitor, workers, begin.stats,
            collect if source is None else source.collect, hooks,
        )  # fmt: skip

    def _hooks(self, begin):  # noqa: ARG002
        """Hooks of the fit loop; none by default."""
        return []

    def _resume(self, rows, resumed):
        """The setup of a fit that continues from a checkpoint."""
        model = resumed["model"]
        source, rows = rows.source, self._view(model, rows, 0)[1]
        if source is None:
            rows.memory = resumed["memory"]
        else:
            rows.source = source
        return FitSetup(rows, model, resumed["stats"], resumed["schedule"], resumed["record"]["about"])

    def _partial_fit(self, X, sample_weight, **annotations):
        """Learn from one more block of a stream."""
        self._validate_params()  # scikit-learn does that in the first call only
        with self._all_or_nothing(self._step_was_made()), Workers(self._params.n_jobs) as workers:
            first = not hasattr(self, "_fitted")
            if not first:
                check_continues(self._params, self._structure(), "partial_fit", "call fit")
            _, rows = self._read(X, sample_weight, reset=first, may_be_empty=not first, **annotations)
            if self._params.total_samples is None:  # else steps scale the block to the size of the data
                warn_of_light_weights(rows.sample_weight)
            elif self._params.step_size[0] == "half_life":
                raise ValueError(
                    "step_size=('half_life', h) is for rows that come once, total_samples for rows that come again; "
                    "give only one of them"
                )
            if first:
                self._start_stream(rows, workers)
            if rows.informative:  # rows without information should not discount earlier rows
                rows = self._before_block(rows, workers)
                self._absorb(self._collect(rows, workers), len(rows), workers)
        return self

    def _structure(self):
        """Parameters that define the fitted model, with their values; a call that continues it refuses others."""
        return {"n_components": self._fitted.model.n_components}

    def _expected_stats(self, X, sample_weight, first_row=None, memory=None):
        """Statistics of rows under the fitted model."""
        check_is_fitted(self)
        first_row = plain(first_row)
        X, rows = self._read(X, sample_weight, reset=False, may_be_empty=True)
        place = X.shape[0], self._first_row(first_row)
        row_memory.check_place(*place)
        if memory is not None:
            row_memory.check(memory, self._fitted.model, rows, *place)
        with Workers(self._params.n_jobs) as workers:
            stats = self._collect(rows, workers, first_row, memory)
            stats.settle()  # the model may learn later
        return stats

    def _before_block(self, rows, workers):  # noqa: ARG002
        """Hook before a block of a stream is absorbed; it may replace ``_fitted`` but not change it in place.

        Returns the rows to absorb.
        """
        return rows

    def _start_stream(self, rows, workers):
        """Model and initial statistics from the first block."""
        params = self._params
        begin = self._begin_stream(rows, seeded(params.random_state), workers)
        model, stats = begin.model, begin.stats
        if params.total_samples is not None:
            stats.scale(self._times(rows.mass))
        model.global_step(stats)
        if params.total_samples is None:
            for _ in range(self._stream_first_passes):
                self._learn_first(begin, workers)
        fitted = self._fitted_class(model, begin.stats)
        vars(self).update(_fitted=fitted, n_samples_seen_=0, n_steps_=0, **begin.about)

    def _learn_first(self, begin, workers):
        """One epoch over the first block of a stream, before it is counted."""
        model, stats, rows = begin.model, begin.stats, begin.rows
        if begin.schedule is None:
            new = collect(model, rows, slice(0, len(rows)), workers)
            new.settle()
            model.global_step(stats.clear().add(new))
            return
        for selection in begin.schedule.batches():
            new = collect(model, rows, selection, workers)
            begin.stats = advance(model, begin.schedule, begin.stats, new, workers.split)

    def _collect(self, rows, workers, first_row=None, memory=None):
        """Statistics of rows under the fitted model; row numbers follow ``_numbers_go_on``."""
        model, rows = self._view(self._fitted.model, rows, self.n_samples_seen_)
        rows.first_row, rows.memory = self._first_row(first_row), memory
        return collect(model, rows, slice(0, len(rows)), workers)

    def _first_row(self, given):
        """Number of a block's first row."""
        return (self.n_samples_seen_ if self._numbers_go_on else 0) if given is None else given

    def _view(self, model, rows, n_seen):  # noqa: ARG002
        return model, rows

    @plain_arguments
    def row_memory(self, n_rows: int, first_row: int = 0) -> Any:
        """An empty memory, in which ``expected_stats`` stores information on rows between visits.

        Parameters
        ----------
        n_rows : int
            Number of rows.
        first_row : int, default=0
            Index of the first row in the whole data.

        Returns
        -------
        memory : object or None
            Argument ``memory`` of ``expected_stats``. Use it for the same rows only, and not after another ``fit``.
            None if the estimator stores nothing for rows.

        Raises
        ------
        ValueError
            If ``n_rows`` or ``first_row`` is not an integer from 0 to 2**60.
        """
        check_is_fitted(self)
        row_memory.check_place(n_rows, first_row)
        model = self._fitted.model
        return row_memory.label(self._row_memory(model, n_rows, first_row), model, int(n_rows), int(first_row))

    def _row_memory(self, model, n_rows, first_row):  # noqa: ARG002
        return None

    def lower_bound(self, stats: Any = None) -> float:
        """Lower bound of the rows that the statistics summarise, at the posterior that these statistics give.

        Parameters
        ----------
        stats : SufficientStatistics, default=None
            Statistics of all rows: the sum over blocks of the results of ``expected_stats``. None means those of the
            last step; after ``update_from_stats`` with ``learning_rate=1`` these include all rows.

        Returns
        -------
        bound : float
            In nats, as ``lower_bound_``. NaN if the inference has no bound.

        Raises
        ------
        TypeError, ValueError
            For anything but statistics of this model's shapes.
        """
        check_is_fitted(self)
        if stats is not None:
            self._check_stats(stats)
        return float(self._fitted.model.lower_bound(self._fitted.stats if stats is None else stats))

    def _check_stats(self, stats):
        if not isinstance(stats, SufficientStatistics):
            raise TypeError(f"stats is a {type(stats).__name__}; give a result of expected_stats, or a sum of such")
        self._fitted.stats.check_alike(stats)

    # -- fitted attributes

    def _attributes(self, monitor):
        """Fitted attributes after the last step of a monitor."""
        attributes = {
            "_fitted": monitor.view(self._fitted_class(monitor.model, monitor.stats)),
            "n_samples_seen_": monitor.n_rows if monitor.max_iter else 0,  # an initialisation alone counts no rows
            "n_iter_": monitor.n_epochs_done,
            "n_steps_": 0,
            "converged_": monitor.converged,
            "history_": list(monitor.history),
            **monitor.about,
        }
        if monitor.lower_bounds:
            attributes |= {"lower_bounds_": monitor.lower_bounds, "lower_bound_": monitor.lower_bounds[-1]}
        return attributes

    def _publish(self, monitor):
        """Publish the fit if it has completed a step; return whether it has."""
        if monitor.stats is None:
            return False
        for name in (*OF_FIT, *OF_STREAM):
            vars(self).pop(name, None)
        vars(self).update(self._attributes(monitor))
        return True

    def _warn_unless_converged(self, monitor):
        params = self._params
        could_have = monitor.schedule.has_bound and bool(params.tol)  # tol=0 means max_iter epochs
        if could_have and not self.converged_ and 0 < params.max_iter == self.n_iter_:
            warnings.warn(
                f"the fit did not converge in max_iter={params.max_iter} epochs; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- steps from statistics

    @plain_arguments
    def update_from_stats(self, stats: Any, learning_rate: float | None = None) -> Self:
        """Take one global step from the statistics of ``expected_stats``.

        Parameters
        ----------
        stats : SufficientStatistics
            Statistics of one block, or the sum over several.
        learning_rate : float in (0, 1], default=None
            Step size rho: the model's statistics become (1 - rho) times themselves plus rho times these, scaled to the
            whole data. 1 replaces them; with the statistics of all rows that is one step of batch learning. None is the
            rule of ``partial_fit``.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            For anything but statistics of this model's shapes.

        Notes
        -----
        ``n_samples_seen_`` grows by the number of rows in the statistics. With ``learning_rate=1`` it becomes this
        number, since earlier rows no longer count.
        """
        check_is_fitted(self)
        if learning_rate is not None and not 0.0 < learning_rate <= 1.0:
            raise ValueError(f"learning_rate is {learning_rate}; it must be in (0, 1], or None")
        self._check_stats(stats)
        with self._all_or_nothing(self._step_was_made()), Workers(self._params.n_jobs) as workers:
            for name in OF_STREAM:
                vars(self).pop(name, None)
            self._absorb(stats, stats.n_rows, workers, learning_rate)
        return self

    def _step_was_made(self):
        """A function that returns whether a step was completed since this call. Ctrl-C waits for the step, which then
        stays."""
        before = getattr(self, "n_steps_", 0)
        return lambda: getattr(self, "n_steps_", 0) > before

    def _absorb(self, new, n_rows, workers, rho=None):
        """S <- (1 - rho) (N_t / N_{t-1}) S + rho (N_t / n_b) s_b, in place, and a global step."""
        params = self._params
        if not new.informative:  # rows without information should not discount earlier rows
            return
        model, stats = copy(self._fitted.model), self._fitted.stats
        n_seen = n_rows + (0 if rho == 1.0 else self.n_samples_seen_)
        total, first = params.total_samples, self.n_samples_seen_ == 0
        if rho is not None:
            total = float((stats if rho < 1.0 else new)["mass"])
        elif total is not None:
            self._times(float(new[self._rows_statistic]))
            total *= float(stats["mass"]) / float(stats[self._rows_statistic])
            rho = learning_rate(self.n_steps_ + 1, *rule_of(params.step_size))
        elif params.step_size[0] == "half_life" and not first:
            n_b, (_, half_life) = float(new["mass"]), params.step_size
            total = 0.5 ** (n_b / half_life) * float(stats["mass"]) + n_b
            rho = n_b / total
        if rho == 1.0 or (first and total is None):  # earlier statistics have weight zero
            stats = stats.zeros_like()
        elif self._fitted.shared or not stats.writeable:
            before, stats = stats, stats.copy()
            new.follow(before, stats)
        with interrupts_wait():
            undo, fitted = stats.undoing(new), None
            try:
                stats = stream(stats, new, total, rho, first)
                model.global_step(stats, workers.split)
                fitted = type(self._fitted)(model, stats)
                self._set_step(fitted, n_seen)
            except BaseException:
                if self._fitted is not fitted:
                    undo()
                raise

    def _times(self, mass):
        """Ratio of ``total_samples`` to the weight of a block."""
        total = self._params.total_samples
        if total > LARGEST_TIMES * mass:
            raise ValueError(
                f"total_samples={total:g} is {total / mass:.3g} times the weight of all rows of X, more than "
                f"{LARGEST_TIMES:g}: lower it, or multiply sample_weight by a number"
            )
        return total / mass

    def _set_step(self, fitted, n_seen):
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(
            _fitted=fitted,
            n_samples_seen_=n_seen,
            n_steps_=self.n_steps_ + 1,
        )
