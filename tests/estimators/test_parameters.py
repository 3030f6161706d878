"""Parameters, tags and attributes: what every estimator says before and after a fit."""

import copy
import inspect
from pathlib import Path

import numpy as np
import pytest
from documented import entries
from estimator_cases import CASES, CLASSES, FIRST, over, with_methods, with_parameters
from fitted import assert_never_fitted, assert_same, assert_same_bits, attributes, dense, few_epochs, said
from sequence_cases import n_positions
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import sparsemix
from sparsemix import (
    CollapsedLDA,
    SkipGramTopicModel,
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseMixedMixture,
    SparseSCVB0LDA,
)

pytestmark = few_epochs
KINDS = {"mixture": "density_estimator", "clusters": "clusterer", "topics": None, "skipgram": None}
per_class = pytest.mark.parametrize("cls", CLASSES)


# Not in the table, and where their contract is.
ELSEWHERE = {
    "MixtureRegressor": "learns rows with outcomes: tests/mixture/test_mixture_regressor.py",
    "TokenSequences": "makes sequences of words from texts: tests/skipgram/test_token_sequences.py",
}


def test_every_public_estimator_is_in_the_table():
    public = [value for name in sparsemix.__all__ if inspect.isclass(value := getattr(sparsemix, name))]
    names = {cls.__name__ for cls in public if issubclass(cls, BaseEstimator)}
    assert names - set(ELSEWHERE) == {cls.__name__ for cls in CLASSES}
    assert all((Path(__file__).parents[2] / where.rpartition(" ")[2]).exists() for where in ELSEWHERE.values())


@per_class
def test_a_subclass_has_parameters_of_its_constructor(cls):
    class Wider(cls):
        def __init__(self, extra=0):
            self.extra = extra

    for each in (cls, Wider, cls):
        assert each._get_param_names() == BaseEstimator._get_param_names.__func__(each)


@pytest.mark.parametrize("wrong", [True, 1.0, "1", np.float32(1.0)])
def test_a_valid_value_does_not_make_an_equal_one_of_another_type_valid(wrong):
    X = np.arange(6.0)[:, None]
    for n_components in (1, np.int8(1)):
        SparseGaussianMixture(n_components).fit(X)
    for _ in range(2):
        with pytest.raises(ValueError, match="n_components"):
            SparseGaussianMixture(wrong).fit(X)


@over(CASES)
def test_parameters_survive_clone_and_set_params(case):
    est = case.fitted()
    twin = clone(est)
    assert twin is not est
    assert_never_fitted(twin)
    assert_same(est.get_params(deep=False), twin.get_params(deep=False))
    assert twin.set_params(random_state=7, verbose=3) is twin
    assert (twin.random_state, twin.verbose, est.random_state, est.verbose) == (7, 3, 0, 0)
    with pytest.raises(ValueError, match="n_topics"):
        est.set_params(n_topics=2)
    assert repr(est).startswith(f"{type(est).__name__}(")


@per_class
def test_parameters_are_the_keywords_of_the_constructor(cls):
    signature = inspect.signature(cls).parameters
    assert list(cls().get_params(deep=False)) == sorted(signature)
    for name, value in cls().get_params(deep=False).items():
        assert value is signature[name].default, name
    kinds = [parameter.kind for parameter in signature.values()]
    assert kinds[1:] == [inspect.Parameter.KEYWORD_ONLY] * (len(kinds) - 1)


@over(CASES)
def test_fit_leaves_parameters_alone(case):
    est = case.make()
    before = est.get_params(deep=False)
    values = copy.deepcopy(before)
    est.fit(case.data.rows)
    if case.can("partial_fit"):
        est.partial_fit(case.data.rows)
    assert all(est.get_params(deep=False)[name] is value for name, value in before.items())
    assert_same(values, before)


