"""The stream of StreamingNGGPMixture: blocks, clusters that come and go, memory, interrupts."""

import pickle

import numpy as np
import pytest
from cluster_cases import (
    GAUSSIANS,
    LIKELIHOODS,
    TEXTS,
    WEIGHTS,
    assert_same_bits,
    assert_valid,
    rows_of,
    stream,
    streaming,
)
from reference_nggp import make_pitman_yor_mixture
from scipy import sparse
from sklearn.base import clone

from sparsemix import StreamingNGGPMixture
from sparsemix.clusters import _streaming_nggp_mixture as module

per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)

# Everything that could depend on where a block ends: looks at the clusters come every thirteen rows.
WAYS = {
    "plain": {},
    "weights": {"weights": True},
    "inverse Gaussian": {"discount": 0.5, "new_cluster_threshold": 0.6},
    "stable, counted": {"discount": 0.3, "tilt": 0.0, "u_rule": ("mode", "count")},
    "pitman-yor": {"discount": 0.5, "tilt": "pitman-yor", "new_cluster_threshold": 0.6},
    "quadrature": {"discount": 0.5, "u_rule": "quadrature", "new_cluster_threshold": 0.6},
    "one responsibility": {"n_nonzero": 1},
    "few clusters": {"max_components": 3},
    "merged by evidence": {
        "merge_criterion": "bayes_factor", "new_cluster_threshold": 0.1, "word_prior": 0.1, "merge_every": 13,
        "concentration": 10.0,
    },
    "merged by rows": {"merge_criterion": ("responsibility", 0.3), "merge_every": 13},
    "merged by direction": {"merge_criterion": ("similarity", 0.5), "merge_every": 13},
    "pruned": {"prune_threshold": 1.5, "merge_every": 13},
    "all": {
        "weights": True, "discount": 0.2, "new_cluster_threshold": 0.3, "n_nonzero": 2, "merge_every": 13,
        "merge_criterion": ("responsibility", 0.5), "prune_threshold": 1.5,
    },
}  # fmt: skip


def case(name, likelihood="multinomial"):
    """An estimator, its rows, and their weights or None."""
    params = {key: value for key, value in WAYS[name].items() if key != "word_prior" or likelihood == "multinomial"}
    weight = WEIGHTS if params.pop("weights", False) else None
    return streaming(likelihood, **params), rows_of(likelihood), weight


# -- however rows are cut


@per_likelihood
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in ("plain", "all") else pytest.mark.slow) for name in WAYS]
)
def test_blocks_of_any_size_give_the_same_bits(name, likelihood, monkeypatch):
    est, rows, weight = case(name, likelihood)
    whole = stream(clone(est), rows, None, weight)
    assert_valid(whole, rows)
    assert whole.n_samples_seen_ == 150
    for size in (1, 7, 13, 100):
        assert_same_bits(whole, stream(clone(est), rows, size, weight))
    monkeypatch.setattr(module, "ROWS", 11)  # what a call reads at once
    assert_same_bits(whole, stream(clone(est), rows, None, weight))
    monkeypatch.setattr("sparsemix._models.clusters.model.FIRST_ENTRIES", 1)  # memory for responsibilities is exceeded
    assert_same_bits(whole, stream(clone(est), rows, 40, weight))


def test_mass_is_that_of_the_rows_with_words():
    said_something = np.asarray(TEXTS.sum(axis=1)) > 0
    for name in ("plain", "weights", "inverse Gaussian", "merged by rows", "merged by direction"):
        est, rows, weight = case(name)
        weight = np.ones(150) if weight is None else weight
        est = stream(est, rows, 20, weight)
        assert est.counts_.sum() == pytest.approx(weight[said_something].sum(), rel=1e-10), name
        assert est.n_samples_seen_ == 150


def test_capacity_grows_when_slots_run_out():
    """More clusters than there are slots at first, in one block or in many."""
    rows = 9 * np.eye(100)
    whole = streaming(word_prior=0.01).partial_fit(rows)
    assert whole.n_clusters_ == 100
    np.testing.assert_array_equal(whole.cluster_ids_, np.arange(100))
    for size in (1, 33):
        assert_same_bits(whole, stream(streaming(word_prior=0.01), rows, size), rows)
    np.testing.assert_array_equal(whole.predict(rows), np.arange(100))


