"""Checks of word sequences: errors name the row and place of the first bad word, and the remedy."""

import numbers
from typing import Any

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import array_numbers, row_of, table_of, texts_named
from sparsemix._warnings import warn_caller

REMEDY = "give word number + 1 at the place of each word, and 0, or nothing in a sparse matrix, where there is none"


def check_sequences(estimator: Any, X: Any, n_words: int | None = None) -> tuple[Any, int]:
    """Check word sequences.

    Parameters
    ----------
    estimator : estimator
        For messages.
    X : sparse matrix or ndarray of shape (n_documents, longest), or list of sequences
        A matrix of word numbers + 1, or a list of word numbers with -1 for places without a word.
    n_words : int, default=None
        Number of words, where it is known.

    Returns
    -------
    X : CSR array of shape (n_documents, longest)
        Word numbers + 1.
    least : int
        The smallest possible number of words.

    Raises
    ------
    ValueError
        For anything but word numbers, with row and place.

    Examples
    --------
    >>> from sparsemix import SkipGramTopicModel
    >>> from sparsemix.extend import check_sequences
    >>> X, least = check_sequences(SkipGramTopicModel(2), [[0, 3], [2]])
    >>> X.toarray().tolist(), least
    ([[1, 4], [3, 0]], 4)
    """
    ragged = is_ragged(X)
    with texts_named(estimator, X):
        X = from_lists(X) if ragged else from_matrix(estimator, X)
    least = int(X.data.max(initial=0))
    if n_words is not None and least > n_words:
        entry = int(np.flatnonzero(X.data > n_words)[0])
        raise ValueError(
            f"row {row_of(X, entry)} of X has at place {X.indices[entry]} the word {int(X.data[entry]) - 1}, but the "
            f"vocabulary has {n_words} words, numbered from 0; leave out words that the model does not know "
            "(TokenSequences.transform does), or set n_words before the first fit"
        )
    return X, least


def is_ragged(X):
    """Whether X is a list of documents, not a matrix."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype == object and not any(isinstance(document, str) for document in X)
    return isinstance(X, (list, tuple)) and all(isinstance(d, (list, tuple, np.ndarray)) for d in X)


def from_lists(documents):
    """Convert lists or arrays of word numbers to CSR."""
    if not len(documents):
        raise ValueError("Found array with 0 sample(s): X is an empty list; give at least one document")
    arrays = []
    for row, document in enumerate(documents):
        array = np.asarray(document)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
            raise ValueError(
                f"row {row} of X is not a list of word numbers; give one number for each word in its order, as "
                "TokenSequences makes them from texts"
            )
        array = array_numbers(document, f"row {row} of X", "place")
        if array.dtype.kind == "f" and not (np.floor(array) == array).all():  # NaN too
            bad = int(np.flatnonzero(np.floor(array) != array)[0])
            raise ValueError(f"row {row} of X has {array[bad]} at place {bad}, which is no word number")
        bad = np.flatnonzero((array < -1) | (array >= np.iinfo(np.int32).max))
        if len(bad):
            raise ValueError(
                f"row {row} of X has the word {array[bad[0]]} at place {bad[0]}; word numbers of lists begin with 0, "
                "and -1 is a place without a word"
            )
        arrays.append(array.astype(np.int32))
    lengths = np.array([len(array) for array in arrays])
    data = np.concatenate(arrays) + np.int32(1)
    indices = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    X = sparse.csr_array((data, indices, indptr), shape=(len(arrays), max(1, lengths.max())))
    X.eliminate_zeros()
    return X


def from_matrix(estimator, X):
    """Convert a matrix of word numbers + 1 to CSR without zeros. The caller's arrays are not modified."""
    given, X = X, table_of(X, estimator=estimator)
    if getattr(given, "format", None) in ("coo", "lil") and X.nnz < given.nnz:  # words at the same place were added
        given = given.tocoo()
        order = np.lexsort((given.col, given.row))
        row, column = given.row[order], given.col[order]
        raise_two_words(row, column, np.flatnonzero((np.diff(row) == 0) & (np.diff(column) == 0))[0])
    X = sparse.csr_array(X)
    bad = np.flatnonzero(~(X.data >= 0) | (X.data != np.floor(X.data)) | ~(X.data < np.iinfo(np.int32).max))
    if len(bad):
        entry = bad[0]
        value = X.data[entry]
        kind = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value}"
        raise ValueError(
            f"Negative values in data passed to {type(estimator).__name__}, or NaN, infinity or fractions: row "
            f"{row_of(X, entry)} of X has {kind} at place {X.indices[entry]}, which is no word; {REMEDY}"
        )
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    same = np.flatnonzero(X.indices[1:] == X.indices[:-1]) + 1
    same = same[~np.isin(same, X.indptr)] if len(same) else same
    if len(same):
        raise_two_words(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices, same[0])
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    if looks_like_counts(X):
        warn_caller(
            "X looks like word counts of documents, which have no order of words: most of its entries are 1, far "
            f"apart in wide rows; {REMEDY}, as TokenSequences makes it from texts",
        )
    return X


def looks_like_counts(X):
    """Whether CSR without zeros and with sorted indices looks like counts.

    In counts most entries are 1, and most places before the last entry of a row are empty. In sequences places follow
    each other, except where words are unknown, and the same word is rarely most of a text.
    """
    if X.nnz == 0:
        return False
    filled = X.indptr[1:] > X.indptr[:-1]
    n_places = (X.indices[X.indptr[1:][filled] - 1] + 1.0).sum()
    return 2 * X.nnz < n_places and 2 * np.count_nonzero(X.data == 1) > X.nnz


def raise_two_words(rows, places, entry):
    """Raise for two words of a document at the same place."""
    raise ValueError(f"row {rows[entry]} of X has two words at place {places[entry]}; give each place one word")


def counts_of(X, n_words):
    """Word counts of checked documents, CSR of shape (N, V), float32."""
    ones, words = np.ones(X.nnz, dtype=np.float32), X.data.astype(np.int64) - 1
    counts = sparse.csr_array((ones, words, X.indptr.copy()), shape=(X.shape[0], n_words))  # which changes in place
    counts.sum_duplicates()
    return counts


def word_number(word, feature_names, n_words):
    """Number of a word given by name or by number."""
    if isinstance(word, numbers.Integral) and not isinstance(word, bool):
        if not 0 <= word < n_words:
            raise ValueError(f"word is {word}; numbers of words are from 0 to {n_words - 1}")
        return int(word)
    if feature_names is None:
        raise ValueError(f"word is {word!r}; give its number, or feature_names, such as those of TokenSequences")
    found = np.flatnonzero(np.asarray(feature_names, dtype=object) == word)
    if not len(found):
        raise ValueError(f"{word!r} is not in the vocabulary")
    return int(found[0])
