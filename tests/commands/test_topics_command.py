"""The command line: every kind of input, wrong input, the three files."""

import csv
import gzip
import json
import re
from html.parser import HTMLParser

import joblib
import numpy as np
import pytest
from scipy import sparse

from sparsemix.__main__ import main
from sparsemix._commands import corpus as _corpus
from sparsemix._commands import demo_topics as _demo_topics
from sparsemix._commands import report as _report
from sparsemix._commands import topics as _topics_command
from sparsemix._commands.corpus import read_corpus
from sparsemix._commands.topic_summary import Topic, summarize, weights_and_documents

THEMES = ["apple pear plum cherry", "river lake ocean brook", "guitar violin flute drum"]
OPTIONS = ["--n-components", "3", "--n-nonzero", "2", "--max-iter", "3", "--n-jobs", "1", "--n-top-words", "4"]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(THEMES[i % 3].split(), 12)) for i in range(60)]


@pytest.fixture(scope="module")
def counts(texts):
    words = sorted(" ".join(THEMES).split())
    return sparse.csr_matrix([[text.split().count(word) for word in words] for text in texts]), words


def write_folder(path, texts, _):
    for i, text in enumerate(texts):
        file = path / f"part{i % 2}" / f"text{i}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (path / "notes.md").write_text("this is no document")
    return [str(path)]


def write_lines(path, texts, _):
    path = path.with_suffix(".txt")
    path.write_text("\n\n".join(texts) + "\n")
    return [str(path)]


def write_packed_lines(path, texts, _):
    path = path.with_suffix(".txt.gz")
    path.write_bytes(gzip.compress("\n".join(texts).encode()))
    return [str(path)]


def write_json_lines(path, texts, _):
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps({"id": i, "body": text}) + "\n" for i, text in enumerate(texts)))
    return [str(path), "--field", "body"]


def write_uci(path, _, counts):
    X, words = counts
    X = X.tocoo()
    path = path.with_name("docword.corpus.txt.gz")
    entries = "".join(f"{d + 1} {w + 1} {n}\n" for d, w, n in zip(X.row, X.col, X.data, strict=True))
    path.write_bytes(gzip.compress(f"{X.shape[0]}\n{X.shape[1]}\n{X.nnz}\n{entries}".encode()))
    path.with_name("vocab.corpus.txt").write_text("\n".join(words))
    return [str(path)]


def write_npz(path, _, counts):
    X, words = counts
    sparse.save_npz(path.with_suffix(".npz"), X)
    vocabulary = path.with_name("words.txt")
    vocabulary.write_text("\n".join(words))
    return [str(path.with_suffix(".npz")), "--vocabulary", str(vocabulary)]


WRITERS = [write_folder, write_lines, write_packed_lines, write_json_lines, write_uci, write_npz]


class Page(HTMLParser):
    """Tags, attributes and texts of a page; checks that tags close in order."""

    VOID = ("meta", "br", "path", "polyline", "circle")

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def assert_self_contained(text):
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(page.tags)
    assert not {"src", "href"} & {name for name, _ in page.attributes}
    assert "url(" not in text
    assert "@import" not in text
    assert "http:" not in text
    assert "https:" not in text
    return page


def run(arguments, tmp_path):
    output = tmp_path / "result"
    main(["topics", *arguments, *OPTIONS, "--output", str(output)])
    return output


# -- results


