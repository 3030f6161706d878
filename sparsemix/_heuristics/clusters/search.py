"""The prior of largest evidence: empirical Bayes at the cuts of trees, each of which gives the units of the next one.

A cut of a tree is a partition; given the partition, empirical Bayes estimates the prior; given the prior, a dynamic
programme finds the best cut. The log of the joint density of rows and partition, with a penalty for what was estimated,
compares cuts, units and structures.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from sparsemix._heuristics.clusters.estimates import Estimates, hopeless
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
from sparsemix._heuristics.clusters.tree import Groups, Tree

# Largest numbers of leaves of a tree, and of horizontal cuts between six leaves and all.
LEAVES, LEVELS = 400, 9
# Places that divide the horizontal cuts into batches: each starts from the estimates of the one before. There are no
# more after a hopeless cut.
BATCHES = 8, 11
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
    prior: Estimates = None
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


def search(family, given, x, partition, worth=lambda _: True):
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
    worth : callable
        Whether the best cut of some starts is worth more of them: ``worth(found)``; if not, that cut is the only one.
    """
    d, matrices, shared = x.shape[1], family.shape.correlated, family.shape.one_variance
    blank = Matrices(d, given) if matrices else Independent(d, given, shared)
    n_leaves = leaves_of(x)
    if matrices:
        n_leaves = int(np.clip(MOST_PRODUCTS / d**3, 1, n_leaves))
    best, every = Found(prior=blank), {}
    for start in starts(family, given, x):
        here, within = Found(), start
        for _ in range(TREE_ROUNDS):
            tree = Tree(round_rows(x, within), x, n_leaves, matrices)
            (cuts,) = best_cuts([tree], here.prior or best.prior, partition)
            for cut in cuts:
                every[len(cut.nodes)] = highest([cut, every.get(len(cut.nodes), cut)])
            found = highest(cuts)
            if found.score <= here.score + RISE:
                break
            here, within = found, found.within()
            if shared or abs(found.score - best.score) < RISE:  # another start ended here
                break
        best = highest([best, here])
        if not worth(best):
            return [best]
    finalists = sorted(every.values(), key=lambda one: -one.score)[:FINALISTS]
    return [one for one in finalists if one.score >= best.score - BELOW * len(x)]


def highest(cuts):
    """The cut of largest score."""
    return max(cuts, key=lambda one: one.score)


def leaves_of(x):
    """Number of leaves for these rows; each of a few rows is one."""
    return min(LEAVES, max(len(x) // ROWS_OF_LEAF, min(len(x), FEW_LEAVES)))


def starts(family, given, x):
    """First estimates of the covariance or variances within clusters."""
    matrices, d = family.shape.correlated, x.shape[1]
    if given.get("covariance") is not None and not family.shape.one_variance:
        yield at_least(np.asarray(given["covariance"], dtype=np.float64), SMALLEST)
    elif family.shape.one_variance or len(x) < 3:
        yield np.eye(d) if matrices else np.ones(d)
    else:
        yield neighbours(x, matrices)
        if matrices:
            yield directions(x)
            yield at_least(shrunk(np.cov(alone(x).T).reshape(d, -1), len(x)), SMALLEST)
        else:
            yield np.maximum(alone(x).var(axis=0), SMALLEST)


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
    columns = np.flatnonzero(negentropy(x) > NOT_NORMAL)
    trees = [Tree(one, one, leaves_of(one)) for one in (x[:ASKED, j : j + 1] for j in columns)]
    for j, cuts in zip(columns, best_cuts(trees, Independent(1, {}), gammaln), strict=True):
        means = np.sort(highest(cuts).groups.mean[:, 0])
        apart[:, j] -= means[np.searchsorted((means[1:] + means[:-1]) / 2.0, x[:, j])]
    return apart


def best_cuts(trees, prior, partition):
    """Horizontal cuts of each tree, and the best cuts for the prior of the best one, in turns."""
    if not trees:
        return []
    every, cuts = Groups.join([tree.nodes for tree in trees]), [[] for _ in trees]

    def estimate(places, nodes, prior, begins=False):
        """Estimate the prior from cuts, each of which is a tree's, starting from other estimates."""
        sizes = np.array([len(own) for own in nodes])
        shifted = np.concatenate([own + every.starts[place] for place, own in zip(places, nodes, strict=True)])
        groups = every.take(shifted, np.cumsum(sizes) - sizes)
        prior = prior.copy().begin(groups) if begins else prior
        shares = groups.sums(partition(groups.count))
        scores = prior.fit(groups, EM_ROUNDS, shares).log_evidence + shares + prior.log_hyperprior(groups)
        for i, place in enumerate(places):
            cuts[place].append(Found(scores[i], prior.take([i]), trees[place], nodes[i]))
        return prior

    for numbers in filter(len, np.split(levels_of(trees[0]), BATCHES)):
        levels = [(place, tree.level(number)) for place, tree in enumerate(trees) for number in numbers]
        prior = estimate(*zip(*levels, strict=True), prior, begins=True)
        if all(own[-1].score < highest(own).score - hopeless(own[-1].groups) for own in cuts):
            break
    best, places = [highest(own) for own in cuts], range(len(trees))
    for _ in range(CUT_ROUNDS):
        prior, groups = prior.join([best[place].prior for place in places]), every.cuts(places)
        values = np.split(prior.evidence(groups) + partition(groups.count), groups.starts[1:])
        estimate(places, [trees[place].best(own) for place, own in zip(places, values, strict=True)], prior)
        places = [place for place in places if cuts[place][-1].score > best[place].score + RISE]
        for place in places:
            best[place] = cuts[place][-1]
        if not places:
            break
    return cuts


def levels_of(tree):
    """Numbers of groups of the horizontal cuts."""
    n_leaves = len(tree.pairs) + 1
    return np.unique(np.minimum(np.r_[1:6, np.geomspace(6, max(n_leaves, 7), LEVELS)].astype(int), n_leaves))
