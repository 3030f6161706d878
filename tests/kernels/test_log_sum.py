"""Logarithms of sums of exponentials, as scipy has them, at every instruction set."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sparsemix._kernels.vectors import _log_sum

pytestmark = pytest.mark.usefixtures("instruction_set")


def log_sums(weights):
    out = np.empty(len(weights))
    _log_sum.log_sum_exp(weights, out)
    return out


@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 4e-16), (np.float32, 3e-7)])
@pytest.mark.parametrize("spread", [0.0, 1.0, 60.0, 3000.0])
@pytest.mark.parametrize("n_components", [1, 2, 7, 8, 15, 16, 17, 33, 129, 1024, 1025, 20_000])
def test_as_scipy(n_components, spread, dtype, close):
    rng = np.random.default_rng(n_components)
    weights = (spread * rng.normal(size=(5, n_components)) - 200.0).astype(dtype)
    weights[1:][rng.random((4, n_components)) < 0.3] = -np.inf
    weights[4] = weights[0] + np.arange(n_components)  # the largest last
    expected = logsumexp(weights.astype(np.float64), axis=1)
    weights.flags.writeable = False
    np.testing.assert_allclose(log_sums(weights), expected, rtol=close, atol=20 * close)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_components", [1, 5, 16, 100])
def test_rows_without_a_finite_sum(n_components, dtype):
    weights = np.full((2, n_components), -np.inf, dtype)
    weights[1, -1] = np.inf
    np.testing.assert_array_equal(log_sums(weights), [-np.inf, np.inf])
    np.testing.assert_array_equal(log_sums(np.empty((2, 0), dtype)), [-np.inf, -np.inf])
    assert log_sums(weights[:0]).shape == (0,)


def test_sums_of_single_precision_are_added_in_double():
    weights = np.zeros((1, 1 << 22), np.float32)
    assert log_sums(weights)[0] == pytest.approx(np.log(1 << 22), abs=1e-12)


def test_output_of_another_length_is_refused():
    with pytest.raises(ValueError, match="out must be"):
        _log_sum.log_sum_exp(np.zeros((3, 2)), np.empty(2))
