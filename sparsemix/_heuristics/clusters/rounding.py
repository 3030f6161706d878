"""Rounding steps of columns, and columns that are functions of others.

Repeated values have infinite density under a Gaussian. If a column has few distinct values, clusters would separate
rows by these values and ignore distances: pixels of digits that are always blank gave sixteen clusters, none of which
was a digit. Learning therefore reads each value plus uniform noise within half a rounding step.
"""

import numpy as np

# Columns are redundant if a direction of standardised columns has a smaller variance, and are exact functions of each
# other below the second value. The latter get jitter of that variance.
REDUNDANT, EXACT = 1e-3, 1e-8
# Largest deviation of a gap between values from a multiple of the smallest one, in its units.
OFF_GRID = 1e-3


def on_grid(x):
    """Whether all columns hold multiples of a step, so that equal rows are due to rounding."""
    for column in x.T:
        gaps = np.diff(np.unique(column))
        if len(gaps) + 1 > len(column) / 2:
            return False
        if len(gaps) and np.abs(gaps / gaps.min() - np.round(gaps / gaps.min())).max() > OFF_GRID:
            return False
    return True


class Rounding:
    """Rounding steps of columns, which may differ between values: logs of counts are far apart where counts are small.

    Columns that are linear functions of others have at least a tiny step. Without it they leave directions without
    variance, in which clusters become ever narrower.

    Parameters
    ----------
    x : ndarray of shape (n, D)
        Rows, none of them twice.
    tame : ndarray of shape (n, D) or None
        The same rows without wild values: a row that is far in all columns would make them functions of each other.
    """

    def __init__(self, x, tame=None):
        self.least, self.steps = dependent(x if tame is None else tame), {}
        for j, column in enumerate(x.T):
            values = np.unique(column)
            if 1 < len(values) <= len(column) / 2:
                gaps = np.diff(values, prepend=-np.inf, append=np.inf)
                self.steps[j] = values, np.minimum(gaps[:-1], gaps[1:])

    @property
    def columns(self):
        """Columns with steps."""
        return np.union1d(np.flatnonzero(self.least), list(self.steps)).astype(np.intp)

    def widths(self, x):
        """Step around each value, (n, D): the gap to the nearest other value."""
        out = np.tile(self.least, (len(x), 1))
        for j, (values, gaps) in self.steps.items():
            out[:, j] = np.maximum(out[:, j], np.interp(x[:, j], values, gaps))
        return out


def dependent(x):
    """Tiny steps of columns that are linear functions of others, (D,)."""
    steps, widths = np.zeros(x.shape[1]), x.std(axis=0)
    varies = np.flatnonzero(np.ptp(x, axis=0) > 0.0)
    if len(varies) < 2 or len(x) < 2 * x.shape[1]:
        return steps
    standardised = (x[:, varies] - x[:, varies].mean(axis=0)) / widths[varies]
    variances, directions = redundant(standardised.T @ standardised / len(x), len(x))
    involved = varies[(directions[:, variances <= EXACT] ** 2).sum(axis=1) > REDUNDANT]
    steps[involved] = np.sqrt(12.0 * EXACT) * widths[involved]
    return steps


def redundant(correlations, n_rows):
    """Variances (R,) and directions (D, R) in which standardised columns hardly vary.

    With fewer rows than two per column, chance gives such directions, and none are returned.
    """
    d = len(correlations)
    if d == 1 or n_rows < 2 * d:
        return np.zeros(0), np.zeros((d, 0))
    variances, directions = np.linalg.eigh(correlations)
    few = variances < REDUNDANT
    return np.maximum(variances[few], EXACT), directions[:, few]
