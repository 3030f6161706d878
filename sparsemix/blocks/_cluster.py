"""Visits of blocks by the workers of a Dask cluster, with the same bits as in one process.

Any worker may fail. A visit is a plain task, whose arguments are the source of its blocks and the remembered data of
their rows. Other tasks add statistics in the order of a fixed tree, and only the root returns to the client. A task may
visit several small blocks; it adds their statistics if they form a branch of the tree. Each process keeps a ``Replica``
of the fit. It repeats the missing global steps from their statistics, which are small, so that no model is sent in a
round. Bases and statistics are held by tasks that Dask can run again. If a worker dies, another worker runs its tasks
with the same arguments.
"""

import contextlib
import math
import pickle
import threading
import time
import uuid
from collections import OrderedDict

import cloudpickle
import dask
import numpy as np
from distributed import KilledWorker, get_worker

from sparsemix._engine.loop import advance
from sparsemix._engine.rounds.tree import Tree, branches, reduced
from sparsemix._engine.threads import Workers
from sparsemix._estimator.blockwise import LocalExecutor, block_named, named
from sparsemix._kernels.vectors import _simd
from sparsemix._version import __version__
from sparsemix.blocks._data import DelayedBlocks, block_of
from sparsemix.blocks._workers import WorkerWatch

# Rounds between bases; a worker that joins late repeats at most this many steps.
ROUNDS_OF_BASE = 16
# Overhead of a task in seconds; longest duration of a task with several blocks, which a failure would lose.
TASK_SECONDS, MOST_SECONDS = 0.01, 1.0
# Fits that a process keeps at once.
MOST_REPLICAS = 4