# -- copies in mid-stream


def test_attributes_that_were_read_do_not_change_as_the_stream_continues():
    est = streaming().partial_fit(TEXTS[:70])
    counts, means, ids = est.counts_, est.means_, est.cluster_ids_
    kept = counts.copy(), means.copy(), ids.copy()
    est.partial_fit(TEXTS[70:])
    for now, then in zip((counts, means, ids), kept, strict=True):
        np.testing.assert_array_equal(now, then)
    counts += 1.0  # and the reader may write
    assert_same_bits(est, stream(streaming(), TEXTS, 70))


# -- clusters


def follow(est, rows, size):
    """Blocks of a stream, and after each of them the clusters by number with counts and means."""
    for part in range(0, rows.shape[0], size):
        est.partial_fit(rows[part : part + size])
        yield dict(zip(est.cluster_ids_.tolist(), zip(est.counts_, est.means_, strict=True), strict=True))


@pytest.mark.parametrize("name", ["merged by rows", "merged by direction", "merged by evidence", "pruned"])
def test_numbers_stay_with_their_clusters(name):
    est, rows, _ = case(name)
    seen, gone, last = set(), set(), {}
    for clusters in follow(est, rows, 13):
        assert not gone & set(clusters)  # no number is given again
        gone |= seen - set(clusters)
        assert all(number > max(seen, default=-1) for number in set(clusters) - seen)
        seen |= set(clusters)
        for number in set(clusters) & set(last):
            (before, mean_before), (after, mean_after) = last[number], clusters[number]
            assert after >= before - 1e-9  # a stream takes nothing from a cluster
            share = before / after  # and what it had is within what it has
            assert (mean_after >= mean_before * share * 0.2 - 1e-9).all()
        last = clusters
    assert gone


def two_twins(n):
    """Documents of one kind in one order, and of another kind in between."""
    rows = np.zeros((n, 10))
    rows[::2, :5] = 4.0
    rows[1::2, 5:] = 4.0
    return rows


def test_a_merged_cluster_keeps_the_number_of_the_older():
    rows = np.vstack([two_twins(20), np.full((6, 10), 2.0)])
    est = streaming(word_prior=0.5, merge_criterion=("similarity", 0.1), merge_every=26)
    est.partial_fit(rows[:25])
    assert est.n_clusters_ == 3
    np.testing.assert_array_equal(est.cluster_ids_, [0, 1, 2])
    est.partial_fit(rows[25:])  # the third is between both
    assert est.n_clusters_ == 1
    assert est.cluster_ids_[0] == 0
    assert est.counts_.sum() == pytest.approx(26)
    est.set_params(merge_criterion=("similarity", 2.0)).partial_fit(np.eye(10)[[0] * 3] * 40)
    np.testing.assert_array_equal(est.cluster_ids_, [0, 3])


def test_a_light_cluster_is_forgotten_at_the_second_look():
    rows = np.zeros((30, 12))
    rows[:, :5] = 4.0
    rows[3] = np.r_[np.zeros(5), np.full(5, 4.0), 0, 0]  # an outlier
    est = streaming(prune_threshold=2.0, merge_every=10)
    sizes = [len(clusters) for clusters in follow(est, rows, 5)]
    assert sizes == [2, 2, 2, 1, 1, 1]
    assert est.counts_.sum() == pytest.approx(29)
    assert est.predict(rows[3:4]) == 0  # what is left explains everything
    without = streaming().partial_fit(np.delete(rows, 3, axis=0))
    np.testing.assert_allclose(est.means_, without.means_, rtol=1e-12)


def test_all_clusters_may_be_forgotten_and_the_stream_continues():
    rows = 9 * np.eye(40)
    est = streaming(word_prior=0.01, prune_threshold=5.0, merge_every=4)
    est.partial_fit(rows)
    assert est.n_clusters_ <= 8
    assert est.n_samples_seen_ == 40
    est.partial_fit(np.tile(rows[:1], (30, 1)))
    assert est.counts_.max() == pytest.approx(30, abs=2)
    assert_valid(est, rows)


