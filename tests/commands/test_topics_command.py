"""The command line: every kind of input, wrong input, the five files, and what is saved when something fails."""

import csv
import gzip
import json
import os
import re
import subprocess
import sys
import unicodedata

import joblib
import numpy as np
import pytest
from fitted import records
from scipy import sparse

from sparsemix.__main__ import main
from sparsemix.texts import Report
from sparsemix.texts._commands import conclusion as _conclusion
from sparsemix.texts._commands import demo as _demo
from sparsemix.texts._commands import outputs as _outputs
from sparsemix.texts._commands import topics as _topics_command
from sparsemix.texts._reading import corpus as _corpus
from sparsemix.texts._reading.corpus import Words, read_corpus

NAMES = ["model.joblib", "topics.csv", "documents.csv", "report.html", "run.json"]
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
    (path / "notes.log").write_text("this is no document")
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


def write_csv(path, texts, _):
    path = path.with_suffix(".csv")
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.writer(file, delimiter=";")
        table.writerows([["label", "body"], *(("fruit", text + '; "or"\nnot') for text in texts)])
    return [str(path), "--field", "body"]


def write_json_array(path, texts, _):
    path = path.with_suffix(".json")
    path.write_text(json.dumps([{"text": text} for text in texts], indent=2))
    return [str(path)]


def write_utf16(path, texts, _):
    path = path.with_suffix(".txt")
    path.write_text("\n".join(texts), encoding="utf-16")
    return [str(path)]


WRITERS = [
    write_folder, write_lines, write_packed_lines, write_json_lines, write_uci, write_npz, write_csv, write_json_array,
    write_utf16,
]  # fmt: skip


def run(arguments, tmp_path):
    output = tmp_path / "result"
    main(["topics", *OPTIONS, "--output", str(output), *arguments])
    return output


# -- results


