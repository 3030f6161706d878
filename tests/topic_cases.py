"""What every topic estimator is tried with: corpora of all kinds, wrong input, forms of matrices."""

import numpy as np
from row_cases import bad_weights
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix import CollapsedLDA, GibbsLDA, SparseDMR, SparseHDP, SparseLDA, SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda

K, V, N = 5, 30, 60
X = sparse.csr_array(make_sparse_lda(N, n_features=V, n_components=K, doc_length=20, random_state=0)[0], dtype=np.int64)
# Parameters of estimators that learn both priors.
LEARNED = {"doc_topic_prior": "learned", "topic_word_prior": "learned"}
GIVEN = np.random.default_rng(1).gamma(1.0, size=(K, V)) + 0.1


class ExactLDA(SparseLDA):
    """Tables in double precision, for equalities up to the order of additions."""

    _table_dtype = np.float64


def spoilt(value, row=41, column=7):
    out = X.toarray().astype(float)
    out[row, column] = value
    return out


def spoilt_csr(value, row=41):
    out = sparse.csr_array(X, dtype=np.float64)
    out.data[out.indptr[row]] = value
    return out


ROW = "row 41 of X has a count that is not a finite number >= 0"
BAD_DATA = {
    **{f"dense {value}": (spoilt(value), None, ROW) for value in (np.nan, np.inf, -np.inf, -1.0, -1e-30)},
    **{f"sparse {value}": (spoilt_csr(value), None, ROW) for value in (np.nan, np.inf, -np.inf, -1.0, -1e-30)},
    "float32 NaN": (spoilt(np.nan).astype(np.float32), None, ROW),
    "sparse float32 infinity": (spoilt_csr(np.inf).astype(np.float32), None, ROW),
    "negative int": (spoilt(-2).astype(np.int32), None, ROW),
    "negative sparse int": (spoilt_csr(-2).astype(np.int64), None, ROW),
    "first row": (spoilt(np.nan, row=0), None, "row 0 of X"),
    "last row": (spoilt_csr(-1.0, row=N - 1), None, f"row {N - 1} of X"),
    "CSC": (sparse.csc_array(spoilt_csr(np.nan)), None, ROW),
    "COO": (sparse.coo_array(spoilt_csr(-3.0)), None, ROW),
    "list": (spoilt(-1.0).tolist(), None, ROW),
    "one dimension": (X.toarray()[0], None, "Reshape your data"),
    "no rows": (X.toarray()[:0], None, "0 sample"),
    "no rows, sparse": (X[:0], None, "0 sample"),
    "no features": (X.toarray()[:, :0], None, "0 feature"),
    "text": (np.full((N, V), "a"), None, "row 0 of X holds the text 'a', and .* takes"),
    "complex": (X.toarray() + 1j, None, "Complex data not supported"),
    "words and not counts": (["a b", "b c"], None, "row 0 of X holds the text .a b.*CountVectorizer"),
}
BAD_CALLS = BAD_DATA | {name: (X, weight, message) for name, (weight, message) in bad_weights(N).items()}


LATER = BAD_CALLS | {
    "wrong width": (np.ones((N, V + 1)), None, f"{V + 1} features.*expecting {V} features"),
    "wrong sparse width": (X[:, :-1], None, f"{V - 1} features.*expecting {V} features"),
}


READ = BAD_DATA | {name: LATER[name] for name in LATER if "width" in name}


def shuffled(matrix, split=False):
    """The same matrix with entries of a row out of order, and each in two parts if asked for."""
    coo = sparse.coo_array(matrix)
    row, column, data = coo.row, coo.col, coo.data
    if split:
        row, column, data = np.r_[row, row], np.r_[column, column], np.r_[data - data // 2, data // 2]
    order = np.random.default_rng(0).permutation(len(row))
    order = order[np.argsort(row[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=N))])
    return sparse.csr_array((data[order], column[order], indptr), shape=matrix.shape)


def halves(matrix):
    """The same matrix with two entries of half of each count: only sums are whole."""
    data, indices = (np.repeat(each, 2) for each in (matrix.data / 2, matrix.indices))
    return sparse.csr_array((data, indices, 2 * matrix.indptr), shape=matrix.shape)


def with_stored_zeros(matrix):
    out = sparse.csr_array(matrix.toarray() + 1)
    out.data = out.data - 1
    return out


def wide_indices(matrix):
    out = sparse.csr_array(matrix)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def read_only(matrix):
    out = matrix.copy()
    for array in (out,) if isinstance(out, np.ndarray) else (out.data, out.indices, out.indptr):
        array.flags.writeable = False
    return out


