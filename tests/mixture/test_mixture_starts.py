"""Defaults of a SparseGaussianMixture: starts, priors that follow the data, the variance floor, attributes of both."""

import itertools

import numpy as np
import pytest
import reference
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.model_selection import GridSearchCV

from sparsemix import SparseGaussianMixture
from sparsemix._engine import initialize
from sparsemix._heuristics.mixture import policy
from sparsemix._heuristics.mixture.exchanges import exchange_components, exchanged
from sparsemix._heuristics.mixture.seeds import column_scales, kmeans, round_clusters
from sparsemix._heuristics.mixture.splitting import SPAN, Splitting, climb, most_likely, spans
from sparsemix._heuristics.mixture.start import ahead
from sparsemix._rows.blocks import Rows
from sparsemix._rows.threads import Workers
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix.mixture._assemble import assemble

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FAMILIES = ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical", "low_rank", "zero_mean"]
WITH_MEANS = FAMILIES[:-1]


def continuum(n=3000, d=4, seed=0):
    """Rows without clusters, of different scale: a heavy-tailed cloud."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * rng.gamma(1.0, size=(n, 1))


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("n_nonzero", [1, 2, 5])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_bounds_never_fall_with_a_variance_floor(covariance_type, n_nonzero, learning_method):
    X = continuum(400, 3)
    resp = np.random.default_rng(1).dirichlet(np.full(5, 0.3), size=len(X))
    est = SparseGaussianMixture(
        5, covariance_type=covariance_type, n_nonzero=n_nonzero, learning_method=learning_method, batch_size=100,
        reg_covar=0.2, init_params={"responsibilities": resp}, max_iter=15, tol=0.0, random_state=0,
    ).fit(X)  # fmt: skip
    bounds = np.array(est.lower_bounds_)
    assert bounds[-1] > bounds[0]
    assert np.diff(bounds).min() >= -1e-8 * np.abs(bounds).max()


@pytest.mark.parametrize("covariance_type", [kind for kind in WITH_MEANS if kind != "low_rank"])
def test_floor_is_that_of_sklearn_at_the_fixed_point(covariance_type):
    # one component: responsibilities are one, so what differs in the local step cannot show
    X = continuum(200, 3)
    prior = {"mean_precision_prior": 0.3, "mean_prior": np.zeros(3), "degrees_of_freedom_prior": 6.0, "reg_covar": 0.5}
    prior["covariance_prior"] = reference.one_covariance(covariance_type, np.eye(3))
    ours = SparseGaussianMixture(1, covariance_type=covariance_type, **prior).fit(X)
    if reference.shape_of(covariance_type) == "spherical":  # theirs counts rows, not numbers: only the scale compares
        scale = 1.0 + 0.5 * 3 * len(X) + ((X - X.mean(axis=0)) ** 2).sum()
        scale += 0.3 * len(X) / (0.3 + len(X)) * (X.mean(axis=0) ** 2).sum()
        np.testing.assert_allclose(ours.covariances_ * ours.degrees_of_freedom_, scale, rtol=1e-10)
        return
    theirs = "diag" if covariance_type == "tied_diag" else covariance_type  # one component shares it with none
    theirs = BayesianGaussianMixture(n_components=1, covariance_type=theirs, **prior).fit(X)
    np.testing.assert_allclose(np.ravel(ours.covariances_), np.ravel(theirs.covariances_), rtol=1e-10)


@pytest.mark.parametrize("covariance_type", WITH_MEANS)
def test_dead_column_that_moves_costs_little(covariance_type):
    X, _ = make_blobs(600, 4, centers=3, random_state=0)
    X[:, 2] = 7.0
    est = SparseGaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    moved = X.copy()
    moved[:, 2] += 1e-3
    assert est.score(X) - est.score(moved) < 1.0


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_splitting_keeps_components_alive(covariance_type):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 12, 4000)
    X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle), np.cos(3 * angle)])
    X += 0.1 * rng.standard_normal(X.shape)
    est = SparseGaussianMixture(40, covariance_type=covariance_type, init_params="splitting", random_state=0).fit(X)
    assert est.init_params_ == "splitting"
    assert (est.weights_ > 0.1 / 40).mean() > 0.8


@pytest.mark.parametrize("covariance_type", WITH_MEANS)
def test_default_start_finds_separate_clusters(covariance_type):
    X, y = make_blobs(4000, 6, centers=60, center_box=(-20, 20), random_state=1)
    est = SparseGaussianMixture(60, covariance_type=covariance_type, random_state=0).fit(X)
    assert adjusted_rand_score(y, est.predict(X)) > 0.9


def clusters_in_small_columns():
    """Three clusters in three columns; the fourth has nearly all variance and no clusters."""
    X, y = make_blobs(300, 3, centers=3, cluster_std=1.5, random_state=4)
    return np.column_stack([X, 1e3 * np.random.default_rng(0).standard_normal(300)]), y, 3


def stretched_clusters():
    """Clusters with correlated columns."""
    X, y = make_blobs(400, 4, centers=5, random_state=1)
    return X @ np.random.default_rng(1).standard_normal((4, 4)), y, 5


def mixed_columns():
    """Columns of clusters, a skewed one and one of two values."""
    X, y = make_blobs(300, 5, centers=4, random_state=2)
    X[:, 3], X[:, 4] = X[:, 3] > 0.0, np.exp(0.3 * X[:, 4])
    return X, y, 4


def more_columns_than_rows():
    """Separate clusters."""
    X, y = make_blobs(40, 60, centers=3, random_state=3)
    return X, y, 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", [clusters_in_small_columns, stretched_clusters, mixed_columns, more_columns_than_rows]
)
@pytest.mark.parametrize("covariance_type", [kind for kind in FAMILIES if "spherical" not in kind])
def test_units_of_columns_do_not_change_labels(covariance_type, table):
    X, _, n_clusters = table()
    X = X - X.mean(axis=0)
    units = 10.0 ** np.random.default_rng(0).uniform(-2.5, 2.5, X.shape[1])
    for seed in range(2):
        fits = [
            SparseGaussianMixture(
                n_clusters, covariance_type=covariance_type, init_params="kmeans_range", random_state=seed
            ).fit_predict(each)
            for each in (X, X / X.std(axis=0), X * units)
        ]  # fmt: skip
        np.testing.assert_array_equal(fits[1], fits[0])
        np.testing.assert_array_equal(fits[2], fits[0])


def hidden_axis(n_groups, n_columns, seed):
    """Groups along the thinnest direction of a rotated cloud: no column, and no scale of columns, shows them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_groups, 1000)
    Z = rng.standard_normal((1000, n_columns))
    Z[:, -1] = 0.15 * Z[:, -1] + y
    rotation = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]
    return Z * np.geomspace(100.0, 1.0, n_columns) @ rotation, y