@over(CASES)
def test_tags(case):
    tags = get_tags(case.estimator)
    assert tags.estimator_type == KINDS[type(case.estimator).__module__.split(".")[1]]
    assert tags.input_tags.sparse == (case.data.sparse or case.has("concentration_type"))
    assert tags.input_tags.positive_only == case.data.sparse
    takes_missing = SparseGaussianMixture, SparseBernoulliMixture, SparseMixedMixture
    assert tags.input_tags.allow_nan == isinstance(case.estimator, takes_missing)
    assert tags.input_tags.string == isinstance(case.estimator, SparseMixedMixture)
    assert not tags.target_tags.required
    assert tags.requires_fit
    kept = [] if case.data.kind == "words" else ["float64", "float32"]
    assert tags.transformer_tags.preserves_dtype == kept


def needs_a_fit(est):
    """Public methods, but for those that make or describe an estimator."""
    free = {"fit", "fit_predict", "fit_transform", "partial_fit"}
    free |= {"from_parameters", "get_params", "get_metadata_routing"}
    names = [name for name in dir(est) if not name.startswith("_") and not name.startswith("set_")]
    return [name for name in names if name not in free and callable(getattr(type(est), name, None))]


@over(CASES)
def test_an_unfitted_estimator_says_so(case):
    est = case.make()
    with pytest.raises(NotFittedError):
        check_is_fitted(est)
    methods = needs_a_fit(est)
    assert "score" in methods
    without_rows = {"get_feature_names_out", "topic_table", "sample", "density_parameters"}
    for name in methods:
        parameters = inspect.signature(getattr(est, name)).parameters.values()
        n_needed = sum(parameter.default is inspect.Parameter.empty for parameter in parameters)
        arguments = () if name in without_rows else [case.data.rows] * max(1, n_needed)
        with pytest.raises(NotFittedError):
            getattr(est, name)(*arguments)
    for name in set(entries(type(est), "Attributes")) - {"n_features_in_", "feature_names_in_"}:
        says = r"not fitted yet; call fit|before it is fitted|: only a fit with|: only early stopping"
        with pytest.raises(AttributeError, match=says):
            getattr(est, name)
    assert_never_fitted(est)


# What additive estimators publish whether it tells something or not.
UNDOCUMENTED = {cls: {"converged_"} for cls in (SparseSCVB0LDA, SkipGramTopicModel)}  # no bound: they never converge
# Attributes that some data or parameters give.
AT_TIMES = {"feature_names_in_", "covariate_names_in_", "best_iter_", "stop_reason_"}
AT_TIMES |= {"component_labels_", "label_classes_"}

WITH_PARAMETERS = {CollapsedLDA: {"doc_topic_distribution_"}}  # with warm_start


@per_class
def test_every_attribute_is_documented_and_there(cls):
    documented = set(entries(cls, "Attributes")) - AT_TIMES - WITH_PARAMETERS.get(cls, set())
    documented |= UNDOCUMENTED.get(cls, set())
    found = {name for case in CASES if type(case.estimator) is cls for name in attributes(case.fitted())}
    assert found == documented


@over(CASES)
def test_attributes_of_a_fit(case):
    est, rows = case.fitted(), case.data.rows
    case.assert_valid(est, rows)
    n_passes = case.estimator.max_iter
    assert est.n_features_in_ == case.data.n_features(rows)
    assert est.n_iter_ == len(est.history_) == n_passes
    assert [record["n_iter"] for record in est.history_] == list(range(1, n_passes + 1))
    seconds = [record["seconds"] for record in est.history_]
    assert seconds[0] > 0
    assert (np.diff(seconds) > 0).all()
    for record in est.history_:
        (per_unit,) = (name for name in record if "_per_" in name)
        name, unit = per_unit.split("_per_")
        assert set(record) - {"change"} == {"n_iter", "seconds", name, per_unit} - {"change"}
        assert unit == ("token" if "transform" in dir(est) and not hasattr(est, "predict") else "row")
        if not getattr(est, "prune_threshold", None):  # which takes rows with the clusters that are forgotten
            np.testing.assert_allclose(record[name], record[per_unit] * units(case, unit), rtol=1e-9)
    if hasattr(est, "lower_bound_"):
        assert est.lower_bounds_ == [record["lower_bound"] for record in est.history_[-len(est.lower_bounds_) :]]
        assert len(est.lower_bounds_) == n_passes - (getattr(est, "learning_method", "") == "memoized")
        assert est.lower_bound_ == est.lower_bounds_[-1]
    assert hasattr(est, "lower_bound_") == hasattr(est, "lower_bounds_")


