"""Slices of time: which documents belong together, and how a slice is labelled."""

import re
from typing import NamedTuple

import numpy as np

from sparsemix._estimator.input.integers import is_integer

# Up to this number of distinct times, each is a slice. More make N_EQUAL slices of about equal size.
MOST_SLICES, N_EQUAL = 50, 20

# Texts that are in order of time if sorted: a year, a month, a day, and a time of the day.
ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?")


class Slices(NamedTuple):
    """The first and the last time of each slice, in order."""

    first: np.ndarray
    last: np.ndarray

    @property
    def labels(self):
        """The time of a slice, or a text of its first and last time."""
        if np.array_equal(self.first, self.last):
            return self.first
        first, last = texts(self.first), texts(self.last)
        return np.array([a if a == b else f"{a} to {b}" for a, b in zip(first, last, strict=True)])

    def find(self, times):
        """Slice of each time: the last one that begins at this time or before; the first one for earlier times."""
        try:
            return np.maximum(np.searchsorted(self.first, times, side="right") - 1, 0)
        except TypeError as error:
            raise refused(f"holds other values than the times of the slices, such as {self.first[0]!r}") from error


def texts(times):
    """Times as texts: dates end with the day if that tells them apart."""
    if times.dtype.kind != "M":
        return [f"{each}" for each in times]
    days = np.datetime_as_string(times, unit="D")
    return list(days if len(set(days)) == len(set(times.tolist())) else np.datetime_as_string(times, unit="s"))


def read_times(times, n_documents):
    """Times as an array that can be sorted, (n,)."""
    values = np.asarray(times)
    if values.shape != (n_documents,):
        raise ValueError(f"times has shape {values.shape}, but X has {n_documents} documents; give one time for each")
    missing = next((row for row, value in enumerate(values) if value is None or value != value), None)
    if missing is not None:
        raise ValueError(f"times has no value in row {missing}; leave out documents without a time")
    unsorted = next((row for row, each in enumerate(values) if isinstance(each, str) and not ISO.fullmatch(each)), None)
    if unsorted is not None:
        raise ValueError(
            f"times has {str(values[unsorted])!r} in row {unsorted}, and such texts may not sort by time; give "
            "numbers, dates such as 2024-01-31, or the result of pandas.to_datetime"
        )
    return values


def slices_of(times, n_slices=None):
    """``Slices`` of the times of documents."""
    if n_slices is not None and (not is_integer(n_slices) or n_slices < 1):
        raise ValueError(f"n_slices is {n_slices!r}; give a number of slices from 1 on, or None")
    try:
        values, sizes = np.unique(times, return_counts=True)
    except TypeError as error:
        raise refused("holds values of several kinds") from error
    if len(values) <= (n_slices or MOST_SLICES):
        return Slices(values, values)
    middles = np.cumsum(sizes) - sizes / 2  # documents of one time stay together
    codes = (middles * (n_slices or N_EQUAL) / len(times)).astype(int)
    new = np.flatnonzero(np.diff(codes)) + 1
    return Slices(values[np.append(0, new)], values[np.append(new - 1, len(values) - 1)])


def refused(why):
    """The error for times without an order."""
    return ValueError(f"times {why}; give numbers only, dates only, or texts only, such as 2024-01-31")
