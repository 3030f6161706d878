"""Splits and merges of a chain's clusters: their ratio is exact, and chains move."""

import warnings

import numpy as np
import pytest
import reference_nggp as twin
from cluster_cases import CLOUDS, TEXTS, same_partition
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import f_oneway
from sklearn.exceptions import ConvergenceWarning

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix._engine.chains import r_hat
from sparsemix._models.clusters import model as model_module
from sparsemix._models.clusters.model import GibbsModel
from sparsemix._models.clusters.multinomial_slots import MultinomialSlots
from sparsemix._models.clusters.state import ClusterState
from sparsemix._rows.blocks import Rows
from sparsemix._rows.documents import Documents
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters import _split_merge as module
from sparsemix.clusters._split_merge import SplitMerge, log_split_ratio

BETA = 0.3
X = np.array([[3, 1, 0], [2, 0, 0], [0, 1, 2], [1, 1, 1], [0, 0, 2]], dtype=np.float64)
PRIORS = {
    "dirichlet": {"concentration": 1.5, "discount": 0.0, "tilt": 1.0},
    "stable": {"concentration": 1.0, "discount": 0.5, "tilt": 0.0},
    "pitman-yor": {"concentration": 0.7, "discount": 0.4, "tilt": 0.0, "theta": 0.7},
    "generalized gamma": {"concentration": 0.8, "discount": 0.7, "tilt": 0.4},
}


class Chain:
    """A chain of split and merge proposals, and u, over a few documents."""

    def __init__(self, rows, settings, max_components=None, seed=0):
        self.rng = np.random.default_rng(seed)
        self.prior = NGGP(**settings)
        self.state = ClusterState(MultinomialSlots(rows.shape[1], BETA))
        self.rows = Documents(sparse.csr_array(rows), None, np.float64)
        self.labels = np.zeros(len(rows), dtype=np.intc)
        order = np.arange(len(rows))
        self.model = GibbsModel(self.prior, max_components, seed, self.rng)
        self.model.gather([(self.rows.read(order), None, self.labels, 0)], self.state)
        self.moves = SplitMerge(self.rows, order, self.labels, self.rng, max_components)

    def step(self):
        """One proposal, and a draw of u; the partition in order of appearance."""
        self.moves.propose(self.prior, self.model.log_u, self.state, int(self.rng.integers(len(self.labels))))
        self.model.global_step(self.state, 0)
        return partition(self.labels)


def partition(labels):
    names = {}
    return tuple(names.setdefault(label, len(names)) for label in np.asarray(labels).tolist())


@pytest.mark.slow
@pytest.mark.parametrize("max_components", [None, 2])
@pytest.mark.parametrize("prior", PRIORS)
def test_partitions_come_as_often_as_they_are_probable(prior, max_components):
    """Proposals alone, without a sweep: the chain's law is the enumerated posterior, U integrated out."""
    limit = {"max_components": max_components or 0}
    expected = twin.posterior(X[:4], BETA, twin.Rule(**PRIORS[prior], **limit))
    chain, n_steps = Chain(X[:4], PRIORS[prior], max_components), 8_000
    seen = dict.fromkeys(expected, 0)
    for number in range(n_steps):
        seen[chain.step()] += 1
        if number % 1000 == 0:  # round-off, as fits do
            chain.model.recount([(chain.rows.read(np.arange(4)), None, chain.labels, 0)], chain.state)
    distance = 0.5 * sum(abs(seen[labels] / n_steps - p) for labels, p in expected.items())
    assert distance < 0.04
    assert min(chain.moves.accepted.values()) > 300