@pytest.mark.parametrize("writer", WRITERS)
def test_topics_of_every_kind_of_input(tmp_path, capsys, texts, counts, writer):
    output = run(writer(tmp_path / "corpus", texts, counts), tmp_path)
    printed = capsys.readouterr().out
    assert "60 documents, 720 tokens of 12 words; 3 topics from 54 documents, 6 held out" in printed
    assert "test log-likelihood per token" in printed
    assert "written to" in printed
    assert sorted(file.name for file in output.iterdir()) == sorted(NAMES)

    with (output / "topics.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = ["topic", "token_share", "coherence", "words", "relevant_words", "repeats", "found_again", "stability"]
    assert [list(row)[:9] for row in rows] == 3 * [[*columns, "name"]]
    assert sum(float(row["token_share"]) for row in rows) == pytest.approx(1.0, abs=1e-5)
    weights = [float(row["token_share"]) for row in rows]
    assert weights == sorted(weights, reverse=True)
    assert all(row["words"] in printed and len(row["words"].split()) == 4 for row in rows)

    with (output / "documents.csv").open(newline="", encoding="utf-8") as file:
        documents = list(csv.DictReader(file))
    assert len(documents) == 60
    assert sum(int(row["held_out"]) for row in documents) == 6
    for row in documents:
        shares = [float(part.split(":")[1]) for part in row["topics"].split()]
        assert shares == sorted(shares, reverse=True)
        assert row["topics"].startswith(f"{row['topic']}:{float(row['document_share']):.2f}"[:-1])

    record = json.loads((output / "run.json").read_text(encoding="utf-8"))
    assert record["documents"] == 60
    assert record["scores"]["test_log_likelihood_per_token"] < 0
    assert record["estimator"]["SparseSCVB0LDA"]["n_components"] == 3
    assert "guitar" in (output / "report.html").read_text(encoding="utf-8")

    pipeline = joblib.load(output / "model.joblib")
    doc_topic = pipeline.transform(["Violin, flute and DRUM", "nothing known"])
    assert doc_topic.shape == (2, 3)
    np.testing.assert_allclose(doc_topic.sum(axis=1), 1.0, atol=1e-6)
    assert (pipeline["topics"].verbose, pipeline["topics"].n_jobs) == (0, None)
    assert pipeline["counts"].get_feature_names_out().tolist() == sorted(" ".join(THEMES).split())
    table = records(pipeline["topics"].topic_table(pipeline["counts"], 4))
    words = {row["topic"]: " ".join(row["words"]) for row in table}
    assert {int(row["topic"]): row["words"] for row in rows} == words


def test_sparse_lda_can_be_chosen(tmp_path, capsys, texts):
    """It tells the topics of a word, and its bound makes a curve."""
    output = run([*write_lines(tmp_path / "corpus", texts, None), "--estimator", "SparseLDA"], tmp_path)
    assert re.search(r"topics per word \(L\) +2", capsys.readouterr().out)
    model = joblib.load(output / "model.joblib")
    np.testing.assert_allclose(model.transform(texts[:3]).sum(axis=1), 1.0)
    assert "Lower bound per token" in (output / "report.html").read_text(encoding="utf-8")


IN_ORDER = ["--estimator", "SkipGramTopicModel", "--window", "3"]


def test_words_in_their_order(tmp_path, capsys, texts):
    """The five files and two of words; new texts go through the same pipeline; an earlier run leaves none behind."""
    documents = [text.replace(" ", " of the ", 3) for text in texts]
    arguments = [*write_json_lines(tmp_path / "corpus", documents, None), "--group", "id", "--max-iter", "8"]
    output = run([*IN_ORDER, *arguments], tmp_path)
    printed = capsys.readouterr().out
    assert "60 documents, 720 tokens of 12 words" in printed
    assert "test log-likelihood per context word -" in printed
    assert re.search(r"window +3 words on each side", printed)
    more = ["by_group.csv", "words.csv", "word_vectors.bin"]
    assert sorted(file.name for file in output.iterdir()) == sorted([*NAMES, *more])
    record = json.loads((output / "run.json").read_text())
    assert record["scores"]["test_log_likelihood_per_context_word"] < 0

    pipeline = joblib.load(output / "model.joblib")
    model, names = pipeline["topics"], pipeline["sequences"].get_feature_names_out().tolist()
    assert (model.window, model.n_iter_) == (3, 8)
    X = pipeline["sequences"].transform(documents)
    assert np.diff(X.indptr).tolist() == 60 * [12]
    assert X.shape[1] == 12
    doc_topic = pipeline.transform(documents)
    with (output / "documents.csv").open(newline="", encoding="utf-8") as file:
        for row, shares in zip(csv.DictReader(file), doc_topic, strict=True):
            assert float(row["document_share"]) == pytest.approx(shares.max(), abs=1e-4)

    with (output / "words.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["count"]) for row in rows) == 720
    assert [int(row["count"]) for row in rows] == sorted((int(row["count"]) for row in rows), reverse=True)
    for row in rows:
        v = names.index(row["word"])
        topic, share = row["topics"].split()[0].split(":")
        assert int(topic) == model.word_topics_[v].argmax()
        assert float(share) == pytest.approx(model.word_topics_[v].max(), abs=1e-3)
        assert row["similar_words"].split() == [word for word, _ in model.most_similar(v, 10, names)]
    head, _, rest = (output / "word_vectors.bin").read_bytes().partition(b"\n")
    assert head == b"12 3"
    np.testing.assert_array_equal(np.frombuffer(rest.partition(b" ")[2][:12], dtype="<f4"), model.word_vectors_[0])

    run([*arguments, "--force"], tmp_path)
    assert sorted(file.name for file in output.iterdir()) == sorted([*NAMES, "by_group.csv"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["counts"], "holds counts without word order; give texts, or choose another --estimator"),
        (["--window", "0"], "0 is not above zero"),
    ],
)
def test_what_has_no_order_is_refused(tmp_path, capsys, texts, counts, options, message):
    write = write_uci if options == ["counts"] else write_lines
    options = [str(tmp_path / option) if option.isupper() else option for option in options if option != "counts"]
    with pytest.raises(SystemExit) as caught:
        run([*write(tmp_path / "corpus", texts, counts), *IN_ORDER, *options], tmp_path)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_seconds_end_the_fit(tmp_path, capsys, texts):
    options = ["--n-components", "3", "--seconds", "1e-6", "--output", str(tmp_path / "result")]
    main(["topics", *write_lines(tmp_path / "corpus", texts, None), *options])
    epochs = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("epochs"))
    assert re.fullmatch(r"epochs +1: the fit was ended in epoch 1", epochs)


