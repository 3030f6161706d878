"""What files hold of fitted estimators: plain arrays, for which skops asks to trust the estimator's class alone."""

import numpy as np
import pytest
from estimator_cases import CASES, over
from fitted import PLAIN, assert_same_bits, few_epochs, leaves

from sparsemix.topics import WordPrior

pytestmark = few_epochs


@over(CASES)
def test_state_is_plain(case):
    params = {name: value for name, value in (("warm_start", True), ("random_state", 0)) if case.has(name)}
    state = case.fitted(**params).__getstate__()
    assert {type(leaf).__name__ for leaf in leaves(state) if not isinstance(leaf, (*PLAIN, WordPrior))} == set()
    arrays = [leaf for leaf in leaves(state) if isinstance(leaf, np.ndarray)]
    tables = [id(array) for array in arrays if array.ndim > 1]
    assert len(set(tables)) == len(tables)  # what two parts share is there once
    assert not any(array.dtype.hasobject for array in arrays)


@over(CASES)
def test_skops_needs_to_trust_only_the_class(case):
    io = pytest.importorskip("skops.io")
    est, rows = case.fitted(), case.data.rows
    if case.can("partial_fit"):
        est.partial_fit(rows[:20])
    saved = io.dumps(est)
    trusted = [f"{each.__module__}.{each.__name__}" for each in (type(est), type(vars(est).get("topic_word_prior")))]
    trusted = sorted(name for name in trusted if name.startswith("sparsemix"))
    assert io.get_untrusted_types(data=saved) == trusted
    twin = io.loads(saved, trusted=trusted)
    assert_same_bits(est, twin, rows)
    if case.can("partial_fit"):
        assert_same_bits(est.partial_fit(rows[20:]), twin.partial_fit(rows[20:]), rows)
