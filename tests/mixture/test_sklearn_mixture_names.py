"""Scripts for scikit-learn's mixtures: a parameter works, or one sentence says what takes its place."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from sparsemix import SparseGaussianMixture


@pytest.mark.parametrize("sibling", [GaussianMixture, BayesianGaussianMixture])
def test_every_parameter_is_there_or_is_refused_with_ours(sibling):
    ours = inspect.signature(SparseGaussianMixture).parameters
    for name, value in sibling().get_params().items():
        if name in ours:
            assert SparseGaussianMixture(**{name: value}).get_params()[name] == value
            continue
        with pytest.raises(TypeError, match=f"SparseGaussianMixture has no parameter {name}: ") as caught:
            SparseGaussianMixture(**{name: value})
        assert set(re.findall(r"\w+", str(caught.value).split(": ")[1])) & set(ours)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_clusters'"):
        SparseGaussianMixture(n_clusters=3)


def test_the_name_in_the_sentence_does_what_verbose_interval_does(capsys):
    X = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.raises(TypeError, match="verbose=10 prints a line every 10 passes"):
        SparseGaussianMixture(2, verbose=1, verbose_interval=10)
    est = SparseGaussianMixture(2, verbose=10, tol=0, max_iter=25, random_state=0)
    assert clone(est).verbose == 10
    est.fit(X)
    assert re.findall(r"pass +(\d+)/25", capsys.readouterr().out) == ["10", "20"]
