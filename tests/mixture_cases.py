"""What tests of several files say of Gaussian mixtures."""

import numpy as np
import reference

from sparsemix import (
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseMixedMixture,
    SparseMultinomialMixture,
    SparseVonMisesFisherMixture,
)


def fitted_arrays(est, X):
    """All that a fitted mixture says of itself and of rows."""
    arrays = [est.weights_, est.means_, est.covariances_, est.predict(X), est.predict_proba(X), est.score_samples(X)]
    arrays += [est.predict_sparse_proba(X).toarray(), *(value for _, value in est.expected_stats(X)._arrays())]
    if hasattr(est, "history_"):
        arrays.append(np.array([record["lower_bound"] for record in est.history_]))
    return arrays


def assert_same_bits(first, second):
    """Two lists of arrays."""
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def assert_valid(est, X):
    """Everything finite, weights a distribution, parameters in their ranges, responsibilities distributions."""
    n_components, d = est.n_components, np.shape(X)[1]
    assert est.weights_.shape == (n_components,)
    assert (est.weights_ >= 0).all()
    assert abs(est.weights_.sum() - 1.0) < 1e-6
    for name in {"means_", "word_proportions_", "probabilities_"} & set(dir(type(est))):
        assert getattr(est, name).shape == (n_components, d)
        assert np.isfinite(getattr(est, name)).all()
    RANGES[type(est)](est)
    assert np.isfinite(est.score_samples(X)).all()
    dense, kept = est.predict_proba(X), est.predict_sparse_proba(X)
    np.testing.assert_allclose(dense.sum(axis=1), 1.0, rtol=1e-5)  # float32 rows among them
    np.testing.assert_allclose(kept.sum(axis=1), 1.0, rtol=1e-6)
    labels = est.predict(X)
    assert ((labels >= 0) & (labels < n_components)).all()
    if hasattr(est, "lower_bound_"):
        assert np.isfinite(est.lower_bounds_).all()
    assert sum(record["lower_bound"] for record in est.history_) < np.inf


def assert_valid_covariances(est):
    """Positive, with inverses, and rows can be drawn."""
    covariances, d = est.covariances_, est.n_features_in_
    if "low_rank" in (est.covariance_type, est.covariance_type[0]):
        assert (est.noise_variance_ > 0).all()
        assert np.isfinite(est.loadings_).all()
        round_off = 1e-12 * np.abs(est.precisions_).max()
        np.testing.assert_allclose(np.linalg.inv(covariances), est.precisions_, rtol=1e-6, atol=round_off)
    elif reference.shape_of(est.covariance_type) != "full":
        assert np.all(covariances > 0)
    else:
        roots = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))  # columns may have any units
        assert (np.linalg.eigvalsh(covariances / roots[..., :, None] / roots[..., None, :]) > 0).all()
    assert np.isfinite(est.precisions_).all()
    drawn, _ = est.sample(5)
    assert drawn.shape == (5, d)
    assert np.isfinite(drawn).all()


def assert_valid_directions(est):
    """Unit vectors."""
    np.testing.assert_allclose(np.linalg.norm(est.means_, axis=1), 1.0, rtol=1e-9)
    assert (est.concentrations_ >= 0).all()


def assert_valid_proportions(est):
    """Distributions over words."""
    np.testing.assert_allclose(est.word_proportions_.sum(axis=1), 1.0, rtol=1e-9)


def assert_valid_probabilities(est):
    """Probabilities, never zero or one."""
    assert (est.probabilities_ > 0).all()
    assert (est.probabilities_ < 1).all()


def assert_valid_columns(est):
    """The kinds of all columns."""
    assert sum(len(names) for _, names in est.columns_) == est.n_features_in_


# What parameters of each class fulfil.
RANGES = {
    SparseGaussianMixture: assert_valid_covariances,
    SparseVonMisesFisherMixture: assert_valid_directions,
    SparseMultinomialMixture: assert_valid_proportions,
    SparseBernoulliMixture: assert_valid_probabilities,
    SparseMixedMixture: assert_valid_columns,
}
