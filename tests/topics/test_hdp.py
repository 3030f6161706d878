"""SparseHDP: merges next to the collapsed joint probability, priors next to their optima, and the number of topics."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from sklearn.exceptions import ConvergenceWarning

from sparsemix import SparseHDP, blocks
from sparsemix._models.topics.hdp_model import gains_of_documents, next_gamma
from sparsemix._rows.documents import DocumentBlock
from sparsemix.topics._collapsed import hdp_recipe, merges
from sparsemix.topics._collapsed.hdp_recipe import HDPRecipe
from sparsemix.topics._collapsed.merges import best_pairs
from sparsemix.topics._edit.reduce import Clusters

K, V = 4, 5
PRIOR, BETA = np.array([0.3, 0.5, 0.2, 1.1]), 0.1


@pytest.fixture(scope="module")
def visited():
    """Two blocks of documents, and a topic of each token."""
    rng = np.random.default_rng(0)
    X = [sparse.csr_array(rng.poisson(0.9, (n, V)).astype(float)) for n in (5, 3)]
    return [(DocumentBlock.of(x, np.float64), rng.integers(K, size=int(x.sum())).astype(np.int16)) for x in X]


def tokens_of(visited):
    """Lists of (word, topic) of each document."""
    documents = []
    for x, states in visited:
        words, ends = np.repeat(x.indices, x.counts.astype(int)), np.cumsum(x.lengths()).astype(int)
        pairs = [(int(w), int(z)) for w, z in zip(words, states, strict=True)]
        documents += [pairs[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    return documents


def log_joint(documents, prior, labels, n_words):
    """log p(w, z) after every label z was replaced by ``labels[z]``, from the definition."""
    alpha = np.bincount(labels, prior)
    used = alpha > 0
    out, words = 0.0, np.zeros((len(alpha), n_words))
    for pairs in documents:
        n = np.bincount([labels[z] for _, z in pairs], minlength=len(alpha))
        out += (gammaln(alpha[used] + n[used]) - gammaln(alpha[used])).sum()
        for w, z in pairs:
            words[labels[z], w] += 1
    out += (gammaln(words[used] + BETA) - gammaln(BETA)).sum()
    return out - (gammaln(words[used].sum(axis=1) + n_words * BETA) - gammaln(n_words * BETA)).sum()


def entropy_lost(documents, topics, k, m):
    out = 0.0
    for pairs in documents:
        n = np.bincount([z for _, z in pairs], minlength=K)
        if n[k] == 0 or n[m] == 0:
            continue
        for w, z in pairs:
            if z in (k, m):
                p = np.array([topics[w, i] * (n[i] - (i == z) + PRIOR[i]) for i in (k, m)])
                p /= p.sum()
                out -= p @ np.log(p)
    return out


def test_gains_are_changes_of_the_joint_probability_less_the_lost_entropy(visited):
    documents, topics = tokens_of(visited), np.random.default_rng(1).dirichlet(np.ones(V), K).T
    gains = gains_of_documents(visited, topics, PRIOR)
    words = np.zeros((K, V))
    for pairs in documents:
        for w, z in pairs:
            words[z, w] += 1
    gains -= Clusters(sparse.csr_array(words), BETA).losses
    same = np.arange(K)
    for k in range(K):
        for m in range(k):
            labels = np.where(same == k, m, same)
            change = log_joint(documents, PRIOR, labels, V) - log_joint(documents, PRIOR, same, V)
            expected = change - entropy_lost(documents, topics, k, m)
            assert_allclose([gains[k, m], gains[m, k]], expected, rtol=1e-9)


def test_a_document_of_weight_two_counts_twice(visited):
    topics, (x, states) = np.full((V, K), 1.0 / V), visited[0]
    twice = gains_of_documents([(x, states), (x, states)], topics, PRIOR)
    weighted = replace(x, weight=np.full(len(x), 2.0))
    assert_allclose(gains_of_documents([(weighted, states)], topics, PRIOR), twice)


def test_gamma_is_most_probable_under_the_chinese_restaurant_process():
    tables, gamma = np.array([40.0, 7.0, 2.0, 0.01, 0.0]), 1.0
    for _ in range(200):
        gamma = next_gamma(gamma, tables)
    m = tables.sum()
    best = minimize_scalar(
        lambda log: -(3 * log + gammaln(np.exp(log)) - gammaln(np.exp(log) + m)), bounds=(-5, 5), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    assert_allclose(gamma, np.exp(best.x), rtol=1e-5)


def test_losses_after_a_merge_are_those_of_the_sums():
    counts = np.random.default_rng(0).poisson(1.0, (5, 12)).astype(float)
    clusters = Clusters(sparse.csr_array(counts), BETA)
    clusters.join(1, 3)
    alive = np.flatnonzero(clusters.sizes)
    assert_array_equal(alive, [0, 1, 2, 4])
    counts[1] += counts[3]
    assert_allclose(clusters.losses[np.ix_(alive, alive)], Clusters(sparse.csr_array(counts[alive]), BETA).losses)


@pytest.mark.filterwarnings("ignore:the number of topics was not learned")
def test_most_merges_that_reach_the_score_are_made(monkeypatch):
    """Scores fall with the fifth pair by more than their error, so that bisection of seven ends at four."""
    est = SparseHDP(14, max_iter=0, random_state=0).fit(sparse.csr_array(np.eye(14, 20) + 1.0))
    fitted, pairs = est._fitted, [(2 * i, 2 * i + 1) for i in range(7)]
    few, many = np.array([-2.0, -2.0, 0.1]), np.array([-1.0, 0.5, 0.0])
    monkeypatch.setattr(merges, "scores", lambda trial, *_: few if trial.model.n_components < 10 else many)
    n, places, merged, reached = merges.largest_merge(fitted, pairs, np.zeros(3), None, None)
    assert n == 4
    assert_array_equal(reached, np.zeros(3))  # the best so far, not those of the merge
    assert_array_equal(places, [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9])
    counts = np.zeros((10, 20))
    np.add.at(counts, places, est.components_ - est.topic_word_prior_)
    assert_allclose(merged.word_topic.T - est.topic_word_prior_, counts, atol=1e-5)
    assert_allclose(merged.model.doc_topic_prior, np.bincount(places, est.doc_topic_prior_))


def test_pairs_are_disjoint_and_of_largest_gain_first():
    gains = np.full((5, 5), -1.0)
    gains[0, 1], gains[1, 2], gains[3, 4] = 1.0, 3.0, 2.0
    assert best_pairs(gains) == [(1, 2), (3, 4)]


N_TRUE = 8


@pytest.fixture(scope="module")
def corpus():
    """Documents of eight topics."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(300, 0.05), N_TRUE)
    return sparse.csr_array(rng.multinomial(60, rng.dirichlet(np.full(N_TRUE, 0.1), 1000) @ topics).astype(float))


