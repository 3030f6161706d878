"""What the columns of a table are: their kinds, and their values as numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsemix._estimator.input import forms
from sparsemix._estimator.input.checks import largest_value
from sparsemix._estimator.input.columns import ColumnLimits, round_off, rounding_steps
from sparsemix._estimator.summary import columns as summaries
from sparsemix._stats.linear.kinds import Counts, Levels, Normals, Shares
from sparsemix._warnings import warn_caller
from sparsemix.mixture._linear._table import Categories, levelled


@dataclass(frozen=True)
class Kind:
    """What a kind of columns is called, whether it has levels, and how many, holds counts, or has groups of columns; a
    group in which a value is missing may have ``instead``.
    """

    words: str
    most_levels: float = 0.0
    counts: bool = False
    instead: str | None = None


KINDS = {
    "diag": Kind("numbers"),
    "full": Kind("numbers with correlations", instead="diag"),
    "categorical": Kind("categories", most_levels=np.inf),
    "bernoulli": Kind("yes or no", most_levels=2.0),
    "poisson": Kind("counts", counts=True),
    "multinomial": Kind("shares of counts", counts=True, instead="poisson"),
}
# A code of missing values is apart from more different values than this, and this is the share of many rows.
MOST_CODED, MANY = 2, 0.1
DROP = "drop"  # the name of columns that are left out
# Variances of rounding, relative to that of a column: at least, and at most.
LEAST_ROUNDING, MOST_ROUNDING = 1e-6, 1.0 / 3.0


@dataclass(frozen=True)
class Column:
    """One column: its label and place in X, its kind, the number of its group for kinds of groups, and the values of
    categories.
    """

    label: Any
    place: int
    kind: str
    group: int = 0
    levels: list | None = None

    @property
    def name(self):
        """The column in messages."""
        return f"{self.label!r}" if isinstance(self.label, str) else f"{self.label}"

    @property
    def of(self):
        """Its Kind."""
        return KINDS[self.kind]


@dataclass(frozen=True)
class Columns:
    """The columns of a fit, and labels of those that are left out; whether any kind was read from the data."""

    columns: list[Column]
    dropped: list
    guessed: bool

    def kinds(self, codes=None, kept=None, reg_covar=None):
        """The families of the columns, which name columns by their place in ``codes``.

        Their numbers are relative to middle and spread of the rows ``codes``, which are the rows ``kept`` of those
        given; without rows as they are.
        """
        found, normals = [], [[j] for j in self._of("diag")] + self._groups("full")
        for size in sorted(set(map(len, normals))):
            places = np.array([group for group in normals if len(group) == size])
            found.append(Normals(places, *self._scales(places, codes, kept, reg_covar)))
        if levelled := [j for j, each in enumerate(self.columns) if each.of.most_levels]:
            found.append(Levels(np.array(levelled), np.array([len(self.columns[j].levels) for j in levelled])))
        if counted := self._of("poisson"):
            found.append(Counts(np.array(counted)))
        return found + [Shares(np.array(group)) for group in self._groups("multinomial")]

    def _scales(self, places, codes, kept, reg_covar):
        """Shifts, scales and variances of rounding of columns."""
        if codes is None:
            return np.zeros(places.shape), np.ones(places.shape), np.zeros(places.shape)
        scales = [Scale.of(self.columns[j], codes[:, j], kept) for j in places.ravel()]
        shift, scale, rounding = np.array([[each.shift, each.scale, each.rounding] for each in scales]).T
        rounding = rounding if reg_covar is None else np.full(len(rounding), reg_covar)
        return [each.reshape(places.shape) for each in (shift, scale, rounding / scale**2)]

    def _of(self, kind):
        """Numbers of the columns of a kind."""
        return [j for j, each in enumerate(self.columns) if each.kind == kind]

    def _groups(self, kind):
        """Numbers of the columns of each group of a kind."""
        groups = {}
        for j in self._of(kind):
            groups.setdefault(self.columns[j].group, []).append(j)
        return list(groups.values())

    def codes(self, raw, unknown):
        """The values of all columns (N, columns): numbers, and numbers of levels; NaN is missing.

        They are float32 if all values are, else float64.
        """
        single = all(getattr(raw[column.place][1], "dtype", None) == np.float32 for column in self.columns)
        out = np.empty((len(raw[0][1]), len(self.columns)), np.float32 if single else np.float64, order="F")
        for j, column in enumerate(self.columns):
            values = raw[column.place][1]
            out[:, j] = coded(column, values, unknown) if column.levels is not None else checked(column, values)
        for kind in (name for name, each in KINDS.items() if each.instead):
            for group in self._groups(kind):
                check_whole(out[:, group], kind, [self.columns[j].name for j in group])
        return np.ascontiguousarray(out)

    @property
    def plain(self):
        """Whether all columns are numbers."""
        return len(self._of("diag")) == len(self.columns)

    def said(self, kind, typical, known, masses):
        """What a summary says of the columns of a kind: typical values, and masses (K, columns) with a value."""
        shares, known = masses / max(masses.sum(), 1e-300), np.minimum(known / np.maximum(masses, 1e-300)[:, None], 1.0)
        names = [str(each.label) if isinstance(each.label, str) else f"column {each.label}" for each in self.columns]
        names = [names[j] for j in kind.columns.ravel()]
        if isinstance(kind, Normals | Counts):
            make = summaries.Numbers.of_rates if isinstance(kind, Counts) else summaries.Numbers.of_moments
            return [make(names, *typical, shares, known)]
        if isinstance(kind, Shares):
            return [summaries.Shares.of_words(names, typical, shares, known)]
        parts = np.split(typical, kind.starts[1:], axis=1)
        levels = [self.columns[j].levels for j in kind.columns]
        return [
            summaries.Category.of(*each, masses, known[:, [j]])
            for j, each in enumerate(zip(names, levels, parts, strict=True))
        ]

    def described(self):
        """One line that says what each column is taken for."""
        parts = []
        for kind, of in KINDS.items():
            of_kind = [each for each in self.columns if each.kind == kind]
            names = [f"{each.label} ({len(each.levels)})" if each.levels else str(each.label) for each in of_kind]
            parts += [f"{of.words}: {', '.join(names)}"] if names else []
        return "columns taken for " + "; ".join(parts)

    def pairs(self):
        """Kinds and labels, as the parameter ``columns`` takes them."""
        groups = {}
        for each in self.columns:
            groups.setdefault((each.kind, each.group), []).append(each.label)
        left_out = [(DROP, self.dropped)] if self.dropped else []
        return [(kind, labels) for (kind, _), labels in groups.items()] + left_out


@dataclass(frozen=True)
class Scale:
    """Numbers of a column are read relative to ``shift``, in units of ``scale``, a power of two; ``rounding`` is a
    variance.
    """

    shift: float
    scale: float
    rounding: float

    @classmethod
    def of(cls, column, values, kept):
        """From median and spread, on which outliers have no influence."""
        observed = values[~np.isnan(values)].astype(np.float64)
        if not len(observed):
            return cls(0.0, 1.0, LEAST_ROUNDING)
        limits = ColumnLimits.of(observed[:, None])
        shift, spread = float(limits.middle[0]), limits.spread[0]
        far, _ = limits.far(values[:, None])
        far = far if len(far) else np.flatnonzero(values == code_of(observed))
        if len(far):
            warn_of_far(column, values, far, kept)
        if not np.isfinite(spread):
            shift, spread = observed.mean(), observed.std()
        varies = spread**2 > round_off(shift**2, np.float64)
        scale = 2.0 ** np.round(np.log2(spread)) if varies else max(1.0, abs(shift))
        rounding = float(rounding_steps(observed[:, None])[0]) ** 2 / 12.0
        return cls(shift, float(scale), float(np.clip(rounding, LEAST_ROUNDING * scale**2, MOST_ROUNDING * scale**2)))


def code_of(values):
    """A repeated value that is farther from all other ones than these are from each other; NaN if there is none.

    A value of many rows is a code only if it is negative, as no other one is, or has nines as its only digits.
    """
    different, times = np.unique(values, return_counts=True)
    for code, count, rest in ((different[0], times[0], different[1:]), (different[-1], times[-1], different[:-1])):
        apart = count > 1 and len(rest) > MOST_CODED and np.abs(rest - code).min() > rest[-1] - rest[0]
        usual = apart and (set(f"{abs(code):g}") == {"9"} or code < 0.0 <= rest[0])
        if usual or (apart and count < MANY * len(values)):
            return code
    return np.nan


def warn_of_far(column, values, far, kept):
    """Warn of numbers that are far from the bulk of their column."""
    row = far[0] if kept is None else np.flatnonzero(kept)[far[0]]
    more = f", as {len(far) - 1} more rows do," if len(far) > 1 else ""
    warn_caller(
        f"row {row} of X holds {values[far[0]]:g} in column {column.name}, far from the bulk of the column{more} and "
        "may take a component from it; replace codes of missing values by NaN, and take logarithms of amounts whose "
        "sizes differ much"
    )


def coded(column, values, unknown):
    """Numbers of the levels of a column's values."""
    found, numbers = levelled(values), {level: number for number, level in enumerate(column.levels)}
    if unknown == "error" and not numbers.keys() >= set(found.observed):
        level = next(level for level in found.observed if level not in numbers)
        row = np.flatnonzero(found.codes == found.levels.index(level))[0]
        raise ValueError(
            f"column {column.name} of X has the unknown category {level!r} in row {row}; give handle_unknown='ignore' "
            "to read unknown categories as missing, or fit with all categories, such as those of a "
            "pandas.CategoricalDtype"
        )
    return np.array([numbers.get(level, np.nan) for level in found.levels] + [np.nan], dtype=np.float64)[found.codes]


