"""Scripts for scikit-learn's mixtures: a parameter works, or the manual says what takes its place."""

import inspect
import re

import numpy as np
import pytest
from documented import in_the_manual
from sklearn.base import clone
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from sparsemix import SparseGaussianMixture


@pytest.mark.parametrize("sibling", [GaussianMixture, BayesianGaussianMixture])
def test_every_parameter_is_there_or_in_the_manual(sibling):
    ours = inspect.signature(SparseGaussianMixture).parameters
    for name, value in sibling().get_params(deep=False).items():
        if name in ours:
            assert SparseGaussianMixture(**{name: value}).get_params(deep=False)[name] == value
            continue
        assert in_the_manual("comparisons/scikit_learn.rst", name)
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            SparseGaussianMixture(**{name: value})


def test_verbose_does_what_verbose_interval_does(capsys):
    X = np.random.default_rng(0).standard_normal((60, 2))
    est = SparseGaussianMixture(2, verbose=10, tol=0, max_iter=25, random_state=0)
    assert clone(est).verbose == 10
    est.fit(X)
    assert re.findall(r"epoch +(\d+)/25", capsys.readouterr().out) == ["10", "20"]
