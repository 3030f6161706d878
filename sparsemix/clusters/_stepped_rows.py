"""Rows for learning clusters: scaled columns, with rounding undone by jitter; see ``prior.rounding``."""

import numpy as np

from sparsemix._engine.blocks import Rows, length
from sparsemix._kernels.random._random import bits, uniform

# Seed of the noise: every read of a row gives the same numbers.
SEED = 0


class ScaledRows(Rows):
    """Rows with scaled columns.

    Parameters
    ----------
    rows : Rows
    scales : ndarray of shape (D,) or None
        Divisors of the columns. None means one.
    """

    def __init__(self, rows, scales):
        super().__init__(rows.X, rows.sample_weight, rows.shift, rows.dtype)
        self.scales = scales

    def read(self, selection):
        """See Rows."""
        x = super().read(selection)
        return x if self.scales is None else x / self.scales


class SteppedRows(ScaledRows):
    """Rows with uniform noise within the rounding steps of their columns.

    Parameters
    ----------
    rows : Rows
    steps : ndarray of shape (D,)
        Rounding steps; zero for columns without rounding.
    first_row : int
        Index of the first of these rows in the whole data.
    scales : ndarray of shape (D,) or None
        As in ScaledRows.
    """

    def __init__(self, rows, steps, first_row=0, scales=None):
        super().__init__(rows, scales)
        self.steps = steps if scales is None else steps / scales
        self.first_row = first_row

    def read(self, selection):
        """See Rows."""
        x, columns = super().read(selection), np.flatnonzero(self.steps)
        if not len(columns):
            return x
        numbers = np.arange(len(self))[selection] if isinstance(selection, slice) else np.asarray(selection)
        within = uniform(bits(SEED, self.first_row + numbers[:, None], types=columns).ravel()) - 0.5
        out = x.copy()
        out[:, columns] += self.steps[columns] * within.reshape(length(selection), -1)
        return out
