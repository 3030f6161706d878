"""``tilt="pitman-yor"``: the urn of Pitman and Yor in streams, chains, merges and shards, against enumeration."""

import pickle
from collections import Counter

import numpy as np
import pytest
import reference_nggp as oracle
from cluster_cases import TEXTS, gibbs, stream, streaming
from scipy import sparse
from scipy.special import gammaln

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix._models.clusters.model import GibbsModel, StreamingModel

THETA, SIGMA, BETA = 0.9, 0.4, 0.5
SIX = np.array([[3.0, 0, 1], [2, 1, 0], [0, 3, 1], [1, 2, 2], [0, 0, 2], [2, 0, 0]])
PARAMS = {"concentration": THETA, "discount": SIGMA, "tilt": "pitman-yor"}


class Urn(oracle.Rule):
    """Weights n_k - sigma, and theta + sigma K of a new cluster."""

    def log_new(self, n, n_clusters):  # noqa: ARG002
        return np.log(self.concentration + self.discount * n_clusters)


def log_eppf(sizes):
    """Log of prod_k (theta + sigma k) / (theta + 1)_(n - 1) prod_k (1 - sigma)_(n_k - 1)."""
    sizes = np.asarray(sizes, dtype=float)
    opened = np.log(THETA + SIGMA * np.arange(1, len(sizes))).sum()
    joins = (gammaln(sizes - SIGMA) - gammaln(1.0 - SIGMA)).sum()
    return opened + joins - (gammaln(THETA + sizes.sum()) - gammaln(THETA + 1.0))


def exact_posterior():
    """Probability of each of the 203 partitions of the six documents."""
    found = {}
    for labels in oracle.partitions(6):
        parts = [SIX[np.array(labels) == k] for k in range(max(labels) + 1)]
        found[labels] = log_eppf([len(x) for x in parts]) + sum(oracle.log_evidence(x, BETA) for x in parts)
    p = np.exp(np.array(list(found.values())) - max(found.values()))
    assert len(p) == 203
    return dict(zip(found, p / p.sum(), strict=True))


def chain(monkeypatch, **params):
    """Frequencies of the partitions of a chain."""
    seen, step = Counter(), GibbsModel.global_step

    def noted(self, state, epoch):
        step(self, state, epoch)
        labels, names = self.labels_of_chain[np.argsort(self.numbers)], {}
        seen[tuple(names.setdefault(k, len(names)) for k in labels.tolist())] += 1

    def sweep(self, x, weight, labels, *args):
        self.labels_of_chain = labels
        return draw(self, x, weight, labels, *args)

    draw = GibbsModel.sweep
    with monkeypatch.context() as patch:
        patch.setattr(GibbsModel, "global_step", noted)
        patch.setattr(GibbsModel, "sweep", sweep)
        params = {**PARAMS, "word_prior": BETA, **params}
        GibbsNGGPMixture("multinomial", random_state=0, **params).fit(SIX)
    total = sum(seen.values())
    return {labels: count / total for labels, count in seen.items()}


def distance(seen, expected):
    """Total variation."""
    return 0.5 * sum(abs(seen.get(labels, 0.0) - p) for labels, p in expected.items())


@pytest.mark.parametrize("rule", ["mode", "quadrature"])
@pytest.mark.parametrize("n", [1, 3, 6])
def test_a_stream_follows_the_recursion_of_the_expected_clusters(n, rule):
    """Weights and E[K] after each of six documents, U nowhere."""
    est = streaming(word_prior=BETA, new_cluster_threshold=0.4, u_rule=rule, **PARAMS).partial_fit(SIX[:n])
    Q, _ = oracle.stream(SIX[:n], BETA, Urn(THETA, SIGMA, threshold=0.4))
    expected = oracle.expected_clusters(Q)
    counts = Q.sum(axis=0)
    weights = np.append(counts - SIGMA, THETA + SIGMA * expected)
    assert est.expected_n_clusters_ == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(est.counts_, counts[counts > SIGMA], rtol=1e-9)
    weights = weights[weights > 0.0] / weights[weights > 0.0].sum()
    np.testing.assert_allclose([*est.weights_, est.new_weight_], weights, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("split_merge", "max_iter"), [(True, 1000), (False, 5000)])
