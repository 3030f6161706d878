"""Marginals, conditionals and completed rows against the joint density."""

import forms
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sparsemix import SparseGaussianMixture
from sparsemix._estimator.input.forms import columns_of, is_frame, numbers_of
from sparsemix._stats.families import GAUSSIANS

D, K = 5, 3
TYPES = sorted(GAUSSIANS)


def fitted(kind, d=D, **params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, d)) @ rng.normal(size=(d, d)) + 4.0 * rng.normal(size=(K, d))[rng.integers(0, K, 300)]
    kind = ("low_rank", min(2, d - 1)) if kind == "low_rank" else kind
    return SparseGaussianMixture(K, n_nonzero=K, covariance_type=kind, random_state=0, **params).fit(X), X


def dense(mixture):
    """Weights, means and covariance matrices of the density."""
    found = mixture.density_parameters()
    weights, covariances, kind = found["weights"], found["covariances"], found["covariance_type"]
    means = np.zeros((K, mixture.n_features_in_)) if found["means"] is None else found["means"]
    if kind == "low_rank":
        loadings, noise = covariances
        return weights, means, np.array([w.T @ w + np.diag(v) for w, v in zip(loadings, noise, strict=True)])
    d = mixture.n_features_in_
    if kind in ("diag", "spherical"):
        covariances = np.array([np.eye(d) * each for each in covariances])
    elif kind in ("tied_diag", "tied_spherical"):
        covariances = np.eye(d) * covariances
    return weights, means, np.broadcast_to(covariances, (K, d, d))


def parts(mixture, given):
    """Means and covariances of the other columns in each component, as functions of the given values."""
    rest = [d for d in range(mixture.n_features_in_) if d not in given]
    for weight, mean, cov in zip(*dense(mixture), strict=True):
        gain = cov[np.ix_(rest, given)] @ np.linalg.inv(cov[np.ix_(given, given)])
        of_given = multivariate_normal(mean[given], cov[np.ix_(given, given)])
        yield weight, of_given, mean, gain, cov[np.ix_(rest, rest)] - gain @ cov[np.ix_(given, rest)], rest


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("kind", TYPES)
def test_densities_of_parts_make_the_joint_density(kind, inference):
    mixture, X = fitted(kind, inference=inference)
    for given in ([3, 0], [1], [4, 0, 2, 1]):
        rest = [d for d in range(D) if d not in given]
        marginal = mixture.marginal(given).score_samples(X[:20][:, given])
        joint = mixture.score_samples(X[:20])
        for row, of_given, both in zip(X[:20], marginal, joint, strict=True):
            conditional = mixture.condition(given, row[given])
            assert of_given + conditional.score_samples(row[None, rest])[0] == pytest.approx(both, rel=1e-6, abs=1e-6)


def with_gaps(X):
    """Rows of which some have one pattern of missing values, some another one each, and some have no values."""
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.4] = np.nan
    X[:10], X[10:20, 0], X[20:30, 1:], X[39] = 0.5, np.nan, np.nan, np.nan
    return X


