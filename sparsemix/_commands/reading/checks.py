"""Warnings of problems with the texts that spoil topics."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix._commands.reading.words.patterns import needs_segmenter
from sparsemix._commands.reading.words.vectorizers import BY_PATTERN, pattern_of
from sparsemix._report.strata import read_date

# Texts that are checked for problems with their words.
SAMPLE = 200
# Warn above this share of documents without words, above this mean number of letters per word, and above this share of
# texts that equal an earlier one.
MANY_EMPTY, LONG_WORD, MANY_COPIES = 0.2, 20, 0.01
# File endings, and files or lines, that a warning lists.
MOST_ENDINGS, MOST_NAMED = 5, 3


def warnings_of(tally, texts, counts, vectorizer, encoding):
    """Warnings, each a sentence without its period."""
    yield from warnings_of_files(tally, encoding)
    n_texts, n_empty = len(texts), int((np.diff(counts.indptr) == 0).sum())
    if n_empty > MANY_EMPTY * n_texts:
        yield (
            f"{n_empty:,} of {n_texts:,} documents have no word of the vocabulary; see --token-pattern, --min-df, "
            "--max-df and --stop-words"
        )
    if (n_copies := len(texts.copies())) > MANY_COPIES * n_texts:
        yield f"{n_copies:,} of {n_texts:,} documents are copies of others; --copies drop leaves them out"
    unread = {date for date in set(texts.dates) if date and read_date(date) is None}
    if unread:
        n = sum(date in unread for date in texts.dates)
        yield f"{n:,} dates are not read ({some_of(sorted(unread))}); write them like 2024-01-31"
    yield from warnings_of_words(texts, vectorizer)


def warnings_of_files(tally, encoding):
    """Warnings of undecodable bytes and of files that are not read."""
    if tally.bad_characters:
        other = "utf-8,cp1252" if encoding == "utf-8" else "utf-8"
        yield (
            f"{tally.bad_characters:,} bytes in {len(tally.damaged):,} places are not {encoding} and split words "
            f"({some_of(tally.damaged)}); name the encodings to try, for example --encoding {other}"
        )
    if tally.mistaken:
        yield f"{len(tally.mistaken):,} texts are UTF-8, but read as {encoding}; omit --encoding"
    if tally.skipped:
        reasons = some_of([f"{name}: {reason.rstrip('.')}" for name, reason in tally.skipped], "; ")
        yield f"{len(tally.skipped):,} files or messages are not read, or not to their end ({reasons})"
    if tally.other_files:
        some = ", ".join(f"{n:,} {ending}" for ending, n in tally.other_files[:MOST_ENDINGS])
        more = ", ..." if len(tally.other_files) > MOST_ENDINGS else ""
        yield f"files of the folder that do not match --glob are not read ({some}{more})"


def warnings_of_words(texts, vectorizer):
    """Warnings of texts that the pattern does not split into words."""
    if type(vectorizer) not in BY_PATTERN or (pattern := pattern_of(vectorizer)) is None:
        return
    chosen = np.linspace(0, len(texts) - 1, min(len(texts), SAMPLE)).astype(int)
    sample = [texts[i] for i in chosen]
    if needs_segmenter(sample, pattern):
        yield (
            "texts are in a script without spaces between words, so whole sentences count as words; segment them "
            "first (with jieba for Chinese, SudachiPy or MeCab for Japanese, PyThaiNLP for Thai) and separate words by "
            "spaces"
        )
        return
    tokenize = CountVectorizer(token_pattern=pattern).build_tokenizer()
    tokens = [token for text in sample for token in tokenize(text)]
    if tokens and np.mean([len(token) for token in tokens]) > LONG_WORD:
        yield "words have more than 20 letters on average; check that the text has spaces between its words"


def some_of(names, separator=", "):
    """The first of some names."""
    some = separator.join(list(names)[:MOST_NAMED])
    return f"{some}{separator}..." if len(names) > MOST_NAMED else some
