"""Whole fits with "mhw" against the exact posterior of small documents, found by going through all their topics.

All words of a document differ and have one sample, so that a chain is a chain of its tokens, whose law is known. Tables
lack small counts, here a good part of a word; the topics' counts get even draws. Both are defaults.
"""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from sparsemix import SparseSCVB0LDA
from sparsemix._models.topics import walker_sampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix.topics._collapsed import assemble_stochastic

K, V = 3, 5
DOCUMENTS = np.array([[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]])
N = 20_000  # of each
ALPHA, BETA = np.array([0.4, 0.1, 0.25]), 20_000.0
# As many as there are tokens; those below 2,000 are in no table.
GIVEN = np.array([[1900, 25_000, 1800, 8000, 1700], [14_000, 1800, 9000, 1900, 7000], [1900, 6000, 1800, 36_500, 1700]])
X = sparse.csr_array(np.repeat(DOCUMENTS, N, axis=0).astype(np.float64))


def expected_counts(counts):
    """Counts by topic and word of one document of each kind: p(z | w) over all z, topics known."""
    phi = (counts + BETA) / (counts + BETA).sum(axis=1, keepdims=True)
    out = np.zeros((len(DOCUMENTS), K, V))
    for n, document in enumerate(DOCUMENTS):
        words = np.flatnonzero(document)
        states = np.array(list(product(range(K), repeat=len(words))))
        weight = np.array([joint(phi, ALPHA, words, z) for z in states])
        for z, p in zip(states, weight / weight.sum(), strict=True):
            out[n, z, words] += p
    return out


def joint(phi, alpha, words, z):
    """p(w, z) up to a constant: each token in its turn, after those before it (Polya's urn)."""
    return np.prod([phi[k, w] * (alpha[k] + np.sum(z[:i] == k)) for i, (w, k) in enumerate(zip(words, z, strict=True))])


def fitted(max_iter, **params):
    """Passes of one step each: the first replaces the given counts, the second goes half of the way."""
    defaults = {
        "sampler": "mhw", "n_samples": 1, "burn_in": 12, "doc_topic_prior": ALPHA, "topic_word_prior": BETA,
        "init_params": GIVEN, "n_averaged_iter": 0, "batch_size": len(X.indptr),
        "step_size": (0.0, 1.0), "random_state": 0,
    }  # fmt: skip
    return SparseSCVB0LDA(K, max_iter=max_iter, **(defaults | params)).fit(X)


def counts_of(est):
    return est.components_.astype(np.float64) - BETA


def deviation(found, expected):
    """Largest of all counts in standard errors of single draws, which even draws stay below."""
    present = expected.sum(axis=0) > 0
    p = expected / np.maximum(DOCUMENTS.sum(axis=0), 1)  # of the tokens of a word
    variance = N * np.maximum(DOCUMENTS.sum(axis=0) * p * (1 - p), 1e-12)
    return np.abs((found - N * expected) / np.sqrt(variance))[:, present].max()


def total(counts):
    return expected_counts(counts).sum(axis=0)


def test_enumeration_is_gibbs_sampling():
    """The exact sampler and a plain chain have the law that other tests expect."""
    exact = fitted(1, sampler="gibbs")
    assert deviation(counts_of(exact), total(GIVEN)) < 5.0
    rng = np.random.default_rng(0)
    phi = (GIVEN + BETA) / (GIVEN + BETA).sum(axis=1, keepdims=True)
    words, z, sums = np.flatnonzero(DOCUMENTS[0]), np.zeros(3, dtype=int), np.zeros((K, V))
    for _ in range(5_000):
        for i, w in enumerate(words):
            weight = phi[:, w] * (ALPHA + np.bincount(np.delete(z, i), minlength=K))
            sums[:, w] += weight / weight.sum() / 5_000
            z[i] = rng.choice(K, p=weight / weight.sum())
    np.testing.assert_allclose(sums, expected_counts(GIVEN)[0], atol=0.03)


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_first_epoch_has_the_exact_posterior(share, monkeypatch):
    """The share of the prior that a count needs to enter a table does not matter."""
    assert walker_sampler.NEGLIGIBLE == 0.1
    monkeypatch.setattr(walker_sampler, "NEGLIGIBLE", share)
    est = fitted(1)
    assert 0.5 < est.acceptance_rate_ < 0.999  # tables are not the conditional
    assert deviation(counts_of(est), total(GIVEN)) < 5.0


def test_second_epoch_has_it_with_tables_of_the_first(monkeypatch):
    """Old tables, remembered documents: of other topics than they were made from."""
    monkeypatch.setattr(walker_sampler, "EARLY_STEPS", 0)
    monkeypatch.setattr(walker_sampler, "LEAST_ACCEPTANCE", 0.0)
    monkeypatch.setattr(walker_sampler.WalkerSampler, "forget", begun_without_tables)
    first, second = counts_of(fitted(1)), fitted(2)
    assert second.acceptance_rate_ < 0.99
    new = 2.0 * counts_of(second) - first
    assert deviation(new, total(first)) < 5.0
    assert deviation(new, total(GIVEN)) > 8.0


