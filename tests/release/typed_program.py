"""A program of a user: mypy reads it strictly, so that every call must have a type, and test_types.py runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import sparsemix
from sparsemix import SparseGaussianMixture, SparseSCVB0LDA, StreamingNGGPMixture, metrics


def main() -> None:
    """Fit estimators to a few rows, and to blocks of them."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    mixture = assert_type(SparseGaussianMixture(2, tol=0.1, random_state=0).fit(X), SparseGaussianMixture)
    assert_type(mixture.predict(X), NDArray[Any])
    assert_type(mixture.score(X), float)
    assert_type(mixture.partial_fit(X), SparseGaussianMixture)
    assert_type(mixture.marginal([0]), SparseGaussianMixture)
    rows, components = mixture.sample(3)
    assert_type(rows, NDArray[Any])
    assert_type(components, NDArray[Any])
    assert_type(StreamingNGGPMixture(random_state=0).fit(X).predict_proba(X), NDArray[Any])
    counts = np.random.default_rng(0).poisson(1.0, size=(60, 8)) + 1
    topics = assert_type(SparseSCVB0LDA(2, max_iter=2, random_state=0), SparseSCVB0LDA)
    assert_type(topics.partial_fit(counts).topic_table(), Any)
    assert_type(topics.perplexity(counts), float)
    assert_type(metrics.top_words(topics, 3), NDArray[Any])
    bars = sparsemix.datasets.make_bars(n_samples=30, random_state=0)[0]
    blocks = assert_type(sparsemix.blocks.from_arrays(bars, 10), sparsemix.blocks.Blocks)
    topics = SparseSCVB0LDA(2, max_iter=2, random_state=0)
    assert_type(sparsemix.blocks.fit(topics, blocks), SparseSCVB0LDA)
    assert_type(sparsemix.blocks.score(topics, [bars, bars]), float)


def misspelled() -> Any:
    """A wrong name, which mypy must find: strictly, a line that is ignored without need is an error."""
    return sparsemix.SparseGausianMixture  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
