"""Rows as clusters learn from them: in units of their columns, and with what rounding has taken from them.

Equal values are infinitely likely under a Gaussian. Where a column has few values, clusters would gather rows by them,
and no more by their size: the pixels of digits that nobody writes on made sixteen clusters of which none was a digit.
So rows are learned from as they may have been before they were recorded, within half a step of what was recorded.
"""

import numpy as np

from sparsemix._engine.blocks import Rows, length
from sparsemix._kernels.random._random import bits, uniform

# Keys the numbers: a row is the same whenever it is read.
SEED = 0


def rounding(x):
    """The steps that each column is recorded in, (D,): the gap between neighbours where values repeat, else zero."""
    steps = np.zeros(x.shape[1])
    for j, column in enumerate(x.T):
        values = np.unique(column)
        if 1 < len(values) <= len(column) / 2:
            steps[j] = np.quantile(np.diff(values), 0.1, method="lower")
    return steps


class ScaledRows(Rows):
    """Rows in units of their columns.

    Parameters
    ----------
    rows : Rows
    scales : ndarray of shape (D,) or None
        By which columns are divided; None: they stay as they are.
    """

    def __init__(self, rows, scales):
        super().__init__(rows.X, rows.sample_weight, rows.shift, rows.dtype)
        self.scales = scales

    def read(self, selection):
        """See Rows."""
        x = super().read(selection)
        return x if self.scales is None else x / self.scales


class SteppedRows(ScaledRows):
    """Rows as they may have been before their columns were rounded.

    Parameters
    ----------
    rows : Rows
    steps : ndarray of shape (D,)
        Zero where a column is as it was measured.
    first_row : int
        Number of the first of these rows in all the data.
    scales : ndarray of shape (D,) or None
        As of ScaledRows.
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
