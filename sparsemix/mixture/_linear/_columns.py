"""What the columns of a table are: their kinds, given or read from the data, and their values as numbers."""

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from sparsemix._estimator.input import forms
from sparsemix._estimator.input.checks import largest_value
from sparsemix._estimator.input.columns import ColumnLimits, round_off, rounding_steps
from sparsemix._estimator.summary import columns as summaries
from sparsemix._stats.linear.kinds import FAR, Counts, Levels, Normals, Shares
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
# A code of missing values is apart from more different values than this.
MOST_CODED = 2
DROP = "drop"  # the name of columns that are left out
# Variances of rounding, relative to that of a column: at least, and at most.
LEAST_ROUNDING, MOST_ROUNDING = 1e-6, 1.0 / 3.0
# Texts with fewer rows for each value are names, texts or identifiers.
ROWS_PER_LEVEL = 5.0
# Least number of rows that show an identifier, least share of different values of a column that is named as one, and
# names of identifiers, which end with one of these words.
NUMBERED, DIFFERENT = 10, 0.9
IDENTIFIER = re.compile(
    r"(?i:(^|[^a-z])((row|user|case)?id|nr|no|num|number|key|index|[ug]uid|ssn|seqn|rownames?|account|case|patient|"
    r"unnamed: \d+))$|[a-z](Id|ID|No|Nr|Key)$"
)
# Texts that are dates, and texts that are numbers.
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d{1,2}:.*)?")
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?")


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
            return [summaries.Shares.of_words(names, typical, shares)]
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


def read(raw, given):
    """The columns of a table: kinds that were ``given``, and for the remaining columns those that the data show."""
    chosen, refused, found, dropped = kinds_given(raw, given), {}, [], []
    for place, (label, values) in enumerate(raw):
        kind, group = chosen.get(place, (None, 0))
        column = Column(label, place, kind, group)
        if kind is None:
            kind, reason = kind_of(label, values)
            if reason:
                refused.setdefault(reason, []).append(column)
            column = replace(column, kind=kind)
        if kind in KINDS:
            found.append(learned(column, values))
        elif kind == DROP:
            dropped.append(label)
    if refused:
        every = [each.label for part in refused.values() for each in part]
        reasons = [f"{', '.join(each.name for each in part)} ({why})" for why, part in refused.items()]
        raise ValueError(
            f"X has columns that no kind fits: {'; '.join(reasons)}; leave them out by "
            f"columns=[('drop', {every!r})], or name their kinds, such as ('diag', [...]) for numbers"
        )
    if not found:
        raise ValueError("columns leaves out all columns of X; keep at least one")
    return Columns(found, dropped, guessed=len(chosen) < len(raw))


def kinds_given(raw, given):
    """Kind and group by place of the columns that the parameter ``columns`` names."""
    labels, chosen = {label: place for place, (label, _) in enumerate(raw)}, {}
    for group, pair in enumerate(() if isinstance(given, str) else given):
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str)):
            raise ValueError(
                f"columns holds {pair!r}; give pairs of a kind and its columns, such as ('categorical', ['region'])"
            )
        kind, names = pair
        if kind != DROP and kind not in KINDS:
            raise ValueError(f"columns has the kind {kind!r}; give one of {', '.join(KINDS)}, {DROP}")
        for name in [names] if isinstance(names, str) or np.ndim(names) == 0 else names:
            known = isinstance(name, Hashable) and name in labels
            place = labels[name] if known else name if isinstance(name, int | np.integer) else None
            if place is None or not 0 <= place < len(raw):
                raise ValueError(f"columns names {name!r}, which is no column of X; give names or numbers of columns")
            if place in chosen:
                raise ValueError(f"columns names the column {name!r} twice; give it one kind")
            chosen[int(place)] = kind, group
    return chosen


