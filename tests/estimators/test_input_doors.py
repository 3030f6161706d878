"""Every public function that takes data, weights or given parameters: their numbers, or one sentence."""

import warnings
from functools import cache

import forms
import numpy as np
import pytest
import row_cases
from fitted import few_epochs
from numpy.lib.recfunctions import structured_to_unstructured
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from test_wrong_input import refused

from sparsemix import (
    SparseGaussianMixture,
    SparseLDA,
    SparseMultinomialMixture,
    SparseSCVB0LDA,
    TokenSequences,
    blocks,
    metrics,
    report,
    representative_documents,
)
from sparsemix._estimator.input.checks import check_weights
from sparsemix.topics import choose_n_topics

pytestmark = few_epochs
RNG = np.random.default_rng(0)
A = RNG.poisson(2.0, (12, 6)) + np.eye(12, 6, dtype=int)
TOPICS = RNG.random((3, 6)) + 0.1
POINTS = RNG.random((12, 2))
LDA = SparseLDA(2, max_iter=1, random_state=0)


@cache
def fitted():
    """A model of the counts."""
    return clone(LDA).fit(A)


TOKENS = TokenSequences().fit(["aa bb cc dd ee ff gg hh ii jj"])


def shuffled(X, folder):
    return blocks.shuffle(blocks.from_function(1, lambda i: X), folder / "a", random_state=0)  # noqa: ARG005


def from_responsibilities(value):
    return SparseGaussianMixture(6, init_params={"responsibilities": value}, max_iter=1).fit(POINTS)


TAKE_MATRICES = {
    "fit": lambda X, _: clone(LDA).fit(X),
    "partial_fit": lambda X, _: SparseLDA(2, random_state=0).partial_fit(X),
    "validation_data": lambda X, _: SparseSCVB0LDA(2, max_iter=1).fit(A, validation_data=X),
    "init_params": lambda X, _: from_responsibilities(X),
    "topic_coherence": lambda X, _: metrics.topic_coherence(TOPICS, X, n_top_words=2),
    "document_completion": lambda X, _: metrics.document_completion(TOPICS, X),
    "perplexity": lambda X, _: metrics.perplexity(TOPICS, X),
    "split_by_type": lambda X, _: metrics.split_by_type(X),
    "split_by_token": lambda X, _: metrics.split_by_token(X),
    "inverse_transform": lambda X, _: TOKENS.inverse_transform(X),
    "choose_n_topics": lambda X, _: choose_n_topics(LDA, X, [2]),
    "choose_n_topics held out": lambda X, _: choose_n_topics(LDA, A, [2], validation_data=X),
    "blocks.fit": lambda X, _: blocks.fit(clone(LDA), [X]),
    "blocks of a function": lambda X, _: blocks.fit(clone(LDA), blocks.from_function(1, lambda i: X)),  # noqa: ARG005
    "blocks.shuffle": shuffled,
    **{
        name: lambda X, _, name=name: getattr(fitted(), name)(X)
        for name in ("transform", "score", "perplexity", "expected_stats")
    },
    "representative_documents": lambda X, _: representative_documents(fitted(), X),
    "report": lambda X, _: report(fitted(), X),
    "blocks.transform": lambda X, _: list(blocks.transform(fitted(), [X])),
    "blocks.score": lambda X, _: blocks.score(fitted(), [X]),
}


@pytest.mark.parametrize("function", TAKE_MATRICES)
def test_damaged_matrices_are_refused(function, tmp_path):
    call = TAKE_MATRICES[function]
    for name in forms.DAMAGED:
        with refused(name, forms.DAMAGE_IS_SAID):
            call(forms.damaged(name, A), tmp_path)


@pytest.mark.parametrize("function", TAKE_MATRICES)
def test_objects_that_are_no_arrays_are_refused_without_reading_them(function, tmp_path):
    for name, (make, message) in forms.OBJECTS.items():
        with refused(name, message):
            TAKE_MATRICES[function](make(), tmp_path)


def test_objects_that_are_no_blocks_are_refused_without_reading_them():
    for name, (make, message) in forms.OBJECTS.items():
        for call in (lambda X: blocks.fit(clone(LDA), X), blocks.from_arrays, lambda X: blocks.score(fitted(), X)):
            if name not in ("list of cells", "groups"):  # may be blocks
                with refused(name, message):
                    call(make())


