"""Columns of covariates as numbers or categories: dates become numbers of years, and durations numbers of days."""

import re
from datetime import date, datetime
from decimal import Decimal
from numbers import Real

import numpy as np

# A text of ISO 8601 from the month on: a text of four digits alone may be any code. The time zone is left out.
ISO = re.compile(r"(\d{4}-\d\d(?:-\d\d)?)|(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|[+-]\d\d:?\d\d)?")


def power_of_two(sizes):
    """The power of two at or below each number, one for zero: division by it changes no digit."""
    return np.where(sizes > 0, np.ldexp(1.0, np.frexp(sizes)[1] - 1), 1.0)


def years_of(dates):
    """Dates as numbers of years, 2019.5 in the middle of 2019; NaN for a missing date."""
    dates = np.asarray(dates, dtype="datetime64[us]")
    years = dates.astype("datetime64[Y]")
    start, end = (moment.astype(dates.dtype) for moment in (years, years + 1))
    return 1970 + years.astype(np.int64) + (dates - start) / (end - start)


def as_numbers(column):
    """A column of pandas without missing values: numbers of any kind, dates as years, durations as days, or others."""
    if getattr(column.dtype, "byteorder", "=") not in "=|":  # pandas takes the machine's only
        column = column.astype(column.dtype.newbyteorder("="))
    if str(column.dtype).startswith("period"):
        column = column.dt.to_timestamp()
    is_arrow = "[pyarrow]" in str(column.dtype)  # its values are those of Python
    if column.dtype.kind == "M" and not is_arrow:
        return years_of(column.dt.tz_localize(None).to_numpy("datetime64[us]"))
    if column.dtype.kind == "m":
        return column.to_numpy("timedelta64[us]") / np.timedelta64(1, "D")
    if column.dtype.kind not in "OM" or hasattr(column, "cat"):
        return column
    values = column.tolist()
    if all(isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in values):
        numbers = np.array(values)
        return numbers.astype(np.float64) if numbers.dtype.kind == "O" else numbers
    moments = []
    for value in values:
        if (moment := moment_of(value)) is None:
            return column
        moments.append(moment)
    return years_of(moments)


def moment_of(value):
    """A date or a text of ISO 8601 as datetime64; None for another value."""
    if isinstance(value, str):
        found = ISO.fullmatch(value.strip())
        try:
            return found and np.datetime64(found[1] or found[2], "us")
        except ValueError:  # such as month 13
            return None
    if isinstance(value, date | np.datetime64):
        return np.datetime64(value.replace(tzinfo=None) if isinstance(value, datetime) else value, "us")
    return None
