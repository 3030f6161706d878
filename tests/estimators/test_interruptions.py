"""Ctrl-C and errors in the middle: a fit leaves its last completed step, or the model that was there before."""

import inspect
import signal
import threading

import numpy as np
import pytest
from estimator_cases import CASES, FIRST, of_any_length, over, with_methods
from fitted import (
    assert_close,
    assert_never_fitted,
    assert_same,
    assert_same_bits,
    assert_unchanged,
    attributes,
    few_epochs,
    said,
    snapshot,
    sums_of,
)
from interruptions import at_call, ctrl_c_at, fail_at, fail_when

from sparsemix._engine import schedules
from sparsemix._engine.monitor import Monitor
from sparsemix.clusters import _gibbs_nggp_mixture, _streaming_nggp_mixture
from sparsemix.topics._collapsed import hdp_recipe, unseen_documents
from sparsemix.topics._fitted import FittedCounts

pytestmark = few_epochs
ABSORBING = [cls for _, cls in inspect.getmembers(schedules, inspect.isclass) if "absorb" in vars(cls)]
OF_PASSES = ("n_iter_", "history_", "lower_bound_", "lower_bounds_")
ERRORS = (KeyboardInterrupt, MemoryError)
# Models whose steps change statistics in place, at the end of a batch.
ADDITIVE = with_methods("update_from_stats")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """A sweep over rows has several blocks."""
    monkeypatch.setattr(_streaming_nggp_mixture, "ROWS", 20)
    monkeypatch.setattr(_gibbs_nggp_mixture, "ROWS", 20)


def owners(case, name):
    """Classes that have the method: a step of the model, one of the schedule, or the monitor's note of one."""
    if name in ("step", "absorb"):
        return [Monitor] if name == "step" else ABSORBING
    return [case.model] if hasattr(case.model, name) else case.model.__subclasses__()


def calls_of(case, name, monkeypatch, n_passes, rows=None):
    """How often a method is called by a fit of so many epochs."""
    with monkeypatch.context() as patch:
        calls = fail_at(patch, owners(case, name), name, None)
        case.with_epochs(n_passes).fit(case.data.rows if rows is None else rows)
        return len(calls)


def interrupted(case, est, rows, monkeypatch, name, call, error=KeyboardInterrupt, method="fit"):
    with monkeypatch.context() as patch:
        fail_at(patch, owners(case, name), name, call, error)
        with pytest.raises(error):
            getattr(est, method)(rows)


@over(CASES)
def test_failure_before_the_first_step_restores_the_model(case, monkeypatch):
    # additive fits begin with steps of their start, of which one is left where they continue warm
    steps = case.steps if case in ADDITIVE else ()
    begun = {name: calls_of(case, name, monkeypatch, 0, case.data.other) for name in steps}
    for warm_start in (False, True) if case.has("warm_start") and not case.rows_alone else (False,):
        params = {"warm_start": warm_start} if case.has("warm_start") else {}
        est = case.fitted(**params)
        before = snapshot(est, case.data.rows)
        for name, error in zip((*case.steps, "step"), ERRORS * 2, strict=True):
            first, warm_first = 1 + begun.get(name, 0), 1 + (bool(begun) and name == "global_step")
            new = case.make()
            interrupted(case, new, case.data.other, monkeypatch, name, first, error)
            assert_never_fitted(new)
            interrupted(case, est, case.data.other, monkeypatch, name, warm_first if warm_start else first, error)
            assert_unchanged(est, before, case.data.rows)


