"""A corpus: counts or sequences of words, with names, dates and groups of its documents."""

import os
import warnings
from array import array
from dataclasses import dataclass, field, replace
from itertools import compress

import joblib
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from sparsemix._commands.reading.files import ENDINGS, Tally, check_encoding, lines, on_disk, scratch_file
from sparsemix._commands.reading.on_disk import counted, learn_vocabulary
from sparsemix._commands.reading.texts import READERS_OF_TEXTS, Fields, files_of
from sparsemix._commands.reading.words import (
    ComposedVectorizer,
    checked_words,
    composed,
    composed_lower,
    needs_segmenter,
    token_pattern,
    vectorizer_of,
)
from sparsemix._estimator.input.checks import check_magnitude
from sparsemix._estimator.input.forms import csr_of
from sparsemix.blocks._readers.files import DAMAGED
from sparsemix.datasets import load_bag_of_words
from sparsemix.datasets._bag_of_words import read_vocabulary
from sparsemix.skipgram import TokenSequences
from sparsemix.skipgram._input import counts_of

# Characters of each text that the report can show.
EXCERPT = 2000
# Texts that are checked for problems with their words.
SAMPLE = 200
# Bytes of text above which "auto" keeps counts on disk, and the assumed ratio of compression.
LARGE, PACKED = 1 << 30, 4
# Warn above this share of documents without words, and above this mean number of letters per word.
MANY_EMPTY, LONG_WORD = 0.2, 20
# File endings that a warning lists.
MOST_ENDINGS = 5


@dataclass(frozen=True)
class Corpus:
    """Word counts, and everything needed to describe them and to count new texts in the same way.

    ``sequences`` holds the same words in their order, for estimators that read sequences. ``folder`` holds counts that
    are on disk.
    """

    counts: sparse.csr_matrix
    feature_names: np.ndarray
    names: list
    vectorizer: CountVectorizer | TokenSequences
    sequences: sparse.csr_array | None = None
    texts: "Excerpts | None" = None
    dates: list | None = None
    groups: list | None = None
    left_out: dict = field(default_factory=dict)
    warnings: tuple = ()
    folder: str | None = None

    @property
    def rows(self):
        """Input of the model: sequences if there are any, else counts."""
        return self.counts if self.sequences is None else self.sequences

    @property
    def n_empty(self):
        """Number of omitted documents, which had no word of the vocabulary."""
        return self.left_out.get("documents without a word of the vocabulary", 0)


@dataclass(frozen=True)
class Words:
    """Options for words: their pattern, and which of them to count. With ``gaps``, as in ``TokenSequences``."""

    token_pattern: str = "letters"
    stop_words: str | None = "english"
    min_df: float = 1
    max_df: float = 1.0
    ngram_range: tuple = (1, 1)
    vocabulary: str | None = None
    vectorizer: str | None = None
    gaps: str | None = None


class Excerpts:
    """Sequence of the beginnings of texts, in a temporary file."""

    def __init__(self, folder=None):
        self.file = scratch_file(self, folder)
        self.ends = array("q", [0])

    def append(self, text):
        """Add the beginning of a text."""
        self.file.seek(0, os.SEEK_END)
        self.ends.append(self.ends[-1] + self.file.write(text[:EXCERPT].encode("utf-8", "replace")))

    def __len__(self):
        return len(self.ends) - 1

    def __getitem__(self, i):
        self.file.seek(self.ends[i])
        return self.file.read(self.ends[i + 1] - self.ends[i]).decode("utf-8")


