"""Names of a class: parameters, methods, properties, and attributes whose absence is explained."""

import inspect
import re

import numpy as np
import pytest
from documented import entries
from estimator_cases import CASES, CLASSES, FIRST, over, with_parameters
from fitted import assert_same, assert_same_bits, assert_unchanged, attributes, few_epochs, readings, said, snapshot
from scipy import sparse

from sparsemix import SparseGaussianMixture, SparseMixedMixture
from sparsemix._estimator.absent import Absent
from sparsemix.skipgram import TokenSequences

pytestmark = few_epochs
per_class = pytest.mark.parametrize("cls", [*CLASSES, TokenSequences])
PARAMETERS = {name for cls in CLASSES for name in cls().get_params(deep=False)}
# What scikit-learn sets, and explains itself.
OF_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_"}
OF_CLUSTERERS = "labels_", "cluster_centers_", "inertia_"


@per_class
def test_a_class_has_no_other_public_attributes(cls):
    for name in dir(cls):
        if not name.startswith("_"):
            explained = isinstance(inspect.getattr_static(cls, name), (property, Absent))
            assert explained or callable(getattr(cls, name)), name


@per_class
def test_the_signature_lists_the_parameters_that_are_checked(cls):
    parameters = inspect.signature(cls).parameters
    assert sorted(parameters) == sorted(cls().get_params(deep=False)) == sorted(cls._parameter_constraints)
    assert not {"args", "kwargs", "params"} & set(parameters)
    assert inspect.signature(cls) == inspect.signature(cls.__init__).replace(
        parameters=list(inspect.signature(cls.__init__).parameters.values())[1:]
    )


@over(CASES)
def test_assigning_parameters_of_other_estimators_changes_nothing(case):
    est, rows = case.make(), case.data.rows
    for name in PARAMETERS - set(est.get_params(deep=False)):
        setattr(est, name, 1.0)
    plain = case.fitted()
    assert_same_bits(est.fit(rows), plain, rows)
    if case.can("partial_fit"):
        assert_same_bits(est.partial_fit(rows), plain.partial_fit(rows), rows)


def assert_absences_are_explained(est, names):
    for name in names:
        if not hasattr(est, name):
            with pytest.raises(AttributeError) as caught:
                getattr(est, name)
            message = str(caught.value)
            assert name in message or "is not fitted yet; call fit" in message
            assert not message.endswith(f"object has no attribute {name!r}"), message


@over(CASES)
def test_every_absent_attribute_says_why(case):
    """Before a fit, after it, and after a block of a stream."""
    names = set(entries(type(case.estimator), "Attributes")) - OF_SCIKIT_LEARN
    is_mixture = case.can("predict")
    names |= set(OF_CLUSTERERS) if is_mixture else set()
    ests = [case.make(), case.fitted()]
    if case.can("partial_fit"):
        ests += [case.make().partial_fit(case.data.rows), case.fitted().partial_fit(case.data.rows)]
    for est in ests:
        assert_absences_are_explained(est, names)
    if is_mixture:
        assert not hasattr(ests[1], "inertia_")
        assert not hasattr(ests[1], "cluster_centers_")


@over([case for case in with_parameters("learning_method", "max_iter") if case.can("lower_bound")])
def test_the_bound_is_there_after_what_the_sentence_says(case):
    for max_iter in (0, 1):
        est = case.make(max_iter=max_iter).fit(case.data.rows)
        if hasattr(est, "lower_bound_"):
            continue
        with pytest.raises(AttributeError) as caught:
            est.lower_bound_  # noqa: B018
        message = str(caught.value)
        if "computes no bound;" in message:
            assert "score(X)" in message
            continue
        assert "lower_bound(expected_stats(X))" in message
        assert np.isfinite(est.lower_bound(est.expected_stats(case.data.rows)))
        more = 2 if "at least 2" in message else 1
        method = "batch" if "use \"batch\"" in message else est.learning_method
        assert hasattr(est.set_params(max_iter=more, learning_method=method).fit(case.data.rows), "lower_bound_")


