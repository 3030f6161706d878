"""Epochs of expectation propagation in StreamingNGGPMixture: responsibilities and clusters agree, and settle."""

import numpy as np
import pytest
from cluster_cases import (
    LIKELIHOODS,
    TEXTS,
    WEIGHTS,
    apart,
    assert_same_bits,
    assert_valid,
    rows_of,
    same_partition,
    streaming,
)
from sklearn.metrics import adjusted_rand_score

from sparsemix import StreamingNGGPMixture
from sparsemix._models.clusters.model import RowResponsibilities, StreamingModel
from sparsemix._models.clusters.moves import Moves
from sparsemix._models.clusters.multinomial_slots import MultinomialSlots
from sparsemix._models.clusters.state import ClusterState
from sparsemix._rows.documents import DocumentBlock
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters import _streaming_nggp_mixture as module
from sparsemix.datasets import make_bars_mixture

per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)


@pytest.fixture
def within(monkeypatch):
    """What a fit works with: its responsibilities, state and rows, as they are at its end."""
    seen, original = {}, module.run

    def run(model, rows, row_state, monitor, state):
        seen.update(model=model, rows=rows, row_state=row_state, state=state)
        return original(model, rows, row_state, monitor, state)

    monkeypatch.setattr(module, "run", run)
    return seen


def dense(parts, n_slots):
    """Responsibilities of all rows in the order in which they are visited, (n, n_slots)."""
    resp = np.zeros((sum(len(part.lengths) for part in parts), n_slots))
    row = 0
    for part in parts:
        for start, length in zip(part.starts, part.lengths, strict=True):
            slots = part.slots[start : start + length]
            assert (np.diff(slots) > 0).all()
            resp[row, slots] = part.values[start : start + length]
            row += 1
    return resp


def assert_clusters_are_those_of_the_rows(seen, rows, weight=None, rtol=1e-9):
    """Counts, statistics and totals of the state, against sums over all responsibilities."""
    state, row_state = seen["state"], seen["row_state"]
    order = np.arange(rows.shape[0]) if row_state.order is None else row_state.order
    x = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    x, w = x[order], (np.ones(len(order)) if weight is None else weight)[order]
    resp = dense(row_state.parts, state.n_slots)
    says = np.abs(x).sum(axis=1) > 0 if isinstance(state.sums, MultinomialSlots) else np.ones(len(x), dtype=bool)
    np.testing.assert_allclose(resp.sum(axis=1), says, rtol=1e-12)
    counts = w @ resp
    np.testing.assert_allclose(state.counts[: state.n_slots], counts, rtol=rtol, atol=1e-12)
    assert state.mass == pytest.approx(counts.sum(), rel=rtol)
    slots = np.arange(state.n_slots)
    if isinstance(state.sums, MultinomialSlots):
        np.testing.assert_allclose(state.sums.statistics(slots), (w[:, None] * resp).T @ x, rtol=rtol, atol=1e-9)
    else:
        stats = state.sums.stats(slots)
        np.testing.assert_allclose(stats["count"], counts, rtol=rtol)
        if state.sums.family.has_means:
            first = (w[:, None] * resp).T @ (x - state.sums.shift)
            np.testing.assert_allclose(stats["first"], first, rtol=rtol, atol=1e-8)
    with np.errstate(divide="ignore"):
        absent = np.exp(np.log1p(-np.minimum(resp, 1.0)).sum(axis=0))
    assert state.expected_clusters == pytest.approx((1.0 - absent).sum(), rel=1e-6)


MOVES = {
    "none": {},
    "by evidence": {"merge_criterion": ("bayes_factor", 0.0)},
    "by rows": {"merge_criterion": ("responsibility", 0.3)},
    "by likeness": {"merge_criterion": ("similarity", 0.5)},
}


@per_likelihood
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("moves", MOVES)
def test_clusters_are_those_of_the_rows_after_every_number_of_epochs(moves, weighted, likelihood, within, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 40)  # several blocks
    rows, weight = rows_of(likelihood), WEIGHTS if weighted else None
    for max_iter in (2, 3, 7):
        est = streaming(likelihood, max_iter=max_iter, tol=0.0, new_cluster_threshold=0.1, **MOVES[moves])
        est.fit(rows, sample_weight=weight)
        assert_clusters_are_those_of_the_rows(within, rows, weight)
        assert_valid(est, rows)
        assert est.n_samples_seen_ == 150


def from_nothing(monkeypatch):
    """Let fits begin without the clusters of the search for a prior."""
    make = module.make_state
    monkeypatch.setattr(module, "make_state", lambda *args: (*make(*args)[:2], None))