def read_corpus(
    path, *, kind="auto", glob="*.txt", encoding="utf-8", fields=None, words=None, where="memory", scratch=None
):
    """Read a corpus. Documents without a word are omitted and counted.

    Parameters
    ----------
    path : str or path
        File or folder, or ``-`` for standard input.
    kind : {"auto", "folder", "lines", "json", "csv", "parquet", "uci", "npz"}, default="auto"
        Format of the path; "auto" decides by the file name.
    glob : str, default="*.txt"
        Pattern of the files in a folder and its subfolders; matches compressed files with an additional ending too.
    encoding : str, default="utf-8"
        Encoding of texts without a byte order mark.
    fields : Fields, default=None
        Names of the fields with text, id, date and group.
    words : Words, default=None
        Options for words. For counts, ``vocabulary`` is the file with the words of the columns.
    where : {"memory", "disk", "auto"}, default="memory"
        Where counts of texts are kept; "auto" decides by the size of the texts.
    scratch : callable, default=None
        Creates and returns the folder for counts on disk.

    Returns
    -------
    corpus : Corpus

    Raises
    ------
    ValueError, OSError
        With one sentence that says what is wrong.
    """
    fields, words = fields or Fields(), words or Words()
    encoding = check_encoding(encoding)
    with on_disk(path) as path:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist.")
        kind = guess_kind(path) if kind == "auto" else KINDS_BEFORE.get(kind, kind)
        if (kind == "folder") != path.is_dir():
            raise ValueError(f"{path} is {'a folder' if path.is_dir() else 'a file'}; it needs another --format.")
        counts = kind in READERS_OF_COUNTS
        if counts and words.gaps is not None:
            raise ValueError(f"{path} holds counts without word order; give texts, or choose another --estimator.")
        reader = None if counts else READERS_OF_TEXTS[kind]
        vectorizer = None if counts else make_vectorizer(words, encoding)
        folder = None
        if where != "memory" and wants_disk(where, path, kind, glob, vectorizer, words):
            folder = scratch()

        def documents(tally):
            return reader(path, glob=glob, encoding=encoding, fields=fields, tally=tally)

        if counts:
            corpus = read_counts(path, kind, words.vocabulary)
        else:
            corpus = count_texts(documents, vectorizer, encoding, folder)
        return without_empty_documents(corpus, path)


def wants_disk(where, path, kind, glob, vectorizer, words):
    """Whether counts go to disk. Raises if the user chose disk and the input does not allow it."""
    refusal = None
    if vectorizer is None:
        refusal = f"{path} holds counts, which are read whole; use sparsemix.blocks.fit if they exceed memory"
    elif words.gaps is not None:
        refusal = "estimators of word sequences need them in memory; choose another --estimator"
    elif words.vectorizer is not None and not is_fitted(vectorizer):
        refusal = f"--vectorizer {words.vectorizer} is not fitted, which needs all texts in memory; fit it first"
    if where == "auto":
        return refusal is None and size_of(files_of(path, glob) if kind == "folder" else [path]) > LARGE
    if refusal is not None:
        raise ValueError(f"{refusal}, or give --counts memory.")
    return True


def size_of(files):
    """Bytes of text in files, with an estimate for compressed files."""
    return sum(file.stat().st_size * (PACKED if file.suffix in ENDINGS else 1) for file in files)


def guess_kind(path):
    """The format of a path, by its name."""
    if path.is_dir():
        return "folder"
    name = path.name.lower()
    for ending in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(ending)
    if name.startswith("docword."):
        return "uci"
    by_ending = {
        ".npz": "npz", ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".parquet": "parquet", ".jsonl": "json",
        ".ndjson": "json", ".json": "json",
    }  # fmt: skip
    return next((kind for ending, kind in by_ending.items() if name.endswith(ending)), "lines")


# -- texts


def make_vectorizer(words, encoding):
    """The vectorizer of the options: it counts words, or numbers them in their order."""
    if words.vectorizer is not None:
        return load_vectorizer(words.vectorizer, words.gaps is not None)
    vocabulary, left_out = words.vocabulary, stop_words(words.stop_words, encoding)
    options = {
        "token_pattern": token_pattern(words.token_pattern), "stop_words": left_out, "min_df": words.min_df,
        "max_df": words.max_df,
        "vocabulary": None if vocabulary is None else checked_words(composed(read_vocabulary(vocabulary)), vocabulary),
    }  # fmt: skip
    if words.gaps is None:
        return ComposedVectorizer(ngram_range=words.ngram_range, dtype=np.float32, **options)
    if tuple(words.ngram_range) != (1, 1):
        raise ValueError("--ngram-range is for counts; for word sequences, set --window instead.")
    return TokenSequences(gaps=words.gaps, preprocessor=composed_lower, **options)


def load_vectorizer(path, in_order=False):
    """Load the user's vectorizer, fitted or not."""
    try:
        vectorizer = joblib.load(path)
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"--vectorizer {path} is not a pickle that can be loaded ({error}).") from error
    needed = "fit_transform", "transform", "get_feature_names_out"
    missing = [name for name in needed if not hasattr(vectorizer, name)]
    if missing:
        raise ValueError(f"--vectorizer {path} holds a {type(vectorizer).__name__}, which has no method {missing[0]}.")
    if isinstance(vectorizer, TokenSequences) != in_order:
        wanted = "TokenSequences" if in_order else "a vectorizer that counts words"
        raise ValueError(
            f"--vectorizer {path} holds a {type(vectorizer).__name__}, but the --estimator needs {wanted}."
        )
    return vectorizer


