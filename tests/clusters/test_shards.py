"""Streams of parts of the rows: nothing is lost, clusters are joined by the evidence, and threads do not matter."""

from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
from fitted import assert_same_bits
from scipy import sparse
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sparsemix import StreamingNGGPMixture
from sparsemix._models.clusters import moves as _moves
from sparsemix._models.clusters.moves import join, joined
from sparsemix._models.clusters.multinomial_slots import MultinomialSlots
from sparsemix._models.clusters.state import ClusterState
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters._parameters import rounds_of_shards
from sparsemix.datasets import make_bars_mixture

BARS, OF_BARS = make_bars_mixture(n_samples=600, random_state=0)[:2]
RNG = np.random.default_rng(0)
OF_BLOBS = RNG.integers(0, 5, 800)
BLOBS = RNG.normal(size=(800, 2)) + 20.0 * np.stack([np.cos(OF_BLOBS), np.sin(OF_BLOBS)], axis=1)


def words(**params):
    return StreamingNGGPMixture(**({"concentration": 1.0, "n_shards": 3, "random_state": 0} | params))


CASES = {
    "counts": (words(), BARS, OF_BARS),
    "counts with discount": (words(discount=0.3), BARS, OF_BARS),
    "counts that merge": (words(merge_criterion="similarity", merge_every=50), BARS, OF_BARS),
    "full": (words(likelihood="full"), BLOBS, OF_BLOBS),
    "diag": (words(likelihood="diag", shuffle=False), BLOBS, OF_BLOBS),
    "spherical": (words(likelihood="spherical", n_shards=2), BLOBS, OF_BLOBS),
}


