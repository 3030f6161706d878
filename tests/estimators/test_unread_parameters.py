"""A parameter of the model that is set changes the fit, or it is refused with the parameter that switches it off."""

import warnings

import numpy as np
import pytest
from estimator_cases import CASES, CLASSES, over
from fitted import assert_same, few_epochs, said

pytestmark = few_epochs

# Values far from each other; a case has at most one of them.
FAR = {
    "beta_prior": (3.0, 0.01), "binarize": (0.5, -1.0), "concentration": (7.0, 0.1),
    "concentration_prior": ((9.0, 0.5), (1.0, 5.0)), "concentration_type": ("own", "shared"),
    "covariance_prior": (9.0, 0.01), "covariance_type": ("diag", "full", "tied"),
    "degrees_of_freedom_prior": (20.0, 7.0), "discount": (0.6, 0.0), "doc_topic_prior": (3.0, 0.01),
    "input_topic_prior": (3.0, 0.01), "likelihood": ("full", "diag"), "max_components": (2, 3),
    "mean_precision_prior": (5.0, 0.001), "mean_prior": ([9.0, -9.0],), "new_cluster_threshold": (0.9, 0.5, 0.01),
    "n_components": (2,), "n_nonzero": (1, 2, None), "n_words": (40,), "prior_rows": (50.0, 0.01),
    "reg_covar": (0.5, 0.01), "tilt": (0.0, 5.0),
    "topic_word_prior": (3.0, 0.01), "weight_concentration_prior": (50.0, np.inf),
    "weight_concentration_prior_type": ("dirichlet_process", "dirichlet_distribution"), "window": (1, 4),
    "word_prior": (3.0, 0.01),
}  # fmt: skip
# What a search over learning methods or samplers may leave set, since it says how a fit computes and not what.
SCHEDULE = "the schedule of one learning method; partial_fit may have another"
SAMPLER = "a setting of one sampler or search"
LENGTH = "the length of a fit, which some learning methods decide without it"
COMPUTES = {
    "batch_size": SCHEDULE, "step_size": SCHEDULE, "input_step_size": SCHEDULE, "local_step_size": SCHEDULE,
    "mini_epoch": SCHEDULE, "n_averaged_iter": SCHEDULE, "total_samples": SCHEDULE, "learning_method": SCHEDULE,
    "early_stopping": LENGTH, "max_iter": LENGTH, "tol": LENGTH, "doc_update_tol": LENGTH,
    "max_doc_update_iter": LENGTH, "n_samples": SAMPLER, "sampler": SAMPLER, "annealing": SAMPLER,
    "candidates": SAMPLER, "split_merge": SAMPLER, "merge_criterion": SAMPLER, "u_rule": SAMPLER,
    "warm_documents": SAMPLER, "n_init": "the best of several initialisations may be the first",
    "n_restarts": "a restart is kept if it raises the bound", "n_chains": "the best of several chains may be the first",
    "init_params": "the tests of initialisations", "inference": "decides which others are read",
    "n_shards": "decides how a fit visits rows", "shuffle": "the order of the rows of the tests is random",
    "half_life": "acts from merge_every rows on", "prune_threshold": "acts from merge_every rows on",
    "merge_every": "more rows than the tests have", "warm_start": "acts in a second fit",
    "burn_in": LENGTH, "thin": LENGTH, "n_jobs": "changes no bit", "verbose": "prints", "random_state": "the seed",
    "dense_output": "the form of what transform returns", "columns": "kinds of columns that auto may read too",
    "handle_unknown": "rows of the tests have no new category",
}  # fmt: skip


def outcome(est, rows):
    """What a fit says, or None for one that is refused because a parameter is not read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return said(est.fit(rows), rows)
        except (TypeError, ValueError) as error:
            return str(error)


def test_every_parameter_is_in_a_list():
    names = {name for cls in CLASSES for name in cls().get_params(deep=False)}
    assert names == set(FAR) | set(COMPUTES)
    assert not set(FAR) & set(COMPUTES)


@over(CASES)
def test_a_parameter_changes_the_fit_or_is_refused(case):
    usual = outcome(case.make(), case.data.rows)
    assert isinstance(usual, dict), usual
    for name, value in case.estimator.get_params(deep=False).items():
        others = [other for other in FAR.get(name, ()) if not (type(other) is type(value) and other == value)]
        if name in FAR and not any(differs(usual, outcome(case.make(**{name: o}), case.data.rows)) for o in others):
            raise AssertionError(f"{case}: {name} is not read")


def differs(usual, found):
    """Whether a fit has other bits, or was refused."""
    if isinstance(found, str):
        return True
    try:
        assert_same(usual, found)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_unread_parameters_are_refused_by_name(cls):
    rows = {type(case.estimator): case.data.rows for case in CASES}[cls]
    for switch, by_value in cls._unread.items():
        for value, names in by_value.items():
            for name in names:
                default = cls().get_params(deep=False)[name]
                cls(**{switch: value, name: default})._validate_params()
                other = next(each for each in FAR.get(name, (3,)) if each != default)
                with pytest.raises(ValueError, match=f"^{name} has no effect with {switch}='{value}'; leave {name} at"):
                    cls(**{switch: value, name: other}).fit(rows)
