"""The constant part of statistics: the same numbers as statistics without it, plus the constant, whatever is done."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from sparsemix._engine.schedules import Batch, Memoized, blend, stream
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix._stats.prior_counts import PriorCounts
from sparsemix._stats.suffstats import SufficientStatistics

V, K = 12, 5
FORMS = {"dense": np.asarray, "csr": sparse.csr_array, "packed": lambda table: PackedCounts.of(sparse.csr_array(table))}
PRIORS = {"sparse": sparse.csr_array, "dense": np.asarray}


def table(seed, share=0.4):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, 5.0, size=(V, K)) * (rng.random((V, K)) < share)


def stats_of(counts, form=np.asarray):
    stats = SufficientStatistics({"count": counts.sum(axis=0)}, {"mass": np.array(counts.sum())}, by_word={
        "word_topic": form(counts)})  # fmt: skip
    stats.n_rows = 3
    return stats


def dense(stats):
    value = stats["word_topic"]
    return value if isinstance(value, np.ndarray) else value.toarray()


def scaled_up_and_down(stats, new):
    for factor in (0.3, 4.0, 1e-7, 1e-5, 2e3):
        stats.scale(factor).add(new, 0.5)
    return stats


def steps(stats, new):
    mass = float(stats["mass"])
    for rho in (0.5, 1.0, 0.1, 0.01):
        stats = blend(stats, new, rho, mass, mass)
    return stats


def a_stream(stats, new):
    for first in (True, False, False):
        stats = stream(stats, new, first=first)
    return stream(stats, new, 1e4, 0.3)


def memoized(stats, new, n_batches=3):
    schedule = Memoized(120, 120 // n_batches, np.random.default_rng(0))
    for epoch in range(2):
        for _ in schedule.batches():
            stats = schedule.absorb(stats, new.copy().scale(1.0 + epoch))
    return stats


CHANGES = {
    "scale": scaled_up_and_down,
    "steps": steps,
    "stream": a_stream,
    "memoized": memoized,
    "memoized with a copy": partial(memoized, n_batches=40),
    "batch": lambda stats, new: Batch(3).absorb(stats, new.copy()),
    "sums": lambda stats, new: (stats + stats.copy().scale(0.5) - stats).scale(2.0) + new,
    "zeros": lambda stats, new: stats.zeros_like() + new,
    "nothing": lambda stats, new: stats.scale(0.0).add(new),
    "topics": lambda stats, new: stats.take([3, 1, 0, 2, 4]).add(new),
}


@pytest.mark.parametrize("kind", PRIORS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_done_the_prior_stays(change, form, kind):
    """No rule scales, forgets or doubles it, for counts and priors in each form."""
    if (form, kind) == ("packed", "dense") or (form == "csr" and kind == "dense" and change in ("topics", "zeros")):
        form = "dense"
    more = table(9)
    new, start = stats_of(table(1)), stats_of(table(0), FORMS[form])
    want = CHANGES[change](start.copy(), new)
    held = CHANGES[change](start.copy().hold(PriorCounts(PRIORS[kind](more))), new)
    more = more[:, [3, 1, 0, 2, 4]] if change == "topics" else more
    np.testing.assert_allclose(dense(held), dense(want) + more, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(held["count"], want["count"] + more.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(held.learned_count, want["count"], rtol=1e-9, atol=1e-9)
    assert float(held["mass"]) == pytest.approx(float(want["mass"]))
    np.testing.assert_allclose(dense(held.hold(None)), dense(want), rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("kind", PRIORS)
def test_undoing_a_step_restores_the_bits(kind):
    stats, new = stats_of(table(0)).hold(PriorCounts(PRIORS[kind](table(9)))), stats_of(table(1))
    before = dense(stats).copy(), stats["count"].copy()
    undo = stats.undoing(new)
    blend(stats, new, 0.3, 10.0, 12.0)
    assert not np.array_equal(dense(stats), before[0])
    undo()
    np.testing.assert_array_equal(dense(stats), before[0])
    np.testing.assert_array_equal(stats["count"], before[1])
