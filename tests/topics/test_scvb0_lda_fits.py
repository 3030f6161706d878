"""Fits and streams of SparseSCVB0LDA, dense and sampled: its defaults, steps and rates, warm starts, readings."""

import copy
import pickle

import numpy as np
import pytest
from fitted import assert_never_fitted, assert_same_bits
from scipy import sparse
from topic_cases import GIVEN, LEARNED, K, N, V, X, halves

from sparsemix import SparseSCVB0LDA
from sparsemix._models.topics import gibbs_sampler
from sparsemix._rows.documents import Documents
from sparsemix._rows.rates import learning_rates
from sparsemix._rows.threads import Workers
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix.datasets import make_bars, make_sparse_lda
from sparsemix.topics._collapsed import assemble_stochastic

START_BATCHES = assemble_stochastic.START_BATCHES
pytestmark = pytest.mark.usefixtures("no_dense_batches", "plain_samples")
STEPS = 10.0, 0.9
VARIANTS = {
    "dense memoized": {"sampler": "dense", "learning_method": "memoized"},
    "dense online": {"sampler": "dense", "learning_method": "online", "local_step_size": STEPS},
    "gibbs memoized": {"sampler": "gibbs", "learning_method": "memoized"},
    "gibbs online": {"sampler": "gibbs", "learning_method": "online"},
    "gibbs mini-epochs": {"sampler": "gibbs", "learning_method": "online", "mini_epoch": (40, 2)},
    "mhw memoized": {"sampler": "mhw", "learning_method": "memoized"},
    "mhw online": {"sampler": "mhw", "learning_method": "online", "local_step_size": STEPS},
    "mini-epochs": {"sampler": "mhw", "learning_method": "online", "local_step_size": STEPS, "mini_epoch": (40, 2)},
}
per_variant = pytest.mark.parametrize("variant", VARIANTS)


def lda(variant="dense memoized", n_components=K, **params):
    defaults = {"init_params": "random", "batch_size": 20, "max_iter": 3, "n_samples": 5, "random_state": 0}
    return SparseSCVB0LDA(n_components, **(defaults | VARIANTS[variant] | params))


def stats_of(est):
    stats = est._fitted.stats.copy()  # reading folds the pending factor in, which moves last bits
    return stats["word_topic"] + float(stats["offset"])


# -- parameters, tags, attributes


@per_variant
def test_acceptance_rate_is_of_proposals(variant):
    est = lda(variant, max_iter=4).fit(X)
    assert est.components_.dtype == np.float32
    assert est.sampler_ == VARIANTS[variant]["sampler"]
    if est.sampler_ != "mhw":
        assert np.isnan(est.acceptance_rate_)
    else:
        assert 0.5 < est.acceptance_rate_ <= 1.0
        if est.learning_method == "memoized":  # S samples of each entry in every sweep
            assert est._fitted.stats["proposals"][0] == 2 * 5 * X.nnz


def test_sampler_follows_from_the_steps_of_documents():
    assert lda(sampler="auto").fit(X).sampler_ == "gibbs"
    assert lda(sampler="auto", local_step_size=STEPS).fit(X).sampler_ == "dense"
    assert lda(sampler="auto", total_samples=50).partial_fit(X).sampler_ == "gibbs"


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name.startswith("gibbs")])
@pytest.mark.parametrize("chunk", [64, 1 << 16])
def test_sums_of_very_many_topics_are_sparse(variant, chunk, monkeypatch):
    """As with thousands of topics: no word has a row for all topics, and the number of threads changes no bit."""
    monkeypatch.setattr(gibbs_sampler, "CHUNK_ENTRIES", chunk)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N)
    whole = lda(variant).fit(X, sample_weight=weight)
    monkeypatch.setattr(gibbs_sampler, "DENSE_SUMS", 1)
    monkeypatch.delattr(gibbs_sampler, "SplitSums")
    fits = [lda(variant, n_jobs=n_jobs).fit(X, sample_weight=weight) for n_jobs in (1, 2, 3)]
    for est in fits:
        assert_same_bits(est, fits[0], X)
    stats = fits[0]._fitted.stats
    packed = isinstance(stats["word_topic"], PackedCounts)  # whose small counts are rounded by chance
    assert packed == (variant in ("gibbs online", "gibbs mini-epochs"))
    assert stats["count"].sum() == pytest.approx(weight @ X.sum(axis=1), rel=1e-3 if packed else 1e-5)
    np.testing.assert_allclose(stats["word_topic"].sum(axis=0), stats["count"], rtol=1e-3)
    assert fits[0].score(X) == pytest.approx(whole.score(X), abs=0.15)
    stream = [lda(variant, n_jobs=n_jobs).partial_fit(X).partial_fit(X) for n_jobs in (1, 2)]
    assert_same_bits(*stream, X)
    before = stream[0].components_.copy()
    resumed, copied = pickle.loads(pickle.dumps(stream[0])), copy.deepcopy(stream[0])
    for est in (resumed, copied, stream[0]):  # the last one shares its counts by now
        est.partial_fit(X)
        assert_same_bits(est, resumed, X)
    assert not np.array_equal(resumed.components_, before)


