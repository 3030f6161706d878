"""Output for the next step of a pipeline: form and dtype of the features.

``predict_sparse_proba`` and ``transform`` are methods of mixtures, which define ``_sparse_responsibilities(X)``, a
csr_array of shape (n_samples, n_components) for any X, and ``_n_features_out``.
"""

from typing import Any

import numpy as np

from sparsemix._compat import configured_sparse, makes_frames
from sparsemix._typing import RowsLike, SparseArray


def feature_dtype(X):
    """float32 for rows of float32, else float64."""
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


def predict_sparse_proba(self: Any, X: RowsLike) -> SparseArray:
    """The responsibilities that training uses: at most ``n_nonzero`` a row.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows. Mixtures of Gaussians take dense rows only.

    Returns
    -------
    resp : CSR array or matrix of shape (n_samples, n_components)
        float32 for rows of float32, else float64. The entries of each row sum to one. Mixtures without a fixed
        number of components leave out entries below 1e-6. scikit-learn's setting ``sparse_interface`` chooses
        between ``csr_array`` and ``csr_matrix``; scikit-learn before 1.9 has no such setting, and the result is a
        ``csr_array``.
    """
    return configured_sparse(self._sparse_responsibilities(X))


def transform(self: Any, X: RowsLike) -> Any:
    """Responsibilities as features for the next step of a pipeline: those of ``predict_sparse_proba``.

    The result is sparse: with thousands of components a row has a few responsibilities, and a dense array would
    need thousands of numbers for each row. Linear models, nearest neighbours and ``TruncatedSVD`` read CSR as it
    is, and ``ColumnTransformer`` and ``FeatureUnion`` stack it. For trees, naive Bayes, scalers and other steps that
    need a dense array set ``dense_output=True``. Data frames have dense columns: after
    ``set_output(transform="pandas")`` or ``"polars"`` the same numbers come as a frame with a column for each
    component.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows. Mixtures of Gaussians take dense rows only.

    Returns
    -------
    resp : CSR array or matrix, or ndarray, of shape (n_samples, n_components)
        As ``predict_sparse_proba``; an ndarray with ``dense_output``; a data frame after ``set_output``.
    """
    return as_features(self, self.predict_sparse_proba(X))


def as_features(estimator, resp):
    """Sparse responsibilities in the form that ``transform`` returns."""
    return resp.toarray() if estimator._params.dense_output or makes_frames(estimator) else resp
