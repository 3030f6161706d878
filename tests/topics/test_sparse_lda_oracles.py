"""SparseLDA against scikit-learn, enumeration, closed forms and its own definition."""

from itertools import pairwise, product

import numpy as np
import pytest
import reference
from scipy import sparse
from scipy.special import gammaln, psi
from sklearn.decomposition import LatentDirichletAllocation
from topic_cases import LEARNED, ExactLDA

from sparsemix._engine.inference import infer_doc_topic
from sparsemix._engine.loop import collect, respond
from sparsemix._models.topics.variational_model import TopicModel, inverse_totals
from sparsemix._rows.documents import DocumentBlock, DocumentMemory, Documents
from sparsemix._rows.threads import Workers
from sparsemix._stats.prior_counts import PriorCounts
from sparsemix.datasets import make_bars, make_sparse_lda
from sparsemix.metrics import align_topics
from sparsemix.topics import SparseLDA, _start, _word_prior
from sparsemix.topics import _assemble as priors

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
K = 6
WIDTHS = [1, 2, 3, K]


@pytest.fixture
def exact(monkeypatch):
    """Nothing is left out: no topic leaves a document, no sum the statistics, no count the memory."""
    for name in ("active", "enter", "smallest_count"):
        monkeypatch.setattr(TopicModel, name, 0.0)
    monkeypatch.setattr(priors, "REMEMBERED_SHARE", 0.0)


def corpus(seed=0, n_samples=60, n_features=40, doc_length=30, doc_topic_prior=0.3):
    X = make_sparse_lda(
        n_samples, n_features, K, doc_length=doc_length, doc_topic_prior=doc_topic_prior, topic_word_prior=0.2,
        random_state=seed,
    )[0]  # fmt: skip
    return sparse.csr_array(X, dtype=np.float64)


def start(X, n_components=K, seed=0):
    """Topics to start from, (K, V)."""
    return np.random.default_rng(seed).gamma(1.0, size=(n_components, X.shape[1])) + 0.1


def topic_model(X, n_nonzero=K, *, alpha=0.1, eta=0.05, n_components=K, seed=0, **options):
    """A model in float64 whose topics come from random counts."""
    options = {"dtype": np.float64, "max_doc_iter": 200, "doc_tol": 1e-6} | options
    model = TopicModel(X.shape[1], n_components, n_nonzero, np.full(n_components, alpha), eta, **options)
    stats = model.empty_stats()
    counts = start(X, n_components, seed).T.copy()
    stats.replace("word_topic", counts.astype(model.dtype))
    stats["count"] += counts.sum(axis=0)
    model.global_step(stats)
    return model, counts + eta


class Step:
    """An epoch over documents: responsibilities (nnz, K), rows sum to one, and statistics."""

    def __init__(self, model, X, memory=None, documents=None):
        documents = Documents(X, None, model.dtype, memory) if documents is None else documents
        everything = slice(0, len(documents))
        with Workers(1) as workers:
            resp, x = respond(model, documents, everything, workers)
            values = resp.values.copy()
            self.stats = model.empty_stats()
            model.accumulate(x, resp, None, self.stats, workers)
        self.bound = resp.bound.copy()
        owner = x.documents()
        if model.dense:
            self.resp = values * resp.p[owner] * model._table[x.indices]
        else:
            self.resp = reference.dense(resp.topics, values, model.n_components)
        self.doc_topic = np.zeros((len(documents), model.n_components))
        np.add.at(self.doc_topic, owner, self.resp)
        self.resp /= x.counts[:, None]

    def word_topic(self):
        counts = self.stats["word_topic"]
        return counts.toarray() if sparse.issparse(counts) else counts


def sklearn_lda(word_topic, alpha, eta, **options):
    """A fitted scikit-learn model with these topics (V, K)."""
    lda = LatentDirichletAllocation(word_topic.shape[1], **options)
    lda.components_ = np.ascontiguousarray(word_topic.T)
    log_phi = psi(lda.components_) - psi(lda.components_.sum(axis=1, keepdims=True))
    lda.exp_dirichlet_component_ = np.exp(log_phi)
    lda.doc_topic_prior_, lda.topic_word_prior_ = alpha, eta
    lda.n_features_in_ = word_topic.shape[0]
    return lda