def test_a_quiet_run_prints_warnings_alone_and_writes_the_same(tmp_path, capsys, texts):
    path = write_lines(tmp_path / "corpus", texts, None)
    output = run([*path, "--n-components", "100"], tmp_path)
    said, before = capsys.readouterr(), (output / "topics.csv").read_bytes()
    assert said.out
    run([*path, "--n-components", "100", "--force", "--quiet"], tmp_path)
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == ("", said.err)
    assert "are too many" in quiet.err
    assert (output / "topics.csv").read_bytes() == before
    with pytest.raises(SystemExit, match="2"):
        run([*path, "--quiet"], tmp_path)
    assert "holds an earlier run" in capsys.readouterr().err


def test_nothing_need_be_held_out(tmp_path, capsys, texts):
    run([*write_lines(tmp_path / "corpus", texts, None), "--held-out", "0"], tmp_path)
    assert "test log-likelihood per token    none held out" in capsys.readouterr().out


def test_documents_without_a_word_are_left_out(tmp_path, capsys, texts):
    run(write_lines(tmp_path / "corpus", [*texts, "12 34", "a b c"], None), tmp_path)
    assert "left out: 2 documents (no known word)\n60 documents" in capsys.readouterr().out


def test_an_interrupt_keeps_complete_epochs(capsys):
    class Interrupted:
        def fit(self, X):
            if X:
                self.components_ = X
            raise KeyboardInterrupt

    model, _, whole = _topics_command.fit(Interrupted(), [1])
    assert not whole
    assert model.components_ == [1]
    assert "interrupted" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        _topics_command.fit(Interrupted(), [])


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
        ("empty", "folder", [], "has no file that ends in .txt or holds texts of another kind"),
        ("empty", "folder", ["--glob", "/x"], "--glob '/x' is not a pattern"),
        ("empty", "folder", ["--format", "lines"], "is a folder; it needs another --format"),
        ("file.txt", b"words", ["--format", "folder"], "is a file; it needs another --format"),
        ("file.txt", b"", [], "is empty"),
        ("file.txt", b"word word\nword\n", [], "are left of 2 documents .* see --min-df.*lines are one document"),
        ("file.txt", b"some words\n", ["--min-df", "-1"], "-1 is neither a whole number above zero nor a fraction"),
        ("file.txt", b"%PDF\x00\x01", [], "begins like a .pdf file; give it that ending"),
        ("file.txt.gz", b"not packed", [], "is not a whole packed file"),
        ("file.jsonl", b'{"text": "a"}\n{"text"\n', [], "line 2 is not JSON"),
        ("file.jsonl", b'{"body": "a"}\n', [], r"no text in the field 'text' \(it has 'body'\); name"),
        ("file.jsonl", b'[["a"]]\n', [], "line 1, item 1 has no text in the field 'text'"),
        ("docword.x.txt", b"1\n1\n1\n1 1 1\n", [], r"vocab\.x\.txt is not there"),
        ("docword.x.txt", b"one\n", [], "line 1: 'one' is not the number of documents"),
        ("file.npz", b"no archive", [], "has no words; give a file with one word per line with --vocabulary"),
        ("file.npz", b"no archive", ["--vocabulary", "WORDS"], "is not a matrix saved by scipy.sparse.save_npz"),
        ("file.txt", b"word word\n", ["--vocabulary", "TWICE"], "has 'twice' twice"),
        ("file.txt", b"other\n", ["--vocabulary", "WORDS"], "no document with a word of the vocabulary"),
        ("file.txt", b"some words\n", ["--n-components", "0"], "0 is not above zero"),
        ("file.txt", b"some words\n", ["--seconds", "soon"], "invalid float value: 'soon'"),
        ("file.txt", b"some words\n", ["--held-out", "1.5"], "1.5 is not between 0 and 1"),
        ("file.txt", b"some words\n", ["--n-jobs", "0"], "0 is no number of threads"),
        ("file.txt", b"some words\n", ["--random-state", "-5"], "-5 is not between 0 and 4294967295"),
        ("file.txt", b"some words\n", ["--max-df", "0"], "0 is neither a whole number above zero nor a fraction"),
        ("file.txt", b"some words\n", ["--output", "s3://b/x"], "='s3://b/x' is an address, .*give a local path"),
        ("file.txt", b"some words\n", ["--output", "FILE"], "exists and is not a folder"),
        ("file.txt", b"some words\n", ["--encoding", "utf-9"], "--encoding utf-9 is not known"),
        ("file.txt", b"some words\n", ["--token-pattern", "["], "is not a regular expression"),
        ("file.txt", b"some words\n", ["--token-pattern", "(a)(b)"], "has 2 groups"),
        ("file.txt", b"some words\n", ["--stop-words", "ABSENT"], "ABSENT"),
        ("picture.txt", b"\x89PNG\r\n\x1a\n\0", [], "is not text .it has zero bytes"),
        ("archive.txt", b"PK\x03\x04", [], "begins like a .docx, .epub, .xlsx or .zip file"),
        ("file.csv", b"", [], "line 1 has no names of columns; add them"),
        ("file.csv", b"a,b\n1,2\n", [], r"line 1 has no text in the field 'text' \(it has 'a', 'b'\)"),
        ("file.csv", b"text,b\n1,2,3\n", [], "line 2 has 3 fields, but line 1 names 2"),
        ("file.csv", b"text,b\nx,2\n", ["--date", "day"], r"has no field 'day' \(it has .*; name another by --date"),
        ("file.json", b"[" * 200_000, [], "line 1 is not JSON .maximum recursion"),
        ("file.json", b'[{"text": "a"},\n {"text": 1}]', [], "record 2 has int in the field 'text', not text"),
        ("file.parquet", b"PAR1", [], "Parquet"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(tmp_path, capsys, name, content, options, message):
    (tmp_path / "WORDS").write_text("plum\nflute\n")
    (tmp_path / "TWICE").write_text("twice\nonce\ntwice\n")
    (tmp_path / "FILE").write_text("")
    options = [str(tmp_path / option) if option in ("WORDS", "TWICE", "FILE") else option for option in options]
    with pytest.raises(SystemExit) as caught:
        main(["topics", *wrong(tmp_path, name, content, "--output", str(tmp_path / "new" / "out"), *options)])
    assert caught.value.code == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("sparsemix topics: error: ")
    assert re.search(message, error)
    assert not (tmp_path / "new").exists()  # nor is a folder of nothing left


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse.csr_matrix([[1.0, -1.0]]), r"X has -1\.0 in row 0, column 1; counts must be finite"),
        (sparse.csr_matrix([[1.0, np.nan]]), "X has nan in row 0, column 1; counts must be finite"),
        (sparse.csr_matrix([[1.0, 2.0, 3.0]]), "3 columns, but .* has 2 words"),
        (sparse.csr_matrix((2, 2)), "no document with a word"),
    ],
)
def test_wrong_matrices_are_told(tmp_path, matrix, message):
    (tmp_path / "words.txt").write_text("plum\nflute\n")
    sparse.save_npz(tmp_path / "x.npz", matrix)
    with pytest.raises(ValueError, match=message):
        read_corpus(tmp_path / "x.npz", words=Words(vocabulary=tmp_path / "words.txt"))


