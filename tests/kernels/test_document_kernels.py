"""Local inference of documents, tables of exp E[log phi] and sums by word: the compiled loops against plain NumPy."""

import numpy as np
import pytest
import reference
from row_cases import read_only
from scipy.special import gammaln, psi
from sparsemix._kernels.vectors._simd import aligned_empty

from sparsemix._kernels.documents import _docstep, _entries, _special, _words
from sparsemix._models.topics.variational_model import inverse_totals
from sparsemix._stats.word_rows import ByWord

DTYPES = [np.float32, np.float64]
K = 12
WIDTHS = [1, 2, 3, 8, K]


class Corpus:
    """Random documents and a table whose rows' largest entry is one; document 3 is empty, the last is the longest."""

    def __init__(self, dtype=np.float64, seed=0, n_components=K, n_words=60, n_documents=16, alpha=0.05, spread=2.0):
        rng = np.random.default_rng(seed)
        self.dtype = dtype
        table = np.exp(spread * rng.normal(size=(n_words, n_components)))
        self.table = (table / table.max(axis=1, keepdims=True)).astype(dtype)
        lengths = rng.integers(1, min(n_words, 38) + 1, size=n_documents)
        lengths[3 % n_documents], lengths[-1] = 0, n_words
        self.indptr = np.concatenate([[0], np.cumsum(lengths)])
        self.indices = np.concatenate([rng.permutation(n_words)[:n] for n in lengths]).astype(np.int32)
        self.counts = rng.integers(1, 6, size=len(self.indices)).astype(dtype)
        self.alpha = np.full(n_components, alpha, dtype=dtype)

    def __len__(self):
        return len(self.indptr) - 1

    @property
    def documents(self):
        return _entries.Entries(self.indptr, self.indices, self.counts)

    def lists(self, n_nonzero):
        lists = np.argsort(-self.table, axis=1, kind="stable")[:, :n_nonzero]
        return np.sort(lists, axis=1).astype(np.int32)

    def entries(self, d):
        return slice(self.indptr[d], self.indptr[d + 1])

    def lengths(self):
        return np.array([self.counts[self.entries(d)].sum(dtype=np.float64) for d in range(len(self))])

    def part(self, documents):
        """Some of the documents, in the given order."""
        out = object.__new__(Corpus)
        vars(out).update(vars(self))
        out.indptr = np.concatenate([[0], np.cumsum([np.diff(self.indptr)[d] for d in documents])])
        out.indices = np.concatenate([self.indices[self.entries(d)] for d in documents])
        out.counts = np.concatenate([self.counts[self.entries(d)] for d in documents])
        return out

    def twin(self, d, n_nonzero, **options):
        e = self.entries(d)
        return reference.infer_document(
            self.indices[e], self.counts[e], self.table.astype(np.float64), self.alpha, n_nonzero, **options
        )


class Result:
    """What the kernel leaves, with responsibilities (nnz, K) whose rows sum to the counts."""

    def __init__(self, corpus, doc_topic, arrays):
        self.topics, self.values, self.p, self.bound, self.energy, self.tally = arrays
        self.doc_topic = doc_topic
        if self.p is None:
            self.resp = reference.dense(self.topics, self.values, corpus.table.shape[1])
        else:
            documents = np.repeat(np.arange(len(corpus)), np.diff(corpus.indptr))
            self.resp = np.float64(1) * self.values * self.p[documents] * corpus.table[corpus.indices]

    def arrays(self):
        return [a for a in (self.topics, self.values, self.p, self.doc_topic, self.bound, self.energy, self.tally)
                if a is not None]  # fmt: skip


def infer(
    corpus, n_nonzero, *, max_iter=100, tol=0.05, list_iter=0, select_first=5, select_every=10, n_restarts=0,
    restart_iter=2, active=1e-9, linear=False, start=None, enter=0.0,
):  # fmt: skip
    n, n_components = len(corpus), corpus.table.shape[1]
    dense = n_nonzero >= n_components
    width = 1 if dense else n_nonzero
    topics = None if dense else np.full((len(corpus.indices), width), -7, dtype=np.int32)
    values = np.full((len(corpus.indices), width), np.nan, dtype=corpus.dtype)
    p = np.full((n, n_components), np.nan, dtype=corpus.dtype) if dense else None
    doc_topic = np.full((n, n_components), np.nan, dtype=corpus.dtype)
    if start is not None:
        doc_topic[...] = start
    bound, energy, tally = np.full(n, np.nan), np.full(n, np.nan), np.full((n, 3), -1, dtype=np.int64)
    settings = _docstep.Settings(
        max_iter, tol, list_iter, select_first, select_every, n_restarts, restart_iter, active, linear, enter
    )
    _docstep.local_step(
        corpus.documents, corpus.table, None if dense else corpus.lists(n_nonzero), corpus.alpha, settings,
        start is not None, topics, values, p, doc_topic, bound, energy, tally, _docstep.Workspace(corpus.dtype),
    )  # fmt: skip
    return Result(corpus, doc_topic, (topics, values, p, bound, energy, tally))


def assert_consistent(corpus, result, n_nonzero, rtol):
    """Every number of the result follows from its responsibilities; at most L a word."""
    totals = np.bincount(
        np.repeat(np.arange(len(corpus)), np.diff(corpus.indptr)), corpus.counts.astype(np.float64), len(corpus)
    )
    np.testing.assert_allclose(result.resp.sum(axis=1), corpus.counts, rtol=rtol)
    assert (np.count_nonzero(result.resp, axis=1) <= n_nonzero).all()
    for d in range(len(corpus)):
        e = corpus.entries(d)
        np.testing.assert_allclose(result.doc_topic[d], result.resp[e].sum(axis=0), atol=2 * rtol * totals[d] + 1e-300)
        resp = result.resp[e] / corpus.counts[e].astype(np.float64)[:, None]
        expected = reference.document_bound(corpus.counts[e], corpus.table[corpus.indices[e]], resp, corpus.alpha)
        # logarithms of a table reach 30, those of Gamma functions grow with a document's length
        np.testing.assert_allclose(result.bound[d], expected, rtol=0, atol=60 * rtol * (1 + totals[d]))
        gammas = np.sum(gammaln(corpus.alpha + result.doc_topic[d].astype(np.float64)) - gammaln(corpus.alpha))
        np.testing.assert_allclose(
            result.bound[d] - result.energy[d], gammas, rtol=1e-9, atol=60 * rtol * (1 + totals[d])
        )


