"""Groups of near components, for thousands of them: what looks for its best components looks into the best groups.

Components that lie apart are halved again and again, across the longest axis of what tells them apart, into groups of
equal size; the moments of a group make one Gaussian (Goldberger and Roweis 2004, "Hierarchical Clustering of a Mixture
Model"). A row, or a component on its search for neighbours, weighs these, and then the members of the best ones: some
K^(1/2) weights in place of K.
"""

from copy import copy
from itertools import pairwise

import numpy as np

from sparsemix._kernels.vectors import _topl
from sparsemix._stats import symmetric
from sparsemix._stats.families import Gaussians

# From so many components on, if means tell apart at least this share of the variance; else all are looked at.
MANY, APART = 2_000, 0.5
# Groups, times the root of K, and how many are looked into.
GROUPS, BEST = 4.0, 12
# Steps towards the longest axis.
POWER_STEPS = 6
# Weights of groups that are made at once.
WEIGHTS = 1 << 21


def groups_of(gaussians):
    """Groups of many components that lie apart; None for others."""
    if len(gaussians.means) < MANY or gaussians.structure == "low_rank":
        return None
    variances = variances_of(gaussians)
    within, between = variances.mean(axis=0), gaussians.means.var(axis=0)
    if np.mean(between / (between + within)) < APART:
        return None
    return Groups(gaussians.means, variances)


class Groups:
    """Groups of Gaussians with these means and variances, (K, D).

    Attributes
    ----------
    members : ndarray of shape (K,)
        Components, group by group.
    starts : ndarray of shape (n_groups + 1,)
        Where each group begins.
    """

    def __init__(self, means, variances):
        features = np.hstack([means / np.sqrt(2.0 * variances.mean(axis=0)), 0.5 * np.log(variances)])
        self.members, self.starts = halved(features, GROUPS * np.sqrt(len(means)))
        first, sizes = self.starts[:-1], np.diff(self.starts)[:, None]
        means, variances = means[self.members], variances[self.members]
        self.means = np.add.reduceat(means, first) / sizes
        self.variances = np.add.reduceat(variances + means**2, first) / sizes - self.means**2
        self.variances = np.maximum(self.variances, np.add.reduceat(variances, first) / sizes)  # but for round-off

    @property
    def largest(self):
        """Members of the largest group."""
        return int(np.diff(self.starts).max())

    def near(self):
        """The groups that explain the rows of each best, (n_groups, BEST): the nearest to it."""
        precisions = 1.0 / self.variances
        constants = 0.5 * (np.log(precisions) - self.means**2 * precisions).sum(axis=1)
        expected = -0.5 * (self.variances + self.means**2) @ precisions.T + self.means @ (self.means * precisions).T
        expected += constants
        np.fill_diagonal(expected, np.inf)
        return np.argsort(-expected, axis=1, kind="stable")[:, :BEST]

    def best(self, x, numbers):
        """The groups that explain rows best, (n, BEST); ``numbers`` is what errors call the rows."""
        n_groups = len(self.means)
        table = Gaussians("diag", self.means, self.variances).table(np.zeros(n_groups), x.dtype)
        out = np.empty((len(x), min(BEST, n_groups)), dtype=np.intc)
        step = max(1, WEIGHTS // n_groups)
        for start in range(0, len(x), step):
            part = slice(start, min(start + step, len(x)))
            weights = table.weights(x[part], np.empty((part.stop - start, n_groups), dtype=x.dtype))
            values, log_z = np.empty(out[part].shape), np.empty(part.stop - start)
            _topl.top_l_responsibilities(weights, out[part], values, log_z, numbers[part])
        return out

    def candidates(self, chosen):
        """Members of the chosen groups of each row: where those of a row begin, and components row by row."""
        first, sizes = self.starts[chosen].ravel(), np.diff(self.starts)[chosen]
        indptr = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))]).astype(np.int64)
        sizes = sizes.ravel()
        before = np.cumsum(sizes) - sizes
        places = np.repeat(first - before, sizes) + np.arange(indptr[-1])
        return indptr, self.members[places]

    def of(self, group):
        """Members of a group."""
        return self.members[self.starts[group] : self.starts[group + 1]]

    def permuted(self, order):
        """The groups when components have changed their order."""
        new = copy(self)
        new.members = np.argsort(order).astype(np.intc)[self.members]
        return new


def halved(features, n_groups):
    """Order of rows and where groups begin: halves by the median across the longest axis, again and again."""
    order, starts = np.arange(len(features), dtype=np.intc), [0, len(features)]
    for _ in range(round(np.log2(n_groups))):
        middles = []
        for start, stop in pairwise(starts):
            some = order[start:stop]
            along = longest_axis(features[some])
            order[start:stop] = some[np.argsort(along, kind="stable")]
            middles.append((start + stop) // 2)
        starts = sorted(starts + middles)
    return order, np.array(starts)


def longest_axis(features):
    """Places of rows along the axis of largest variance, by power iteration."""
    y = features - features.mean(axis=0)
    direction = y[np.einsum("nd,nd->n", y, y).argmax()]
    for _ in range(POWER_STEPS):
        direction = (y @ direction) @ y
        direction /= max(np.linalg.norm(direction), 1e-300)
    return y @ direction


def variances_of(gaussians):
    """Variances of all columns, (K, D)."""
    shape, covariances = gaussians.means.shape, gaussians.covariances
    if gaussians.shape == "full":
        covariances = np.atleast_2d(covariances)[:, symmetric.diagonal_positions(shape[1])]
    elif gaussians.shape == "spherical":
        covariances = np.reshape(covariances, (-1, 1))
    return np.broadcast_to(covariances, shape)