@pytest.mark.statistical
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied"])
@pytest.mark.parametrize(("n_groups", "n_columns"), [(2, 2), (2, 5), (3, 3), (4, 2)])
def test_default_start_finds_groups_along_a_hidden_axis(n_groups, n_columns, covariance_type, inference):
    found = []
    for seed in range(5):
        X, y = hidden_axis(n_groups, n_columns, seed)
        est = SparseGaussianMixture(n_groups, covariance_type=covariance_type, inference=inference, random_state=seed)
        found.append(adjusted_rand_score(y, est.fit_predict(X)))
    assert np.median(found) > 0.95
    assert min(found) > 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hidden_axis_is_found_with_weights_and_far_rows(dtype):
    X, y = hidden_axis(2, 3, 0)
    weight, far, rng = np.where(np.arange(1000) % 2, 2.0, 0.5), X.astype(dtype), np.random.default_rng(0)
    far[:3] = 1e9
    for rows, of_rows in ((X.astype(dtype), weight), (far, None)):
        units = round_clusters(rows, 2, of_rows, rng)
        assert np.isfinite(units).all()
        with Workers(1) as workers:
            labels = kmeans(units, 2, of_rows, rng, workers)
        assert adjusted_rand_score(y[3:], labels[3:]) > 0.9
    est = SparseGaussianMixture(2, random_state=0).fit(X.astype(dtype), sample_weight=weight)
    assert adjusted_rand_score(y, est.predict(X.astype(dtype))) > 0.9


@pytest.mark.parametrize("shape", [(40, 12), (6, 1), (9, 2)])
def test_shape_of_few_rows_or_one_column_falls_back_to_scales(shape):
    x = continuum(*shape)
    units = round_clusters(x, 2, None, np.random.default_rng(0))
    np.testing.assert_allclose(units, x / column_scales(x))


