"""Passages of long texts, so that a book gives many documents."""

import re
from dataclasses import replace
from itertools import chain, islice

# Words of a passage; a single text of at least the second number of words is divided by default.
WORDS, LONG = 300, 1500
# Ends of sentences and paragraphs, at which a passage preferably ends; characters of a "word" without spaces.
END = re.compile(r"[.!?。！？…][\"'”’»)\]]*\s+|[。！？]|\n\s*\n")
WORD = re.compile(r"\S{1,20}")
# Lines are parts of one wrapped text if most of the first lines have nearly the maximum length, and enough of them
# begin in the middle of a sentence or contain the end of one. In order: the number of lines to examine, the maximum
# length in letters, the share of it that counts as nearly, and the two shares of lines.
LOOKED_AT, WRAPPED, FULL, CONTINUED, ENDED = 2000, 120, 0.75, 0.25, 0.1


def passages(text, n_words):
    """Cut a text into passages of about this many words: at the first end of a sentence or paragraph after them."""
    words = [match.start() for match in WORD.finditer(text)]
    start = 0
    while len(words) - start >= 1.5 * n_words:
        # at the latest after 1.5 n_words words
        least, most = words[start + n_words], words[min(start + n_words + n_words // 2, len(words) - 1)]
        end = END.search(text, least, most)
        place = end.end() if end else least
        stop = next(i for i in range(start + n_words, len(words)) if words[i] >= place)
        yield text[words[start] : words[stop]].strip()
        start = stop
    if start < len(words):
        yield text[words[start] :].strip()


def cut(documents, n_words, tally):
    """Cut documents into passages and name them. With None for ``n_words``, only a single long text is cut."""
    documents = iter(documents)
    if n_words is None:
        first = list(islice(documents, 2))
        documents = chain(first, documents)
        if len(first) != 1 or len(WORD.findall(first[0].text)) < LONG:
            yield from documents
            return
        n_words = WORDS
    tally.passages = n_words
    for document in documents:
        if not document.text.strip():
            yield document
            continue
        for number, passage in enumerate(passages(document.text, n_words), start=1):
            yield replace(document, text=passage, name=f"{document.name}, passage {number}")


def is_wrapped(lines):
    """Whether lines are parts of one wrapped text; else each line is a text.

    Then most lines have nearly the full width, and many begin in the middle of a sentence, with a small letter.
    """
    lines = [line for line in islice(lines, LOOKED_AT) if line]
    if len(lines) < 100:
        return False
    lengths = sorted(map(len, lines))
    full = lengths[int(0.95 * len(lengths))]
    n_full = sum(length >= FULL * full for length in lengths)
    continued = sum(line[0].islower() for line in lines)
    ended = sum(END.search(f"{line} ") is not None for line in lines)
    wide = full <= WRAPPED and n_full >= len(lines) / 2
    return wide and continued >= CONTINUED * len(lines) and ended >= ENDED * len(lines)
