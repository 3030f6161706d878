"""Screens of components: all weights of wide rows by one matrix product, which ranks components up to round-off.

Exact weights subtract each mean from each row, for the digits of rows near a mean. A matrix product takes a fifth of
the time. So it chooses a few components, and their weights are computed exactly. It also labels rows: exact weights
decide only where the two best weights are closer than round-off.
"""

from functools import cached_property

import numpy as np

from sparsemix._kernels.gaussians import _quadratic
from sparsemix._kernels.vectors import _topl

# Least number of columns, and most components: beyond, groups of components take less time.
LEAST_FEATURES, MOST_COMPONENTS = 32, 8_192
# Largest round-off of a weight, in nats.
ROUND_OFF = 0.01
# Rows of one product.
ROWS = 512


def suits(table, most_components=MOST_COMPONENTS):
    """Whether a screen of this table saves time and is exact enough: components are spheres of many columns.

    The round-off grows with the squared distance of means from the origin, in units of the variances.
    """
    kernel = table.kernel
    n_components, n_features = kernel.offsets.shape
    wide = n_features >= LEAST_FEATURES and n_components <= most_components
    if not wide or kernel.shape != _quadratic.SPHERICAL or table.complete_pairs is not None:
        return False
    squares = kernel.factors.astype(np.float64) ** 2 * np.einsum("kd,kd->k", kernel.offsets, kernel.offsets)
    return bool(squares.max() * np.finfo(kernel.dtype).eps < ROUND_OFF)


class Screen:
    """The best components of rows under a table of spheres.

    Parameters
    ----------
    kernel : KernelTable
        Its weights are constants_k - f_k^2 |x - o_k|^2 / 2 = f_k^2 x . o_k + shifted constants_k - f_k^2 |x|^2 / 2.
    """

    def __init__(self, kernel):
        self.kernel = kernel
        precisions = kernel.factors**2
        self.natural = precisions[:, None] * kernel.offsets
        self.constants = kernel.constants - 0.5 * np.einsum("kd,kd->k", self.natural, kernel.offsets)
        self.halves = 0.5 * (precisions - precisions[0])  # what components share does not change their order

    def weights(self, x, out):
        """Weights of all components up to what they share, and up to round-off, in ``out`` (n, K)."""
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(x, self.natural.T, out=out)
            out += self.constants
            if self.halves.any():
                out -= np.einsum("nd,nd->n", x, x)[:, None] * self.halves
        return out

    def best(self, x, size):
        """The ``size`` components of largest weight for each row, up to round-off, (n, size) int32, increasing.

        Rows so large that weights overflow get components of no special order.
        """
        out = np.empty((len(x), size), dtype=np.intc)
        values, log_z = np.empty((ROWS, size)), np.empty(ROWS)
        scratch = np.empty((min(ROWS, len(x)), len(self.constants)), dtype=x.dtype)
        for start in range(0, len(x), ROWS):
            some, chosen = x[start : start + ROWS], out[start : start + ROWS]
            weights = self.weights(some, scratch[: len(some)])
            bad = ~np.isfinite(weights.max(axis=1))
            weights[bad] = 0.0
            _topl.top_l_responsibilities(weights, chosen, values[: len(some)], log_z[: len(some)])
        return out

    def labels(self, x, scratch):
        """Component of the largest exact weight of each row, the lower index in a tie, and the rows of close ties.

        Labels of close rows, which round-off may have changed, are for the caller to correct.
        """
        weights, rows = self.weights(x, scratch), np.arange(len(x))
        labels = weights.argmax(axis=1)
        largest = weights[rows, labels]
        weights[rows, labels] = -np.inf
        with np.errstate(invalid="ignore"):
            close = ~(largest - weights.max(axis=1) > self.round_off(x))  # not finite: close
        return labels, np.flatnonzero(close)

    def round_off(self, x):
        """A bound of the change of the difference between two weights of a row by round-off, here and in the kernel.

        Sums of D products, in any order, have relative errors below (D + 4) u. The products of a row add up to at most
        f^2 (|x|^2 + |o|^2), counted once for each of the kernel, the product, and the halves.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._steepest * (np.einsum("nd,nd->n", x, x) + self._farthest) + self._of_constants

    @cached_property
    def _unit(self):
        return 0.5 * float(np.finfo(self.natural.dtype).eps)

    @cached_property
    def _steepest(self):
        return 6.0 * self._unit * (self.natural.shape[1] + 4) * float(np.max(self.kernel.factors)) ** 2

    @cached_property
    def _farthest(self):
        return float(np.einsum("kd,kd->k", self.kernel.offsets, self.kernel.offsets).max())

    @cached_property
    def _of_constants(self):
        constants = np.concatenate([self.constants, self.kernel.constants])
        return 8.0 * self._unit * float(np.abs(constants[np.isfinite(constants)]).max(initial=0.0))
