"""Warnings and errors of growing mixtures that name the parameter or class to try."""

import numpy as np
import pytest

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture

ESTIMATORS = [StreamingNGGPMixture(random_state=0), GibbsNGGPMixture(max_iter=3, random_state=0)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda est: type(est).__name__)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_values_name_the_mixture_that_learns_from_them(estimator, value):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    estimator.set_params(likelihood="full")
    wrong = rows.copy()
    wrong[7, 1] = value
    fitted = estimator.fit(rows)
    for method in (estimator.fit, fitted.predict):
        with pytest.raises(ValueError, match="in row 7, column 1") as error:
            method(wrong)
        assert ("use SparseGaussianMixture" in str(error.value)) == np.isnan(value)
