"""Rows that move as often as their words occur, against the steps written out."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.word_clocks import WordClocks

V, K = 6, 4
DECAY, OFFSET = 0.9, 5.0


def sums_of(rng, most=5):
    """Sums of whole numbers of occurrences; word 5 never occurs."""
    counts = rng.integers(0, most, size=V)
    counts[5] = 0
    return sparse.csr_array(counts[:, None] * rng.dirichlet(np.ones(K), size=V))


def by_hand(table, seen, totals, sums):
    """One step for each occurrence, all of them with the mean of the word's sums."""
    for w in range(V):
        count = round(sums[w].sum())
        for _ in range(count):
            seen[w] += 1
            rho = min(1.0, (OFFSET + seen[w]) ** -DECAY)
            table[w] = (1 - rho) * table[w] + rho * totals[w] * sums[w] / count


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_are_those_of_the_occurrences(dtype):
    rng = np.random.default_rng(0)
    totals = rng.uniform(1, 50, size=V)
    clocks = WordClocks(V, K, dtype, totals, DECAY, OFFSET)
    table, seen = np.tile(totals[:, None] / K, K), np.zeros(V)
    for _ in range(200):
        sums = sums_of(rng)
        by_hand(table, seen, totals, sums.toarray())
        clocks.advance(sums)
    np.testing.assert_allclose(clocks.toarray(), table, rtol=1e-9 if dtype == np.float64 else 1e-4)
    np.testing.assert_allclose(clocks.toarray().sum(axis=1), totals, rtol=1e-4)  # as many as there are
    np.testing.assert_allclose(clocks.toarray()[5], totals[5] / K)


def test_rows_are_folded_before_they_overflow():
    clocks = WordClocks(2, K, np.float32, np.array([1e6, 1.0]), 0.01, 0.5)  # steps near one
    for i in range(300):
        clocks.advance(sparse.csr_array(np.eye(K)[[i % K, 0]]))
    assert np.isfinite(clocks.rows).all()
    assert clocks.toarray()[0].argmax() == 299 % K
    assert clocks.toarray()[0].sum() == pytest.approx(1e6, rel=1e-4)


def test_totals_in_proportion_to_what_was_seen():
    clocks = WordClocks(V, K, np.float64, 1000.0, DECAY, OFFSET)
    assert not clocks.toarray().any()
    clocks.advance(sparse.csr_array(np.array([[3.0, 0, 0, 0], [0, 1, 0, 0], *[[0] * K] * 4])))
    np.testing.assert_allclose(clocks.toarray().sum(axis=1), [750, 250, 0, 0, 0, 0])


def test_statistics_scale_everything_else():
    rng = np.random.default_rng(1)
    clocks = WordClocks(V, K, np.float64, np.full(V, 10.0), DECAY, OFFSET)
    stats = SufficientStatistics({"count": np.zeros(K)}, {"mass": np.zeros(())}, by_word={"input_topic": clocks})
    sums = sums_of(rng)
    new = SufficientStatistics({"count": np.ones(K)}, {"mass": np.ones(())}, by_word={"input_topic": sums})
    alone = clocks.copy().advance(sums)
    stats.scale(0.3).add(new, 5.0)
    np.testing.assert_array_equal(stats["input_topic"].toarray(), alone.toarray())
    np.testing.assert_allclose(stats["count"], 5.0)
    undo = stats.undoing(new)
    before = stats["input_topic"].toarray(), stats["input_topic"].seen.copy()
    stats.scale(0.5).add(new)
    assert (stats["input_topic"].seen != before[1]).any()
    undo()
    np.testing.assert_array_equal(stats["input_topic"].toarray(), before[0])
    np.testing.assert_array_equal(stats["input_topic"].seen, before[1])
    stats.clear()
    assert not stats["input_topic"].seen.any()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c)), WordClocks.copy])
def test_copies_continue_alike(copied):
    rng = np.random.default_rng(2)
    first = WordClocks(V, K, np.float32, np.full(V, 10.0), DECAY, OFFSET).advance(sums_of(rng))
    second, sums = copied(first), sums_of(rng)
    second.rows.flags.writeable = False  # as of a file that was loaded as a map
    np.testing.assert_array_equal(first.advance(sums).toarray(), second.advance(sums).toarray())


def test_a_stream_that_is_longer_than_the_steps():
    clocks = WordClocks(1, K, np.float64, np.ones(1), DECAY, OFFSET)
    clocks.seen[:] = 1e9
    clocks.advance(sparse.csr_array(np.array([[2.5, 0, 0, 0]])))
    assert np.isfinite(clocks.toarray()).all()


def test_words_that_hardly_occur_among_words_that_do():
    clocks = WordClocks(V, K, np.float64, np.ones(V), DECAY, OFFSET)
    sums = np.zeros((V, K))
    sums[0], sums[1, 0], sums[2, :2], sums[3] = 1e12, 1e-9, (3e-7, 1e-7), 1.0
    sums = sparse.csr_array(sums)
    sums.data[-1] = 0.0  # and zeros that are stored
    before = clocks.toarray()
    clocks.advance(sums)
    np.testing.assert_allclose(clocks.seen[:4], [4e12, 1e-9, 4e-7, 3.0], rtol=1e-12)
    assert np.isfinite(clocks.toarray()).all()
    np.testing.assert_allclose(clocks.toarray()[[4, 5]], before[[4, 5]])
    nothing = clocks.toarray()
    clocks.advance(sparse.csr_array(([0.0], [0], [0, 1, 1, 1, 1, 1, 1]), shape=(V, K)))
    np.testing.assert_array_equal(clocks.toarray(), nothing)
