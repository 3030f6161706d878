"""Blocks visited by the workers of a Dask cluster, to the same bits as in one process.

Nothing on a worker is irreplaceable. A visit is a plain task: where blocks are read, and what is remembered of their
rows, are its arguments; statistics are added by other tasks in the order of a fixed tree, whose root alone comes back.
Small blocks are visited several in a task, which adds their statistics as far as they are a branch of the tree.
What a process keeps is a ``Replica`` of the fit: it makes the steps that it has not seen from their statistics, which
are small, so that no model travels in a round. Bases and statistics are held by tasks that can be run again. Whichever
worker dies, another one does its tasks from the same arguments.
"""

import contextlib
import math
import pickle
import threading
import time
import uuid
from collections import OrderedDict
from itertools import chain

import cloudpickle
import dask
import numpy as np
from distributed import KilledWorker, get_worker

from sparsemix._engine.loop import advance
from sparsemix._engine.rounds.tree import Tree, branches, reduced
from sparsemix._engine.threads import Workers
from sparsemix._estimator.blockwise import LocalExecutor
from sparsemix._kernels.vectors import _simd
from sparsemix._version import __version__
from sparsemix.distributed._data import DelayedBlocks, block_of
from sparsemix.distributed._freed_memory import give_back, keep_freed

# Rounds after which workers get a new base; one that joins late makes at most so many steps.
ROUNDS_OF_BASE = 16
# Seconds that a task costs beside its visits; and the most that one of several blocks may take: a death costs that.
TASK_SECONDS, MOST_SECONDS = 0.01, 1.0
# Fits that a process remembers at once.
MOST_REPLICAS = 4


