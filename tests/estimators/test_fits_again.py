"""Fits that continue from others, and steps from statistics, wherever those were summed."""

import copy
import warnings

import numpy as np
import pytest
from estimator_cases import CASES, over, with_methods, with_parameters, with_warm_start
from fitted import (
    assert_close,
    assert_same,
    assert_same_bits,
    assert_unchanged,
    attributes,
    few_epochs,
    readings,
    said,
    snapshot,
    sums_of,
)
from scipy import sparse
from sequence_cases import n_positions
from sklearn.exceptions import ConvergenceWarning

from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix.topics import _plan

pytestmark = few_epochs
ADDITIVE = with_methods("update_from_stats")


@over(with_warm_start())
def test_warm_start_continues_learning(case):
    """Learns further, differs from a fit that starts again, and gives the same bits again."""
    rows = case.data.rows
    est = case.with_epochs(2, warm_start=True).fit(rows)
    twin = copy.deepcopy(est)
    assert_same_bits(est.fit(rows), twin.fit(rows), rows)
    case.assert_valid(est, rows)
    assert est.n_iter_ == len(est.history_) == 2
    cold = case.with_epochs(2).fit(rows)
    with pytest.raises(AssertionError):
        assert_same(readings(cold, rows), readings(est, rows))
    assert_same_bits(cold, case.with_epochs(2).fit(rows).fit(rows), rows)  # without warm_start, all again
    if hasattr(est, "lower_bound_") and not case.learns_priors:
        assert est.lower_bound_ > cold.lower_bound_ - 1e-4 * abs(cold.lower_bound_)  # in another order of batches


# A chain publishes the mean of its samples, and continues from the last.
@over([case for case in with_warm_start() if getattr(case.estimator, "inference", "") != "gibbs"])
def test_warm_start_without_an_epoch_leaves_what_was_fitted(case):
    rows = case.data.rows
    est = case.with_epochs(3, warm_start=True).fit(rows)
    before = readings(est, rows)["score"]
    est.set_params(max_iter=0).fit(rows)
    np.testing.assert_allclose(est.score(rows), before, rtol=1e-3)
    assert (est.n_iter_, est.history_) == (0, [])
    assert getattr(est, "n_samples_seen_", 0) == 0


@over(with_warm_start())
def test_warm_start_of_other_rows_is_valid(case):
    """More rows or fewer, longer documents or shorter: the statistics of the start are scaled to their mass."""
    rows = case.data.rows
    stack = sparse.vstack if case.data.sparse else np.vstack
    est = case.fitted(warm_start=True)
    longer = case.data.other if case.data.kind in ("words", "flags") else 7 * rows
    others = rows[:12], stack([rows, rows]), longer, case.data.many
    for other in others:
        again = copy.deepcopy(est).set_params(max_iter=0).fit(other)
        if case in ADDITIVE:
            np.testing.assert_allclose(again._fitted.stats["mass"], total(case, other), rtol=1e-6)
        case.assert_valid(again.set_params(max_iter=2).fit(other), other)


def total(case, rows):
    """What statistics are scaled by: rows, or tokens in collapsed inference, of which it needs those with contexts."""
    if case.data.kind == "words":
        return n_positions(rows)
    return float(rows.sum()) if issubclass(case.model, StochasticCollapsedModel) else rows.shape[0]


def may_make_no_epoch(case):
    """A chain makes one epoch at least."""
    return type(case.estimator)._parameter_constraints["max_iter"][0].left == 0


@over(filter(may_make_no_epoch, with_parameters("max_iter")))
def test_no_epoch_leaves_the_start(case):
    rows = case.data.rows
    est = case.with_epochs(0).fit(rows)
    case.assert_valid(est, rows)
    assert (est.n_iter_, est.history_) == (0, [])
    assert not getattr(est, "converged_", False)
    assert getattr(est, "n_samples_seen_", 0) == 0
    assert not hasattr(est, "lower_bound_")
    if hasattr(est, "components_"):
        counts = est.components_ - est.topic_word_prior_
        np.testing.assert_allclose(counts.sum(), case.data.units(rows), rtol=1e-3)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@over([case for case in with_parameters("tol") if not case.makes_one_epoch])
