"""Merges of clusters that say the same, and prunes of those that died: looks at the clusters after so many rows.

Clusters of streams over parts of the rows are joined by the same evidence, of which the sums tell all.
"""

import numpy as np
from scipy.special import gammaln

from sparsemix._kernels.clusters._sequential import add_entropy, add_overlap

# What a criterion must exceed, unless the caller says otherwise.
MERGE_THRESHOLDS = {"bayes_factor": 0.0, "responsibility": 0.9, "similarity": 0.98}
# Of each cluster so many others are asked for their Bayes factor: those under which its mean is likeliest.
NEAREST = 3
# Densities of those means that are made at once.
TILE_SCORES = 1 << 17
# And in a stream among them those that are as similar. Without it clusters that touch would be joined: the factor takes
# rows for those of one cluster each, and a stream has forgotten the entropy of those that are of both.
SIMILAR = 0.8
# Where entropies are known, so similar: values that are equal in all rows make any two clusters likelier to be one.
TOUCHING = 0.25
# But not of clusters of fewer rows: so few have little entropy, and their shape is the prior's, which is like no other.
# They were three of nine clusters of breast cancer, and 21 of 47 of digits.
FEW = 5.0
# Clusters of a stream that forgets are gone when less than this is left of their rows.
FADED = 0.05
# Slots of dead clusters are given up when they are this share of all.
DEAD_SHARE = 0.125


