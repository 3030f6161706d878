"""The same bits: for the same seed, any number of threads, any neighbours of a row; and what weights mean."""

import copy

import numpy as np
import pytest
from estimator_cases import CASES, FIRST, over, with_methods, with_parameters, with_weights
from fitted import assert_same, assert_same_bits, attributes, few_epochs, readings, said
from sklearn.utils import get_tags

from sparsemix import SparseHDP, SparseLDA
from sparsemix._models.topics import dense_sampler, gibbs_sampler, walker_sampler
from sparsemix._rows import blocks, documents
from sparsemix._rows import sequences as _sequences
from sparsemix.skipgram import _predict
from sparsemix.topics import _start

pytestmark = few_epochs


@pytest.fixture
def small_chunks(monkeypatch):
    """A batch of two hundred rows has several chunks, each of several tiles."""
    monkeypatch.setattr(blocks, "TILE_WEIGHTS", 1)
    monkeypatch.setattr(blocks, "CHUNK_BYTES", 1 << 13)
    monkeypatch.setattr(documents, "CHUNK_BYTES", 1 << 15)
    monkeypatch.setattr(dense_sampler, "CHUNK_NUMBERS", 1 << 12)
    monkeypatch.setattr(walker_sampler, "CHUNK_SAMPLES", 1 << 11)
    monkeypatch.setattr(gibbs_sampler, "CHUNK_ENTRIES", 1 << 10)
    monkeypatch.setattr(_sequences, "TILE_TOKENS", 40)
    monkeypatch.setattr(_predict, "TILE_NUMBERS", 300)


def weights(n):
    """Random weights, some of them zero."""
    weight = np.random.default_rng(0).uniform(0.8, 2.0, n)
    weight[::7] = 0.0
    return weight


def differs(est, other):
    """Whether two fits end elsewhere."""
    first, second = attributes(est), attributes(other)
    names = {"means_", "components_", "word_proportions_", "probabilities_", "covariances_"} & set(first)
    names = names or {"weights_"}  # parameters of columns of several kinds are in summary()
    return any(not np.array_equal(first[name], second[name]) for name in names)


@over(CASES)
def test_the_same_seed_gives_the_same_bits(case):
    rows, weight = case.data.rows, weights(case.data.rows.shape[0])
    weight = None if case.rows_alone else weight
    one, again = (case.make(random_state=3).fit(rows, sample_weight=weight) for _ in range(2))
    assert_same_bits(one, again, rows)
    assert_same_bits(one, again.fit(rows, sample_weight=weight), rows)  # a fit forgets the one before
    assert_same_bits(one, case.make(random_state=3).fit(case.data.other).fit(rows, sample_weight=weight), rows)


@over(CASES)
def test_another_seed_gives_another_fit(case):
    """A generator moves on, so that two fits that share one differ, and makes the fits of its seed."""
    mixture = case.has("n_components", "covariance_type")  # its seeds of clusters are the same few whatever the draw
    params = {"n_components": 8, "init_params": "random"} if mixture else {}
    seeds = np.random.RandomState(0)
    first, second = (case.make(random_state=seeds, **params).fit(case.data.rows) for _ in range(2))
    assert differs(first, second)
    seeds = np.random.RandomState(0)
    assert_same_bits(first, case.make(random_state=seeds, **params).fit(case.data.rows), case.data.rows)
    assert differs(first, case.make(random_state=1, **params).fit(case.data.rows))


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("weighted", [False, True])
@over(with_parameters("n_jobs"))
def test_fit_gives_the_same_bits_for_any_n_jobs(case, weighted):
    rows = case.data.many
    weight = weights(rows.shape[0]) if weighted and not case.rows_alone else None
    params = {"batch_size": 200} if case.has("batch_size") else {}
    if case.has("mini_epoch") and case.estimator.mini_epoch:
        params["mini_epoch"] = (300, case.estimator.mini_epoch[1])
    one = case.make(n_jobs=1, **params).fit(rows, sample_weight=weight)
    wanted = said(one, rows)
    est = case.make(n_jobs=2 + weighted, **params).fit(rows, sample_weight=weight)
    assert_same(wanted, said(est, rows))
    assert_same(wanted, said(one.set_params(n_jobs=2), rows))  # readings too


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("total_samples", [None, 5000])
@over([case for case in with_methods("partial_fit") if case.has("n_jobs") and case.has("total_samples")])
def test_stream_gives_the_same_bits_for_any_n_jobs(case, total_samples):
    rows, weight = case.data.many, weights(case.data.many.shape[0])
    streams = []
    for n_jobs in (1, 2 if total_samples else 3):
        est = case.make(total_samples=total_samples, n_jobs=n_jobs).partial_fit(rows[:200])
        streams.append(est.partial_fit(rows[200:210]).partial_fit(rows[210:], sample_weight=weight[210:]))
    assert_same_bits(*streams, rows)


