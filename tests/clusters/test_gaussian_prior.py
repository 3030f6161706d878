"""The prior of Gaussian clusters that the user did not give: empirical Bayes on the first rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix._rows.blocks import Rows
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters._parameters import make_state

WITH_MEANS = ["full", "diag", "spherical"]


def blobs(n_features, n=1000, seed=0, scale=1.0):
    """Five clusters, ten standard deviations apart in a typical column."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, n)
    centres = np.arange(5.0)[:, None] * 15.0 if n_features == 1 else rng.normal(scale=10.0, size=(5, n_features))
    return scale * (centres[labels] + rng.normal(size=(n, n_features))), labels


@pytest.mark.parametrize("likelihood", WITH_MEANS)
@pytest.mark.parametrize("n_features", [1, 5, 20, 50, 100])
def test_clusters_are_found_in_any_dimension(n_features, likelihood):
    rows, labels = blobs(n_features)
    est = StreamingNGGPMixture(likelihood, random_state=0).fit(rows)
    assert est.n_clusters_ == 5
    assert adjusted_rand_score(labels, est.labels_) > 0.98


REDUNDANT = {
    "copies": lambda x, _: np.c_[x, x],
    "noisy copies": lambda x, rng: np.c_[x, x + 1e-3 * rng.normal(size=x.shape)],
    "total and parts": lambda x, _: 1e5 + np.c_[x, x.sum(axis=1)],
    "other units": lambda x, _: np.c_[x, 1.8 * x[:, 0] + 32.0],
    "rounded": lambda x, _: np.round(np.c_[x, x], 2),
    "many functions": lambda x, rng: x @ rng.normal(size=(4, 12)),
}