@pytest.mark.parametrize("prior", PRIORS)
def test_what_a_proposal_knows(prior):
    """Evidence of the parts and of the whole, probability of the allocation, nothing left behind."""
    chain = Chain(X, PRIORS[prior])
    before, n_slots = chain.state.sums.table.copy(), chain.state.n_slots
    for _ in range(20):
        proposal = module.Allocation(chain.moves, chain.prior, chain.state, chain.rng.permutation(5), given=False)
        order, sides = proposal.positions, proposal.sides
        for side, value in ((0, proposal.first), (1, proposal.second)):
            assert value == pytest.approx(twin.log_evidence(X[order[sides == side]], BETA), rel=1e-12)
        assert proposal.whole == pytest.approx(twin.log_evidence(X, BETA), rel=1e-12)
        log_q = 0.0
        for place in range(2, 5):
            logs = []
            for side in (0, 1):
                members = order[:place][sides[:place] == side]
                gain = twin.log_evidence(X[[*members, order[place]]], BETA) - twin.log_evidence(X[members], BETA)
                logs.append(np.log(len(members) - chain.prior.discount) + gain)
            log_q += logs[sides[place]] - logsumexp(logs)
        assert proposal.log_q == pytest.approx(log_q, rel=1e-11)
        assert chain.state.n_slots == n_slots
        np.testing.assert_allclose(chain.state.sums.table[:, : before.shape[1]], before, atol=1e-13)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_row_picks_a_cluster_to_join_with_the_weight_that_the_split_back_counts(prior):
    chain, n_compared = Chain(X, PRIORS[prior]), 0
    for _ in range(40):
        chain.step()
        for i, j in ((0, 4), (3, 1), (2, 0)):
            first, second = chain.labels[[i, j]]
            if first == second:
                continue
            members = np.flatnonzero((chain.labels == first) | (chain.labels == second))
            positions = np.concatenate([[i, j], members[(members != i) & (members != j)]])
            proposal = module.Allocation(chain.moves, chain.prior, chain.state, positions, given=True)
            weights = chain.moves._weights(chain.prior, chain.state, i)
            assert proposal.log_weight == pytest.approx(weights[second], rel=1e-9, abs=1e-9)
            assert weights[first] == -np.inf
            n_compared += 1
    assert n_compared > 10


@pytest.mark.parametrize("u", [0.1, 30.0])
@pytest.mark.parametrize("prior", PRIORS)
def test_ratio_of_the_prior_is_that_of_the_joint(prior, u):
    rule, nggp = twin.Rule(**PRIORS[prior]), NGGP(**PRIORS[prior])
    labels, split = np.zeros(5, dtype=int), np.array([0, 0, 1, 1, 1])
    evidence = sum(twin.log_evidence(X[split == k], BETA) for k in (0, 1)) - twin.log_evidence(X, BETA)
    difference = twin.log_joint(X, split, BETA, rule, np.log(u)) - twin.log_joint(X, labels, BETA, rule, np.log(u))
    assert log_split_ratio(nggp, np.log(u), 2, 3) + evidence == pytest.approx(difference, rel=1e-10)


# -- the auxiliary variable


def mean_clusters(n_sweeps=20_000):
    """Mean number of clusters of sweeps over single rows, u drawn after each, and its error by batches."""
    chain, numbers = Chain(X, {"concentration": 0.6, "discount": 0.7, "tilt": 2.0}), []
    block = chain.rows.read(np.arange(5))
    for number in range(n_sweeps):
        chain.model.sweep(block, None, chain.labels, chain.state, 0, number)
        chain.model.global_step(chain.state, number)
        numbers.append(np.count_nonzero(chain.state.members))
    batches = np.reshape(numbers, (20, -1)).mean(axis=1)
    return batches.mean(), batches.std(ddof=1) / np.sqrt(20)


def expected_clusters():
    rule = twin.Rule(concentration=0.6, discount=0.7, tilt=2.0)
    return sum(p * (max(labels) + 1) for labels, p in twin.posterior(X, BETA, rule).items())


@pytest.mark.parametrize("prior", PRIORS)
def test_a_sweep_draws_u_given_rows_and_clusters_and_weighs_a_new_cluster_by_u(prior, monkeypatch):
    chain, asked, weighed = Chain(X, PRIORS[prior]), [], []
    monkeypatch.setattr(NGGP, "sample_log_u", lambda self, n, k, rng: asked.append((n, k)) or rng.normal())  # noqa: ARG005
    right = model_module.draw

    def draw(*args):
        weighed.append(args[6])
        return right(*args)

    monkeypatch.setattr(model_module, "draw", draw)
    block, settings = chain.rows.read(np.arange(5)), PRIORS[prior]
    for number in range(12):
        u = np.exp(chain.model.log_u)
        chain.model.sweep(block, None, chain.labels, chain.state, 0, number)
        new = settings["concentration"] * (u + settings["tilt"]) ** settings["discount"]
        assert weighed[-1] == pytest.approx(np.log(new), abs=1e-12)
        chain.model.global_step(chain.state, number)
        assert asked[-1] == (5.0, len(set(chain.labels.tolist())))
    assert len({k for _, k in asked}) > 1


