"""SparseSCVB0LDA with learned priors: the sums that they follow from, and where they end."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import psi
from topic_cases import LEARNED

from sparsemix import SparseSCVB0LDA
from sparsemix._engine.loop import collect
from sparsemix._kernels.documents import _special
from sparsemix._models.topics.token_topics import TokenTopics, draws_for_prior
from sparsemix._models.topics.word_prior import next_topic_word_prior
from sparsemix._rows.documents import DocumentBlock, DocumentMemory, Documents
from sparsemix._rows.threads import Workers
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix.datasets import make_sparse_lda
from sparsemix.topics import _word_prior
from sparsemix.topics._collapsed import assemble_stochastic

K, V = 4, 25
X = sparse.csr_array(make_sparse_lda(60, n_features=V, n_components=K, doc_length=20, random_state=0)[0])
pytestmark = pytest.mark.usefixtures("no_dense_batches")
ALPHA = np.array([0.02, 0.1, 0.2, 1.5])


def plain_draws(n, alpha):
    """alpha (digamma(alpha + n) - digamma(alpha)); of less than a token, that part of what a token has."""
    return np.minimum(n, 1.0) * alpha * (psi(alpha + np.maximum(n, 1.0)) - psi(alpha))


def test_draws_are_those_of_a_restaurant():
    """The i-th token is a draw from the prior with probability alpha / (alpha + i - 1)."""
    n = np.array([0.0, 1.0, 2.0, 7.0, 31.0])
    expected = [sum(0.3 / (0.3 + i) for i in range(int(m))) for m in n]
    np.testing.assert_allclose(plain_draws(n, 0.3), expected, rtol=1e-12)
    one = _special.draws_sum(n[None], 1.0, 0.3, 0, 1)
    assert one == pytest.approx(sum(expected), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_draws_of_parts_equal_those_of_sums(dtype):
    rng = np.random.default_rng(0)
    doc_topic = rng.gamma(0.3, 5.0, (9, K)).astype(dtype) * (rng.random((9, K)) < 0.6)
    weight = rng.gamma(2.0, size=9)
    expected = weight @ plain_draws(doc_topic.astype(float), ALPHA)
    np.testing.assert_allclose(TokenTopics.of_rows(doc_topic).draws(weight, ALPHA), expected, rtol=1e-6)
    rows = sparse.csr_array(doc_topic)
    halves = sparse.csr_array(  # every entry twice, out of order
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), shape=rows.shape
    )
    parts = TokenTopics(halves.indptr.astype(np.int64), halves.indices.astype(np.int32), halves.data.astype(dtype))
    np.testing.assert_allclose(parts.draws(weight, ALPHA), expected, rtol=1e-6)
    np.testing.assert_array_equal(TokenTopics.of_rows(doc_topic[:0]).draws(weight[:0], ALPHA), 0.0)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_draws_of_whole_tokens_equal_those_of_each_document(dtype):
    rng = np.random.default_rng(0)
    n = rng.integers(0, 12, (20, K))
    topics = np.concatenate([rng.permutation(np.repeat(np.arange(K), row)) for row in n]).astype(dtype)
    indptr, weight = np.append(0, np.cumsum(n.sum(axis=1))), rng.gamma(2.0, size=len(n))
    found = TokenTopics(indptr, topics, np.ones(len(topics), dtype=np.float32)).draws(weight, ALPHA)
    np.testing.assert_allclose(found, weight @ plain_draws(n.astype(float), ALPHA), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_represent_the_tokens_of_their_entry(dtype):
    counts = sparse.csr_array(np.array([[1.0, 0.0, 2.5], [0.0, 0.0, 0.0], [80.0, 0.25, 0.0]]))
    x = DocumentBlock.of(counts, dtype)
    states = np.arange(1 + 3 + 32 + 1, dtype=np.int32) % K
    tokens = TokenTopics.of_samples(x, states)
    np.testing.assert_array_equal(tokens.indptr, [0, 4, 4, 37])
    np.testing.assert_allclose(tokens.values[:4], [1.0, 2.5 / 3, 2.5 / 3, 2.5 / 3], rtol=1e-6)
    np.testing.assert_array_equal(tokens.values[4:36], 2.5)
    assert tokens.values[36] == 0.25
    with pytest.raises(ValueError, match="as many as the samples"):
        TokenTopics.of_samples(x, states[1:])


@pytest.mark.parametrize("numbers", [[], [0.0, 3.0, 1.0, 3.0], [2.0, 4.0], [1.0, 1.5], [1.0, np.nan], [-1.0, 0.0]])
def test_gains_of_whole_numbers_equal_the_twin(numbers):
    numbers, values = np.array(numbers), np.array([0.5, 0.7, 1.1, 1.9])
    found = _special.gains_of_whole(numbers, values)
    if set(numbers) <= set(range(len(values))):
        np.testing.assert_array_equal(found, [values[int(n)] - values[0] for n in numbers])
    else:
        assert found is None


def test_draws_for_prior_are_those_of_each_length():
    for lengths in (np.array([3.0, 1.0, 3.0, 0.0, 2.0]), np.array([3.0, 1.0, 0.5, 1.0]), np.array([90.0, 2.0])):
        expected = psi(ALPHA.sum() + lengths) - psi(ALPHA.sum())
        np.testing.assert_allclose(draws_for_prior(ALPHA, lengths), expected, rtol=1e-12, atol=1e-12)


def statistics(est, rows, sample_weight=None, n_jobs=1):
    """Model and statistics of all documents under a fitted model, and the topics of their tokens."""
    memory = DocumentMemory(0.0)
    documents = Documents(rows, sample_weight, np.float32, memory)
    model = est._fitted.model.renewed(len(documents))
    with Workers(n_jobs) as workers:
        stats = collect(model, documents, slice(0, len(documents)), workers)
    stats.settle()
    return model, stats, memory


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_are_those_of_the_samples(weighted):
    est = SparseSCVB0LDA(
        K, **LEARNED, max_iter=2, random_state=0
    ).fit(X)  # fmt: skip
    weight = np.random.default_rng(0).gamma(2.0, size=60) if weighted else None
    model, stats, memory = statistics(est, X, weight)
    states = np.concatenate([memory._tiles[key][3] for key in sorted(memory._tiles)])
    lengths = np.asarray(X.sum(axis=1)).ravel().astype(int)
    doc_topic = np.zeros((60, K))
    np.add.at(doc_topic, (np.repeat(np.arange(60), lengths), states), 1.0)
    weight, alpha = np.ones(60) if weight is None else weight, model.doc_topic_prior
    assert not np.allclose(alpha, 0.1)
    np.testing.assert_allclose(stats["draws"], weight @ plain_draws(doc_topic, alpha), rtol=1e-6)
    per_prior = weight @ (psi(alpha.sum() + lengths) - psi(alpha.sum()))
    assert float(stats["per_prior"]) == pytest.approx(per_prior, rel=1e-12)


@pytest.mark.parametrize("empty", [False, True])
def test_next_prior_is_that_of_the_documents_and_one_more(empty):
    """The last document has the first prior, so that a topic without draws keeps a share of it."""
    est = SparseSCVB0LDA(K, **LEARNED, random_state=0)
    model, stats, _ = statistics(est.set_params(max_iter=1).fit(X), X)
    if empty:
        stats["draws"][1] = 0.0
    of_documents = stats["draws"] / float(stats["per_prior"])
    model.global_step(stats)
    np.testing.assert_allclose(model.doc_topic_prior, (60 * of_documents + 0.1) / 61, rtol=1e-12)
    if empty:
        assert model.doc_topic_prior[1] == pytest.approx(0.1 / 61, rel=1e-12)


def test_prior_of_words_is_a_fixed_point():
    est = SparseSCVB0LDA(K, **LEARNED, max_iter=5, random_state=0).fit(X)
    stats = est._fitted.stats
    counts = est._fitted.word_topic - est._fitted.background
    beta = 0.2
    for _ in range(60):
        beta = next_topic_word_prior(beta, 0.3, stats)
    drawn = plain_draws(counts.astype(float), beta).sum() / V
    per_prior = np.sum(psi(V * beta + stats["count"]) - psi(V * beta))
    assert beta == pytest.approx((drawn + 0.3 * per_prior / K) / (per_prior * (1 + 1 / K)), rel=1e-4)


def polya_optimum(doc_topic):
    """alpha that makes counts of topics most probable, by many steps of Minka's fixed point."""
    alpha, lengths = np.full(doc_topic.shape[1], 0.3), doc_topic.sum(axis=1)
    for _ in range(3000):
        up = (psi(doc_topic + alpha) - psi(alpha)).sum(axis=0)
        alpha = alpha * up / (psi(lengths + alpha.sum()) - psi(alpha.sum())).sum()
    return alpha


