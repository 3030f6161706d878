"""Scales of covariances' priors that components learn: bounds, closed forms, and what they are for."""

import numpy as np
import pytest
from fitted import few_epochs
from sklearn.datasets import make_blobs

from sparsemix import SparseGaussianMixture
from sparsemix.datasets import make_patch_mixture

LEARNED = ["full", "diag", "low_rank", "zero_mean", "tied", "tied_diag"]


def rows_of_unequal_spread(n_rows=400, n_features=4):
    rng = np.random.default_rng(0)
    X, y = make_blobs(n_rows, n_features, centers=5, center_box=(-6, 6), random_state=0)
    return X[y < 5] + rng.normal(size=X.shape) * np.array([0.1, 1.0, 3.0, 0.3, 2.0])[y][:, None]


@few_epochs
@pytest.mark.parametrize("weights", ["dirichlet_distribution", "dirichlet_process"])
@pytest.mark.parametrize("n_nonzero", [1, 2, None])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("covariance_type", LEARNED)
def test_bound_never_falls(covariance_type, learning_method, n_nonzero, weights):
    X = rows_of_unequal_spread()
    est = SparseGaussianMixture(
        8, covariance_type=covariance_type, learning_method=learning_method, n_nonzero=n_nonzero,
        covariance_prior="learned", weight_concentration_prior_type=weights, max_iter=25, tol=0, random_state=0,
    ).fit(X)  # fmt: skip
    gains = np.diff(est.lower_bounds_)
    assert len(gains) > 10
    assert (gains > -1e-9 * np.abs(est.lower_bounds_[0])).all()
    assert (est.covariance_prior_scales_ > 1.0).any()


@pytest.mark.parametrize("covariance_type", ["full", "diag", "zero_mean", "tied", "tied_diag"])
def test_one_component_is_that_of_the_best_prior(covariance_type):
    """The bound of one component is the evidence: no multiple of B_0 has a higher one, and the learned one has it."""
    X = rows_of_unequal_spread(12)
    params = {"covariance_type": covariance_type, "reg_covar": 0.0, "max_iter": 3}
    prior = 0.01 * np.eye(4) if "diag" not in covariance_type else np.full(4, 0.01)
    learned = SparseGaussianMixture(1, covariance_prior=("learned", prior), **params).fit(X)
    scale = float(learned.covariance_prior_scales_[0])
    assert scale > 1.0

    def given(factor):
        return SparseGaussianMixture(1, covariance_prior=factor * prior, **params).fit(X)

    same = given(scale)
    np.testing.assert_allclose(learned.lower_bound_, same.lower_bound_, rtol=1e-10)
    np.testing.assert_allclose(learned.covariances_, same.covariances_, rtol=1e-8)
    np.testing.assert_allclose(learned.score_samples(X), same.score_samples(X), rtol=1e-8)
    np.testing.assert_allclose(learned.covariance_prior_, prior)
    for factor in (1.0, 0.8 * scale, 1.25 * scale, 10.0 * scale):
        assert given(factor).lower_bound_ < learned.lower_bound_


@pytest.mark.parametrize("covariance_type", ["full", "diag", "zero_mean", "tied", "tied_diag"])
def test_evidence_is_flat_at_the_learned_scale(covariance_type):
    """Also where rows have little more spread than the prior."""
    X = rows_of_unequal_spread(12)
    X = X / X.std(axis=0)
    prior = 0.5 * np.eye(4) if "diag" not in covariance_type else np.full(4, 0.5)
    params = {"covariance_type": covariance_type, "reg_covar": 0.0, "max_iter": 3}
    learned = SparseGaussianMixture(1, covariance_prior=("learned", prior), **params).fit(X)
    scale = float(learned.covariance_prior_scales_[0])
    assert 1.05 < scale < 20.0
    below, at, above = (
        SparseGaussianMixture(1, covariance_prior=factor * scale * prior, **params).fit(X).lower_bound_
        for factor in (1 / 1.05, 1.0, 1.05)
    )
    assert abs(above - below) < 0.05 * (2.0 * at - above - below)  # what is left is of the third order