def documents_of(n_documents, n_tokens):
    """Documents of equally many tokens of one word."""
    return np.full((n_documents, 1), n_tokens, dtype=np.float32)


def batch_size(n_components, n_documents, n_tokens, sample_weight=None, **params):
    est = SparseSCVB0LDA(n_components, max_iter=1, random_state=0, **params)
    return est.fit(documents_of(n_documents, n_tokens), sample_weight=sample_weight).batch_size_


def test_default_minibatch_holds_so_many_tokens_a_topic():
    assert batch_size(10, 3200, 40) == 160 * 10 // 40
    assert batch_size(20, 6400, 40) == 160 * 20 // 40
    assert batch_size(10, 3200, 40, sample_weight=np.full(3200, 3.0)) == 40  # weights are documents, not longer ones
    assert batch_size(2, 3200, 160) == 16  # at least
    assert batch_size(10, 1600, 16) == 1600 // 64  # an epoch has 64
    assert batch_size(100, 64_000, 2) == 500  # at most
    assert batch_size(10, 1600, 16, batch_size=7) == 7
    assert batch_size(10, 1600, 16, learning_method="memoized", init_params="random") == 250
    assert batch_size(10, 16_000, 1, learning_method="memoized", init_params="random") == 500
    assert SparseSCVB0LDA(2, random_state=0).partial_fit(X).batch_size_ is None


@pytest.mark.parametrize(
    ("n_components", "params", "n_first"),
    [(10, {}, 150 * 40), (2000, {"batch_size": 80}, 10_000), (10_000, {"batch_size": 40}, 0),
     (10, {"init_params": "uniform"}, 150 * 40), (10, {"init_params": "em"}, 0),
     (10, {"learning_method": "memoized"}, 0)],
)  # fmt: skip
def test_default_start_is_so_many_minibatches(n_components, params, n_first, monkeypatch):
    """Fewer where topics are many, and none where they differ from the beginning, as very many do."""
    monkeypatch.setattr(assemble_stochastic, "START_BATCHES", START_BATCHES)
    est = SparseSCVB0LDA(n_components, max_iter=1, random_state=0, **params)
    documents = Documents(sparse.csr_array(documents_of(3200, 40)))
    with Workers(1) as workers:
        model = est._recipe().plan(documents, np.random.default_rng(0), workers).model
    assert model.n_first == n_first


@pytest.mark.parametrize(
    ("n_components", "n_documents", "n_tokens", "params", "together"),
    [(500, 64_000, 10, {}, 2), (500, 160_000, 10, {}, 5), (500, 160_000, 50, {}, 3), (500, 1_000_000, 1, {}, 8),
     (500, 63_000, 10, {}, 1), (500, 3200, 10, {}, 1), (499, 160_000, 10, {}, 1),
     (500, 160_000, 10, {"batch_size": 500}, 1), (500, 160_000, 10, LEARNED, 1)],
)  # fmt: skip
def test_default_minibatches_are_joined_where_an_epoch_has_many(n_components, n_documents, n_tokens, params, together):
    """Within the tokens of a topic, and 64 steps an epoch."""
    documents = Documents(sparse.csr_array(documents_of(n_documents, n_tokens)))
    est = SparseSCVB0LDA(n_components, random_state=0, **params)
    with Workers(1) as workers:
        begin = est._recipe().plan(documents, np.random.default_rng(0), workers)
    assert begin.schedule.together == together
    assert begin.model.step_rows == (together * 500 if together > 1 else 0)


def test_default_prior_of_topics_has_a_mass_of_five():
    for n_components, expected in [(2, 0.1), (50, 0.1), (100, 0.05), (1000, 0.005)]:
        est = SparseSCVB0LDA(n_components, max_iter=1, random_state=0).fit(documents_of(10, 5))
        np.testing.assert_allclose(est.doc_topic_prior_, np.full(n_components, expected))


