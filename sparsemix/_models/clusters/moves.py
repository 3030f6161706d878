"""Merges and prunes of clusters at regular intervals of rows.

Clusters of several shards merge by the same evidence, which needs only their sums.
"""

import numpy as np
from scipy.special import gammaln

from sparsemix._kernels.clusters._sequential import add_entropy, add_overlap

# Default thresholds of the criteria.
MERGE_THRESHOLDS = {"bayes_factor": 0.0, "responsibility": 0.9, "similarity": 0.98}
# Number of other clusters whose Bayes factor is computed for each cluster: those with the highest density at its mean.
NEAREST = 3
# Number of densities of these means in one tile.
TILE_SCORES = 1 << 17
# Minimum similarity of a pair in a stream. Without it touching clusters would merge: the factor treats each row as a
# member of one cluster, and a stream does not know the entropy of rows shared by both.
SIMILAR = 0.8
# Minimum similarity if entropies are known. It is needed since columns with one value favour any merge.
TOUCHING = 0.25
# Clusters of fewer rows need no minimum: they have little entropy, and the prior determines their shape. Three of nine
# clusters of breast cancer data and 21 of 47 clusters of digits were so small.
FEW = 5.0
# Rows between two steps of forgetting, as a share of the half-life.
STEP = 0.25
# A stream that forgets removes clusters with less than this mass.
FADED = 0.05
# Slots of dead clusters are released when they are this share of all slots.
DEAD_SHARE = 0.125


