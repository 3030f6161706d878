"""The fit loop, written once for every additive model and every schedule."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from sparsemix._rows import blocks
from sparsemix._rows.threads import interrupts_wait

# Pieces of a chunk for each thread: a thread that has ended one takes the next.
PIECES = 8


def collect(model, rows, selection, workers, following=None, given=None):
    """Statistics of one batch: the local step tile by tile, then the sums chunk by chunk.

    Responsibilities exist for one chunk at a time. Threads share the tiles, then the components; one of them meanwhile
    reads the next chunk, or the first chunk of the batch ``following``. The sums may be deferred: until the next global
    step they are computed from the model's tables. ``given`` responsibilities replace the local step.
    """
    # those of an initialisation are dense: smoothing fills all of them
    stats = model.empty_stats(rows, selection) if given is None else model.empty_stats()
    tile, size = model.blocking(rows) if given is None else rows.blocking(model.n_components, given.indices.shape[1])
    after = None if following is None else next(blocks.chunks(following, size), None)
    done = 0
    for chunk, coming in pairwise([*blocks.chunks(selection, size), after]):
        with workers.meanwhile(partial(rows.read_ahead, coming)):
            if given is None:
                resp, x = respond(model, rows, chunk, workers, tile)
            else:
                resp, x = given.rows(done, done + blocks.length(chunk)), rows.read(chunk)
                done += blocks.length(chunk)
        model.accumulate(x, resp, rows.weight(chunk), stats, workers)
    stats.n_rows = blocks.length(selection)
    return stats


def respond(model, rows, selection, workers, tile=None):
    """Responsibilities of the chosen rows, and the rows as the model sees them; ``tile`` as of ``blocking``."""
    n_rows = blocks.length(selection)
    tile = model.blocking(rows)[0] if tile is None else tile
    x = rows.buffer(selection)
    model.prepare(x, workers)
    resp = model.empty_responsibilities(x, n_rows)

    unused = []  # scratch memory of threads that have ended their piece

    def share(start, stop):
        scratch = unused.pop() if unused else model.scratch(tile)
        for a, b in blocks.spans(stop - start, tile):
            a, b = start + a, start + b
            numbers = rows.first_row + blocks.numbers(selection, a, b)
            model.local_step(rows.load(selection, a, b, x), resp.rows(a, b), scratch, numbers, rows.memory)
        unused.append(scratch)

    workers.map(share, blocks.shares(n_rows, tile, PIECES * workers.n_jobs))
    return resp, x


@dataclass(frozen=True)
class Fit:
    """What hooks may read and change."""

    model: object
    rows: object
    schedule: object
    monitor: object
    workers: object


class Hook:
    """Acts between the epochs of a fit; all methods may be left as they are."""

    def before(self, epoch, fit, stats):  # noqa: ARG002
        """Statistics from which the epoch starts; an interrupt waits for them."""
        return stats

    def end(self, epoch, fit, stats):  # noqa: ARG002
        """Statistics at the end of the epoch, and whether the epoch was undone; an interrupt waits for them."""
        return stats, False

    def after(self, epoch, fit, stats):
        """Called with the statistics of the recorded epoch, from which the next one starts."""


def run(model, rows, schedule, monitor, workers, stats, collect=collect, hooks=()):
    """Fit ``model`` from initial statistics; returns the final statistics, which match the model's parameters.

    1. The first global step makes the model's tables. A monitor with completed epochs continues after them instead.
    2. Before an epoch, hooks may change the statistics.
    3. For each batch: local step and sums, then the schedule's update and the global step. Steps change the statistics
       in place. An interrupt waits for the end of a step; if a step raises, nothing is published.
    4. At the end of the epoch the model drops its caches, and hooks may undo their changes.
    5. The monitor records the epoch and decides whether the fit ends.
    6. Hooks see the recorded epoch: they repair the memory of rows, or write a checkpoint.
    """
    fit = Fit(model, rows, schedule, monitor, workers)
    if monitor.n_epochs_done == 0:  # 1
        model.global_step(stats, workers.split)
    elif monitor.is_over(model, stats):
        return stats
    for epoch in range(monitor.n_epochs_done + 1, monitor.max_iter + 1):
        monitor.begin(epoch)
        for hook in hooks:  # 2
            with interrupts_wait():
                stats = hook.before(epoch, fit, stats)
        for selection in schedule.batches():  # 3
            new = collect(model, rows, selection, workers, schedule.following)
            with interrupts_wait():
                monitor.before_step()
                stats = advance(model, schedule, stats, new, workers.split)
                monitor.model = model
                monitor.step(stats)
        model.forget()  # 4
        undone = False
        for hook in hooks:
            with interrupts_wait():
                stats, by_hook = hook.end(epoch, fit, stats)
                if by_hook:
                    undone = True
                    monitor.step(stats)
        monitor.epoch(epoch, model, stats, undone)  # 5
        for hook in hooks:  # 6
            hook.after(epoch, fit, stats)
        if monitor.ended:
            break
    return stats


def advance(model, schedule, stats, new, split):
    """One global step: the statistics after a batch that left ``new``; ``blend`` of schedules.py adds deferred sums."""
    stats = schedule.absorb(stats, new)
    model.global_step(stats, split)
    return stats