def test_given_means_take_the_same_rows_in_other_units():
    X, y, n_clusters = clusters_in_small_columns()
    means = np.array([X[y == k].mean(axis=0) for k in range(n_clusters)])
    fits = [
        SparseGaussianMixture(n_clusters, init_params=unit * means, random_state=0, max_iter=5).fit_predict(unit * X)
        for unit in (1.0, 1e-6)
    ]
    np.testing.assert_array_equal(fits[1], fits[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_clusters"),
    [(60, 50, 3), (60, 58, 3), (60, 100, 3), (60, 150, 3), (200, 250, 16), (30, 200, 2), (100, 100, 5)],
)
@pytest.mark.parametrize("covariance_type", WITH_MEANS)
def test_clusters_of_few_rows_are_found_and_take_new_rows(covariance_type, n_rows, n_columns, n_clusters):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(2 * n_rows) % n_clusters)
    means = 2.0 * rng.standard_normal((n_clusters, n_columns))
    noise = rng.standard_normal((2 * n_rows, n_columns)) @ rng.standard_normal((n_columns, n_columns))
    X = means[y] + noise / np.sqrt(n_columns)
    if "spherical" not in covariance_type:
        X *= 10.0 ** rng.uniform(-2.0, 2.0, n_columns)
    est = SparseGaussianMixture(n_clusters, covariance_type=covariance_type, random_state=0).fit(X[:n_rows])
    assert adjusted_rand_score(y[:n_rows], est.predict(X[:n_rows])) > 0.95
    assert adjusted_rand_score(y[n_rows:], est.predict(X[n_rows:])) > 0.95


