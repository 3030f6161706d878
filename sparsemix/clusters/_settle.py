"""The clusters of a first block of rows, settled by short chains before epochs mend them, and their prior with them.

One pass assigns its first rows before there are clusters, and expectation propagation opens few: what they make of a
block depends on the order of its rows. Proposals that split and join clusters as wholes do not. What a chain ends in is
taken if it has the higher variational bound, once its rows are shared out: a draw from the posterior splits clusters
that are one, if nothing speaks for one, and its likeliest state joins clusters that overlap.

The prior that one pass has found is that of its clusters too. Where these were several in one they seemed wide and of
many sizes; so a second chain has the prior that the clusters of the first ask for.
"""

from functools import partial

import numpy as np

from sparsemix._engine.blocks import Rows
from sparsemix._kernels.clusters._sequential import rename
from sparsemix.clusters._gaussian._prior import prior_of_clusters
from sparsemix.clusters._model import GibbsModel, likeliest
from sparsemix.clusters._moves import Moves
from sparsemix.clusters._split_merge import SplitMerge

# The random numbers of a chain follow from this and the order of the rows.
SEED = 0
# Sweeps of each of the two chains. Clusters of digits agreed with the digits by 0.57 before there were chains, by 0.744
# after twice five sweeps and 0.754 after twice ten, which took half as long again.
SWEEPS = 5
# So many of the last states of the second are looked at: a last one alone has clusters of single rows by chance.
LOOKED_AT = 3
# Pairs of clusters that are tried as one before none is.
TRIES = 2
# Multiplications of all sweeps, at most: with wide rows and many clusters there are fewer, or none.
MOST_PRODUCTS = 4e9
# Of the columns that have one value, at most. Such a column speaks for joining any two clusters, by a third of a nat a
# row, and with many of them a chain would listen.
CONSTANT_SHARE = 0.1


class Block:
    """All rows that a state has, shared out among its clusters.

    Parameters
    ----------
    model : StreamingModel
    x : ndarray of shape (n, D)
    weight : ndarray of shape (n,) or None
        All one.
    part : RowResponsibilities
    state : ClusterState
    """

    def __init__(self, model, x, weight, part, state):
        self.model, self.x, self.weight = model, x, weight
        self.part, self.state = part, state

    def copy(self):
        """The same with responsibilities and clusters of its own."""
        return Block(self.model, self.x, self.weight, self.part.copy(), self.state.copy())

    def become(self, other):
        """Take another's responsibilities and clusters, and use it up."""
        vars(self.part).update(vars(other.part))
        vars(self.state).update(vars(other.state))

    def revisit(self):
        """Each row under all others."""
        self.model.revisit(self.x, self.weight, self.part, self.state, 0)

    def assign(self, labels):
        """Share rows out as follows from their labels."""
        GibbsModel(self.model.prior, None, SEED, None).place(self.x, labels, self.state)
        self.state.members[...] = 0
        self.part.harden(labels)
        self.revisit()

    @property
    def n_clusters(self):
        """Clusters that a row may join."""
        return len(self.state.live(self.model.prior.discount))

    def bound(self):
        """See ``bound``."""
        return bound(self.model.prior, self.state, self.part)

    def join(self):
        """Join pairs of clusters as long as the bound rises, once rows have seen that they are one.

        A factor knows what joining gains while all rows stay where they are. An ellipse in three pieces stayed three,
        for their rows would have lost a little more.
        """
        joins = True
        while joins:
            joins = any(self._join(*pair) for pair in Moves(1, "bayes_factor").pairs(*self._shared())[:TRIES])

    def _shared(self):
        """Prior, and the state with what its clusters have of each other's rows."""
        state = self.state.copy()
        state.note_overlap()
        Moves(1, "bayes_factor").observe(self.part.kernel(), self.weight, state)
        return self.model.prior, state

    def _join(self, kept, gone):
        """Whether there are fewer clusters and a higher bound; if not, nothing changes.

        A row that stood alone may open its cluster again, and the bound rises a little with every visit.
        """
        tried, index = self.copy(), np.arange(self.state.n_slots, dtype=np.intc)
        index[gone] = kept
        tried.state.merge(kept, gone)
        tried.state.recount(self.model.prior.discount)
        rename(tried.part.kernel(), index)
        tried.revisit()
        better = tried.n_clusters < self.n_clusters and tried.bound() > self.bound()
        if better:
            self.become(tried)
        return better


def settling(params, state):
    """What is done to the clusters of a first block: ``settle`` for full Gaussians, None for others."""
    if state.sums.likelihood != "full":
        return None
    given = None
    if params.covariance_prior is None:
        given = {"dof": params.degrees_of_freedom_prior, "mean_precision": params.mean_precision_prior}
    return partial(settle, given=given)


def settle(model, x, weight, part, state, given=None):
    """Replace a block's responsibilities by those that follow from where chains end, if they are better.

    Parameters
    ----------
    model, x, weight, part, state
        As of ``Block``; the last two change in place.
    given : dict or None
        What the caller gives of the prior, as ``prior_arguments`` has it; None for all of it.
    """
    labels = likeliest(part)
    n_sweeps = sweeps_of(x, labels, state)
    if not n_sweeps:
        return
    block = Block(model, x, weight, part, state)
    block.revisit()
    best = block.copy()
    run_chain(model, x, labels, state, n_sweeps)
    block.assign(labels)
    block.join()
    if given is not None:
        prior = prior_of_clusters(state.sums, state.live(model.prior.discount), given, x)
        for one in (block, best):
            one.state.sums.change_prior(prior)
    for labels in run_chain(model, x, likeliest(part), state, n_sweeps)[-LOOKED_AT:]:
        tried = block.copy()
        tried.assign(labels)
        best = max(best, tried, key=Block.bound)
    best.join()
    block.become(best)


def run_chain(model, x, labels, state, n_sweeps):
    """Let a chain go from the labels of the rows, which change in place as the state does; labels after each sweep."""
    log_u, rng, seen = state.log_u, np.random.default_rng(SEED), []
    chain = GibbsModel(model.prior, model.max_components, SEED, rng)
    chain.moves = SplitMerge(Rows(x), np.arange(len(x)), labels, rng, model.max_components)
    chain.place(x, labels, state)
    for number in range(1, n_sweeps + 1):
        chain.sweep(x, None, labels, state, 0, number)
        chain.global_step(state, number)
        seen.append(labels.copy())
    chain.place(x, labels, state)
    state.members[...], state.log_u = 0, log_u
    return seen


def sweeps_of(x, labels, state):
    """As many as are cheap, for so many rows and clusters, and numbers a cluster."""
    if (np.ptp(x, axis=0) == 0.0).mean() > CONSTANT_SHARE:
        return 0
    products = 2 * len(x) * len(np.unique(labels)) * state.sums.table.shape[1]
    return min(SWEEPS, int(MOST_PRODUCTS / products))


def bound(prior, state, part):
    """Log evidence of rows that are shared out, of the partition given u, and the entropy of the shares."""
    slots, q = state.live(prior.discount), part.values[: part.n_used]
    log_u = prior.log_mode(state.mass, 1.0)  # the same for all partitions
    entropy = -(q * np.log(np.maximum(q, 1e-300))).sum()
    return float(prior.log_kappa(state.counts[slots], log_u).sum() + state.sums.evidence(slots).sum() + entropy)
