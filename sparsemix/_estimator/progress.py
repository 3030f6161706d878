"""Progress of a fit, and its checkpoints."""

import numbers
import time

import numpy as np
from scipy import sparse

from sparsemix._engine.loop import Hook
from sparsemix._engine.monitor import Monitor
from sparsemix._estimator.checkpoints import checksum
from sparsemix._kernels.vectors import _simd

# Parameters that may change when a fit continues from a checkpoint.
FREE = ("max_iter", "tol", "dense_output", "n_jobs", "verbose")


# Scores in records of ``history_``, and what they are.
SCORES = {
    "score": "Held-out log-likelihood per token",
    "coherence": "Coherence (mean NPMI)",
    "lower_bound_per_token": "Lower bound per token",
    "log_joint_per_token": "Log joint probability per token",
    "lower_bound_per_row": "Lower bound per row",
    "log_joint_per_row": "Log joint probability per row",
    "log_predictive_per_row": "Log predictive density per row",
}
# Least seconds between lines within an epoch.
LINE_SECONDS = 10.0


class Progress:
    """State of a fit at its last checkpoint.

    Parameters
    ----------
    folder : CheckpointFolder or None
    seed : int
        Seed of a new fit; a resumed fit keeps its own seed.
    """

    def __init__(self, folder, seed):
        self.folder = folder
        state = None if folder is None else folder.load()
        self.state = {"seed": seed, "now": None, "number": 0} if state is None else state
        self.seed = self.state["seed"]

    def resumed(self, max_iter):
        """State at the last checkpoint, returned once; None for a new fit. Raises if it has more epochs."""
        now, self.state["now"] = self.state["now"], None
        if now is not None and max_iter is not None and len(now["record"]["history"]) > max_iter:
            n_epochs = len(now["record"]["history"])
            raise ValueError(
                f"max_iter is {max_iter}, but the fit of the checkpoints in {self.folder.path} has {n_epochs} epochs; "
                f"raise max_iter to at least {n_epochs}, or give another folder"
            )
        return now

    def save(self, now):
        """Write the next checkpoint."""
        self.state["number"] += 1
        self.folder.save(self.state["number"], self.state | {"now": now})


class EpochProgress:
    """Prints how many rows of an epoch over blocks are done and the time left, if the fit is verbose.

    Lines, and no bar that moves: they are the same in terminals, notebooks and files.

    Parameters
    ----------
    monitor : Monitor
    n_rows : int
        Rows of an epoch.
    """

    def __init__(self, monitor, n_rows):
        self._monitor, self._n_rows, self._epoch = monitor, n_rows, None

    def begin_step(self):
        """A step begins, which may be the first of an epoch."""
        if self._epoch != self._monitor.n_epochs_done:
            self._epoch, self._done = self._monitor.n_epochs_done, 0
            self._begun = self._printed = time.perf_counter()

    def end_step(self, n_rows):
        """A step of some rows has ended."""
        self._done += n_rows
        self.show()

    def show(self, n_rows=0):
        """Print a line if the last one is old; ``n_rows`` are done of the current step."""
        monitor, now, done = self._monitor, time.perf_counter(), self._done + n_rows
        if not monitor.verbose or not 0 < done < self._n_rows or now - self._printed < LINE_SECONDS:
            return
        self._printed, seconds = now, now - self._begun
        print(
            f"{monitor.name} epoch {self._epoch + 1:3d}/{monitor.max_iter}  {done:,} of {self._n_rows:,} rows in "
            f"{seconds:.0f} s, about {seconds * (self._n_rows / done - 1.0):.0f} s left in this epoch",
            flush=True,
        )


class Checkpoints(Hook):
    """Saves a checkpoint after an epoch if the fit has a folder; ``memory()`` returns the row memory."""

    def __init__(self, progress, memory, observer):
        self.progress, self.memory, self.observer = progress, memory, observer

    def after(self, epoch, fit, stats):
        """See Hook."""
        folder, monitor = self.progress.folder, fit.monitor
        over = monitor.converged or monitor.stopped or epoch == monitor.max_iter
        if folder is not None and (over or epoch % folder.every == 0):
            parts = {"model": fit.model, "stats": stats, "schedule": fit.schedule}
            state = self.observer.state() if hasattr(self.observer, "state") else None
            self.progress.save(parts | {"memory": self.memory(), "record": monitor.record(), "observer": state})


def make_monitor(estimator):
    """The monitor of a new fit; ``carry_out`` adds schedule and observer."""
    params = estimator._params
    return Monitor(
        params.max_iter, params.tol, None, params.verbose, type(estimator).__name__,
        max_seconds=estimator._stop_after,
    )  # fmt: skip


def identity(estimator, data):
    """Properties that a fit must share with a checkpoint to continue from it; ``data`` are fingerprints."""
    names, params = set(estimator.get_params(deep=False)) - set(FREE), estimator._params
    return {
        "estimator": type(estimator).__name__,
        "instruction set": _simd.instruction_set(),
        **{f"parameter {name}": described(getattr(params, name)) for name in sorted(names)},
        "data": [list(part) for part in data],
    }


def described(value):
    """Text that identifies the value of a parameter."""
    if isinstance(value, np.random.RandomState):
        return "RandomState"
    if isinstance(value, numbers.Number) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, dict):
        return repr({name: described(each) for name, each in value.items()})
    try:
        array = value if sparse.issparse(value) else np.asarray(value)
    except ValueError:  # lists of different lengths, such as columns of several kinds
        return repr(value)
    return repr(value) if array.dtype.hasobject else repr(fingerprint(array))


def fingerprint(X, sample_weight=None):
    """Number of rows, and a checksum of all numbers including weights."""
    crc = 0
    for array in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        crc = checksum_of(array, crc)
    if sample_weight is not None:
        crc = checksum_of(sample_weight, crc)
    return X.shape[0] if X.ndim else 1, crc


def checksum_of(array, crc):
    """Checksum of an array, computed in slices of rows, so that a memory-mapped file is never read as a whole."""
    rows = np.atleast_1d(array)
    step = max(1, (1 << 22) // max(1, rows[:1].nbytes))
    for start in range(0, len(rows), step):
        part = np.ascontiguousarray(rows[start : start + step])
        if part.size:
            crc = checksum(memoryview(part.reshape(-1).view(np.uint8)), crc)
    return crc
