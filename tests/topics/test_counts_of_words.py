"""The counts of words in ``components_`` are those of the corpus, however unequal documents are."""

import numpy as np
import pytest
from scipy import sparse

from sparsemix import CollapsedLDA, GibbsLDA, SparseHDP, SparseLDA, SparseSCVB0LDA, blocks
from sparsemix.topics import SparseDMR

N, V, K = 160, 40, 3


def books(n_books=4, length=1200, seed=0):
    """Documents of 20 words, and a few long ones about one topic; they have two thirds of all tokens."""
    rng = np.random.default_rng(seed)
    topics, shares = rng.dirichlet(np.full(V, 0.1), K), rng.dirichlet(np.full(K, 0.2), N)
    lengths = np.full(N, 20)
    lengths[:n_books], shares[:n_books] = length, np.eye(K)[0]
    X = np.array([rng.multinomial(m, p @ topics) for m, p in zip(lengths, shares, strict=True)], dtype=np.float64)
    return sparse.csr_array(X[rng.permutation(N)])


X = books()
WEIGHTS = np.where(X.sum(axis=1) > 100, 0.5, np.arange(N) % 3 + 1.0)


def distance(model, totals):
    """L1 distance of word totals, as a share of tokens."""
    return np.abs((model.components_ - model.topic_word_prior_).sum(axis=0) - totals).sum() / totals.sum()


def streamed(model, **parameters):
    """A stream of unknown length."""
    for start in range(0, N, 40):
        model.partial_fit(X[start : start + 40], **parameters)
    return model


FITS = {
    "online": lambda: SparseSCVB0LDA(K, random_state=0).fit(X),
    "walker": lambda: SparseSCVB0LDA(K, sampler="mhw", random_state=0).fit(X),
    "dense": lambda: SparseSCVB0LDA(K, sampler="dense", random_state=0).fit(X),
    "three epochs": lambda: SparseSCVB0LDA(K, max_iter=3, random_state=0).fit(X),
    "five epochs": lambda: SparseSCVB0LDA(K, max_iter=5, random_state=0).fit(X),
    "many topics": lambda: SparseSCVB0LDA(600, max_iter=20, random_state=0).fit(X),
    "memoized": lambda: SparseSCVB0LDA(K, learning_method="memoized", random_state=0).fit(X),
    "stream": lambda: streamed(SparseSCVB0LDA(K, random_state=0)),
    "validated": lambda: SparseSCVB0LDA(K, random_state=0).fit(X, validation_data=X[:60]),
    "blocks": lambda: blocks.fit(
        SparseSCVB0LDA(K, batch_size=8, random_state=0), [X[i : i + 40] for i in range(0, N, 40)]
    ),
    "HDP": lambda: SparseHDP(6, random_state=0).fit(X, validation_data=X[:60]),
    "DMR": lambda: SparseDMR(K, random_state=0).fit(X, covariates=np.arange(N) % 2),
    "SparseLDA": lambda: SparseLDA(K, random_state=0).fit(X),
    "SparseLDA, stream": lambda: streamed(SparseLDA(K, random_state=0)),
    "CollapsedLDA": lambda: CollapsedLDA(K, random_state=0).fit(X),
    "GibbsLDA": lambda: GibbsLDA(K, max_iter=20, random_state=0).fit(X),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("way", FITS)
def test_words_are_counted_once(way):
    """Long documents count as much as their tokens, in every class and way of learning."""
    assert distance(FITS[way](), X.sum(axis=0)) <= 0.02


@pytest.mark.parametrize("method", ["online", "memoized"])
def test_words_of_weighted_documents_are_counted_by_weight(method):
    model = SparseSCVB0LDA(K, learning_method=method, random_state=0).fit(X, sample_weight=WEIGHTS)
    assert distance(model, X.T @ WEIGHTS) <= 0.02


def test_shares_of_topics_are_those_of_tokens():
    """The topic of the long documents has as many tokens as they have, and a little more."""
    model = SparseSCVB0LDA(K, random_state=0).fit(X)
    lengths = X.sum(axis=1)
    share = lengths[lengths > 100].sum() / lengths.sum()
    assert share - 0.02 <= model.topic_weights_.max() <= share + 0.2