def test_scales_are_never_below_one():
    """A prior that is larger than the rows ask for stays as it was given."""
    X = rows_of_unequal_spread()
    prior = 1e3 * np.eye(4)
    plain, learned = (
        SparseGaussianMixture(3, covariance_prior=each, random_state=0, max_iter=5, tol=0).fit(X)
        for each in (prior, ("learned", prior))
    )
    np.testing.assert_array_equal(learned.covariance_prior_scales_, 1.0)
    np.testing.assert_array_equal(plain.means_, learned.means_)
    assert plain.lower_bounds_ == learned.lower_bounds_


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag"])
def test_few_rows_of_many_columns_keep_a_density(covariance_type):
    """Six rows a component say nothing of sixty variances, and do not shrink them to nothing."""
    X = np.random.default_rng(0).normal(size=(330, 60))
    one, five = (SparseGaussianMixture(k, covariance_type=covariance_type, random_state=0).fit(X[:30]) for k in (1, 5))
    assert five.score(X[30:]) > one.score(X[30:]) - 15.0
    assert five.score(X[30:]) > -150.0  # the truth has -85


def test_units_do_not_matter():
    X = rows_of_unequal_spread()
    units = np.array([1e-3, 1.0, 50.0, 7.0])
    first, second = (SparseGaussianMixture(16, random_state=0, max_iter=3, tol=0, init_params="random").fit(each)
                     for each in (X, X * units))  # fmt: skip
    np.testing.assert_allclose(first.covariance_prior_scales_, second.covariance_prior_scales_, rtol=1e-5)
    np.testing.assert_allclose(first.means_ * units, second.means_, rtol=1e-5, atol=1e-7 * units.max())


@few_epochs
@pytest.mark.statistical
def test_many_components_with_few_rows_live_and_predict_better():
    """Clusters of one shape and very different size, with some ten rows for each of the dimensions."""
    X, _, _ = make_patch_mixture(6000, n_features=16, n_components=24, rank=4, random_state=0)
    X = X * np.exp(np.random.default_rng(0).normal(size=(len(X), 1)))
    params = {"covariance_type": "zero_mean", "max_iter": 10}
    gains = []  # over eight seeds .30, with a deviation of .27
    for seed in range(6):
        fixed, est = (SparseGaussianMixture(32, covariance_prior=prior, random_state=seed, **params).fit(X[:4000])
                      for prior in ("fixed", None))  # fmt: skip
        gains.append(est.score(X[4000:]) - fixed.score(X[4000:]))
        assert (est.covariance_prior_scales_ > 1.0).mean() > 0.5
    assert np.mean(gains) > 0.0


def test_who_learns_by_default():
    X = rows_of_unequal_spread()

    def learns(n_components, **params):
        est = SparseGaussianMixture(n_components, max_iter=1, tol=0, random_state=0, **params).fit(X)
        return bool((est.covariance_prior_scales_ != 1.0).any())

    assert learns(16)
    assert learns(2)
    assert not learns(16, covariance_prior=0.01)
    assert not learns(16, covariance_type="spherical")
    assert not learns(16, covariance_prior="fixed")
    assert not learns(2, covariance_prior="fixed")
    assert learns(2, covariance_prior=("learned", 0.01))


@pytest.mark.parametrize("covariance_type", ["spherical", "tied_spherical"])
def test_covariances_without_such_a_prior_are_refused(covariance_type):
    with pytest.raises(ValueError, match="learns the scale of several variances"):
        SparseGaussianMixture(2, covariance_type=covariance_type, covariance_prior="learned").fit(
            rows_of_unequal_spread(20)
        )


def test_a_pair_with_another_word_than_learned_is_refused():
    with pytest.raises(ValueError, match=r"give an array alone, or \('learned', array\)"):
        SparseGaussianMixture(2, covariance_prior=("fixed", 1.0)).fit(rows_of_unequal_spread(20))
