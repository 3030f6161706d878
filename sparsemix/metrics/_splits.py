"""Split of documents in two parts, one to infer topics and one to score, by hashes instead of a random stream.

With a random stream, the split of a document would depend on the documents before it. Here the key of an entry is a
hash of the seed, of the whole document and of the entry. The entries with the smallest keys are held out.
"""

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sparsemix._estimator.input.forms import row_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import RowsLike, Seed, SparseArray
from sparsemix.metrics._checks import check_share, check_token_list, first_part, read_counts

# Entries (types or tokens) whose keys are computed at once: some 50 MB of scratch memory.
BLOCK_ENTRIES = 1 << 20
# Bits for the row within a block; row and key are sorted together as one 64-bit word.
ROW_BITS = 20


@plain_arguments
def split_by_type(X: RowsLike, test_fraction: float = 0.2, random_state: Seed = 0) -> tuple[SparseArray, SparseArray]:
    """Split the distinct words of each document at random; all tokens of a word stay together.

    This is the split of document completion. The hidden words never occur in the visible part, so the score rewards
    topics and not repetition.

    Parameters
    ----------
    X : {array, CSR} of shape (n_documents, n_words)
        Counts, integer or not.
    test_fraction : float, default=0.2
        Fraction of a document's U distinct words that go to B: ``max(1, round(test_fraction * U))``, but never all.
    random_state : int, RandomState instance or None, default=0
        Seed. With an integer, the split of a document depends only on the integer and on the document's counts: not on
        other documents, their order, or the types of the arrays.

    Returns
    -------
    A, B : CSR of the shape of X
        The words to infer topics from, and the words to score. Rows of documents with fewer than two distinct words
        are empty in both.

    Raises
    ------
    ValueError
        For counts that are negative, NaN or infinite, and for a ``test_fraction`` outside (0, 1).

    References
    ----------
    Hughes, Sudderth (2016). "Fast Learning of Clusters and Topics via Sparse Posteriors", appendix E.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import split_by_type
    >>> A, B = split_by_type(np.array([[2, 0, 1, 3, 1, 1], [0, 0, 7, 0, 0, 0]]))
    >>> (A + B).toarray()
    array([[2, 0, 1, 3, 1, 1],
           [0, 0, 0, 0, 0, 0]])
    >>> (A != 0).sum(axis=1), (B != 0).sum(axis=1)
    (array([4, 0]), array([1, 0]))
    """
    return split_all(X, "type", test_fraction, random_state)


@plain_arguments
def split_by_token(X: RowsLike, test_fraction: float = 0.5, random_state: Seed = 0) -> tuple[SparseArray, SparseArray]:
    """Split the tokens of each document at random; tokens of one word may go to both parts.

    The default is the half split in which collapsed inference methods are usually compared.

    Parameters
    ----------
    X : {array, CSR} of shape (n_documents, n_words)
        Whole-number counts of any type. Memory grows with the number of tokens of the longest document.
    test_fraction : float, default=0.5
        Fraction of a document's n tokens that go to B: ``max(1, round(test_fraction * n))``, but never all.
    random_state : int, RandomState instance or None, default=0
        As in :func:`split_by_type`.

    Returns
    -------
    A, B : CSR of the shape of X
        The tokens to infer topics from, and the tokens to score. Rows of documents with fewer than two tokens are
        empty in both.

    Raises
    ------
    ValueError
        For counts that are negative, NaN, infinite or not whole, and for a ``test_fraction`` outside (0, 1).

    References
    ----------
    Islam, Foulds (2019). "Scalable Collapsed Inference for High-Dimensional Topic Models", section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import split_by_token
    >>> A, B = split_by_token(np.array([[2, 0, 1, 3]]))
    >>> (A + B).toarray(), A.sum(), B.sum()
    (array([[2, 0, 1, 3]]), np.int64(3), np.int64(3))
    """
    return split_all(X, "token", test_fraction, random_state)


def split_all(X, split, test_fraction, random_state):
    """Both parts of all documents."""
    X = read_counts(X)
    parts = list(split_blocks(X, split, test_fraction, random_state))
    return tuple(sparse.vstack(part, format="csr") for part in zip(*parts, strict=True))


