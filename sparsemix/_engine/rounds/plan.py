"""The parts of blocks that form each step; depends on the block sizes and the rows per step only."""

from itertools import pairwise

import numpy as np


class Plan:
    """Blocks cut into parts, and parts grouped into steps.

    A block with the rows of several steps is cut; small blocks share a step. Parts of a block are consecutive, so it is
    read once. The plan does not depend on the processes that execute it.

    Parameters
    ----------
    sizes : sequence of int
        Rows of each block; empty blocks have no part.
    step_rows : float
        Target number of rows per step, met as closely as whole parts allow.
    rng : numpy.random.Generator
        Shuffles the blocks.

    Attributes
    ----------
    units : list of (block, start, stop)
    steps : list of ndarray of int
        Unit numbers of each step, increasing.
    groups : list of ndarray of int
        Steps whose first unit is in the same block.
    n_rows : int
        N.
    step_rows : int
        Mean rows of a step.
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
        """Total rows of some units."""
        return sum(self.units[u][2] - self.units[u][1] for u in selection)
