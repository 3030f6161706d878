"""Differences of the words of a topic between successive slices, beyond those of two halves of the same slice."""

from itertools import pairwise

import numpy as np
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr

# Random divisions of the tokens of two sets of documents.
N_DIVISIONS = 20
# Share of halves that differ less than a change.
QUANTILE = 0.95


def changed(halves, labels, names, n_words):
    """The result of ``TopicsOverTime.changes``, from counts (V, K) of both halves of the documents of each slice."""
    halves = [[part.rint() for part in parts] for parts in halves]
    slices = [sum(parts[1:], parts[0]) for parts in halves]
    shape = -1, slices[0].shape[1], 2
    between = np.reshape([compared(*pair) for pair in pairwise(slices)], shape)
    within = np.reshape([compared(*parts) for parts in halves if len(parts) == 2], shape)
    # words repeat within documents, so that tokens are not independent; in some topics more than in others
    ratio = np.ma.divide(within[..., 0], within[..., 1])
    other_slices = (ratio.sum(axis=0) - ratio) / (ratio.count(axis=0) - 1)
    spread = (ratio / other_slices).compressed()
    factor = np.ma.filled(ratio.mean(axis=0), 1.0) * (np.quantile(spread, QUANTILE) if len(spread) else 1.0)
    found, chance = between[..., 0], factor * between[..., 1]
    excess, rows = found - chance, []
    for t, k in np.argwhere(excess > 0.0)[np.argsort(-excess[excess > 0.0], kind="stable")].tolist():
        before, after = (counts[:, [k]].toarray().ravel() / counts[:, [k]].sum() for counts in slices[t : t + 2])
        mean = 0.5 * (before + after)
        # each word's part of the squared distance, negative where the word is rarer afterwards
        change = np.sign(after - before) * (rel_entr(before, mean) + rel_entr(after, mean))
        rows.append({"topic": k, "before": labels[t], "after": labels[t + 1], "distance": found[t, k],
                     "chance": chance[t, k], "excess": excess[t, k],
                     "rise": names[largest(change, n_words)].tolist(),
                     "fall": names[largest(-change, n_words)].tolist()})  # fmt: skip
    return rows


def largest(values, n):
    """Places of the at most n largest positive values, in decreasing order."""
    order = np.argsort(-values, kind="stable")[:n]
    return order[values[order] > 0.0]


def compared(first, second):
    """Distance of counts (V, K) of two slices, and mean distance of random divisions of their tokens, (K, 2).

    Distances are those of Jensen and Shannon, in nats. Topics without tokens in one of the slices have zeros.
    """
    first, second = first.T.toarray(), second.T.toarray()
    out, rng = np.zeros((len(first), 2)), np.random.default_rng(0)
    for k in np.flatnonzero((first.sum(axis=1) > 0) & (second.sum(axis=1) > 0)):
        both = (first[k] + second[k]).astype(np.int64)
        used = np.flatnonzero(both)
        part, both = first[k, used].astype(np.int64), both[used]
        parts = rng.binomial(both, part.sum() / both.sum(), (N_DIVISIONS, len(used)))
        parts = parts[parts.any(axis=1) & (parts < both).any(axis=1)]  # distances need tokens on both sides
        out[k] = distances(part, both - part), distances(parts, both - parts).mean() if len(parts) else 0.0
    return out


def distances(p, q):
    """Jensen-Shannon distances of counts along the last axis; SciPy takes the root of round-off of equal ones."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(jensenshannon(p, q, axis=-1))
