"""Every parameter that is a number, at the ends of what numbers hold, in every setting: finite, or a clear error."""

import numbers

import numpy as np
import pytest
from estimator_cases import CASES
from fuzz_estimators import attempt, look, quiet

from sparsemix._compat import Interval

VALUES = 1e-300, 1e-40, 1e39, 1e300  # of which single precision holds none


def takes_numbers(constraints):
    """Whether these are of a parameter that may be any number between two."""
    return any(isinstance(one, Interval) and one.type is numbers.Real for one in constraints)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_parameter_at_the_ends_of_what_numbers_hold(case):
    rows, n_good = case.data.rows[:60], 0
    constraints = type(case.estimator)._parameter_constraints
    for name in sorted(case.estimator.get_params()):
        if not takes_numbers(constraints[name]):
            continue
        for value in VALUES:
            for dtype in [None] if case.data.kind == "words" else [np.float64, np.float32]:
                X = rows if dtype is None else rows.astype(dtype)
                est = case.make(**{name: value})
                if case.has("max_iter"):
                    est.set_params(max_iter=2)
                with quiet():
                    if attempt(est.fit, X) is None:
                        look(est, X)
                        n_good += 1
    assert n_good