@per_likelihood
def test_blocks_make_no_difference_to_epochs(likelihood, monkeypatch):
    """Except for the order of sums, which follows the rows, and for rows that begin in the clusters of the search."""
    from_nothing(monkeypatch)
    params = {"max_iter": 5, "tol": 0.0, "merge_criterion": ("responsibility", 0.4)}
    whole = streaming(likelihood, **params).fit(rows_of(likelihood))
    for size in (1, 7, 40):
        monkeypatch.setattr(module, "ROWS", size)
        assert_same_bits(whole, streaming(likelihood, **params).fit(rows_of(likelihood)))


# -- the first epoch, and the last


@per_likelihood
def test_the_first_epoch_is_assumed_density_filtering(likelihood, within, monkeypatch):
    from_nothing(monkeypatch)
    rows = rows_of(likelihood)
    stream = streaming(likelihood).fit(rows)
    recounted, original = [], StreamingModel.recount

    def recount(self, visits, state):
        before = state.counts[: state.n_slots].copy()
        resp = dense(within["row_state"].parts, state.n_slots)
        original(self, visits, state)
        recounted.append((before, resp))

    monkeypatch.setattr(StreamingModel, "recount", recount)
    epochs = streaming(likelihood, max_iter=2, tol=0.0).fit(rows)
    before, resp = recounted[0]
    np.testing.assert_array_equal(before, stream._fitted.state.counts[: len(before)])
    np.testing.assert_allclose(resp.sum(axis=0), before, rtol=1e-10)
    assert epochs.history_[0]["log_predictive"] == stream.history_[0]["log_predictive"]
    assert epochs.history_[0]["change"] == 150.0


@per_likelihood
def test_epochs_come_to_rest(likelihood, within):
    """Once nothing changes, another epoch changes nothing, and clusters are what they were."""
    rows, groups = apart(likelihood)
    est = StreamingNGGPMixture(likelihood, max_iter=40, tol=1e-9, random_state=0).fit(rows)
    assert est.converged_
    assert 2 <= est.n_iter_ < 40
    assert same_partition(est.labels_, groups)
    changes = [record["change"] for record in est.history_]
    assert changes[-1] < 1e-9 * 120
    assert all(change > 1e-9 * 120 for change in changes[1:-1])
    model, state, row_state = (within[name] for name in ("model", "state", "row_state"))
    counts, evidence = state.counts.copy(), state.sums.evidence(np.arange(state.n_slots))
    model.begin(state)
    for x, weight, part, start in row_state.visits(within["rows"]):
        model.sweep(x, weight, part, state, start, row_state.n_sweeps)
    assert model.change(state) < 1e-3
    np.testing.assert_allclose(state.counts, counts, atol=1e-6)
    np.testing.assert_allclose(state.sums.evidence(np.arange(state.n_slots)), evidence, rtol=1e-8)


def test_unsure_rows_settle_too():
    est = streaming(max_iter=300, tol=5e-6).fit(TEXTS)
    assert est.converged_
    changes = np.array([record["change"] for record in est.history_]) / 146
    settled = (changes[1:] < 5e-6) & (changes[1:] <= changes[:-1])
    assert settled[-1]
    assert not settled[:-1].any()
    more = streaming(max_iter=est.n_iter_ + 1, tol=0.0).fit(TEXTS)
    assert more.history_[-1]["change"] < 1e-3
    np.testing.assert_allclose(more.counts_, est.counts_, atol=0.05)


def test_no_tolerance_runs_all_epochs():
    est = streaming(max_iter=60, tol=0.0).fit(apart("multinomial")[0])
    assert (est.n_iter_, est.converged_) == (60, False)


@pytest.mark.parametrize(("discount", "threshold"), [(0.0, None), (0.0, 0.05), (0.5, 0.6), (0.7, None)])
def test_no_cluster_is_left_that_is_lighter_than_it_began(discount, threshold):
    params = {"discount": discount, "new_cluster_threshold": threshold, "max_iter": 30, "tol": 0.0}
    est = streaming(**params).fit(TEXTS)
    least = max(0.5, discount + 0.001) if threshold is None else threshold
    assert est.counts_.min() > max(least, discount)
    assert est.counts_.sum() == pytest.approx(146, rel=1e-9)


def test_epochs_forget_no_rows():
    """Prunes are for streams: here rows of light clusters are assigned again."""
    params = {"max_iter": 6, "tol": 0.0, "new_cluster_threshold": 0.1}
    plain, pruned = (streaming(prune_threshold=value, **params).fit(TEXTS) for value in (None, 50.0))
    assert_same_bits(plain, pruned)
    assert pruned.counts_.sum() == pytest.approx(146, rel=1e-9)