@over(of_any_length(CASES))
def test_interrupt_leaves_the_last_completed_epoch(case, monkeypatch):
    """At the first call of the third epoch; an old model does not shine through, and learning continues."""
    rows = case.data.rows
    monkeypatch.setattr(unseen_documents, "SHARE", 0.0)  # else the first epochs depend on the number of all
    # merges of topics are made at the end of a whole fit only
    monkeypatch.setattr(hdp_recipe, "merged_topics", lambda fit, *_: FittedCounts(fit.model, fit.stats))
    calls = calls_of(case, case.steps[0], monkeypatch, 2)
    est = case.with_epochs(9).fit(case.data.other)
    interrupted(case, est, rows, monkeypatch, case.steps[0], calls + 1)
    two = case.with_epochs(2).fit(rows)
    assert est.n_iter_ == len(est.history_) == 2
    assert not getattr(est, "converged_", False)
    assert est.history_[-1].keys() == two.history_[-1].keys()
    if case.keeps_on:  # sums are computed again, since a sweep may have begun
        same = ("labels_", "n_samples_")
        assert_close(without(attributes(two), same), without(attributes(est), same), rtol=1e-9)
    else:
        assert not hasattr(est, "labels_")
        vars(two).pop("labels_", None)  # they are of a fit that has ended
        assert_same_bits(two, est, rows)
    case.assert_valid(est, rows)
    if case.can("partial_fit"):
        assert np.isfinite(est.partial_fit(rows).score(rows))


def without(values, names):
    return {name: value for name, value in values.items() if name not in names}


@over([case for case in CASES if case.keeps_on and not case.makes_one_epoch])
def test_interrupt_in_a_later_epoch_leaves_all_rows_in_clusters(case, monkeypatch):
    rows = case.data.rows
    calls = calls_of(case, "sweep", monkeypatch, 3)
    est = case.with_epochs(9).fit(case.data.other)
    interrupted(case, est, rows, monkeypatch, "sweep", calls - 1)  # with blocks of the third epoch behind it
    three = case.with_epochs(3).fit(rows)
    assert est.n_iter_ == len(est.history_) == 2
    assert_same(attributes(est)["history_"][0], attributes(three)["history_"][0])
    assert est.n_samples_seen_ == rows.shape[0]
    case.assert_valid(est, rows)
    if not getattr(est, "prune_threshold", None) and not getattr(est, "merge_criterion", None):
        np.testing.assert_allclose(est.counts_.sum(), three.counts_.sum(), rtol=1e-9)
    if case.can("partial_fit"):
        assert not hasattr(est, "labels_")
        assert est.partial_fit(rows).n_samples_seen_ == 2 * rows.shape[0]
    else:  # labels are those of the chain as it stands
        says = est.labels_ >= 0
        np.testing.assert_allclose(est.counts_, np.bincount(est.labels_[says]), rtol=1e-9)


@over(ADDITIVE)
def test_error_within_a_step_restores_the_model(case, monkeypatch):
    """Statistics change in place, so there is no complete step to publish."""
    params = {"warm_start": True}
    continued = said(case.fitted(**params).fit(case.data.rows), case.data.rows)
    for name, error in (("absorb", MemoryError), ("global_step", KeyboardInterrupt), ("step", MemoryError)):
        est = case.fitted(**params)
        before = snapshot(est, case.data.rows)
        call = calls_of(case, name, monkeypatch, 1) - calls_of(case, name, monkeypatch, 0) + 2
        interrupted(case, est, case.data.other, monkeypatch, name, call, error)
        assert_unchanged(est, before, case.data.rows)
        assert_same(continued, said(est.fit(case.data.rows), case.data.rows))  # as if nothing had happened


@pytest.mark.usefixtures("ctrl_c")
@over(of_any_length(ADDITIVE))
def test_ctrl_c_within_a_step_waits_for_its_end(case, monkeypatch):
    """The result is that of an interrupt at the beginning of the next batch."""
    rows, first = case.data.rows, case.steps[0]
    handler = signal.getsignal(signal.SIGINT)
    for name in ("absorb", "global_step", "step"):
        est, twin, come = case.with_epochs(9), case.with_epochs(9), []
        call = calls_of(case, name, monkeypatch, 1) + 1
        with monkeypatch.context() as patch:
            ctrl_c_at(patch, owners(case, name), name, call)
            with pytest.raises(KeyboardInterrupt):
                est.fit(rows)
        assert signal.getsignal(signal.SIGINT) is handler
        with monkeypatch.context() as patch:
            at_call(patch, owners(case, name), name, call, lambda come=come: come.append(True))
            fail_when(patch, case.model, first, lambda come=come: come)
            with pytest.raises(KeyboardInterrupt):
                twin.fit(rows)
        assert est.n_iter_ == 1
        assert_same(sums_of(twin), sums_of(est))
        assert_same_bits(twin, est, rows, but=OF_PASSES)  # an epoch of one step is complete there, and not here
        assert np.isfinite(est.partial_fit(rows).score(rows))  # and it continues to learn


