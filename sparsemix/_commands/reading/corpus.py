"""A corpus: counts or sequences of words, with names, dates and groups of its documents."""

import re
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix._commands.reading.checks import facts_of_documents, warning_of_dates, warnings_of
from sparsemix._commands.reading.counts import READERS_OF_COUNTS, read_counts
from sparsemix._commands.reading.formats.files import ENDINGS, Tally, check_encoding, checked_lines, on_disk, open_text
from sparsemix._commands.reading.formats.kinds import READERS, files_of, kind_of_file, read_file
from sparsemix._commands.reading.formats.records import Fields
from sparsemix._commands.reading.on_disk import counted, learn_vocabulary
from sparsemix._commands.reading.passages import cut, is_wrapped
from sparsemix._commands.reading.spool import NO_KNOWN_WORD, Inputs, Texts, inputs_of_counts
from sparsemix._commands.reading.words.cleaning import composed_lower
from sparsemix._commands.reading.words.languages import main_languages
from sparsemix._commands.reading.words.stop_words import find_stop_words
from sparsemix._commands.reading.words.tokens import learn_tokenizer
from sparsemix._commands.reading.words.vectorizers import is_fitted, make_vectorizer, preparer_of, vectorizer_of
from sparsemix._report.dates import read_dates
from sparsemix.skipgram import TokenSequences
from sparsemix.skipgram._input import counts_of

# Options of words, and all options of reading.
OF_WORDS = {
    "--skip", "--vocabulary", "--token-pattern", "--stop-words", "--min-df", "--max-df", "--merge-forms", "--phrases",
}  # fmt: skip
ALWAYS = {"--passages", "--copies", "--vectorizer"}
OF_FILES = {"--glob", "--encoding", "--field", "--id", "--date", "--date-format", "--group", "--sheet"}
READING = OF_WORDS | ALWAYS | OF_FILES
WITHOUT_ENCODING = ("parquet", "excel", "mail")
# Topics compare documents: with fewer, a message proposes to cut them.
FEW = 10
# Bytes of text above which "auto" keeps counts on disk, and the assumed ratio of compression.
LARGE, PACKED = 1 << 30, 4


@dataclass(frozen=True)
class Corpus:
    """Word counts, and everything needed to describe them and to count new texts in the same way.

    ``inputs`` are all documents of the input; row i of the counts is document ``numbers[i]`` of them. ``sequences``
    holds the same words in their order, for estimators that read sequences. ``folder`` holds counts that are on disk.
    ``facts`` are labels and values that describe the texts; ``used`` are the options of ``READING`` that had an effect.
    """

    counts: sparse.csr_matrix
    feature_names: np.ndarray
    vectorizer: CountVectorizer | TokenSequences
    inputs: Inputs
    numbers: np.ndarray
    sequences: sparse.csr_array | None = None
    texts: Texts | None = None
    left_out: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    warnings: tuple = ()
    folder: str | None = None
    used: frozenset = frozenset()
    date_format: str | None = None

    @property
    def rows(self):
        """Input of the model: sequences if there are any, else counts."""
        return self.counts if self.sequences is None else self.sequences

    @property
    def names(self):
        """Names of the documents."""
        return [self.inputs.names[i] for i in self.numbers]

    @property
    def dates(self):
        """Dates of the documents as texts; None if no document has one."""
        return self._known(self.inputs.dates)

    @property
    def days(self):
        """Dates of the documents, None for each that has none; None if no document has one."""
        return None if self.dates is None else read_dates(self.dates, self.date_format).days

    @property
    def groups(self):
        """Groups of the documents; None if no document has one."""
        return self._known(self.inputs.groups)

    @property
    def languages(self):
        """Languages of the documents; None if there are not several."""
        found = self._known(self.inputs.languages)
        return found if found and len(main_languages(Counter(found))) > 1 else None

    def _known(self, values):
        """The values of the documents; None if all are empty."""
        values = [values[i] for i in self.numbers]
        return values if any(values) else None

    @property
    def n_empty(self):
        """Number of omitted documents, which had no word of the vocabulary."""
        return self.left_out.get("documents without a word of the vocabulary", 0)


