"""Gaussian log densities, whitening factors and weighted sums: the compiled loops against plain NumPy."""

import numpy as np
import pytest
import reference
from row_cases import read_only
from table_cases import random_table, twin_and_error

from sparsemix._kernels.gaussians import _accumulate, _factor, _quadratic
from sparsemix._kernels.vectors import _simd

DTYPES = [np.float32, np.float64]
SHAPES = {"triangular": _quadratic.TRIANGULAR, "diagonal": _quadratic.DIAGONAL, "spherical": _quadratic.SPHERICAL}
# Register blocks take 4 rows of a triangle and 4 to 64 rows of data: sizes on both sides of all of them.
FEATURES = [*range(1, 13), 15, 16, 17, 31, 32, 33, 63, 64, 65, 70]


# -- log densities


def log_density(shape, x, factors, offsets, constants):
    out = np.full((len(x), len(constants)), np.nan, dtype=x.dtype)
    _quadratic.log_density(SHAPES[shape], x, factors, offsets, constants, out)
    return out


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_features", FEATURES)
def test_log_densities_equal_the_formula(n_features, shape, dtype):
    rng = np.random.default_rng(n_features)
    for n_rows in (1, 7, 64, 131):
        x = rng.normal(size=(n_rows, n_features)).astype(dtype)
        factors, matrices, offsets, constants = random_table(rng, shape, n_features, 5, dtype)
        expected, error = twin_and_error(shape, x, matrices, offsets, constants)
        out = log_density(shape, x, factors, offsets, constants)
        assert (np.abs(out - expected) <= error).all()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_features", [1, 3, 8, 13])
