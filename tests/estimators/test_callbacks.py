"""scikit-learn's callbacks, from 1.9 on: they see every epoch, may stop a fit, and may fail."""

import numpy as np
import pytest
from estimator_cases import CASES, FIRST, of_any_length, over, with_methods
from fitted import (
    assert_never_fitted,
    assert_same,
    assert_same_bits,
    assert_unchanged,
    attributes,
    few_epochs,
    readings,
    snapshot,
)
from interruptions import Recorder
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sparsemix.topics._collapsed import hdp_recipe, unseen_documents
from sparsemix.topics._fitted import FittedCounts

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
pytestmark = few_epochs


@over(CASES)
def test_callback_is_called_once_an_epoch(case):
    rows, recorder = case.data.rows, Recorder()
    est = case.with_epochs(3).set_callbacks(recorder).fit(rows)
    assert recorder.calls == ["setup", "begin fit", *["begin pass", "end pass"] * est.n_iter_, "end fit", "teardown"]
    assert est.n_iter_ == (1 if case.makes_one_epoch else 3)
    assert recorder.scores[-1] == est.score(rows)  # at the end of the fit the fitted estimator is the result
    assert len(set(recorder.scores[:3])) >= est.n_iter_ - case.keeps_on  # and before, that of its pass, for good
    for fitted, read in recorder.seen:
        assert_same(read, readings(fitted, rows))
    assert_same_bits(clone(est).set_callbacks().fit(rows), est, rows)


@over(of_any_length(with_methods("update_from_stats")))
def test_what_callbacks_see_is_the_fit_of_so_many_epochs(case):
    """Although the fit then changes its statistics in place."""
    rows, recorder = case.data.rows, Recorder()
    case.with_epochs(3).set_callbacks(recorder).fit(rows)
    for n, (_, read) in enumerate(recorder.seen[:3], 1):
        assert_same(readings(case.with_epochs(n).fit(rows), rows), read)


@over(of_any_length(CASES))
def test_callback_may_stop_the_fit(case, monkeypatch):
    monkeypatch.setattr(unseen_documents, "SHARE", 0.0)  # else the first epochs depend on the number of all
    rows, recorder = case.data.rows, Recorder(stop_after=2)
    est = case.with_epochs(50)
    if case.has("tol"):
        est.set_params(tol=1e-9)
    est.set_callbacks(recorder).fit(rows)  # without a warning: the user wanted it so
    assert est.n_iter_ == len(est.history_) == recorder.calls.count("end pass") == 2
    assert est.score(rows) == recorder.scores[-1]
    two = case.with_epochs(2)
    if reads(case, "burn_in") and est.burn_in is None:
        two.set_params(burn_in=25)  # half of the epochs asked for
    assert_same_bits(est.set_callbacks(), two.fit(rows), rows)


@over(of_any_length(CASES))
def test_callback_that_fails_later_leaves_the_last_epoch(case, monkeypatch):
    monkeypatch.setattr(unseen_documents, "SHARE", 0.0)  # else the first epochs depend on the number of all
    # merges of topics are made at the end of a whole fit only
    monkeypatch.setattr(hdp_recipe, "merged_topics", lambda fit, *_: FittedCounts(fit.model, fit.stats))
    rows = case.data.rows
    for call, n_passes in ((("end pass", 2), 2), (("begin pass", 3), 2)):
        recorder = Recorder(fail_in=call)
        est = case.with_epochs(9, **burnt(case)).fit(case.data.other).set_callbacks(recorder)
        with pytest.raises(RuntimeError, match="the callback fails"):
            est.fit(rows)
        assert recorder.calls[-1] == "teardown"
        assert est.n_iter_ == n_passes
        wanted = case.with_epochs(n_passes, **burnt(case)).fit(rows)
        assert_same(readings(wanted, rows), readings(est.set_callbacks(), rows))
        told, published = attributes(wanted), attributes(est)
        told.pop("labels_", None)  # they are of a fit that has ended
        published.pop("labels_", None)
        assert_same(told, published)


def burnt(case):
    """Samples that do not depend on how many epochs are asked for."""
    return {name: 1 for name in ("burn_in", "thin") if reads(case, name)}


def reads(case, name):
    """Whether an estimator has a parameter, and no other one switches it off."""
    est = case.with_epochs(1)
    unread = (names for switch, by_value in est._unread.items() for names in [by_value.get(getattr(est, switch), ())])
    return case.has(name) and not any(name in names for names in unread)


@over(CASES)
def test_callback_that_fails_at_the_end_leaves_the_fit(case):
    rows, recorder = case.data.rows, Recorder(fail_in=("end fit", 1))
    est = case.with_epochs(3).fit(case.data.other).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="the callback fails"):
        est.fit(rows)
    assert recorder.calls[-1] == "teardown"
    assert_same(readings(case.with_epochs(3).fit(rows), rows), readings(est, rows))


@over(CASES)
def test_callback_that_fails_before_the_first_step_restores_the_model(case):
    for call in ("setup", "begin fit", "begin pass"):
        recorder = Recorder(fail_in=(call, 1))
        new, est = case.with_epochs(3).set_callbacks(recorder), case.fitted()
        with pytest.raises(RuntimeError, match="the callback fails"):
            new.fit(case.data.rows)
        assert recorder.calls[-1] == "teardown"
        assert_never_fitted(new.set_callbacks())
        est.set_callbacks(Recorder(fail_in=(call, 1)))
        before = snapshot(est, case.data.rows)
        with pytest.raises(RuntimeError, match="the callback fails"):
            est.fit(case.data.other)
        assert_unchanged(est, before, case.data.rows)


@over(FIRST)
def test_callback_reaches_the_estimator_inside_a_pipeline(case):
    recorder = Recorder()
    est = case.with_epochs(2).set_callbacks(recorder)
    make_pipeline(FunctionTransformer(accept_sparse=True), est).fit(case.data.rows)
    assert recorder.calls.count("end pass") == 2
    assert recorder.calls.count("setup") == recorder.calls.count("teardown") == 1


@over(FIRST)
def test_progress_bar_of_sklearn_runs_along(case):
    pytest.importorskip("rich")
    recorder = Recorder()
    est = case.with_epochs(3).set_callbacks(callback.ProgressBar(), recorder).fit(case.data.rows)
    assert recorder.calls.count("end pass") == est.n_iter_ == 3
    assert np.isfinite(est.score(case.data.rows))