def test_absence_of_convergence_is_warned_of_where_it_was_asked_for(case):
    rows, est = case.data.rows, case.with_epochs(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not case.has("covariance_type"):  # as in scikit-learn's mixtures
            assert not getattr(est.fit(rows), "converged_", False)  # tol=0: as many epochs as asked for
    est.set_params(tol=1e-12)
    has_end = getattr(est, "learning_method", "") != "online" and getattr(est, "inference", "") != "gibbs"
    if has_end and type(est).__name__ != "StreamingNGGPMixture":
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            est.fit(rows)
    else:  # an online fit has no bound, epochs are asked for, a chain has no end
        est.fit(rows)
    assert not est.converged_
    assert est.n_iter_ == 2


# -- statistics


@over(ADDITIVE)
@pytest.mark.parametrize("total_samples", [None, 1000])
def test_partial_fit_is_statistics_and_a_step(case, total_samples, monkeypatch):
    monkeypatch.setattr(_plan, "MOST_ENTRIES", 0)  # else topics may be initialised again
    rows, n = case.data.rows, case.data.rows.shape[0]
    est = case.make(total_samples=total_samples).partial_fit(rows[:30])
    other = copy.deepcopy(est)
    for part in (slice(30, 31), slice(31, 45), slice(45, n)):
        est.partial_fit(rows[part])
        before = snapshot(other, rows)
        stats = other.expected_stats(rows[part])
        assert_unchanged(other, before, rows)  # looking changes nothing
        assert other.update_from_stats(stats) is other
        if getattr(case.estimator, "sampler", None) == "gibbs":  # sums go to the counts at once, or by way of a table
            here, there = said(est, rows), said(other, rows)
            shares = here.pop("transform"), there.pop("transform")
            np.testing.assert_allclose(*shares, atol=0.05)  # updates are extrapolated, and rounding with them
            assert_close(here, there, rtol=1e-4)
        else:
            assert_same_bits(est, other, rows)
    assert (est.n_samples_seen_, est.n_steps_) == (n, 4)


@over(ADDITIVE)
def test_statistics_of_blocks_add_up(case):
    """In any order. Topics have single precision and need n_nonzero=None, or small entries move to other topics.

    Draws are keyed by the number of a row in all the data.
    """
    rows, n = case.data.rows, case.data.rows.shape[0]
    params = {"n_nonzero": None} if case.has("n_nonzero", "topic_word_prior") else {}
    est = case.make(**params).partial_fit(rows[:30])
    whole = dense(est.expected_stats(rows[30:]))
    parts = [est.expected_stats(rows[a:b], first_row=a) for a, b in ((45, n), (30, 31), (31, 45))]
    close = {"rtol": 1e-4, "atol": 1e-4} if case.data.sparse else {"rtol": 1e-9, "atol": 1e-9}
    total = parts[0] + parts[1] + parts[2]
    for name, value in dense(total).items():
        np.testing.assert_allclose(value, whole[name], err_msg=name, **close)
    before = sums_of(est)
    est.update_from_stats(total)
    after = sums_of(est)
    for name in ("count", "mass", "word_topic", "first", "second"):
        if name in before:
            np.testing.assert_allclose(after[name], before[name] + whole[name], err_msg=name, **close)
    assert est.n_samples_seen_ == n


@over(ADDITIVE)
def test_counters_after_steps_from_statistics_count_rows(case):
    """Rows and not their weights, nor rounds: a step of size one forgets what was seen before."""
    rows, n = case.data.rows, case.data.rows.shape[0]
    weight = np.linspace(0.5, 3.0, n)
    est = case.make().partial_fit(rows, sample_weight=weight)
    for step in (2, 3):
        parts = [est.expected_stats(rows[a:b], weight[a:b], first_row=a) for a, b in ((0, 40), (40, n))]
        assert (parts[0].n_rows, parts[1].n_rows) == (40, n - 40)
        est.update_from_stats(parts[0] + parts[1], learning_rate=1.0)
        assert (est.n_samples_seen_, est.n_steps_) == (n, step)
    est.update_from_stats(est.expected_stats(rows[:7], first_row=0), learning_rate=0.5)
    assert (est.n_samples_seen_, est.n_steps_) == (n + 7, 4)


BATCHES = [case for case in ADDITIVE if getattr(case.estimator, "learning_method", "") == "batch"]


@over([case for case in BATCHES if not case.learns_priors])  # which a start waits with
def test_blocks_with_memory_learn_as_a_batch_fit_does(case):
    """The sum over blocks, a step of size one, its bound: three epochs of ``fit``, remembered documents included."""
    rows, n = case.data.rows, case.data.rows.shape[0]
    fit = case.with_epochs(3).fit(rows)
    est = case.with_epochs(0).fit(rows)
    bounds = ((0, 1), (1, 40), (40, n))
    memories = [est.row_memory(b - a, first_row=a) for a, b in bounds]
    for _ in range(3):
        pairs = zip(bounds, memories, strict=True)
        parts = [est.expected_stats(rows[a:b], first_row=a, memory=memory) for (a, b), memory in pairs]
        est.update_from_stats(parts[0] + parts[1] + parts[2], learning_rate=1.0)
    np.testing.assert_allclose(est.lower_bound(), fit.lower_bound_, rtol=1e-4)
    assert est.lower_bound(est._fitted.stats) == est.lower_bound()
    close = {"rtol": 2e-3, "atol": 2e-3} if case.data.sparse else {"rtol": 1e-6, "atol": 1e-9}
    for name, value in sums_of(fit).items():
        if name in ("count", "mass", "word_topic", "first", "second"):
            np.testing.assert_allclose(sums_of(est)[name], value, err_msg=name, **close)


@over(ADDITIVE)
def test_an_invalid_place_of_a_block_is_refused(case):
    """Numbers beyond those of compiled loops too."""
    est = case.fitted()
    for wrong in (-1, 1.5, "2", 2**63, np.uint64(2**64 - 1), 2**70):
        with pytest.raises(ValueError, match=r"first_row is .*; give the index of X's first row"):
            est.expected_stats(case.data.rows, first_row=wrong)
    est.expected_stats(case.data.rows, first_row=np.uint64(2**60))
    with pytest.raises(TypeError, match="stats is a dict; give a result of expected_stats"):
        est.lower_bound({})


def dense(stats):
    return {name: value.toarray() if hasattr(value, "toarray") else value for name, value in stats._arrays()}


@over(with_methods("partial_fit"))
def test_a_stream_of_unknown_length_loses_nothing(case):
    """For any blocks, the first one replaces the initial statistics, and all rows count."""
    rows, n = case.data.rows, case.data.rows.shape[0]
    est = case.make()
    for part in (slice(0, 40), slice(40, 41), slice(41, n)):
        est.partial_fit(rows[part])
        seen = rows[: part.stop]
        if case in ADDITIVE:
            one_cluster = case.has("weight_concentration_prior")
            units = part.stop if one_cluster else case.data.units(seen)
            np.testing.assert_allclose(est._fitted.stats["mass"], total(case, seen), rtol=1e-6)
            np.testing.assert_allclose(est._fitted.stats.learned_count.sum(), units, rtol=1e-4)
        elif not est.prune_threshold:
            np.testing.assert_allclose(est.counts_.sum(), part.stop, rtol=1e-9)
        if hasattr(est, "components_"):
            totals = case.data.word_totals(seen)
            sums = (est.components_ - est.topic_word_prior_).sum(axis=0)
            np.testing.assert_allclose(sums, totals, rtol=1e-3, atol=1e-2)


@over(CASES)
def test_more_of_a_stream_is_more_of_the_same(case):
    """A fit and a stream continue from each other, and a fit forgets the stream."""
    if not case.can("partial_fit"):
        assert not hasattr(case.make(), "partial_fit")
        return
    rows = case.data.rows
    est = case.make().partial_fit(rows)
    assert_same_bits(est.fit(rows), case.fitted(), rows)
    streamed = est.partial_fit(rows[:30])
    assert streamed is est
    assert "history_" not in attributes(est)
    assert np.isfinite(est.score(rows))
