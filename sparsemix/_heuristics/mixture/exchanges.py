"""Exchanges: two components merge, and another is split in two.

k-means divides a large cluster among several components and gives several small or elongated clusters one component. No
epoch repairs that, since the likelihood is lower between the two partitions. The evidence under hard assignments ranks
splits and merges; the bound after a few steps of all components decides (Ueda, Nakano, Ghahramani and Hinton 2000,
"SMEM Algorithm for Mixture Models").
"""

from functools import partial

import numpy as np

from sparsemix._heuristics.mixture import policy
from sparsemix._heuristics.mixture.splitting import climb, most_likely, splitting
from sparsemix._models.mixture.few import FewGaussians, lower_bound
from sparsemix._stats.responsibilities import SparseResponsibilities


def exchange_components(learner, rows, resp, rng, workers, splitter=None, few=None):
    """The bound and the responsibilities after steps of all components and all exchanges that raise the bound.

    Many components are exchanged at once. If the bound falls, half as many are tried. ``splitter`` makes splittings of
    rows that are not dense; ``few`` as for ``climb``.
    """
    if splitter is None:
        few = few or FewGaussians.of(learner, rows)
        splitter = partial(splitting, few=few)
    steps, tol = policy.POLICY.climb_steps, policy.POLICY.climb_tol
    stats, resp = climb(learner, rows, resp, steps, workers, tol, few)
    bound, most = lower_bound(learner, stats, few), learner.n_components
    for _ in range(learner.n_components):
        proposed, n_exchanges = exchanged(learner, rows, most_likely(resp), most, rng, workers, splitter)
        if not n_exchanges:
            break
        stats, after = climb(learner, rows, SparseResponsibilities.from_labels(proposed), steps, workers, tol, few)
        now = lower_bound(learner, stats, few)
        if now > bound:
            bound, resp = now, after
        elif n_exchanges == 1:
            break
        else:
            most = n_exchanges // 2
    return bound, resp


def exchanged(learner, rows, labels, most, rng, workers, splitter=splitting):
    """Labels after the exchanges that gain most evidence, and their number; each component takes part in one of them.

    A split must gain ``least_gain`` of the splitting by itself.
    """
    halved = splitter(learner, rows, rng, workers, labels.copy(), learner.n_components)
    model, stats = halved.sized(halved.n), halved.stats()
    gains = halved.cut(halved.n, least=halved.least_gain)
    if not len(gains):
        return labels, 0
    halves = model.n_components + np.arange(len(gains))
    parents = labels[np.unique(halved.labels, return_index=True)[1][-len(gains) :]]
    gains[halved.refused(parents, halves)] = -np.inf
    pairs, lost = halved.merges(model, stats)
    after, n = labels.copy(), 0
    for kept, freed, cut in matched(pairs, lost, parents, gains, most):
        after[labels == freed] = kept
        after[halved.labels == halves[cut]] = freed
        n += 1
    return after, n


def matched(pairs, lost, parents, gains, most):
    """Merges and cuts that gain most together, as (component kept, component freed, cut), at most ``most``."""
    used = np.zeros(max(pairs.max(initial=0), parents.max()) + 1, dtype=bool)
    order = np.argsort(-gains, kind="stable")
    for i in np.argsort(lost, kind="stable"):
        kept, freed = pairs[i]
        if not most or used[kept] or used[freed]:
            continue
        used[[kept, freed]] = True
        free = order[~used[parents[order]]]
        if not len(free) or gains[free[0]] <= lost[i]:
            used[[kept, freed]] = False
            continue
        used[parents[free[0]]] = True
        most -= 1
        yield kept, freed, free[0]