@pytest.mark.parametrize("sampler", ["dense", "mhw"])
@pytest.mark.parametrize("local_step_size", [STEPS, None])
@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_components_of_one_topic_are_the_counts(learning_method, local_step_size, sampler):
    params = {"learning_method": learning_method, "local_step_size": local_step_size, "sampler": sampler}
    est = lda(n_components=1, topic_word_prior=0.25, step_size=(0.0, 0.6), batch_size=N, **params).fit(X)
    np.testing.assert_allclose(est.components_[0], 0.25 + np.asarray(X.sum(axis=0)).ravel(), rtol=1e-5)
    np.testing.assert_array_equal(est.transform(X), 1.0)
    np.testing.assert_array_equal(est.topic_weights_, [1.0])


# -- wrong input


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_sampled_tokens_make_no_steps(method):
    est = lda(sampler="gibbs", local_step_size=STEPS)
    with pytest.raises(ValueError, match=r'local_step_size needs sampler="dense" or "mhw"; set local_step_size=None'):
        getattr(est, method)(X)
    assert_never_fitted(est)


# -- counts in every form


@pytest.mark.parametrize("alpha", [0.1, 1e-6])
@pytest.mark.parametrize("factor", [0.37, 1.0, 1000.3, 3.7e6])
def test_sampled_tokens_leave_no_negative_responsibilities(factor, alpha, monkeypatch):
    """Counts of a document are sums and differences in single precision."""
    smallest, accumulate = [], gibbs_sampler.GibbsSampler.accumulate

    def noted(self, counts, x, resp, weight, stats, workers):
        accumulate(self, counts, x, resp, weight, stats, workers)
        smallest.append(stats["word_topic"].rows.min())

    monkeypatch.setattr(gibbs_sampler.GibbsSampler, "accumulate", noted)
    lda("gibbs online", burn_in=6, doc_topic_prior=alpha, max_iter=10).fit(X * factor)
    assert min(smallest) >= 0.0


def test_rates_of_a_huge_document_take_little_memory():
    assert learning_rates(10**12, 0.9, 10.0).nbytes <= 1 << 23


# -- transform and score


@per_variant
def test_transform_is_the_fixed_point_of_cvb0(variant):
    """theta is alpha + N, where N is what responsibilities proportional to phi times theta add up to."""
    prior = [0.1, 0.2, 0.3, 0.4, 1.0]
    est = lda(variant, doc_topic_prior=prior, max_doc_update_iter=5000).fit(X)
    phi = est.components_ / est.components_.sum(axis=1, keepdims=True, dtype=float)
    theta = est.transform(np.vstack([X.toarray(), np.zeros((1, V))]))
    np.testing.assert_allclose(theta[-1], np.array(prior) / 2.0, rtol=1e-12)
    for row, share in zip(X.toarray()[:20], theta, strict=False):
        gamma = phi * share[:, None]
        gamma /= gamma.sum(axis=0)
        np.testing.assert_allclose((prior + gamma @ row) / (2.0 + row.sum()), share, atol=5e-3)


# -- streams

ROWS = [slice(0, 30), slice(30, 31), slice(31, 45), slice(45, N)]


@pytest.mark.parametrize("sampler", ["dense", "mhw"])
def test_step_of_a_stream_of_known_length(sampler):
    """Towards the tokens of so many documents as long as those seen."""
    total, decay, offset = 1000, 0.6, 3.0
    est = lda(sampler=sampler, total_samples=total, step_size=(offset, decay), init_params=GIVEN)
    even = sparse.csr_array(np.random.default_rng(3).multinomial(20, np.full(V, 1 / V), size=N))
    est.partial_fit(even[:30])
    for step, rows in enumerate(ROWS[1:], start=2):
        before, new = stats_of(est), est.expected_stats(even[rows])
        rho, size = (offset + step) ** -decay, rows.stop - rows.start
        est.partial_fit(even[rows])
        want = (1 - rho) * before + rho * total / size * new["word_topic"].toarray()
        np.testing.assert_allclose(stats_of(est), want, rtol=1e-4, atol=1e-3)
        assert float(est._fitted.stats["mass"]) == pytest.approx(20 * total)
        assert float(est._fitted.stats["documents"]) == pytest.approx(total)


def test_stream_of_known_length_follows_the_length_of_documents():
    """If documents become longer, the number of tokens of the corpus grows."""
    est = lda(total_samples=1000, init_params=GIVEN, step_size=(1.0, 0.5))
    short, long = (np.random.default_rng(4).multinomial(n, np.full(V, 1 / V), size=50) for n in (10, 40))
    est.partial_fit(short)
    assert float(est._fitted.stats["mass"]) == pytest.approx(10_000)
    for _ in range(60):
        est.partial_fit(long)
    assert float(est._fitted.stats["mass"]) == pytest.approx(40_000, rel=0.01)
    assert stats_of(est).sum() == pytest.approx(float(est._fitted.stats["mass"]), rel=1e-4)


