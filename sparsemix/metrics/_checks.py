"""Input checks of the topic metrics: topics, counts and numbers."""

import numbers

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sparsemix._estimator.input.checks import LARGEST_COUNT
from sparsemix._estimator.input.forms import floats_of, numbers_of, row_of, table_of
from sparsemix._rows.documents import canonical

# Tokens of one word in one document that may be listed: 600 MB.
MOST_TOKENS = 10_000_000
# Attributes of fitted estimators with word weights, one row for each topic or cluster.
WORD_WEIGHTS = ("components_", "word_proportions_")


def read_topics(topics, name="topics"):
    """Topic weights (K, V) of an estimator or an array: finite, nonnegative, no zero row."""
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


def check_has_words(model, name, held):
    """Raise for an estimator without word weights: it is not fitted, or its rows are not documents."""
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


def read_counts(X, n_words=None):
    """Counts as CSR with sorted, distinct, nonzero entries. The input is not modified."""
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
