"""Every parameter that is a number, at the ends of what numbers hold, in every setting: finite, or a clear error."""

import numbers
import zlib

import numpy as np
import pytest
from estimator_cases import CASES
from fuzz_estimators import attempt, look, quiet

from sparsemix._compat import Interval

VALUES = 1e-300, 1e-40, 1e39, 1e300  # of which single precision holds none
PAIRS = 60  # of each setting; all of them, two hundred thousand, take a quarter of an hour


def takes_numbers(constraints):
    """Whether these are of a parameter that may be any number between two."""
    return any(isinstance(one, Interval) and one.type is numbers.Real for one in constraints)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_parameter_at_the_ends_of_what_numbers_hold(case):
    rows, n_tried = case.data.rows[:60], 0
    constraints = type(case.estimator)._parameter_constraints
    for name in sorted(case.estimator.get_params(deep=False)):
        if not takes_numbers(constraints[name]):
            continue
        for value in VALUES:
            for dtype in [None] if case.data.kind == "words" else [np.float64, np.float32]:
                X = rows if dtype is None else rows.astype(dtype)
                est = case.make(**{name: value})
                if case.has("max_iter"):
                    est.set_params(max_iter=2)
                with quiet():
                    n_tried += 1
                    if attempt(est.fit, X) is None:
                        look(est, X)
    assert n_tried


def ends_of(constraints):
    """The least and the largest number that are taken, 1e300 for none, and two large and small ones between them."""
    for one in constraints:
        if isinstance(one, Interval) and one.type is numbers.Real:
            least = one.left if one.closed in ("left", "both") else max(one.left, 1e-300)
            most = 1e300 if one.right is None else one.right
            if one.closed in ("left", "neither"):
                most = np.nextafter(most, 0.0)
            return [least, most, *(value for value in (1e-30, 1e15) if least < value < most)]
    return []


def rows_at_the_ends(case):
    """Rows as they are, as large and as small as they may be, and all the same."""
    rows = case.data.rows[:40]
    if case.data.kind == "words":
        return [rows]
    if case.data.kind in ("counts", "flags"):
        return [rows, rows.astype(np.float32)]
    rows = np.asarray(rows, dtype=np.float64)
    unit = rows / np.abs(rows).max()
    same, single = np.repeat(rows[:1], 40, axis=0), [(scale * unit).astype(np.float32) for scale in (1e16, 2e-17, 1.0)]
    return [rows, 9e69 * unit, 2e-70 * unit, same, *single]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_two_parameters_and_the_rows_at_their_ends(case):
    rng = np.random.default_rng(zlib.crc32(repr(case).encode()))
    constraints = type(case.estimator)._parameter_constraints
    names = sorted(case.estimator.get_params(deep=False))
    ends = {name: ends_of(constraints[name]) for name in names if name in constraints}
    names, data = [name for name in ends if ends[name]], rows_at_the_ends(case)
    weights = None, np.full(40, 1e26), np.full(40, 1e-29), 10.0 ** np.linspace(-200, 26, 40)
    n_good = 0
    for _ in range(PAIRS):
        chosen = rng.choice(names, min(2, len(names)), replace=False)
        est = case.make(**{name: float(rng.choice(ends[name])) for name in chosen})
        if case.has("max_iter"):
            est.set_params(max_iter=2)
        X, weight = data[rng.integers(len(data))], weights[rng.integers(4)]
        weight = None if case.data.kind == "words" else weight
        stream = hasattr(est, "partial_fit") and rng.random() < 0.7
        with quiet():
            if attempt(est.partial_fit if stream else est.fit, X, weight) is None:
                if stream:
                    attempt(est.partial_fit, X[:10], None if weight is None else weight[:10])
                look(est, X)
                n_good += 1
    assert n_good