@pytest.mark.parametrize("writer", WRITERS)
def test_topics_of_every_kind_of_input(tmp_path, capsys, texts, counts, writer):
    output = run(writer(tmp_path / "corpus", texts, counts), tmp_path)
    printed = capsys.readouterr().out
    assert "60 documents, 720 tokens of 12 words; 3 topics from 54 documents, 6 held out" in printed
    assert "held-out log-likelihood a token" in printed
    assert "written to" in printed
    assert sorted(file.name for file in output.iterdir()) == ["model.pkl", "report.html", "topics.csv"]

    with (output / "topics.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == 3 * [["topic", "weight", "coherence", "words"]]
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(1.0, abs=1e-5)
    weights = [float(row["weight"]) for row in rows]
    assert weights == sorted(weights, reverse=True)
    assert all(row["words"] in printed and len(row["words"].split()) == 4 for row in rows)

    page = assert_self_contained((output / "report.html").read_text(encoding="utf-8"))
    assert page.tags.count("tr") == 4
    assert page.tags.count("li") == 9
    assert "guitar" in page.texts

    pipeline = joblib.load(output / "model.pkl")
    doc_topic = pipeline.transform(["Violin, flute and DRUM", "nothing known"])
    assert doc_topic.shape == (2, 3)
    np.testing.assert_allclose(doc_topic.sum(axis=1), 1.0, atol=1e-6)
    assert pipeline["counts"].get_feature_names_out().tolist() == sorted(" ".join(THEMES).split())


def test_documents_have_names(tmp_path, texts, counts):
    """Paths of files, beginnings of texts, numbers of rows."""
    names = {writer: read_corpus(writer(tmp_path / writer.__name__, texts, counts)[0], field="body").names
             for writer in (write_folder, write_lines, write_json_lines, write_uci)}  # fmt: skip
    assert names[write_folder][:2] == ["part0/text0.txt", "part0/text10.txt"]
    assert names[write_lines] == names[write_json_lines]
    assert texts[0].startswith(names[write_lines][0].removesuffix(" ..."))
    assert names[write_uci] == [f"document {i}" for i in range(1, 61)]


def test_stochastic_collapsed_inference_can_be_chosen(tmp_path, capsys, texts):
    """It has no bound, so the report has no curve, and no topics of a word to tell."""
    output = run([*write_lines(tmp_path / "corpus", texts, None), "--estimator", "SparseSCVB0LDA"], tmp_path)
    printed = capsys.readouterr().out
    assert "SparseSCVB0LDA" in printed
    assert "topics of a word" not in printed
    model = joblib.load(output / "model.pkl")
    np.testing.assert_allclose(model.transform(texts[:3]).sum(axis=1), 1.0)
    assert "nan" not in (output / "report.html").read_text(encoding="utf-8").lower()


def test_seconds_end_the_fit(tmp_path, capsys, texts):
    options = ["--n-components", "3", "--seconds", "1e-6", "--output", str(tmp_path / "result")]
    main(["topics", *write_lines(tmp_path / "corpus", texts, None), *options])
    passes = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("passes"))
    assert passes.split() == ["passes", "1"]


def test_nothing_need_be_held_out(tmp_path, capsys, texts):
    run([*write_lines(tmp_path / "corpus", texts, None), "--held-out", "0"], tmp_path)
    assert "held-out log-likelihood a token  none held out" in capsys.readouterr().out


def test_words_of_texts_can_be_chosen(tmp_path, texts):
    (path,) = write_lines(tmp_path / "corpus", [*texts, "the rare word"], None)
    assert {"the", "rare"} <= set(read_corpus(path, stop_words=None).feature_names)
    assert "the" not in read_corpus(path).feature_names
    assert "rare" not in read_corpus(path, min_df=2).feature_names
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("plum\nflute\n")
    corpus = read_corpus(path, vocabulary=vocabulary)
    assert corpus.feature_names.tolist() == ["plum", "flute"]
    assert corpus.n_empty + corpus.counts.shape[0] == 61
    assert len(corpus.names) == corpus.counts.shape[0]


def test_documents_without_a_word_are_left_out(tmp_path, capsys, texts):
    run(write_lines(tmp_path / "corpus", [*texts, "12 34", "a b c"], None), tmp_path)
    assert "2 documents without a word of the vocabulary are left out\n60 documents" in capsys.readouterr().out