def test_row_does_not_depend_on_the_others(n_features, shape, dtype):
    rng = np.random.default_rng(n_features)
    x = rng.normal(size=(150, n_features)).astype(dtype)
    factors, _, offsets, constants = random_table(rng, shape, n_features, 6, dtype)
    together = log_density(shape, x, factors, offsets, constants)
    for start, stop in [(0, 1), (1, 2), (3, 70), (70, 135), (149, 150), (17, 150)]:
        part = log_density(shape, x[start:stop], factors, offsets, constants)
        np.testing.assert_array_equal(part, together[start:stop])
    order = rng.permutation(150)
    np.testing.assert_array_equal(log_density(shape, x[order], factors, offsets, constants), together[order])
    spoilt = x.copy()
    spoilt[::2] = np.nan
    np.testing.assert_array_equal(log_density(shape, spoilt, factors, offsets, constants)[1::2], together[1::2])


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_component_does_not_depend_on_the_others(shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(70, 6)).astype(dtype)
    factors, _, offsets, constants = random_table(rng, shape, 6, 4, dtype)
    together = log_density(shape, x, factors, offsets, constants)
    for k, factor in enumerate(factors.reshape(4, -1)):
        alone = log_density(shape, x, factor, offsets[k : k + 1], constants[k : k + 1])
        np.testing.assert_array_equal(alone[:, 0], together[:, k])


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_infinite_constant_stays(shape, dtype):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(37, 5)).astype(dtype)
    factors, _, offsets, constants = random_table(rng, shape, 5, 3, dtype)
    finite = log_density(shape, x, factors, offsets, constants)
    constants[1] = -np.inf
    out = log_density(shape, x, factors, offsets, constants)
    assert (out[:, 1] == -np.inf).all()
    np.testing.assert_array_equal(out[:, [0, 2]], finite[:, [0, 2]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_log_densities_of_read_only_arrays(shape, dtype):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(9, 4)).astype(dtype)
    factors, _, offsets, constants = random_table(rng, shape, 4, 3, dtype)
    expected = log_density(shape, x, factors, offsets, constants)
    out = log_density(shape, *read_only(x, factors, offsets, constants))
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_rows_and_no_components(shape):
    factors, _, offsets, constants = random_table(np.random.default_rng(3), shape, 4, 3, np.float64)
    assert log_density(shape, np.empty((0, 4)), factors, offsets, constants).shape == (0, 3)
    assert log_density(shape, np.ones((2, 4)), factors[:0], offsets[:0], constants[:0]).shape == (2, 0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wrong", ["factors", "components", "features", "rows", "columns"])
def test_log_densities_of_wrong_shapes_raise(shape, wrong):
    factors, _, offsets, constants = random_table(np.random.default_rng(4), shape, 4, 3, np.float64)
    x, out = np.zeros((5, 4)), np.zeros((5, 3))
    if wrong == "factors":
        factors = factors[:-1]
    elif wrong == "components":
        offsets = offsets[:2]
    elif wrong == "features":
        offsets = np.ascontiguousarray(offsets[:, :3])
    elif wrong == "rows":
        out = out[:4]
    else:
        out = np.zeros((5, 2))
    with pytest.raises(ValueError, match="out must be" if wrong in ("rows", "columns") else "factors must hold"):
        _quadratic.log_density(SHAPES[shape], x, factors, offsets, constants, out)


def test_instruction_set_is_chosen_by_name(instruction_set):
    assert _simd.instruction_set() == instruction_set
    with pytest.raises(ValueError, match=r"no instruction set .abacus.; give one of baseline"):
        _simd.use_instruction_set("abacus")
    assert _simd.instruction_set() == instruction_set


# -- whitening factors


def covariances(rng, n_components, n_features):
    """Well-conditioned symmetric matrices: eigenvalues between 0.5 and 2."""
    out = np.empty((n_components, n_features, n_features))
    for k in range(n_components):
        q = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
        out[k] = q * rng.uniform(0.5, 2.0, size=n_features) @ q.T
    return out


def whiten(matrices, means, dtype):
    packed = reference.lower_triangles(matrices)
    log_dets = np.zeros(len(means))
    factors, offsets = np.zeros(packed.shape, dtype=dtype), np.zeros(means.shape, dtype=dtype)
    _factor.whiten(packed, means, log_dets, factors, offsets)
    return log_dets, factors, offsets


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5, 16, 17, 64, 70])
def test_whitening_is_the_inverse_of_the_cholesky_factor(n_features):
    rng = np.random.default_rng(n_features)
    matrices, means = covariances(rng, 3, n_features), rng.normal(size=(3, n_features))
    log_dets, factors, offsets = whiten(matrices, means, np.float64)
    expected = np.linalg.inv(np.linalg.cholesky(matrices))
    # condition numbers are at most 4, so a few D units in the last place
    np.testing.assert_allclose(factors, reference.lower_triangles(expected), rtol=0, atol=1e-13)
    np.testing.assert_allclose(offsets, np.einsum("kij,kj->ki", expected, means), rtol=0, atol=1e-12)
    np.testing.assert_allclose(log_dets, np.linalg.slogdet(matrices)[1], rtol=0, atol=1e-12)


def test_float32_factors_are_the_float64_ones_rounded():
    rng = np.random.default_rng(0)
    matrices, means = covariances(rng, 4, 6), rng.normal(size=(4, 6))
    log_dets, factors, offsets = whiten(matrices, means, np.float64)
    rounded = whiten(matrices, means, np.float32)
    np.testing.assert_array_equal(rounded[0], log_dets)
    np.testing.assert_array_equal(rounded[1], factors.astype(np.float32))
    np.testing.assert_array_equal(rounded[2], offsets.astype(np.float32))


def test_ranges_of_matrices_give_the_bits_of_all():
    rng = np.random.default_rng(5)
    matrices, means = covariances(rng, 7, 9), rng.normal(size=(7, 9))
    expected = whiten(matrices, means, np.float64)
    found = np.full(7, -1.0), np.full((7, 45), -1.0), np.full((7, 9), -1.0)
    for first, last in [(3, 7), (0, 3)]:
        _factor.whiten(reference.lower_triangles(matrices), means, *found, first, last)
        if first:
            assert (found[0][:first] == -1.0).all()
    for array, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(array, right)
    with pytest.raises(ValueError, match="no matrices 5 to 8"):
        _factor.whiten(reference.lower_triangles(matrices), means, *found, 5, 8)


