"""Rows with missing values: densities against marginal mixtures, statistics and steps against a slow twin."""

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp

from sparsemix import SparseGaussianMixture, blocks

TYPES = ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical", ("low_rank", 2), "zero_mean"]
RNG = np.random.default_rng(0)
COMPLETE = np.concatenate([
    RNG.normal(m, 1.0, (200, 5)) @ (np.eye(5) + 0.4 * RNG.normal(size=(5, 5))) for m in (-2.0, 0.0, 3.0)
])  # fmt: skip


def with_gaps(X, share=0.3):
    """Rows with missing values; row 7 has no value, row 9 has all."""
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    X[7], X[9] = np.nan, np.arange(X.shape[1])
    return X


X = with_gaps(COMPLETE)


def fitted(covariance_type, **params):
    """A mixture fitted to complete rows."""
    params = {"n_nonzero": None, "max_iter": 5, "tol": 0.0, "random_state": 0} | params
    return SparseGaussianMixture(3, covariance_type=covariance_type, **params).fit(COMPLETE)


def component_densities(mixture, x):
    """log weight + log density of the observed values of each row under each component, from dense matrices."""
    given = mixture.density_parameters()
    covariances = dense(given, x.shape[1])
    means = np.zeros((3, x.shape[1])) if given["means"] is None else given["means"]
    out = np.empty((len(x), 3))
    for n, row in enumerate(x):
        seen = ~np.isnan(row)
        for k in range(3):
            c, y = covariances[k][np.ix_(seen, seen)], (row - means[k])[seen]
            out[n, k] = -0.5 * (y @ np.linalg.solve(c, y) + np.linalg.slogdet(2.0 * np.pi * c)[1])
    return out + np.log(given["weights"])


def dense(given, d):
    """Covariances of 3 components as matrices."""
    value, kind = given["covariances"], given["covariance_type"]
    if kind == "low_rank":
        return [w.T @ w + np.diag(v) for w, v in zip(*value, strict=True)]
    value = [value] * 3 if kind.startswith("tied") else value
    return [c if np.ndim(c) == 2 else np.eye(d) * c for c in value]


# -- predictions


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", TYPES)
def test_densities_are_those_of_the_observed_values(covariance_type, inference):
    mixture = fitted(covariance_type, inference=inference)
    log_density = mixture.score_samples(X)
    np.testing.assert_allclose(log_density, logsumexp(component_densities(mixture, X), axis=1), rtol=1e-10, atol=1e-10)
    for n in (0, 1, 2, 9):  # the same by enumeration
        seen = np.flatnonzero(~np.isnan(X[n]))
        marginal = mixture.marginal(seen).score_samples(X[n : n + 1, seen])
        np.testing.assert_allclose(log_density[n], marginal[0], rtol=1e-10)
    assert abs(log_density[7]) < 1e-12
    assert mixture.score(X) == pytest.approx(log_density.mean())


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", TYPES)
def test_predictions_agree_and_depend_on_the_row_alone(covariance_type, inference):
    mixture = fitted(covariance_type, inference=inference)
    resp = mixture.predict_proba(X)
    if inference == "em":
        want = component_densities(mixture, X)
        np.testing.assert_allclose(resp, np.exp(want - logsumexp(want, axis=1, keepdims=True)), atol=1e-10)
    np.testing.assert_array_equal(mixture.predict(X), resp.argmax(axis=1))
    np.testing.assert_allclose(mixture.transform(X).toarray(), resp, atol=1e-12)
    np.testing.assert_allclose(mixture.predict_proba(X[5:15]), resp[5:15], rtol=1e-12)  # a matrix product rounds
    complete = X.copy()
    complete[::2] = COMPLETE[::2]
    np.testing.assert_array_equal(mixture.predict_proba(complete)[::2], mixture.predict_proba(COMPLETE)[::2])
    single = mixture.score_samples(X.astype(np.float32))
    np.testing.assert_allclose(single, mixture.score_samples(X), rtol=1e-4, atol=1e-4)


