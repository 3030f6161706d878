"""The command line under hostile texts, file names and options: what people have, and what they mistype."""

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import os
import re
import sys
import tempfile
from pathlib import Path
from unittest import mock

import joblib
import numpy as np
from fuzz_data import draw_counts
from fuzz_estimators import quiet
from fuzz_functions import damaged
from scipy import sparse

from sparsemix.__main__ import main
from sparsemix.texts._commands.outputs import FILES

WORDS = [
    "apple", "pear", "plum", "ship", "sail", "mast", "drum", "flute", "naïve", "漢字", "ΑΣ", "<b>", "it's", "e\u0301te",
]  # fmt: skip
HOSTILE = [
    "=HYPERLINK(1)", "</script><script>alert(1)</script>", "\x1b[2J\x1b]0;x\x07", "\u202etxt", "\ud800", "-1+1",
    "@SUM(A)", "\x00", "\x85", "&amp;", "`rm`", "$x^2$", "{{x}}", "%s%n", "'; --", "\ufeff", "a" * 300, "\r", '"', "\t",
]  # fmt: skip
NAMES = [
    "a", "=1+1", "\x1b[31m", "b c", "-x", "new\nline", "漢", "<img src=x>", "'quoted'", '"', "%00", "no\udcff\udcfe",
]  # fmt: skip
ENDINGS = {
    "lines": ".txt", "json": ".jsonl", "array": ".json", "csv": ".csv", "tsv": ".tsv", "uci": ".txt", "npz": ".npz",
    "parquet": ".parquet",
}  # fmt: skip
KINDS = ["lines", "lines", "folder", *(kind for kind in ENDINGS if kind != "lines"), "missing"]
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
# What a terminal would obey; printable text keeps none of it.
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NUMBERS = ["0", "1", "2", "3", "-1", "2.5", "x", "", "nan", "1e9", "９", " 4", "0x10"]
# Most options say little; each of these is given now and then.
OPTIONS = {
    "--glob": ["*.txt", "*", "**/*", "../*", "[", "", "/etc/*", "\x00", "*.md"],
    "--encoding": ["utf-8", "latin-1", "utf-16", "cp1252", "rot13", "idna", "no such", "", "\x00", "utf-32", "utf-7"],
    "--field": ["text", "date", "", "no such", "\x1b"],
    "--id": ["date", "n", "no such"],
    "--date": ["date", "n", "text"],
    "--group": ["date", "folder", "no such"],
    "--token-pattern": ["letters", "words", "spaces", "(", "(a)(b)", "(?:)", ".", "", "\\S+", "[[:alpha:]]", "(?i)p"],
    "--passages": ["1", "300", "0", "x"],
    "--copies": ["keep", "drop", "x"],
    "--language": ["en", "German", "klingon", "", "\x1b"],
    "--skip": ["apple", ",", "a,b"],
    "--min-df": ["0", "-1", "0.5", "1.5", "nan", "x", "inf", "1e999", "2", "٣"],
    "--max-df": ["0", "1.0", "0.9", "3", "-0.5", "nan", "x", "2.5"],
    "--stop-words": ["auto", "english,german", "none", "no such file", "-"],
    "--vocabulary": ["no such file", "."],
    "--estimator": ["SparseSCVB0LDA", "SparseLDA", "SkipGramTopicModel", "LDA"],
    "--n-components": ["1", "2", "3", "5", "40", "0", "-1", "x", "2.5", "99999999999999", "9" * 40],
    "--n-nonzero": NUMBERS,
    "--window": NUMBERS,
    "--seconds": ["0.05", "0", "-1", "nan", "x", "1e-300"],
    "--held-out": ["0", "0.1", "0.5", "0.99", "1", "nan", "-0.1", "x"],
    "--n-top-words": [*NUMBERS[:8], "1000"],
    "--n-jobs": ["1", "2", "0", "-1", "-5", "x", "1.5", "999999999999999999999"],
    "--random-state": ["0", "1", "-1", "4294967296", "x"],
    "--format": ["auto", "lines", "json", "csv", "uci", "npz", "parquet", "folder", "x"],
    "--no-such": ["1"],
}  # fmt: skip
DEMO = {
    "--n-topics": ["0", "-1", "x", "nan"], "--n-topics-of-a-word": ["0", "x"], "--seconds": ["0", "nan", "-inf", "x"],
    "--n-components": ["0", "1.5"], "--max-iter": ["0", ""], "--only": ["all"], "--output": [".", "no such/a.png"],
}  # fmt: skip


