"""Short Gibbs chains over the first block of rows, which improve its clusters and their prior before later epochs.

Streaming assigns its first rows before clusters exist, and expectation propagation opens few clusters: the result
depends on the order of the rows. Split and merge proposals do not. The result of a chain is used only if its
variational bound is higher, after rows got soft responsibilities. A draw from the posterior splits some clusters
without evidence, and its most likely state merges overlapping ones.

The prior also comes from the clusters of the stream. If a stream merged several clusters, these seem wide and of many
sizes. So a second chain uses the prior estimated from the clusters of the first.
"""

from functools import partial

import numpy as np

from sparsemix._engine.blocks import Rows
from sparsemix._kernels.clusters._sequential import rename
from sparsemix._models.clusters.model import GibbsModel, likeliest
from sparsemix._models.clusters.moves import Moves
from sparsemix.clusters._gaussian._prior import prior_of_clusters
from sparsemix.clusters._split_merge import SplitMerge

# Seed of the chains; their random numbers also depend on the order of the rows.
SEED = 0
# Epochs of each of the two chains. Clusters of digits agreed with the digits by 0.57 without chains, by 0.744 after 2 x
# 5 epochs and by 0.754 after 2 x 10, which took half as long again.
SWEEPS = 5
# Number of last states of the second chain to compare: a single state has clusters of one row by chance.
LOOKED_AT = 3
# Pairs of clusters to try before merging stops.
TRIES = 2
# Maximum number of multiplications of all epochs: wide rows and many clusters get fewer epochs, or none.
MOST_PRODUCTS = 4e9
# Maximum share of constant columns. Each favours the merge of any two clusters by a third of a nat per row, so many of
# them would dominate a chain.
CONSTANT_SHARE = 0.1


class Block:
    """All rows of a state, with responsibilities.

    Parameters
    ----------
    model : StreamingModel
    x : ndarray of shape (n, D)
    weight : ndarray of shape (n,) or None
        Weights, all equal to one.
    part : RowResponsibilities
    state : ClusterState
    """

    def __init__(self, model, x, weight, part, state):
        self.model, self.x, self.weight = model, x, weight
        self.part, self.state = part, state

    def copy(self):
        """A copy with its own responsibilities and clusters."""
        return Block(self.model, self.x, self.weight, self.part.copy(), self.state.copy())

    def become(self, other):
        """Take over the responsibilities and clusters of another block."""
        vars(self.part).update(vars(other.part))
        vars(self.state).update(vars(other.state))

    def revisit(self):
        """Recompute the responsibilities of each row given all other rows."""
        self.model.revisit(self.x, self.weight, self.part, self.state, 0)

    def assign(self, labels):
        """Set clusters from labels, then recompute responsibilities."""
        GibbsModel(self.model.prior, None, SEED, None).place(self.x, labels, self.state)
        self.state.members[...] = 0
        self.part.harden(labels)
        self.revisit()

    @property
    def n_clusters(self):
        """Number of clusters that a row may join."""
        return len(self.state.live(self.model.prior.discount))

    def bound(self):
        """See ``bound``."""
        return bound(self.model.prior, self.state, self.part)

    def join(self):
        """Merge pairs of clusters while the bound rises after rows are revisited.

        A Bayes factor gives the gain for fixed rows only. With it alone, an ellipse in three pieces stayed in three.
        """
        joins = True
        while joins:
            joins = any(self._join(*pair) for pair in Moves(1, "bayes_factor").pairs(*self._shared())[:TRIES])

    def _shared(self):
        """Prior, and a copy of the state with the overlaps of its clusters."""
        state = self.state.copy()
        state.note_overlap()
        Moves(1, "bayes_factor").observe(self.part.kernel(), self.weight, state)
        return self.model.prior, state

    def _join(self, kept, gone):
        """Merge two clusters if that gives fewer clusters and a higher bound; return whether it does.

        Both conditions are necessary: a single row may open its cluster again, and every visit raises the bound a
        little.
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
    """Function that improves the clusters of the first block: ``settle`` for full Gaussians, else None."""
    if not state.sums.settles:
        return None
    given = None
    if params.covariance_prior is None:
        given = {"dof": params.degrees_of_freedom_prior, "mean_precision": params.mean_precision_prior}
    return partial(settle, given=given)


def settle(model, x, weight, part, state, given=None):
    """Replace the responsibilities of a block by those from Gibbs chains, if their bound is higher.

    Parameters
    ----------
    model, x, weight, part, state
        As in ``Block``; the last two change in place.
    given : dict or None
        Given parameters of the prior, as ``prior_arguments`` returns them; None if the whole prior is given.
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
    """Run a chain from the labels of the rows; labels and state change in place. Return the labels after each epoch."""
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
    """Number of epochs that are cheap enough for this number of rows, clusters and numbers per cluster."""
    if (np.ptp(x, axis=0) == 0.0).mean() > CONSTANT_SHARE:
        return 0
    products = 2 * len(x) * len(np.unique(labels)) * state.sums.table.shape[1]
    return min(SWEEPS, int(MOST_PRODUCTS / products))


def bound(prior, state, part):
    """Variational bound: log evidence of the rows and of the partition given u, plus the entropy of responsibilities.
    """
    slots, q = state.live(prior.discount), part.values[: part.n_used]
    log_u = prior.log_mode(state.mass, 1.0)  # the same for all partitions
    entropy = -(q * np.log(np.maximum(q, 1e-300))).sum()
    return float(prior.log_kappa(state.counts[slots], log_u).sum() + state.sums.evidence(slots).sum() + entropy)
