"""GibbsNGGPMixture: attributes, the chain and its samples, weights, interrupts."""


import numpy as np
import pytest
import reference_nggp as oracle
from cluster_cases import LIKELIHOODS, TEXTS, WEIGHTS, apart, assert_valid, gibbs, rows_of, same_partition, streaming
from fitted import assert_never_fitted
from interruptions import fail_at
from scipy import sparse
from scipy.special import gammaln, logsumexp
from topic_cases import V, X

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix._models.clusters import model as _model
from sparsemix._models.clusters.model import GibbsModel
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters import _gibbs_nggp_mixture as module
from sparsemix.datasets import make_bars_mixture

per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)

# -- parameters, tags, attributes


@per_likelihood
@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_attributes_are_those_of_one_partition(discount, likelihood):
    rows = rows_of(likelihood)
    est = gibbs(likelihood, discount=discount).fit(rows)
    assert_valid(est, rows)
    says = np.asarray(np.abs(rows).sum(axis=1)).ravel() > 0
    np.testing.assert_array_equal(est.labels_ >= 0, says)
    assert est.labels_.dtype == np.int64
    np.testing.assert_allclose(est.counts_, np.bincount(est.labels_[says], minlength=est.n_clusters_), rtol=1e-9)
    assert est.n_clusters_ == est.labels_.max() + 1 > 1
    np.testing.assert_array_equal(est.cluster_ids_, np.arange(est.n_clusters_))
    assert (est.n_samples_seen_, est.n_features_in_, est.n_iter_) == (150, rows.shape[1], 12)
    assert est.concentration_ == 1.0
    statistics = np.array([rows[est.labels_ == k].sum(axis=0) for k in range(est.n_clusters_)])
    if likelihood == "multinomial":
        np.testing.assert_allclose(
            est.means_, (statistics + 0.03) / (statistics + 0.03).sum(axis=1)[:, None], rtol=1e-9
        )
    elif likelihood != "zero_mean":
        n = est.counts_[:, None]
        np.testing.assert_allclose(est.means_, (statistics + 0.1 * np.array([4.0, 5.0])) / (n + 0.1), rtol=1e-9)
    exact = oracle.predictive(NGGP(1.0, discount, 1.0), np.bincount(est.labels_[says]))
    np.testing.assert_allclose(np.append(est.weights_, est.new_weight_), exact, rtol=1e-9)
    for number, record in enumerate(est.history_, 1):
        assert record["n_iter"] == number
        assert sorted(record) == ["log_joint", "log_joint_per_row", "n_iter", "seconds"]
        assert record["log_joint_per_row"] == pytest.approx(record["log_joint"] / says.sum(), rel=1e-9)


def test_the_joint_of_the_history_is_that_of_the_last_draws():
    """log p(partition, u, rows) written out, but for what no draw changes."""
    for discount in (0.0, 0.5):
        est = gibbs(discount=discount, tilt=0.7, burn_in=99).fit(TEXTS)  # publishes the last epoch
        says = est.labels_ >= 0
        sizes, n, u = np.bincount(est.labels_[says]), says.sum(), est.u_
        statistics = np.array([TEXTS[est.labels_ == k].sum(axis=0) for k in range(est.n_clusters_)])
        psi = np.log1p(u / 0.7) if discount == 0 else ((u + 0.7) ** discount - 0.7**discount) / discount
        kappa = gammaln(sizes - discount) - gammaln(1 - discount) - (sizes - discount) * np.log(u + 0.7)
        rows = (gammaln(statistics + 0.03) - gammaln(0.03)).sum() - (
            gammaln(statistics.sum(axis=1) + 0.75) - gammaln(0.75)
        ).sum()
        wanted = (n - 1) * np.log(u) - psi + kappa.sum() + rows
        assert est.history_[-1]["log_joint"] == pytest.approx(wanted, rel=1e-10)


# -- wrong input


