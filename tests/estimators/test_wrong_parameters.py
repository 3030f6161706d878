"""Wrong values of every parameter of every estimator are named, and change nothing."""

import numpy as np
import pytest
from estimator_cases import CLASSES, FIRST, over, with_methods
from fitted import assert_holds, assert_never_fitted, assert_unchanged, few_epochs, snapshot
from sklearn.utils._param_validation import InvalidParameterError

from sparsemix import (
    CollapsedLDA,
    GibbsNGGPMixture,
    SkipGramTopicModel,
    SparseGaussianMixture,
    SparseLDA,
    SparseSCVB0LDA,
    StreamingNGGPMixture,
)

pytestmark = few_epochs

# What no estimator takes, by the name of the parameter.
WRONG = {
    "annealing": [3.0, "slow", (3.0, 1.0), [3.0, 1.0, 0.5], (-0.1, 1.0, 0.5), (3.0, 0.0, 0.5), (3.0, 1.0, 1.1)],
    "burn_in": [-1, 1.5],
    "batch_size": [0, -1, 10.5],
    "candidates": [0, -1, 2.5, "nearest", None],
    "columns": ["all", None, 3, ("diag", [0])],
    "concentration": [0, 1e-320, 1e300, -1.0, np.nan, "auto"],
    "concentration_type": ["tied", None],
    "concentration_prior": [1.0, [1.0, 1.0], "gamma"],
    "covariance_prior": [0, 1e-150, 1e150, -1.0, "auto"],
    "covariance_type": ["round", None, ("low_rank", 0), ("low_rank", 1.5), ("full", 2), ("low_rank",), ["low_rank", 2]],
    "dense_output": ["yes", None, 2],
    "degrees_of_freedom_prior": [0, 1e-40, -1.0, 1e300, "auto"],
    "discount": [-0.1, 1e-11, 1.0, np.nan, None],
    "doc_topic_prior": [0, -1.0, np.nan, np.inf, "auto"],
    "doc_update_tol": [-0.1, np.nan],
    "early_stopping": ["yes", 2, None],
    "half_life": [0.0, -1.0, "auto"],
    "handle_unknown": ["other", None],
    "inference": ["sampling", None],
    "init_params": ["magic", None, 3],
    "input_step_size": [0.9, None, (5.0,), [5.0, 0.9], (-1.0, 0.9), (5.0, 0.0), (5.0, 1.5), (np.nan, 0.9),
                        (0.0, 5.0, 0.9), (1.0, -1.0, 0.9), (1.0, 5.0, 0.9, 1.0)],
    "input_topic_prior": [0, -1.0, np.nan, np.inf, "auto"],
    "learning_method": ["svi", None],
    "likelihood": ["tied", "poisson", None],
    "local_step_size": [0.9, (10.0,), [10.0, 0.9], (-1.0, 0.9), (10.0, 0.0), (10.0, 1.5), (np.nan, 0.9),
                        (0.0, 10.0, 0.9), (1.0, -1.0, 0.9), (1.0, 10.0, 0.9, 1.0)],
    "max_components": [0, -1, 1.5],
    "max_doc_update_iter": [0, 1.5],
    "max_iter": [-1, 1.5, "all"],
    "mean_precision_prior": [0, 1e-40, -1.0, 1e300, "auto"],
    "mean_prior": [1.0, "zero"],
    "merge_criterion": ["evidence", True, ("similarity",), ("similarity", np.nan), ("auto", 0.5), ["similarity", 0.5]],
    "merge_every": [0, -1, 1.5, None],
    "n_averaged_iter": [-1, 1.5],
    "mini_epoch": [40, (40,), [40, 5], (0, 5), (40, 0), (40.5, 5), (40, 1.5)],
    "n_chains": [0, -1, 1.5, None],
    "n_components": [0, -1, 2.5, "many", None],
    "n_shards": [0, -1, 1.5, None],
    "n_init": [0, -1, 1.5, None],
    "n_jobs": [1.5, "all"],
    "n_nonzero": [0, -1, 2.5, "all"],
    "n_restarts": [-1, 0.5, 2**31],
    "n_samples": [0, -1, 1.5],
    "n_words": [0, -1, 1.5],
    "new_cluster_threshold": [-0.1, 1.1, "auto"],
    "prior_rows": [0, 1e-40, -1.0, np.nan, np.inf, "auto"],
    "prune_threshold": [-1.0, "auto"],
    "random_state": ["seed", -1.5],
    "reg_covar": [-1e-6, 1e150, np.nan],
    "sampler": ["lda", None],
    "shuffle": ["yes", 2],
    "split_merge": ["yes", None],
    "step_size": [
        0.6,
        None,
        (10.0,),
        [10.0, 0.6],
        (-1.0, 0.6),
        (10.0, 0.0),
        (10.0, 1.5),
        (np.nan, 0.6),
        (0.0, 10.0, 0.6),
        (np.inf, 10.0, 1.5),
        (1.0, 10.0, 0.6, 1.0),
        ("half_life", 0.0),
        ("rows", 10.0),
    ],
    "thin": [0, -1, 1.5, None],
    "tilt": [-1.0, 1e300, np.nan, None, "pitman"],
    "tol": [-1.0, np.nan],
    "topic_word_prior": [0, -1.0, np.nan, np.inf, "auto"],
    "total_samples": [0, 1e-40, -1, np.nan, np.inf, 1e18],
    "u_rule": ["mean", None, ("count",), ("mode", "all"), ("mean", "count")],
    "verbose": [-1, "loud"],
    "warm_documents": [-1, "cold", 1.5],
    "warm_start": ["yes", 2],
    "weight_concentration_prior": [0, -1.0, np.nan, "auto"],
    "weight_concentration_prior_type": ["process", None],
    "word_prior": [0, 1e-38, -1.0, np.nan, np.inf, "auto"],
    "beta_prior": [0, 1e-38, -1.0, np.nan, np.inf, "auto"],
    "binarize": [-0.1, np.nan, "0"],
    "window": [0, -1, 2.5, None],
}
# Parameters that take booleans; scikit-learn's checks accept them as seeds too.
BOOLEANS = {"dense_output", "early_stopping", "random_state", "shuffle", "split_merge", "verbose", "warm_documents",
            "warm_start"}  # fmt: skip
