"""Labels of some rows: their check, and predicted labels.

Each component belongs to one label. A labelled row belongs to a component of its label, and a row without a label to
any component (Nigam, McCallum, Thrun and Mitchell 2000, "Text Classification from Labeled and Unlabeled Documents using
EM", Section 5.3.2).
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator.input.checks import check_explained
from sparsemix._estimator.input.integers import integers_of
from sparsemix._models.mixture.annotated import UNKNOWN
from sparsemix._typing import Array, RowsLike


def check_labels(labels, n_rows):
    """Labels as integers (N,); -1 means that a label is not known."""
    labels = integers_of(
        labels, "labels", "give integers, and -1 for rows whose label is not known "
        "(sklearn.preprocessing.LabelEncoder numbers other labels)",
    )  # fmt: skip
    if labels.shape != (n_rows,):
        raise ValueError(f"labels has shape {labels.shape}, expected ({n_rows},): give one label for each row of X")
    if labels.min(initial=0) < UNKNOWN:
        row = int(labels.argmin())
        raise ValueError(f"labels of row {row} is {labels[row]}; give integers from 0, or -1 for an unknown label")
    return labels


def numbered(labels, classes=None):
    """The classes, and the number of each row's class; new classes unless ``classes`` are given."""
    known = labels != UNKNOWN
    if classes is None:
        classes = np.unique(labels[known])
        if not len(classes):
            raise ValueError("labels holds no known label, only -1; leave labels out")
    numbers = np.full(len(labels), UNKNOWN, dtype=np.int32)
    numbers[known] = np.searchsorted(classes, labels[known]).clip(0, len(classes) - 1)
    wrong = np.flatnonzero(known & (classes[numbers] != labels))
    if len(wrong):
        names = ", ".join(map(str, classes[:5])) + ", ..." * (len(classes) > 5)
        raise ValueError(
            f"labels of row {wrong[0]} is {labels[wrong[0]]}, a label without components; the first fit gave "
            f"components to the labels {names}: give one of these, or -1"
        )
    return classes, numbers


def predict_labels(self: Any, X: RowsLike) -> Array:
    """Most probable label of each row, after ``fit`` with ``labels``.

    The probability of a label is the sum over its components.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    labels : ndarray of shape (n_samples,), int64

    Raises
    ------
    AttributeError
        If the mixture was fitted without ``labels``.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseGaussianMixture
    >>> X = np.array([[0.0], [0.2], [0.4], [0.6], [5.0], [5.2], [5.4], [5.6]])
    >>> labels = [7, -1, -1, -1, 3, -1, -1, -1]
    >>> mixture = SparseGaussianMixture(2, random_state=0).fit(X, labels=labels)
    >>> mixture.predict_labels(X)
    array([7, 7, 7, 7, 3, 3, 3, 3])
    """
    check_is_fitted(self)
    owners = self._labelled("predict_labels").owners
    classes, (rows, workers) = self._fitted.model.classes, self._ready(X)
    found, of_class = np.empty(len(rows), dtype=np.int64), np.eye(len(classes), dtype=rows.dtype)[owners]

    def best(start, stop, weights):
        largest = weights.max(axis=1, keepdims=True)
        check_explained(largest, start)
        found[start:stop] = (np.exp(weights - largest) @ of_class).argmax(axis=1)

    with workers:
        self._fitted.each_tile("responsibility", rows, workers, best)
    return classes[found]
