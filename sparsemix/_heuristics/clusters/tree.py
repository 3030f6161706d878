"""Ward's tree of rows, and the partition of largest evidence among all cuts of the tree."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.cluster import hierarchy

from sparsemix._kernels.clusters import _ward

# Ratio of distances that round-off may make unequal.
ALIKE = 1.0 + 1e-9
ONE_CUT = np.zeros(1, dtype=np.intp)


@dataclass
class Groups:
    """Sums of groups of rows: number (G,), mean (G, D), and scatter about the mean, (G, D) or (G, D, D).

    They may be those of several cuts, one after the other, whose first groups are ``starts`` (C,).
    """

    count: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    starts: np.ndarray = field(default_factory=lambda: ONE_CUT)

    def take(self, groups, starts=ONE_CUT):
        """Some of the groups."""
        return Groups(self.count[groups], self.mean[groups], self.scatter[groups], starts)

    @classmethod
    def join(cls, several):
        """Groups of several objects, each of which is one cut."""
        if len(several) == 1:
            return several[0]
        sizes = [len(one.count) for one in several]
        columns = zip(*((one.count, one.mean, one.scatter) for one in several), strict=True)
        return cls(*map(np.concatenate, columns), np.cumsum([0, *sizes[:-1]]))

    @cached_property
    def sizes(self):
        """Number of groups of each cut, (C,)."""
        return np.diff(self.starts, append=len(self.count))

    def cuts(self, chosen):
        """The groups of some cuts."""
        if len(chosen) == len(self.starts):
            return self
        sizes = self.sizes[chosen]
        starts = np.cumsum(sizes) - sizes
        return self.take(np.arange(sizes.sum()) + np.repeat(self.starts[chosen] - starts, sizes), starts)

    def sums(self, values):
        """Sums of values (G, ...) over the groups of each cut, (C, ...)."""
        return np.add.reduceat(values, self.starts, axis=0)

    def spread(self, values):
        """Values (C, ...) of each group's cut, (G, ...)."""
        return np.repeat(values, self.sizes, axis=0) if len(values) > 1 else values

    def degrees(self):
        """Degrees of freedom of the scatter within all groups of a cut, at least one, (C,)."""
        return np.maximum(self.sums(self.count) - self.sums(np.minimum(self.count, 1.0)), 1.0)

    def log_rows(self, dof, n_columns=1):
        """Log of one more than the sum of the groups' numbers of rows, of which many count as ``dof``, (C,)."""
        rows, dof = n_columns * self.count, self.spread(dof)
        return np.log1p(self.sums(dof * rows / (dof + rows)))

    @classmethod
    def of(cls, x, labels, matrices):
        """Groups by labels 0, 1, ..., each of which has rows."""
        order = np.argsort(labels, kind="stable")
        x = x[order]
        starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
        count = np.diff(starts, append=len(x)).astype(float)
        mean = np.add.reduceat(x, starts, axis=0) / count[:, None]
        apart = x - mean[labels[order]]
        if not matrices:
            return cls(count, mean, np.add.reduceat(apart**2, starts, axis=0))
        return cls(count, mean, np.stack([part.T @ part for part in np.split(apart, starts[1:])]))


