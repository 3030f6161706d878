"""The shape of clusters before clusters are known: units in which a tree of the rows follows the clusters.

In the units of all rows, columns that separate clusters count least. Three estimates need no clusters:

- Nearest neighbours mostly share a cluster. The covariance of their differences is that within clusters; it gives new
  units, in which the nearest neighbours are others, until it stays as it is (Art, Gnanadesikan and Kettenring 1982).
- One column alone may show clusters, which one-dimensional trees find.
- If no column does, a direction may: the one of least kurtosis is that of two or more groups of similar size (Pena and
  Prieto 2001).
"""

import numpy as np

from sparsemix._kernels.gaussians import _compact

# Neighbours of a row, rows that ask for their neighbours, rounds, and the change of the shape that ends them.
NEIGHBOURS, ASKED, ROUNDS, SETTLED = 3, 400, 20, 0.05
# Starts of the search for directions, which few columns need fewer of; of how many one gets the last steps; and the
# weight of the old direction in a step: at least three, so that kurtosis falls.
STARTS, STARTS_COLUMN, KEPT, FIRST_STEPS, LAST_STEPS, OLD = 2048, 32, 16, 10, 30, 4.0
# Starts at a time, whose products with the rows fit a cache.
TILE = 64
# Negentropy in nats above which a column is examined: that of 300 normal numbers is below it, but for bias.
NOT_NORMAL = 0.1
# Directions of smaller variance, relative to all rows, are round-off; and the round-off of a factorisation.
SMALLEST, ROUND_OFF = 1e-9, 1e-13


def shrunk(covariance, degrees):
    """Logs of the correlations' eigenvalues drawn to their mean, by the spread that chance gives them, about D /
    degrees; of one covariance (D, D) or several (..., D, D).

    A product, so that directions of tiny variance keep it; a sum with rows of no correlation would widen them.
    """
    scale = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 1e-300))
    values, vectors = np.linalg.eigh(covariance / (scale[..., None] * scale[..., None, :]))
    logs = np.log(np.maximum(values, 1e-10))
    mean, spread = logs.mean(axis=-1, keepdims=True), np.maximum(logs.var(axis=-1), 1e-9)
    kept = np.sqrt(spread / (spread + (logs.shape[-1] + 1.0) / degrees))
    logs = mean + (logs - mean) * kept[..., None]
    correlations = (vectors * np.exp(logs)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    scale = scale / np.sqrt(np.diagonal(correlations, axis1=-2, axis2=-1))
    return correlations * (scale[..., None] * scale[..., None, :])


def neighbours(x, matrices, kept=NEIGHBOURS, rounds=ROUNDS):
    """Covariance (D, D) or variances (D,) within clusters, from differences of a row and its ``kept`` neighbours."""
    n = min(len(x), ASKED)
    kept = min(kept, len(x) - 1)
    x = np.ascontiguousarray(x, dtype=np.float64)
    within, near = np.diag(x.var(axis=0)) if matrices else x.var(axis=0), np.full((n, kept), -1)
    products = np.empty((x.shape[1], x.shape[1]))
    for _ in range(rounds):
        units = round_rows(x, within)
        _compact.nearest_rows(np.ascontiguousarray(units, dtype=np.float64), near)
        _compact.products_of_differences(x, near, products)
        new = shrunk(products / near.size / 2, n) if matrices else np.diag(products) / near.size / 2
        new = at_least(new, SMALLEST)
        change = np.log(variances(new) / variances(within))
        within = new
        if np.abs(change - change.mean()).max() < SETTLED:
            break
    return within


def least_kurtosis(white):
    """Orthogonal directions of white rows, those of least kurtosis first.

    Each start is the difference of two rows. A step v <- OLD v - E[x (v'x)^3] lowers the kurtosis.
    """
    n, d = white.shape
    n_starts = min(STARTS, STARTS_COLUMN * 2**d)
    first, second = np.random.default_rng(0).integers(n, size=(2, n_starts))
    found = (white[first] - white[second]).T + SMALLEST
    found /= np.sqrt((found**2).sum(axis=0))
    # what the first steps choose is close enough in single precision
    for steps, rows in ((FIRST_STEPS, white.astype(np.float32)), (LAST_STEPS, white)):
        found = found.astype(rows.dtype)
        for first in range(0, found.shape[1], TILE):
            found[:, first : first + TILE] = descended(rows, found[:, first : first + TILE], steps)
        squares = (rows @ found) ** 2
        found = found[:, np.argsort((squares * squares).mean(axis=0), kind="stable")[: n_starts // KEPT]]
    gains = negentropy(white @ found)
    kept = np.zeros((d, 0))
    for one in np.argsort(-gains):
        rest = found[:, one] - kept @ (kept.T @ found[:, one])
        length = np.linalg.norm(rest)
        if gains[one] < NOT_NORMAL or kept.shape[1] == d:
            break
        if length > 0.7:
            kept = np.c_[kept, rest / length]
    basis = np.linalg.qr(np.c_[kept, np.eye(d)])[0][:, :d]
    basis[:, : kept.shape[1]] = kept
    return basis


def descended(white, found, steps):
    """Directions of lower kurtosis after some steps from directions (D, k)."""
    for _ in range(steps):
        along = white @ found
        found = OLD * found - white.T @ (along * along * along) / len(white)
        found /= np.sqrt((found**2).sum(axis=0))
    return found


def negentropy(x):
    """Entropy of a normal distribution of a column's variance minus that of the column, in nats, (D,).

    Gaps between numbers that are m apart in order give the entropy (Vasicek 1976).
    """
    n = len(x)
    m = min(max(int(np.sqrt(n) / 2), 1), (n - 1) // 2)
    if m < 1:
        return np.zeros(x.shape[1])
    in_order = np.sort(x, axis=0)
    gaps = np.maximum(in_order[2 * m :] - in_order[: -2 * m], 1e-300)
    entropy = np.log(gaps * n / (2 * m)).mean(axis=0)
    return 0.5 * np.log(2.0 * np.pi * np.e * np.maximum(x.var(axis=0), 1e-300)) - entropy


def variances(within):
    """Variances of the columns."""
    return np.diag(within) if within.ndim == 2 else within


def at_least(within, smallest):
    """The covariance with a small variance added in all directions."""
    return within + smallest * np.eye(len(within)) if within.ndim == 2 else np.maximum(within, smallest)


def round_rows(x, within):
    """Rows in units in which clusters of this covariance or these variances are round."""
    if within.ndim == 1:
        return x / np.sqrt(within)
    return np.linalg.solve(factors(within), x.T).T


def factors(matrices):
    """Lower Cholesky factors of (..., D, D); eigenvalues that round-off made negative become tiny."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.linalg.cholesky(repaired(matrices))


def repaired(matrices):
    """Matrices whose eigenvalues are positive."""
    values, vectors = np.linalg.eigh(matrices)
    least = ROUND_OFF * values[..., -1:]
    positive = (vectors * np.maximum(values, least)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return positive + np.eye(matrices.shape[-1]) * least[..., None]
