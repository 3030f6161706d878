"""Split and merge moves of a chain, which move many rows at once.

Two rows in one cluster propose to split it; its remaining rows are allocated sequentially to one of the two (Dahl
2005). Two rows in two clusters propose to merge these; the reverse probability is that of the allocation in the same
order of rows. Given u the target is the product over clusters of kappa and evidence, so the Metropolis-Hastings ratio
is exact for every NGGP prior (Jain and Neal 2004).
"""

import numpy as np
from scipy.special import gammaln, logsumexp

from sparsemix._kernels.clusters._split_merge import allocate, transfer
from sparsemix._rows.threads import interrupts_wait

# Proposals of an epoch: PROPOSALS, plus one per CLUSTERS_EACH clusters. A proposal costs a few visits of its rows.
PROPOSALS, CLUSTERS_EACH = 5, 4


class SplitMerge:
    """Proposals over the rows of a chain.

    Parameters
    ----------
    rows : Documents or Rows
    order : ndarray of shape (N,)
        Row numbers in the order of the chain.
    labels : ndarray of shape (N,), intc
        Slots of the rows in that order, changed in place; -1 for documents without words.
    rng : Generator
    max_components : int or None

    Attributes
    ----------
    proposed, accepted : dict
        Numbers of proposals and of accepted proposals, by kind.
    """

    def __init__(self, rows, order, labels, rng, max_components=None):
        self.rows = rows
        self.order = order
        self.labels = labels
        self.rng = rng
        self.max_components = max_components
        self.proposed = {"split": 0, "merge": 0}
        self.accepted = {"split": 0, "merge": 0}

    def sweep(self, prior, log_u, state):
        """The proposals of one epoch."""
        placed = np.flatnonzero(self.labels >= 0)
        for _ in range(PROPOSALS + int((state.members > 0).sum()) // CLUSTERS_EACH):
            with interrupts_wait():
                self.propose(prior, log_u, state, int(self.rng.choice(placed)))

    def propose(self, prior, log_u, state, i):
        """Propose to split the cluster of row i, or to merge another one with it."""
        own = self.labels[i]
        n, n_clusters = int(state.members[own]), int((state.members > 0).sum())
        splits = self._splits(n, n_clusters)
        if not splits and n_clusters < 2:  # no split or merge is possible
            return
        while state.capacity < state.n_slots + 3:
            state.grow()
        split = self.rng.random() < splits
        weights = self._weights(prior, state, i)
        if split:
            j = int(self.rng.choice(np.setdiff1d(np.flatnonzero(self.labels == own), [i])))
            log_pick = np.log(splits) - np.log(n - 1)
        else:
            shares = np.exp(weights - logsumexp(weights))
            other = int(self.rng.choice(len(shares), p=shares / shares.sum()))
            j = int(self.rng.choice(np.flatnonzero(self.labels == other)))
            log_pick = np.log1p(-splits) + weights[other] - logsumexp(weights) - np.log(state.members[other])
        members = np.flatnonzero((self.labels == own) | (self.labels == self.labels[j]))
        rest = self.rng.permutation(members[(members != i) & (members != j)])
        proposal = Allocation(self, prior, state, np.concatenate([[i, j], rest]), given=not split)
        n_first, n_second = proposal.sizes
        ratio = log_split_ratio(prior, log_u, n_first, n_second) + proposal.first + proposal.second - proposal.whole
        kind = "split" if split else "merge"
        if split:
            back = np.logaddexp(logsumexp(weights), proposal.log_weight)  # row i chooses among all other clusters
            undo = np.log1p(-self._splits(n_first, n_clusters + 1)) + proposal.log_weight - back - np.log(n_second)
            log_accept = ratio + undo - log_pick - proposal.log_q
        else:
            undo = np.log(self._splits(n_first + n_second, n_clusters - 1)) - np.log(n_first + n_second - 1)
            log_accept = -ratio + undo + proposal.log_q - log_pick
        self.proposed[kind] += 1
        if -self.rng.exponential() < log_accept:  # False for NaN
            self.accepted[kind] += 1
            proposal.carry_out(split)
            state.recount(prior.discount)

    def _splits(self, n, n_clusters):
        """Probability that a row of a cluster of n proposes a split."""
        can_split = n > 1 and (self.max_components is None or n_clusters < self.max_components)
        if not can_split:
            return 0.0
        return 0.5 if n_clusters > 1 else 1.0  # with two or more clusters half of the proposals are merges

    def _weights(self, prior, state, i):
        """Log weights of the other clusters for row i, by slot."""
        kernel = state.sums.kernel(self.rows.read(self.order[[i]]), state.n_slots)
        scores = kernel.scores(0, 1)[0][0]
        live = state.members[: state.n_slots] > 0
        live[self.labels[i]] = False
        log_counts = np.log(np.where(live, state.members[: state.n_slots] - prior.discount, 1.0))
        return np.where(live, log_counts + scores, -np.inf)


class Allocation:
    """Some rows as two clusters and as one, in three free slots."""

    def __init__(self, moves, prior, state, positions, given):
        self.moves, self.state, self.positions = moves, state, positions
        self.own, self.other = moves.labels[positions[0]], moves.labels[positions[1]]
        self.sides = (moves.labels[positions] != self.own).astype(np.intc)
        self.sides[1] = 1
        self.kernel = state.sums.kernel(moves.rows.read(moves.order[positions]), state.n_slots + 3)
        slots = list(range(state.n_slots, state.n_slots + 3))
        seed = int(moves.rng.integers(2**63))
        self.log_q, self.first, self.second, self.whole = allocate(
            self.kernel, self.sides, given, *slots, prior.discount, seed
        )
        n_second = int(self.sides.sum())
        self.sizes = len(positions) - n_second, n_second
        # log weight of the other cluster for row i
        self.log_weight = self.kernel.score_one_without(0, slots[1], 0.0) + np.log(n_second - prior.discount)
        if state.sums.has_covariances:  # taking rows from factors costs more than adding them
            state.sums.clear(slots)
        else:
            for side, slot in zip((0, 1, -1), slots, strict=True):
                transfer(self.kernel, self.sides, side, slot, -1)

    def carry_out(self, split):
        """Apply the accepted proposal to the state."""
        state, n_second = self.state, self.sizes[1]
        if split:
            free = np.flatnonzero(state.members[: state.n_slots] == 0)
            target, source = int(free[0]) if len(free) else state.n_slots, self.own
            state.used(max(state.n_slots, target + 1))
        else:
            target, source = self.own, self.other
        transfer(self.kernel, self.sides, 1, source, target)
        self.moves.labels[self.positions[self.sides == 1]] = target
        for array in (state.counts, state.members):
            array[source] -= n_second
            array[target] += n_second


def log_split_ratio(prior, log_u, first, second):
    """Log of kappa(first) kappa(second) / kappa(first + second), given u."""
    sigma = prior.discount
    sizes = gammaln(first - sigma) + gammaln(second - sigma) - gammaln(first + second - sigma) - gammaln(1.0 - sigma)
    return np.log(prior.concentration) + sigma * prior.log_shift(log_u) + sizes
