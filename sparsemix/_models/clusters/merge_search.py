"""Interface of a search for clusters to merge, for any likelihood."""

from abc import ABC, abstractmethod

import numpy as np

# Round-off by which a bound may be below the bounded value.
ROUND_OFF = 1e-6


class MergeSearch(ABC):
    """Some clusters, each of which is compared with its nearest other clusters."""

    @abstractmethod
    def probes(self):
        """Representative rows of the clusters."""

    @abstractmethod
    def bounds(self, others):
        """Upper bounds of the similarity of each cluster with each of its ``others`` (n, m), (n, m)."""

    @abstractmethod
    def similarity(self, i, others):
        """Similarity of the i-th cluster with some others."""

    def alike(self, others, least):
        """Whether the similarity of each cluster with each of its ``others`` (n, m) is at least ``least``, (n, m).

        Bounds decide most pairs.
        """
        alike = self.bounds(others) >= least - ROUND_OFF
        for i in np.flatnonzero(alike.any(axis=1)):
            alike[i, alike[i]] = self.similarity(i, others[i, alike[i]]) >= least
        return alike
