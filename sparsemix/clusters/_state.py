"""The clusters of a streaming mixture: how many rows each has, and its sums, in slots that come and go."""

from copy import copy

import numpy as np

from sparsemix._kernels.clusters._rule import PROGRESS, TOTALS, Rule
from sparsemix.clusters._multinomial_slots import rounded

# Slots of a new state.
FIRST_CAPACITY = 32


def counter(name):
    """A whole number that kernels count in ``progress``."""

    def get(state):
        return int(state.progress[PROGRESS[name]])

    def put(state, value):
        state.progress[PROGRESS[name]] = value

    return property(get, put)


class ClusterState:
    """What a stream has learned, always that of a whole number of rows.

    A kernel call changes counts, sums and ``progress`` together. An exception between two calls, whatever its cause,
    therefore finds a state that says how many rows it holds.

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
    progress : ndarray of shape (4,), int64
        ``n_slots``, ``next_id``, ``n_rows``, ``n_read``.
    ids : ndarray of shape (capacity,), int64
        Number of each cluster since the beginning, which it keeps as slots move.
    members : ndarray of shape (capacity,), int64
        Rows in each, in sampling.
    asked : ndarray of shape (capacity,)
        Mass of each when it was last asked whether it is one cluster with another.
    n_rows : int
        Rows that came so far.
    n_read : int
        Numbers that these had since clusters were last looked at for merges.
    looked_rows : int
        Rows that had come at that look.
    """

    _undo = None
    n_slots, next_id, n_rows, n_read = (counter(name) for name in ("n_slots", "next_id", "n_rows", "n_read"))

    def __init__(self, sums):
        self.sums = sums
        self.progress = np.zeros(len(PROGRESS), dtype=np.int64)
        self.counts = np.zeros(0)
        self.absent = np.ones(0)
        self.totals = np.zeros(4)
        self.ids = np.zeros(0, dtype=np.int64)
        self.members = np.zeros(0, dtype=np.int64)
        self.looked_id, self.looked_rows, self.counts_then, self.overlap = 0, 0, np.zeros(0), None
        self.asked = np.zeros(0)
        self._resize(np.arange(0), FIRST_CAPACITY)

    def __setstate__(self, state):
        # arrays of a file that was loaded as a read-only map cannot change in place
        for name, value in state.items():
            read_only = isinstance(value, np.ndarray) and not value.flags.writeable
            setattr(self, name, value.copy() if read_only else value)

    @property
    def capacity(self):
        """Slots that there is room for."""
        return len(self.counts)

    @property
    def mass(self):
        """Mass of all rows in clusters."""
        return float(self.totals[TOTALS["mass"]])

    @property
    def expected_clusters(self):
        """E[K]."""
        return float(self.totals[TOTALS["expected"]])

    @property
    def log_u(self):
        """The last mode of log U, or its last draw."""
        return float(self.totals[TOTALS["log_u"]])

    @log_u.setter
    def log_u(self, value):
        self.totals[TOTALS["log_u"]] = value

    def live(self, discount):
        """Slots that hold a cluster with a prior weight, n_k - discount."""
        return np.flatnonzero(self.counts[: self.n_slots] > discount)

    def copy(self):
        """The same with arrays of its own."""
        twin = copy(self)
        for name in ("counts", "absent", "totals", "progress", "ids", "members", "counts_then", "asked", "sums"):
            setattr(twin, name, getattr(self, name).copy())
        twin.overlap = None if self.overlap is None else self.overlap.copy()
        return twin

    def rule(self, **settings):
        """Prior weights as of now; a sweep changes the counts through it."""
        return Rule(
            self.counts, self.absent, self.totals, self.n_slots, ids=self.ids, progress=self.progress, **settings
        )

    def grow(self):
        """Room for a quarter more slots."""
        self._resize(np.arange(self.n_slots), self.n_slots + max(FIRST_CAPACITY, self.n_slots // 4))

    def used(self, n_slots):
        """Slots up to ``n_slots`` are in use: number the new ones, as kernels number those that they open."""
        fresh = n_slots - self.n_slots
        self.ids[self.n_slots : n_slots] = np.arange(self.next_id, self.next_id + fresh)
        self.next_id += fresh
        self.n_slots = n_slots

    def keep(self, slots):
        """Only these slots stay, moved to the front in this order; what the others held is forgotten."""
        self._resize(np.asarray(slots), max(FIRST_CAPACITY, len(slots) + len(slots) // 8))
        self.n_slots = len(slots)

    def append(self, other, slots):
        """Clusters of another state, behind those of this one and under new numbers; returns their slots."""
        first, last = self.n_slots, self.n_slots + len(slots)
        if last > self.capacity:
            self._resize(np.arange(first), last)
        new = np.arange(first, last)
        self.sums.put(new, other.sums, slots)
        for name in ("counts", "absent", "members"):
            getattr(self, name)[new] = getattr(other, name)[slots]
        self.counts_then[new], self.asked[new] = 0.0, 0.0
        self.used(last)
        return new

    def add_since(self, base, other):
        """Add what another state has added to the clusters of ``base``, from which both began, in the same slots."""
        old = np.arange(base.n_slots)
        self.sums.add_since(old, base.sums, other.sums)
        self.counts[old] += other.counts[old] - base.counts[old]
        before = base.absent[old]
        self.absent[old] *= np.divide(other.absent[old], before, out=np.ones_like(before), where=before > 0.0)

    def recount(self, discount):
        """The totals from the counts."""
        counts = self.counts[: self.n_slots]
        self.totals[TOTALS["mass"]] = counts.sum()
        self.totals[TOTALS["expected"]] = (1.0 - self.absent[: self.n_slots]).sum()
        self.totals[TOTALS["usable"]] = np.maximum(counts - discount, 0.0).sum()

    def expect(self, slots, values):
        """E[K] with one row more, of these responsibilities."""
        self.totals[TOTALS["expected"]] += values @ self.absent[slots]
        self.absent[slots] *= 1.0 - values

    def clear(self):
        """No rows in any slot; slots stay in use."""
        self.sums.clear()
        self.counts[...] = 0.0
        self.absent[...] = 1.0
        self.totals[:3] = 0.0

    def merge(self, kept, gone):
        """Join two clusters in the first one's slot; the other's is free of rows."""
        self._changes([kept, gone])
        self.sums.merge(kept, gone)
        for name in ("counts", "counts_then"):
            array = getattr(self, name)
            array[kept] += array[gone]
            array[gone] = 0.0
        self.asked[[kept, gone]] = 0.0
        self.absent[kept] *= self.absent[gone]
        self.absent[gone] = 1.0
        if self.overlap is not None:
            self.overlap[kept] += self.overlap[gone]
            self.overlap[:, kept] += self.overlap[:, gone]

    def forget(self, slots, discount):
        """The rows of these clusters were never there."""
        self.counts[slots], self.absent[slots] = 0.0, 1.0
        self.recount(discount)

    def fade(self, factor, least, discount):
        """All rows so far count ``factor`` times what they did; clusters of which less than ``least`` is left go."""
        slots = np.arange(self.n_slots)
        self._changes(slots)
        self.sums.fade(slots, factor)
        for name in ("counts", "counts_then", "asked"):
            getattr(self, name)[...] *= factor
        gone = np.flatnonzero(self.counts[: self.n_slots] < least)
        self.forget(gone, discount)

    # -- between two looks at the clusters

    def all_or_nothing(self, change):
        """Call ``change()`` and undo what it did where it fails, as it does when memory is refused in the middle of it.

        Sums change in place, and as a whole are too large to copy: clusters note what they held before they change.
        This is no context manager, for an exception on the way out of one may find it neither inside nor outside.
        """
        before = {name: copy(value) for name, value in vars(self).items() if name != "sums"}
        sums, undo = dict(vars(self.sums)), []
        try:
            self._undo = undo
            change()
        except BaseException:
            vars(self.sums).update(sums)
            for slots, held in reversed(undo):
                self.sums.put_back(slots, held)
            vars(self).update(before)
            raise
        finally:
            self._undo = None

    def _changes(self, slots):
        """Note what these slots hold, which is about to change."""
        if self._undo is not None:
            self._undo.append((slots, self.sums.held(slots)))

    def note_overlap(self):
        """From now on what pairs of clusters have of rows is noted, of all rows and none so far."""
        self.counts_then[...] = 0.0
        if self.overlap is None:
            self.overlap = np.zeros((self.capacity, self.capacity))

    def looked(self):
        """Another look is over: what is noted until the next one begins anew."""
        self.looked_id, self.looked_rows = self.next_id, self.n_rows
        self.counts_then = self.counts.copy()
        if self.overlap is not None:
            self.overlap[...] = 0.0

    def shared(self, slot, others):
        """Mass of rows since the last look that a cluster shares with each of some others, over their mean mass.

        One less this is the normalized L1 distance of their responsibilities (Lin 2013).
        """
        since = self.counts - self.counts_then
        both = self.overlap[slot, others] + self.overlap[others, slot]
        mass = since[slot] + since[others]
        shares = 2.0 * both / np.where(mass > 0.0, mass, 1.0)
        return np.where((mass > 0.0) & (np.asarray(others) != slot), shares, -np.inf)

    def _resize(self, slots, capacity):
        capacity, n, resized = rounded(capacity), len(slots), {}
        empties = {"counts": 0.0, "absent": 1.0, "ids": -1, "members": 0, "counts_then": 0.0, "asked": 0.0}
        for name, empty in empties.items():
            old = getattr(self, name)
            resized[name] = np.full(capacity, empty, dtype=old.dtype)
            resized[name][:n] = old[slots]
        if self.overlap is not None:
            resized["overlap"] = np.zeros((capacity, capacity))
            resized["overlap"][:n, :n] = self.overlap[np.ix_(slots, slots)]
        before, sums = dict(vars(self)), dict(vars(self.sums))
        try:
            self.sums.take(slots, capacity)
            vars(self).update(resized)
        except BaseException:  # kernels would write behind a table that is smaller than the rest
            vars(self.sums).update(sums)
            vars(self).update(before)
            raise
