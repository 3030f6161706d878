"""Visits of blocks by the workers of a Dask cluster, with the same bits as in one process.

Any worker may fail. A visit is a plain task, whose arguments are the source of its blocks and what its worker lacks.
Other tasks add statistics in the order of a fixed tree, from worker to worker. The root is what every worker needs for
the next step: workers fetch it from each other, and repeat the step, so that no model is sent in a round. The client
reads the root too, and the remembered data of the rows, which a worker keeps as well. A task that finds too little on
its worker is repeated with a complete state, which the client always has. A task may visit several small blocks; it
adds their statistics if they form a branch of the tree.
"""

import contextlib
import math
import uuid

import dask
import numpy as np
from distributed import KilledWorker

from sparsemix._engine.rounds.tree import branches, reduced
from sparsemix._estimator.blockwise import LocalExecutor, block_named
from sparsemix.blocks import _replica
from sparsemix.blocks._data import DelayedBlocks
from sparsemix.blocks._replica import (
    BEHIND,
    Checked,
    FitState,
    Frozen,
    added,
    forget,
    look,
    part_of,
    raw_from,
    same,
    visit,
    worker_named,
)
from sparsemix.blocks._workers import WorkerWatch

# Rounds until the client sends the statistics of a step: tasks of earlier rounds are then forgotten.
ROUNDS_OF_TASKS = 16
# Steps that a worker can miss without a complete state.
MOST_DELTAS = 4
# Overhead of a task in seconds; longest duration of a task with several blocks, which a failure would lose.
TASK_SECONDS, MOST_SECONDS = 0.01, 1.0
# Seconds to connect to a worker.
CONNECT_SECONDS = 2.0


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
        self._futures, self._direct = {}, False
        self._version, self._n_chained = 0, 0  # of the fit's state; rounds whose tasks Dask remembers
        self._deltas = []  # (version after it, schedule's step, task with its statistics) of the last steps
        self._root = self._state = None  # tasks with the last statistics, and with the complete state
        self._replicas, self._sent = {}, {}  # version at each worker; by unit: visits, memory, and the worker with it
        self._changed = None
        self._seconds = np.inf  # per visit, in the last round

    def __enter__(self):
        # no warning of large arguments: states, and blocks that only the client can read, are sent as arguments
        self._settings = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})
        self._settings.__enter__()
        try:
            self._watch.check_package()
            self._direct = reaches_workers(self._client)
        except BaseException:
            self._settings.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exception):
        self._futures, self._deltas = {}, []
        self._settings.__exit__(*exception)
        with contextlib.suppress(Exception):  # dead workers or a closed client
            self._client.run(forget, self._run, on_error="ignore")

    # -- tasks

    def _submit(self, function, *arguments, **options):
        """Submit a task with a unique name, which Dask may run twice."""
        key = f"sparsemix-{function.__name__}-{uuid.uuid4().hex}"
        return self._client.submit(function, *arguments, key=key, pure=False, **options)

    def _held(self, name, make, place):
        """A task that holds the result of ``make()``, which is called once."""
        if name not in self._futures:
            self._futures[name] = self._submit(same, Frozen(make()), **place)
        return self._futures[name]

    def _source(self, number, place):
        """Source of a block: the reader if workers can use it, else a task that holds the checked block."""
        data = self.job.data
        if isinstance(data, DelayedBlocks):
            if number not in self._futures:
                self._futures[number] = self._client.compute(data.delayed[number])
            return self._futures[number]
        if data.portable:
            return self._held("data", lambda: data, {})
        if self.job.form is not None:
            self._futures.pop((number, None), None)  # the block in its own form
        return self._held((number, self.job.form), lambda: Checked(self.job.block(number)), place)

    def _weight(self, number, place):
        weights = self.job.sample_weight
        return None if weights is None else self._held(("weight", number), lambda: weights[number], place)

    def _places(self, parts):
        """A worker for each list of blocks: neighbouring lists share one, and each has about as many."""
        workers = sorted(self._client.nthreads()) or [None]
        n = max(len(parts), len(workers))
        return [workers[i * len(workers) // n] for i in range(len(parts))]

    def _task(self, function, numbers, place, *arguments):
        """``function(numbers, sources, weights, *arguments)``, at a worker if others do not take it over."""
        place = {} if place is None else {"workers": [place], "allow_other_workers": True}
        sources, weights = [self._source(n, place) for n in numbers], [self._weight(n, place) for n in numbers]
        task = self._submit(function, list(numbers), sources, weights, *arguments, **place)
        self._blocks[task.key] = sorted(set(numbers))
        return task

    def _gather(self, futures, show=None):
        """Results of tasks; an error names the blocks of a task that killed its workers."""
        self._watch.wait(futures, show)
        try:
            return self._client.gather(futures, direct=self._direct)
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
        task = self._submit(same, Frozen((self._run, self.job, name, arguments, _replica.signature())))
        self._blocks = {}
        tasks = [self._task(look, [n], place, task) for n, place in zip(numbers, self._places(numbers), strict=True)]
        return self._gather([self._sum(tasks)])[0].thaw()

    # -- learning

    def begin(self, begin, monitor, resumed=None):
        """Begin or resume a fit or restart."""
        self._renew(None)
        # counts continue: a worker may still have a row memory of the trial before
        self._sent = {u: (n_visits, None, None) for u, (n_visits, *_) in self._sent.items()}
        return super().begin(begin, monitor, resumed)

    def changed(self, stats):
        """Note changed statistics, so that workers get a complete state before the next step."""
        self._renew(stats)

    def _renew(self, stats):
        """A new version of the state, which no worker has."""
        self._version += 1
        self._deltas, self._replicas, self._changed = [], {}, stats

    def collect(self, model, rows, selection, workers, following=None):
        """Statistics of a step."""
        new = super().collect(model, rows, selection, workers, following)
        self._version, self._changed = self._version + 1, None
        self._deltas = [*self._deltas, (self._version, self._begin.schedule.current, self._root)][-MOST_DELTAS:]
        return new

    def visits(self, model, units, workers):  # noqa: ARG002
        """The sum of the statistics of some units. Updates the remembered data of their rows."""
        parts = branches(units, branch_size(len(units), len(self._client.nthreads()), self._seconds))
        places, tasks, self._state = self._places(parts), [None] * len(parts), None
        self._blocks, rows = {}, [self.plan.rows(part) for part in parts]
        lacking, complete = range(len(parts)), False
        while len(lacking):
            for i in lacking:
                tasks[i] = self._visit(model, parts[i], places[i], complete, alone=len(units) == 1)
            self._root = self._sum([self._submit(part_of, task, 0) for task in tasks])
            # gather all in one call: a message takes longer than the tasks
            total, *kept = self._gather(
                [self._root, *(self._submit(part_of, task, 1) for task in tasks)],
                lambda: self.progress.show(done_of(tasks, rows)),
            )
            lacking, complete = [i for i, each in enumerate(kept) if each == BEHIND], True
            if total == BEHIND and not lacking:  # a worker with a sum died, and its visits were repeated
                lacking = range(len(parts))
        self._n_chained += 1
        if self._state is not None or self._n_chained == ROUNDS_OF_TASKS:
            self._root, self._n_chained, self._state = self._submit(same, total), 0, None
        for part, (address, memory, _) in zip(parts, kept, strict=True):
            self._replicas[address] = self._version
            for u, remembered in zip(part, memory.thaw(), strict=True):
                self.memories[u] = remembered
                self._sent[u] = self._n_visits(u) + 1, remembered, address
        self._seconds = sum(seconds for *_, seconds in kept) / len(units)
        return total.thaw()

    def _visit(self, model, part, place, complete, alone):
        """A task that visits units, with what its worker lacks, or with everything."""
        units = [self.plan.units[u] for u in part]
        fit = self._run, self._version, _replica.signature(), self.n_visited, alone
        memories = [(self._n_visits(u), self._memory(u, None if complete else place)) for u in part]
        return self._task(visit, [unit[0] for unit in units], place, units, memories, fit,
                          *self._steps(model, None if complete else place))  # fmt: skip

    def _steps(self, model, place):
        """The complete state, or the steps that a worker lacks."""
        has = self._replicas.get(place, -1)
        deltas = [delta for delta in self._deltas if delta[0] > has]
        if has + len(deltas) == self._version:
            return None, deltas
        if self._state is None:
            begin = self._begin
            stats = next(s for s in (self._changed, self._monitor.stats, begin.stats) if s is not None)
            self._state = self._submit(same, Frozen(FitState(self.job, model, stats, begin.schedule)))
        return self._state, []

    def _n_visits(self, u):
        """Visits of a unit so far."""
        return self._sent[u][0] if u in self._sent else 0

    def _memory(self, u, place):
        """The row memory of a unit; None if a worker has it."""
        _, memory, holder = self._sent.get(u, (0, None, None))
        has = holder is not None and holder == place and memory is self.memories[u]
        return None if has else Frozen(self.memories[u])


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


def reaches_workers(client):
    """Whether the client can connect to workers; if not, the scheduler passes results on."""
    if client.direct_to_workers is not None:
        return client.direct_to_workers
    address = next(iter(client.nthreads()))

    async def reach():
        client.rpc.reuse(address, await client.rpc.connect(address, timeout=CONNECT_SECONDS))

    try:
        client.sync(reach)
    except (OSError, TimeoutError):  # no route, or a worker that has just died
        return False
    return True


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
