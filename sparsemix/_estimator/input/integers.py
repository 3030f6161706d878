"""Whole numbers from arrays of any type, such as labels of rows: converted exactly, or refused."""

from numbers import Integral, Real

import numpy as np

from sparsemix._estimator.input.forms import check_container, column_numbers

LIMITS = np.iinfo(np.int64)


def integers_of(values, name, remedy, line="row"):
    """Whole numbers of an array-like as int64.

    Parameters
    ----------
    values : array-like
        Integers or booleans of any type, floats with whole values, Python's numbers, and series of pandas or polars.
    name, remedy : str
        Name of the argument, and what to give, for messages.
    line : str
        What an entry belongs to, for messages.

    Returns
    -------
    integers : ndarray of int64

    Raises
    ------
    ValueError
        For other types, and for an entry that is missing, has a fraction, or needs more than 64 bits.
    """
    if values is not None:
        check_container(values, name)
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        refuse(values, np.argwhere(np.ma.getmaskarray(values))[0], "masked", name, remedy, line)
    # Numbers of lists keep their own types: NumPy would round mixed ones to floats.
    mixed = isinstance(values, (list, tuple)) and len(set(map(type, values))) > 1
    array = np.asarray(column_numbers(values) if hasattr(values, "to_numpy") else values, object if mixed else None)
    if array.dtype.kind not in "biufO" and array.size:
        raise ValueError(f"{name} has the type {array.dtype}; {remedy}")
    whole = np.ones(array.shape, dtype=bool)
    if array.dtype.kind == "O":
        whole = np.array([is_integer(value) for value in array.flat], dtype=bool).reshape(array.shape)
    elif array.dtype.kind == "u":
        whole = array <= LIMITS.max
    elif array.dtype.kind == "f":  # the smallest number is a power of two, so both limits are exact
        array = array.astype(np.result_type(array, np.float64), copy=False)
        whole = (np.floor(array) == array) & (array >= LIMITS.min) & (array < -float(LIMITS.min))
    if not whole.all():
        refuse(array, np.argwhere(~whole)[0], "no whole number of 64 bits", name, remedy, line)
    return array.astype(np.int64)


def is_integer(value):
    """Whether a Python object is a whole number of 64 bits."""
    if isinstance(value, (Integral, np.bool_)):
        return LIMITS.min <= int(value) <= LIMITS.max
    return isinstance(value, Real) and value == value // 1 and LIMITS.min <= value <= LIMITS.max


def refuse(values, place, why, name, remedy, line):
    """Raise the error of an entry."""
    value, place = values[tuple(place)], " ".join(map(str, place))
    raise ValueError(f"{name} of {line} {place} is {str(value)[:40]}, which is {why}; {remedy}")