# Passes until next to nothing changes any more.
FIXED_POINT_STEPS = 600


# -- the bound


def test_bound_of_the_tests_is_that_of_scikit_learn():
    X, rng = corpus(1), np.random.default_rng(0)
    for alpha, eta in [(0.1, 0.05), (1.0, 0.7)]:
        word_topic, theta = start(X).T, rng.gamma(1.0, 5.0, size=(60, K)) + 0.05
        log_phi = psi(word_topic) - psi(word_topic.sum(axis=0))
        owner = np.repeat(np.arange(60), np.diff(X.indptr))
        resp = reference.softmax(log_phi[X.indices] + psi(theta)[owner])
        found = reference.topics_bound(X, resp, theta, word_topic, np.full(K, alpha), eta)
        lda = sklearn_lda(word_topic, alpha, eta)
        expected = lda._approx_bound(X, doc_topic_distr=theta, sub_sampling=False)
        assert found == pytest.approx(expected, rel=1e-9)  # scikit-learn computes digamma differently


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("by_topic", [False, True])
@pytest.mark.parametrize("n_restarts", [0, 3])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_bound_is_what_the_responsibilities_give(n_nonzero, n_restarts, by_topic):
    X, eta = corpus(2), np.full((40, K), 0.05)
    model, _ = topic_model(X, n_nonzero, n_restarts=n_restarts)
    step = Step(model, X)
    stats = step.stats.copy()
    if by_topic:
        more = np.random.default_rng(0).gamma(0.2, size=(40, K))
        eta, stats = eta + more, stats.hold(PriorCounts(more))
    model.global_step(stats)
    expected = reference.topics_bound(
        X, step.resp, model.doc_topic_prior + step.doc_topic, step.word_topic() + eta, model.doc_topic_prior, eta
    )
    assert model.lower_bound(stats) == pytest.approx(expected, rel=1e-10)
    sums = np.zeros((X.shape[1], K))
    np.add.at(sums, X.indices, step.resp * X.data[:, None])
    np.testing.assert_allclose(step.word_topic(), sums, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(step.stats["count"], sums.sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(step.stats["tokens"], X.sum())
    assert float(step.stats["mass"]) == 60


def test_bound_at_a_fixed_point_is_that_of_scikit_learn():
    X = corpus(3, doc_topic_prior=1.0)
    model, _ = topic_model(X, alpha=0.8, eta=0.6)
    memory = DocumentMemory(0.0)
    for _ in range(FIXED_POINT_STEPS):
        step = Step(model, X, memory)
        model.global_step(step.stats)
    lda = sklearn_lda(step.word_topic() + 0.6, 0.8, 0.6)
    expected = lda._approx_bound(X, doc_topic_distr=0.8 + step.doc_topic, sub_sampling=False)
    assert model.lower_bound(step.stats) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_scikit_learns_bound_at_the_same_parameters_is_no_lower(n_nonzero):
    """In scikit-learn responsibilities are optimal for the parameters, with all topics for each word."""
    X = corpus(4)
    model, _ = topic_model(X, n_nonzero)
    step = Step(model, X)
    model.global_step(step.stats)
    lda = sklearn_lda(step.word_topic() + 0.05, 0.1, 0.05)
    best = lda._approx_bound(X, doc_topic_distr=0.1 + step.doc_topic, sub_sampling=False)
    found = model.lower_bound(step.stats)
    assert found < best
    assert best - found < 0.5 * abs(best)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_documents_equal_those_of_scikit_learn(alpha):
    X = corpus(5, doc_topic_prior=1.0)
    word_topic = start(X, seed=1).T * 3.0
    lda = sklearn_lda(word_topic, alpha, 0.1, mean_change_tol=1e-13, max_doc_update_iter=20_000)
    expected = lda.transform(X)
    table = lda.exp_dirichlet_component_.T.copy()
    theta = infer_doc_topic(X.astype(np.float64), table, np.full(K, alpha), max_iter=20_000, tol=1e-12)
    np.testing.assert_allclose(theta.sum(axis=1), alpha * K + X.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(theta / theta.sum(axis=1, keepdims=True), expected, rtol=0, atol=1e-7)


def test_transform_is_that_of_scikit_learn():
    X = corpus(5, doc_topic_prior=1.0)
    lda = SparseLDA(
        K, n_nonzero=2, doc_topic_prior=0.5, topic_word_prior=0.3, init_params=start(X), max_iter=3, tol=0.0,
        max_doc_update_iter=1000,
    ).fit(X)  # fmt: skip
    other = sklearn_lda(lda.components_.T.astype(np.float64), 0.5, 0.3, mean_change_tol=1e-8, max_doc_update_iter=5000)
    # documents have 30 tokens and end when none of their counts changes by a hundredth
    np.testing.assert_allclose(lda.transform(X), other.transform(X), rtol=0, atol=0.01)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_restarts_raise_the_documents_bounds(n_nonzero):
    X = corpus(6, n_samples=100)
    with_restarts, without = (Step(topic_model(X, n_nonzero, n_restarts=n)[0], X) for n in (5, 0))
    assert (with_restarts.bound >= without.bound - 1e-9).all()
    assert with_restarts.bound.sum() > without.bound.sum() + 1e-3
    proposed, accepted = with_restarts.stats["restarts"]
    assert 0 < accepted <= proposed <= 500
    assert not without.stats["restarts"].any()


class Tokens(Documents):
    """Every token is its own entry."""

    def buffer(self, selection):
        block = super().buffer(selection)
        times = block.counts.astype(int)
        ends = np.concatenate([[0], np.cumsum(times)])[block.indptr]
        ones = np.ones(times.sum(), dtype=block.counts.dtype)
        return DocumentBlock(ends, np.repeat(block.indices, times), ones, block.n_words)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_types_with_counts_are_tokens(n_nonzero):
    X = corpus(7, n_features=15)
    assert X.data.max() > 3
    # at L = 1 counts are whole numbers up to round-off, which then decides between topics of equal size in restarts
    model, _ = topic_model(X, n_nonzero, n_restarts=2 if n_nonzero > 1 else 0)
    types, tokens = Step(model, X), Step(model, X, documents=Tokens(X, None, np.float64))
    assert len(tokens.resp) == X.sum() > len(types.resp)
    np.testing.assert_allclose(tokens.doc_topic, types.doc_topic, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tokens.word_topic(), types.word_topic(), rtol=1e-9, atol=1e-9)
    assert model.lower_bound(tokens.stats) == pytest.approx(model.lower_bound(types.stats), rel=1e-9)


DOCUMENTS = [[0, 1, 1], [2, 0, 1]]


def log_joint(labels, n_components, alpha, eta):
    """log p(w, z) of DOCUMENTS, over three words, and a topic for each of their tokens."""
    words, labels = np.concatenate(DOCUMENTS), np.array(labels)
    parts = labels[:3], labels[3:]
    out = sum(reference.log_dirichlet_multinomial(part, alpha, n_components) for part in parts)
    return out + sum(reference.log_dirichlet_multinomial(words[labels == k], eta, 3) for k in range(n_components))


@pytest.mark.usefixtures("exact")
def test_bound_is_below_the_evidence_and_hard_topics_reach_their_best():
    def log_prior(labels):
        return log_joint(labels, 2, 0.5, 0.3)

    evidence = reference.log_evidence(6, 2, log_prior, lambda labels: 0.0)  # noqa: ARG005
    assert evidence == pytest.approx(-8.0470650406309, rel=1e-12)
    # with one topic a word the bound is log p(w, z) of that assignment, where a word has one topic in a document
    hard = max(log_prior(z) for z in product(range(2), repeat=6) if z[1] == z[2])
    X = sparse.csr_array(np.array([np.bincount(d, minlength=3) for d in DOCUMENTS], dtype=np.float64))
    best = {}
    for n_nonzero in (1, 2):
        bounds = [
            ExactLDA(
                2, n_nonzero=n_nonzero, doc_topic_prior=0.5, topic_word_prior=0.3, learning_method="batch", tol=0.0,
                init_params=start(X, 2, seed), max_iter=30, doc_update_tol=1e-6, warm_documents=True, n_restarts=2,
            ).fit(X).lower_bound_
            for seed in range(12)
        ]  # fmt: skip
        best[n_nonzero] = max(bounds)
        assert best[n_nonzero] < evidence
    assert best[1] == pytest.approx(hard, rel=1e-10)
    assert best[2] > hard


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("method", ["batch", "memoized"])
def test_one_topic_has_the_evidence(method, learned):
    X = corpus(8)
    lda = ExactLDA(
        1, learning_method=method, init_params="random", max_iter=3, tol=0.0, batch_size=17, random_state=0,
        **(LEARNED if learned else {"topic_word_prior": 0.3}),
    ).fit(X)  # fmt: skip
    eta, totals = lda.topic_word_prior_, X.sum(axis=0)
    assert (eta != 0.3) == learned
    np.testing.assert_allclose(lda.components_[0], eta + totals, rtol=1e-12)
    evidence = gammaln(40 * eta) - gammaln(40 * eta + totals.sum()) + np.sum(gammaln(eta + totals) - gammaln(eta))
    assert lda.lower_bound_ == pytest.approx(evidence, rel=1e-10)


# -- learning raises the bound


def assert_rising(bounds, slack):
    """Never lower than before, and higher in the end; memoized learning at L = 1 ends in its second epoch."""
    assert len(bounds) > 5
    bounds = np.array(bounds)
    assert (np.diff(bounds) >= -slack * np.abs(bounds[1:])).all(), np.diff(bounds)
    assert bounds[-1] > bounds[0] or np.ptp(bounds) < slack * abs(bounds[0])


def learn(cls, X, n_nonzero, method, n_restarts=0, **options):
    defaults = {"max_iter": 12, "tol": 0.0, "warm_documents": True, "doc_update_tol": 0.05, "doc_topic_prior": 0.1}
    options = defaults | options
    return cls(
        K, n_nonzero=n_nonzero, learning_method=method, n_restarts=n_restarts, batch_size=23, init_params=start(X),
        random_state=0, **options,
    ).fit(X)  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("n_restarts", [0, 3])
@pytest.mark.parametrize("method", ["batch", "memoized"])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_bound_rises_with_warm_documents(n_nonzero, method, n_restarts, learned):
    lda = learn(ExactLDA, corpus(9), n_nonzero, method, n_restarts, **(LEARNED if learned else {}))
    assert_rising(lda.lower_bounds_, 1e-8)


@pytest.mark.parametrize("n_restarts", [0, 3])
@pytest.mark.parametrize("method", ["batch", "memoized"])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_bound_rises_as_it_is_used(n_nonzero, method, n_restarts):
    lda = learn(SparseLDA, corpus(9, n_samples=200), n_nonzero, method, n_restarts)
    assert_rising(lda.lower_bounds_, 1e-4)


@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_float32_follows_float64(n_nonzero):
    X = corpus(10)
    single, double = (learn(cls, X, n_nonzero, "batch", max_iter=3) for cls in (SparseLDA, ExactLDA))
    assert single.lower_bound_ == pytest.approx(double.lower_bound_, rel=1e-3)
    first, second = (learn(cls, X, n_nonzero, "batch", max_iter=1) for cls in (SparseLDA, ExactLDA))
    assert first.lower_bound_ == pytest.approx(second.lower_bound_, rel=1e-4)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("n_nonzero", [2, K])
def test_learned_priors_raise_the_bound(n_nonzero):
    X = corpus(11, n_samples=100)
    fixed, learned = (learn(ExactLDA, X, n_nonzero, "batch", **o) for o in ({}, LEARNED))
    assert learned.lower_bound_ > fixed.lower_bound_ + 1.0
    assert learned.topic_word_prior_ != fixed.topic_word_prior_
    assert np.ptp(learned.doc_topic_prior_) > 0


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("truth", [0.1, 1.0])
def test_learned_priors_approach_the_truth(truth, monkeypatch):
    monkeypatch.setattr(_word_prior, "WORD_PRIOR", 1.0)
    X, topics, _ = make_sparse_lda(
        300, 60, 4, doc_length=100, doc_topic_prior=truth, topic_word_prior=0.1, random_state=0
    )
    for first in (0.02, 5.0):
        monkeypatch.setattr(priors, "default_prior_of_topics", lambda _, first=first: first)
        lda = ExactLDA(
            4, n_nonzero=None, **LEARNED, max_iter=15, tol=0.0,
            learning_method="batch", init_params=topics + 1e-3, random_state=0, doc_update_tol=0.05,
        ).fit(X)  # fmt: skip
        assert np.abs(np.log(lda.doc_topic_prior_ / truth)).max() < 0.7 < abs(np.log(first / truth))
        assert abs(np.log(lda.topic_word_prior_ / 0.1)) < 0.5


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("method", ["batch", "memoized"])
@pytest.mark.parametrize("n_nonzero", [2, K])
def test_last_bound_is_that_of_the_fitted_model(n_nonzero, method, learned):
    lda = learn(ExactLDA, corpus(22), n_nonzero, method, max_iter=3, **(LEARNED if learned else {}))
    assert lda._fitted.model.lower_bound(lda._fitted.stats) == pytest.approx(lda.lower_bound_, rel=1e-12)


@pytest.mark.usefixtures("exact")
def test_tables_hold_with_topics_without_tokens_and_a_tiny_prior():
    """Documents are inferred from the topics that transform() has, also where one of them is nearly empty."""
    X = corpus(23, n_features=20)
    for eta in (1e-2, 1e-4):
        model, _ = topic_model(X, 2, eta=eta, dtype=np.float32)
        stats = model.stats.copy()
        counts = stats["word_topic"] * 10.0
        counts[:, 0] = 0.0
        stats.replace("word_topic", counts.astype(np.float32))
        stats["count"] = counts.sum(axis=0)
        model.global_step(stats)
        with Workers(1) as workers:
            model.prepare(Documents(X, None, np.float32).buffer(slice(0, 60)), workers)
        seen = np.unique(X.indices)
        log_phi = psi(counts[seen, 1:].astype(np.float64) + eta) - psi(stats["count"][1:] + 20 * eta)
        expected = np.exp(log_phi - log_phi.max(axis=1, keepdims=True))
        np.testing.assert_allclose(model._table[seen, 1:], expected, rtol=1e-4)


# -- what must not matter


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_order_of_documents_does_not_matter(n_nonzero):
    X = corpus(12)
    order = np.random.default_rng(0).permutation(60)
    one, other = (learn(ExactLDA, Y, n_nonzero, "batch", max_iter=4) for Y in (X, X[order]))
    np.testing.assert_allclose(other.components_, one.components_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(other.lower_bounds_, one.lower_bounds_, rtol=1e-10)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("n_nonzero", [1, 2, K])
def test_order_of_topics_does_not_matter(n_nonzero, learned):
    X, order = corpus(13), np.random.default_rng(1).permutation(K)
    options = {"n_nonzero": n_nonzero, "learning_method": "batch", "max_iter": 4, "tol": 0.0}
    alpha = np.linspace(0.05, 0.2, K)
    one, other = (
        ExactLDA(
            K, init_params=start(X)[o], **options,
            **(LEARNED if learned else {"doc_topic_prior": alpha[o], "topic_word_prior": 0.1}),
        ).fit(X)
        for o in (np.arange(K), order)
    )  # fmt: skip
    np.testing.assert_allclose(other.components_, one.components_[order], rtol=1e-7)
    np.testing.assert_allclose(other.doc_topic_prior_, one.doc_topic_prior_[order], rtol=1e-7)
    np.testing.assert_allclose(other.lower_bounds_, one.lower_bounds_, rtol=1e-9)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("n_nonzero", [1, 2, K])
def test_weight_two_is_two_documents(n_nonzero, learned):
    X = corpus(15)
    weight = np.random.default_rng(0).integers(0, 4, size=60)
    options = {
        "n_nonzero": n_nonzero, "learning_method": "batch", "max_iter": 4, "init_params": start(X), "tol": 0.0,
        **(LEARNED if learned else {}),
    }  # fmt: skip
    weighted = ExactLDA(K, **options).fit(X, sample_weight=weight)
    repeated = ExactLDA(K, **options).fit(X[np.repeat(np.arange(60), weight)])
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(weighted.lower_bounds_, repeated.lower_bounds_, rtol=1e-9)
    np.testing.assert_allclose(weighted.doc_topic_prior_, repeated.doc_topic_prior_, rtol=1e-7)


@pytest.mark.filterwarnings("ignore:sample_weight has the sum")
@pytest.mark.parametrize("scale", [1e-5, 1e-3, 1e3])
def test_small_and_large_weights_lose_no_token(scale):
    X, weight = corpus(16), np.random.default_rng(0).uniform(0.5, 1.5, size=60)
    options = {"n_nonzero": 2, "learning_method": "batch", "max_iter": 3, "init_params": start(X), "tol": 0.0}
    scaled = ExactLDA(K, topic_word_prior=0.05, **options).fit(X, sample_weight=scale * weight)
    totals = scale * (X.T @ weight) + 0.05 * K
    np.testing.assert_allclose(scaled.components_.sum(axis=0), totals, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-4, 1e-2])
@pytest.mark.parametrize("n_nonzero", [1, 2, K])
@pytest.mark.filterwarnings("ignore:X has the sum")
def test_small_counts_are_all_counted(n_nonzero, scale):
    X = corpus(17)
    Y = X.astype(np.float64) * scale
    lda = learn(SparseLDA, Y, n_nonzero, "batch", max_iter=3)
    np.testing.assert_allclose(lda.components_.sum(axis=0), Y.sum(axis=0) + 0.01 * K, rtol=1e-4)


# -- schedules


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_memoized_with_one_batch_is_batch(n_nonzero):
    X = corpus(18)
    batch, memoized = (
        learn(ExactLDA, X, n_nonzero, method, max_iter=4, n_restarts=1) if method == "batch" else
        ExactLDA(
            K, n_nonzero=n_nonzero, learning_method="memoized", n_restarts=1, batch_size=60, init_params=start(X),
            doc_topic_prior=0.1, random_state=0, max_iter=4, tol=0.0, warm_documents=True, doc_update_tol=0.05,
        ).fit(X)
        for method in ("batch", "memoized")
    )  # fmt: skip
    np.testing.assert_allclose(memoized.components_, batch.components_, rtol=1e-10)
    np.testing.assert_allclose(memoized.lower_bounds_, batch.lower_bounds_[1:], rtol=1e-12)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_step_of_rate_one_from_all_documents_is_a_batch_step(n_nonzero):
    X = corpus(19)
    online = learn(ExactLDA, X, n_nonzero, "batch", max_iter=1)
    online.update_from_stats(online.expected_stats(X), learning_rate=1.0)
    batch = learn(ExactLDA, X, n_nonzero, "batch", max_iter=2, warm_documents=False)
    np.testing.assert_allclose(online.components_, batch.components_, rtol=1e-12)


@pytest.mark.parametrize(("cls", "tol"), [(SparseLDA, 1e-5), (ExactLDA, 1e-10)])
@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_statistics_of_parts_add_up(n_nonzero, learned, cls, tol):
    X = corpus(20)
    lda = learn(cls, X, n_nonzero, "batch", max_iter=2, n_restarts=2, **(LEARNED if learned else {}))
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=60)
    whole = lda.expected_stats(X, weight)
    bounds = [0, 7, 8, 40, 60]
    parts = [lda.expected_stats(X[a:b], weight[a:b]) for a, b in pairwise(bounds)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    for name in ("count", "mass", "tokens", "entropy", "alloc", "log_pi", "restarts", "visited"):
        size = max(1.0, np.abs(whole[name]).max())
        np.testing.assert_allclose(total[name], whole[name], rtol=tol, atol=tol * size, err_msg=name)
    found, expected = (
        s["word_topic"].toarray() if sparse.issparse(s["word_topic"]) else s["word_topic"] for s in (total, whole)
    )
    np.testing.assert_allclose(found, expected, rtol=tol, atol=tol)
    assert expected.sum() == pytest.approx(float(weight @ X.sum(axis=1)), rel=1e-5)


@pytest.mark.parametrize("n_nonzero", [1, 2, K])
def test_chunks_and_tiles_do_not_matter(n_nonzero, monkeypatch):
    X = corpus(21, n_samples=900, n_features=20, doc_length=5)
    lda = learn(ExactLDA, X, n_nonzero, "batch", max_iter=1)
    monkeypatch.setattr(TopicModel, "smallest_count", 0.0)
    documents = Documents(X, None, np.float64)
    whole = lda.expected_stats(X)
    monkeypatch.setattr("sparsemix._rows.documents.CHUNK_BYTES", 1)
    assert documents.chunk_size(K, n_nonzero) < 900
    model = lda._fitted.model
    with Workers(1) as workers:
        cut = collect(model, documents, slice(0, 900), workers)
    np.testing.assert_allclose(cut["count"], whole["count"], rtol=1e-10)
    np.testing.assert_allclose(cut["entropy"], whole["entropy"], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(cut["alloc"], whole["alloc"], rtol=1e-10)


# -- the start


def test_start_by_posterior_means_finds_the_bars(monkeypatch):
    monkeypatch.setattr(_start, "EM_PASSES", 15)
    X, topics, _ = make_bars(5, 1000, doc_length=60, doc_topic_prior=0.2, random_state=0)
    for seed in range(3):
        lda = SparseLDA(10, init_params="em", max_iter=0, random_state=seed).fit(X)
        _, distances = align_topics(lda, topics)
        assert np.median(distances) < 0.15, distances
        random = SparseLDA(10, init_params="random", max_iter=0, random_state=seed).fit(X)
        assert np.median(distances) < 0.5 * np.median(align_topics(random, topics)[1])


@pytest.mark.parametrize("n_nonzero", [2, None])
def test_bars_are_found(n_nonzero, monkeypatch):
    monkeypatch.setattr(_start, "EM_PASSES", 10)
    X, topics, _ = make_bars(5, 1000, doc_length=60, doc_topic_prior=0.2, random_state=0)
    lda = SparseLDA(10, n_nonzero=n_nonzero, n_restarts=2, max_iter=20, init_params="em", random_state=1).fit(X)
    assert np.median(align_topics(lda, topics)[1]) < 0.05


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("n_nonzero", [2, None])
def test_learned_prior_is_the_optimum_of_expected_logarithms(n_nonzero):
    """E[log pi] follows by definition from the Dirichlet parameters of each document."""
    X = corpus(21, doc_topic_prior=0.5)
    lda = learn(ExactLDA, X, n_nonzero, "batch", **LEARNED)
    stats, alpha = lda._fitted.stats, lda.doc_topic_prior_
    slope = psi(alpha.sum()) - psi(alpha) + stats["log_pi"] / float(stats["mass"])
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)
    if n_nonzero is None:
        gamma = lda.transform(X, normalize=False)
        expected = (psi(gamma) - psi(gamma.sum(axis=1))[:, None]).sum(axis=0)
        apart = np.abs(lda.expected_stats(X)["log_pi"] - expected)  # a document may end at another optimum
        assert np.median(apart) < 0.2 < 0.5 * (1.0 / gamma.sum(axis=1)).sum()  # of an argument that is off by one


@pytest.mark.parametrize("posterior_means", [False, True])
def test_inverse_totals_are_relative_to_the_largest_topic(posterior_means):
    totals = np.array([3.0, 2000.0, 0.7])
    weight = 1.0 / totals if posterior_means else np.exp(-psi(totals))
    np.testing.assert_allclose(inverse_totals(totals, posterior_means, np.float64), weight / weight[1], rtol=1e-12)
