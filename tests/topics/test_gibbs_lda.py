"""GibbsLDA against enumeration, plain definitions of its averages, and the laws of its draws."""

import numpy as np
import pytest
import reference_collapsed as exact
from scipy import sparse
from sparsemix._kernels.documents._entries import Entries

from sparsemix import CollapsedLDA, GibbsLDA, blocks
from sparsemix._kernels.collapsed import _gibbs
from sparsemix._models.topics.sweep_models import log_evidence_of_rows
from sparsemix.datasets import make_bars, make_sparse_lda
from sparsemix.metrics import align_topics, document_completion
from sparsemix.metrics._completion import completion_by_document

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SAMPLERS = ["collapsed", "uncollapsed"]
per_sampler = pytest.mark.parametrize("sampler", SAMPLERS)
K = 4
TINY = np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 1.0]])
ALPHA, BETA = np.array([1.5, 0.3]), 0.3  # topics that their priors tell apart
BY_TOPIC = np.array([[0.3, 0.8], [2.3, 0.3], [0.4, 5.0]])  # words by topics


def corpus(n_samples=60, doc_length=30):
    return sparse.csr_array(make_sparse_lda(n_samples, 40, K, doc_length=doc_length, random_state=0)[0])


def lda(sampler="collapsed", n_components=K, **params):
    return GibbsLDA(n_components, inference=sampler, **{"max_iter": 20, "thin": 5, "random_state": 0} | params)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [BETA, BY_TOPIC], ids=["number", "by topic"])
@per_sampler
def test_means_are_those_of_the_posterior(sampler, beta):
    """Topics, and proportions of the documents: over all assignments of six tokens, and over samples."""
    documents, words, owner = [[0, 1, 1], [0, 1, 2]], np.array([0, 1, 1, 0, 1, 2]), np.repeat([0, 1], 3)
    probabilities, _ = exact.posterior(documents, ALPHA, beta, 3)
    counts, shares = np.zeros((2, 3)), np.tile(ALPHA, (2, 1))
    for z, p in zip(exact.assignments(6, 2), probabilities, strict=True):
        np.add.at(counts, (np.array(z), words), p)
        np.add.at(shares, (owner, np.array(z)), p)
    est = lda(sampler, 2, doc_topic_prior=ALPHA, topic_word_prior=np.transpose(beta), max_iter=6_000, burn_in=100,
              thin=1)  # fmt: skip
    np.testing.assert_allclose(est.fit(TINY).components_ - np.transpose(beta), counts, atol=0.06)
    want = shares / shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(est.doc_topic_distribution_, want, atol=0.015)


def test_proportions_of_long_documents_are_nearly_prior_and_counts(monkeypatch):
    """Words tell the topics apart, and the prior has as many draws as a document has tokens."""
    X, alpha, drawn, draw = np.array([[2e3, 8e3], [5e3, 5e3], [8e3, 2e3]]), np.array([9e3, 1e3]), [], _gibbs.draw

    def noted(entries, theta, probability, seed, first_row, number, topics, *tables):
        counts = [np.bincount(row, minlength=2) for row in topics.reshape(3, -1)]
        drawn.append((theta / theta.sum(axis=1, keepdims=True), counts))
        return draw(entries, theta, probability, seed, first_row, number, topics, *tables)

    monkeypatch.setattr(_gibbs, "draw", noted)
    lda("uncollapsed", 2, doc_topic_prior=alpha, topic_word_prior=1e4 * np.eye(2) + 1.0, max_iter=5).fit(X)
    assert len(drawn) == 5
    for theta, counts in drawn[1:]:  # the first sweep has no topics before it
        np.testing.assert_allclose(theta, (alpha + counts) / 2e4, rtol=0.1)  # five standard deviations


def test_draws_are_inverse_cumulated_probabilities():
    X, rng = corpus(8, 12), np.random.default_rng(0)
    theta, phi = rng.gamma(0.3, size=(8, K)), rng.dirichlet(np.ones(K), size=40)
    weight = rng.choice([1.0, 2.0], size=8)
    old = rng.integers(-1, K, size=int(X.sum())).astype(np.intc)
    topics, table = old.copy(), np.full((40, K), 9.0)
    totals = table.sum(axis=0)
    entries = Entries(X.indptr.astype(np.int64), X.indices, X.data.astype(float), weight)
    moved = _gibbs.draw(entries, theta, phi, 5, 100, 3, topics, table, totals)
    t, want_moved, want_table = 0, 0.0, np.full((40, K), 9.0)
    for d in range(8):
        words = np.repeat(X.indices[X.indptr[d] : X.indptr[d + 1]], X.data[X.indptr[d] : X.indptr[d + 1]].astype(int))
        for i, word in enumerate(words):
            cumulated = np.cumsum(theta[d] * phi[word])
            k = np.searchsorted(cumulated, exact.uniform(5, 100 + d, 3, i) * cumulated[-1], side="right")
            assert topics[t] == k
            want_moved += weight[d] * (k != old[t])
            want_table[word, k] += weight[d]
            if old[t] >= 0:
                want_table[word, old[t]] -= weight[d]
            t += 1
    assert moved == want_moved
    np.testing.assert_allclose(table, want_table)
    np.testing.assert_allclose(totals, want_table.sum(axis=0))


def test_evidence_of_rows_is_polyas_urn():
    counts, prior = np.array([[2, 0, 1], [0, 0, 0]]), np.array([0.5, 1.0, 0.2])
    urn = np.log([0.5 / 1.7, 1.5 / 2.7, 0.2 / 3.7]).sum()
    np.testing.assert_allclose(log_evidence_of_rows(prior, counts), [urn, 0.0], atol=1e-12)


