"""Input checks of the topic metrics: topics, counts and numbers."""

import numbers
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sparsemix._estimator.input.checks import LARGEST_COUNT
from sparsemix._estimator.input.forms import floats_of, numbers_of, row_of, table_of
from sparsemix._rows.documents import canonical
from sparsemix._typing import Array, RowsLike

# Tokens of one word in one document that may be listed: 600 MB.
MOST_TOKENS = 10_000_000
# Attributes of fitted estimators with word weights, one row for each topic or cluster.
WORD_WEIGHTS = ("components_", "word_proportions_")


def read_topics(topics: Any, name: str = "topics") -> Array:
    """Topic weights of an estimator or an array, checked.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_`` or ``word_proportions_``, or nonnegative weights.
    name : str, default="topics"
        Name of the argument, for messages.

    Returns
    -------
    weights : ndarray of shape (n_topics, n_words)
        Finite and not negative, no row is all zero; float32 or float64.

    Raises
    ------
    ValueError
        For other weights.

    Examples
    --------
    >>> from sparsemix.extend import read_topics
    >>> read_topics([[1, 3], [2, 2]])
    array([[1., 3.],
           [2., 2.]])
    """
    held = next((value for value in WORD_WEIGHTS if hasattr(topics, value)), None)
    if hasattr(topics, "fit"):
        check_has_words(topics, name, held)
    weights = topics if held is None else getattr(topics, held)
    if sparse.issparse(weights) or np.ndim(weights) != 2 or np.size(weights) == 0:
        raise ValueError(
            f"{name} must be a fitted estimator with components_ or a dense array of weights of shape (n_topics, "
            f"n_words), got {type(topics).__name__} of shape {np.shape(weights)}"
        )
    weights = numbers_of(weights, name)
    weights = weights if weights.dtype == np.float32 else floats_of(weights, name)
    if not (weights.min() >= 0 and weights.max() < np.inf):
        row, word = np.argwhere(~((weights >= 0) & (weights < np.inf)))[0]
        raise ValueError(
            f"{name} has the weight {weights[row, word]} in row {row}, column {word}; give probabilities or expected "
            "counts, which are finite and not negative, and not their logarithms"
        )
    empty = np.flatnonzero(~weights.any(axis=1))
    if len(empty):
        raise ValueError(f"row {empty[0]} of {name} is all zero, so it has no word distribution; remove it")
    return weights


def check_has_words(model: Any, name: str, held: str | None) -> None:
    """Raise for an estimator without word weights: it is not fitted, or its rows are not documents.

    Parameters
    ----------
    model : estimator
    name : str
        Name of the argument, for messages.
    held : str or None
        The attribute with the weights, such as ``"components_"``; None if the estimator has none.

    Returns
    -------
    nothing : None

    Raises
    ------
    NotFittedError
        Before a fit.
    ValueError
        For a fitted estimator without this attribute.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.extend import check_has_words
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=50, random_state=0)[0]
    >>> check_has_words(SparseSCVB0LDA(2, random_state=0).fit(X), "model", "components_")  # has words
    """
    if held is not None and hasattr(model, held):
        return
    kind = type(model).__name__
    if hasattr(model, "n_features_in_"):
        wanted = " or ".join(WORD_WEIGHTS) if held is None else held
        raise ValueError(
            f"{name} is a fitted {kind}, which has no {wanted}; give a topic model, such as SparseSCVB0LDA, or an "
            "estimator with that attribute"
        )
    raise NotFittedError(f"{name} is a {kind} without components_; call its fit first")


def read_counts(X: RowsLike, n_words: int | None = None) -> Any:
    """Counts of words as CSR with sorted, distinct, nonzero entries. The input is not modified.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Counts.
    n_words : int, default=None
        Number of words that X must have; None takes any.

    Returns
    -------
    counts : CSR matrix or array of shape (n_documents, n_words)
        A matrix if X is one.

    Raises
    ------
    ValueError
        For counts that are negative, not finite or too large, with row and column, and for other words.

    Examples
    --------
    >>> from sparsemix.extend import read_counts
    >>> read_counts([[2, 0, 1], [0, 3, 0]]).data
    array([2, 1, 3])
    """
    kind = sparse.csr_matrix if isinstance(X, sparse.spmatrix) else sparse.csr_array
    X = sparse.csr_array(table_of(X))
    if n_words is not None and X.shape[1] != n_words:
        raise ValueError(
            f"X has {X.shape[1]} columns but topics have {n_words} words; count the words of the training vocabulary"
        )
    data = X.data
    if len(data) and not (data.min() >= 0 and data.max() <= LARGEST_COUNT):
        entry = np.flatnonzero(~((data >= 0) & (data <= LARGEST_COUNT)))[0]
        raise ValueError(
            f"X has {data[entry]} in row {row_of(X, entry)}, column {X.indices[entry]}; counts must be finite, not "
            f"negative and at most {LARGEST_COUNT:g}: remove such rows or correct them"
        )
    counts = canonical(X)  # duplicates are added in float64
    fits = X.dtype.kind == "i" and counts.data.max(initial=0) < np.iinfo(X.dtype).max
    return kind(counts.astype(X.dtype, copy=False) if fits else counts)


def check_token_list(X, first_row, remedy):
    """Raise for counts so large that a list of their tokens would fill the memory. Texts never have such counts."""
    if len(X.data) and X.data.max() > MOST_TOKENS:
        entry = int(np.argmax(X.data))
        raise ValueError(
            f"X has the count {X.data[entry]} in row {first_row + row_of(X, entry)}, too many tokens of one word to "
            f"list (at most {MOST_TOKENS:,}); divide the counts, or {remedy}"
        )


def first_part(X):
    """The first entry of a CSR matrix that is not a whole number, or None."""
    parts = np.flatnonzero(X.data != np.floor(X.data)) if X.dtype.kind == "f" else ()
    return int(parts[0]) if len(parts) else None


def check_n_top_words(n_top_words, n_words, least=1):
    """The number of top words as int; raises if it is out of range."""
    if not isinstance(n_top_words, numbers.Integral) or not least <= n_top_words <= n_words:
        raise ValueError(
            f"n_top_words is {n_top_words!r}; it must be an integer from {least} to {n_words}, the number of words"
        )
    return int(n_top_words)


def check_share(value, name, *, ends):
    """The value as float; raises unless it is between 0 and 1, with or without the ends."""
    inside = isinstance(value, numbers.Real) and (0 <= value <= 1 if ends else 0 < value < 1)
    if not inside:
        raise ValueError(f"{name} is {value!r}; it must be a number {'from 0 to 1' if ends else 'between 0 and 1'}")
    return float(value)