def test_no_cluster_beyond_max_components():
    rows = 9 * np.eye(40)
    for limit in (1, 7):
        est = stream(streaming(word_prior=0.01, max_components=limit), rows, 9)
        assert est.n_clusters_ == limit
        assert est.counts_.sum() == pytest.approx(40)
        assert est.cluster_ids_.max() == limit - 1
    est = streaming(word_prior=0.01, max_components=7, prune_threshold=1.5, merge_every=5)
    est = stream(est, np.vstack([rows] * 2), 9)  # forgotten clusters free their slots for others
    assert est.n_clusters_ <= 7
    assert est.cluster_ids_.max() > 7


@pytest.mark.parametrize("max_iter", [1, 3])
@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_a_thousand_equal_documents_are_one_cluster(discount, max_iter):
    rows = np.tile([[3.0, 0.0, 1.0, 2.0, 0.0]], (1000, 1))
    est = streaming(discount=discount, new_cluster_threshold=None, max_iter=max_iter).fit(rows)
    assert est.n_clusters_ == 1
    assert est.counts_[0] == pytest.approx(1000)
    np.testing.assert_allclose(est.means_[0], (3000 * np.array([1, 0, 1 / 3, 2 / 3, 0]) + 0.03) / 6000.15, rtol=1e-9)
    burst = stream(streaming(discount=discount, new_cluster_threshold=None), TEXTS[:, :5])
    before = burst.n_clusters_
    burst.partial_fit(rows)  # in the middle of a stream
    assert burst.n_clusters_ <= before + 1
    assert burst.counts_.max() > 800  # those that some of the first went to are alike
    assert_valid(burst.partial_fit(TEXTS[:, :5]), rows)