def stop_words(given, encoding):
    """Stop words for CountVectorizer: "english", None, or the words of a file."""
    if given in ("english", None):
        return given
    with on_disk(given) as path:
        return [line.lower() for _, line in lines(path, encoding, Tally())]


def count_texts(read, vectorizer, encoding, folder=None):
    """The corpus of a stream of documents.

    ``read(tally)`` returns a new stream of the documents. It is called twice if counts go to a folder.
    """
    tally, kinds = Tally(), {}
    names, dates, groups, excerpts = Excerpts(folder) if folder else [], [], [], Excerpts(folder)
    reading = Reading()

    def texts():
        for document in reading.watched(read(tally)):
            names.append(document.name)
            dates.append(kinds.setdefault(document.date, document.date))
            groups.append(kinds.setdefault(document.group, document.group))
            excerpts.append(document.text)
            yield document.text

    try:
        with warnings.catch_warnings():
            # Stop words that the tokenizer would split are omitted in pieces, as intended.
            warnings.filterwarnings("ignore", message="Your stop_words may be inconsistent")
            if folder is None:
                counts, sequences = words_of(vectorizer, texts())
            else:
                if not is_fitted(vectorizer) and vectorizer.vocabulary is None:
                    first = (document.text for document in reading.watched(read(Tally())))
                    learn_vocabulary(vectorizer, first, folder)
                counts, sequences = counted(vectorizer, texts(), folder), None
    except ValueError as error:
        if not reading.complete:
            raise
        options = "--min-df, --max-df, --token-pattern and --stop-words"
        raise ValueError(f"No words are left of {reading.n} documents ({error}); see {options}.") from error
    told = warnings_of(tally, excerpts, counts, vectorizer, encoding)
    left_out = {"records without a text": tally.without_text} if tally.without_text else {}
    return Corpus(
        counts, vectorizer.get_feature_names_out(), names, vectorizer, sequences, excerpts,
        dates if any(dates) else None, groups if any(groups) else None, left_out, tuple(told), folder,
    )  # fmt: skip


class Reading:
    """Number of documents read from a stream, and whether the stream is exhausted."""

    n, complete = 0, False

    def watched(self, documents):
        """Yield the documents and count them."""
        self.n, self.complete = 0, False
        for document in documents:
            self.n += 1
            yield document
        self.complete = True


def words_of(vectorizer, texts):
    """Counts of words, and word sequences if the vectorizer makes them."""
    read = transformed(vectorizer, texts)
    if not isinstance(vectorizer, TokenSequences):
        return sparse.csr_matrix(read), None
    return sparse.csr_matrix(counts_of(read, len(vectorizer.vocabulary_))), read


def transformed(vectorizer, texts):
    """Transform texts; fit the vectorizer first if it is not fitted."""
    return vectorizer.transform(texts) if is_fitted(vectorizer) else vectorizer.fit_transform(texts)


def is_fitted(vectorizer):
    """Whether the vectorizer has a vocabulary."""
    try:
        check_is_fitted(vectorizer)
    except (TypeError, ValueError, AttributeError):  # NotFittedError is a subclass of the last two
        return False
    return True


