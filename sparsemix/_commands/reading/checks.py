"""Warnings of problems with the texts that spoil topics."""

from collections import Counter
from pathlib import Path

import numpy as np

from sparsemix._commands.reading.formats.kinds import kind_of_file
from sparsemix._commands.reading.passages import WORD, WORDS
from sparsemix._commands.reading.words.languages import main_languages
from sparsemix._commands.reading.words.patterns import needs_segmenter
from sparsemix._commands.reading.words.vectorizers import BY_PATTERN, pattern_of

# Texts that are checked for problems with their words.
SAMPLE = 200
# A text is much longer than most if it has this multiple of the median length and at least this number of words.
MUCH_LONGER, LONG_TEXT = 20, 3000
# Languages are mixed if at least this number of texts, and this share of the recognised ones, is in a second language.
LEAST_MIXED, MIXED = 5, 0.1
# Warn above this share of documents without words, and above this share of texts that equal an earlier one.
MANY_EMPTY, MANY_COPIES = 0.2, 0.01
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
    yield from warnings_of_lengths(tally, texts)
    yield from warnings_of_languages(texts)
    yield from warnings_of_words(texts, vectorizer)


def warnings_of_lengths(tally, texts):
    """A warning of texts that are much longer than most, such as a book among short texts."""
    lengths = np.diff(texts.ends)[texts.rows]
    longest, median = int(lengths.argmax()), max(1.0, float(np.median(lengths)))
    if tally.passages or lengths[longest] < MUCH_LONGER * median:
        return
    if (n_words := len(WORD.findall(texts.read(longest)))) >= LONG_TEXT:
        n = int((lengths >= MUCH_LONGER * median).sum()) - 1
        more = f" ({n:,} more {'is' if n == 1 else 'are'} too)" if n else ""
        yield (
            f"{texts.names[longest]} has {n_words:,} words and is {lengths[longest] / median:,.0f} times as long as "
            f"the median document{more}; --passages {WORDS} cuts long documents into passages"
        )


def warnings_of_languages(texts):
    """A warning of texts in several languages, whose words have no topic in common."""
    seen = Counter(texts.languages)
    least = max(LEAST_MIXED, MIXED * (seen.total() - seen[""]))
    several = [(language, seen[language]) for language in main_languages(seen) if seen[language] >= least]
    if len(several) > 1:
        some = ", ".join(f"{language} {n:,}" for language, n in several)
        yield (
            f"texts are in several languages ({some}), so topics separate languages first; run the command on the "
            "texts of each language alone (documents.csv has the language of each)"
        )


def warnings_of_files(tally, encoding):
    """Warnings of undecodable bytes, of files and of sheets that are not read."""
    if tally.sheets:
        name, (first, *others) = tally.sheets[0]
        more = f", and of {len(tally.sheets) - 1:,} more workbooks" if len(tally.sheets) > 1 else ""
        yield (
            f"of {name}{more} only the first sheet ({first!r}) is read, not {some_of(map(repr, others))}; "
            "--sheet NAME reads another"
        )
    if tally.bad_characters:
        other = "utf-8,cp1252" if encoding == "utf-8" else "utf-8"
        yield (
            f"{tally.bad_characters:,} bytes in {len(tally.damaged):,} places are not {encoding} and split words "
            f"({some_of(tally.damaged)}); name the encodings to try, for example --encoding {other}"
        )
    if tally.skipped:
        reasons = some_of([f"{name}: {reason.rstrip('.')}" for name, reason in tally.skipped], "; ")
        yield f"{len(tally.skipped):,} files or messages are not read, or not to their end ({reasons})"
    if tally.other_files:
        some = ", ".join(f"{n:,} {ending}" for ending, n in tally.other_files[:MOST_ENDINGS])
        more = ", ..." if len(tally.other_files) > MOST_ENDINGS else ""
        names = [Path(ending if ending[0] != "." else f"file{ending}") for ending, _ in tally.other_files]
        known = any(kind_of_file(name) not in ("lines", "other") for name in names)
        remedy = "; --glob '*' reads all files that hold text" if known else ""
        yield f"files of the folder that do not match --glob are not read ({some}{more}){remedy}"


def warning_of_dates(texts, days, form):
    """A warning of dates that are not read, with the documents; "" if all are."""
    if not days.unread:
        return ""
    some = some_of([f"{texts.dates[row][:40]!r} of {texts.names[row]}" for row in days.unread])
    if form is not None:
        remedy = f"they do not have the --date-format {form}"
    elif days.ambiguous:
        remedy = "no date shows the order of day and month; give --date-format %d/%m/%Y or %m/%d/%Y"
    else:
        remedy = "write them like 2024-01-31, or give their --date-format, such as %d/%m/%y"
    return f"{len(days.unread):,} of {len(days.days):,} dates are not read ({some}); {remedy}"


def facts_of_documents(texts, days):
    """Numbers of documents without a date or group, if some documents have one."""
    known = [day is not None for day in days.days]
    facts, unread = {}, f" ({len(days.unread):,} dates are not read)" if days.unread else ""
    if len(days.blank) < len(known) and not all(known):
        facts["documents without a date"] = f"{len(known) - sum(known):,}{unread}"
    if any(texts.groups) and not all(texts.groups):
        facts["documents without a group"] = f"{sum(not group for group in texts.groups):,}"
    return facts


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


def some_of(names, separator=", "):
    """The first of some names."""
    names = list(names)
    some = separator.join(names[:MOST_NAMED])
    return f"{some}{separator}..." if len(names) > MOST_NAMED else some
