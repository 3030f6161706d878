"""Bounds on the scale of each column, which a few wild values cannot move."""

from dataclasses import dataclass

import numpy as np

# A column is constant if its standard deviation is at most so many times the round-off of its mean.
ROUND_OFF = 2.0
# The trimmed variance leaves out the rows farthest from the median, this share of the total weight.
TRIMMED = 0.05
# A column's standard deviation counts as at most so many times its trimmed one. Gaussians have a ratio of 1.2.
MOST_SPREAD = 10.0
# A column's mean is at most so many trimmed standard deviations from its median.
MOST_APART = 2.0
# The sample that trimmed variances are taken from: at most so many rows, and so many numbers.
SAMPLE_ROWS, SAMPLE_NUMBERS = 2048, 1 << 21


@dataclass(frozen=True)
class ColumnLimits:
    """Bounds on the mean and the standard deviation of each column, from rows without the most extreme values.

    ``middle`` (D,) holds medians and ``spread`` (D,) the largest standard deviations that count. A spread of infinity
    limits nothing: more than 95 % of the column's values are equal, and the remaining ones are all that varies.
    """

    middle: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, X, sample_weight=None, has_means=True):
        """Limits from a sample of the rows; deviations are those from zero where means are fixed."""
        n, d = X.shape
        size = min(SAMPLE_ROWS, max(256, SAMPLE_NUMBERS // d))
        chosen = slice(None) if n <= size else np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        x = np.asarray(X[chosen], dtype=np.float64)
        weight = np.ones(len(x)) if sample_weight is None else sample_weight[chosen]
        mass = weight.sum()
        middle = np.zeros(d)
        if has_means:
            order = np.argsort(x, axis=0)
            half = (np.cumsum(weight[order], axis=0) < 0.5 * mass).sum(axis=0)
            middle = np.take_along_axis(x, order, axis=0)[half, np.arange(d)]
        apart = np.abs(x - middle)
        order = np.argsort(apart, axis=0)
        weights = weight[order]
        kept = np.clip((1.0 - TRIMMED) * mass - (np.cumsum(weights, axis=0) - weights), 0.0, weights)
        variances = (kept * np.take_along_axis(apart, order, axis=0) ** 2).sum(axis=0) / kept.sum(axis=0)
        varies = variances > round_off(middle**2, X.dtype)
        return cls(middle, np.where(varies, MOST_SPREAD * np.sqrt(variances), np.inf))

    @classmethod
    def none(cls, n_features):
        """No limits."""
        return cls(np.zeros(n_features), np.full(n_features, np.inf))

    def variances(self, variances):
        """Variances within the limits, (D,)."""
        return np.minimum(variances, self.spread**2)

    def clipped(self, mean):
        """The mean within the limits, (D,)."""
        apart = MOST_APART / MOST_SPREAD * self.spread
        return np.clip(mean, self.middle - apart, self.middle + apart)


def round_off(squares, dtype):
    """The largest variances that round-off may make of constant columns, from the squares of their values."""
    return (ROUND_OFF * np.finfo(dtype).eps) ** 2 * squares