def test_a_chain_visits_all_partitions_as_often_as_they_are_probable(split_merge, max_iter, monkeypatch):
    seen, exact = chain(monkeypatch, split_merge=split_merge, max_iter=max_iter), exact_posterior()
    assert distance(seen, exact) < 5.0 / np.sqrt(max_iter)
    numbers = [np.bincount([len(set(labels)) for labels in law], list(law.values()), 7) for law in (seen, exact)]
    assert 0.5 * np.abs(numbers[0] - numbers[1]).sum() < 2.0 / np.sqrt(max_iter)


def test_without_discount_it_is_a_dirichlet_process():
    for make in (streaming, gibbs):
        one, two = (make(tilt=tilt).fit(TEXTS) for tilt in ("pitman-yor", 1.0))
        np.testing.assert_array_equal(one.labels_, two.labels_)
        np.testing.assert_array_equal(one.weights_, two.weights_)
        assert one.u_ == two.u_


def test_as_theta_vanishes_it_is_the_stable_process():
    one = streaming(discount=0.5, tilt="pitman-yor", concentration=1e-60).partial_fit(TEXTS)
    two = streaming(discount=0.5, tilt=0.0).partial_fit(TEXTS)
    np.testing.assert_allclose(one.weights_, two.weights_, rtol=1e-9)


def test_the_joint_of_the_history_is_that_of_partition_and_u():
    """Its sum over u is the probability of the partition, up to a constant."""
    est = gibbs(burn_in=99, **PARAMS).fit(TEXTS)
    v, prior = np.log(est.u_), est._fitted.prior
    sizes = np.bincount(est.labels_[est.labels_ >= 0]).astype(float)
    rows = sum(oracle.log_evidence(TEXTS[est.labels_ == k].toarray(), 0.03) for k in range(est.n_clusters_))
    assert est.history_[-1]["log_joint"] == pytest.approx(prior.log_joint(sizes, sizes.sum(), v) + rows, rel=1e-10)
    grid = np.linspace(-40.0, 60.0, 20001)

    def total(sizes):
        logs = [prior.log_joint(np.array(sizes), 6.0, x) + x for x in grid]
        return np.log(np.exp(np.array(logs) - 20.0).sum()) + 20.0

    for sizes in ([3.0, 2.0, 1.0], [1.0] * 6):
        assert total(sizes) - total([6.0]) == pytest.approx(log_eppf(sizes) - log_eppf([6.0]), abs=1e-8)


def test_spans_compare_partitions_without_u():
    est = streaming("diag", **PARAMS).partial_fit(np.random.default_rng(0).normal(size=(40, 2)) * 3.0)
    state, prior = est._fitted.state, est._fitted.prior
    slots = state.live(SIGMA)
    rows = float(state.sums.evidence(slots).sum())
    whole = log_eppf(state.counts[slots]) + gammaln(THETA + state.mass) - gammaln(THETA + 1.0)
    assert len(slots) > 1
    assert StreamingModel(prior, 0.5).joint(state, state.mass) - rows == pytest.approx(whole + np.log(THETA), rel=1e-9)


@pytest.mark.parametrize("likelihood", ["multinomial", "diag"])
def test_shards_merges_and_copies(likelihood):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 100)
    rows = rng.normal(size=(300, 2)) + 20.0 * groups[:, None]
    if likelihood == "multinomial":
        rows = sparse.csr_array(rng.poisson(np.kron(np.eye(3), np.ones(6))[groups] * 3.0).astype(float))
    est = StreamingNGGPMixture(likelihood, n_shards=3, random_state=0, **PARAMS).fit(rows)
    assert est.n_clusters_ == 3
    assert est.new_weight_ == pytest.approx((THETA + SIGMA * est.expected_n_clusters_) / (300.0 + THETA), rel=1e-6)
    same = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(same.score_samples(rows), est.score_samples(rows))
    whole, parts = (stream(StreamingNGGPMixture("multinomial", **PARAMS), TEXTS, size) for size in (None, 7))
    np.testing.assert_array_equal(whole.weights_, parts.weights_)
