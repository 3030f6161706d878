"""Exchanges: two components that had better be one become one, and another is cut in two in their place.

k-means shares a large cluster out among several components and leaves small or stretched ones together, and no pass
mends that: between the two partitions rows would have to be worse explained. Cuts and mergers are weighed by evidence,
under hard assignments; what all components make of an exchange in some steps decides (Ueda, Nakano, Ghahramani and
Hinton 2000, "SMEM Algorithm for Mixture Models").
"""

import numpy as np

from sparsemix.mixture._starts._splitting import Splitting, cut_gains, learn, sized

# Steps after each exchange.
STEPS = 10


def exchange_components(learner, rows, labels, rng, workers):
    """Labels after all exchanges that raise the bound, K at most; None where there are none."""
    stats, labels = learn(learner, rows, labels, STEPS, workers)
    bound, found = learner.lower_bound(stats), None
    for _ in range(learner.n_components):
        proposed = best_exchange(learner, rows, labels, rng, workers)
        if proposed is None:
            break
        stats, labels = learn(learner, rows, proposed, STEPS, workers)
        before, bound = bound, learner.lower_bound(stats)
        if bound <= before:
            break
        found = labels
    return found


def best_exchange(learner, rows, labels, rng, workers):
    """Labels after the exchange that gains most evidence; None where none gains.

    The cut has to gain by itself: where rows are few beside the numbers of a component, evidence prefers fewer
    components, and would pay for a merger with a component of a handful of rows. Nor may a column become constant in a
    half: one of few values (a category, a pixel) would gain what a density can, which says nothing of clusters.
    """
    n = learner.n_components
    splitting = Splitting(learner, rows, rng, workers, labels.copy(), n)
    stats, model = splitting.stats(), sized(learner, n)
    if model.family.tied:
        model.global_step(stats)
    gains = splitting.cut(n, least=0.0)
    if not len(gains):
        return None
    first, second = np.triu_indices(n, 1)
    lost = cut_gains(model, stats.take(first), stats.take(second))
    parents = np.array([labels[(splitting.labels == n + cut).argmax()] for cut in range(len(gains))])
    for cut, parent in enumerate(parents):
        halves = [splitting.x[splitting.labels == each] for each in (parent, n + cut)]
        constant = (np.ptp(halves[0], axis=0) == 0) | (np.ptp(halves[1], axis=0) == 0)
        if (constant & (np.ptp(splitting.x[labels == parent], axis=0) > 0)).any():
            gains[cut] = -np.inf
    total = gains - lost[:, None]
    total[(parents == first[:, None]) | (parents == second[:, None])] = -np.inf
    pair, cut = np.unravel_index(total.argmax(), total.shape)
    if total[pair, cut] <= 0.0:
        return None
    after = labels.copy()
    after[labels == second[pair]] = first[pair]
    after[splitting.labels == n + cut] = second[pair]
    return after