def split_blocks(X, split, test_fraction, random_state, max_rows=1 << ROW_BITS):
    """Yield both parts of each block of documents, from counts in canonical form."""
    fraction, seed = check_share(test_fraction, "test_fraction", ends=False), seed_of(random_state)
    if split == "token":
        check_whole(X)
    sizes = np.diff(X.indptr) if split == "type" else row_sums(X, X.data.astype(np.int64))
    for start, stop in row_blocks(sizes, min(max_rows, 1 << ROW_BITS)):
        yield DIVIDE[split](X[start:stop], fraction, seed)


def seed_of(random_state):
    """Integer seed; a RandomState gives one random number."""
    rng = check_random_state(random_state)
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(rng.randint(np.iinfo(np.int32).max))


def check_whole(X):
    """Raise for counts that are not whole numbers, or too large to list their tokens."""
    if (part := first_part(X)) is not None:
        raise ValueError(
            f"X has the count {X.data[part]} in row {row_of(X, part)}, which cannot be divided into tokens; "
            "round the counts or divide documents by type"
        )
    check_token_list(X, 0, "divide documents by type")


def row_blocks(sizes, max_rows):
    """Spans (start, stop) of at most ``max_rows`` rows and ``BLOCK_ENTRIES`` entries, but at least one row."""
    ends = np.cumsum(sizes, dtype=np.int64)
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + BLOCK_ENTRIES, side="right"))
        stop = min(max(stop, start + 1), start + max_rows)
        yield start, stop
        start = stop


# -- one block


def divide_types(X, fraction, seed):
    """Split a block by types."""
    sizes = np.diff(X.indptr)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    held = smallest(entry_keys(X, rows, seed), rows, sizes, fraction)
    return keep(X, X.data * (~held & (sizes >= 2)[rows])), keep(X, X.data * held)


def divide_tokens(X, fraction, seed):
    """Split a block by tokens."""
    counts = X.data.astype(np.int64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    sizes = row_sums(X, counts)
    entries = np.repeat(np.arange(len(counts)), counts)
    copy = np.arange(len(entries)) - np.repeat(np.cumsum(counts) - counts, counts)
    held = smallest(mix(entry_keys(X, rows, seed)[entries] ^ mix(copy)), rows[entries], sizes, fraction)
    held = np.bincount(entries[held], minlength=len(counts))
    return keep(X, (counts - held) * (sizes >= 2)[rows]), keep(X, held)


DIVIDE = {"type": divide_types, "token": divide_tokens}


def smallest(keys, rows, sizes, fraction):
    """Mask of the held-out entries: those with the smallest keys of each row."""
    n_held = np.where(sizes < 2, 0, np.clip(np.rint(fraction * sizes), 1, np.maximum(sizes - 1, 1))).astype(np.int64)
    # Row and key in one 64-bit word: a stable sort of nearly sorted words takes a tenth of the time of a two-key sort.
    packed = (rows.astype(np.uint64) << np.uint64(64 - ROW_BITS)) | (keys >> np.uint64(ROW_BITS))
    order = np.argsort(packed, kind="stable")
    rank = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    held = np.zeros(len(keys), dtype=bool)
    held[order] = rank < n_held[rows]
    return held


def entry_keys(X, rows, seed):
    """Hash of each entry, from the seed, all entries of its row, and its type."""
    types, counts = mix(X.indices), mix(X.data.astype(np.float64).view(np.uint64))
    documents = mix(row_sums(X, mix(types ^ counts)) ^ mix(np.array([seed])))
    return mix(documents[rows] ^ types)


def mix(x):
    """Finaliser of splitmix64 (Steele, Lea, Flood 2014) for integers of any type, as 64-bit words."""
    x = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def row_sums(X, values):
    """Row sums of entry values. 64-bit words wrap around, so differences of cumulative sums are exact."""
    sums = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values, dtype=values.dtype)])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def keep(X, data):
    """CSR matrix like X with these values, without zeros."""
    kept = data != 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(X.indptr.dtype)
    return type(X)((data[kept].astype(X.dtype), X.indices[kept], indptr), shape=X.shape)
