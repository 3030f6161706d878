"""Bins of documents by date and by group."""

from collections import Counter
from collections.abc import Hashable
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from numbers import Real

import numpy as np

MOST_BINS, MOST_GROUPS = 60, 30
# Numbers that are read as years; larger numbers are seconds since 1970.
YEARS = range(1000, 3000)


def read_date(value):
    """Date of a value: a date, a year, seconds since 1970, ISO 8601 or an e-mail date; None if it is none of these."""
    if value is None or value != value:  # NaN and NaT differ from themselves
        return None
    if isinstance(value, date):  # includes datetime and pandas.Timestamp
        return date(value.year, value.month, value.day)
    if isinstance(value, np.datetime64):
        return read_date(value.astype("datetime64[D]").item())
    text = str(value).strip()
    iso = text.replace("/", "-")
    for reader in (
        lambda: date_of_number(float(value if isinstance(value, Real) else text)),
        lambda: datetime.fromisoformat(iso),
        lambda: datetime.fromisoformat(iso[:10]),
        lambda: datetime.fromisoformat(f"{iso[:7]}-01"),
        lambda: parsedate_to_datetime(text),
    ):
        try:
            found = reader()
        except (ValueError, TypeError, OverflowError, OSError, IndexError):
            continue
        if found is not None:
            return date(found.year, found.month, found.day)
    return None


def date_of_number(number):
    """Date of a year, of seconds since 1970, or of a number such as 20240131."""
    if number in YEARS:
        return date(int(number), 1, 1)
    if 1000_01_01 <= number <= 2999_12_31:
        return date(int(number) // 10000, int(number) // 100 % 100, int(number) % 100)
    return datetime.fromtimestamp(number, tz=UTC).date()


def bins_of_dates(values):
    """Bins of documents by days, months, years or decades, whichever gives some dozens of bins.

    Returns
    -------
    codes : ndarray of shape (n_documents,), int
        Bin of each document; -1 without a date.
    labels : list of str
        In order of time, including bins without documents.
    """
    read = cache(read_date)  # many documents have the same date
    days = [read(value) if isinstance(value, Hashable) else read_date(value) for value in values]
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
    """Bins of documents by group, largest first; the smallest of very many groups share one bin.

    Returns
    -------
    codes : ndarray of shape (n_documents,), int
        Bin of each document; -1 without a group.
    labels : list of str
    """
    names = ["" if value is None or value != value else str(value) for value in values]
    sizes = Counter(name for name in names if name)
    labels = [name for name, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))]
    rest = labels[MOST_GROUPS:]
    numbers = {name: i for i, name in enumerate(labels[:MOST_GROUPS])} | dict.fromkeys(rest, MOST_GROUPS)
    labels = labels[:MOST_GROUPS] + ([f"{len(rest)} other groups"] if rest else [])
    return np.array([numbers.get(name, -1) for name in names], dtype=int), labels
