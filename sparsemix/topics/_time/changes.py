"""Differences of the words of a topic between successive slices, beyond those of two halves of the same slice."""

from itertools import pairwise

import numpy as np
from scipy.special import xlogy

# Random divisions of the tokens of two sets of documents.
N_DRAWS = 20
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
    others = (ratio.sum(axis=0) - ratio) / (ratio.count(axis=0) - 1)  # of the topic in other slices
    spread = (ratio / others).compressed()
    factor = np.ma.filled(ratio.mean(axis=0), 1.0) * (np.quantile(spread, QUANTILE) if len(spread) else 1.0)
    distances, chance = between[..., 0], factor * between[..., 1]
    excess, rows = distances - chance, []
    for t, k in np.argwhere(excess > 0.0)[np.argsort(-excess[excess > 0.0], kind="stable")].tolist():
        p, q = (each[:, [k]].toarray().ravel() / each[:, [k]].sum() for each in slices[t : t + 2])
        # p log p differs most for words that make the distance
        parts = np.sign(q - p) * (xlogy(p, p) + xlogy(q, q) - xlogy(p + q, 0.5 * (p + q)))
        rise, fall = (names[order[side[order] > 0.0]].tolist() for side in (parts, -parts)
                      for order in [np.argsort(-side, kind="stable")[:n_words]])  # fmt: skip
        rows.append({"topic": k, "before": labels[t], "after": labels[t + 1], "distance": distances[t, k],
                     "chance": chance[t, k], "excess": excess[t, k], "rise": rise, "fall": fall})  # fmt: skip
    return rows


def compared(a, b):
    """Distance of counts (V, K) of two slices, and mean distance of random divisions of their tokens, (K, 2)."""
    a, b = a.T.toarray(), b.T.toarray()
    out, rng = np.zeros((len(a), 2)), np.random.default_rng(0)
    for k in np.flatnonzero((a.sum(axis=1) > 0) & (b.sum(axis=1) > 0)):
        both = (a[k] + b[k]).astype(np.int64)
        used = np.flatnonzero(both)
        part, both = a[k, used].astype(np.int64), both[used]
        divided = rng.binomial(both, part.sum() / both.sum(), (N_DRAWS, len(used)))
        out[k] = distance(part, both - part), np.mean([distance(each, both - each) for each in divided])
    return out


def distance(p, q):
    """Jensen-Shannon distance of two lists of counts, in nats."""
    p, q = p / max(p.sum(), 1), q / max(q.sum(), 1)
    return float(np.sqrt(max(0.5 * np.sum(xlogy(p, p) + xlogy(q, q) - xlogy(p + q, 0.5 * (p + q))), 0.0)))
