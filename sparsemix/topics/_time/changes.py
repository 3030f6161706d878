"""Differences of the words of a topic between two slices, and those that chance makes."""

import numpy as np
from scipy.special import xlogy

# Random divisions of the tokens of two slices.
N_DRAWS = 20


def compared(before, after, n_words, seed):
    """Distance of counts (V,) of two slices, that of chance for independent tokens, and words that rise and fall."""
    before, after = np.rint(before).astype(np.int64), np.rint(after).astype(np.int64)
    sizes = before.sum(), after.sum()
    if min(sizes) == 0:
        return {"distance": 0.0, "chance": 0.0, "rise": [], "fall": []}
    used = np.flatnonzero(before + after)
    before, after = before[used], after[used]
    divided = np.random.default_rng(seed).binomial(before + after, sizes[0] / sum(sizes), (N_DRAWS, len(used)))
    draws = [distance(part, before + after - part) for part in divided]
    found, chance = distance(before, after), np.mean(draws) + 2.0 * np.std(draws)
    # p log p differs most for words that make the distance
    p, q = before / sizes[0], after / sizes[1]
    parts = np.sign(q - p) * (xlogy(p, p) + xlogy(q, q) - xlogy(p + q, 0.5 * (p + q)))
    order = np.argsort(-parts, kind="stable")
    rise, fall = order[:n_words], order[::-1][:n_words]
    return {
        "distance": found, "chance": float(chance),
        "rise": used[rise[parts[rise] > 0.0]], "fall": used[fall[parts[fall] < 0.0]],
    }  # fmt: skip


def less_chance(rows):
    """Rows of ``compared`` with the excess of their distances over chance, largest first; those without are left out.

    Words repeat within documents, so chance exceeds that of independent tokens. Most topics hardly change from one
    slice to the next: the median of all rows gives the factor, one or more.
    """
    ratios = [row["distance"] / row["chance"] for row in rows if row["chance"] > 0.0]
    factor = max(1.0, float(np.median(ratios))) if ratios else 1.0
    rows = [row | {"chance": factor * row["chance"]} for row in rows]
    rows = [row | {"excess": row["distance"] - row["chance"]} for row in rows]
    return sorted((row for row in rows if row["excess"] > 0.0), key=lambda row: -row["excess"])


def distance(p, q):
    """Jensen-Shannon distance of two lists of counts: the root of the mean divergence from their middle, in nats."""
    p, q = p / max(p.sum(), 1), q / max(q.sum(), 1)
    return float(np.sqrt(max(0.5 * np.sum(xlogy(p, p) + xlogy(q, q)) - 0.5 * np.sum(xlogy(p + q, 0.5 * (p + q))), 0.0)))
