"""Consensus of several fits: topics that are known, in other orders and with noise."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation

from sparsemix import CollapsedLDA, SparseGaussianMixture, SparseSCVB0LDA
from sparsemix.datasets import make_bars, make_sparse_lda
from sparsemix.metrics import align_topics, document_completion
from sparsemix.topics import WordPrior, consensus_topics, fit_consensus, match_topics, mean_of_fits
from sparsemix.topics._edit.consensus import consensus_of, match, n_guided, roots, topic_stability


@pytest.fixture
def known():
    """Topics, and five noisy copies in other orders with other totals; the last one has a topic of nonsense."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(200, 0.1), 8)
    orders = [rng.permutation(8) for _ in range(5)]
    noise = rng.standard_gamma(2.0, (5, 8, 200))
    copies = [(topics * part)[order] * rng.uniform(1, 50) for part, order in zip(noise, orders, strict=True)]
    copies[4][3] = rng.dirichlet(np.full(200, 0.1)) * copies[4][3].sum()
    return topics, orders, copies


def test_the_consensus_is_nearer_to_known_topics_than_each_fit(known):
    topics, orders, copies = known
    found = consensus_topics(copies)
    assert found.components.sum() == pytest.approx(1.0)
    _, distances = align_topics(found.components, topics)
    for copy in copies:
        assert np.median(distances) < 0.75 * np.median(align_topics(copy, topics)[1])
    # topics of the fits are matched through their orders, and the topic of nonsense is known by its likeness
    true = [order[place] for order, place in zip(orders, found.topics, strict=True)]
    same = np.array(true) == true[0]
    assert same.all()
    assert found.likeness.argmin() == 4 * 8 + found.topics[4].tolist().index(3)


def test_the_order_of_words_and_totals_change_nothing(known):
    _, _, copies = known
    found, words = consensus_topics(copies), np.random.default_rng(1).permutation(200)
    other = consensus_topics([copy[:, words] for copy in copies])
    np.testing.assert_allclose(other.components, found.components[:, words], rtol=1e-12)
    np.testing.assert_array_equal(other.topics, found.topics)
    same = consensus_topics([copies[0], copies[0]])
    np.testing.assert_allclose(same.components, copies[0] / copies[0].sum(), rtol=1e-12)
    np.testing.assert_allclose(same.likeness, 1.0)


@pytest.mark.statistical
def test_fits_that_start_from_a_consensus_agree_more():
    """Three fits, each from the consensus of six: their mean distance is .22, that of single fits .26."""
    X = make_bars(n_samples=300, n_side=6, random_state=0)[0]
    singles, fits = [], []
    for first in (0, 6, 12):
        runs = [SparseSCVB0LDA(12, max_iter=5, random_state=seed).fit(X) for seed in range(first, first + 6)]
        start = consensus_topics(runs).components
        fits.append(SparseSCVB0LDA(12, max_iter=5, random_state=first, init_params=start).fit(X))
        singles.append(runs[0])

    def distance(models):
        return np.mean([align_topics(one, other)[1].mean() for one, other in combinations(models, 2)])

    assert distance(fits) < distance(singles)


