"""The clusters of a streaming mixture: how many rows each has, and its sums, in slots that come and go."""

from copy import copy

import numpy as np

from sparsemix._kernels._sequential import TOTALS, Rule
from sparsemix.mixture._multinomial_slots import rounded

# Slots of a new state.
FIRST_CAPACITY = 32


class ClusterState:
    """What a stream has learned, always that of a whole number of rows.

    Parameters
    ----------
    sums : MultinomialSlots or GaussianSlots
        The likelihood's part.

    Attributes
    ----------
    n_slots : int
        Slots in use. A cluster may have died in one; ``live`` lists the others.
    counts : ndarray of shape (capacity,)
        n_k, mass of rows in each.
    absent : ndarray of shape (capacity,)
        Product over rows of 1 - q, the probability that none of them is of the cluster.
    totals : ndarray of shape (4,)
        Mass, expected number of clusters, sum of max(n_k - discount, 0), last mode of log U.
    ids : ndarray of shape (capacity,), int64
        Number of each cluster since the beginning, which it keeps as slots move.
    """

    def __init__(self, sums):
        self.sums = sums
        self.n_slots = 0
        self.next_id = 0
        self.counts = np.zeros(0)
        self.absent = np.ones(0)
        self.totals = np.zeros(4)
        self.ids = np.zeros(0, dtype=np.int64)
        self._resize(np.arange(0), FIRST_CAPACITY)

    @property
    def capacity(self):
        """Slots that there is room for."""
        return len(self.counts)

    @property
    def mass(self):
        """Mass of all rows in clusters."""
        return float(self.totals[TOTALS["mass"]])

    @property
    def live(self):
        """Slots that hold a cluster."""
        return np.flatnonzero(self.counts[: self.n_slots] > 0)

    def copy(self):
        """The same with arrays of its own."""
        twin = copy(self)
        for name in ("counts", "absent", "totals", "ids", "sums"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def rule(self, settings):
        """Prior weights as of now; a sweep changes the counts through it."""
        return Rule(self.counts, self.absent, self.totals, self.n_slots, **settings)

    def grow(self):
        """Room for a quarter more slots."""
        self._resize(np.arange(self.n_slots), self.n_slots + max(FIRST_CAPACITY, self.n_slots // 4))

    def used(self, n_slots):
        """A sweep has opened slots up to ``n_slots``: number them."""
        fresh = n_slots - self.n_slots
        self.ids[self.n_slots : n_slots] = np.arange(self.next_id, self.next_id + fresh)
        self.next_id += fresh
        self.n_slots = n_slots

    def keep(self, slots):
        """Only these slots stay, moved to the front in this order; what the others held is forgotten."""
        self._resize(np.asarray(slots), max(FIRST_CAPACITY, len(slots) + len(slots) // 8))
        self.n_slots = len(slots)

    def recount(self, discount):
        """The totals from the counts."""
        counts = self.counts[: self.n_slots]
        self.totals[TOTALS["mass"]] = counts.sum()
        self.totals[TOTALS["expected"]] = (1.0 - self.absent[: self.n_slots]).sum()
        self.totals[TOTALS["usable"]] = np.maximum(counts - discount, 0.0).sum()

    def clear(self):
        """No rows in any slot; slots stay in use."""
        self.sums.clear()
        self.counts[...] = 0.0
        self.absent[...] = 1.0
        self.totals[:3] = 0.0

    def merge(self, kept, gone):
        """Join two clusters in the first one's slot; the other's is free of rows."""
        self.sums.merge(kept, gone)
        self.counts[kept] += self.counts[gone]
        self.absent[kept] *= self.absent[gone]
        self.counts[gone], self.absent[gone] = 0.0, 1.0

    def _resize(self, slots, capacity):
        capacity, n = rounded(capacity), len(slots)
        self.sums.take(slots, capacity)
        for name, empty in (("counts", 0.0), ("absent", 1.0), ("ids", -1)):
            old = getattr(self, name)
            new = np.full(capacity, empty, dtype=old.dtype)
            new[:n] = old[slots]
            setattr(self, name, new)
