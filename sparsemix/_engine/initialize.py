"""Initialisation: clusters seeded by Bregman k-means++, with the divergence taken from the family.

Distances from N rows to K centres number N K; with thousands of components and low-dimensional rows they would cost
more than the fit. So rows are first assigned to some sqrt(K) pivots, and then compared only with the centres of nearby
cells (inverted files; Jegou, Douze and Schmid 2011, "Product Quantization for Nearest Neighbor Search").
"""

from functools import partial

import numpy as np
from scipy import sparse

from sparsemix._rows.blocks import spans

# Centres that k-means++ draws at once.
DRAWN = 64
# Round-off of a squared distance, in units of that of the squared length.
ROUND_OFF = 8.0
# With many centres: this share of all of them.
DRAWN_OF_MANY = 1 / 32
# Rows whose distances to all centres are in memory at once.
ASSIGNED = 512
# From this number of centres on, rows are compared with a part of them.
MANY = 2_000
# Number of cells, divided by the square root of the number of centres; neighbouring cells searched, including the own.
CELLS, NEAR = 4.0, 16
# Most centres compared with a row, relative to NEAR cells of average size: a single cell may hold most centres.
MOST = 2.0


def plus_plus(from_row, n_rows, n_clusters, rng, weight=None, n_trials=1):
    """Bregman k-means++ ([HS16] Section 6; Ackermann & Blomer 2009): labels of the rows.

    The first centre is drawn with probability proportional to ``weight``, each later one proportional to weight times
    the divergence from the nearest centre so far. ``from_row(n)`` gives the divergences of all rows from row n; for an
    array of rows, one line per row. Of ``n_trials`` candidates the one with the smallest remaining sum becomes the
    centre. With fewer than ``n_clusters`` distinct rows it stops early, and the last clusters stay empty.
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


def euclidean_centres(x, n_clusters, n_trials, rng, weight=None):
    """Rows chosen as centres by k-means++, the best of ``n_trials`` at a time (Arthur & Vassilvitskii 2007).

    All products use the dtype of the rows: scikit-learn's version takes ten times as long for float32.
    """
    norms = np.einsum("nd,nd->n", x, x)
    chosen = [int(rng.integers(len(x)) if weight is None else draw(weight, rng))]
    nearest = squares_from(x, norms, chosen)[0]
    choose = next_centres if n_trials == 1 else partial(best_centre, n_trials=n_trials)
    while len(chosen) < n_clusters and nearest.sum() > 0.0:
        new, nearest = choose(x, norms, nearest, n_clusters - len(chosen), rng, weight)
        chosen += new
    rest = np.setdiff1d(np.arange(len(x)), chosen)
    return x[chosen + list(rng.choice(rest, n_clusters - len(chosen), replace=False))]


def euclidean_labels(x, n_clusters, rng, weight=None):
    """Labels of rows by k-means++ as in ``euclidean_centres``, whose distances say which centre is the nearest."""
    norms, labels = np.einsum("nd,nd->n", x, x), np.zeros(len(x), dtype=np.int32)
    chosen = [int(rng.integers(len(x)) if weight is None else draw(weight, rng))]
    nearest = squares_from(x, norms, chosen)[0]
    while len(chosen) < n_clusters and nearest.sum() > 0.0:
        new, nearest = next_centres(x, norms, nearest, n_clusters - len(chosen), rng, weight, (labels, len(chosen)))
        chosen += new
    return labels


def best_centre(x, norms, nearest, most, rng, weight, n_trials):  # noqa: ARG001
    """The best of ``n_trials`` rows, which has the smallest remaining sum, and its squared distances."""
    tried = draw(weighted(nearest, weight), rng, n_trials)
    left = np.minimum(nearest, squares_from(x, norms, tried))
    best = int(weighted(left, weight).sum(axis=1).argmin())
    left[best, tried[best]] = 0.0
    return [int(tried[best])], left[best]


def next_centres(x, norms, nearest, most, rng, weight, labelled=None):
    """Several centres, at most ``most``, and the remaining squared distances.

    ``labelled`` are the labels of the rows, which change where a new centre is closer, and the label of the first one.
    """
    new = drawn_together(x, norms, nearest, min(most, DRAWN), rng, weight)
    products = x[new] @ x.T  # in place: passes over this matrix take as long as the product
    products *= -2.0
    products += norms[new][:, None]
    left = np.minimum(nearest, np.maximum(norms + products.min(axis=0, initial=np.inf), 0.0))
    left[new] = 0.0
    if labelled is not None:
        closer = np.flatnonzero(left < nearest - ROUND_OFF * np.finfo(x.dtype).eps * norms)  # not a copy of a centre
        labelled[0][closer] = labelled[1] + products[:, closer].argmin(axis=0)
    return new, left


def weighted(squares, weight):
    """Squared distances multiplied by the weights of their rows."""
    return squares if weight is None else squares * weight


def drawn_together(x, norms, nearest, size, rng, weight=None):
    """Rows drawn as by sequential k-means++, from ``size`` candidates drawn at once with the current probabilities.

    A candidate whose distance shrank, because an earlier one was accepted nearby, is accepted with probability new
    distance / old distance. This is exact k-means++, with matrix products in place of matrix-vector products.
    """
    cumulated = np.cumsum(weighted(nearest, weight))
    drawn = np.searchsorted(cumulated, rng.uniform(size=size) * cumulated[-1], side="right")
    drawn = np.minimum(drawn, len(x) - 1)
    among = squares_from(x[drawn], norms[drawn], np.arange(len(drawn)))
    now, new = nearest[drawn], []
    for i, level in enumerate(rng.uniform(size=len(drawn)) * now):
        if level < now[i]:
            new.append(int(drawn[i]))
            now = np.minimum(now, among[i])
            now[drawn == drawn[i]] = 0.0
    return new


def squares_from(x, norms, rows):
    """Squared distances from the rows numbered ``rows`` to all rows, one line per number."""
    return np.maximum(norms - 2.0 * (x[rows] @ x.T) + norms[rows][:, None], 0.0, dtype=np.float64)


def kmeans_from(x, centres, weight, n_iter, workers):
    """Labels of the rows by k-means from given centres; a centre without rows stays where it is."""
    labels = np.empty(len(x), dtype=np.int32)

    def assign(first, last):
        labels[first:last] = nearest_centres(x[first:last], centres)

    workers.map(assign, spans(len(x), ASSIGNED))
    for _ in range(n_iter):
        centres, before = means(x, labels, weight, centres), labels.copy()
        workers.map(assign, spans(len(x), ASSIGNED))
        if (labels == before).all():
            break
    return labels


def nearest_centres(x, centres):
    """Label of the nearest centre of each row."""
    halves = 0.5 * np.einsum("kd,kd->k", centres, centres)
    labels = np.empty(len(x), dtype=np.int32)
    for first in range(0, len(x), ASSIGNED):
        some = slice(first, first + ASSIGNED)
        labels[some] = (x[some] @ centres.T - halves).argmax(axis=1)
    return labels


def draw(odds, rng, size=None):
    """An index drawn in proportion to ``odds``, or an array of ``size`` of them."""
    cumulated = np.cumsum(odds)
    return np.searchsorted(cumulated, rng.uniform(size=size) * cumulated[-1], side="right").clip(0, len(odds) - 1)


def random_centres(from_row, n_rows, n_clusters, rng, weight=None, in_parts=False):
    """Labels of the nearest of ``n_clusters`` rows drawn at random without replacement.

    ``in_parts`` says that ``from_row(n, rows)`` can compute divergences of some rows alone; with many centres, rows are
    then compared with nearby centres only.
    """
    odds = None if weight is None else weight / weight.sum()
    centres = rng.choice(n_rows, size=n_clusters, replace=False, p=odds)
    if in_parts and n_clusters >= MANY:
        labels = nearest_in_cells(from_row, n_rows, centres)
    else:
        labels = nearest_of(from_row, n_rows, centres)
    labels[centres] = np.arange(n_clusters)
    return labels


def nearest_of(from_row, n_rows, centres):
    """The nearest centre of each row; the centres are rows."""
    labels = np.zeros(n_rows, dtype=np.int32)
    nearest = np.full(n_rows, np.inf)
    for k, centre in enumerate(centres):
        divergence = from_row(centre)
        closer = divergence < nearest
        labels[closer], nearest[closer] = k, divergence[closer]
    return labels


def nearest_in_cells(from_row, n_rows, centres):
    """``nearest_of`` for many centres: the first ones are pivots, and rows search the cells near their own."""
    pivots = centres[: n_cells(len(centres))]
    apart = []

    def from_pivot(n):
        divergence = from_row(n)
        apart.append(divergence[pivots])
        return divergence

    cells = Cells(nearest_of(from_pivot, n_rows, pivots), np.array(apart))
    labels = np.zeros(n_rows, dtype=np.int32)
    for rows, near in cells.parts(cells.owners[centres]):
        labels[rows] = near[nearest_of(lambda n, rows=rows: from_row(n, rows), len(rows), centres[near])]
    return labels


# -- cells


def n_cells(n_centres):
    """Number of cells for this many centres."""
    return round(CELLS * np.sqrt(n_centres))


class Cells:
    """Assignment of rows to pivots, and the neighbours of each pivot.

    Parameters
    ----------
    owners : ndarray of shape (n_rows,)
        The nearest pivot of each row.
    apart : ndarray of shape (n_pivots, n_pivots)
        Distances of the pivots from each other.
    """

    def __init__(self, owners, apart):
        self.owners = owners
        self.near = np.argsort(apart, axis=1, kind="stable")[:, :NEAR]
        self._rows = grouped(owners, len(apart))

    def parts(self, homes):
        """Yield the rows of each cell with the centres near them; ``homes`` are the cells of the centres.

        The list of centres may be empty. Beyond ``MOST`` times the average, centres of the farthest cells are dropped.
        """
        order, starts = grouped(homes, len(self.near))
        most = int(MOST * NEAR * max(1.0, len(homes) / len(self.near)))
        rows, first = self._rows
        for cell in np.flatnonzero(np.diff(first)):
            near = np.concatenate([order[starts[each] : starts[each + 1]] for each in self.near[cell]])[:most]
            yield rows[first[cell] : first[cell + 1]], near


def grouped(labels, n_labels):
    """The order by label, and the start of each label."""
    order = np.argsort(labels, kind="stable")
    return order, np.searchsorted(labels[order], np.arange(n_labels + 1))


# -- many centres of k-means


def kmeans_in_cells(x, n_clusters, weight, n_seeding, n_iter, rng):
    """Labels by k-means with many centres: k-means++ on ``n_seeding`` rows and ``n_iter`` iterations, all in cells."""
    chosen = np.sort(rng.choice(len(x), size=min(n_seeding, len(x)), replace=False))
    centres = centres_in_cells(x[chosen], n_clusters, rng)
    cells, pivots = euclidean_cells(x, centres[rng.choice(n_clusters, size=n_cells(n_clusters), replace=False)])
    labels = nearest_centres_in_cells(x, centres, cells, pivots)
    for _ in range(n_iter):
        centres = means(x, labels, weight, centres)
        before, labels = labels, nearest_centres_in_cells(x, centres, cells, pivots)
        if (labels == before).all():
            break
    return labels


def centres_in_cells(x, n_clusters, rng):
    """Rows chosen as centres by k-means++, where a new centre takes rows from nearby cells only."""
    cells, _ = euclidean_cells(x, x[rng.choice(len(x), size=n_cells(n_clusters), replace=False)])
    norms = np.einsum("nd,nd->n", x, x)
    chosen = [int(rng.integers(len(x)))]
    nearest = squares_from(x, norms, chosen)[0]
    size = max(DRAWN, round(n_clusters * DRAWN_OF_MANY))
    while len(chosen) < n_clusters and nearest.sum() > 0.0:
        new = np.array(drawn_together(x, norms, nearest, min(size, n_clusters - len(chosen)), rng))
        for rows, near in cells.parts(cells.owners[new]):
            if len(near):
                squares = norms[rows] - 2.0 * (x[new[near]] @ x[rows].T) + norms[new[near]][:, None]
                nearest[rows] = np.minimum(nearest[rows], np.maximum(squares.min(axis=0), 0.0))
        nearest[new] = 0.0
        chosen += new.tolist()
    rest = np.setdiff1d(np.arange(len(x)), chosen)
    return x[chosen + list(rng.choice(rest, n_clusters - len(chosen), replace=False))]


def euclidean_cells(x, pivots):
    """The cells of rows around pivots, and the pivots."""
    norms = np.einsum("nd,nd->n", pivots, pivots)
    return Cells(nearest_centres(x, pivots), squares_from(pivots, norms, np.arange(len(pivots)))), pivots


def nearest_centres_in_cells(x, centres, cells, pivots):
    """Label of the nearest centre among those in nearby cells, or among all if these hold none."""
    labels = np.empty(len(x), dtype=np.int32)
    for rows, near in cells.parts(nearest_centres(centres, pivots)):
        near = near if len(near) else np.arange(len(centres))
        labels[rows] = near[nearest_centres(x[rows], centres[near])]
    return labels


def means(x, labels, weight, centres):
    """Weighted means of the rows of each label; the previous centre if a label has no rows.

    A power of two makes weights small, so that sums in the dtype of the rows stay finite.
    """
    weight = np.ones(len(x)) if weight is None else np.ldexp(weight, -np.frexp(weight.max())[1])
    weight = weight.astype(x.dtype)
    sums = sparse.csc_array((weight, labels, np.arange(len(x) + 1)), shape=(len(centres), len(x))) @ x
    counts = np.bincount(labels, weights=weight, minlength=len(centres))
    return np.where(counts[:, None] > 0.0, sums / np.maximum(counts, 1e-300)[:, None], centres).astype(x.dtype)


def random_labels(n_rows, n_clusters, rng):
    """Balanced labels in random order."""
    return rng.permutation(np.arange(n_rows, dtype=np.int32) % n_clusters)
