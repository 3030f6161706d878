"""Corpora: docstrings, bags of words from files and by name, generators."""

import functools
import gc
import gzip
import http.server
import re
import shutil
import sys
import threading
import tracemalloc
import types

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import LatentDirichletAllocation

from sparsemix import datasets
from sparsemix.datasets import _bag_of_words, _docstrings, _fetch

LINES = "2\n3\n4\n1 1 2\n1 3 1\n2 2 4\n2 3 5\n"
COUNTS = [[2, 0, 1], [0, 4, 5]]
WORDS = ["sparse", "topic", "word"]


@pytest.fixture(scope="module")
def docstrings():
    return datasets.load_docstrings()


def write_bag(folder, name="tiny", lines=LINES, words=WORDS, packed=True):
    path = folder / f"docword.{name}.txt{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(lines.encode()) if packed else lines.encode())
    (folder / f"vocab.{name}.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return path


# -- docstrings


@pytest.mark.slow
def test_docstrings_are_some_thousand_documents_of_counts(docstrings):
    X = docstrings.data
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.shape == (len(docstrings.names), len(docstrings.feature_names))
    assert X.shape[0] > 3000
    assert X.shape[1] > 3000
    assert np.diff(X.indptr).min() > 0
    assert X.data.min() >= 1


@pytest.mark.parametrize("collects", [True, False])
def test_reading_docstrings_leaves_the_garbage_collector_as_it_was(tmp_path, collects):
    (tmp_path / "good.py").write_text("'A module.'")
    (tmp_path / "bad.py").write_text("'A module")
    (gc.enable if collects else gc.disable)()
    try:
        assert list(_docstrings.docstrings_of_file(tmp_path / "good.py", "good")) == [("good", "A module.")]
        assert gc.isenabled() == collects
        with pytest.raises(SyntaxError):
            list(_docstrings.docstrings_of_file(tmp_path / "bad.py", "bad"))
        assert gc.isenabled() == collects
    finally:
        gc.enable()


@pytest.mark.slow
def test_docstrings_are_in_order_and_without_tests(docstrings):
    assert docstrings.names.tolist() == sorted(docstrings.names)
    assert not [name for name in docstrings.names if ".tests." in name]
    assert {name.split(".")[0] for name in docstrings.names} == {"numpy", "scipy", "sklearn"}


def test_words_of_docstrings_are_lower_case_runs_and_no_stop_words(docstrings):
    words = docstrings.feature_names.tolist()
    assert all(word.isalpha() and word.islower() and len(word) >= 3 for word in words)
    assert not {"the", "and", "with"} & set(words)
    occurrences = np.diff(docstrings.data.tocsc().indptr)
    assert occurrences.min() >= 5
    assert occurrences.max() <= 0.5 * docstrings.data.shape[0]


def test_docstrings_have_limits_of_document_frequency(monkeypatch):
    monkeypatch.setattr(_docstrings, "PACKAGES", ("a", "b", "c"))
    text = " word" * _docstrings.MIN_WORDS
    monkeypatch.setattr(_docstrings, "docstrings_of_package", lambda name: [(name, f"only{name}" + text)])
    assert datasets.load_docstrings(min_df=1, max_df=1.0).feature_names.tolist() == ["onlya", "onlyb", "onlyc", "word"]
    assert datasets.load_docstrings(min_df=2, max_df=1.0).feature_names.tolist() == ["word"]
    assert datasets.load_docstrings(min_df=1, max_df=0.5).feature_names.tolist() == ["onlya", "onlyb", "onlyc"]
    with pytest.raises(ValueError, match="no terms remain"):
        datasets.load_docstrings(min_df=4, max_df=5)


def test_examples_in_docstrings_are_dropped():
    text = "Before.\n\n    >>> a = secret()\n    ... more\n    output\n\n    After."
    assert _docstrings.DOCTEST.sub("", text).split() == ["Before.", "After."]


def test_documents_of_the_same_words_are_kept_once():
    long = "word " * _docstrings.MIN_WORDS
    assert _docstrings.distinct([("a", long), ("b", "short"), ("c", long + "\n >>> x"), ("d", "other " + long)]) == (
        ["a", "d"], [long, "other " + long],
    )  # fmt: skip


def test_definitions_are_found_where_they_are(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        '"""M"""\nclass A:\n    """A"""\n    def f(self):\n        """F"""\n        def g():\n            """G"""\n'
        'def nothing(): pass\nadd_newdoc("package", "ufunc", """U""")\nprint("a", "b")\nx = "\\d"\n'
    )
    found = list(_docstrings.docstrings_of_file(path, "m"))
    assert found == [("m", "M"), ("m.A", "A"), ("m.A.f", "F"), ("m.A.f.g", "G"), ("m.ufunc", "U")]


# -- bags of words from a file


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block", [7, _bag_of_words.BLOCK])
def test_a_bag_of_words_is_read_in_blocks(tmp_path, monkeypatch, packed, block):
    monkeypatch.setattr(_bag_of_words, "BLOCK", block)
    corpus = datasets.load_bag_of_words(write_bag(tmp_path, packed=packed))
    assert corpus.data.format == "csr"
    assert corpus.data.dtype == np.float32
    assert corpus.data.has_canonical_format
    np.testing.assert_array_equal(corpus.data.toarray(), COUNTS)
    assert corpus.feature_names.tolist() == WORDS


@pytest.mark.parametrize("block", [7, 20, _bag_of_words.BLOCK])
def test_entries_may_come_in_any_order(tmp_path, monkeypatch, block):
    monkeypatch.setattr(_bag_of_words, "BLOCK", block)
    rng = np.random.default_rng(0)
    X = sparse.random(20, 9, 0.3, random_state=0, data_rvs=lambda n: rng.integers(1, 9, n), dtype=np.int64).tocoo()
    order = rng.permutation(X.nnz)
    entries = "".join(f"{X.row[i] + 1} {X.col[i] + 1} {X.data[i]}\n" for i in order)
    path = write_bag(tmp_path, lines=f"20\n9\n{X.nnz}\n{entries}")
    np.testing.assert_array_equal(datasets.load_bag_of_words(path, vocabulary=False).data.toarray(), X.toarray())


@pytest.mark.parametrize("lines", [LINES.replace("\n", "\r\n"), LINES.rstrip(), LINES + "\n \n"])
def test_ends_of_lines_and_of_the_file_do_not_matter(tmp_path, lines):
    np.testing.assert_array_equal(datasets.load_bag_of_words(write_bag(tmp_path, lines=lines)).data.toarray(), COUNTS)


def test_words_in_other_encodings_are_read_or_named(tmp_path):
    path = write_bag(tmp_path)
    place = tmp_path / "vocab.tiny.txt"
    place.write_text("\n".join(WORDS), encoding="utf-16")
    assert datasets.load_bag_of_words(path).feature_names.tolist() == WORDS
    place.write_bytes("eins\nzwei\nmeß\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"vocab\.tiny\.txt, line 3: the word is not in UTF-8; .* give its words"):
        datasets.load_bag_of_words(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_number(tmp_path, encoding):
    path = write_bag(tmp_path, packed=False)
    path.write_text(LINES, encoding=encoding)
    np.testing.assert_array_equal(datasets.load_bag_of_words(path).data.toarray(), COUNTS)


def test_documents_may_be_empty_and_entries_repeat(tmp_path):
    path = write_bag(tmp_path, lines="4\n3\n3\n2 3 1\n2 1 1\n2 3 5\n")
    X = datasets.load_bag_of_words(path).data
    np.testing.assert_array_equal(X.toarray(), [[0, 0, 0], [1, 0, 6], [0, 0, 0], [0, 0, 0]])
    assert datasets.load_bag_of_words(write_bag(tmp_path, lines="2\n3\n0\n")).data.nnz == 0


def test_a_vocabulary_is_a_file_a_sequence_or_none(tmp_path):
    path = write_bag(tmp_path)
    (tmp_path / "other.txt").write_text("eins\nzwei\nmeß\n", encoding="utf-8")
    assert datasets.load_bag_of_words(path, tmp_path / "other.txt").feature_names[2] == "meß"
    assert datasets.load_bag_of_words(path, ["x", "y", "z"]).feature_names.tolist() == ["x", "y", "z"]
    assert datasets.load_bag_of_words(path, False).feature_names is None
    with pytest.raises(ValueError, match=r"vocabulary has 2 words and .*docword.* counts 3"):
        datasets.load_bag_of_words(path, ["x", "y"])
    (tmp_path / "vocab.tiny.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"vocab\.tiny\.txt is not there"):
        datasets.load_bag_of_words(path)
    with pytest.raises(FileNotFoundError, match=r"is not docword\.NAME\.txt"):
        datasets.load_bag_of_words(path.rename(tmp_path / "counts.txt.gz"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "line 1: '' is not the number of documents"),
        ("2\nthree\n4\n", "line 2: 'three' is not the number of words"),
        ("2\n3\n-4\n", "line 3: '-4' is not the number of entries"),
        ("2\n3\n7\n", "line 3: 7 entries are more than 2 x 3"),
        (LINES.replace("4\n1 1", "5\n1 1"), "line 3 announces 5 entries and 4 follow"),
        (LINES.replace("4\n1 1", "3\n1 1"), "line 3 announces 3 entries and more follow"),
        (LINES.replace("1 3 1", "1 3"), "line 5: '1 3' is not 'document word count'"),
        (LINES.replace("1 3 1", "1 3 1.5"), r"line 5: '1 3 1\.5' is not"),
        (LINES.replace("1 3 1", "1 three 1"), "line 5: '1 three 1' is not"),
        (LINES.replace("1 3 1\n", "1 3 1\n\n"), "line 6: '' is not"),
        (LINES.replace("2 2 4", "3 2 4"), "line 6: document 3 is not among 1 to 2"),
        (LINES.replace("2 2 4", "0 2 4"), "line 6: document 0 is not among 1 to 2"),
        (LINES.replace("2 2 4", "2 4 4"), "line 6: word 4 is not among 1 to 3"),
        (LINES.replace("2 2 4", "2 2 -4"), "line 6: the count is -4"),
        (LINES.replace("2 2 4", "2 2 0"), "line 6: the count is 0"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, lines, message):
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load_bag_of_words(write_bag(tmp_path, lines=lines))
    assert "docword.tiny.txt.gz" in str(caught.value)


def test_wrong_lines_are_named_in_later_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(_bag_of_words, "BLOCK", 8)
    with pytest.raises(ValueError, match="line 7: '2 x 5'"):
        datasets.load_bag_of_words(write_bag(tmp_path, lines=LINES.replace("2 3 5", "2 x 5")))


def test_files_that_are_cut_off_or_not_packed_are_named(tmp_path):
    path = write_bag(tmp_path)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ValueError, match="is not a whole packed file"):
        datasets.load_bag_of_words(path)
    path.write_text(LINES)
    with pytest.raises(ValueError, match="is not a whole packed file"):
        datasets.load_bag_of_words(path)
    with pytest.raises(FileNotFoundError):
        datasets.load_bag_of_words(tmp_path / "docword.absent.txt")


# -- bags of words by name


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A set as published, in a folder in place of the repository, and a downloader that reads this folder."""
    folder = tmp_path / "published"
    folder.mkdir()
    write_bag(folder, name="kos")
    monkeypatch.setitem(_fetch.SIZES, "kos", (2, 3, 4))
    downloads = []

    def retrieve(url, known_hash, fname, path):
        assert known_hash is None
        assert url == _fetch.URL + fname
        downloads.append(fname)
        shutil.copy(folder / fname, path / fname)

    monkeypatch.setitem(sys.modules, "pooch", types.SimpleNamespace(retrieve=retrieve))
    return types.SimpleNamespace(folder=folder, downloads=downloads, home=tmp_path / "home")


def test_a_set_is_downloaded_once_and_its_checksum_kept(published):
    corpus = datasets.fetch_bag_of_words("kos", data_home=published.home)
    np.testing.assert_array_equal(corpus.data.toarray(), COUNTS)
    assert corpus.feature_names.tolist() == WORDS
    datasets.fetch_bag_of_words("kos", data_home=published.home, download_if_missing=False)
    assert published.downloads == ["docword.kos.txt.gz", "vocab.kos.txt"]
    folder = published.home / "bag_of_words"
    checksum = _fetch.sha256(folder / "vocab.kos.txt")
    assert (folder / "vocab.kos.txt.sha256").read_text() == f"{checksum}  vocab.kos.txt\n"


def test_files_put_there_by_hand_are_taken(published, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    shutil.copytree(published.folder, published.home / "bag_of_words")
    corpus = datasets.fetch_bag_of_words("kos", data_home=published.home)
    np.testing.assert_array_equal(corpus.data.toarray(), COUNTS)


def test_files_that_changed_are_refused(published):
    datasets.fetch_bag_of_words("kos", data_home=published.home)
    write_bag(published.home / "bag_of_words", name="kos", lines=LINES.replace("2 3 5", "2 3 6"))
    with pytest.raises(OSError, match=r"docword\.kos\.txt\.gz is not the file that was used first.*Delete both"):
        datasets.fetch_bag_of_words("kos", data_home=published.home)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lines": LINES.replace("2\n3\n4", "3\n3\n4")}, r"has \(3, 3, 4\) instead of \(2, 3, 4\)"),
        ({"lines": "<html>"}, "line 1: '<html>' is not the number of documents"),
        ({"words": WORDS[:2]}, "has 2 instead of 3"),
    ],
)
def test_files_that_are_not_as_published_are_refused_and_removed(published, change, message):
    write_bag(published.folder, name="kos", **change)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.fetch_bag_of_words("kos", data_home=published.home)
    assert _fetch.URL in str(caught.value)
    assert str(published.home) in str(caught.value)
    write_bag(published.folder, name="kos")
    datasets.fetch_bag_of_words("kos", data_home=published.home)


def test_without_download_pooch_or_network_the_message_says_where_to_put_the_file(published, monkeypatch):
    by_hand = r"Get http.*docword\.kos\.txt\.gz in another way and put it into .*bag_of_words"
    with pytest.raises(OSError, match="download_if_missing is False. " + by_hand):
        datasets.fetch_bag_of_words("kos", data_home=published.home, download_if_missing=False)
    shutil.rmtree(published.folder)
    with pytest.raises(OSError, match=r"docword\.kos\.txt\.gz could not be downloaded.*" + by_hand):
        datasets.fetch_bag_of_words("kos", data_home=published.home)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match="needs pooch: pip install.*" + by_hand):
        datasets.fetch_bag_of_words("kos", data_home=published.home)


def test_names_of_sets_are_checked():
    with pytest.raises(ValueError, match="no bag of words 'wiki'; there are 'kos', 'nips', 'enron', "):
        datasets.fetch_bag_of_words("wiki")


class SilentHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.mark.slow
def test_pooch_downloads_over_http(published, monkeypatch):
    monkeypatch.undo()
    pytest.importorskip("pooch")
    monkeypatch.setitem(_fetch.SIZES, "kos", (2, 3, 4))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    handler = functools.partial(SilentHandler, directory=published.folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(_fetch, "URL", f"http://127.0.0.1:{server.server_port}/")
        corpus = datasets.fetch_bag_of_words("kos", data_home=published.home)
        np.testing.assert_array_equal(corpus.data.toarray(), COUNTS)
        monkeypatch.setitem(_fetch.SIZES, "nips", (2, 3, 4))
        with pytest.raises(OSError, match=r"docword\.nips\.txt\.gz could not be downloaded \(404"):
            datasets.fetch_bag_of_words("nips", data_home=published.home)
        server.shutdown()


# -- generators


def test_generated_documents_are_counts_of_the_asked_length():
    X, topics, doc_topic = datasets.make_sparse_lda(
        40, n_features=30, n_components=5, doc_length=np.arange(40), random_state=0
    )
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.shape == (40, 30)
    np.testing.assert_array_equal(np.asarray(X.sum(axis=1)).ravel(), np.arange(40))
    assert topics.shape == (5, 30)
    assert doc_topic.shape == (40, 5)
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    np.testing.assert_allclose(doc_topic.sum(axis=1), 1.0)


def test_generators_are_reproducible():
    for make in (datasets.make_bars, datasets.make_sparse_lda, datasets.make_bars_mixture):
        first, second, other = (make(n_samples=10, random_state=seed) for seed in (1, 1, 2))
        assert all((sparse.csr_matrix(a) != sparse.csr_matrix(b)).nnz == 0 for a, b in zip(first, second, strict=True))
        assert (first[0] != other[0]).nnz > 0


@pytest.mark.parametrize("seed", range(3))
def test_words_have_the_probabilities_of_the_model(seed):
    """Chi-square of the words of long documents: n (observed - expected)^2 / expected, K - 1 degrees each."""
    priors = {"doc_topic_prior": 1.0, "topic_word_prior": 5.0}
    X, topics, doc_topic = datasets.make_sparse_lda(30, 8, 3, doc_length=20_000, **priors, random_state=seed)
    expected = 20_000 * doc_topic @ topics
    chi_square = ((X.toarray() - expected) ** 2 / expected).sum()
    degrees = 30 * 7
    assert abs(chi_square - degrees) < 5 * np.sqrt(2 * degrees)


def test_dirichlet_draws_have_their_moments_and_survive_small_parameters():
    _, _, doc_topic = datasets.make_sparse_lda(
        20_000, n_features=2, n_components=4, doc_length=1, doc_topic_prior=0.5, random_state=0
    )
    np.testing.assert_allclose(doc_topic.mean(axis=0), 0.25, atol=0.01)
    np.testing.assert_allclose(doc_topic.var(axis=0), 0.25 * 0.75 / 3.0, rtol=0.05)
    _, topics, doc_topic = datasets.make_sparse_lda(
        200, n_features=20, n_components=3, doc_topic_prior=1e-4, topic_word_prior=1e-4, random_state=0
    )
    assert np.all(np.isfinite(doc_topic))
    assert np.all(np.isfinite(topics))
    assert doc_topic.max(axis=1).min() > 0.9


def test_priors_are_positive():
    with pytest.raises(ValueError, match=r"doc_topic_prior must be positive and finite, got 0\.0"):
        datasets.make_bars(doc_topic_prior=0.0)
    for prior in (np.nan, np.inf):
        with pytest.raises(ValueError, match="topic_word_prior must be positive and finite"):
            datasets.make_skip_gram(20, topic_word_prior=prior, doc_length=0)
    with pytest.raises(ValueError, match="topic_word_prior must be positive"):
        datasets.make_sparse_lda(topic_word_prior=-1.0)


def test_bars_are_rows_and_columns():
    X, topics, _ = datasets.make_bars(4, n_samples=50, random_state=0)
    assert X.shape == (50, 16)
    assert topics.shape == (8, 16)
    squares = topics.reshape(8, 4, 4)
    for k in range(4):
        assert np.all(squares[k, k] == 0.25)
        assert squares[k].sum() == 1.0
        assert np.all(squares[4 + k, :, k] == 0.25)
        assert squares[4 + k].sum() == 1.0


@pytest.mark.slow
def test_bars_are_learned_again():
    X, topics, _ = datasets.make_bars(4, n_samples=300, doc_topic_prior=0.2, random_state=0)
    found = LatentDirichletAllocation(8, max_iter=30, random_state=0).fit(X).components_
    found = found / found.sum(axis=1, keepdims=True)
    distance = 0.5 * np.abs(found[:, None] - topics).sum(axis=2)
    assert np.median(distance[linear_sum_assignment(distance)]) < 0.2


# -- files that were made to do harm


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["300000000", "5", "1", "1 1 1"], "line 1: 300000000 documents for 1 entries"),
        (["2", "4294967297", "1", "1 4294967297 1"], "line 2: 4294967297 words are more than 2147483647"),
        (["2", "5", "1", "1 1 99999999999999999999"], "line 4"),
        (["2", "5", "1", "1 1 4294967297"], "line 4: the count is 4294967297, counts are 1 to 2147483647"),
        (["2", "5", "2", "1 1", "1 2 2 1"], "line 4: '1 1' is not 'document word count'"),
        (["99999999999999999999", "5", "1", "1 1 1"], "is not the number of documents"),
        (["2", "5", "1000000000", "1 1 1"], "line 3: 1000000000 entries are more than 2 x 5"),
        (["200000", "5000", "1000000000", "1 1 1"], "line 3 announces 1000000000 entries and 1 follow"),
    ],
)
def test_wrong_headers_and_lines_are_named_in_little_memory(tmp_path, lines, message):
    path = tmp_path / "docword.bad.txt"
    path.write_text("\n".join(lines) + "\n")
    tracemalloc.start()
    with pytest.raises(ValueError, match=re.escape(message)):
        datasets.load_bag_of_words(path, vocabulary=False)
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()


def test_a_packed_line_without_an_end_is_named_at_once(tmp_path):
    path = tmp_path / "docword.bomb.txt.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b"2\n5\n3\n")
        for _ in range(64):
            file.write(bytes([49]) * (1 << 20))
    with pytest.raises(ValueError, match="is a line without an end"):
        datasets.load_bag_of_words(path, vocabulary=False)


def test_entries_that_come_in_any_order_grow_with_the_file(tmp_path, monkeypatch):
    """Blocks of a few lines each, documents out of order from the middle on."""
    monkeypatch.setattr(_bag_of_words, "BLOCK", 64)
    rng = np.random.default_rng(0)
    X = (rng.random((40, 9)) < 0.5) * rng.integers(1, 9, (40, 9))
    documents, words = np.nonzero(X)
    order = np.concatenate([np.arange(50), 50 + rng.permutation(len(documents) - 50)])
    path = tmp_path / "docword.mixed.txt"
    entries = "".join(f"{documents[i] + 1} {words[i] + 1} {X[documents[i], words[i]]}\n" for i in order)
    path.write_text(f"40\n9\n{len(documents)}\n{entries}")
    np.testing.assert_array_equal(datasets.load_bag_of_words(path, vocabulary=False).data.toarray(), X)


# -- cells


def test_cells_are_open_or_not_and_as_deep_as_asked():
    X, topics, cell_topic = datasets.make_cells(4500, 3000, 6, regions_per_cell=200, random_state=0)
    assert (X.format, X.dtype, X.shape) == ("csr", np.float32, (4500, 3000))
    assert set(X.data) == {1.0}
    assert X.has_canonical_format
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    np.testing.assert_allclose(cell_topic.sum(axis=1), 1.0)
    np.testing.assert_array_equal((topics > 0).sum(axis=1), 150)
    depth = np.diff(X.indptr)
    assert 150 < np.median(depth) < 200  # regions that are drawn twice are open once
    assert 0.3 < np.log(depth).std() < 0.5


def test_cells_show_their_topics():
    """Regions are open as often as a cell's topics and the common part say."""
    X, topics, cell_topic = datasets.make_cells(4000, 400, 3, regions_per_cell=20, random_state=1)
    for k in range(3):
        cells = cell_topic[:, k] > 0.9
        own = topics[k] > 0
        share = X[cells][:, own].sum() / X[cells].sum()
        assert 0.3 < share < 0.65  # half of the draws, of which more fall on one region


def test_cells_follow_the_seed_and_refuse_nonsense():
    first, again, other = (datasets.make_cells(50, 300, 3, regions_per_cell=9, random_state=s)[0] for s in (0, 0, 1))
    assert (first != again).nnz == 0
    assert (first != other).nnz > 0
    for name in ("n_samples", "n_features", "n_components", "doc_topic_prior", "regions_per_cell"):
        with pytest.raises(ValueError, match=f"{name} is 0; it must be positive"):
            datasets.make_cells(**{name: 0})


def test_words_of_no_topic_have_all_alike():
    _, topics, word_topics = datasets.make_skip_gram(20, 12, 3, topic_word_prior=1e-8, random_state=1)
    never = topics.sum(axis=0) == 0.0
    assert never.any()
    np.testing.assert_array_equal(word_topics[never], 1.0 / 3.0)
    np.testing.assert_allclose(word_topics.sum(axis=1), 1.0)
