"""Initialisation: clusters seeded by Bregman k-means++, with the divergence taken from the family."""

from functools import partial

import numpy as np

# Centres that k-means++ draws at once.
DRAWN = 64
# Rows whose distances from all centres are in memory at once.
ASSIGNED = 512


def plus_plus(from_row, n_rows, n_clusters, rng, weight=None, n_trials=1):
    """Bregman k-means++ ([HS16] Section 6; Ackermann & Blomer 2009): labels of the rows.

    The first centre is drawn in proportion to ``weight``, each further one in proportion to weight times the
    divergence from the nearest centre so far; ``from_row(n)`` gives the divergences of all rows from row n, for an
    array of rows a line each. Of ``n_trials`` that are drawn the one that leaves least becomes the centre. With fewer
    than ``n_clusters`` distinct rows it stops early, and the last clusters stay empty.
    """
    weight = np.ones(n_rows) if weight is None else weight
    labels = np.zeros(n_rows, dtype=np.int32)
    nearest = np.full(n_rows, np.inf)
    tried = draw(weight, rng)
    for k in range(n_clusters):
        centre, divergence = tried, from_row(tried)
        if divergence.ndim > 1:
            best = (np.minimum(nearest, divergence) @ weight).argmin()
            centre, divergence = tried[best], divergence[best]
        closer = divergence < nearest
        labels[closer], nearest[closer] = k, divergence[closer]
        labels[centre], nearest[centre] = k, 0.0
        odds = weight * nearest
        if not odds.sum() > 0.0:
            break
        tried = draw(odds, rng, None if n_trials == 1 else n_trials)
    return labels


def euclidean_centres(x, n_clusters, n_trials, rng):
    """Rows that k-means++ chooses as centres, the best of ``n_trials`` at a time (Arthur & Vassilvitskii 2007).

    All products are made in the dtype of the rows: scikit-learn's takes ten times as long for float32.
    """
    norms = np.einsum("nd,nd->n", x, x)
    chosen = [int(rng.integers(len(x)))]
    nearest = squares_from(x, norms, chosen)[0]
    choose = next_centres if n_trials == 1 else partial(best_centre, n_trials=n_trials)
    while len(chosen) < n_clusters and nearest.sum() > 0.0:
        new, nearest = choose(x, norms, nearest, n_clusters - len(chosen), rng)
        chosen += new
    rest = np.setdiff1d(np.arange(len(x)), chosen)
    return x[chosen + list(rng.choice(rest, n_clusters - len(chosen), replace=False))]


def best_centre(x, norms, nearest, most, rng, n_trials):  # noqa: ARG001
    """The one of ``n_trials`` rows that leaves least, and the squared distances that it leaves."""
    tried = draw(nearest, rng, n_trials)
    left = np.minimum(nearest, squares_from(x, norms, tried))
    best = int(left.sum(axis=1).argmin())
    left[best, tried[best]] = 0.0
    return [int(tried[best])], left[best]


def next_centres(x, norms, nearest, most, rng):
    """Several centres, at most ``most``, and the squared distances that they leave.

    They are drawn at once by the odds of before; one that others of them have come near to is kept with the
    probability now over before. That is k-means++ exactly, with products of matrices in place of those of vectors.
    """
    cumulated = np.cumsum(nearest)
    drawn = np.searchsorted(cumulated, rng.uniform(size=min(most, DRAWN)) * cumulated[-1], side="right")
    drawn = np.minimum(drawn, len(x) - 1)
    among = squares_from(x[drawn], norms[drawn], np.arange(len(drawn)))
    now, new = nearest[drawn], []
    for i, level in enumerate(rng.uniform(size=len(drawn)) * now):
        if level < now[i]:
            new.append(int(drawn[i]))
            now = np.minimum(now, among[i])
            now[drawn == drawn[i]] = 0.0
    left = np.minimum(nearest, squares_from(x, norms, new).min(axis=0, initial=np.inf))
    left[new] = 0.0
    return new, left


def squares_from(x, norms, rows):
    """Squared distances of all rows from some of them, one line for each of these."""
    return np.maximum(norms - 2.0 * (x[rows] @ x.T) + norms[rows][:, None], 0.0, dtype=np.float64)


def nearest_centres(x, centres):
    """Labels of the centres that are nearest to the rows."""
    halves = 0.5 * np.einsum("kd,kd->k", centres, centres)
    labels = np.empty(len(x), dtype=np.int32)
    for first in range(0, len(x), ASSIGNED):
        some = slice(first, first + ASSIGNED)
        labels[some] = (x[some] @ centres.T - halves).argmax(axis=1)
    return labels


def draw(odds, rng, size=None):
    """An index in proportion to ``odds``, or an array of so many."""
    cumulated = np.cumsum(odds)
    return np.searchsorted(cumulated, rng.uniform(size=size) * cumulated[-1], side="right").clip(0, len(odds) - 1)


def random_centres(from_row, n_rows, n_clusters, rng, weight=None):
    """Labels of the nearest of ``n_clusters`` rows drawn at random without replacement."""
    odds = None if weight is None else weight / weight.sum()
    labels = np.zeros(n_rows, dtype=np.int32)
    nearest = np.full(n_rows, np.inf)
    for k, centre in enumerate(rng.choice(n_rows, size=n_clusters, replace=False, p=odds)):
        divergence = from_row(centre)
        divergence[centre] = -1.0
        closer = divergence < nearest
        labels[closer], nearest[closer] = k, divergence[closer]
    return labels


def random_labels(n_rows, n_clusters, rng):
    """Labels in random order, as many of each as can be."""
    return rng.permutation(np.arange(n_rows, dtype=np.int32) % n_clusters)
