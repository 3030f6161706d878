"""Births in a stream: rows of a block that no component explains become components of their own.

Components whose rows are farther from them than theirs should be are cut into what they were and what is new. Cuts that
raise the evidence take the places of components without rows, or of two that are one: sums of statistics merge
without the rows.
"""

from copy import copy

import numpy as np
from scipy.stats import chi2

from sparsemix._engine.blocks import Rows
from sparsemix._engine.loop import collect_given
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix.mixture._births import most_likely
from sparsemix.mixture._candidates import PairTable, expected_weights, nearest
from sparsemix.mixture._splitting import LEAST_ROWS, Splitting, cut_gains

# A row is far from its component if that has so few others there; components of which a larger share is are looked at.
FAR, FAR_SHARE = 0.01, 0.03
# Rows of a block that are looked at first: so many at least, or this share of them.
LOOK_ROWS, LOOK_SHARE = 500, 0.1
# A component that less than this has remained of is free.
FREE = 1.0
# Neighbours of a component with which it may be merged.
PARTNERS = 4


def late_births(model, stats, rows, workers):
    """Model and statistics with room for what is new in a block; None where nothing is.

    The model's table knows the new components, so that the rows of the block find them; the statistics do not yet.
    """
    least = max(LOOK_ROWS, int(LOOK_SHARE * len(rows)))
    sample = np.arange(0, len(rows), max(1, len(rows) // least))
    found = new_rows(model, stats, rows, sample, workers)
    if found is not None and len(sample) < len(rows):  # look again, with all rows
        found = new_rows(model, stats, rows, np.arange(len(rows)), workers)
    if found is None:
        return None
    new, hosts = found
    some = Rows(rows.read(new), rows.weight(new))
    splitting = Splitting(model.judge, some, np.random.default_rng(0), workers)
    labels = clusters(splitting, min(stats.n_components, max(1, len(some) // (2 * LEAST_ROWS))), workers)
    return with_births(model, stats, some, labels, gained(model, stats, some, labels, hosts, workers), workers)


def new_rows(model, stats, rows, selection, workers):
    """Which of the chosen rows had better not belong to a component of before, and to which they would; or None."""
    n_components = stats.n_components
    hosts = most_likely(model, rows, selection, workers)
    far = far_rows(model, rows, selection, hosts)
    n_far, n_all = (np.bincount(each, minlength=n_components) for each in (hosts[far], hosts))
    suspects = (n_far > 0) & (n_far > FAR_SHARE * n_all)
    if not suspects.any():
        return None
    if model.family.tied:  # what components share is of all of them
        suspects[:] = True
    looked_at = suspects[hosts]
    hosts, selection, far = hosts[looked_at], selection[looked_at], far[looked_at]
    names = np.flatnonzero(suspects)
    place = np.searchsorted(names, hosts).astype(np.int32)
    near = Rows(rows.read(selection), rows.weight(selection))
    parting = Splitting(
        model.judge, near, np.random.default_rng(0), workers, place, len(names), stats.take(names), far
    )  # fmt: skip
    if not len(parting.cut(len(names), least=0.0)):
        return None
    new = parting.labels >= len(names)
    return selection[new], hosts[new]


def clusters(splitting, most, workers):
    """Labels of new rows: more clusters than there are by cuts, and from there by mergers; -1 for rows on their own.

    Cuts alone would stop too early: to halve four clusters in a square gains nothing.
    """
    splitting.run(most)
    stats, labels = splitting.stats(), splitting.labels
    merged = True
    while merged:
        merged = merge(splitting.sized(splitting.n), stats, np.zeros(splitting.n), workers)
        names = np.arange(splitting.n)
        for kept, lost in merged:
            names[lost] = kept
        labels = names[labels]
    live = np.flatnonzero(np.bincount(labels, minlength=splitting.n) >= LEAST_ROWS)
    place = np.full(splitting.n, -1, dtype=np.int32)
    place[live] = np.arange(len(live))
    return place[labels]


def gained(model, stats, rows, labels, hosts, workers):
    """What each new component gains on the old one that hosts most of its rows."""
    together = np.zeros((labels.max(initial=-1) + 1, stats.n_components))
    np.add.at(together, (labels[labels >= 0], hosts[labels >= 0]), 1.0)
    judge = copy(model.judge)
    judge.table = model.table
    born = of_labels(model, rows, labels, workers).take(np.arange(len(together)))
    return cut_gains(judge, stats.take(together.argmax(axis=1)), born)


def of_labels(model, rows, labels, workers):
    """Statistics of rows with a label, under the labels."""
    chosen = labels >= 0
    some = Rows(rows.X[chosen], rows.weight(chosen))
    return collect_given(model, some, slice(0, len(some)), SparseResponsibilities.from_labels(labels[chosen]), workers)


def far_rows(model, rows, selection, labels):
    """Which rows are farther from their component than nearly all of its own would be."""
    order = np.argsort(labels, kind="stable").astype(np.intc)
    starts = np.searchsorted(labels[order], np.arange(model.n_components + 1)).astype(np.intp)
    table = PairTable(model.table)
    weights = table.weights(table.rows(rows.read(selection)), starts, order)
    far = np.empty(len(labels), dtype=bool)
    distance = 2.0 * (table.constants[labels[order]] - weights)
    far[order] = distance > chi2.isf(FAR, model.family.n_features)
    return far


def with_births(model, stats, rows, labels, gains, workers):
    """Births (rows by label) in free places, and in those that mergers leave, as long as both together gain."""
    order = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0.0)]
    places = list(np.flatnonzero(stats["count"] < FREE)[: len(order)])
    stats, merged = stats.copy(), True
    while merged and len(places) < len(order):
        merged = merge(model, stats, gains[order[len(places) :]], workers)
        places += [lost for _, lost in merged]
    if not places:
        return None
    stats.put(places, stats.take(places), np.zeros(len(places)))  # less than a row is left in some
    place = np.full(len(gains), -1, dtype=np.int32)
    place[order[: len(places)]] = places
    seen = stats + of_labels(model, rows, np.where(labels < 0, -1, place[labels]), workers)
    model = copy(model)
    if model.search is not None:
        model.search = model.search.renewed()
    model.global_step(seen, workers.split)
    return model, stats


def merge(model, stats, gains, workers):
    """Merge components, in place, as long as that and the next of the gains are more than nothing.

    Each component is in one merger at most. Returns (kept, lost) of each.
    """
    model = copy(model)
    if model.search is not None:
        model.search = model.search.renewed()
    model.global_step(stats, workers.split)
    merged = []
    for gain, (kept, lost), of_pair in zip(gains, *mergers(model, stats), strict=False):
        if gain + of_pair <= 0.0:
            break
        stats.put([kept], stats.take([lost]), np.ones(1), kept=1.0)
        stats.put([lost], stats.take([lost]), np.zeros(1))
        merged.append((kept, lost))
    return merged


def mergers(model, stats):
    """Pairs of components that may become one, each component in one at most, the best first; and what they gain.

    Cutting them would gain the opposite, and besides rows that belong to both would have a choice; on the average
    row of a component that is worth log(1 + exp(the difference of its expected weights)).
    """
    gaussians = model.published(stats)
    n_partners = min(PARTNERS + 1, stats.n_components)
    first = np.repeat(np.arange(stats.n_components), n_partners)
    second = nearest(gaussians, model.table, n_partners).ravel()
    pairs = np.unique(np.sort(np.stack([first, second], axis=1)[first != second], axis=1), axis=0)
    pairs = pairs[(stats["count"][pairs] >= FREE).all(axis=1)]
    judge = copy(model.judge)
    judge.table = model.table
    gain = -cut_gains(judge, stats.take(pairs[:, 0]), stats.take(pairs[:, 1]))
    moments, natural, constants = expected_weights(gaussians, model.table)

    def expected(of, under):
        return (moments[of] * natural[under]).sum(axis=1) + constants[under]

    for mine, other in (pairs.T, pairs.T[::-1]):
        gain -= stats["count"][mine] * np.logaddexp(0.0, expected(mine, other) - expected(mine, mine))
    taken, kept = np.zeros(stats.n_components, dtype=bool), []
    for i in np.argsort(-gain, kind="stable"):
        if not taken[pairs[i]].any():
            taken[pairs[i]] = True
            kept.append(i)
    return pairs[kept], gain[kept]
