"""Estimates of the prior for many partitions at once."""

from copy import copy

import numpy as np

# The hyperprior of each kappa is Gamma(3 / 2, PSEUDO / 2): without it the likelihood is unbounded for one cluster.
PSEUDO = 0.25
# Smallest variance, relative to that of all rows: below it there is round-off.
SMALLEST = 1e-9
# Cuts whose scores are this far below the best one, in nats a row and for each column, get no search of the scale: it
# gains less.
HOPELESS, HOPELESS_COLUMN = 1.5, 0.2


def hopeless(groups):
    """How far below the best score cuts of these rows are hopeless."""
    return (HOPELESS + HOPELESS_COLUMN * groups.mean.shape[1]) * groups.sums(groups.count)[0]


class Estimates:
    """Arrays ``names`` of estimates with one entry for each of several partitions.

    ``fit`` also sets ``log_evidence``, the log density of all rows for each partition.
    """

    names = ()

    def copy(self):
        """A copy to which other estimates can be given."""
        return copy(self)

    def take(self, cuts):
        """The estimates of some partitions."""
        twin = copy(self)
        for name in self.names:
            setattr(twin, name, getattr(self, name)[cuts])
        return twin

    @classmethod
    def join(cls, several):
        """The estimates of several objects in one."""
        twin = copy(several[0])
        for name in cls.names:
            setattr(twin, name, np.concatenate([getattr(one, name) for one in several]))
        return twin
