"""Reading a corpus in the forms that people have: a folder, lines, JSON lines, a bag of words, a sparse matrix."""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix.datasets import load_bag_of_words
from sparsemix.datasets._bag_of_words import open_bytes, read_vocabulary

# Runs of three letters or more, of any alphabet; underscores and digits part words.
WORD = r"[^\W\d_]{3,}"
FIRST_WORDS = 60  # characters of a text that has no other name


@dataclass(frozen=True)
class Corpus:
    """Counts, and what is needed to talk about them and to count new texts in the same way."""

    counts: sparse.csr_matrix
    feature_names: np.ndarray
    names: list
    vectorizer: CountVectorizer
    n_empty: int = 0


def read_corpus(
    path,
    *,
    kind="auto",
    glob="*.txt",
    field="text",
    vocabulary=None,
    min_df=1,
    max_df=1.0,
    stop_words="english",
):
    """Read a corpus; documents without a word are left out.

    Parameters
    ----------
    path : str or path
        File or folder.
    kind : {"auto", "folder", "lines", "jsonl", "uci", "npz"}, default="auto"
        What the path holds; "auto" goes by its name.
    glob : str, default="*.txt"
        Which files of a folder and of the folders in it are documents.
    field : str, default="text"
        Field of a JSON line that has the text.
    vocabulary : str or path, default=None
        File of words, one a line: names of the columns of counts, or the only words to take from texts.
    min_df, max_df : int or float, default=1 and 1.0
        For texts: leave out words of fewer or more documents, by number or fraction.
    stop_words : "english" or None, default="english"
        For texts: words to leave out.

    Returns
    -------
    corpus : Corpus

    Raises
    ------
    ValueError, OSError
        With a sentence on what is wrong.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    kind = guess_kind(path) if kind == "auto" else kind
    if (kind == "folder") != path.is_dir():
        raise ValueError(f"{path} is {'a folder' if path.is_dir() else 'a file'}; it needs another --format.")
    if kind in READERS_OF_COUNTS:
        counts, words = READERS_OF_COUNTS[kind](path, vocabulary)
        names = [f"document {i}" for i in range(1, counts.shape[0] + 1)]
        vectorizer = vectorizer_of(words)
    else:
        texts = READERS_OF_TEXTS[kind](path, glob=glob, field=field)
        vectorizer = CountVectorizer(
            token_pattern=WORD, stop_words=stop_words, min_df=min_df, max_df=max_df, dtype=np.float32,
            vocabulary=None if vocabulary is None else checked_words(read_vocabulary(vocabulary), vocabulary),
        )  # fmt: skip
        counts, names = count_words(vectorizer, texts)
        words = vectorizer.get_feature_names_out()
    return without_empty_documents(counts, words, names, vectorizer, path)


def guess_kind(path):
    """What a path holds, by its name."""
    name = path.name.lower().removesuffix(".gz")
    if path.is_dir():
        return "folder"
    if name.endswith(".npz"):
        return "npz"
    if name.startswith("docword."):
        return "uci"
    return "jsonl" if name.endswith((".jsonl", ".ndjson", ".json")) else "lines"


def count_words(vectorizer, documents):
    """Counts of the words of a stream of names and texts, and the names."""
    names, complete = [], False

    def texts():
        nonlocal complete
        for name, text in documents:
            names.append(name)
            yield text
        complete = True

    try:
        return vectorizer.fit_transform(texts()), names
    except ValueError as error:
        if not complete:
            raise
        options = "--min-df, --max-df and --stop-words"
        raise ValueError(f"No words are left of {len(names)} documents ({error}); see {options}.") from error


def without_empty_documents(counts, words, names, vectorizer, path):
    """The corpus less documents without a word."""
    counts.eliminate_zeros()
    kept = np.flatnonzero(np.diff(counts.indptr))
    if len(kept) == 0:
        raise ValueError(f"{path} has no document with a word of the vocabulary.")
    n_empty = counts.shape[0] - len(kept)
    if n_empty:
        counts, names = counts[kept], [names[i] for i in kept]
    return Corpus(counts, words, names, vectorizer, n_empty)


# -- texts: streams of names and texts


def read_folder(path, *, glob, **_):
    """A document a file, called by its path inside the folder."""
    try:
        files = sorted(file for file in path.rglob(glob) if file.is_file())
    except NotImplementedError as error:
        raise ValueError(f"--glob {glob!r} is no pattern for files inside a folder ({error}).") from error
    if not files:
        raise ValueError(f"{path} has no file that matches {glob!r}; give another pattern with --glob.")
    for file in files:
        yield file.relative_to(path).as_posix(), file.read_text(encoding="utf-8", errors="replace")


def read_lines(path, **_):
    """A document a line, called by its first words; empty lines are none."""
    for _number, line in lines(path):
        yield first_words(line), line


def read_json_lines(path, *, field, **_):
    """A JSON object a line, whose field is the document."""
    for number, line in lines(path):
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{where} is not JSON ({error.msg}, column {error.colno}).") from error
        if not isinstance(record, dict) or not isinstance(text := record.get(field), str):
            fields = ", ".join(map(repr, list(record)[:8])) if isinstance(record, dict) else "no fields"
            raise ValueError(f"{where} has no text in the field {field!r} (it has {fields}); name another by --field.")
        yield first_words(text), text


def lines(path):
    """Numbers and contents of the lines that are not empty, plain or from a gzip file."""
    with open_bytes(path) as file, io.TextIOWrapper(file, encoding="utf-8", errors="replace") as text:
        for number, line in enumerate(text, start=1):
            if "\0" in line:
                raise ValueError(f"{path} is not text (line {number} has zero bytes).")
            if line := line.strip():
                yield number, line


def first_words(text):
    """The beginning of a text on one line."""
    start = " ".join(text[: 4 * FIRST_WORDS].split())
    return start if len(start) <= FIRST_WORDS else start[:FIRST_WORDS].rstrip() + " ..."


# -- counts


def read_uci(path, vocabulary):
    """A bag of words in the UCI format."""
    corpus = load_bag_of_words(path, vocabulary)
    return corpus.data, corpus.feature_names


def read_npz(path, vocabulary):
    """A matrix that scipy.sparse.save_npz wrote, rows are documents."""
    if vocabulary is None:
        raise ValueError(f"{path} has no words; give a file with a word a line by --vocabulary.")
    try:
        counts = sparse.csr_matrix(sparse.load_npz(path))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a matrix that scipy.sparse.save_npz wrote ({error}).") from error
    if counts.dtype.kind not in "iuf" or not np.all(np.isfinite(counts.data)) or counts.data.min(initial=0) < 0:
        raise ValueError(f"{path} has entries that are no counts; they must be finite and not negative.")
    words = read_vocabulary(vocabulary)
    if len(words) != counts.shape[1]:
        raise ValueError(f"{path} has {counts.shape[1]} columns and {vocabulary} has {len(words)} words.")
    return counts.astype(np.float32, copy=False), words


def vectorizer_of(words):
    """A vectorizer that counts these words, for new texts."""
    return CountVectorizer(
        token_pattern=WORD, vocabulary=checked_words(words, "The vocabulary"), dtype=np.float32,
        lowercase=all(word == word.lower() for word in words),
    )  # fmt: skip


def checked_words(words, source):
    """The words as a list, unless one of them occurs twice."""
    distinct, counts = np.unique(words, return_counts=True)
    if len(words) == 0 or counts.max() > 1:
        twice = "no words" if len(words) == 0 else f"'{distinct[counts.argmax()]}' twice"
        raise ValueError(f"{source} has {twice}; a word stands for one column.")
    return list(words)


READERS_OF_TEXTS = {"folder": read_folder, "lines": read_lines, "jsonl": read_json_lines}
READERS_OF_COUNTS = {"uci": read_uci, "npz": read_npz}
KINDS = ("auto", *READERS_OF_TEXTS, *READERS_OF_COUNTS)