@pytest.mark.parametrize("way", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", REDUNDANT)
def test_redundant_columns_change_no_clusters(name, way):
    """A full covariance describes them; they hold no information on clusters."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1], 400))
    rows = REDUNDANT[name](rng.normal(size=(800, 4)) + 5.0 * labels[:, None], rng)
    est = StreamingNGGPMixture("auto", random_state=0)
    est = est.fit(rows) if way == "fit" else est.partial_fit(rows[:300]).partial_fit(rows[300:])
    assert est.likelihood_ == "full"
    assert est.n_clusters_ == 2
    assert adjusted_rand_score(labels, est.predict(rows)) > 0.98
    if way == "fit":
        assert StreamingNGGPMixture("full", random_state=0).fit(rows[labels == 0]).n_clusters_ == 1


@pytest.mark.parametrize("n", [60, 300, 3000])
def test_the_number_of_rows_decides_nothing(n):
    rows, labels = blobs(10, n)
    est = StreamingNGGPMixture("full", random_state=0).fit(rows)
    assert adjusted_rand_score(labels, est.labels_) == 1.0


@pytest.mark.parametrize("likelihood", WITH_MEANS)
def test_one_cloud_is_one_cluster(likelihood):
    rows = np.random.default_rng(0).normal(size=(500, 8))
    assert StreamingNGGPMixture(likelihood, random_state=0).fit(rows).n_clusters_ == 1


@pytest.mark.parametrize("likelihood", WITH_MEANS)
def test_units_and_origin_of_columns_do_not_matter(likelihood):
    rows = load_iris().data
    units = np.array([1.0, 2.0**40, 2.0**-60, 8.0])
    if likelihood == "spherical":  # balls in one unit are none in another
        units[:] = 8.0
    first = StreamingNGGPMixture(likelihood, random_state=0).fit(rows)
    other = StreamingNGGPMixture(likelihood, random_state=0).fit(rows * units)
    np.testing.assert_array_equal(first.labels_, other.labels_)
    moved = StreamingNGGPMixture(likelihood, random_state=0).fit(rows - 4.0)
    assert adjusted_rand_score(first.labels_, moved.labels_) > 0.95  # but for round-off in gaps of columns


@pytest.mark.parametrize("likelihood", [*WITH_MEANS, "zero_mean"])
def test_uninformative_columns_do_not_change_clusters(likelihood):
    rows = np.zeros((300, 6))
    rows[:, :2] = blobs(2, 300)[0]
    rows[7, 3] = 1.0  # nearly constant: equal values would be infinitely likely
    rows[:, 5] = 3.0
    est = StreamingNGGPMixture(likelihood, random_state=0).fit(rows)
    assert np.isfinite(est.score_samples(rows)).all()
    if likelihood in ("full", "diag"):
        alone = StreamingNGGPMixture(likelihood, random_state=0).fit(rows[:, :2])
        assert adjusted_rand_score(alone.labels_, est.labels_) > 0.8


@pytest.mark.parametrize("likelihood", [*WITH_MEANS, "zero_mean"])
@pytest.mark.parametrize("rows", [np.eye(2), np.zeros((5, 3)), np.ones((9, 1)), [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]],
                         ids=["two", "zeros", "equal", "twins"])  # fmt: skip
def test_little_data_has_a_prior(rows, likelihood):
    est = StreamingNGGPMixture(likelihood, random_state=0).fit(rows)
    assert 1 <= est.n_clusters_ <= len(rows)
    assert np.isfinite(est.score_samples(rows)).all()


@pytest.mark.parametrize("way", ["fit", "partial_fit", "chain"])
def test_one_elongated_cluster_is_as_good_as_one_gaussian(way):
    """Without correlations in the prior, a fit of the last rows loses 0.8 nats."""
    for correlation in (0.9, 0.999, 0.9999):
        rows = np.random.default_rng(0).multivariate_normal(np.zeros(2), [[1.0, correlation], [correlation, 1.0]], 1200)
        train, test = rows[:1000], rows[1000:]
        cls, settings = StreamingNGGPMixture, {}
        if way == "chain":
            cls, settings = GibbsNGGPMixture, {"max_iter": 4, "burn_in": 2, "thin": 1}
        est = cls("full", random_state=0, **settings)
        est = est.partial_fit(train) if way == "partial_fit" else est.fit(train)
        one = multivariate_normal(train.mean(axis=0), np.cov(train.T, bias=True))
        assert est.score(test) > one.logpdf(test).mean() - 0.1


def balls_in_units(scales, n=1000, seed=0):
    """Five balls ten of their widths apart, then columns in other units."""
    rows, labels = blobs(len(scales), n, seed)
    return rows * scales, labels


@pytest.mark.parametrize("seed", range(3))
def test_balls_that_were_standardised_are_found(seed):
    """After standardisation, a column is wide within clusters if their centres are near each other."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, 1000)
    rows = np.array([30.0, 6.0, 3.0]) * rng.normal(size=(5, 3))[labels] + rng.normal(size=(1000, 3))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    found = StreamingNGGPMixture("spherical", random_state=0).fit(rows)
    within = np.sqrt(sum(((rows[labels == k] - rows[labels == k].mean(axis=0)) ** 2).sum(axis=0) for k in range(5)))
    np.testing.assert_allclose(found.column_scales_, within / np.exp(np.log(within).mean()), rtol=0.2)
    own = StreamingNGGPMixture("spherical", random_state=0, covariance_prior=found.covariances_.mean()).fit(rows)
    assert adjusted_rand_score(labels, found.labels_) > adjusted_rand_score(labels, own.labels_)


@pytest.mark.parametrize("likelihood", WITH_MEANS)
def test_balls_stay_in_their_units(likelihood):
    rows, _ = blobs(6)
    lumps = np.where(rows > 0.0, rows, 0.0)  # some columns have one value, mostly
    for some in (rows, rows[:, :1], lumps):
        est = StreamingNGGPMixture(likelihood, random_state=0).fit(some)
        np.testing.assert_array_equal(est.column_scales_, 1.0)


@pytest.mark.parametrize("cls", [StreamingNGGPMixture, GibbsNGGPMixture])
def test_scaled_clusters_are_those_of_scaled_rows(cls):
    """The geometric mean of the scales is one: densities need nothing else."""
    settings = {"max_iter": 4, "burn_in": 2, "thin": 1} if cls is GibbsNGGPMixture else {}
    scales = np.array([0.1, 1.0, 10.0])
    rows, _ = balls_in_units(scales)
    est = cls("spherical", random_state=0, **settings).fit(rows)
    found = est.column_scales_
    np.testing.assert_allclose(found, scales, rtol=0.1)
    assert np.log(found).sum() == pytest.approx(0.0, abs=1e-12)
    state = est._fitted.state
    post, family = state.sums.posterior(est._fitted.slots), state.sums.family
    new = rows[:50] + 1.0
    scaled = (new - state.sums.shift) / found
    new_cluster = np.log(est.new_weight_) + family.log_predictive(state.sums.prior, scaled)[:, 0]
    log_shares = np.log(est.weights_) + family.log_predictive(post, scaled)
    if cls is StreamingNGGPMixture:
        expected = np.logaddexp(logsumexp(log_shares, axis=1), new_cluster)
        np.testing.assert_allclose(est.score_samples(new), expected, rtol=1e-6)
    np.testing.assert_array_equal(est.predict(new), log_shares.argmax(axis=1))
    np.testing.assert_allclose(est.means_, post.mean * found + state.sums.shift)
    grid = np.exp(np.linspace(np.log(0.01), np.log(100.0), 7))
    outer = est.score_samples(rows[:1] + grid[:, None] * scales)  # falls with the distance, in the found units
    assert (np.diff(outer) < 0.0).all()


def test_streams_of_scaled_columns_do_not_depend_on_how_they_are_cut():
    rows, _ = balls_in_units(np.array([0.1, 1.0, 10.0]), 600)
    rows[:, 2] = rows[:, 2].round(-1)  # and one of them is recorded in steps
    first = StreamingNGGPMixture("spherical").partial_fit(rows[:400])
    twin = StreamingNGGPMixture("spherical").partial_fit(rows[:400]).partial_fit(rows[400:])
    for start in range(400, 600, 7):
        first.partial_fit(rows[start : min(start + 7, 600)])
    assert first.column_scales_.max() > 5.0
    np.testing.assert_array_equal(first.means_, twin.means_)
    np.testing.assert_array_equal(first.covariances_, twin.covariances_)


def test_what_is_given_stays():
    rows, _ = blobs(4)
    params = {"mean_precision_prior": 0.02, "degrees_of_freedom_prior": 31.0, "mean_prior": [1.0, 2.0, 3.0, 4.0]}
    est = StreamingNGGPMixture("full", random_state=0, **params)
    state = make_state(est, Rows(rows), False, NGGP(1.0, 0.0, 1.0), 0.5)[0]
    prior = state.sums.prior
    assert (prior.mean_precision[0], prior.dof[0]) == (0.02, 31.0)
    np.testing.assert_array_equal(prior.mean[0] + state.sums.shift, params["mean_prior"])
    assert est.fit(rows).n_clusters_ == 5


def test_a_sorted_first_block_gives_the_same_prior_as_a_shuffled_one():
    rows, labels = blobs(6, 800)
    est = StreamingNGGPMixture("full").partial_fit(rows[np.argsort(labels)])
    assert est.n_clusters_ == 5
    other = StreamingNGGPMixture("full").partial_fit(rows)
    kappas = [one._fitted.state.sums.prior.mean_precision[0] for one in (est, other)]
    assert kappas[0] == pytest.approx(kappas[1], rel=0.1)


# -- likelihood="auto"


COUNTS = np.random.default_rng(0).poisson(0.2, (60, 60))
AUTO = {
    "sparse": (sparse.csr_array(COUNTS), "multinomial"),
    "whole": (COUNTS.astype(float), "multinomial"),
    "integers": (COUNTS, "multinomial"),
    "one is not whole": (COUNTS + np.where(np.arange(60)[:, None] == 59, 0.5, 0.0), None),
    "one is negative": (COUNTS - 1, None),
    "iris": (load_iris().data, "full"),
    "wide": (np.random.default_rng(0).normal(size=(50, 101)), "diag"),
}


@pytest.mark.parametrize("estimator", [StreamingNGGPMixture, GibbsNGGPMixture])
@pytest.mark.parametrize("name", AUTO)
def test_auto_distinguishes_counts_from_measurements(name, estimator):
    rows, wanted = AUTO[name]
    short = {"max_iter": 2} if estimator is GibbsNGGPMixture else {}
    est = estimator(random_state=0, **short).fit(rows)
    assert est.likelihood == "auto"
    assert est.likelihood_ == wanted or (wanted is None and est.likelihood_ in ("full", "diag"))
    chosen = estimator(est.likelihood_, random_state=0, **short).fit(rows)
    np.testing.assert_array_equal(est.labels_, chosen.labels_)
    np.testing.assert_array_equal(est.predict(rows), chosen.predict(rows))


@pytest.mark.parametrize("n_features", [10, 20])
def test_correlations_are_not_found_where_there_are_none(n_features):
    """Chance correlations of the judged rows gain tens of nats, real ones hundreds."""
    rng = np.random.default_rng(n_features)
    means = 6.0 * rng.normal(size=(10, n_features))[rng.integers(10, size=1000)]
    noise = rng.normal(size=(1000, n_features))
    assert StreamingNGGPMixture(random_state=0).partial_fit(means + noise).likelihood_ == "diag"
    mixed = noise @ (np.eye(n_features) + 0.15 * rng.normal(size=(n_features, n_features)))
    assert StreamingNGGPMixture(random_state=0).partial_fit(means + mixed).likelihood_ == "full"


def test_auto_says_what_it_chose(capsys):
    StreamingNGGPMixture(verbose=1).fit(load_iris().data)
    assert "likelihood 'full'" in capsys.readouterr().out


def test_a_stream_stays_what_its_first_block_was():
    est = StreamingNGGPMixture().partial_fit(COUNTS)
    with pytest.raises(ValueError, match=r"Negative values.*row 0.*'multinomial'.*likelihood='full' or 'diag'|is for"):
        est.partial_fit(COUNTS - 1.5)
    with pytest.warns(UserWarning, match="not whole"):
        est.partial_fit(COUNTS + 0.5)  # counts may be any numbers that are not negative
    assert est.likelihood_ == "multinomial"
    rows = StreamingNGGPMixture().partial_fit(load_iris().data)
    rows.partial_fit(np.ones((3, 4)))  # whole numbers, but the stream is one of rows
    assert rows.likelihood_ == "full"


@pytest.mark.parametrize(("covariance", "wanted"), [(0.5, "spherical"), ([0.5] * 4, "diag"), (np.eye(4), "full")])
def test_a_given_covariance_determines_the_structure(covariance, wanted):
    est = StreamingNGGPMixture(covariance_prior=covariance).fit(load_iris().data)
    assert est.likelihood_ == wanted


def test_errors_name_the_parameter():
    rows = load_iris().data - 3.0
    with pytest.raises(ValueError, match=r"likelihood='multinomial' is for; .*likelihood='full' or 'diag'"):
        StreamingNGGPMixture("multinomial").fit(rows)
    with pytest.raises(ValueError, match=r"likelihood='auto' takes sparse X for; .*dense array"):
        StreamingNGGPMixture().fit(sparse.csr_array(rows))


def test_predictions_go_by_what_was_fitted():
    est = StreamingNGGPMixture("multinomial").fit(COUNTS)
    before = est.predict(COUNTS)
    est.set_params(likelihood="full")
    np.testing.assert_array_equal(est.predict(COUNTS), before)
    assert np.isfinite(est.score(COUNTS, per="token"))
    chain = GibbsNGGPMixture("full", max_iter=2).fit(load_iris().data).set_params(likelihood="multinomial")
    assert len(chain.predict(load_iris().data)) == 150


def test_a_fit_without_clusters_keeps_the_model_that_was_there():
    rows = COUNTS
    est = StreamingNGGPMixture(random_state=0).fit(rows)
    before, labels = dict(vars(est)), est.predict(rows)
    est.set_params(discount=0.9)
    with pytest.raises(ValueError, match=r"no row of X opened a cluster.*discount=0\.9"):
        est.fit(rows, sample_weight=np.full(60, 0.5))
    assert vars(est) == before | {"discount": 0.9}
    np.testing.assert_array_equal(est.predict(rows), labels)
    new = StreamingNGGPMixture(discount=0.9)
    with pytest.raises(ValueError, match="opened a cluster"):
        new.fit(rows, sample_weight=np.full(60, 0.5))
    assert sorted(vars(new)) == sorted(new.get_params(deep=False))


# -- what a fit warns of


@pytest.mark.parametrize("threshold", [0.01, 0.1])
def test_more_clusters_than_rows_give_a_warning(threshold):
    rows = np.random.default_rng(0).poisson(0.3, (6, 12))
    params = {"max_iter": 50, "concentration": 1.0, "word_prior": 0.1, "random_state": 0, "tol": 0.0}
    est = StreamingNGGPMixture("multinomial", new_cluster_threshold=threshold, **params)
    with pytest.warns(UserWarning, match=rf"clusters were opened for 6 rows.*threshold above {threshold}"):
        est.fit(rows)
    assert est.n_clusters_ > 6
    assert StreamingNGGPMixture("multinomial", **params).fit(rows).n_clusters_ <= 6


@pytest.mark.parametrize("discount", [0.0, 0.5])
@pytest.mark.parametrize("weight", [1e10, 1e16])
@pytest.mark.parametrize("rows", [COUNTS, load_iris().data], ids=["counts", "rows"])
def test_chains_of_heavy_rows(rows, weight, discount):
    est = GibbsNGGPMixture(discount=discount, max_iter=3, random_state=0, concentration_prior=(2.0, 0.5))
    est.fit(rows, sample_weight=np.full(len(rows), weight))
    assert np.isfinite(est.score(rows))
    assert np.isfinite([est.u_, est.concentration_]).all()


@pytest.mark.parametrize("cls", [StreamingNGGPMixture, GibbsNGGPMixture])
def test_likelihoods_without_a_predictive_density_are_refused(cls):
    for likelihood in ("low_rank", "tied", "tied_diag"):
        with pytest.raises(ValueError, match="'likelihood' parameter"):
            cls(likelihood).fit(np.random.default_rng(0).normal(size=(30, 3)))