def test_guided_topics_match_by_their_numbers():
    """Whatever they look like, as the name and the prior belong to the number."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.1), size=6)
    runs = [topics, topics[[0, 4, 2, 3, 1, 5]], topics[[5, 1, 2, 4, 3, 0]]]
    assert not np.array_equal(consensus_topics(runs).topics[:, :3], [[0, 1, 2]] * 3)
    found = consensus_of([run * 100.0 for run in runs], 3)
    np.testing.assert_array_equal(found.topics[:, :3], [[0, 1, 2]] * 3)
    np.testing.assert_array_equal(np.sort(found.topics, axis=1), [np.arange(6)] * 3)
    stable = topic_stability(topics, runs, 3)
    assert stable[2] == pytest.approx(1.0)
    assert max(stable[:2]) < 0.9
    model = SparseSCVB0LDA(6, topic_word_prior=WordPrior(seeds={"a": [0], "b": [1]}, fixed=topics[:2]))
    assert n_guided(model) == 4


def test_wrong_fits_are_refused(known):
    _, _, copies = known
    for models, message in (
        (copies[:1], r"models has 1 fits; give two or more"),
        ([copies[0], copies[1][:, :9]], r"models\[1\] has topics of shape \(8, 9\), models\[0\] of \(8, 200\)"),
        ([copies[0], -copies[1]], r"models\[1\] has the weight"),
    ):
        with pytest.raises(ValueError, match=message):
            consensus_topics(models)


def test_fit_consensus_is_its_steps_and_changes_no_estimator():
    X = make_bars(n_samples=300, n_side=6, random_state=0)[0]
    est = SparseSCVB0LDA(12, max_iter=5, random_state=7)
    found = fit_consensus(est, X, n_runs=3)
    assert not hasattr(est, "components_")
    assert found.estimator.init_params == est.init_params
    seeds = np.random.default_rng(np.random.RandomState(7).randint(2**31 - 1)).integers(2**31 - 1, size=5).tolist()
    assert len(set(seeds)) == 5
    runs = [clone(est).set_params(random_state=seed).fit(X) for seed in seeds[:3]]
    start = consensus_topics(runs).components
    last = [clone(est).set_params(random_state=seed, init_params=start).fit(X) for seed in seeds[3:]]
    np.testing.assert_array_equal(found.components, start)
    final = found.estimator
    np.testing.assert_allclose(final.components_, (last[0].components_ + last[1].components_) / 2, rtol=1e-5)
    assert len(final.history_) == final.n_iter_ == 5
    # Bhattacharyya's coefficient of matched topics, from its definition
    ours = final.components_ / final.components_.sum(axis=1, keepdims=True)
    theirs = [run.components_ / run.components_.sum(axis=1, keepdims=True) for run in runs]
    places = [linear_sum_assignment(-np.sqrt(ours) @ np.sqrt(each).T)[1] for each in theirs]
    expected = np.mean([np.sqrt(ours * each[at]).sum(axis=1) for each, at in zip(theirs, places, strict=True)], axis=0)
    np.testing.assert_allclose(found.stability, expected, rtol=1e-6)
    again = fit_consensus(est.set_params(n_jobs=2), X, n_runs=3)
    np.testing.assert_array_equal(again.estimator.components_, found.estimator.components_)


@pytest.mark.statistical
def test_a_consensus_is_nearer_to_the_true_topics_than_its_fits_and_predicts_better():
    X, topics = make_sparse_lda(400, n_features=200, n_components=12, doc_length=40, random_state=0)[:2]
    found = fit_consensus(SparseSCVB0LDA(12, max_iter=10, random_state=0), X[:300], n_runs=3).estimator
    single = [SparseSCVB0LDA(12, max_iter=10, random_state=seed).fit(X[:300]) for seed in range(3)]
    assert align_topics(found, topics)[1].mean() < np.mean([align_topics(one, topics)[1].mean() for one in single])
    assert document_completion(found, X[300:]) > np.mean([document_completion(one, X[300:]) for one in single])


def test_stable_topics_return_in_a_consensus_of_other_seeds():
    """Few documents and too many topics, so that some topics are chance."""
    X = make_sparse_lda(150, n_features=200, n_components=12, doc_length=40, random_state=0)[0]
    one, other = (fit_consensus(SparseSCVB0LDA(16, max_iter=10, random_state=seed), X, n_runs=4) for seed in (0, 1))
    _, likeness = match(*(roots(each.estimator.components_) for each in (one, other)))
    assert ((one.stability >= 0) & (one.stability <= 1)).all()
    assert stats.spearmanr(one.stability, likeness).statistic > 0.5


def test_wrong_estimators_and_numbers_of_runs_are_refused():
    X = make_bars(n_samples=50, random_state=0)[0]
    with pytest.raises(TypeError, match=r"estimator is a LatentDirichletAllocation, .* give a SparseSCVB0LDA"):
        fit_consensus(LatentDirichletAllocation(3), X)
    for n_runs in (1, 2.5):
        with pytest.raises(ValueError, match=f"n_runs is {n_runs}; give the number of fits"):
            fit_consensus(SparseSCVB0LDA(3), X, n_runs=n_runs)


def test_matched_topics_are_the_same_topics(known):
    _, _, copies = known
    found = match_topics(copies[0], copies)
    np.testing.assert_array_equal(found.topics[0], np.arange(8))
    np.testing.assert_allclose(found.likeness[0], 1.0)
    assert found.likeness.max() <= 1.0
    for copy, places, likeness in zip(copies, found.topics, found.likeness, strict=True):
        theirs, alike = match(roots(copies[0]), roots(copy))
        np.testing.assert_array_equal(places, theirs)
        np.testing.assert_allclose(likeness, alike, rtol=1e-12)
    np.testing.assert_allclose(found.likeness.mean(axis=0), topic_stability(copies[0], copies))
    with pytest.raises(ValueError, match=r"others\[1\] has topics of shape \(8, 9\), model of \(8, 200\); give fits"):
        match_topics(copies[0], [copies[1], copies[1][:, :9]])


def test_the_mean_of_fits_changes_none_and_refuses_others():
    X = make_bars(n_samples=100, random_state=0)[0]
    start = CollapsedLDA(4, max_iter=2, tol=0.0, random_state=0).fit(X).components_
    runs = [CollapsedLDA(4, max_iter=2, tol=0.0, random_state=s, init_params=start).fit(X) for s in range(2)]
    before = [dict(vars(run)) for run in runs]
    mean = mean_of_fits(runs)
    assert [vars(run) for run in runs] == before
    np.testing.assert_allclose(mean.components_, (runs[0].components_ + runs[1].components_) / 2, rtol=1e-6)
    assert not hasattr(mean, "doc_topic_distribution_")
    with pytest.raises(ValueError, match="models is empty; give one or more fits"):
        mean_of_fits([])
    with pytest.raises(TypeError, match=r"models\[1\] is a SparseSCVB0LDA, models\[0\] a CollapsedLDA; give"):
        mean_of_fits([runs[0], SparseSCVB0LDA(4, max_iter=2, random_state=0).fit(X)])
    with pytest.raises(TypeError, match=r"models\[0\] is a SparseGaussianMixture, whose topics cannot be changed"):
        mean_of_fits([SparseGaussianMixture(2)])
    with pytest.raises(ValueError, match=r"models\[1\] has topics of shape \(3, 25\), models\[0\] of \(4, 25\); give"):
        mean_of_fits([runs[0], CollapsedLDA(3, max_iter=2, tol=0.0, random_state=0).fit(X)])
