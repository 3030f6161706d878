"""Looks at clusters that may be one: what they see by bounds and in one epoch is what all pairs and columns say."""

import numpy as np
import pytest
from test_cluster_moves import DIRICHLET, PRIORS, block, hard, per_likelihood, state_of

from sparsemix._models.clusters import moves as _moves
from sparsemix._models.clusters.model import StreamingModel
from sparsemix._models.clusters.moves import Moves, log_bayes_factor
from sparsemix._models.clusters.multinomial_slots import MultinomialSlots
from sparsemix._models.clusters.state import ClusterState


def many(likelihood, n=60, d=40, seed=0):
    """Clusters of one to six rows each, some alike, in several panels and with two that are dead."""
    rng = np.random.default_rng(seed)
    if likelihood == "multinomial":
        words = rng.dirichlet(np.full(d, 0.1), size=n // 3)
        rows = np.vstack([rng.multinomial(rng.integers(1, 60), words[k % len(words)], size=3) for k in range(n)])
    else:
        rows = np.repeat(rng.normal(size=(n // 3, 3)) * 3.0, 9, axis=0) + rng.normal(size=(3 * n, 3))
    state = state_of(likelihood, rows.astype(float), hard(np.arange(3 * n) // 3))
    state.counts[[4, 17]] = 0.0
    return state


@pytest.mark.parametrize("n_words", [5, 40])
def test_an_epoch_over_the_table_sees_what_columns_hold(n_words):
    state = many("multinomial", d=n_words)
    sums, slots = state.sums, np.array([0, 3, 31, 32, 33, 59])
    assert len(sums.panels) > 1
    look = sums.look(slots, 60)
    table = sums.columns(np.arange(60)) - DIRICHLET
    np.testing.assert_allclose(look.squares, (table**2).sum(axis=0), rtol=1e-12)
    for i, slot in enumerate(slots):
        order = np.argsort(-table[:, slot], kind="stable")[:16]
        order = order[table[order, slot] > 0.0]
        seen = look.counts[i] > 0.0
        np.testing.assert_array_equal(look.words[i, seen], order)
        np.testing.assert_array_equal(look.counts[i, seen], table[order, slot])
        assert not seen[len(order) :].any()
    probes = look.probes()
    np.testing.assert_array_equal(np.diff(probes.indptr), (look.counts > 0.0).sum(axis=1))
    for wrong in (np.array([3, 2]), np.array([1, 60])):
        with pytest.raises(ValueError, match="slots must ascend"):
            sums.look(wrong, 60)
    with pytest.raises(ValueError, match="fewer slots"):
        sums.look(np.array([sums.capacity]), sums.capacity + 1)


@per_likelihood
@pytest.mark.parametrize("least", [0.0, 0.25, 0.8])
def test_bounds_find_the_similar_pairs_that_all_pairs_find(least, likelihood):
    state = many(likelihood)
    slots = np.arange(60)
    others = np.random.default_rng(1).integers(0, 60, (60, 7))
    exact = state.sums.similarity(slots, slots)[slots[:, None], others]
    assert not (np.abs(exact - least) < 1e-9).any() or least == 0.0
    np.testing.assert_array_equal(state.sums.look(slots, 60).alike(others, least), exact >= least)
    if least == 0.8:
        assert 0.01 < (exact >= least).mean() < 0.9


@per_likelihood
def test_candidates_are_the_best_of_all(likelihood, monkeypatch):
    state = many(likelihood)
    slots = state.live(0.0)
    due = slots[::2]
    probes = state.sums.look(due, state.n_slots).probes()
    scores = state.sums.kernel(probes, state.n_slots).scores(0, len(due))[0][:, slots]
    scores[np.arange(len(due)), 2 * np.arange(len(due))] = -np.inf
    wanted = slots[np.argsort(-scores, axis=1, kind="stable")[:, :3]]
    np.testing.assert_array_equal(_moves.candidates(probes, state, slots, due), wanted)
    monkeypatch.setattr(_moves, "TILE_SCORES", 150)  # a few at once
    np.testing.assert_array_equal(_moves.candidates(probes, state, slots, due), wanted)


@per_likelihood
def test_questions_of_a_round_are_those_of_one_cluster_after_the_other(likelihood):
    """Without rounds: each slot that is due asks about its three best slots at its turn."""
    prior = PRIORS[0]
    state, twin = many(likelihood), many(likelihood)
    wanted = []
    while True:
        slots, before = twin.live(0.0), len(wanted)
        due = slots[twin.counts[slots] >= 2.0 * twin.asked[slots]]
        nearest = _moves.candidates(twin.sums.look(due, twin.n_slots).probes(), twin, slots, due)
        for slot, others in zip(due, nearest, strict=True):
            others = others[twin.counts[others] > 0.0]
            if twin.counts[slot]:
                twin.asked[slot] = twin.counts[slot]
            if not twin.counts[slot] or not len(others):
                continue
            alike = twin.sums.similarity([slot], others)[0] >= 0.8
            if likelihood != "multinomial":
                alike |= np.minimum(twin.counts[slot], twin.counts[others]) < 5.0
            factors = np.where(alike, log_bayes_factor(prior, twin, slot, others), -np.inf)
            if factors.max() > 0.0:
                pair = sorted([slot, others[factors.argmax()]])
                twin.merge(*pair)
                wanted.append(tuple(pair))
        if len(wanted) == before:
            break
    assert len(wanted) > 5
    assert Moves(1, "bayes_factor").merge(prior, state) == wanted
    np.testing.assert_array_equal(state.counts, twin.counts)
    np.testing.assert_array_equal(state.asked, twin.asked)
    once = many(likelihood)
    first = Moves(1, "bayes_factor").merge(prior, once, once=True)
    assert first == wanted[: len(first)]


@pytest.mark.parametrize("every", [10, 400])
def test_looks_read_no_more_than_half_of_what_a_stream_reads(every, monkeypatch):
    """Counted in words: they wait until documents have paid, and the clusters are the same bits however it is cut."""
    X = np.random.default_rng(0).multinomial(6, np.full(300, 1 / 300), size=1200).astype(float)
    looks, make = [], MultinomialSlots.look
    monkeypatch.setattr(MultinomialSlots, "look", lambda self, *args: looks.append(len(args[0])) or make(self, *args))
    tables = []
    for step in (1200, 7):
        looks.clear()
        model = StreamingModel(PRIORS[0], threshold=0.5, moves=Moves(every, "bayes_factor"))
        state = ClusterState(MultinomialSlots(300, DIRICHLET))
        for start in range(0, 1200, step):
            model.stream(block("multinomial", X[start : start + step]), None, state, start)
        tables.append(state.sums.table)
        n_read = int((X > 0).sum())
        assert 2 * 300 * len(looks) <= n_read
        assert len(looks) > (1 if every == 400 else 3)
    np.testing.assert_array_equal(*tables)
