"""Learning schedules as rules for statistics, on statistics made up for the purpose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsemix._engine import schedules
from sparsemix._engine.schedules import MOST_BATCHES, Batch, Memoized, MiniEpochs, Stochastic, blend, stream
from sparsemix._stats.suffstats import SufficientStatistics

K, N = 4, 50


def statistics(rng, mass):
    """Random statistics of the given mass."""
    count = rng.dirichlet(np.ones(K)) * mass
    shared = {"mass": np.array(float(mass)), "entropy": np.array(rng.normal())}
    return SufficientStatistics({"count": count, "first": rng.normal(size=(K, 2))}, shared)


def values(stats):
    return np.concatenate([np.ravel(stats[name]) for name in ("count", "first", "mass", "entropy")])


def assert_close(stats, expected):
    np.testing.assert_allclose(values(stats), expected, rtol=1e-11, atol=1e-12)


def visit(schedule, stats, rng):
    """One epoch with new random statistics for every batch; yields (selection, new, stats)."""
    for selection in schedule.batches():
        new = statistics(rng, len(np.arange(N)[selection]))
        stats = schedule.absorb(stats, new)
        yield selection, new, stats


# -- steps


@given(st.floats(1.0, 1e6), st.floats(1.0, 1e6), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None, database=None, derandomize=True)
def test_blend_with_the_share_of_the_block_is_the_sum(before, n_b, seed):
    rng = np.random.default_rng(seed)
    stats, new = statistics(rng, before), statistics(rng, n_b)
    now = before + n_b
    total = values(stats + new)
    blended = values(blend(stats, new, n_b / now, before, now))
    np.testing.assert_allclose(blended, total, rtol=1e-9, atol=1e-12 * np.abs(total).max())


@pytest.mark.parametrize("rho", [0.1, 0.5, 1.0])
def test_blend_moves_by_rho_between_masses(rho):
    rng = np.random.default_rng(0)
    stats, new = statistics(rng, 30.0), statistics(rng, 5.0)
    before = values(stats)
    out = blend(stats, new, rho, 30.0, 40.0)
    assert_close(out, (1 - rho) * 40 / 30 * before + rho * 40 / 5 * values(new))
    np.testing.assert_allclose(out["mass"], 40.0, rtol=1e-13)
    assert out is stats


def test_full_step_forgets_values_that_are_not_finite():
    rng = np.random.default_rng(1)
    stats, new = statistics(rng, 30.0), statistics(rng, 5.0)
    stats["first"][...] = np.nan
    assert_close(blend(stats, new, 1.0, 30.0, 30.0), 6 * values(new))


# -- batches


@pytest.mark.parametrize("batch_size", [1, 7, 25, 49, 50, 51])
@pytest.mark.parametrize("kind", ["memoized", "stochastic", "batch"])
def test_batches_hold_every_row_once_in_order(kind, batch_size):
    rng = np.random.default_rng(2)
    schedule = {
        "memoized": lambda: Memoized(N, batch_size, rng),
        "stochastic": lambda: Stochastic(N, batch_size, rng, 0.6, 1.0, N),
        "batch": lambda: Batch(N),
    }[kind]()
    for _ in range(2):
        selections = [np.arange(N)[selection] for selection in schedule.batches()]
        assert all((np.diff(selection) > 0).all() for selection in selections)
        np.testing.assert_array_equal(np.sort(np.concatenate(selections)), np.arange(N))
        if kind != "batch":
            assert max(map(len, selections)) <= batch_size
            assert len(selections) == -(-N // batch_size)


def test_memoized_batches_stay_and_stochastic_ones_change():
    rng = np.random.default_rng(3)
    memoized, stochastic = Memoized(N, 10, rng), Stochastic(N, 10, rng, 0.6, 1.0, N)
    epochs = [[list(selection) for selection in memoized.batches()] for _ in range(2)]
    assert epochs[0] == epochs[1]
    epochs = [[list(selection) for selection in stochastic.batches()] for _ in range(2)]
    assert epochs[0] != epochs[1]


# -- rules


def test_batch_replaces():
    rng = np.random.default_rng(4)
    new = statistics(rng, N)
    assert_close(Batch(N).absorb(statistics(rng, N), new), values(new))


def test_streaming_sums_all_blocks():
    rng = np.random.default_rng(5)
    stats, total = statistics(rng, 10.0), 0.0
    for n_b in (15.0, 2.0, 40.0):
        new = statistics(rng, n_b)
        before = values(stats) if total else 0.0
        after = stream(stats, new, first=total == 0.0)
        assert_close(after, values(new) + before)
        stats, total = after, total + n_b
    np.testing.assert_allclose(stats["mass"], total)


def test_stream_of_known_length_takes_a_step_towards_the_scaled_block():
    rng = np.random.default_rng(15)
    stats, new = statistics(rng, 40.0), statistics(rng, 8.0)
    expected = 0.7 * 2.5 * values(stats) + 0.3 * 12.5 * values(new)
    assert_close(stream(stats, new, 100.0, 0.3), expected)


def test_stochastic_steps_follow_the_learning_rate():
    rng = np.random.default_rng(6)
    schedule, stats = Stochastic(N, 10, np.random.default_rng(0), 0.7, 2.0, N), statistics(rng, N)
    expected, step = values(stats), 0
    for _ in range(3):
        for selection, new, after in visit(schedule, stats, rng):
            step += 1
            rho = (2.0 + step) ** -0.7
            expected = (1 - rho) * expected + rho * N / len(selection) * values(new)
            assert_close(after, expected)
        stats = after


@pytest.mark.parametrize("batch_size", [8, 17, 50])
def test_memoized_sum_is_that_of_the_last_visits_and_the_share_of_the_start(batch_size):
    rng = np.random.default_rng(7)
    initial = statistics(rng, N)
    schedule, stats = Memoized(N, batch_size, np.random.default_rng(0)), initial.copy()
    last = {}
    for epoch in range(4):
        for b, selection in enumerate(schedule.batches()):
            last[b] = (statistics(rng, len(selection)), len(selection))
            stats = schedule.absorb(stats, last[b][0].copy())
            unseen = 1.0 - sum(n for _, n in last.values()) / N
            expected = sum(values(new) for new, _ in last.values()) + unseen * values(initial)
            if epoch > 0:
                assert abs(unseen) < 1e-12
            assert_close(stats, expected)
            np.testing.assert_allclose(stats["mass"], N, rtol=1e-12)


def test_memoized_learning_forgets_the_start_after_one_epoch():
    outcomes = []
    for seed in (0, 1):
        rng = np.random.default_rng(8)
        initial = statistics(np.random.default_rng(seed), N)
        schedule = Memoized(N, 10, np.random.default_rng(0))
        *_, (_, _, stats) = visit(schedule, initial, rng)
        outcomes.append(values(stats))
    np.testing.assert_array_equal(*outcomes)


def test_memoized_sum_gathers_no_round_off():
    rng = np.random.default_rng(9)
    initial = statistics(rng, N)
    schedule, stats = Memoized(N, 10, np.random.default_rng(0)), initial
    for size in (1e12, 1.0):  # differences with huge statistics leave round-off, which the end of the epoch removes
        last = []
        for selection in schedule.batches():
            last.append(statistics(rng, len(selection)).scale(size))
            stats = schedule.absorb(stats, last[-1].copy())
    np.testing.assert_allclose(values(stats), sum(values(new) for new in last), rtol=1e-13, atol=1e-13)


def test_memo_of_put_components_is_each_batch_s_share():
    rng = np.random.default_rng(11)
    schedule = Memoized(N, 20, np.random.default_rng(0))
    *_, (_, _, stats) = visit(schedule, statistics(rng, N), rng)
    before = [values(memo) for memo in schedule._memo]
    other = statistics(rng, N)
    changed = stats.copy().put([1, 3], other.take([1, 3]), np.ones(2))
    undo = schedule.put([1, 3], changed)
    total = sum(schedule._memo[1:], schedule._memo[0])
    assert_close(total, values(changed))  # sums of other components and shared sums did not change
    for batch, memo in zip(schedule._selections, schedule._memo, strict=True):
        np.testing.assert_allclose(memo["first"][1], len(batch) / N * changed["first"][1], rtol=1e-12)
    undo()
    for memo, was in zip(schedule._memo, before, strict=True):
        np.testing.assert_array_equal(values(memo), was)


@pytest.mark.parametrize("make", [lambda: Batch(N), lambda: Stochastic(N, 10, np.random.default_rng(0), 0.5, 1.0, N)])
def test_what_remembers_nothing_has_nothing_to_put(make):
    schedule, stats = make(), statistics(np.random.default_rng(0), N)
    before = values(stats)
    schedule.put([0], stats)()
    np.testing.assert_array_equal(values(stats), before)


@pytest.mark.parametrize("kind", ["memoized", "stochastic"])
def test_absorbing_changes_the_old_statistics_and_leaves_the_new(kind):
    rng = np.random.default_rng(10)
    first = stats = statistics(rng, N)
    arrays = [first[name] for name in ("count", "first", "mass")]
    schedule = {"memoized": Memoized(N, 10, rng), "stochastic": Stochastic(N, 10, rng, 0.6, 1.0, N)}[kind]
    for _ in range(2):
        for selection in schedule.batches():
            new = statistics(rng, len(np.arange(N)[selection]))
            before = values(new)
            stats = schedule.absorb(stats, new)
            assert stats is first
            np.testing.assert_array_equal(values(new), before)
    assert all(array is first[name] for array, name in zip(arrays, ("count", "first", "mass"), strict=True))


def test_memoized_learning_with_many_batches_keeps_a_copy_of_the_start():
    """Both implementations of the fading start give the same sums."""
    outcomes = []
    for most in (0, MOST_BATCHES):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schedules, "MOST_BATCHES", most)
            rng = np.random.default_rng(12)
            stats = statistics(rng, N)
            schedule = Memoized(N, 5, np.random.default_rng(0))
            outcomes.append([values(after) for _, _, after in visit(schedule, stats, rng)])
            assert (schedule._initial is None) or most == 0
    np.testing.assert_allclose(*outcomes, rtol=1e-11, atol=1e-11)
    assert len(outcomes[0]) == 10


@pytest.mark.parametrize("name", ["memoized", "stochastic", "joined"])
def test_schedules_announce_the_next_selection(name):
    rng = np.random.default_rng(0)
    schedule = {
        "memoized": lambda: Memoized(40, 7, rng),
        "stochastic": lambda: Stochastic(40, 7, rng, 0.6, 1.0, 40.0),
        "joined": lambda: MiniEpochs(40, 2, rng, 0.6, 100.0, 40.0),
    }[name]()
    if name == "joined":
        schedule.together = 4
    for _ in range(2):
        told, given = [], []
        for selection in schedule.batches():
            told.append(schedule.following)
            given.append(selection)
        assert told[-1] is None
        assert all(following is selection for following, selection in zip(told, given[1:], strict=False))
        assert sorted(np.concatenate(given)) == list(range(40))


def test_rows_that_weigh_next_to_nothing_teach_nothing():
    """Their share of all rows is below round-off, and their sums, scaled to all rows, may overflow."""
    rng = np.random.default_rng(15)
    stats, new = statistics(rng, 40.0), statistics(rng, 1e-16)
    before = values(stats)
    assert_close(blend(stats, new, 0.3, 40.0, 40.0), before)
    new = statistics(rng, 1e-12)
    assert_close(blend(stats, new, 0.3, 40.0, 40.0), 0.7 * before + 0.3 * 4e13 * values(new))
