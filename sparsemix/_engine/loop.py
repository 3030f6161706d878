"""The fit loop, written once for every additive model and every schedule."""

from copy import copy
from functools import partial
from itertools import pairwise

from sparsemix._engine import blocks
from sparsemix._engine.interrupts import interrupts_wait


def collect(model, rows, selection, workers, following=None, given=None):
    """Statistics of one batch: the local step tile by tile, then the sums chunk by chunk.

    Responsibilities exist for one chunk at a time. Threads share the tiles, then the components; one of them meanwhile
    reads the next chunk, or the first chunk of the batch ``following``. The sums may be deferred: until the next global
    step they are computed from the model's tables. ``given`` responsibilities replace the local step.
    """
    # those of an initialisation are dense: smoothing fills all of them
    stats = model.empty_stats(rows, selection) if given is None else model.empty_stats()
    _, size = model.blocking(rows) if given is None else rows.blocking(model.n_components, given.indices.shape[1])
    after = None if following is None else next(blocks.chunks(following, size), None)
    done = 0
    for chunk, coming in pairwise([*blocks.chunks(selection, size), after]):
        with workers.beside(partial(rows.read_ahead, coming)):
            if given is None:
                resp, x = respond(model, rows, chunk, workers)
            else:
                resp, x = given.rows(done, done + blocks.length(chunk)), rows.read(chunk)
                done += blocks.length(chunk)
        model.accumulate(x, resp, rows.weight(chunk), stats, workers)
    stats.n_rows = blocks.length(selection)
    return stats


def respond(model, rows, selection, workers):
    """Responsibilities of the chosen rows, and the rows as the model sees them."""
    n_rows = blocks.length(selection)
    tile, _ = model.blocking(rows)
    x = rows.buffer(selection)
    model.prepare(x, workers)
    resp = model.empty_responsibilities(x, n_rows)

    def share(start, stop):
        scratch = model.scratch(tile)
        for a, b in blocks.spans(stop - start, tile):
            a, b = start + a, start + b
            numbers = rows.first_row + blocks.numbers(selection, a, b)
            model.local_step(rows.load(selection, a, b, x), resp.rows(a, b), scratch, numbers, rows.memory)

    workers.map(share, blocks.shares(n_rows, tile, workers.n_jobs))
    return resp, x


def run(model, rows, schedule, monitor, workers, stats, collect=collect, keep=None, births=None, repair=None):
    """Fit ``model`` from initial statistics; returns the final statistics, which match the model's parameters.

    Steps change the statistics in place. An interrupt waits for the end of a step; if a step raises, nothing is
    published. A monitor with completed epochs continues with the next epoch. ``keep(stats)`` is called after every
    epoch with the statistics that the next epoch starts from; samplers' tables are never among them. ``births``
    change the statistics before some epochs, and may undo that when the epoch ends. ``repair`` may correct the memory
    of rows after epochs 4, 8, 16, ..., and when the fit would end as converged.
    """
    if monitor.n_epochs_done == 0:
        model.global_step(stats, workers.split)
    elif monitor.is_over(model, stats):
        return stats
    for epoch in range(monitor.n_epochs_done + 1, monitor.max_iter + 1):
        monitor.begin(epoch)
        if births is not None and epoch > 1:
            with interrupts_wait():
                monitor.step(stats, copy(model))  # published if an interrupt comes before the next step
                stats = births.propose(epoch, model, rows, schedule, stats, workers)
        for selection in schedule.batches():
            new = collect(model, rows, selection, workers, schedule.following)  # local step and summary
            with interrupts_wait():
                monitor.before_step()
                stats = advance(model, schedule, stats, new, workers.split)
                monitor.model = model
                monitor.step(stats)
        model.forget()
        undone = False
        if births is not None:
            with interrupts_wait():
                stats, undone = births.settle(model, rows, stats, workers)
                monitor.step(stats)
        ended = monitor.epoch(epoch, model, stats, undone)
        if repair is not None and epoch < monitor.max_iter:
            due = monitor.converged or (epoch >= 4 and epoch & (epoch - 1) == 0)
            if due and repair(epoch, model, rows, workers):
                ended = monitor.go_on()
        if keep is not None:
            keep(stats)
        if ended:
            break
    return stats


def advance(model, schedule, stats, new, split):
    """One global step: the statistics after a batch that left ``new``."""
    stats = schedule.absorb(stats, new)
    model.global_step(stats, split)
    return stats
