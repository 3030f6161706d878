"""Merges and prunes of clusters: criteria against their definitions, and the state afterwards."""

from itertools import product

import numpy as np
import pytest
from scipy.special import entr, gammaln
from sparsemix._kernels.clusters._rule import Responsibilities
from sparsemix._kernels.clusters._sequential import add_up

from sparsemix import StreamingNGGPMixture
from sparsemix._models.clusters import moves as _moves
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._models.clusters.model import RowResponsibilities, StreamingModel
from sparsemix._models.clusters.moves import MERGE_THRESHOLDS, Moves, log_bayes_factor
from sparsemix._models.clusters.multinomial_slots import MultinomialSlots
from sparsemix._models.clusters.state import ClusterState
from sparsemix._rows.documents import DocumentBlock
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.nggp import NGGP

LIKELIHOODS = ["multinomial", "full", "diag", "spherical", "zero_mean"]
per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)
PRIORS = [NGGP(1.7, 0.0, 1.0), NGGP(1.3, 0.5, 0.7), NGGP(0.8, 0.3, 0.0), NGGP(50.0, 0.7, 2.0)]
DIRICHLET = 0.2


def new_slots(likelihood, d):
    if likelihood == "multinomial":
        return MultinomialSlots(d, DIRICHLET)
    family = GAUSSIANS[likelihood](d)
    scale = {"diag": np.full(d, 2.0), "spherical": 2.0}.get(likelihood, 2.0 * np.eye(d))
    given = {"mean": np.zeros(d), "mean_precision": 0.1} if family.has_means else {}
    return GaussianSlots(family, family.prior(None, dof=d + 3.0, covariance=scale, **given))


def block(likelihood, rows):
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    return DocumentBlock.of(rows, np.float64) if likelihood == "multinomial" else rows


def state_of(likelihood, rows, resp, weight=None, prior=PRIORS[0]):
    """Clusters of rows with given responsibilities (n, K)."""
    n, k = resp.shape
    state = ClusterState(new_slots(likelihood, rows.shape[1]))
    while state.n_slots < k:
        state.used(min(k, state.capacity))
        if state.n_slots < k:
            state.grow()
    model = StreamingModel(prior, 0.5)
    slots = np.tile(np.arange(k, dtype=np.intc), n)
    given = Responsibilities(
        np.arange(n) * k, np.full(n, k, dtype=np.intc), slots, np.ascontiguousarray(resp.ravel(), dtype=np.float64)
    )
    add_up(state.sums.kernel(block(likelihood, rows), k), model.rule(state), weight, given)
    state.recount(prior.discount)
    state.log_u = prior.log_mode(state.mass, state.expected_clusters)
    return state


def hard(labels):
    return np.eye(max(labels) + 1)[labels]


def sample(likelihood, n, seed, d=3, kind=0):
    """Rows of one cluster of some kind."""
    rng = np.random.default_rng([seed, kind])
    if likelihood == "multinomial":
        words = np.random.default_rng(kind).dirichlet(np.full(d, 0.5))
        return rng.multinomial(40, words, size=n).astype(float)
    if likelihood == "zero_mean":
        return rng.normal(size=(n, d)) @ np.diag(1.0 + 9.0 * (np.arange(d) == kind % d))
    return rng.normal(size=(n, d)) + 20.0 * np.random.default_rng(kind).normal(size=d)


# -- the Bayes factor


def evidence(likelihood, rows):
    """Log evidence of rows of one cluster, one row after the other, from predictive densities alone."""
    slots, total = new_slots(likelihood, rows.shape[1]), 0.0
    slots.take(np.arange(0), 32)
    kernel = slots.kernel(block(likelihood, rows), 1)
    for row in range(len(rows)):
        total += kernel.scores(row, row + 1)[0][0, 0]
        kernel.move_one(row, 0, 1.0)
    return total


def log_partition(prior, sizes, v):
    """Log p(partition, U = e^v): u^(n - 1) / Gamma(n) exp(-psi(u)) times kappa of each size, written out."""
    a, sigma, tau, n, u = prior.concentration, prior.discount, prior.tilt, sum(sizes), np.exp(v)
    psi = a * np.log1p(u / tau) if sigma == 0 else a / sigma * ((u + tau) ** sigma - tau**sigma)
    kappa = [np.log(a) + gammaln(m - sigma) - gammaln(1 - sigma) - (m - sigma) * np.log(u + tau) for m in sizes]
    return (n - 1) * v - gammaln(n) - psi + sum(kappa)


