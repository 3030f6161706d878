"""What every estimator of words in their order is tried with: documents, wrong input, unusual sizes."""

import numpy as np
from row_cases import bad_weights
from scipy import sparse
from topic_cases import read_only, wide_indices

from sparsemix.datasets import make_skip_gram

K, V, N = 4, 30, 60
X = make_skip_gram(N, n_features=V, n_components=K, doc_length=12, random_state=0)[0]
MANY = make_skip_gram(450, n_features=V, n_components=K, doc_length=12, random_state=2)[0]
OTHER = sparse.csr_array((V + 1 - X.data, X.indices, X.indptr), shape=X.shape)[::-1]
GIVEN = np.random.default_rng(1).gamma(1.0, size=(K, V)) + 0.1


def with_word(value, row=41, place=7, dtype=float):
    """The documents with another number at a place."""
    out = X.toarray().astype(dtype)
    out[row, place] = value
    return out


BAD_DATA = {
    "dense nan": (with_word(np.nan), "row 41 of X has NaN at place 7, which is no word; give word number"),
    "sparse nan": (sparse.csr_array(with_word(np.nan)), "row 41 of X has NaN at place 7"),
    "infinite": (with_word(np.inf), "row 41 of X has infinity at place 7"),
    "negative": (with_word(-2), "row 41 of X has -2.0 at place 7"),
    "fraction": (with_word(1.5), "row 41 of X has 1.5 at place 7"),
    "sparse fraction": (sparse.csr_array(with_word(1.5)), "row 41 of X has 1.5 at place 7"),
    "huge": (with_word(2.0**40), "row 41 of X has .* at place 7"),
    "two at a place": (
        sparse.csr_array(([1, 2, 3], [0, 4, 4], [0, 0, 3]), shape=(2, 6)),
        "row 1 of X has two words at place 4; give each place one word",
    ),
    "negative in a list": ([[0, 1], [2, -3]], "row 1 of X has the word -3 at place 1; word numbers of lists begin"),
    "fraction in a list": ([[0, 1], [2, 0.5]], "row 1 of X has 0.5 at place 1"),
    "text": ([["a", "b"]], "row 0 of X holds the text 'a'.*TokenSequences"),
    "one dimension": (np.arange(5), "Reshape your data"),
    "complex": (X.toarray() + 1j, "Complex data not supported"),
    "empty list": ([], "0 sample"),
    "no rows": (X[:0], "0 sample"),
}
BAD = {name: (rows, None, message) for name, (rows, message) in BAD_DATA.items()}
WEIGHTS = {name: (X, weight, message) for name, (weight, message) in bad_weights(N).items()}
UNKNOWN = {
    "word beyond the width of the vocabulary": (
        [[0, 1], [2, 3, V]], None, r"row 1 of X has at place 2 the word 30, but the vocabulary has 30 words"
    ),
}  # fmt: skip
# As matrices, whose width says nothing, and as lists of words.
SIZES = {
    "one document": X[:1],
    "one document of one word twice": sparse.csr_array(([4, 4], [0, 1], [0, 2]), shape=(1, 5)),
    "a document of one word": sparse.csr_array(([4, 1, 2], [3, 0, 1], [0, 1, 3]), shape=(2, 5)),
    "one long document": np.tile(np.arange(V), 20)[None] + 1,
    "words that are never used": np.array([[V, 4], [4, V]]),
    "fewer documents than topics": X[:3],
    "gaps": np.kron(X.toarray()[:9], [[0, 0, 1]]),
}


LISTS = [X.data[a:b] - 1 for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]


def reordered():
    """The same with the words of every document out of order."""
    order = np.concatenate([np.random.default_rng(0).permutation(np.arange(a, b)) for a, b in
                            zip(X.indptr[:-1], X.indptr[1:], strict=True)])  # fmt: skip
    return sparse.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


FORMS = {
    **{f"CSR {dtype.__name__}": X.astype(dtype) for dtype in (np.int64, np.float32, np.float64, np.uint16)},
    "csr_matrix": sparse.csr_matrix(X),
    "CSC": sparse.csc_array(X),
    "COO": sparse.coo_array(X),
    "dense": X.toarray(),
    "dense float": X.toarray().astype(float),
    "Fortran": np.asfortranarray(X.toarray()),
    "lists": [list(map(int, document)) for document in LISTS],
    "arrays": LISTS,
    "floats": [document.astype(float) for document in LISTS],
    "64-bit indices": wide_indices(X),
    "read-only": read_only(X),
    "read-only dense": read_only(X.toarray()),
    "unsorted": reordered(),
    "wider": sparse.csr_array((X.data, X.indices, X.indptr), shape=(N, 100)),
}


def assert_valid(est, rows):
    """Everything finite, distributions are such, as many counts as there are contexts."""
    n_words = est.n_features_in_
    assert est.components_.shape == (est.n_components, n_words)
    assert np.isfinite(est.components_).all()
    assert (est.components_ > 0).all()
    np.testing.assert_allclose(est.word_topics_.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose((est.word_vectors_**2).sum(axis=1), 1.0, rtol=1e-5)
    theta = est.transform(rows)
    assert theta.shape == (rows.shape[0], est.n_components)
    assert (theta >= 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-9)
    assert abs(est.topic_weights_.sum() - 1.0) < 1e-6
    np.testing.assert_allclose(est._fitted.stats["mass"], n_positions(rows, est.window), rtol=1e-4)
    np.testing.assert_allclose(est._fitted.stats["count"].sum(), context_totals(rows, est.window).sum(), rtol=1e-3)


def contexts(rows, window=3):
    """Of every position its word, and how many words are within the window, counted place by place."""
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    for row in rows:
        places = np.flatnonzero(row)
        sizes = (np.abs(places[:, None] - places) <= window).sum(axis=1) - 1
        yield from zip(row[places].astype(int) - 1, sizes, strict=True)


def n_positions(rows, window=3):
    """Words that have a context."""
    return sum(size > 0 for _, size in contexts(rows, window))


def context_totals(rows, window=3):
    """How often each word is in a context: a pair is one for both."""
    out = np.zeros(V)
    for word, size in contexts(rows, window):
        out[word] += size
    return out