def test_one_giant_document_and_documents_of_one_word():
    rows = np.vstack([np.eye(20)[np.arange(30) % 20], np.full((1, 20), 5e5), np.eye(20)[np.arange(30) % 20]])
    for max_iter in (1, 4):
        est = streaming(max_iter=max_iter, shuffle=False).fit(rows)
        assert_valid(est, rows)
        assert est.counts_.sum() == pytest.approx(61)
        giant = est.labels_[30]
        np.testing.assert_allclose(est.means_[giant], 1 / 20, rtol=1e-3)
        assert est.predict_proba(rows)[30, giant] > 0.999
    whole = streaming().partial_fit(rows)
    assert_same_bits(stream(streaming(), rows, 1), whole, rows)
    # what a giant leaves as it is taken out again is no less exact
    again = streaming(max_iter=6, tol=0.0, shuffle=False).fit(rows)
    small = np.delete(np.arange(61), 30)
    np.testing.assert_allclose(again.means_.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(again.score(rows[small]))


def test_documents_without_words_change_nothing():
    words = TEXTS[np.asarray(TEXTS.sum(axis=1)) > 0]
    empty = sparse.csr_array((3, 25))
    plain = streaming().partial_fit(words)
    orders = [[empty, words], [words, empty], [words[:9], empty, words[9:]], [empty, words[:70], empty, words[70:]]]
    for order in orders:
        est = streaming().partial_fit(sparse.vstack(order, format="csr"))
        assert est.n_samples_seen_ == plain.n_samples_seen_ + 3 * sum(part is empty for part in order)
        for name in ("counts_", "weights_", "means_", "u_", "expected_n_clusters_", "cluster_ids_"):
            np.testing.assert_array_equal(getattr(est, name), getattr(plain, name))
    # predictions give them the prior
    np.testing.assert_allclose(
        plain.predict_proba(empty), np.tile(plain.counts_ / plain.counts_.sum(), (3, 1)), rtol=1e-12
    )
    np.testing.assert_array_equal(plain.predict(empty), plain.counts_.argmax())
    np.testing.assert_allclose(plain.score_samples(empty), 0.0, atol=1e-12)


def test_only_documents_without_words():
    est = streaming(discount=0.5).partial_fit(np.zeros((3, 25)))
    assert (est.n_clusters_, est.n_samples_seen_, est.new_weight_, est.expected_n_clusters_) == (0, 3, 1.0, 0.0)
    assert est.means_.shape == (0, 25)
    for method in ("predict", "predict_proba", "predict_sparse_proba", "score_samples", "score"):
        with pytest.raises(ValueError, match=r"there is no cluster yet, only rows without words"):
            getattr(est, method)(TEXTS)
    plain = streaming(discount=0.5).partial_fit(TEXTS)
    est.partial_fit(TEXTS)
    np.testing.assert_array_equal(est.counts_, plain.counts_)


def test_parameters_of_the_prior_may_change_in_a_stream():
    est = streaming().partial_fit(TEXTS[:70])
    weight = est.new_weight_
    est.set_params(concentration=50.0, discount=0.5, new_cluster_threshold=None)
    assert est.new_weight_ == weight  # until the next rows come
    assert est.partial_fit(TEXTS[70:71]).new_weight_ > weight
    for criterion in ("responsibility", "bayes_factor", "similarity", None):
        est.set_params(merge_criterion=criterion, merge_every=3).partial_fit(TEXTS[71:90])
    assert_valid(est, TEXTS)


# -- memory


def drifting(n, n_words=600, width=6):
    """Documents of one of a few kinds at a time; kinds come, with their own words, and never return."""
    rng = np.random.default_rng(0)
    rows = np.zeros((n, n_words))
    for i in range(n):
        kind = (i // 10 + rng.integers(3)) % (n_words // width)
        np.add.at(rows[i], kind * width + rng.integers(width, size=12), 1.0)
    return sparse.csr_array(rows)


def state_bytes(est):
    """What the state holds."""
    state = est._fitted.state
    panels = [panel.sums for panel in getattr(state.sums, "panels", [])]
    arrays = [*vars(state).values(), *vars(state.sums).values(), *panels]
    return sum(value.nbytes for value in arrays if isinstance(value, np.ndarray))


def test_memory_follows_the_clusters_that_live():
    """Every document of this stream has words that no other document has."""
    rows = sparse.csr_array(9 * np.eye(2000))
    est = streaming(word_prior=0.001, prune_threshold=1.5, merge_every=50)
    capacities = []
    for start in range(0, 2000, 100):
        est.partial_fit(rows[start : start + 100])
        capacities.append(est._fitted.state.capacity)
        assert est.n_clusters_ <= 100
    assert max(capacities) <= 160
    assert est.cluster_ids_.max() == 1999
    assert state_bytes(est) < 160 * 8 * 2100
    kept = stream(streaming(word_prior=0.001), rows[:500])
    assert kept.n_clusters_ == 500
    assert kept._fitted.state.capacity <= 500 * 5 // 4 + 64


@pytest.mark.parametrize("criterion", [None, "responsibility"])
def test_a_drifting_stream_is_bounded(criterion):
    rows = drifting(1000)
    est = streaming(prune_threshold=40.0, merge_every=25, merge_criterion=criterion)
    for start in range(0, 1000, 100):
        est.partial_fit(rows[start : start + 100])
        assert 2 <= est.n_clusters_ <= 20
        assert est._fitted.state.capacity <= 64
    assert est.counts_.sum() < 150
    forever = stream(streaming(), rows)
    assert forever.n_clusters_ >= 100
    forever.set_params(prune_threshold=1e9, merge_every=1).partial_fit(rows[-5:])
    assert forever.n_clusters_ < 10
    assert forever._fitted.state.capacity <= 64  # memory is returned


def test_a_call_keeps_nothing_of_its_rows():
    rows = make_pitman_yor_mixture(300, n_features=50, doc_length=20, random_state=0)[0]
    est = streaming(merge_criterion="responsibility", merge_every=100)
    est.partial_fit(sparse.vstack([rows] * 10, format="csr"))
    assert len(pickle.dumps(est)) < state_bytes(est) + 5000


# -- the first block


@pytest.mark.parametrize("likelihood", GAUSSIANS)
def test_a_short_stream_depends_on_its_first_block(likelihood):
    rows = rows_of(likelihood)
    est = StreamingNGGPMixture(likelihood).partial_fit(rows[:50]).partial_fit(rows[50:])
    same = StreamingNGGPMixture(likelihood).partial_fit(rows[:50])
    assert_same_bits(est, stream(same, rows[50:], 7))
    other = StreamingNGGPMixture(likelihood).partial_fit(rows)
    assert not np.array_equal(est.score_samples(rows), other.score_samples(rows))
