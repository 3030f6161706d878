"""Seeds of a mixture of Gaussians: k-means on scaled columns, or in units in which clusters are round."""

import numpy as np

from sparsemix._engine import initialize
from sparsemix._heuristics.clusters.metrics import SMALLEST, neighbours, round_rows
from sparsemix._heuristics.mixture import policy
from sparsemix._kernels.gaussians import _compact
from sparsemix._rows.blocks import numbers, spans

# k-means need not converge here. These limit its iterations, its iterations on large problems, and the number of
# multiplications on these. Without iterations, rows join the nearest seed, and epochs improve the clusters.
KMEANS_ITER, FEW_KMEANS_ITER = 20, 8
KMEANS_NUMBERS = 40_000_000_000
# Up to FEW_PAIRS pairs of a row and a cluster, the most compact clusters of several runs stay. With more, k-means++
# draws centres from at most this many rows per component; assignments use all rows.
FEW_PAIRS, SEED_ROWS = 100_000, 10
# These runs take at most so many rows, and end when a step is below this share of the variance, as scikit-learn's.
RUN_ROWS, KMEANS_TOL = 1_000, 1e-4
# Up to this number of multiplications each centre is the best of several draws (greedy k-means++).
GREEDY_NUMBERS = 1_000_000_000
# Minimum width of a row in cost estimates.
LEAST_WIDTH = 16
# With more pairs of a row and a cluster, k-means works in cells.
KMEANS_MOST_PAIRS = 4_000_000_000
# A column counts as constant if its standard deviation is below this fraction of its largest absolute entry.
CONSTANT = 1e-6
# Isolated rows are those that are farthest from their neighbour of this rank among so many rows.
NEAR, NEAR_SAMPLE = 5, 2_000
# The shape of clusters follows from differences of neighbours: one for this number of rows per cluster, in a sample of
# at least so many rows, in so many rounds at most. The last number is the minimum of rows per column.
ROWS_PER_NEIGHBOUR, LEAST_NEIGHBOURS, SHAPE_SAMPLE, SHAPE_ROUNDS, SHAPE_ROWS = 10, 3, 1_000, 5, 5
# The shape ignores rows that are so many widths from the median of a column. In its units, values end at the second
# number of widths, since a far row would become a cluster. A width is that of this share of the values, the nearest.
FAR, FAR_IN_SHAPE, TAME = 30.0, 6.0, 0.9


def kmeans(x, n_clusters, weight, rng, workers, max_iter=None):
    """Labels of k-means: the best of several runs if rows are few; with very many clusters, rows try nearby ones."""
    width = max(x.shape[1], LEAST_WIDTH)
    if len(x) * n_clusters <= FEW_PAIRS:
        return kmeans_of_few(x, n_clusters, weight, rng, KMEANS_ITER if max_iter is None else max_iter)
    if min(len(x), SEED_ROWS * n_clusters) * n_clusters > KMEANS_MOST_PAIRS:
        max_iter = FEW_KMEANS_ITER if max_iter is None else max_iter
        return initialize.kmeans_in_cells(x, n_clusters, weight, SEED_ROWS * n_clusters, max_iter, rng)
    if max_iter is None:
        size = len(x) * n_clusters * width
        max_iter = KMEANS_ITER if size <= GREEDY_NUMBERS else min(FEW_KMEANS_ITER, KMEANS_NUMBERS // size)
    chosen = rng.choice(len(x), size=min(len(x), SEED_ROWS * n_clusters), replace=False)
    greedy = len(chosen) * n_clusters * width <= GREEDY_NUMBERS
    init = initialize.euclidean_centres(x[chosen], n_clusters, greedy_trials(n_clusters) if greedy else 1, rng)
    return initialize.kmeans_from(x, init, weight, max_iter, workers)


def greedy_trials(n_clusters):
    """Rows drawn for each centre, as in scikit-learn."""
    return 2 + int(np.log(n_clusters))


def kmeans_of_few(x, n_clusters, weight, rng, max_iter):
    """Labels of the most compact clusters of several runs on some of the rows, with steps on all rows."""
    x = np.ascontiguousarray(x, dtype=np.float64)
    weight = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=np.float64)
    some = slice(None)
    if len(x) > max(RUN_ROWS, SEED_ROWS * n_clusters):
        some = np.sort(rng.choice(len(x), size=max(RUN_ROWS, SEED_ROWS * n_clusters), replace=False))
    part, of_part = x[some], weight[some]
    tol, runs = KMEANS_TOL * x.var(axis=0).mean(), []
    steps = max_iter if len(part) == len(x) else max_iter // 2
    for _ in range(policy.POLICY.kmeans_runs if max_iter > 1 else 1):
        centres, labels = np.empty((n_clusters, x.shape[1])), np.empty(len(part), dtype=np.intc)
        _compact.plus_plus(part, of_part, rng.uniform(size=(n_clusters, greedy_trials(n_clusters))), centres)
        runs.append((_compact.lloyd(part, of_part, centres, labels, steps, tol), centres, labels))
    _, centres, labels = min(runs, key=lambda run: run[0])
    if len(part) < len(x):
        labels = np.empty(len(x), dtype=np.intc)
        _compact.lloyd(x, weight, centres, labels, max_iter, tol)
    return labels