def test_first_block_of_a_stream_of_known_length_steps_from_its_start():
    params = {"total_samples": 600, "init_params": GIVEN}
    est = lda(step_size=(1e9, 1.0), **params).partial_fit(X)
    np.testing.assert_allclose(stats_of(est).T, GIVEN / GIVEN.sum() * X.sum() * 10, rtol=1e-4)
    est = lda(step_size=(0.0, 0.6), **params).partial_fit(X)  # a step of size one: nothing but the block
    np.testing.assert_allclose(stats_of(est).sum(axis=1), 10 * np.asarray(X.sum(axis=0)).ravel(), rtol=1e-4)


@pytest.mark.parametrize("variant", ["dense memoized", "mhw online"])
def test_streamed_model_is_nearly_as_good_as_a_fit(variant):
    rows, _, _ = make_sparse_lda(600, n_features=V, n_components=K, doc_length=60, random_state=5)
    params = {"init_params": "em", "n_samples": 20}
    fitted = lda(variant, max_iter=20, batch_size=100, **params).fit(rows)
    est = lda(variant, **params)
    for start in range(0, 600, 100):
        est.partial_fit(rows[start : start + 100])
    one_topic = lda(n_components=1).partial_fit(rows).score(rows)
    assert fitted.score(rows) > one_topic + 0.1
    assert est.score(rows) > one_topic + 0.5 * (fitted.score(rows) - one_topic)


# -- weights


@per_variant
def test_weights_in_a_stream_are_documents_too(variant):
    weight = np.random.default_rng(3).integers(0, 4, N).astype(float)
    est = lda(variant).partial_fit(X[:30])
    stats = est.expected_stats(X, sample_weight=weight)
    totals = np.asarray(X.T @ weight).ravel()
    np.testing.assert_allclose(stats["word_topic"].toarray().sum(axis=1), totals, rtol=1e-5)
    assert float(stats["documents"]) == weight.sum()
    assert stats["count"].sum() == pytest.approx(totals.sum(), rel=1e-5)


# -- fits again


def test_warm_start_draws_new_samples():
    est = lda("mhw memoized", warm_start=True, init_params=GIVEN, batch_size=N, max_iter=1).fit(X)
    model = est._fitted.model
    est.fit(X)
    assert est._fitted.model.seed == model.seed != 0
    assert est._fitted.model.n_steps > model.n_steps


# -- copies


def test_first_block_of_a_stream_is_learned_as_a_fit():
    """Its minibatches are visited densely at first; later blocks are visited as later batches of a fit are."""
    rows, _, _ = make_bars(5, n_samples=600, doc_length=60, random_state=0)
    est = SparseSCVB0LDA(10, random_state=0).partial_fit(rows)
    model = est._fitted.model
    assert model.n_first == 0
    assert model.renewed(0).sampler.name == "gibbs"
    assert model.n_steps > 5 * 10
    assert float(est._fitted.stats["mass"]) == pytest.approx(rows.sum(), rel=1e-6)
    fitted = SparseSCVB0LDA(10, max_iter=5, random_state=0).fit(rows)
    assert est.score(rows) > fitted.score(rows) - 0.05


@pytest.mark.parametrize("name", ["burn_in", "n_samples", "max_doc_update_iter"])
def test_more_visits_than_a_c_int_counts_are_refused(name):
    message = rf"'{name}' parameter of SparseSCVB0LDA must be an int in the range \[\d, 1073741824\]"
    with pytest.raises(ValueError, match=message):
        SparseSCVB0LDA(2, **{name: 1 << 40}).fit(np.ones((3, 4)))


def test_a_packed_start_has_as_many_tokens_as_the_documents():
    est = SparseSCVB0LDA(gibbs_sampler.DENSE_SUMS + 1, max_iter=0, random_state=0).fit(X)
    assert isinstance(est._fitted.stats["word_topic"], PackedCounts)
    assert est._fitted.stats["count"].sum() == pytest.approx(X.sum(), rel=1e-3)


def test_counts_in_parts_are_whole_if_their_sums_are():
    """Only whole counts can decide the prior, which here gets other bits in the fourth epoch."""
    X = sparse.csr_array(np.random.default_rng(0).poisson(0.1, (300, 100)).astype(float))
    whole, parts = (SparseSCVB0LDA(3, max_iter=8, random_state=0).fit(rows) for rows in (X, halves(halves(X))))
    np.testing.assert_array_equal(parts.components_, whole.components_)
    np.testing.assert_array_equal(parts.doc_topic_prior_, whole.doc_topic_prior_)
