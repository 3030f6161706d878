"""Bins of documents by date and by group."""

from collections import Counter
from datetime import date

import numpy as np

from sparsemix._report.dates import is_blank

MOST_BINS, MOST_GROUPS = 60, 30
# The mean share of fewer documents is chance: with shares of 0 and 1 its standard error is up to 0.11.
FEW = 20


def bins_of_dates(days):
    """Bins of documents by days, months, years or decades, whichever gives some dozens of bins.

    Returns the bin of each document, -1 without a date, and labels in order of time, also of bins without documents.
    """
    known = [day for day in days if day is not None]
    if not known:
        return np.full(len(days), -1), []
    first, last = min(known), max(known)
    n_days = (last - first).days
    years_alone = all(day.month == day.day == 1 for day in known)
    if n_days < MOST_BINS and not years_alone:
        number, label = date.toordinal, lambda n: date.fromordinal(n).isoformat()
    elif n_days < 30 * MOST_BINS and not years_alone:
        number, label = (lambda day: 12 * day.year + day.month - 1), lambda n: f"{n // 12:04d}-{n % 12 + 1:02d}"
    elif last.year - first.year < MOST_BINS:
        number, label = (lambda day: day.year), str
    else:
        number, label = (lambda day: day.year // 10), lambda n: f"{10 * n}s"
    start = number(first)
    labels = [label(n) for n in range(start, number(last) + 1)]
    if len(labels) > 4 * MOST_BINS:  # outliers: a few documents are much older
        labels, start = labels[-4 * MOST_BINS :], number(last) + 1 - 4 * MOST_BINS
    codes = np.array([-1 if day is None else max(-1, number(day) - start) for day in days])
    return codes, labels


def bins_of_groups(values):
    """Bins of documents by group, -1 without one, and their labels, largest first; of very many, small ones are one."""
    names = ["" if is_blank(value) else str(value) for value in values]
    sizes = Counter(name for name in names if name)
    labels = [name for name, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))]
    rest = labels[MOST_GROUPS:]
    numbers = {name: i for i, name in enumerate(labels[:MOST_GROUPS])} | dict.fromkeys(rest, MOST_GROUPS)
    labels = labels[:MOST_GROUPS] + ([f"{len(rest)} other groups"] if rest else [])
    return np.array([numbers.get(name, -1) for name in names], dtype=int), labels
