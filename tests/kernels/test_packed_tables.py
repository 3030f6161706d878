"""Tables that keep the entries of counts above zero only, compared with whole ones: the same numbers to the bit."""

import numpy as np
import pytest
from scipy import sparse
from sparsemix._kernels.documents._entries import Entries

from sparsemix import SparseLDA
from sparsemix._kernels.documents import _docstep, _memory, _special, _words
from sparsemix._models.topics import variational_model as _model
from sparsemix._rows.documents import DocumentMemory
from sparsemix._rows.threads import Workers
from sparsemix._stats.word_rows import ByWord
from sparsemix.datasets import make_sparse_lda

V, N = 37, 50
DTYPES = [np.float32, np.float64]
PRIORS = [0.01, 0.3]  # entries that are not kept are the lowest possible, or not
few_epochs = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def counts_of(n_components, dtype, density=0.3, seed=0):
    """Counts with zeros, rows of zeros, a row that is full and one of a single entry."""
    rng = np.random.default_rng(seed)
    out = rng.gamma(0.5, 3.0, size=(V, n_components)) * (rng.uniform(size=(V, n_components)) < density)
    out[3], out[4], out[5] = 0.0, rng.gamma(1.0, size=n_components), 0.0
    out[5, n_components - 1] = 2.5
    return out.astype(dtype)


def whole(counts, factor, prior, inverse, n_nonzero):
    table, lists = np.empty_like(counts), np.empty((V, n_nonzero), dtype=np.int32)
    words = np.arange(V, dtype=np.int32)
    _special.exp_log_word(counts, factor, prior, False, inverse, words, 0, V, table, lists)
    return table, lists


def packed(counts, factor, prior, inverse, n_nonzero, words=None, n_jobs=1):
    table = _special.PackedTable(V, counts.shape[1], n_nonzero, counts.dtype)
    words = np.arange(V, dtype=np.int32) if words is None else words
    with Workers(n_jobs) as workers:
        table.make(counts, factor, prior, inverse, words, workers.split)
    return table


def made(n_components, dtype, prior=0.01, n_nonzero=3, density=0.3, **how):
    counts = counts_of(n_components, dtype, density)
    inverse = np.random.default_rng(1).uniform(0.1, 1.0, size=n_components).astype(dtype)
    return counts, whole(counts, 0.5, prior, inverse, n_nonzero), packed(counts, 0.5, prior, inverse, n_nonzero, **how)


# -- tables


@pytest.mark.parametrize("density", [0.05, 0.6, 1.0])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [3, 39, 40, 41, 80, 130])
def test_packed_rows_are_the_whole_ones(n_components, dtype, prior, density):
    counts, (table, lists), rows = made(n_components, dtype, prior, density=density)
    np.testing.assert_array_equal(rows.toarray(), table)
    np.testing.assert_array_equal(rows.lists, lists)
    np.testing.assert_array_equal(rows.best, np.take_along_axis(table, lists, axis=1))
    assert rows._n_kept == np.count_nonzero(counts)


@pytest.mark.parametrize("dtype", DTYPES)
def test_packed_rows_of_sparse_counts_and_in_threads(dtype):
    counts, (table, lists), rows = made(90, dtype, n_jobs=3)
    np.testing.assert_array_equal(rows.toarray(), table)
    inverse = rows.inverse
    other = packed(sparse.csr_array(counts), 0.5, 0.01, inverse, 3)
    np.testing.assert_array_equal(other.toarray(), table)
    np.testing.assert_array_equal(other.lists, lists)


def test_packed_rows_are_made_word_by_word_and_forgotten():
    counts, (table, _), rows = made(90, np.float32, words=np.array([7, 4, 20], dtype=np.int32))
    np.testing.assert_array_equal(rows.toarray([4, 7, 20]), table[[4, 7, 20]])
    with Workers(1) as workers:
        rows.make(counts, 0.5, 0.01, rows.inverse, np.array([0, 36], dtype=np.int32), workers.split)
    np.testing.assert_array_equal(rows.toarray([0, 4, 7, 20, 36]), table[[0, 4, 7, 20, 36]])
    values = rows.values
    rows.forget()
    assert rows.values is values
    with Workers(1) as workers:
        rows.make(counts, 0.5, 0.01, rows.inverse, np.array([3], dtype=np.int32), workers.split)
    rows.forget()
    assert rows.values is not values  # what few entries do not need is given back
    np.testing.assert_array_equal(packed(counts, 0.5, 0.01, rows.inverse, 3).toarray(), table)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_packed_rows_of_counts_that_are_not_finite_are_refused(value):
    counts = counts_of(50, np.float32)
    counts[11, 30] = value
    with pytest.raises(ValueError, match="word 11 hold NaN or infinity"):
        packed(counts, 1.0, 0.01, np.ones(50, dtype=np.float32), 2)


# -- documents and sums


def documents(dtype, seed=3):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((N, V), density=0.4, rng=rng, format="csr", dtype=np.float64)
    X.data = np.ceil(4 * X.data)
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(dtype)


