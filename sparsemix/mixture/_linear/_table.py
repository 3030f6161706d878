"""The columns of any table, converted once: arrays of numbers, or categories with a number for each row."""

from dataclasses import dataclass
from datetime import date, timedelta
from numbers import Number

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from sparsemix._estimator.input import forms


@dataclass(frozen=True)
class Categories:
    """A column of other values than numbers, as plain values and their number in each row, -1 for a missing value.

    ``declared`` says whether the type of the column lists the levels, ``are_dates`` whether those are dates or
    durations.
    """

    levels: list
    codes: np.ndarray  # (N,)
    declared: bool = False
    are_dates: bool = False

    @classmethod
    def of(cls, values):
        """Levels in the order of appearance; a number is another level than the text that spells it."""
        try:
            different = dict.fromkeys(values)
        except TypeError:  # of lists
            raise forms.stacking("a column of X") from None
        levels = [value for value in different if not missing(value)]
        numbers = dict.fromkeys(different, -1) | {value: number for number, value in enumerate(levels)}
        codes = np.fromiter(map(numbers.__getitem__, values), dtype=np.intp, count=len(values))
        dates = any(isinstance(value, date | timedelta) for value in levels)
        return cls([plain(value) for value in levels], codes, are_dates=dates)

    def __len__(self):
        return len(self.codes)

    @property
    def observed(self):
        """Levels that rows have, in the order of levels."""
        return [self.levels[code] for code in np.unique(self.codes[self.codes >= 0])]


def levelled(values):
    """Any column as Categories; those of numbers in increasing order."""
    if isinstance(values, Categories):
        return values
    present = values == values
    levels, numbers = np.unique(values[present], return_inverse=True)
    levels = levels.astype(str) if values.dtype.kind in "mM" else levels
    codes = np.full(len(values), -1)
    codes[present] = numbers
    return Categories([plain(level) for level in levels], codes)


def columns_of(estimator, X, reset):
    """Labels and values of the columns of any table: arrays of numbers or dates, and Categories."""
    if forms.is_sparse(X):
        return forms.table_of(X, accept_sparse=False, estimator=estimator)  # which refuses it
    forms.check_container(X)
    frame = forms.is_frame(X)
    if not frame:
        X = as_array(X)
        forms.check_axes(X)
    check_array(np.broadcast_to(0.0, X.shape), dtype=None, estimator=estimator, input_name="X")
    validate_data(estimator, forms.without_index(X), reset=reset, skip_check_array=True)
    if frame:
        return [(label, values_of(column)) for label, column in forms.columns_of(X)]
    return [(j, unboxed(X[:, j])) for j in range(X.shape[1])]


def as_array(X):
    """An array of numbers, or of objects if some entries are no numbers."""
    array = forms.converted(X, "X")
    if np.ma.isMaskedArray(X) or array.dtype.kind not in "OSUmM":
        return forms.array_numbers(X, "X")
    return np.array(X, dtype=object) if array.dtype.kind in "US" and not isinstance(X, np.ndarray) else array


def values_of(column):
    """Values of a column of a data frame."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    if hasattr(column, "cat") and hasattr(dtype, "categories") and hasattr(column.cat, "codes"):  # of pandas
        return Categories([plain(level) for level in dtype.categories], column.cat.codes.to_numpy(), declared=True)
    if not str(dtype).lower().startswith(("categorical", "enum", "dictionary")):
        return unboxed(forms.column_numbers(column))
    found = Categories.of(column.to_list() if hasattr(column, "to_list") else column.to_pylist())
    levels = list(getattr(dtype, "categories", ())) or found.levels
    codes = np.array([levels.index(level) for level in found.levels] + [-1])[found.codes]
    return Categories(levels, codes, declared=True)


def unboxed(values):
    """Values of one type: objects that are all numbers as an array of numbers, other objects as Categories."""
    values = np.asarray(values)
    if values.dtype.kind not in "OSU":
        return values
    found = Categories.of(values.tolist())
    if not {int, float}.issuperset(map(type, found.levels)):
        return found
    try:
        return np.array([*found.levels, np.nan], dtype=np.float64)[found.codes]
    except OverflowError:  # of a whole number that float64 does not hold
        return found


def missing(value):
    """Whether a value is None, NaN, or another one that differs from itself."""
    if isinstance(value, str):
        return False
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA
        return True


def plain(value):
    """A value as a string or a number of Python, a whole one as int."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | bool | int | complex):
        return value
    if not isinstance(value, Number):
        return str(value)
    value = float(value)
    return int(value) if value.is_integer() else value