def test_damaged_matrices_in_files_and_in_memory_are_refused(tmp_path):
    for name in (name for name in forms.DAMAGED if name.startswith("csr")):
        with refused(name, forms.DAMAGE_IS_SAID):
            list(blocks.from_arrays(forms.damaged(name, A), rows=5))
    for name in ("csc with the index 50000000", "bsr with the index 50000000", "csr with falling indptr"):
        sparse.save_npz(tmp_path / "a.npz", forms.damaged(name, A))
        with refused(name, r"a\.npz is damaged, or not a file of NumPy or SciPy.*(damaged|the matrix has)"):
            list(blocks.from_npz(tmp_path / "a.npz"))


# -- sums


def doubled(dtype, layout):
    """Every count in two parts, each of which the type holds while it does not hold their sum."""
    most = int(np.iinfo(dtype).max) if np.dtype(dtype).kind in "iu" else int(np.finfo(dtype).max)
    half = np.full(12, most // 2 + 1)
    rows, columns = np.r_[np.arange(12), np.arange(12)], np.r_[np.arange(12), np.arange(12)] % 6
    if layout == "coo":
        out = sparse.coo_array((np.r_[half, half], (rows, columns)), shape=(12, 6))
    else:
        order = np.argsort(rows, kind="stable")
        out = sparse.csr_array((np.r_[half, half], columns[order], np.arange(0, 25, 2)), shape=(12, 6))
    out.data = out.data.astype(dtype)
    wanted = np.zeros((12, 6))
    wanted[np.arange(12), np.arange(12) % 6] = 2.0 * float(out.data[0])
    return out, wanted


@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.float16])
def test_repeated_counts_are_added_without_wrapping(dtype, layout):
    X, wanted = doubled(dtype, layout)
    mixture = SparseMultinomialMixture(2, max_iter=1, random_state=0)
    np.testing.assert_array_equal(clone(LDA).fit(X).transform(X), clone(LDA).fit(wanted).transform(wanted))
    np.testing.assert_array_equal(mixture.fit(X).predict_proba(X), clone(mixture).fit(wanted).predict_proba(wanted))
    if np.dtype(dtype).itemsize < 4:  # a list of tokens
        for first, second in zip(metrics.split_by_type(X), metrics.split_by_type(wanted), strict=True):
            np.testing.assert_array_equal(first.toarray(), second.toarray())


def test_sums_of_large_whole_counts_do_not_wrap():
    """Each is as large as a count may be, and two hundred of them are more than 64 bits hold."""
    X = np.full((200, 3), 10**17)
    X[:, 1:] = 1
    for form in (X, sparse.csr_array(X)):
        found = clone(LDA).fit(form).components_
        np.testing.assert_array_equal(found, clone(LDA).fit(X.astype(np.float64)).components_)


def table(tmp_path, **columns):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({name: pyarrow.array(*column) for name, column in columns.items()}), path)
    return blocks.from_parquet(path, doc="doc", word="word", count="count", n_features=3)


@pytest.mark.parametrize(
    ("dtype", "first", "second"),
    [("uint8", 200, 100), ("int8", 100, 100), ("int16", 30000, 30000), ("int32", 2**31 - 1, 2**31 - 1),
     ("uint64", 2**52, 2**52), ("float32", 2.0**24, 1.0), ("float16", 6e4, 6e4)],
)  # fmt: skip
def test_lines_of_the_same_word_are_added_exactly(tmp_path, dtype, first, second):
    counts = np.array([first, second, 1], dtype=dtype)
    data = table(tmp_path, doc=([0, 0, 1],), word=([1, 1, 2],), count=(counts,))
    np.testing.assert_array_equal(data[0].toarray(), [[0, float(counts[0]) + float(counts[1]), 0], [0, 0, 1]])


@pytest.mark.parametrize("column", ["doc", "word", "count"])
def test_a_line_without_a_value_is_refused(tmp_path, column):
    """Two documents whose numbers differ in the last bit of 64 stay two: a null would make them double precision."""
    large = [2**53, 2**53 + 1, 5]
    columns = {"doc": (large,), "word": ([1, 1, 2],), "count": ([1, 1, 1],)}
    assert table(tmp_path, **columns)[0].shape == (3, 3)
    columns[column] = ([*columns[column][0][:2], None],)
    with pytest.raises(ValueError, match=rf"no value in line 2 of row group 0 in the column '{column}'; remove"):
        list(table(tmp_path, **columns))


# -- weights and parameters

