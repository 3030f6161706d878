"""Rows for learning clusters: scaled columns, with rounding undone by jitter; see ``prior.rounding``."""

import numpy as np

from sparsemix._kernels.random._random import bits, uniform
from sparsemix._rows.blocks import Rows, length

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
    steps : Rounding
    first_row : int
        Index of the first of these rows in the whole data.
    scales : ndarray of shape (D,) or None
        As in ScaledRows.
    """

    def __init__(self, rows, steps, first_row=0, scales=None):
        super().__init__(rows, scales)
        self.steps, self.columns = steps, steps.columns
        self.first_row = first_row

    def read(self, selection):
        """See Rows."""
        x, columns = Rows.read(self, selection), self.columns
        if len(columns):
            numbers = np.arange(len(self))[selection] if isinstance(selection, slice) else np.asarray(selection)
            noise = uniform(bits(SEED, self.first_row + numbers[:, None], types=columns).ravel()) - 0.5
            widths = self.steps.widths(x)[:, columns]
            x = x.copy()
            x[:, columns] += widths * noise.reshape(length(selection), -1)
        return x if self.scales is None else x / self.scales