@pytest.mark.parametrize("n_init", [1, 3])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(150, 40), (300, 40), (1000, 100)])
def test_separate_clusters_of_few_rows_are_not_joined(n_rows, n_columns, n_init):
    """One component for most rows may predict held-out rows well, and has the larger bound."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        means, y = 1.5 * rng.standard_normal((3, n_columns)), rng.integers(3, size=n_rows)
        X = means[y] + rng.standard_normal((n_rows, n_columns))
        est = SparseGaussianMixture(3, n_init=n_init, random_state=seed)
        assert adjusted_rand_score(y, est.fit_predict(X)) == 1.0


def test_many_rows_keep_the_correlations_of_the_prior_and_few_rows_lose_them():
    for n_rows, share in ((8 * 5, 1.0), (4 * 5, 0.5)):
        X = continuum(n_rows, 5)
        prior = SparseGaussianMixture(1, random_state=0).fit(X).covariance_prior_
        expected = np.cov(X.T, ddof=0) * np.where(np.eye(5), 1.0, share)
        np.testing.assert_allclose(prior / np.diag(prior).mean(), expected / np.diag(expected).mean(), rtol=0.02)


def test_columns_of_other_units_are_brought_to_one_scale():
    X, y = make_blobs(600, 4, centers=3, random_state=3)
    X = np.column_stack([X, 1e4 * np.random.default_rng(0).standard_normal(600)])
    est = SparseGaussianMixture(3, random_state=0).fit(X)
    assert est.init_params_ in ("kmeans", "kmeans_range", "kmeans_shape")
    assert adjusted_rand_score(y, est.predict(X)) > 0.9


def test_candidates_by_default_end_where_all_components_do():
    X, y = make_blobs(6000, 5, centers=120, center_box=(-20, 20), random_state=1)
    lists, dense = (SparseGaussianMixture(120, candidates=c, random_state=0).fit(X) for c in ("auto", "all"))
    assert lists.score(X) > dense.score(X) - 0.01
    assert adjusted_rand_score(y, lists.predict(X)) > adjusted_rand_score(y, dense.predict(X)) - 0.01


def test_ahead_needs_more_than_chance():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(400)
    noise -= noise.mean()
    ones = np.ones(400)
    assert not ahead(noise + 0.09, ones)
    assert ahead(noise + 0.11, ones)
    assert not ahead(np.full(400, 1e-9), ones)  # rounding
    noise[0] = 1e3  # one row cannot decide
    assert not ahead(noise, ones)


def test_seeds_are_rows_and_differ():
    x = continuum(200, 3)
    centres = initialize.euclidean_centres(x, 20, 3, np.random.default_rng(0))
    assert len(np.unique(centres, axis=0)) == 20
    assert (np.abs(centres[:, None] - x).sum(axis=2).min(axis=1) == 0).all()
    for n_trials in (1, 3):
        few = initialize.euclidean_centres(np.repeat(x[:2], 10, axis=0), 5, n_trials, np.random.default_rng(0))
        assert few.shape == (5, 3)


@pytest.mark.parametrize("weight", [None, np.array([1.0, 4.0, 2.0, 0.5])])
def test_seeds_that_are_drawn_together_are_those_of_plus_plus(weight):
    x = np.array([[0.0], [1.0], [3.0], [7.0]])
    mass = np.ones(4) if weight is None else weight
    squares = mass * (x - x.T) ** 2
    expected = np.zeros((4, 4, 4))
    for a, b in itertools.permutations(range(4), 2):
        odds = np.minimum(squares[a], squares[b])
        expected[a, b] = mass[a] / mass.sum() * squares[a, b] / squares[a].sum() * odds / odds.sum()
    rng, seen = np.random.default_rng(0), np.zeros_like(expected)
    for _ in range(4000):
        centres = initialize.euclidean_centres(x, 3, 1, rng, weight)
        seen[tuple(np.searchsorted(x[:, 0], centres[:, 0]))] += 1
    possible = expected > 0
    assert seen[~possible].sum() == 0
    assert chisquare(seen[possible], 4000 * expected[possible]).pvalue > 1e-3


def test_kmeans_of_weighted_rows_finds_the_clusters_of_copies():
    """In an order that is drawn: two clusters of rows that count, while most rows are far away and do not."""
    X, labels = make_blobs([15, 15, 60], centers=[[0.0, 0.0], [10.0, 0.0], [90.0, 0.0]], random_state=0)
    X, weight = X[labels < 2], np.random.default_rng(0).integers(1, 5, np.count_nonzero(labels < 2))
    far = np.full((60, 2), [90.0, 0.0])
    est = SparseGaussianMixture(2, init_params="kmeans", random_state=0)
    weighed = clone(est).fit(np.vstack([X, far]), sample_weight=np.append(weight, np.zeros(60)))
    copies = clone(est).fit(np.repeat(X, weight, axis=0)[::-1])
    assert adjusted_rand_score(labels[labels < 2], weighed.predict(X)) == 1.0
    np.testing.assert_allclose(np.sort(weighed.means_, axis=0), np.sort(copies.means_, axis=0))
    assert weighed.lower_bound_ == pytest.approx(copies.lower_bound_)


@pytest.mark.parametrize("covariance_type", WITH_MEANS)
def test_priors_are_published_in_the_shapes_of_sklearn(covariance_type):
    X = continuum(200, 3)
    params = {"covariance_type": covariance_type, "max_iter": 5, "random_state": 0}
    ours = SparseGaussianMixture(2, covariance_prior=0.01, **params).fit(X)
    params["covariance_type"] = covariance_type.removeprefix("tied_").replace("low_rank", "diag")
    theirs = BayesianGaussianMixture(n_components=2, **params).fit(X)
    for name in ("covariance_prior_", "mean_prior_", "precisions_cholesky_"):
        if name == "precisions_cholesky_" and covariance_type == "low_rank":  # matrices
            assert ours.precisions_cholesky_.shape == (2, 3, 3)
            continue
        single = name == "precisions_cholesky_" and covariance_type.startswith("tied_")  # shared, so without K
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name))[single:], name
    for name in ("mean_precision_prior_", "degrees_of_freedom_prior_", "weight_concentration_prior_"):
        assert isinstance(getattr(ours, name), float)
    np.testing.assert_allclose(ours.mean_prior_, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(np.diag(np.atleast_2d(ours.covariance_prior_))[0], 0.01, rtol=1e-12)
    U = ours.precisions_cholesky_
    if reference.shape_of(covariance_type) == "full" or covariance_type == "low_rank":
        np.testing.assert_allclose(U @ np.swapaxes(U, -1, -2), ours.precisions_, rtol=1e-9)
        np.testing.assert_array_equal(U, np.triu(U))
    else:
        np.testing.assert_allclose(U**2, ours.precisions_)


def test_rows_whose_squares_overflow_are_named():
    X = continuum(100, 3).astype(np.float32)
    X[17, 1] = 1e30
    with pytest.raises(ValueError, match=r"row 17 of X holds .*, whose powers float32 cannot represent; scale"):
        SparseGaussianMixture(2).fit(X)


def test_constant_columns_have_the_scale_of_their_entries():
    """With one in its place the square of a large one overflows."""
    x = np.zeros((3, 3), dtype=np.float32)
    x[:, 1], x[:, 2] = -1e25, [1, 2, 3]
    np.testing.assert_allclose(column_scales(x), [1, 1e25, np.std([1, 2, 3])], rtol=1e-6)


def shared_out(rng):
    """Clusters of very unequal size, and labels that share out the largest and leave two together."""
    means = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 3.5], [0.0, 7.0]])
    y = np.repeat(np.arange(4), [600, 60, 60, 100])
    X = means[y] + 0.6 * rng.standard_normal((len(y), 2))
    bad = np.where(y == 2, 1, y)
    bad[(y == 0) & (X[:, 0] > 0)] = 2
    return X, y, bad.astype(np.int32)


@pytest.mark.parametrize("covariance_type", WITH_MEANS)
def test_exchanges_mend_what_was_shared_out_badly_and_raise_the_bound(covariance_type):
    X, y, bad = shared_out(np.random.default_rng(0))
    with Workers(1) as workers:
        params = SparseGaussianMixture(4, covariance_type=covariance_type)
        rows, _, learner = assemble(params, Rows(X), workers)

        def after(labels, rule):
            resp = SparseResponsibilities.from_labels(labels.astype(np.int32))
            return rule(learner, rows, resp, workers)

        def exchange(learner, rows, resp, workers):
            _, resp = exchange_components(learner, rows, resp, np.random.default_rng(0), workers)
            return climb(learner, rows, resp, 0, workers)

        def steps(learner, rows, resp, workers):
            return climb(learner, rows, resp, 10, workers)

        (without, poor), (stats, found) = after(bad, steps), after(bad, exchange)
        assert adjusted_rand_score(y, most_likely(found)) > 0.97
        if covariance_type != "tied_spherical":  # steps alone mend it
            assert adjusted_rand_score(y, most_likely(poor)) < 0.77
            assert learner.lower_bound(stats) > learner.lower_bound(without)


def test_several_components_are_exchanged_at_once():
    """Halves of large clusters are joined, and pairs of small ones are cut, each in one of many places."""
    rng = np.random.default_rng(0)
    centres = 20.0 * np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    X, y = make_blobs([60] * 16, centers=centres, random_state=0)
    bad = y.copy()
    for a, b, halved in ((0, 1, 2), (4, 5, 6), (8, 9, 10), (12, 13, 14)):
        bad[y == b] = a
        bad[(y == halved) & (X[:, 1] > centres[halved, 1])] = b
    with Workers(1) as workers:
        rows, _, learner = assemble(SparseGaussianMixture(16), Rows(X), workers)
        for most in (4, 3, 1):
            found, n = exchanged(learner, rows, bad.astype(np.int32), most, rng, workers)
            assert n == most
            assert (adjusted_rand_score(y, found) == 1.0) == (most == 4)
            assert adjusted_rand_score(y, found) > adjusted_rand_score(y, bad)
        resp = SparseResponsibilities.from_labels(bad.astype(np.int32))
        _, resp = exchange_components(learner, rows, resp, rng, workers)
    assert adjusted_rand_score(y, most_likely(resp)) == 1.0


@pytest.mark.filterwarnings("ignore:rows of X are far from the bulk")
@pytest.mark.parametrize("n_apart", [1, 2, 3])
def test_few_rows_are_no_half(n_apart):
    """Rows far out are cut off if they are at least half of the least number."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    X[:n_apart] += 1e3
    with Workers(1) as workers:
        rows, _, learner = assemble(SparseGaussianMixture(2), Rows(X), workers)
        splitting = Splitting(learner, rows, np.random.default_rng(0), workers)
        stats = splitting._hard((np.arange(60) < n_apart).astype(np.int32), 2)
        gain = splitting._gains(stats)
    assert np.isfinite(gain).all() == (n_apart >= policy.POLICY.least_rows / 2)


