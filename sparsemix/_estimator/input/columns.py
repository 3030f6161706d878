"""Wild values of columns, such as typing errors, which do not decide the scale of their column."""

from dataclasses import dataclass

import numpy as np

# A column is constant if its standard deviation is at most so many times the round-off of its mean: half of it is what
# two neighbouring numbers have that take turns.
ROUND_OFF = 0.5
# The share of a column's rows that may be wild: those farthest from the median, and at least one.
WILD_SHARE = 0.01
# They are wild if they make the standard deviation so many times that of the remaining rows.
WILD = 30.0
# What the standard deviation counts as then, and how far the mean may be from the median, in that of these rows.
COUNTED = 2.0
# The share of a column's rows that have to differ from the median; of a column of zeros, what is not zero is not wild.
VARYING_SHARE = 0.05
# The sample that tells: at least enough rows for that share to be one of them, at most so many rows, and numbers.
LEAST_ROWS, SAMPLE_ROWS, SAMPLE_NUMBERS = 20, 2048, 1 << 21


@dataclass(frozen=True)
class ColumnLimits:
    """``middle`` (D,) holds the median of each column, and ``spread`` (D,) the standard deviation of its tame rows.

    A spread of infinity limits nothing. All rows count alike, whatever their weights.
    """

    middle: np.ndarray
    spread: np.ndarray
    flags: np.ndarray  # (D,) whether a column holds two values, each of them often

    @classmethod
    def of(cls, X, has_means=True):
        """Limits from a sample of the rows; deviations are those from zero where means are fixed."""
        n, d = X.shape
        if n < LEAST_ROWS:
            return cls.none(d)
        size = min(n, SAMPLE_ROWS, max(256, SAMPLE_NUMBERS // d))
        chosen = slice(None) if n == size else np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        x = np.array(X[chosen].T, dtype=np.float64, order="C")
        middle = np.partition(x, size // 2, axis=1)[:, size // 2] if has_means else np.zeros(d)
        apart = np.abs(x - middle[:, None])
        tame = size - max(1, round(WILD_SHARE * size))
        most = size - round(VARYING_SHARE * size)
        apart.partition((most, tame), axis=1)
        variances = (apart[:, :tame] ** 2).mean(axis=1)
        varies = np.minimum(apart[:, most - 1] ** 2, variances) > round_off(middle**2, X.dtype)
        least, most = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
        high = (x == most).mean(axis=1)
        flags = ((x == least) | (x == most)).all(axis=1) & (np.minimum(high, 1.0 - high) >= VARYING_SHARE)
        return cls(middle, np.where(varies, np.sqrt(variances), np.inf), flags)

    @classmethod
    def none(cls, n_features):
        """No limits."""
        return cls(np.zeros(n_features), np.full(n_features, np.inf), np.zeros(n_features, dtype=bool))

    def wild(self, variances):
        """Whether columns (D,) of these variances have wild values."""
        return variances > (WILD * self.spread) ** 2

    def variances(self, variances):
        """Variances (D,) of the columns, without wild values."""
        return np.where(self.wild(variances), (COUNTED * self.spread) ** 2, variances)

    def farthest(self, X):
        """Row and column of the value that is farthest from the median of its column, in units of its spread."""
        apart = [np.abs(X[:, j] - self.middle[j]) / self.spread[j] for j in range(X.shape[1])]
        column = int(np.argmax([column.max() for column in apart]))
        return int(np.argmax(apart[column])), column

    def means(self, means):
        """Means (D,) of the columns; a median where wild values have moved the mean."""
        return np.where(np.abs(means - self.middle) > COUNTED * self.spread, self.middle, means)

    def pooled(self):
        """The limits (1,) of the mean variance of all columns."""
        return ColumnLimits(np.zeros(1), np.sqrt((self.spread**2).mean(keepdims=True)), np.zeros(1, dtype=bool))


def round_off(squares, dtype):
    """The largest variances that round-off may make of constant columns, from the squares of their values."""
    return (ROUND_OFF * np.finfo(dtype).eps) ** 2 * squares