@pytest.mark.statistical
def test_bars_are_found_from_most_orders():
    """By a discount from any; without one, three orders in ten leave two bars in one cluster."""
    rows, labels, bars = make_bars_mixture(n_side=5, n_samples=300, doc_length=60, random_state=1)
    found = {0.0: 0, 0.5: 0}
    for seed in range(6):
        for discount in found:
            est = StreamingNGGPMixture(
                concentration=1.0, discount=discount, max_iter=20, merge_criterion="bayes_factor", random_state=seed
            ).fit(rows)
            if not same_partition(est.labels_, labels):
                assert adjusted_rand_score(labels, est.labels_) > 0.8
                continue
            found[discount] += 1
            counts = np.bincount(labels)[labels[[np.argmax(est.labels_ == k) for k in range(10)]]]
            np.testing.assert_allclose(est.counts_, counts, atol=0.1)
            true = bars[labels[[np.argmax(est.labels_ == k) for k in range(10)]]]
            assert np.abs(est.means_ - true).max() < 0.05
    assert found[0.5] >= 5
    assert found[0.0] >= 1


# -- limits, weights


@pytest.mark.parametrize("limit", [1, 3])
def test_no_epoch_opens_a_cluster_too_many(limit, within):
    est = streaming(max_iter=8, tol=0.0, max_components=limit).fit(TEXTS)
    assert est.n_clusters_ == limit
    assert est.counts_.sum() == pytest.approx(146, rel=1e-9)
    assert_clusters_are_those_of_the_rows(within, TEXTS)


@pytest.mark.parametrize("n_nonzero", [1, 2])
def test_rows_keep_few_responsibilities(n_nonzero, within):
    streaming(max_iter=6, tol=0.0, n_nonzero=n_nonzero).fit(TEXTS)
    resp = dense(within["row_state"].parts, within["state"].n_slots)
    assert (resp > 0).sum(axis=1).max() == n_nonzero
    assert_clusters_are_those_of_the_rows(within, TEXTS)


def test_weights_are_masses():
    for max_iter in (1, 8):
        est = streaming(max_iter=max_iter, tol=0.0).fit(TEXTS, sample_weight=WEIGHTS)
        words = np.asarray(TEXTS.sum(axis=1)) > 0
        assert est.counts_.sum() == pytest.approx(WEIGHTS[words].sum(), rel=1e-9)
        totals = TEXTS.T @ WEIGHTS  # of words, up to the prior
        slots = est._fitted.slots
        np.testing.assert_allclose(est._fitted.state.sums.statistics(slots).sum(axis=0), totals, rtol=1e-9)
    assert est.history_[0]["change"] == pytest.approx(WEIGHTS.sum())


# -- rows whose clusters go


def documents(rows):
    return DocumentBlock.of(np.asarray(rows, dtype=np.float64), np.float64)


def by_hand(rows, weight, slots):
    """A model, a state, and a part that says one slot for each row; the sums are made by the first recount."""
    model = StreamingModel(NGGP(1.0, 0.0, 1.0), threshold=0.5, record=True)
    state, part = ClusterState(MultinomialSlots(rows.shape[1], 0.1)), RowResponsibilities(len(rows))
    state.used(max(slots) + 1)
    part.starts[:], part.lengths[:], part.n_used = np.arange(len(rows)), 1, len(rows)
    part.slots[: len(rows)], part.values[: len(rows)] = slots, 1.0
    np.add.at(state.counts, slots, weight)
    return model, state, part


@pytest.mark.parametrize("kind", ["like the others", "like no other"])
def test_rows_that_lost_their_cluster_get_another(kind):
    """The second cluster is too light to stay, and its row is of no other."""
    rows, weight = np.tile([5.0, 5.0, 0.0, 0.0], (6, 1)), np.r_[np.ones(5), 0.3]
    if kind == "like no other":
        rows[5] = [0.0, 0.0, 5.0, 5.0]
    model, state, part = by_hand(rows, weight, [0, 0, 0, 0, 0, 1])
    model.sums[0] = 3.0
    model.recount([(documents(rows), weight, part, 0)], state)
    assert model.log_predictive(state) == 3.0  # that of the sweep, in which the row has been
    resp = dense([part], state.n_slots)
    np.testing.assert_allclose(resp.sum(axis=1), 1.0, rtol=1e-12)
    if kind == "like no other":
        assert state.n_slots == 2
        np.testing.assert_array_equal(state.ids[:2], [0, 2])  # a new one
        np.testing.assert_allclose(resp[5], [0.0, 1.0], atol=1e-3)
    else:
        assert state.n_slots == 1
        np.testing.assert_array_equal(resp[:, 0], 1.0)
    np.testing.assert_allclose(state.counts[: state.n_slots], weight @ resp, rtol=1e-10)
    wanted = (weight[:, None] * resp).T @ rows
    np.testing.assert_allclose(state.sums.statistics(np.arange(state.n_slots)), wanted, atol=1e-10)