WEIGHT = np.arange(1, 13)
GIVEN = {
    "sample_weight": lambda value: clone(LDA).fit(A, sample_weight=value),
    "init_params": lambda value: SparseLDA(3, init_params=value, max_iter=1).fit(A),
    "responsibilities": lambda value: from_responsibilities(value),
    "means": lambda value: SparseGaussianMixture(2, init_params=value, max_iter=1).fit(POINTS),
    "weights": lambda value: SparseGaussianMixture(2, init_params={"weights": value}, max_iter=1).fit(POINTS),
    "doc_topic_prior": lambda value: SparseLDA(3, doc_topic_prior=value, max_iter=1).fit(A),
    "topics": lambda value: metrics.top_words(value, n_top_words=2),
    "prior of a metric": lambda value: metrics.perplexity(TOPICS, A, doc_topic_prior=value),
    "X of a metric": lambda value: metrics.mixture_log_likelihood(
        value, np.ones(1), np.zeros((1, 6)), np.eye(6)[None]
    ),
}  # fmt: skip
GOOD = {
    "sample_weight": WEIGHT, "init_params": TOPICS, "responsibilities": A, "means": POINTS[:2],
    "weights": np.array([0.5, 0.5]), "doc_topic_prior": np.ones(3), "topics": TOPICS,
    "prior of a metric": np.ones(3), "X of a metric": A,
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_given_arrays_are_not_read_as_other_numbers(name):
    call, good = GIVEN[name], np.asarray(GOOD[name], dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        call(good)
        call(np.ma.masked_array(good, mask=False))
        wrong = {
            "complex": (good.astype(complex), "Complex data not supported"),
            "masked": (np.ma.masked_array(good, mask=np.arange(good.size).reshape(good.shape) == 0), "masked in row 0"),
            "dates": (good.astype("M8[s]"), "which is not a type of numbers"),
            "None": (np.where(np.arange(good.size).reshape(good.shape) == 0, {}, good), "row 0.*not a number"),
        }  # fmt: skip
        for kind, (value, message) in wrong.items():
            with refused(kind, message):
                call(value)


def columns_of_embeddings():
    """Frames and arrays whose cells hold several numbers."""
    E = row_cases.CLOUDS[:, :2]
    every = {"an array of arrays": np.fromiter([*E], dtype=object)}
    if forms.PANDAS:
        import pandas as pd

        every |= {"lists": pd.DataFrame({"text": E.tolist()}), "arrays": pd.DataFrame({"text": [*E]})}
    if forms.POLARS:
        import polars as pl

        every |= {"polars lists": pl.DataFrame({"text": E.tolist()})}
        every |= {"polars arrays": pl.DataFrame({"text": pl.Series(E.tolist(), dtype=pl.Array(pl.Float64, 2))})}
    return every


@pytest.mark.parametrize("form", columns_of_embeddings())
def test_a_column_of_embeddings_is_refused_with_what_makes_an_array_of_it(form):
    X = columns_of_embeddings()[form]
    for method in ("fit", "partial_fit"):
        with pytest.raises(TypeError, match=r"holds several numbers in a row; give .*, numpy\.stack\(column\)"):
            getattr(SparseGaussianMixture(2), method)(X)
    stacked = np.stack(X["text"] if hasattr(X, "columns") else X)
    np.testing.assert_array_equal(stacked, row_cases.CLOUDS[:, :2])


def test_records_are_refused_with_what_makes_an_array_of_them():
    X = np.ascontiguousarray(row_cases.CLOUDS[:, :2]).view([("a", "f8"), ("b", "f8")]).ravel()
    with pytest.raises(TypeError, match=r"give numpy\.lib\.recfunctions\.structured_to_unstructured\(X\)"):
        SparseGaussianMixture(2).fit(X)
    np.testing.assert_array_equal(structured_to_unstructured(X), row_cases.CLOUDS[:, :2])


def test_forms_of_gensim_and_files_are_refused_with_what_reads_them(tmp_path):
    matutils, corpora = (pytest.importorskip(f"gensim.{name}") for name in ("matutils", "corpora"))
    bags = [[(int(word), int(A[row, word])) for word in np.flatnonzero(A[row])] for row in range(len(A))]
    corpora.MmCorpus.serialize(str(tmp_path / "bags.mm"), bags)
    stored = corpora.MmCorpus(str(tmp_path / "bags.mm"))
    np.savez(tmp_path / "rows.npz", counts=A)
    cases = [
        (bags, r"give counts, gensim\.matutils\.corpus2csc\(X, n_words\)\.T"),
        (stored, r"give gensim\.matutils\.corpus2csc\(X, num_terms=X\.num_terms\)\.T"),
        (np.load(tmp_path / "rows.npz"), r"give one of its arrays, X\[name\]"),
        (tmp_path / "rows.npz", "give the rows in its file, read by the package of its format"),
        (bags[:1], r"X has pairs of numbers; give counts, gensim"),  # of equal lengths
        ([[], *bags], r"X has pairs of numbers; give counts, gensim"),
        (blocks.from_arrays(A), r"give blocks\.fit\(estimator, X\)"),
        ([1, [2, 3]], "give rows of the same length"),
    ]
    for X, remedy in cases:
        with pytest.raises((TypeError, ValueError), match=remedy):
            SparseLDA(2).fit(X)
    for found in (matutils.corpus2csc(bags, 6).T, matutils.corpus2csc(stored, num_terms=stored.num_terms).T):
        np.testing.assert_array_equal(found.toarray(), A)


def test_lists_of_words_are_refused_with_what_counts_them():
    texts = [["apples", "pears"], ["pears", "plums", "figs"]]
    with pytest.raises(ValueError, match=r"row 0 of X holds the text 'apples'.*CountVectorizer\(analyzer=list\)"):
        SparseLDA(2).fit(texts)
    with pytest.raises(ValueError, match=r"row 0 of X holds the text 'apples pears'.*CountVectorizer\(\)"):
        SparseLDA(2).fit([" ".join(words) for words in texts])
    assert CountVectorizer(analyzer=list).fit_transform(texts).sum(axis=1).ravel().tolist() == [[2, 3]]


def test_a_batch_of_arrow_with_missing_values_is_read():
    pa = pytest.importorskip("pyarrow")
    columns = {"a": pa.array([1.0, None, 3.0] * 4), "b": pa.array([None, 2, 3] * 4)}
    found, expected = (make(columns) for make in (pa.record_batch, pa.table))
    means = [SparseGaussianMixture(2, random_state=0).fit(X).means_ for X in (found, expected)]
    np.testing.assert_array_equal(*means)


def test_masked_records_are_refused_in_one_sentence():
    X = np.ma.zeros(5, dtype=[("a", "f8"), ("b", "i4")])
    with pytest.raises(TypeError, match=r"give numpy\.lib\.recfunctions\.structured_to_unstructured"):
        SparseGaussianMixture(2).fit(X)


@pytest.mark.filterwarnings("ignore")  # anndata under a later pandas
def test_rows_on_disk_are_refused_with_what_reads_them(tmp_path):
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "cells.h5ad"
    with anndata.settings.override(allow_write_nullable_strings=True):  # names are such texts under pandas 3
        anndata.AnnData(sparse.csr_matrix(A.astype(np.float64))).write_h5ad(path)
    X = anndata.read_h5ad(path, backed="r").X
    for call in (SparseLDA(2).fit, SparseLDA(2).partial_fit, fitted().transform):
        with pytest.raises(TypeError, match=r"give X\.to_memory\(\), or read its file in blocks"):
            call(X)
    np.testing.assert_array_equal(fitted().transform(X.to_memory()), fitted().transform(A))


def test_weights_of_every_form():
    every = [WEIGHT.astype(dtype) for dtype in forms.NUMBERS]
    every += [WEIGHT.tolist(), tuple(WEIGHT.tolist()), forms.objects(WEIGHT), forms.mapped(WEIGHT)]
    if forms.PANDAS:
        import pandas as pd

        every += [pd.Series(WEIGHT, dtype=dtype) for dtype in ("float64", "Int64", "Float32", "object")]
        with pytest.raises(ValueError, match="sample_weight of row 3 is nan"):
            check_weights(pd.Series(WEIGHT, dtype="Int64").where(WEIGHT != 4), 12)
    if forms.POLARS:
        import polars as pl

        every += [pl.Series(WEIGHT)]
    if forms.ARROW:
        import pyarrow as pa

        every += [pa.array(WEIGHT), pa.chunked_array([WEIGHT])]
    for form in every:
        found = check_weights(form, 12)
        np.testing.assert_array_equal(found, WEIGHT.astype(np.float64), strict=True)
    for wrong, message in [(sparse.csr_array(WEIGHT), "sparse matrix; give a dense array"), (1j, "Complex data")]:
        with pytest.raises((TypeError, ValueError), match=message):
            check_weights(wrong, 12)


def test_numbers_that_are_not_words_have_no_text():
    for wrong in ([[2.7]], [[11]], [[-1]], [[2**32 + 3]]):
        with pytest.raises(ValueError, match="row 0 of X has"):
            TOKENS.inverse_transform(np.array(wrong))