# -- statistics


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("covariance_type", TYPES)
def test_statistics_are_those_of_the_completed_rows(covariance_type, weighted):
    """The expectations of counts, sums and squares, row by row and component by component, from dense matrices."""
    mixture = fitted(covariance_type, inference="em")
    weight = np.random.default_rng(2).random(len(X)) if weighted else np.ones(len(X))
    stats = mixture.expected_stats(X, sample_weight=weight if weighted else None)
    shift = mixture._fitted.model.shift
    shift = np.zeros(X.shape[1]) if shift is None else shift
    given = mixture.density_parameters()
    covariances = dense(given, X.shape[1])
    means = np.zeros((3, X.shape[1])) if given["means"] is None else given["means"]
    logs = component_densities(mixture, X)
    resp = np.exp(logs - logsumexp(logs, axis=1, keepdims=True)) * weight[:, None]
    first, second, entropy = np.zeros((3, 5)), np.zeros((3, 5, 5)), 0.0
    for n, row in enumerate(X):
        lost = np.isnan(row)
        seen = ~lost
        for k in range(3):
            c, r = covariances[k], resp[n, k]
            gain = np.linalg.solve(c[np.ix_(seen, seen)], c[np.ix_(seen, lost)]).T
            whole = row.copy()
            whole[lost] = means[k][lost] + gain @ (row - means[k])[seen]
            left = c[np.ix_(lost, lost)] - gain @ c[np.ix_(seen, lost)]
            first[k] += r * (whole - shift)
            second[k] += r * np.outer(whole - shift, whole - shift)
            second[k][np.ix_(lost, lost)] += r * left
            entropy += 0.5 * r * (np.linalg.slogdet(2.0 * np.pi * np.e * left)[1] if lost.any() else 0.0)
            entropy -= r * (logs[n, k] - logsumexp(logs[n]))
    np.testing.assert_allclose(stats["count"], resp.sum(axis=0), rtol=1e-10)
    assert float(stats["mass"]) == pytest.approx(weight.sum())
    assert float(stats["entropy"]) == pytest.approx(entropy, rel=1e-9)
    if covariance_type != "zero_mean":
        np.testing.assert_allclose(stats["first"], first, rtol=1e-9, atol=1e-9)
    squares = np.diagonal(second, axis1=1, axis2=2)
    lower = np.tril_indices(5)
    wanted = {
        "full": second[:, *lower], "zero_mean": second[:, *lower], "diag": squares, "low_rank": squares,
        "spherical": squares.sum(axis=1, keepdims=True), "tied": second.sum(axis=0)[None, *lower],
        "tied_diag": squares.sum(axis=0)[None], "tied_spherical": np.array([[squares.sum()]]),
    }[given["covariance_type"]]  # fmt: skip
    found = stats["scatter" if given["covariance_type"].startswith("tied") else "second"]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "low_rank", "diag", "tied"])
def test_statistics_with_and_without_missing_values_add_up(covariance_type, inference):
    mixture = fitted(covariance_type, inference=inference)
    rows = X.copy()
    rows[300:] = COMPLETE[300:]
    together = mixture.expected_stats(rows)
    parts = mixture.expected_stats(rows[:300]) + mixture.expected_stats(rows[300:])
    for name in ("count", "first", "entropy"):
        np.testing.assert_allclose(parts[name], together[name], rtol=1e-9)
    assert mixture.lower_bound(parts) == pytest.approx(mixture.lower_bound(together), rel=1e-9)


# -- fits


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", TYPES)
def test_bound_never_falls(covariance_type, inference, learning_method):
    mixture = SparseGaussianMixture(
        3, covariance_type=covariance_type, inference=inference, learning_method=learning_method, n_nonzero=2,
        batch_size=200, max_iter=8, tol=0.0, random_state=0,
    ).fit(X)  # fmt: skip
    bounds = np.array(mixture.lower_bounds_)
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])).all()
    assert np.isfinite(mixture.score(COMPLETE))


@pytest.mark.parametrize("covariance_type", [t for t in TYPES if t != ("low_rank", 2)])  # which converges slowly
def test_bound_of_em_is_the_likelihood_of_the_observed_values(covariance_type):
    """At a maximum of the likelihood both are equal."""
    mixture = SparseGaussianMixture(
        2, covariance_type=covariance_type, inference="em", learning_method="batch", n_nonzero=None, reg_covar=0.0,
        max_iter=2000, tol=1e-9, random_state=0,
    ).fit(with_gaps(COMPLETE, 0.15))  # fmt: skip
    assert mixture.lower_bound_ / len(X) == pytest.approx(mixture.score(with_gaps(COMPLETE, 0.15)), abs=1e-5)


@pytest.mark.parametrize("learning_method", ["batch", "memoized", "online"])
@pytest.mark.parametrize("covariance_type", ["full", "diag", "low_rank"])
def test_known_components_are_found(covariance_type, learning_method):
    rng = np.random.default_rng(0)
    means = 6.0 * np.eye(4, 6)
    labels = rng.integers(4, size=3000)
    rows = means[labels] + rng.normal(size=(3000, 6))
    held = means[rng.integers(4, size=500)] + rng.normal(size=(500, 6))
    gaps = with_gaps(rows, 0.2)
    fit = {"covariance_type": covariance_type, "learning_method": learning_method, "random_state": 0, "max_iter": 20}
    mixture = SparseGaussianMixture(4, tol=0.0, **fit).fit(gaps)
    filled = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    assert mixture.score(held) > SparseGaussianMixture(4, tol=0.0, **fit).fit(filled).score(held) + 0.1
    assert mixture.score(held) > SparseGaussianMixture(4, tol=0.0, **fit).fit(rows).score(held) - 0.05


def test_same_bits_for_any_number_of_threads():
    for covariance_type in ("full", "tied", "diag", ("low_rank", 2)):
        fit = {"covariance_type": covariance_type, "max_iter": 3, "tol": 0.0, "random_state": 0}
        fits = [SparseGaussianMixture(3, n_jobs=n, **fit).fit(X) for n in (1, 2)]
        np.testing.assert_array_equal(fits[0].means_, fits[1].means_)
        assert fits[0].lower_bound_ == fits[1].lower_bound_


