"""Scripts for scikit-learn's LatentDirichletAllocation: a name works, or we say what takes its place."""

import inspect

import numpy as np
import pytest
from documented import in_the_manual
from estimator_cases import FIRST, over, with_parameters
from fitted import few_epochs
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation
from topic_cases import X

from sparsemix import CollapsedLDA, SparseLDA, SparseSCVB0LDA

pytestmark = few_epochs
ONE_A_CLASS = [case for case in FIRST if case in with_parameters("doc_topic_prior")]
CLASSES = [type(case.estimator) for case in ONE_A_CLASS]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_works_or_is_in_the_manual(cls):
    ours = inspect.signature(cls).parameters
    for name, value in LatentDirichletAllocation().get_params(deep=False).items():
        if name in ours:
            assert cls(**{name: value}).get_params(deep=False)[name] == value
            continue
        assert in_the_manual("comparisons/scikit_learn.rst", name)
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            cls(**{name: value})


@over(ONE_A_CLASS)
def test_every_attribute_and_method_is_there_or_is_refused_with_ours(case):
    theirs = LatentDirichletAllocation(2, max_iter=1, random_state=0).fit(X)
    est, missing = case.fitted(), {"bound_", "n_batch_iter_", "random_state_"}
    for name in vars(theirs):
        if name.endswith("_") and not name.startswith("_") and name not in missing:
            assert hasattr(est, name), name
    for name in ("fit", "fit_transform", "transform", "score", "perplexity", "get_feature_names_out", "set_output"):
        assert callable(getattr(est, name))
    for name, ours in {"bound_": "lower_bound_", "n_batch_iter_": "n_steps_", "random_state_": "random_state"}.items():
        assert not hasattr(est, name)
        with pytest.raises(AttributeError, match=rf"{type(est).__name__} has no {name}: .*{ours}"):
            getattr(est, name)


@over(ONE_A_CLASS)
def test_components_cannot_be_written_to_and_the_dirichlet_expectation_is_theirs(case):
    est = case.fitted()
    with pytest.raises(ValueError, match="read-only"):
        est.components_[0, 0] = 7.0
    with pytest.raises(AttributeError):
        est.components_ = np.ones_like(est.components_)
    parameters = np.asarray(est.components_, dtype=np.float64)
    expected = np.exp(psi(parameters) - psi(parameters.sum(axis=1))[:, None])
    np.testing.assert_allclose(est.exp_dirichlet_component_, expected, rtol=1e-4)


@over(ONE_A_CLASS)
def test_documents_without_normalisation_have_their_tokens(case):
    est = case.fitted()
    gamma = est.transform(X, normalize=False)
    tokens = np.asarray(X.sum(axis=1)).ravel()
    np.testing.assert_allclose(gamma.sum(axis=1), tokens + est.doc_topic_prior_.sum(), rtol=1e-5)
    np.testing.assert_array_equal(gamma / gamma.sum(axis=1, keepdims=True), est.transform(X))
    np.testing.assert_array_equal(case.make().fit_transform(X, normalize=False), gamma)


def test_batch_learning_of_another_class_is_named():
    assert SparseLDA(2, learning_method="batch", max_iter=1).fit(X).n_iter_ == 1
    with pytest.raises(ValueError, match=r"'memoized', .* as SparseLDA\(learning_method='batch'\) does. Got 'batch'"):
        SparseSCVB0LDA(2, learning_method="batch").fit(X)


def test_threads_of_collapsed_inference_read():
    one, two = (CollapsedLDA(2, n_jobs=n, max_iter=2, random_state=0).fit(X) for n in (None, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    assert one.score(X) == two.score(X)
