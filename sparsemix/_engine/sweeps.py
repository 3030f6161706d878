"""The loop of sequential models: one document after the other, with sums updated after each.

Additive models run in ``loop.py``. Here ``sweep`` changes the state of rows and the statistics in place, in row order.
Hence there is one thread, and the result depends on the order of the documents.
"""

import zlib
from contextlib import nullcontext
from copy import copy

import numpy as np

from sparsemix._rows.blocks import spans
from sparsemix._rows.threads import interrupts_wait

# No fit converges earlier: after a random initialisation all topics are similar and change little until they separate.
LEAST_SWEEPS = 12


class Sweeps:
    """The part of ``Schedule`` that a monitor reads: one sweep per epoch."""

    first_comparable_epoch = 1

    def __init__(self, has_bound, least_epochs=LEAST_SWEEPS):
        self.has_bound = has_bound
        self.least_epochs = least_epochs


class RowState:
    """State of the rows of a sequential model, block by block: responsibilities, or topics of tokens.

    It belongs to the engine and to one fit; an estimator keeps it to continue with the same rows.

    Parameters
    ----------
    rows : Documents or Rows
    n_components : int
        Sets the rows of a block, unless ``size`` is given.
    size : int or None
        Rows of a block.
    order : ndarray of shape (N,) or None
        Order of the visits; None: the order of the data.

    Attributes
    ----------
    parts : list
        State of each block; None before ``fill``.
    n_sweeps : int
        Sweeps completed so far, over all fits.
    whole : bool
        False during a sweep, and after an interrupted one.
    shared : bool
        Whether a shallow copy of an estimator holds this object.
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
        """A state that may change in place: this one, or a copy if another estimator holds it."""
        if not self.shared:
            return self
        twin = copy(self)
        twin.parts, twin.shared = [part.copy() for part in self.parts], False
        return twin

    def visits(self, rows):
        """Iterable of all blocks in order: rows, weights, state, first row number; may be iterated repeatedly."""
        return Visits(self, rows)

    def _visits(self, rows):
        for part, (start, stop) in zip(self.parts, self.spans, strict=True):
            selection = slice(start, stop) if self.order is None else self.order[start:stop]
            yield rows.read(selection), rows.weight(selection), part, start

    def fill(self, rows, make):
        """Set the state of every block to ``make(x)``."""
        self.parts = [make(x) for x, _, _, _ in self.visits(rows)]
        self._key = self._key_of(rows)

    def fits(self, rows, model):
        """Whether this state is complete and belongs to these rows and to a model of this kind."""
        same = self.parts[0].dtype == model.state_dtype and self.n_components == model.n_components
        if not (self.whole and same and len(rows) == self.spans[-1][1] and self._key == self._key_of(rows)):
            return False
        # states loaded as a read-only memory map cannot change in place
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
    """A reusable iterable over the blocks of some rows with their state."""

    def __init__(self, state, rows):
        self.state = state
        self.rows = rows

    def __iter__(self):
        return self.state._visits(self.rows)


def burn_in_of(params):
    """Epochs of a chain before its first sample: the parameter, or half of ``max_iter``."""
    return params.max_iter // 2 if params.burn_in is None else params.burn_in


class Mean:
    """The published statistics of a chain: the mean over its samples; before the first sample, the last sweep's.

    Parameters
    ----------
    burn_in : int
        Sweeps before the first sample.
    thin : int
        Sweeps between samples.
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
    """Sweep until the monitor ends the fit; ``stats`` and ``state`` change in place, and the monitor gets copies."""
    for epoch in range(1, monitor.max_iter + 1):
        monitor.begin(epoch)
        model.begin(stats)
        state.whole = False
        try:
            for x, weight, part, start in state.visits(rows):
                with interrupts_wait() if model.whole_blocks else nullcontext():
                    model.sweep(x, weight, part, stats, start, state.n_sweeps)
        except BaseException:
            if monitor.stats is stats:  # published without a copy: make them match the state of rows
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
    """First sweep over some rows in consecutive parts, each starting from a copy of the statistics.

    Parameters
    ----------
    model : SequentialModel
        Receives the ``sums`` and ``mass_swept`` of all parts.
    rows : Rows or Documents
    order : ndarray of int or None
        Order of the visits.
    size : int
        Rows of a block.
    stats : object
        Statistics of the earlier rows.
    start, stop, n_parts : int
    workers : Workers
        Threads that run the parts; the result does not depend on them.

    Returns
    -------
    parts : list
        Statistics of each part plus the earlier rows.
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
    """First sweep over consecutive rows of the order, without storing their state."""
    for first, last in spans(stop - start, size):
        selection = slice(start + first, start + last) if order is None else order[start + first : start + last]
        model.sweep(rows.read(selection), rows.weight(selection), None, stats, start + first, 0)


def recount(model, rows, state, monitor, stats):
    """Recompute the sums from the state of rows; if that fails, do not publish statistics that were not copied."""
    try:
        with interrupts_wait():
            model.recount(state.visits(rows), stats)
    except BaseException:
        if monitor.stats is stats:
            monitor.stats = None
        raise