def units(case, unit):
    """Tokens, or rows that say something."""
    rows = case.data.rows
    if case.data.kind == "words":
        return n_positions(rows)
    if unit == "token":
        return float(rows.sum())
    return float((np.abs(rows).sum(axis=1) > 0).sum())


@over(with_parameters("learning_method"))
def test_a_bound_is_there_where_learning_has_one(case):
    bounded = case.estimator.learning_method != "online" and not isinstance(case.estimator, SparseSCVB0LDA)
    assert hasattr(case.fitted(), "lower_bound_") == bounded


@over(with_methods("partial_fit"))
def test_a_stream_counts_its_rows_and_drops_attributes_of_the_fit(case):
    est, n = case.make(), case.data.rows.shape[0]
    for n_steps, part in enumerate((slice(0, n // 2), slice(n // 2, n // 2 + 1), slice(n // 2 + 1, n)), start=1):
        est.partial_fit(case.data.rows[part])
        assert est.n_samples_seen_ == part.stop
        assert getattr(est, "n_steps_", n_steps) == n_steps
    assert not {"history_", "lower_bound_", "lower_bounds_", "labels_"} & set(attributes(est))
    assert est.n_features_in_ == case.data.n_features(case.data.rows)
    fitted = case.fitted()
    assert (fitted.n_samples_seen_, getattr(fitted, "n_steps_", 0)) == (n, 0)
    fitted.partial_fit(case.data.rows[: n // 2])
    assert (fitted.n_samples_seen_, getattr(fitted, "n_steps_", 1)) == (n + n // 2, 1)
    assert not {"history_", "lower_bound_", "lower_bounds_", "converged_", "labels_"} & set(attributes(fitted))


@over([case for case in CASES if case.can("fit_transform")])
def test_fit_transform_is_fit_and_transform(case):
    rows, weight = case.data.rows, np.random.default_rng(2).uniform(0.8, 2.0, case.data.rows.shape[0])
    np.testing.assert_array_equal(dense(case.make().fit_transform(rows)), dense(case.fitted().transform(rows)))
    if case.rows_alone:
        return
    weighed = case.make()
    theta = weighed.fit_transform(rows, sample_weight=weight)
    np.testing.assert_array_equal(dense(theta), dense(case.make().fit(rows, sample_weight=weight).transform(rows)))


@over([case for case in CASES if case.can("fit_predict")])
def test_fit_predict_is_fit_and_predict(case):
    rows = case.data.rows
    est = case.make()
    labels = est.fit_predict(rows)
    if hasattr(est, "labels_"):
        np.testing.assert_array_equal(labels, est.labels_)
    else:
        np.testing.assert_array_equal(labels, est.predict(rows))
    assert_same_bits(est, case.fitted(), rows)


@over(CASES)
def test_reading_changes_nothing(case):
    est = case.fitted()
    held = dict(vars(est))
    first = said(est, case.data.rows)
    assert_same(first, said(est, case.data.rows))
    assert dict(vars(est)) == held
    if case.can("partial_fit"):
        twin = case.fitted().partial_fit(case.data.rows)
        assert_same_bits(est.partial_fit(case.data.rows), twin, case.data.rows)


@over(FIRST)
@pytest.mark.parametrize(("verbose", "n_lines"), [(0, 0), (1, 6), (2, 3)])
def test_verbose_prints_a_line_every_so_many_epochs(case, verbose, n_lines, capsys):
    est = case.with_epochs(6, verbose=verbose).fit(case.data.rows)
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if line.startswith(f"{type(est).__name__} epoch")]
    assert len(told) == n_lines
    assert all("nan" not in line for line in told)
    (record,) = est.history_[-1:]
    (objective,) = {name for name in record if "_per_" in name}
    if not np.isnan(record[objective]):
        assert all(f"{objective.replace('_', ' ')} " in line for line in told)
    others = [line for line in lines if line not in told]  # epochs of a start; a library that could be faster
    assert all(line.startswith(("start from", "OpenBLAS")) and verbose for line in others)
