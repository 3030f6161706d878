"""Labels of some rows: their check, and predicted labels.

Labels are integers, of which -1 is unknown, as missing ones are, or texts, of which "" is unknown.

Each component belongs to one label. A labelled row belongs to a component of its label, and a row without a label to
any component (Nigam, McCallum, Thrun and Mitchell 2000, "Text Classification from Labeled and Unlabeled Documents using
EM", Section 5.3.2).
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator.input.integers import integers_of
from sparsemix._models.mixture.annotated import UNKNOWN
from sparsemix._typing import Array, RowsLike
from sparsemix.mixture._fitted import softmax

MISSING = "", "nan", "<NA>", "NaT"


def check_labels(labels, n_rows):
    """Labels as integers (N,), of which -1 means that a label is not known, or as texts (N,), of which "" means it."""
    values, missing = with_gaps(labels)
    known = values[~missing]
    texts = values.dtype.kind == "O" and values.size and (not len(known) or isinstance(known[0], str))
    if texts:
        labels = texts_of(values, missing)
    else:
        if missing.any():
            labels = np.where(missing, UNKNOWN, values.astype(object))  # exact for all types
        labels = integers_of(labels, "labels", "give integers, and -1 for rows whose label is not known, or give texts")
    if labels.shape != (n_rows,):
        raise ValueError(f"labels has shape {labels.shape}, expected ({n_rows},): give one label for each row of X")
    if not texts and labels.min(initial=0) < UNKNOWN:
        row = int(labels.argmin())
        raise ValueError(f"labels of row {row} is {labels[row]}; give integers from 0, or -1 for an unknown label")
    return labels


def with_gaps(labels):
    """An array of the labels, and where they are missing; columns of data frames become Python's objects."""
    masked = np.ma.isMaskedArray(labels)
    values = np.ma.getdata(labels) if masked else labels
    if isinstance(getattr(values, "dtype", None), np.dtype) and values.dtype.kind in "biufc":
        values = np.asarray(values)
        missing = np.isnan(values)
    else:
        listed = getattr(values, "to_list", getattr(values, "to_pylist", None))
        values = np.asarray(values if listed is None else listed(), dtype=object)
        missing = np.array([value is None or str(value) in MISSING for value in values.flat], dtype=bool)
        missing = missing.reshape(values.shape)
    return values, missing | np.ma.getmaskarray(labels) if masked else missing


def texts_of(values, missing):
    """Texts of objects, with "" for missing ones."""
    for row in np.flatnonzero(~missing):
        if not isinstance(values.flat[row], str):
            raise ValueError(
                f"labels of row {row} is {str(values.flat[row])[:40]}, which is no text, as the first label is; give "
                "texts, and None for rows whose label is not known"
            )
    out = np.zeros(values.shape, dtype=np.array(["", *values[~missing]]).dtype)
    out[~missing] = values[~missing]
    return out


def numbered(labels, classes=None):
    """The classes, and the number of each row's class; new classes unless ``classes`` are given."""
    texts = labels.dtype.kind == "U"
    unknown, name = ("", "None") if texts else (UNKNOWN, "-1")
    known = labels != unknown
    if classes is None:
        classes = np.unique(labels[known])
        if not len(classes):
            raise ValueError(f"labels holds no known label, only {name}; leave labels out")
    numbers = np.full(len(labels), UNKNOWN, dtype=np.int32)
    if not known.any():
        return classes, numbers
    if texts != (classes.dtype.kind == "U"):
        kinds = ("texts", "integers") if texts else ("integers", "texts")
        raise ValueError(f"labels holds {kinds[0]}, and the labels of the first fit are {kinds[1]}; give {kinds[1]}")
    numbers[known] = np.searchsorted(classes, labels[known]).clip(0, len(classes) - 1)
    wrong = np.flatnonzero(known & (classes[numbers] != labels))
    if len(wrong):
        names = ", ".join(map(str, classes[:5])) + ", ..." * (len(classes) > 5)
        raise ValueError(
            f"labels of row {wrong[0]} is {labels[wrong[0]]}, a label without components, since only the first fit "
            f"gives components to labels, here {names}; give one of these or {name}, or call fit with all rows"
        )
    return classes, numbers


def predict_labels(self: Any, X: RowsLike) -> Array:
    """Most probable label of each row, after ``fit`` with ``labels``.

    The probability of a label is the sum over its components (``predict_label_proba``).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Integers (int64), or texts if ``fit`` was given texts.

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
    labelled(self, "predict_labels")
    return self.label_classes_[self.predict_label_proba(X).argmax(axis=1)]


def predict_label_proba(self: Any, X: RowsLike) -> Array:
    """Probability of each label for each row, after ``fit`` with ``labels``: the sum over its components.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    proba : ndarray of shape (n_samples, n_labels)
        In the dtype of ``X``; each row sums to one. Columns are in the order of ``label_classes_``.

    Raises
    ------
    AttributeError
        If the mixture was fitted without ``labels``.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseGaussianMixture
    >>> X = np.array([[0.0], [0.2], [0.4], [0.6], [5.0], [5.2], [5.4], [5.6]])
    >>> labels = ["low", None, None, None, "high", None, None, None]
    >>> mixture = SparseGaussianMixture(2, random_state=0).fit(X, labels=labels)
    >>> mixture.label_classes_
    array(['high', 'low'], dtype='<U4')
    >>> mixture.predict_label_proba(X[:1]).round(3)
    array([[0., 1.]])
    """
    check_is_fitted(self)
    owners = labelled(self, "predict_label_proba").owners
    rows, workers = self._ready(X)
    of_class = np.eye(len(self.label_classes_), dtype=rows.dtype)[owners]
    proba = np.empty((len(rows), of_class.shape[1]), dtype=rows.dtype)

    def share(start, stop, weights):
        softmax(weights, start, weights)
        np.matmul(weights, of_class, out=proba[start:stop])

    with workers:
        self._fitted.each_tile("responsibility", rows, workers, share)
    return proba


def labelled(self, name):
    """The model, whose components have labels."""
    model = self._attribute(name).model
    if model.owners is None:
        own = type(self).__name__
        raise AttributeError(f"{own} has no {name}: it was fitted without labels; call fit(X, labels=...)")
    return model