@dataclass(frozen=True)
class Words:
    """Options for words: their pattern, and which of them to count. With ``gaps``, as in ``TokenSequences``."""

    token_pattern: str = "letters"
    stop_words: str | None = "auto"
    min_df: float = 1
    max_df: float = 1.0
    merge_forms: bool = False
    phrases: bool = False
    vocabulary: str | None = None
    vectorizer: str | None = None
    gaps: str | None = None
    skip: tuple = ()


def read_corpus(
    path, *, kind="auto", glob=None, encoding="utf-8", fields=None, words=None, copies="keep", passages=None,
    where="memory", scratch=None,
):  # fmt: skip
    """Read a corpus. Documents without a word are omitted and counted.

    Parameters
    ----------
    path : str or path
        File or folder, or ``-`` for standard input.
    kind : str, default="auto"
        Format of the path: a key of ``READERS`` or ``READERS_OF_COUNTS``; "auto" decides by the file name.
    glob : str, default=None
        Pattern of the files in a folder and its subfolders; matches compressed files with an additional ending too.
        None reads ``*.txt``, or all files that hold texts if there is none.
    encoding : str, default="utf-8"
        Encoding of texts without a byte order mark. Of several, separated by commas, the first one that decodes a
        file counts.
    fields : Fields, default=None
        Names of the fields with text, id, date and group.
    words : Words, default=None
        Options for words. For counts, ``vocabulary`` is the file with the words of the columns.
    copies : {"keep", "drop"}, default="keep"
        What to do with texts that equal an earlier text.
    passages : int, default=None
        Words of the passages into which documents are cut. None cuts a single long text only.
    where : {"memory", "disk", "auto"}, default="memory"
        Where counts of texts are kept; "auto" decides by the size of the texts.
    scratch : callable, default=None
        Creates and returns the folder for texts and counts on disk.

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
        given, kind = kind, guess_kind(path) if kind == "auto" else kind
        if (kind == "folder") != path.is_dir():
            raise ValueError(f"{path} is {'a folder' if path.is_dir() else 'a file'}; it needs another --format.")
        counts = kind in READERS_OF_COUNTS
        if counts and words.gaps is not None:
            raise ValueError(f"{path} holds counts without word order; give texts, or choose another --estimator.")
        vectorizer = None if counts else make_vectorizer(words)
        wrapped = kind == "lines" and given == "auto" and is_one_text(path, encoding)
        kind = "text" if wrapped else kind
        folder = None
        if where != "memory" and wants_disk(where, path, kind, glob, vectorizer, words):
            folder = scratch()
        if counts:
            corpus = corpus_of_counts(path, kind, words.vocabulary)
        else:
            tally = Tally()
            tally.used.update(() if kind in WITHOUT_ENCODING else ["--encoding"])
            documents = read_file(path, kind, glob=glob, encoding=encoding, fields=fields, tally=tally)
            texts = Texts(cut(documents, passages, tally), folder)
            if not len(texts):
                raise ValueError(f"{path} {'has no documents' if size_of([path]) else 'is empty'}.")
            if copies == "drop":
                texts.drop_copies()
            corpus = corpus_of_texts(texts, tally, vectorizer, words, encoding, folder, fields.date_format)
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


def is_one_text(path, encoding):
    """Whether the lines of a file are parts of one text."""
    with open_text(path, encoding) as file:
        return is_wrapped(line.strip() for line in checked_lines(file, path))


def size_of(files):
    """Bytes of text in files, with an estimate for compressed files."""
    return sum(file.stat().st_size * (PACKED if file.suffix in ENDINGS else 1) for file in files)


def guess_kind(path):
    """The format of a path, by its name."""
    if path.is_dir():
        return "folder"
    name = path.name.lower()
    if name.startswith("docword."):
        return "uci"
    return "npz" if name.endswith(".npz") else kind_of_file(path)


def corpus_of_counts(path, kind, vocabulary):
    """The corpus of a file of counts; its documents are named by their numbers."""
    counts, words = read_counts(path, kind, vocabulary)
    inputs, numbers = inputs_of_counts(counts.shape[0]), np.arange(counts.shape[0])
    return Corpus(counts, words, vectorizer_of(words), inputs, numbers, used=frozenset(["--vocabulary"]))


def corpus_of_texts(texts, tally, vectorizer, words, encoding, folder=None, date_format=None):
    """The corpus of texts that are read; their counts go to a folder if one is given."""
    facts = {"languages": texts.describe_languages()}
    if tally.passages:
        facts["passages"] = f"{len(texts):,} of about {tally.passages} words (--passages N changes it)"
    if words.vectorizer is None:
        choose_words(vectorizer, words, texts, encoding, facts)
    counts, sequences = count_words(vectorizer, texts, folder)
    days = read_dates(texts.dates, date_format)
    told = [*warnings_of(tally, texts, counts, vectorizer, encoding), warning_of_dates(texts, days, date_format)]
    facts |= facts_of_documents(texts, days)
    left_out = {"records without a text": tally.without_text, "copies of other documents": texts.n_dropped}
    return Corpus(
        counts, vectorizer.get_feature_names_out(), vectorizer, texts.inputs, texts.rows, sequences, texts,
        {what: n for what, n in left_out.items() if n}, facts, tuple(filter(None, told)), folder,
        frozenset(tally.used | ALWAYS | (set() if words.vectorizer is not None else OF_WORDS)), date_format,
    )  # fmt: skip


def choose_words(vectorizer, words, texts, encoding, facts):
    """Set the stop words, forms and phrases of a vectorizer for these texts, and describe them."""
    pattern, prepare = vectorizer.token_pattern, preparer_of(vectorizer)

    def analyze(text):
        return re.findall(pattern, prepare(text))

    skipped, facts["stop words"] = find_stop_words(words.stop_words, encoding, texts, analyze)
    skipped = {*(skipped or ()), *(composed_lower(word.strip()) for word in words.skip)}
    vectorizer.set_params(stop_words=sorted(skipped) or None)
    if words.merge_forms or words.phrases:
        choice = {"merge_forms": words.merge_forms, "phrases": words.phrases}
        tokenizer = learn_tokenizer(pattern, prepare, texts, skipped, **choice)
        vectorizer.set_params(tokenizer=tokenizer, token_pattern=None)
        if tokenizer.forms:
            some = ", ".join(f"{form} as {word}" for form, word in list(tokenizer.forms.items())[:5])
            facts["merged forms"] = f"{len(tokenizer.forms):,} ({some}, ...)"
        if words.phrases:
            some = sorted(tokenizer.phrases, key=tokenizer.phrases.get, reverse=True)[:5]
            facts["phrases"] = f"{len(tokenizer.phrases):,} ({', '.join(some)}, ...)"


def count_words(vectorizer, texts, folder=None):
    """Counts of words, and word sequences if the vectorizer makes them. Fits a vectorizer that is not fitted."""
    try:
        with warnings.catch_warnings():
            # Stop words that the tokenizer would split are omitted in pieces, as intended.
            warnings.filterwarnings("ignore", message="Your stop_words may be inconsistent")
            if folder is not None:
                if not is_fitted(vectorizer) and vectorizer.vocabulary is None:
                    learn_vocabulary(vectorizer, texts.whole(), folder)
                return counted(vectorizer, texts.whole(), folder), None
            fitted = is_fitted(vectorizer)
            read = vectorizer.transform(texts.whole()) if fitted else vectorizer.fit_transform(texts.whole())
    except ValueError as error:
        options = "--min-df, --max-df, --token-pattern and --stop-words"
        few = "; --passages 100 cuts long documents into several" if len(texts) < FEW else ""
        raise ValueError(f"No words are left of {len(texts)} documents ({error}); see {options}{few}.") from error
    if not isinstance(vectorizer, TokenSequences):
        return sparse.csr_matrix(read), None
    return sparse.csr_matrix(counts_of(read, len(vectorizer.vocabulary_))), read


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

    texts, inputs = corpus.texts, corpus.inputs
    for number in corpus.numbers[~full]:
        inputs.missing[number] = NO_KNOWN_WORD
    if texts is not None:
        texts.keep(np.flatnonzero(full))
    return replace(
        corpus, counts=sparse.csr_matrix(entries, shape=(int(full.sum()), counts.shape[1])),
        sequences=None if corpus.sequences is None else corpus.sequences[full], numbers=corpus.numbers[full],
        left_out={**corpus.left_out, "documents without a word of the vocabulary": n_empty},
    )  # fmt: skip


KINDS = ("auto", *READERS, *READERS_OF_COUNTS)
