"""Sums by word of three kinds (dense, sparse, rows of some words): one algebra, in place, without large temporaries."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.sums import added
from sparsemix._stats.word_rows import WordRows

V, K = 9, 4
KINDS = ["dense", "sparse", "rows"]
TOLERANCE = {np.float32: 1e-6, np.float64: 1e-13}
quick = settings(max_examples=60, deadline=None, database=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def counts(seed, n_words=V, n_components=K, dtype=np.float64):
    """Counts of some words and topics, others zero."""
    rng = np.random.default_rng(seed)
    out = rng.gamma(1.0, size=(n_words, n_components)) * (rng.uniform(size=(n_words, n_components)) < 0.6)
    out[rng.uniform(size=n_words) < 0.4] = 0.0
    return out.astype(dtype)


def table(kind, array):
    if kind == "dense":
        return array.copy()
    if kind == "sparse":
        return sparse.csr_array(array)
    words = np.flatnonzero(array.any(axis=1))
    return WordRows(words, array[words], len(array))


def dense(value):
    return value if isinstance(value, np.ndarray) else value.toarray()


def statistics(kind, array):
    shared = {name: np.array(float(n)) for n, name in enumerate(("mass", "entropy"), 1)}
    count = array.sum(axis=0, dtype=np.float64)
    return SufficientStatistics({"count": count}, shared, by_word={"word_topic": table(kind, array)})


def values(stats):
    return [dense(stats[name]).copy() for name in ("count", "mass", "entropy", "word_topic")]


# -- rows of some words


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=seeds)
@quick
def test_rows_of_some_words_are_a_table(dtype, seed):
    array = counts(seed, dtype=dtype)
    rows = table("rows", array)
    assert rows.shape == (V, K)
    assert rows.dtype == dtype
    assert rows.nbytes == len(rows.words) * (4 + K * np.dtype(dtype).itemsize)
    np.testing.assert_array_equal(rows.toarray(), array)
    np.testing.assert_array_equal(rows.tocsr().toarray(), array)
    np.testing.assert_allclose(rows.sum(axis=0, dtype=np.float64), array.sum(axis=0, dtype=np.float64), rtol=1e-12)
    np.testing.assert_array_equal(rows[:, [2, 0]].toarray(), array[:, [2, 0]])
    twin = rows.copy()
    twin *= 3.0
    np.testing.assert_array_equal(twin.toarray(), array * dtype(3.0))
    np.testing.assert_array_equal(rows.toarray(), array)
    assert not rows.zeros_like().toarray().any()
    assert rows.zeros_like().shape == (V, K)
    np.testing.assert_array_equal(rows.with_words([0, V - 1]).toarray(), array)


def test_rows_of_no_words_are_zero():
    none = WordRows([], np.empty((0, K)), V)
    assert not none.toarray().any()
    assert none.tocsr().shape == (V, K)
    np.testing.assert_array_equal(none.sum(axis=0), np.zeros(K))
    array = counts(0)
    np.testing.assert_array_equal(added(array.copy(), none, 2.0), array)


@pytest.mark.parametrize(
    ("words", "message"),
    [([1, 1], "increase"), ([2, 1], "increase"), ([-1, 2], "from 0 to 8"), ([3, V], "from 0 to 8"), ([1], "one row a")],
)
def test_wrong_words_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        WordRows(words, np.ones((2, K)), V)


def test_rows_are_taken_apart_and_summed_in_one_way_only():
    rows = table("rows", counts(1))
    with pytest.raises(IndexError, match="by components only"):
        rows[2, :]
    with pytest.raises(ValueError, match="summed over words"):
        rows.sum(axis=1)


# -- sums of tables of all kinds


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("theirs", KINDS)
@pytest.mark.parametrize("ours", KINDS)
@given(one=seeds, other=seeds, factor=st.sampled_from([1.0, 0.25, 7.5]))
@quick
def test_tables_of_all_kinds_add(ours, theirs, dtype, one, other, factor):
    a, b = counts(one, dtype=dtype), counts(other, dtype=dtype)
    value, kept = table(ours, a), table(theirs, b)
    out = added(value, kept, factor)
    np.testing.assert_allclose(dense(out), a + factor * b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    assert out.dtype == dtype
    np.testing.assert_array_equal(dense(kept), b)
    if ours == "dense":
        assert out is value


@pytest.mark.parametrize("theirs", ["sparse", "rows"])
def test_round_off_of_a_difference_leaves_no_negative_counts(theirs):
    a = np.full((V, K), 0.1, dtype=np.float32)
    out = added(a.copy(), table(theirs, a * np.float32(1.0000001)), -1.0)
    np.testing.assert_array_equal(out, 0.0)


@pytest.mark.parametrize("ours", KINDS)
@pytest.mark.parametrize("theirs", KINDS)
@given(one=seeds, other=seeds, scales=st.lists(st.sampled_from([0.5, 1e-9, 1e8, 3.0]), max_size=6))
@quick
def test_pending_factors_of_tables_change_no_value(ours, theirs, one, other, scales):
    a, b = counts(one), counts(other)
    stats, others = statistics(ours, a), statistics(theirs, b).scale(0.5)
    total = np.prod(scales)
    for scale in scales:
        stats.scale(scale)
    stats.add(others, 4.0)
    np.testing.assert_allclose(dense(stats["word_topic"]), total * a + 2.0 * b, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(stats["mass"], total + 2.0, rtol=1e-12)


def test_reading_small_sums_leaves_the_factor_of_tables_pending():
    stats = statistics("dense", counts(0)).scale(0.25)
    before = stats.unfolded("word_topic")[0].copy()
    stats["count"], stats["mass"]
    kept, factor = stats.unfolded("word_topic")
    np.testing.assert_array_equal(kept, before)
    assert factor == 0.25
    np.testing.assert_array_equal(stats["word_topic"], 0.25 * before)
    assert stats.unfolded("word_topic")[1] == 1.0


def test_factors_of_float32_tables_neither_overflow_nor_vanish():
    array = counts(0, dtype=np.float32)
    stats, new = statistics("dense", array), statistics("sparse", array)
    for _ in range(3000):
        stats.scale(0.9).add(new, 0.1)
    np.testing.assert_allclose(stats["word_topic"], array, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_taken_and_cleared(kind):
    array = counts(2)
    stats = statistics(kind, array).scale(2.0)
    np.testing.assert_array_equal(dense(stats.take([3, 1])["word_topic"]), 2.0 * array[:, [3, 1]])
    kept = stats["word_topic"]
    assert stats.clear() is stats
    assert not any(value.any() for value in values(stats))
    assert kind != "dense" or stats["word_topic"] is kept
    stats.add(statistics("sparse", array))
    np.testing.assert_array_equal(dense(stats["word_topic"]), array)


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_know_their_size_and_whether_they_may_change(kind):
    stats = statistics(kind, counts(2))
    kept = stats["word_topic"]
    size = kept.data.nbytes + kept.indices.nbytes + kept.indptr.nbytes if kind == "sparse" else kept.nbytes
    assert stats.nbytes == 8 * (K + 2) + size
    assert stats.writeable
    if kind == "dense":
        kept.flags.writeable = False
        assert not stats.writeable


# -- steps that are undone


@pytest.mark.parametrize("ours", KINDS)
@pytest.mark.parametrize("theirs", KINDS)
@pytest.mark.parametrize("pending", [1.0, 0.3, 1e-14, 1e14])
@given(one=seeds, other=seeds)
@quick
def test_a_step_is_undone_to_the_bit(ours, theirs, pending, one, other):
    stats, new = statistics(ours, counts(one, dtype=np.float32)), statistics(theirs, counts(other, dtype=np.float32))
    twin = stats.copy().scale(pending)
    stats.scale(pending)
    undo = stats.undoing(new)
    stats.scale(0.7).add(new, 3.3)
    undo()
    for a, b in zip(values(stats), values(twin), strict=True):
        np.testing.assert_array_equal(a, b)


# -- memory


@pytest.mark.parametrize("kind", KINDS)
def test_adding_makes_no_temporary_as_large_as_the_table(kind):
    n_words, n_components = 4000, 200  # 3.2 MB in float32
    array = np.zeros((n_words, n_components), dtype=np.float32)
    array[::50] = counts(0, n_words // 50, n_components, np.float32)
    other = table(kind, array)
    value = np.ones_like(array)
    tracemalloc.start()
    try:
        added(value, other, 0.5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(value, 1.0 + 0.5 * array, rtol=1e-6)
    assert peak < array.nbytes / 4
