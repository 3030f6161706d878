"""Sums that follow from the table which they are added to: the same as sums that were made before."""

import numpy as np
import pytest

from sparsemix._engine.schedules import blend
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.word_rows import DeferredRows, WordRows

V, K, WORDS = 9, 4, np.array([1, 2, 5, 8], dtype=np.int32)


class Halves(DeferredRows):
    """Half of a word's counts, and its number."""

    def __init__(self, stats):
        self.table, factor = stats.unfolded("word_topic")
        self.unit, self.words, self.factor = stats.word_unit, WORDS, factor
        self.shape = self.table.shape

    def add_to_table(self, factor, scale):
        sums = 0.5 * self.table[WORDS] * self.factor / scale + WORDS[:, None]
        self.table[WORDS] += factor * sums
        return sums.sum(axis=0)

    def rows(self):
        sums = 0.5 * self.table[WORDS] * self.factor + WORDS[:, None]
        return WordRows(WORDS, sums, V), sums.sum(axis=0)


def statistics(seed=0, factor=1.0):
    table = np.random.default_rng(seed).uniform(size=(V, K)) / factor
    stats = SufficientStatistics(
        {"count": table.sum(axis=0)}, {"mass": np.array(table.sum())}, by_word={"word_topic": table}
    )
    return stats.scale(factor)


def batch(stats):
    """Statistics whose sums are deferred, and the same with sums that are made."""
    empty = WordRows(WORDS[:0], np.empty((0, K)), V)
    both = [
        SufficientStatistics({"count": np.ones(K)}, {"mass": np.array(7.0)}, by_word={"word_topic": empty})
        for _ in range(2)
    ]
    for new in both:
        new.defer("word_topic", Halves(stats))
    both[1].settle()
    return both


def assert_equal(one, other):
    for name in ("word_topic", "count", "mass"):
        a, b = (x.toarray() if hasattr(x, "toarray") else x for x in (one[name], other[name]))
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("factor", [1.0, 0.3, 1e-14, 1e14])
@pytest.mark.parametrize("rho", [0.2, 0.9999, 1.0])
def test_a_step_by_deferred_sums_is_a_step_by_sums(factor, rho):
    stats = statistics(factor=factor)
    twin = stats.copy()
    deferred, made = batch(stats)
    assert_equal(blend(stats, deferred, rho, 30.0, 40.0), blend(twin, made, rho, 30.0, 40.0))


def test_pending_factors_may_reach_the_table_in_between():
    stats = statistics(factor=0.3)
    twin = stats.copy()
    deferred, made = batch(stats)
    for x in (stats, twin):
        x["word_topic"]  # folds
        x.scale(1e-9).scale(1e-9)
    assert stats.word_unit != 0.0
    assert_equal(blend(stats, deferred, 1e-17, 30.0, 30.0), blend(twin, made, 1e-17, 30.0, 30.0))


def test_they_are_computed_when_they_are_read():
    stats = statistics()
    for ask in (
        lambda x: x["count"], lambda x: x.unfolded("word_topic"), lambda x: x.copy()["count"], lambda x: x.nbytes,
        lambda x: statistics(1).add(x), lambda x: x.scale(2.0).scale(0.5), lambda x: x.take(np.arange(K)),
    ):  # fmt: skip
        deferred, made = batch(stats)
        assert deferred.informative
        ask(deferred)
        assert_equal(deferred, made)


def test_a_step_is_undone_to_the_bit():
    stats = statistics(factor=0.3)
    before = stats.unfolded("word_topic")[0].copy(), stats["count"].copy()
    deferred, _ = batch(stats)
    undo = stats.undoing(deferred)
    blend(stats, deferred, 0.2, 30.0, 40.0)
    assert not np.array_equal(stats.unfolded("word_topic")[0], before[0])
    undo()
    np.testing.assert_array_equal(stats.unfolded("word_topic")[0], before[0])
    np.testing.assert_array_equal(stats["count"], before[1])


@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_they_follow_to_a_copy(factor):
    stats = statistics(factor=factor)
    deferred, made = batch(stats)
    before, other = stats.unfolded("word_topic")[0].copy(), stats.copy()
    deferred.follow(stats, other)
    assert_equal(blend(other, deferred, 0.2, 30.0, 40.0), blend(stats.copy(), made, 0.2, 30.0, 40.0))
    np.testing.assert_array_equal(stats.unfolded("word_topic")[0], before)


def test_shared_sums_are_added_to_while_others_stay_deferred():
    stats = statistics()
    new, made = batch(stats)
    new.add_to(mass=3.0)
    assert new.deferred("word_topic") is not None
    assert new.mass == 10.0
    assert made.deferred("word_topic") is None
    assert new["word_topic"].words.tolist() == WORDS.tolist()  # reading computes them
    assert new.deferred("word_topic") is None