def warnings_of(tally, excerpts, counts, vectorizer, encoding):
    """Warnings of problems with the texts that spoil topics."""
    if tally.bad_characters:
        other = "latin-1" if encoding == "utf-8" else "utf-8"
        yield (
            f"{tally.bad_characters:,} bytes in {tally.bad_documents:,} places are not {encoding} and split words; "
            f"name the encoding, for example --encoding {other}"
        )
    if tally.other_files:
        some = ", ".join(f"{n:,} {ending}" for ending, n in tally.other_files[:MOST_ENDINGS])
        more = ", ..." if len(tally.other_files) > MOST_ENDINGS else ""
        yield f"files of the folder that do not match --glob are not read ({some}{more})"
    n_texts, n_empty = len(excerpts), int((np.diff(counts.indptr) == 0).sum())
    if n_empty > MANY_EMPTY * n_texts:
        yield (
            f"{n_empty:,} of {n_texts:,} documents have no word of the vocabulary; see --token-pattern, --min-df, "
            "--max-df and --stop-words"
        )
    by_pattern = type(vectorizer) in (CountVectorizer, ComposedVectorizer, TokenSequences)
    if not by_pattern or vectorizer.token_pattern is None:
        return
    chosen = np.linspace(0, n_texts - 1, min(n_texts, SAMPLE)).astype(int)
    sample = [excerpts[i] for i in chosen]
    if needs_segmenter(sample, vectorizer.token_pattern):
        yield (
            "the texts are in a script without spaces between words, so whole sentences count as words; segment them "
            "first (with jieba for Chinese, SudachiPy or MeCab for Japanese, PyThaiNLP for Thai) and separate words by "
            "spaces"
        )
        return
    tokenize = CountVectorizer(token_pattern=vectorizer.token_pattern, tokenizer=vectorizer.tokenizer).build_tokenizer()
    tokens = [token for text in sample for token in tokenize(text)]
    if tokens and np.mean([len(token) for token in tokens]) > LONG_WORD:
        yield "words have more than 20 letters on average; check that the text has spaces between its words"


# -- counts


def read_counts(path, kind, vocabulary):
    """The corpus of a file of counts; its documents are named by their numbers."""
    counts, words = READERS_OF_COUNTS[kind](path, vocabulary)
    try:
        check_magnitude(counts, None)  # now, because held-out documents are read only after the fit
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    counts = counts.astype(np.float32, copy=False)
    names = [f"document {i}" for i in range(1, counts.shape[0] + 1)]
    return Corpus(counts, words, names, vectorizer_of(words))


def read_uci(path, vocabulary):
    """Read a bag of words in UCI format."""
    corpus = load_bag_of_words(path, vocabulary)
    return corpus.data, corpus.feature_names


def read_npz(path, vocabulary):
    """Read a matrix saved by scipy.sparse.save_npz, with one document per row."""
    if vocabulary is None:
        raise ValueError(f"{path} has no words; give a file with one word per line with --vocabulary.")
    try:
        counts = sparse.csr_matrix(csr_of(sparse.load_npz(path), "the matrix"))
    except (FileNotFoundError, PermissionError):
        raise
    except DAMAGED as error:
        raise ValueError(f"{path} is not a matrix saved by scipy.sparse.save_npz ({error}).") from error
    if counts.dtype.kind not in "iuf" or not np.all(np.isfinite(counts.data)) or counts.data.min(initial=0) < 0:
        raise ValueError(f"{path} has entries that are not counts; they must be finite and not negative.")
    words = read_vocabulary(vocabulary)
    if len(words) != counts.shape[1]:
        raise ValueError(f"{path} has {counts.shape[1]} columns, but {vocabulary} has {len(words)} words.")
    return counts, words


def without_empty_documents(corpus, path):
    """The corpus without documents that have no word."""
    counts = corpus.counts
    if np.count_nonzero(counts.data) < counts.nnz:
        counts.eliminate_zeros()
    full = np.diff(counts.indptr) > 0
    if not full.any():
        raise ValueError(f"{path} has no document with a word of the vocabulary.")
    n_empty = int((~full).sum())
    if not n_empty:
        return corpus
    entries = counts.data, counts.indices, counts.indptr[np.append(True, full)]  # empty documents have no entries

    def kept(values):
        if values is None or isinstance(values, Excerpts):
            return None if values is None else Chosen(values, np.flatnonzero(full))
        return list(compress(values, full))

    return replace(
        corpus, counts=sparse.csr_matrix(entries, shape=(int(full.sum()), counts.shape[1])),
        sequences=None if corpus.sequences is None else corpus.sequences[full],
        names=kept(corpus.names), texts=kept(corpus.texts), dates=kept(corpus.dates), groups=kept(corpus.groups),
        left_out={**corpus.left_out, "documents without a word of the vocabulary": n_empty},
    )  # fmt: skip


class Chosen:
    """A subset of a sequence, by indices."""

    def __init__(self, items, numbers):
        self.items, self.numbers = items, numbers

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, i):
        return self.items[int(self.numbers[i])]


READERS_OF_COUNTS = {"uci": read_uci, "npz": read_npz}
KINDS_BEFORE = {"jsonl": "json", "tsv": "csv"}
KINDS = ("auto", *READERS_OF_TEXTS, *KINDS_BEFORE, *READERS_OF_COUNTS)
