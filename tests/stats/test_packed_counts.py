"""Packed counts: the same sums as a dense table, in rows that grow, move, lose small counts and come back."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from sparsemix._stats.packed_counts import PackedCounts
from sparsemix._stats.suffstats import SufficientStatistics

SHAPE = 23, 333


def sums(seed, shape=SHAPE, density=0.03, dtype=np.float64):
    table = sparse.random_array(shape, density=density, rng=np.random.default_rng(seed), format="csr", dtype=dtype)
    table.sort_indices()
    return table


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 31, 32, 33, 333])
def test_sums_are_those_of_a_dense_table(instruction_set, n_components, dtype):  # noqa: ARG001
    shape, rtol = (23, n_components), 1e-5 if dtype == np.float32 else 1e-12
    table, dense = PackedCounts(shape, dtype), np.zeros(shape)
    for seed in range(40):
        new = sums(seed, shape, 0.1, dtype)
        gains = table.add(new, 0.7)
        dense += 0.7 * new.toarray()
        np.testing.assert_allclose(gains, 0.7 * new.sum(axis=0), rtol=rtol)
        np.testing.assert_allclose(table.toarray(), dense, rtol=rtol)
        if seed == 20:
            table *= 0.25
            dense *= 0.25
    np.testing.assert_array_equal(table.lengths(), (dense > 0).sum(axis=1))
    np.testing.assert_array_equal(table.tocsr().toarray(), table.toarray())
    np.testing.assert_array_equal(table.rows([3, 0]), table.toarray()[[3, 0]])
    np.testing.assert_allclose(table.sum(axis=0, dtype=np.float64), dense.sum(axis=0), rtol=rtol)
    order = np.random.default_rng(0).permutation(n_components)
    np.testing.assert_array_equal(table[:, order].toarray(), table.toarray()[:, order])
    assert len(table.values) < 6 * (dense > 0).sum() + 40 * len(dense)


@pytest.mark.slow
def test_small_counts_keep_their_expectation(instruction_set):  # noqa: ARG001
    """New counts below the smallest, and old ones when their row has no space, are that or nothing."""
    smallest, n, total, kept = 0.6, 400, np.zeros(SHAPE), 0
    for key in range(n):
        table, gained = PackedCounts(SHAPE, np.float64), 0.0
        for seed in range(4):
            gained = gained + table.add(sums(seed, density=0.2), 1.0, smallest, 4 * key + seed)
        total += table.toarray()
        kept += table.lengths().sum()
        np.testing.assert_allclose(table.sum(axis=0), gained, atol=1e-12)  # topics get the gain that was stored
        assert table.tocsr().data.min() >= smallest
    expected = sum(sums(seed, density=0.2).toarray() for seed in range(4))
    errors = (total / n - expected) / np.sqrt(np.maximum(expected, 1e-9) * smallest / n)
    assert np.abs(errors[expected > 0.1]).max() < 6.0
    assert abs(errors[expected > 0].mean()) < 0.05
    assert 0 < kept < 0.9 * n * (expected > 0).sum()


def test_counts_that_have_shrunk_keep_their_expectation_when_their_row_needs_room(instruction_set):  # noqa: ARG001
    smallest, n, old, new = 0.6, 300, sums(0, density=0.2), sums(1, density=0.6)
    new.data += 1.0
    total, kept = np.zeros(SHAPE), 0
    for key in range(n):
        table = PackedCounts.of(old)
        table *= 0.3  # all are below the smallest now
        before = table.sum(axis=0)
        gained = table.add(new, 1.0, smallest, key)
        np.testing.assert_allclose(table.sum(axis=0), before + gained, atol=1e-12)
        assert table.tocsr().data.min() >= smallest
        total += table.toarray()
        kept += table.lengths().sum()
    errors = (total / n - 0.3 * old.toarray() - new.toarray())[old.toarray() > 0] / np.sqrt(0.15 * smallest / n)
    assert np.abs(errors).max() < 8.0
    assert abs(errors.mean()) < 0.1
    assert n * new.nnz < kept < n * np.count_nonzero((old + new).toarray())


def test_copies_are_their_own():
    table = PackedCounts.of(sums(0))
    before = table.toarray()
    for other in (table.copy(), pickle.loads(pickle.dumps(table))):
        other.add(sums(1))
        other *= 2.0
        np.testing.assert_array_equal(table.toarray(), before)
    assert not table.zeros_like().toarray().any()
    for array in vars(table).values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    assert not table.is_writeable
    table.writeable().add(sums(1))
    np.testing.assert_array_equal(table.toarray(), before)


def statistics(table):
    return SufficientStatistics(
        {"count": np.asarray(table.sum(axis=0))}, {"mass": np.array(float(table.sum(axis=0).sum()))},
        by_word={"word_topic": table},
    )  # fmt: skip


def test_statistics_of_packed_counts():
    stats, new = statistics(PackedCounts.of(sums(0))), statistics(sums(1))
    stats.scale(0.3)
    undo, before = stats.undoing(new), stats.unfolded("word_topic")[0].toarray()
    stats.scale(0.5).add(new, 2.0)
    expected = 0.15 * sums(0).toarray() + 2.0 * sums(1).toarray()
    np.testing.assert_allclose(stats["word_topic"].toarray(), expected, rtol=1e-12)
    np.testing.assert_allclose(stats["count"], expected.sum(axis=0), rtol=1e-12)
    stats.unfolded("word_topic")
    again = statistics(PackedCounts.of(sums(0))).scale(0.3)
    undo = again.undoing(new)
    again.scale(0.5).add(new, 2.0)
    undo()
    np.testing.assert_array_equal(again.unfolded("word_topic")[0].toarray(), before)
    less = stats - new
    np.testing.assert_allclose(less["word_topic"].toarray(), expected - sums(1).toarray(), rtol=1e-12)
    assert not stats.zeros_like()["word_topic"].toarray().any()
    assert stats.writeable
    both = statistics(np.zeros(SHAPE)).add(stats)
    np.testing.assert_allclose(both["word_topic"], expected, rtol=1e-12)