@pytest.mark.parametrize("eigenvalue", [0.0, -1.0])
def test_matrices_that_are_not_positive_definite_are_marked(eigenvalue):
    rng = np.random.default_rng(1)
    matrices, means = covariances(rng, 5, 3), rng.normal(size=(5, 3))
    expected = whiten(matrices, means, np.float64)
    matrices[[1, 4]] = np.diag([1.0, eigenvalue, 1.0])
    log_dets, factors, offsets = whiten(matrices, means, np.float64)
    np.testing.assert_array_equal(np.isnan(log_dets), [False, True, False, False, True])
    for found, right in zip((log_dets, factors, offsets), expected, strict=True):
        np.testing.assert_array_equal(found[[0, 2, 3]], right[[0, 2, 3]])


@pytest.mark.parametrize("wrong", range(5))
def test_whitening_wrong_shapes_raises(wrong):
    shapes = [[3, 10], [3, 4], [3], [3, 10], [3, 4]]
    shapes[wrong][-1] += 1
    with pytest.raises(ValueError, match=r"factors must|offsets must|need as many"):
        _factor.whiten(*(np.ones(shape) for shape in shapes))


def test_whitening_reads_read_only_arrays():
    rng = np.random.default_rng(2)
    matrices, means = covariances(rng, 2, 3), rng.normal(size=(2, 3))
    packed, means = read_only(reference.lower_triangles(matrices), means)
    log_dets = np.empty(2)
    _factor.whiten(packed, means, log_dets, np.empty((2, 6)), np.empty((2, 3)))
    assert np.isfinite(log_dets).all()


# -- sums


