"""A background: a slow twin, bounds, recovery of a contaminated mixture, other calls, and refusals."""

import pickle

import numpy as np
import pytest
from fitted import few_epochs
from mixture_cases import assert_same_bits, fitted_arrays
from scipy.special import betaln, digamma, entr, expit, logsumexp
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score

from sparsemix import SparseGaussianMixture

pytestmark = few_epochs
CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
LOW, SIDE = -20.0, 46.0


def contaminated(n=3_000, seed=0, share=0.05):
    """Rows of three Gaussians, some of which are replaced by uniform ones, and which these are."""
    rng = np.random.default_rng(seed)
    rows = CENTRES[rng.integers(0, 3, n)] + rng.normal(size=(n, 2))
    lost = rng.random(n) < share
    rows[lost] = rng.uniform(LOW, LOW + SIDE, (lost.sum(), 2))
    return rows, lost


X, LOST = contaminated()


def mixture(n_components=3, **params):
    return SparseGaussianMixture(n_components, **{"random_state": 0, "max_iter": 20, "tol": 0.0, **params})


def log_likelihoods(est, rows):
    """Log weights plus log densities of the components (EM)."""
    y = rows[:, None] - est.means_
    square = np.einsum("nki,kij,nkj->nk", y, est.precisions_, y)
    return np.log(est.weights_) - 0.5 * (square + np.linalg.slogdet(2.0 * np.pi * est.covariances_)[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_nonzero", [1, 2, None])
@pytest.mark.parametrize("n_components", [1, 3])
def test_an_epoch_agrees_with_a_slow_twin(n_components, n_nonzero, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    params = {"inference": "em", "learning_method": "batch", "n_nonzero": n_nonzero, "reg_covar": 0.0}
    start, est = (mixture(n_components, **params, max_iter=n).fit(X, None, weight, background=0.1) for n in (0, 1))
    logs, mass, log_volume = log_likelihoods(start, X), weight.sum(), np.log(np.ptp(X, axis=0)).sum()
    logs[logs < np.sort(logs, axis=1)[:, [-min(n_nonzero or 3, n_components)]]] = -np.inf
    log_z = logsumexp(logs, axis=1)
    own = expit(digamma(0.1 + 0.1 * mass) - digamma(0.9 + 0.9 * mass) - log_volume - log_z)
    resp = np.exp(logs - log_z[:, None]) * (1.0 - own)[:, None]
    count, total = weight @ resp, weight @ own
    np.testing.assert_allclose(est.weights_, count / count.sum(), rtol=1e-9)
    np.testing.assert_allclose(est.means_, (resp * weight[:, None]).T @ X / count[:, None], rtol=1e-8)
    assert est.background_weight_ == pytest.approx((0.1 + total) / (1.0 + mass), rel=1e-9)
    bound = betaln(0.1 + total, 0.9 + count.sum()) - betaln(0.1, 0.9) - total * log_volume
    bound += weight @ (entr(own) + entr(resp).sum(axis=1) + (resp * log_likelihoods(est, X)).sum(axis=1))
    assert est.lower_bound_ == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("candidates", ["all", 4])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "tied_spherical", ("low_rank", 1), "zero_mean"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gaps", [False, True])
def test_bounds_never_fall_and_threads_change_nothing(
    covariance_type, inference, learning_method, candidates, dtype, gaps
):
    rows = X[:1_500].astype(dtype)
    if gaps:
        rows[::7, 1] = np.nan
    params = {"covariance_type": covariance_type, "inference": inference, "learning_method": learning_method,
              "candidates": candidates, "n_nonzero": 2, "batch_size": 500}  # fmt: skip
    one, two = (mixture(20, **params, n_jobs=n).fit(rows, background=True) for n in (1, 2))
    assert np.diff(one.lower_bounds_).min() >= -1e-7 * np.abs(one.lower_bounds_).max()
    assert_same_bits(fitted_arrays(one, rows), fitted_arrays(two, rows))


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical"])
def test_a_contaminated_mixture_is_found(covariance_type, inference):
    params = {"covariance_type": covariance_type, "inference": inference, "max_iter": 40}
    est, without = mixture(**params).fit(X, background=True), mixture(**params).fit(X)
    assert est.background_weight_ == pytest.approx(LOST.mean(), abs=0.01)
    order = np.argsort(est.means_ @ [1.0, 2.0])
    np.testing.assert_allclose(est.means_[order], CENTRES, atol=0.15)
    rows, lost = contaminated(seed=1)
    true = logsumexp([multivariate_normal(centre).logpdf(rows) for centre in CENTRES], axis=0)
    assert roc_auc_score(lost, -est.score_samples(rows)) > roc_auc_score(lost, -true) - 0.01
    assert est.score(rows) > without.score(rows) + 0.01
    assert est.score(rows[~lost]) > without.score(rows[~lost]) + 0.01
    assert np.mean((est.predict(rows) == -1) == lost) > 0.985
    assert without.background_weight_ == 0.0


def scattered(share, n=1_500, n_features=12, n_clusters=6):
    """Rows of clusters, some of which are replaced by uniform rows in their box; half of them to fit, half to score."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_clusters, n_features)) * 2.3
    rows = centres[rng.integers(0, n_clusters, 2 * n)] + rng.normal(size=(2 * n, n_features))
    low, high = rows.min(axis=0), rows.max(axis=0)
    lost = rng.random(2 * n) < share
    rows[lost] = rng.uniform(low, high, (lost.sum(), n_features))
    return rows[:n], rows[n:]


@pytest.mark.parametrize("share", [0.2, 0.3, 0.4])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", ("low_rank", 1)])
@pytest.mark.parametrize("gaps", [False, True])
def test_many_wrong_rows_are_found_without_their_share(share, inference, covariance_type, gaps):
    rows, held = scattered(share)
    if gaps:
        rows[::9, 3] = np.nan
    params = {"inference": inference, "covariance_type": covariance_type}
    known, unknown = (mixture(6, **params).fit(rows, background=each) for each in (share, True))
    assert unknown.score(held) > known.score(held) - 0.05
    assert unknown.background_weight_ == pytest.approx(share, abs=0.03)


def test_clean_rows_hardly_have_a_background():
    assert mixture(max_iter=100).fit(X[~LOST], background=0.2).background_weight_ < 0.005


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gaps", [False, True])
def test_predictions_agree_with_each_other(gaps, dtype):
    rows = X.astype(dtype)
    if gaps:
        rows[::5, 0] = np.nan
    est = pickle.loads(pickle.dumps(mixture(n_nonzero=None).fit(rows, background=True)))
    resp, found = est.predict_proba(rows), est.predict(rows)
    own = 1.0 - resp.sum(axis=1, dtype=np.float64)
    np.testing.assert_allclose(est.predict_sparse_proba(rows).toarray(), resp, atol=2e-5)
    np.testing.assert_array_equal(found[own > 0.51], -1)
    sure = (found >= 0) & (own < 0.49)
    np.testing.assert_array_equal(found[sure], resp[sure].argmax(axis=1))
    gaussians = SparseGaussianMixture.from_parameters(**est.density_parameters())
    rho, sides = est.background_weight_, np.log(np.nanmax(rows, axis=0).astype(float) - np.nanmin(rows, axis=0))
    uniform = -((~np.isnan(rows)) @ sides)
    density = np.logaddexp(np.log1p(-rho) + gaussians.score_samples(rows), np.log(rho) + uniform)
    np.testing.assert_allclose(est.score_samples(rows), density, rtol=1e-4, atol=1e-4)


def test_rows_with_labels_never_belong_to_the_background():
    est = mixture(6).fit(X, labels=np.where(LOST, 7, -1), background=True)
    assert est.background_weight_ < 0.01
    assert mixture(6).fit(X, labels=np.where(LOST, -1, 7), background=True).background_weight_ > 0.04
    np.testing.assert_allclose(est.predict_label_proba(X), 1.0, rtol=1e-6)


def test_drawn_rows_come_from_the_mixture():
    est = mixture().fit(X, background=True)
    rows, labels = est.sample(20_000)
    assert (np.diff(labels) >= 0).all()
    assert (labels == -1).mean() == pytest.approx(est.background_weight_, abs=0.005)
    far = rows[labels == -1]
    np.testing.assert_allclose(far.mean(axis=0), (X.min(axis=0) + X.max(axis=0)) / 2, atol=2.0)
    assert (far >= X.min(axis=0)).all()
    assert (far <= X.max(axis=0)).all()
    assert mixture().fit(rows, background=True).background_weight_ == pytest.approx(est.background_weight_, abs=0.01)


def test_streams_warm_starts_and_checkpoints_keep_the_background(tmp_path):
    est = mixture().partial_fit(X[:1_000], background=True)
    est = pickle.loads(pickle.dumps(est)).partial_fit(X[1_000:2_000]).partial_fit(X[2_000:], background=True)
    assert est.background_weight_ == pytest.approx(LOST.mean(), abs=0.015)
    est.set_params(warm_start=True, max_iter=5).fit(X)
    assert est.background_weight_ == pytest.approx(LOST.mean(), abs=0.01)
    mixture(max_iter=2).fit(X, checkpoint=tmp_path, background=True)
    more = mixture(max_iter=4).fit(X, checkpoint=tmp_path, background=True)
    assert_same_bits(fitted_arrays(more, X), fitted_arrays(mixture(max_iter=4).fit(X, background=True), X))
    with pytest.raises(ValueError, match="data"):
        mixture(max_iter=4).fit(X, checkpoint=tmp_path, background=0.2)


def test_constant_columns_and_equal_rows_have_a_box():
    rows = np.column_stack([X, np.full(len(X), 3.0)])
    est = mixture().fit(rows, background=True)
    assert est.background_weight_ == pytest.approx(LOST.mean(), abs=0.01)
    assert np.isfinite(mixture(2).fit(np.ones((20, 2)), background=True).score(np.ones((3, 2))))


@pytest.mark.parametrize("background", [0.0, 1.0, -0.1, 2, np.nan, "yes", None, [0.1]])
def test_other_shares_are_refused(background):
    with pytest.raises(ValueError, match=r"background is .*; give True, False, or an expected share between 0 and 1"):
        mixture().fit(X, background=background)


def test_what_contradicts_a_background_is_refused():
    plain, est = mixture().fit(X), mixture().fit(X, background=True)
    with pytest.raises(ValueError, match="background was given to a mixture that was fitted without one; call fit"):
        plain.partial_fit(X, background=True)
    with pytest.raises(ValueError, match="background cannot be used with noise_variance; leave one"):
        mixture().fit(X, background=True, noise_variance=[0.1, 0.1])
    for call in (est.partial_fit, est.score_samples, est.predict):
        with pytest.raises(ValueError, match="noise_variance cannot be used after a fit with background; leave it out"):
            call(X, noise_variance=[0.1, 0.1])
