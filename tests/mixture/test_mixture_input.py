"""Wrong input of mixtures: priors and starts of the wrong shape, too few rows, rows too extreme."""


import numpy as np
import pytest
from fitted import assert_never_fitted, assert_unchanged, snapshot
from scipy import sparse

from sparsemix import SparseGaussianMixture

# Fits of a few epochs: the tests check their results, not that they converge.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

K, D = 3, 2
X = np.random.default_rng(0).standard_normal((60, D)) + np.repeat([[-3, 0], [3, 0], [0, 4]], 20, axis=0)


def mixture(**params):
    return SparseGaussianMixture(K, **({"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "random_state": 0} | params))


TOO_FEW = {
    "few rows": (X[:2], None, r"2 rows.*n_components=3.*n_components"),
    "few weighted rows": (X, np.r_[np.ones(2), np.zeros(58)], r"2 rows with positive weight.*n_components=3"),
}


def matrix_with(value, row):
    out = np.full((60, K), 1 / K)
    out[row] = value
    return out


def given(**values):
    return {"init_params": values}


BAD_PARAMETERS = {
    "dof too small": ({"degrees_of_freedom_prior": 1.0}, "degrees_of_freedom_prior is 1.0; it must be greater than 1"),
    "long mean": ({"mean_prior": np.zeros(3)}, r"mean_prior has shape \(3,\), expected \(2,\)"),
    "NaN mean": ({"mean_prior": [np.nan, 0.0]}, "mean_prior contains NaN"),
    "wide covariance": ({"covariance_prior": np.eye(3)}, r"covariance_prior has shape \(3, 3\), expected \(2, 2\)"),
    "indefinite": ({"covariance_prior": -np.eye(D)}, "covariance_prior must be.*positive definite"),
    "asymmetric": ({"covariance_prior": [[1.0, 0.5], [0.0, 1.0]]}, "covariance_prior must be symmetric"),
    "zero variance": ({"covariance_type": "diag", "covariance_prior": [1.0, 0.0]}, "covariance_prior.*positive"),
    "spherical matrix": ({"covariance_type": "spherical", "covariance_prior": -2.0}, "covariance_prior"),
    "few weights": (given(weights=[0.5, 0.5]), r"weights.. has shape \(2,\), expected \(3,\)"),
    "weights sum": (given(weights=[0.5, 0.5, 0.5]), "weights.*sum to one.*1.5"),
    "negative weights": (given(weights=[1.5, -0.5, 0.0]), "weights.. must not be negative"),
    "unknown key": (given(scales=np.ones(3)), "init_params has the key 'scales'; the keys may be 'weights', 'means', "),
    "no means": ({"covariance_type": "zero_mean", "init_params": X[:3]}, "'zero_mean' has no means; give init_params="),
    "few means": ({"init_params": np.zeros((2, D))}, r"init_params has shape \(2, 2\), expected \(3, 2\)"),
    "means that are too large": ({"init_params": np.full((K, D), 1e80)}, r"init_params holds 1e\+80"),
    "infinite means": ({"init_params": np.full((K, D), np.inf)}, "init_params contains infinity"),
    "few precisions": (given(precisions=np.eye(D)), r"precisions.. has shape \(2, 2\), expected \(3, 2, 2\)"),
    "indefinite precisions": (given(precisions=-np.ones((K, 1, 1)) * np.eye(D)), "precisions.*positive def"),
    "wide responsibilities": (given(responsibilities=np.ones((60, 4))), "has 4 columns.*3 components"),
    "short responsibilities": (given(responsibilities=np.ones((59, K))), "has 59 rows.*60 rows of X"),
    "long responsibilities": (given(responsibilities=np.ones((61, K))), "has 61 rows.*60 rows of X"),
    "empty responsibility": (given(responsibilities=matrix_with(0.0, 23)), "row 23 of init_params.*no negative"),
    "negative responsibility": (given(responsibilities=matrix_with([2.0, -1.0, 0.0], 23)), "row 23 of init_params"),
    "empty sparse row": (given(responsibilities=sparse.csr_array(matrix_with(0.0, 23))), "row 23 of init_params"),
}


# -- each mistake is named


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_predict"])
@pytest.mark.parametrize("name", TOO_FEW)
def test_fewer_rows_than_components_are_refused(name, method):
    rows, sample_weight, message = TOO_FEW[name]
    new, est = mixture(), mixture().fit(X)
    before = snapshot(est, X)
    with pytest.raises(ValueError, match=message):
        getattr(new, method)(rows, sample_weight=sample_weight)
    assert_never_fitted(new)
    if method == "partial_fit":  # later blocks may be of any length
        assert est.partial_fit(rows, sample_weight=sample_weight).n_samples_seen_ == 62
    else:
        with pytest.raises(ValueError, match=message):
            getattr(est, method)(rows, sample_weight=sample_weight)
        assert_unchanged(est, before, X)


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, "fit") for name in BAD_PARAMETERS] + [(name, "partial_fit") for name in BAD_PARAMETERS],
)
def test_bad_parameters_are_named_and_change_nothing(name, method):
    params, message = BAD_PARAMETERS[name]
    est = mixture().set_params(**params)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        getattr(est, method)(X)
    assert_never_fitted(est)
    if method == "fit":
        est = mixture().fit(X)
        before = snapshot(est, X)
        with pytest.raises(ValueError, match=f"(?s){message}"):
            est.set_params(**params).fit(X)
        est.set_params(**mixture().get_params(deep=False))
        assert_unchanged(est, before, X)


@pytest.mark.parametrize(
    ("covariance_type", "least"), [("full", 1), ("tied", 1), ("zero_mean", 1), ("diag", 0), ("spherical", 0)]
)
def test_least_degrees_of_freedom(covariance_type, least):
    est = mixture(covariance_type=covariance_type, degrees_of_freedom_prior=least + 0.1).fit(X)
    assert np.isfinite(est.score(X))
    if least:
        with pytest.raises(ValueError, match="degrees_of_freedom_prior"):
            est.set_params(degrees_of_freedom_prior=least).fit(X)


READERS = ["predict", "predict_proba", "predict_sparse_proba", "partial_fit", "expected_stats"]


@pytest.mark.parametrize("method", READERS)
def test_row_too_extreme_for_every_component_is_named(method):
    est = mixture(covariance_type="diag").fit(X)
    extreme = np.repeat(X, 30, axis=0)
    extreme[1501 % len(extreme)] = 1e200
    with pytest.raises(ValueError, match=f"row {1501 % len(extreme)} .*extreme"), np.errstate(over="ignore"):
        getattr(est, method)(extreme)


def test_statistics_of_another_model_do_not_add():
    est, other = mixture().fit(X), mixture().fit(X + 1.0)
    before = snapshot(est, X)
    with pytest.raises(ValueError, match="different shifts"):
        est.update_from_stats(other.expected_stats(X))
    assert_unchanged(est, before, X)
