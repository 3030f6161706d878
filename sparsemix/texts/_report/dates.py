"""Dates of documents: each value is read alone, except for the order of day and month, which the whole column shows."""

import re
import warnings
from collections import Counter
from collections.abc import Hashable
from contextlib import suppress
from datetime import date, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from sparsemix._warnings import warn_caller

YEARS = range(1000, 3000)
# Counts since 1970 are of these years. So many seconds around 1970 have no date: 0 and -1 are missing values, and
# 20240131 is a number of digits. A column of counts has one of LEAST_COUNT; 12345678 alone is the number of something.
COUNT_YEARS, NEAR_1970, LEAST_COUNT = range(1900, 2101), 3e7, 1e8
# Two numbers and a year: 31.01.2020, 01/31/2020. Dots separate day, month and year in this order.
DAY_AND_MONTH = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\w./-])")
# Only texts with the name of a month may be of another form than ISO 8601: parsers guess the order of numbers.
MONTH = re.compile("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", re.IGNORECASE)
YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
# Rows that a message names.
MOST_NAMED = 3
# What str() adds to a year in a column of floats or dates, and to a day in a column of moments.
NO_YEAR = re.compile(r"(?<=^\d{4})(\.0|-01-01)?([ T]00:00:00(\.0+)?)?$")
MIDNIGHT = re.compile(r"(?<=^\d{4}-\d\d-\d\d)[ T]00:00:00(\.0+)?$")
FAR_DATES = "dates far from the rest"


class Dates(NamedTuple):
    """A date or None for each document, the rows that are not read, and whether day and month may be exchanged."""

    days: list
    unread: list
    ambiguous: bool

    @property
    def none_read(self):
        """Whether there are values, and none is read."""
        return bool(self.unread) and not any(self.days)


def read_dates(values, form=None):
    """Read dates of documents: years, dates, texts, and numbers of one unit (``unit_of``).

    ``form`` is the format of the texts for ``datetime.strptime``. None reads ISO 8601, numbers of day, month and year,
    and, by pandas, texts with the name of a month and a year. The column must show the order of 01/02/2020: another
    date has a number above 12 in one of both places, and no date has one in the other place.
    """
    values = list(values)
    texts = [str(value).strip() for value in values]
    pairs = [pair for text in texts if (pair := DAY_AND_MONTH.match(text)) and pair[2] != "."]
    day_first, month_first = (any(int(pair[place]) > 12 for pair in pairs) for place in (1, 3))
    order = None if day_first == month_first else "day" if day_first else "month"
    unit = unit_of(text for value, text in zip(values, texts, strict=True) if not (form and isinstance(value, str)))
    read = cache(lambda value: read_date(value, order, form, unit))  # many documents have the same date
    days = [read(value if isinstance(value, Hashable) else text) for value, text in zip(values, texts, strict=True)]
    unread = [row for row, day in enumerate(days) if day is None and not is_blank(values[row])]
    found = (DAY_AND_MONTH.match(texts[row]) for row in unread if form is None)
    ambiguous = any(pair and max(int(pair[1]), int(pair[3])) <= 12 for pair in found)
    return Dates(days, unread, ambiguous)


def is_blank(value):
    """Whether a value is missing: None, NaN, NaT, pandas.NA, or a text without characters."""
    # pandas.NA has no truth value, and Arrow's scalars of nothing differ from None
    if value is None or type(value).__name__ == "NAType" or getattr(value, "is_valid", True) is False:
        return True
    return bool(value != value) or not str(value).strip()  # NaN and NaT differ from themselves


def read_date(value, order=None, form=None, unit=None):
    """The date of a value; None if it is no date.

    ``order`` is "day" or "month", the first of them in texts such as 01/02/2020; None reads these if one number only
    can be the month. ``form`` is the format of texts, and ``unit`` reads numbers.
    """
    if is_blank(value):
        return None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()
    if isinstance(value, date):  # includes datetime and pandas.Timestamp
        return date(value.year, value.month, value.day)
    text = str(value).strip()
    try:
        if form is not None and isinstance(value, str):
            return datetime.strptime(text, form).date()
        if pair := DAY_AND_MONTH.match(text):
            return date_of_pair(pair, order)
        number = number_of(text)
        return date_of_text(text) if number is None else unit and unit(number)
    except (ValueError, OverflowError):
        return None


