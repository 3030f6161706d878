"""SkipGramTopicModel against exact laws, brute force and known topics."""

from itertools import pairwise

import numpy as np
import pytest
import reference_skipgram as twin
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp
from seeds import one_of_three

from sparsemix import SkipGramTopicModel
from sparsemix._models.skipgram.samplers import DenseSampler, WalkerSampler
from sparsemix._models.skipgram.stochastic_model import Annealing, StochasticSkipGramModel
from sparsemix._models.skipgram.sweep_models import WalkingSkipGramModel
from sparsemix._rows.sequences import Sequences
from sparsemix._rows.threads import Workers
from sparsemix.datasets import make_skip_gram
from sparsemix.skipgram import _assemble

K, V = 4, 9


class Double(SkipGramTopicModel):
    _table_dtype = np.float64


def documents_of(seed=0, gaps=True):
    documents = twin.random_documents(np.random.default_rng(seed), n_documents=12, n_words=V, gaps=gaps)
    rows = [d for d, document in enumerate(documents) for _ in document]
    places = [place for document in documents for place, _ in document]
    words = [word + 1 for document in documents for _, word in document]
    return documents, sparse.csr_array((words, (rows, places)), shape=(len(documents), 40))


def model_of(sampler, X, window=3, dtype=np.float64, annealing=None, seed=0):
    """A model with random counts, and documents."""
    rng = np.random.default_rng(seed)
    annealing = Annealing(0.0, 1.0, 0.5) if annealing is None else annealing
    model = StochasticSkipGramModel(V, np.full(K, 0.3), 0.2, sampler, window, annealing, None, (0.9, 5.0), dtype)
    documents = Sequences(X, V)
    inputs, _ = documents.totals(window)
    stats = model.first_stats(rng.gamma(0.5, 20.0, size=(V, K)).astype(dtype), inputs, len(documents), inputs.sum())
    stats["input_topic"].rows[...] = rng.dirichlet(np.ones(K), size=V)
    model.global_step(stats)
    return model, documents


def expected_sums(model, documents, window):
    """Sums of the responsibilities over all positions, in plain NumPy."""
    inputs, words = np.zeros((2, V, K))
    before = model.stats["input_topic"].toarray(), model.stats["word_topic"]
    for word, around in twin.contexts(documents, window):
        if around:
            p = twin.softmax(twin.log_conditional(word, around, *before, 0.3, 0.2))
            inputs[word] += p
            for w in around:
                words[w] += p
    return inputs, words


# -- statistics


@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize("window", [1, 3, 50])
def test_statistics_of_even_draws_are_expectations(gaps, window):
    documents, X = documents_of(gaps=gaps)
    model, rows = model_of(DenseSampler(4096), X, window)
    with Workers(1) as workers:
        stats = collected(model, rows, workers)
    inputs, words = expected_sums(model, documents, window)
    np.testing.assert_allclose(stats["input_topic"].toarray(), inputs, atol=2e-3)
    np.testing.assert_allclose(stats["word_topic"].toarray(), words, atol=1e-2)
    np.testing.assert_allclose(stats["count"], words.sum(axis=0), atol=2e-2)
    positions = twin.contexts(documents, window)
    assert float(stats["mass"]) == pytest.approx(sum(bool(around) for _, around in positions))
    assert stats["count"].sum() == pytest.approx(sum(len(around) for _, around in positions))
    assert stats["input_topic"].sum() == pytest.approx(float(stats["mass"]))


def collected(model, rows, workers):
    from sparsemix._engine.loop import collect

    return collect(model, rows, slice(0, len(rows)), workers)


def test_statistics_of_chains_tend_to_expectations():
    """The error falls with the number of samples; tables are fresh, but a proposal sees one word of the context."""
    documents, X = documents_of()
    errors = []
    for n_samples in (50, 5000):
        model, rows = model_of(WalkerSampler(n_samples, 10), X)
        with Workers(1) as workers:
            stats = collected(model, rows, workers)
        inputs, words = expected_sums(model, documents, 3)
        errors.append(np.abs(stats["word_topic"].toarray() - words).max())
        assert stats["count"].sum() == pytest.approx(words.sum())
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 0.2
    np.testing.assert_allclose(stats["input_topic"].toarray(), inputs, atol=0.1)


def test_weights_multiply_what_a_document_contributes():
    _, X = documents_of()
    weight = np.arange(1.0, 13.0)
    model, rows = model_of(DenseSampler(2048), X)
    rows.sample_weight = weight
    with Workers(1) as workers:
        weighted = collected(model, rows, workers)
        total = sum(
            weight[d] * collected(model, Sequences(X[[d]], V), workers)["word_topic"].toarray() for d in range(12)
        )
    np.testing.assert_allclose(weighted["word_topic"].toarray(), total, atol=0.2)