def completed(mixture, X):
    """The rows, each completed by conditional means of all components in NumPy."""
    X = X.astype(np.float64)
    weights, means, _ = dense(mixture)
    for row in X:
        lost = np.isnan(row)
        given = np.flatnonzero(~lost)
        if not len(given):
            row[:] = weights @ means
        elif lost.any():
            each = [(w, n.logpdf(row[given]), m[r] + g @ (row[given] - m[given]))
                    for w, n, m, g, _, r in parts(mixture, given)]  # fmt: skip
            logs = np.array([np.log(w) + log for w, log, _ in each])
            resp = np.exp(logs - logs.max())
            row[lost] = resp / resp.sum() @ np.array([mean for *_, mean in each])
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("d", [1, D, 70])
@pytest.mark.parametrize("kind", TYPES)
def test_missing_values_become_conditional_means(kind, d, inference, dtype):
    if kind == "low_rank" and d == 1:
        kind = "diag"  # a factor analyser needs two columns
    mixture, X = fitted(kind, d, inference=inference)
    X = with_gaps(X[:60]).astype(dtype)
    found = mixture.impute(X)
    assert found.dtype == dtype
    assert np.array_equal(found[~np.isnan(X)], X[~np.isnan(X)])
    tolerance = 1e-9 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found, completed(mixture, X), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("draw", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_completed_rows_are_the_same_for_any_number_of_threads(kind, draw, dtype):
    mixture, X = fitted(kind)
    X = with_gaps(np.tile(X, (5, 1))).astype(dtype)
    found = [mixture.set_params(n_jobs=n_jobs).impute(X, draw=draw) for n_jobs in (1, 2, 3, 1)]
    assert all(np.array_equal(found[0], each) for each in found)
    other = mixture.set_params(random_state=1).impute(X, draw=draw)
    assert np.array_equal(found[0], other) != draw


@pytest.mark.parametrize("name", [*forms.DENSE, *forms.SINGLE])
def test_data_frames_are_completed_as_data_frames(name):
    whole = (forms.DENSE | forms.SINGLE)[name](np.random.default_rng(0).integers(0, 9, size=(60, D)))
    found = SparseGaussianMixture(K, random_state=0).fit(whole).impute(whole)
    if not is_frame(whole):
        assert type(found) is np.ndarray
        return
    assert type(found) is type(whole)
    assert [name for name, _ in columns_of(found)] == [name for name, _ in columns_of(whole)]
    assert np.array_equal(numbers_of(found), numbers_of(whole))
    assert numbers_of(found).dtype.kind == "f"
    assert found is not whole


@pytest.mark.parametrize("index", [None, "abc", [5, 5, 7]])
@pytest.mark.parametrize("missing", [np.nan, None, "NA"])
def test_frames_of_pandas_keep_their_index_and_columns(missing, index):
    pandas = pytest.importorskip("pandas")
    _, X = fitted("full")
    frame = pandas.DataFrame(X, columns=list("zyxwv"))
    mixture = SparseGaussianMixture(K, random_state=0).fit(frame)
    some = frame.iloc[:3].astype("Float64" if missing == "NA" else object)
    some.iloc[1, 2] = pandas.NA if missing == "NA" else missing
    some.index = range(3, 6) if index is None else list(index)
    found = mixture.impute(some)
    assert found.index.tolist() == some.index.tolist()
    assert found.columns.tolist() == list("zyxwv")
    assert set(found.dtypes) == {np.dtype(np.float64)}
    X = X[:3].copy()
    X[1, 2] = np.nan
    np.testing.assert_allclose(found.to_numpy(), completed(mixture, X), rtol=1e-9)


@pytest.mark.parametrize("kind", TYPES)
def test_draws_have_the_moments_of_the_conditional_mixture(kind):
    mixture, X = fitted(kind)
    given, n = [0, 2], 20_000
    X = np.full((n, D), np.nan)
    X[:, given] = [1.0, -2.0]
    found = mixture.impute(X, draw=True)[:, [1, 3, 4]]
    each = list(parts(mixture, given))
    resp = np.array([w * of_given.pdf([1.0, -2.0]) for w, of_given, *_ in each])
    resp /= resp.sum()
    means = np.array([m[r] + g @ (np.array([1.0, -2.0]) - m[given]) for _, _, m, g, _, r in each])
    mean = resp @ means
    cov = sum(r * (c + np.outer(m - mean, m - mean)) for r, m, (*_, c, _) in zip(resp, means, each, strict=True))
    scale = np.sqrt(np.diag(cov))
    assert np.all(np.abs(found.mean(axis=0) - mean) < 5 * scale / np.sqrt(n))
    assert np.all(np.abs(np.cov(found.T) - cov) < 0.12 * np.outer(scale, scale))


def test_columns_have_names():
    pandas = pytest.importorskip("pandas")
    _, X = fitted("full")
    named = SparseGaussianMixture(K, random_state=0).fit(pandas.DataFrame(X, columns=list("abcde")))
    plain = SparseGaussianMixture(K, random_state=0).fit(X)
    assert np.array_equal(named.marginal(["c", "a"]).means_, plain.marginal([2, 0]).means_)
    assert named.marginal(["c", "a"]).feature_names_in_.tolist() == ["c", "a"]
    assert named.condition("b", 1.0).feature_names_in_.tolist() == ["a", "c", "d", "e"]
    assert np.isfinite(named.condition("b", 1.0).condition(["e"], [0.0]).weights_).all()
    with pytest.raises(ValueError, match="columns contains 'z'"):
        named.marginal(["z"])


@pytest.mark.parametrize(
    ("columns", "values", "says"),
    [([5], [0.0], "numbers from 0 to 4"), ([1, 1], [0.0, 0.0], "each only once"), ([], [], "at least one"),
     ([0], [np.nan], "not known"), ([0], [1.0, 2.0], "one number"), (range(5), [0.0] * 5, "every column"),
     (slice(1), [0.0], "a list of numbers or names")],
)  # fmt: skip
def test_wrong_columns_and_values_are_named(columns, values, says):
    mixture, _ = fitted("diag")
    with pytest.raises(ValueError, match=says):
        mixture.condition(columns, values)


def test_all_components_complete_a_row():
    """Also responsibilities beyond the n_nonzero largest."""
    means = np.c_[np.zeros(8), 10.0 * np.arange(8)]
    mixture = SparseGaussianMixture.from_parameters(np.ones(8) / 8, means, np.ones(8), covariance_type="spherical")
    assert mixture.impute([[0.3, np.nan]])[0, 1] == pytest.approx(35.0)
    with pytest.raises(ValueError, match="draw='yes'"):
        mixture.impute([[0.3, np.nan]], draw="yes")