@pytest.mark.parametrize("name", CASES)
def test_clusters_of_all_parts_are_found_and_no_row_is_lost(name):
    est, X, labels = CASES[name]
    est = clone(est).fit(X)
    assert adjusted_rand_score(labels, est.labels_) > 0.95
    assert est.n_clusters_ <= 1.5 * len(np.unique(labels))
    np.testing.assert_allclose(est.counts_.sum(), X.shape[0], rtol=1e-9)
    assert est.n_samples_seen_ == X.shape[0]
    assert len(np.unique(est.cluster_ids_)) == est.n_clusters_
    assert est.history_[0]["log_predictive_per_row"] * X.shape[0] == pytest.approx(est.history_[0]["log_predictive"])
    sums = est._fitted.state.sums
    if name.startswith("counts"):
        totals = np.asarray(X.sum(axis=0), dtype=float).ravel()
        np.testing.assert_allclose(sums.statistics(np.arange(est._fitted.state.n_slots)).sum(axis=0), totals, rtol=1e-9)
    else:
        stats = sums.stats(np.arange(est._fitted.state.n_slots))
        np.testing.assert_allclose(stats["first"].sum(axis=0), (X - sums.shift).sum(axis=0), atol=1e-7)
    est.partial_fit(X[:10])  # and continues
    np.testing.assert_allclose(est.counts_.sum(), X.shape[0] + 10, rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_threads_do_not_change_a_bit(name):
    est, X, _ = CASES[name]
    assert_same_bits(clone(est).fit(X), clone(est).set_params(n_jobs=3).fit(X), X)


@pytest.mark.parametrize("n", [1, 5, 25, 1000, 12345])
def test_rounds_begin_with_a_tenth_and_grow_by_a_quarter(n):
    bounds = rounds_of_shards(n)
    assert (bounds[0], bounds[-1]) == (round(0.1 * n), n)
    assert all(b - a <= 0.26 * a + 1 for a, b in pairwise(bounds))
    assert len(bounds) <= 11


def test_one_part_is_one_stream():
    one, plain = words(n_shards=1).fit(BARS), StreamingNGGPMixture(concentration=1.0, random_state=0).fit(BARS)
    assert_same_bits(one, plain, BARS)
    assert np.abs(words().fit(BARS)._fitted.state.totals - plain._fitted.state.totals).max() > 0.0


def test_the_gain_of_a_union_is_that_of_gamma_functions():
    """Compiled densities equal the evidence: small, large and fractional counts, and words that neither cluster has."""
    slots = MultinomialSlots(30, 0.03)
    slots.take(np.arange(0), 32)
    sums = RNG.poisson(0.7, (30, 6)) * RNG.choice([1.0, 0.37, 250.0], (30, 6))
    slots.set_columns(np.arange(6), 0.03 + sums)
    slots.totals[:6] += sums.sum(axis=0)
    others = np.array([0, 1, 3, 5])

    def evidence(counts):
        return (gammaln(0.03 + counts) - gammaln(0.03)).sum() + gammaln(0.9) - gammaln(0.9 + counts.sum())

    twin = [evidence(sums[:, k] + sums[:, 4]) - evidence(sums[:, k]) - evidence(sums[:, 4]) for k in others]
    np.testing.assert_allclose(slots.union_gains(4, others), twin, rtol=1e-10)
    np.testing.assert_allclose(
        slots.merged_evidence(4, others) - slots.evidence([4]) - slots.evidence(others), twin, rtol=1e-10
    )


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_new_clusters_join_where_a_slow_twin_lets_them(discount):
    """Sums of 12 clusters of 4 kinds, some of them of no kind that is there."""
    prior, beta, v = NGGP(5.0, discount, 1.0), 0.1, 12
    kinds = RNG.dirichlet(np.full(v, 0.3), 6)
    sums = np.array([RNG.multinomial(RNG.integers(40, 90), kinds[k % 6 if k < 9 else 5]) for k in range(12)], float)
    state = ClusterState(MultinomialSlots(v, beta))
    state.used(12)
    state.sums.set_columns(np.arange(12), beta + sums.T)
    state.sums.totals[:12] += sums.sum(axis=1)
    state.counts[:12] = np.arange(12, 0, -1) + 0.5
    state.absent[:12] = 0.01
    state.recount(discount)
    state.log_u = prior.log_mode(state.mass, 12.0)
    groups, weights = {k: sums[k].copy() for k in range(4)}, {k: state.counts[k] for k in range(4)}

    def evidence(s):
        return (gammaln(beta + s) - gammaln(beta)).sum() + gammaln(v * beta) - gammaln(v * beta + s.sum())

    def kappa(n):
        return np.log(5.0) + discount * prior.log_shift(state.log_u) + gammaln(n - discount) - gammaln(1 - discount)

    for k in sorted(range(4, 12), key=lambda k: -state.counts[k]):
        gains = {
            g: evidence(s + sums[k]) - evidence(s) - evidence(sums[k])
            + kappa(weights[g] + state.counts[k]) - kappa(weights[g]) - kappa(state.counts[k])
            for g, s in groups.items()
        }  # fmt: skip
        best = max(gains, key=gains.get)
        if gains[best] > 0.0:
            groups[best] += sums[k]
            weights[best] += state.counts[k]
        else:
            groups[k], weights[k] = sums[k].copy(), state.counts[k]
    join(prior, state, np.arange(4), np.arange(4, 12))
    live = state.live(discount)
    assert 4 < len(groups) < 12
    assert live.tolist() == sorted(groups)
    np.testing.assert_allclose(state.sums.statistics(live), [groups[k] for k in live], atol=1e-9)
    np.testing.assert_allclose(state.counts[live], [weights[k] for k in live])


def test_new_clusters_join_new_ones_and_none_that_their_rows_had_to_choose_from(monkeypatch):
    """The test makes the union of any two clusters more probable."""
    monkeypatch.setattr(_moves, "log_bayes_factor", lambda *arguments: np.ones(len(arguments[-1])))
    old, new = BARS[OF_BARS < 3], BARS[OF_BARS == 7]
    base = words().partial_fit(old)
    n_old = base.n_clusters_
    parts = [deepcopy(base).partial_fit(new[:5]), deepcopy(base).partial_fit(new[5:10])]
    assert all(part.n_clusters_ > n_old for part in parts)
    state = joined(base._fitted.prior, base._fitted.state, [part._fitted.state.copy() for part in parts])
    assert len(state.live(0.0)) == parts[0].n_clusters_
    of_new = sum(part.counts_[n_old:].sum() for part in parts)
    np.testing.assert_allclose(state.counts[n_old:].sum(), of_new)
    np.testing.assert_allclose(state.counts[:n_old].sum(), old.shape[0] + 10 - of_new)


def test_parts_of_few_rows_weights_and_limits():
    est = words(n_shards=40).fit(BARS[:25])
    np.testing.assert_allclose(est.counts_.sum(), 25.0)
    weight = np.repeat([0.0, 2.0], 300)
    est = words().fit(BARS, sample_weight=weight)
    np.testing.assert_allclose(est.counts_.sum(), 600.0)
    for X, likelihood in ((BARS, "multinomial"), (BLOBS, "full")):
        est = words(likelihood=likelihood, max_components=4).fit(X)
        assert est.n_clusters_ <= 4
        np.testing.assert_allclose(est.counts_.sum(), X.shape[0])
    with pytest.raises(ValueError, match="n_shards is 3 with max_iter=2; shards are for one epoch"):
        words(max_iter=2).fit(BARS)
    bad = sparse.csr_array(BARS, dtype=float, copy=True)
    bad.data[5] = np.nan
    est = words().fit(BARS)
    before = est.counts_.copy()
    with pytest.raises(ValueError, match="NaN"):
        est.fit(bad)
    np.testing.assert_array_equal(est.counts_, before)
