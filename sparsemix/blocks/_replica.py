"""The side of a worker: the tasks of a fit, and the replica of the fit that a worker keeps between them.

A replica stores the model and the row memory of the units that it has visited. Each task carries the version of the
model that it needs, and the statistics of the steps that its worker lacks. If that is not enough, because another
worker took the task over or started late, the task returns ``BEHIND``, and the client repeats it with everything.
"""

import contextlib
import pickle
import threading
import time
from collections import OrderedDict, defaultdict

import cloudpickle
import numpy as np
from distributed import get_worker

from sparsemix._engine.loop import advance
from sparsemix._engine.rounds.tree import Tree
from sparsemix._estimator.blockwise import named
from sparsemix._kernels.vectors import _simd
from sparsemix._rows.threads import Workers
from sparsemix._version import __version__
from sparsemix.blocks._data import raw_of

# Fits that a worker keeps at once.
MOST_REPLICAS = 4
# Result of a task whose worker lacks what it needs.
BEHIND = "behind"


class Frozen:
    """A pickled value: later changes do not affect it, and Dask knows its size, so that it moves small values."""

    def __init__(self, value):
        try:
            self._bytes = pickle.dumps(value, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError):  # functions defined in a session
            self._bytes = cloudpickle.dumps(value)

    def __sizeof__(self):
        return object.__sizeof__(self) + len(self._bytes)

    def thaw(self):
        """A new copy of the value."""
        return pickle.loads(self._bytes)


class FitState:
    """The job, and everything that a step changes."""

    def __init__(self, job, model, stats, schedule):
        self.job, self.model, self.stats, self.schedule = job, model, stats, schedule


class Checked:
    """Rows of a block that the client has checked."""

    def __init__(self, rows):
        self.rows = rows


class Replica:
    """Copy of a fit in a worker process, used by one task at a time, with the last block that it read."""

    def __init__(self):
        self.lock = threading.Lock()
        self.version, self.state = None, None
        self._last = None, None
        self._memories = {}  # by unit: number of visits, memory

    def catch_up(self, version, base, deltas, split):
        """Whether the replica has the wanted version, after the steps of ``deltas`` or with a new state."""
        if base is not None and self.version != version:
            self.version = None
            self.state, self.version = base.thaw(), version
        for reached, current, delta in deltas:
            if self.version != reached - 1 or delta == BEHIND:
                continue
            self.version = None  # if the step raises, the state is of no version
            state = self.state
            state.schedule.current = current
            state.stats = advance(state.model, state.schedule, state.stats, delta.thaw(), split)
            self.version = reached
        return self.version == version

    def take(self, unit, visits, memory):
        """Remove and return the row memory of a unit; ``BEHIND`` if it was visited elsewhere."""
        mine, remembered = self._memories.pop(unit, (None, None))
        if memory is not None:
            return memory.thaw()
        return remembered if mine == visits else BEHIND

    def keep(self, unit, visits, memory):
        """Keep the row memory of a unit after a visit."""
        self._memories[unit] = visits, memory

    def rows(self, job, number, source):
        """Checked rows of a block; the last block is cached."""
        key = number, job.form
        if self._last[0] != key:
            self._last = None, None
            value = raw_from(number, source)
            self._last = key, value.rows if isinstance(value, Checked) else job.checked(number, value)
        return self._last[1]


_replicas = defaultdict(OrderedDict)  # by the address of the worker, since threads can be workers too
_lock = threading.Lock()


def replica_of(run):
    """The replica of a fit at this worker; the oldest replicas are dropped."""
    with _lock:
        own = _replicas[get_worker().address]
        replica = own.pop(run, None) or Replica()
        own[run] = replica
        while len(own) > MOST_REPLICAS:
            own.popitem(last=False)
        return replica


def forget(run, dask_worker):
    """Drop the replica of a finished fit; Dask gives the worker by this name."""
    with _lock:
        _replicas[dask_worker.address].pop(run, None)


# -- functions of tasks


def look(numbers, sources, weights, task):
    """Run a method of the job on a block."""
    run, job, name, arguments, signed = task.thaw()
    check_signature(signed)
    replica = replica_of(run)
    with worker_named(), replica.lock, Workers(threads()) as workers:
        X = replica.rows(job, numbers[0], sources[0])
        return Frozen(getattr(job, name)(numbers[0], X, thawed(weights[0]), workers, *arguments))


def visit(numbers, sources, weights, units, memories, fit, base, deltas):
    """Visit parts of blocks: sum of statistics as a branch of the tree, and remains; or ``BEHIND``.

    ``memories`` has for each unit its number of visits, and its row memory if the worker lacks it.
    """
    run, version, signed, n_visited, alone = fit
    check_signature(signed)
    replica, tree, kept = replica_of(run), Tree(), []
    with worker_named(), replica.lock, Workers(threads()) as workers:
        if not replica.catch_up(version, base, deltas, workers.split):
            return BEHIND
        state, started = replica.state, time.perf_counter()
        for number, source, weight, unit, (visits, memory) in zip(
            numbers, sources, weights, units, memories, strict=True
        ):
            remembered = replica.take(unit, visits, memory)
            if isinstance(remembered, str):
                return BEHIND
            X = replica.rows(state.job, number, source)
            tree.push(state.job.visit(unit, X, thawed(weight), state.model, n_visited, remembered, workers, alone))
            replica.keep(unit, visits + 1, remembered)
            kept.append(remembered)
        seconds = time.perf_counter() - started
        return Frozen(tree.total()), (get_worker().address, Frozen(kept), seconds)


def part_of(result, number):
    """A part of the result of a visit."""
    return result if isinstance(result, str) else result[number]


def added(left, right):
    """Sum of two results."""
    if isinstance(left, str) or isinstance(right, str):
        return BEHIND
    return Frozen(left.thaw().add(right.thaw()))


def same(value):
    """Identity, for a task that holds a value."""
    return value


def thawed(value):
    """Thaw a frozen value; return any other value unchanged."""
    return value.thaw() if isinstance(value, Frozen) else value


def raw_from(number, source):
    """A block as it was given: from a reader, a frozen value, or the result of another task."""
    return raw_of(number, thawed(source))


def threads():
    """Threads of this worker; results do not depend on them."""
    return get_worker().state.nthreads


@contextlib.contextmanager
def worker_named():
    """Name the worker in the message of every error."""
    try:
        yield
    except Exception as error:
        raise named(error, f"worker {get_worker().address}") from error


def signature():
    """Versions and instruction set, which must be equal on all machines for equal bits."""
    return {"sparsemix": __version__, "numpy": np.__version__, "instruction set": _simd.instruction_set()}


def check_signature(signed):
    """Raise if the client has other versions or another instruction set."""
    own = signature()
    for name, value in signed.items():
        if own[name] != value:
            raise RuntimeError(
                f"worker {get_worker().address} has {name} {own[name]}, and the client has {value}; install the same "
                "versions, and use processors of one kind"
            )
