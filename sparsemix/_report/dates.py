"""Dates of documents: each value is read alone, except for the order of day and month, which the whole column shows."""

import re
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from numbers import Real

import numpy as np

# Numbers that are read as years; larger numbers are seconds since 1970. Small numbers, such as 31.01, 5, days of a
# spreadsheet or 202401, are no seconds: these begin in 1973.
YEARS = range(1000, 3000)
LEAST_SECONDS = 1e8
# Two numbers and a year: 31.01.2020, 01/31/2020. Dots separate day, month and year in this order.
DAY_AND_MONTH = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\w./-])")
IN_WORDS = ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %Y", "%b %Y")
# Rows that a message names.
MOST_NAMED = 3


@dataclass(frozen=True)
class Dates:
    """Dates of documents.

    ``days`` has a date or None for each document. ``blank`` and ``unread`` are the rows without a value and those whose
    value is not read. ``ambiguous`` tells whether some are unread because day and month may be exchanged.
    """

    days: list
    blank: list
    unread: list
    ambiguous: bool

    def complaint(self, values):
        """What is not read, as part of a sentence: the number and the first rows, from 0; "" if all is read."""
        if not self.unread:
            return ""
        some = ", ".join(f"{str(values[row])[:40]!r} in row {row}" for row in self.unread[:MOST_NAMED])
        more = ", ..." if len(self.unread) > MOST_NAMED else ""
        why = ", of which some have day and month in an order that no date shows" if self.ambiguous else ""
        return f"{len(self.unread):,} of {len(self.days):,} dates are not read ({some}{more}){why}"


def read_dates(values, form=None):
    """Read dates of documents.

    Parameters
    ----------
    values : sequence
        Years, dates, seconds since 1970, and texts.
    form : str, default=None
        Format of the texts for ``datetime.strptime``. None reads ISO 8601, e-mail dates, names of months, and numbers
        of day, month and year. The column must show the order of 01/02/2020: another date has a number above 12 in one
        of both places, and no date has one in the other place.

    Returns
    -------
    dates : Dates
    """
    values = list(values)
    blank = [row for row, value in enumerate(values) if is_blank(value)]
    if form is None:
        found = {pair for value in values if (pair := day_and_month(value)) and pair[2] != "."}
        day_first, month_first = any(a > 12 for a, *_ in found), any(b > 12 for _, b, *_ in found)
        order = None if day_first == month_first else "day" if day_first else "month"

        def one(value):
            return read_date(value, order)
    else:

        def one(value):
            return read_form(value, form)

    read = cache(one)  # many documents have the same date
    days = [read(value) if isinstance(value, Hashable) else one(value) for value in values]
    empty = set(blank)
    unread = [row for row, day in enumerate(days) if day is None and row not in empty]
    ambiguous = form is None and any(
        (pair := day_and_month(values[row])) and max(pair[:2]) <= 12 for row in unread
    )
    return Dates(days, blank, unread, ambiguous)


def is_blank(value):
    """Whether a value is missing: None, NaN, NaT, pandas.NA, or a text without characters."""
    # pandas.NA has no truth value, and Arrow's scalars of nothing differ from None
    if value is None or type(value).__name__ == "NAType" or getattr(value, "is_valid", True) is False:
        return True
    return bool(value != value) or not str(value).strip()  # NaN and NaT differ from themselves


def day_and_month(value):
    """The first two numbers of a text such as 31.01.2020, their separator and the year; None for other values."""
    found = DAY_AND_MONTH.match(value.strip()) if isinstance(value, str) else None
    return (int(found[1]), int(found[3]), found[2], int(found[4])) if found else None


def read_date(value, order=None):
    """The date of a value; None if it is no date.

    ``order`` is "day" or "month", the first of them in texts such as 01/02/2020; None reads these if one number only
    can be the month.
    """
    if is_blank(value):
        return None
    if isinstance(value, date):  # includes datetime and pandas.Timestamp
        return date(value.year, value.month, value.day)
    if isinstance(value, np.datetime64):
        return read_date(value.astype("datetime64[D]").item())
    if pair := day_and_month(value):
        return date_of_pair(*pair, order)
    text = str(value).strip()
    iso = text.replace("/", "-")
    for reader in (
        lambda: date_of_number(float(value if isinstance(value, Real) else text)),
        lambda: datetime.fromisoformat(iso),
        lambda: datetime.fromisoformat(iso[:10]),
        lambda: datetime.fromisoformat(f"{iso[:7]}-01"),
        lambda: parsedate_to_datetime(text),
        *(lambda form=form: datetime.strptime(text, form) for form in IN_WORDS),
    ):
        try:
            found = reader()
        except (ValueError, TypeError, OverflowError, OSError, IndexError):
            continue
        if found is not None:
            return date(found.year, found.month, found.day)
    return None


def read_form(value, form):
    """The date of a value whose texts have a format of ``strptime``; None if it has not."""
    if not isinstance(value, str):
        return read_date(value)
    try:
        return datetime.strptime(value.strip(), form).date()
    except ValueError:
        return None


def date_of_pair(first, second, separator, year, order):
    """Date of two numbers and a year; None if their order is not known."""
    if separator == "." or order == "day" or first > 12 or first == second:
        day, month = first, second
    elif order == "month" or second > 12:
        day, month = second, first
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def date_of_number(number):
    """Date of a year, of seconds since 1970 from ``LEAST_SECONDS`` on, or of a number such as 20240131."""
    if number in YEARS:
        return date(int(number), 1, 1)
    if 1000_01_01 <= number <= 2999_12_31:
        return date(int(number) // 10000, int(number) // 100 % 100, int(number) % 100)
    if number < LEAST_SECONDS:
        raise ValueError("no date")
    return datetime.fromtimestamp(number, tz=UTC).date()


def days_of(values):
    """Dates for a function of Python: a date or None for each value. Warns of values that are not read."""
    values = list(values)
    dates = read_dates(values)
    if complaint := dates.complaint(values):
        warnings.warn(
            f"{complaint}; give dates, years or ISO 8601 texts such as 2024-01-31, for example by "
            "pandas.to_datetime(dates, format='%d/%m/%Y')",
            UserWarning,
            stacklevel=4,
        )
    return dates.days
