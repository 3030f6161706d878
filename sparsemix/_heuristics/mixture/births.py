"""Births: dead or superfluous components are reused where the rows need more components.

**In a fit** a dead component is replaced by one half of another. Before an epoch some of the largest components are cut
in two, as in the initialisation, by a sample of their rows. The halves that gain most replace dead components. If the
bound has fallen after the epoch, the fit restores the statistics from before.

**In a stream** rows of a block that no component explains get components. A component whose new rows lie too far from
it is split into its earlier rows and the new ones. Clusters of new rows that raise the evidence replace components
without rows, or one of two components that are merged; statistics merge without the rows.

**In a stream that forgets** they also replace components whose clusters have ended. As long as there are such
components, others whose rows of a block show two clusters are split.
"""

from copy import copy

import numpy as np
from scipy.special import chdtri

from sparsemix._engine.loop import Hook, collect, respond
from sparsemix._heuristics.mixture import policy
from sparsemix._heuristics.mixture.splitting import Splitting, cut_gains, merge_losses, most_likely, neighbouring
from sparsemix._models.mixture.candidates import PERIOD, CandidateLists, PairTable, expected_weights
from sparsemix._rows.blocks import Rows
from sparsemix._stats.altered import altered
from sparsemix._stats.responsibilities import SparseResponsibilities

# Number of parents to try for each possible birth; number of sampled rows of each parent, also per dimension.
CHOICE = 2
ROWS, ROWS_PER_DIRECTION = 100, 6
# Halves of a sample would be overconfident: this number of pseudo-rows of their parent per dimension smooths them.
SMOOTHING = 1.0
# A row is far from its component if the component has less than the share FAR of its mass beyond it. A component is
# examined if more than one row and more than FAR_SHARE of its rows are far: by chance several of sixty components have
# a single far row in every block.
FAR, FAR_SHARE = 0.01, 0.03
# Number of rows of a block to examine first: a minimum, and a share of the block.
LOOK_ROWS, LOOK_SHARE = 500, 0.1
# A component with less than this mass is free.
FREE = 1.0
# In a stream that forgets, a component has ended if at least EXPECTED recent rows were expected, and less than the
# share ENDED of them came near it. Recent rows count with the share RECENT of the half-life. A single block cannot tell
# a cluster that has ended from one that the block lacks, unless the share BREAK of its rows is far from all components:
# then only this block is recent. While the stream is younger than a half-life, a new cluster may just be late.
EXPECTED, ENDED, RECENT, BREAK = 7.0, 0.1, 0.5, 0.25


# -- in a fit