class DaskExecutor(LocalExecutor):
    """Executor that visits blocks on the workers of a cluster.

    Parameters
    ----------
    job : Job
    client : distributed.Client
    worker_timeout : float or None
        Seconds without workers until an error; None waits forever.
    """

    def __init__(self, job, client, worker_timeout=None):
        super().__init__(job)
        self._client, self._watch = client, WorkerWatch(client, worker_timeout)
        self._blocks = {}  # numbers of the blocks of each task of the last round
        self._run = uuid.uuid4().hex
        self._futures, self._base, self._deltas, self._version = {}, None, [], 0
        self._changed = None
        self._seconds = np.inf  # per visit, in the last round

    def __enter__(self):
        # no warning of large arguments: bases, and blocks that only the client can read, are sent as arguments
        self._settings = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})
        self._settings.__enter__()
        try:
            self._watch.check_package()
        except BaseException:
            self._settings.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exception):
        self._futures, self._base, self._deltas = {}, None, []
        self._settings.__exit__(*exception)
        with contextlib.suppress(Exception):  # dead workers or a closed client
            self._client.run(forget, self._run, on_error="ignore")

    # -- tasks

    def _submit(self, function, *arguments, **options):
        """Submit a task with a unique name, which Dask may run twice."""
        key = f"sparsemix-{function.__name__}-{uuid.uuid4().hex}"
        return self._client.submit(function, *arguments, key=key, pure=False, **options)

    def _held(self, name, make):
        """A task that holds the result of ``make()``, which is called once."""
        if name not in self._futures:
            self._futures[name] = self._submit(same, Frozen(make()))
        return self._futures[name]

    def _source(self, number):
        """Source of a block: the reader if workers can use it, else a task that holds the checked block."""
        data = self.job.data
        if isinstance(data, DelayedBlocks):
            if number not in self._futures:
                self._futures[number] = self._client.compute(data.delayed[number])
            return self._futures[number]
        if data.portable:
            return self._held("data", lambda: data)
        if self.job.form is not None:
            self._futures.pop((number, None), None)  # the block in its own form
        return self._held((number, self.job.form), lambda: Checked(self.job.block(number)))

    def _weight(self, number):
        weights = self.job.sample_weight
        return None if weights is None else self._held(("weight", number), lambda: weights[number])

    def _tasks(self, function, parts, *arguments):
        """A task for each list of blocks: ``function(numbers, sources, weights, *arguments of the task)``.

        Neighbouring lists go to the same worker, about the same number to each. Other workers may take over.
        """
        workers = sorted(self._client.nthreads())
        tasks, self._blocks = [], {}
        for i, (numbers, own) in enumerate(zip(parts, zip(*arguments, strict=True), strict=True)):
            place = {}
            if workers:
                place = {"workers": [workers[i * len(workers) // len(parts)]], "allow_other_workers": True}
            sources, weights = [self._source(n) for n in numbers], [self._weight(n) for n in numbers]
            tasks.append(self._submit(function, list(numbers), sources, weights, *own, **place))
            self._blocks[tasks[-1].key] = sorted(set(numbers))
        return tasks

    def _gather(self, futures, show=None):
        """Results of tasks; an error names the blocks of a task that killed its workers."""
        self._watch.wait(futures, show)
        try:
            return self._client.gather(futures)
        except KilledWorker as error:
            numbers = self._blocks.get(error.task, [])
            task = f"block {numbers[0]}" if len(numbers) == 1 else f"one of the blocks {', '.join(map(str, numbers))}"
            raise RuntimeError(
                f"{task if numbers else 'a sum of statistics'} was on {error.allowed_failures + 1} workers that died, "
                f"the last at {error.last_worker.address}; it or another block that these workers had is the cause: "
                "read their logs, or give smaller blocks if memory was too small"
            ) from error

    def _sum(self, tasks):
        """A task with the sum of the results of tasks, in the order of the tree."""
        return reduced(tasks, lambda left, right: self._submit(added, left, right))

    # -- before the first epoch

    def over_blocks(self, name, *arguments):
        """The sum over all blocks of the results of a method of the job."""
        numbers = range(len(self.job.data))
        task = self._submit(same, Frozen((self._run, self.job, name, arguments, signature())))
        return self._gather([self._sum(self._tasks(look, [[n] for n in numbers], [task] * len(numbers)))])[0]

    # -- learning

    def begin(self, begin, monitor, resumed=None):
        """Begin or resume a fit or restart."""
        self._base, self._deltas, self._changed = None, [], None
        return super().begin(begin, monitor, resumed)

    def changed(self, stats):
        """Note changed statistics, so that workers get a new base before the next step."""
        self._base, self._changed = None, stats

    def collect(self, model, rows, selection, workers, following=None):
        """Statistics of a step."""
        if self._base is None or len(self._deltas) >= ROUNDS_OF_BASE:
            begin = self._begin
            stats = next(s for s in (self._changed, self._monitor.stats, begin.stats) if s is not None)
            state = FitState(self.job, model, stats, begin.schedule)
            self._version += 1
            self._base = self._submit(same, Base(self._run, self._version, signature(), Frozen(state)))
            self._deltas, self._changed = [], None
        new = super().collect(model, rows, selection, workers, following)
        self._deltas.append(self._submit(same, Frozen((self._begin.schedule.current, new))))
        return new

    def visits(self, model, units, workers):  # noqa: ARG002
        """The sum of the statistics of some units. Updates the remembered data of their rows."""
        parts = branches(units, branch_size(len(units), len(self._client.nthreads()), self._seconds))
        numbers = [[self.plan.units[u][0] for u in part] for part in parts]
        memories = [Frozen([self.memories[u] for u in part]) for part in parts]
        fit = (self._base, list(self._deltas), self.n_visited, len(units) == 1)
        tasks = self._tasks(visit, numbers, [[self.plan.units[u] for u in part] for part in parts], memories,
                            [fit] * len(parts))  # fmt: skip
        total = self._sum([self._submit(statistics, task) for task in tasks])
        kept = [self._submit(remains, task) for task in tasks]
        # gather both in one call: a message takes longer than the tasks
        rows = [self.plan.rows(part) for part in parts]
        total, *kept = self._gather([total, *kept], lambda: self.progress.show(done_of(tasks, rows)))
        for part, (memory, _) in zip(parts, kept, strict=True):
            for u, remembered in zip(part, memory.thaw(), strict=True):
                self.memories[u] = remembered
        self._seconds = sum(seconds for _, seconds in kept) / len(units)
        return total


def done_of(tasks, rows):
    """Rows of the tasks that have ended."""
    return sum(n for task, n in zip(tasks, rows, strict=True) if task.done())


def branch_size(n_units, n_workers, seconds):
    """Number of visits per task, a power of two, that minimises the time of a round."""
    def round_seconds(size):
        n_tasks = math.ceil(n_units / size)
        return math.ceil(n_tasks / max(1, n_workers)) * (size * seconds + TASK_SECONDS)

    sizes = [1 << level for level in range(n_units.bit_length())]
    return min((size for size in sizes if size == 1 or size * seconds <= MOST_SECONDS), key=round_seconds)


class Frozen:
    """A pickled value: later changes do not affect it, and Dask does not inspect it."""

    def __init__(self, value):
        try:
            self._bytes = pickle.dumps(value, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError):  # functions defined in a session
            self._bytes = cloudpickle.dumps(value)

    def thaw(self):
        """A new copy of the value."""
        return pickle.loads(self._bytes)


class Base:
    """State of a fit at some step, from which replicas start."""

    def __init__(self, run, version, signed, state):
        self.run, self.version, self.signed, self.state = run, version, signed, state


class FitState:
    """The job, and everything that a step changes."""

    def __init__(self, job, model, stats, schedule):
        self.job, self.model, self.stats, self.schedule = job, model, stats, schedule


class Replica:
    """Copy of a fit in a worker process, used by one visit at a time, with the last block that it read."""

    def __init__(self):
        self.lock = threading.Lock()
        self.version, self.state, self.n_steps = None, None, 0
        self._last = None, None

    def catch_up(self, base, deltas, split):
        """Repeat the missing steps; start from the base if it is new."""
        if self.version != base.version or self.n_steps > len(deltas):
            self.version, self.state, self.n_steps = base.version, base.state.thaw(), 0
        state = self.state
        for delta in deltas[self.n_steps :]:
            state.schedule.current, new = delta.thaw()
            state.stats = advance(state.model, state.schedule, state.stats, new, split)
            self.n_steps += 1
        return state

    def rows(self, job, number, source):
        """Checked rows of a block; the last block is cached."""
        key = number, job.form
        if self._last[0] != key:
            self._last = None, None
            value = raw_from(number, source)
            self._last = key, value.rows if isinstance(value, Checked) else job.checked(number, value)
        return self._last[1]


class Checked:
    """Rows of a block that the client has checked."""

    def __init__(self, rows):
        self.rows = rows


_replicas = OrderedDict()
_lock = threading.Lock()


def replica_of(run):
    """The replica of a fit in this process; the oldest replicas are dropped."""
    with _lock:
        replica = _replicas.pop(run, None) or Replica()
        _replicas[run] = replica
        while len(_replicas) > MOST_REPLICAS:
            _replicas.popitem(last=False)
        return replica


def forget(run):
    """Drop the replica of a finished fit."""
    with _lock:
        _replicas.pop(run, None)


# -- functions of tasks


def look(numbers, sources, weights, task):
    """Run a method of the job on a block."""
    run, job, name, arguments, signed = task.thaw()
    check_signature(signed)
    replica = replica_of(run)
    with worker_named(), replica.lock, Workers(threads()) as workers:
        X = replica.rows(job, numbers[0], sources[0])
        return getattr(job, name)(numbers[0], X, thawed(weights[0]), workers, *arguments)


def visit(numbers, sources, weights, units, memories, fit):
    """Visit parts of blocks: sum of statistics as a branch of the tree, remembered data of rows, seconds."""
    base, deltas, n_visited, alone = fit
    check_signature(base.signed)
    replica, memories, tree = replica_of(base.run), memories.thaw(), Tree()
    with worker_named(), replica.lock, Workers(threads()) as workers:
        state = replica.catch_up(base, deltas, workers.split)
        started = time.perf_counter()
        for number, source, weight, unit, memory in zip(numbers, sources, weights, units, memories, strict=True):
            X = replica.rows(state.job, number, source)
            tree.push(state.job.visit(unit, X, thawed(weight), state.model, n_visited, memory, workers, alone))
        seconds = time.perf_counter() - started
    return tree.total(), Frozen(memories), seconds


@contextlib.contextmanager
def worker_named():
    """Name the worker in the message of every error."""
    try:
        yield
    except Exception as error:
        raise named(error, f"worker {get_worker().address}") from error


def statistics(visited):
    """The statistics in the result of a visit."""
    return visited[0]


def remains(visited):
    """The result of a visit without the statistics."""
    return visited[1:]


def added(left, right):
    """Sum of two statistics; copies the left one, because Dask may need its value again."""
    return pickle.loads(pickle.dumps(left)).add(right)


def same(value):
    """Identity, for a task that holds a value."""
    return value


def thawed(value):
    """Thaw a frozen value; return any other value unchanged."""
    return value.thaw() if isinstance(value, Frozen) else value


def raw_from(number, source):
    """A block as it was given: from a reader, a frozen value, or the result of another task."""
    value = thawed(source)
    return value.raw(number) if hasattr(value, "portable") else block_of(value)


def threads():
    """Threads of this worker; results do not depend on them."""
    return get_worker().state.nthreads


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


def delayed_results(function, estimator, data, watch):
    """``function(estimator, rows)`` of each block, as Delayed, once all workers have the package."""
    watch.check_package()
    held = dask.delayed(Frozen(estimator), pure=False)
    lazily = dask.delayed(result, pure=False)
    if isinstance(data, DelayedBlocks):
        return [lazily(held, number, part, function) for number, part in enumerate(data.delayed)]
    if data.portable:
        source = dask.delayed(Frozen(data), pure=False)
        return [lazily(held, number, source, function) for number in range(len(data))]
    return [lazily(held, number, Frozen(data.raw(number)), function) for number in range(len(data))]


def gathered_results(function, estimator, data, client, watch):
    """``function(estimator, rows)`` of each block."""
    futures = client.compute(delayed_results(function, estimator, data, watch))
    watch.wait(futures)
    return client.gather(futures)


def result(estimator, number, source, function):
    """``function`` of a fitted estimator and a block."""
    with worker_named(), block_named(number):
        return function(estimator.thaw(), raw_from(number, source))
