"""Wrong rows and weights: a sentence that names the row and the remedy, and a model that stays to the bit."""

import re
from contextlib import contextmanager

import numpy as np
import pytest
import topic_cases
from estimator_cases import CASES, FIRST, of_kind, over, with_methods, with_warm_start, with_weights
from fitted import READERS, assert_holds, assert_never_fitted, assert_same_bits, assert_unchanged, few_epochs, snapshot
from scipy import sparse

pytestmark = few_epochs
FIRST_CALLS = ("fit", "partial_fit", "fit_transform", "fit_predict")
LATER_CALLS = ("partial_fit", "expected_stats")
READINGS = (*READERS, "perplexity", "aic", "bic")


@contextmanager
def refused(what, message):
    """The block raises an error that says the message; ``what`` is wrong with it."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if not re.search(message, str(error), re.DOTALL):
            pytest.fail(f"{what}: {error}")
    else:
        pytest.fail(f"{what} was taken")


def weighted(case, weight):
    """The weights, where there may be any."""
    return {} if case.rows_alone else {"sample_weight": weight}


def calls(case, names):
    return [name for name in names if case.can(name)]


@over(CASES)
def test_wrong_input_leaves_an_unfitted_estimator_unfitted(case):
    for method in calls(case, FIRST_CALLS):
        for name, (rows, weight, message) in case.data.bad.items():
            est = case.make()
            with refused(f"{method} of {name}", message):
                getattr(est, method)(rows, **weighted(case, weight))
            assert_never_fitted(est)


@over(CASES)
def test_wrong_input_leaves_a_fitted_model_alone(case):
    est = case.fitted()
    before = snapshot(est, case.data.rows)
    for name, (rows, weight, message) in case.data.bad.items():
        with refused(f"fit of {name}", message):
            est.fit(rows, **weighted(case, weight))
        assert_holds(est, before)
    for method in calls(case, LATER_CALLS):
        for name, (rows, weight, message) in case.data.later.items():
            with refused(f"{method} of {name}", message):
                getattr(est, method)(rows, sample_weight=weight)
            assert_holds(est, before)
    assert_unchanged(est, before, case.data.rows)
    if case.can("partial_fit"):  # and it continues as if nothing had happened
        twin = case.fitted().partial_fit(case.data.rows)
        assert_same_bits(est.partial_fit(case.data.rows), twin, case.data.rows)


@over(with_warm_start())
def test_wrong_input_leaves_the_state_that_a_warm_start_continues(case):
    est = case.fitted(warm_start=True)
    before = snapshot(est, case.data.rows)
    for name, (rows, weight, message) in case.data.later.items():
        with refused(f"fit of {name}", message):
            est.fit(rows, sample_weight=weight)
        assert_holds(est, before)
    assert_unchanged(est, before, case.data.rows)
    assert_same_bits(est.fit(case.data.rows), case.fitted(warm_start=True).fit(case.data.rows), case.data.rows)


@over(CASES)
def test_readings_name_wrong_rows(case):
    est = case.fitted()
    before = snapshot(est, case.data.rows)
    for method in calls(case, READINGS):
        for name, (rows, message) in case.data.unread.items():
            with refused(f"{method} of {name}", message):
                getattr(est, method)(rows)
    assert_unchanged(est, before, case.data.rows)


@over([case for case in with_methods("score") if not case.can("topic_table")])
def test_scores_name_wrong_weights(case):
    est = case.fitted()
    before = snapshot(est, case.data.rows)
    for name, (rows, weight, message) in case.data.later.items():
        with refused(f"score of {name}", message):
            est.score(rows, sample_weight=weight)
    assert_unchanged(est, before, case.data.rows)


@over(with_weights())
def test_row_is_the_callers_in_spite_of_weights_of_zero(case):
    weight = np.ones(case.data.rows.shape[0])
    weight[:20] = 0.0
    name = next(name for name in ("sparse nan", "sparse -inf", "infinity") if name in case.data.bad)
    rows, _, message = case.data.bad[name]
    assert "row 41" in message
    for method in calls(case, ("fit", "partial_fit")):
        with refused(method, message):
            getattr(case.make(), method)(rows, sample_weight=weight)


WITHOUT_TOKENS = {
    "dense": (np.zeros((4, topic_cases.V)), None),
    "sparse": (sparse.csr_array((4, topic_cases.V)), None),
    "stored zeros": (sparse.csr_array((np.zeros(3), np.arange(3), [0, 1, 2, 3, 3]), shape=(4, topic_cases.V)), None),
    "no weight": (np.vstack([np.zeros((3, topic_cases.V)), np.ones((1, topic_cases.V))]), [1.0, 1.0, 2.0, 0.0]),
}


@over(of_kind("counts", "words"))
def test_documents_without_words_are_refused(case):
    est = case.fitted()
    before = snapshot(est, case.data.rows)
    message = "no document of X has two words" if case.data.kind == "words" else "no document of X has a token of posi"
    for name, (rows, weight) in WITHOUT_TOKENS.items():
        if weight is not None and case.rows_alone:
            continue
        new = case.make()
        for one in (new, est):
            with refused(name, f"{message}.*at least one"):
                one.fit(rows, **weighted(case, weight))
        if case.can("partial_fit", "expected_stats"):  # clusters may be none yet
            with refused(name, f"{message}.*at least one"):
                new.partial_fit(rows, sample_weight=weight)
        assert_never_fitted(new)
    assert_unchanged(est, before, case.data.rows)


@over(with_methods("update_from_stats"))
def test_learning_rate_outside_its_range_is_refused(case):
    est = case.fitted()
    before, stats = snapshot(est, case.data.rows), est.expected_stats(case.data.rows)
    for rate in (0.0, -0.5, 1.5):
        with refused(f"learning rate {rate}", r"learning_rate is .*\(0, 1\]"):
            est.update_from_stats(stats, learning_rate=rate)
    assert_unchanged(est, before, case.data.rows)


@pytest.mark.filterwarnings("ignore:all rows of X have nearly the same direction")
@over(with_warm_start())
def test_warm_start_with_other_components_is_refused(case):
    est = case.fitted(warm_start=True)
    before, params = snapshot(est, case.data.rows), est.get_params(deep=False)
    own = {"init_params": "random", case.prior: None} if case.can("topic_table") else {}
    old = est.n_components
    message = rf"warm_start.*fitted with n_components={old}, but n_components is now {old - 1};.*warm_start=False"
    with refused("fewer components", message):
        est.set_params(n_components=old - 1, **own).fit(case.data.rows)
    est.set_params(**params)
    assert_unchanged(est, before, case.data.rows)
    if case.data.kind == "words":
        return  # whatever the width
    wide = case.data.later["wrong width"][0]
    with refused("wrong width", "features.*expecting"):
        est.fit(wide)
    assert_unchanged(est, before, case.data.rows)
    est.set_params(warm_start=False, **own)  # what is given has the old width
    if case.has("mean_prior"):
        est.set_params(mean_prior=None)
    assert est.fit(wide).n_features_in_ == wide.shape[1]


def test_all_that_can_be_wrong_was_tried():
    for case in FIRST:
        assert set(case.data.bad) <= set(case.data.later)
        assert any("width" in name for name in case.data.unread)
        assert len(case.data.unread) > 10
