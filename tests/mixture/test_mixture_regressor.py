"""Gaussian mixture regression against the conditional mixture of each row."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from sparsemix import MixtureRegressor, SparseGaussianMixture
from sparsemix._stats.families import GAUSSIANS

K, D = 3, 3


def table(n_outputs=None, n=400, seed=0):
    """Features, and outcomes that depend on them by group; without a number of outcomes y has one axis."""
    rng = np.random.default_rng(seed)
    group, X = rng.integers(0, K, n), rng.normal(size=(n, D))
    X[:, 0] += 3.0 * group
    slopes = np.random.default_rng(1).normal(size=(K, D, n_outputs or 1))
    y = np.einsum("nd,ndq->nq", X, slopes[group]) + (0.1 + 0.4 * group[:, None]) * rng.normal(size=(n, n_outputs or 1))
    return X, (y[:, 0] if n_outputs is None else y)


def fitted(kind="full", n_outputs=None, **params):
    kind = ("low_rank", 2) if kind == "low_rank" else kind
    mixture = SparseGaussianMixture(K, covariance_type=kind, random_state=0, **params)
    return MixtureRegressor(mixture).fit(*table(n_outputs))


def conditionals(regressor, X):
    """Weights (n, K), means and variances (n, K, Q) of the conditional mixtures, row by row."""
    found = []
    for row in X:
        given = np.flatnonzero(~np.isnan(row))
        mixture = regressor.mixture_.condition(given, row[given]).marginal(
            np.arange(regressor.n_outputs_) + D - len(given)
        )
        each = mixture.density_parameters()
        means = np.zeros((K, regressor.n_outputs_)) if each["means"] is None else each["means"]
        matrices = each["covariances"]
        if each["covariance_type"] == "low_rank":
            variances = (matrices[0] ** 2).sum(axis=1) + matrices[1]
        elif each["covariance_type"] in ("full", "zero_mean"):
            variances = np.diagonal(matrices, axis1=1, axis2=2)
        elif each["covariance_type"] == "tied":
            variances = np.diagonal(matrices)
        else:
            variances = np.reshape(matrices, (-1, 1)) if "spherical" in each["covariance_type"] else matrices
        found.append((each["weights"], means, np.broadcast_to(variances, means.shape)))
    return map(np.array, zip(*found, strict=True))


def rows_with_gaps():
    X = table(n=60, seed=2)[0]
    X[:20, 1] = X[10:30, 0] = np.nan
    return X


@pytest.mark.parametrize("n_outputs", [None, 1, 2])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("kind", sorted(GAUSSIANS))
def test_predictions_are_those_of_the_conditional_mixtures(kind, inference, n_outputs):
    regressor, X = fitted(kind, n_outputs, inference=inference), rows_with_gaps()
    shape = (60,) if n_outputs is None else (60, n_outputs)
    weights, means, variances = conditionals(regressor, X)
    mean = np.einsum("nk,nkq->nq", weights, means)
    square = np.einsum("nk,nkq->nq", weights, variances + means**2)
    found, std = regressor.predict(X, return_std=True)
    np.testing.assert_allclose(found, mean.reshape(shape), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(std, np.sqrt(square - mean**2).reshape(shape), rtol=1e-7)
    assert np.array_equal(regressor.predict(X), found)
    interval = regressor.predict_interval(X, 0.8)
    assert interval.shape == (*shape, 2)
    for side, probability in enumerate([0.1, 0.9]):
        z = (interval[..., side].reshape(60, 1, -1) - means) / np.sqrt(variances)
        np.testing.assert_allclose(np.einsum("nk,nkq->nq", weights, ndtr(z)), probability, rtol=1e-8)


@pytest.mark.parametrize("n_outputs", [None, 2])
@pytest.mark.parametrize("kind", sorted(GAUSSIANS))
def test_log_densities_are_those_of_the_conditional_mixtures(kind, n_outputs):
    regressor, (X, y) = fitted(kind, n_outputs), table(n_outputs, n=30, seed=3)
    want = [
        regressor.mixture_.condition(range(D), row).score_samples(np.reshape(outcome, (1, -1)))[0]
        for row, outcome in zip(X, y, strict=True)
    ]
    np.testing.assert_allclose(regressor.log_density(X, y), want, rtol=1e-6, atol=1e-6)


def test_one_component_is_linear_regression():
    X, y = table(2)
    mixture = SparseGaussianMixture(1, inference="em", reg_covar=0.0)
    line = LinearRegression().fit(X, y)
    found, std = MixtureRegressor(mixture).fit(X, y).predict(X[:9], return_std=True)
    np.testing.assert_allclose(found, line.predict(X[:9]), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(std, np.broadcast_to((y - line.predict(X)).std(axis=0), (9, 2)), rtol=1e-6)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_hold_held_out_outcomes(coverage):
    X, y = table(n=24_000)
    regressor = MixtureRegressor(SparseGaussianMixture(K, random_state=0)).fit(X[:20_000], y[:20_000])
    low, high = regressor.predict_interval(X[20_000:], coverage).T
    inside = (low < y[20_000:]) & (y[20_000:] < high)
    assert abs(inside.mean() - coverage) < 4.0 * np.sqrt(coverage * (1.0 - coverage) / 4_000)


@pytest.mark.parametrize("n_outputs", [None, 2])
@pytest.mark.parametrize("kind", sorted(GAUSSIANS))
def test_draws_have_the_moments_of_the_predictions(kind, n_outputs):
    regressor, X, n = fitted(kind, n_outputs), rows_with_gaps()[:30:6], 4_000
    draws = regressor.sample_y(X, n, random_state=1)
    mean, std = regressor.predict(X, return_std=True)
    assert draws.shape == (*mean.shape, n)
    assert np.all(np.abs(draws.mean(axis=-1) - mean) < 5.0 * std / np.sqrt(n))
    np.testing.assert_allclose(draws.std(axis=-1), std, rtol=0.15)
    if n_outputs:  # outcomes of a draw belong together
        both = regressor.mixture_.impute(np.c_[np.repeat(X[:1], n, axis=0), np.full((n, 2), np.nan)], draw=True)[:, D:]
        assert np.corrcoef(draws[0])[0, 1] == pytest.approx(np.corrcoef(both.T)[0, 1], abs=0.1)


@pytest.mark.parametrize("kind", sorted(GAUSSIANS))
def test_predictions_are_the_same_for_any_number_of_threads(kind):
    regressor, X = fitted(kind, 2), np.tile(rows_with_gaps(), (30, 1))
    found = []
    for n_jobs in (1, 2, 3):
        regressor.mixture_.set_params(n_jobs=n_jobs)
        found.append([*regressor.predict(X, True), regressor.predict_interval(X), regressor.sample_y(X[:600], 2)])
    assert all(np.array_equal(a, b) for each in found for a, b in zip(found[0], each, strict=True))


def test_a_grid_over_components_searches_a_given_mixture():
    grid = {"mixture__n_components": [1, K]}
    search = GridSearchCV(MixtureRegressor(SparseGaussianMixture(random_state=0)), grid, cv=2).fit(*table())
    assert search.best_params_ == {"mixture__n_components": K}
    assert search.best_estimator_.mixture_.n_components == K


def test_the_given_mixture_stays_unfitted_and_failed_fits_change_nothing():
    mixture = SparseGaussianMixture(K, random_state=0)
    regressor = MixtureRegressor(mixture).fit(*table())
    before = regressor.predict(table()[0])
    assert not hasattr(mixture, "weights_")
    with pytest.raises(ValueError, match="fewer than n_components=3"):
        regressor.fit(np.zeros((2, 5)), np.zeros(2))
    assert np.array_equal(regressor.predict(table()[0]), before)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1.0, np.nan, None, "0.9"])
def test_wrong_coverage_is_refused(coverage):
    with pytest.raises(ValueError, match=r"coverage=.* give a number between 0 and 1"):
        fitted().predict_interval(table()[0], coverage)


def test_other_outcomes_than_those_of_the_fit_are_refused():
    with pytest.raises(ValueError, match="y has 2 columns; give 1, as in fit"):
        fitted().log_density(*table(2))


TIED = SparseGaussianMixture(2, covariance_type="tied", random_state=0)


@pytest.mark.parametrize("mixture", [None, TIED])
def test_scikit_learns_checks(mixture):
    check_estimator(MixtureRegressor(mixture), on_skip=None)
