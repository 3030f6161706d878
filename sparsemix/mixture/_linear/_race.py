"""A race of initialisations: many climb together on a subset of rows, and the likeliest quarter stays after each round.

EM of few columns has many local maxima, and most k-means++ seeds lead to one of the lower ones. Steps of all
initialisations at once are one table and one product, so that a hundred of them take less time than a fit of few rows.
"""

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from sparsemix._stats.linear import csr
from sparsemix.mixture._linear._rows import SparseDocuments

# Most initialisations; most numbers in their responsibilities, and in their sums; steps of EM in a round, which
# keeps one of KEPT initialisations.
MOST_STARTS, MOST_NUMBERS, ROUND_STEPS, KEPT = 256, 1 << 19, 10, 4
# Part of each row that all components share at first: EM leaves labels for the nearest maximum, which is a low one.
SHARED = 0.5
# With fewer initialisations a race is worth less than exchanges.
LEAST_STARTS = 8


def distinct(rows):
    """The distinct rows, each with the weight of its copies: answers to few questions have few patterns."""
    everything = slice(0, len(rows))
    block, weight = rows.read(everything), rows.weight(everything)
    x = csr(block, block.n_words)
    # The type is object, since arrays of bytes drop zeros at the ends.
    keys = np.array([x.indices[a:b].tobytes() + x.data[a:b].tobytes() for a, b in pairwise(x.indptr)], dtype=object)
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.bincount(owner, np.ones(len(rows)) if weight is None else weight)
    return SparseDocuments(csr_array(x[first]), weight, block.counts.dtype)


def starts_of(rows, n_components):
    """Number of initialisations: as many as are cheap."""
    return min(MOST_STARTS, MOST_NUMBERS // (n_components * max(rows.X.shape)))


def winner(family, rows, n_components, n_nonzero, n_starts, rng):
    """Responsibilities (n, K) under which the rows are likeliest; rows have weights.

    After the first round, responsibilities are as sparse as in the fit: its maxima are others than those of EM.
    """
    labels, race = seeded_often(family, rows, n_components, n_starts, rng), Race(family, rows)
    resp = (labels[:, None] == np.arange(n_components)[:, None]).astype(race.dtype)
    resp = (1.0 - SHARED) * resp + SHARED / n_components
    n_kept = n_components
    while resp.shape[2] > 1:
        parameters = None
        for _ in range(ROUND_STEPS):
            resp, scores, parameters = race.step(resp, n_kept, parameters)
        best = np.argsort(-scores, kind="stable")[: max(1, len(scores) // KEPT)]
        resp, n_kept = resp[:, :, np.sort(best)], n_nonzero
    return resp[:, :, 0]


def seeded_often(family, rows, n_components, n_starts, rng):
    """Labels (n, R) by k-means++ in the family's divergence, R times at once."""
    x, weight, lanes = rows.read(slice(0, len(rows))), rows.sample_weight, np.arange(n_starts)
    own, under = family.own_weights(x), family.seed_weights(x)
    labels = np.zeros((n_starts, len(rows)), dtype=np.int32)
    nearest = np.full(labels.shape, np.inf)
    odds = np.broadcast_to(weight, labels.shape)
    for k in range(n_components):
        cumulated = odds.cumsum(axis=1)
        drawn = (cumulated <= rng.uniform(size=(n_starts, 1)) * cumulated[:, -1:]).sum(axis=1).clip(0, len(rows) - 1)
        divergence = np.maximum(own - under(drawn), 0.0)
        labels[divergence < nearest] = k
        nearest = np.minimum(nearest, divergence)
        labels[lanes, drawn], nearest[lanes, drawn] = k, 0.0
        odds = weight * nearest
    return labels.T


class Race:
    """Steps of EM with dense responsibilities (n, K, R) of R initialisations at once."""

    def __init__(self, family, rows):
        self.family, self.block, self.weight = family, rows.read(slice(0, len(rows))), rows.sample_weight
        self.dtype = self.block.counts.dtype
        self.x = csr(self.block, self.block.n_words).T.tocsr()

    def step(self, resp, n_kept, previous):
        """The next responsibilities, the log likelihood under each initialisation, and the parameters of all."""
        flat = np.multiply(resp, self.weight.astype(self.dtype)[:, None, None], order="C").reshape(len(resp), -1)
        stats = self.family.empty_stats(flat.shape[1])
        stats["count"] += flat.sum(axis=0, dtype=np.float64)
        stats["mass"] += stats["count"].sum()
        self.family.add_sums(stats, csr_array((self.x @ flat).T.astype(np.float64)))
        parameters = self.family.fit(stats, variational=False, previous=previous)
        log_weights = np.log(np.maximum(stats["count"], 1e-30) / self.weight.sum())
        table = self.family.expected(parameters, variational=False).table(log_weights, self.dtype)
        out = table.weights(self.block, flat).reshape(resp.shape)
        largest = out.max(axis=1, keepdims=True)
        out -= largest
        np.exp(out, out=out)
        if n_kept < out.shape[1]:
            out[out < np.partition(out, -n_kept, axis=1)[:, -n_kept, None]] = 0.0
        total = out.sum(axis=1, keepdims=True)
        out /= total
        return out, np.einsum("n,nr->r", self.weight, (np.log(total) + largest)[:, 0]), parameters