@per_likelihood
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_bayes_factor_is_the_ratio_of_joints_given_u(prior, likelihood):
    """Evidence of rows by predictive densities in sequence, that of partitions by the formula of the joint."""
    parts = [sample(likelihood, n, seed=n, kind=kind) for n, kind in ((7, 0), (4, 0), (5, 1))]
    labels = np.repeat([0, 1, 2], [7, 4, 5])
    state = state_of(likelihood, np.vstack(parts), hard(labels), prior=prior)
    v = state.log_u
    together = log_bayes_factor(prior, state, 0, np.array([1, 2]))
    for other, value in ((1, together[0]), (2, together[1])):
        left = [k for k in range(3) if k not in (0, other)]
        apart = log_partition(prior, [7, 4, 5], v)
        joined = log_partition(prior, [7 + len(parts[other]), *(len(parts[k]) for k in left)], v)
        rows = evidence(likelihood, np.vstack([parts[0], parts[other]]))
        rows -= evidence(likelihood, parts[0]) + evidence(likelihood, parts[other])
        assert value == pytest.approx(joined - apart + rows, rel=1e-8, abs=1e-7)
    assert log_bayes_factor(prior, state, 1, np.array([0]))[0] == pytest.approx(together[0], rel=1e-10)


@pytest.mark.parametrize("prior", PRIORS[:3], ids=str)
def test_bayes_factor_distinguishes_same_from_different_words(prior):
    """Documents of 40 words over 30, one to fifty in each cluster."""
    same, different = {}, {}
    for n in (1, 5, 20, 50):
        same[n], different[n] = [], []
        for seed in range(10):
            parts = [sample("multinomial", n, seed, d=30, kind=seed), sample("multinomial", n, seed + 50, 30, seed)]
            parts.append(sample("multinomial", n, seed, d=30, kind=seed + 100))
            state = state_of("multinomial", np.vstack(parts), hard(np.repeat([0, 1, 2], n)), prior=prior)
            like, unlike = log_bayes_factor(prior, state, 0, np.array([1, 2]))
            same[n].append(like)
            different[n].append(unlike)
        if n > 1:  # of single documents some are misleading
            assert min(same[n]) > 0
            assert max(different[n]) < 0
    assert 3 < np.median(same[1]) < 30
    assert 100 < np.median(same[50]) < 160
    assert -30 < np.median(different[1]) < -5
    assert -1500 < np.median(different[50]) < -500


@pytest.mark.parametrize("likelihood", LIKELIHOODS[1:])
def test_bayes_factor_distinguishes_same_from_different_gaussians(likelihood):
    for n in (5, 50):
        for seed in range(5):
            parts = [sample(likelihood, n, seed), sample(likelihood, n, seed + 50), sample(likelihood, n, seed, kind=1)]
            state = state_of(likelihood, np.vstack(parts), hard(np.repeat([0, 1, 2], n)))
            like, unlike = log_bayes_factor(PRIORS[0], state, 0, np.array([1, 2]))
            assert like > 0
            assert unlike < 0


@per_likelihood
def test_a_few_rows_join_the_cluster_that_they_are_of(likelihood, monkeypatch):
    """Fewer than five Gaussian rows join by the Bayes factor, even if their covariance differs."""
    monkeypatch.setattr(_moves, "SIMILAR", 2.0)  # nothing is
    for n, kind in product((1, 4, 5), (0, 1)):
        rows = np.vstack([sample(likelihood, 60, 0), sample(likelihood, n, 1, kind=kind)])
        state = state_of(likelihood, rows, hard(np.repeat([0, 1], [60, n])))
        factor = log_bayes_factor(PRIORS[0], state, 0, np.array([1]))[0]
        joined = likelihood != "multinomial" and n < 5 and factor > 3.0
        assert Moves(10, "bayes_factor").merge(PRIORS[0], state) == ([(0, 1)] if joined else [])
        assert (factor > 3.0) == (kind == 0) or likelihood in ("multinomial", "zero_mean")


