"""One fit over blocks of rows: the work on one block, on any machine, and the executor that the fit loop calls.

A ``Job`` contains everything that a machine needs to read, check and visit blocks. ``LocalExecutor`` visits them in
this process, block by block. An executor on other machines adds in the same order, so the bits are the same.
"""

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from sparsemix._engine.loop import collect
from sparsemix._engine.rounds.plan import Plan
from sparsemix._engine.rounds.sample import chosen_rows
from sparsemix._engine.rounds.tree import Tree
from sparsemix._engine.threads import Workers
from sparsemix._estimator.checkpoints import CheckpointFolder
from sparsemix._estimator.input.checks import SMALLEST_WEIGHT
from sparsemix._estimator.progress import fingerprint, identity, make_monitor


class Survey:
    """Result of the survey of all rows before learning: sums, and size and checksum of every block."""

    def __init__(self, blocks, sums):
        self.blocks, self.sums = blocks, sums

    def add(self, other):
        """Add another survey in place."""
        self.blocks |= other.blocks
        self.sums = {name: self.sums.get(name, 0) + value for name, value in other.sums.items()} or self.sums
        return self

    @property
    def sizes(self):
        """Rows of each block."""
        return [self.blocks[block][0] for block in range(len(self.blocks))]

    @property
    def n_rows(self):
        """Number of rows of positive weight."""
        return int(self.sums.get("rows", 0))


class Sample:
    """Chosen rows of several blocks, and their weights."""

    def __init__(self, parts):
        self.parts = parts

    def add(self, other):
        """Append the rows of later blocks."""
        self.parts += other.parts
        return self

    @property
    def n_rows(self):
        """Number of rows."""
        return sum(rows.shape[0] for rows, _ in self.parts)

    def joined(self):
        """All rows and weights as two arrays; weights are None if no block has any."""
        rows, weights = zip(*self.parts, strict=True)
        stack = sparse.vstack if sparse.issparse(rows[0]) else np.concatenate
        kind = {"format": "csr"} if sparse.issparse(rows[0]) else {}
        return stack(rows, **kind), None if weights[0] is None else np.concatenate(weights)


class Job:
    """Blocks and the estimator that reads them, without the state of a fit.

    Parameters
    ----------
    estimator : estimator
        Only its parameters and ``n_features_in_`` matter.
    data : sequence of blocks
    sample_weight : list of ndarray, one a block, or None
    """

    def __init__(self, estimator, data, sample_weight):
        self.estimator, self.data, self.sample_weight = estimator, data, sample_weight
        self.first_rows = None
        self._last = None, None

    def __getstate__(self):
        shell = clone(self.estimator)  # parameters only; the fitted state is not pickled
        shell.n_features_in_ = self.estimator.n_features_in_
        return vars(self) | {"estimator": shell, "_last": (None, None), "data": None, "sample_weight": None}

    def block(self, number):
        """Rows of a block, which is cached until the next block is read."""
        if self._last[0] != number:
            self._last = None, None  # free the memory before the next block is read
            self._last = number, self.data[number]
        return self._last[1]

    def weight(self, number):
        """Weights of a block, or None."""
        return None if self.sample_weight is None else self.sample_weight[number]

    def read(self, number, X, weight):
        """Rows of positive weight in the estimator's form, or None if there are none. Errors name the block."""
        if weight is not None and weight.shape != (X.shape[0],):
            raise ValueError(
                f"block {number}: sample_weight has shape {weight.shape}, expected ({X.shape[0]},): give one weight "
                "for each row"
            )
        if X.shape[0] == 0 or (weight is not None and not weight.any()):
            return None
        try:
            return self.estimator._read(X, weight, reset=False, may_be_empty=True)[1]
        except (ValueError, TypeError) as error:
            raise type(error)(f"block {number}: {error}") from error

    # -- before learning

    def survey(self, number, X, weight, workers):  # noqa: ARG002
        """The survey of a block before learning."""
        rows = self.read(number, X, weight)
        sums = {} if rows is None else {"rows": len(rows), "mass": rows.mass, **self.estimator._survey(rows)}
        return Survey({number: [*fingerprint(X, weight)] if X.shape[0] else [0, 0]}, sums)

    def sample(self, number, X, weight, workers, chosen):  # noqa: ARG002
        """The chosen rows of a block with positive weight; ``chosen`` holds row numbers over all blocks."""
        first = self.first_rows[number]
        a, b = np.searchsorted(chosen, [first, first + X.shape[0]])
        inside = chosen[a:b] - first
        if weight is not None:
            inside = inside[weight[inside] > 0]
            weight = weight[inside]
        return Sample([(X[inside], weight)] if len(inside) else [])

    def moments(self, number, X, weight, workers, one):
        """Statistics of a block under a model of one component."""
        rows = self.read(number, X, weight)
        return one.empty_stats() if rows is None else self.estimator._moments(one, rows, workers)

    # -- learning

    def visit(self, unit, X, weight, model, n_visited, memory, workers, alone=False):
        """Statistics of a unit, which is a range of rows of a block; ``memory`` changes in place.

        They are packed for sums over units. A unit that is a step ``alone`` skips packing, which costs time for small
        batches.
        """
        number, start, stop = unit
        first = self.first_rows[number] + start
        rows = self.read(number, X[start:stop], None if weight is None else weight[start:stop])
        if rows is None:
            return model.empty_stats()
        view, rows = self.estimator._view(model, rows, n_visited)
        rows.first_row, rows.memory = int(first), memory
        try:
            stats = collect(view, rows, slice(0, len(rows)), workers)
            stats.settle()
            return stats if alone else stats.packed(key=n_visited + int(first))
        except ValueError as error:
            raise ValueError(f"block {number}: {error}") from error

    def new_memory(self, unit, model):
        """An empty row memory for a unit."""
        number, start, stop = unit
        return self.estimator._row_memory(model, stop - start, int(self.first_rows[number] + start))


