"""Fits warn of logarithms and of light rows in place of counts, once, and of nothing else that weighs words."""

import re
import warnings

import numpy as np
import pytest
from fitted import few_epochs
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from sparsemix import SparseMultinomialMixture, SparseSCVB0LDA, StreamingNGGPMixture, blocks
from sparsemix._estimator.input.checks import warn_of_weights

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
    "halves": each(lambda v: 0.5 * v),
    "tenths": each(lambda v: np.maximum(1, np.rint(10 * RNG.gamma(v))) / 10),
    "noise": each(RNG.gamma),
    "roots": COUNTS.sqrt(),
    "two values": each(lambda v: np.where(v > 1, np.log1p(2.0), np.log1p(1.0))),
    "tf-idf": TfidfTransformer(norm=None).fit_transform(COUNTS),
    "tf-idf of as many tokens": normalize(TfidfTransformer().fit_transform(COUNTS), "l1").multiply(DEPTH).tocsr(),
    "sublinear": TfidfTransformer(sublinear_tf=True, norm=None).fit_transform(COUNTS),
    "grey values": sparse.csr_matrix(RNG.uniform(size=(20, 30))),
    "none": COUNTS[:0],
    "zeros": 0 * COUNTS,
}
LIGHT = {
    "tf-idf": TfidfTransformer().fit_transform(COUNTS),
    "sublinear": TfidfTransformer(sublinear_tf=True).fit_transform(COUNTS).astype(np.float32),
    "tf-idf, sum 1": TfidfTransformer(norm="l1").fit_transform(COUNTS),
    "shares": normalize(COUNTS, "l1"),
    "hundredths": each(lambda v: 0.01 * v),
    "logarithms of shares": normalize(COUNTS, "l1").log1p(),
}
TOO_LIGHT = r"X has the sum [\d.]+ over the \d+ words of a mean row.*give counts, or multiply each row"


@pytest.mark.parametrize("make", [sparse.csr_array, lambda X: X.toarray()])
def test_only_logarithms_and_light_rows_are_named(make):
    for X in WEIGHTS.values():
        warn_of_weights(make(X))  # warnings are errors
    for rows, message in (LOGARITHMS, MESSAGE), (LIGHT, TOO_LIGHT):
        for X in rows.values():
            with pytest.warns(UserWarning, match=message):
                warn_of_weights(make(X))


@pytest.mark.parametrize("seed", range(20))
def test_corpora_of_any_shape_are_not_light(seed):
    rng = np.random.default_rng(seed)
    n_words = int(rng.integers(3, 2000))
    shares = rng.dirichlet(np.full(n_words, rng.choice([0.01, 0.1, 1.0])), size=5)
    lengths = rng.negative_binomial(2, 1.0 / rng.choice([2, 10, 100, 1000]), 120)
    X = sparse.csr_array([rng.multinomial(n, shares[i % 5]) for i, n in enumerate(lengths)], dtype=float)
    heavy = sparse.csr_matrix(X)
    weights = TfidfTransformer(norm=None).fit_transform(heavy)
    for rows in (X, 7.5 * X, 0.5 * X, X.sqrt(), (X > 0).astype(float), weights):
        warn_of_weights(rows)
    warn_of_weights(100.0 * normalize(X, "l1"))  # per cent, which are many even for rows of more words


FITS = {
    "topics": lambda X: SparseSCVB0LDA(3, max_iter=2, random_state=0).fit(X),
    "mixture": lambda X: SparseMultinomialMixture(3, max_iter=2, random_state=0).fit(X),
    "clusters": lambda X: StreamingNGGPMixture(likelihood="multinomial", max_iter=2, random_state=0).fit(X),
    "stream": lambda X: SparseSCVB0LDA(3, random_state=0).partial_fit(X).partial_fit(X),
    "blocks": lambda X: blocks.fit(SparseSCVB0LDA(3, max_iter=2, random_state=0), [X[:70], X[70:]]),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(("X", "message"), [(LOGARITHMS["ten thousand a cell"], MESSAGE), (LIGHT["tf-idf"], TOO_LIGHT)])
def test_a_fit_warns_once(name, X, message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = FITS[name](X)
        fitted.predict(X) if hasattr(fitted, "predict") else fitted.transform(X)
    assert len([each for each in caught if re.search(message, str(each.message))]) == 1
