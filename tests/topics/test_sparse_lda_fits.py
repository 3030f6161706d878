"""Fits and streams of SparseLDA: what they find, their steps and rates, warm starts, convergence."""

import copy
import warnings

import numpy as np
import pytest
from fitted import assert_same_bits, records
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state
from topic_cases import COOKING, LEARNED, SPACE, ExactLDA, counter, texts

from sparsemix import SparseLDA
from sparsemix._engine.schedules import Stochastic
from sparsemix._models.topics.variational_model import TopicModel
from sparsemix._rows.documents import Documents
from sparsemix.datasets import make_bars, make_sparse_lda
from sparsemix.metrics import align_topics, document_completion

STARTS = ["collapsed", "em", "random", "bregman"]
# Fits of a few epochs on purpose: they are compared with each other, not brought to convergence.
few_epochs = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

K, V, N = 5, 60, 240
X, TOPICS, _ = make_sparse_lda(N, n_features=V, n_components=K, doc_length=40, random_state=0)
GIVEN = np.random.default_rng(1).gamma(1.0, size=(K, V)) + 0.1


def lda(n_components=K, **params):
    return SparseLDA(n_components, **({"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "random_state": 0} | params))


# -- parameters, tags, attributes


@few_epochs
def test_restart_acceptance_is_a_share():
    assert np.isnan(lda().fit(X).restart_acceptance_)
    est = lda(n_nonzero=None, n_restarts=3, init_params="random", max_iter=1).fit(X)
    proposed, accepted = est._fitted.stats["restarts"]
    assert 0 < accepted < proposed
    assert est.restart_acceptance_ == accepted / proposed


# -- meta-estimators


@pytest.mark.filterwarnings("ignore:X has the sum")  # TF-IDF separates them as well
@pytest.mark.slow
@pytest.mark.parametrize("init_params", STARTS)
@pytest.mark.parametrize("weigh", [False, True])
def test_topics_of_two_vocabularies_separate(weigh, init_params):
    steps = [counter(), TfidfTransformer()] if weigh else [counter()]
    params = {"init_params": init_params, "doc_topic_prior": 0.1, "max_iter": 200, "n_restarts": 3}
    pipelines = [make_pipeline(*steps, SparseLDA(2, **params, random_state=seed)).fit(texts()) for seed in range(4)]
    pipeline = max(pipelines, key=lambda pipeline: pipeline[-1].lower_bound_)  # a random start may end anywhere
    theta = pipeline.transform(texts())
    labels = theta.argmax(axis=1)
    assert len(set(labels[::2])) == len(set(labels[1::2])) == 1
    assert labels[0] != labels[1]
    assert theta.max(axis=1).min() > 0.8
    table = records(pipeline[-1].topic_table(pipeline[:-1].get_feature_names_out()))
    assert sorted(sorted(row["words"]) for row in table) == sorted([sorted(COOKING), sorted(SPACE)])
    assert [row["token_share"] for row in table] == pytest.approx([0.5, 0.5], abs=0.05)
    assert list(pipeline.get_feature_names_out()) == ["sparselda0", "sparselda1"]
    # held-out words of the other vocabulary are not expected: nearly ten equally likely words
    assert pipeline[-1].perplexity(pipeline[:-1].transform(texts(seed=1))) < 13


@pytest.mark.slow
def test_grid_search_prefers_the_true_number_of_topics():
    Y, topics, _ = make_sparse_lda(
        300, n_features=120, n_components=8, doc_length=80, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=3
    )
    base = SparseLDA(doc_topic_prior=0.1, max_iter=60, tol=1e-3, random_state=0)
    search = GridSearchCV(base, {"n_components": [2, 8], "n_nonzero": [2, 4]}, cv=3).fit(Y)
    scores = search.cv_results_["mean_test_score"].reshape(2, 2)  # n_nonzero moves fastest
    assert search.best_params_["n_components"] == 8
    assert (scores[1] > scores[0] + 0.2).all()
    # the topics that made the documents can hardly be beaten, and are nearly reached
    truth = document_completion(topics, Y, doc_topic_prior=0.1)
    assert search.best_score_ > truth - 0.1
    assert search.score(Y) == document_completion(search.best_estimator_, Y)
    # a start may merge two topics and divide another; the bound tells which start did not
    best = max((clone(search.best_estimator_).set_params(random_state=seed).fit(Y) for seed in range(5)),
               key=lambda est: est.lower_bound_)  # fmt: skip
    order, distances = align_topics(best, topics)
    assert sorted(order) == list(range(8))
    assert distances.max() < 0.1
    assert best.score(Y) > truth - 0.05


@pytest.mark.slow
def test_bars_are_recovered():
    Y, bars, _ = make_bars(4, n_samples=400, doc_length=80, doc_topic_prior=0.3, random_state=0)
    base = SparseLDA(8, doc_topic_prior=0.3, max_iter=200, tol=1e-4)
    fits = [clone(base).set_params(random_state=seed).fit(Y) for seed in range(3)]
    est = max(fits, key=lambda est: est.lower_bound_)
    order, distances = align_topics(est, bars)
    assert sorted(order) == list(range(8))
    assert distances.max() < 0.05
    new, _, _ = make_bars(4, n_samples=200, doc_length=80, doc_topic_prior=0.3, random_state=1)
    assert est.score(new) > document_completion(bars, new, doc_topic_prior=0.3) - 0.02
    # the topics are rows and columns: four of sixteen words have nearly all of one
    top = np.sort(est.components_ / est.components_.sum(axis=1, keepdims=True), axis=1)[:, -4:]
    assert (top.sum(axis=1) > 0.9).all()


# -- transform and score


@few_epochs
def test_transform_does_not_depend_on_how_the_fit_infers_sparsely():
    est = lda(n_nonzero=1).fit(X)
    dense = copy.deepcopy(est).set_params(n_nonzero=None, n_restarts=3, random_state=5)
    np.testing.assert_array_equal(dense.transform(X), est.transform(X))


# -- streams

ROWS = [slice(0, 100), slice(100, 101), slice(101, 180), slice(180, N)]


def stats_of(est):
    table = est._fitted.stats.copy()["word_topic"]  # reading folds the pending factor in, which moves last bits
    return table.toarray() if sparse.issparse(table) else table


@few_epochs
def test_streamed_model_is_as_good_as_a_fit():
    train, topics, _ = make_sparse_lda(600, n_features=V, n_components=K, doc_length=60, random_state=5)
    fitted = SparseLDA(K, n_nonzero=4, max_iter=50, random_state=0).fit(train)
    est = SparseLDA(K, n_nonzero=4, random_state=0)
    for start in range(0, 600, 100):
        est.partial_fit(train[start : start + 100])
    one_topic = SparseLDA(1).partial_fit(train)
    gain = fitted.score(train) - one_topic.score(train)
    assert est.score(train) > one_topic.score(train) + 0.9 * gain
    assert align_topics(est, topics)[1].mean() < 0.15


@few_epochs
def test_learning_rate_of_a_stream_of_known_length():
    total, decay, offset = 1000, 0.6, 3.0
    est = lda(total_samples=total, step_size=(offset, decay), init_params=GIVEN, n_nonzero=None)
    est.partial_fit(X[:100])
    for step, rows in enumerate(ROWS[1:], start=2):
        before, new = stats_of(est).copy(), est.expected_stats(X[rows])
        rho, size = (offset + step) ** -decay, rows.stop - rows.start
        est.partial_fit(X[rows])
        want = (1 - rho) * before + rho * total / size * new["word_topic"]
        np.testing.assert_allclose(stats_of(est), want, rtol=1e-5, atol=1e-6)
        assert float(est._fitted.stats["mass"]) == pytest.approx(total)


@few_epochs
def test_first_block_of_a_stream_of_known_length_steps_from_its_start():
    est = lda(total_samples=1000, init_params=GIVEN, n_nonzero=None, step_size=(1e9, 0.7)).partial_fit(X[:100])
    # a step of size zero, nearly: the given topics, scaled to the tokens of the whole
    np.testing.assert_allclose(stats_of(est).T, GIVEN / GIVEN.sum() * X[:100].sum() * 10, rtol=1e-4)
    est = lda(total_samples=1000, init_params=GIVEN, n_nonzero=None, step_size=(0.0, 0.7)).partial_fit(X[:100])
    # a step of size one: nothing but the block
    np.testing.assert_allclose(stats_of(est).sum(axis=1), 10 * np.asarray(X[:100].sum(axis=0)).ravel(), rtol=1e-4)


@few_epochs
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("n_nonzero", [1, 2, None])
@pytest.mark.parametrize("max_iter", [1, 3])
def test_stream_in_the_order_of_online_learning_is_online_learning(n_nonzero, max_iter, learned):
    rows, _, _ = make_sparse_lda(256, n_features=V, n_components=K, doc_length=32, random_state=6)
    params = {"n_nonzero": n_nonzero, "init_params": GIVEN, "batch_size": 64, **(LEARNED if learned else {})}
    params |= {"n_components": K, "tol": 0.0, "random_state": 0}
    est = ExactLDA(learning_method="online", max_iter=max_iter, **params).fit(rows)
    stream = ExactLDA(total_samples=256, **params)
    # documents are equally long: the start of the first block, scaled to the whole, is that of the whole
    rng = np.random.default_rng(check_random_state(0).randint(2**31 - 1))
    order = Stochastic(256, 64, rng, 0.7, 10.0, 256)
    for _ in range(max_iter):
        for selection in order.batches():
            stream.partial_fit(rows[selection])
    assert stream.n_steps_ == 4 * max_iter
    np.testing.assert_allclose(stream.components_, est.components_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(stream.doc_topic_prior_, est.doc_topic_prior_, rtol=1e-9)
    np.testing.assert_allclose(stream.transform(rows), est.transform(rows), atol=1e-9)


# -- fits again


@few_epochs
@pytest.mark.parametrize("n_nonzero", [2, None])
def test_warm_start_continues(n_nonzero):
    params = {"n_nonzero": n_nonzero, "learning_method": "batch", "init_params": "random", "warm_documents": False}
    straight = lda(max_iter=6, **params).fit(X)
    resumed = lda(max_iter=3, warm_start=True, **params).fit(X).fit(X)
    assert resumed.lower_bounds_ == straight.lower_bounds_[3:]
    assert_same_bits(resumed, straight, X, but=("n_iter_", "history_", "lower_bounds_"))
    cold = lda(max_iter=3, **params).fit(X).fit(X)  # without warm_start, all again
    assert cold.lower_bounds_ == straight.lower_bounds_[:3]


@few_epochs
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_more_epochs_after_a_warm_start_raise_the_bound(learning_method, learned):
    params = {"learning_method": learning_method, **(LEARNED if learned else {}), "batch_size": 80}
    est = lda(max_iter=2, warm_start=True, init_params="random", **params).fit(X)
    first, prior = est.lower_bound_, est.doc_topic_prior_
    est.set_params(max_iter=10).fit(X)
    assert est.lower_bound_ > first + 0.01 * X.sum()
    assert est.n_iter_ == len(est.history_) == 10
    assert np.array_equal(est.doc_topic_prior_, prior) != learned


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_convergence_is_reported_and_its_absence_warned_of(learning_method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = lda(learning_method=learning_method, max_iter=200, tol=1e-2).fit(X)
    assert est.converged_
    assert est.n_iter_ < 200
    gain = np.diff(est.lower_bounds_) / X.sum()
    assert 0 <= gain[-1] < 1e-2
    assert not ((gain[:-1] >= 0) & (gain[:-1] < 1e-2)).any()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        assert not est.set_params(max_iter=2, tol=1e-9).fit(X).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not est.set_params(tol=0.0).fit(X).converged_  # as many epochs as asked for
        est.set_params(learning_method="online", tol=1e-9).fit(X)  # no bound, no warning
    assert est.n_iter_ == 2


# -- pickles


def test_long_documents_are_shared_out_among_threads():
    """A chunk of few long documents has as many tiles as one of many short ones."""
    model = TopicModel(2000, 50, 4, np.full(50, 0.1), 0.01)
    for entries in (10, 2000):
        documents = Documents(sparse.csr_array(np.ones((20, entries))))
        tile, chunk = model.blocking(documents)
        assert 16 * tile <= chunk
