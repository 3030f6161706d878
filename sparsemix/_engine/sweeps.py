"""The loop of sequential models: documents one after the other, and sums that follow each of them at once.

Beside the additive models of ``loop.py`` these are the others: ``sweep`` changes the state of rows and the statistics
in place, in the order of rows, so there is one thread, and the order of documents is part of the result.
"""

import zlib
from contextlib import nullcontext
from copy import copy

import numpy as np

from sparsemix._engine.blocks import spans
from sparsemix._engine.interrupts import interrupts_wait

# No fit converges before: from a random start all topics are nearly alike, and change little until they part.
LEAST_SWEEPS = 12


class Sweeps:
    """What a monitor asks of a schedule: one sweep an epoch."""

    first_comparable_lap = 1

    def __init__(self, has_bound, least_laps=LEAST_SWEEPS):
        self.has_bound = has_bound
        self.least_laps = least_laps


class RowState:
    """What a sequential model keeps of rows, block by block: responsibilities, or topics of tokens.

    It belongs to the engine and to one fit; an estimator that may go on with the same rows keeps it.

    Parameters
    ----------
    rows : Documents or Rows
    n_components : int
        Says how many rows a block has, unless ``size`` does.
    size : int or None
        Rows of a block.
    order : ndarray of shape (N,) or None
        The order in which rows are visited, if not that of the data.

    Attributes
    ----------
    parts : list
        State of each block, by number; None until it is made.
    n_sweeps : int
        Completed so far, over all fits.
    whole : bool
        False while a sweep is under way, and after one that was interrupted.
    shared : bool
        Whether a shallow copy of an estimator holds this very state.
    """

    def __init__(self, rows, n_components, size=None, order=None):
        size = rows.chunk_size(n_components, n_components) if size is None else size
        self.spans = list(spans(len(rows), size))
        self.parts = [None] * len(self.spans)
        self.order = order
        self.n_components = n_components
        self.n_sweeps = 0
        self.whole = True
        self.shared = False
        self._key = None

    def own(self):
        """What may change in place: this state, or a copy where another estimator holds it too."""
        if not self.shared:
            return self
        twin = copy(self)
        twin.parts, twin.shared = [part.copy() for part in self.parts], False
        return twin

    def visits(self, rows):
        """Every block in order: its rows, their weights, its state, the number of its first row; again and again."""
        return Visits(self, rows)

    def _visits(self, rows):
        for part, (start, stop) in zip(self.parts, self.spans, strict=True):
            selection = slice(start, stop) if self.order is None else self.order[start:stop]
            yield rows.read(selection), rows.weight(selection), part, start

    def fill(self, rows, make):
        """State of every block as ``make(x)`` has it."""
        self.parts = [make(x) for x, _, _, _ in self.visits(rows)]
        self._key = self._key_of(rows)

    def fits(self, rows, model):
        """Whether this is the state of these very rows under a model of this kind, and whole."""
        same = self.parts[0].dtype == model.state_dtype and self.n_components == model.n_components
        if not (self.whole and same and len(rows) == self.spans[-1][1] and self._key == self._key_of(rows)):
            return False
        # those of a file that was loaded as a read-only map cannot change in place
        self.parts = [part if part.flags.writeable else part.copy() for part in self.parts]
        return True

    def _key_of(self, rows):
        """A checksum of the rows and weights."""
        key = 0
        for x, weight, _, _ in self.visits(rows):
            for array in (*vars(x).values(), weight):
                key = zlib.crc32(b"" if array is None else np.ascontiguousarray(array), key)
        return key


class Visits:
    """The blocks of some rows with their state, as often as they are asked for."""

    def __init__(self, state, rows):
        self.state = state
        self.rows = rows

    def __iter__(self):
        return self.state._visits(self.rows)


class Mean:
    """The statistics that a chain publishes: the mean over its samples, and before the first the last sweep's.

    Parameters
    ----------
    burn_in : int
        Sweeps before the first sample may be taken.
    thin : int
        Sweeps from sample to sample.
    """

    def __init__(self, burn_in, thin):
        self.burn_in = burn_in
        self.thin = thin
        self.n_samples = 0
        self._sum = None

    def __call__(self, epoch, stats):
        """Statistics to publish after an epoch that left ``stats``."""
        if epoch > self.burn_in and (epoch - self.burn_in) % self.thin == 0:
            self._sum = stats.copy() if self._sum is None else self._sum.add(stats)
            self.n_samples += 1
        return stats if self._sum is None else self._sum.copy().scale(1.0 / self.n_samples)


def run(model, rows, state, monitor, stats, mean=None):
    """Sweep until the monitor says stop; ``stats`` and ``state`` change in place, and the monitor gets copies."""
    for epoch in range(1, monitor.max_iter + 1):
        monitor.begin(epoch)
        model.begin(stats)
        state.whole = False
        try:
            for x, weight, part, start in state.visits(rows):
                with interrupts_wait() if model.whole_blocks else nullcontext():
                    model.sweep(x, weight, part, stats, start, state.n_sweeps)
        except BaseException:
            if monitor.stats is stats:  # published as they stand, less what clusters have lost in this sweep
                recount(model, rows, state, monitor, stats)
            raise
        state.whole = True
        state.n_sweeps += 1
        if epoch == 1 or epoch % model.recount_every == 0:
            recount(model, rows, state, monitor, stats)
        model.global_step(stats, epoch)
        summary = model.summary(stats)
        monitor.step(summary if mean is None else mean(epoch, summary), copy(model))
        if monitor.epoch(epoch, model, stats):
            break


def run_parts(model, rows, order, size, stats, start, stop, n_parts, workers):
    """Some rows of a first sweep in consecutive parts, each from a copy of the statistics.

    Parameters
    ----------
    model : SequentialModel
        Its ``sums`` and ``mass_swept`` are those of all parts afterwards.
    rows : Rows or Documents
    order : ndarray of int or None
        In which rows are visited.
    size : int
        Rows of a block.
    stats : object
        Statistics of the rows before.
    start, stop, n_parts : int
    workers : Workers
        Parts run in these threads; the result does not depend on them.

    Returns
    -------
    parts : list
        Statistics of each part and the rows before.
    """
    bounds = np.linspace(start, stop, n_parts + 1).astype(int)
    models, parts = [copy(model) for _ in range(n_parts)], [stats.copy() for _ in range(n_parts)]

    def sweep(first, last):
        for i in range(first, last):
            models[i].sums, models[i].mass_swept = np.zeros_like(model.sums), 0.0
            sweep_part(models[i], rows, order, size, parts[i], bounds[i], bounds[i + 1])

    workers.map(sweep, [(i, i + 1) for i in range(n_parts)])
    model.sums = sum((each.sums for each in models), model.sums)
    model.mass_swept += sum(each.mass_swept for each in models)
    return parts


def sweep_part(model, rows, order, size, stats, start, stop):
    """Consecutive rows of the order, for the first time, with no state of their own."""
    for first, last in spans(stop - start, size):
        selection = slice(start + first, start + last) if order is None else order[start + first : start + last]
        model.sweep(rows.read(selection), rows.weight(selection), None, stats, start + first, 0)


def recount(model, rows, state, monitor, stats):
    """Sums anew from the state of rows; where that fails, sums that are published as they stand are no longer good."""
    try:
        with interrupts_wait():
            model.recount(state.visits(rows), stats)
    except BaseException:
        if monitor.stats is stats:
            monitor.stats = None
        raise