def rtol_of(dtype):
    return 1e-12 if dtype == np.float64 else 3e-6


# -- one document at a time, as in the twin


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("list_iter", [0, 3])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_documents_equal_the_twin(n_nonzero, list_iter, dtype):
    corpus = Corpus(dtype, seed=n_nonzero)
    result = infer(corpus, n_nonzero, list_iter=list_iter)
    assert_consistent(corpus, result, n_nonzero, rtol_of(dtype))
    # supports are chosen the same way, so round-off alone is between the two, through a few dozen iterations
    atol = 1e-9 if dtype == np.float64 else 1e-3
    for d in range(len(corpus)):
        if d == 3:
            continue
        resp, doc_topic, n_iter = corpus.twin(d, n_nonzero, list_iter=list_iter)
        np.testing.assert_allclose(result.doc_topic[d], doc_topic, rtol=0, atol=atol)
        e = corpus.entries(d)
        np.testing.assert_allclose(result.resp[e], resp * corpus.counts[e, None], rtol=0, atol=atol)
        if dtype == np.float64:
            np.testing.assert_array_equal(result.tally[d], [n_iter, 0, 0])


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 2, K])
def test_posterior_means_equal_the_twin(n_nonzero, dtype):
    corpus = Corpus(dtype, seed=20 + n_nonzero)
    result = infer(corpus, n_nonzero, linear=True, list_iter=2)
    np.testing.assert_allclose(result.resp.sum(axis=1), corpus.counts, rtol=rtol_of(dtype))
    for d in (0, 1, 2, 4, 15):
        doc_topic = corpus.twin(d, n_nonzero, linear=True, list_iter=2)[1]
        np.testing.assert_allclose(result.doc_topic[d], doc_topic, atol=1e-9 if dtype == np.float64 else 1e-3)
    assert (result.bound == 0).all()
    assert (result.energy == 0).all()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("enter", [0.0, 1e-2, 0.3])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_warm_documents_equal_the_twin(n_nonzero, enter, dtype):
    corpus = Corpus(dtype, seed=40 + n_nonzero)
    rng = np.random.default_rng(1)
    start = rng.dirichlet(np.full(K, 0.1), size=len(corpus))
    start[start < 0.05] = 0.0  # topics that the documents do not have
    start = (start * corpus.lengths()[:, None]).astype(dtype)
    result = infer(corpus, n_nonzero, start=start, enter=enter)
    assert_consistent(corpus, result, n_nonzero, rtol_of(dtype))
    assert (result.doc_topic[3] == 0).all()
    for d in (0, 1, 2, 4, 5, 15):
        doc_topic = corpus.twin(d, n_nonzero, start=start[d], enter=enter)[1]
        np.testing.assert_allclose(result.doc_topic[d], doc_topic, atol=1e-9 if dtype == np.float64 else 1e-3)


def test_what_share_lets_a_topic_enter():
    """Topic 1 would take a tenth of what topic 0 has of the one word."""
    alpha, count = 1.0, 9.0
    p = np.exp(psi([alpha + count, alpha]))
    corpus = one_document([[0.5, 0.1 * 0.5 * p[0] / p[1], 1e-3]], [count], alpha)
    for enter, there in [(0.099, True), (0.101, False)]:
        result = infer(corpus, 2, start=[[count, 0.0, 0.0]], enter=enter, max_iter=1, tol=0.0, active=0.0)
        assert (result.doc_topic[0, 1] > 0) == there


def one_document(table, counts, alpha, dtype=np.float64):
    corpus = object.__new__(Corpus)
    corpus.dtype = dtype
    corpus.table = np.array(table, dtype=dtype)
    corpus.indptr = np.array([0, len(counts)])
    corpus.indices = np.arange(len(counts), dtype=np.int32)
    corpus.counts = np.array(counts, dtype=dtype)
    corpus.alpha = np.full(corpus.table.shape[1], alpha, dtype=dtype)
    return corpus


def test_one_topic_a_word_is_chosen_again_in_every_iteration():
    """Far beyond the first iterations supports still change at L = 1, and only in every tenth iteration else."""
    corpus = Corpus(seed=5, alpha=0.5, spread=0.3, n_words=200, n_documents=6)
    corpus.counts[:] = 1.0
    always = infer(corpus, 1, tol=0.0, max_iter=60)
    again = infer(corpus, 1, tol=0.0, max_iter=60, select_first=60)
    never = infer(corpus, 2, tol=0.0, max_iter=60, select_first=1, select_every=100)
    other = infer(corpus, 2, tol=0.0, max_iter=60, select_first=60)
    np.testing.assert_array_equal(always.doc_topic, again.doc_topic)
    assert (never.doc_topic != other.doc_topic).any()
    first = infer(corpus, 1, tol=0.0, max_iter=1, select_first=1, select_every=100)
    assert (infer(corpus, 1, tol=0.0, max_iter=60, select_first=1, select_every=100).doc_topic != first.doc_topic).any()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("n_nonzero", [1, 3, 12])