def test_kinds_are_guessed_by_name(tmp_path):
    names = {"a.npz": "npz", "docword.a.txt.gz": "uci", "a.ndjson": "json", "a.JSONL.gz": "json", "a": "lines",
             "a.tsv.bz2": "csv", "a.parquet": "parquet"}  # fmt: skip
    assert {name: _corpus.guess_kind(tmp_path / name) for name in names} == names
    assert _corpus.guess_kind(tmp_path) == "folder"


def test_matrices_with_columns_beyond_their_shape_are_refused(tmp_path):
    (tmp_path / "words.txt").write_text("plum\nflute\n")
    matrix = sparse.csr_matrix([[1.0, 2.0]])
    matrix.indices[1] = 50_000_000
    sparse.save_npz(tmp_path / "x.npz", matrix)
    with pytest.raises(ValueError, match="is not a matrix saved by"):
        read_corpus(tmp_path / "x.npz", words=Words(vocabulary=tmp_path / "words.txt"))


def test_counts_that_no_estimator_takes_are_refused_before_learning(tmp_path):
    (tmp_path / "words.txt").write_text("plum\nflute\n")
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_matrix([[1.0, 2.0], [1e37, 1.0]]))
    with pytest.raises(ValueError, match=r"x\.npz: X has 1e\+37 in row 1, column 0"):
        read_corpus(tmp_path / "x.npz", words=Words(vocabulary=tmp_path / "words.txt"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are characters")
def test_parquet_files_whose_names_are_not_utf_8(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["plum flute", "plum"]}), tmp_path / "x.parquet")
    path = (tmp_path / "x.parquet").rename(tmp_path / os.fsdecode(b"\xff.parquet"))
    assert read_corpus(path, words=Words(min_df=1, max_df=1.0)).counts.shape == (2, 2)


