"""What a fit tells: bounds, history, convergence, progress."""

import time
import weakref

import numpy as np


class Monitor:
    """Keeps the record of a fit and decides when it ends.

    Parameters
    ----------
    max_iter : int
        Laps over the data.
    tol : float
        The fit has converged when an epoch gains less than this per row, or per token (and loses nothing); without a
        bound, when what a model tells as its change is less than this per token, and not growing.
    schedule : Schedule or Sweeps or None
        Says whether there is a bound, and from which epoch on bounds compare and the fit may converge. None: the caller
        sets it before the first epoch.
    verbose : int
        Print a line every ``verbose`` epochs; 0 is silent.
    name : str
        Of the estimator, for those lines.
    observer : object, optional
        Its ``begin(epoch)`` and ``end(monitor)`` are called around every epoch; the latter may return True to stop.
    max_seconds : float, optional
        End after the epoch that reaches this time.
    started : float, optional
        ``time.perf_counter()`` when the fit began, its start included; None: now.
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
        """Laps completed."""
        return len(self.history)

    @property
    def lower_bounds(self):
        """Bound after each epoch from which on epochs compare."""
        if not self.schedule.has_bound:
            return []
        first = self.schedule.first_comparable_lap
        return [record["lower_bound"] for record in self.history if record["n_iter"] >= first]

    def begin(self, epoch):
        """An epoch begins."""
        if self.observer is not None:
            self.observer.begin(epoch)

    def before_step(self):
        """Statistics change from here on: there is nothing to publish, and who looks at them gets a copy."""
        stats, self.stats = self.stats, None
        for viewer in [view() for view in self._views]:
            if viewer is not None:
                viewer.keep(stats.copy())
        self._views = []

    def step(self, stats, model=None):
        """A step is complete: these statistics (and the model, if it changes with them) an interrupted fit leaves."""
        self.model = self.model if model is None else model
        self.stats = stats

    def view(self, fitted):
        """Something made of the present statistics is handed out; if it lives at the next step, it keeps these."""
        self._views.append(weakref.ref(fitted))
        return fitted

    def epoch(self, epoch, model, stats, undone=False):
        """Record an epoch; returns whether the fit ends, of which one that was ``undone`` tells nothing."""
        size, name = model.size(stats) or 1.0, model.objective  # a start may look at empty documents alone
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
                f"{self.name} pass {epoch:3d}/{self.max_iter}  {self.history[-1]['seconds']:7.1f} s" + value
                + ("  converged" * self.converged),
                flush=True,
            )  # fmt: skip
        self.stopped = self.observer is not None and bool(self.observer.end(self))
        return self.converged or self.stopped or self.history[-1]["seconds"] >= self.max_seconds

    def go_on(self):
        """The next epoch will find what this one has missed; returns whether the fit ends all the same."""
        self.history[-1]["repaired"], self.converged = True, False
        return self.stopped or self.history[-1]["seconds"] >= self.max_seconds

    def _judge(self, size):
        """Whether the fit has converged, from the record alone."""
        bounds, last = self.lower_bounds, self.history[-1]
        if self.n_epochs_done < self.schedule.least_laps or last.keys() & {"undone", "repaired"}:
            self.converged = False
        elif len(bounds) > 1:
            self.converged = bool(0.0 <= (bounds[-1] - bounds[-2]) / size < self.tol)
        elif "change" in last:
            self.converged = bool(last["change"] / size < self.tol and last["change"] <= self.history[-2]["change"])

    # -- a fit that goes on elsewhere

    def record(self):
        """What a later monitor of this fit goes on from."""
        return {name: getattr(self, name) for name in ("history", "converged", "stopped", "n_rows", "about")}

    def resume(self, record):
        """Go on from there; the clock too."""
        vars(self).update(record)
        self._start -= self.history[-1]["seconds"]

    def is_over(self, model, stats):
        """Whether what was resumed had come to its end, by the present tolerance."""
        if not self.stopped:
            self._judge(model.size(stats))
        return self.converged or self.stopped