def date_of_pair(pair, order):
    """Date of a match of ``DAY_AND_MONTH``; None if the order of its numbers is not known."""
    first, second, year = int(pair[1]), int(pair[3]), int(pair[4])
    if pair[2] == "." or order == "day" or first > 12 or first == second:
        return date(year, second, first)
    return date(year, first, second) if order == "month" or second > 12 else None


def number_of(text):
    """The number that a text is; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def date_of_year(number):
    """Date of a year; None for other numbers."""
    return date(int(number), 1, 1) if number in YEARS else None


def date_of_digits(number):
    """Date of a number such as 20240131; None for other numbers."""
    day = date.fromisoformat(str(int(number)))
    return day if number == int(number) and day.year in YEARS else None


def date_of_count(number, per_second):
    """Date of a count since 1970; None for counts of unlikely years."""
    day = date(1970, 1, 1) + timedelta(seconds=number / per_second)
    return day if day.year in COUNT_YEARS and abs(number) >= NEAR_1970 * per_second else None


def unit_of(texts):
    """The function that gives most numbers of a column a date: as years, digits or counts; None if none does."""
    numbers = Counter(number for text in texts if (number := number_of(text)) is not None)
    counts = [partial(date_of_count, per_second=unit) for unit in (1, 1e3, 1e6, 1e9)]
    units = [date_of_year, date_of_digits, *(counts if max(map(abs, numbers), default=0) >= LEAST_COUNT else [])]

    def n_read(unit):
        read = 0
        for number, n in numbers.items():
            with suppress(ValueError, OverflowError):
                read += n * (unit(number) is not None)
        return read

    best = max(units, key=n_read)  # the first of equal ones
    return best if n_read(best) else None


def date_of_text(text):
    """Date of a text of ISO 8601, of an e-mail, or with the name of a month and a year, as it was written."""
    if not MONTH.search(text):
        day = re.split("[ T]", text.replace("/", "-"))[0]
        return date.fromisoformat(f"{day}-01" if re.fullmatch(r"\d{4}-\d\d", day) else day)
    year = YEAR.search(text)  # parsers complete a text without a year, but e-mails before 2000 have two digits
    for whole in (text, f"{text} 00:00", f"1 {text} 00:00")[: 3 if year else 1]:
        with suppress(ValueError, TypeError, IndexError):
            return parsedate_to_datetime(whole).date()
    if not year:
        return None
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f'The date {text[:40]!r} needs pandas: pip install "sparsemix[texts]".') from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown time zones
        return pandas.to_datetime(text).date()


def days_of(values):
    """Dates for a function of Python: a date or None for each value. Warns of values that are not read."""
    values = list(values)
    dates = read_dates(values)
    if rows := dates.unread:
        some = ", ".join(f"{str(values[row])[:40]!r} in row {row}" for row in rows[:MOST_NAMED])
        more = ", ..." if len(rows) > MOST_NAMED else ""
        why = ", of which some have day and month in an order that no date shows" if dates.ambiguous else ""
        told = (
            f"{len(rows):,} of {len(values):,} dates are not read ({some}{more}){why}; give dates, years or ISO 8601 "
            "texts such as 2024-01-31, for example by pandas.to_datetime(dates, format='%d/%m/%Y')"
        )
        if dates.none_read:
            raise ValueError(f"dates has no date that can be read: {told}")
        warn_caller(told)
    return dates.days


def writer_of(values):
    """A function that writes a date of a column as text: a year if nine tenths are, and a day without midnight."""
    years = Counter(NO_YEAR.search(str(value).strip()) is not None for value in values if not is_blank(value))
    surplus = NO_YEAR if years[False] <= years.total() // 10 else MIDNIGHT
    return lambda value: "" if is_blank(value) else surplus.sub("", str(value).strip())


def far_dates(days, codes, names=None):
    """Number and examples of the dates that are in no bin; "" without any."""
    rows = [row for row, (day, code) in enumerate(zip(days, codes, strict=True)) if day is not None and code < 0]
    write = writer_of(days)
    some = ", ".join(f"{write(days[row])} of {row if names is None else names[row]}" for row in rows[:MOST_NAMED])
    more = ", ..." if len(rows) > MOST_NAMED else ""
    return f"{len(rows):,} ({some}{more}); they are in no period" if rows else ""