def begun_without_tables(self):
    """Tables that stay where an epoch ends."""
    if not hasattr(self, "_tables"):
        self._tables, self._age, self._draws, self._accepted = None, self.max_age, 0, 0


@pytest.mark.parametrize("n_even_samples", [0, 1, 16])
def test_even_draws_have_the_law_of_single_ones(n_even_samples, monkeypatch):
    monkeypatch.setattr(assemble_stochastic, "EVEN_SAMPLES", n_even_samples)
    assert deviation(counts_of(fitted(1)), total(GIVEN)) < 5.0


def test_tokens_of_a_repeated_word_are_drawn_together():
    """By "gibbs", an approximation: the law is that of the block draws, and as far from the posterior as guides say."""
    n, alpha, ratio = 20_000, 0.1, 3.0
    counts = np.array([[30_000.0, 10_000], [10_000, 30_000]])
    rows = sparse.csr_array(np.tile([2.0, 0.0], (n, 1)))
    est = SparseSCVB0LDA(
        2, sampler="gibbs", doc_topic_prior=alpha, topic_word_prior=1e-3, init_params=counts, burn_in=25,
        n_averaged_iter=0, batch_size=n, step_size=(0.0, 1.0), max_iter=1,
        random_state=0,
    ).fit(rows)  # fmt: skip
    found = est.components_[0, 0] / (2 * n)
    pairs, weight = list(product(range(2), repeat=2)), np.array([ratio, 1.0])
    moves = np.empty((4, 4))
    for i, z in enumerate(pairs):
        p = weight * (alpha + np.bincount(z, minlength=2) / 2)
        moves[i] = [np.prod(p[list(new)]) / p.sum() ** 2 for new in pairs]
    law = np.linalg.matrix_power(moves, 200)[0]
    drawn = law @ [z.count(0) / 2 for z in pairs]
    exact = np.array([joint(weight[:, None], np.full(2, alpha), (0, 0), np.array(z)) for z in pairs])
    posterior = exact @ [z.count(0) / 2 for z in pairs] / exact.sum()
    assert found == pytest.approx(drawn, abs=0.006)
    assert found == pytest.approx(0.94, abs=0.006)
    assert posterior == pytest.approx(0.88, abs=0.003)


def test_proposals_of_words_are_their_conditionals(monkeypatch):
    """Counts have a background that tables of words do not store, and no count is too small for a table."""
    monkeypatch.setattr(walker_sampler, "NEGLIGIBLE", 0.0)
    sampler = walker_sampler.WalkerSampler(1, 0, 1, None, 0.0, 1)
    model = StochasticCollapsedModel(V, ALPHA, BETA, sampler, dtype=np.float64)
    stats = model.same_topics(1, 50_000.0)
    stats.replace("word_topic", np.ascontiguousarray(GIVEN.T, dtype=np.float64))
    stats["count"] += GIVEN.sum(axis=1)
    model.global_step(stats)
    assert model.counts.offset == 50_000.0 / K / V
    sampler.prepare(model.counts, X[[0, N]], None)
    counts = GIVEN.T + model.counts.offset + BETA
    for word in range(V):
        expected = ALPHA * counts[word] / counts.sum(axis=0)
        np.testing.assert_allclose(sampler._tables.density(word, np.arange(K)), expected, rtol=1e-9)


@pytest.mark.parametrize("sampler", ["gibbs", "mhw"])
def test_counts_that_all_words_share_count(sampler, monkeypatch):
    """A background that no table stores, as topics that begin all alike have it."""
    monkeypatch.setitem(globals(), "BETA", 100.0)
    step, share = StochasticCollapsedModel.global_step, GIVEN.min()

    def with_background(self, stats, split=None):
        if self.n_steps == 0:
            stats.replace("word_topic", np.ascontiguousarray(GIVEN.T - share, dtype=self.dtype))
            stats["offset"] += share
        step(self, stats, split)

    monkeypatch.setattr(StochasticCollapsedModel, "global_step", with_background)
    est = fitted(1, sampler=sampler, topic_word_prior=BETA)
    assert deviation(counts_of(est), total(GIVEN)) < 5.0


@pytest.mark.parametrize("n_components", [2, 5, 300])
def test_counts_below_an_even_share_of_the_last_step_are_removed(n_components):
    params = SparseSCVB0LDA(n_components, sampler="mhw", local_step_size=(10.0, 0.9))._params
    sampler = assemble_stochastic.make_model(params, V, np.float32).later_sampler
    assert sampler.name == "mhw"
    assert sampler.sparsity * n_components == pytest.approx(1.0)