def documents_of_a_prior(alpha, n, n_words, length):
    """Documents, their topics, and how many of their tokens each topic truly has."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(n_words, 0.02), size=len(alpha))
    doc_topic = np.array([rng.multinomial(length, share) for share in rng.dirichlet(alpha, size=n)])
    rows = [sum(rng.multinomial(c, t) for c, t in zip(counts, topics, strict=True)) for counts in doc_topic]
    return sparse.csr_array(np.array(rows)), topics, doc_topic


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["gibbs", "dense", "mhw"])
@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_asymmetric_prior_is_learned(sampler, learning_method):
    """Near the optimum for the true topics of all tokens, which inference does not know."""
    alpha = np.array([0.03, 0.06, 0.15, 0.4, 0.8])
    rows, topics, doc_topic = documents_of_a_prior(alpha, 3000, 150, 40)
    est = SparseSCVB0LDA(
        5, sampler=sampler, learning_method=learning_method, **LEARNED, init_params=topics + 1e-5,
        max_iter=25, random_state=0,
        n_averaged_iter=0 if sampler == "dense" else None,  # a cold visit shares tokens out among all topics
    ).fit(rows)  # fmt: skip
    optimum = polya_optimum(doc_topic)
    np.testing.assert_allclose(optimum, alpha, rtol=0.15)
    # types of several tokens hold on to their topics, and expected counts are softer than counts
    np.testing.assert_allclose(est.doc_topic_prior_, optimum, rtol=0.3 if sampler != "dense" else 1.0)
    assert (np.diff(est.doc_topic_prior_) > 0).all()
    shares = est.doc_topic_prior_ / est.doc_topic_prior_.sum()
    np.testing.assert_allclose(shares, optimum / optimum.sum(), atol=0.03)


def test_priors_are_learned_from_samples_alone(monkeypatch):
    """Alpha stays while documents are visited densely, in steps; a later fit continues from the learned prior."""
    monkeypatch.setattr(assemble_stochastic, "START_BATCHES", (10**6, 10**6))
    est = SparseSCVB0LDA(K, **LEARNED, max_iter=2, warm_start=True, random_state=0)
    np.testing.assert_allclose(est.fit(X).doc_topic_prior_, 0.1, rtol=1e-6)
    monkeypatch.setattr(assemble_stochastic, "START_BATCHES", (0, 0))
    learned = est.set_params(max_iter=10).fit(X).doc_topic_prior_
    assert not np.allclose(learned, 0.1, rtol=0.05)
    np.testing.assert_allclose(est.set_params(max_iter=0).fit(X).doc_topic_prior_, learned, rtol=1e-12)
    fixed = SparseSCVB0LDA(K, max_iter=10, random_state=0).fit(X)
    np.testing.assert_array_equal(fixed.doc_topic_prior_, 0.1)
    assert fixed.topic_word_prior_ == 0.01


def test_streams_learn_priors():
    """A stream sees every document once, and both priors follow from block to block."""
    est = SparseSCVB0LDA(K, **LEARNED, random_state=0)
    priors = [est.partial_fit(X[a : a + 20]).doc_topic_prior_.copy() for a in (0, 20, 40)]
    assert all(np.isfinite(prior).all() and (prior > 0).all() for prior in priors)
    assert not np.allclose(priors[0], priors[2], rtol=0.01)
    assert est.topic_word_prior_ != 0.01


def test_one_topic_keeps_its_prior():
    est = SparseSCVB0LDA(1, **LEARNED, max_iter=2, random_state=0).fit(X)
    np.testing.assert_array_equal(est.doc_topic_prior_, 0.1)
    assert est.topic_word_prior_ != 0.01


def test_prior_of_words_follows_from_packed_counts_too():
    est = SparseSCVB0LDA(K, max_iter=3, random_state=0).fit(X)
    stats = est._fitted.stats.copy()
    whole = next_topic_word_prior(0.1, 0.01, stats)
    stats.replace("word_topic", PackedCounts.of(sparse.csr_array(stats["word_topic"])))
    assert next_topic_word_prior(0.1, 0.01, stats) == pytest.approx(whole, rel=1e-6)


def test_a_prior_far_larger_than_the_counts_stays(monkeypatch):
    monkeypatch.setattr(_word_prior, "WORD_PRIOR", 1e17)
    est = SparseSCVB0LDA(K, **LEARNED, max_iter=2, random_state=0).fit(X)
    assert est.topic_word_prior_ == 1e17
    assert np.isfinite(est.components_).all()
