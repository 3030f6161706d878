"""The rule that ends a topic fit: constructed trajectories, and a small corpus of short documents."""

import numpy as np
import pytest
from scipy import sparse

from sparsemix import SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda
from sparsemix.metrics import topic_diversity
from sparsemix.topics import _stopping
from sparsemix.topics._stopping import StoppingRule, is_due, n_averaged, n_averaged_after, n_epochs, separation


def followed(scores, coherences=None, separations=None, averaged=()):
    """A rule that has seen these epochs, and the first epoch after which it stops."""
    rule, stopped = StoppingRule(), None
    for i, score in enumerate(scores):
        coherence = 0.0 if coherences is None else coherences[i]
        rule.add(i + 1, score, coherence, 1.0 if separations is None else separations[i], i + 1 in averaged)
        if stopped is None and rule.stops():
            stopped = i + 1
    return rule, stopped


def test_copies_of_the_corpus_are_never_kept():
    """The measured trajectory of short texts: best sum of score and coherence in epoch 1, before topics separate."""
    scores, coherences = [-7.43, -7.45, -7.44, -7.45, -7.45], [0.108, 0.09, -0.02, 0.0, 0.0]
    rule, _ = followed(scores, coherences, [0.2, 0.45, 0.7, 0.72, 0.73])
    assert rule.first_separated == 3
    assert rule.kept[0] == 3
    assert followed(scores, coherences)[0].kept[0] == 1  # if all had separated


def test_an_epoch_that_seemed_separated_is_dropped_later():
    rule = StoppingRule()
    assert rule.add(1, -7.0, 0.0, 0.3)
    assert rule.add(2, -7.5, 0.0, 0.6)  # worse, but the first has not separated
    assert rule.kept[0] == 2


def test_separation_may_decrease_again():
    """Mixing lowers it in long fits; that excludes no epoch after the first that had separated."""
    rule, _ = followed([-7.5, -7.4, -7.3, -7.2], separations=[0.7, 0.72, 0.6, 0.5])
    assert rule.first_separated == 1
    assert rule.kept[0] == 4


def test_the_score_decides_and_coherence_breaks_ties():
    assert followed([-7.0, -7.02], [0.0, 0.5])[0].kept[0] == 1
    assert followed([-7.0, -7.004], [0.0, 0.5])[0].kept[0] == 2
    assert followed([-7.0, -6.996], [0.5, 0.0])[0].kept[0] == 1
    # steps within a tie do not add up: what is kept is never a tie below the best score
    scores = -7.0 - 0.004 * np.arange(10)
    rule, _ = followed(scores, 0.1 * np.arange(10))
    assert rule.kept[1] >= scores.max() - _stopping.TIE


def test_averages_are_kept_unless_they_are_clearly_worse():
    assert followed([-7.0, -7.029], [0.5, 0.0], averaged={2})[0].kept[0] == 2
    assert followed([-7.0, -7.031], [0.5, 0.9], averaged={2})[0].kept[0] == 1
    few = StoppingRule(n_documents=5)  # a tenth of the noise needs a hundred times the documents
    few.add(1, -7.0, 0.5, 1.0)
    assert few.add(2, -7.29, 0.0, 1.0, averaged=True)
    assert not few.add(3, -7.31, 0.9, 1.0, averaged=True)


def test_learning_continues_while_the_score_improves():
    epochs = np.arange(1, 201)
    falls = followed(-7.0 + 0.03 * np.log2(epochs))[1]
    assert falls is None  # 0.03 nats in each doubling
    flat = -7.0 + 0.03 * np.log2(np.minimum(epochs, 20))
    stopped = followed(flat)[1]
    assert 20 < stopped < 60
    rule, _ = followed(flat[:stopped])
    half, quarter = epochs[:stopped] > stopped / 2, (epochs[:stopped] > stopped / 4) & (epochs[:stopped] <= stopped / 2)
    assert rule.gain == pytest.approx(flat[:stopped][half].mean() - flat[:stopped][quarter].mean(), abs=1e-12)


def test_a_flat_score_does_not_stop_before_topics_have_separated():
    separations = np.minimum(np.arange(1, 31) / 15, 1.0)
    rule, stopped = followed(np.full(30, -7.0), separations=separations)
    assert rule.first_separated == 15
    assert stopped is None or stopped >= 2  # while it rises every epoch is the first of the largest
    seen = StoppingRule()
    for epoch in range(1, 16):
        seen.add(epoch, -7.0, 0.0, separations[epoch - 1])
        assert not seen.stops()


def test_learning_does_not_stop_in_the_first_epochs():
    rule = StoppingRule(least=15)
    for epoch in range(1, 16):
        rule.add(epoch, -7.0, 0.0, 1.0)
        assert rule.stops() == (epoch == 15)