@pytest.mark.slow
def test_u_given_clusters_and_a_discount():
    mean, error = mean_clusters()
    assert abs(mean - expected_clusters()) < 4 * error
    assert error < 0.03


# -- chains that move


def far_apart(n=200, n_features=20):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, n)
    return rng.normal(scale=8.0, size=(5, n_features))[labels] + rng.normal(size=(n, n_features)), labels


@pytest.mark.parametrize("likelihood", ["full", "diag", "spherical"])
def test_a_chain_leaves_the_cluster_of_all_rows(likelihood):
    rows, labels = far_apart()
    chain = GibbsNGGPMixture(likelihood, init_params="single", max_iter=60, random_state=0).fit(rows)
    assert same_partition(chain.labels_, labels)


def test_a_chain_joins_what_its_start_has_split():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 4))
    prior = {
        "mean_prior": np.zeros(4), "covariance_prior": 4.0 * np.eye(4), "degrees_of_freedom_prior": 9.0,
        "mean_precision_prior": 0.1,
    }  # fmt: skip
    model = GibbsNGGPMixture("full", max_iter=30, random_state=0, **prior).fit(rows)
    assert model.counts_.max() > 290


def test_the_start_of_a_chain_is_a_stream():
    rows, labels = far_apart()
    begun = GibbsNGGPMixture("full", max_iter=1, random_state=0).fit(rows)
    assert same_partition(begun.labels_, labels)
    single = GibbsNGGPMixture("full", max_iter=1, init_params="single", split_merge=False, random_state=0).fit(rows)
    assert single.n_clusters_ < 5
    stream = StreamingNGGPMixture("full", random_state=0).fit(rows)
    assert begun.score(rows) == pytest.approx(stream.score(rows), abs=0.5)
    assert begun.n_samples_seen_ == 200


@pytest.mark.parametrize("rows", [TEXTS, CLOUDS], ids=["texts", "clouds"])
def test_counts_labels_and_sums_stay_consistent(rows, monkeypatch):
    monkeypatch.setattr(module, "PROPOSALS", 40)
    settings = {} if sparse.issparse(rows) else {"likelihood": "full"}
    est = GibbsNGGPMixture(**settings, concentration=1.0, max_iter=9, random_state=0).fit(rows)
    np.testing.assert_array_equal(est.counts_, np.bincount(est.labels_[est.labels_ >= 0]))
    if sparse.issparse(rows):
        slots = est._fitted.state.sums
        sums = np.array([rows[est.labels_ == k].sum(axis=0) for k in range(est.n_clusters_)])
        np.testing.assert_allclose(slots.statistics(est._fitted.slots), sums, atol=1e-9)
    else:
        means = [rows[est.labels_ == k].mean(axis=0) for k in range(est.n_clusters_)]
        sums = est._fitted.state.sums
        kappa, mean = sums.prior.mean_precision[0], sums.prior.mean[0] + sums.shift
        shrunk = (est.counts_[:, None] * means + kappa * mean) / (est.counts_[:, None] + kappa)
        np.testing.assert_allclose(est.means_, shrunk, rtol=1e-8)


def test_rows_with_weights_have_no_proposals(monkeypatch):
    def never(*_):
        raise AssertionError("a proposal")

    monkeypatch.setattr(SplitMerge, "sweep", never)
    GibbsNGGPMixture(max_iter=2).fit(TEXTS, sample_weight=np.full(150, 2.0))
    GibbsNGGPMixture(max_iter=2, split_merge=False).fit(TEXTS)
    with pytest.raises(AssertionError, match="a proposal"):
        GibbsNGGPMixture(max_iter=2).fit(TEXTS)


# -- several chains


