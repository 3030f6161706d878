"""Spans of a stream: rows are learned one after the other, and judged together at the end of each span.

A row joins an old cluster that is near more easily than it opens a new one, since the old cluster has many rows. If a
new group begins near an old cluster, each of its rows alone makes the same choice, and the cluster becomes wide. All
rows of the span together show the group. So if rows of a span fit their clusters badly, the span is searched: the best
cut of a tree of its rows, whose clusters join old ones where Bayes factors say so. The more probable result stays.
"""

from dataclasses import dataclass, replace

import numpy as np

from sparsemix._heuristics.clusters.metrics import round_rows
from sparsemix._heuristics.clusters.search import MOST_PRODUCTS
from sparsemix._heuristics.clusters.tree import Tree
from sparsemix._kernels.clusters._sequential import add_up
from sparsemix._models.clusters.model import RowResponsibilities
from sparsemix._models.clusters.moves import Moves
from sparsemix._stats import symmetric

# Rows of a span, at most.
SPAN = 125
# Largest number of leaves of the tree of a span.
LEAVES = 200
# Rows fit badly if their log density under a cluster is below that of its earlier rows by more than this many nats, and
# this many standard deviations of such a difference.
DEFICIT, DEVIATIONS = 5.0, 4.0
# Gain in nats above which the searched clusters replace the learned ones.
GAIN = 5.0


@dataclass(frozen=True)
class Span:
    """The rows since a state; a new one for each part, so that copies of a stream share it.

    Attributes
    ----------
    before : ClusterState
        The state before the rows.
    evidence : ndarray of shape (n_slots,)
        Evidence of its clusters.
    parts : tuple of (x, weight)
        The rows, as they were learned.
    entropy : float
        Entropy of their responsibilities in nats, times their weights.
    """

    before: object
    evidence: np.ndarray
    parts: tuple = ()
    entropy: float = 0.0

    @classmethod
    def since(cls, state, evidence=None):
        """A span without rows."""
        before = state.copy()
        before.guide = None
        return cls(before, evidence_of(before) if evidence is None else evidence)

    def add(self, x, weight, part):
        """The span with more rows, and their responsibilities."""
        lost = part.entropies()
        lost = lost.sum() if weight is None else np.repeat(weight, part.lengths) @ lost
        rows = x.copy(), None if weight is None else weight.copy()
        return replace(self, parts=(*self.parts, rows), entropy=self.entropy + float(lost))

    def under(self, prior):
        """The state before the rows under this prior, and the evidence of its clusters."""
        own = self.before.sums.prior
        if np.array_equal(own.mean, prior.mean) and np.array_equal(own.mean_precision, prior.mean_precision):
            return self.before, self.evidence
        before = self.before.copy()
        before.sums.change_prior(prior)
        return before, evidence_of(before)

    def rows(self):
        """All rows, and their weights or None."""
        xs, weights = zip(*self.parts, strict=True)
        if all(weight is None for weight in weights):
            return np.concatenate(xs), None
        return np.concatenate(xs), np.concatenate([np.ones(len(x)) if w is None else w for x, w in self.parts])


def evidence_of(state):
    """Evidence of the rows of each slot, (n_slots,)."""
    return state.sums.evidence(np.arange(state.n_slots))


def judge(model, state, span):
    """Replace the clusters if a search of the span finds more probable ones; the prior follows new clusters.

    Returns the next span, or None if there are new clusters.
    """
    discount, guide = model.prior.discount, state.guide
    try:
        before, earlier = span.under(state.sums.prior)
    except ValueError:  # round-off leaves no covariance, as for rows that are very far apart
        return None
    evidence = evidence_of(state)
    bad = fits_badly(before, earlier, state, evidence, discount)
    if not bad and state.next_id == before.next_id:
        return Span.since(state, evidence)
    guide.follow(state, discount)
    rival = rival_of(model, state, span) if bad else None
    if rival is not None:
        rival.guide, rival.n_read = guide, state.n_read
        vars(state).update(vars(rival))
        guide.follow(state, discount)
    return None


def rival_of(model, state, span):
    """The searched clusters of a span if they are more probable than those of ``state``; else None."""
    try:
        rival = searched(model, span.under(state.sums.prior)[0].copy(), *span.rows())
    except ValueError:  # as above
        return None
    if model.max_components is not None and len(rival.live(model.prior.discount)) > model.max_components:
        return None
    mass = state.mass  # the same for both
    gain = model.joint(rival, mass) - model.joint(state, mass) - span.entropy
    return rival if gain > GAIN else None


def fits_badly(before, earlier, state, evidence, discount):
    """Whether rows since ``before`` fit their clusters worse than earlier rows do, or began a cluster together."""
    n_old = before.n_slots
    if (state.counts[n_old : state.n_slots] > 1.0 + discount).any():
        return True
    counts = before.counts[:n_old]
    rows = state.counts[:n_old] - counts
    deficit = rows * earlier / np.maximum(counts, 1e-300) - (evidence[:n_old] - earlier)
    noise = np.sqrt(0.5 * state.sums.n_features * np.maximum(rows, 0.0))
    return bool((deficit > DEFICIT + DEVIATIONS * noise).any())


def searched(model, state, x, weight):
    """The state with the rows in clusters of a tree, which join old clusters by Bayes factors."""
    found = labels(state.sums, x, lambda counts: model.prior.log_kappa(counts, state.log_u))
    n_old = state.n_slots
    n_slots = n_old + int(found.max()) + 1
    state.reserve(n_slots)
    state.used(n_slots)
    part = RowResponsibilities(len(x))
    part.harden(found + n_old)
    add_up(state.sums.kernel(x, state.n_slots), model.rule(state), weight, part.kernel())
    state.n_rows += len(x)
    state.recount(model.prior.discount)
    Moves(1, "bayes_factor").merge(model.prior, state)
    state.keep(state.live(model.prior.discount))
    state.recount(model.prior.discount)
    return state


def labels(sums, x, partition):
    """The most probable cut of a tree of the rows under the prior, (n,)."""
    family, middle, d = sums.family, x.mean(axis=0), x.shape[1]
    x, prior = x - middle, replace(sums.prior, mean=sums.prior.mean - middle)
    within = family.unpack_covariances(family.point_estimate(prior).covariances)[0]
    within = np.broadcast_to(within, (d, d) if family.shape.correlated else d)
    n_leaves = int(np.clip(MOST_PRODUCTS / d**3, 1, LEAVES)) if family.shape.correlated else LEAVES
    tree = Tree(round_rows(x, within), x, min(n_leaves, len(x)), family.shape.correlated)
    count, mean, scatter = tree.nodes.count, tree.nodes.mean, tree.nodes.scatter
    stats = family.empty_stats(len(count), None)
    stats["count"], stats["mass"], stats["first"] = count, count.sum(), mean * count[:, None]
    if family.shape.correlated:
        scatter = symmetric.pack(scatter)
    elif family.shape.one_variance:
        scatter = scatter.sum(axis=1, keepdims=True)
    stats["second"] = scatter + count[:, None] * family.shape.squares(mean)
    evidence = family.log_normalizers(family.posterior(prior, stats)) - family.log_normalizers(prior)
    return tree.labels(tree.best(evidence + partition(count)))
