"""Screens of components: all weights of wide rows by one matrix product, which ranks components up to round-off.

Exact weights subtract each mean from each row, for the digits of rows near a mean. A matrix product takes a fifth of
the time. So it chooses a few components, and their weights are computed exactly.
"""

import numpy as np

from sparsemix._kernels.gaussians import _quadratic
from sparsemix._kernels.vectors import _topl

# Least number of columns, and most components: beyond, groups of components take less time.
LEAST_FEATURES, MOST_COMPONENTS = 32, 8_192
# Largest round-off of a weight, in nats.
ROUND_OFF = 0.01
# Rows of one product.
ROWS = 512


def suits(table):
    """Whether a screen of this table saves time and is exact enough: components are spheres of many columns.

    The round-off grows with the squared distance of means from the origin, in units of the variances.
    """
    kernel = table.kernel
    n_components, n_features = kernel.offsets.shape
    wide = n_features >= LEAST_FEATURES and n_components <= MOST_COMPONENTS
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
        precisions = kernel.factors**2
        self.natural = precisions[:, None] * kernel.offsets
        self.constants = kernel.constants - 0.5 * np.einsum("kd,kd->k", self.natural, kernel.offsets)
        self.halves = 0.5 * (precisions - precisions[0])  # what components share does not change their order

    def best(self, x, size):
        """The ``size`` components of largest weight for each row, up to round-off, (n, size) int32, increasing.

        Rows so large that weights overflow get components of no special order.
        """
        out = np.empty((len(x), size), dtype=np.intc)
        values, log_z = np.empty((ROWS, size)), np.empty(ROWS)
        for start in range(0, len(x), ROWS):
            some, chosen = x[start : start + ROWS], out[start : start + ROWS]
            with np.errstate(over="ignore", invalid="ignore"):
                weights = some @ self.natural.T
                weights += self.constants
                if self.halves.any():
                    weights -= np.einsum("nd,nd->n", some, some)[:, None] * self.halves
            bad = ~np.isfinite(weights.max(axis=1))
            weights[bad] = 0.0
            _topl.top_l_responsibilities(weights, chosen, values[: len(some)], log_z[: len(some)])
        return out
