"""One fit over blocks of rows: the work on one block, on any machine, and the executor that the fit loop calls.

A ``Job`` contains everything that a machine needs to read, check and visit blocks. ``LocalExecutor`` visits them in
this process, block by block. An executor on other machines adds in the same order, so the bits are the same.
"""

from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from sparsemix._engine.loop import collect
from sparsemix._engine.rounds.plan import Plan
from sparsemix._engine.rounds.sample import chosen_rows
from sparsemix._engine.rounds.tree import Tree
from sparsemix._estimator.checkpoints import CheckpointFolder
from sparsemix._estimator.input.checks import SMALLEST_WEIGHT, warn_of_light_weights
from sparsemix._estimator.input.forms import as_csr
from sparsemix._estimator.input.labels import check_labels, labels_of
from sparsemix._estimator.learning import learn, publish, warn_unless_converged
from sparsemix._estimator.progress import EpochProgress, fingerprint, identity, make_monitor
from sparsemix._rows.threads import Workers


class Survey:
    """Result of the survey of all rows before learning: sums, size and checksum of every block, and forms of blocks.

    A form is a pair: whether a block is sparse, and its dtype.
    """

    def __init__(self, blocks, forms, sums):
        self.blocks, self.forms, self.sums = blocks, forms, sums

    def add(self, other):
        """Add another survey in place."""
        self.blocks |= other.blocks
        self.forms |= other.forms
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

    @property
    def form(self):
        """Form that holds the numbers of all blocks: sparse if any is, and the common dtype; None if all have one."""
        if len(self.forms) == 1:
            return None
        return any(is_sparse for is_sparse, _ in self.forms), np.result_type(*(dtype for _, dtype in self.forms))


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
    recipe : BlockRecipe
    data : sequence of blocks
    sample_weight : list of ndarray, one a block, or None
    """

    def __init__(self, estimator, recipe, data, sample_weight):
        self.estimator, self.recipe, self.data, self.sample_weight = estimator, recipe, data, sample_weight
        self.first_rows = self.labels = self.form = None
        self._last = None, None

    def __getstate__(self):
        shell = clone(self.estimator)  # parameters only; the fitted state is not pickled
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator, name):
                setattr(shell, name, getattr(self.estimator, name))
        held_out = {"validation": None} if hasattr(self.recipe, "validation") else {}  # scored in this process alone
        recipe = replace(self.recipe, params=shell._params, **held_out)
        bare = {"estimator": shell, "recipe": recipe, "_last": (None, None), "data": None, "sample_weight": None}
        return vars(self) | bare

    def read_first(self, reset):
        """Let the first block with rows set the number and the names of the features."""
        for number in range(len(self.data)):
            X = self.data.raw(number)
            if n_rows_of(X):
                self.labels = labels_of(X)
                self._last = number, self.checked(number, X, reset)
                return
        raise ValueError("data has no rows; give at least one block that is not empty")

    def block(self, number):
        """Rows of a block, which is cached until the next block is read."""
        if self._last[0] != number:
            self._last = None, None  # free the memory before the next block is read
            self._last = number, self.checked(number, self.data.raw(number))
        return self._last[1]

    def checked(self, number, X, reset=False):
        """Rows of a block as ``fit`` reads them, from any form that ``fit`` accepts. Errors name the block."""
        with block_named(number):
            self._check_size(number, n_rows_of(X))
            if not n_rows_of(X):
                return np.empty((0, getattr(self.estimator, "n_features_in_", 0)))
            check_labels(labels_of(X), self.labels)
            X = self._formed(self.recipe.check(self.estimator, X, reset))
            return X if sparse.issparse(X) else np.ascontiguousarray(X)  # the order of sums follows that in memory

    def _check_size(self, number, n_rows):
        """Raise if the block had another size in the survey."""
        if self.first_rows is None:
            return
        surveyed = self.first_rows[number + 1] - self.first_rows[number]
        if n_rows != surveyed:
            raise ValueError(
                f"it has {n_rows} rows, but had {surveyed} when it was first read; give data whose blocks are the same "
                "in every reading"
            )

    def _formed(self, X):
        """Checked rows in the form of all blocks."""
        if self.form is None:
            return X
        is_sparse, dtype = self.form
        if is_sparse and not sparse.issparse(X):
            X = as_csr(X)
        return X if X.dtype == dtype else X.astype(dtype)

    def set_form(self, form):
        """Set the form of all blocks, and change the cached block."""
        self.form = form
        number, X = self._last
        if number is not None and X.shape[0]:
            self._last = number, self._formed(X)

    def weight(self, number):
        """Weights of a block, or None."""
        return None if self.sample_weight is None else self.sample_weight[number]

    def rows(self, number, X, weight):
        """Rows of positive weight of a checked block, or of a part of it; None if there are none."""
        if weight is not None and weight.shape != (X.shape[0],):
            raise ValueError(
                f"block {number}: sample_weight has shape {weight.shape}, expected ({X.shape[0]},): give one weight "
                "for each row"
            )
        if X.shape[0] == 0 or (weight is not None and not weight.any()):
            return None
        with block_named(number):
            return self.recipe.rows(X, weight, part=True)

    # -- before learning

    def survey(self, number, X, weight, workers):  # noqa: ARG002
        """The survey of a block before learning."""
        rows = self.rows(number, X, weight)
        sums = {} if rows is None else {"rows": len(rows), "mass": rows.mass, **self.recipe.survey(rows)}
        if not X.shape[0]:
            return Survey({number: [0, 0]}, set(), sums)
        return Survey({number: [*fingerprint(X, weight)]}, {(sparse.issparse(X), X.dtype)}, sums)

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
        rows = self.rows(number, X, weight)
        return one.empty_stats() if rows is None else self.recipe.moments(one, rows, workers)

    # -- learning

    def visit(self, unit, X, weight, model, n_visited, memory, workers, alone=False):
        """Statistics of a unit, which is a range of rows of a block; ``memory`` changes in place.

        They are packed for sums over units. A unit that is a step ``alone`` skips packing, which costs time for small
        batches.
        """
        number, start, stop = unit
        first = self.first_rows[number] + start
        rows = self.rows(number, X[start:stop], None if weight is None else weight[start:stop])
        if rows is None:
            return model.empty_stats()
        view, rows = self.recipe.seen(model, rows, n_visited)
        rows.first_row, rows.memory = int(first), memory
        with block_named(number):
            stats = collect(view, rows, slice(0, len(rows)), workers)
            stats.settle()
            return stats if alone else stats.packed(key=n_visited + int(first))

    def new_memory(self, unit, model):
        """An empty row memory for a unit."""
        number, start, stop = unit
        return self.recipe.memory(model, stop - start, int(self.first_rows[number] + start))


class LocalExecutor:
    """Visits blocks in this process, one by one.

    Parameters
    ----------
    job : Job
    """

    def __init__(self, job):
        self.job = job
        self.plan = self.workers = self.progress = self._begin = None
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
        self._begin, self._monitor, self.progress = begin, monitor, EpochProgress(monitor, self.plan.n_rows)
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
        self.progress.begin_step()
        new = self.visits(model, units, workers)
        n_rows = self.plan.rows(units)
        self.progress.end_step(n_rows)
        self.n_visited += n_rows
        return new

    def visits(self, model, units, workers):
        """Sum of the statistics of some units."""
        tree, n_rows = Tree(), 0
        for u in units:
            self.progress.show(n_rows)
            unit = self.plan.units[u]
            n_rows += unit[2] - unit[1]
            X, weight = self.job.block(unit[0]), self.job.weight(unit[0])
            part = self.job.visit(
                unit, X, weight, model, self.n_visited, self.memories[u], workers, alone=len(units) == 1
            )
            tree.push(part)
        return tree.total()


def fit_blocks(estimator, executor, steps=None, checkpoint=None, checkpoint_every=1, resume="auto"):
    """Fit an additive estimator to the blocks of an executor's job."""
    job, recipe, monitor, params = executor.job, executor.job.recipe, make_monitor(estimator), estimator._params
    with (
        estimator._all_or_nothing(lambda: publish(estimator, recipe, monitor)),
        Workers(params.n_jobs) as workers,
    ):
        executor.workers = workers
        before = getattr(estimator, "_fitted", None) if params.warm_start else None
        job.read_first(reset=before is None)
        recipe = job.recipe = recipe.prepared(estimator)
        survey = executor.over_blocks("survey")
        if not survey.n_rows:
            raise ValueError("data has no row of positive weight; give at least one")
        if survey.sums["mass"] < SMALLEST_WEIGHT:
            raise ValueError(
                f"all weights together are {survey.sums['mass']:g}; they must be at least {SMALLEST_WEIGHT:g}: "
                "multiply sample_weight by a number"
            )
        warn_of_light_weights(*(job.sample_weight or ()))
        job.set_form(survey.form)
        job.first_rows, job.n_kept = np.concatenate([[0], np.cumsum(survey.sizes)]), survey.n_rows
        seeds = check_random_state(params.random_state)
        seed = seeds.randint(2**31 - 1)
        size = max(recipe.sample_size(survey) if before is None else 1, params.n_components)
        rows = recipe.sample(survey, *sampled(executor, survey, size, seed), executor)
        step_rows = recipe.step_rows(rows, survey) if steps is None else sum(survey.sizes) / steps
        executor.plan = Plan(survey.sizes, step_rows, np.random.default_rng(seed))
        opened = nullcontext()
        if checkpoint is not None:
            data = [*survey.blocks.values(), *recipe.fingerprints(None)]
            prints = identity(estimator, data) | {"steps": repr(steps)}
            opened = CheckpointFolder(checkpoint, prints, checkpoint_every, resume)
        with opened as folder:
            learn(estimator, recipe, monitor, rows, workers, before, None, seeds, folder)
    warn_unless_converged(estimator, monitor)
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


def n_rows_of(X):
    """Number of rows of a block of any form; 1 for other objects, which later checks reject."""
    shape = getattr(X, "shape", None)
    if shape is None:
        return len(X) if hasattr(X, "__len__") else 1
    return shape[0] if shape else 1


@contextmanager
def block_named(number):
    """Name the block in the message of every error, once."""
    try:
        yield
    except Exception as error:
        if f"block {number}: " in str(error):  # a reader has named it
            raise
        raise named(error, f"block {number}") from error


def named(error, where):
    """An error whose message begins with a place: of the same type if its only argument is a message."""
    if not error.args or (len(error.args) == 1 and isinstance(error.args[0], str)):
        with suppress(Exception):
            return type(error)(f"{where}: {error.args[0]}" if error.args else where)
    if isinstance(error, OSError) and len(error.args) == 2:
        return type(error)(error.errno, f"{where}: {error.strerror}", error.filename)
    return RuntimeError(f"{where}: {type(error).__name__}: {error}")
