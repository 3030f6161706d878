"""Checks of candidate lists: a few rows try all components, which shows how much the lists miss."""

import numpy as np

from sparsemix._engine.loop import Hook, respond
from sparsemix._heuristics.mixture.births import looked
from sparsemix._stats.altered import altered

# Number of rows to check, and the acceptable loss: nats of the log sum of the weights of their best components.
ROWS = 500
MISSED = 0.05


def missed(model, rows, selection, workers):
    """Mean gain of rows that try all components, in nats."""
    exact, x = altered(model, search=None), altered(rows, memory=None)
    gain = respond(exact, x, selection, workers)[0].log_z - looked(model, rows, selection, workers).log_z
    return float(gain.mean())


class Repairs(Hook):
    """Checks the lists after epochs 4, 8, 16, ..., and when the fit would end as converged."""

    def after(self, epoch, fit, stats):  # noqa: ARG002
        """See Hook."""
        due = fit.monitor.converged or (epoch >= 4 and epoch & (epoch - 1) == 0)
        if due and epoch < fit.monitor.max_iter and repaired_lists(epoch, fit.model, fit.rows, fit.workers):
            fit.monitor.repaired()


def repaired_lists(epoch, model, rows, workers):
    """If lists miss much, let rows try all components in the next epoch; return whether lists miss much."""
    sample = np.random.default_rng(epoch).choice(len(rows), size=min(ROWS, len(rows)), replace=False)
    if missed(model, rows, np.sort(sample), workers) <= MISSED:
        return False
    model.use(altered(model.search, all_first=True, groups=None, by_groups=False))
    rows.memory.visits[:] = 0
    return True


def ungrouped(model, rows, workers):
    """The model of a stream; its rows try all components from now on if groups of components miss much."""
    if model.search.groups is None:
        return model
    sample = np.arange(0, len(rows), max(1, len(rows) // ROWS))
    if missed(model, rows, sample, workers) <= MISSED:
        return model
    return altered(model, search=altered(model.search, groups=None, by_groups=False))
