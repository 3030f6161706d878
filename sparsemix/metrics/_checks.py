"""Input of the metrics of topic models: topics, counts and the numbers that go with them."""

import numbers

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from sparsemix._estimator.checks import LARGEST_COUNT, check_structure

# What counts and weights are read as; everything else is cast.
COUNT_TYPES = (np.int32, np.int64, np.float32, np.float64)
# Of one word in one document, where tokens are listed: 600 MB.
MOST_TOKENS = 10_000_000


def read_topics(topics, name="topics"):
    """Weights (K, V) of an estimator's ``components_`` or of an array: finite, not negative, no row all zero."""
    if hasattr(topics, "fit") and not hasattr(topics, "components_"):
        raise NotFittedError(f"{name} is a {type(topics).__name__} without components_; call its fit first")
    weights = np.asarray(getattr(topics, "components_", topics))
    if weights.ndim != 2 or weights.dtype.kind not in "biuf" or weights.size == 0:
        raise ValueError(
            f"{name} must be a fitted estimator with components_ or a dense array of weights of shape (n_topics, "
            f"n_words), got {type(topics).__name__} of shape {weights.shape}"
        )
    if weights.dtype not in (np.float32, np.float64):
        weights = weights.astype(np.float64)
    if not (weights.min() >= 0 and weights.max() < np.inf):
        row, word = np.argwhere(~((weights >= 0) & (weights < np.inf)))[0]
        raise ValueError(
            f"{name} has the weight {weights[row, word]} in row {row}, column {word}; give probabilities or expected "
            "counts, which are finite and not negative, and not their logarithms"
        )
    empty = np.flatnonzero(~weights.any(axis=1))
    if len(empty):
        raise ValueError(f"row {empty[0]} of {name} is all zero, which is no distribution of words; leave it out")
    return weights


def read_counts(X, n_words=None):
    """Counts as CSR with sorted, distinct, non-zero entries; what the caller passed stays as it is."""
    if sparse.issparse(X):
        check_structure(X)
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False, input_name="X")
    X = X if sparse.issparse(X) else sparse.csr_array(X)
    if n_words is not None and X.shape[1] != n_words:
        raise ValueError(
            f"X has {X.shape[1]} columns but topics have {n_words} words; count the words of the vocabulary that the "
            "topics were learned on"
        )
    data = X.data if X.dtype in COUNT_TYPES else X.data.astype(np.int64 if X.dtype.kind in "biu" else np.float64)
    if len(data) and not (data.min() >= 0 and data.max() <= LARGEST_COUNT):
        entry = np.flatnonzero(~((data >= 0) & (data <= LARGEST_COUNT)))[0]
        raise ValueError(
            f"X has {data[entry]} in row {row_of(X, entry)}, column {X.indices[entry]}; counts must be finite, not "
            f"negative and at most {LARGEST_COUNT:g}: remove such rows or correct them"
        )
    # A new object: flags that the caller's matrix has cached about its order are not trusted.
    X = type(X)((data, X.indices, X.indptr), shape=X.shape)
    if not (X.has_canonical_format and data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def check_token_list(X, first_row, remedy):
    """Refuse counts for which a list of tokens would fill the memory; no text has them."""
    if len(X.data) and X.data.max() > MOST_TOKENS:
        entry = int(np.argmax(X.data))
        raise ValueError(
            f"X has the count {X.data[entry]} in row {first_row + row_of(X, entry)}, and a list of more than "
            f"{MOST_TOKENS:,} tokens of one word would be needed; divide the counts, or {remedy}"
        )


def row_of(X, entry):
    """Row of an entry of a CSR matrix."""
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1


def check_n_top_words(n_top_words, n_words, least=1):
    """Number of top words of a topic."""
    if not isinstance(n_top_words, numbers.Integral) or not least <= n_top_words <= n_words:
        raise ValueError(
            f"n_top_words is {n_top_words!r}; it must be an integer from {least} to the {n_words} words of the topics"
        )
    return int(n_top_words)


def check_share(value, name, *, ends):
    """A number between 0 and 1, with or without the two ends."""
    inside = isinstance(value, numbers.Real) and (0 <= value <= 1 if ends else 0 < value < 1)
    if not inside:
        raise ValueError(f"{name} is {value!r}; it must be a number {'from 0 to 1' if ends else 'between 0 and 1'}")
    return float(value)
