"""Rows with measurement noise: a slow twin, closed forms, limits of the noise, recovery, streams and refusals."""

import pickle

import numpy as np
import pytest
from fitted import few_epochs
from mixture_cases import assert_same_bits, fitted_arrays
from scipy.optimize import minimize
from scipy.special import logsumexp

from sparsemix import SparseGaussianMixture
from sparsemix._rows.blocks import Rows
from sparsemix._rows.threads import Workers
from sparsemix._stats.families import FullGaussian
from sparsemix.mixture._annotations.noise import EquallyNoisyRows
from sparsemix.mixture._annotations.rows import AnnotatedRows

pytestmark = few_epochs
TYPES = ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical", "zero_mean"]
RNG = np.random.default_rng(0)
CLUSTERS = RNG.integers(0, 3, 600)
CLEAN = RNG.normal(size=(600, 3)) * [1.0, 0.5, 0.3] + np.array([[-4.0, 0, 0], [0, 3, 1], [4, 0, 2]])[CLUSTERS]
ROOTS = 0.5 * RNG.normal(size=(600, 3, 3))
NOISE = {
    "one row": np.array([0.5, 0.0, 1.0]),
    "variances": RNG.gamma(1.0, 0.6, (600, 3)),
    "matrices": ROOTS @ ROOTS.transpose(0, 2, 1),
}


def as_matrices(noise, n=600):
    """Noise of each row as a matrix."""
    noise = np.broadcast_to(noise, (n, 3)) if noise.ndim == 1 else noise
    return noise if noise.ndim == 3 else noise[:, :, None] * np.eye(3)


def noisy(kind, gaps=False):
    """Rows with this noise, of which some have missing values."""
    rng = np.random.default_rng(1)
    X = CLEAN + np.array([rng.multivariate_normal(np.zeros(3), s) for s in as_matrices(NOISE[kind])])
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
        X[5] = np.nan
    return X


def mixture(n_components=3, **params):
    return SparseGaussianMixture(n_components, **{"random_state": 0, "max_iter": 10, "tol": 0.0, **params})


kinds = pytest.mark.parametrize("kind", NOISE)
types = pytest.mark.parametrize("covariance_type", TYPES)


def parameters(est):
    """Weights, means and covariances as matrices."""
    given = est.density_parameters()
    covariances = given["covariances"]
    covariances = [covariances] * 3 if given["covariance_type"].startswith("tied") else covariances
    means = np.zeros((3, 3)) if given["means"] is None else given["means"]
    return given["weights"], means, [c if np.ndim(c) == 2 else np.eye(3) * c for c in covariances]


def posteriors(est, X, noise):
    """Log weights + log densities (n, K), and posterior means and covariances of the rows without their noise."""
    weights, means, covariances = parameters(est)
    logs, first, second = np.empty((len(X), 3)), np.empty((len(X), 3, 3)), np.empty((len(X), 3, 3, 3))
    for n, k in np.ndindex(len(X), 3):
        seen, c = ~np.isnan(X[n]), covariances[k]
        t, y = (c + noise[n])[np.ix_(seen, seen)], (X[n] - means[k])[seen]
        gain = c[:, seen] @ np.linalg.inv(t)
        logs[n, k] = np.log(weights[k]) - 0.5 * (y @ np.linalg.solve(t, y) + np.linalg.slogdet(2.0 * np.pi * t)[1])
        first[n, k], second[n, k] = means[k] + gain @ y, c - gain @ c[seen]
    return logs, first, second