def test_all_chains_are_recorded_and_the_best_is_kept():
    rows, _ = far_apart(100)
    est = GibbsNGGPMixture("diag", n_chains=3, max_iter=40, random_state=0).fit(rows)
    assert [len(values) for values in est.chain_log_joints_] == [40, 40, 40]
    best = int(np.argmax([values[20:].mean() for values in est.chain_log_joints_]))
    assert [record["log_joint"] for record in est.history_] == est.chain_log_joints_[best].tolist()
    assert est.r_hat_ == pytest.approx(r_hat([values[20:] for values in est.chain_log_joints_]))
    again = GibbsNGGPMixture("diag", n_chains=3, max_iter=40, random_state=0).fit(rows)
    np.testing.assert_array_equal(est.labels_, again.labels_)


def test_chains_that_disagree_give_a_warning(monkeypatch):
    starts = iter(["streaming", "single"])
    run_chain = GibbsNGGPMixture._run_chain

    def from_different_starts(self, *args):
        self.init_params = next(starts)
        run_chain(self, *args)

    monkeypatch.setattr(GibbsNGGPMixture, "_run_chain", from_different_starts)
    est = GibbsNGGPMixture("full", n_chains=2, max_iter=8, split_merge=False, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"the 2 chains disagree: R-hat of log_joint is .*Raise max_iter"):
        est.fit(far_apart()[0])
    assert est.r_hat_ > 2.0


@pytest.mark.parametrize("draws", [49, 50])
@pytest.mark.parametrize("drift", [0.0, 1.0])
def test_one_chain_warns_if_its_halves_disagree(draws, drift, monkeypatch):
    """Few draws are no evidence."""
    ramp = np.random.default_rng(0).normal(size=5 + draws) + drift * np.arange(5 + draws)
    monkeypatch.setattr(GibbsModel, "log_joint", lambda self, _: ramp[self.epoch])
    monkeypatch.setattr(GibbsModel, "epoch", -1, raising=False)
    step = GibbsModel.global_step

    def counted(self, state, epoch):
        step(self, state, epoch)
        self.epoch = epoch - 1

    monkeypatch.setattr(GibbsModel, "global_step", counted)
    est = GibbsNGGPMixture("diag", max_iter=5 + draws, burn_in=5, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est.fit(far_apart(20)[0])
    told = [str(warning.message) for warning in caught if warning.category is ConvergenceWarning]
    assert (est.r_hat_ > 1.1) == (drift > 0.0)
    assert len(told) == (drift > 0.0 and draws == 50)
    assert all("the chain has not converged: R-hat" in message and "raise max_iter" in message for message in told)


@pytest.mark.parametrize("seed", range(2))
def test_chains_over_easy_rows_do_not_warn(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GibbsNGGPMixture("full", random_state=seed).fit(far_apart()[0])


def test_r_hat():
    rng = np.random.default_rng(0)
    same = rng.normal(size=(4, 1000))
    assert r_hat(same) == pytest.approx(1.0, abs=0.01)
    assert r_hat(same + 5.0 * np.arange(4)[:, None]) > 3.0
    assert r_hat([np.linspace(0.0, 1.0, 100)]) > 1.5  # one chain that has not arrived
    assert r_hat(np.ones((2, 8))) == 1.0
    assert r_hat([np.ones(8), np.zeros(8)]) == np.inf
    assert np.isnan(r_hat([np.ones(3)]))


@pytest.mark.parametrize("n", [2, 3, 50])
def test_r_hat_is_a_ratio_of_variances(n):
    """The statistic F of an analysis of variance over the halves of the chains says the same."""
    chains = np.random.default_rng(n).gamma(2.0, size=(3, 2 * n)) + np.arange(3)[:, None]
    halves = chains.reshape(6, n)
    assert r_hat(chains) == pytest.approx(np.sqrt((n - 1 + f_oneway(*halves).statistic) / n), rel=1e-12)
    assert r_hat([[0.0, 2.0, 4.0, 8.0]]) == pytest.approx(np.sqrt(3.0))  # means 1 and 6, variances 2 and 8


def test_rows_are_read_as_they_are_needed():
    rows = Rows(CLOUDS, None, CLOUDS.mean(axis=0), np.float64)
    est = GibbsNGGPMixture("full", max_iter=3, random_state=0).fit(np.asfortranarray(CLOUDS))
    other = GibbsNGGPMixture("full", max_iter=3, random_state=0).fit(CLOUDS)
    np.testing.assert_array_equal(est.labels_, other.labels_)
    assert len(rows) == 150
