"""Topics merged, dropped, split, reduced and joined: statistics and proportions before and after."""

import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import dendrogram, is_valid_linkage
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sparsemix import CollapsedLDA, GibbsLDA, SparseGaussianMixture, SparseLDA, SparseSCVB0LDA
from sparsemix._models.topics import gibbs_sampler
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix.datasets import make_bars
from sparsemix.metrics import align_topics
from sparsemix.topics import (
    WordPrior,
    drop_topics,
    fit_consensus,
    join_models,
    merge_topics,
    reduce_topics,
    split_topic,
    topic_hierarchy,
)
from sparsemix.topics._edit.average import mean_of_fits

K = 6
X = sparse.csr_array(make_bars(n_samples=200, n_side=5, doc_length=60, random_state=0)[0], dtype=np.int64)
V = X.shape[1]
SEEDS = WordPrior(seeds={"left": [0, 5], "top": [1, 2]}, strength=0.5)
EXCLUDES = WordPrior(exclude={4: [0]})
CASES = {
    "scvb0": SparseSCVB0LDA(K, max_iter=5, random_state=0),
    "scvb0 mhw, memoized": SparseSCVB0LDA(K, max_iter=5, sampler="mhw", learning_method="memoized", random_state=0),
    "sparse": SparseLDA(K, n_nonzero=2, max_iter=5, random_state=0),
    "dense, learned": SparseLDA(
        K, n_nonzero=None, doc_topic_prior="learned", topic_word_prior="learned", learning_method="online", max_iter=5,
        random_state=0,
    ),
    "cvb0, given": CollapsedLDA(
        K, doc_topic_prior=np.arange(1, K + 1) / 10, topic_word_prior=0.1, warm_start=True, max_iter=20, random_state=0,
        init_params=np.random.default_rng(0).gamma(1.0, size=(K, V)),
    ),
    "cvb": CollapsedLDA(K, inference="cvb", max_iter=20, random_state=0),
    "scvb0 seeds": SparseSCVB0LDA(K, topic_word_prior=SEEDS, max_iter=5, random_state=0),
    "cvb0 excludes": CollapsedLDA(K, topic_word_prior=EXCLUDES, max_iter=20, random_state=0),
    "gibbs": GibbsLDA(K, doc_topic_prior="learned", max_iter=30, random_state=0),
    "uncollapsed": GibbsLDA(K, inference="uncollapsed", max_iter=30, random_state=0),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(CASES))
def model(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(CASES[request.param]).fit(X)


def counts(model):
    """Counts by topic and word, and in total, of what predictions use; those of the samples too."""
    every = [model._fitted, *getattr(model, "_samples", [])]
    stats = [each.stats for each in every]
    return [np.array([each.unfolded("word_topic")[0].T * each.unfolded("word_topic")[1] for each in stats]),
            np.array([each["count"] for each in stats])]  # fmt: skip


def learned(model):
    """Counts by topic and word without those of a prior, which are no evidence."""
    return counts(model)[0][0] - (model.topic_word_prior_ - model._fitted.model.topic_word_prior)


def quietly(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def check_usable(new, n_topics, data=X):
    """Predictions, pickles, another fit and a longer stream work, and the stream keeps the topics."""
    assert new.n_components == new.get_params()["n_components"] == n_topics
    theta = new.transform(data)
    assert theta.shape == (data.shape[0], n_topics)
    assert np.isfinite(new.score(data))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(new)).transform(data), theta)
    assert quietly(clone(new).fit, data).components_.shape == new.components_.shape
    for name in ("lower_bound_", "lower_bounds_", "_row_state"):
        assert not hasattr(new, name)
    if hasattr(new, "partial_fit"):
        before = new.topic_word_distribution_
        stream, n_seen = pickle.loads(pickle.dumps(new)), new.n_samples_seen_
        for _ in range(4):  # so that stored documents would grow by half
            stream.partial_fit(data[:100])
        assert stream.n_samples_seen_ == n_seen + 400
        places, distances = align_topics(before, stream.topic_word_distribution_)
        np.testing.assert_array_equal(places, np.arange(n_topics))
        assert max(distances) < 0.3
    if "warm_start" in new.get_params():
        warm = quietly(pickle.loads(pickle.dumps(new)).set_params(warm_start=True).fit, data)
        assert np.isfinite(warm.components_).all()
        assert np.isfinite(warm.lower_bound() if isinstance(new, SparseLDA) else 0.0)


GROUPS, PLACES = [[1, 4], [5, 0, 3]], np.array([0, 1, 2, 0, 1, 0])


