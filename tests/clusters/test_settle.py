"""Clusters of a first block that a chain settles, and columns that are recorded in steps."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

import sparsemix.clusters._settle as module
from sparsemix import StreamingNGGPMixture
from sparsemix._engine.blocks import Rows
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._models.clusters.model import RowResponsibilities, StreamingModel, likeliest
from sparsemix._stats import symmetric
from sparsemix.clusters._gaussian._prior import FACTORS, STRENGTHS, ClustersPrior, prior_of_clusters
from sparsemix.clusters._gaussian._steps import SteppedRows, rounding
from sparsemix.clusters._settle import Block, bound, settle, sweeps_of


def first_block(rows, in_one=False):
    """Model, responsibilities and state after an epoch; all rows in one cluster if the caller wants it."""
    est = StreamingNGGPMixture("full", max_iter=1, random_state=0).fit(rows)
    state, rows = est._fitted.state, rows - est._fitted.state.sums.shift
    model, part = StreamingModel(est._fitted.prior, 0.5, record=True), RowResponsibilities(len(rows))
    state.sums.clear()
    state.n_slots = 0
    state.clear()
    model.max_components = 1 if in_one else None
    model.stream(rows, None, state, 0, part)
    model.max_components = None
    return model, rows, part, state


def test_a_chain_finds_clusters_that_one_epoch_has_joined():
    rows, labels = make_blobs(400, n_features=4, centers=4, random_state=1)
    model, x, part, state = first_block(rows, in_one=True)
    assert len(state.live(0.0)) == 1
    settle(model, x, None, part, state)
    assert adjusted_rand_score(labels, likeliest(part)) > 0.99


def test_sums_are_those_of_the_responsibilities():
    rows = load_iris().data
    model, x, part, state = first_block(rows)
    settle(model, x, None, part, state)
    mass = np.bincount(part.slots[: part.n_used], part.values[: part.n_used], minlength=state.capacity)
    np.testing.assert_allclose(state.counts, mass, atol=1e-9)
    assert state.mass == pytest.approx(len(rows))
    slots = state.live(0.0)
    first = np.zeros((len(slots), x.shape[1]))
    for row, (start, length) in enumerate(zip(part.starts, part.lengths, strict=True)):
        for slot, q in zip(part.slots[start:][:length], part.values[start:][:length], strict=True):
            first[np.searchsorted(slots, slot)] += q * x[row]
    np.testing.assert_allclose(state.sums.stats(slots)["first"], first, atol=1e-8)


def test_what_nothing_speaks_for_is_not_split():
    """A draw from the posterior of one Gaussian has several clusters that are the same."""
    for seed in range(3):
        rows = np.random.default_rng(seed).normal(size=(600, 6))
        assert StreamingNGGPMixture("full", random_state=0).fit(rows).n_clusters_ == 1


def test_the_bound_is_the_log_joint_of_a_partition():
    rows = make_blobs(120, n_features=3, centers=3, random_state=0)[0]
    model, _, part, state = first_block(rows)
    part.values[: part.n_used] = 1.0  # of a partition there is no entropy
    slots = state.live(0.0)
    log_u = model.prior.log_mode(state.mass, 1.0)
    expected = model.prior.log_kappa(state.counts[slots], log_u).sum() + state.sums.evidence(slots).sum()
    assert bound(model.prior, state, part) == pytest.approx(expected)
    part.values[:2] = 0.5
    assert bound(model.prior, state, part) == pytest.approx(expected + np.log(2.0))


def test_weighted_rows_and_columns_of_one_value_have_no_chain(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "settle", lambda *arguments, given: asked.append((arguments, given)))
    rows = load_iris().data
    StreamingNGGPMixture("full").fit(rows, sample_weight=np.full(len(rows), 2.0))
    assert not asked
    StreamingNGGPMixture("full").fit(rows, sample_weight=np.ones(len(rows)))
    assert len(asked) == 1
    _, x, part, state = first_block(rows)
    assert sweeps_of(x, likeliest(part), state) > 0
    assert sweeps_of(np.c_[x, np.ones(len(x))], likeliest(part), state) == 0


def test_steps_of_columns():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=500), rng.normal(size=500).round(1), rng.integers(3, size=500), np.ones(500)]
    np.testing.assert_allclose(rounding(rows), [0.0, 0.1, 1.0, 0.0])


def test_rows_are_the_same_whenever_they_are_read():
    x = np.random.default_rng(0).integers(5, size=(50, 3)).astype(float)
    steps = np.array([1.0, 0.0, 0.5])
    rows = SteppedRows(Rows(x), steps)
    whole = rows.read(slice(0, 50))
    assert (np.abs(whole - x) <= steps / 2).all()
    assert (whole[:, 1] == x[:, 1]).all()
    assert len(np.unique(whole[:, 0])) == 50
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(rows.read(order), whole[order])
    np.testing.assert_array_equal(SteppedRows(Rows(x[20:]), steps, 20).read(slice(0, 30)), whole[20:])
    scales = np.array([2.0, 0.5, 1.0])
    np.testing.assert_allclose(SteppedRows(Rows(x), steps, scales=scales).read(order) * scales, whole[order])


def test_streams_of_stepped_columns_do_not_depend_on_how_they_are_cut():
    rows = load_iris().data[np.random.default_rng(0).permutation(150)]
    first = StreamingNGGPMixture("full").partial_fit(rows[:80])
    twin = StreamingNGGPMixture("full").partial_fit(rows[:80]).partial_fit(rows[80:])
    for start in range(80, 150, 7):
        first.partial_fit(rows[start : min(start + 7, 150)])
    np.testing.assert_array_equal(first.means_, twin.means_)
    np.testing.assert_array_equal(first.covariances_, twin.covariances_)


def test_equal_values_make_no_clusters():
    """Two groups by size, in whole numbers, and columns of few values, whose densities must not become infinite."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=600)
    rows = np.c_[8.0 * labels[:, None] + rng.normal(size=(600, 3)).round(1), rng.integers(3, size=(600, 4))]
    found = StreamingNGGPMixture("full", random_state=0).fit(rows + 0.5)
    assert adjusted_rand_score(labels, found.labels_) == 1.0