def touching(distance, n=200):
    """Rows of two Gaussians that are so far apart, and their responsibilities under those."""
    rows = np.random.default_rng(0).normal(size=(n, 3))
    rows[: n // 2, 0] += distance
    shares = 1.0 / (1.0 + np.exp(-distance * (rows[:, 0] - distance / 2)))
    return rows, np.column_stack([shares, 1.0 - shares])


def sparse_part(resp):
    """Responsibilities (n, K) as several epochs keep them."""
    part = RowResponsibilities(len(resp))
    part.starts[...], part.lengths[...] = np.arange(len(resp)) * resp.shape[1], resp.shape[1]
    part.slots, part.values = np.tile(np.arange(resp.shape[1], dtype=np.intc), len(resp)), resp.ravel().copy()
    part.n_used = resp.size
    return part


@pytest.mark.parametrize("distance", [0.0, 1.5, 3.0, 4.5])
@pytest.mark.parametrize("prior", PRIORS[:2], ids=str)
def test_epochs_join_clusters_where_the_bound_rises(prior, distance, monkeypatch):
    """Evidence under expected statistics, partition and entropy before and after; without entropy more would join."""
    monkeypatch.setattr(_moves, "TOUCHING", 0.0)
    rows, resp = touching(distance)
    state = state_of("full", rows, resp, prior=prior)
    v, sizes = state.log_u, resp.sum(axis=0)
    one = state_of("full", rows, np.ones((len(rows), 1)), prior=prior)
    bound = state.sums.evidence([0, 1]).sum() + log_partition(prior, sizes, v) + entr(resp).sum()
    rise = one.sums.evidence([0])[0] + log_partition(prior, [len(rows)], v) - bound
    before = state.counts.copy()
    for threshold, wanted in ((rise - 1e-6, [(0, 1)]), (rise + 1e-6, [])):
        state = state_of("full", rows, resp, prior=prior)
        merged = Moves(1, "bayes_factor", threshold).look_back(prior, [(rows, None, sparse_part(resp), 0)], state)
        assert merged == wanted
        assert state.overlap is None
    np.testing.assert_array_equal(state.counts, before)
    assert (rise > 0.0) == (distance < 4.0)
    if distance == 4.5:
        assert log_bayes_factor(prior, state, 0, np.array([1]))[0] > rise


def test_equal_values_join_nothing_that_is_far_apart():
    """Columns of one value make one cluster infinitely likelier than two, the more rows the surer."""
    rows = np.zeros((80, 9))
    rows[:, 0] = np.random.default_rng(0).normal(size=80) + 15.0 * (np.arange(80) < 40)
    resp = hard(np.repeat([0, 1], 40))
    state = state_of("full", rows, resp)
    assert log_bayes_factor(PRIORS[0], state, 0, np.array([1]))[0] > 0.0
    assert Moves(1, "bayes_factor").look_back(PRIORS[0], [(rows, None, sparse_part(resp), 0)], state) == []


# -- what a merge leaves


@per_likelihood
@pytest.mark.parametrize("prior", PRIORS[:2], ids=str)
def test_merged_clusters_are_those_of_the_pooled_rows(prior, likelihood):
    rng = np.random.default_rng(0)
    rows = np.vstack([sample(likelihood, 8, seed, kind=seed % 2) for seed in range(4)])
    resp = rng.dirichlet(np.ones(4), size=32)
    weight = rng.uniform(0.5, 2.0, 32)
    state = state_of(likelihood, rows, resp, weight, prior)
    absent = state.absent[:4].copy()
    wanted = state.sums.merged_evidence(0, np.array([2]))[0]
    state.merge(0, 2)
    state.recount(prior.discount)
    pooled = resp.copy()
    pooled[:, 0] += pooled[:, 2]
    pooled[:, 2] = 0.0
    other = state_of(likelihood, rows, pooled, weight, prior)
    np.testing.assert_allclose(state.counts[:4], other.counts[:4], rtol=1e-12, atol=1e-12)
    assert state.counts[2] == 0.0
    assert state.mass == pytest.approx(weight.sum(), rel=1e-12)
    slots = np.array([0, 1, 3])
    np.testing.assert_allclose(state.sums.evidence(slots), other.sums.evidence(slots), rtol=1e-9)
    assert state.sums.evidence([0])[0] == pytest.approx(wanted, rel=1e-9)
    np.testing.assert_allclose(state.sums.evidence([2]), 0.0, atol=1e-9)
    np.testing.assert_allclose(state.sums.means(slots), other.sums.means(slots), rtol=1e-9, atol=1e-12)
    if likelihood != "multinomial":
        np.testing.assert_allclose(state.sums.covariances(slots), other.sums.covariances(slots), rtol=1e-8, atol=1e-10)
    # a row is in neither with probability (1 - q_0)(1 - q_2), which is a little more than 1 - q_0 - q_2
    np.testing.assert_allclose(state.absent[:4], [absent[0] * absent[2], absent[1], 1.0, absent[3]], rtol=1e-12)
    assert state.expected_clusters == pytest.approx((1 - state.absent[:4]).sum(), rel=1e-12)
    np.testing.assert_array_equal(state.ids[:4], np.arange(4))


# -- which pairs are joined


def three_and_one(likelihood, seed=0):
    """Clusters of one kind in the slots 0, 2 and 4, of another kind in 1, of a third in 3."""
    kinds = [0, 1, 0, 2, 0]
    rows = np.vstack([sample(likelihood, 12, seed + 10 * i, kind=kind) for i, kind in enumerate(kinds)])
    resp = hard(np.repeat(np.arange(5), 12))
    return rows, resp, state_of(likelihood, rows, resp)


@per_likelihood
@pytest.mark.parametrize("criterion", ["bayes_factor", "similarity"])
def test_chains_of_clusters_of_one_kind_become_one(criterion, likelihood):
    for seed in range(3):
        rows, _, state = three_and_one(likelihood, seed)
        threshold = None if criterion == "bayes_factor" else 0.8
        merged = Moves(1, criterion, threshold).merge(PRIORS[0], state)
        assert len(merged) == 2
        assert {kept for kept, _ in merged} <= {0, 2}
        assert all(kept < gone for kept, gone in merged)  # the older one continues
        live = state.live(0.0)
        np.testing.assert_array_equal(live, [0, 1, 3])
        np.testing.assert_array_equal(state.ids[live], [0, 1, 3])
        np.testing.assert_allclose(state.counts[live], [36, 12, 12], rtol=1e-12)
        pooled = state_of(likelihood, rows, hard(np.repeat([0, 1, 0, 2, 0], 12)))
        np.testing.assert_allclose(state.sums.evidence(live), pooled.sums.evidence(np.arange(3)), rtol=1e-9)
        assert Moves(1, criterion, threshold).merge(PRIORS[0], state) == []  # nothing is left to join


@per_likelihood
@pytest.mark.parametrize("criterion", MERGE_THRESHOLDS)
def test_clusters_of_different_kinds_stay(criterion, likelihood):
    rows = np.vstack([sample(likelihood, 12, kind, kind=kind) for kind in range(3)])
    state = state_of(likelihood, rows, hard(np.repeat([0, 1, 2], 12)))
    state.overlap = np.zeros((state.capacity, state.capacity))
    counts = state.counts.copy()
    assert Moves(1, criterion).merge(PRIORS[0], state) == []
    np.testing.assert_array_equal(state.counts, counts)
    if criterion != "bayes_factor":
        everything = Moves(1, criterion, -1.0).merge(PRIORS[0], state)
        assert len(everything) == 2  # down to one
        assert state.counts[0] == pytest.approx(36.0)


def test_no_criterion_and_few_clusters_merge_nothing():
    rows = sample("multinomial", 24, 0)
    state = state_of("multinomial", rows, hard(np.repeat([0, 1], 12)))
    assert Moves(1).merge(PRIORS[0], state) == []
    one = state_of("multinomial", rows, np.ones((24, 1)))
    for criterion in MERGE_THRESHOLDS:
        assert Moves(1, criterion, -np.inf).merge(PRIORS[0], one) == []
    assert Moves(1, "similarity").merge(PRIORS[0], ClusterState(new_slots("multinomial", 3))) == []


def test_the_best_pair_comes_first_and_thresholds_hold():
    """Three directions in a plane: two of them are close, and their sum is close to the third."""
    rows = np.array([[100.0, 0.0], [100.0, 20.0], [100.0, 100.0]])
    state = state_of("multinomial", rows, np.eye(3))
    values = state.sums.similarity(np.arange(3), np.arange(3))
    directions = (rows + DIRICHLET) / np.linalg.norm(rows + DIRICHLET, axis=1, keepdims=True)
    np.testing.assert_allclose(values, directions @ directions.T, rtol=1e-12)
    assert values[0, 1] > values[1, 2] > values[0, 2]
    joined = rows[0] + rows[1] + DIRICHLET
    left = joined @ directions[2] / np.linalg.norm(joined)
    for threshold, wanted in ((values[0, 1] + 1e-9, []), (left + 1e-9, [(0, 1)]), (left - 1e-9, [(0, 1), (0, 2)])):
        again = state_of("multinomial", rows, np.eye(3))
        assert Moves(1, "similarity", threshold).merge(PRIORS[0], again) == wanted


@pytest.mark.parametrize("likelihood", ["full", "zero_mean", "diag", "spherical"])
def test_similarity_of_gaussians_is_their_bhattacharyya_coefficient(likelihood):
    rows = np.vstack([sample(likelihood, 30, kind, d=2, kind=kind) * (1 if kind else 0.7) for kind in range(3)])
    rows[30:60] = rows[:30] * 1.3 + 0.4  # near the first
    state = state_of(likelihood, rows, hard(np.repeat([0, 1, 2], 30)))
    means, covariances = state.sums.means(np.arange(3)), state.sums.covariances(np.arange(3))
    if likelihood == "diag":
        covariances = np.array([np.diag(c) for c in covariances])
    elif likelihood == "spherical":
        covariances = covariances[:, None, None] * np.eye(2)
    wanted = np.empty((3, 3))
    for k in range(3):
        for j in range(3):
            middle, d = (covariances[k] + covariances[j]) / 2, means[k] - means[j]
            distance = d @ np.linalg.solve(middle, d) / 8
            dets = [np.linalg.slogdet(c)[1] for c in (middle, covariances[k], covariances[j])]
            wanted[k, j] = np.exp(-distance - dets[0] / 2 + (dets[1] + dets[2]) / 4)
    assert 0.2 < wanted[0, 1] < 1.0
    np.testing.assert_allclose(state.sums.similarity(np.arange(3), np.arange(3)), wanted, rtol=1e-8, atol=1e-12)


# -- the responsibilities of a window


@per_likelihood
@pytest.mark.parametrize("weighted", [False, True])
def test_shared_rows_of_a_window_are_one_less_the_normalized_distance(weighted, likelihood):
    """Lin 2013: sum |q_k - q_l| / sum (q_k + q_l), over the rows since the last look and no others."""
    rng = np.random.default_rng(0)
    rows = np.vstack([sample(likelihood, 60, kind, kind=0) for kind in range(2)])
    rows[::2] += {"multinomial": 2.0, "spherical": 7.0}.get(likelihood, 4.0)
    weight = rng.uniform(0.5, 2.0, 120) if weighted else None
    prior = PRIORS[0]
    model = StreamingModel(prior, threshold=0.02, record=True)
    state = ClusterState(new_slots(likelihood, 3))
    state.overlap = np.zeros((state.capacity, state.capacity))
    model.moves = Moves(10**9, "responsibility")
    model.stream(block(likelihood, rows[:60]), None if weight is None else weight[:60], state, 0)
    model.moves.after_rows(prior, state)  # not yet
    state.looked()
    assert state.overlap.sum() == 0.0
    kept = RowResponsibilities(60)
    later = None if weight is None else weight[60:]
    model.add(block(likelihood, rows[60:]), later, state, 60, kept)
    model.moves.observe(kept.kernel(), later, state)
    resp = np.zeros((60, state.n_slots))
    for row, (start, length) in enumerate(zip(kept.starts, kept.lengths, strict=True)):
        resp[row, kept.slots[start : start + length]] = kept.values[start : start + length]
    w = np.ones(60) if later is None else later
    live = state.live(0.0)
    assert len(live) > 1
    for k in live:
        with np.errstate(invalid="ignore"):
            distance = (w @ np.abs(resp[:, [k]] - resp[:, live])) / (w @ (resp[:, [k]] + resp[:, live]))
        wanted = np.where((live == k) | np.isnan(distance), -np.inf, 1.0 - distance)
        got = state.shared(k, live)
        np.testing.assert_array_equal(np.isinf(got), np.isinf(wanted))
        finite = np.isfinite(wanted)
        np.testing.assert_allclose(got[finite], wanted[finite], atol=1e-9)
    assert max(state.shared(k, live).max() for k in live) > 0


def test_clusters_that_share_their_rows_are_joined():
    rows = np.tile([4.0, 4.0, 0.0], (20, 1))
    resp = np.tile([0.5, 0.5, 0.0], (20, 1))
    resp[0] = [0.0, 0.0, 1.0]
    state = state_of("multinomial", rows, resp)
    state.overlap = np.zeros((state.capacity, state.capacity))
    moves = Moves(1, "responsibility")
    assert moves.merge(PRIORS[0], state) == []  # nothing was observed yet
    given = Responsibilities(np.arange(20) * 3, np.full(20, 3, dtype=np.intc),
                             np.tile(np.arange(3, dtype=np.intc), 20), resp.ravel())  # fmt: skip
    moves.observe(given, None, state)
    assert moves.merge(PRIORS[0], state) == [(0, 1)]
    np.testing.assert_allclose(state.counts[:3], [19, 0, 1])


# -- looks


def test_looks_come_after_so_many_rows():
    moves = Moves(13)
    state = ClusterState(new_slots("multinomial", 3))
    for n_rows, left in ((0, 13), (5, 8), (12, 1), (13, 13), (27, 12)):
        state.n_rows = n_rows
        assert moves.rows_left(state) == left


@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_prunes_spare_clusters_that_were_opened_since_the_last_look(discount):
    prior = NGGP(1.0, discount, 1.0)
    rows = sample("multinomial", 10, 0)
    state = state_of("multinomial", rows, hard([0, 0, 0, 0, 0, 1, 2, 2, 2, 3]), prior=prior)
    state.n_rows, state.looked_id = 20, 2  # the last two are new
    moves = Moves(10, prune_threshold=2.0)
    moves.after_rows(prior, state)
    np.testing.assert_array_equal(state.ids[state.live(discount)], [0, 2, 3])
    assert state.mass == pytest.approx(9.0)
    assert state.expected_clusters == pytest.approx(3.0)
    moves.after_rows(prior, state)  # now none is new
    np.testing.assert_array_equal(state.ids[state.live(discount)], [0, 2])
    assert state.mass == pytest.approx(8.0)
    pooled = state_of("multinomial", rows[[0, 1, 2, 3, 4, 6, 7, 8]], hard([0, 0, 0, 0, 0, 1, 1, 1]), prior=prior)
    np.testing.assert_allclose(
        state.sums.statistics(state.live(discount)), pooled.sums.statistics(np.arange(2)), rtol=1e-12
    )


@per_likelihood
def test_slots_of_dead_clusters_are_given_up(likelihood):
    rows = np.vstack([sample(likelihood, 1, k, kind=k) for k in range(100)])
    state = state_of(likelihood, rows, np.eye(100))
    before = state.sums.evidence(np.arange(90, 100))
    capacity = state.capacity
    state.n_rows, state.looked_id = 10, 90
    moves = Moves(10, prune_threshold=2.0)
    moves.after_rows(PRIORS[0], state)
    assert state.n_slots == 10
    np.testing.assert_array_equal(state.ids[:10], np.arange(90, 100))
    np.testing.assert_allclose(state.sums.evidence(np.arange(10)), before, rtol=1e-12)
    assert state.capacity == state.sums.capacity == 32 < capacity
    assert len(state.ids) == len(state.absent) == len(state.counts_then) == 32
    np.testing.assert_array_equal(state.counts[10:], 0.0)
    np.testing.assert_allclose(state.sums.evidence(np.arange(10, 32)), 0.0, atol=1e-12)
    few = state_of(likelihood, rows, np.eye(100))
    few.n_rows, few.looked_id = 10, 10
    moves.after_rows(PRIORS[0], few)  # a tenth is dead: not worth the move
    assert few.n_slots == 100
    assert len(few.live(0.0)) == 90


@pytest.mark.parametrize("far", [1e8, 1e12, 1e20])
def test_looks_leave_clusters_alone_whose_union_has_no_covariance(far):
    """Round-off hides the spread of both in the sums of their union."""
    rng = np.random.default_rng(0)
    near = rng.normal(size=(20, 3))
    beyond = 1e-3 * rng.normal(size=(20, 3)) + far * np.array([1.0, 1.1, 0.9])
    given = {"covariance_prior": 1e-6, "mean_precision_prior": 0.1}
    est = StreamingNGGPMixture(likelihood="full", merge_every=1, random_state=0, **given)
    est.partial_fit(near)
    est.partial_fit(beyond)
    labels = est.predict(np.vstack([near, beyond]))
    assert est.n_clusters_ == len(set(labels))
    assert not set(labels[:20]) & set(labels[20:])