def test_the_number_of_topics_is_that_of_the_corpus(corpus):
    est = SparseHDP(16, random_state=0).fit(corpus)
    assert abs(est.n_topics_ - N_TRUE) <= 1
    assert est.components_.shape == (est.n_topics_, corpus.shape[1])
    assert est.transform(corpus[:3]).shape == (3, est.n_topics_)


def test_bits_do_not_depend_on_threads_pickles_or_interruptions(corpus, tmp_path):
    corpus = corpus[:200]
    est = SparseHDP(30, max_iter=9, random_state=0).fit(corpus)
    others = [
        SparseHDP(30, max_iter=9, random_state=0, n_jobs=3).fit(corpus),
        pickle.loads(pickle.dumps(est)),
    ]
    SparseHDP(30, max_iter=6, n_averaged_iter=2, random_state=0).fit(corpus, checkpoint=tmp_path)
    straight = SparseHDP(30, max_iter=9, n_averaged_iter=2, random_state=0).fit(corpus)
    resumed = SparseHDP(30, max_iter=9, n_averaged_iter=2, random_state=0).fit(corpus, checkpoint=tmp_path)
    assert resumed.n_iter_ == straight.n_iter_ == 9
    for other in others:
        assert_array_equal(other.components_, est.components_)
        assert_array_equal(other.transform(corpus[:5]), est.transform(corpus[:5]))


@pytest.fixture(scope="module")
def few():
    """A hundred documents of four topics."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), 4)
    return sparse.csr_array(rng.multinomial(50, rng.dirichlet(np.full(4, 0.3), 100) @ topics).astype(float))


def test_few_documents_have_the_same_topics_for_all_larger_n_components(few):
    fits = [SparseHDP(n_components, random_state=0).fit(few) for n_components in (40, 400)]
    assert fits[0].n_topics_ == 4
    assert_array_equal(fits[0].components_, fits[1].components_)


def test_validation_data_decide_the_number(few):
    assert SparseHDP(16, random_state=0).fit(few[:60], validation_data=few[60:]).n_topics_ == 4


def test_n_components_that_is_too_small_is_reported(few):
    with pytest.warns(ConvergenceWarning, match="is n_components=3; raise n_components"):
        assert SparseHDP(3, random_state=0).fit(few).n_topics_ == 3


def test_documents_that_do_not_tell_the_number_are_reported():
    words = np.random.default_rng(0).dirichlet(np.ones(60))
    X = sparse.csr_array(np.random.default_rng(1).multinomial(8, words, 100).astype(float))
    with pytest.warns(ConvergenceWarning, match="do not tell the number of topics"):
        SparseHDP(random_state=0).fit(X)


def test_documents_of_which_none_can_be_held_out_are_reported(few):
    with pytest.warns(ConvergenceWarning, match="no document could be held out; give validation_data"):
        SparseHDP(40, max_iter=2, random_state=0).fit(few[:3])


def test_an_interrupted_short_fit_is_published(few, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(hdp_recipe, "merged_topics", interrupt)
    est = SparseHDP(40, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        est.fit(few)
    assert est.components_.shape == (16, few.shape[1])
    assert est.n_iter_ > 0


def test_a_fit_that_continues_makes_no_short_fits(few, tmp_path, monkeypatch):
    fit = SparseHDP(40, max_iter=6, n_averaged_iter=2, random_state=0).fit(few, checkpoint=tmp_path)
    monkeypatch.setattr(HDPRecipe, "_n_first", None)
    again = SparseHDP(40, max_iter=6, n_averaged_iter=2, random_state=0).fit(few, checkpoint=tmp_path)
    assert_array_equal(again.components_, fit.components_)


def test_gains_are_in_standard_errors():
    assert_allclose(merges.gain(np.array([2.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0])), 0.0)
    assert_allclose(merges.gain(np.ones(9), np.zeros(9)), 3.0)
    assert merges.gain(np.ones(3), np.ones(3)) == 0.0


def test_streams_and_blocks_are_refused(corpus):
    assert not hasattr(SparseHDP(), "partial_fit")
    with pytest.raises(AttributeError, match="call fit with all of them"):
        SparseHDP().partial_fit(corpus)
    with pytest.raises(ValueError, match="fits documents in memory"):
        blocks.fit(SparseHDP(20), [corpus])