@pytest.mark.filterwarnings("ignore:sample_weight has the sum")
def test_weights_that_no_cluster_could_have_are_refused():
    weight = np.ones(150)
    weight[[3, 41]] = 0.0, 0.5
    with pytest.raises(ValueError, match=r"sample_weight of row 41 is 0\.5.*larger than discount=0\.5"):
        gibbs(discount=0.5).fit(TEXTS, sample_weight=weight)
    assert_valid(gibbs(discount=0.49).fit(TEXTS, sample_weight=weight), TEXTS)
    assert_valid(gibbs().fit(TEXTS, sample_weight=weight * 1e-3), TEXTS)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"discount": 0.0, "tilt": 0.0}, "discount and tilt are both 0"),
        ({"concentration_prior": (1.0,)}, r"concentration_prior is \(1.0,\); give two positive numbers"),
        ({"concentration_prior": (1.0, 0.0)}, "give two positive numbers, shape and rate"),
        ({"concentration_prior": (1.0, np.inf)}, "give two positive numbers"),
        ({"concentration_prior": ("a", "b")}, "give two positive numbers"),
        ({"concentration_prior": (2.0, 1.0), "tilt": "pitman-yor"}, "'pitman-yor' is not learned"),
    ],
)
def test_parameters_that_do_not_fit_are_named(params, message):
    est = gibbs().set_params(**params)
    with pytest.raises(ValueError, match=message):
        est.fit(TEXTS)
    assert_never_fitted(est)
    with pytest.raises(ValueError, match=r"average='mean'; it must be 'density' or 'log'"):
        gibbs(max_iter=1).fit(TEXTS).score_samples(TEXTS, average="mean")


# -- the chain


@pytest.mark.slow
@per_likelihood
@pytest.mark.parametrize("start", ["single", "sequential"])
def test_blocks_make_no_difference(start, likelihood, monkeypatch):
    rows = rows_of(likelihood)
    whole = gibbs(likelihood, init_params=start).fit(rows)
    for size in (1, 7, 40):
        monkeypatch.setattr(module, "ROWS", size)
        est = gibbs(likelihood, init_params=start).fit(rows)
        np.testing.assert_array_equal(est.labels_, whole.labels_)
        np.testing.assert_allclose(est.score_samples(rows), whole.score_samples(rows), rtol=1e-9)


@per_likelihood
def test_recomputed_sums_are_the_same(likelihood, monkeypatch):
    """Round-off apart, a recount changes nothing, so that it may come at any time."""
    rows, weight = rows_of(likelihood), WEIGHTS
    often = {}
    for every in (1, 10**9):
        monkeypatch.setattr(GibbsModel, "recount_every", every, raising=False)
        often[every] = gibbs(likelihood, discount=0.3).fit(rows, sample_weight=weight)
    first, second = often.values()
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_allclose(first.counts_, second.counts_, rtol=1e-10)
    np.testing.assert_allclose(first.score_samples(rows), second.score_samples(rows), rtol=1e-8)
    assert first.u_ == pytest.approx(second.u_, rel=1e-10)


def test_start_of_the_chain(monkeypatch):
    """All rows that say something in one cluster, or none in any."""
    begun = []

    def sweep(self, x, weight, labels, state, start, number):  # noqa: ARG001
        begun.append((labels.copy(), state.counts.copy(), state.members.copy(), state.n_slots))
        raise KeyboardInterrupt

    monkeypatch.setattr(GibbsModel, "sweep", sweep)
    for start in ("single", "sequential"):
        with pytest.raises(KeyboardInterrupt):
            gibbs(init_params=start).fit(TEXTS, sample_weight=WEIGHTS)
    single, sequential = begun
    words = np.asarray(TEXTS.sum(axis=1)) > 0
    np.testing.assert_array_equal(np.sort(single[0]), np.sort(np.where(words, 0, -1)))
    assert (single[1][0], single[2][0]) == (pytest.approx(WEIGHTS[words].sum()), 146)
    np.testing.assert_array_equal(sequential[0], -1)
    assert sequential[3] == 0


