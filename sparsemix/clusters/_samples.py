"""Samples of a chain, and the one that represents them."""

import numpy as np

from sparsemix.clusters._predict import FittedClusters

# Number of samples, at equal intervals, that the representative is chosen from.
COMPARED = 64


class Samples:
    """Stores the clusters and labels of every ``thin``-th epoch after ``burn_in``.

    Parameters
    ----------
    burn_in, thin : int
    model : GibbsModel
    labels : ndarray of shape (n,), intc
        Slot of each row, which the chain changes in place; -1 for rows without a cluster.

    Attributes
    ----------
    kept : list of (FittedClusters, ndarray of shape (n,), int32)
    """

    def __init__(self, burn_in, thin, model, labels):
        self.burn_in = burn_in
        self.thin = thin
        self.model = model
        self.labels = labels
        self.kept = []

    def __call__(self, epoch, state):
        """The state to publish after an epoch, unchanged; a copy is stored as a sample if its turn has come."""
        if epoch > self.burn_in and (epoch - self.burn_in) % self.thin == 0:
            self.kept.append(sample_of(self.model, state, self.labels))
        return state

    def representative(self, model, state):
        """Clusters and labels of the partition nearest to all samples: one of them, or the current one."""
        last = sample_of(model, state, self.labels)
        chosen = np.unique(np.linspace(0, len(self.kept) - 1, min(COMPARED, len(self.kept))).round().astype(int))
        samples = [self.kept[i] for i in chosen]
        candidates = [*samples, last]
        return candidates[central([labels for _, labels in candidates], len(samples))]


def central(partitions, n_samples):
    """Index of the partition with the least total variation of information to the first ``n_samples``."""
    distances = np.zeros((len(partitions), n_samples))
    for i, labels in enumerate(partitions):
        for j in range(min(i, n_samples)):
            distances[i, j] = variation_of_information(labels, partitions[j])
    distances[:n_samples] += distances[:n_samples].T
    return int(distances.sum(axis=1).argmin())


def variation_of_information(labels, other):
    """Entropies of two partitions given each other, in nats, from their contingency table.

    Parameters
    ----------
    labels, other : ndarray of shape (n,), int
        At least -1.
    """
    pairs = (labels + 1).astype(np.int64) * (int(other.max(initial=0)) + 2) + other + 1
    return 2.0 * entropy(pairs) - entropy(labels) - entropy(other)


def entropy(labels):
    """Entropy of the shares of the values."""
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return -(shares * np.log(shares)).sum()


def sample_of(model, state, labels):
    """A copy of the clusters of one epoch for predictions, and the cluster of each row."""
    order = np.flatnonzero(state.members > 0)
    order = order[np.argsort(state.ids[order], kind="stable")]
    place = np.full(state.capacity + 1, -1, dtype=np.int32)  # the last entry is for rows without a cluster
    place[order] = np.arange(len(order))
    state = state.copy()
    state.keep(order)
    state.ids[: len(order)] = np.arange(len(order))
    return FittedClusters(model.prior, state, "quadrature", len(order)), place[labels]
