"""Topics over time: priors and evidence of slices by slow twins, limits of the discount, known drift, slices."""

from copy import copy
from datetime import date

import numpy as np
import pytest
from fitted import records
from scipy import sparse
from scipy.spatial.distance import jensenshannon
from scipy.special import gammaln

from sparsemix import CollapsedLDA, SparseLDA, SparseSCVB0LDA
from sparsemix._stats.sums import as_sums
from sparsemix.topics import topics_over_time
from sparsemix.topics._time.changes import changed, compared, distances
from sparsemix.topics._time.drift import at_counts, log_evidence, posterior
from sparsemix.topics._time.slices import slices_of

N_SLICES, K, V = 6, 4, 48
YEARS = np.arange(2001, 2001 + N_SLICES)


def drifting_topics(drifts):
    """Topics (N_SLICES, K, V) of 12 words each. Word 0 of topic 0 gives way to word 1; topic 3 is the last to appear.
    """
    topics = np.zeros((N_SLICES, K, V))
    for k in range(K):
        topics[:, k, 12 * k : 12 * (k + 1)] = 1.0 / 14
    late = np.linspace(0.0, 1.0, N_SLICES) if drifts else np.full(N_SLICES, 0.5)
    topics[:, 0, 0], topics[:, 0, 1] = 4 / 14 * (1.0 - late), 4 / 14 * late
    return topics / topics.sum(axis=2, keepdims=True)


def documents(drifts, n=1200, seed=0):
    rng, topics = np.random.default_rng(seed), drifting_topics(drifts)
    years = rng.choice(YEARS, n)
    X = np.zeros((n, V), dtype=np.float32)
    for j, year in enumerate(years):
        alpha = np.full(K, 0.2)
        alpha[3] = 1e-6 if drifts and year < YEARS[3] else 0.2
        X[j] = rng.multinomial(40, rng.dirichlet(alpha) @ topics[year - YEARS[0]])
    return X, years


def fitted(X):
    return SparseSCVB0LDA(K, max_iter=20, random_state=0).fit(X)


@pytest.fixture(scope="module")
def drifting():
    X, years = documents(True)
    model = fitted(X)
    return model, X, years, topics_over_time(model, X, years)


@pytest.fixture(scope="module")
def still():
    X, years = documents(False)
    model = fitted(X)
    return model, X, years, topics_over_time(model, X, years)


def place(model, word):
    """The topic in which a word is most probable."""
    return int(np.argmax(model.topic_word_distribution_[:, word]))


def random_counts(n_slices=3, shape=(7, 2), seed=0):
    rng = np.random.default_rng(seed)
    return [rng.poisson(2.0, shape).astype(np.float32) for _ in range(n_slices)]


@pytest.mark.parametrize("beta", [0.1, np.random.default_rng(1).random((7, 2))])
def test_priors_and_evidence_are_those_of_a_slow_twin(beta):
    dense = random_counts(4)
    counts, discount = [sparse.csr_array(each) for each in dense], np.array([0.3, 0.8])
    expected, beta = np.zeros(2), np.broadcast_to(beta, (7, 2))
    for t, data in enumerate(dense):
        prior = sum(discount ** abs(t - s) * each for s, each in enumerate(dense) if s != t) + beta
        np.testing.assert_allclose(posterior(counts, t, discount), prior - beta + data, rtol=1e-5)
        for k in range(2):
            a, n = prior[:, k].astype(np.float64), data[:, k]
            expected[k] += (gammaln(a + n) - gammaln(a)).sum() + gammaln(a.sum()) - gammaln(a.sum() + n.sum())
    np.testing.assert_allclose(log_evidence(counts, counts, discount, beta), expected, rtol=1e-6)


def tokens(model, X, first_row, memory):
    return as_sums(model.expected_stats(X, first_row=first_row, memory=memory)["word_topic"]).tocsr().toarray()


