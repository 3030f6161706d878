"""Passages of long texts, so that a book gives many documents."""

import re
from itertools import islice

import numpy as np

from sparsemix._commands.reading.chapters import chapters

# Words of a passage; documents are cut by default if half of them have at least the second number of words. A script
# without spaces has a "word" of the third number of characters.
WORDS, LONG, UNSPACED = 300, 1500, 20
# Ends of sentences and paragraphs, at which a passage preferably ends; characters of a "word" without spaces.
END = re.compile(r"[.!?。！？…][\"'”’»)\]]*\s+|[。！？]|\n\s*\n")
WORD = re.compile(rf"\S{{1,{UNSPACED}}}")
# Lines are parts of one text if it has chapters in its first lines, or is wrapped: most of its lines have nearly the
# maximum length, and enough of them begin in the middle of a sentence or contain the end of one. In order: the numbers
# of lines to examine, the maximum length in letters, the share of it that counts as nearly, the two shares of lines.
MOST_LINES, LOOKED_AT, WRAPPED, FULL, CONTINUED, ENDED = 50_000, 2000, 120, 0.75, 0.25, 0.1


def spans(text, n_words):
    """Beginnings and ends of passages of about this many words: up to the first end of a sentence or paragraph."""
    words = [match.start() for match in WORD.finditer(text)]
    start = 0
    while len(words) - start >= 1.5 * n_words:
        # at the latest after 1.5 n_words words
        least, most = words[start + n_words], words[min(start + n_words + n_words // 2, len(words) - 1)]
        end = END.search(text, least, most)
        place = end.end() if end else least
        stop = next(i for i in range(start + n_words, len(words)) if words[i] >= place)
        yield words[start], words[stop]
        start = stop
    if start < len(words):
        yield words[start], len(text)


def passages(text, n_words):
    """Chapter, beginning and end of each passage, which is in one chapter. Text before the first one has no title."""
    starts = [("", 0), *chapters(text)]
    for (title, start), (_, stop) in zip(starts, [*starts[1:], ("", len(text))], strict=True):
        yield from ((title, start + begin, start + end) for begin, end in spans(text[start:stop], n_words))


def size_of(plain):
    """Number of words of a text whose words are separated by single spaces; a script without spaces has long ones."""
    return max(plain.count(" ") + 1, len(plain) // UNSPACED) if plain else 0


def words_of_passages(given, sizes):
    """Words of a passage, or None for whole documents: by default, the median of their sizes decides."""
    if given is None and len(sizes) and np.median(sizes) >= LONG:
        return WORDS
    return given or None


def is_one_text(lines):
    """Whether lines are parts of one text, which is wrapped or has chapters; else each line is a text."""
    lines = list(islice(lines, MOST_LINES))
    return is_wrapped([line.strip() for line in lines]) or bool(chapters("".join(lines)))


def is_wrapped(lines):
    """Whether lines are parts of one wrapped text.

    Then most lines have nearly the full width, and many begin in the middle of a sentence, with a small letter.
    """
    lines = [line for line in lines[:LOOKED_AT] if line]
    if len(lines) < 100:
        return False
    lengths = sorted(map(len, lines))
    full = lengths[int(0.95 * len(lengths))]
    n_full = sum(length >= FULL * full for length in lengths)
    continued = sum(line[0].islower() for line in lines)
    ended = sum(END.search(f"{line} ") is not None for line in lines)
    wide = full <= WRAPPED and n_full >= len(lines) / 2
    return wide and continued >= CONTINUED * len(lines) and ended >= ENDED * len(lines)