def kind_of(label, values):
    """The kind that the values of a column show, and else the reason why they say nothing about clusters."""
    texts = isinstance(values, Categories)
    observed = values.codes[values.codes >= 0] if texts else values[values == values]
    levels = np.unique(observed)
    if are_dates(values, levels):
        return None, "dates; make them numbers, such as days"
    if len(levels) < 2 < len(values):
        return None, "constant" if len(levels) else "without a value"
    if texts and not values.declared:
        if all(isinstance(level, str) and NUMBER.fullmatch(level.strip()) for level in values.levels):
            return None, "numbers as texts; convert them, or name them categorical"
        if len(levels) * ROWS_PER_LEVEL > len(observed):
            return None, "names, texts or identifiers: less than 5 rows for a value"
    if texts or len(levels) == 2:
        return "categorical", None
    numbers = observed.astype(np.float64)
    if is_numbered(label, numbers):
        return None, "identifiers"
    return ("poisson" if is_count(numbers) else "diag"), None


def are_dates(values, levels):
    """Whether the values of a column are dates, as such, as texts, or as whole numbers of eight digits."""
    if isinstance(values, Categories):
        texts = [level for level in values.levels if isinstance(level, str)]
        return values.are_dates or (bool(texts) and all(DATE.fullmatch(text.strip()) for text in texts))
    if values.dtype.kind in "mM":
        return True
    if values.dtype.kind not in "iuf" or not len(levels) or levels[0] < 18_000_000 or levels[-1] > 22_000_000:
        return False
    month, day = levels // 100 % 100, levels % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def is_numbered(label, numbers):
    """Whether numbers are identifiers: whole and different, and without gaps or named so.

    Measurements that are all different leave gaps. A few repetitions of a named one are rows of the same case.
    """
    if len(numbers) < NUMBERED or (numbers % 1.0).any():
        return False
    n_different = len(np.unique(numbers))
    if n_different == len(numbers) and numbers.max() - numbers.min() < len(numbers):
        return True
    named = isinstance(label, str) and IDENTIFIER.search(label) is not None
    return named and n_different >= DIFFERENT * len(numbers)


def is_count(numbers):
    """Whether numbers count: whole, with zeros, and likelier under one Poisson distribution than under one normal one.

    Of numbers far from zero both distributions are nearly the same, but the normal one has any spread.
    """
    if (numbers % 1.0).any() or numbers.min() != 0.0:
        return False
    mean, variance = numbers.mean(), max(numbers.var(), 1.0 / 12.0)
    poisson = (numbers * np.log(mean) - mean - gammaln(numbers + 1.0)).mean()
    return poisson > -0.5 * (np.log(2.0 * np.pi * variance) + 1.0)


def learned(column, values):
    """A column with its levels; raises for values that its kind does not have."""
    if column.of.most_levels:
        found = levelled(values)
        levels = found.levels
        if not found.declared:
            levels = sorted(levels, key=lambda level: (isinstance(level, str), level))
        if not 0 < len(levels) <= column.of.most_levels:
            raise ValueError(
                f"column {column.name} of X has {len(levels)} values; for {column.kind!r} give "
                f"{'one or two' if levels else 'at least one'}, or choose another kind"
            )
        return replace(column, levels=levels)
    if np.isnan(checked(column, values)).all():
        raise ValueError(f"column {column.name} of X has no value; leave it out by columns=[('drop', [...])]")
    return column


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
        far = np.abs(values - shift) > FAR * spread
        far = far if far.any() else values == code_of(observed)
        if far.any():
            warn_of_far(column, values, np.flatnonzero(far), kept)
        if not np.isfinite(spread):
            shift, spread = observed.mean(), observed.std()
        varies = spread**2 > round_off(shift**2, np.float64)
        scale = 2.0 ** np.round(np.log2(spread)) if varies else max(1.0, abs(shift))
        rounding = float(rounding_steps(observed[:, None])[0]) ** 2 / 12.0
        return cls(shift, float(scale), float(np.clip(rounding, LEAST_ROUNDING * scale**2, MOST_ROUNDING * scale**2)))


def code_of(values):
    """A repeated value that is farther from all other ones than these are from each other; NaN if there is none."""
    different, times = np.unique(values, return_counts=True)
    for code, count, rest in ((different[0], times[0], different[1:]), (different[-1], times[-1], different[:-1])):
        if count > 1 and len(rest) > MOST_CODED and np.abs(rest - code).min() > rest[-1] - rest[0]:
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
