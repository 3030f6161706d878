"""The record of a fit: bounds, history, convergence, progress lines."""

import time
import weakref

import numpy as np


class Monitor:
    """Records a fit and decides when it ends.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        The fit has converged when an epoch gains less than this per row or token, and loses nothing. Without a bound:
        when the model's change per token is below this and not growing.
    schedule : Schedule or Sweeps or None
        Says whether there is a bound, from which epoch bounds are comparable, and when the fit may converge. None: the
        caller sets it before the first epoch.
    verbose : int
        Print a line every ``verbose`` epochs; 0 is silent.
    name : str
        Name of the estimator, for those lines.
    observer : object, optional
        ``begin(epoch)`` and ``end(monitor)`` are called around every epoch; if ``end`` returns True, the fit stops.
    max_seconds : float, optional
        End after the epoch that reaches this time.
    started : float, optional
        ``time.perf_counter()`` when the fit began, including its initialisation; None: now.
    """

    def __init__(self, max_iter, tol, schedule, verbose=0, name="", observer=None, max_seconds=None, started=None):
        self.max_iter = max_iter
        self.tol = tol
        self.schedule = schedule
        self.verbose = verbose
        self.name = name
        self.observer = observer
        self.max_seconds = np.inf if max_seconds is None else max_seconds
        self.stats = self.model = None
        self._views = []
        self.converged = self.stopped = False
        self.history = []
        self._start = time.perf_counter() if started is None else started

    @property
    def n_epochs_done(self):
        """Epochs completed."""
        return len(self.history)

    @property
    def lower_bounds(self):
        """Bounds after each comparable epoch."""
        if not self.schedule.has_bound:
            return []
        first = self.schedule.first_comparable_epoch
        return [record["lower_bound"] for record in self.history if record["n_iter"] >= first]

    def begin(self, epoch):
        """Announce an epoch to the observer."""
        if self.observer is not None:
            self.observer.begin(epoch)

    def before_step(self):
        """The statistics are about to change: publish nothing, and give views a copy."""
        stats, self.stats = self.stats, None
        for viewer in [view() for view in self._views]:
            if viewer is not None:
                viewer.keep(stats.copy())
        self._views = []

    def step(self, stats, model=None):
        """A step is complete: an interrupted fit publishes these statistics (and ``model``, if it changes too)."""
        self.model = self.model if model is None else model
        self.stats = stats

    def view(self, fitted):
        """Register an object made from the current statistics; if still alive at the next step, it gets a copy."""
        self._views.append(weakref.ref(fitted))
        return fitted

    def epoch(self, epoch, model, stats, undone=False):
        """Record an epoch; returns whether the fit ends. An epoch that was ``undone`` cannot show convergence."""
        size, name = model.size(stats) or 1.0, model.objective  # the first documents may all be empty
        change = None if model.change is None or self.schedule.has_bound else model.change(stats)
        value = change if name == "change" else getattr(model, name)(stats)
        self.history.append(
            {
                "n_iter": epoch,
                "seconds": time.perf_counter() - self._start,
                name: float(value),
                f"{name}_per_{model.unit}": float(value / size),
            }
            | ({} if change is None else {"change": change})
        )
        if undone:
            self.history[-1]["undone"] = True
        self._judge(size)
        if self.verbose and epoch % self.verbose == 0:
            value = "" if np.isnan(value) else f"  {name.replace('_', ' ')} per {model.unit} {value / size:.4f}"
            print(
                f"{self.name} epoch {epoch:3d}/{self.max_iter}  {self.history[-1]['seconds']:7.1f} s" + value
                + ("  converged" * self.converged),
                flush=True,
            )  # fmt: skip
        self.stopped = self.observer is not None and bool(self.observer.end(self))
        return self.ended

    @property
    def ended(self):
        """Whether the fit ends after the last recorded epoch."""
        return self.converged or self.stopped or self.history[-1]["seconds"] >= self.max_seconds

    def repaired(self):
        """The memory of rows was repaired: the last epoch cannot show convergence."""
        self.history[-1]["repaired"], self.converged = True, False

    def _judge(self, size):
        """Set ``converged`` from the history."""
        bounds, last = self.lower_bounds, self.history[-1]
        if self.n_epochs_done < self.schedule.least_epochs or last.keys() & {"undone", "repaired"}:
            self.converged = False
        elif len(bounds) > 1:
            self.converged = bool(0.0 <= (bounds[-1] - bounds[-2]) / size < self.tol)
        elif "change" in last:
            self.converged = bool(last["change"] / size < self.tol and last["change"] <= self.history[-2]["change"])

    # -- continue a fit in another process

    def record(self):
        """The state from which a later monitor continues this fit."""
        return {name: getattr(self, name) for name in ("history", "converged", "stopped", "n_rows", "about")}

    def resume(self, record):
        """Continue from ``record``, including its clock."""
        vars(self).update(record)
        self._start -= self.history[-1]["seconds"]

    def is_over(self, model, stats):
        """Whether the resumed fit had already ended, by the current tolerance."""
        if not self.stopped:
            self._judge(model.size(stats))
        return self.converged or self.stopped