def test_topics_with_different_priors_equal_the_twin(n_nonzero):
    corpus = Corpus(np.float64, n_components=12, seed=8)
    corpus.alpha = np.random.default_rng(8).uniform(0.02, 2.0, 12)
    result = infer(corpus, n_nonzero)
    assert_consistent(corpus, result, n_nonzero, 1e-12)
    for d in range(len(corpus)):
        if len(corpus.indices[corpus.entries(d)]):
            np.testing.assert_allclose(result.doc_topic[d], corpus.twin(d, n_nonzero)[1], rtol=0, atol=1e-9)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 2, 3, 4, 5])
def test_lower_topic_among_equals(n_nonzero, dtype):
    corpus = Corpus(dtype, n_components=6, seed=3)
    corpus.table[:] = corpus.table[:, :1]  # nothing distinguishes the topics
    start = np.repeat(corpus.lengths()[:, None] / 6, 6, axis=1)
    result = infer(corpus, n_nonzero, start=start, max_iter=1)
    expected = np.zeros((len(corpus.counts), 6))
    expected[:, :n_nonzero] = corpus.counts[:, None] / n_nonzero
    np.testing.assert_allclose(result.resp, expected, rtol=rtol_of(dtype))
    np.testing.assert_array_equal(result.topics, np.tile(np.arange(n_nonzero), (len(corpus.counts), 1)))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_columns_at_the_edge_of_the_support(dtype):
    """Of topics 1, 3 and 5, which are equal, two fit in addition to topic 4, the best."""
    corpus = Corpus(dtype, n_components=6, seed=3)
    corpus.table[:, 4] = 1.0
    corpus.table[:, [1, 3, 5]] = 0.25
    corpus.table[:, [0, 2]] = 0.125
    start = np.repeat(corpus.lengths()[:, None] / 6, 6, axis=1)
    result = infer(corpus, 3, start=start, max_iter=1)
    np.testing.assert_array_equal(result.topics, np.tile([1, 3, 4], (len(corpus.counts), 1)))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_words", [1, 15, 16, 17, 33, 64, 65])
def test_number_of_words_around_the_registers(n_words, dtype):
    for n_components, n_nonzero in [(1, 1), (7, 2), (17, 5), (33, 33)]:
        corpus = Corpus(dtype, n_words=n_words, n_components=n_components, n_documents=1, seed=n_words)
        result = infer(corpus, n_nonzero, list_iter=1)
        assert_consistent(corpus, result, n_nonzero, rtol_of(dtype))
        doc_topic = corpus.twin(0, n_nonzero, list_iter=1)[1]
        np.testing.assert_allclose(result.doc_topic[0], doc_topic, atol=1e-9 if dtype == np.float64 else 1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 2])
def test_one_word(n_nonzero, dtype):
    """A document of one word type at L = 1 belongs to the word's best topic."""
    corpus = one_document([[0.2, 1.0, 0.7]], [4.0], 0.1, dtype)
    result = infer(corpus, n_nonzero, tol=0.0)
    assert result.doc_topic.sum() == pytest.approx(4.0, rel=1e-6)
    if n_nonzero == 1:
        np.testing.assert_allclose(result.doc_topic, [[0.0, 4.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_topic(dtype):
    corpus = Corpus(dtype, n_components=1)
    result = infer(corpus, 1)
    np.testing.assert_allclose(result.doc_topic[:, 0], corpus.lengths(), rtol=rtol_of(dtype))
    lengths = corpus.lengths()
    np.testing.assert_allclose(result.bound, gammaln(0.05 + lengths) - gammaln(0.05), rtol=1e-5, atol=1e-4)


# -- extreme counts


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_counts_of_a_million(n_nonzero, dtype):
    corpus = Corpus(dtype, seed=6)
    corpus.counts *= dtype(1e6)
    result = infer(corpus, n_nonzero, list_iter=3)
    assert_consistent(corpus, result, n_nonzero, 3 * rtol_of(dtype))
    assert np.isfinite(result.bound).all()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("restarts", [0, 3])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_counts_of_a_thousandth_and_a_tiny_prior(n_nonzero, restarts, dtype):
    """exp(digamma) of all topics is zero in float64: only its ratios count."""
    corpus = Corpus(dtype, seed=7, alpha=5e-4)
    corpus.counts[:] = 1e-3
    result = infer(corpus, n_nonzero, list_iter=3, n_restarts=restarts, active=1e-9)
    lengths = corpus.lengths()
    np.testing.assert_allclose(result.resp.sum(axis=1), corpus.counts, rtol=1e-5)
    np.testing.assert_allclose(result.doc_topic.sum(axis=1), lengths, rtol=1e-5)
    assert np.isfinite(result.bound).all()
    assert np.isfinite(result.energy).all()
    assert (result.tally[:, 0] <= 100).all()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 2, 8])
def test_no_document_loses_its_tokens_however_few(n_nonzero, dtype):
    """A share of less than ``active`` drops a topic, but a document keeps what it has."""
    corpus = Corpus(dtype, seed=7, alpha=0.1)
    corpus.counts[:] = 1e-4
    for start in (None, np.repeat(corpus.lengths()[:, None] / K, K, axis=1)):
        result = infer(corpus, n_nonzero, list_iter=3, active=1e-2, start=start)
        np.testing.assert_allclose(result.doc_topic.sum(axis=1), corpus.lengths(), rtol=1e-5)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 3, K])
def test_tables_at_their_floor(n_nonzero, dtype):
    """Words with nothing in common: each has one topic, and the smallest number a table holds elsewhere."""
    lowest = 1e-30 if dtype == np.float32 else 1e-250
    table = np.full((K, K), lowest)
    np.fill_diagonal(table, 1.0)
    corpus = one_document(table, np.arange(1.0, K + 1), 0.01, dtype)
    result = infer(corpus, n_nonzero, list_iter=1, tol=0.0, max_iter=20)
    np.testing.assert_allclose(result.doc_topic[0], np.arange(1.0, K + 1), rtol=1e-5)
    np.testing.assert_allclose(result.resp, np.diag(np.arange(1.0, K + 1)), rtol=1e-5, atol=1e-20)


