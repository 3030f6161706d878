"""Exchanges of components: two components merge, and another is split in two.

k-means divides a large cluster among several components and gives several small or elongated clusters one component. No
epoch repairs that, since the likelihood is lower between the two partitions. The evidence under hard assignments ranks
splits and merges; a few steps of all components after an exchange decide (Ueda, Nakano, Ghahramani and Hinton 2000,
"SMEM Algorithm for Mixture Models").
"""

import numpy as np

from sparsemix.mixture._starts._splitting import Splitting, cut_gains, learn, sized

# Steps after each exchange.
STEPS = 10


def exchange_components(learner, rows, labels, rng, workers):
    """Labels after all exchanges that raise the bound, at most K; None if no exchange does."""
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
    """Labels after the exchange that gains most evidence; None if no exchange gains.

    The split must gain by itself: with few rows per parameter the evidence prefers fewer components, and any merge
    would pay for a component of a handful of rows. No column may become constant in a half: a column of few values (a
    category, a pixel) would gain an unbounded density, without evidence of clusters.
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
