"""Rounding steps of columns, and columns that are functions of others.

Repeated values have infinite density under a Gaussian. If a column has few distinct values, clusters would separate
rows by these values and ignore distances: pixels of digits that are always blank gave sixteen clusters, none of which
was a digit. Learning therefore reads each value plus uniform noise within half a rounding step.
"""

import numpy as np

# Columns are redundant if a direction of standardised columns has a smaller variance, and are exact functions of each
# other below the second value. The latter get jitter of that variance.
REDUNDANT, EXACT = 1e-3, 1e-8


def rounding(x):
    """Rounding step of each column, (D,): the gap between neighbouring values if values repeat, else zero."""
    steps = np.zeros(x.shape[1])
    for j, column in enumerate(x.T):
        values = np.unique(column)
        if 1 < len(values) <= len(column) / 2:
            steps[j] = np.quantile(np.diff(values), 0.1, method="lower")
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


def jitter(x):
    """Rounding step of each column, and at least a tiny one for columns that are linear functions of others, (D,).

    Without jitter these columns leave directions without variance, in which clusters become ever narrower.
    """
    steps, widths = rounding(x), x.std(axis=0)
    varies = np.flatnonzero(np.ptp(x, axis=0) > 0.0)
    if len(varies) < 2 or len(x) < 2 * x.shape[1]:
        return steps
    standardised = (x[:, varies] - x[:, varies].mean(axis=0)) / widths[varies]
    variances, directions = redundant(standardised.T @ standardised / len(x), len(x))
    involved = varies[(directions[:, variances <= EXACT] ** 2).sum(axis=1) > REDUNDANT]
    steps[involved] = np.maximum(steps[involved], np.sqrt(12.0 * EXACT) * widths[involved])
    return steps