@over(CASES)
def test_what_is_said_of_a_row_is_of_that_row_alone(case, monkeypatch):
    monkeypatch.setattr("sparsemix.topics._predict.DOCUMENTS", 25)
    est, rows = case.fitted(), case.data.rows
    # whitening by one covariance for all is one product for a whole tile, whose bits depend on its height
    close = 1e-9 if getattr(est, "covariance_type", None) == "tied" else 0.0
    n = rows.shape[0]
    order = np.random.default_rng(0).permutation(n)
    by_row = by_rows(est, rows)
    assert by_row
    for name, want in by_row.items():
        turned = by_rows(est, rows[order])[name]
        single = np.concatenate([by_rows(est, rows[i : i + 1])[name] for i in range(0, n, 25)])
        np.testing.assert_allclose(turned, want[order], rtol=close, atol=close, err_msg=name)
        np.testing.assert_allclose(single, want[::25], rtol=close, atol=close, err_msg=name)
    other = copy.deepcopy(est).set_params(random_state=7)
    for name, value in by_rows(other, rows).items():
        np.testing.assert_array_equal(value, by_row[name], err_msg=name)
    if case.data.sparse:
        for name, value in by_rows(est, rows.toarray()).items():
            np.testing.assert_array_equal(value, by_row[name], err_msg=name)


def by_rows(est, rows):
    """Readings that have a row for each row."""
    names = ("transform", "predict", "predict_proba", "predict_sparse_proba", "score_samples")
    said = {name: getattr(est, name)(rows) for name in names if hasattr(est, name)}
    return {name: value.toarray() if hasattr(value, "toarray") else value for name, value in said.items()}


@over([case for case in CASES if case.data.sparse])
def test_dense_rows_are_the_same_documents(case, small_chunks, monkeypatch):  # noqa: ARG001
    """Bounds of chunks and the size of the start's subset follow the words of documents, not how these are stored."""
    monkeypatch.setattr(_start, "EM_LEAST_DOCUMENTS", 20)
    monkeypatch.setattr(_start, "EM_SIZE", 2e3)
    rows = case.data.many
    assert_same_bits(case.make().fit(rows), case.make().fit(rows.toarray()), rows)


# -- weights


@over(with_weights())
def test_weights_of_one_change_nothing(case):
    rows = case.data.rows
    ones = np.ones(rows.shape[0])
    if case.has("covariance_type"):  # a start draws rows by their weights, and the mean of rows is another sum
        plain, weighed = (case.make(**case.same_as_repeated).fit(rows, sample_weight=w) for w in (None, ones))
        assert_close(plain, weighed, rows, rtol=1e-9, atol=1e-9)
    else:
        plain, weighed = case.fitted(), case.make().fit(rows, sample_weight=ones)
        assert_same_bits(plain, weighed, rows)
        assert_same_bits(plain, case.make().fit(rows, sample_weight=1), rows)
    twice = case.make().fit(rows, sample_weight=2.0)
    assert_same_bits(twice, case.make().fit(rows, sample_weight=np.full(rows.shape[0], 2)), rows)


@over(with_weights())
def test_rows_of_weight_zero_are_not_there(case):
    rows, weight = case.data.rows, weights(case.data.rows.shape[0])
    kept = weight > 0
    if not case.data.sparse:
        spoilt = np.where(kept[:, None], rows, 1e9)  # would spoil everything
        spoilt[:, case.data.categories] = rows[:, case.data.categories]
        rows = spoilt
    weighed = case.make().fit(rows, sample_weight=weight)
    removed = case.make().fit(rows[kept], sample_weight=weight[kept])
    assert_same_bits(weighed, removed, case.data.rows, but=("labels_", "sampled_labels_", "doc_topic_distribution_"))
    seen = getattr(weighed, "n_samples_seen_", kept.sum())
    assert seen == removed.n_samples_seen_ < kept.sum() if isinstance(weighed, SparseHDP) else seen == kept.sum()
    assert_weighs(case, weighed, rows, weight)
    if hasattr(weighed, "labels_"):
        assert len(weighed.labels_) == len(weight)  # but they have labels
        np.testing.assert_array_equal(weighed.labels_[kept], removed.labels_)


def assert_weighs(case, est, rows, weight):
    """Every row counts as its weight says, and all of them are in the sums."""
    if hasattr(est, "components_"):
        tokens = sum(w * case.data.units(rows[[i]]) for i, w in enumerate(weight))
        if isinstance(est, SparseLDA) and est.learning_method == "online":
            tokens = est._fitted.stats["tokens"]  # minibatches are scaled to the whole corpus
        elif isinstance(est, SparseHDP):
            tokens = est._fitted.stats["mass"]  # without documents set aside
        counts = est.components_ - getattr(est, "topic_word_prior_", getattr(est, "word_prior", None))
        np.testing.assert_allclose(counts.sum(dtype=float), tokens, rtol=1e-3)
    elif hasattr(est, "counts_"):
        if not est.get_params(deep=False).get("prune_threshold"):
            np.testing.assert_allclose(est.counts_.sum(), weight.sum(), rtol=1e-9)
    else:
        np.testing.assert_allclose(est._fitted.stats["mass"], weight.sum(), rtol=1e-9)
        np.testing.assert_allclose(est._fitted.stats["count"].sum(), weight.sum(), rtol=1e-9)


