"""Consensus of several fits: topics that are known, in other orders and with noise."""

import numpy as np
import pytest

from sparsemix import SparseSCVB0LDA
from sparsemix.datasets import make_bars
from sparsemix.metrics import align_topics
from sparsemix.topics import consensus_topics


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


def test_fits_that_start_from_a_consensus_agree_more():
    X = make_bars(n_samples=300, n_side=6, random_state=0)[0]

    def of_seeds(first):
        runs = [SparseSCVB0LDA(12, max_iter=5, random_state=seed).fit(X) for seed in range(first, first + 3)]
        start = consensus_topics(runs).components
        return runs, SparseSCVB0LDA(12, max_iter=5, random_state=first, init_params=start).fit(X)

    (first, *_), one = of_seeds(0)
    (second, *_), other = of_seeds(3)
    assert align_topics(one, other)[1].mean() < align_topics(first, second)[1].mean()


def test_wrong_fits_are_refused(known):
    _, _, copies = known
    for models, message in (
        (copies[:1], r"models has 1 fits; give two or more"),
        ([copies[0], copies[1][:, :9]], r"models\[1\] has topics of shape \(8, 9\), models\[0\] of \(8, 200\)"),
        ([copies[0], -copies[1]], r"models\[1\] has the weight"),
    ):
        with pytest.raises(ValueError, match=message):
            consensus_topics(models)