@over(ADDITIVE)
def test_interrupted_block_of_a_stream_leaves_the_stream(case, monkeypatch):
    rows = case.data.rows
    est, new = case.make().partial_fit(rows[:30]), case.make()
    before = snapshot(est, rows)
    for name in case.steps:
        for error in (KeyboardInterrupt, MemoryError):
            for one in (new, est):
                interrupted(case, one, rows[30:], monkeypatch, name, 1, error, "partial_fit")
            assert_never_fitted(new)
            assert_unchanged(est, before, rows)
    twin = case.make().partial_fit(rows[:30]).partial_fit(rows[30:])
    assert_same_bits(est.partial_fit(rows[30:]), twin, rows)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("method", ["partial_fit", "update_from_stats"])
@over(ADDITIVE)
def test_ctrl_c_within_a_step_of_a_stream_waits_for_its_end(case, method, monkeypatch):
    """The step is whole, so that no block counts twice."""
    rows = case.data.rows

    def step(est, stats):
        return est.partial_fit(rows[30:]) if method == "partial_fit" else est.update_from_stats(stats)

    for total_samples in (None, 500):
        est, whole = (case.make(total_samples=total_samples).partial_fit(rows[:30]) for _ in range(2))
        stats = est.expected_stats(rows[30:])
        with monkeypatch.context() as patch:
            calls = fail_at(patch, owners(case, "global_step"), "global_step", None)
            step(whole, stats)
        with monkeypatch.context() as patch:  # births of a stream make steps of their own before the block's
            ctrl_c_at(patch, owners(case, "global_step"), "global_step", len(calls))
            with pytest.raises(KeyboardInterrupt):
                step(est, stats)
        assert_same_bits(whole, est, rows)


STREAMS = [case for case in with_methods("partial_fit") if case.keeps_on]


@over(STREAMS)
def test_interrupted_stream_of_single_rows_has_the_rows_before_it(case, monkeypatch):
    rows = case.data.rows
    fitted, new = case.fitted(), case.make()
    before = snapshot(fitted, rows)
    for one in (fitted, new):
        interrupted(case, one, rows, monkeypatch, "stream", 1, method="partial_fit")
    assert_unchanged(fitted, before, rows)
    assert_never_fitted(new)
    est = case.make().partial_fit(rows[:5])
    interrupted(case, est, rows[5:], monkeypatch, "stream", 2, method="partial_fit")
    assert est.n_samples_seen_ == 25
    assert_same_bits(est, case.make().partial_fit(rows[:5]).partial_fit(rows[5:25]), rows)
    whole = case.make().partial_fit(rows[:5]).partial_fit(rows[5:])
    assert_same_bits(est.partial_fit(rows[25:]), whole, rows)


@pytest.mark.usefixtures("ctrl_c")
@over(STREAMS)
def test_ctrl_c_in_a_stream_waits_for_the_end_of_a_block(case, monkeypatch):
    rows, est = case.data.rows, case.make().partial_fit(case.data.rows[:5])
    with monkeypatch.context() as patch:
        ctrl_c_at(patch, case.model, "stream", 1)
        with pytest.raises(KeyboardInterrupt):
            est.partial_fit(rows[5:])
    assert est.n_samples_seen_ == 25
    assert_same_bits(est, case.make().partial_fit(rows[:5]).partial_fit(rows[5:25]), rows)


@over(FIRST)
def test_fit_in_a_thread_does_not_touch_signals(case):
    """Only the main thread may set handlers of signals."""
    est = case.make()
    thread = threading.Thread(target=est.fit, args=(case.data.rows,))
    thread.start()
    thread.join()
    assert_same(said(est, case.data.rows), said(case.fitted(), case.data.rows))


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN])
@over(FIRST)
def test_fit_without_a_handler_of_signals(case, handler):
    old = signal.signal(signal.SIGINT, handler)
    try:
        case.fitted()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, old)
