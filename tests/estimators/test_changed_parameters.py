"""Parameters that change between ``fit`` and ``partial_fit``: refused, honoured or kept, as this table says."""

import pytest
from estimator_cases import FIRST
from fitted import assert_holds, assert_same_bits, few_epochs, snapshot

pytestmark = few_epochs

# They define the fitted model, so another value needs another fit.
REFUSED = {
    "n_components": lambda old: old + 1,
    "covariance_type": lambda old: "diag" if old == "full" else "full",
    "inference": lambda old: "em" if old == "vb" else "vb",  # not valid for words in order
    "likelihood": lambda old: "multinomial" if old == "full" else "full",
}
# They take effect with the next call; for topics the number of responsibilities belongs to the model.
HONOURED = {"n_nonzero": 1, "total_samples": 1e4, "half_life": 5.0, "concentration": 1e9, "prune_threshold": 1e3}
# They belong to ``fit``, or to the prior of the fitted model.
KEPT = {
    "batch_size": 7, "beta_prior": 2.0, "doc_topic_prior": 0.7, "init_params": "random", "input_topic_prior": 0.7,
    "learning_method": "online", "max_iter": 9, "mean_precision_prior": 3.0, "n_init": 2, "random_state": 5,
    "reg_covar": 0.5, "tol": 0.5, "topic_word_prior": 0.7, "weight_concentration_prior": 9.0, "word_prior": 0.7,
    "covariance_prior": 3.0, "degrees_of_freedom_prior": 50.0, "warm_start": True, "n_jobs": 2,
    "dense_output": True,
}  # fmt: skip
STREAMS = [case for case in FIRST if case.can("partial_fit")]


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case.name)
def test_parameters_that_change_after_a_fit(case):
    rows = case.data.rows
    small = {"merge_every": 10} if case.has("merge_every") else {}  # every so many rows clusters are forgotten
    usual = case.fitted(**small).partial_fit(rows)
    for name, change in REFUSED.items():
        if case.has(name):
            est = case.fitted()
            before, old = snapshot(est, rows), est.get_params(deep=False)[name]
            est.set_params(**{name: change(old if old != "auto" else usual.likelihood_)})
            with pytest.raises(ValueError, match=f"{name}.*(call fit|must be)"):
                est.partial_fit(rows)
            assert_holds(est.set_params(**{name: old}), before)
    off = {name for switch, of in type(usual)._unread.items() for name in of.get(getattr(usual, switch), ())}
    for name, value in KEPT.items():
        if case.has(name) and name not in off:
            try:
                est = case.fitted(**small).set_params(**{name: value})
                assert_same_bits(est.partial_fit(rows), usual, rows)
            except AssertionError as error:
                raise AssertionError(f"{name} is not kept") from error
    for name, value in HONOURED.items():
        if case.has(name) and not (name == "n_nonzero" and case.can("topic_table")):
            changed = case.fitted(**small).set_params(**{name: value}).partial_fit(rows)
            with pytest.raises(AssertionError):
                assert_same_bits(changed, usual, rows)