class Births(Hook):
    """Proposes births before epochs 2, 3, 5, 9, 17 and so on, and accepts or undoes them at their end.

    Sample rows come from all rows; over blocks, from the subsample of the initialisation. No state survives an epoch,
    so that a fit resumed from a checkpoint does the same.
    """

    _before = None

    def before(self, epoch, fit, stats):
        """Take a step with births; return their statistics, or the given ones without births."""
        if epoch == 1 or (epoch - 1) & (epoch - 2):
            return stats
        model, rows, schedule, workers = fit.model, fit.rows, fit.schedule, fit.workers
        fit.monitor.step(stats, copy(model))  # published if an interrupt comes before the next step
        count = stats["count"]
        dead = np.flatnonzero(count < policy.POLICY.dead * count.sum() / len(count))
        parents = np.argsort(-count, kind="stable")[: CHOICE * len(dead)]
        parents = np.sort(np.setdiff1d(parents, dead))
        if not len(dead) or not len(parents):
            return stats
        cuts = self._cut(model, rows, count, parents, len(dead), np.random.default_rng(epoch), workers)
        if cuts is None:
            return stats
        halves, first, second = cuts
        before, stats = stats, stats.copy()
        cut = parents[first]
        whole = stats.take(cut)
        blend = SMOOTHING * model.family.n_features / count[cut]
        born, left = (halves.take(each).put(np.arange(len(cut)), whole, blend, 1.0) for each in (second, first))
        factors = count[cut] / (born["count"] + left["count"])
        dead = dead[: len(second)]
        stats.put(dead, born, factors).put(cut, left, factors)
        undo = [schedule.put(np.concatenate([dead, cut]), stats)]
        memory = rows.source if rows.memory is None else rows.memory
        if memory is not None:
            undo.append(memory.saved())
        if schedule.has_bound:
            self._before = model.lower_bound(before), before, dict(vars(model)), undo
        model.renew_search()
        model.global_step(stats, workers.split)
        if rows.source is not None:
            rows.source.changed(stats)
        return stats

    def end(self, epoch, fit, stats):  # noqa: ARG002
        """Statistics after the epoch with births, and whether the births were undone."""
        if self._before is None:
            return stats, False
        model, rows, workers = fit.model, fit.rows, fit.workers
        (bound, before, parameters, undo), self._before = self._before, None
        if model.lower_bound(stats) >= bound:
            return stats, False
        for each in undo:
            each()
        vars(model).update(parameters)
        model.renew_search()
        model.global_step(before, workers.split)
        if rows.source is not None:
            rows.source.changed(before)
        return before, True

    def _cut(self, model, rows, count, parents, wanted, rng, workers):
        """Statistics of the halves, and the indices of first and second halves; None if no split gains."""
        wish = max(ROWS, ROWS_PER_DIRECTION * model.family.n_features)
        size = min(len(rows), int(len(rows) * wish / (count[parents].mean() / count.sum() * len(rows))) + 1)
        sample = np.sort(rng.choice(len(rows), size=size, replace=False))
        place = np.full(len(count), -1, dtype=np.int32)
        place[parents] = np.arange(len(parents))
        labels = place[most_likely(looked(model, rows, sample, workers))]
        sample, labels = sample[labels >= 0], labels[labels >= 0]
        if not len(sample):
            return None
        some = Rows(rows.read(sample), rows.weight(sample))
        splitting = Splitting(model.evidence_model, some, rng, workers, labels.copy(), len(parents))
        born = splitting.cut(wanted, least=0.0)
        if not len(born):
            return None
        second = len(parents) + np.arange(len(born))
        one = np.unique(splitting.labels, return_index=True)
        first = labels[one[1][np.searchsorted(one[0], second)]]
        return splitting.stats(), first, second


def looked(model, rows, selection, workers):
    """Responsibilities of the chosen rows, without a change of their lists.

    A subsample of blocks has no lists and tries all components.
    """
    some = copy(rows)
    if rows.source is not None:
        model = altered(model, search=None)
    elif rows.memory is not None:
        some = Rows(rows.read(selection), rows.weight(selection))
        some.memory = CandidateLists(len(some), rows.memory.lists.shape[1])
        some.memory.lists[:] = rows.memory.lists[selection]
        some.memory.visits[:] = PERIOD - 1  # few random components
        selection = slice(0, len(some))
    return respond(model, some, selection, workers)[0]


# -- in a stream