def test_wrong_encodings_are_replaced(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("größe words\nnaïve words\n".encode("latin-1"))
    corpus = read_corpus(path)
    assert corpus.counts.shape[0] == 2
    assert "words" in corpus.feature_names


def test_an_interrupt_keeps_complete_passes(capsys):
    class Interrupted:
        def fit(self, X):
            if X:
                self.components_ = X
            raise KeyboardInterrupt

    model, _ = _topics_command.fit(Interrupted(), [1])
    assert model.components_ == [1]
    assert "interrupted" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        _topics_command.fit(Interrupted(), [])


def test_documents_with_the_largest_shares_are_found_across_blocks(monkeypatch):
    class Shares:
        components_ = np.ones((4, 2))

        def transform(self, X):
            return shares[np.asarray(X[:, 0].todense()).ravel() - 1]

    shares = np.random.default_rng(0).dirichlet(np.ones(4), 23)
    X = sparse.csr_matrix(np.column_stack([np.arange(1, 24), np.zeros(23, dtype=int)]))
    monkeypatch.setattr("sparsemix._commands.topic_summary.BLOCK", 5)
    weights, best, documents = weights_and_documents(Shares(), X)
    np.testing.assert_array_equal(documents, np.argsort(-shares, axis=0)[:3].T)
    np.testing.assert_array_equal(best, -np.sort(-shares, axis=0)[:3].T)
    tokens = np.arange(1, 24)
    np.testing.assert_allclose(weights, tokens @ shares / tokens.sum())


# -- the page


def test_a_report_escapes_what_comes_from_data():
    evil = '<script src="http://x">&"\''
    topic = Topic(0, 1.0, 0.5, [evil, "word"], np.array([0.5, 0.25]), [(evil, 0.9)])
    page = Page(text := _report.html_report(evil, [(evil, evil)], [topic], [(0.0, -8.0), (1.0, -7.0)], evil))
    assert "script" not in page.tags
    assert "src" not in {name for name, _ in page.attributes}
    assert page.texts.count(evil) >= 4
    assert "<script" not in text


def test_a_curve_needs_two_points():
    topic = Topic(0, 0.0, 0.5, ["word"], np.array([1.0]), [])
    with_curve = _report.html_report("t", [], [topic], [(1.0, 5.0), (2.0, 5.0)], "score")
    assert "polyline" in assert_self_contained(with_curve).tags
    assert "svg" not in assert_self_contained(_report.html_report("t", [], [topic], [(1.0, 5.0)], "score")).tags


def test_curves_come_from_the_history_of_a_fit():
    history = [{"seconds": 1.0, "lower_bound_per_token": np.nan}, {"seconds": 2.0, "lower_bound_per_token": -7.0}]
    assert _topics_command.learning_curve(history) == ([(2.0, -7.0)], "Lower bound a token")
    assert _topics_command.learning_curve([]) == ([], "")


def test_summaries_take_no_more_words_than_there_are(counts):
    from sklearn.decomposition import LatentDirichletAllocation

    X, words = counts
    model = LatentDirichletAllocation(2, max_iter=2, random_state=0).fit(X)
    topics = summarize(model, X, np.array(words), [str(i) for i in range(60)], 50)
    assert [len(topic.words) for topic in topics] == [12, 12]
    assert all(topic.probabilities.sum() == pytest.approx(1.0) for topic in topics)


# -- wrong input


def wrong(tmp_path, name, content, *options):
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.mkdir()
    return [str(path), *options]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("absent", None, [], "does not exist"),
        ("empty", "folder", [], r"has no file that matches '\*\.txt'; give another pattern with --glob"),
        ("empty", "folder", ["--glob", "/x"], "--glob '/x' is no pattern"),
        ("empty", "folder", ["--format", "lines"], "is a folder; it needs another --format"),
        ("file.txt", b"words", ["--format", "folder"], "is a file; it needs another --format"),
        ("file.txt", b"", [], "No words are left of 0 documents"),
        ("file.txt", b"word word\nword\n", [], "No words are left of 2 documents .* see --min-df"),
        ("file.txt", b"some words\n", ["--min-df", "-1"], "'min_df'"),
        ("file.pdf", b"%PDF\x00\x01", [], "is not text"),
        ("file.txt.gz", b"not packed", [], "is not a whole gzip file"),
        ("file.jsonl", b'{"text": "a"}\n{"text"\n', [], "line 2 is not JSON"),
        ("file.jsonl", b'{"body": "a"}\n', [], r"line 1 has no text in the field 'text' \(it has 'body'\)"),
        ("file.jsonl", b'["a"]\n', [], "line 1 has no text in the field 'text'"),
        ("docword.x.txt", b"1\n1\n1\n1 1 1\n", [], r"vocab\.x\.txt is not there"),
        ("docword.x.txt", b"one\n", [], "line 1: 'one' is not the number of documents"),
        ("file.npz", b"no archive", [], "has no words; give a file with a word a line by --vocabulary"),
        ("file.npz", b"no archive", ["--vocabulary", "WORDS"], "is not a matrix that scipy.sparse.save_npz wrote"),
        ("file.txt", b"word word\n", ["--vocabulary", "TWICE"], "has 'twice' twice"),
        ("file.txt", b"other\n", ["--vocabulary", "WORDS"], "no document with a word of the vocabulary"),
        ("file.txt", b"some words\n", ["--n-components", "0"], "0 is not above zero"),
        ("file.txt", b"some words\n", ["--seconds", "soon"], "invalid float value: 'soon'"),
        ("file.txt", b"some words\n", ["--held-out", "1.5"], "1.5 is not between 0 and 1"),
        ("file.txt", b"some words\n", ["--min-df", "1", "--max-df", "1.0", "--output", "FILE"], "exists"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(tmp_path, capsys, name, content, options, message):
    (tmp_path / "WORDS").write_text("plum\nflute\n")
    (tmp_path / "TWICE").write_text("twice\nonce\ntwice\n")
    (tmp_path / "FILE").write_text("")
    options = [str(tmp_path / option) if option in ("WORDS", "TWICE", "FILE") else option for option in options]
    with pytest.raises(SystemExit) as caught:
        main(["topics", *wrong(tmp_path, name, content, *options)])
    assert caught.value.code == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("sparsemix topics: error: ")
    assert re.search(message, error)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse.csr_matrix([[1.0, -1.0]]), "entries that are no counts"),
        (sparse.csr_matrix([[1.0, np.nan]]), "entries that are no counts"),
        (sparse.csr_matrix([[1.0, 2.0, 3.0]]), "3 columns and .* has 2 words"),
        (sparse.csr_matrix((2, 2)), "no document with a word"),
    ],
)
def test_wrong_matrices_are_told(tmp_path, matrix, message):
    (tmp_path / "words.txt").write_text("plum\nflute\n")
    sparse.save_npz(tmp_path / "x.npz", matrix)
    with pytest.raises(ValueError, match=message):
        read_corpus(tmp_path / "x.npz", vocabulary=tmp_path / "words.txt")


