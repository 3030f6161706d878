"""The algebra of sufficient statistics, responsibilities as rectangular arrays, and packed matrices."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sparsemix._stats import symmetric
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix._stats.suffstats import SufficientStatistics

BY_COMPONENT = ["count", "first"]
SHARED = ["mass", "scatter"]
NAMES = BY_COMPONENT + SHARED
SHIFT = np.array([1.0, 2.0, 3.0])

quick = settings(max_examples=100, deadline=None, database=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 6)


def arrays(seed, n_components):
    """Positive sums by name, so that nothing cancels and relative errors are small."""
    rng = np.random.default_rng(seed)
    return {
        "count": rng.uniform(0.1, 10.0, size=n_components),
        "first": rng.uniform(0.1, 10.0, size=(n_components, 3)),
        "mass": np.array(rng.uniform(0.1, 10.0)),
        "scatter": rng.uniform(0.1, 10.0, size=(1, 6)),
    }


def statistics(sums, shift=SHIFT):
    copied = {name: value.copy() for name, value in sums.items()}
    return SufficientStatistics(
        {name: copied[name] for name in BY_COMPONENT}, {name: copied[name] for name in SHARED}, shift
    )


def assert_holds(stats, sums, rtol=1e-13):
    for name in NAMES:
        np.testing.assert_allclose(stats[name], sums[name], rtol=rtol, err_msg=name)


# -- sums, differences, factors


@given(seeds, seeds, sizes)
@quick
def test_sum_and_difference(one, other, k):
    a, b = arrays(one, k), arrays(other, k)
    stats, others = statistics(a), statistics(b)
    assert_holds(stats + others, {name: a[name] + b[name] for name in NAMES})
    difference = stats - others
    for name in NAMES:
        np.testing.assert_array_equal(difference[name], a[name] - b[name])
    assert_holds(stats, a, rtol=0)
    assert_holds(others, b, rtol=0)


@given(seeds, seeds, sizes)
@quick
def test_addition_commutes(one, other, k):
    a, b = statistics(arrays(one, k)), statistics(arrays(other, k))
    left, right = a + b, b + a
    for name in NAMES:
        np.testing.assert_array_equal(left[name], right[name])


steps = st.one_of(
    st.tuples(st.just("scale"), st.sampled_from([0.0, 1e-60, 1e-8, 0.3, 1.0, 7.0, 1e60])),
    st.tuples(st.just("add"), st.sampled_from([0.5, 1.0, 1e-30, 1e30])),
    st.tuples(st.just("add scaled"), st.sampled_from([1e-40, 2.0, 1e40])),
    st.tuples(st.just("read"), st.sampled_from(NAMES)),
)


@given(seeds, seeds, sizes, st.lists(steps, max_size=4))
@quick
def test_pending_factors_change_no_value(one, other, k, todo):
    sums, more = arrays(one, k), arrays(other, k)
    stats = statistics(sums)
    for step, value in todo:
        if step == "scale":
            stats.scale(value)
            sums = {name: value * sums[name] for name in NAMES}
        elif step == "add":
            stats.add(statistics(more), value)
            sums = {name: sums[name] + value * more[name] for name in NAMES}
        elif step == "add scaled":
            stats += statistics(more).scale(value)
            sums = {name: sums[name] + value * more[name] for name in NAMES}
        else:
            np.testing.assert_allclose(stats[value], sums[value], rtol=1e-13)
    assert_holds(stats, sums)


@pytest.mark.parametrize("factor", [1e-99, 1e-300, 1e99, 1e250])
def test_huge_and_small_factors_come_back(factor):
    sums = arrays(0, 3)
    stats = statistics(sums).scale(factor).scale(1.0 / factor)
    assert_holds(stats, sums)
    assert_holds(statistics(sums).scale(factor), {name: factor * sums[name] for name in NAMES})


def test_scaling_often_neither_overflows_nor_vanishes():
    sums = arrays(0, 3)
    stats = statistics(sums)
    for factor in (0.5, 2.0):
        for _ in range(900):
            stats.scale(factor)
    assert_holds(stats, sums, rtol=0)


def test_zero_factor_leaves_nothing():
    stats = statistics(arrays(0, 3)).scale(1e-50).scale(0.0)
    assert all((stats[name] == 0.0).all() for name in NAMES)
    stats += statistics(arrays(1, 3))
    assert_holds(stats, arrays(1, 3), rtol=0)


def test_statistics_added_to_themselves_double():
    sums = arrays(0, 3)
    stats = statistics(sums).scale(3.0)
    stats += stats
    assert_holds(stats, {name: 6.0 * sums[name] for name in NAMES})


@pytest.mark.parametrize("other", [None, SHIFT + 1e-9, np.zeros(3)])
@pytest.mark.parametrize("combine", ["add", "iadd", "isub", "plus", "minus"])
def test_different_shifts_do_not_add(combine, other):
    a, b = statistics(arrays(0, 2)), statistics(arrays(1, 2), other)
    actions = {
        "add": lambda: a.add(b, 0.5),
        "iadd": lambda: a.__iadd__(b),
        "isub": lambda: a.__isub__(b),
        "plus": lambda: a + b,
        "minus": lambda: a - b,
    }
    with pytest.raises(ValueError, match="different shifts"):
        actions[combine]()
    assert_holds(a, arrays(0, 2), rtol=0)


def test_equal_shifts_add_whether_or_not_they_are_one_array():
    a = statistics(arrays(0, 2)) + statistics(arrays(1, 2), SHIFT.copy())
    np.testing.assert_array_equal(a.shift, SHIFT)
    assert (statistics(arrays(0, 2), None) + statistics(arrays(1, 2), None)).shift is None


# -- reading and writing


def test_names_in_place_and_sizes():
    stats = statistics(arrays(0, 4)).scale(2.0)
    stats["count"] += 1.0
    stats["mass"] += 1.0
    np.testing.assert_allclose(stats["count"], 2.0 * arrays(0, 4)["count"] + 1.0, rtol=1e-15)
    np.testing.assert_allclose(stats["mass"], 2.0 * arrays(0, 4)["mass"] + 1.0, rtol=1e-15)
    assert "first" in stats
    assert "mass" in stats
    assert "second" not in stats
    assert stats.n_components == 4
    assert stats.nbytes == 8 * (4 + 12 + 1 + 6)
    assert "first(4, 3)" in repr(stats)
    with pytest.raises(KeyError):
        stats["second"]


def test_copy_is_independent():
    stats = statistics(arrays(0, 3)).scale(2.0)
    copied = stats.copy()
    copied["first"] += 1.0
    copied["mass"] += 1.0
    copied.scale(5.0)
    assert_holds(stats, {name: 2.0 * value for name, value in arrays(0, 3).items()})


def test_zeros_like_keeps_shapes_and_shift():
    stats = statistics(arrays(0, 3)).scale(2.0)
    zeros = stats.zeros_like()
    assert all((zeros[name] == 0.0).all() for name in NAMES)
    zeros += stats
    assert_holds(zeros, {name: 2.0 * value for name, value in arrays(0, 3).items()})


# -- components


@given(seeds, sizes, st.data())
@quick
def test_take_orders_components_and_keeps_shared_sums(seed, k, data):
    order = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=8)))
    sums = arrays(seed, k)
    taken = statistics(sums).scale(2.0).take(order)
    assert_holds(taken, {name: 2.0 * (sums[name][order] if name in BY_COMPONENT else sums[name]) for name in NAMES})


@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
def test_put_replaces_chosen_components_alone(kept):
    a, b = arrays(0, 5), arrays(1, 2)
    stats = statistics(a).scale(2.0).put([3, 1], statistics(b).scale(3.0), np.array([10.0, 0.0]), kept=kept)
    expected = {name: 2.0 * a[name] for name in NAMES}
    for name in BY_COMPONENT:
        expected[name][[3, 1]] *= kept
        expected[name][3] += 30.0 * b[name][0]
    assert_holds(stats, expected)


@given(seeds, seeds, st.integers(2, 6), st.data())
@quick
def test_taking_and_adding_commute(one, other, k, data):
    order = np.array(data.draw(st.permutations(range(k))))
    a, b = statistics(arrays(one, k)), statistics(arrays(other, k))
    left, right = (a + b).take(order), a.take(order) + b.take(order)
    for name in NAMES:
        np.testing.assert_array_equal(left[name], right[name])


# -- responsibilities


def test_labels_are_responsibilities_of_one():
    resp = SparseResponsibilities.from_labels([2, 0, 2])
    assert len(resp) == 3
    assert resp.indices.dtype == np.int32
    np.testing.assert_array_equal(resp.to_csr(4).toarray(), np.eye(4)[[2, 0, 2]])
    assert resp.entropy() == 0.0


@pytest.mark.parametrize("kind", ["dense", "csr", "coo", "float32"])
def test_matrix_rows_are_scaled_to_one(kind):
    rng = np.random.default_rng(0)
    matrix = rng.uniform(0.1, 2.0, size=(20, 7)) * (rng.uniform(size=(20, 7)) < 0.4)
    matrix[:, 3] += 0.1
    matrix[0] = [0, 0, 0, 4, 0, 0, 0]
    given_matrix = {
        "dense": lambda: matrix,
        "csr": lambda: sparse.csr_array(matrix),
        "coo": lambda: sparse.coo_array(matrix),
        "float32": lambda: matrix.astype(np.float32),
    }[kind]()
    resp = SparseResponsibilities.from_matrix(given_matrix)
    assert resp.indices.shape[1] == np.count_nonzero(matrix, axis=1).max()
    expected = matrix / matrix.sum(axis=1, keepdims=True)
    rtol = 1e-6 if kind == "float32" else 1e-14
    np.testing.assert_allclose(resp.to_csr(7).toarray(), expected, rtol=rtol)
    np.testing.assert_allclose(reference.dense(resp.indices, resp.values, 7), expected, rtol=rtol)


def test_matrix_with_repeated_and_unsorted_entries_is_left_alone():
    data, columns, starts = np.array([0.5, 0.25, 0.25, 2.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    matrix = sparse.csr_array((data.copy(), columns.copy(), starts.copy()), shape=(2, 3))
    resp = SparseResponsibilities.from_matrix(matrix)
    np.testing.assert_allclose(resp.to_csr(3).toarray(), [[0.25, 0.0, 0.75], [0.0, 1.0, 0.0]], rtol=1e-15)
    np.testing.assert_array_equal(matrix.data, data)
    np.testing.assert_array_equal(matrix.indices, columns)
    np.testing.assert_array_equal(matrix.indptr, starts)


@pytest.mark.parametrize("n_nonzero", [1, 2, 5])
def test_entropy_equals_the_dense_one(n_nonzero):
    rng = np.random.default_rng(1)
    dense = reference.random_responsibilities(rng, 15, 5, n_nonzero)
    weight = rng.uniform(size=15)
    resp = SparseResponsibilities.from_matrix(dense)
    np.testing.assert_allclose(resp.entropy(), reference.entropy(dense), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(resp.entropy(weight), reference.entropy(dense, weight), rtol=1e-13, atol=1e-15)


def test_rows_are_views():
    resp = SparseResponsibilities.from_matrix(np.eye(5) + 0.5)
    part = resp.rows(1, 3)
    assert len(part) == 2
    for name in ("indices", "values", "log_z"):
        assert np.shares_memory(getattr(part, name), getattr(resp, name))
    np.testing.assert_array_equal(part.to_csr(5).toarray(), resp.to_csr(5).toarray()[1:3])


def test_csr_keeps_every_entry():
    dense = reference.random_responsibilities(np.random.default_rng(2), 9, 6, 3)
    matrix = SparseResponsibilities.from_matrix(dense).to_csr(8)
    assert matrix.shape == (9, 8)
    np.testing.assert_array_equal(np.diff(matrix.indptr), 3)


# -- packed symmetric matrices


@pytest.mark.parametrize("n_features", [1, 2, 3, 8, 65])
def test_packed_matrices_come_back(n_features):
    rng = np.random.default_rng(n_features)
    matrices = rng.normal(size=(2, 3, n_features, n_features))
    matrices = matrices + np.swapaxes(matrices, -1, -2)
    packed = symmetric.pack(matrices)
    assert packed.shape == (2, 3, symmetric.packed_size(n_features))
    assert packed.flags.c_contiguous
    assert symmetric.n_features_of(packed.shape[-1]) == n_features
    np.testing.assert_array_equal(packed, reference.lower_triangles(matrices))
    np.testing.assert_array_equal(symmetric.unpack(packed), matrices)
    np.testing.assert_array_equal(symmetric.unpack_triangle(packed), np.tril(matrices))
    diagonals = np.diagonal(matrices, axis1=-2, axis2=-1)
    np.testing.assert_array_equal(packed[..., symmetric.diagonal_positions(n_features)], diagonals)


def test_packing_reads_lower_triangles_only():
    matrix = np.tril(np.arange(1.0, 10.0).reshape(3, 3))
    np.testing.assert_array_equal(symmetric.pack(matrix), [1, 4, 5, 7, 8, 9])


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_packed_outer_products_and_identity(n_features):
    vectors = np.random.default_rng(n_features).normal(size=(4, n_features))
    packed = symmetric.pack_outer(vectors)
    assert packed.flags.c_contiguous
    np.testing.assert_array_equal(symmetric.unpack(packed), np.einsum("ki,kj->kij", vectors, vectors))
    np.testing.assert_array_equal(symmetric.unpack(symmetric.pack_identity(n_features, 2.5)), 2.5 * np.eye(n_features))


@pytest.mark.parametrize("n_features", [1, 2, 44, 45, 128, 1000])
def test_number_of_features_follows_from_the_packed_size(n_features):
    assert symmetric.n_features_of(symmetric.packed_size(n_features)) == n_features


def test_log_dets_of_packed_matrices_are_nan_only_where_indefinite():
    root = np.random.default_rng(0).normal(size=(3, 5, 5))
    matrices = root @ np.swapaxes(root, 1, 2)
    expected = np.linalg.slogdet(matrices)[1]
    matrices[1], expected[1] = -matrices[1], np.nan
    np.testing.assert_allclose(symmetric.log_dets(symmetric.pack(matrices)), expected, rtol=1e-10)


def test_pending_factor_reaches_arrays_that_are_read_only():
    """A model that was loaded as a memory map has such arrays."""
    stats = SufficientStatistics({"count": np.ones(2)}, {"mass": np.ones(())}, by_word={"word_topic": np.ones((3, 2))})
    kept = stats["count"]
    for name in ("count", "mass", "word_topic"):
        stats[name].flags.writeable = False
    stats.scale(0.5)
    np.testing.assert_array_equal(stats["word_topic"], 0.5)
    np.testing.assert_array_equal(stats["count"], 0.5)
    np.testing.assert_array_equal(kept, 1.0)