class DaskExecutor(LocalExecutor):
    """Visits blocks on the workers of a cluster.

    Parameters
    ----------
    job : Job
    client : distributed.Client
    """

    def __init__(self, job, client):
        super().__init__(job)
        if getattr(client, "asynchronous", False):
            raise TypeError("client is asynchronous; give one that was made with asynchronous=False")
        self._client = client
        self._run = uuid.uuid4().hex
        self._futures, self._base, self._deltas, self._version = {}, None, [], 0
        self._changed = None
        self._seconds = np.inf  # of a visit, in the last round

    def __enter__(self):
        # blocks that cannot be read elsewhere, and bases, are meant to travel as arguments
        self._settings = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})
        self._settings.__enter__()
        return self

    def __exit__(self, *exception):
        self._futures, self._base, self._deltas = {}, None, []
        self._settings.__exit__(*exception)
        with contextlib.suppress(Exception):  # workers that died, or a client that was closed
            self._client.run(forget, self._run, on_error="ignore")

    # -- tasks

    def _submit(self, function, *arguments, **options):
        """A task that may run twice, under a name of its own."""
        key = f"sparsemix-{function.__name__}-{uuid.uuid4().hex}"
        return self._client.submit(function, *arguments, key=key, pure=False, **options)

    def _held(self, name, make):
        """A task that holds what ``make()`` gives, made once."""
        if name not in self._futures:
            self._futures[name] = self._submit(same, Frozen(make()))
        return self._futures[name]

    def _source(self, number):
        """Where a block is read: by the worker, where it can; else it is held by a task."""
        data = self.job.data
        if isinstance(data, DelayedBlocks):
            if number not in self._futures:
                self._futures[number] = self._client.compute(data.delayed[number])
            return self._futures[number]
        if data.portable:
            return self._held("data", lambda: data)
        return self._held(number, lambda: self.job.block(number))

    def _weight(self, number):
        weights = self.job.sample_weight
        return None if weights is None else self._held(("weight", number), lambda: weights[number])

    def _tasks(self, function, parts, *arguments):
        """A task for each of some lists of blocks, ``function(numbers, sources, weights, *arguments of its own)``.

        Neighbours go to one worker, about as many to each; others may do it where that one is gone.
        """
        workers = sorted(self._client.nthreads())
        tasks = []
        for i, (numbers, own) in enumerate(zip(parts, zip(*arguments, strict=True), strict=True)):
            place = {}
            if workers:
                place = {"workers": [workers[i * len(workers) // len(parts)]], "allow_other_workers": True}
            sources, weights = [self._source(n) for n in numbers], [self._weight(n) for n in numbers]
            tasks.append(self._submit(function, list(numbers), sources, weights, *own, **place))
        return tasks

    def _gather(self, futures, numbers):
        """Results; what kills every worker that it is given to is named by its block."""
        try:
            return self._client.gather(futures)
        except KilledWorker as error:
            some = ", ".join(map(str, sorted(set(numbers))[:10]))
            raise RuntimeError(f"one of the blocks {some} killed every worker that it was given to: {error}") from error

    def _sum(self, tasks):
        """A task of the sum of what tasks give, by the tree."""
        return reduced(tasks, lambda left, right: self._submit(added, left, right))

    # -- before learning

    def over_blocks(self, name, *arguments):
        """The sum over all blocks of what a method of the job gives."""
        numbers = range(len(self.job.data))
        task = self._submit(same, Frozen((self._run, self.job, name, arguments, signature())))
        return self._gather(self._sum(self._tasks(look, [[n] for n in numbers], [task] * len(numbers))), numbers)

    # -- learning

    def begin(self, begin, monitor, resumed=None):
        """A trial begins, or goes on."""
        self._base, self._deltas, self._changed = None, [], None
        return super().begin(begin, monitor, resumed)

    def changed(self, stats):
        """Workers get a new base before the next step."""
        self._base, self._changed = None, stats

    def collect(self, model, rows, selection, workers, following=None):
        """Statistics of a step."""
        if self._base is None or len(self._deltas) >= ROUNDS_OF_BASE:
            begin = self._begin
            stats = next(s for s in (self._changed, self._monitor.stats, begin.stats) if s is not None)
            state = FitState(self.job, model, stats, begin.schedule, begin.moves)
            self._version += 1
            self._base = self._submit(same, Base(self._run, self._version, signature(), Frozen(state)))
            self._deltas, self._changed = [], None
        new = super().collect(model, rows, selection, workers, following)
        self._deltas.append(self._submit(same, Frozen((self._begin.schedule.current, new))))
        return new

    def visits(self, model, units, workers):  # noqa: ARG002
        """The sum over some units; what is remembered of their rows comes back."""
        parts = branches(units, branch_size(len(units), len(self._client.nthreads()), self._seconds))
        numbers = [[self.plan.units[u][0] for u in part] for part in parts]
        memories = [Frozen([self.memories[u] for u in part]) for part in parts]
        fit = (self._base, list(self._deltas), self.n_visited, len(units) == 1)
        tasks = self._tasks(visit, numbers, [[self.plan.units[u] for u in part] for part in parts], memories,
                            [fit] * len(parts))  # fmt: skip
        total = self._sum([self._submit(statistics, task) for task in tasks])
        kept = [self._submit(remains, task) for task in tasks]
        # at once: a message takes longer than they do
        total, kept = self._gather([total, kept], chain.from_iterable(numbers))
        for part, (memory, _) in zip(parts, kept, strict=True):
            for u, remembered in zip(part, memory.thaw(), strict=True):
                self.memories[u] = remembered
        self._seconds = sum(seconds for _, seconds in kept) / len(units)
        return total


def branch_size(n_units, n_workers, seconds):
    """Visits of a task, a power of two, that let a round of so many visits, of so many seconds each, end first."""
    def round_seconds(size):
        n_tasks = math.ceil(n_units / size)
        return math.ceil(n_tasks / max(1, n_workers)) * (size * seconds + TASK_SECONDS)

    sizes = [1 << level for level in range(n_units.bit_length())]
    return min((size for size in sizes if size == 1 or size * seconds <= MOST_SECONDS), key=round_seconds)


class Frozen:
    """A value as bytes: what happens to it here does not change what is on its way, and Dask does not look inside."""

    def __init__(self, value):
        try:
            self._bytes = pickle.dumps(value, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError):  # functions of a session
            self._bytes = cloudpickle.dumps(value)

    def thaw(self):
        """The value, a new one every time."""
        return pickle.loads(self._bytes)


class Base:
    """The state of a fit at some step, from which replicas are made."""

    def __init__(self, run, version, signed, state):
        self.run, self.version, self.signed, self.state = run, version, signed, state


class FitState:
    """What a step changes, and the job."""

    def __init__(self, job, model, stats, schedule, moves):
        self.job, self.model, self.stats, self.schedule, self.moves = job, model, stats, schedule, moves


class Replica:
    """A fit as this process knows it, for one visit at a time; and the last block that it has read."""

    def __init__(self):
        self.lock = threading.Lock()
        self.version, self.state, self.n_steps = None, None, 0
        self._last = None, None

    def catch_up(self, base, deltas, split):
        """Make the steps that were made elsewhere, from a new base where it is another one."""
        if self.version != base.version or self.n_steps > len(deltas):
            self.version, self.state, self.n_steps = base.version, base.state.thaw(), 0
        state = self.state
        for delta in deltas[self.n_steps :]:
            state.schedule.current, new = delta.thaw()
            state.stats = advance(state.model, state.schedule, state.stats, new, state.moves, split)
            self.n_steps += 1
        return state

    def rows(self, number, source):
        """Rows of a block, which stays at hand until another one is asked for."""
        if self._last[0] != number:
            self._last = None, None
            self._last = number, rows_from(number, source)
        return self._last[1]


_replicas = OrderedDict()
_lock = threading.Lock()


def replica_of(run):
    """The replica of a fit in this process; the oldest ones make room."""
    with _lock:
        if not _replicas:
            keep_freed()
        replica = _replicas.pop(run, None) or Replica()
        _replicas[run] = replica
        while len(_replicas) > MOST_REPLICAS:
            _replicas.popitem(last=False)
        return replica


def forget(run):
    """A fit is over."""
    with _lock:
        known = _replicas.pop(run, None) is not None
        if known and not _replicas:
            give_back()


# -- what workers do


def look(numbers, sources, weights, task):
    """A method of the job, on a block."""
    run, job, name, arguments, signed = task.thaw()
    check_signature(signed)
    replica = replica_of(run)
    with replica.lock, Workers(threads()) as workers:
        X = replica.rows(numbers[0], sources[0])
        return getattr(job, name)(numbers[0], X, thawed(weights[0]), workers, *arguments)


def visit(numbers, sources, weights, units, memories, fit):
    """Statistics of parts of blocks, added as a branch of the tree; what is remembered of their rows; seconds."""
    base, deltas, n_visited, alone = fit
    check_signature(base.signed)
    replica, memories, tree = replica_of(base.run), memories.thaw(), Tree()
    with replica.lock, Workers(threads()) as workers:
        state = replica.catch_up(base, deltas, workers.split)
        started = time.perf_counter()
        for number, source, weight, unit, memory in zip(numbers, sources, weights, units, memories, strict=True):
            X = replica.rows(number, source)
            tree.push(state.job.visit(unit, X, thawed(weight), state.model, n_visited, memory, workers, alone))
        seconds = time.perf_counter() - started
    return tree.total(), Frozen(memories), seconds


def statistics(visited):
    """The one part of what a visit gives."""
    return visited[0]


def remains(visited):
    """The others."""
    return visited[1:]


def added(left, right):
    """A sum; its summands are Dask's, and may be asked for again."""
    return pickle.loads(pickle.dumps(left)).add(right)


def same(value):
    """What a task holds."""
    return value


def thawed(value):
    """What was frozen, or as it is."""
    return value.thaw() if isinstance(value, Frozen) else value


def rows_from(number, source):
    """Rows of a block: read, taken out, or what a task of somebody else has left."""
    value = thawed(source)
    if hasattr(value, "portable"):
        return value[number]
    return block_of(value)


def threads():
    """Threads of this worker; results do not depend on them."""
    return get_worker().state.nthreads


def signature():
    """What has to be the same everywhere for sums to be the same bits."""
    return {"sparsemix": __version__, "numpy": np.__version__, "instruction set": _simd.instruction_set()}


def check_signature(signed):
    """Refuse to add to a fit of another version or another kind of processor."""
    own = signature()
    for name, value in signed.items():
        if own[name] != value:
            raise RuntimeError(
                f"worker {get_worker().address} has {name} {own[name]}, and the client has {value}; install the same "
                "versions, and give one fit processors of one kind"
            )


def delayed_results(function, estimator, data):
    """``function(estimator, rows)`` of each block, as Delayed."""
    held = dask.delayed(Frozen(estimator), pure=False)
    lazily = dask.delayed(result, pure=False)
    if isinstance(data, DelayedBlocks):
        return [lazily(held, number, part, function) for number, part in enumerate(data.delayed)]
    if data.portable:
        source = dask.delayed(Frozen(data), pure=False)
        return [lazily(held, number, source, function) for number in range(len(data))]
    return [lazily(held, number, Frozen(data[number]), function) for number in range(len(data))]


def result(estimator, number, source, function):
    """What a fitted estimator says of a block."""
    return function(estimator.thaw(), rows_from(number, source))
