"""The model of large fits: terms between those measured, its formula by hand, and a simulation with known ends."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import scale_model

TERMS = {"row": 2.0, "sum_bytes": 1.25e9, "freeze": 3.0, "thaw": 5.0, "add": 7.0, "step": 11.0, "task": 13.0,
         "byte": 0.0, "spread": 0.1}  # fmt: skip


def test_terms_are_on_a_line_through_those_measured():
    low, high = scale_model.SIZES
    records = [{"parameters": {"n_components": K}, "scores": TERMS | {"row": float(row)}} for K, row in
               ((low, 1), (high, 3))]  # fmt: skip
    found = [scale_model.terms_of(records, K)["row"] for K in (low, high, (low + high) // 2, 2 * high - low)]
    np.testing.assert_allclose(found, [1.0, 3.0, 2.0, 5.0])


def test_parts_of_a_round_are_those_counted_by_hand():
    """A machine alone sends nothing to workers; of four, two hops up and down, or three copies from one worker."""
    move = 1.0 + scale_model.LATENCY
    alone, four = (scale_model.forecast(TERMS, 100, n, threads=1) for n in (1, 4))
    assert (alone["visits"], alone["down_tree"], alone["down_star"]) == (200.0, 0.0, 0.0)
    assert (four["visits"], four["down_tree"], four["down_star"]) == (50.0, 2.0 * move, 3.0 * move)
    assert four["up"] - alone["up"] == pytest.approx(2.0 * (move + 7.0 + 10.0 + 3.0))
    # two tasks of two workers: visits and pickles, one sum, three steps, seven tasks
    assert scale_model.cpu_of_round(TERMS, 100, 2, 2) == 206.0 + 20.0 + 3 * 16.0 + 7 * 13.0


def test_visits_end_together_if_they_are_equal_and_later_if_not_or_if_workers_die():
    def ends(spread, deaths):
        return scale_model.slowest(np.random.default_rng(0), 3600.0, 4, spread, deaths)

    assert ends(0.0, 0.0) == pytest.approx(3600.0)
    assert 1.01 < ends(0.3, 0.0) / 3600.0 < 1.5
    assert ends(0.0, 10.0) == pytest.approx(3600.0 + 10.0 * (scale_model.DEATH + 1800.0 / 3.0), rel=0.3)
