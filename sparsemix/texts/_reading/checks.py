"""Warnings of problems with the texts that spoil topics. Each is a sentence without its period, or ""."""

from collections import Counter

import numpy as np

from sparsemix.texts._reading.words.languages import numbers_of
from sparsemix.texts._reading.words.segmenters import EXTRA as SEGMENTERS
from sparsemix.texts._reading.words.tokens import Analyzer
from sparsemix.texts._reading.words.vectorizers import needs_segmenter, pattern_of

# Texts that are checked for problems with their words.
SAMPLE = 200
# Languages are mixed if this share of the recognised texts, and at least this number, is outside the main language.
MIXED, LEAST_MIXED = 0.1, 5
MOST_NAMED = 6
# Warn above this share of documents without words.
MANY_EMPTY = 0.2


def of_bytes(tally, encoding):
    """Undecodable bytes."""
    if not tally.bad_characters:
        return ""
    other = "utf-8,cp1252" if encoding == "utf-8" else "utf-8"
    return (
        f"{tally.bad_characters:,} bytes in {len(tally.damaged):,} places are not {encoding} and split words "
        f"({some_of(tally.damaged)}); name the encodings to try, for example --encoding {other}"
    )


def of_files(tally):
    """Files that cannot be read."""
    told = (reason if reason.startswith(name) else f"{name}: {reason}" for name, reason in tally.skipped)
    reasons = some_of([reason.rstrip(".") for reason in told], "; ")
    return f"{len(tally.skipped):,} files or messages are not read, or not to their end ({reasons})" if reasons else ""


def of_empty(counts):
    """Documents without words."""
    n, n_empty = counts.shape[0], int((np.diff(counts.indptr) == 0).sum())
    remedy = "see --token-pattern, --min-df, --max-df and --stop-words"
    told = f"{n_empty:,} of {n:,} documents have no word of the vocabulary; {remedy}"
    return told if n_empty > MANY_EMPTY * n else ""


def of_languages(languages):
    """Several languages, whose words have no topic in common."""
    seen = Counter(filter(None, languages))
    main = max(seen, key=seen.get, default="")
    if seen.total() - seen[main] < max(LEAST_MIXED, MIXED * seen.total()):
        return ""
    remedy = f"so topics separate languages first; --language {main} keeps the texts of one language"
    return f"texts are in several languages ({numbers_of(seen, MOST_NAMED)}), {remedy}"


def of_script(texts, vectorizer):
    """A script that the pattern does not split into words, where no segmenter does."""
    some = [texts[i] for i in np.linspace(0, len(texts) - 1, min(len(texts), SAMPLE)).astype(int)]
    if isinstance(analyzer := vectorizer.analyzer, Analyzer):
        some = [analyzer.prepared(text, analyzer.language(text)) for text in some]
    told = (
        f"texts are in a script without spaces between words, so whole sentences count as words; {SEGMENTERS} splits "
        "Chinese and Japanese, other texts need spaces between their words, such as PyThaiNLP finds in Thai"
    )
    return told if needs_segmenter(some, pattern_of(vectorizer)) else ""


def of_dates(values, names, days, form):
    """Dates that are not read, with the documents."""
    if not days.unread:
        return ""
    some = some_of([f"{values[row][:40]!r} of {names[row]}" for row in days.unread])
    if form is not None:
        remedy = f"they do not have the --date-format {form}"
    elif days.ambiguous:
        remedy = "no date shows the order of day and month; give --date-format %d/%m/%Y or %m/%d/%Y"
    else:
        remedy = "write them like 2024-01-31, or give their --date-format, such as %d/%m/%y"
    return f"{len(days.unread):,} of {len(days.days):,} dates are not read ({some}); {remedy}"


def of_ids(names):
    """Ids of several documents."""
    seen = Counter(names)
    found = [f"{name[:40]!r} ({n:,})" for name, n in seen.most_common() if n > 1]
    told = f"{len(found):,} values of --id occur more than once ({some_of(found)}); give a field that differs in each"
    return told if found else ""


def some_of(names, separator=", ", most=3):
    """The first of some names."""
    return separator.join([*names[:most], *(["..."] if len(names) > most else [])])