@pytest.mark.parametrize("covariance_type", ["full", "diag", "low_rank"])
def test_lists_of_candidates(covariance_type):
    fit = {"covariance_type": covariance_type, "max_iter": 10, "tol": 0.0, "random_state": 0, "n_nonzero": 2}
    lists, every = (SparseGaussianMixture(20, candidates=c, **fit).fit(X) for c in (4, "all"))
    assert (np.diff(lists.lower_bounds_) >= -1e-9 * np.abs(lists.lower_bounds_[1:])).all()
    assert lists.lower_bound_ > every.lower_bound_ - 0.1 * len(X)


def test_streams_take_blocks_with_and_without_missing_values():
    order = np.random.default_rng(3).permutation(len(X))
    for first, second in ((X[order], COMPLETE[order]), (COMPLETE[order], X[order])):
        mixture = SparseGaussianMixture(3, random_state=0).partial_fit(first[:300]).partial_fit(second[300:])
        assert mixture.n_samples_seen_ == len(X)
        assert mixture.score(COMPLETE) > fitted("full").score(COMPLETE) - 0.5


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "low_rank", "zero_mean"])
def test_blocks_give_what_a_fit_gives(covariance_type):
    order, complete = np.random.default_rng(3).permutation(len(X)), COMPLETE
    if covariance_type == "zero_mean":  # of other rows it has many optima
        groups = COMPLETE.reshape(3, 200, 5)
        complete = ((groups - groups.mean(axis=1, keepdims=True)) * [[[0.2]], [[1.0]], [[5.0]]]).reshape(600, 5)
    rows = with_gaps(complete)[order]
    rows[:100] = complete[order][:100]  # a block without missing values
    fit = {"covariance_type": covariance_type, "learning_method": "batch", "max_iter": 5, "tol": 0.0, "random_state": 0}
    whole = SparseGaussianMixture(3, **fit).fit(rows)
    cut = blocks.fit(SparseGaussianMixture(3, **fit), blocks.from_arrays(rows, rows=100))
    np.testing.assert_allclose(cut.lower_bound_, whole.lower_bound_, rtol=0.02)
    np.testing.assert_allclose(cut.score(complete), whole.score(complete), atol=0.1)
    assert cut.n_samples_seen_ == len(X)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "low_rank"])
def test_checkpoints_and_pickles_continue_with_the_same_bits(covariance_type, tmp_path):
    fit = {"covariance_type": covariance_type, "tol": 0.0, "random_state": 0}
    whole = SparseGaussianMixture(3, max_iter=6, **fit).fit(X)
    SparseGaussianMixture(3, max_iter=3, **fit).fit(X, checkpoint=tmp_path)
    resumed = SparseGaussianMixture(3, max_iter=6, **fit).fit(X, checkpoint=tmp_path)
    np.testing.assert_array_equal(resumed.means_, whole.means_)
    assert resumed.lower_bounds_ == whole.lower_bounds_
    loaded = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(loaded.score_samples(X), whole.score_samples(X))
    np.testing.assert_array_equal(loaded.partial_fit(X).means_, whole.partial_fit(X).means_)


def test_rows_of_nan_alone_change_weights_in_no_direction():
    twice = np.concatenate([COMPLETE, np.full((100, 5), np.nan)])
    one, two = (
        SparseGaussianMixture(3, inference="em", n_nonzero=None, random_state=0, max_iter=200, tol=1e-9).fit(rows)
        for rows in (COMPLETE, twice)
    )
    np.testing.assert_allclose(np.sort(one.weights_), np.sort(two.weights_), atol=1e-3)
    np.testing.assert_allclose(one.score(COMPLETE), two.score(COMPLETE), atol=1e-3)


@pytest.mark.parametrize("covariance_type", TYPES[:3])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_one_value_make_no_cluster(seed, covariance_type):
    """Their completed values lie on a line, which a separate component would fit closely."""
    rng = np.random.default_rng(seed)
    labels = np.r_[np.arange(300) % 3, np.zeros(75, dtype=int)]
    rows = rng.normal(size=(375, 5)) + 5 * labels[:, None]
    rows[300:, 1:] = np.nan
    mixture = SparseGaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(rows)
    np.testing.assert_allclose(np.sort(375 * mixture.weights_), [100, 100, 175], atol=10)


def test_columns_without_any_value_are_refused():
    rows = X.copy()
    rows[:, 2] = np.nan
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="column 2 of X is NaN in every row; leave out columns"):
            getattr(SparseGaussianMixture(3), method)(rows)


def test_constant_columns_and_units_of_any_size():
    rows = X * [1e6, 1e-6, 1.0, 1.0, 1.0]
    rows[:, 4] = np.where(np.isnan(rows[:, 4]), np.nan, 5.0)
    for covariance_type in TYPES[:1] + TYPES[2:3]:
        mixture = SparseGaussianMixture(3, covariance_type=covariance_type, max_iter=5, tol=0.0, random_state=0)
        mixture.fit(rows)
        np.testing.assert_allclose(mixture.means_[:, 4], 5.0)
        assert np.isfinite(mixture.score(rows))
