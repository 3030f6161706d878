"""Mixtures of yes and no: slow twins, closed forms, sums over all rows, draws, thresholds."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import betaln, digamma, logsumexp
from scipy.stats import chi2
from test_linear_mixtures import (
    ExactBernoulliMixture,
    K,
    dense,
    flags,
    reference_weights,
    softmax_of_largest,
    sums_of,
    yes_no,
)

from sparsemix import SparseBernoulliMixture
from sparsemix._stats.linear import Bernoulli
from sparsemix._stats.linear.bernoulli import SEED_ROWS
from sparsemix.mixture._linear._rows import BinaryRows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def log_likelihoods(x, probabilities):
    """Log density of each row under each component, (n, K), from the definition."""
    return np.log(np.where(x[:, None] > 0, probabilities, 1.0 - probabilities)).sum(axis=2)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("n_nonzero", [1, 2, K])
def test_fits_equal_a_twin_in_numpy(n_nonzero, inference):
    x, _ = flags()
    resp = np.random.default_rng(1).dirichlet(np.full(K, 0.3), len(x))
    params = {"n_nonzero": n_nonzero, "inference": inference, "beta_prior": 0.3}
    params |= {"weight_concentration_prior": 0.7} if inference == "vb" else {}
    est = yes_no(init_params={"responsibilities": resp}, max_iter=6, **params).fit(x)
    f = digamma if inference == "vb" else np.log
    for _ in range(6):
        counts, sums = resp.sum(axis=0), resp.T @ x
        yes, no = 0.3 + sums, 0.3 + counts[:, None] - sums
        logs = np.where(x[:, None] > 0, f(yes), f(no)) - f(yes + no)
        resp = softmax_of_largest(reference_weights(inference).expected_log(counts) + logs.sum(axis=2), n_nonzero)
    np.testing.assert_allclose(dense(est._fitted.stats["first"]), resp.T @ x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(est._fitted.stats["count"], resp.sum(axis=0), rtol=1e-9)
    expected = (0.3 + resp.T @ x) / (0.6 + resp.sum(axis=0))[:, None]
    np.testing.assert_allclose(est.probabilities_, expected, rtol=1e-9)


def test_the_bound_of_one_component_is_the_evidence():
    x, _ = flags(40)
    est = ExactBernoulliMixture(1, beta_prior=0.3, inference="vb", learning_method="batch").fit(x)
    yes = x.sum(axis=0)
    evidence = (betaln(0.3 + yes, 0.3 + len(x) - yes) - betaln(0.3, 0.3)).sum()
    assert est.lower_bound_ == pytest.approx(evidence, rel=1e-10)


def test_the_objective_of_em_is_the_log_likelihood_with_the_log_prior():
    x, _ = flags(40, d=7)
    resp = np.random.default_rng(2).dirichlet(np.full(K, 0.3), len(x))
    family = Bernoulli(7, 0.4)
    stats = sums_of(family, resp, x)
    found = family.fit(stats, variational=False)
    log_prior = 0.4 * (np.log(found.means) + np.log(1.0 - found.means)).sum()
    expected = (resp * log_likelihoods(x, found.means)).sum() + log_prior
    assert family.objective(found, stats, variational=False) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("inference", ["vb", "em"])
def test_densities_follow_the_definition_and_sum_to_one(inference, make):
    x, _ = flags(300, d=8)
    est = SparseBernoulliMixture(3, inference=inference, n_nonzero=None, random_state=0).fit(make(x))
    every = np.array(list(product([0.0, 1.0], repeat=8)))
    found = est.score_samples(make(every))
    weights = np.log(est.weights_) + log_likelihoods(every, est.probabilities_)
    np.testing.assert_allclose(found, logsumexp(weights, axis=1), rtol=1e-10)
    assert np.exp(found).sum() == pytest.approx(1.0, rel=1e-10)
    if inference == "em":  # in VB responsibilities are those of the expected logs
        np.testing.assert_allclose(est.predict_proba(make(every)), np.exp(weights - found[:, None]), atol=1e-9)


def test_draws_have_the_frequencies_of_the_components():
    x, _ = flags(400, d=12)
    est = SparseBernoulliMixture(K, random_state=0).fit(x)
    rows, labels = est.sample(20_000)
    assert rows.dtype == bool
    counts = np.bincount(labels, minlength=K)
    yes = np.array([rows[labels == k].sum(axis=0) for k in range(K)])
    expected = counts[:, None] * est.probabilities_
    distance = ((yes - expected) ** 2 / (expected * (1.0 - est.probabilities_))).sum()
    assert distance < chi2.isf(1e-6, yes.size)
    np.testing.assert_allclose(counts / 20_000, est.weights_, atol=0.02)
    assert est.score(rows) == pytest.approx(est.score(x), abs=0.3)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_threshold_makes_rows_of_yes_and_no(make):
    x, _ = flags()
    plain = SparseBernoulliMixture(K, random_state=0).fit(make(x))
    numbers = x * np.random.default_rng(0).uniform(0.6, 9.0, x.shape) + 0.5 * (x == 0) * (make is np.asarray)
    cut = SparseBernoulliMixture(K, binarize=0.55, random_state=0).fit(make(numbers))
    np.testing.assert_array_equal(cut.probabilities_, plain.probabilities_)
    np.testing.assert_array_equal(cut.score_samples(make(numbers)), plain.score_samples(make(x)))
    with pytest.raises(ValueError, match="takes 0 and 1; set binarize to a threshold"):
        plain.score(make(numbers))


def test_rows_of_zeros_inform():
    """A row of zeros is evidence against components of frequent features, and of equal weight with others in a fit."""
    x = np.zeros((100, 6))
    x[::2] = np.random.default_rng(0).random((50, 6)) < 0.9
    est = SparseBernoulliMixture(2, random_state=0).fit(x)
    np.testing.assert_allclose(np.sort(est.weights_), [0.5, 0.5], atol=0.02)
    assert est.predict(np.zeros((1, 6)))[0] != est.predict(np.ones((1, 6)))[0]
    nothing = SparseBernoulliMixture(2, random_state=0).fit(np.zeros((10, 3)))
    assert nothing.score(np.zeros((2, 3))) > nothing.score(np.ones((2, 3))) + 5.0


def test_criteria_count_a_probability_for_each_feature_and_component():
    x, _ = flags(100, d=9)
    est = SparseBernoulliMixture(2, random_state=0).fit(x)
    log_likelihood, n_parameters = est.score_samples(x).sum(), 2 * 9 + 1
    assert est.aic(x) == pytest.approx(2 * n_parameters - 2 * log_likelihood, rel=1e-12)
    assert est.bic(sparse.csr_array(x)) == pytest.approx(np.log(100) * n_parameters - 2 * log_likelihood, rel=1e-12)


def test_round_off_of_sums_leaves_probabilities():
    """Additions and subtractions of batches may leave counts of yes below zero, or above those of rows."""
    family = Bernoulli(2, 0.1)
    stats = sums_of(family, np.eye(2)[[0, 1]], np.array([[1.0, 0.0], [0.0, 0.0]]))
    stats["first"] = np.array([[1.0 + 1e-9, -1e-9], [-1e-9, 0.0]])
    stats["count"] = np.array([1.0, -1e-12])
    for variational in (True, False):
        found = family.fit(stats, variational)
        assert ((found.means > 0) & (found.means < 1)).all()
        assert np.isfinite(family.objective(found, stats, variational))


# -- missing answers


def lossy_flags(n=200, d=30, share=0.2):
    """Rows of zeros and ones, some of them not observed, one column and one row nowhere."""
    x = flags(n, d)[0]
    x[np.random.default_rng(7).random(x.shape) < share] = np.nan
    x[:, 3] = x[5] = np.nan
    return x


def stored(x):
    """A sparse matrix that stores NaN."""
    return sparse.csr_array(x)


def observed_logs(x, yes, no):
    """Sum of the terms of observed answers, (n, K)."""
    return np.where(np.isnan(x[:, None]), 0.0, np.where(x[:, None] > 0, yes, no)).sum(axis=2)


@pytest.mark.parametrize("make", [np.asarray, stored])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("n_nonzero", [2, K])
def test_fits_of_missing_answers_equal_a_twin_in_numpy(n_nonzero, inference, make):
    """An answer that is not observed counts neither as yes nor as no."""
    x = lossy_flags()
    resp = np.random.default_rng(1).dirichlet(np.full(K, 0.3), len(x))
    params = {"n_nonzero": n_nonzero, "inference": inference, "beta_prior": 0.3}
    params |= {"weight_concentration_prior": 0.7} if inference == "vb" else {}
    est = yes_no(init_params={"responsibilities": resp}, max_iter=6, **params).fit(make(x))
    f, observed = digamma if inference == "vb" else np.log, ~np.isnan(x)
    for _ in range(6):
        yes = 0.3 + resp.T @ np.nan_to_num(x)
        both = 0.6 + resp.T @ observed
        no, counts = both - yes, resp.sum(axis=0)
        logs = observed_logs(x, f(yes) - f(both), f(no) - f(both))
        resp = softmax_of_largest(reference_weights(inference).expected_log(counts) + logs, n_nonzero)
    np.testing.assert_allclose(dense(est._fitted.stats["lost"]), resp.T @ ~observed, rtol=1e-9, atol=1e-9)
    expected = (0.3 + resp.T @ np.nan_to_num(x)) / (0.6 + resp.T @ observed)
    np.testing.assert_allclose(est.probabilities_, expected, rtol=1e-9)
    weights = np.log(est.weights_) + observed_logs(x, np.log(expected), np.log(1.0 - expected))
    np.testing.assert_allclose(est.score_samples(make(x)), logsumexp(weights, axis=1), rtol=1e-9, atol=1e-12)
    if inference == "em":
        np.testing.assert_array_equal(est.predict(make(x)), weights.argmax(axis=1))


@pytest.mark.parametrize("candidates", ["all", 2])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em"])
def test_bounds_of_missing_answers_never_fall(inference, learning_method, candidates):
    x = lossy_flags(600)
    params = {"inference": inference, "learning_method": learning_method, "candidates": candidates, "batch_size": 150}
    bounds = np.array(yes_no(init_params="random", max_iter=15, **params).fit(x).lower_bounds_)
    assert np.diff(bounds).min() >= -1e-9 * np.abs(bounds).max()


def test_the_bound_of_one_component_with_missing_answers_is_the_evidence():
    x = lossy_flags(40)
    est = ExactBernoulliMixture(1, beta_prior=0.3, inference="vb", learning_method="batch").fit(x)
    yes, rows = np.nansum(x, axis=0), (~np.isnan(x)).sum(axis=0)
    assert est.lower_bound_ == pytest.approx((betaln(0.3 + yes, 0.3 + rows - yes) - betaln(0.3, 0.3)).sum(), rel=1e-10)


@pytest.mark.parametrize("learning_method", ["batch", "memoized", "online"])
def test_missing_answers_leave_the_probabilities_of_complete_rows(learning_method):
    """Filled with zeros, and with the frequencies of the columns, rows give worse densities."""
    rng, n, d, lost = np.random.default_rng(0), 3_000, 30, 0.2
    truth, labels = rng.beta(0.5, 0.5, (K, d)).clip(0.02, 0.98), np.arange(n + 1_000) % K
    x = (rng.random((n + 1_000, d)) < truth[labels]).astype(float)
    holes = rng.random((n, d)) < lost
    seen, held = np.where(holes, np.nan, x[:n]), x[n:]

    def fit(rows):
        return SparseBernoulliMixture(K, learning_method=learning_method, random_state=0).fit(rows)

    est, whole = fit(seen), fit(x[:n])
    match = np.abs(est.probabilities_[:, None] - whole.probabilities_).sum(axis=2).argmin(axis=1)
    assert sorted(match) == list(range(K))
    error = 5.0 * np.sqrt(0.25 * K / n * lost / (1.0 - lost))
    np.testing.assert_allclose(est.probabilities_, whole.probabilities_[match], atol=error)
    drawn = np.where(holes, rng.random((n, d)) < np.nanmean(seen, axis=0), x[:n])
    assert est.score(held) > whole.score(held) - 0.02
    assert est.score(held) > max(fit(np.nan_to_num(seen)).score(held), fit(drawn.astype(float)).score(held)) + 0.2


def test_blocks_with_and_without_missing_answers_add_up():
    x = lossy_flags()
    x[:80] = flags(80)[0]
    est = SparseBernoulliMixture(K, random_state=0).partial_fit(x[:80])
    whole, parts = est.expected_stats(x), est.expected_stats(x[:80]) + est.expected_stats(stored(x[80:]))
    for name in ("count", "first", "lost"):
        np.testing.assert_allclose(dense(whole[name]), dense(parts[name]), rtol=1e-6, atol=1e-9)
    assert np.isfinite(est.partial_fit(x[80:]).partial_fit(x[:80]).score(x))


@pytest.mark.parametrize("make", [np.asarray, stored])
def test_people_without_an_answer_cost_nothing_in_bic(make):
    """Their likelihood is one, and log n prices a parameter by the people who answered."""
    x = lossy_flags()
    est, silent = SparseBernoulliMixture(2, random_state=0).fit(x), np.vstack([x, np.full((300, x.shape[1]), np.nan)])
    answered = x[~np.isnan(x).all(axis=1)]
    assert len(answered) == len(x) - 1
    expected = np.log(len(answered)) * (2 * x.shape[1] + 1) - 2 * est.score_samples(answered).sum()
    assert est.bic(make(silent)) == pytest.approx(expected, rel=1e-12)
    assert est.aic(make(silent)) == pytest.approx(est.aic(answered), rel=1e-12)


@pytest.mark.parametrize("make", [np.asarray, stored])
def test_a_threshold_leaves_missing_answers(make):
    x = lossy_flags()
    plain = SparseBernoulliMixture(K, random_state=0).fit(make(x))
    cut = SparseBernoulliMixture(K, binarize=0.5, random_state=0).fit(make(3.0 * x))
    np.testing.assert_array_equal(cut.probabilities_, plain.probabilities_)
    np.testing.assert_array_equal(cut.score_samples(make(3.0 * x)), plain.score_samples(make(x)))


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "boolean", object])
def test_data_frames_with_missing_answers(dtype):
    pandas = pytest.importorskip("pandas")
    x = lossy_flags()
    frame = pandas.DataFrame(x).astype(object).where(~np.isnan(x), None)
    frame = frame if dtype is object else frame.map(lambda v: pandas.NA if v is None else v).astype(dtype)
    wanted = SparseBernoulliMixture(K, random_state=0).fit(x)
    np.testing.assert_array_equal(SparseBernoulliMixture(K, random_state=0).fit(frame).score_samples(frame),
                                  wanted.score_samples(x))  # fmt: skip


def test_seeds_weigh_observed_answers():
    x = lossy_flags(40, d=9)
    family = Bernoulli(9, 0.1, np.random.default_rng(0).uniform(0.1, 0.9, 9))
    block = BinaryRows(x, None, np.float64).read(slice(0, 40))
    smoothed = np.where(np.isnan(x), family.frequencies, (SEED_ROWS * family.frequencies + x) / (SEED_ROWS + 1.0))
    expected = observed_logs(x, np.log(smoothed), np.log(1.0 - smoothed))
    np.testing.assert_allclose(family.seed_weights(block)(np.arange(40)), expected.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(family.own_weights(block), np.diag(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_incomplete_rows_of_weight_two_are_two_rows(learning_method):
    x, weight = lossy_flags(), np.random.default_rng(3).integers(0, 4, 200)
    params = {"init_params": np.random.default_rng(4).uniform(0.2, 0.8, (K, 30)), "learning_method": learning_method}
    weighed = yes_no(**params).fit(x, sample_weight=weight.astype(float))
    repeated = yes_no(**params).fit(np.repeat(x, weight, axis=0))
    np.testing.assert_allclose(weighed.probabilities_, repeated.probabilities_, rtol=1e-8)