def test_a_merge_adds_up_counts_priors_and_proportions(model):
    before = [part.copy() for part in counts(model)]
    merged = merge_topics(model, GROUPS)
    onto = np.eye(3)[PLACES]
    for ours, theirs in zip(counts(merged), before, strict=True):
        np.testing.assert_allclose(ours, np.moveaxis(np.tensordot(theirs, onto, (1, 0)), -1, 1), rtol=1e-6)
    np.testing.assert_allclose(merged.doc_topic_prior_, model.doc_topic_prior_ @ onto, rtol=1e-12)
    assert merged._fitted.model.topic_word_prior == model._fitted.model.topic_word_prior
    if np.ndim(model.topic_word_prior_):
        base = model._fitted.model.topic_word_prior
        want = onto.T @ (model.topic_word_prior_ - base)
        np.testing.assert_allclose(merged.topic_word_prior_ - base, want, rtol=1e-6)
    assert merged.topic_names_ == (["left", "top", ""] if any(model.topic_names_) else [""] * 3)
    # the words of these topics differ, so that the proportions are no exact sums; in another order the mean is 0.8
    assert np.abs(merged.transform(X) - model.transform(X) @ onto).sum(axis=1).mean() < 0.5
    if hasattr(model, "doc_topic_distribution_"):
        np.testing.assert_allclose(merged.doc_topic_distribution_, model.doc_topic_distribution_ @ onto, rtol=1e-5)
    for ours, theirs in zip(counts(model), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    check_usable(merged, 3)


def test_a_merge_of_equal_topics_gives_the_sums_of_proportions():
    halves = np.repeat(make_bars(n_samples=50, random_state=0)[1], 2, axis=0)
    model = CollapsedLDA(20, init_params=halves, max_iter=1, random_state=0)
    quietly(model.fit, X)
    merged = merge_topics(model, np.arange(20).reshape(10, 2).tolist())
    summed = model.transform(X).reshape(-1, 10, 2).sum(axis=2)
    np.testing.assert_allclose(merged.transform(X), summed, atol=1e-2)


def test_a_merge_of_all_topics_has_all_counts(model):
    one = merge_topics(model, [range(K)])
    np.testing.assert_allclose(counts(one)[0][:, 0], counts(model)[0].sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(one.transform(X), 1.0)


def test_a_drop_leaves_the_bits_of_other_topics(model):
    dropped, kept = drop_topics(model, [4, 0]), [1, 2, 3, 5]
    for ours, theirs in zip(counts(dropped), counts(model), strict=True):
        np.testing.assert_array_equal(ours, theirs[:, kept])
    np.testing.assert_array_equal(dropped.doc_topic_prior_, model.doc_topic_prior_[kept])
    check_usable(dropped, 4)


def test_a_split_conserves_counts_and_priors(model):
    split = split_topic(model, 2, X, n_parts=3)
    parts, others = [2, 6, 7], [0, 1, 3, 4, 5]
    for ours, theirs in zip(counts(split), counts(model), strict=True):
        np.testing.assert_allclose(ours[:, parts].sum(axis=1), theirs[:, 2], rtol=1e-5)
        np.testing.assert_array_equal(ours[:, others], theirs[:, others])
    np.testing.assert_allclose(counts(split)[0].sum(axis=2), counts(split)[1], rtol=1e-4)
    assert split.doc_topic_prior_[parts].sum() == pytest.approx(model.doc_topic_prior_[2])
    assert not hasattr(split, "doc_topic_distribution_")
    check_usable(split, 8)
    again = merge_topics(split, [parts])
    for ours, theirs in zip(counts(again), counts(model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_a_split_finds_the_topics_of_a_merge():
    documents, bars = make_bars(n_samples=500, doc_length=60, random_state=0)[:2]
    model = CollapsedLDA(10, init_params=bars, random_state=0).fit(documents)
    for pair in ([0, 1], [2, 7], [4, 9]):
        merged = merge_topics(model, [pair])
        parts = split_topic(merged, pair[0], documents).topic_word_distribution_[[pair[0], 9]]
        assert max(align_topics(parts, model.topic_word_distribution_[pair])[1]) < 0.25
        # the merged topic is farther from both
        assert min(align_topics(merged.topic_word_distribution_[[pair[0]]], model.topic_word_distribution_)[1]) > 0.35


def brute_force(table, beta):
    """Losses of greedy merges, from log B of whole vectors."""

    def log_b(n):
        return gammaln(n + beta).sum() - gammaln((n + beta).sum())

    rows, losses = list(table), []
    while len(rows) > 1:
        none = log_b(np.zeros(len(rows[0])))
        found = {
            (i, j): log_b(rows[i]) + log_b(rows[j]) - none - log_b(rows[i] + rows[j])
            for i, j in combinations(range(len(rows)), 2)
        }  # fmt: skip
        i, j = min(found, key=found.get)
        losses.append(found[i, j])
        rows[i] = rows[i] + rows.pop(j)
        yield losses[-1], list(rows)


def test_a_reduction_is_the_greedy_search_over_all_pairs(model):
    table, beta = learned(model), np.median(model.topic_word_prior_)
    table[table < 0.01] = 0.0
    steps = list(brute_force(table, beta))
    hierarchy = topic_hierarchy(model)
    np.testing.assert_allclose(hierarchy.losses, [loss for loss, _ in steps], rtol=1e-5, atol=1e-4)  # of float32
    assert is_valid_linkage(hierarchy.linkage)
    assert sorted(dendrogram(hierarchy.linkage, no_plot=True)["leaves"]) == list(range(K))
    assert hierarchy.linkage[-1, 3] == K
    for n, (_, rows) in zip(range(K - 1, 0, -1), steps, strict=False):
        reduced = reduce_topics(model, n)
        np.testing.assert_allclose(learned(reduced.model), rows, rtol=1e-5, atol=0.05)
        merged = np.eye(n)[reduced.topics].T @ counts(model)[0][0]
        np.testing.assert_allclose(counts(reduced.model)[0][0], merged, rtol=1e-5)
    same = reduce_topics(model, K)
    np.testing.assert_array_equal(counts(same.model)[0], counts(model)[0])
    check_usable(reduce_topics(model, 3).model, 3)


def test_models_of_different_words_are_put_side_by_side(model):
    joined = join_models(model, model, [f"a{v}" for v in range(V)], [f"b{v}" for v in range(V)])
    np.testing.assert_array_equal(joined.topics, np.arange(K, 2 * K))
    table, ours = counts(joined.model)[0][0], counts(model)[0][0]
    np.testing.assert_array_equal(table, np.block([[ours, 0 * ours], [0 * ours, ours]]))
    np.testing.assert_allclose(joined.model.doc_topic_prior_, np.tile(model.doc_topic_prior_ / 2, 2))
    check_usable(joined.model, 2 * K, sparse.csr_array(sparse.hstack([X, X])))


def test_a_model_joined_with_itself_has_twice_the_counts(model):
    words, order = np.array([f"w{v}" for v in range(V)]), np.random.default_rng(0).permutation(V)
    joined = join_models(model, model, words, words)
    np.testing.assert_array_equal(joined.topics, np.arange(K))
    np.testing.assert_allclose(joined.likeness, 1.0)
    np.testing.assert_allclose(joined.model.doc_topic_prior_, model.doc_topic_prior_)
    for ours, theirs in zip(counts(joined.model), counts(model), strict=True):
        np.testing.assert_allclose(ours[0], 2.0 * theirs[0], rtol=1e-6)
    check_usable(joined.model, K)
    # a second vocabulary in another order, with words that the first has not
    renamed = np.where(np.arange(V) < 20, words, "new " + words.astype(object))[order]
    wide = np.zeros((X.shape[0], V), dtype=X.dtype)
    wide[:] = X.toarray()[:, order]
    other = quietly(clone(model).set_params(init_params=CASES["scvb0"].init_params).fit, wide)
    joined = join_models(model, other, words, renamed)
    assert joined.vocabulary.tolist() == [*words, *(word for word in renamed if word.startswith("new"))]
    totals = dict(zip(words, counts(model)[0][0].sum(axis=0), strict=True))
    for word, total in zip(renamed, counts(other)[0][0].sum(axis=0), strict=True):
        totals[word] = totals.get(word, 0) + total
    found = counts(joined.model)[0][0].sum(axis=0)
    np.testing.assert_allclose(found, [totals[word] for word in joined.vocabulary], rtol=1e-4)


def test_names_of_words_follow():
    import pandas as pd

    X_a = pd.DataFrame(X.toarray(), columns=[f"w{v}" for v in range(V)])
    X_b = X_a.rename(columns={"w3": "other"})
    a, b = (quietly(SparseSCVB0LDA(K, max_iter=2, random_state=0).fit, each) for each in (X_a, X_b))
    assert merge_topics(a, [[0, 1]]).feature_names_in_.tolist() == a.feature_names_in_.tolist()
    joined = join_models(a, b)
    assert joined.model.feature_names_in_.tolist() == joined.vocabulary.tolist() == [*X_a.columns, "other"]
    joined.model.transform(X_a.assign(other=0))


def test_backgrounds_and_packed_counts_are_summed_too(monkeypatch):
    """A fit that ends early has a background count of all words and topics, and very many topics have packed counts."""
    monkeypatch.setattr(gibbs_sampler, "MOST_DENSE", 0, raising=False)
    model = quietly(SparseSCVB0LDA(K, init_params="uniform", max_iter=0, random_state=0).fit, X)
    assert model._fitted.stats["offset"] > 0.0
    merged = merge_topics(model, [[0, 1, 2]])
    beta = model.topic_word_prior_
    np.testing.assert_allclose(merged.components_[0] - beta, (model.components_[:3] - beta).sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(merged.components_[1:], model.components_[3:], rtol=1e-5)
    packed = quietly(SparseSCVB0LDA(K, max_iter=2, random_state=0).fit, X)
    stats = packed._fitted.stats
    dense = merge_topics(packed, GROUPS)
    stats.replace("word_topic", PackedCounts.of(sparse.csr_array(stats["word_topic"])))
    merged = merge_topics(packed, GROUPS)
    assert isinstance(merged._fitted.stats["word_topic"], PackedCounts)
    np.testing.assert_allclose(merged.components_, dense.components_, rtol=1e-6)


def test_wrong_arguments_are_refused():
    model, words = CollapsedLDA(K, max_iter=12, random_state=0), [f"w{v}" for v in range(V)]
    with pytest.raises(NotFittedError):
        merge_topics(model, [[0, 1]])
    quietly(model.fit, X)
    for call, message in (
        (lambda: merge_topics(model, [[0, 6]]), r"groups\[0\] contains 6, and the model has 6 topics"),
        (lambda: merge_topics(model, [[0, -1]]), r"groups\[0\] contains -1"),
        (lambda: merge_topics(model, [[0, 1], [1, 2]]), "groups contains a topic twice"),
        (lambda: merge_topics(model, [[0, 1.5]]), r"groups\[0\]"),
        (lambda: merge_topics(model, []), "groups is empty"),
        (lambda: merge_topics(model, [[]]), r"groups\[0\] has shape"),
        (lambda: drop_topics(model, range(K)), "topics contains all 6 topics"),
        (lambda: drop_topics(model, [2, 2]), "topics contains a topic twice"),
        (lambda: split_topic(model, 7, X), "topic contains 7"),
        (lambda: split_topic(model, 0, X, n_parts=1), "n_parts is 1"),
        (lambda: split_topic(model, 0, X[:0]), "0 sample"),
        (lambda: split_topic(model, 0, 0 * X), "no document of X has a token of topic 0"),
        (lambda: split_topic(model, 0, X[:, :9]), "9 features"),
        (lambda: reduce_topics(model, 0), "n_components is 0"),
        (lambda: reduce_topics(model, 7), "n_components is 7"),
        (lambda: join_models(model, model), "vocabulary_a is missing"),
        (lambda: join_models(model, model, words, words[:-1]), "vocabulary_b has 24 words, 24 of them different"),
        (lambda: join_models(model, model, words, [*words[:-1], "w0"]), "25 words, 24 of them different"),
        (lambda: join_models(model, quietly(GibbsLDA(K, max_iter=2).fit, X), words, words), "b a GibbsLDA"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="model is a SparseGaussianMixture"):
        merge_topics(SparseGaussianMixture(), [[0, 1]])


def test_a_mean_of_fits_has_the_mean_counts_and_priors(model):
    other = quietly(clone(model).set_params(random_state=1).fit, X)
    before = [[part.copy() for part in counts(one)] for one in (model, other)]
    average = mean_of_fits([model, other])
    for i, ours in enumerate(counts(average)):
        expected = (before[0][i][0] + before[1][i][0]) / 2
        np.testing.assert_allclose(ours[0], expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(counts(model)[i], before[0][i])
        np.testing.assert_array_equal(counts(other)[i], before[1][i])
    np.testing.assert_allclose(average.doc_topic_prior_, (model.doc_topic_prior_ + other.doc_topic_prior_) / 2)
    np.testing.assert_allclose(average.topic_word_prior_, (model.topic_word_prior_ + other.topic_word_prior_) / 2)
    assert getattr(average, "topic_names_", None) == getattr(model, "topic_names_", None)
    assert average.n_samples_seen_ == len(X.indptr) - 1 if hasattr(average, "n_samples_seen_") else True
    check_usable(average, K)
    same = mean_of_fits([model] * 3)
    np.testing.assert_allclose(counts(same)[0][0], before[0][0][0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["sparse", "cvb0, given", "scvb0 seeds", "gibbs"])
def test_every_estimator_has_a_consensus(name):
    """Seeded topics keep their numbers, and given topics for the start remain a parameter."""
    est = clone(CASES[name])
    model = quietly(fit_consensus, est, X, n_runs=2).estimator
    check_usable(model, K)
    if name == "scvb0 seeds":
        assert model.topic_names_[:2] == ["left", "top"]
        lists = [np.argsort(-row)[:5] for row in model.components_[:2]]
        assert all(set(words) <= set(found) for words, found in zip(([0, 5], [1, 2]), lists, strict=True))
    if name == "cvb0, given":
        np.testing.assert_array_equal(model.init_params, est.init_params)