# -- nothing learned is lost


def files_of(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def test_an_earlier_run_is_kept_unless_forced(tmp_path, capsys, texts):
    arguments = write_lines(tmp_path / "corpus", texts, None)
    output = run(arguments, tmp_path)
    before = {name: (output / name).read_bytes() for name in NAMES}
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        run(arguments, tmp_path)
    assert caught.value.code == 2
    assert "holds an earlier run (model.joblib, topics.csv" in capsys.readouterr().err
    assert {name: (output / name).read_bytes() for name in NAMES} == before
    run([*arguments, "--force", "--random-state", "1"], tmp_path)
    assert (output / "topics.csv").read_bytes() != before["topics.csv"]


@pytest.mark.parametrize(("module", "name", "files"), [
    (_conclusion, "held_out_score", ()), (_conclusion, "told_of_seeds", ()), (_conclusion, "facts_of", ()),
    (_conclusion, "likenesses", ()), (_conclusion, "facts_of_topics", ("topics.csv",)),
    (_conclusion, "topic_rows", ("topics.csv",)), (_conclusion, "strata_tables", ("by_group.csv",)),
    (_conclusion, "record_of", ("run.json",)), (_conclusion, "tell", ()), (_topics_command, "consensus_topics", ()),
    (_conclusion, "effects_of", ("effects.csv",)), (_conclusion, "effect_rows", ("effects.csv",)),
    (_conclusion, "tell_effects", ()), ("report", "groups", ("by_group.csv",)), ("report", "effects", ()),
    ("report", "names", ("topics.csv", "documents.csv", "report.html", "by_group.csv")),
    (Report, "html", ("report.html",)), (_conclusion, "rows_of_report", ("topics.csv",)),
])  # fmt: skip
def test_a_part_that_fails_after_the_fit_costs_no_other_part(tmp_path, monkeypatch, capsys, texts, module, name, files):
    pytest.importorskip("formulaic")
    records = [{"text": text, "who": "ab"[i % 2]} for i, text in enumerate(texts)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    whole = _conclusion.report

    def fail(*_, **__):
        raise KeyError("what is wrong")

    def report(*arguments, **options):
        return fail() if name in options else whole(*arguments, **options)

    if module == "report":
        monkeypatch.setattr(_conclusion, "report", report)
    else:
        monkeypatch.setattr(module, name, fail)
    with pytest.raises(SystemExit) as caught:
        run([str(tmp_path / "a.jsonl"), "--group", "who", "--effect", "who"], tmp_path)
    assert caught.value.code == 1
    *_, warning, error = capsys.readouterr().err.splitlines()
    assert warning.startswith("sparsemix topics: warning: ")
    assert warning.endswith(" cannot be made: KeyError: 'what is wrong'")
    assert re.match(r"sparsemix topics: error: not made: .+; all else is in ", error)
    (output,) = tmp_path.glob("*/")
    assert {file.name for file in output.iterdir()} == {*NAMES, "by_group.csv", "effects.csv"} - {*files}
    if "run.json" not in files:
        failed = json.loads((output / "run.json").read_text())["failed"]
        assert failed or name in ("tell", "tell_effects")


def test_a_forced_run_that_is_killed_leaves_files_of_one_run(tmp_path, monkeypatch, texts):
    arguments = write_lines(tmp_path / "corpus", texts, None)
    output = run(arguments, tmp_path)
    before = {name: (output / name).read_bytes() for name in NAMES}

    class KilledError(BaseException):
        pass

    def killed(*_, **__):
        raise KilledError

    again = [*arguments, "--force", "--random-state", "1"]
    with monkeypatch.context() as patch:
        patch.setattr(_topics_command, "fit", killed)
        with pytest.raises(KilledError):
            run(again, tmp_path)
    assert {name: (output / name).read_bytes() for name in NAMES} == before
    monkeypatch.setattr(_conclusion, "report", killed)
    with pytest.raises(KilledError):
        run(again, tmp_path)
    assert files_of(output) == before


@pytest.mark.parametrize("writer", [write_lines, write_uci])
def test_saved_vectorizer_composes_characters(tmp_path, writer):
    """What is one letter to readers is one word to the pipeline, however it is written."""
    words = ["café", "naïve", "ärger"]
    rng = np.random.default_rng(0)
    texts = [unicodedata.normalize("NFD", " ".join(rng.choice(words, 12))) for _ in range(60)]
    composed = [unicodedata.normalize("NFC", text) for text in texts]
    X = sparse.csr_matrix([[text.split().count(word) for word in words] for text in composed])
    parted = [unicodedata.normalize("NFD", word) for word in words]  # a vocabulary may be written so too
    output = run([*writer(tmp_path / "corpus", texts, (X, parted)), "--max-df", "1.0"], tmp_path)
    counted = joblib.load(output / "model.joblib")["counts"]
    assert sorted(counted.get_feature_names_out()) == sorted(words)
    assert (counted.transform(texts) != counted.transform(composed)).nnz == 0
    assert counted.transform(texts).sum() == 12 * 60


def test_a_score_that_cannot_be_computed_loses_nothing(tmp_path, capsys):
    """Every document has one distinct word, so that none of them can be hidden."""
    words = " ".join(THEMES).split()
    path = write_lines(tmp_path / "corpus", [" ".join(5 * [words[i % 12]]) for i in range(120)], None)
    output = run(path, tmp_path)
    assert re.search(r"log-likelihood per token +not available \(no test document has two", capsys.readouterr().out)
    assert sorted(file.name for file in output.iterdir()) == sorted(NAMES)
    record = json.loads((output / "run.json").read_text())
    assert record["scores"]["test_log_likelihood_per_token"].startswith("not available")


@pytest.mark.parametrize("name", [*NAMES, "none"])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_full_disk_leaves_no_part_of_a_run(tmp_path, monkeypatch, capsys, texts, name, earlier):
    """The files that could be written are kept elsewhere, the model outside the output folder; the status is 1."""
    whole, output = _outputs.replacing, tmp_path / "new" / "result"
    arguments = ["topics", *OPTIONS, "--output", str(output), *write_lines(tmp_path / "corpus", texts, None)]
    if earlier:
        main(arguments)
    before = files_of(output) if earlier else {}
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(_outputs.tempfile, "tempdir", str(tmp_path / "elsewhere"))

    def full(path, *arguments, **options):
        if name == "none" or (path.name == name and output in path.parents):
            raise OSError(28, "No space left on device")
        return whole(path, *arguments, **options)

    monkeypatch.setattr(_outputs, "replacing", full)
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--force", "--random-state", "1"])
    assert caught.value.code == 1
    error = capsys.readouterr().err
    assert "error: not written: " in error
    (kept,) = [*output.glob(".outputs-*"), *(tmp_path / "elsewhere").iterdir()] or [None]
    assert (kept is None) == (name == "none")
    if kept is not None:
        assert f"the files of this run are in {kept}" in error
        assert kept.parent == (tmp_path / "elsewhere" if name == "model.joblib" else output)
        assert set(files_of(kept)) == {*NAMES} - ({name} if name != "model.joblib" else set())
    assert (files_of(output) if output.exists() else {}) == before
    assert output.exists() == (earlier or (kept is not None and name != "model.joblib"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="file names of Windows are Unicode")
def test_words_and_names_that_cannot_be_printed(tmp_path, texts):
    """A terminal of ASCII, a file name that is no UTF-8 and turns colours on, a reader who has left."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for i, text in enumerate(texts):
        (folder / f"{i}\udcff\x1b[31m.txt").write_text(text.replace("guitar", "größe"), encoding="utf-8")
    command = [sys.executable, "-m", "sparsemix", "topics", str(folder), *OPTIONS[:2], *OPTIONS[4:]]
    command += ["--output", str(tmp_path / "result")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"gr\\xf6\\xdfe" in done.stdout
    assert b"\x1b" not in done.stdout + done.stderr
    documents = (tmp_path / "result" / "documents.csv").read_bytes()
    assert b"\x1b" not in documents
    assert rb"\udcff" in documents
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--force"], env=environment, **pipes) as run:
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait() == 0


def test_formulas_in_tables_are_texts(tmp_path):
    words = ["=HYPERLINK", "+plus", "-minus", "@at"]
    texts = [" ".join(2 * [words[i % 4], words[(i + 1) % 4]]) for i in range(80)]
    path = write_json_array(tmp_path / "corpus", texts, None)[0]
    output = run([path, "--token-pattern", "spaces", "--max-df", "1.0", "--stop-words", "none"], tmp_path)
    for name in ("topics.csv", "documents.csv"):
        with (output / name).open(newline="", encoding="utf-8") as file:
            cells = [cell for row in list(csv.reader(file))[1:] for cell in row]
        assert any(cell.startswith("'") for cell in cells)
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "@") or (cell[:1] == "-" and "." not in cell)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [("-1", "-1"), ("+3.5", "+3.5"), ("-1,5", "-1,5"), ("-2e-5", "-2e-5"), ("1=2", "1=2"), ("-1+2", "'-1+2"),
     ("@x", "'@x"), ("=1", "'=1"), ("-", "'-"), ("+a", "'+a"), ("-1|calc", "'-1|calc")],
)  # fmt: skip
def test_numbers_are_no_formulas(text, shown):
    assert _outputs.cell(text) == shown


def test_the_saved_vectorizer_counts_every_word_of_its_vocabulary(tmp_path, counts):
    X, _ = counts
    words = ["a", "c++", "e-mail", "new york", "b2b", "don't", "x_y", "日本", "i/o", ".net", "plum", "flute"]
    (path,) = write_uci(tmp_path / "corpus", None, (X, words))
    vectorizer = joblib.load(run([path], tmp_path) / "model.joblib")["counts"]
    for column, word in enumerate(words):
        assert vectorizer.transform([f"so {word}, it is"])[0, column] == 1.0, word


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("sparsemix ")


# -- the demo


@pytest.fixture
def small_demo(monkeypatch, counts):
    """The demo, with a few documents and patches."""
    from sklearn.utils import Bunch

    X, words = counts
    docstrings = Bunch(data=X.astype(np.float32), feature_names=np.array(words), names=np.arange(60))
    patches = np.random.default_rng(0).normal(size=(2, 100, 64))
    monkeypatch.setattr(_demo, "load_docstrings", lambda: docstrings)
    monkeypatch.setattr(_demo, "load_image_patches", lambda **_: patches - patches.mean(2, keepdims=True))
    monkeypatch.setattr(_demo, "N_HELD_OUT", 20)
    monkeypatch.setattr(_demo, "BATCH", 10)
    return ["demo", "--n-topics", "3", "--n-components", "3", "--seconds", "0.05", "--n-jobs", "1"]


def test_the_demo_of_topics_compares_in_the_same_time(small_demo, capsys):
    main([*small_demo, "--only", "topics"])
    scores = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()
              if line.startswith(("  SparseLDA", "  scikit-learn LDA"))]  # fmt: skip
    assert len(scores) == 2
    assert scores[0] > -np.log(12)  # of one topic for all documents


def test_the_demo_ends_with_a_summary_that_fits_a_terminal_of_24_lines(small_demo, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    main(small_demo)
    progress, blank, summary = capsys.readouterr().out.rpartition("\n\nHeld-out")
    *lines, place = summary.splitlines()
    assert "scikit-learn's after equal time" in progress.splitlines()[1]
    assert max(map(len, (progress + blank + "\n".join(lines)).splitlines())) <= 80
    scored = [name for name in ("patch ", "scikit-learn GaussianMixture", "a word ", "LDA, online") if name in summary]
    assert len(scored) == 4
    assert summary.count("\n") - 3 + _demo.N_SHOWN + 2 < 24  # 3 of 3 topics are shown here; a prompt follows
    assert place == str(tmp_path / "sparsemix-demo.png")
    assert (tmp_path / "sparsemix-demo.png").stat().st_size > 0


def test_the_demo_without_matplotlib_prints_its_remedy_last(small_demo, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    main([*small_demo, "--only", "mixture"])
    assert "pip install 'sparsemix[plot]'" in capsys.readouterr().out.splitlines()[-1]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--n-topics", "0"], "above zero"),
        (["--n-topics-of-a-word", "-1"], "above zero"),
        (["--seconds", "nan"], "above zero"),
        (["--n-components", "0"], "above zero"),
        (["--max-iter", "0"], "above zero"),
        (["--output", "s3://bucket/a.png"], "is an address"),
        (["--output", "no such folder/a.png"], "cannot be written"),
        (["--output", "."], "cannot be written"),
        (["--output", "a.xyz"], "give --output one of the endings ."),
    ],
)
def test_the_demo_refuses_wrong_options_before_it_learns(monkeypatch, capsys, tmp_path, arguments, what):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_demo, "load_image_patches", None)  # nothing may come this far
    monkeypatch.setattr(_demo, "load_docstrings", None)
    with pytest.raises(SystemExit) as caught:
        main(["demo", *arguments])
    told = capsys.readouterr().err
    assert caught.value.code == 2
    assert what in told
    assert told.count("\n") == 1


def test_the_demo_ends_by_an_interrupt_in_one_line(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo, "load_docstrings", interrupted)
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--only", "topics"])
    assert caught.value.code == 130
    assert capsys.readouterr().err == "sparsemix demo: interrupted\n"