class Case:
    """Rows with responsibilities; component 2 has none of them, component 0 more than are gathered at once."""

    def __init__(self, dtype=np.float64, weighted=False, n_rows=700, n_features=5):
        rng = np.random.default_rng(n_features)
        weights = rng.normal(size=(n_rows, 6))
        weights[:, 0] += 2.0
        weights[:, 2] = -np.inf
        self.indices, self.values, _ = reference.top_l(weights, 3)
        self.resp = reference.dense(self.indices, self.values, 6)
        self.x = rng.normal(size=(n_rows, n_features)).astype(dtype)
        self.weight = rng.uniform(0.0, 3.0, size=n_rows) if weighted else None

    def groups(self):
        starts = np.full(7, -1, dtype=np.intp)
        rows, resp = np.full(self.indices.size, -1, dtype=np.int32), np.full(self.indices.size, np.nan)
        _accumulate.group_by_component(self.indices, self.values, self.weight, starts, rows, resp)
        return starts, rows, resp

    def sums(self, function, width, ranges=((0, 6),)):
        out = np.zeros((6, width))
        for first, last in ranges:
            function(self.x, *self.groups(), first, last, out)
        return out

    def all_sums(self, ranges=((0, 6),)):
        d = self.x.shape[1]
        return (
            self.sums(_accumulate.add_first, d, ranges),
            self.sums(_accumulate.add_squares, d, ranges),
            self.sums(_accumulate.add_outer, d * (d + 1) // 2, ranges),
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_hold_every_responsibility_once_in_row_order(weighted):
    case = Case(weighted=weighted)
    starts, rows, resp = case.groups()
    expected = case.resp * reference.weight_column(case.resp, case.weight)
    assert starts[0] == 0
    assert starts[-1] == np.count_nonzero(case.resp)
    for k in range(6):
        mine = slice(starts[k], starts[k + 1])
        np.testing.assert_array_equal(rows[mine], np.flatnonzero(case.resp[:, k]))
        np.testing.assert_array_equal(resp[mine], expected[rows[mine], k])


def test_negligible_responsibilities_fall_away():
    indices = np.array([[0, 1], [0, 1], [0, 1]], dtype=np.int32)
    values = np.array([[1.0, 0.0], [1.0, 2.0**-53], [1.0, 2.0**-52]])
    starts, rows, resp = np.empty(3, dtype=np.intp), np.empty(6, dtype=np.int32), np.empty(6)
    _accumulate.group_by_component(indices, values, None, starts, rows, resp)
    np.testing.assert_array_equal(starts, [0, 3, 4])
    np.testing.assert_array_equal(rows[:4], [0, 1, 2, 2])
    assert resp[3] == 2.0**-52


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_features", [1, 2, 5, 15, 16, 17, 33, 64, 70])
def test_sums_equal_the_dense_ones(n_features, dtype, weighted):
    case = Case(dtype, weighted, n_features=n_features)
    first, second, outer = case.all_sums()
    # up to 700 terms of either sign, added in double: 700 units in the last place of the sum of absolute values
    close = {"rtol": 1e-12, "atol": 1e-11}
    np.testing.assert_allclose(first, reference.first(case.x, case.resp, case.weight), **close)
    np.testing.assert_allclose(second, reference.squares(case.x, case.resp, case.weight), **close)
    expected = reference.lower_triangles(reference.outer(case.x, case.resp, case.weight))
    np.testing.assert_allclose(outer, expected, **close)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("n_rows", [1, 127, 128, 129, 255, 256, 257, 512, 513])
def test_outer_products_at_the_edges_of_a_gather(n_rows):
    case = Case(n_rows=n_rows)
    case.indices = np.zeros((n_rows, 1), dtype=np.int32)
    case.values = np.ones((n_rows, 1))
    outer = case.sums(_accumulate.add_outer, 15)
    np.testing.assert_allclose(outer[0], reference.lower_triangles(case.x.T @ case.x), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_sum_to_the_mass(weighted):
    case = Case(weighted=weighted)
    starts, _, resp = case.groups()
    counts = np.ones(6)
    _accumulate.add_counts(starts, resp, counts)
    np.testing.assert_allclose(counts - 1.0, reference.counts(case.resp, case.weight), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose((counts - 1.0).sum(), case.weight.sum() if weighted else 700.0, rtol=1e-12)


def test_sums_are_added_to_what_is_there_and_empty_components_keep_it():
    case = Case()
    for function, width in [(_accumulate.add_first, 5), (_accumulate.add_squares, 5), (_accumulate.add_outer, 15)]:
        once = case.sums(function, width)
        assert (once[2] == 0.0).all()
        out = np.full((6, width), 0.5)
        function(case.x, *case.groups(), 0, 6, out)
        assert (out[2] == 0.5).all()
        np.testing.assert_allclose(out, once + 0.5, rtol=1e-12, atol=1e-11)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_of_components_give_the_same_bits(dtype):
    case = Case(dtype, weighted=True)
    whole = case.all_sums()
    for ranges in ([(0, 1), (1, 6)], [(3, 6), (0, 3)], [(k, k + 1) for k in range(6)]):
        for found, expected in zip(case.all_sums(ranges), whole, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_range_leaves_other_components_alone():
    for function, width in [(_accumulate.add_first, 5), (_accumulate.add_squares, 5), (_accumulate.add_outer, 15)]:
        out = Case().sums(function, width, [(1, 4)])
        assert (out[[0, 4, 5]] == 0.0).all()
        assert out[1].any()
        assert out[3].any()


def test_unit_weights_change_no_bit():
    case = Case()
    expected = case.all_sums()
    case.weight = np.ones(700)
    for found, right in zip(case.all_sums(), expected, strict=True):
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_read_only_arrays(dtype):
    case = Case(dtype, weighted=True)
    expected = case.all_sums()
    read_only(case.x, case.indices, case.values, case.weight)
    groups = read_only(*case.groups())
    case.groups = lambda: groups
    for found, right in zip(case.all_sums(), expected, strict=True):
        np.testing.assert_array_equal(found, right)
    _accumulate.add_counts(groups[0], groups[2], np.zeros(6))


@pytest.mark.parametrize(
    ("values", "weight", "rows", "resp", "message"),
    [
        ((4, 3), 4, 8, 8, "must be"),
        ((3, 2), 4, 8, 8, "must be"),
        ((4, 2), 5, 8, 8, "must be"),
        ((4, 2), 4, 7, 8, "space"),
        ((4, 2), 4, 8, 7, "space"),
    ],
)
def test_grouping_wrong_shapes_raises(values, weight, rows, resp, message):
    with pytest.raises(ValueError, match=message):
        _accumulate.group_by_component(
            np.zeros((4, 2), dtype=np.int32),
            np.ones(values),
            np.ones(weight),
            np.zeros(4, dtype=np.intp),
            np.zeros(rows, dtype=np.int32),
            np.zeros(resp),
        )