@pytest.mark.parametrize(
    ("burn_in", "thin", "max_iter", "n_samples"), [(6, 2, 12, 3), (None, 1, 10, 5), (0, 1, 4, 4), (9, 1, 5, 0)]
)
def test_samples_are_kept_after_the_burn_in(burn_in, thin, max_iter, n_samples):
    est = gibbs(burn_in=burn_in, thin=thin, max_iter=max_iter).fit(TEXTS)
    assert est.n_samples_ == n_samples
    density = est.score_samples(TEXTS)
    single = [sample.log_density(est._read(TEXTS)) for sample in est._samples or [est._fitted]]
    np.testing.assert_allclose(density, logsumexp(single, axis=0) - np.log(len(single)), rtol=1e-12)
    np.testing.assert_allclose(est.score_samples(TEXTS, average="log"), np.mean(single, axis=0), rtol=1e-12)
    assert (density >= est.score_samples(TEXTS, average="log") - 1e-12).all()
    assert est.score(TEXTS) == pytest.approx(density.mean())


def test_samples_are_those_of_shorter_chains():
    """The chain of a seed is the same however long; a sample is its state after a sweep, for good."""
    est = gibbs(max_iter=10, burn_in=4, thin=3).fit(TEXTS)
    assert est.n_samples_ == 2
    for sample, max_iter in zip(est._samples, (7, 10), strict=True):
        short = gibbs(max_iter=max_iter, burn_in=max_iter).fit(TEXTS)
        np.testing.assert_array_equal(sample.log_density(est._read(TEXTS)), short.score_samples(TEXTS))


@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_each_distinct_group_opens_one_cluster(discount):
    rows = 2.0 * np.kron(np.eye(70), np.ones((1, 6)))[np.arange(140) % 70]
    est = gibbs(discount=discount, word_prior=0.01).fit(rows)
    assert est.n_clusters_ == 70  # more than there are slots at first
    np.testing.assert_array_equal(est.labels_[:70], est.labels_[70:])
    limited = gibbs(discount=discount, word_prior=0.01, max_components=5).fit(rows)
    assert limited.n_clusters_ == 5
    assert limited.counts_.sum() == pytest.approx(140)


@per_likelihood
def test_groups_that_are_far_apart_are_found(likelihood):
    rows, groups = apart(likelihood)
    # from one cluster a chain of broad Gaussians may stay where two groups share one: single rows do not leave it
    starts = ["sequential"] if likelihood in ("full", "diag", "zero_mean") else ["single", "sequential"]
    for start in starts:
        est = GibbsNGGPMixture(likelihood, concentration=0.3, max_iter=60, init_params=start, random_state=0).fit(rows)
        assert same_partition(est.labels_, groups)


@pytest.mark.slow
@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_sampling_and_propagation_agree(discount):
    """Held-out density of a chain, and of what approximates it."""
    rows = make_bars_mixture(n_samples=400, doc_length=30, random_state=0)[0]
    train, test = rows[:300], rows[300:]
    params = {"concentration": 1.0, "discount": discount, "word_prior": 0.1, "random_state": 0}
    chain = GibbsNGGPMixture(max_iter=100, **params).fit(train)
    epochs = StreamingNGGPMixture(max_iter=20, **params).fit(train)
    assert chain.score(test) == pytest.approx(epochs.score(test), abs=0.5)
    assert chain.score(test) > streaming(max_components=1).fit(train).score(test) + 5