@kinds
@types
def test_an_epoch_of_em_agrees_with_a_slow_twin(covariance_type, kind):
    X, noise = noisy(kind, gaps=True), NOISE[kind]
    params = {"covariance_type": covariance_type, "inference": "em", "learning_method": "batch", "n_nonzero": None}
    start = mixture(**params, max_iter=0).fit(X, noise_variance=noise)
    logs, first, second = posteriors(start, X, as_matrices(noise))
    want = logsumexp(logs, axis=1)
    resp = np.exp(logs - want[:, None])
    np.testing.assert_allclose(start.predict_proba(X, noise_variance=noise), resp, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(start.score_samples(X, noise_variance=noise), want, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(start.predict(X, noise_variance=noise), resp.argmax(axis=1))
    counts = resp.sum(axis=0)
    means = np.einsum("nk,nkd->kd", resp, first) / counts[:, None]
    means = np.zeros((3, 3)) if covariance_type == "zero_mean" else means
    y = first - means
    wanted = np.einsum("nk,nkde->kde", resp, second + y[..., None] * y[..., None, :]) / counts[:, None, None]
    wanted = np.tile(np.tensordot(counts / 600, wanted, 1), (3, 1, 1)) if "tied" in covariance_type else wanted
    wanted = wanted if covariance_type in ("full", "tied", "zero_mean") else wanted * np.eye(3)
    if "spherical" in covariance_type:
        wanted = np.trace(wanted, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
    weights, found, covariances = parameters(mixture(**params, max_iter=1).fit(X, noise_variance=noise))
    np.testing.assert_allclose(weights, counts / 600, rtol=1e-8)
    np.testing.assert_allclose(found, means, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(covariances, wanted + 1e-6 * np.eye(3), rtol=1e-7, atol=1e-9)


@kinds
@types
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("labels", [None, np.where(np.arange(600) % 9, -1, CLUSTERS)])
def test_bounds_never_fall_and_threads_change_nothing(covariance_type, kind, inference, learning_method, dtype, labels):
    X, given = noisy(kind, gaps=True).astype(dtype), {"labels": labels, "noise_variance": NOISE[kind]}
    params = {"covariance_type": covariance_type, "inference": inference, "learning_method": learning_method}
    params |= {"batch_size": 100} if learning_method == "memoized" else {}
    one, two = (mixture(5, n_nonzero=2, **params, n_jobs=n).fit(X, **given) for n in (1, 2))
    assert np.diff(one.lower_bounds_).min() >= -1e-7 * np.abs(one.lower_bounds_).max()
    assert_same_bits(fitted_arrays(one, X), fitted_arrays(two, X))


# -- one component


@kinds
@types
def test_the_bound_of_one_component_is_its_log_likelihood(covariance_type, kind):
    """The bound is exact at the parameters of which the posteriors are, so at a fixed point of EM."""
    X, noise = noisy(kind, gaps=True), NOISE[kind]
    params = {"covariance_type": covariance_type, "inference": "em", "reg_covar": 0.0, "max_iter": 400}
    est = mixture(1, **params, learning_method="batch").fit(X, noise_variance=noise)
    np.testing.assert_allclose(est.lower_bound_, est.score_samples(X, noise_variance=noise).sum(), rtol=1e-8)


def test_one_component_maximises_the_likelihood():
    X, noise = noisy("matrices")[:100, :2], NOISE["matrices"][:100, :2, :2]

    def loss(parameters):
        root = np.array([[parameters[2], 0.0], [parameters[3], parameters[4]]])
        t, y = root @ root.T + noise, X - parameters[:2]
        return 0.5 * (np.einsum("ni,nij,nj->", y, np.linalg.inv(t), y) + np.linalg.slogdet(2.0 * np.pi * t)[1].sum())

    best = minimize(loss, [0.0, 0.0, 1.0, 0.0, 1.0], tol=1e-12)
    est = mixture(1, inference="em", reg_covar=0.0, max_iter=500).fit(X, noise_variance=noise)
    root = np.array([[best.x[2], 0.0], [best.x[3], best.x[4]]])
    np.testing.assert_allclose(est.means_[0], best.x[:2], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(est.covariances_[0], root @ root.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(est.lower_bound_, -best.fun, rtol=1e-9)


# -- limits of the noise


@types
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("gaps", [False, True])
def test_noise_near_zero_changes_nothing(covariance_type, inference, gaps):
    X = noisy("variances", gaps)
    params = {"covariance_type": covariance_type, "inference": inference, "max_iter": 50}
    plain, est = mixture(**params).fit(X), mixture(**params).fit(X, noise_variance=np.full((600, 3, 3), 1e-14))
    for one, other in zip(parameters(est), parameters(plain), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(est.lower_bounds_, plain.lower_bounds_, rtol=1e-6)


@kinds
@types
def test_infinite_noise_is_a_missing_value(covariance_type, kind):
    X, noise = noisy(kind), np.array(as_matrices(NOISE[kind]))
    lost = np.random.default_rng(2).random(X.shape) < 0.1
    noise = np.where(lost[:, :, None] | lost[:, None, :], 0.0, noise)
    noise[:, [0, 1, 2], [0, 1, 2]] += np.where(lost, 1e10, 0.0)
    noise = noise if kind == "matrices" else np.einsum("nii->ni", noise)
    est = mixture(covariance_type=covariance_type).fit(X, noise_variance=NOISE[kind])
    stats = [np.empty(0), np.empty(0)]
    for i, rows in enumerate((X, np.where(lost, np.nan, X))):
        step = pickle.loads(pickle.dumps(est)).partial_fit(rows, noise_variance=noise)
        stats[i] = np.concatenate([np.ravel(each) for each in parameters(step)])
    np.testing.assert_allclose(*stats, rtol=1e-5, atol=1e-6)


@types
def test_forms_of_the_same_noise_agree(covariance_type):
    X, row = noisy("one row", gaps=True), NOISE["one row"]
    forms = row, np.tile(row, (600, 1)), as_matrices(row), row.tolist()
    first, *others = (mixture(covariance_type=covariance_type).fit(X, noise_variance=noise) for noise in forms)
    for other in others:
        for one, two in zip(parameters(first), parameters(other), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)


@kinds
def test_rows_of_float32_agree_with_float64(kind):
    X = noisy(kind, gaps=True)
    one, two = (mixture(n_nonzero=None).fit(X.astype(t), noise_variance=NOISE[kind]) for t in (np.float32, np.float64))
    np.testing.assert_allclose(one.lower_bound_, two.lower_bound_, rtol=1e-4)
    np.testing.assert_allclose(one.means_, two.means_, atol=1e-3)


@kinds
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layouts_of_the_noise_give_the_same_bits(kind, dtype):
    X, noise = noisy(kind, gaps=True), NOISE[kind].astype(dtype)
    layouts = noise, np.asfortranarray(noise), np.repeat(noise, 2, axis=-1)[..., ::2], noise[::-1].copy()[::-1]
    layouts[1].setflags(write=False)
    first, *others = (mixture(max_iter=3).fit(X, noise_variance=each) for each in layouts)
    for other in others:
        assert_same_bits(fitted_arrays(first, X), fitted_arrays(other, X))


def test_a_fit_recovers_the_mixture_without_noise():
    """Twenty thousand rows, whose noise is from a tenth of to four times the variances of the components."""
    rng, n = np.random.default_rng(0), 20_000
    z, root = rng.integers(0, 3, n), np.array([[1.0, 0.0], [0.6, 0.5]])
    clean = rng.normal(size=(n, 2)) @ root.T + np.array([[-4.0, 0.0], [0.0, 4.0], [4.0, 0.0]])[z]
    noise = rng.uniform(0.1, 4.0, (n, 2))
    X = clean + rng.normal(size=(n, 2)) * np.sqrt(noise)
    errors = []
    for given in (noise, None):
        est = mixture(3, n_nonzero=None, tol=1e-6, max_iter=300).fit(X, noise_variance=given)
        errors.append(np.abs(est.covariances_ - root @ root.T).max())
    assert errors[0] < 0.15
    assert errors[1] > 1.0


MEANS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
LARGE = {
    "nine values": np.where((np.arange(900)[:, None] < 9) & (np.arange(2) == 0), 900.0, 0.1),
    "one in twenty": np.where(RNG.random((900, 2)) < 0.05, 100.0, 0.1),
    "three in five": np.where(RNG.random((900, 2)) < 0.6, 100.0, 0.1),
    "heavy tails": 0.1 * np.exp(3.0 * RNG.normal(size=(900, 2))),
}


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("matrices", [False, True])
@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_values_with_large_noise_are_no_clusters(large, matrices, covariance_type):
    rng, noise = np.random.default_rng(0), LARGE[large]
    clean = MEANS[rng.integers(0, 3, 900)] + 0.5 * rng.normal(size=(900, 2))
    X = clean + rng.normal(size=(900, 2)) * np.sqrt(noise)
    given = noise[:, :, None] * np.eye(2) if matrices else noise
    params = {"covariance_type": covariance_type, "max_iter": 100, "tol": 1e-4}
    est = mixture(3, **params).fit(X, noise_variance=given)
    lost = mixture(3, **params).fit(np.where(noise > 2.0, np.nan, X), noise_variance=given)
    precisions = 4.0 * (np.tile(np.eye(2), (3, 1, 1)) if covariance_type == "full" else np.ones((3, 2)))
    truth = {"weights": np.full(3, 1 / 3), "means": MEANS, "precisions": precisions}
    best = mixture(3, **params, init_params=truth).fit(X, noise_variance=given)
    assert est.score(clean) > max(best.score(clean), lost.score(clean)) - 0.05
    assert est.lower_bound_ > best.lower_bound_ - 5.0


def test_rows_with_the_same_noise_start_from_their_values():
    X, noise = noisy("one row"), NOISE["one row"]
    rows = AnnotatedRows(Rows(X), noise=np.broadcast_to(noise, X.shape))
    with Workers(1) as workers:
        seen = EquallyNoisyRows(rows, FullGaussian(3), workers)
    np.testing.assert_array_equal(seen.read(slice(0, 600)), X)


# -- weights, labels, streams


def test_a_weight_of_two_is_two_rows_and_rows_without_weight_have_no_noise():
    X, noise, weight = noisy("matrices"), NOISE["matrices"], np.arange(600) % 3
    repeated = np.repeat(np.arange(600), weight)
    params = {"init_params": CLEAN[:3], "learning_method": "batch", "n_nonzero": None}
    one = mixture(**params).fit(X, sample_weight=weight, noise_variance=noise)
    two = mixture(**params).fit(X[repeated], noise_variance=noise[repeated])
    np.testing.assert_allclose(one.means_, two.means_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.lower_bound_, two.lower_bound_, rtol=1e-6)
    scores = one.score_samples(X, noise_variance=noise)
    assert one.score(X, None, weight, noise_variance=noise) == pytest.approx(np.average(scores, weights=weight))


@kinds
def test_labels_of_all_rows_give_one_fit_for_each_label(kind):
    X, noise = noisy(kind), as_matrices(NOISE[kind])
    params = {"inference": "em", "learning_method": "batch", "reg_covar": 0.0, "max_iter": 400}
    est = mixture(3, **params).fit(X, noise_variance=noise, labels=CLUSTERS)
    for k, label in enumerate(est.component_labels_):
        alone = mixture(1, **params).fit(X[label == CLUSTERS], noise_variance=noise[label == CLUSTERS])
        np.testing.assert_allclose(est.means_[k], alone.means_[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(est.covariances_[k], alone.covariances_[0], rtol=1e-4, atol=1e-5)


@kinds
def test_streams_take_blocks_with_and_without_noise(kind):
    X, noise = noisy(kind, gaps=True), np.broadcast_to(as_matrices(NOISE[kind]), (600, 3, 3))
    est = mixture().partial_fit(X[:300], noise_variance=noise[:300])
    copied = pickle.loads(pickle.dumps(est))
    for each in (est, copied):
        each.partial_fit(X[300:], noise_variance=noise[300:]).partial_fit(CLEAN)
    assert_same_bits(fitted_arrays(est, CLEAN), fitted_arrays(copied, CLEAN))
    assert est.n_samples_seen_ == 1200
    plain = mixture().partial_fit(CLEAN).partial_fit(CLEAN, noise_variance=np.full(3, 1e-14))
    same = mixture().partial_fit(CLEAN).partial_fit(CLEAN)
    np.testing.assert_allclose(plain.covariances_, same.covariances_, rtol=1e-7, atol=1e-9)


@kinds
def test_checkpoints_refuse_other_noise(tmp_path, kind):
    X, noise = noisy(kind), NOISE[kind]
    whole = mixture().fit(X, noise_variance=noise)
    mixture(max_iter=3).fit(X, noise_variance=noise, checkpoint=tmp_path / "fit")
    with pytest.raises(ValueError, match="other"):
        mixture().fit(X, noise_variance=2.0 * noise, checkpoint=tmp_path / "fit")
    continued = mixture().fit(X, noise_variance=noise, checkpoint=tmp_path / "fit")
    assert_same_bits(fitted_arrays(whole, X), fitted_arrays(continued, X))


def test_many_components_compute_the_weights_of_all_of_them():
    est = mixture(120, max_iter=2, covariance_type="diag").fit(noisy("variances"), noise_variance=NOISE["variances"])
    assert est._fitted.model.search is None


# -- refusals

WRONG = {
    "shape": (np.ones((600, 2)), r"shape \(600, 2\), expected \(3,\), \(600, 3\) or \(600, 3, 3\)"),
    "negative": (-np.eye(600, 3), r"of row 0 is -1 in column 0; give a variance from 0"),
    "infinite": (np.where(np.arange(600)[:, None] == 7, np.inf, np.ones(3)), "of row 7 is inf in column 0"),
    "NaN": (np.where(np.arange(600)[:, None] == 7, np.nan, np.ones(3)), "of row 7 is nan in column 0"),
    "skew": (np.tile(np.eye(3) + np.eye(3, k=1), (600, 1, 1)), "of row 0 is no covariance matrix; give a symmetric"),
    "indefinite": (np.tile(np.eye(3) - 0.9, (600, 1, 1)) + np.eye(3), "of row 0 is no covariance matrix"),
}  # fmt: skip


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict", "predict_proba", "score_samples", "score"])
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_noise_is_refused(wrong, method):
    est, (noise, message) = mixture(max_iter=1, tol=1.0).fit(CLEAN), WRONG[wrong]
    with pytest.raises(ValueError, match=r"noise_variance.*" + message):
        getattr(est, method)(CLEAN, noise_variance=noise)


def test_noise_of_missing_values_is_not_read():
    X, noise = noisy("variances", gaps=True), NOISE["variances"]
    est = mixture().fit(X, noise_variance=np.where(np.isnan(X), np.nan, noise))
    np.testing.assert_allclose(est.means_, mixture().fit(X, noise_variance=noise).means_, rtol=1e-9)


def test_settings_without_noise_refuse_it():
    with pytest.raises(ValueError, match=r"noise_variance cannot be used with covariance_type='low_rank'.*choose"):
        mixture(covariance_type=("low_rank", 1)).fit(CLEAN, noise_variance=np.ones(3))
    with pytest.raises(ValueError, match=r"candidates=4 limits.*noise_variance cannot be used.*candidates='auto'"):
        mixture(20, candidates=4, n_nonzero=2).fit(CLEAN, noise_variance=np.ones(3))
