"""How far a fit has come, and the checkpoints that tell it."""

import numbers

import numpy as np
from scipy import sparse

from sparsemix._engine.checkpoints.folder import checksum
from sparsemix._engine.monitor import Monitor
from sparsemix._kernels.vectors import _simd

# Parameters that a fit may be gone on with under other values.
FREE = ("max_iter", "tol", "n_jobs", "verbose")


class Progress:
    """Where a fit stood.

    Parameters
    ----------
    folder : CheckpointFolder or None
    seed : int
        Of the fit; that of one that is gone on with holds.
    """

    def __init__(self, folder, seed):
        self.folder = folder
        state = None if folder is None else folder.load()
        self.state = {"seed": seed, "now": None, "number": 0} if state is None else state
        self.seed = self.state["seed"]

    def resumed(self):
        """What the fit left at its last checkpoint, once; None where it begins."""
        now, self.state["now"] = self.state["now"], None
        return now

    def keeper(self, monitor, begin, memory, observer):
        """What a loop calls after every epoch; ``memory()`` gives what is remembered of rows."""
        if self.folder is None:
            return None

        def keep(stats):
            over = monitor.converged or monitor.stopped or monitor.n_epochs_done == monitor.max_iter
            if over or monitor.n_epochs_done % self.folder.every == 0:
                parts = {"model": begin.model, "stats": stats, "schedule": begin.schedule, "moves": begin.moves}
                state = observer.state() if hasattr(observer, "state") else None
                self._save(parts | {"memory": memory(), "record": monitor.record(), "observer": state})

        return keep

    def _save(self, now):
        self.state["number"] += 1
        self.folder.save(self.state["number"], self.state | {"now": now})


def make_monitor(estimator):
    """The monitor of a fit that begins now; its schedule and observer come later."""
    params = estimator._params
    return Monitor(
        params.max_iter, params.tol, None, params.verbose, type(estimator).__name__,
        max_seconds=estimator._stop_after,
    )  # fmt: skip


def identity(estimator, data):
    """What two fits have to share for one to go on from the other's checkpoint; ``data`` are fingerprints."""
    names, params = set(estimator.get_params(deep=False)) - set(FREE), estimator._params
    return {
        "estimator": type(estimator).__name__,
        "instruction set": _simd.instruction_set(),
        **{f"parameter {name}": described(getattr(params, name)) for name in sorted(names)},
        "data": [list(part) for part in data],
    }


def described(value):
    """A parameter as text."""
    if isinstance(value, np.random.RandomState):
        return "RandomState"
    if isinstance(value, numbers.Number) or value is None or isinstance(value, str):
        return repr(value)
    array = value if sparse.issparse(value) else np.asarray(value)
    return repr(value) if array.dtype.hasobject else repr(fingerprint(array))


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
