"""Equal weights under EM: an infinite concentration of the prior; finite ones are refused, as all priors are."""

import numpy as np
import pytest

from sparsemix import (
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseMultinomialMixture,
    SparseVonMisesFisherMixture,
)

CLASSES = [SparseGaussianMixture, SparseVonMisesFisherMixture, SparseMultinomialMixture, SparseBernoulliMixture]
LABELS = np.repeat([0, 1, 2], [20, 60, 20])
X = np.random.default_rng(0).poisson(0.2 + 3.0 * np.repeat(np.eye(3), 4, axis=1)[LABELS])
for_each = pytest.mark.parametrize("cls", CLASSES)


def rows_of(cls):
    return (X > 0) * 1.0 if cls is SparseBernoulliMixture else X + (1.0 if cls is SparseGaussianMixture else 0.0)


@for_each
@pytest.mark.parametrize("learning_method", ["memoized", "batch", "online"])
@pytest.mark.filterwarnings("ignore:columns", "ignore:X holds")
def test_an_infinite_concentration_gives_equal_weights(cls, learning_method):
    rows, params = rows_of(cls), {"inference": "em", "learning_method": learning_method, "random_state": 0}
    mixture = cls(3, weight_concentration_prior=np.inf, **params).fit(rows)
    np.testing.assert_array_equal(mixture.weights_, 1 / 3)
    assert sorted(np.bincount(mixture.predict(rows))) == [20, 20, 60]
    assert (np.diff(getattr(mixture, "lower_bounds_", [0.0])) > -1e-6).all()
    np.testing.assert_array_equal(mixture.partial_fit(rows).weights_, 1 / 3)
    assert np.ptp(cls(3, **params).fit(rows).weights_) > 0.3


@for_each
@pytest.mark.parametrize("value", [1e-3, 1.0, 50.0])
def test_finite_concentrations_are_refused(cls, value):
    mixture = cls(3, inference="em", weight_concentration_prior=value)
    for learn in (mixture.fit, mixture.partial_fit):
        with pytest.raises(ValueError, match=r"weight_concentration_prior=.* no effect with inference='em'.*None"):
            learn(rows_of(cls))
    assert mixture.set_params(inference="vb").fit(rows_of(cls)).n_iter_ > 0


def test_given_parameters_may_have_equal_weights():
    given = [[0.0], [1.0]], [1.0, 1.0]
    make, params = SparseGaussianMixture.from_parameters, {"covariance_type": "spherical"}
    mixture = make([0.5, 0.5], *given, **params, weight_concentration_prior=np.inf)
    np.testing.assert_array_equal(mixture.partial_fit([[0.0], [1.0], [1.0], [1.0]]).weights_, 0.5)
    with pytest.raises(ValueError, match="makes all weights equal, but weights differ"):
        make([0.4, 0.6], *given, **params, weight_concentration_prior=np.inf)
