"""Fits warn of logarithms in place of counts, once, and of nothing else that weighs words."""

import warnings

import numpy as np
import pytest
from fitted import few_epochs
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from sparsemix import SparseMultinomialMixture, SparseSCVB0LDA, blocks
from sparsemix._estimator.input.checks import warn_of_logarithms

pytestmark = few_epochs
RNG = np.random.default_rng(0)
# Cells of different depths, whose counts vary more than Poisson's.
COUNTS = sparse.csr_matrix(RNG.poisson(RNG.gamma(2.0, RNG.gamma(0.4, 1.0, 200) * RNG.gamma(2.0, 0.4, (150, 1))))) * 1.0
DEPTH = np.maximum(np.asarray(COUNTS.sum(axis=1)), 1.0)
MESSAGE = r"X seems to hold logarithms, log1p of counts, .*adata\.layers\['counts'\]"


def each(function):
    X = COUNTS.copy()
    X.data = function(X.data)
    return X


def per(total):
    return sparse.csr_matrix(COUNTS.multiply(total / DEPTH))


LOGARITHMS = {
    "counts": COUNTS.log1p(),
    "ten thousand a cell": per(1e4).log1p(),
    "median": per(np.median(DEPTH)).log1p(),
    "a million, float32": per(1e6).astype(np.float32).log1p(),
}
WEIGHTS = {
    "counts": COUNTS,
    "integers": COUNTS.astype(int),
    "scaled": per(1e4),
    "hundredths": each(lambda v: 0.01 * v),
    "tenths": each(lambda v: np.maximum(1, np.rint(10 * RNG.gamma(v))) / 10),
    "noise": each(RNG.gamma),
    "roots": COUNTS.sqrt(),
    "two values": each(lambda v: np.where(v > 1, np.log1p(2.0), np.log1p(1.0))),
    "tf-idf": TfidfTransformer().fit_transform(COUNTS),
    "sublinear": TfidfTransformer(sublinear_tf=True, norm=None).fit_transform(COUNTS),
    "shares": normalize(COUNTS, "l1"),
    "none": COUNTS[:0],
    "zeros": 0 * COUNTS,
}


@pytest.mark.parametrize("make", [sparse.csr_array, lambda X: X.toarray()])
def test_only_logarithms_are_named(make):
    for X in WEIGHTS.values():
        warn_of_logarithms(make(X))  # warnings are errors
    for X in LOGARITHMS.values():
        with pytest.warns(UserWarning, match=MESSAGE):
            warn_of_logarithms(make(X))


FITS = {
    "topics": lambda X: SparseSCVB0LDA(3, max_iter=2, random_state=0).fit(X),
    "mixture": lambda X: SparseMultinomialMixture(3, max_iter=2, random_state=0).fit(X),
    "stream": lambda X: SparseSCVB0LDA(3, random_state=0).partial_fit(X).partial_fit(X),
    "blocks": lambda X: blocks.fit(SparseSCVB0LDA(3, max_iter=2, random_state=0), [X[:70], X[70:]]),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_warns_once(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FITS[name](LOGARITHMS["ten thousand a cell"]).transform(LOGARITHMS["ten thousand a cell"])
    assert len([each for each in caught if "seems to hold logarithms" in str(each.message)]) == 1
