"""Parameters at random, from what an estimator says that it takes."""

import numbers

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sparsemix._estimator.input.checks import Several

# What decides how long a fit takes.
MOST = {
    "n_components": 9, "max_iter": 3, "n_init": 2, "n_chains": 2, "n_restarts": 2,
    "max_components": 12, "window": 5, "n_sweeps": 3, "n_samples": 4, "verbose": 0,
    "thin": 3, "burn_in": 3,
    "n_shards": 4,
}  # fmt: skip
# Set by the case itself.
GIVEN = {"random_state", "n_jobs", "verbose", "max_iter", "validation_data"}
# So many of these are made, whatever comes of them: a number that is too large is no wrong value.
PASSES = {"n_init", "n_restarts", "n_chains", "thin", "burn_in"}
# Types of NumPy in which parameters are given too.
SCALARS = {
    bool: [np.bool_],
    int: [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64],
    float: [np.float32, np.float64],
}
WRONG = (-1, 0, 0.5, -0.5, float("nan"), float("inf"), "no such option", None, [], {}, 1 << 40, 1e300, True)


def draw_parameters(rng, constraints, defaults):
    """Some parameters away from their defaults, one in many of a wrong value; and how long a fit may be."""
    out = {name: int(rng.integers(1, MOST[name] + 1)) for name in ("n_components",) if name in defaults}
    names = sorted(set(constraints) & set(defaults) - GIVEN)
    for name in rng.choice(names, size=min(len(names), rng.integers(0, 6)), replace=False):
        choices = [value for kind in constraints[name] for value in values_of(rng, kind, name)]
        if choices:
            out[str(name)] = choices[rng.integers(len(choices))]
    if rng.random() < 0.05:
        name, value = str(names[rng.integers(len(names))]), WRONG[rng.integers(len(WRONG))]
        if name not in PASSES or value != 1 << 40:
            out[name] = value
    if "max_iter" in defaults:
        out["max_iter"] = int(rng.integers(0, MOST["max_iter"] + 1))
    out |= {"random_state": int(rng.integers(1000))}
    return {name: numpys(rng, value) if rng.random() < 0.1 else value for name, value in out.items()}


def numpys(rng, value):
    """The same as a number of NumPy, of a type that holds it."""
    fitting = [each for each in SCALARS.get(type(value), []) if holds(each, value)]
    return fitting[rng.integers(len(fitting))](value) if fitting else value


def holds(kind, value):
    """Whether a type of NumPy has this number."""
    if issubclass(kind, np.integer):
        return np.iinfo(kind).min <= value <= np.iinfo(kind).max
    with np.errstate(over="ignore"):
        return not issubclass(kind, np.floating) or float(kind(value)) == value


def values_of(rng, kind, name):
    """Values of one constraint: its ends, and some between them."""
    if kind is None:
        return [None]
    if kind == "boolean":
        return [True, False]
    if isinstance(kind, StrOptions):
        return sorted(kind.options)
    if isinstance(kind, Interval):
        return numbers_of(rng, kind, name)
    if isinstance(kind, Several) and name == "covariance_type":
        return [("low_rank", int(rng.integers(1, 5)))]
    return []  # fuzz_arrays.py


def numbers_of(rng, kind, name):
    """The ends of an interval where they belong to it, numbers near them, and ordinary ones."""
    low = -1e6 if kind.left is None else kind.left
    if kind.type is numbers.Integral:
        high = min(MOST.get(name, 50), np.inf if kind.right is None else kind.right)
        least = int(low) + (kind.closed in ("right", "neither"))
        return sorted({least, int(rng.integers(least, max(least, high) + 1)), max(least, int(high))})
    high = 1e6 if kind.right is None or np.isinf(kind.right) else kind.right
    ends = [low] * (kind.closed in ("left", "both")) + [high] * (kind.closed in ("right", "both"))
    inside = [low + (high - low) * float(rng.random()) * 10.0 ** -float(rng.integers(0, 12)) for _ in range(3)]
    return ends + [value for value in inside if value > low]
