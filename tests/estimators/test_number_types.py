"""Parameters of any number type do what Python's own numbers do, and stay what the user gave."""

import inspect
import numbers
import pickle
import re

import numpy as np
import pytest
from estimator_cases import CASES, CLASSES, FIRST, over
from fitted import assert_same_bits, few_epochs
from plans import takes_blocks
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import sparsemix
from sparsemix import (
    CollapsedLDA,
    GibbsNGGPMixture,
    SparseGaussianMixture,
    StreamingNGGPMixture,
    blocks,
    clusters,
    datasets,
    metrics,
    topics,
)
from sparsemix._estimator.parameters import plain_arguments
from sparsemix.skipgram import TokenSequences

pytestmark = few_epochs
INTEGERS = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64


class Opaque:
    """A number that can be converted and nothing else: arithmetic and comparisons raise."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        raise TypeError("a parameter was compared before it was converted")

    __hash__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = None


class OpaqueInteger(Opaque):
    def __int__(self):
        return self.value


class OpaqueReal(Opaque):
    def __float__(self):
        return self.value


numbers.Integral.register(OpaqueInteger)
numbers.Real.register(OpaqueReal)


def opaque(value):
    if isinstance(value, float):
        return OpaqueReal(value)
    if isinstance(value, tuple):
        return tuple(map(opaque, value))
    return OpaqueInteger(value) if isinstance(value, int) and not isinstance(value, bool) else value


def forms(value):
    """A number or boolean in every type that holds it exactly."""
    if isinstance(value, bool):
        return [np.bool_(value), np.array(value)]
    if isinstance(value, int):
        fitting = [kind for kind in INTEGERS if np.iinfo(kind).min <= value <= np.iinfo(kind).max]
        return [form for kind in fitting for form in (kind(value), np.array(value, dtype=kind))]
    if isinstance(value, float):
        kinds = [np.float64, *([np.float32] if float(np.float32(value)) == value else [])]
        return [form for kind in kinds for form in (kind(value), np.array(value, dtype=kind))]
    if isinstance(value, tuple):
        return list(zip(*map(forms, value), strict=False))
    return []


def numeric(est):
    params = est.get_params(deep=False)
    return {name: value for name, value in params.items() if isinstance(value, (bool, int, float, tuple))}


@over(CASES)
def test_learning_reads_parameters_after_conversion_only(case):
    """Fits, streams and predictions with parameters that only conversion can use."""
    given = {name: opaque(value) for name, value in case.estimator.get_params(deep=False).items()}
    plain, est, rows = case.fitted(), case.make().set_params(**given).fit(case.data.rows), case.data.rows
    if case.can("partial_fit"):
        plain, est = plain.partial_fit(rows), est.partial_fit(rows)
    assert_same_bits(est, plain, rows)
    if case.can("sample"):
        for ours, theirs in zip(est.sample(5), plain.sample(5), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert all(getattr(est, name) is value for name, value in given.items())
    if takes_blocks(case.estimator) and case.data.kind != "words" and est._params.learning_method != "online":
        est, plain = (blocks.fit(one, [rows[:20], rows[20:]]) for one in (clone(est), clone(plain)))
        assert_same_bits(est, plain, rows)


@pytest.mark.parametrize("cls", [*CLASSES, TokenSequences])
def test_every_number_type_is_read_as_pythons_own(cls):
    settings = [case.estimator for case in CASES if type(case.estimator) is cls] or [cls(max_df=0.5)]
    for (name, value), setting in {item: est for est in settings for item in numeric(est).items()}.items():
        for form in forms(value):
            est = clone(setting).set_params(**{name: form})
            est._validate_params()
            read = getattr(est._params, name)
            assert (type(read), read) == (type(value), value), (name, form)


@over(FIRST)
@pytest.mark.parametrize("last", [False, True])
def test_fits_have_the_same_bits_and_keep_what_was_given(case, last):
    given = {name: forms(value)[-last] for name, value in numeric(case.estimator).items()}
    est, rows = case.make().set_params(**given), case.data.rows
    assert_same_bits(est.fit(rows), case.fitted(), rows)
    for twin in (est, clone(est), pickle.loads(pickle.dumps(est))):
        assert {name: type(value) for name, value in twin.get_params(deep=False).items() if name in given} == {
            name: type(value) for name, value in given.items()
        }
    assert clone(est).get_params(deep=False)["random_state"] is est.random_state or np.ndim(est.random_state) == 0
    assert est.set_params(random_state=given["random_state"]).random_state is given["random_state"]


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8])
def test_integers_of_every_width_count_components(kind):
    """Widths whose products overflow: 100 times 100, and one more than 127."""
    X = np.random.default_rng(0).normal(size=(250, 2))
    grid = {"n_components": np.arange(40, 121, 40).astype(kind)}
    base = SparseGaussianMixture(covariance_type="diag", init_params="random", max_iter=1, tol=0.0, random_state=0)
    found = GridSearchCV(base, grid, cv=2, error_score="raise").fit(X)
    same = GridSearchCV(base, {"n_components": [40, 80, 120]}, cv=2).fit(X)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], same.cv_results_["mean_test_score"])


def test_split_and_merge_proposals_do_not_depend_on_number_types():
    X = np.random.default_rng(0).normal(size=(60, 2)) + 5.0 * (np.arange(60) % 3)[:, None]
    settings = {"concentration_prior": (np.float32(2.0), np.int64(1)), "max_components": np.int64(10)}
    same = {"concentration_prior": (2.0, 1), "max_components": 10}
    est, plain = (GibbsNGGPMixture("diag", max_iter=10, random_state=0, **params).fit(X) for params in (settings, same))
    assert_same_bits(est, plain, X)


# -- functions and methods


def public_functions():
    for module in (datasets, metrics, topics, clusters, blocks, sparsemix):
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield f"{module.__name__}.{name}", getattr(module, name)
    for cls in CLASSES:
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            if not name.startswith("_") and inspect.isfunction(method) and method.__module__.startswith("sparsemix"):
                yield f"{cls.__name__}.{name}", method


def test_numbers_are_converted_before_a_function_starts():
    """Functions whose defaults are numbers, or whose arguments a docstring calls so."""
    converted, wrong = [], []
    for name, function in public_functions():
        numbers = {
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if type(parameter.default) in (int, float)
            or re.search(rf"^ +{parameter.name} : (int|float)", inspect.getdoc(function) or "", re.MULTILINE)
        }
        if numbers - {"first_row"}:  # which all ways of summing convert in one place
            (converted if converts(function) else wrong).append(f"{name}: {sorted(numbers)}")
    assert converted
    assert not wrong, "\n".join(wrong)


def converts(function):
    """Whether a decorator of the function is ``plain_arguments``."""
    while hasattr(function, "__wrapped__"):
        if function.__code__ is plain_arguments(len).__code__:
            return True
        function = function.__wrapped__
    return False


COUNTS = datasets.make_sparse_lda(30, n_features=12, n_components=3, random_state=0)[0]
SEED = {"random_state": 0}
CALLS = {
    "make_sparse_lda": lambda n, _: datasets.make_sparse_lda(n(30), n(12), n(3), doc_length=n(100), **SEED),
    "make_bars": lambda n, x: datasets.make_bars(n(16), n(30), doc_length=n(100), doc_topic_prior=x(1.0), **SEED),
    "make_bars_mixture": lambda n, x: datasets.make_bars_mixture(n(16), n(30), baseline=x(0.5), **SEED),
    "make_cells": lambda n, _: datasets.make_cells(n(30), n(100), n(3), regions_per_cell=n(20), **SEED),
    "make_patch_mixture": lambda n, _: datasets.make_patch_mixture(n(30), n(16), n(3), rank=n(2), **SEED),
    "make_skip_gram": lambda n, _: datasets.make_skip_gram(n(30), n(12), n(3), doc_length=n(100), **SEED),
    "split_by_type": lambda n, x: metrics.split_by_type(COUNTS, x(0.5), n(0)),
    "topic_coherence": lambda n, _: metrics.topic_coherence(COUNTS[:3].toarray() + 1.0, COUNTS, n_top_words=n(5)),
    "topic_diversity": lambda n, _: metrics.topic_diversity(COUNTS[:3].toarray() + 1.0, n(5)),
    "choose_n_topics": lambda n, _: [
        (row["n_topics"], row["score"])
        for row in topics.choose_n_topics(
            CollapsedLDA(max_iter=2, random_state=0), COUNTS, [n(2), n(3)], n_top_words=n(5), random_state=n(0)
        ).results
    ],
    "select_nggp_hyperparameters": lambda n, x: clusters.select_nggp_hyperparameters(
        StreamingNGGPMixture(), COUNTS, {"merge_every": [n(100)], "word_prior": [x(0.5)]}, train_size=x(0.5)
    ).results[0]["score"],
    "from_arrays": lambda n, _: [len(block) for block in blocks.from_arrays(np.zeros((300, 2)), rows=n(100))],
}


@pytest.mark.parametrize("integer", [np.int8, np.uint8, np.int64, np.array, OpaqueInteger])
@pytest.mark.parametrize("name", CALLS)
def test_functions_give_the_same_for_every_number_type(name, integer):
    real = {np.array: np.array, OpaqueInteger: OpaqueReal}.get(integer, np.float32)
    np.testing.assert_equal(*(plain_parts(CALLS[name](n, x)) for n, x in ((int, float), (integer, real))))


def plain_parts(result):
    """Parts of a result that can be compared."""
    if isinstance(result, (list, tuple)):
        return [plain_parts(part) for part in result]
    return result.toarray() if hasattr(result, "toarray") else result


@pytest.mark.parametrize("cls", CLASSES)
def test_integers_beyond_the_machines_are_refused_by_name(cls):
    for name, value in cls().get_params(deep=False).items():
        if type(value) is int and name != "verbose":
            with pytest.raises(ValueError, match=name):
                cls(**{name: 2**63})._validate_params()
