"""States of which a part is lost or is something else: refused on loading, or by a reading, in one sentence.

What is pickled is damaged in its numbers, names and shapes at random; no damage ends the process or is an error of
another kind.
"""

import io
import pickle
import random

import numpy as np
import pytest
from estimator_cases import FIRST, over
from fitted import few_epochs, said

pytestmark = [few_epochs, pytest.mark.filterwarnings("ignore:.*was pickled by sparsemix")]
TRIALS = 40


def places(value, at=()):
    """Ways to all parts of dicts and lists."""
    for name in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*at, name)
        yield from places(value[name], (*at, name))


def damage(rng, state):
    """Lose, replace or change one part of a state; the way to it, to repeat it."""
    place, kind = rng.choice(list(places(state))), rng.choice(["lost", "None", "text", "shape", "negative", "large"])
    for name in place[:-1]:
        state = state[name]
    value = state[place[-1]]
    if kind == "lost":
        del state[place[-1]]
    elif kind in ("None", "text"):
        state[place[-1]] = None if kind == "None" else "damaged"
    elif isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        flat = value.ravel()
        state[place[-1]] = {"shape": flat[:-1].copy(), "negative": -1 - value, "large": np.append(flat, flat)}[kind]
    elif isinstance(value, (int, float)):
        state[place[-1]] = {"shape": value + 1, "negative": -1 - value, "large": 10**6}[kind]
    return place, kind


@over(FIRST)
def test_damage_is_named(case):
    est = case.fitted()
    if case.can("partial_fit"):
        est.partial_fit(case.data.rows)
    rng, saved = random.Random(0), pickle.dumps(est.__getstate__())
    for _ in range(TRIALS):
        state, twin = pickle.loads(saved), case.make()
        damaged = damage(rng, state)
        try:
            twin.__setstate__(state)
            said(twin, case.data.rows)
            if case.can("partial_fit"):
                twin.partial_fit(case.data.rows)
        except (ValueError, TypeError, RuntimeWarning):  # numbers that are too large or small for a formula
            pass
        except (AttributeError, LookupError) as error:
            raise AssertionError(f"{damaged}: {error!r}") from error


@over(FIRST)
@pytest.mark.parametrize("other", [None, "text", {}, []], ids=repr)
def test_fitted_state_of_another_kind_is_refused(case, other):
    state = case.fitted().__getstate__() | {"_fitted": other}
    with pytest.raises(ValueError, match=r"damaged or from another version .*; save the model again"):
        case.make().__setstate__(state)


@over(FIRST)
def test_an_estimator_that_was_never_fitted_is_no_damage(case):
    twin = pickle.load(io.BytesIO(pickle.dumps(case.make())))
    assert repr(twin) == repr(case.make())
