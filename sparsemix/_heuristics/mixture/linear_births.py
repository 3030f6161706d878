"""Births in streams of sparse rows that forget: components that are too wide are split into components that ended."""

from copy import copy

import numpy as np

from sparsemix._engine.loop import collect, respond
from sparsemix._heuristics.mixture.births import FREE, halved
from sparsemix._heuristics.mixture.linear_splitting import LinearSplitting
from sparsemix._heuristics.mixture.splitting import most_likely
from sparsemix._stats.altered import altered
from sparsemix._stats.responsibilities import SparseResponsibilities

# Share of the half-life with which recent rows count. No row is known to be far from a component, so what is recent
# must be short.
RECENT = 0.125


def late_halves(model, stats, rows, part, recent, workers):
    """Model and statistics with new components, as from ``late_births``; None if there are none.

    ``part(rows, numbers)`` are some of the rows.
    """
    hosts = most_likely(respond(altered(model, search=None), rows, slice(0, len(rows)), workers)[0])
    recent.add(hosts, rows.weight(slice(0, len(rows))), rows.mass)
    ended = recent.ended(stats)
    free = np.concatenate([np.flatnonzero(stats["count"] < FREE), ended])
    chosen = np.flatnonzero(~np.isin(hosts, free))
    if not len(ended) or len(chosen) < 2:
        return None
    some = part(rows, chosen)
    names, labels = np.unique(hosts[chosen], return_inverse=True)
    fresh, labels = altered(model, parameters=None), labels.astype(np.int32)
    splitting = LinearSplitting(fresh, some, np.random.default_rng(0), workers, labels, len(names))
    labels, changed = halved(splitting, names, free)
    if not len(changed):
        return None
    live = np.flatnonzero(labels >= 0)
    resp = SparseResponsibilities.from_labels(labels[live])
    new = collect(model, part(some, live), slice(0, len(live)), workers, given=resp)
    lost = stats["count"][changed].sum()
    stats = stats.copy().put(changed, stats.take(changed), np.zeros(len(changed)))
    stats.add_to(mass=-lost)
    recent.count += new["count"]
    model = copy(model)
    model.renew_search()
    model.global_step(stats + new, workers.split)
    return model, stats
