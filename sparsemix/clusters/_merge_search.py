"""What a look at clusters for merges sees of them, whatever their likelihood."""

from abc import ABC, abstractmethod

import numpy as np

# By which a bound may be below what it bounds.
ROUND_OFF = 1e-6


class MergeSearch(ABC):
    """Some clusters as they are now, beside others that each of them may be one with."""

    @abstractmethod
    def probes(self):
        """Rows that stand for the clusters."""

    @abstractmethod
    def bounds(self, others):
        """The most that the similarity of each with each of its others (n, m) can be, (n, m)."""

    @abstractmethod
    def similarity(self, i, others):
        """That of the i-th with some others."""

    def alike(self, others, least):
        """Whether the similarity of each with each of its others (n, m) is ``least`` or more, (n, m).

        Bounds tell of most pairs.
        """
        alike = self.bounds(others) >= least - ROUND_OFF
        for i in np.flatnonzero(alike.any(axis=1)):
            alike[i, alike[i]] = self.similarity(i, others[i, alike[i]]) >= least
        return alike
