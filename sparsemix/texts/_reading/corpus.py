"""A corpus: counts or sequences of words, with names, dates and groups of its documents."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix.datasets import PACKED_ENDINGS
from sparsemix.skipgram import TokenSequences
from sparsemix.texts._reading import checks
from sparsemix.texts._reading.counting import count_words, read_counts
from sparsemix.texts._reading.formats.files import Tally, check_encoding, checked_lines, on_disk, open_text
from sparsemix.texts._reading.formats.kinds import files_of, kind_of_file, read_file
from sparsemix.texts._reading.formats.records import NO_KNOWN_WORD, OTHER_LANGUAGE, Document, Fields
from sparsemix.texts._reading.passages import WORDS, is_one_text, words_of_passages
from sparsemix.texts._reading.texts import Texts, read_texts
from sparsemix.texts._reading.words.function_words import learn_function_words
from sparsemix.texts._reading.words.languages import code_of, find_stop_words, main_languages, numbers_of
from sparsemix.texts._reading.words.segmenters import PACKAGES
from sparsemix.texts._reading.words.tokens import Analyzer, Tokenizer, learn_tokenizer, unspaced_languages
from sparsemix.texts._reading.words.vectorizers import composed_lower, make_vectorizer, vectorizer_of
from sparsemix.texts._report.bins import MOST_BINS, bins_of_dates
from sparsemix.texts._report.dates import FAR_DATES, far_dates, read_dates

# Topics compare documents: with fewer, a message proposes to cut them.
FEW = 10
# Passages into which a message proposes to cut a text, which has at least this number of words.
CUTS, LEAST = 20, 200
# Bytes of text above which counts are on disk, and the assumed ratio of compression.
LARGE, PACKED = 1 << 30, 4
COUNTS = ("uci", "npz")


@dataclass
class Corpus:
    """Word counts, and everything needed to describe them and to count new texts in the same way.

    ``inputs`` are all documents of the input; row i of the counts is document ``numbers[i]`` of them, or a passage of
    it. ``sequences`` holds the same words in their order, for estimators that read sequences. ``folder`` holds counts
    that are on disk. ``facts`` are labels and values that describe the texts.
    """

    counts: sparse.csr_matrix
    vectorizer: CountVectorizer | TokenSequences
    inputs: list
    numbers: np.ndarray
    texts: Texts | None = None
    sequences: sparse.csr_array | None = None
    folder: str | None = None
    facts: dict = field(default_factory=dict)
    warnings: tuple = ()

    @cached_property
    def feature_names(self):
        """Words of the columns."""
        return self.vectorizer.get_feature_names_out()

    @property
    def left_out(self):
        """Numbers of documents that are left out, by the reason."""
        return dict(Counter(document.missing for document in self.inputs if document.missing))

    @property
    def rows(self):
        """Input of the model: sequences if there are any, else counts."""
        return self.counts if self.sequences is None else self.sequences

    @property
    def names(self):
        """Names of the documents, or of their passages."""
        names = self.values("name")
        if not self.is_cut:
            return names
        return [f"{name}, passage {n}" for name, n in zip(names, self.texts.places, strict=True)]

    @property
    def wholes(self):
        """The name of the document of each row, with its number if documents share names."""
        names = [document.name for document in self.inputs]
        alike = len(set(names)) < len(names)
        return [f"{i + 1}: {names[i]}" if alike else names[i] for i in self.numbers]

    @property
    def sections(self):
        """The chapter of each passage of a single document that has at most ``MOST_BINS``; else None."""
        if not self.is_cut or self.numbers[0] != self.numbers[-1]:
            return None
        seen, found = Counter(), []
        for title, begins in zip(self.texts.chapters, self.texts.begins, strict=True):
            seen[title] += begins
            found.append((title or "before the first chapter") + (f" ({seen[title]})" if seen[title] > 1 else ""))
        return found if 1 < len(set(found)) <= MOST_BINS else None

    @property
    def is_cut(self):
        """Whether rows are passages of documents."""
        return self.texts is not None and self.texts.places is not None

    @property
    def unit(self):
        """What a row is."""
        return "passage" if self.is_cut else "document"

    @property
    def languages(self):
        """Languages of the documents; None if there are not several."""
        found = self.values("language")
        return found if len(main_languages(Counter(found))) > 1 else None

    def values(self, name):
        """An attribute of the documents."""
        return [getattr(self.inputs[i], name) for i in self.numbers]

    def known(self, name):
        """An attribute of the documents; None if all are empty."""
        values = self.values(name)
        return values if any(values) else None


@dataclass(frozen=True)
class Words:
    """Options for words: their pattern, and which of them to count. ``in_order`` reads them as sequences."""

    token_pattern: str = "letters"
    stop_words: str | None = "auto"
    min_df: float = 1
    max_df: float = 1.0
    merge_forms: bool = False
    phrases: bool = False
    vocabulary: str | None = None
    in_order: bool = False
    skip: tuple = ()


def read_corpus(
    path, *, kind="auto", glob=None, encoding="utf-8", fields=None, words=None, drop_copies=False, passages=None,
    language=None, scratch=None,
):  # fmt: skip
    """Read a corpus: a file, a folder, or ``-`` for standard input. Documents without a word are omitted.

    Parameters have the meaning of the options of the command; ``kind`` is one of its formats, and ``scratch`` creates
    the folder for the counts of very large texts. Errors are one sentence that says what is wrong.
    """
    fields, words, encoding = fields or Fields(), words or Words(), check_encoding(encoding)
    with on_disk(path) as path:
        given, kind = kind, guess_kind(path) if kind == "auto" else kind
        if (kind == "folder") != path.is_dir():
            raise ValueError(f"{path} is {'a folder' if path.is_dir() else 'a file'}; it needs another --format.")
        if kind in COUNTS:
            if language is not None:
                raise ValueError(f"{path} holds counts, whose language is not recognised; leave out --language.")
            if words.in_order:
                raise ValueError(f"{path} holds counts without word order; give texts, or choose another --estimator.")
            return without_empty_documents(corpus_of_counts(*read_counts(path, kind, words.vocabulary)), path)
        vectorizer, tally = make_vectorizer(words), Tally()
        if kind == "lines" and given == "auto":
            with open_text(path, encoding) as file:
                kind = "text" if is_one_text(checked_lines(file, path)) else kind
        size = sum(file.stat().st_size * (PACKED if file.suffix in PACKED_ENDINGS else 1)
                   for file in (files_of(path, glob) if kind == "folder" else [path]) if file.exists())  # fmt: skip
        folder = scratch() if scratch is not None and size > LARGE and not words.in_order else None
        documents = read_file(path, kind, glob=glob, encoding=encoding, fields=fields, tally=tally)
        texts, inputs = read_texts(documents, folder, drop_copies, code_of(language))
        if not len(texts):
            if seen := Counter(document.language for document in inputs if document.missing == OTHER_LANGUAGE):
                has = f"has no text in it, but {numbers_of(seen, checks.MOST_NAMED)}; name one of these"
                raise ValueError(f"--language {language!r}: {path} {has}.")
            raise ValueError(f"{path} {'has no documents' if size else 'is empty'}.")
        facts, longest = tally.facts | describe(inputs, texts.rows), max(texts.sizes)
        if given == "auto" and path.is_file() and kind in ("lines", "text") and kind_of_file(path) == "lines":
            facts = {"lines": read_as(kind, sum(texts.sizes))} | facts
        if n_words := words_of_passages(passages, texts.sizes):
            facts |= cut(texts, n_words, passages is None)
        choose_words(vectorizer, words, texts, [inputs[i].language for i in texts.rows], encoding, facts)
        try:
            counts, sequences = count_words(vectorizer, texts, folder)
        except ValueError as error:
            options = "--min-df, --max-df, --token-pattern and --stop-words"
            several = f"; --passages {longest // CUTS} cuts the longest into several" if longest >= LEAST else ""
            few = several if len(texts) < FEW else ""
            few += f"; the lines are {facts['lines']}" if "lines" in facts and len(inputs) < FEW else ""
            bad = f". {found}" if (found := checks.of_bytes(tally, encoding)) else ""
            what = f"No words are left of {len(texts)} documents ({error})"
            raise ValueError(f"{what}; see {options}{few}{bad}.") from error
        corpus = Corpus(counts, vectorizer, inputs, texts.rows, texts, sequences, folder, facts)
        check(corpus, tally, encoding, fields)
        return without_empty_documents(corpus, path)


def check(corpus, tally, encoding, fields):
    """Set the warnings of a corpus, and the facts on its dates and groups."""
    documents = [corpus.inputs[number] for number in np.unique(corpus.numbers)]
    names, dates = [document.name for document in documents], [document.date for document in documents]
    days = read_dates(dates, fields.date_format)
    unread_dates = checks.of_dates(dates, names, days, fields.date_format)
    if days.none_read:
        raise ValueError(f"--date: {unread_dates}.")
    if any(dates) and (n := days.days.count(None)):
        unread = f" ({len(days.unread):,} dates are not read)" if days.unread else ""
        corpus.facts["documents without a date"] = f"{n:,}{unread}"
    if far := far_dates(days.days, bins_of_dates(days.days)[0], names):
        corpus.facts[FAR_DATES] = far
    groups = [document.group for document in documents]
    if any(groups) and (n := groups.count("")):
        corpus.facts["documents without a group"] = f"{n:,}"
    found = (
        checks.of_bytes(tally, encoding), checks.of_files(tally), checks.of_empty(corpus.counts),
        checks.of_languages([document.language for document in documents]),
        checks.of_script(corpus.texts, corpus.vectorizer), unread_dates, checks.of_ids(names if fields.id else []),
    )  # fmt: skip
    corpus.warnings = tuple(filter(None, found))


def read_as(kind, n_words):
    """How a file of lines is read, and the option for the other way, if there are enough words for it."""
    if kind == "text":
        return "one text, since many continue the line before (--format lines makes each line a document)"
    other = " (--format text makes all lines one text)" if n_words >= FEW * WORDS else ""
    return f"one document each, since few continue the line before{other}"


def guess_kind(path):
    """The format of a path, by its name."""
    name = path.name.lower()
    if path.is_dir():
        return "folder"
    return "uci" if name.startswith("docword.") else "npz" if name.endswith(".npz") else kind_of_file(path)


def corpus_of_counts(counts, words):
    """The corpus of counts; its documents are named by their numbers."""
    n = counts.shape[0]
    inputs = [Document("", f"document {i}", row=i) for i in range(1, n + 1)]
    return Corpus(counts, vectorizer_of(words), inputs, np.arange(n))


def describe(inputs, rows):
    """Languages of the documents, most frequent first, and copies."""
    seen = Counter(inputs[i].language for i in rows)
    found = Counter({language: seen[language] for language in main_languages(seen)})
    found[""] = seen.total() - found.total()
    facts = {"languages": numbers_of(+found)}
    if n := sum(inputs[i].copy_of >= 0 for i in rows):
        facts["copies of other documents"] = f"{n:,} (--copies drop leaves them out)"
    return facts


def cut(texts, n_words, by_default):
    """Cut texts into passages, and describe them."""
    median, n = np.median(texts.sizes), len(texts)
    texts.cut(n_words)
    what = "the text has" if n == 1 else f"half of the {n:,} documents have at least"
    long = f", since {what} {median:,.0f} words" if by_default else ""
    # a fit needs several documents
    other = "0 keeps documents whole" if n >= FEW else f"{2 * n_words} makes longer ones"
    facts = {"passages": f"{len(texts):,} of about {n_words} words{long} (--passages {other})"}
    if len(titled := texts.rows[texts.begins & (texts.chapters != "")]):
        facts["chapters"] = f"{len(titled):,} in {len(np.unique(titled)):,} of {n:,} documents"
    return facts


def choose_words(vectorizer, words, texts, languages, encoding, facts):
    """Set the stop words, segmenters, forms and phrases of a vectorizer for these texts, and describe them."""
    tokenizer, prepare = Tokenizer(vectorizer.token_pattern), vectorizer.preprocessor
    learned = partial(learn_function_words, texts, languages, lambda text: tokenizer(prepare(text)))
    skipped, facts["stop words"] = find_stop_words(words.stop_words, encoding, languages, learned)
    more = {composed_lower(word.strip()) for word in words.skip}
    skipped, main = {language: listed | more for language, listed in skipped.items()}, next(iter(skipped))
    analyzer = Analyzer(prepare, tokenizer, skipped, texts.shares)
    analyzer.unspaced = unspaced_languages(analyzer, texts, languages)
    if analyzer.unspaced:
        facts["segmented texts"] = ", ".join(f"words of {one} by {PACKAGES[one][0]}" for one in analyzer.unspaced)
    elif all(listed == skipped[main] for listed in skipped.values()):
        analyzer.skipped = {main: skipped[main]}
    learn_tokenizer(words, analyzer, texts, languages)
    if analyzer.unspaced or len(analyzer.skipped) > 1 or tokenizer.forms or tokenizer.phrases:
        vectorizer.set_params(analyzer=analyzer, preprocessor=None, token_pattern=None)
    else:
        vectorizer.set_params(stop_words=sorted(skipped[main]) or None)
    if tokenizer.forms:
        forms = [f"{form} as {word}" for form, word in tokenizer.forms.items()]
        facts["merged forms"] = f"{len(forms):,} ({', '.join(forms[:5])}, ...)"
    if words.phrases:
        some = sorted(tokenizer.phrases, key=tokenizer.phrases.get, reverse=True)[:5]
        facts["phrases"] = f"{len(tokenizer.phrases):,} ({', '.join(some)}, ...)"


def without_empty_documents(corpus, path):
    """The corpus without documents that have no word."""
    counts = corpus.counts
    if np.count_nonzero(counts.data) < counts.nnz:
        counts.eliminate_zeros()
    full = np.diff(counts.indptr) > 0
    if not full.any():
        raise ValueError(f"{path} has no document with a word of the vocabulary.")
    if full.all():
        return corpus
    for number in np.setdiff1d(corpus.numbers[~full], corpus.numbers[full]):
        corpus.inputs[number] = replace(corpus.inputs[number], missing=NO_KNOWN_WORD)
    if corpus.texts is not None:
        corpus.texts.keep(full)
    entries = counts.data, counts.indices, counts.indptr[np.append(True, full)]  # empty documents have no entries
    corpus.counts = sparse.csr_matrix(entries, shape=(int(full.sum()), counts.shape[1]))
    corpus.sequences = None if corpus.sequences is None else corpus.sequences[full]
    corpus.numbers = corpus.numbers[full]
    return corpus
