"""Rows with missing values (NaN): weights of the observed values, and sums of completed rows.

A missing value is a latent variable of its row. Under Gaussian k, the columns m given the observed columns o have mean
m_m - P_mm^-1 P_mo (x_o - m_o) and covariance P_mm^-1, where P is the precision (Ghahramani and Jordan 1994). The weight
of a row is the log density of its observed values. The statistics have the shapes of those of complete rows: each pair
of a row and a component adds the completed row, and the covariance of what is missing, to the moments. The entropy of
the missing values joins that of the responsibilities, so that the bound holds, and no step lowers it.
"""

import numpy as np

from sparsemix._kernels.gaussians import _missing
from sparsemix._stats import symmetric
from sparsemix._stats.families._shapes import whitened
from sparsemix._stats.families._tables import LOG_2PI

# Numbers of completed rows in memory at once; smaller responsibilities than this do not count for the expected values.
COMPLETED, LEAST = 1 << 21, 1e-12


def is_missing(x):
    """Whether each row of a tile or a chunk has missing values, (n,); None if none has."""
    missing = np.isnan(np.einsum("nd->n", x))  # checked rows are finite: only a NaN makes a sum NaN
    return missing if missing.any() else None


class IncompleteTable:
    """A table of log densities for rows with missing values; complete rows get those of ``table``, bit by bit.

    It also completes rows under its Gaussians.
    """

    def __init__(self, gaussians, table):
        correlated = gaussians.shape.correlated or gaussians.has_loadings
        self.table, self.dtype = table, table.dtype
        self.completion = (Correlated if correlated else Independent)(gaussians)
        self.complete_pairs = table.complete_pairs
        self._blocks = None

    def __getstate__(self):
        return vars(self) | {"_blocks": None}  # in aligned memory, which files do not restore

    @property
    def blocks(self):
        """The table that the kernel for rows with missing values reads."""
        if self._blocks is None:
            self._blocks = self.completion.blocks(self.kernel.constants, self.dtype)
        return self._blocks

    @property
    def kernel(self):
        """The table that the kernel for complete rows reads."""
        return self.table.kernel

    def rows(self, x):
        """Complete rows in the coordinates of ``kernel``."""
        return self.table.rows(x)

    def weights(self, x, out):
        """Log densities of rows ``x`` (n, D) in ``out`` (n, K), both C-ordered and of the table's dtype."""
        missing = is_missing(x)
        if missing is None:
            return self.table.weights(x, out)
        n_missing = np.count_nonzero(missing)
        if 2 * n_missing > len(x):  # copy the smaller part
            self._observed(x, out)
            if n_missing < len(x):
                self._part(self.table.weights, x, ~missing, out)
        else:
            self.table.weights(x, out)
            self._part(self._observed, x, missing, out)
        return out

    def _part(self, weights, x, chosen, out):
        """Replace the weights of the chosen rows."""
        some = x[chosen]
        out[chosen] = weights(some, np.empty((len(some), out.shape[1]), dtype=out.dtype))

    def _observed(self, x, out):
        return self.completion.weights(x, self.blocks, out)


class IncompletePairs:
    """Weights of chosen pairs of a row and a component (see PairTable)."""

    def __init__(self, table):
        self.whole, self.completion, self.constants = table, table.completion, table.kernel.constants

    def rows(self, x):
        """Rows as they are."""
        return x

    def weights(self, x, starts, rows):
        """Weights of pairs, component by component."""
        out = np.empty(len(rows), dtype=x.dtype)
        for k in np.flatnonzero(np.diff(starts)):
            some = slice(starts[k], starts[k + 1])
            out[some] = self.constants[k] + self.completion.log_densities(k, x, rows[some])
        return out


class Independent:
    """Missing values of Gaussians with variances (K, D): they have the means and variances of the component."""

    def __init__(self, gaussians):
        self.means = np.ascontiguousarray(gaussians.means, dtype=np.float64)
        self.variances = np.array(gaussians.variances(), dtype=np.float64)

    def blocks(self, constants, dtype):
        """Table of the kernel, and the weights of rows without values."""
        factors = 1.0 / np.sqrt(self.variances)
        logs = np.log(self.variances) + LOG_2PI
        table = np.stack([factors, factors * self.means, logs], axis=-1).astype(dtype)
        return _missing.in_blocks(table), (constants + 0.5 * logs.sum(axis=1)).astype(dtype)

    def weights(self, x, blocks, out):
        """Weights of rows in ``out`` (n, K)."""
        _missing.observed_diagonal(x, *blocks, out)
        return out

    def rank(self, x):
        """Order in which rows of a component should come; None: any."""

    def log_densities(self, k, x, rows):
        """Log densities of the observed values of rows, less the constant of component k for complete rows."""
        squares = (x[rows] - self.means[k]) ** 2 / self.variances[k]
        logs = np.log(self.variances[k]) + LOG_2PI
        return -0.5 * np.where(np.isnan(squares), -logs, squares).sum(axis=1)

    def complete(self, k, x, rows, resp, out):
        """Complete rows in ``out``; return the sum of the variances of missing values (D,), and of their entropies."""
        lost = np.zeros(x.shape[1])
        _missing.fill(x, rows, resp, self.means[k], lost, out)
        return lost * self.variances[k], 0.5 * float(lost @ (np.log(self.variances[k]) + LOG_2PI + 1.0))

    def expect(self, x, resp, normals):  # noqa: ARG002
        """Expected missing values of rows with responsibilities (n, K), (n, D); draws if ``normals`` (n, D) are given.

        Draws need one component each, of responsibility one.
        """
        out = resp @ self.means
        return out if normals is None else out + normals * (resp @ np.sqrt(self.variances))

    def moments(self, x, last):
        """Means and variances (n, K, last) of the last columns, which rows lack, given their other values."""
        shape = len(x), len(self.means), last
        return tuple(np.broadcast_to(each[:, -last:], shape) for each in (self.means, self.variances))