class LocalExecutor:
    """Visits blocks in this process, one by one.

    Parameters
    ----------
    job : Job
    """

    def __init__(self, job):
        self.job = job
        self.plan = self.workers = self._begin = None
        self._moments = {}
        self.n_visited, self.n_forgotten, self.memories = 0, 0, None

    # -- before learning

    def over_blocks(self, name, *arguments):
        """Sum over all blocks of the results of the named method of the job."""
        tree, job = Tree(), self.job
        for number in range(len(job.data)):
            X = job.block(number)
            tree.push(getattr(job, name)(number, X, job.weight(number), self.workers, *arguments))
        return tree.total()

    def moments(self, one, rows, workers):  # noqa: ARG002
        """Statistics of all rows under a model of one component, computed once for all initialisations."""
        if not self._moments:
            self._moments[0] = self.over_blocks("moments", one)
        return self._moments[0]

    # -- learning

    def begin(self, begin, monitor, resumed=None):
        """Begin a trial, or resume it from a result of ``memory``; return the number of rows."""
        self._begin, self._monitor = begin, monitor
        self.n_visited, self.n_forgotten = 0, 0
        self.forget()
        if resumed is not None:
            vars(self).update(resumed)
        return self.job.n_kept

    def forget(self):
        """Reset the row memories."""
        self.memories = [self.job.new_memory(unit, self._begin.model) for unit in self.plan.units]

    def changed(self, stats):
        """Notification that other statistics replaced those of the model between epochs."""

    def saved(self):
        """A function that restores the current row memories."""
        before = list(self.memories)
        undo = [memory.saved() for memory in before if memory is not None]

        def restore():
            self.memories = before
            for each in undo:
                each()

        return restore

    def memory(self):
        """State that a resumed trial needs in addition to model and statistics."""
        return {name: getattr(self, name) for name in ("n_visited", "n_forgotten", "memories")}

    def collect(self, model, rows, selection, workers, following=None):  # noqa: ARG002
        """Statistics of a step: local step and sums of the fit loop, unit by unit."""
        if self._begin.schedule.n_forgotten > self.n_forgotten:
            self.n_forgotten = self._begin.schedule.n_forgotten
            self.forget()
        units = np.arange(len(self.plan.units))[selection]
        new = self.visits(model, units, workers)
        self.n_visited += self.plan.rows(units)
        return new

    def visits(self, model, units, workers):
        """Sum of the statistics of some units."""
        tree = Tree()
        for u in units:
            unit = self.plan.units[u]
            X, weight = self.job.block(unit[0]), self.job.weight(unit[0])
            part = self.job.visit(
                unit, X, weight, model, self.n_visited, self.memories[u], workers, alone=len(units) == 1
            )
            tree.push(part)
        return tree.total()


def fit_blocks(estimator, executor, steps=None, checkpoint=None, checkpoint_every=1, resume="auto"):
    """Fit an additive estimator to the blocks of an executor's job."""
    job, monitor = executor.job, make_monitor(estimator)
    with estimator._all_or_nothing(lambda: estimator._publish(monitor)), Workers(estimator._params.n_jobs) as workers:
        executor.workers = workers
        warm = estimator._params.warm_start and hasattr(estimator, "_fitted")
        read_first(job, reset=not warm)
        survey = executor.over_blocks("survey")
        if not survey.n_rows:
            raise ValueError("data has no row of positive weight; give at least one")
        if survey.sums["mass"] < SMALLEST_WEIGHT:
            raise ValueError(
                f"all weights together are {survey.sums['mass']:g}; they must be at least {SMALLEST_WEIGHT:g}: "
                "multiply sample_weight by a number"
            )
        job.first_rows, job.n_kept = np.concatenate([[0], np.cumsum(survey.sizes)]), survey.n_rows
        seeds = check_random_state(estimator._params.random_state)
        seed = seeds.randint(2**31 - 1)
        size = max(1 if warm else estimator._start_size(survey), estimator._params.n_components)
        rows = estimator._whole(survey, *sampled(executor, survey, size, seed), executor)
        step_rows = estimator._step_size(rows, survey) if steps is None else sum(survey.sizes) / steps
        executor.plan = Plan(survey.sizes, step_rows, np.random.default_rng(seed))
        folder = None
        if checkpoint is not None:
            data = [*survey.blocks.values(), *estimator._fingerprints_beside()]
            prints = identity(estimator, data) | {"steps": repr(steps)}
            folder = CheckpointFolder(checkpoint, prints, checkpoint_every, resume)
        estimator._learn(monitor, rows, workers, warm, None, seeds, folder)
    estimator._warn_unless_converged(monitor)
    return estimator


def sampled(executor, survey, size, seed):
    """Rows chosen by hashes of their numbers, and their weights: at least ``size`` rows if enough have positive
    weight."""
    n_rows = sum(survey.sizes)
    while True:
        sample = executor.over_blocks("sample", chosen_rows(n_rows, size, seed))
        if size >= n_rows or sample.n_rows >= min(size, survey.n_rows):
            return sample.joined()
        size *= 4


def read_first(job, reset):
    """Let the estimator check the first row of the first non-empty block, which sets the number of features."""
    for number in range(len(job.data)):
        X = job.block(number)
        if X.shape[0]:
            job.estimator._read(X[:1], None, reset=reset, may_be_empty=True)
            return
    raise ValueError("data has no rows; give at least one non-empty block")