def test_kinds_are_guessed_by_name(tmp_path):
    names = {"a.npz": "npz", "docword.a.txt.gz": "uci", "a.ndjson": "jsonl", "a.JSONL.gz": "jsonl", "a": "lines"}
    assert {name: _corpus.guess_kind(tmp_path / name) for name in names} == names
    assert _corpus.guess_kind(tmp_path) == "folder"


# -- the demo


def test_the_demo_of_topics_compares_in_the_same_time(monkeypatch, capsys, counts):
    from sklearn.utils import Bunch

    X, words = counts
    docstrings = Bunch(data=X.astype(np.float32), feature_names=np.array(words), names=np.arange(60))
    monkeypatch.setattr(_demo_topics, "load_docstrings", lambda: docstrings)
    monkeypatch.setattr(_demo_topics, "N_HELD_OUT", 20)
    monkeypatch.setattr(_demo_topics, "BATCH", 10)
    main(["demo", "--only", "topics", "--n-topics", "3", "--seconds", "0.05", "--n-jobs", "1"])
    printed = capsys.readouterr().out
    scores = [float(line.split()[-1]) for line in printed.splitlines()
              if line.startswith(("SparseLDA", "scikit-learn LDA", "words of all"))]  # fmt: skip
    assert len(scores) == 3
    assert scores[0] > scores[2]