@over(with_methods("partial_fit"))
def test_rows_of_weight_zero_are_not_there_in_a_stream(case):
    rows, weight = case.data.rows, weights(case.data.rows.shape[0])
    first, second = slice(0, 30), slice(30, None)
    est, twin = case.make(), case.make()
    for part in (first, second):
        est.partial_fit(rows[part], sample_weight=weight[part])
        kept = weight[part] > 0
        twin.partial_fit(rows[part][kept], sample_weight=weight[part][kept])
    assert_same_bits(est, twin, rows)


@over([case for case in CASES if case.same_as_repeated])
def test_rows_of_weight_two_are_two_rows(case):
    """Sums in another order: single precision for topics, double for mixtures, learned scales to 1e-9."""
    rows = case.data.rows
    weight = np.random.default_rng(3).integers(0, 4, rows.shape[0]).astype(float)
    repeated = rows[np.repeat(np.arange(rows.shape[0]), weight.astype(int))]
    close = {"rtol": 1e-3, "atol": 5e-3} if case.data.sparse else {"rtol": 1e-8, "atol": 1e-9}
    make = {**case.same_as_repeated}
    weighed, doubled = case.make(**make).fit(rows, sample_weight=weight), case.make(**make).fit(repeated)
    assert_close(weighed, doubled, rows, **close)
    assert differs(weighed, case.make(**make).fit(rows))
    first, second = (case.make(**make).partial_fit(rows[:30]) for _ in range(2))
    for name, value in first.expected_stats(rows, sample_weight=weight)._arrays():
        other = second.expected_stats(repeated)[name]
        value, other = (v.toarray() if hasattr(v, "toarray") else v for v in (value, other))
        np.testing.assert_allclose(value, other, err_msg=name, **close)
    first.partial_fit(rows, sample_weight=weight)
    second.partial_fit(repeated)
    assert_close(first, second, rows, **close)


@over([case for case in CASES if case.can("score", "score_samples") and not case.rows_alone])
def test_scores_are_weighted_means_of_the_rows(case):
    est, rows = case.fitted(), case.data.rows
    weight = np.random.default_rng(3).integers(0, 4, rows.shape[0]).astype(float)
    repeated = rows[np.repeat(np.arange(rows.shape[0]), weight.astype(int))]
    assert est.score(rows, sample_weight=weight) == pytest.approx(est.score(repeated), rel=1e-6)
    assert est.score(rows, sample_weight=weight) != pytest.approx(est.score(rows), rel=1e-6)
    wanted = weight @ est.score_samples(rows) / weight.sum()
    if case.data.kind != "counts" or case.can("predict"):
        assert est.score(rows, sample_weight=weight) == pytest.approx(wanted)


@pytest.mark.parametrize("max_iter", [0, 3])
@over([case for case in CASES if get_tags(case.estimator).input_tags.allow_nan and case.same_as_repeated is not None])
def test_incomplete_rows_of_weight_two_are_two_rows(case, max_iter):
    """From the first estimate of the columns on, also with rows that have no value at all."""
    rng, rows = np.random.default_rng(3), case.data.rows.copy()
    rows[rng.random(rows.shape) < 0.3] = np.nan
    weight = rng.integers(0, 4, len(rows)).astype(float)
    repeated = rows[np.repeat(np.arange(len(rows)), weight.astype(int))]
    make = case.same_as_repeated | {"max_iter": max_iter}
    weighed, doubled = case.make(**make).fit(rows, sample_weight=weight), case.make(**make).fit(repeated)
    assert np.isnan(repeated).all(axis=1).any()
    assert_close(weighed, doubled, rows, rtol=1e-8, atol=1e-8)


def assert_close(first, second, rows, **close):
    """All that two estimators say is nearly the same, but for how many rows they have seen."""
    one, other = said(first, rows), said(second, rows)
    for name, value in one.items():
        if name not in ("n_samples_seen_", "history_", "predict") and np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(value, other[name], err_msg=name, **close)


@over(FIRST)
def test_score_is_a_number(case):
    est, rows = case.fitted(), case.data.rows
    score = est.score(rows)
    assert isinstance(score, float)
    if hasattr(est, "score_samples"):
        weight = weights(rows.shape[0])
        np.testing.assert_allclose(score, est.score_samples(rows).mean(), rtol=1e-12)
        wanted = np.average(est.score_samples(rows), weights=weight)
        np.testing.assert_allclose(est.score(rows, sample_weight=weight), wanted, rtol=1e-12)
    assert readings(est, rows)["score"] == score
