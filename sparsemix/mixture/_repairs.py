"""Whether short lists of candidates hold what rows need: a few rows look at all components, and show what they miss."""

from copy import copy

import numpy as np

from sparsemix._engine.loop import respond
from sparsemix.mixture._births import looked

# Rows that look, and what they may miss: nats of the log sum of the weights of their best components.
ROWS = 500
MISSED = 0.05


def missed(model, rows, selection, workers):
    """Mean over rows of what they gain by a look at all components, in nats."""
    exact = copy(model)
    exact.search = None
    x = copy(rows)
    x.memory = None
    gain = respond(exact, x, selection, workers)[0].log_z - looked(model, rows, selection, workers).log_z
    return float(gain.mean())


def repaired_lists(epoch, model, rows, workers):
    """Let rows look at all components in the next epoch if lists miss much; whether they do."""
    sample = np.random.default_rng(epoch).choice(len(rows), size=min(ROWS, len(rows)), replace=False)
    if missed(model, rows, np.sort(sample), workers) <= MISSED:
        return False
    model.search = copy(model.search)
    model.search.all_first, model.search.groups, model.search.by_groups = True, None, False
    rows.memory.visits[:] = 0
    return True


def widened(model, rows, workers):
    """The model of a stream, whose rows look at more components where a share of them misses much."""
    sample = np.arange(0, len(rows), max(1, len(rows) // ROWS))
    while model.search.share < 1.0 and missed(model, rows, sample, workers) > MISSED:
        model = copy(model)
        model.search = copy(model.search)
        model.search.share *= 2.0
    return model