class Tree:
    """The upper part of Ward's tree, whose leaves are groups of rows.

    Parameters
    ----------
    coordinates : ndarray of shape (n, D)
        Rows in units in which clusters are round.
    x : ndarray of shape (n, D)
        The same rows in the units of the statistics.
    n_leaves : int
    matrices : bool
        Whether the scatter of a node is a matrix, or that of each column.

    Attributes
    ----------
    leaves : ndarray of shape (n,)
        Leaf of each row, 0 to n_leaves - 1.
    pairs : ndarray of shape (n_leaves - 1, 2)
        Children of the nodes n_leaves, n_leaves + 1, ...; the last node holds all rows.
    nodes : Groups
        Statistics of all nodes.
    """

    def __init__(self, coordinates, x, n_leaves, matrices=False):
        n = len(x)
        pairs = ward(coordinates)
        first = 2 * n - n_leaves  # nodes from here on are above the leaves
        upper = pairs[first - n :]
        leaves = np.sort(upper[upper < first]) if n_leaves > 1 else np.array([2 * n - 2])
        number = np.full(2 * n - 1, -1)
        number[leaves], number[first:] = np.arange(n_leaves), np.arange(n_leaves, 2 * n_leaves - 1)
        self.pairs = number[upper]
        number[first:] = -1
        self.leaves = _spread(number, pairs[: first - n], n)
        self.nodes = _add_up(Groups.of(x, self.leaves, matrices), self.pairs)

    def level(self, n_groups):
        """Nodes of the horizontal cut into this number of groups."""
        n, first = len(self.pairs) + 1, 2 * len(self.pairs) + 2 - n_groups
        children = self.pairs[first - n :]
        return np.sort(children[children < first]) if n_groups > 1 else np.array([2 * n - 2])

    def best(self, values):
        """The nodes of the cut with the largest sum of values: a node, or the best cuts of its children."""
        n, best = len(self.pairs) + 1, values.tolist()
        divided = [False] * len(best)
        for node, (first, second) in enumerate(self.pairs.tolist(), n):
            apart = best[first] + best[second]
            if apart > best[node]:
                best[node], divided[node] = apart, True
        nodes, waiting = [], [len(best) - 1]
        while waiting:
            node = waiting.pop()
            if divided[node]:
                waiting += self.pairs[node - n].tolist()
            else:
                nodes.append(node)
        return np.sort(nodes)

    def labels(self, nodes):
        """Position in ``nodes`` of each row's node, (n,)."""
        number = np.full(2 * len(self.pairs) + 1, -1)
        number[nodes] = np.arange(len(nodes))
        return _spread(number, self.pairs, len(self.pairs) + 1)[self.leaves]


def ward(x):
    """Children of the nodes n, n + 1, ... of Ward's tree of the rows of (n, D), (n - 1, 2)."""
    heights, pairs = np.empty(len(x) - 1), np.empty((len(x) - 1, 2), dtype=np.intp)
    unique = _ward.merge(np.array(x.T, dtype=np.float64, order="C"), heights, pairs, ALIKE)
    order = np.argsort(heights)
    if not unique or (heights[order[1:]] <= ALIKE * heights[order[:-1]]).any():
        return hierarchy.ward(x)[:, :2].astype(np.intp)  # whose order of equal distances is known
    pairs = pairs[order]
    _ward.number(pairs)
    return pairs


def _spread(number, pairs, n):
    """Numbers of the first ``n`` nodes: each has its own, or that of the node above that has one."""
    above = np.arange(n + len(pairs))
    above[pairs] = np.arange(n, n + len(pairs))[:, None]
    own = np.flatnonzero(number[: len(above)] >= 0)
    above[own] = own
    while (further := above[above]).tobytes() != above.tobytes():
        above = further
    return number[above[:n]]


def _add_up(leaves, pairs):
    """Statistics of the leaves and of all nodes above them."""
    n = len(leaves.count)
    size = 2 * n - 1
    out = Groups(*(np.empty((size, *a.shape[1:])) for a in (leaves.count, leaves.mean, leaves.scatter)))
    out.count[:n], out.mean[:n], out.scatter[:n] = leaves.count, leaves.mean, leaves.scatter
    outer = (lambda v: v[:, :, None] * v[:, None]) if leaves.scatter.ndim == 3 else np.square
    height = [0] * size
    for node, (a, b) in enumerate(pairs.tolist(), n):
        height[node] = 1 + max(height[a], height[b])
    order = np.argsort(height, kind="stable")
    for nodes in np.split(order, np.cumsum(np.bincount(height)))[1:-1]:  # of one height: none is above another
        a, b = pairs[nodes - n].T
        mass, apart = out.count[a] + out.count[b], out.mean[b] - out.mean[a]
        share = out.count[b] / mass
        out.count[nodes] = mass
        out.mean[nodes] = out.mean[a] + share[:, None] * apart
        between = outer(apart) * (share * out.count[a]).reshape(-1, *[1] * (leaves.scatter.ndim - 1))
        out.scatter[nodes] = out.scatter[a] + out.scatter[b] + between
    return out