@pytest.mark.slow
def test_concentration_is_learned():
    """Partitions of rows whose clusters are plain follow Ewens' formula; the posterior of its parameter is known."""
    rng = np.random.default_rng(0)
    labels = oracle.sample_partition(NGGP(4.0, 0.0, 1.0), 300, rng)
    k = labels.max() + 1
    rows = sparse.csr_array(3.0 * np.kron(np.eye(k), np.ones((1, 8)))[labels])
    chain = GibbsNGGPMixture(
        concentration=50.0, concentration_prior=(2.0, 0.5), word_prior=0.01, init_params="sequential",
        max_iter=1, random_state=0,
    )  # fmt: skip
    draws, original = [], GibbsModel.global_step

    def global_step(self, state, epoch):
        original(self, state, epoch)
        draws.append(self.prior.concentration)

    try:
        GibbsModel.global_step = global_step
        est = chain.set_params(max_iter=700).fit(rows)
    finally:
        GibbsModel.global_step = original
    assert est.n_clusters_ == k
    assert same_partition(est.labels_, labels)
    assert est.concentration_ in draws[359::10]  # of the kept samples
    grid = np.linspace(0.01, 40, 40_000)
    log_posterior = (2.0 + k - 1) * np.log(grid) - 0.5 * grid + gammaln(grid) - gammaln(grid + 300)
    density = np.exp(log_posterior - log_posterior.max())
    mean = (grid * density).sum() / density.sum()
    spread = np.sqrt(((grid - mean) ** 2 * density).sum() / density.sum())
    # six hundred draws, of which some three are worth one that is independent
    assert np.mean(draws[100:]) == pytest.approx(mean, abs=4 * spread / np.sqrt(200))
    assert np.std(draws[100:]) == pytest.approx(spread, rel=0.2)
    fixed = gibbs(concentration=50.0).fit(TEXTS)
    assert fixed.concentration_ == 50.0


# -- progress, interrupts, copies


@per_likelihood
@pytest.mark.parametrize(("where", "calls"), [("sweep", 5 * 8 + 4), ("global_step", 6)])
def test_an_interrupt_leaves_the_chain_as_it_stands(where, calls, likelihood, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 20)
    rows = rows_of(likelihood)
    est = gibbs(likelihood).fit(rows[::-1][:100])
    with monkeypatch.context() as patch:
        fail_at(patch, GibbsModel, where, calls)
        with pytest.raises(KeyboardInterrupt):
            est.set_params(burn_in=2, thin=1).fit(rows)
    assert est.n_iter_ == len(est.history_) == 5
    assert est.n_samples_ == 3
    assert est.n_samples_seen_ == 150
    assert_valid(est, rows)
    says = est.labels_ >= 0
    np.testing.assert_allclose(est.counts_, np.bincount(est.labels_[says]), rtol=1e-9)
    assert says.sum() == (146 if likelihood == "multinomial" else 150)
    five = gibbs(likelihood, max_iter=5, burn_in=2, thin=1).fit(rows)
    assert [r["log_joint"] for r in est.history_] == [r["log_joint"] for r in five.history_]
    np.testing.assert_array_equal(est.score_samples(rows), five.score_samples(rows))  # the samples are the same


# -- meta-estimators


def test_width_of_the_rows():
    est = gibbs(max_iter=2).fit(X)
    assert est.means_.shape == (est.n_clusters_, V)
    with pytest.raises(ValueError, match="HashingVectorizer"):
        est.score(TEXTS)


@pytest.mark.parametrize(("discount", "tilt"), [(0.0, 2.0), (0.3, 2.0), (0.5, 0.5)])
def test_auxiliary_variable_is_drawn_given_rows_and_clusters_and_weighs_a_new_one(discount, tilt, monkeypatch):
    """u given the mass of rows and the clusters that have some; then a new one has the weight a (u + tau)^sigma."""
    drawn, weights = [], []

    def sample(self, n, k, rng):
        drawn.append((n, k, original(self, n, k, rng)))
        return drawn[-1][-1]

    def draw(*arguments):
        weights.append(arguments[6])
        return kernel(*arguments)

    original, kernel = NGGP.sample_log_u, _model.draw
    monkeypatch.setattr(NGGP, "sample_log_u", sample)
    monkeypatch.setattr(_model, "draw", draw)
    est = gibbs("diag", discount=discount, tilt=tilt, max_iter=3, burn_in=2, n_chains=1).fit(rows_of("diag"))
    n, k, _ = drawn[-1]
    assert n == pytest.approx(150.0)
    assert k == est.n_clusters_
    given = discount * np.log(np.exp([u for _, _, u in drawn]) + tilt)  # the concentration is one
    assert np.abs(given - weights[-1]).min() < 1e-9