def late_births(model, stats, rows, workers, recent=None):
    """Model and statistics with new components for new clusters in a block; None if there are none.

    The model's table includes the new components, so that the rows of the block find them; the statistics do not yet.
    A stream that forgets passes its ``Recent`` rows.
    """
    if recent is None and len(rows) < 2:  # a birth needs two far rows
        return None
    least = max(LOOK_ROWS, int(LOOK_SHARE * len(rows)))
    sample = np.arange(0, len(rows), max(1, len(rows) // least))
    near = Near(model, rows, sample, workers)
    ended = np.empty(0, dtype=np.intp)
    if recent is not None:
        weight = near.rows.weight(~near.far)
        recent.add(near.hosts[~near.far], weight, rows.mass, rows.mass / near.rows.mass, near.far.mean())
        ended = recent.ended(stats)
    for find in (of_far_rows, of_halves)[: 2 if len(ended) else 1]:
        found = find(model, stats, near, ended, workers)
        if found is not None and len(sample) < len(rows):  # repeat with all rows
            found = find(model, stats, Near(model, rows, np.arange(len(rows)), workers), ended, workers)
        if found is not None:
            model, stats, n_rows = found
            if recent is not None:
                recent.count += n_rows
            return model, stats
    return None


class Near:
    """Chosen rows, their nearest components, and whether each is far from it."""

    def __init__(self, model, rows, selection, workers):
        self.hosts = most_likely(looked(model, rows, selection, workers))
        self.far = far_rows(model, rows, selection, self.hosts)
        self.rows = Rows(rows.read(selection), rows.weight(selection))

    def part(self, chosen):
        """Some of these rows, and their nearest components."""
        return Rows(self.rows.X[chosen], self.rows.weight(chosen)), self.hosts[chosen]


class Recent:
    """Number of recent rows near each component of a stream that forgets, and of all recent rows.

    At first, all components are as recent as the statistics, and the memory is full.
    """

    def __init__(self, half_life, stats, before=None, share=RECENT):
        self.memory = share * half_life
        self.age = stats.mass if before is None else before.age
        self.old = self.age >= half_life
        self.mass = self.memory / np.log(2.0) if before is None else before.mass
        self.count = self.mass * (stats["count"] / stats.mass) if before is None else before.count

    def add(self, hosts, weight, mass, times=1.0, far=0.0):
        """Add a block of this mass: ``times`` the weights of rows near ``hosts``, and its share of far rows."""
        kept = 0.0 if self.old and far >= BREAK else 0.5 ** (mass / self.memory)
        self.count = kept * self.count + times * np.bincount(hosts, weight, len(self.count))
        self.mass = kept * self.mass + mass
        self.age += mass

    def ended(self, stats):
        """Components that have ended, the smallest first."""
        expected = self.mass * (stats["count"] / stats.mass)
        ended = np.flatnonzero((expected >= EXPECTED) & (self.count < ENDED * expected))
        return ended[np.argsort(expected[ended], kind="stable")]


def of_far_rows(model, stats, near, ended, workers):
    """Births of rows that no component explains."""
    new = new_rows(model, stats, near, workers)
    if new is None:
        return None
    some, hosts = near.part(new)
    splitting = Splitting(model.evidence_model, some, np.random.default_rng(0), workers)
    labels = clusters(splitting, min(stats.n_components, max(1, len(some) // (2 * policy.POLICY.least_rows))), workers)
    gains = gained(model, stats, some, labels, hosts, workers)
    return with_births(model, stats, some, labels, gains, ended, workers)


def of_halves(model, stats, near, ended, workers):
    """Births that split components whose rows of the block show two clusters; both halves forget earlier rows."""
    free = np.concatenate([np.flatnonzero(stats["count"] < FREE), ended])
    some, hosts = near.part(~np.isin(near.hosts, free))
    if len(some) < 2:
        return None
    names, labels = np.unique(hosts, return_inverse=True)
    labels = labels.astype(np.int32)
    splitting = Splitting(model.evidence_model, some, np.random.default_rng(0), workers, labels, len(names))
    labels, changed = halved(splitting, names, free)
    return born(model, without(model, stats, changed), some, labels, workers) if len(changed) else None


def halved(splitting, names, free):
    """Labels of the rows of components that are split, -1 for other rows; and the components that change.

    ``names`` are the components of the splitting.
    """
    before = splitting.labels.copy()
    n_born = len(splitting.cut(len(free), least=0.0))
    moved = splitting.labels != before
    changed = np.append(names[np.unique(before[moved])], free[:n_born])
    labels = np.append(names, free[:n_born])[splitting.labels]
    labels[~np.isin(labels, changed)] = -1
    return labels, changed


def new_rows(model, stats, near, workers):
    """Indices of rows that fit no existing component; None if there are none."""
    n_components, hosts, far = stats.n_components, near.hosts, near.far
    n_far, n_all = (np.bincount(each, minlength=n_components) for each in (hosts[far], hosts))
    suspects = n_far > np.maximum(1.0, FAR_SHARE * n_all)
    if not suspects.any():
        return None
    if model.family.tied:  # the shared covariance depends on all components
        suspects[:] = True
    looked_at = suspects[hosts]
    some, hosts = near.part(looked_at)
    names = np.flatnonzero(suspects)
    place = np.searchsorted(names, hosts).astype(np.int32)
    parting = Splitting(
        model.evidence_model, some, np.random.default_rng(0), workers, place, len(names), stats.take(names),
        far[looked_at],
    )  # fmt: skip
    if not len(parting.cut(len(names), least=0.0)):
        return None
    return np.flatnonzero(looked_at)[parting.labels >= len(names)]


def clusters(splitting, most, workers):
    """Labels of new rows, by splits into too many clusters and then merges; -1 for rows of tiny clusters.

    Splits that must gain would stop too early: halving four clusters in a square gains nothing.
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
    live = np.flatnonzero(np.bincount(labels, minlength=splitting.n) >= policy.POLICY.least_rows)
    place = np.full(splitting.n, -1, dtype=np.int32)
    place[live] = np.arange(len(live))
    return place[labels]


def gained(model, stats, rows, labels, hosts, workers):
    """Gain of each new component over a merge with the old component that hosts most of its rows."""
    together = np.zeros((labels.max(initial=-1) + 1, stats.n_components))
    np.add.at(together, (labels[labels >= 0], hosts[labels >= 0]), 1.0)
    evidence_model = altered(model.evidence_model, table=model.table)
    born = of_labels(model, rows, labels, workers).take(np.arange(len(together)))
    return cut_gains(evidence_model, stats.take(together.argmax(axis=1)), born, workers.split)


def of_labels(model, rows, labels, workers):
    """Statistics of rows with a label, under the labels."""
    chosen = labels >= 0
    some = Rows(rows.X[chosen], rows.weight(chosen))
    return collect(model, some, slice(0, len(some)), workers, given=SparseResponsibilities.from_labels(labels[chosen]))


def far_rows(model, rows, selection, labels):
    """Whether each row is farther from its component than nearly all rows of that component would be."""
    order = np.argsort(labels, kind="stable").astype(np.intc)
    starts = np.searchsorted(labels[order], np.arange(model.n_components + 1)).astype(np.intp)
    table = PairTable(model.table)
    weights = table.weights(table.rows(rows.read(selection)), starts, order)
    far = np.empty(len(labels), dtype=bool)
    distance = 2.0 * (table.constants[labels[order]] - weights)
    far[order] = distance > chdtri(model.family.n_features, FAR)  # as chi2.isf of scipy.stats
    return far


def with_births(model, stats, rows, labels, gains, ended, workers):
    """Give births free components, then superfluous and ended ones.

    Then free more by merges, while a merge and a birth together increase the bound.
    """
    order = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0.0)]
    places = list(np.flatnonzero(stats["count"] < FREE)[: len(order)])
    stats, merged = stats.copy(), True
    if len(ended):
        pairs = merge(model, stats, np.zeros(len(order) - len(places)), workers)
        places += [lost for _, lost in pairs]
        places += list(ended[~np.isin(ended, pairs)][: len(order) - len(places)])
    stats = without(model, stats, places)
    while merged and len(places) < len(order):
        merged = merge(model, stats, gains[order[len(places) :]], workers)
        places += [lost for _, lost in merged]
    if not places:
        return None
    place = np.full(len(gains) + 1, -1, dtype=np.int32)  # the last one is for rows without a label
    place[order[: len(places)]] = places
    return born(model, stats, rows, place[labels], workers)


def without(model, stats, components):
    """Statistics without the rows of the given components, also in the sums that all components share."""
    count = np.zeros(stats.n_components)
    count[components] = stats["count"][components]
    lost = altered(model.family.stats_of(model.published(stats), count), shift=stats.shift)
    return (stats - lost).put(components, stats.take(components), np.zeros(len(components)))


def born(model, stats, rows, labels, workers):
    """Model that has seen rows under the labels of components, statistics that have not, and numbers of these rows."""
    new = of_labels(model, rows, labels, workers)
    model = copy(model)
    model.renew_search()
    model.global_step(stats + new, workers.split)
    return model, stats, new["count"]


def merge(model, stats, gains, workers):
    """Merge components in place while the gain of the merge plus the next of ``gains`` is positive.

    Each component is in at most one merge. Return (kept, lost) of each.
    """
    model = copy(model)
    model.renew_search()
    model.global_step(stats, workers.split)
    merged = []
    for gain, (kept, lost), of_pair in zip(gains, *mergers(model, stats, workers.split), strict=False):
        if gain + of_pair <= 0.0:
            break
        stats.put([kept], stats.take([lost]), np.ones(1), kept=1.0)
        stats.put([lost], stats.take([lost]), np.zeros(1))
        merged.append((kept, lost))
    return merged


def mergers(model, stats, split):
    """Candidate pairs for merges, each component in at most one, the best first; and their gains.

    A gain is minus the gain of the opposite split, minus the entropy that rows between both components lose. For an
    average row of a component that entropy is log(1 + exp(the difference of its expected weights)).
    """
    gaussians = model.published(stats)
    pairs = neighbouring(gaussians, model.table)
    pairs = pairs[(stats["count"][pairs] >= FREE).all(axis=1)]
    evidence_model = altered(model.evidence_model, table=model.table)
    gain = -merge_losses(evidence_model, stats, pairs, split)
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
