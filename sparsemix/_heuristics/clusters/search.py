"""The prior of largest evidence: empirical Bayes at the cuts of trees, each of which gives the units of the next one.

A cut of a tree is a partition; given the partition, empirical Bayes estimates the prior; given the prior, a dynamic
programme finds the best cut. The log of the joint density of rows and partition, with a penalty for what was estimated,
compares cuts, units and structures.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from sparsemix._heuristics.clusters.estimates import Estimates
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
    variances,
)
from sparsemix._heuristics.clusters.tree import Groups, Tree

# Largest numbers of leaves of a tree, and of horizontal cuts between six leaves and all.
LEAVES, LEVELS = 400, 9
# Places that divide the horizontal cuts into batches: each starts from the estimates of the one before.
BATCHES = 8, 11
# Rows of the smallest leaves on average, and number of leaves of a few rows.
ROWS_OF_LEAF, FEW_LEAVES = 4, 8
# Rounds of expectation maximisation for one partition, of cuts for one tree, and of trees.
EM_ROUNDS, CUT_ROUNDS, TREE_ROUNDS = 4, 4, 3
# Largest difference of correlations that is round-off.
SAME = 1e-10
# Smallest rise of the evidence in nats for another round.
RISE = 0.1
# Most cuts that a search returns, one for each number of clusters, and how far below the best one, in nats a row.
FINALISTS, BELOW = 8, 0.5
# Cuts that are this far below the best one, in nats a row and for each column, get no search of the scale, which gains
# less. After a batch of such cuts there are no more.
HOPELESS, HOPELESS_COLUMN = 1.5, 0.2
# Most multiplications of one factorisation of all leaves, which reduces the leaves beyond some fifty columns.
MOST_PRODUCTS = 3e7


@dataclass
class Found:
    """A prior with the partition from which it was estimated.

    Attributes
    ----------
    score : float
        Log joint density of the rows and the partition, minus half the log of its observations for each estimate.
    priors : Independent or Matrices
        Estimates of several cuts, of which ``place`` is this one's place.
    tree : Tree
    nodes : ndarray
        Nodes of the tree that are the clusters.
    """

    score: float = -np.inf
    priors: Estimates = None
    place: int = 0
    tree: Tree = None
    nodes: np.ndarray = None

    @property
    def prior(self):
        """Its prior alone."""
        return self.priors.take([self.place])

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
    best, every, tried = Found(), {}, []

    def best_in(within):
        """The best cut of a tree in these units; those of two starts are often the same."""
        for units, found in tried:
            if same_units(units, within):
                return found
        like = tried[-1][1].prior if tried else blank
        (cuts,) = best_cuts([Tree(round_rows(x, within), x, n_leaves, matrices)], like, partition)
        for cut in cuts:
            n_clusters = len(cut.nodes)
            every[n_clusters] = max(cut, every.get(n_clusters, cut), key=lambda one: one.score)
        tried.append((within, max(cuts, key=lambda one: one.score)))
        return tried[-1][1]

    for start in starts(family, given, x):
        here, within = Found(), start
        for _ in range(TREE_ROUNDS):
            found = best_in(within)
            if found.score <= here.score + RISE:
                break
            here, within = found, found.within()
            if shared or abs(found.score - best.score) < RISE:  # another start ended here
                break
        best = max(best, here, key=lambda one: one.score)
        if not worth(best):
            return [best]
    finalists = sorted(every.values(), key=lambda one: -one.score)[:FINALISTS]
    return [one for one in finalists if one.score >= best.score - BELOW * len(x)]


def same_units(first, second):
    """Whether two covariances, or two arrays of variances, are the same but for round-off and a factor."""
    factor = np.sqrt(np.mean(variances(second) / variances(first)))
    widths = factor * np.sqrt(variances(first))
    apart = np.abs(second - factor**2 * first) / (widths[:, None] * widths if first.ndim == 2 else widths**2)
    return apart.max() < SAME


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
        means = np.sort(max(cuts, key=lambda one: one.score).groups.mean[:, 0])
        apart[:, j] -= means[np.searchsorted((means[1:] + means[:-1]) / 2.0, x[:, j])]
    return apart


def best_cuts(trees, blank, partition):
    """Horizontal cuts of each tree, and the best cuts for the prior of the best one, in turns."""
    if not trees:
        return []
    every, cuts = Groups.join([tree.nodes for tree in trees]), [[] for _ in trees]
    far = HOPELESS + HOPELESS_COLUMN * every.mean.shape[1]

    def compare(places, nodes, prior, begins=False):
        """Fit the prior to cuts, each of which is a tree's, from other estimates."""
        sizes = np.array([len(own) for own in nodes])
        shifted = np.concatenate([own + every.starts[place] for place, own in zip(places, nodes, strict=True)])
        groups = every.take(shifted, np.cumsum(sizes) - sizes)
        if begins:
            prior = prior.copy().begin(groups)
        shares = groups.sums(partition(groups.count))
        highest = max((cut.score for own in cuts for cut in own), default=-np.inf)

        def promising(prior, evidence):
            return evidence + shares + prior.log_hyperprior(groups) >= highest - far * groups.sums(groups.count)

        prior.fit(groups, EM_ROUNDS, promising)
        scores = prior.log_evidence + shares + prior.log_hyperprior(groups)
        for i, place in enumerate(places):
            cuts[place].append(Found(scores[i], prior, i, trees[place], nodes[i]))
        return prior

    prior = blank
    for numbers in np.split(levels_of(trees[0]), BATCHES):
        levels = [(place, tree.level(number)) for place, tree in enumerate(trees) for number in numbers]
        if not levels:
            break
        prior = compare(*zip(*levels, strict=True), prior, begins=True)
        if all(hopeless(own, len(numbers), far) for own in cuts):
            break
    best = [max(own, key=lambda one: one.score) for own in cuts]
    places = range(len(trees))
    for _ in range(CUT_ROUNDS):
        prior, groups = blank.join([best[place].prior for place in places]), every.cuts(places)
        values = np.split(prior.evidence(groups) + partition(groups.count), groups.starts[1:])
        compare(places, [trees[place].best(own) for place, own in zip(places, values, strict=True)], prior)
        places = [place for place in places if cuts[place][-1].score > best[place].score + RISE]
        for place in places:
            best[place] = cuts[place][-1]
        if not places:
            break
    return cuts


def hopeless(cuts, n_last, far):
    """Whether the last cuts are all far below the best one, in nats a row, and each is below the one before."""
    scores = [one.score for one in cuts]
    last, n_rows = scores[-n_last:], cuts[0].groups.count.sum()
    return max(last) < max(scores) - far * n_rows and last == sorted(last, reverse=True)


def levels_of(tree):
    """Numbers of groups of the horizontal cuts."""
    n_leaves = len(tree.pairs) + 1
    return np.unique(np.minimum(np.r_[1:6, np.geomspace(6, max(n_leaves, 7), LEVELS)].astype(int), n_leaves))