def test_one_visit_of_two_slices_is_that_of_a_slow_twin():
    """SparseLDA without sampling: the second slice under both starts, then the first one under the new second."""
    X, years = documents(True, 60)
    years = np.where(years < 2004, 1, 2)
    model = SparseLDA(K, max_iter=5, tol=0, random_state=0).fit(X)
    parts = [X[years == 1], X[years == 2]]
    starts = 0, len(parts[0])
    memories = [model.row_memory(len(part), start) for part, start in zip(parts, starts, strict=True)]
    counts = [tokens(model, *each) for each in zip(parts, starts, memories, strict=True)]
    for t in (1, 0):
        state = at_counts(model, (counts[t] + 0.5 * counts[1 - t]).astype(np.float32))
        np.testing.assert_allclose(
            state.components_.T, counts[t] + 0.5 * counts[1 - t] + model.topic_word_prior_, rtol=1e-5
        )
        counts[t] = tokens(state, parts[t], starts[t], memories[t])
    drift = topics_over_time(model, X, years, discount=0.5, max_iter=1)
    for ours, twin in zip(drift.counts_, counts, strict=True):
        # small expected counts are rounded at random to 0.05 of a token
        np.testing.assert_allclose(ours.toarray(), twin, atol=0.06, rtol=0.02)


def test_discounts_of_one_and_zero_pool_the_slices_and_part_them(drifting):
    model, X, years, _ = drifting
    pooled = topics_over_time(model, X, years, discount=1.0)
    for t in (2, N_SLICES - 1):
        np.testing.assert_allclose(
            pooled.topic_word_distribution(t), pooled.topic_word_distribution(0), rtol=1e-4, atol=1e-9
        )
    alone = topics_over_time(model, X, years, discount=0.0)
    own = topics_over_time(model, X[years == 2003], years[years == 2003], discount=0.0)
    counts = alone.counts_[2].toarray()
    np.testing.assert_allclose(alone.estimator(2).components_.T, counts + model.topic_word_prior_, rtol=1e-5)
    assert abs(own.counts_[0].toarray() - counts).sum() < 0.2 * counts.sum()


def test_known_drift_is_found(drifting):
    model, *_, drift = drifting
    truth = drifting_topics(True)[:, 0, :2]
    k, late = place(model, 0), place(model, 40)
    assert place(model, 1) == k
    assert abs(drift.word_shares(k, [0, 1]) - truth).max() < 0.06
    np.testing.assert_allclose(drift.word_shares(k), [drift.topic_word_distribution(t)[k] for t in range(N_SLICES)],
                               rtol=1e-4)  # fmt: skip
    assert drift.shares_[:3, late].max() < 0.05
    assert drift.shares_[3:, late].min() > 0.15
    X_new, new_years = documents(True, seed=1)
    assert drift.score(X_new, new_years) > model.score(X_new) + 0.01
    assert drift.words(k, 1)[0] == ["column 0"]
    assert drift.words(k, 1)[-1] == ["column 1"]
    assert {row["topic"] for row in records(drift.changes())[:2]} <= {k, late}
    first = next(row for row in records(drift.changes()) if row["topic"] == k)
    assert first["rise"][0] == "column 1"
    assert "column 0" in first["fall"][:2]


def test_without_drift_the_topics_are_those_of_all_slices(still):
    model, X, years, drift = still
    assert np.median(drift.discount_) >= 0.9
    X_new, new_years = documents(False, seed=1)
    assert drift.score(X_new, new_years) > model.score(X_new) - 0.003
    # about 5 % of all pairs of slices differ more than 95 % of halves do
    orders = [np.random.default_rng(seed).permutation(years) for seed in range(5)]
    found = [records(topics_over_time(model, X, each, discount=1.0, max_iter=1).changes()) for each in orders]
    assert sum(map(len, found)) <= 0.1 * 5 * K * (N_SLICES - 1)


