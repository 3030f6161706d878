"""Documents that no topic describes: foreign words, words without a topic, and documents of different lengths."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import psi
from sklearn.metrics import roc_auc_score

from sparsemix import SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda
from sparsemix.metrics import split_by_type
from sparsemix.topics import outliers
from sparsemix.topics._edit.outliers import SPLITS, standardised


@pytest.fixture(scope="module")
def mixed():
    """A model, documents of 20 to 200 tokens, and others: half of rare words, and of all words without a topic."""
    rng = np.random.default_rng(0)
    lengths = np.concatenate([rng.integers(20, 201, 900), np.tile([20, 80, 140, 200], 15)])
    X = make_sparse_lda(
        960, n_features=300, n_components=15, doc_length=lengths, doc_topic_prior=0.3, topic_word_prior=0.3,
        random_state=0,
    )[0].toarray()  # fmt: skip
    model = SparseSCVB0LDA(15, random_state=0).fit(X[:800])
    frequency = X[:800].sum(axis=0) + 1.0
    rare = frequency * (frequency < np.median(frequency))
    frequency /= frequency.sum()
    foreign = [rng.multinomial(n, 0.5 * frequency + 0.5 * rare / rare.sum()) for n in lengths[-60:]]
    shuffled = [rng.multinomial(n, frequency) for n in lengths[-60:]]
    return model, X[800:], np.array(foreign), np.array(shuffled)


def test_both_kinds_of_outliers_are_found_better_than_by_plain_scores(mixed):
    model, typical, *odd = mixed
    X = np.vstack([typical, *odd])
    is_odd = np.arange(len(X)) >= len(typical)
    _, scores = outliers(model, X)
    scored = np.isfinite(scores)
    theta = model.transform(X)
    plain = (X * np.log(theta @ model.topic_word_distribution_)).sum(axis=1) / X.sum(axis=1)
    ours, *others = (roc_auc_score(is_odd[scored], -each[scored]) for each in (scores, plain, theta.max(axis=1)))
    assert ours > 0.9
    assert ours > max(others) + 0.03


def test_short_documents_are_not_favoured(mixed):
    model, typical, *_ = mixed
    rows, _ = outliers(model, typical, share=0.2)
    sizes = typical.sum(axis=1)
    assert 0.1 < np.mean(sizes[rows] <= np.quantile(sizes, 0.25)) < 0.5


def test_scores_are_those_of_a_slow_twin():
    """Document by document, from the split and coordinate ascent of the visible half."""
    X, phi, _ = make_sparse_lda(12, n_features=60, n_components=4, doc_length=[30, 60, 90] * 4, random_state=0)
    X, prior = X.toarray(), np.full(4, 0.25)
    log_frequency = np.log(phi.mean(axis=0))
    values, sizes = np.zeros((12, 2)), np.zeros(12)
    for seed in range(SPLITS):
        visible, hidden = (part.toarray() for part in split_by_type(sparse.csr_array(X), 0.5, random_state=seed))
        for d in range(12):
            theta = prior + visible[d].sum() / len(prior)
            for _ in range(300):
                weight = np.exp(psi(theta))[:, None] * phi
                theta = prior + (weight / weight.sum(axis=0)) @ visible[d]
            log_p = np.log(theta / theta.sum() @ phi)
            values[d] += [hidden[d] @ log_p, hidden[d] @ (log_p - log_frequency)]
            sizes[d] += hidden[d].sum()
    expected = np.min([standardised(values[:, i] / sizes, sizes) for i in range(2)], axis=0)
    rows, found = outliers(phi, X, share=0.25)
    np.testing.assert_allclose(found, expected, atol=0.01)
    assert rows.tolist() == np.argsort(found)[:3].tolist()


def test_standardised_values_have_one_distribution_at_all_lengths():
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 2000, 20_000)
    values = 3 - 0.5 * np.log(sizes) + rng.standard_normal(len(sizes)) * np.sqrt(0.2 + 30 / sizes)
    found = standardised(values, sizes)
    for part in np.array_split(np.argsort(sizes), 4):
        assert stats.kstest(found[part], "norm").pvalue > 1e-3


def test_documents_without_two_words_and_wrong_input(mixed):
    model, typical, *_ = mixed
    X = typical[:9].copy()
    X[4], X[4, 0] = 0, 7
    rows, scores = outliers(model, X, share=0.5)
    assert np.flatnonzero(np.isnan(scores)).tolist() == [4]
    assert len(rows) == 4
    assert 4 not in rows
    for wrong, share, message in (
        (X[[4]], 0.5, "no row of X has two distinct words"), (X, 1.0, "share is 1.0"), (X[:, 1:], 0.5, "299 columns"),
        (-X, 0.5, "X has -"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            outliers(model, wrong, share)