# -- rows do not depend on each other


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 3, K])
def test_document_does_not_depend_on_its_neighbours(n_nonzero, dtype):
    corpus = Corpus(dtype, seed=8)
    options = {"list_iter": 3, "n_restarts": 2, "active": 1e-2}
    together = infer(corpus, n_nonzero, **options)
    order = np.random.default_rng(0).permutation(len(corpus))
    shuffled = infer(corpus.part(order), n_nonzero, **options)
    np.testing.assert_array_equal(shuffled.doc_topic, together.doc_topic[order])
    np.testing.assert_array_equal(shuffled.bound, together.bound[order])
    np.testing.assert_array_equal(shuffled.tally, together.tally[order])
    for d in range(len(corpus)):
        alone = infer(corpus.part([d]), n_nonzero, **options)
        np.testing.assert_array_equal(alone.doc_topic[0], together.doc_topic[d])
        np.testing.assert_array_equal([alone.bound[0], alone.energy[0]], [together.bound[d], together.energy[d]])
        np.testing.assert_array_equal(alone.values, together.values[corpus.entries(d)])
        if alone.topics is not None:
            np.testing.assert_array_equal(alone.topics, together.topics[corpus.entries(d)])


def test_used_scratch_changes_no_bit():
    corpus = Corpus(seed=9)
    workspace = _docstep.Workspace(np.float64)
    workspace.of(1 << 16, 1 << 12)
    workspace.reals[:], workspace.ints[:] = np.nan, 5
    for n_nonzero in (2, K):
        expected = infer(corpus, n_nonzero, list_iter=3, n_restarts=2)
        n, nnz = len(corpus), len(corpus.indices)
        doc_topic, bound, energy, tally = np.empty((n, K)), np.empty(n), np.empty(n), np.empty((n, 3), dtype=np.int64)
        if n_nonzero == 2:
            lists, topics, values, p = corpus.lists(2), np.empty((nnz, 2), dtype=np.int32), np.empty((nnz, 2)), None
        else:
            lists, topics, values, p = None, None, np.empty((nnz, 1)), np.empty((n, K))
        _docstep.local_step(
            corpus.documents, corpus.table, lists, corpus.alpha,
            _docstep.Settings(100, 0.05, 3, 5, 10, 2, 2, 1e-9, False, 0.0), False, topics, values, p, doc_topic, bound,
            energy, tally, workspace,
        )  # fmt: skip
        np.testing.assert_array_equal(doc_topic, expected.doc_topic)
        np.testing.assert_array_equal(values, expected.values)
        np.testing.assert_array_equal(bound, expected.bound)


def test_read_only_inputs():
    corpus = Corpus(seed=10)
    for n_nonzero in (2, K):
        expected = infer(corpus, n_nonzero)
        frozen = corpus.part(range(len(corpus)))
        frozen.table = corpus.table.copy()
        read_only(frozen.indptr, frozen.indices, frozen.counts, frozen.table, frozen.alpha)
        lists = read_only(corpus.lists(n_nonzero))[0]
        frozen.lists = lambda _, lists=lists: lists
        for found, right in zip(infer(frozen, n_nonzero).arrays(), expected.arrays(), strict=True):
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("n_nonzero", [2, K])
def test_no_documents_and_no_tokens(n_nonzero):
    corpus = Corpus(seed=11)
    empty = corpus.part([3, 3])
    result = infer(empty, n_nonzero)
    for array in (result.doc_topic, result.bound, result.energy, result.tally):
        assert (array == 0).all()
    none = corpus.part([3])
    none.indptr = none.indptr[:1]
    assert infer(none, n_nonzero).doc_topic.shape == (0, K)


def test_nothing_but_the_documents_need_be_written():
    corpus = Corpus(seed=12)
    for n_nonzero in (2, K):
        expected = infer(corpus, n_nonzero)
        doc_topic, n = np.empty((len(corpus), K)), len(corpus)
        _docstep.local_step(
            corpus.documents, corpus.table, corpus.lists(2) if n_nonzero == 2 else None, corpus.alpha,
            _docstep.Settings(100, 0.05, 0, 5, 10, 0, 2, 1e-9, False, 0.0), False, None, None, None, doc_topic,
            np.empty(n), np.empty(n), np.empty((n, 3), dtype=np.int64), _docstep.Workspace(np.float64),
        )  # fmt: skip
        np.testing.assert_array_equal(doc_topic, expected.doc_topic)