def try_command(rng):
    """One call of a command: whole results, or one line that says what is wrong and nothing that has changed."""
    with tempfile.TemporaryDirectory() as folder, quiet(), contextlib.chdir(folder):
        if rng.random() < 0.05:
            return wrong_demo(rng)
        Path("texts").mkdir()
        corpus, options = write_corpus(rng, Path(folder, "texts"))
        content = Path("texts", "stdin").read_bytes() if corpus == "-" else b""
        output = Path(folder, "results", NAMES[rng.integers(len(NAMES))], "out")
        earlier = {}
        if rng.random() < 0.3:
            output.mkdir(parents=True)
            for name in FILES:
                (output / name).write_text("earlier")
                earlier[name] = b"earlier"
            options += ["--force"] * (rng.random() < 0.7)
        if rng.random() < 0.1:
            options += ["--checkpoint", "kept"]
        arguments = ["topics", corpus, f"--output={output}", *options]
        code, out, err = called(arguments, content)
        assert not OBEYED.search(out + err), f"a terminal would obey: {OBEYED.search(out + err)[0]!r}"
        if code == 0:
            check_results(output, earlier)
            if rng.random() < 0.1:  # again, which continues from a checkpoint or replaces all
                code, _, err = called([*arguments, "--force"], content)
                assert code == 0, f"the second time: {err}"
                check_results(output, earlier)
            return "topics good"
        assert code in (1, 2), f"exit status {code}: {err}"
        told = err.strip().splitlines()
        assert told, "an error without a word"
        assert re.match("sparsemix[a-z ]*: error: ", told[-1]), err
        if code == 1:
            assert "not enough memory" in told[-1], err
        assert found_in(output) == earlier, "a call that failed has changed the results"
    return f"topics {code}"