@pytest.mark.parametrize("window", [1, 4])
def test_default_temperature_starts_at_the_words_of_a_whole_context(window):
    annealing = _assemble.annealing(SkipGramTopicModel(window=window))
    assert annealing(0.0) == pytest.approx(1.0 + 2 * window)
    assert annealing(100.0) == pytest.approx(1.0)


def test_temperature_falls_from_epoch_to_epoch():
    annealing = Annealing(10.0, 0.1, 0.59)
    assert annealing(0.0) == pytest.approx(10.1)
    assert annealing(2.0) == pytest.approx(0.1 + 10 * 0.59**2)
    _, X = documents_of()
    model, _ = model_of(DenseSampler(4), X, annealing=annealing)
    assert model.temperature == 0.1  # an epoch is nothing in a stream of unknown length
    model.n_documents, model.n_visited = 12.0, 24
    assert model.temperature == pytest.approx(annealing(2.0))


def test_warm_start_sets_the_clocks_of_words_to_one_epoch():
    """A word's first steps are those behind its occurrences in the documents, taken one by one."""
    documents, X = documents_of()
    old, rows = model_of(DenseSampler(16), X)
    model, _ = model_of(DenseSampler(16), X)
    stats = model.continued(old, old.stats, rows)
    clocks, table = stats["input_topic"], stats["input_topic"].toarray()
    occurrences = np.bincount([word for word, around in twin.contexts(documents, 3) if around], minlength=V)
    assert (occurrences > 1).sum() > 3
    np.testing.assert_allclose(table.sum(axis=1), occurrences)
    pairs = sum(len(around) for _, around in twin.contexts(documents, 3))
    assert stats["count"].sum() == pytest.approx(pairs)
    assert stats["word_topic"].sum() == pytest.approx(pairs)
    sums = np.random.default_rng(0).dirichlet(np.ones(K), size=V) * 2.0  # each word occurs twice
    for t in (1, 2):
        rho = ((5.0 + occurrences + t) ** -0.9)[:, None]
        table = (1 - rho) * table + rho * occurrences[:, None] * sums / 2.0
    clocks.advance(sparse.csr_array(sums))
    np.testing.assert_allclose(clocks.toarray(), table, rtol=1e-9)


# -- readings


def fitted(**params):
    _, X = documents_of()
    return X, Double(K, window=3, n_words=V, random_state=0, **{"max_iter": 2} | params).fit(X)


