"""Outliers of columns, such as typing errors, which must not determine the scale of their column."""

from dataclasses import dataclass

import numpy as np

from sparsemix._rows.blocks import spans

# A column is constant if its standard deviation is at most this many times the round-off of its mean. Half of it is the
# standard deviation of two neighbouring numbers that alternate.
ROUND_OFF = 0.5
# Share of a column's values that may be outliers, such as codes of missing values: those farthest from the median, of
# all that differ from it. A larger share counts as a group.
WILD_SHARE = 0.1
# They are outliers if the standard deviation with them is more than this many times that of the remaining rows.
WILD = 30.0
# With outliers, the standard deviation is replaced by this many times that of the remaining rows. The mean may differ
# from the median by the same amount.
COUNTED = 2.0
# Minimum share of rows of each value of a flag.
FLAG_SHARE = 0.05
# Relative difference of values that differ by round-off alone, and tolerance of multiples of a step.
SAME, WHOLE = 1e-9, 1e-6
# Size of the sample: minimum number of rows, so that this share is one row; maximum numbers of rows and of values.
LEAST_ROWS, SAMPLE_ROWS, SAMPLE_NUMBERS = 20, 2048, 1 << 21
# Columns whose steps are computed at once.
STEP_COLUMNS = 64


@dataclass(frozen=True)
class ColumnLimits:
    """``middle`` (D,) holds the median of each column, and ``spread`` (D,) the root mean square deviation of the values
    that differ from it, without outliers.

    So non-zeros are no outliers of a column of mostly zeros. An infinite spread means no limit. Weights are ignored.
    """

    middle: np.ndarray
    spread: np.ndarray
    flags: np.ndarray  # (D,) whether a column holds two values, each of them often

    @classmethod
    def of(cls, X, has_means=True):
        """Limits from a sample of the rows; with fixed means deviations are from zero."""
        n, d = X.shape
        if n < LEAST_ROWS:
            return cls.none(d)
        size = min(n, SAMPLE_ROWS, max(256, SAMPLE_NUMBERS // d))
        chosen = slice(None) if n == size else np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        x = np.array(X[chosen].T, dtype=np.float64, order="C")
        middle = np.partition(x, size // 2, axis=1)[:, size // 2] if has_means else np.zeros(d)
        apart = np.abs(x - middle[:, None])
        apart.sort(axis=1)
        differ = (apart > 0.0).sum(axis=1)
        wild = np.rint(WILD_SHARE * differ).astype(np.intp)
        apart[np.arange(size) >= (size - wild)[:, None]] = 0.0
        variances = (apart**2).sum(axis=1) / np.maximum(differ - wild, 1)
        varies = variances > round_off(middle**2, X.dtype)
        low, high = x == x.min(axis=1, keepdims=True), x == x.max(axis=1, keepdims=True)
        share = high.mean(axis=1)
        flags = (low | high).all(axis=1) & (np.minimum(share, 1.0 - share) >= FLAG_SHARE)
        return cls(middle, np.where(varies, np.sqrt(variances), np.inf), flags)

    @classmethod
    def none(cls, n_features):
        """No limits."""
        return cls(np.zeros(n_features), np.full(n_features, np.inf), np.zeros(n_features, dtype=bool))

    def wild(self, variances):
        """Whether columns (D,) with these variances have outliers."""
        return variances > (WILD * self.spread) ** 2

    def clip(self, X):
        """Rows whose values are at most ``WILD`` times the spread from the median."""
        apart = WILD * self.spread
        return np.clip(X, self.middle - apart, self.middle + apart)

    def variances(self, variances):
        """Variances (D,) of the columns without outliers."""
        return np.where(self.wild(variances), (COUNTED * self.spread) ** 2, variances)

    def far(self, X):
        """Rows (M,) and columns (M,) of values that are more than ``WILD`` times the spread from the median."""
        found = [np.zeros((0, 2), dtype=np.intp)]
        for start, stop in spans(len(X), max(1, SAMPLE_NUMBERS // X.shape[1])):
            far = np.abs(X[start:stop] - self.middle) > WILD * self.spread
            found.append(np.argwhere(far) + np.array([start, 0]))
        return np.concatenate(found).T

    def code(self, X):
        """A whole number that is at least half of all far values, two or more, and the rows (M,) that hold it.

        Far measurements hardly ever repeat, and a code of missing values does. Without such a number: None.
        """
        rows, columns = self.far(X)
        values, times = np.unique(X[rows, columns], return_counts=True)
        if len(rows) < 2 or 2 * times.max() < max(len(rows), 4) or values[times.argmax()] % 1.0:
            return None
        value = values[times.argmax()]
        return value, np.unique(rows[X[rows, columns] == value])

    def farthest(self, X):
        """Row and column of the value that is farthest from the median of its column, in units of its spread."""
        apart = [np.abs(X[:, j] - self.middle[j]) / self.spread[j] for j in range(X.shape[1])]
        column = int(np.argmax([np.nanmax(column) for column in apart]))
        return int(np.nanargmax(apart[column])), column

    def means(self, means):
        """Means (D,) of the columns; the median if outliers moved the mean far."""
        return np.where(np.abs(means - self.middle) > COUNTED * self.spread, self.middle, means)

    def pooled(self):
        """The limits (1,) of the mean variance of all columns."""
        return ColumnLimits(np.zeros(1), np.sqrt((self.spread**2).mean(keepdims=True)), np.zeros(1, dtype=bool))


def rounding_steps(X):
    """Steps (D,) to whose multiples the values of columns are rounded; 0 if they are not."""
    rows = X[np.linspace(0, len(X) - 1, min(len(X), SAMPLE_ROWS)).astype(np.intp)]
    columns = spans(X.shape[1], STEP_COLUMNS)
    parts = [steps_of(np.sort(rows[:, first:last].T.astype(np.float64), axis=1)) for first, last in columns]
    return np.concatenate(parts)


def steps_of(values):
    """The smallest gap between different values of each line (D, n) in order, if all gaps are multiples of it; else 0.
    """
    size, gaps = np.abs(values), np.diff(values, axis=1)
    counted = gaps > SAME * np.maximum(size[:, 1:], size[:, :-1])  # not those to missing values, which are last
    least = np.where(counted, gaps, np.inf).min(axis=1, initial=np.inf)
    multiples = np.where(counted, gaps, 0.0) / least[:, None]
    whole = (np.abs(multiples - np.round(multiples)) < WHOLE * multiples) | ~counted
    return np.where(np.isfinite(least) & whole.all(axis=1), least, 0.0)


def round_off(squares, dtype):
    """The largest variances that round-off may make of constant columns, from the squares of their values."""
    return (ROUND_OFF * np.finfo(dtype).eps) ** 2 * squares