class Correlated:
    """Missing values of Gaussians with matrices; "tied" ones have one matrix."""

    def __init__(self, gaussians):
        self.means = np.ascontiguousarray(gaussians.means, dtype=np.float64)
        self.precisions = gaussians.precisions() if gaussians.has_loadings else precisions_of(gaussians.covariances)

    def precision(self, k):
        """The precision matrix of component k."""
        return self.precisions[min(k, len(self.precisions) - 1)]

    def blocks(self, constants, dtype):  # noqa: ARG002
        """See Independent; in float64, because differences of squares cancel."""
        precisions = np.broadcast_to(self.precisions, (len(self.means), *self.precisions.shape[1:]))
        logs = np.log(np.diagonal(precisions, axis1=1, axis2=2))
        means = np.stack([self.means, logs], axis=-1)
        return _missing.in_blocks(precisions), _missing.in_blocks(means), constants.astype(np.float64)

    def weights(self, x, blocks, out):
        """See Independent; rows with one pattern share a factorisation for each component."""
        order, starts = by_pattern(x)
        found = out if out.dtype == np.float64 else np.empty(out.shape)
        _missing.observed_matrix(x.astype(np.float64, copy=False), order, starts, *blocks, found)
        if found is not out:
            with np.errstate(over="ignore"):
                out[...] = found
        return out

    def rank(self, x):
        """See Independent; rows with one pattern follow each other."""
        rank = np.empty(len(x), dtype=np.intp)
        rank[by_pattern(x)[0]] = np.arange(len(x))
        return rank

    def log_densities(self, k, x, rows):
        """See Independent."""
        out = np.empty(len(rows))
        self._complete(k, x, rows, np.zeros(len(rows)), np.empty((len(rows), x.shape[1])), out)
        return out

    def complete(self, k, x, rows, resp, out):
        """See Independent; the covariances are a matrix (D, D)."""
        return self._complete(k, x, rows, resp, out, None)

    def _complete(self, k, x, rows, resp, out, log_densities):
        spread = np.zeros((x.shape[1], x.shape[1]))
        entropy = _missing.complete(x, rows, resp, self.precision(k), self.means[k], spread, out, log_densities)
        return spread + np.tril(spread, -1).T, entropy

    def expect(self, x, resp, normals):
        """See Independent."""
        out = np.empty(x.shape)
        _missing.expect(x, *by_pattern(x), resp, LEAST, self.precisions, self.means, normals, out)
        return out

    def moments(self, x, last):
        """See Independent."""
        out = np.empty((2, len(x), len(self.means), last))
        _missing.moments(x, *by_pattern(x), self.precisions, self.means, *out)
        return out


def precisions_of(covariances):
    """Precision matrices (K, D, D) of packed covariances; (1, D, D) if tied."""
    factors = symmetric.unpack_triangle(whitened(covariances)[0])
    return np.ascontiguousarray(np.swapaxes(factors, 1, 2) @ factors)


def by_pattern(x):
    """Rows sorted by their pattern of missing values, and the start of each pattern."""
    if not len(x):
        return np.empty(0, dtype=np.intc), np.zeros(1, dtype=np.intp)
    patterns = np.packbits(np.isnan(x), axis=1)
    padded = np.zeros((len(x), -(-patterns.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : patterns.shape[1]] = patterns
    keys = padded.view(np.uint64)
    order = np.argsort(keys[:, 0], kind="stable") if keys.shape[1] == 1 else np.lexsort(keys.T)
    new = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    starts = np.concatenate([[0], np.flatnonzero(new) + 1, [len(x)]])
    return order.astype(np.intc), starts.astype(np.intp)


def accumulate(model, x, groups, stats, workers):
    """Add a chunk with missing values or noise to the statistics, component by component."""
    family, completion = model.family, model.table.completion
    rank = completion.rank(x)
    entropies = np.zeros(model.n_components)

    def share(first, last):
        for k in range(first, last):
            for rows, resp in of_component(groups, k, rank, family.n_features):
                completed = np.empty((len(rows), family.n_features))
                spread, entropy = completion.complete(k, x, rows, resp, completed)
                own = alone(groups, k, resp)
                family.accumulate(stats, completed, own, k, k + 1)
                family.accumulate_shared(stats, completed, own, resp)
                family.add_spread(stats, k, spread)
                entropies[k] += entropy

    # components add to shared sums one after another
    workers.map(share, groups.shares(1 if family.tied else workers.n_jobs))
    stats["entropy"] += entropies.sum()


def of_component(groups, k, rank, n_features):
    """Rows and responsibilities of a component, in the order of ``rank``, if any, a few at a time."""
    entries = slice(groups.starts[k], groups.starts[k + 1])
    rows, resp = groups.rows[entries], groups.resp[entries]
    if rank is not None:
        order = np.argsort(rank[rows])
        rows, resp = rows[order], resp[order]
    step = max(1, COMPLETED // n_features)
    for start in range(0, len(rows), step):
        yield rows[start : start + step], resp[start : start + step]


def alone(groups, k, resp):
    """Groups of the completed rows of one component."""
    starts = np.zeros(len(groups.starts), dtype=np.intp)
    starts[k + 1 :] = len(resp)
    return type(groups)(starts, np.arange(len(resp), dtype=np.intc), resp)