@pytest.mark.parametrize("by_topic", [False, True])
@per_sampler
def test_log_joint_is_that_of_the_published_sweep(sampler, by_topic):
    """Both samplers report log p(z, w) with proportions and topics integrated out."""
    X = corpus(doc_length=8)
    weight = np.random.default_rng(0).choice([1.0, 2.0], size=60)
    beta = np.full((K, 40), 0.01) + (np.random.default_rng(1).gamma(0.3, size=(K, 40)) if by_topic else 0.0)
    est = lda(sampler, max_iter=13, burn_in=12, thin=1, topic_word_prior=beta).fit(X, sample_weight=weight)
    counts = est.components_.astype(np.float64) - beta
    theta = est.doc_topic_distribution_ * (0.1 * K + np.asarray(X.sum(axis=1)).ravel())[:, None] - 0.1
    want = weight @ log_evidence_of_rows(np.full(K, 0.1), theta.round())
    want += sum(log_evidence_of_rows(prior, row[None]).sum() for prior, row in zip(beta, counts, strict=True))
    assert est.history_[-1]["log_joint"] == pytest.approx(want, rel=1e-5)


def test_one_collapsed_chain_is_that_of_collapsed_lda():
    X = corpus()
    est = lda(max_iter=20, burn_in=10, thin=5).fit(X)
    seed = np.random.RandomState(0).randint(2**31 - 1, size=1)[0]
    other = CollapsedLDA(K, inference="gibbs", max_iter=20, burn_in=10, thin=5, random_state=0).fit(X)
    assert seed == np.random.RandomState(0).randint(2**31 - 1)
    np.testing.assert_array_equal(est.components_, other.components_)
    assert est.n_samples_ == other.n_samples_ == 2


@per_sampler
def test_predictions_average_over_samples(sampler):
    X, new = corpus(), corpus(30)
    est = lda(sampler, max_iter=40, burn_in=20, thin=5).fit(X)
    singles = [lda(sampler, max_iter=n, burn_in=n - 1, thin=1).fit(X) for n in (25, 30, 35, 40)]
    np.testing.assert_allclose(est.components_, np.mean([one.components_ for one in singles], axis=0), rtol=1e-6)
    np.testing.assert_allclose(est.transform(new), np.mean([one.transform(new) for one in singles], axis=0), atol=1e-6)
    shares = [one.doc_topic_distribution_ for one in singles]
    np.testing.assert_allclose(est.doc_topic_distribution_, np.mean(shares, axis=0), atol=1e-6)
    logs = [one.score(new) for one in singles]
    assert np.mean(logs) < est.score(new) < np.max(logs) + 0.2  # Jensen: the log of a mean, not the mean of logs
    assert [one.score(new) for one in singles] == pytest.approx([document_completion(one, new) for one in singles])


def test_score_is_the_log_of_mean_probabilities():
    """Documents of two words: one is hidden, so that its logarithm is the document's score."""
    X, new = corpus(), sparse.csr_array(np.eye(40)[:10] + np.eye(40)[10:20])
    est = lda(max_iter=40, burn_in=10, thin=10).fit(X)
    assert est.n_samples_ == 3
    singles = [lda(max_iter=n, burn_in=n - 1, thin=1).fit(X) for n in (20, 30, 40)]
    probabilities = [np.exp(completion_by_document(one, new)[0]) for one in singles]
    assert est.score(new) == pytest.approx(np.log(np.mean(probabilities, axis=0)).mean(), rel=1e-6)
    assert blocks.score(est, [new[:4], new[4:]]) == pytest.approx(est.score(new))


@per_sampler
def test_the_best_of_several_chains_is_published(sampler):
    X = corpus()
    est = lda(sampler, n_chains=3, max_iter=30).fit(X)
    assert len(est.chain_log_joints_) == 3
    best = max(est.chain_log_joints_, key=lambda values: values[15:].mean())
    assert [record["log_joint"] for record in est.history_] == best.tolist()
    assert est.r_hat_ > 0.9


def test_chains_that_disagree_are_warned_of():
    with pytest.warns(match="the 3 chains disagree: R-hat of log_joint is .*; the best chain is kept. Raise max_iter"):
        lda("uncollapsed", n_chains=3, max_iter=8, burn_in=0).fit(corpus())


@pytest.mark.slow
@per_sampler
def test_bars_are_recovered(sampler):
    Y, bars, _ = make_bars(4, n_samples=400, doc_length=80, doc_topic_prior=0.3, random_state=0)
    est = lda(sampler, 8, n_chains=3, max_iter=300, doc_topic_prior=0.3, topic_word_prior=0.1).fit(Y)
    assert align_topics(est, bars)[1].max() < 0.1


@pytest.mark.slow
@per_sampler
def test_learned_prior_is_near_the_one_that_made_the_documents(sampler):
    alpha, rng = np.array([0.05, 0.1, 0.2, 0.4]), np.random.default_rng(0)
    topics, shares = rng.dirichlet(np.full(200, 0.05), size=K), rng.dirichlet(alpha, size=1500)
    X = np.array([rng.multinomial(80, share @ topics) for share in shares])
    est = lda(sampler, doc_topic_prior="learned", init_params=topics + 1e-4, max_iter=60).fit(X)
    np.testing.assert_allclose(est.doc_topic_prior_, alpha, rtol=0.3)


def test_counts_must_be_whole():
    X = corpus().astype(float)
    X.data[3] += 0.5
    with pytest.raises(ValueError, match=r"row 0 of X has the count .*; round the counts, or use CollapsedLDA\(\)"):
        lda().fit(X)