def test_reasons_name_the_cause():
    rule, stopped = followed([-7.0] * 8)
    assert "gained 0.000 nats" in rule.reason(stopped, 60)
    assert "2 averaged epochs followed" in rule.reason(stopped + 2, 60)
    assert "kept epoch 1" in rule.reason(stopped, 60)
    rule, _ = followed([-8.0, -7.0])
    assert rule.reason(2, 2) == "all 2 epochs were made"
    assert rule.reason(2, 60) == "the fit was ended in epoch 2"


def test_numbers_of_epochs():
    lengths = [1, 5, 8, 14, 60, 150, 1300]
    found = [n_epochs(length, 1e5) for length in lengths]
    assert found == sorted(found, reverse=True)
    assert found[-3:] == [20, 13, 10]
    assert found[0] == 60
    assert [n_epochs(5, n) for n in (1e6, 1.5e6, 1e7)] == [50, 33, 20]  # a large corpus never has more than 20
    assert n_epochs(1000, 1e9) == 10
    assert [n_averaged(n) for n in (1, 4, 5, 10, 20, 100)] == [0, 0, 2, 4, 9, 10]
    assert [n_averaged_after(n) for n in (1, 6, 11, 60)] == [2, 4, 9, 10]
    due, last = [], 0
    for epoch in range(1, 40):
        if is_due(epoch, last):
            due.append(epoch)
            last = epoch
    assert due[:16] == list(range(1, 17))
    assert due[16:20] == [18, 20, 22, 24]


def test_separation_is_a_mean_total_variation_distance():
    rng = np.random.default_rng(0)
    counts = rng.gamma(0.3, size=(700, 300))  # several spans of words
    totals = counts.sum(axis=0)
    topics, corpus = counts / totals, counts.sum(axis=1) / counts.sum()
    expected = sum(
        totals[k] / totals.sum() * 0.5 * np.abs(topics[:, k] - corpus).sum() for k in range(counts.shape[1])
    )
    assert separation(counts, totals) == pytest.approx(expected, rel=1e-12)
    assert separation(np.ones((5, 3)), np.full(3, 5.0)) == pytest.approx(0.0, abs=1e-15)


@pytest.fixture(scope="module")
def short_texts():
    """6,000 documents of six tokens: a third frequent words of the whole corpus, and the words of one topic in 20."""
    rng = np.random.default_rng(0)
    n, n_topics, per_topic, n_common = 6000, 20, 40, 60
    topic = rng.integers(n_topics, size=n)
    own = n_common + per_topic * topic[:, None] + np.minimum(rng.geometric(0.1, size=(n, 4)) - 1, per_topic - 1)
    common = np.minimum(rng.geometric(0.08, size=(n, 2)) - 1, n_common - 1)
    words = np.hstack([own, common])
    X = sparse.csr_array((np.ones(words.size), (np.repeat(np.arange(n), 6), words.ravel())))
    X.sum_duplicates()
    return X


@pytest.mark.statistical
def test_short_texts_keep_topics_that_differ(short_texts):
    """The first epochs have the most coherent words, which all topics share; they are not the result."""
    separation, diversity = [], []
    for seed in range(3):
        model = SparseSCVB0LDA(20, early_stopping=True, random_state=seed).fit(short_texts)
        history = [record for record in model.history_ if "score" in record]
        first, kept = history[0], model.history_[model.best_iter_ - 1]
        separation.append(first["separation"] / kept["separation"])
        assert kept["score"] > max(record["score"] for record in history) - 0.03
        assert model.n_samples_seen_ == 5500
        plain, copies = (SparseSCVB0LDA(20, max_iter=n, random_state=seed).fit(short_texts) for n in (50, 1))
        diversity.append([topic_diversity(each, 10) for each in (copies, model, plain)])
    # means over eight seeds: .77; .77, .86 and .87, each with a deviation of .05
    assert np.mean(separation) < 0.9
    of_copies, of_model, of_plain = np.mean(diversity, axis=0)
    assert of_copies < of_model
    assert of_model > of_plain - 0.12


def test_epochs_follow_the_length_of_documents(short_texts):
    assert SparseSCVB0LDA(3, random_state=0).fit(short_texts[:50]).n_iter_ == 60
    long = make_sparse_lda(40, n_features=50, n_components=3, doc_length=300, random_state=0)[0]
    assert SparseSCVB0LDA(3, random_state=0).fit(long).n_iter_ == 10
    assert SparseSCVB0LDA(3, random_state=0, max_iter=7).fit(long).n_iter_ == 7
    weighted = SparseSCVB0LDA(3, random_state=0).fit(long, sample_weight=np.full(40, 3.0))
    assert weighted.n_iter_ == 10