@over([case for case in FIRST if case.can("predict") and not case.can("chain_log_joints_")])
def test_subclasses_may_set_attributes_that_a_mixture_lacks(case):
    class Labelled(type(case.estimator)):
        def fit(self, X, y=None):
            super().fit(X, y)
            self.labels_ = self.predict(X)
            return self

    est = Labelled(**case.estimator.get_params(deep=False)).fit(case.data.rows)
    np.testing.assert_array_equal(est.labels_, est.predict(case.data.rows))


# -- errors in the user's terms


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({}, {"covariance_type": "diag"}),
        ({}, {"inference": "em"}),
        ({"covariance_type": ("low_rank", 1)}, {"covariance_type": ("low_rank", 2)}),
    ],
)
def test_warm_start_of_another_kind_of_mixture_is_refused(given, changed):
    X = np.random.default_rng(0).normal(size=(60, 4))
    est = SparseGaussianMixture(3, warm_start=True, max_iter=1, tol=0.0, random_state=0, **given).fit(X)
    ((name, value),) = changed.items()
    old = getattr(est, name)
    message = f"fitted with {name}={old!r}, but {name} is now {value!r}; set {name}={old!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        est.set_params(**changed).fit(X)


TEXTS = ["the cat saw the dog", "a dog", "", "the end"] * 10
OF_KIND = {
    "points": "SparseMixedMixture.*(Tfidf|CountVectorizer)",
    "counts": "CountVectorizer",
    "flags": "OneHotEncoder",
    "words": "TokenSequences",
}


@over([case for case in FIRST if not isinstance(case.estimator, SparseMixedMixture)])  # it takes categories
def test_texts_are_refused_with_what_makes_numbers_of_them(case):
    pd = pytest.importorskip("pandas")
    fitted, remedy = case.fitted(), OF_KIND[case.data.kind]
    before = snapshot(fitted, case.data.rows)
    words = [text.split() for text in TEXTS]
    forms = [TEXTS, np.array(TEXTS), np.array(TEXTS, dtype=object)[:, None], words, pd.Series(TEXTS)]
    frame = pd.DataFrame({"year": np.arange(len(TEXTS)), "text": TEXTS})
    name, reader = type(fitted).__name__, fitted.transform if case.can("transform") else fitted.score
    fit = case.make().fit
    for call in (fit, reader, *([fitted.partial_fit] if case.can("partial_fit") else [])):
        for X in [*forms, frame] if call is fit else forms:
            with pytest.raises(ValueError, match=f"row 0 of X holds the text 'the.*{name} takes.*{remedy}"):
                call(X)
        with pytest.raises(ValueError, match=f"X is the text 'one'.*{remedy}"):
            call("one")
    assert_unchanged(fitted, before, case.data.rows)


def arrays_of(value):
    """Arrays in the value of an attribute."""
    if sparse.issparse(value):
        return arrays_of([value.data, value.indices])
    if isinstance(value, dict):
        return arrays_of(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [array for each in value for array in arrays_of(each)]
    return [value] if isinstance(value, np.ndarray) and value.size else []


@over(CASES)
def test_writing_into_attributes_does_not_change_the_model(case):
    """Arrays that belong to the model are read-only."""
    rows, plain, n_arrays = case.data.rows, case.fitted(), 0
    wanted = readings(plain, rows)
    for name in attributes(plain):
        est = case.fitted()  # nothing is computed and kept yet
        for array in arrays_of(getattr(est, name)):
            n_arrays += 1
            if array.flags.writeable:
                array[...] = array[::-1].copy() if array.dtype.kind not in "fiu" else 2 * array + 1
            else:
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = array
        assert_same(wanted, readings(est, rows))
        assert_same(*(said(each.partial_fit(rows), rows) if case.can("partial_fit") else {}
                      for each in (case.fitted(), est)), but=("history_", "labels_"))  # fmt: skip
    assert n_arrays > (not isinstance(plain, SparseMixedMixture))  # of which parameters are in summary()