def checked(column, values):
    """Numbers of a column; raises for values that its kind does not have."""
    if isinstance(values, Categories):
        texts = [level for level in values.observed if isinstance(level, str) and not forms.is_number(level)]
        if texts:
            row = np.flatnonzero(values.codes == values.levels.index(texts[0]))[0]
            raise ValueError(
                f"row {row} of X holds the text {texts[0][: forms.QUOTED]!r} in column {column.name}, which should be "
                "numbers; give numbers, or the kind 'categorical' in columns"
            )
        values = np.array([*values.levels, None], dtype=object)[values.codes]
    numbers = forms.floats_of(values, f"column {column.name} of X")
    counted = column.of.counts
    bad = np.abs(numbers) > largest_value(np.float64)  # and not NaN
    if counted:
        bad |= (numbers < 0) | (numbers % 1.0 != 0) & ~np.isnan(numbers)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        value = "infinity" if np.isinf(numbers[row]) else f"{numbers[row]:g}"
        what = "a whole number that is not negative" if counted else "a finite number of usual size"
        raise ValueError(
            f"column {column.name} of X contains {value} in row {row}, but takes {what}; correct the row, or give the "
            "column another kind in columns"
        )
    return numbers


def check_valued(columns, codes):
    """Refuse columns of a fit without a value; ``codes`` are those of its rows."""
    for column, empty in zip(columns, np.isnan(codes).all(axis=0), strict=True):
        if empty and column.levels is None:
            raise ValueError(f"column {column.name} of X has no value; leave it out by columns=[('drop', [...])]")


def check_whole(values, kind, names):
    """Refuse rows in which some values of a group are missing."""
    lost = np.isnan(values)
    row = np.flatnonzero(lost.any(axis=1) & ~lost.all(axis=1))
    if len(row):
        name = names[int(lost[row[0]].argmax())]
        raise ValueError(
            f"row {row[0]} of X lacks a value in column {name}, but a {kind!r} group needs all of its columns or none; "
            f"give the column the kind {KINDS[kind].instead!r}, or fill the value"
        )
