"""The sums of clusters of documents, in slots: multinomials with a symmetric Dirichlet prior, integrated out."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sparsemix._kernels.clusters._clusters import SLOTS
from sparsemix._kernels.clusters._multinomial import MultinomialClusters
from sparsemix._kernels.vectors._simd import aligned_empty

# Words of a document that stands for a cluster.
PROBE_WORDS = 16


class Probes(NamedTuple):
    """Documents, as blocks of them have it."""

    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray


class MultinomialSlots:
    """``table[w, k]`` is prior + S_wk, in double; words first, since a document reads all clusters of its words.

    Parameters
    ----------
    n_features : int
        Words V.
    prior : float
        Dirichlet parameter beta of each word.

    Notes
    -----
    The table takes 8 V bytes a slot, and there are up to a quarter more slots than clusters.
    """

    likelihood = "multinomial"
    has_covariances = False

    def __init__(self, n_features, prior):
        self.n_features = n_features
        self.prior = float(prior)
        self.table, self.totals = self._empty(0)

    def __getstate__(self):
        return {**vars(self), "table": np.array(self.table), "totals": np.array(self.totals)}

    def __setstate__(self, state):
        vars(self).update(state)
        table, totals = state["table"], state["totals"]
        self.table, self.totals = self._empty(len(totals))
        self.table[...], self.totals[...] = table, totals

    def _empty(self, capacity, n=0):
        """Table and totals on cache lines; slots from n on have no documents."""
        table = aligned_empty(self.n_features * capacity, np.float64).reshape(self.n_features, capacity)
        totals = aligned_empty(capacity, np.float64)
        table[:, n:] = self.prior
        totals[n:] = self.prior * self.n_features
        return table, totals

    @property
    def capacity(self):
        """Slots that there is room for."""
        return len(self.totals)

    def take(self, slots, capacity):
        """Keep these slots, in this order, with room for ``capacity``."""
        n = len(slots)
        if np.array_equal(slots, np.arange(n)):
            slots = slice(n)  # of which numpy copies whole rows
        table, totals = self._empty(capacity, n)
        table[:, :n], totals[:n] = self.table[:, slots], self.totals[slots]
        self.table, self.totals = table, totals

    def copy(self):
        """The same with arrays of its own."""
        twin = object.__new__(type(self))
        twin.__setstate__(vars(self))
        return twin

    def clear(self):
        """All slots as the prior is."""
        self.table[...] = self.prior
        self.totals[...] = self.prior * self.n_features

    def kernel(self, x, n_slots):
        """Clusters over a block of documents; sweeps change these sums through it."""
        return MultinomialClusters(x.indptr, x.indices, x.counts, self.table, self.totals, self.prior, n_slots)

    # -- merges

    def merge(self, kept, gone):
        """Add the documents of one slot to another's, and clear it."""
        self.table[:, kept] += self.table[:, gone] - self.prior
        self.totals[kept] += self.totals[gone] - self.prior * self.n_features
        self.table[:, gone] = self.prior
        self.totals[gone] = self.prior * self.n_features

    def fade(self, slots, factor):
        """The documents in these slots count ``factor`` times what they did."""
        self.table[:, slots] = self.prior + factor * (self.table[:, slots] - self.prior)
        whole = self.prior * self.n_features
        self.totals[slots] = whole + factor * (self.totals[slots] - whole)

    def evidence(self, slots):
        """A(posterior) - A(prior) of each slot: log evidence of its documents as sequences of words, (len(slots),)."""
        return self._evidence(self.table[:, slots], self.totals[slots])

    def merged_evidence(self, slot, others):
        """The same for the union of one slot with each of ``others``, (len(others),)."""
        table = self.table[:, others] + (self.table[:, [slot]] - self.prior)
        return self._evidence(table, self.totals[others] + (self.totals[slot] - self.prior * self.n_features))

    def _evidence(self, table, totals):
        beta, total = self.prior, self.prior * self.n_features
        words, slots = np.nonzero(table > beta)  # the others add nothing
        gains = gammaln(table[words, slots]) - gammaln(beta)
        return np.bincount(slots, gains, len(totals)) - (gammaln(totals) - gammaln(total))

    def probes(self, slots):
        """Documents that stand for clusters: their most frequent words, each once."""
        columns = self.table[:, slots].T
        n = min(PROBE_WORDS, self.n_features)
        words = np.argpartition(columns, self.n_features - n, axis=1)[:, self.n_features - n :]
        words = np.sort(words, axis=1).astype(np.int32)
        seen = np.take_along_axis(columns, words, axis=1) > self.prior
        return Probes(np.append(0, np.cumsum(seen.sum(axis=1))), words[seen], np.ones(seen.sum()))

    def similarity(self, slots, others):
        """Cosines of the posterior mean word distributions, (len(slots), len(others))."""
        return self._directions(slots).T @ self._directions(others)

    def _directions(self, slots):
        columns = self.table[:, slots]
        return columns / np.linalg.norm(columns, axis=0)

    # -- what is published

    def means(self, slots):
        """Posterior mean word distributions, (len(slots), V)."""
        return np.ascontiguousarray((self.table[:, slots] / self.totals[slots]).T)

    def statistics(self, slots):
        """Expected counts of words, (len(slots), V)."""
        return np.ascontiguousarray(np.maximum(self.table[:, slots] - self.prior, 0.0).T)


def rounded(capacity):
    """The next capacity that the kernels take."""
    return -(-capacity // SLOTS) * SLOTS
