"""Top-L responsibilities: the best ones, on exactly L entries, in the same order on every machine."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsemix._kernels.vectors import _topl

DTYPES = [np.float32, np.float64]
LEVELS = [-np.inf, -1e4, -1.0, 0.0, 0.5, 1e4]
# The kernel changes its ways at 16 and 32 components, at L = 16 and at L = 32.
SIZES = [*range(1, 71), 127, 128, 400, 401]


def top_l(weights, n_nonzero, first_row=0):
    weights = np.ascontiguousarray(weights)
    indices = np.full((len(weights), n_nonzero), -7, dtype=np.int32)
    values, log_z = np.full((len(weights), n_nonzero), np.nan), np.full(len(weights), np.nan)
    _topl.top_l_responsibilities(weights, indices, values, log_z, first_row + np.arange(len(weights)))
    return indices, values, log_z


def assert_equals_twin(weights, n_nonzero):
    indices, values, log_z = top_l(weights, n_nonzero)
    expected = reference.top_l(weights, n_nonzero)
    np.testing.assert_array_equal(indices, expected[0])
    # exponentials and their sum are double whatever the weights: a few units in the last place each
    np.testing.assert_allclose(values, expected[1], rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(log_z, expected[2], rtol=1e-13, atol=1e-13)


def levels(n_components):
    """Numbers of non-zeros on both sides of every change of method."""
    return sorted({1, 2, 3, 4, 8, 15, 16, 17, 31, 32, 33, 40, n_components // 2 + 1, n_components - 1, n_components})


@pytest.mark.parametrize("n_components", range(1, 9))
def test_value_is_the_best_over_all_supports(n_components):
    weights = np.random.default_rng(n_components).normal(scale=3, size=(20, n_components))
    for n_nonzero in range(1, n_components + 1):
        indices, values, log_z = top_l(weights, n_nonzero)
        resp = reference.dense(indices, values, n_components)
        for n, row in enumerate(weights):
            best = reference.best_value(row, n_nonzero)
            np.testing.assert_allclose(log_z[n], best, rtol=0, atol=1e-12)
            np.testing.assert_allclose(resp[n] @ row + reference.entropy(resp[n : n + 1]), best, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", SIZES)
def test_equals_sorting(n_components, dtype):
    rng = np.random.default_rng(n_components)
    weights = rng.normal(scale=4, size=(6, n_components)).astype(dtype)
    weights[4] = np.sort(weights[4])
    weights[5] = np.sort(weights[5])[::-1]
    for n_nonzero in levels(n_components):
        if 1 <= n_nonzero <= n_components:
            assert_equals_twin(weights, n_nonzero)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", SIZES)
def test_lower_index_wins_ties(n_components, dtype):
    weights = np.random.default_rng(n_components).integers(0, 3, size=(8, n_components)).astype(dtype)
    weights[0] = 1.5
    for n_nonzero in levels(n_components):
        if 1 <= n_nonzero <= n_components:
            assert_equals_twin(weights, n_nonzero)


@pytest.mark.parametrize("n_nonzero", [1, 3, 16, 17, 33, 70])
def test_equal_weights_give_the_first_components(n_nonzero):
    indices, values, log_z = top_l(np.full((2, 70), -2.5), n_nonzero)
    np.testing.assert_array_equal(indices, np.tile(np.arange(n_nonzero), (2, 1)))
    np.testing.assert_allclose(values, 1.0 / n_nonzero, rtol=1e-15)
    np.testing.assert_allclose(log_z, -2.5 + np.log(n_nonzero), rtol=1e-14)


@pytest.mark.parametrize("n_components", [1, 5, 40])
def test_all_components_are_the_softmax(n_components):
    weights = np.random.default_rng(0).normal(scale=5, size=(30, n_components))
    indices, values, _ = top_l(weights, n_components)
    np.testing.assert_array_equal(indices, np.tile(np.arange(n_components), (30, 1)))
    np.testing.assert_allclose(values, reference.softmax(weights), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [1, 7, 33, 64, 400])
def test_one_component_is_the_largest_exactly(n_components, dtype):
    weights = np.random.default_rng(1).normal(size=(40, n_components)).astype(dtype)
    indices, values, log_z = top_l(weights, 1)
    np.testing.assert_array_equal(indices[:, 0], weights.argmax(axis=1))
    assert (values == 1.0).all()
    np.testing.assert_array_equal(log_z, weights.max(axis=1))


@pytest.mark.slow
@given(
    rows=st.lists(st.lists(st.sampled_from(LEVELS), min_size=45, max_size=45), min_size=1),
    n_components=st.integers(1, 45),
    n_nonzero=st.integers(1, 45),
)
@settings(max_examples=150, deadline=None, database=None, derandomize=True)
def test_few_distinct_weights_equal_sorting(rows, n_components, n_nonzero):
    weights = np.array(rows)[:, :n_components]
    n_nonzero = min(n_nonzero, n_components)
    weights = weights[np.isfinite(weights).any(axis=1)]
    if len(weights):
        assert_equals_twin(weights, n_nonzero)


@pytest.mark.parametrize("n_nonzero", [1, 2, 5, 20])
def test_adding_a_constant_changes_nothing(n_nonzero):
    weights = np.random.default_rng(2).integers(-40, 40, size=(25, 60)) / 8.0  # eighths: sums are exact
    indices, values, log_z = top_l(weights, n_nonzero)
    for constant in (-4096.0, 0.125, 1e6):
        moved = top_l(weights + constant, n_nonzero)
        np.testing.assert_array_equal(moved[0], indices)
        np.testing.assert_allclose(moved[1], values, rtol=0, atol=1e-12)
        np.testing.assert_allclose(moved[2] - constant, log_z, rtol=0, atol=1e-15 * abs(constant) + 1e-12)


@pytest.mark.parametrize("n_nonzero", [1, 2, 5, 20])
def test_permuting_components_permutes_the_answer(n_nonzero):
    rng = np.random.default_rng(3)
    weights = rng.normal(size=(25, 60))
    order = rng.permutation(60)
    expected = reference.dense(*top_l(weights, n_nonzero)[:2], 60)
    permuted = reference.dense(*top_l(weights[:, order], n_nonzero)[:2], 60)
    np.testing.assert_allclose(permuted, expected[:, order], rtol=0, atol=1e-12)


def test_value_rises_with_the_number_of_non_zeros():
    weights = np.random.default_rng(4).normal(size=(25, 60))
    values = np.array([top_l(weights, n_nonzero)[2] for n_nonzero in range(1, 61)])
    assert (np.diff(values, axis=0) >= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 3, 16, 17, 50])
def test_rows_sum_to_one_for_extreme_weights(n_nonzero, dtype):
    rng = np.random.default_rng(5)
    weights = (rng.normal(size=(30, 50)) + rng.choice([-1e4, 0.0, 1e4], size=(30, 50))).astype(dtype)
    weights[0], weights[1] = 1e4, -1e4
    indices, values, log_z = top_l(weights, n_nonzero)
    np.testing.assert_allclose(values.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert np.isfinite(log_z).all()
    assert all(len(set(row)) == n_nonzero for row in indices)
    assert_equals_twin(weights, n_nonzero)


@pytest.mark.parametrize("n_nonzero", [1, 2, 5, 16, 17, 40])
def test_minus_infinity_gets_nothing(n_nonzero):
    rng = np.random.default_rng(6)
    weights = rng.normal(size=(40, 40))
    for n in range(40):
        weights[n, rng.permutation(40)[: 39 - n]] = -np.inf  # n + 1 finite weights
    indices, values, _ = top_l(weights, n_nonzero)
    finite = np.isfinite(np.take_along_axis(weights, indices.astype(np.intp), axis=1))
    np.testing.assert_array_equal(values > 0, finite)
    np.testing.assert_array_equal(finite.sum(axis=1), np.minimum(np.arange(1, 41), n_nonzero))
    assert_equals_twin(weights, n_nonzero)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 4, 16, 17, 33, 41])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_raises_wherever_it_stands(bad, n_nonzero, dtype):
    for position in range(41):
        weights = np.random.default_rng(position).normal(size=(3, 41)).astype(dtype)
        weights[1, position] = bad
        with pytest.raises(ValueError, match="row 101 hold NaN or"):
            top_l(weights, n_nonzero, first_row=100)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n_components", [1, 2, 16, 31, 32, 48, 400])
def test_several_not_finite_raise(bad, n_components):
    for count in {1, min(15, n_components), min(16, n_components), n_components}:
        for others in (-1.0, -np.inf):
            weights = np.full((1, n_components), others)
            weights[0, :count] = bad
            with pytest.raises(ValueError, match="row 0 hold NaN or"):
                top_l(weights, 1)
            with pytest.raises(ValueError, match="row 0 hold NaN or"):
                top_l(weights[:, ::-1], min(16, n_components))


@pytest.mark.parametrize("n_nonzero", [1, 2, 16, 17, 50])
def test_row_of_minus_infinity_raises(n_nonzero):
    weights = np.zeros((5, 50))
    weights[3] = -np.inf
    with pytest.raises(ValueError, match="every weight of row 13 is -inf"):
        top_l(weights, n_nonzero, first_row=10)


@pytest.mark.parametrize("n_nonzero", [0, 4])
def test_impossible_number_of_non_zeros_raises(n_nonzero):
    with pytest.raises(ValueError, match=f"cannot keep {n_nonzero} of 3 weights"):
        top_l(np.zeros((2, 3)), n_nonzero)


@pytest.mark.parametrize(("rows", "wide", "longer"), [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_wrong_shapes_raise(rows, wide, longer):
    with pytest.raises(ValueError, match="indices and values"):
        _topl.top_l_responsibilities(
            np.zeros((4, 5)), np.zeros((4 + rows, 2), dtype=np.int32), np.zeros((4, 2 + wide)), np.zeros(4 + longer)
        )


def test_no_rows():
    indices, _, _ = top_l(np.zeros((0, 5)), 2)
    assert len(indices) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_reads_read_only_weights(dtype):
    weights = np.random.default_rng(7).normal(size=(4, 40)).astype(dtype)
    weights.flags.writeable = False
    assert_equals_twin(weights, 3)
