"""Dirichlet-multinomial regression: the mode next to numerical optimisation, and draws next to their covariance."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import gammaln, psi

from sparsemix._models.topics.covariates import count_regression, dirichlet_regression
from sparsemix._models.topics.covariates.count_regression import CountRegression
from sparsemix._models.topics.covariates.dirichlet_regression import draw_rates, fit_rates, rates, sums_of_rates


def problem(seed, n=300, n_topics=4):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(n), rng.standard_normal(n), rng.integers(2, size=n)])
    truth = rng.standard_normal((3, n_topics)) * 0.7 - 0.5
    alpha = rates(rows, truth)
    counts = np.array([rng.multinomial(40, rng.dirichlet(a)) for a in alpha])
    return rng, rows, truth, counts


@pytest.mark.parametrize("grouped", [False, True])
def test_mode_is_the_optimum_of_poisson_regressions(grouped):
    rng, rows, _, counts = problem(0)
    if grouped:
        rows[:, 1] = rng.integers(3, size=len(rows))
    exposure, tables = rng.gamma(2.0, size=len(rows)), counts * rng.random(counts.shape)
    mean, precision = rng.standard_normal((3, 4)), np.array([0.1, 1.0, 2.0])
    totals = rows.T @ tables

    def minus(flat):
        c = flat.reshape(3, 4)
        rest = exposure @ np.exp(rows @ c).sum(axis=1) + 0.5 * (precision @ (c - mean) ** 2).sum()
        return rest - (totals * c).sum()

    expected = minimize(minus, np.zeros(12), method="BFGS", options={"gtol": 1e-7}).x.reshape(3, 4)
    if grouped:
        rows, group = np.unique(rows, axis=0, return_inverse=True)
        exposure = np.bincount(group.ravel(), exposure)
    found, curves = fit_rates(rows, exposure, totals, np.zeros((3, 4)), mean, precision)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    curve = np.einsum("n,n,np,nq->pq", exposure, np.exp(rows @ found[:, 1]), rows, rows) + np.diag(precision)
    np.testing.assert_allclose(curves[1], curve, rtol=1e-10)


def test_alternating_tables_and_rates_climb_to_the_maximum_of_the_likelihood():
    _, rows, truth, counts = problem(1)
    lengths, n_topics = counts.sum(axis=1), counts.shape[1]
    flat_prior = np.zeros((3, n_topics)), np.full(3, 1e-9)
    found = np.zeros((3, n_topics))

    def minus(flat):
        alpha = np.exp(rows @ flat.reshape(3, n_topics))
        total = alpha.sum(axis=1)
        terms = gammaln(alpha + counts) - gammaln(alpha)
        return -(gammaln(total) - gammaln(total + lengths)).sum() - terms.sum()

    for _ in range(400):
        alpha = rates(rows, found)
        tables = alpha * (psi(alpha + counts) - psi(alpha))
        exposure = psi(alpha.sum(axis=1) + lengths) - psi(alpha.sum(axis=1))
        found = fit_rates(rows, exposure, rows.T @ tables, found, *flat_prior, max_steps=2)[0]
    best = minimize(minus, found.ravel(), method="BFGS", options={"gtol": 1e-4})
    np.testing.assert_allclose(found, best.x.reshape(found.shape), atol=2e-3)
    assert np.abs(found - truth).max() < 0.4


def test_draws_have_the_covariance_of_the_curvature():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((2, 3, 3))
    curves = root @ root.transpose(0, 2, 1) + np.eye(3)
    draws = np.array([draw_rates(np.ones((3, 2)), curves, rng) for _ in range(20000)])
    for k in range(2):
        np.testing.assert_allclose(np.cov(draws[:, :, k].T), np.linalg.inv(curves[k]), atol=0.03)
    np.testing.assert_allclose(draws.mean(axis=0), 1.0, atol=0.03)


def test_far_starts_and_topics_without_tables_stay_finite():
    _, rows, _, counts = problem(3)
    tables = np.minimum(counts, 1.0)
    tables[:, 0] = 0.0
    start = np.full((3, 4), -4.0)
    prior = np.full((3, 4), -3.0), np.full(3, 0.5)
    found = fit_rates(rows, np.ones(len(rows)), rows.T @ tables, start, *prior)[0]
    again = fit_rates(rows, np.ones(len(rows)), rows.T @ tables, -start / 8, *prior)[0]
    np.testing.assert_allclose(found, again, atol=1e-5)
    assert np.isfinite(found).all()
    assert (found[0, 1:] > found[0, 0]).all()


def test_blocks_of_rows_change_nothing(monkeypatch):
    _, rows, truth, counts = problem(4)
    weight, prior = np.random.default_rng(0).random(len(rows)), (np.zeros((3, 4)), np.ones(3))
    given = rows, weight, rows.T @ counts, np.zeros((3, 4)), *prior
    whole = fit_rates(*given), sums_of_rates(rows, truth, weight)
    monkeypatch.setattr(dirichlet_regression, "BLOCK", 50)
    parts = fit_rates(*given), sums_of_rates(rows, truth, weight)
    for found, expected in zip((*parts[0], parts[1]), (*whole[0], whole[1]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(whole[1], weight @ rates(rows, truth), rtol=1e-12)


@pytest.mark.parametrize("block", [1 << 20, 8])
@pytest.mark.parametrize("grouped", [False, True])
def test_mode_given_counts_is_the_optimum_of_the_likelihood(grouped, block, monkeypatch):
    monkeypatch.setattr(count_regression, "BLOCK", block)
    rng, rows, _, counts = problem(2)
    if grouped:
        rows[:, 1] = rng.integers(3, size=len(rows))
    weight, mean, precision = rng.random(len(rows)) + 0.5, rng.standard_normal((3, 4)), np.array([0.1, 1.0, 2.0])

    def minus(flat):
        c = flat.reshape(3, 4)
        alpha = np.exp(rows @ c)
        total = alpha.sum(axis=1)
        terms = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=1)
        value = weight @ (gammaln(total) - gammaln(total + counts.sum(axis=1)) + terms)
        return 0.5 * (precision @ (c - mean) ** 2).sum() - value

    expected = minimize(minus, np.zeros(12), method="BFGS", options={"gtol": 1e-6}).x.reshape(3, 4)
    distinct, groups = np.unique(rows, axis=0, return_inverse=True)
    given = CountRegression(distinct, groups.ravel(), sparse.csr_array(counts.astype(float)), weight, mean, precision)
    found = np.zeros((3, 4))
    for _ in range(4):  # a mode ends at steps of a tenth
        found = given.mode(found)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    off = np.add(expected, [[0.4], [0.0], [0.0]])
    flat = CountRegression(
        distinct, groups.ravel(), sparse.csr_array(counts.astype(float)), weight, off, 1e-9 * precision
    )
    assert flat.shift(off, 0.0, 1e-9) == pytest.approx(-0.4, abs=0.1)