def called(arguments, content=b""):
    """Exit status of the command, and what it said."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict", newline="") for _ in range(2))
    with (
        contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(content))),
    ):  # fmt: skip
        try:
            main(arguments)
            code = 0
        except SystemExit as end:
            code = 0 if end.code is None else end.code
        out.flush()
        err.flush()
    return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


def wrong_demo(rng):
    """One option of the demonstration that it cannot take: said at once."""
    option = sorted(DEMO)[rng.integers(len(DEMO))]
    value = DEMO[option][rng.integers(len(DEMO[option]))]
    code, _, err = called(["demo", f"{option}={value}"])
    assert (code, err.count("\n")) == (2, 1), f"{code}: {err}"
    return "demo 2"


def found_in(output):
    """Contents of the results by name."""
    return {file.name: file.read_bytes() for file in output.iterdir()} if output.is_dir() else {}


def check_results(output, earlier):
    """All files are there, whole, and harmless; the model reads texts."""
    found = found_in(output)
    needed = {"topics.csv", "documents.csv", "report.html", "run.json", "model.joblib"}
    assert needed <= set(found), f"not written: {needed - set(found)}"
    assert not any(name.startswith((".", "scratch")) for name in found), sorted(found)
    assert not [name for name in earlier if found.get(name) == b"earlier"], "files of an earlier run are left"
    page = found["report.html"].decode()
    assert page.rstrip().endswith("</html>")
    assert not re.search("<script>alert|[\x00\ud800-\udfff]", page), "the report holds what a word has brought"
    record = json.loads(found["run.json"].decode())
    K = next(iter(record["estimator"].values()))["n_components"]
    for name, n_rows in (("topics.csv", K), ("documents.csv", record["input_documents"])):
        head, *rows = csv.reader(io.StringIO(found[name].decode(), newline=""))
        assert len(rows) == n_rows, f"{name} has {len(rows)} rows, not {n_rows}"
        assert {len(row) for row in rows} <= {len(head)}, f"rows of {name} differ in length"
        for column, cells in zip(head, zip(*rows, strict=True), strict=True):
            if column in ("id", "file", "date", "group", "words", "relevant_words"):
                assert not [text for text in cells if text.startswith(("=", "+", "-", "@", "\t", "\r"))], column
    pipeline = joblib.load(output / "model.joblib")
    if hasattr(pipeline[0], "preprocessor"):  # counts have their own words
        shares = pipeline.transform(["apple pear ship", ""])
        assert np.isfinite(shares).all()


def write_corpus(rng, folder):
    """A corpus on disk, or for standard input; the options that go with it and some others."""
    kind = KINDS[rng.integers(len(KINDS))]
    texts = [text_of(rng) for _ in range(rng.integers(0, 25))]
    options = {"--n-components": str(rng.integers(1, 4)), "--max-iter": str(rng.integers(1, 4)), "--min-df": "1",
               "--max-df": "1.0", "--n-jobs": "1"}  # fmt: skip
    name = NAMES[rng.integers(len(NAMES))]
    if kind == "folder":
        path = folder / name
        write_folder(rng, path, texts)
        options["--glob"] = "*"
    else:
        path = folder / (f"docword.{name}.txt" if kind == "uci" else name + ENDINGS.get(kind, ""))
        path = write_file(rng, kind, path, texts, options)
    for option in rng.choice(sorted(OPTIONS), size=rng.choice([0, 0, 1, 1, 2, 4]), replace=False):
        options[str(option)] = OPTIONS[option][rng.integers(len(OPTIONS[option]))]
    listed = []
    for option, value in options.items():
        listed.append(f"{option}={value}")
    if kind == "lines" and path.suffix == ".txt" and rng.random() < 0.1:
        path.rename(folder / "stdin")
        return "-", listed
    return os.fspath(path), listed


def text_of(rng):
    """Some words that make topics, and now and then something else."""
    words = [WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(0, 15))]
    if rng.random() < 0.2:
        words.insert(int(rng.integers(len(words) + 1)), HOSTILE[rng.integers(len(HOSTILE))])
    return " ".join(words)


def encoded(rng, text):
    """Bytes of a text in one of the encodings that people have."""
    if rng.random() < 0.9:
        return text.encode("utf-8", "surrogatepass")
    return text.encode(["utf-16", "latin-1", "utf-8-sig", "utf-32"][rng.integers(4)], "replace")


def write_folder(rng, path, texts):
    for i, text in enumerate(texts):
        parent = path / NAMES[i % 3] if rng.random() < 0.5 else path
        parent.mkdir(parents=True, exist_ok=True)
        (parent / f"{NAMES[rng.integers(len(NAMES))]}{i}.txt").write_bytes(encoded(rng, text))
    path.mkdir(exist_ok=True)
    if rng.random() < 0.1:
        (path / "broken").symlink_to(path / "nowhere")
    if rng.random() < 0.1:
        (path / "around").symlink_to(path, target_is_directory=True)


def write_file(rng, kind, path, texts, options):
    """One file, packed or not, damaged or not; its path."""
    if kind == "missing":
        return path
    if kind == "npz":
        X = draw_counts(rng)
        X = sparse.csr_array(X) if not sparse.issparse(X) else X.tocsr()
        sparse.save_npz(path, X)
        options["--vocabulary"] = "words"
        Path("words").write_bytes("\n".join(f"{WORDS[i % len(WORDS)]}{i}" for i in range(X.shape[1])).encode())
        content = path.read_bytes()
    elif kind == "parquet":
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            content = b"PAR1"
        else:
            clean = [text.encode("utf-8", "replace").decode() for text in texts]
            dates = [str(rng.integers(1000, 3000)) for _ in texts]
            with path.open("wb") as file:  # pyarrow takes no name that is not UTF-8
                parquet.write_table(pyarrow.table({"text": clean, "date": dates}), file)
            content = path.read_bytes()
    elif kind == "uci":
        X = rng.poisson(0.7, size=(len(texts), len(WORDS)))
        lines = [f"{i + 1} {j + 1} {X[i, j]}" for i, j in zip(*np.nonzero(X), strict=True)]
        content = "\n".join([*map(str, X.shape), str(len(lines)), *lines, ""]).encode()
        path.with_name(path.name.replace("docword", "vocab")).write_text("\n".join(WORDS), encoding="utf-8")
    else:
        content = encoded(rng, WRITERS[kind](rng, texts))
    if rng.random() < 0.15:
        content = damaged(rng, content)
    if kind not in ("npz", "parquet") and rng.random() < 0.2:
        ending = sorted(PACKERS)[rng.integers(len(PACKERS))]
        path, content = path.with_name(path.name + ending), PACKERS[ending](content)
        if rng.random() < 0.2:
            content = damaged(rng, content)
    path.write_bytes(content)
    return path


def records_of(rng, texts):
    return [{"text": text, "date": str(rng.integers(1000, 3000)), "n": [1, None, -2.5]} for text in texts]


def in_columns(mark):
    def write(rng, texts):
        out = io.StringIO()
        table = csv.writer(out, delimiter=mark)
        table.writerows([["text", "date", "n"], *([text, f"{rng.integers(28)}.5.2020", "x"] for text in texts)])
        return out.getvalue()

    return write


WRITERS = {
    "lines": lambda rng, texts: "\n".join(texts),  # noqa: ARG005
    "json": lambda rng, texts: "\n".join(map(json.dumps, records_of(rng, texts))),
    "array": lambda rng, texts: json.dumps(records_of(rng, texts), indent=1),
    "csv": in_columns(","),
    "tsv": in_columns("\t"),
}