def infer(corpus, table, lists, n_components, dtype, start=None, n_restarts=0):
    topics = np.zeros((len(corpus[1]), 1 if lists is None else lists.shape[1]), dtype=np.int32)
    values, doc_topic = np.zeros(topics.shape, dtype=dtype), np.zeros((N, n_components), dtype=dtype)
    if start is not None:
        doc_topic[...] = start
    bound, energy, tally = np.zeros(N), np.zeros(N), np.zeros((N, 3), dtype=np.int64)
    alpha = np.full(n_components, 0.1, dtype=dtype)
    _docstep.local_step(
        Entries(*corpus), table, lists, alpha, _docstep.Settings(40, 1e-3, 3, 5, 10, n_restarts, 2, 1e-2, False, 1e-2),
        start is not None, topics, values, None, doc_topic, bound, energy, tally, _docstep.Workspace(dtype),
    )  # fmt: skip
    return topics, values, doc_topic, bound, energy, tally


@pytest.mark.parametrize("density", [0.2, 1.0])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_documents_and_sums_are_the_same_from_both_tables(dtype, prior, warm, density):
    n_components = 95
    _, (table, lists), rows = made(n_components, dtype, prior, density=density)
    corpus = documents(dtype)
    start = None
    if warm:  # topics that others have: some are missing on purpose, and enter
        start = infer(corpus, table, lists, n_components, dtype)[2][::-1].copy()
        start[:, ::3] = 0.0
        start[0] = 0.0
        start[0, 5] = 1.0
    expected = infer(corpus, table, lists, n_components, dtype, start, n_restarts=2)
    found = infer(corpus, rows, rows.lists, n_components, dtype, start, n_restarts=2)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    by_word = ByWord.of(corpus[1], V)
    starts, entries = by_word.starts, by_word.entries
    sums = []
    for each in (table, rows):
        lengths, energies = np.zeros(V, dtype=np.int64), np.zeros(V)
        topics, values = np.zeros(V * n_components, dtype=np.int32), np.zeros(V * n_components, dtype=dtype)
        n = _words.sum_sparse(
            starts, entries, found[0], found[1], each, 1e-2, n_components, 0, V, lengths, topics, values,
            energies,
        )  # fmt: skip
        sums.append((lengths, topics[:n], values[:n], energies))
    for a, b in zip(*sums, strict=True):
        np.testing.assert_array_equal(a, b)


def test_packed_tables_need_lists_and_the_dtype_of_the_counts():
    _, (_, lists), rows = made(95, np.float32)
    corpus = documents(np.float64)
    with pytest.raises(ValueError, match="packed table is of float32"):
        infer(corpus, rows, lists, 95, np.float64)
    with pytest.raises(ValueError, match="packed table needs lists"):
        infer(documents(np.float32), rows, None, 95, np.float32)


# -- fits


@few_epochs
@pytest.mark.parametrize("learning_method", ["memoized", "batch", "online"])
def test_fits_from_both_tables_are_the_same(learning_method, monkeypatch):
    X = make_sparse_lda(300, n_features=80, n_components=12, doc_length=40, random_state=0)[0]
    fits = []
    for most in (0, 1000):
        monkeypatch.setattr(_model, "MOST_WHOLE", most)
        lda = SparseLDA(
            12, n_nonzero=3, learning_method=learning_method, batch_size=70, max_iter=4, tol=0.0, n_restarts=1,
            topic_word_prior=0.1, init_params="random", random_state=0,
        ).fit(X)  # fmt: skip
        stats = lda.partial_fit(X[:50]).expected_stats(X[50:90])
        assert isinstance(lda._fitted.model._table, _special.PackedTable) == (most == 0)
        fits.append((lda.components_, lda.transform(X), stats["count"]))
    for a, b in zip(*fits, strict=True):
        np.testing.assert_array_equal(a, b)


# -- rows that are remembered


@pytest.mark.parametrize("n_topics", [1, 7, 70_000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_remembered_rows_come_back_without_their_small_entries(dtype, n_topics):
    rng = np.random.default_rng(0)
    rows = rng.gamma(0.1, size=(5, n_topics)).astype(dtype)
    rows[2] = 0.0
    memory = DocumentMemory(0.1 / n_topics)
    memory.remember(np.arange(3, 8), rows)
    out = np.full_like(rows, np.nan)
    assert memory.recall(np.arange(3, 8), out)
    large = rows > 0.1 / n_topics * rows.sum(axis=1, dtype=np.float64, keepdims=True)
    np.testing.assert_array_equal(out, np.where(large, rows, 0))
    assert not memory.recall(np.arange(4, 8), out)


def test_wrong_sizes_for_remembered_rows_is_refused():
    with pytest.raises(ValueError, match="space for all"):
        _memory.keep_large(np.ones((2, 3)), 0.1, np.empty(2, dtype=np.int32), np.empty(5, dtype=np.uint16), np.empty(6))