def test_spans_of_components_have_few_rows_each():
    """Every component is in one span, and only one that is larger has more rows."""
    sizes = np.random.default_rng(0).choice([0, 1, SPAN // 3, SPAN // 2, SPAN, 3 * SPAN], size=200)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    found = list(spans(starts))
    assert [first for first, _ in found] == [0, *(last for _, last in found[:-1])]
    assert found[-1][1] == len(sizes)
    for first, last in found:
        assert starts[last] - starts[first] <= SPAN or last == first + 1


@pytest.mark.parametrize("covariance_type", ["diag", "tied"])
@pytest.mark.filterwarnings("ignore:columns .* of X hold two values each")
def test_no_exchange_for_columns_of_few_values(covariance_type):
    """Three that are the same are the longest axis: the best cut is across them, and makes them constant."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((300, 2)), np.tile(rng.integers(2, size=(300, 1)), 3)])
    labels = rng.integers(3, size=300).astype(np.int32)
    with Workers(1) as workers:
        params = SparseGaussianMixture(3, covariance_type=covariance_type)
        rows, _, learner = assemble(params, Rows(X), workers)
        found, n = exchanged(learner, rows, labels, 3, rng, workers)
    assert n == 0
    np.testing.assert_array_equal(found, labels)


@pytest.mark.filterwarnings("ignore:rows of X are far from the bulk")
@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_outliers_and_small_clusters_do_not_spoil_defaults(covariance_type):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 120)
    X = 8.0 * np.eye(4, 3)[y] + rng.standard_normal((480, 3))
    outliers = rng.choice(480, size=8, replace=False)
    X[outliers] += 60.0 * rng.standard_normal((8, 3))
    mixture = SparseGaussianMixture(5, covariance_type=covariance_type, random_state=0).fit(X)
    usual = np.setdiff1d(np.arange(480), outliers)
    assert adjusted_rand_score(y[usual], mixture.predict(X[usual])) > 0.9


# -- given values


def test_a_grid_of_given_values_is_searched():
    """scikit-learn's searches copy parameters and lay them out in arrays, which arrays and dicts must survive."""
    X = np.random.default_rng(0).standard_normal((90, 2)) + 6.0 * np.eye(3, 2)[np.arange(90) % 3]
    poor, good = 50.0 * np.eye(3, 2), {"means": 6.0 * np.eye(3, 2), "weights": np.full(3, 1 / 3)}
    est = SparseGaussianMixture(3, covariance_type="spherical", learning_method="batch", max_iter=2, tol=0.0)
    found = GridSearchCV(est, {"init_params": ["random", poor, good]}, cv=3, error_score="raise").fit(X)
    assert found.best_params_["init_params"].keys() == good.keys()
    np.testing.assert_array_equal(found.best_estimator_.init_params["means"], good["means"])
    assert found.best_estimator_.init_params_ == "given"
    same = clone(est).set_params(init_params=good).fit(X)
    np.testing.assert_array_equal(found.best_estimator_.means_, same.means_)


def test_one_covariance_of_each_kind_and_some_means_are_given():
    """Any of the values may be given; the initialisation finds the rest."""
    X = np.random.default_rng(0).standard_normal((90, 2)) + 6.0 * np.eye(3, 2)[np.arange(90) % 3]
    weights, precisions = np.array([0.5, 0.3, 0.2]), np.array([1.0, 2.0, 4.0])
    est = SparseGaussianMixture(3, covariance_type="spherical", inference="em", max_iter=0, random_state=0)
    est.set_params(init_params={"weights": weights, "precisions": precisions}).fit(X)
    np.testing.assert_allclose(est.weights_, weights)
    np.testing.assert_allclose(est.precisions_, precisions, rtol=1e-4)
    assert est.init_params_ in ("kmeans", "splitting")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_of_seeds_name_the_nearest_centre(dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 6)).astype(dtype)
    for weight in (None, rng.uniform(0.5, 2.0, 400)):
        centres = initialize.euclidean_centres(x, 150, 1, np.random.default_rng(1), weight)
        labels = initialize.euclidean_labels(x, 150, np.random.default_rng(1), weight)
        np.testing.assert_array_equal(labels, initialize.nearest_centres(x, centres))
    few = initialize.euclidean_labels(np.repeat(x[:3], 10, axis=0), 8, np.random.default_rng(0))
    assert len(np.unique(few)) == 3
