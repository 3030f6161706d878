"""Reads the kinds of the columns of a table: those that are given, and those that the data show."""

import re
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from sparsemix.mixture._linear._columns import DROP, KINDS, Column, Columns
from sparsemix.mixture._linear._table import Categories, levelled

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
    if is_numbered(label, numbers, len(levels)):
        return None, "different whole numbers: identifiers, ranks or years"
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


def is_numbered(label, numbers, n_different):
    """Whether numbers are identifiers: whole and different, and without gaps or named so; or named "id".

    Measurements that are all different leave gaps. A few repetitions of a named one are rows of the same case.
    """
    if len(numbers) < NUMBERED or (numbers % 1.0).any():
        return False
    if n_different == len(numbers) and numbers.max() - numbers.min() < len(numbers):
        return True
    if not isinstance(label, str) or IDENTIFIER.search(label) is None:
        return False
    return label.lower() == "id" or n_different >= DIFFERENT * len(numbers)


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
    """A column with its levels; raises for numbers of levels that its kind does not have."""
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
    return column
