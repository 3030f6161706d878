"""Warnings and errors of growing mixtures that name the parameter or class to try."""

import warnings

import numpy as np
import pytest

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture

ESTIMATORS = [StreamingNGGPMixture(random_state=0), GibbsNGGPMixture(max_iter=3, random_state=0)]


def documents(n_single, n_pairs, length=25.0):
    """Documents of disjoint words: clusters of one document, and of two equal ones."""
    words = length * np.eye(n_single + n_pairs)
    return np.concatenate([words, words[n_single:]])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda est: type(est).__name__)
@pytest.mark.parametrize(("n_single", "n_pairs", "expected"), [(50, 40, True), (30, 60, False), (30, 20, False)])
def test_many_clusters_of_one_document_name_the_word_prior(estimator, n_single, n_pairs, expected):
    estimator.set_params(likelihood="multinomial", word_prior=1e-8, concentration=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(documents(n_single, n_pairs))
    assert np.count_nonzero(np.bincount(estimator.labels_) == 1) == n_single
    found = [str(warning.message) for warning in caught if "one document" in str(warning.message)]
    assert len(found) == expected
    assert all(f"{n_single} of {n_single + n_pairs} clusters" in each and "word_prior=1e-08" in each for each in found)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda est: type(est).__name__)
def test_headlines_have_no_such_remedy(estimator):
    estimator.set_params(likelihood="multinomial", word_prior=1e-8, concentration=0.1).fit(documents(50, 40, 5.0))
    assert np.count_nonzero(np.bincount(estimator.labels_) == 1) == 50


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda est: type(est).__name__)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_values_name_the_mixture_that_learns_from_them(estimator, value):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    estimator.set_params(likelihood="full", word_prior=0.03)
    wrong = rows.copy()
    wrong[7, 1] = value
    fitted = estimator.fit(rows)
    for method in (estimator.fit, fitted.predict):
        with pytest.raises(ValueError, match="in row 7, column 1") as error:
            method(wrong)
        assert ("use SparseGaussianMixture" in str(error.value)) == np.isnan(value)