class Moves:
    """What is done to the clusters every so many rows of a stream, or at the end of every epoch.

    A look for Bayes factors waits until the numbers that were read of rows have paid for it: a stream with merges is
    then no slower than a share of its speed, whatever the width of a table and the length of rows.

    Parameters
    ----------
    every : int
        Rows from look to look.
    criterion : {"bayes_factor", "responsibility", "similarity"} or None
        By which clusters are merged; None merges none.
    threshold : float or None
        What a pair's criterion must exceed.
    prune_threshold : float or None
        Clusters of smaller mass are forgotten at the second look after they were opened.
    half_life : float or None
        Rows after which a row counts half.
    """

    def __init__(self, every, criterion=None, threshold=None, prune_threshold=None, half_life=None):
        self.every = every
        self.criterion = criterion
        self.threshold = MERGE_THRESHOLDS.get(criterion) if threshold is None else threshold
        self.prune_threshold = prune_threshold
        self.half_life = half_life

    @property
    def wants_overlap(self):
        """Whether the rows' responsibilities decide."""
        return self.criterion == "responsibility"

    def rows_left(self, state):
        """Rows until the next look."""
        return self.every - state.n_rows % self.every

    def after_rows(self, prior, state):
        """Look at the clusters of a stream, if it is time; a look that fails changes nothing, and is due again."""
        if state.n_rows % self.every:
            return
        state.all_or_nothing(lambda: self._after_rows(prior, state))

    def _after_rows(self, prior, state):
        if self.criterion != "bayes_factor" or state.n_read >= state.sums.look_price:
            self.merge(prior, state, once=True)
            state.n_read = 0
        if self.half_life is not None:
            state.fade(0.5 ** (self.every / self.half_life), FADED, prior.discount)
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
        """Note which clusters share the rows of a block."""
        add = add_entropy if self.criterion == "bayes_factor" else add_overlap
        add(responsibilities, weight, state.overlap)

    def look_back(self, prior, visits, state):
        """Merge by the responsibilities of all rows, which several epochs keep; returns the slots joined."""
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
        """Join pairs until none exceeds the threshold; returns the slots joined, as (kept, gone)."""
        slots = state.live(prior.discount)
        if self.criterion is None or len(slots) < 2:
            return []
        by_factor = self.criterion == "bayes_factor"
        merged = self._nearest(prior, state, once) if by_factor else self._best_pairs(state, slots)
        state.recount(prior.discount)
        return merged

    def _nearest(self, prior, state, once):
        """Each cluster that is new, or has doubled since it was last asked, with the few that are nearest to it.

        So a cluster is asked as often as the logarithm of its size, and never about all others. One that was joined is
        asked again, at the next look if ``once``.
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
        """One round: each slot that is due, with the best of those that it may be one with."""
        look = state.sums.look(due, state.n_slots)
        others = candidates(look.probes(), state, slots, due)
        may = self._trusted(state, due, others, look.alike(others, self._least(state)))
        merged, changed = [], np.zeros(state.n_slots, dtype=bool)
        state.asked[due] = state.counts[due]
        for slot, near, trusted in zip(due, others, may, strict=True):
            if changed[slot] or changed[near].any():  # by those before it: as they are now
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
        """Pairs that may be one, as (kept, gone), those that gain most when no row moves first."""
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
        """Log Bayes factors, less the entropy that rows would lose where it is known."""
        if not len(others):
            return np.zeros(0)
        factors = log_bayes_factor(prior, state, slot, others)
        return factors if state.overlap is None else factors - state.overlap[slot, others] - state.overlap[others, slot]

    def _least(self, state):
        """How similar clusters must be."""
        return SIMILAR if state.overlap is None else TOUCHING

    def _trusted(self, state, slots, others, alike):
        """Of which others of each slot (n, m) the factor can be trusted, (n, m)."""
        if state.sums.has_covariances:
            alike |= np.minimum(state.counts[slots, None], state.counts[others]) < FEW
        return alike & (others != slots[:, None])

    def _best_pairs(self, state, slots):
        """The best of all pairs again and again."""
        merged = []
        values = np.full((len(slots), len(slots)), -np.inf)
        for i in range(len(slots) - 1):
            values[i, i + 1 :] = self._values(state, slots[i], slots[i + 1 :])
        while values.max() > self.threshold:
            i, j = np.unravel_index(values.argmax(), values.shape)
            state.merge(slots[i], slots[j])
            merged.append((slots[i], slots[j]))
            slots, values = np.delete(slots, j), np.delete(np.delete(values, j, axis=0), j, axis=1)
            anew = self._values(state, slots[i], slots)
            values[i, i + 1 :], values[:i, i] = anew[i + 1 :], anew[:i]
        return merged

    def _values(self, state, slot, others):
        """The criterion for one cluster with each of some others."""
        if self.criterion == "responsibility":
            return state.shared(slot, others)
        return state.sums.similarity([slot], others)[0]


def candidates(probes, state, slots, due):
    """Of each slot that is due the others whose predictive density of its probe is largest, (len(due), NEAREST)."""
    kernel, n = state.sums.kernel(probes, state.n_slots), min(NEAREST, len(slots) - 1)
    best, own = np.empty((len(due), n), dtype=np.intp), np.searchsorted(slots, due)
    tile = max(1, TILE_SCORES // state.n_slots)
    for start in range(0, len(due), tile):
        stop = min(start + tile, len(due))
        scores, rows = kernel.scores(start, stop)[0][:, slots], np.arange(stop - start)
        scores[rows, own[start:stop]] = -np.inf
        for place in range(n):  # faster than to sort them
            best[start:stop, place] = scores.argmax(axis=1)
            scores[rows, best[start:stop, place]] = -np.inf
    return slots[best]


def log_bayes_factor(prior, state, slot, others):
    """Log Bayes factor of one cluster against two, for a slot with each of some others.

    The first part is the evidence of the rows, the second that of the partition given u: kappa of the union over the
    product of the two kappas ([TFF15] Eq. 6).
    """
    counts, sigma = state.counts, prior.discount
    rows = state.sums.union_gains(slot, others)
    n, m = counts[slot], counts[others]
    kappa = gammaln(n + m - sigma) + gammaln(1.0 - sigma) - gammaln(n - sigma) - gammaln(m - sigma)
    return rows + kappa - np.log(prior.concentration) - sigma * prior.log_shift(state.log_u)


# -- clusters of several streams


def joined(prior, base, states, max_components=None):
    """One state of several that began as ``base``; the first is used up.

    Clusters keep the numbers of the first state where they are or join one of its clusters, and get new ones else. They
    join what is new in other states only: rows that opened them had those of ``base`` to choose from.
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
    """Give each new cluster, the largest first, to the one that is likeliest to be the same, or let it stand."""
    settled = list(old)
    for slot in new[np.argsort(-state.counts[new], kind="stable")]:
        if settled:
            factors = log_bayes_factor(prior, state, slot, np.array(settled))
            if factors.max() > 0.0:
                state.merge(settled[factors.argmax()], slot)
                continue
        settled.append(slot)


def reduce(prior, state, max_components):
    """No more clusters than the caller wants: the smallest go to those that are likeliest to be the same."""
    slots = state.live(prior.discount)
    while max_components is not None and len(slots) > max_components:
        smallest = slots[state.counts[slots].argmin()]
        slots = slots[slots != smallest]
        state.merge(slots[log_bayes_factor(prior, state, smallest, slots).argmax()], smallest)
