"""What tests of several files say of Gaussian mixtures."""

import numpy as np


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