class Moves:
    """Merges, prunes and forgetting at intervals of a stream, or at the end of every epoch.

    A search by Bayes factors waits until the number of values read from rows exceeds its cost. The cost of merges is
    therefore at most a fixed share of a stream, for any width of the table and length of rows.

    Parameters
    ----------
    every : int
        Rows between two searches.
    criterion : {"bayes_factor", "responsibility", "similarity"} or None
        Criterion of merges; None merges nothing.
    threshold : float or None
        Value that the criterion of a pair must exceed.
    prune_threshold : float or None
        Clusters of smaller mass are removed at the second search after they were opened.
    half_life : float or None
        Number of further rows after which a row counts half.
    """

    def __init__(self, every, criterion=None, threshold=None, prune_threshold=None, half_life=None):
        self.every = every
        self.criterion = criterion
        self.threshold = MERGE_THRESHOLDS.get(criterion) if threshold is None else threshold
        self.prune_threshold = prune_threshold
        self.half_life = half_life
        # many small steps, so that a row counts half after this number of rows, and not nothing
        self.fade_every = None if half_life is None else max(1, min(every, int(half_life * STEP)))

    @property
    def wants_overlap(self):
        """Whether the criterion is the overlap of responsibilities."""
        return self.criterion == "responsibility"

    def rows_left(self, state):
        """Rows until the next search or step of forgetting."""
        left = self.every - state.n_rows % self.every
        return left if self.fade_every is None else min(left, self.fade_every - state.n_rows % self.fade_every)

    def due(self, state):
        """Whether a search or a step of forgetting is due."""
        n = state.n_rows
        return n % self.every == 0 or (self.fade_every is not None and n % self.fade_every == 0)

    def after_rows(self, prior, state):
        """Search the clusters of a stream, and forget, where due. What raises changes nothing and stays due."""
        if self.due(state):
            state.all_or_nothing(lambda: self._after_rows(prior, state))

    def _after_rows(self, prior, state):
        searches = state.n_rows % self.every == 0
        if searches and (self.criterion != "bayes_factor" or state.n_read >= state.sums.look_price):
            self.merge(prior, state, once=True)
            state.n_read = 0
        if self.fade_every is not None and state.n_rows % self.fade_every == 0:
            state.fade(0.5 ** (self.fade_every / self.half_life), FADED, prior.discount)
        if searches:
            self._prune(prior, state)
        state.looked_rows = state.n_rows

    def _prune(self, prior, state):
        """Forget light clusters, and release slots, at the end of a search."""
        if self.prune_threshold is not None:
            old = state.ids[: state.n_slots] < state.looked_id
            light = state.counts[: state.n_slots] < self.prune_threshold
            state.forget(np.flatnonzero(old & light), prior.discount)
        live = state.live(prior.discount)
        if state.n_slots - len(live) > DEAD_SHARE * state.n_slots:
            state.keep(live)
            state.recount(prior.discount)
        state.looked()

    def observe(self, responsibilities, weight, state):
        """Record the overlaps or entropies of pairs of clusters over the rows of a block."""
        add = add_entropy if self.criterion == "bayes_factor" else add_overlap
        add(responsibilities, weight, state.overlap)

    def look_back(self, prior, visits, state):
        """Merge by the stored responsibilities of all rows; return the merged slots."""
        if self.criterion in ("bayes_factor", "responsibility"):
            state.note_overlap()
            state.asked[...] = 0.0
            for _, weight, part, _ in visits:
                self.observe(part.kernel(), weight, state)
        merged = self.merge(prior, state)
        if not self.wants_overlap:
            state.overlap = None
        state.looked()
        return merged

    def merge(self, prior, state, once=False):
        """Merge pairs until none exceeds the threshold; return the slots as (kept, gone)."""
        slots = state.live(prior.discount)
        if self.criterion is None or len(slots) < 2:
            return []
        by_factor = self.criterion == "bayes_factor"
        merged = self._nearest(prior, state, once) if by_factor else self._best_pairs(state, slots)
        state.recount(prior.discount)
        return merged

    def _nearest(self, prior, state, once):
        """Test each cluster that is new, or has doubled since its last test, against its nearest clusters.

        The number of tests of a cluster is therefore logarithmic in its size. A merged cluster is tested again, with
        ``once`` at the next search.
        """
        merged = []
        while True:
            slots = state.live(prior.discount)
            due = slots[state.counts[slots] >= 2.0 * state.asked[slots]]
            joined = self._ask(prior, state, slots, due) if len(slots) > 1 and len(due) else []
            merged += joined
            if once or not joined:
                return merged

    def _ask(self, prior, state, slots, due):
        """One round of tests: merge each slot that is due with its best partner."""
        look = state.sums.look(due, state.n_slots)
        others = candidates(look.probes(), state, slots, due)
        may = self._trusted(state, due, others, look.alike(others, self._least(state)))
        merged, changed = [], np.zeros(state.n_slots, dtype=bool)
        state.asked[due] = state.counts[due]
        for slot, near, trusted in zip(due, others, may, strict=True):
            if changed[slot] or changed[near].any():  # by merges in this round: use current values
                near = near[state.counts[near] > prior.discount]
                if state.counts[slot] <= prior.discount:
                    continue
                state.asked[slot] = state.counts[slot]
                if not len(near):
                    continue
                alike = state.sums.similarity([slot], near) >= self._least(state)
                near = near[self._trusted(state, np.array([slot]), near[None], alike)[0]]
            else:
                near = near[trusted]
            if not len(near):
                continue
            gains = self._gains(prior, state, slot, near)
            if gains.max() > self.threshold:
                pair = sorted((slot, near[gains.argmax()]), key=lambda one: state.ids[one])
                state.merge(*pair)
                merged.append(tuple(pair))
                changed[pair] = True
        return merged

    def pairs(self, prior, state):
        """Candidate pairs as (kept, gone), by decreasing gain for fixed rows."""
        slots = state.live(prior.discount)
        if len(slots) < 2:
            return []
        look, gains = state.sums.look(slots, state.n_slots), {}
        others = candidates(look.probes(), state, slots, slots)
        may = self._trusted(state, slots, others, look.alike(others, self._least(state)))
        for slot, near in zip(slots, (those[trusted] for those, trusted in zip(others, may, strict=True)), strict=True):
            for other, gain in zip(near, self._gains(prior, state, slot, near), strict=True):
                gains[min(slot, other), max(slot, other)] = gain
        return sorted(gains, key=gains.get, reverse=True)

    def _gains(self, prior, state, slot, others):
        """Log Bayes factors, minus the entropy that rows would lose if it is known."""
        if not len(others):
            return np.zeros(0)
        factors = log_bayes_factor(prior, state, slot, others)
        return factors if state.overlap is None else factors - state.overlap[slot, others] - state.overlap[others, slot]

    def _least(self, state):
        """Minimum similarity of a pair."""
        return SIMILAR if state.overlap is None else TOUCHING

    def _trusted(self, state, slots, others, alike):
        """Whether the Bayes factor of each slot with each of its others (n, m) is reliable, (n, m)."""
        if state.sums.has_covariances:
            alike |= np.minimum(state.counts[slots, None], state.counts[others]) < FEW
        return alike & (others != slots[:, None])

    def _best_pairs(self, state, slots):
        """Merge the best of all pairs until none exceeds the threshold."""
        merged = []
        values = np.full((len(slots), len(slots)), -np.inf)
        for i in range(len(slots) - 1):
            values[i, i + 1 :] = self._values(state, slots[i], slots[i + 1 :])
        while values.max() > self.threshold:
            i, j = np.unravel_index(values.argmax(), values.shape)
            state.merge(slots[i], slots[j])
            merged.append((slots[i], slots[j]))
            slots, values = np.delete(slots, j), np.delete(np.delete(values, j, axis=0), j, axis=1)
            new = self._values(state, slots[i], slots)
            values[i, i + 1 :], values[:i, i] = new[i + 1 :], new[:i]
        return merged

    def _values(self, state, slot, others):
        """Criterion of one cluster with each of some others."""
        if self.criterion == "responsibility":
            return state.shared(slot, others)
        return state.sums.similarity([slot], others)[0]


