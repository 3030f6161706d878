"""Groups of neighbouring components: with thousands of components, a search tries only the members of the best groups.

Components are halved recursively across the longest axis of their features into groups of equal size. The moments of a
group define one Gaussian (Goldberger and Roweis 2004, "Hierarchical Clustering of a Mixture Model"). The search, of a
row or of a component for its neighbours, computes the weights of the groups, then those of the members of the best
groups: about K^(1/2) weights instead of K.
"""

from itertools import pairwise

import numpy as np

from sparsemix._kernels.vectors import _topl
from sparsemix._stats.families import Gaussians

# Minimum number of components for groups, and minimum share of the variance between means; else all are tried.
MANY, APART = 2_000, 0.5
# Number of groups divided by the square root of K, and number of best groups to try.
GROUPS, BEST = 4.0, 12
# Power iterations for the longest axis.
POWER_STEPS = 6
# Number of weights of groups in one tile.
WEIGHTS = 1 << 21


def groups_of(gaussians):
    """Groups of many well separated components; else None."""
    if len(gaussians.means) < MANY or gaussians.has_loadings:
        return None
    variances = gaussians.variances()
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
        Start of each group in ``members``.
    """

    def __init__(self, means, variances):
        features = np.hstack([means / np.sqrt(2.0 * variances.mean(axis=0)), 0.5 * np.log(variances)])
        self.members, self.starts = halved(features, GROUPS * np.sqrt(len(means)))
        first, sizes = self.starts[:-1], np.diff(self.starts)[:, None]
        means, variances = means[self.members], variances[self.members]
        self.means = np.add.reduceat(means, first) / sizes
        self.variances = np.add.reduceat(variances + means**2, first) / sizes - self.means**2
        self.variances = np.maximum(self.variances, np.add.reduceat(variances, first) / sizes)  # against round-off

    @property
    def largest(self):
        """Size of the largest group."""
        return int(np.diff(self.starts).max())

    def near(self):
        """The groups with the highest expected weights for the rows of each group, itself first, (n_groups, BEST)."""
        precisions = 1.0 / self.variances
        constants = 0.5 * (np.log(precisions) - self.means**2 * precisions).sum(axis=1)
        expected = -0.5 * (self.variances + self.means**2) @ precisions.T + self.means @ (self.means * precisions).T
        expected += constants
        np.fill_diagonal(expected, np.inf)
        return np.argsort(-expected, axis=1, kind="stable")[:, :BEST]

    def best(self, x, numbers):
        """The groups with the highest weights of each row, (n, BEST); ``numbers`` are the row numbers for errors."""
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
        """Members of the chosen groups of each row in CSR form: starts of rows, and components row by row."""
        first, sizes = self.starts[chosen].ravel(), np.diff(self.starts)[chosen]
        indptr = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))]).astype(np.int64)
        sizes = sizes.ravel()
        before = np.cumsum(sizes) - sizes
        places = np.repeat(first - before, sizes) + np.arange(indptr[-1])
        return indptr, self.members[places]

    def of(self, group):
        """Members of a group."""
        return self.members[self.starts[group] : self.starts[group + 1]]


def halved(features, n_groups):
    """Order of rows, and starts of groups: recursive halves by the median along the longest axis."""
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
    """Coordinates of rows along the axis of largest variance, by power iteration."""
    y = features - features.mean(axis=0)
    direction = y[np.einsum("nd,nd->n", y, y).argmax()]
    for _ in range(POWER_STEPS):
        direction = (y @ direction) @ y
        direction /= max(np.linalg.norm(direction), 1e-300)
    return y @ direction
