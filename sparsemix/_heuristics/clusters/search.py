"""The prior of largest evidence: empirical Bayes at the cuts of trees, each of which gives the units of the next one.

A cut of a tree is a partition; given the partition, empirical Bayes estimates the prior; given the prior, a dynamic
programme finds the best cut. The log of the joint density of rows and partition, with a penalty for what was estimated,
compares cuts, units and structures.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from sparsemix._heuristics.clusters.independent import Independent
from sparsemix._heuristics.clusters.matrices import Matrices
from sparsemix._heuristics.clusters.metrics import (
    ASKED,
    NOT_NORMAL,
    SMALLEST,
    at_least,
    least_kurtosis,
    negentropy,
    neighbours,
    round_rows,
    shrunk,
)
from sparsemix._heuristics.clusters.tree import Tree

# Largest numbers of leaves of a tree, and of horizontal cuts between six leaves and all.
LEAVES, LEVELS = 400, 9
# Rows of the smallest leaves on average, and number of leaves of a few rows.
ROWS_OF_LEAF, FEW_LEAVES = 4, 8
# Rounds of expectation maximisation for one partition, of cuts for one tree, and of trees.
EM_ROUNDS, CUT_ROUNDS, TREE_ROUNDS = 4, 4, 3
# Smallest rise of the evidence in nats for another round.
RISE = 0.1
# Most cuts that a search returns, one for each number of clusters, and how far below the best one, in nats a row.
FINALISTS, BELOW = 8, 0.5
# Most multiplications of one factorisation of all leaves, which reduces the leaves beyond some fifty columns.
MOST_PRODUCTS = 3e7


@dataclass
class Found:
    """A prior with the partition from which it was estimated.

    Attributes
    ----------
    score : float
        Log joint density of the rows and the partition, minus half the log of its observations for each estimate.
    prior : Independent or Matrices
    tree : Tree
    nodes : ndarray
        Nodes of the tree that are the clusters.
    """

    score: float = -np.inf
    prior: object = None
    tree: Tree = None
    nodes: np.ndarray = None

    @property
    def groups(self):
        """Statistics of the clusters."""
        return self.tree.nodes.take(self.nodes)

    @property
    def labels(self):
        """Cluster of each row, (n,)."""
        return self.tree.labels(self.nodes)

    def within(self):
        """Covariance or variances within the clusters."""
        groups = self.groups
        degrees = max(groups.count.sum() - len(groups.count), 1.0)
        within = at_least(groups.scatter.sum(axis=0) / degrees, SMALLEST)
        return shrunk(within, degrees) if within.ndim == 2 else within


def search(family, given, x, partition):
    """Cuts of largest score for standardised rows, each with its prior: the best one for each number of clusters.

    Parameters
    ----------
    family : GaussianFamily
    given : dict
        Parameters of the prior that are given, as for Independent.
    x : ndarray of shape (n, D)
        Rows whose columns have mean zero, and variance one unless clusters have one variance.
    partition : callable
        Log probability of a cluster by its number of rows, up to terms of all rows: ``partition(counts)``.
    """
    d, matrices, shared = x.shape[1], family.shape.correlated, family.shape.one_variance
    blank = Matrices(d, given) if matrices else Independent(d, given, shared)
    n_leaves = leaves_of(x)
    if matrices:
        n_leaves = int(np.clip(MOST_PRODUCTS / d**3, 1, n_leaves))
    best, every = Found(), {}
    for start in starts(family, given, x):
        here, within = Found(), start
        for _ in range(TREE_ROUNDS):
            cuts = best_cuts(Tree(round_rows(x, within), x, n_leaves, matrices), blank, partition)
            for cut in cuts:
                n_clusters = len(cut.nodes)
                every[n_clusters] = max(cut, every.get(n_clusters, cut), key=lambda one: one.score)
            found = max(cuts, key=lambda one: one.score)
            if found.score <= here.score + RISE:
                break
            here, within = found, found.within()
            if shared or abs(found.score - best.score) < RISE:  # another start ended here
                break
        best = max(best, here, key=lambda one: one.score)
    finalists = sorted(every.values(), key=lambda one: -one.score)[:FINALISTS]
    return [one for one in finalists if one.score >= best.score - BELOW * len(x)]


def leaves_of(x):
    """Number of leaves for these rows; each of a few rows is one."""
    return min(LEAVES, max(len(x) // ROWS_OF_LEAF, min(len(x), FEW_LEAVES)))


def starts(family, given, x):
    """First estimates of the covariance or variances within clusters."""
    matrices = family.shape.correlated
    if family.shape.one_variance:
        return [np.ones(x.shape[1])]
    if given.get("covariance") is not None:
        return [at_least(np.asarray(given["covariance"], dtype=np.float64), SMALLEST)]
    if len(x) < 3:
        return [np.eye(x.shape[1]) if matrices else np.ones(x.shape[1])]
    apart = alone(x)
    if not matrices:
        return [neighbours(x, matrices), np.maximum(apart.var(axis=0), SMALLEST)]
    within = shrunk(np.cov(apart.T).reshape(x.shape[1], -1), len(x))
    return [neighbours(x, matrices), directions(x), at_least(within, SMALLEST)]


def directions(x):
    """Covariance (D, D) within clusters that separate in a few directions."""
    values, vectors = np.linalg.eigh(np.cov(x.T).reshape(x.shape[1], -1))
    roots = np.sqrt(np.maximum(values, SMALLEST))
    basis = least_kurtosis(x @ (vectors / roots))
    within = alone(x @ (vectors / roots) @ basis).var(axis=0)
    back = (vectors * roots) @ basis
    return at_least((back * within) @ back.T, SMALLEST)


def alone(x):
    """Deviations from the means of the clusters of each column alone, (n, D); columns that look normal have one."""
    apart = x.copy()
    for j in np.flatnonzero(negentropy(x) > NOT_NORMAL):
        column = x[:ASKED, j : j + 1]
        tree = Tree(column, column, leaves_of(column))
        found = max(best_cuts(tree, Independent(1, {}), gammaln), key=lambda one: one.score)
        means = np.sort(found.groups.mean[:, 0])
        apart[:, j] -= means[np.searchsorted((means[1:] + means[:-1]) / 2.0, x[:, j])]
    return apart


def best_cuts(tree, blank, partition):
    """Horizontal cuts, and the best cuts for the prior of the best one, in turns."""
    n_leaves = len(tree.pairs) + 1
    cuts, best = [], Found()

    def compare(prior, nodes):
        groups = tree.nodes.take(nodes)
        prior = prior.fit(groups, EM_ROUNDS)
        score = (prior.evidence(groups) + partition(groups.count)).sum() + prior.log_hyperprior(groups.count)
        cuts.append(Found(score, prior, tree, nodes))
        return cuts[-1]

    levels = np.r_[1:6, np.geomspace(6, max(n_leaves, 7), LEVELS)].astype(int)
    prior = blank
    for n_groups in np.unique(np.minimum(levels, n_leaves)):
        nodes = tree.level(n_groups)
        found = compare(prior.copy().begin(tree.nodes.take(nodes)), nodes)
        prior, best = found.prior, max(best, found, key=lambda one: one.score)
    for _ in range(CUT_ROUNDS):
        nodes = tree.best(best.prior.evidence(tree.nodes) + partition(tree.nodes.count))
        found = compare(best.prior.copy(), nodes)
        if found.score <= best.score + RISE:
            break
        best = found
    return cuts