FORMS = {
    **{f"CSR {dtype.__name__}": X.astype(dtype) for dtype in (np.int32, np.float32, np.float64, np.uint8)},
    **{f"dense {dtype.__name__}": X.toarray().astype(dtype) for dtype in (np.int64, np.float32)},
    "csr_matrix": sparse.csr_matrix(X),
    "CSC": sparse.csc_array(X),
    "COO": sparse.coo_array(X),
    "LIL matrix": sparse.lil_matrix(X.toarray()),
    "list": X.toarray().tolist(),
    "Fortran": np.asfortranarray(X.toarray()),
    "reversed view": X.toarray()[:, ::-1].copy()[:, ::-1],
    "unsorted": shuffled(X),
    "duplicates": shuffled(X, split=True),
    "duplicates of halves": halves(X),
    "unsorted float32": shuffled(X).astype(np.float32),
    "stored zeros": with_stored_zeros(X),
    "stored zeros float32": with_stored_zeros(X).astype(np.float32),
    "64-bit indices": wide_indices(X.astype(np.float32)),
    "64-bit unsorted": wide_indices(shuffled(X)),
    "read-only": read_only(X.astype(np.float32)),
    "read-only dense": read_only(X.toarray().astype(np.float32)),
    "read-only duplicates": read_only(shuffled(X, split=True)),
}


def state_of(rows):
    """Arrays of the data with their values and flags."""
    if not sparse.issparse(rows) or rows.format == "lil":
        return [np.array(rows.toarray() if sparse.issparse(rows) else rows)]
    names = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col")}
    arrays = [getattr(rows, name).copy() for name in names[rows.format]]
    flags = [vars(rows).get(name) for name in ("_has_sorted_indices", "_has_canonical_format")]
    return [*arrays, rows.dtype, [flag if flag is None else bool(flag) for flag in flags]]


SIZES = {
    "one document": X[:1],
    "one document of one word": sparse.csr_array(([3], [4], [0, 1]), shape=(1, V)),
    "one word": np.arange(1.0, 8.0)[:, None],
    "one token": np.ones((1, 1)),
    "two words": np.array([[1.0, 0.0], [2.0, 5.0], [0.0, 1.0]]),
    "words that never occur": np.hstack([X.toarray(), np.zeros((N, 3))])[:, ::-1],
    "fewer documents than topics": X[:3],
    "one frequent word": np.hstack([X.toarray(), np.full((N, 1), 1000)]),
    "one long document": np.vstack([X.toarray(), 10_000 * X.toarray()[:1]]),
}


COOKING = ["oven", "butter", "flour", "sugar", "dough", "bake", "yeast", "salt", "pan", "cake"]
SPACE = ["orbit", "planet", "rocket", "star", "moon", "comet", "galaxy", "launch", "probe", "telescope"]


def texts(n=60, length=12, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice((COOKING, SPACE)[i % 2], size=length)) for i in range(n)]


def counter():
    """Text to a pipeline of counts."""
    return CountVectorizer(token_pattern=r"\w+")


def assert_valid(est, rows):
    """Everything finite, proportions and weights distributions, as many counts as tokens."""
    tokens, n_topics = float(rows.sum()), getattr(est, "n_topics_", est.n_components)
    assert est.components_.shape == (n_topics, np.shape(rows)[1])
    assert n_topics <= est.n_components
    assert np.isfinite(est.components_).all()
    assert (est.components_ > 0).all()
    assert est.doc_topic_prior_.shape == est.topic_weights_.shape == (n_topics,)
    assert (est.topic_weights_ >= 0).all()
    assert abs(est.topic_weights_.sum() - 1.0) < 1e-6
    theta = est.transform(rows)
    assert theta.shape == (np.shape(rows)[0], n_topics)
    assert (theta >= 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-9 if theta.dtype == np.float64 else 1e-6)
    if isinstance(est, (SparseSCVB0LDA, SparseDMR, SparseHDP)):
        stats = est._fitted.stats
        if isinstance(est, SparseHDP) and 0 < est.n_samples_seen_ < np.shape(rows)[0]:  # documents were set aside
            assert 0.0 < stats["mass"] < tokens
            tokens = float(stats["mass"])
        np.testing.assert_allclose(stats["mass"], tokens, rtol=1e-6)
        np.testing.assert_allclose(stats.learned_count.sum(), tokens, rtol=1e-3)  # starts leave out tiny shares
        sums = (est.components_ - est.topic_word_prior_).sum(axis=1, dtype=float)
        np.testing.assert_allclose(sums, stats.learned_count, rtol=1e-3, atol=1e-5 * tokens)
        return
    assert all(np.isfinite(value) for record in est.history_ for value in record.values())
    if isinstance(est, (CollapsedLDA, GibbsLDA)):
        sums = (est.components_ - est.topic_word_prior_).sum(axis=0, dtype=float)
        totals = np.asarray(rows.sum(axis=0)).ravel()
        np.testing.assert_allclose(sums, totals, rtol=1e-4, atol=1e-5 * tokens)
    elif est.learning_method != "online":
        np.testing.assert_allclose(est._fitted.stats["tokens"], tokens, rtol=1e-5)
        counts = est._fitted.stats.learned_count
        np.testing.assert_allclose(counts.sum(), tokens, rtol=1e-3)  # starts leave out tiny shares
