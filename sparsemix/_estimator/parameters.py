"""Constructor parameters and arguments of functions as Python's own numbers.

Users give numbers of any type: Python's, NumPy's of any width, arrays without dimensions. NumPy's small integers
overflow and its booleans do not add up, so arithmetic on them would depend on the type that was given. Learning and
prediction read parameters from ``estimator._params`` only; the attributes themselves keep what the user gave.
"""

import inspect
import numbers
from functools import lru_cache, wraps
from typing import cast

import numpy as np

from sparsemix._compat import InvalidParameterError, validate_parameter_constraints
from sparsemix._typing import Method

# Types that need no conversion: nearly all parameters, and a quick test saves time for streams of single rows.
PLAIN = frozenset((bool, int, float, str, type(None)))


def plain(value):
    """A number or boolean as Python's bool, int or float; a tuple of such values; anything else unchanged."""
    if type(value) in PLAIN:
        return value
    if type(value) is tuple:
        return tuple(map(plain, value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return value


def plain_arguments(function: Method) -> Method:
    """Decorator: the function receives numbers of any type, such as NumPy's, as Python's own.

    Parameters
    ----------
    function : callable

    Returns
    -------
    function : callable
        With the same signature.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.extend import plain_arguments
    >>> @plain_arguments
    ... def kind(number):
    ...     return type(number).__name__
    >>> kind(np.int8(3)), kind(np.array(0.5)), kind([3])
    ('int', 'float', 'list')
    """

    @wraps(function)
    def call(*args, **kwargs):
        return function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})

    return cast(Method, call)


# Constraints that booleans fulfil. Python counts them as whole numbers, so ranges alone would let them pass.
TAKE_BOOLEANS = ("boolean", "verbose", "random_state")
# No count is larger, and sums of a few such numbers are still numbers of 64 bits.
LARGEST_INTEGER = 1 << 60


class Parameters:
    """Read-only view of an estimator's constructor parameters, converted by ``plain``.

    A parameter needs an entry in ``_parameter_constraints``. The estimator's ``_fixed_params``, if it has any, hold
    what shared code reads instead of parameters that this estimator does not have.

    Parameters
    ----------
    estimator : estimator
    changes : dict, optional
        Values in place of the estimator's.
    """

    __slots__ = ("_changes", "_estimator")

    def __init__(self, estimator, changes=None):
        self._estimator, self._changes = estimator, changes or {}

    def changed(self, **changes):
        """The same parameters but for these values."""
        return Parameters(self._estimator, self._changes | changes)

    @property
    def feature_names_in_(self):
        """Names of the columns that a fit reads, for messages; None if they have none."""
        return getattr(self._estimator, "feature_names_in_", None)

    def __getattr__(self, name):
        if name.startswith("_"):  # copy and pickle look these up before __init__
            raise AttributeError(name)
        if name in self._changes:
            return self._changes[name]
        cls = type(self._estimator)
        if name in cls._parameter_constraints:
            return plain(getattr(self._estimator, name))
        if name in getattr(cls, "_fixed_params", ()):
            return cls._fixed_params[name]
        raise AttributeError(f"{cls.__name__} has no parameter {name!r}")


def check_parameters(estimator):
    """Check every parameter against its constraint, after conversion: the same values that ``Parameters`` returns."""
    converted = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    types = tuple(tuple(map(type, each)) if type(each) is tuple else type(each) for each in converted.values())
    known = all(kind in PLAIN or (type(kind) is tuple and PLAIN.issuperset(kind)) for kind in types)
    check = check_values if known else check_values.__wrapped__
    check(type(estimator), tuple(converted.items()), types)
    for switch, by_value in getattr(type(estimator), "_unread", {}).items():
        for name in by_value.get(converted[switch], ()):
            default = inspect.signature(type(estimator)).parameters[name].default
            if converted[name] is not default and not np.array_equal(converted[name], default):
                raise ValueError(
                    f"{name} has no effect with {switch}={converted[switch]!r}; leave {name} at {default!r}, or choose "
                    f"another {switch}"
                )


@lru_cache  # the check of constraints costs as much as to learn one row
def check_values(cls, items, types):  # noqa: ARG001 - 1, 1.0 and True are equal, but are not all valid
    """Check converted parameters of an estimator of this class."""
    converted, constraints = dict(items), cls._parameter_constraints
    validate_parameter_constraints(constraints, converted, caller_name=cls.__name__)
    for name, value in converted.items():
        if type(value) is bool and not any(each in constraints[name] for each in TAKE_BOOLEANS):
            raise InvalidParameterError(
                f"The {name!r} parameter of {cls.__name__} takes no boolean; got {value}, give a number"
            )
        for each in value if type(value) is tuple else (value,):
            if type(each) is int and abs(each) > LARGEST_INTEGER:
                raise ValueError(f"{name}={value} is too large; give at most {LARGEST_INTEGER}")
