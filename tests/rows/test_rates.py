"""Learning rates: they fall from one."""

import numpy as np
import pytest

from sparsemix._rows.rates import learning_rate


@pytest.mark.parametrize("decay", [0.0, 0.6, 1.0])
def test_learning_rate_is_at_most_one(decay):
    assert [learning_rate(step, decay, offset) for step, offset in ((0, 0.0), (0, 0.5), (1, 0.0))] == [1.0] * 3
    assert learning_rate(3, decay, 1.0) == 4.0**-decay


def test_learning_rate_falls_from_one():
    rates = [learning_rate(t, 0.6, 0.0) for t in range(1, 50)]
    assert rates[0] == 1.0
    assert (np.diff(rates) < 0).all()
    np.testing.assert_allclose(learning_rate(3, 0.6, 2.0), 5.0**-0.6, rtol=1e-15)
    assert learning_rate(1, 0.6, -0.5) == 1.0  # never above one
