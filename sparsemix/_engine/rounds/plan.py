"""Which parts of which blocks make a step: from the sizes of the blocks and the rows of a step alone."""

from itertools import pairwise

import numpy as np


class Plan:
    """Blocks in parts, and parts in steps.

    A block that holds several steps is cut; small blocks share a step. Parts of one block follow each other, so that it
    is read once. Nothing depends on who visits the parts.

    Parameters
    ----------
    sizes : sequence of int
        Rows of each block; those without any have no part.
    step_rows : float
        Rows of a step, as nearly as whole parts allow.
    rng : numpy.random.Generator
        Puts the blocks in order.

    Attributes
    ----------
    units : list of (block, start, stop)
    steps : list of ndarray of int
        Units of each step, increasing.
    groups : list of ndarray of int
        Steps that read the same block first.
    n_rows : int
        N.
    step_rows : int
        Rows of a step on average.
    """

    def __init__(self, sizes, step_rows, rng):
        self.units = []
        first_units = []
        for block, n in enumerate(sizes):
            first_units.append(len(self.units))
            n_parts = max(1, round(n / step_rows)) if n else 0
            bounds = np.linspace(0, n, n_parts + 1).round().astype(int)
            self.units += [(block, int(a), int(b)) for a, b in pairwise(bounds)]
        first_units.append(len(self.units))
        self.n_rows = int(sum(sizes))
        n_steps = min(len(self.units), max(1, round(self.n_rows / step_rows)))
        order = np.concatenate([np.arange(first_units[b], first_units[b + 1]) for b in rng.permutation(len(sizes))])
        rows = np.array([self.units[u][2] - self.units[u][1] for u in order])
        middles = np.cumsum(rows) - 0.5 * rows
        step_of = np.minimum((middles * n_steps / self.n_rows).astype(int), n_steps - 1)
        ends = np.flatnonzero(np.diff(step_of)) + 1
        parts = np.split(order, ends)
        self.steps = [np.sort(part) for part in parts]
        blocks = [self.units[part[0]][0] for part in parts]
        self.groups = np.split(np.arange(len(blocks)), np.flatnonzero(np.diff(blocks)) + 1)
        self.step_rows = max(1, self.n_rows // len(self.steps))

    def rows(self, selection):
        """Rows of some units together."""
        return sum(self.units[u][2] - self.units[u][1] for u in selection)