def settled_block(rows, labels):
    """Rows shared out as follows from labels."""
    model, x, part, state = first_block(rows, in_one=True)
    while state.capacity < labels.max() + 1:
        state.grow()
    state.used(int(labels.max()) + 1)
    block = Block(model, x, None, part, state)
    block.assign(labels.astype(np.intc))
    return block


def test_an_ellipse_in_pieces_is_joined():
    rows = np.random.default_rng(0).normal(size=(900, 2)) * [20.0, 1.0]
    block = settled_block(rows, np.digitize(rows[:, 0], [-9.0, 9.0]))
    assert block.n_clusters == 3
    before = block.bound()
    block.join()
    assert block.n_clusters == 1
    assert block.bound() > before


def test_joining_ends_where_rows_stand_alone():
    """Such a row opens its cluster again, and a bound that rises with every visit would never let go."""
    rows = make_blobs(2000, centers=5, random_state=0)[0]
    block = settled_block(rows, np.arange(2000) // 400)
    block.join()
    bound_then, n_then = block.bound(), block.n_clusters
    block.join()
    assert block.n_clusters <= n_then
    assert block.bound() >= bound_then


def test_clusters_that_are_apart_are_not_joined():
    rows, labels = make_blobs(300, n_features=3, centers=3, cluster_std=0.3, random_state=2)
    block = settled_block(rows, labels)
    block.join()
    assert block.n_clusters == 3


def test_clusters_of_one_size_make_the_prior_strong():
    """Where an epoch has joined blobs that overlap it takes them for clusters of many sizes."""
    rows, labels = make_blobs(2000, centers=5, random_state=0)
    est = StreamingNGGPMixture("full", random_state=0).fit(rows)
    one_pass = StreamingNGGPMixture("full", max_iter=1, random_state=0).fit(rows)
    settled, first = (each._fitted.state.sums.prior for each in (est, one_pass))
    assert settled.dof[0] > 3.0 * first.dof[0]
    variances = settled.scale[0, [0, 2]] / (settled.dof[0] - 3.0)
    np.testing.assert_allclose(variances, 1.0, atol=0.3)
    assert est.n_clusters_ == 5
    assert adjusted_rand_score(labels, est.labels_) > adjusted_rand_score(labels, one_pass.labels_)


def test_what_the_caller_gives_of_the_prior_stays():
    rows = load_iris().data
    est = StreamingNGGPMixture("full", degrees_of_freedom_prior=9.0, mean_precision_prior=0.3).fit(rows)
    prior = est._fitted.state.sums.prior
    assert prior.dof[0] == 9.0
    assert prior.mean_precision[0] == pytest.approx(0.3)
    scale = np.diag([0.5, 0.2, 0.6, 0.1])
    est = StreamingNGGPMixture("full", covariance_prior=scale).fit(rows)
    np.testing.assert_allclose(symmetric.unpack(est._fitted.state.sums.prior.scale)[0], scale)


def test_the_prior_of_clusters_is_the_likeliest_of_those_that_are_tried():
    rows, labels = make_blobs(300, n_features=3, centers=4, random_state=3)
    block = settled_block(rows, labels)
    sums, slots = block.state.sums, block.state.live(0.0)
    found = prior_of_clusters(sums, slots, {"dof": None, "mean_precision": None}, block.x)
    stats, slow = sums.stats(slots), []
    within = ClustersPrior(sums, slots, {"dof": None, "mean_precision": None}, block.x)._within(stats)
    means = stats["first"] / stats["count"][:, None]
    scatter = sum((q * (x - means[k]) ** 2 for x, row in zip(block.x, responsibilities(block), strict=True)
                   for k, q in enumerate(row[slots])))  # fmt: skip
    np.testing.assert_allclose(within, scatter / (300 - 4), rtol=1e-6)
    for factor in FACTORS:
        for strength in STRENGTHS:
            kappa = 1.0 / max(np.mean(block.x.var(axis=0) / (factor * within)) - 1.0, 1e-2)
            covariance = np.diag(strength * factor * within)
            prior = sums.family.prior(
                None, dof=4.0 + strength, mean_precision=kappa, mean=np.zeros(3), covariance=covariance
            )  # fmt: skip
            other = GaussianSlots(sums.family, prior, len(slots), sums.shift)
            other.set_stats(np.arange(len(slots)), stats)
            slow.append(other.evidence(np.arange(len(slots))).sum())
    sums.change_prior(found)
    assert sums.evidence(slots).sum() == pytest.approx(max(slow))
    np.testing.assert_allclose(sums.stats(slots)["second"], stats["second"], rtol=1e-8)
    np.testing.assert_array_equal(sums.table[np.flatnonzero(block.state.counts == 0.0)[0]], sums.prior_slot)


def responsibilities(block):
    """Of all rows, dense."""
    out = np.zeros((len(block.x), block.state.capacity))
    for row, (start, length) in enumerate(zip(block.part.starts, block.part.lengths, strict=True)):
        out[row, block.part.slots[start:][:length]] = block.part.values[start:][:length]
    return out