# What some do and others do not.
ALSO_WRONG = {
    (SparseGaussianMixture, "tol"): [None],
    (SparseLDA, "tol"): [None],
    (StreamingNGGPMixture, "tol"): [None],
    (SparseSCVB0LDA, "burn_in"): [None],
    (SparseSCVB0LDA, "n_samples"): [None],
    (SparseSCVB0LDA, "learning_method"): ["batch"],
    (CollapsedLDA, "init_params"): ["em"],
    (GibbsNGGPMixture, "init_params"): ["random"],
    (GibbsNGGPMixture, "max_iter"): [0],
    (StreamingNGGPMixture, "max_iter"): [0],
    (SparseGaussianMixture, "inference"): ["gibbs"],
    (SkipGramTopicModel, "sampler"): ["gibbs"],
}


def test_every_parameter_has_wrong_values_above():
    assert set(WRONG) == {name for cls in CLASSES for name in cls().get_params(deep=False)}
    assert all(name in cls().get_params(deep=False) for cls, name in ALSO_WRONG)


def calls():
    for case in FIRST:
        cls = type(case.estimator)
        for name in case.estimator.get_params(deep=False):
            values = [*WRONG[name], *ALSO_WRONG.get((cls, name), [])]
            if name not in BOOLEANS:  # Python counts them as whole numbers
                values += [True, np.True_]
            yield pytest.param(case, name, values, id=f"{case.name}-{name}")


@pytest.mark.parametrize(("case", "name", "values"), list(calls()))
def test_invalid_parameter_is_named(case, name, values):
    rows, fitted = case.data.rows, case.fitted()
    before, valid = snapshot(fitted, rows), fitted.get_params(deep=False)[name]
    message = f"'{name}' parameter of {type(case.estimator).__name__}"
    for value in values:
        new = case.make().set_params(**{name: value})
        for call in (new.fit, *([new.partial_fit, fitted.partial_fit] if case.can("partial_fit") else []), fitted.fit):
            fitted.set_params(**{name: value})
            with pytest.raises(InvalidParameterError, match=message):
                call(rows)
        assert_never_fitted(new)
        assert_holds(fitted.set_params(**{name: valid}), before)
    assert_unchanged(fitted, before, rows)


@pytest.mark.parametrize("case", FIRST, ids=lambda case: case.name)
def test_unknown_parameters_are_refused(case):
    """Also n_jobs of estimators that visit rows in order, in one thread."""
    for name in ("n_topics", "n_clusters", *([] if case.has("n_jobs") else ["n_jobs"])):
        with pytest.raises(ValueError, match=name):
            case.make().set_params(**{name: 2})


@over(with_methods("sample"))
def test_wrong_numbers_of_rows_to_draw_are_named(case):
    est = case.fitted()
    for wrong in (0, -1, 2.0, True, "2", None):
        with pytest.raises(ValueError, match=rf"n_samples is {wrong!r}; give a whole number above zero"):
            est.sample(wrong)
