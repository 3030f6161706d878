"""What a SparseGaussianMixture computes: against scikit-learn, scipy, and its own invariances."""


import numpy as np
import pytest
import reference
from mixture_cases import assert_same_bits, fitted_arrays
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from sparsemix import SparseGaussianMixture

# Most fits here make a fixed number of epochs, so that two fits can be compared; they do not converge.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FAMILIES = ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical", "zero_mean"]
WITH_MEANS = FAMILIES[:-1]
METHODS = ["batch", "memoized", "online"]
K, D = 4, 3


def blobs(n=240, spread=3.0, seed=0):
    """Four clusters in three dimensions of different shapes that overlap a little, and their labels."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((K, D))
    shapes = rng.standard_normal((K, D, D)) * 0.4 + np.eye(D)
    labels = rng.permutation(np.arange(n) % K)
    return np.einsum("nij,nj->ni", shapes[labels], rng.standard_normal((n, D))) + centres[labels], labels


def responsibilities(n, seed=1):
    """A fixed start that no family finds by itself: random dense responsibilities."""
    return np.random.default_rng(seed).dirichlet(np.full(K, 0.3), size=n)


def mixture(covariance_type="full", **params):
    """Ten epochs of batch learning, unless given otherwise."""
    defaults = {"n_nonzero": 2, "learning_method": "batch", "max_iter": 10, "tol": 0.0, "random_state": 0}
    return SparseGaussianMixture(K, covariance_type=covariance_type, **(defaults | params))


# -- against other implementations


def same_start(covariance_type, X, seed=0):
    """Weights, means and precisions from which both implementations start."""
    rng = np.random.default_rng(seed)
    single = reference.one_covariance(covariance_type, np.eye(D))
    precisions = single if reference.is_tied(covariance_type) else np.array([single * f for f in (0.4, 0.6, 0.8, 1.0)])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    return {"weights": weights, "means": X[rng.choice(len(X), K, replace=False)], "precisions": precisions}


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_dense_em_equals_sklearn_step_by_step(covariance_type):
    # The same arithmetic in another order: 1e-10 leaves five digits for round-off to grow over seven steps.
    X, _ = blobs()
    start, params = same_start(covariance_type, X), {"max_iter": 7, "tol": 0.0, "reg_covar": 0.0}
    given = {f"{name}_init": value for name, value in start.items()}
    theirs = GaussianMixture(K, covariance_type=covariance_type, **params, **given).fit(X)
    ours = mixture(covariance_type, n_nonzero=None, inference="em", init_params=start, **params).fit(X)
    for name in ("weights_", "means_", "covariances_", "precisions_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose([ours.score(X), ours.aic(X), ours.bic(X)],
                               [theirs.score(X), theirs.aic(X), theirs.bic(X)], rtol=1e-10)  # fmt: skip


def test_dense_vb_has_the_fixed_point_of_sklearn():
    # Linear convergence from two starts: after a hundred steps what is left is round-off, enlarged by the rate.
    X, labels = blobs(spread=6.0)
    prior = {
        "weight_concentration_prior": 0.7, "mean_precision_prior": 0.3, "mean_prior": np.array([0.5, -0.5, 0.0]),
        "degrees_of_freedom_prior": 5.5, "covariance_prior": np.diag([1.0, 2.0, 3.0]),
        "weight_concentration_prior_type": "dirichlet_distribution", "max_iter": 150, "tol": 0.0,
    }  # fmt: skip
    theirs = BayesianGaussianMixture(n_components=K, reg_covar=0.0, random_state=0, **prior).fit(X)
    ours = mixture(n_nonzero=None, init_params={"responsibilities": np.eye(K)[labels]}, reg_covar=0.0, **prior).fit(X)
    order = np.abs(ours.means_[:, None] - theirs.means_).sum(axis=2).argmin(axis=1)
    assert sorted(order) == list(range(K))
    for name in ("means_", "covariances_", "weights_", "degrees_of_freedom_", "mean_precision_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name)[order], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_score_samples_is_the_density_of_the_point_estimates(covariance_type, inference):
    X, _ = blobs()
    est = mixture(covariance_type, inference=inference).fit(X)
    covariances = est.covariances_
    if inference == "vb":  # B / nu becomes the mean of the inverse Wishart (or inverse gamma), B / (nu - D - 1)
        nu = est.degrees_of_freedom_
        factor = nu / (nu - (D + 1 if reference.shape_of(covariance_type) == "full" else 2))
        covariances = covariances * np.reshape(factor, np.shape(factor) + (1,) * (np.ndim(covariances) - np.ndim(nu)))
    density = 0.0
    for k in range(K):
        covariance = reference.dense_covariances(covariance_type, covariances, K, D)[k]
        density = density + est.weights_[k] * multivariate_normal(est.means_[k], covariance).pdf(X)
    # scipy's densities are summed after exp: relative round-off 1e-13, and -log of it
    np.testing.assert_allclose(est.score_samples(X), np.log(density), rtol=1e-9, atol=1e-9)


# -- bounds


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em", "dirichlet_process"])
@pytest.mark.parametrize("n_nonzero", [1, 2, K])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_lower_bounds_never_fall(covariance_type, n_nonzero, inference, learning_method):
    X, _ = blobs()
    sticks = inference == "dirichlet_process"
    params = {"inference": "vb", "weight_concentration_prior_type": inference} if sticks else {"inference": inference}
    params |= {"n_nonzero": n_nonzero, "learning_method": learning_method, "batch_size": 60, "reg_covar": 0.0}
    params |= {"init_params": {"responsibilities": responsibilities(len(X))}}
    est = mixture(covariance_type, max_iter=12, **params).fit(X)
    bounds = np.array(est.lower_bounds_)
    skipped = 1 if learning_method == "memoized" else 0  # its first epoch still counts initial statistics
    assert len(bounds) == est.n_iter_ - skipped
    settled = n_nonzero == 1 and reference.is_tied(covariance_type)  # hard clusters of one shape: after one epoch here
    assert bounds[-1] > bounds[0] - settled
    # the bound is a difference of sums of this size, whose round-off is far below 1e-8 of it
    assert np.diff(bounds).min() >= -1e-8 * np.abs(bounds).max()


@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_sparse_em_objective_is_below_the_log_likelihood_and_meets_it_when_dense(covariance_type):
    X, labels = blobs()
    params = {"inference": "em", "reg_covar": 0.0, "tol": 1e-11, "init_params": {"responsibilities": np.eye(K)[labels]}}
    gaps = {}
    for n_nonzero, max_iter in ((1, 20), (2, 20), (K, 1000)):
        est = mixture(covariance_type, n_nonzero=n_nonzero, max_iter=max_iter, **params).fit(X)
        gaps[n_nonzero] = est.score_samples(X).sum() - est.lower_bound_
    assert min(gaps.values()) >= -1e-9 * abs(est.lower_bound_)  # round-off of two sums over rows
    assert gaps[1] > 1e-3
    assert gaps[K] < 1e-6  # the last gains are below 1e-8, and the gap is of their size


# -- invariances


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_relabelled_start_relabels_the_fit(covariance_type, inference):
    X, _ = blobs()
    resp, order = responsibilities(len(X)), np.array([2, 0, 3, 1])
    plain = mixture(covariance_type, inference=inference, init_params={"responsibilities": resp}).fit(X)
    moved = mixture(covariance_type, inference=inference, init_params={"responsibilities": resp[:, order]}).fit(X)
    # sums over components change their order: 1e-10 is round-off over ten steps
    np.testing.assert_allclose(moved.means_, plain.means_[order], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(moved.predict_proba(X), plain.predict_proba(X)[:, order], atol=1e-9)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", WITH_MEANS)
def test_translation_moves_the_means_alone(covariance_type, inference):
    X, _ = blobs()
    by = np.array([100.0, -20.0, 7.0])
    params = {"inference": inference, "init_params": {"responsibilities": responsibilities(len(X))}}
    plain, moved = mixture(covariance_type, **params).fit(X), mixture(covariance_type, **params).fit(X + by)
    # adding 100 costs the rows two digits of sixteen, ten steps may cost a few more
    np.testing.assert_allclose(moved.means_ - by, plain.means_, atol=1e-8)
    np.testing.assert_allclose(moved.covariances_, plain.covariances_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(moved.score_samples(X + by), plain.score_samples(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "spherical", "tied_spherical", "zero_mean"])
def test_rotation_turns_the_fit(covariance_type, inference):
    X, _ = blobs()
    turn, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((D, D)))
    params = {"inference": inference, "init_params": {"responsibilities": responsibilities(len(X))}, "reg_covar": 0.0}
    plain, turned = mixture(covariance_type, **params).fit(X), mixture(covariance_type, **params).fit(X @ turn)
    np.testing.assert_allclose(turned.means_, plain.means_ @ turn, atol=1e-8)  # round-off over ten steps
    np.testing.assert_allclose(turned.score_samples(X @ turn), plain.score_samples(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_weights_equal_repeated_and_removed_rows(covariance_type, inference):
    X, _ = blobs()
    resp = responsibilities(len(X))
    weight = np.random.default_rng(3).integers(0, 4, len(X))
    weighted = mixture(covariance_type, inference=inference, init_params={"responsibilities": resp})
    weighted.fit(X, sample_weight=weight)
    again = np.repeat(np.arange(len(X)), weight)
    start = {"responsibilities": resp[again]}
    repeated = mixture(covariance_type, inference=inference, init_params=start).fit(X[again])
    for name in ("weights_", "means_", "covariances_", "lower_bound_"):  # sums in another order, ten steps
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9, atol=1e-9)


# -- the same bits, or nearly


@pytest.mark.parametrize("learning_method", METHODS)
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_float32_rows_give_nearly_the_same(covariance_type, inference, learning_method):
    X, labels = blobs()
    X = X.astype(np.float32)  # the same rows for both
    params = {"inference": inference, "learning_method": learning_method, "batch_size": 60, "max_iter": 4}
    params["init_params"] = {"responsibilities": np.eye(K)[labels]}
    single, double = (mixture(covariance_type, **params).fit(X.astype(t)) for t in (np.float32, np.float64))
    assert single.predict_proba(X).dtype == np.float32
    # float32 weights carry 1e-6; four steps near a well separated start do not amplify them
    for name in ("weights_", "means_", "covariances_"):
        want = getattr(double, name)
        np.testing.assert_allclose(getattr(single, name), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
    np.testing.assert_allclose(single.score(X), double.score(X.astype(float)), rtol=1e-4)


# -- streams and statistics


@pytest.mark.parametrize("after_fit", [False, True])
def test_stream_of_known_length_blends_with_the_step_size(after_fit):
    X, _ = blobs()
    est = mixture(total_samples=5000, step_size=(3.0, 0.7))
    est = est.fit(X) if after_fit else est.partial_fit(X)
    old, new, step = est._fitted.stats.copy(), est.expected_stats(X[:90]), est.n_steps_ + 1
    est.partial_fit(X[:90])
    rho = (3.0 + step) ** -0.7
    want = old.scale((1 - rho) * 5000 / float(old["mass"])).add(new, rho * 5000 / 90)
    for name, _ in want._arrays():  # a lazy factor is pending in the values: read them by name
        np.testing.assert_allclose(est._fitted.stats[name], want[name], rtol=1e-10, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(est._fitted.stats["mass"], 5000, rtol=1e-12)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_all_statistics_at_rate_one_are_a_batch_step(covariance_type, inference):
    X, _ = blobs()
    params = {"inference": inference, "init_params": {"responsibilities": responsibilities(len(X))}}
    two, three = (mixture(covariance_type, max_iter=n, **params).fit(X) for n in (2, 3))
    parts = two.expected_stats(X[:70]) + two.expected_stats(X[70:])
    two.update_from_stats(parts, learning_rate=1.0)
    for name in ("weights_", "means_", "covariances_"):  # the sums are cut at row 70: round-off
        np.testing.assert_allclose(getattr(two, name), getattr(three, name), rtol=1e-10, atol=1e-10)


def test_online_epochs_move_towards_the_batch_fit():
    X, labels = blobs()
    start = {"responsibilities": np.eye(K)[labels]}
    batch = mixture(max_iter=50, init_params=start).fit(X)
    online = mixture(learning_method="online", batch_size=40, max_iter=30, init_params=start).fit(X)
    assert not hasattr(online, "lower_bound_")
    assert online.n_iter_ == 30
    # the last of the step sizes, 180 ** -0.6, is the noise that is left; a single Gaussian is 0.5 lower
    assert online.score(X) == pytest.approx(batch.score(X), abs=0.03)
    assert online.score(X) > SparseGaussianMixture().fit(X).score(X) + 0.2


# -- what a fitted mixture tells


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_predictions_agree(covariance_type, dtype):
    X = blobs()[0].astype(dtype)
    for n_nonzero in (1, 2, K, None, 2 * K):
        est = mixture(covariance_type, n_nonzero=n_nonzero).fit(X)
        n_kept = min(n_nonzero or K, K)
        dense, kept = est.predict_proba(X), est.predict_sparse_proba(X)
        np.testing.assert_array_equal(est.predict(X), dense.argmax(axis=1))
        np.testing.assert_allclose(dense.sum(axis=1), 1.0, rtol=1e-6)  # float32 sums
        np.testing.assert_array_equal(np.diff(kept.indptr), n_kept)
        indices = kept.indices.reshape(-1, n_kept)
        assert (np.diff(indices, axis=1) > 0).all()
        np.testing.assert_allclose(kept.sum(axis=1), 1.0, rtol=1e-12 if dtype == np.float64 else 1e-6)
        top = np.take_along_axis(dense, indices.astype(np.int64), axis=1)
        # the largest entries of the dense row, scaled to one; float32 log densities carry 1e-5 here
        np.testing.assert_allclose(kept.data.reshape(-1, n_kept), top / top.sum(axis=1, keepdims=True), atol=1e-4)
        assert (top.min(axis=1) >= np.sort(dense, axis=1)[:, -n_kept] - 1e-4).all()
        if n_kept == K and dtype == np.float64:
            np.testing.assert_allclose(kept.toarray(), dense, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_sampled_rows_have_the_moments_of_the_density(covariance_type, inference):
    """In VB its covariances are larger than ``covariances_``, here because components have few rows."""
    X, _ = blobs() if inference == "em" else blobs(60)
    est = mixture(covariance_type, inference=inference).fit(X)
    density = reference.dense_covariances(covariance_type, est.density_parameters()["covariances"], K, D)
    n = 40_000
    rows, labels = est.sample(n)
    again, _ = est.sample(n)
    np.testing.assert_array_equal(rows, again)  # an integer seed
    counts = np.bincount(labels, minlength=K)
    # five standard errors everywhere: of a proportion, of a mean, of a variance (relative sqrt(2 / n))
    np.testing.assert_array_less(np.abs(counts - n * est.weights_), 5 * np.sqrt(n * est.weights_) + 1e-9)
    for k in np.flatnonzero(counts > 100):
        mine = density[k]
        deviation = np.sqrt(np.diag(mine))
        errors = 5 / np.sqrt(counts[k])
        np.testing.assert_array_less(np.abs(rows[labels == k].mean(axis=0) - est.means_[k]), errors * deviation)
        difference = np.abs(np.cov(rows[labels == k].T) - mine) / np.outer(deviation, deviation)
        assert difference.max() < np.sqrt(2) * errors


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_fitted_attributes_have_the_shapes_of_sklearn(covariance_type, inference):
    X, _ = blobs()
    est = mixture(covariance_type, inference=inference).fit(X)
    shape = np.shape(reference.one_covariance(covariance_type, np.eye(D)))
    shape = shape if reference.is_tied(covariance_type) else (K, *shape)
    assert np.shape(est.covariances_) == np.shape(est.precisions_) == shape
    if reference.shape_of(covariance_type) != "full":
        np.testing.assert_allclose(est.covariances_ * est.precisions_, 1.0, rtol=1e-12)
    else:
        np.testing.assert_allclose(est.covariances_ @ est.precisions_, np.broadcast_to(np.eye(D), shape), atol=1e-8)
    assert est.weights_.sum() == pytest.approx(1.0)
    assert est.n_iter_ == len(est.history_) == 10
    assert [record["n_iter"] for record in est.history_] == list(range(1, 11))
    assert [record["lower_bound"] for record in est.history_] == est.lower_bounds_
    assert est.history_[-1]["lower_bound_per_row"] == pytest.approx(est.lower_bound_ / len(X))
    bayesian = ("weight_concentration_", "mean_precision_", "degrees_of_freedom_")
    for name in bayesian:
        if inference == "em":
            with pytest.raises(AttributeError, match=name):
                getattr(est, name)
        elif not (covariance_type == "zero_mean" and name == "mean_precision_"):
            shared = reference.is_tied(covariance_type) and name == bayesian[2]
            assert np.shape(getattr(est, name)) == (() if shared else (K,))


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_order_of_initial_components_does_not_matter_to_sticks(learning_method):
    X, _ = blobs()
    initial = np.eye(K)[np.minimum(np.sqrt(np.arange(len(X)) / 12).astype(int), K - 1)]  # no two of one size
    params = {"weight_concentration_prior_type": "dirichlet_process", "learning_method": learning_method,
              "batch_size": 60, "max_iter": 20}  # fmt: skip
    starts = ({"responsibilities": resp} for resp in (initial, initial[:, ::-1]))
    est, reverse = (mixture(init_params=start, **params).fit(X) for start in starts)
    for ours, theirs in zip(est.weight_concentration_, reverse.weight_concentration_, strict=True):
        np.testing.assert_allclose(ours, theirs[::-1], rtol=1e-8)
    np.testing.assert_allclose(est.weights_, reverse.weights_[::-1], rtol=1e-8)
    np.testing.assert_allclose(est.lower_bounds_, reverse.lower_bounds_, rtol=1e-12)
    ones, rest = est.weight_concentration_
    order = np.argsort(-ones)
    after = np.cumsum((ones - 1.0)[order][::-1])[-2::-1]  # counts of the smaller components
    np.testing.assert_allclose(rest[order], 1.0 / K + np.append(after, 0.0), rtol=1e-9)


# -- starts


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("init_params", ["bregman", "kmeans", "random_from_data", "dense", "csr", "means"])
@pytest.mark.parametrize("covariance_type", WITH_MEANS)
def test_every_start_finds_separated_clusters(covariance_type, init_params):
    X, labels = blobs(spread=20.0)
    truth = np.array([X[labels == k].mean(axis=0) for k in range(K)])
    resp = np.eye(K)[labels]
    given = {"means": truth, "dense": {"responsibilities": resp}, "csr": {"responsibilities": sparse.csr_array(resp)}}
    params = {"init_params": given.get(init_params, init_params)}
    # a drawn start may put two centres in one cluster, most often one that is drawn without regard to distances
    n_init = {"bregman": 8, "kmeans": 8, "random_from_data": 24}.get(init_params, 1)
    est = mixture(covariance_type, n_nonzero=None, max_iter=60, n_init=n_init, **params).fit(X)
    assert adjusted_rand_score(labels, est.predict(X)) > 0.99
    if n_init == 1:  # a given start keeps the order of its components
        np.testing.assert_array_equal(est.predict(X), labels)


def test_dense_and_sparse_responsibilities_are_the_same_start():
    X, labels = blobs()
    resp = responsibilities(len(X)) * (np.random.default_rng(7).uniform(size=(len(X), K)) < 0.6)
    resp[np.arange(len(X)), labels] += 0.1
    dense, csr = (mixture(init_params={"responsibilities": matrix}).fit(X) for matrix in (resp, sparse.csr_array(resp)))
    assert_same_bits(fitted_arrays(dense, X), fitted_arrays(csr, X))