def candidates(probes, state, slots, due):
    """For each slot that is due, the other slots with the highest density of its probe, (len(due), NEAREST)."""
    kernel, n = state.sums.kernel(probes, state.n_slots), min(NEAREST, len(slots) - 1)
    best, own = np.empty((len(due), n), dtype=np.intp), np.searchsorted(slots, due)
    tile = max(1, TILE_SCORES // state.n_slots)
    for start in range(0, len(due), tile):
        stop = min(start + tile, len(due))
        scores, rows = kernel.scores(start, stop)[0][:, slots], np.arange(stop - start)
        scores[rows, own[start:stop]] = -np.inf
        for place in range(n):  # faster than sorting
            best[start:stop, place] = scores.argmax(axis=1)
            scores[rows, best[start:stop, place]] = -np.inf
    return slots[best]


def log_bayes_factor(prior, state, slot, others):
    """Log Bayes factor of one cluster against two, for a slot with each of some others.

    It is the gain of evidence of the rows plus that of the partition given u: kappa of the union over the product of
    the two kappas ([TFF15] supplement, Eq. 6).
    """
    counts, sigma = state.counts, prior.discount
    rows = state.sums.union_gains(slot, others)
    n, m = counts[slot], counts[others]
    kappa = gammaln(n + m - sigma) + gammaln(1.0 - sigma) - gammaln(n - sigma) - gammaln(m - sigma)
    return rows + kappa - np.log(prior.concentration) - sigma * prior.log_shift(state.log_u)


# -- clusters of several shards


def joined(prior, base, states, max_components=None):
    """Combine several states that began as ``base``; the first state is changed in place.

    Clusters of the first state, and those that merge with them, keep its numbers; other clusters get new ones. New
    clusters merge only with new clusters of other states, since their rows could have joined those of ``base``.
    """
    state, n_old = states[0], base.n_slots
    n_kept = n_old
    if n_old:
        for other in states[1:]:
            state.add_since(base, other)
        state.recount(prior.discount)
    mass = sum(each.counts[n_old : each.n_slots].sum() for each in states) + state.counts[:n_old].sum()
    if mass > 0.0:
        state.log_u = prior.log_mode(mass, max(each.expected_clusters for each in states))
    for other in states[1:]:
        old, new = state.live(prior.discount), other.live(prior.discount)
        new = state.append(other, new[new >= n_old])
        state.n_rows += other.n_rows - base.n_rows
        if state.sums.has_covariances:
            Moves(1, "bayes_factor").merge(prior, state)
        else:
            join(prior, state, old[old >= n_kept], new)
            n_kept = np.count_nonzero(old < n_kept)
        state.keep(state.live(prior.discount))
    reduce(prior, state, max_components)
    state.recount(prior.discount)
    state.looked()
    return state


def join(prior, state, old, new):
    """Merge each new cluster, the largest first, with the one of highest Bayes factor, if that is positive."""
    settled = list(old)
    for slot in new[np.argsort(-state.counts[new], kind="stable")]:
        if settled:
            factors = log_bayes_factor(prior, state, slot, np.array(settled))
            if factors.max() > 0.0:
                state.merge(settled[factors.argmax()], slot)
                continue
        settled.append(slot)


def reduce(prior, state, max_components):
    """Reduce to ``max_components``: merge the smallest cluster with the one of highest Bayes factor, repeatedly."""
    slots = state.live(prior.discount)
    while max_components is not None and len(slots) > max_components:
        smallest = slots[state.counts[slots].argmin()]
        slots = slots[slots != smallest]
        state.merge(slots[log_bayes_factor(prior, state, smallest, slots).argmax()], smallest)
