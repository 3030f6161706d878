"""Step sizes with a scale in front: (scale, offset, decay) is min(1, scale * (t + offset) ** -decay)."""

import numpy as np
import pytest
from estimator_cases import over, with_parameters
from fitted import assert_same_bits, few_epochs
from test_forms_of_blocks import takes_blocks

from sparsemix import blocks
from sparsemix._engine.schedules import MiniEpochs, Stochastic
from sparsemix._rows.rates import LearningRates, learning_rate, rule_of
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.word_clocks import log_kept
from sparsemix.mixture._estimator import MixtureEstimator

pytestmark = few_epochs

NAMES = "step_size", "local_step_size", "input_step_size"
RULES = [(100.0, 1000.0, 0.9), (0.25, 0.0, 0.6), (3.0, 1.5, 1.0)]


def with_steps(case, *step_size):
    """The case with several batches, all of whose steps follow this rule."""
    params = case.estimator.get_params(deep=False)
    steps = {name: step_size for name in NAMES if params.get(name) is not None}
    return case.make(batch_size=20, **steps)


def fit_with_steps(case, *step_size):
    return with_steps(case, *step_size).fit(case.data.rows)


@over(with_parameters("step_size", "batch_size"))
def test_a_scale_of_one_gives_the_bits_of_two_numbers(case):
    assert_same_bits(fit_with_steps(case, 2.0, 0.7), fit_with_steps(case, 1.0, 2.0, 0.7), case.data.rows)


@over(with_parameters("step_size", "batch_size"))
def test_a_large_scale_makes_steps_of_size_one(case):
    assert_same_bits(fit_with_steps(case, 0.0, 1e-300), fit_with_steps(case, 1e12, 3.0, 0.7), case.data.rows)


@over([case for case in with_parameters("step_size", "batch_size") if takes_blocks(case)])
def test_fits_over_blocks_have_steps_of_size_one_too(case):
    rows = case.data.rows
    parts = [rows[: rows.shape[0] // 2], rows[rows.shape[0] // 2 :]]
    one, large = (with_steps(case, *step) for step in ((0.0, 1e-300), (1e12, 3.0, 0.7)))
    for est in (one, large):
        blocks.fit(est, parts)
    assert_same_bits(one, large, rows)


@over([case for case in with_parameters("step_size", "total_samples") if case.can("partial_fit")])
def test_streams_have_steps_of_size_one_too(case):
    one, large = (with_steps(case, *step) for step in ((0.0, 1e-300), (1e12, 3.0, 0.7)))
    for est in (one, large):
        est.set_params(total_samples=1000)
        for _ in range(2):
            est.partial_fit(case.data.rows)
    assert_same_bits(one, large, case.data.rows)


@over([case for case in with_parameters("step_size", "total_samples") if isinstance(case.estimator, MixtureEstimator)])
def test_half_life_discounts_earlier_rows(case):
    rows = case.data.rows
    plain, long, short = (case.make(step_size=step) for step in ((10.0, 0.6), ("half_life", 1e12), ("half_life", 9.0)))
    for est in (plain, long, short):
        est.partial_fit(rows).partial_fit(rows)
    n = float(plain._fitted.stats["mass"]) / 2
    assert float(short._fitted.stats["mass"]) == pytest.approx(n + n * 0.5 ** (n / 9.0))
    np.testing.assert_allclose(long._fitted.stats["count"], plain._fitted.stats["count"], rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="give only one of them"):
        case.make(step_size=("half_life", 9.0), total_samples=100).partial_fit(rows)


@pytest.mark.parametrize("rule", RULES)
def test_every_schedule_has_the_rates_of_a_slow_twin(rule):
    scale, offset, decay = rule
    expected = np.array([min(1.0, scale / (t + offset) ** decay) for t in range(1, 41)])
    rates = [learning_rate(t, *rule_of(rule)) for t in range(1, 41)]
    np.testing.assert_allclose(rates, expected, rtol=1e-14)
    np.testing.assert_allclose(LearningRates(*rule_of(rule))(40)[:40], expected, rtol=1e-14)
    kept = log_kept(64, *rule_of(rule))[:41]
    np.testing.assert_allclose(1.0 - np.exp(np.diff(kept)), np.minimum(expected, 1.0 - 1e-9), rtol=1e-8)
    for kind in (Stochastic, MiniEpochs):
        schedule = kind(40, 1, np.random.default_rng(0), decay, offset, 40.0, scale=scale)
        stats = SufficientStatistics({"count": np.full(1, 40.0)}, {"mass": np.full((), 40.0)})
        for rho, _ in zip(expected, schedule.batches(), strict=True):
            before = stats.learned_count.copy()
            schedule.absorb(stats, SufficientStatistics({"count": np.zeros(1)}, {"mass": np.ones(())}))
            np.testing.assert_allclose(stats.learned_count, (1.0 - rho) * before, rtol=1e-12, atol=1e-12)


def test_two_numbers_have_no_scale():
    assert rule_of((10.0, 0.7)) == (0.7, 10.0, 1.0)
    assert learning_rate(3, 0.7, 2.0) == 5.0**-0.7