def test_many_rows_without_a_cluster_take_no_more_memory_than_others(within):
    """The weights are so small that no cluster is heavy enough to stay."""
    rows = 9.0 * np.eye(100)[np.arange(300) % 100]
    est = streaming(max_iter=4, tol=0.0, new_cluster_threshold=0.5).fit(rows, sample_weight=np.full(300, 0.1))
    assert est.counts_.sum() == pytest.approx(30.0)
    assert sum(len(part.slots) for part in within["row_state"].parts) < 300 * 300
    assert_clusters_are_those_of_the_rows(within, rows, np.full(300, 0.1))
    assert est.history_[-1]["log_predictive"] < 0
    assert est.n_samples_seen_ == 300


def test_a_cluster_whose_rows_prefer_another_dies():
    """Two clusters of one kind, one of them heavier: visit by visit the rows go over, and the slot is given up."""
    rows = np.tile([2.0, 2.0, 1.0], (40, 1))
    model, state, part = by_hand(rows, np.ones(40), [0] * 38 + [1] * 2)
    visits = [(documents(rows), None, part, 0)]
    model.recount(visits, state)
    assert state.n_slots == 2
    for number in range(1, 30):
        model.begin(state)
        model.sweep(*visits[0][:3], state, 0, number)
        model.recount(visits, state)
    assert state.n_slots == 1
    assert state.counts[0] == pytest.approx(40.0)
    np.testing.assert_array_equal(dense([part], 1), 1.0)


def test_merged_clusters_keep_their_rows():
    """A row of two clusters that are joined has the sum of its responsibilities, and none is shared out again."""
    rows = np.array([[5.0, 5.0, 0.0, 0.0]] * 6 + [[0.0, 0.0, 5.0, 5.0]] * 3 + [[5.0, 5.0, 5.0, 5.0]])
    model, state, part = by_hand(rows, np.ones(10), [0, 0, 1, 1, 3, 3, 2, 2, 2, 0])
    part.starts[9], part.lengths[9], part.n_used = 10, 3, 13
    part.slots[10:13], part.values[10:13] = [0, 1, 2], [0.2, 0.3, 0.5]
    visits = [(documents(rows), None, part, 0)]
    model.recount(visits, state)
    model.moves = Moves(1, "similarity", 0.8)
    model.recount(visits, state)
    assert state.n_slots == 2
    np.testing.assert_array_equal(state.ids[:2], [0, 2])
    wanted = np.zeros((10, 2))
    wanted[:6, 0], wanted[6:9, 1], wanted[9] = 1.0, 1.0, 0.5
    np.testing.assert_allclose(dense([part], 2), wanted, rtol=1e-12)
    np.testing.assert_allclose(state.counts[:2], [6.5, 3.5], rtol=1e-12)
    np.testing.assert_allclose(state.sums.statistics(np.arange(2)), wanted.T @ rows, rtol=1e-12)
    assert model.log_predictive(state) == model.change(state) == 0.0  # no model was called again


def test_empty_documents_have_no_responsibilities(within):
    streaming(max_iter=3, shuffle=False).fit(TEXTS)
    lengths = np.concatenate([part.lengths for part in within["row_state"].parts])
    np.testing.assert_array_equal(lengths > 0, np.asarray(TEXTS.sum(axis=1)) > 0)


@pytest.mark.parametrize(
    ("likelihood", "params", "max_iter"),
    [("multinomial", {}, 1), ("diag", {}, 2), ("diag", {"half_life": 50.0}, 1), ("full", {"prune_threshold": 1.5}, 1)],
)
def test_gaussians_are_gone_over_twice(likelihood, params, max_iter):
    """This is the default; with forgetting, and for counts, one epoch is."""
    rng = np.random.default_rng(0)
    rows = rng.poisson(2.0, (60, 4)) if likelihood == "multinomial" else rng.normal(size=(60, 4))
    auto = StreamingNGGPMixture(likelihood, random_state=0, **params).fit(rows)
    same = StreamingNGGPMixture(likelihood, random_state=0, max_iter=max_iter, **params).fit(rows)
    assert auto.n_iter_ == max_iter
    np.testing.assert_array_equal(auto.score_samples(rows), same.score_samples(rows))
