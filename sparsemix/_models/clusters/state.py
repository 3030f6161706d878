"""State of the clusters of a streaming mixture: counts and sums in slots."""

from copy import copy

import numpy as np

from sparsemix._kernels.clusters._rule import PROGRESS, TOTALS, Rule
from sparsemix._models.clusters.multinomial_slots import rounded

# Number of slots of a new state.
FIRST_CAPACITY = 32


def counter(name):
    """Property of an integer that kernels update in ``progress``."""

    def get(state):
        return int(state.progress[PROGRESS[name]])

    def put(state, value):
        state.progress[PROGRESS[name]] = value

    return property(get, put)


class ClusterState:
    """Learned state of a stream, which always contains whole rows.

    A kernel call changes counts, sums and ``progress`` together. After any exception between two calls the state
    therefore matches its number of rows.

    Parameters
    ----------
    sums : MultinomialSlots or GaussianSlots
        Sums of the likelihood.

    Attributes
    ----------
    n_slots : int
        Number of slots in use, dead clusters included; ``live`` lists slots of live clusters.
    counts : ndarray of shape (capacity,)
        n_k, mass of rows in each cluster.
    absent : ndarray of shape (capacity,)
        Product over rows of 1 - q, the probability that no row is in the cluster.
    totals : ndarray of shape (4,)
        Mass, expected number of clusters, sum of max(n_k - discount, 0), last mode of log U.
    progress : ndarray of shape (4,), int64
        ``n_slots``, ``next_id``, ``n_rows``, ``n_read``.
    ids : ndarray of shape (capacity,), int64
        Permanent number of each cluster, independent of its slot.
    members : ndarray of shape (capacity,), int64
        Number of rows in each cluster, in sampling.
    asked : ndarray of shape (capacity,)
        Mass of each cluster at its last merge test.
    n_rows : int
        Number of rows so far.
    n_read : int
        Number of values read since the last search for merges.
    looked_rows : int
        Number of rows at the last search.
    guide : object or None
        What an automatic prior needs to follow the rows of a stream.
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
        self.guide = None
        self._resize(np.arange(0), FIRST_CAPACITY)

    def __setstate__(self, state):
        # arrays of a read-only memory map cannot change in place
        for name, value in state.items():
            read_only = isinstance(value, np.ndarray) and not value.flags.writeable
            setattr(self, name, value.copy() if read_only else value)

    @property
    def capacity(self):
        """Number of allocated slots."""
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
        """A deep copy."""
        twin = copy(self)
        for name in ("counts", "absent", "totals", "progress", "ids", "members", "counts_then", "asked", "sums"):
            setattr(twin, name, getattr(self, name).copy())
        twin.overlap = None if self.overlap is None else self.overlap.copy()
        twin.guide = copy(self.guide)
        return twin

    def rule(self, **settings):
        """Kernel object of the current prior weights; it changes the counts in place."""
        return Rule(
            self.counts, self.absent, self.totals, self.n_slots, ids=self.ids, progress=self.progress, **settings
        )

    def grow(self):
        """Allocate a quarter more slots."""
        self._resize(np.arange(self.n_slots), self.n_slots + max(FIRST_CAPACITY, self.n_slots // 4))

    def reserve(self, n_slots):
        """Allocate space for this number of slots, and for more later."""
        if n_slots >= self.capacity:
            self._resize(np.arange(self.n_slots), n_slots + max(FIRST_CAPACITY, n_slots // 4))

    def used(self, n_slots):
        """Mark slots up to ``n_slots`` as used, and number new clusters as kernels do."""
        fresh = n_slots - self.n_slots
        self.ids[self.n_slots : n_slots] = np.arange(self.next_id, self.next_id + fresh)
        self.next_id += fresh
        self.n_slots = n_slots

    def keep(self, slots):
        """Keep only these slots, moved to the front in this order."""
        self._resize(np.asarray(slots), max(FIRST_CAPACITY, len(slots) + len(slots) // 8))
        self.n_slots = len(slots)

    def append(self, other, slots):
        """Append clusters of another state under new numbers; return their slots."""
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
        """Add the rows that ``other`` has added to the clusters of ``base``, the common initial state of both."""
        old = np.arange(base.n_slots)
        self.sums.add_since(old, base.sums, other.sums)
        self.counts[old] += other.counts[old] - base.counts[old]
        before = base.absent[old]
        self.absent[old] *= np.divide(other.absent[old], before, out=np.ones_like(before), where=before > 0.0)

    def recount(self, discount):
        """Recompute the totals from the counts."""
        counts = self.counts[: self.n_slots]
        self.totals[TOTALS["mass"]] = counts.sum()
        self.totals[TOTALS["expected"]] = (1.0 - self.absent[: self.n_slots]).sum()
        self.totals[TOTALS["usable"]] = np.maximum(counts - discount, 0.0).sum()

    def expect(self, slots, values):
        """Update E[K] for one more row with these responsibilities."""
        self.totals[TOTALS["expected"]] += values @ self.absent[slots]
        self.absent[slots] *= 1.0 - values

    def clear(self):
        """Remove all rows; slots stay in use."""
        self.sums.clear()
        self.counts[...] = 0.0
        self.absent[...] = 1.0
        self.totals[:3] = 0.0

    def merge(self, kept, gone):
        """Merge two clusters into the slot ``kept``; ``gone`` becomes empty."""
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
        """Remove these clusters with their rows."""
        self.counts[slots], self.absent[slots] = 0.0, 1.0
        self.recount(discount)

    def fade(self, factor, least, discount):
        """Multiply the weight of all rows so far by ``factor``; remove clusters with less than ``least``."""
        slots = np.arange(self.n_slots)
        self._changes(slots)
        self.sums.fade(slots, factor)
        for name in ("counts", "counts_then", "asked"):
            getattr(self, name)[...] *= factor
        if self.overlap is not None:
            self.overlap *= factor
        gone = np.flatnonzero(self.counts[: self.n_slots] < least)
        self.forget(gone, discount)

    # -- between two searches for merges

    def all_or_nothing(self, change):
        """Call ``change()``, and undo it if it raises, for instance when memory runs out.

        Sums change in place and are too large to copy, so each change first stores the old content of its slots. This
        is not a context manager: an exception during its exit would be neither inside nor outside.
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
        """Store the content of these slots before a change."""
        if self._undo is not None:
            self._undo.append((slots, self.sums.held(slots)))

    def note_overlap(self):
        """Reset and start the recording of overlaps between pairs of clusters, for all rows."""
        self.counts_then[...] = 0.0
        if self.overlap is None:
            self.overlap = np.zeros((self.capacity, self.capacity))

    def looked(self):
        """Record the end of a search for merges, and reset the overlaps."""
        self.looked_id, self.looked_rows = self.next_id, self.n_rows
        self.counts_then = self.counts.copy()
        if self.overlap is not None:
            self.overlap[...] = 0.0

    def shared(self, slot, others):
        """Mass of rows since the last search that a cluster shares with each of some others, over their mean mass.

        One minus this is the normalized L1 distance of their responsibilities (Lin 2013).
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
        except BaseException:  # kernels would write beyond a table that is smaller than the counts
            vars(self.sums).update(sums)
            vars(self).update(before)
            raise