def column_scales(x):
    """Standard deviations of the columns; the size of the entries for constant columns, one for zeros."""
    return scales_or_size(x.std(axis=0, dtype=np.float64), x)


def column_ranges(x):
    """Ranges of the columns; constant columns and zeros as in ``column_scales``."""
    return scales_or_size(np.ptp(x, axis=0), x)


def scales_or_size(scales, x):
    """The scales of the columns; for a constant column the size of its entries, and one for zeros."""
    size = np.abs(x).max(axis=0, initial=0.0)
    return np.where(scales > CONSTANT * size, scales, np.where(size > 0, size, 1.0)).astype(x.dtype)


def round_clusters(x, n_clusters, weight, rng):
    """Rows in units in which clusters of one shape are round, from differences of neighbours.

    If columns depend on each other in all rows, no units of columns show clusters along a thin direction. Principal
    components of unit variance do, and neighbours in them mostly share a cluster.
    """
    z, chosen = limited(x.astype(np.float64), FAR), drawn(x, weight, rng)
    part = z[chosen[(z[chosen] == x[chosen]).all(axis=1)]]
    varies = np.ptp(part, axis=0) > 0.0 if len(part) else np.zeros(x.shape[1], dtype=bool)
    if varies.sum() < 2 or len(part) < rows_for_shape(len(varies)):
        return x / column_scales(x)
    z, part = z[:, varies], part[:, varies]
    mean, scales = part.mean(axis=0), part.std(axis=0)
    values, vectors = np.linalg.eigh(np.corrcoef(part.T))
    kept = values > SMALLEST * values[-1]
    axes = vectors[:, kept] / np.sqrt(values[kept])
    part, z = (part - mean) / scales @ axes, (z - mean) / scales @ axes
    n_neighbours = max(LEAST_NEIGHBOURS, len(part) // (ROWS_PER_NEIGHBOUR * n_clusters))
    return limited(round_rows(z, neighbours(part, True, n_neighbours, SHAPE_ROUNDS)), FAR_IN_SHAPE).astype(x.dtype)


def rows_for_shape(n_features):
    """Minimum of rows for a shape: one for each number of a covariance; with fewer, its thin directions are noise."""
    return max(SHAPE_ROWS * n_features, n_features * (n_features + 1) // 2)


def limited(x, far):
    """Values at most so many widths from the median of their column; in a column of mostly one value, all stay."""
    columns, tame = np.ascontiguousarray(x.T), max(1, int(TAME * len(x)))
    middle = np.median(columns, axis=1)
    apart = np.partition(np.abs(columns - middle[:, None]), tame - 1, axis=1)[:, :tame]
    widths = np.sqrt((apart**2).mean(axis=1))
    limits = far * np.where(widths > 0.0, widths, np.inf)
    return np.clip(x, middle - limits, middle + limits)


def drawn(x, weight, rng):
    """Numbers of a sample of rows in random order: all if they are few, and each as often as its weight says."""
    size = min(len(x), max(SHAPE_SAMPLE, rows_for_shape(x.shape[1])))
    upper = np.cumsum(np.ones(len(x)) if weight is None else weight, dtype=np.float64)
    places = (np.arange(size) + rng.random(size)) * (upper[-1] / size)
    return rng.permutation(np.minimum(np.searchsorted(upper, places, side="right"), len(x) - 1))


def by_isolation(rows, selection):
    """The chosen rows, in the order of their distances from neighbours in a sample."""
    x = rows.read(selection).astype(np.float64)
    x /= column_scales(x)
    sample = x[np.linspace(0, len(x) - 1, min(len(x), NEAR_SAMPLE)).astype(np.intp)]
    place, squares, distances = min(NEAR, len(sample) - 1), (sample**2).sum(axis=1), np.empty(len(x))
    for start, stop in spans(len(x), NEAR_SAMPLE):
        part = x[start:stop]
        found = np.partition(squares - 2.0 * part @ sample.T, place, axis=1)[:, place]
        distances[start:stop] = found + (part**2).sum(axis=1)
    return numbers(selection, 0, len(x))[np.argsort(distances, kind="stable")]
