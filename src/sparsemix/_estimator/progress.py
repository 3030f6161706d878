"""How far a fit has come, trial by trial, and the checkpoints that tell it."""

import numbers

import numpy as np
from scipy import sparse

from sparsemix._engine.checkpoints.folder import checksum
from sparsemix._engine.monitor import Monitor, Rule
from sparsemix._kernels.vectors import _simd

# Parameters that a fit may be gone on with under other values.
FREE = ("max_iter", "tol", "n_jobs", "verbose")


class Progress:
    """Trials of a fit: those that are over, and where the one at hand stood.

    Parameters
    ----------
    folder : CheckpointFolder or None
    seeds : list of int
        Of the trials; those of a fit that is gone on with hold.
    """

    def __init__(self, folder, seeds):
        self.folder = folder
        state = None if folder is None else folder.load()
        self.state = {"seeds": seeds, "finished": [], "now": None, "number": 0} if state is None else state

    @property
    def seeds(self):
        """Of the trials that are not over."""
        return self.state["seeds"][len(self.state["finished"]) :]

    def finished(self, make_monitor):
        """Monitors of the trials that are over; ``make_monitor(schedule)`` gives new ones."""
        return [monitor_of(kept, make_monitor(kept["rule"])) for kept in self.state["finished"]]

    def resumed(self):
        """What the trial at hand left at its last checkpoint, once; None where it begins."""
        now, self.state["now"] = self.state["now"], None
        return now

    def keeper(self, monitor, begin, memory, observer):
        """What a loop calls after every lap; ``memory()`` gives what is remembered of rows."""
        if self.folder is None:
            return None

        def keep(stats):
            over = monitor.converged or monitor.stopped or monitor.n_laps == monitor.max_iter
            if over or monitor.n_laps % self.folder.every == 0:
                parts = {"model": begin.model, "stats": stats, "schedule": begin.schedule, "moves": begin.moves}
                state = observer.state() if hasattr(observer, "state") else None
                self._save(parts | {"memory": memory(), "record": monitor.record(), "observer": state})

        return keep

    def finish(self, monitor):
        """A trial is over."""
        if self.folder is not None and len(self.seeds) > 1:
            rule = Rule.of(monitor.schedule)
            kept = {"model": monitor.model, "stats": monitor.stats, "record": monitor.record(), "rule": rule}
            self.state["finished"].append(kept)
            self._save(None)

    def _save(self, now):
        self.state["number"] += 1
        self.folder.save(self.state["number"], self.state | {"now": now})


def monitor_of(kept, monitor):
    """A monitor as it was at the end of its trial."""
    monitor.resume(kept["record"])
    monitor.model, monitor.stats = kept["model"], kept["stats"]
    return monitor


def make_monitor(estimator, schedule, observer=None, started=None):
    """The monitor of a trial."""
    return Monitor(
        estimator.max_iter, estimator.tol, schedule, estimator.verbose, type(estimator).__name__, observer,
        estimator._stop_after, started,
    )  # fmt: skip


def identity(estimator, data):
    """What two fits have to share for one to go on from the other's checkpoint; ``data`` are fingerprints."""
    params = {name: value for name, value in estimator.get_params(deep=False).items() if name not in FREE}
    return {
        "estimator": type(estimator).__name__,
        "instruction set": _simd.instruction_set(),
        **{f"parameter {name}": described(value) for name, value in params.items()},
        "data": [list(part) for part in data],
    }


def described(value):
    """A parameter as text."""
    if isinstance(value, np.random.RandomState):
        return "RandomState"
    if isinstance(value, numbers.Number) or value is None or isinstance(value, str):
        return repr(value.item() if isinstance(value, np.generic) else value)
    return repr(fingerprint(value if sparse.issparse(value) else np.asarray(value)))


def fingerprint(X, sample_weight=None):
    """Rows and a checksum of all numbers, weights included."""
    crc = 0
    for array in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        crc = checksum_of(array, crc)
    if sample_weight is not None:
        crc = checksum_of(sample_weight, crc)
    return X.shape[0] if X.ndim else 1, crc


def checksum_of(array, crc):
    """Checksum of an array, some of its rows after the other, so that a mapped file is never in memory as a whole."""
    rows = np.atleast_1d(array)
    step = max(1, (1 << 22) // max(1, rows[:1].nbytes))
    for start in range(0, len(rows), step):
        part = np.ascontiguousarray(rows[start : start + step])
        if part.size:
            crc = checksum(memoryview(part.reshape(-1).view(np.uint8)), crc)
    return crc