@pytest.mark.parametrize("inference", ["scvb0", "gibbs", "mhw"])
def test_readings_are_those_of_the_posterior_means(inference):
    X, est = fitted(inference=inference)
    documents, _ = documents_of()
    theta, phi = est.word_topics_, est.components_ / est.components_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    np.testing.assert_allclose((est.word_vectors_**2).sum(axis=1), 1.0)
    total, n_pairs, means = 0.0, 0, est.transform(X)
    sparse_rows = est.transform_words(X, n_nonzero=K).toarray()
    at = 0
    for d, document in enumerate(documents):
        rows = []
        for word, around in twin.contexts([document], 3):
            logs = np.log(theta[word]) + np.log(phi[:, around]).sum(axis=1)
            rows.append(twin.softmax(logs))
            np.testing.assert_allclose(sparse_rows[at], rows[-1], atol=1e-6)
            at += 1
            if around:
                total, n_pairs = total + logsumexp(logs), n_pairs + len(around)
        np.testing.assert_allclose(means[d], np.mean(rows, axis=0) if rows else np.full(K, 1 / K), atol=1e-9)
    assert est.score(X) == pytest.approx(total / n_pairs, rel=1e-9)
    assert est.perplexity(X) == pytest.approx(np.exp(-total / n_pairs))
    best = est.transform_words(X, n_nonzero=2)
    assert (np.diff(best.indptr) == 2).all()
    np.testing.assert_allclose(best.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("inference", ["scvb0", "gibbs", "mhw"])
def test_topics_of_a_word_are_its_prior_and_as_many_counts_as_it_has_contexts(inference):
    documents, _ = documents_of()
    _, est = fitted(inference=inference, max_iter=3)
    counts = np.zeros(V)
    for word, around in twin.contexts(documents, 3):
        counts[word] += bool(around)
    alpha = est.input_topic_prior_
    of_topics = est.word_topics_ * (counts + alpha.sum())[:, None] - alpha
    np.testing.assert_allclose(of_topics.sum(axis=1), counts, atol=1e-9)
    np.testing.assert_allclose(of_topics, est._fitted.stats.unfolded("input_topic")[0].toarray()
                               if inference == "scvb0" else est._fitted.stats["input_topic"], atol=1e-9)  # fmt: skip


def test_one_topic_is_the_frequencies_of_context_words():
    documents, X = documents_of()
    for inference in ("scvb0", "gibbs", "mhw"):
        est = Double(1, window=2, n_words=V, inference=inference, batch_size=100, max_iter=1, step_size=(0.0, 0.6))
        est.fit(X)  # a step of size one
        words = np.bincount([w for _, around in twin.contexts(documents, 2) for w in around], minlength=V)
        np.testing.assert_allclose(est.components_[0], words + 0.04, rtol=1e-6)
        np.testing.assert_allclose(est.word_topics_, 1.0)


def test_proposals_of_a_part_are_the_topics_of_all_other_positions(monkeypatch):
    """Else the reverse proposal has another density; the positions of a part are every other one of a document."""
    build, beta, moved = WalkingSkipGramModel._build_tables, 0.2, 0
    before = None

    def checked(self, tables, x, topics, part, table, totals):
        nonlocal before, moved
        build(self, tables, x, topics, part, table, totals)
        documents = [list(enumerate(x.words[a:b])) for a, b in pairwise(x.indptr)]
        own = np.concatenate([np.arange(len(document)) % 2 == part for document in documents])
        positions = twin.contexts(documents, 2)
        kept = [(word, [] if mine else around) for (word, around), mine in zip(positions, own, strict=True)]
        others, everything = (twin.counts(some, topics, V, K)[1] for some in (kept, positions))
        found = np.array([tables.density(word, range(K)) for word in np.unique(x.words)])
        expected = (others + beta) / (others.sum(axis=0) + V * beta)
        np.testing.assert_allclose(found, expected[np.unique(x.words)], rtol=1e-9)
        np.testing.assert_array_equal(table, everything)
        if before is not None:
            assert not (topics != before)[own].any()  # the step before moved the other part
            moved += (topics != before).sum()
        before = topics.copy()

    monkeypatch.setattr(WalkingSkipGramModel, "_build_tables", checked)
    texts = [[word for _, word in document] for document in documents_of(gaps=False)[0]]
    Double(K, window=2, inference="mhw", topic_word_prior=beta, n_words=V, max_iter=5, random_state=0).fit(texts)
    assert moved > 0


def test_counts_of_sweeps_belong_to_the_joint():
    documents, X = documents_of()
    est = Double(K, window=3, n_words=V, inference="gibbs", max_iter=4, burn_in=4, random_state=0).fit(X)
    stats = est._fitted.stats
    inputs, words = stats["input_topic"], stats["word_topic"]
    positions = twin.contexts(documents, 3)
    assert inputs.sum() == sum(bool(around) for _, around in positions)
    assert words.sum() == stats["count"].sum() == sum(len(around) for _, around in positions)
    zero = twin.log_joint(np.zeros((V, K)), np.zeros((V, K)), 0.1, 0.06)
    assert est.history_[-1]["log_joint"] == pytest.approx(twin.log_joint(inputs, words, 0.1, 0.06) - zero, rel=1e-9)


# -- known topics


def matched(first, second):
    """Rows of the second that belong to those of the first, and the mean total variation between them."""
    tv = 0.5 * np.abs(first[:, None] - second[None]).sum(axis=-1)
    rows, columns = linear_sum_assignment(tv)
    return columns, tv[rows, columns].mean()


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("params", "limit"),
    [({"inference": "gibbs"}, 0.12), ({"inference": "mhw", "max_iter": 60}, 0.3), ({"max_iter": 20}, 0.1),
     ({"sampler": "mhw", "max_iter": 20}, 0.1)],
)  # fmt: skip
def test_known_topics_are_recovered(params, limit):
    X, topics, word_topics = make_skip_gram(300, n_features=100, n_components=6, random_state=1)
    frequency = topics.sum(axis=0) / topics.sum()
    shuffled = np.random.default_rng(0).permuted(topics, axis=1)

    def succeeds(seed):
        est = SkipGramTopicModel(6, random_state=seed, **params).fit(X)
        components = est.components_ / est.components_.sum(axis=1, keepdims=True)
        order, distance = matched(components, topics)
        assert matched(components, shuffled)[1] > 0.5
        of_words = frequency @ (0.5 * np.abs(est.word_topics_ - word_topics[:, order]).sum(axis=1))
        return max(distance, of_words) < limit

    assert one_of_three(succeeds)  # samplers of one topic at a time leave two topics mixed from half of the starts


def test_the_context_determines_the_sense_of_a_word():
    rng = np.random.default_rng(0)
    senses = [np.arange(1, 11), np.arange(11, 21)]  # word 0 is in both
    documents, truth = [], []
    for i in range(300):
        document = rng.choice(senses[i % 2], size=11)
        document[5] = 0
        documents.append(document)
        truth.append(i % 2)
    est = SkipGramTopicModel(2, random_state=0, max_iter=10).fit(documents)
    np.testing.assert_allclose(np.sort(est.word_topics_[0]), [0.5, 0.5], atol=0.05)
    found = est.transform_words(documents, 1).indices.reshape(300, 11)[:, 5]
    assert max((found == truth).mean(), (found != truth).mean()) > 0.98