def bursty_halves(rng, n_topics=20, n_words=100):
    """Counts of halves of 8 slices of different sizes. Documents have favourite words; topic 7 changes in slice 4."""
    halves = []
    for t, n_documents in enumerate((40, 200, 60, 100, 40, 40, 300, 50)):
        p = np.full((n_topics, n_words), 0.5)
        if t >= 4:
            p[7, :20] = 2.0
        tables = [[rng.multinomial(20, rng.dirichlet(each, n_documents // 2)).sum(axis=0) for each in p] for _ in "ab"]
        halves.append([sparse.csr_array(np.array(table, dtype=np.float32).T) for table in tables])
    return halves


def test_halves_of_slices_tell_changes_from_repeated_words():
    found = [changed(bursty_halves(np.random.default_rng(seed)), np.arange(8), np.arange(100), 10) for seed in range(3)]
    assert {(rows[0]["topic"], rows[0]["before"]) for rows in found} == {(7, 3)}
    assert sum(map(len, found)) <= 0.1 * 3 * 20 * 7
    rows = found[0]
    assert set(rows[0]["rise"]) <= set(range(20))
    assert len(rows[0]["rise"]) == 10
    assert min(rows[0]["fall"]) >= 20
    # without the factor of repeated words, nearly all pairs would be listed
    pair = [a + b for a, b in bursty_halves(np.random.default_rng(1))[:2]]
    found = compared(*pair)
    assert np.mean(found[:, 0] > found[:, 1]) > 0.9
    assert found[0, 0] == pytest.approx(jensenshannon(*(each[:, [0]].toarray().ravel() for each in pair)))


@pytest.mark.filterwarnings("error")
def test_divisions_of_a_few_tokens_have_tokens_on_both_sides():
    """Two words once each, in topic 0; topic 1 has no token in the second slice."""
    first, second = (sparse.csr_array(np.array(counts, dtype=float)) for counts in ([[1, 2], [0, 1]], [[0, 0], [1, 0]]))
    np.testing.assert_allclose(compared(first, second), [[np.sqrt(np.log(2))] * 2, [0, 0]])


def test_the_plot_has_the_shares_of_the_topic_and_of_its_words(drifting):
    pytest.importorskip("matplotlib")
    from sparsemix.plotting import plot_topic_over_time

    model, *_, drift = drifting
    k = place(model, 0)
    top, rise, fall = plot_topic_over_time(drift, k, n_words=1).axes
    np.testing.assert_array_equal(top.lines[0].get_ydata(), drift.shares_[:, k])
    for axis, word in ((rise, 1), (fall, 0)):
        assert axis.lines[0].get_label() == f"column {word}"
        np.testing.assert_array_equal(axis.lines[0].get_ydata(), drift.word_shares(k, [word])[:, 0])


def test_every_number_of_threads_and_every_form_of_the_rows_gives_the_same_bits(drifting):
    model, X, years, drift = drifting
    threads = topics_over_time(copy(model).set_params(n_jobs=3), X, years)
    np.testing.assert_array_equal(threads.discount_, drift.discount_)
    for a, b in zip(threads.counts_, drift.counts_, strict=True):
        np.testing.assert_array_equal(a.toarray(), b.toarray())
    np.testing.assert_array_equal(topics_over_time(model, sparse.csr_array(X), years).shares_, drift.shares_)


def test_slices_of_numbers_dates_and_texts():
    days = [date(2020, 1, 1), date(2020, 5, 1), date(2021, 1, 1)]
    assert slices_of(np.array(days, dtype=object)).labels.tolist() == days
    assert slices_of(np.array(["2020-02", "2020-01"])).labels.tolist() == ["2020-01", "2020-02"]
    assert slices_of(np.arange(8), 2).labels.tolist() == ["0 to 3", "4 to 7"]
    assert slices_of(np.array([1, 1, 1, 1, 2]), 2).labels.tolist() == [1, 2]
    assert len(slices_of(np.arange(1000)).labels) == 20
    hours = np.datetime64("2020-01-01", "ns") + np.arange(4) * np.timedelta64(12, "h")
    assert slices_of(hours, 2).labels.tolist() == ["2020-01-01", "2020-01-02"]
    assert slices_of(hours, 1).labels.tolist() == ["2020-01-01 to 2020-01-02"]
    slices = slices_of(np.array([2001, 2003]))
    assert slices.find(np.array([1990, 2001, 2002, 2003, 2020])).tolist() == [0, 0, 0, 1, 1]


def test_small_slices(drifting):
    """One slice; slices of one document, of which one is empty; weights, and those of zero, which leave out."""
    model, X, _, _ = drifting
    one = topics_over_time(model, X[:50], np.ones(50))
    assert one.shares_.shape == (1, K)
    assert records(one.changes()) == []
    few = X[:3].copy()
    few[1] = 0.0
    drift = topics_over_time(model, few, [1, 2, 3], discount=0.5)
    assert drift.shares_[1].tolist() == [0.0] * K
    np.testing.assert_allclose(drift.topic_word_distribution(1).sum(axis=1), 1.0, rtol=1e-5)
    weighted = topics_over_time(model, X[:50], np.arange(50) % 2, sample_weight=np.arange(50) % 2)
    assert weighted.slices_.tolist() == [1]
    assert weighted.n_documents_.tolist() == [25]


def test_transform_uses_the_topics_of_the_slice(drifting):
    _, X, years, drift = drifting
    theta = drift.transform(X[:40], years[:40])
    for t in range(N_SLICES):
        rows = np.flatnonzero(years[:40] == YEARS[t])
        np.testing.assert_array_equal(theta[rows], drift.estimator(t).transform(X[rows]))


def test_priors_of_single_words_stay_in_every_slice():
    X, years = documents(True, 200)
    prior = np.full((K, V), 0.01)
    prior[1, 47] = 500.0
    model = SparseSCVB0LDA(K, topic_word_prior=prior, max_iter=5, random_state=0).fit(X)
    drift = topics_over_time(model, X, years, discount=0.5, max_iter=1)
    expected = posterior(drift.counts_, 2, drift.discount_).T + prior
    np.testing.assert_allclose(drift.estimator(2).components_, expected, rtol=1e-4)
    np.testing.assert_allclose(drift.word_shares(1)[2], expected[1] / expected[1].sum(), rtol=1e-4)


def test_the_model_and_the_rows_do_not_change(drifting):
    model, X, years, _ = drifting
    before, rows = model.components_.copy(), X.copy()
    topics_over_time(model, X[:200], years[:200])
    np.testing.assert_array_equal(model.components_, before)
    np.testing.assert_array_equal(X, rows)


def test_wrong_input_has_a_clear_error(drifting):
    model, X, years, drift = drifting
    other = CollapsedLDA(2, max_iter=2, tol=0).fit(X)
    for kind, message, call in (
        (ValueError, "times has shape", lambda: topics_over_time(model, X, years[:3])),
        (ValueError, "no value in row 1", lambda: topics_over_time(model, X[:2], [1.0, np.nan])),
        (ValueError, "no value in row 0", lambda: topics_over_time(model, X[:2], [None, 1])),
        (ValueError, "'31/01/2001' in row 1", lambda: topics_over_time(model, X[:2], ["2001", "31/01/2001"])),
        (ValueError, "several kinds", lambda: topics_over_time(model, X[:2], np.array([1, "2001"], dtype=object))),
        (ValueError, "n_slices is 0", lambda: topics_over_time(model, X, years, n_slices=0)),
        (ValueError, "discount is 2", lambda: topics_over_time(model, X, years, discount=2.0)),
        (ValueError, "max_iter is 0", lambda: topics_over_time(model, X, years, max_iter=0)),
        (TypeError, "CollapsedLDA; give", lambda: topics_over_time(other, X, years)),
        (ValueError, "t is 9; the slices", lambda: drift.estimator(9)),
        (ValueError, "topic is 9; the topics", lambda: drift.word_shares(9)),
    ):
        with pytest.raises(kind, match=message):
            call()


def test_nearly_equal_counts_have_a_distance():
    """The root of a sum that rounds below zero is no number."""
    counts = np.random.default_rng(1).integers(1, 1e8, (300, 20)).astype(float)
    others = counts + np.eye(20)[0]
    assert (distances(counts, others) < 1e-6).all()
    np.testing.assert_allclose(distances(counts, counts[::-1]), jensenshannon(counts, counts[::-1], axis=1))