WRONG = {
    "lists": "lists must be", "wide lists": "lists must be", "no lists": "lists must be", "alpha": "alpha must be",
    "documents": "doc_topic", "components": "doc_topic", "bound": "bound and energy", "energy": "bound and energy",
    "tally": "bound and energy", "counts": "indices and counts", "indices": "indices and counts",
    "values": "values must be", "topics": "topics must be",
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_shapes_raise(wrong):
    corpus = Corpus(n_words=20, n_documents=5, n_components=70)
    n, nnz = len(corpus), len(corpus.indices)
    arrays = {
        "indices": corpus.indices, "counts": corpus.counts, "lists": corpus.lists(3),
        "alpha": corpus.alpha, "topics": np.zeros((nnz, 3), dtype=np.int32), "values": np.zeros((nnz, 3)),
        "doc_topic": np.zeros((n, 70)), "bound": np.zeros(n), "energy": np.zeros(n),
        "tally": np.zeros((n, 3), dtype=np.int64),
    }  # fmt: skip
    if wrong == "wide lists":
        arrays["lists"] = corpus.lists(65)
    elif wrong == "no lists":
        arrays["lists"] = np.zeros((20, 0), dtype=np.int32)
    elif wrong == "documents":
        arrays["doc_topic"] = np.zeros((n - 1, 70))
    elif wrong == "components":
        arrays["doc_topic"] = np.zeros((n, 69))
    else:
        arrays[wrong] = arrays[wrong][:-1]
    with pytest.raises(ValueError, match=WRONG[wrong]):
        _docstep.local_step(
            _entries.Entries(corpus.indptr, arrays["indices"], arrays["counts"]), corpus.table, arrays["lists"],
            arrays["alpha"], _docstep.Settings(9, 0.1, 0, 5, 10, 0, 2, 1e-9, False, 0.0), False, arrays["topics"],
            arrays["values"], None, arrays["doc_topic"], arrays["bound"], arrays["energy"], arrays["tally"],
            _docstep.Workspace(np.float64),
        )  # fmt: skip


# -- the objective


@pytest.mark.parametrize("list_iter", [0, 3])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_bound_rises_with_every_iteration(n_nonzero, list_iter):
    """If every iteration chooses supports, the last update does so too."""
    corpus = Corpus(seed=13, alpha=0.1)
    options = {"tol": 0.0, "active": 0.0, "list_iter": list_iter, "select_first": 100}
    bounds = np.array([infer(corpus, n_nonzero, max_iter=i, **options).bound for i in range(25)])
    assert (np.diff(bounds, axis=0) >= -1e-9 * corpus.lengths()).all()
    assert bounds[-1].sum() > bounds[0].sum() + 0.1


@pytest.mark.parametrize("list_iter", [0, 3])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_bound_rises_whenever_supports_are_chosen(n_nonzero, list_iter):
    """An iteration between two choices is not seen, but what follows it is no lower than the last choice."""
    corpus = Corpus(seed=13, alpha=0.1)
    options = {"tol": 0.0, "active": 0.0, "list_iter": list_iter}
    bounds = np.array([infer(corpus, n_nonzero, max_iter=i, **options).bound for i in range(33)])
    for i in (0, 1, 2, 3, 4, 10, 20, 30):  # the next iteration chooses, as the last update does
        assert (bounds[i + 1 :] >= bounds[i] - 1e-9 * corpus.lengths()).all()


@pytest.mark.parametrize("n_nonzero", [2, 3, 8, K])
def test_topics_that_left_cost_nothing(n_nonzero):
    corpus = Corpus(seed=14, alpha=0.05)
    every = infer(corpus, n_nonzero, tol=1e-6, max_iter=500, active=0.0)
    few = infer(corpus, n_nonzero, tol=1e-6, max_iter=500, active=1e-9)
    assert (np.abs(few.bound - every.bound) <= 1e-6 * corpus.lengths()).all()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("n_nonzero", WIDTHS)
def test_restarts_never_lower_the_bound(n_nonzero, warm, dtype):
    corpus = Corpus(dtype, seed=15, n_documents=30)
    start = np.repeat(corpus.lengths()[:, None] / K, K, axis=1) if warm else None
    options = {"list_iter": 0, "start": start, "active": 1e-9}
    plain = infer(corpus, n_nonzero, **options)
    restarted = infer(corpus, n_nonzero, n_restarts=5, **options)
    assert_consistent(corpus, restarted, n_nonzero, rtol_of(dtype))
    slack = (1e-9 if dtype == np.float64 else 1e-4) * (1 + corpus.lengths())
    assert (restarted.bound >= plain.bound - slack).all()
    np.testing.assert_array_equal(restarted.tally[:, 0], plain.tally[:, 0])
    assert (restarted.tally[:, 1] >= restarted.tally[:, 2]).all()
    assert (restarted.tally[:, 1] <= 5).all()
    changed = restarted.tally[:, 2] > 0
    assert changed.any()
    if dtype == np.float64:
        assert (restarted.bound > plain.bound)[changed].all()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
def test_restart_leaves_a_local_optimum(dtype):
    """At L = 1 each of two words keeps the topic it fits best, though one topic for both is better."""
    corpus = one_document([[1.0, 0.9], [0.9, 1.0]], [20.0, 20.0], 0.1, dtype)
    plain, restarted = (infer(corpus, 1, n_restarts=n, tol=1e-6) for n in (0, 5))
    np.testing.assert_allclose(plain.doc_topic, [[20.0, 20.0]], rtol=1e-5)
    np.testing.assert_allclose(restarted.doc_topic, [[0.0, 40.0]], rtol=1e-5)  # the lower one is emptied first
    np.testing.assert_array_equal(restarted.tally[:, 1:], [[1, 1]])
    np.testing.assert_allclose(plain.bound, 2 * (gammaln(20.1) - gammaln(0.1)), rtol=1e-5)
    np.testing.assert_allclose(restarted.bound, 20 * np.log(0.9) + gammaln(40.1) - gammaln(0.1), rtol=1e-5)


# -- tables of exp E[log phi]


def exp_log_word(counts, factor, prior, n_nonzero, linear=False, ranges=None, words=None, inverse=None):
    n_words = len(counts)
    totals = factor * counts.sum(axis=0, dtype=np.float64) + n_words * prior
    log_inverse = -np.log(totals) if linear else -psi(totals)
    if inverse is None:
        inverse = inverse_totals(totals, linear, counts.dtype)
    words = np.arange(n_words, dtype=np.int32) if words is None else words
    table = np.full(counts.shape, np.nan, dtype=counts.dtype)
    lists = None if n_nonzero is None else np.full((n_words, n_nonzero), -7, dtype=np.int32)
    for first, last in ranges or [(0, len(words))]:
        _special.exp_log_word(counts, factor, prior, linear, inverse, words, first, last, table, lists)
    log_phi = (np.log if linear else psi)(factor * counts.astype(np.float64) + prior) + log_inverse
    log_phi -= log_phi.max(axis=1, keepdims=True)
    return table, lists, log_phi


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("n_components", [1, 2, 7, 8, 15, 16, 17, 33, 100])
def test_table_is_exp_digamma(n_components, linear, dtype):
    rng = np.random.default_rng(n_components)
    counts = np.exp(rng.uniform(-3, 15, size=(300, n_components))).astype(dtype)
    counts[rng.uniform(size=counts.shape) < 0.3] = 0.0
    counts[5] = 0.0
    for prior in (0.1, 0.5, 3.0):
        table, _, log_phi = exp_log_word(counts, 1.0, dtype(prior), None, linear)
        # of numbers of the dtype: E[log phi] itself is that far off, where it is -1 / prior
        rtol = (1e-12 if dtype == np.float64 else 1e-5) * max(1.0, 0.2 / prior)
        above = log_phi > np.log(1e-28)
        np.testing.assert_allclose(table[above], np.exp(log_phi[above]), rtol=rtol)
        np.testing.assert_allclose(table.max(axis=1), 1.0, rtol=1e-6)


@pytest.mark.usefixtures("instruction_set")
def test_digamma_of_small_and_large_numbers():
    """Ratios of exp(digamma) over a fine grid, in float64 to twelve digits."""
    for low, high in [(1e-3, 1e-2), (0.01, 0.3), (0.2, 13.0), (11.0, 13.0), (5.0, 1e3), (1e3, 1e9)]:
        grid = np.geomspace(low, high, 4096)
        table, _, _ = exp_log_word(grid[None], 1.0, 0.0, None, inverse=np.ones(4096))
        expected = psi(grid) - psi(grid[-1])
        fine = expected > -500
        # the digamma function of x itself is known to 1e-16 / x
        np.testing.assert_allclose(np.log(table[0, fine]), expected[fine], rtol=1e-12, atol=2e-13)


def test_factor_multiplies_the_counts():
    rng = np.random.default_rng(0)
    counts = rng.gamma(1.0, size=(20, 9))
    table, lists, _ = exp_log_word(counts * 0.25, 1.0, 0.1, 3)
    scaled = exp_log_word(counts, 0.25, 0.1, 3)
    np.testing.assert_allclose(scaled[0], table, rtol=1e-14)
    np.testing.assert_array_equal(scaled[1], lists)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
def test_tables_do_not_fall_below_their_floor(dtype):
    lowest = 1e-30 if dtype == np.float32 else 1e-250
    counts = np.zeros((3, 20), dtype=dtype)
    counts[[0, 1], [4, 19]] = 1e4
    table, lists, _ = exp_log_word(counts, 1.0, 1e-3, 2, inverse=np.ones(20, dtype=dtype))
    expected = np.full((2, 20), lowest, dtype=dtype)
    expected[[0, 1], [4, 19]] = 1.0
    np.testing.assert_allclose(table[:2], expected, rtol=1e-6)
    np.testing.assert_array_equal(lists, [[0, 4], [0, 19], [0, 1]])
    np.testing.assert_allclose(table[2], 1.0, rtol=1e-6)  # a word that does not occur


@pytest.mark.parametrize("dtype", DTYPES)
def test_topic_without_tokens_leaves_the_others_in_their_order(dtype):
    """The words' own prior is tiny: E[log phi] of a topic without counts is beyond what exp() takes."""
    counts = np.array([[50.0, 5.0, 0.0], [5.0, 50.0, 0.0], [10.0, 5.0, 0.0]], dtype=dtype)
    table, lists, log_phi = exp_log_word(counts, 1.0, 1e-3, 1)
    assert (log_phi.argmax(axis=1) == [0, 1, 0]).all()
    np.testing.assert_array_equal(lists[:, 0], [0, 1, 0])
    np.testing.assert_allclose(table[:, :2], np.exp(log_phi[:, :2]), rtol=1e-4)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_nonzero", [1, 2, 5, 16, 40])
def test_lists_are_the_best_topics_of_each_row(n_nonzero, dtype):
    rng = np.random.default_rng(n_nonzero)
    counts = np.round(rng.gamma(0.3, 4.0, size=(80, 40))).astype(dtype)  # many ties
    table, lists, _ = exp_log_word(counts, 1.0, 0.1, n_nonzero)
    np.testing.assert_array_equal(lists, reference.top_l(table, n_nonzero)[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_and_choices_of_words_give_the_same_bits(dtype):
    rng = np.random.default_rng(2)
    counts = rng.gamma(0.3, 4.0, size=(50, 21)).astype(dtype)
    table, lists, _ = exp_log_word(counts, 1.0, 0.1, 4)
    for ranges in ([(0, 1), (1, 50)], [(30, 50), (0, 30)]):
        found = exp_log_word(counts, 1.0, 0.1, 4, ranges=ranges)
        np.testing.assert_array_equal(found[0], table)
        np.testing.assert_array_equal(found[1], lists)
    words = np.array([3, 40, 7], dtype=np.int32)
    found = exp_log_word(counts, 1.0, 0.1, 4, words=words, ranges=[(0, 2)])
    np.testing.assert_array_equal(found[0][[3, 40]], table[[3, 40]])
    assert np.isnan(np.delete(found[0], [3, 40], axis=0)).all()
    assert (np.delete(found[1], [3, 40], axis=0) == -7).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_counts_that_are_not_finite_are_named(bad, dtype):
    counts = np.ones((5, 6), dtype=dtype)
    counts[3, 2] = bad
    table, lists = np.empty_like(counts), np.empty((5, 2), dtype=np.int32)
    with pytest.raises(ValueError, match="word 3"):
        _special.exp_log_word(
            counts, 1.0, 0.1, False, np.ones(6, dtype=dtype), np.arange(5, dtype=np.int32), 0, 5, table, lists
        )


def test_tables_of_wrong_shapes_raise():
    counts, words = np.ones((5, 6)), np.arange(5, dtype=np.int32)
    for table, inverse in [((4, 6), 6), ((5, 5), 6), ((5, 6), 5)]:
        with pytest.raises(ValueError, match="table must have"):
            _special.exp_log_word(counts, 1.0, 0.1, False, np.ones(inverse), words, 0, 5, np.empty(table), None)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("prior", [1e-4, 0.01, 0.5, 30.0])
def test_sums_of_log_gamma_and_digamma(prior, dtype):
    rng = np.random.default_rng(3)
    counts = np.exp(rng.uniform(-8, 12, size=(40, 9))).astype(dtype)
    counts[rng.uniform(size=counts.shape) < 0.5] = 0.0
    for function, twin in [(_special.log_gamma_sum, gammaln), (_special.digamma_sum, psi)]:
        terms = twin(0.7 * counts.astype(np.float64) + prior) - twin(prior)
        np.testing.assert_allclose(function(counts, 0.7, prior, 0, 40), terms.sum(), rtol=1e-12)
        np.testing.assert_allclose(function(counts, 0.7, prior, 7, 19), terms[7:19].sum(), rtol=1e-12)
        assert function(counts, 0.7, prior, 5, 5) == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_expected_logs_of_documents(dtype):
    rng = np.random.default_rng(4)
    doc_topic = rng.gamma(0.3, 10.0, size=(20, 9)).astype(dtype)
    doc_topic[rng.uniform(size=doc_topic.shape) < 0.5] = 0.0
    alpha = rng.uniform(0.01, 2.0, size=9).astype(dtype)
    out = np.full((20, 9), np.nan)
    _special.expected_log(*read_only(doc_topic, alpha), out)
    wide = alpha.astype(np.float64)
    np.testing.assert_allclose(out, psi(wide + doc_topic) - psi(wide), rtol=1e-11, atol=1e-11)
    assert (out[doc_topic == 0] == 0.0).all()


# -- sums by word


class Entries:
    """Responsibilities of random documents; words 4 and 29 have none."""

    def __init__(self, dtype=np.float64, n_components=70, n_nonzero=3, n_words=30, n_documents=25):
        rng = np.random.default_rng(n_nonzero)
        present = np.setdiff1d(np.arange(n_words), [4, n_words - 1])
        words = [np.sort(rng.permutation(present)[: rng.integers(0, 15)]) for _ in range(n_documents)]
        self.n_words, self.n_components, self.dtype = n_words, n_components, dtype
        self.documents = np.repeat(np.arange(n_documents), [len(w) for w in words]).astype(np.int32)
        self.indices = np.concatenate(words).astype(np.int32)
        nnz = len(self.indices)
        self.topics = np.sort([rng.permutation(n_components)[:n_nonzero] for _ in range(nnz)], axis=1).astype(np.int32)
        self.values = rng.uniform(0.0, 2.0, size=(nnz, n_nonzero)).astype(dtype)
        self.topics[::3, -1] = self.values[::3, -1] = 0  # padding
        self.table = rng.uniform(0.01, 1.0, size=(n_words, n_components)).astype(dtype)
        self.scale = rng.uniform(0.0, 2.0, size=nnz).astype(dtype)
        self.p = rng.uniform(0.0, 2.0, size=(n_documents, n_components)).astype(dtype)

    def grouped(self):
        by_word = ByWord.of(*read_only(self.indices), self.n_words)
        return by_word.starts, by_word.entries

    def sparse_sums(self, smallest=0.0, ranges=None):
        """(V, K) from the kernel, and the energies."""
        starts, entries = read_only(*self.grouped())
        lengths, energies = np.full(self.n_words, -1, dtype=np.int64), np.full(self.n_words, np.nan)
        out = np.zeros((self.n_words, self.n_components))
        for first, last in ranges or [(0, self.n_words)]:
            topics, values = np.full(2000, -1, dtype=np.int32), np.full(2000, np.nan, dtype=self.dtype)
            n = _words.sum_sparse(
                starts, entries, self.topics, self.values, self.table, smallest, self.n_components, first, last,
                lengths, topics, values, energies,
            )  # fmt: skip
            at = 0
            for v in range(first, last):
                mine = topics[at : at + lengths[v]]
                assert (np.diff(mine) > 0).all()
                out[v, mine] = values[at : at + lengths[v]]
                at += lengths[v]
            assert at == n
            assert np.isnan(values[n:]).all()
        return out, energies

    def expected(self):
        out = np.zeros((self.n_words, self.n_components))
        np.add.at(out, (self.indices[:, None], self.topics), self.values.astype(np.float64))
        return out


@pytest.mark.parametrize("n_nonzero", [1, 3])
def test_entries_are_grouped_by_word_in_order(n_nonzero):
    case = Entries(n_nonzero=n_nonzero)
    starts, entries = case.grouped()
    np.testing.assert_array_equal(entries, np.argsort(case.indices, kind="stable"))
    np.testing.assert_array_equal(starts, np.searchsorted(np.sort(case.indices), np.arange(case.n_words + 1)))


def test_grouping_needs_space():
    def group(indices, entries, n_words, n_bounds):
        sizes = (n_words, "i4"), (n_words + 2, "i8"), (n_bounds, "i8")
        words, starts, bounds = (np.zeros(n, dtype) for n, dtype in sizes)
        _words.group_by_word(indices, starts, entries, words, bounds)

    with pytest.raises(ValueError, match="space"):
        group(np.zeros(3, dtype=np.int32), np.zeros(2, dtype=np.int32), n_words=1, n_bounds=2)
    with pytest.raises(ValueError, match="bounds"):
        group(np.zeros(3, dtype=np.int32), np.zeros(3, dtype=np.int32), n_words=1, n_bounds=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [3, 63, 64, 65, 130])
def test_sparse_sums_equal_the_dense_ones(n_components, dtype):
    case = Entries(dtype, n_components)
    out, energies = case.sparse_sums()
    rtol = 1e-13 if dtype == np.float64 else 1e-7
    np.testing.assert_allclose(out, case.expected(), rtol=rtol)
    expected = (case.expected() * np.log(case.table.astype(np.float64))).sum(axis=1)
    np.testing.assert_allclose(energies, expected, rtol=1e-12)
    assert (out[[4, 29]] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_sums_are_dropped_and_rows_keep_their_totals(dtype):
    case = Entries(dtype)
    whole, energies = case.sparse_sums()
    out, same = case.sparse_sums(smallest=0.5)
    np.testing.assert_array_equal(same, energies)
    expected = case.expected()
    kept = np.where(expected >= 0.5, expected, 0.0)
    np.testing.assert_array_equal(out > 0, kept > 0)
    assert np.count_nonzero(out) < np.count_nonzero(whole)
    np.testing.assert_allclose(out.sum(axis=1), whole.sum(axis=1), rtol=1e-13 if dtype == np.float64 else 1e-6)
    factor = np.divide(expected.sum(axis=1), kept.sum(axis=1), out=np.zeros(30), where=kept.any(axis=1))
    np.testing.assert_allclose(out, kept * factor[:, None], rtol=1e-12 if dtype == np.float64 else 1e-6)


def test_row_of_small_sums_alone_keeps_its_total():
    case = Entries()
    case.values *= 1e-6
    out, _ = case.sparse_sums(smallest=1e-3)
    np.testing.assert_allclose(out.sum(axis=1), case.expected().sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_of_words_give_the_same_bits(dtype):
    case = Entries(dtype)
    expected, energies = case.sparse_sums(0.3)
    dense = dense_sums(case)
    for ranges in ([(0, 1), (1, 30)], [(17, 30), (0, 17)], [(v, v + 1) for v in range(30)]):
        found = case.sparse_sums(0.3, ranges)
        np.testing.assert_array_equal(found[0], expected)
        np.testing.assert_array_equal(found[1], energies)
        np.testing.assert_array_equal(dense_sums(case, ranges), dense)


def dense_sums(case, ranges=None, start=0.0):
    starts, entries = read_only(*case.grouped())
    read_only(case.documents, case.scale, case.p, case.table)
    out = np.full((case.n_words, case.n_components), start, dtype=case.dtype)
    for first, last in ranges or [(0, case.n_words)]:
        _words.sum_dense(starts, entries, case.documents, case.scale, case.p, case.table, first, last, out)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_sums_equal_the_formula(dtype):
    case = Entries(dtype)
    expected = np.zeros((30, 70))
    for e, v in enumerate(case.indices):
        expected[v] += np.float64(case.scale[e]) * case.p[case.documents[e]] * case.table[v]
    rtol = 1e-13 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(dense_sums(case), expected, rtol=rtol)
    np.testing.assert_allclose(dense_sums(case, start=1.0), expected + 1.0, rtol=rtol)
    only = dense_sums(case, [(3, 9)])
    assert (np.delete(only, np.arange(3, 9), axis=0) == 0).all()
    assert only[3:9].any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [1.0, -1.0, 0.25])
def test_rows_are_added_and_stay_at_zero_or_above(factor, dtype):
    rng = np.random.default_rng(6)
    table = rng.uniform(0.0, 1.0, size=(12, 7)) * (rng.uniform(size=(12, 7)) < 0.4)
    table[[0, 5]] = 0.0
    indptr = np.concatenate([[0], np.cumsum((table > 0).sum(axis=1))])
    indices, data = np.nonzero(table)[1].astype(np.int32), table[table > 0].astype(dtype)
    out = rng.uniform(0.0, 1.0, size=(12, 7)).astype(dtype)
    expected = np.where(table > 0, np.maximum(out + factor * table, 0.0), out)
    assert factor > 0 or (expected == 0).any()
    _words.add_rows(*read_only(indptr, indices, data), factor, out)
    np.testing.assert_allclose(out, expected, rtol=1e-6 if dtype == np.float32 else 1e-14, atol=1e-7)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [1, 16, 37, 70])
def test_rows_of_words_are_sums_over_their_entries(n_components, dtype):
    rng, case = np.random.default_rng(7), Entries(dtype)
    n, width = len(case.indices), -(-n_components // 16) * 16
    resp = aligned_empty(n * width, dtype).reshape(n, width)
    resp[:] = rng.uniform(size=(n, width))
    counts, words = rng.uniform(0.5, 3.0, n).astype(dtype), np.arange(1, 30, 2, dtype=np.int32)
    starts, entries = read_only(*case.grouped())
    weighted = counts[:, None] * resp[:, :n_components].astype(np.float64)
    for fresh in (False, True):
        out = np.ones((len(words), n_components), dtype=dtype)
        _words.sum_rows(starts, entries, counts, resp, words, fresh, out)
        expected = [(not fresh) + weighted[case.indices == v].sum(axis=0) for v in words]
        np.testing.assert_allclose(out, expected, rtol=1e-13 if dtype == np.float64 else 1e-5)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [1, 16, 37])
def test_whole_rows_are_added_and_stay_at_zero_or_above(n_components, dtype):
    rng, words = np.random.default_rng(8), np.array([0, 3, 4], dtype=np.int32)
    rows, out = (rng.uniform(size=(n, n_components)).astype(dtype) for n in (3, 6))
    expected = out.astype(np.float64)
    expected[words] = np.maximum(expected[words] - 0.8 * rows, 0.0)
    assert (expected == 0).any()
    totals = np.zeros((2, n_components))
    _words.add_whole_rows(*read_only(words, rows), -0.8, out, totals)
    np.testing.assert_allclose(totals.sum(axis=0), rows.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(out, expected, rtol=1e-12 if dtype == np.float64 else 1e-5, atol=1e-7)
