"""Ward's tree of rows, and the partition of largest evidence among all cuts of the tree."""

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import ward


@dataclass
class Groups:
    """Sums of groups of rows: number (G,), mean (G, D), and scatter about the mean, (G, D) or (G, D, D)."""

    count: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def take(self, groups):
        """Some of the groups."""
        return Groups(self.count[groups], self.mean[groups], self.scatter[groups])

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
        pairs = ward(coordinates)[:, :2].astype(np.intp) if n > 1 else np.zeros((0, 2), dtype=np.intp)
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


def _spread(number, pairs, n):
    """Numbers of the first ``n`` nodes: each node hands its own to its children."""
    for node in range(n + len(pairs) - 1, n - 1, -1):
        if number[node] >= 0:
            number[pairs[node - n]] = number[node]
    return number[:n].copy()


def _add_up(leaves, pairs):
    """Statistics of the leaves and of all nodes above them."""
    n = len(leaves.count)
    size = 2 * n - 1
    out = Groups(*(np.empty((size, *a.shape[1:])) for a in (leaves.count, leaves.mean, leaves.scatter)))
    out.count[:n], out.mean[:n], out.scatter[:n] = leaves.count, leaves.mean, leaves.scatter
    outer = (lambda v: v[:, None] * v) if leaves.scatter.ndim == 3 else np.square
    for node, (a, b) in enumerate(pairs.tolist(), n):
        mass, apart = out.count[a] + out.count[b], out.mean[b] - out.mean[a]
        share = out.count[b] / mass
        out.count[node] = mass
        out.mean[node] = out.mean[a] + share * apart
        out.scatter[node] = out.scatter[a] + out.scatter[b] + share * out.count[a] * outer(apart)
    return out
