"""The warning of topics that predict context words worse than word frequencies do."""

import warnings

import numpy as np
import pytest

from sparsemix import SkipGramTopicModel
from sparsemix.skipgram._predict import unigram_score, warn_if_worse_than_unigrams


@pytest.fixture(scope="module")
def documents():
    """Documents of twelve words of one of two halves of the vocabulary; half of the words are rare."""
    rng = np.random.default_rng(0)
    halves = rng.integers(2, size=80)
    return [list(20 * half + np.minimum(rng.geometric(0.2, size=12) - 1, 19)) for half in halves]


def slow_unigram_score(documents, window):
    words = np.concatenate(documents)
    logs = np.log(np.maximum(np.bincount(words, minlength=40), 1) / len(words))
    pairs = [
        logs[d[j]]
        for d in documents
        for i in range(len(d))
        for j in range(max(0, i - window), min(len(d), i + window + 1))
        if i != j
    ]
    return np.mean(pairs)


def test_frequencies_score_every_context_word(documents):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = SkipGramTopicModel(2, n_words=40, window=3, max_iter=5, random_state=0).fit(documents)
    totals = np.bincount(np.concatenate(documents), minlength=40)
    X = est._recipe().check(est, documents, reset=False)
    assert unigram_score(est, X, totals) == pytest.approx(slow_unigram_score(documents, 3), rel=1e-9)
    one = SkipGramTopicModel(1, n_words=40, window=3, max_iter=5, random_state=0, topic_word_prior=1e-6).fit(documents)
    assert unigram_score(one, X, totals) == pytest.approx(one.score(documents), abs=0.02)


@pytest.mark.parametrize("inference", ["scvb0", "gibbs"])
def test_topics_of_other_words_warn(documents, inference):
    est = SkipGramTopicModel(2, n_words=40, window=3, max_iter=5, random_state=0, inference=inference).fit(documents)
    swapped = est._recipe().check(est, [[39 - word for word in d] for d in documents], reset=False)
    with pytest.warns(UserWarning, match=r"predict context words worse \(-\d.*lower n_components"):
        warn_if_worse_than_unigrams(est, swapped, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_worse_than_unigrams(est, swapped, 4)  # an unfinished fit is not judged
