"""Passages of long texts, so that a book gives many documents."""

import re
from itertools import islice, pairwise

import numpy as np

from sparsemix.texts._reading.chapters import chapters

# Words of a passage; documents are cut by default if half of them have at least the second number of words. A script
# without spaces has a "word" of the third number of characters.
WORDS, LONG, UNSPACED = 300, 1500, 20
# Ends of sentences and paragraphs, at which a passage preferably ends; characters of a "word" without spaces.
END = re.compile(r"[.!?。！？…][\"'”’»)\]]*\s+|[。！？]|\n\s*\n")
WORD = re.compile(rf"\S{{1,{UNSPACED}}}")
# An end of a sentence inside a line, with the first letter of the next one; no number ends there, since numbers begin
# items. Marks after which a sentence continues.
INNER_END = re.compile(r"(?:(?<=[^\W\d_])[.!?…][\"'”’»)\]]*\s+|[。！？।۔؟]\s*)[\"'“‘«(\[]*(?P<letter>[^\W\d_])")
CONTINUES = tuple(",;:-–—،؛、，；")
LAST_END = re.compile(r"[.!?…。！？।۔؟][\"'”’»)\]]*$")
# Lines to examine, and the quantile of their lengths that is the width of the page. BULK is the share of breaks, lines
# or words that decides, by two standard deviations where blank lines, BLANK of all, do not separate paragraphs. Where
# they do, CONTINUED of the breaks are inside a sentence: verses and short paragraphs have few. CONTINUING is the least
# share of all lines that show it; in scripts without capitals, of lines with the end of a sentence inside.
MOST_LINES, WIDTH, BULK, BLANK, CONTINUED, CONTINUING = 50_000, 0.95, 0.5, 0.03, 0.25, 0.1


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
    """Whether lines are parts of one text, whose sentences cross the breaks of lines; else each line is a text.

    Shares of all breaks decide, so neither a few headings nor the number of lines can make one text of a list.
    """
    lines = [line.expandtabs().rstrip() for line in islice(lines, MOST_LINES)]
    full = [line for line in lines if line]
    breaks = [(above, below) for above, below in pairwise(lines) if above and below and indent(below) <= indent(above)]
    n_gaps = sum(bool(above) and not below for above, below in pairwise(lines))
    ends = [INNER_END.search(line) for line in full]
    if n_gaps >= BULK * len(full):
        sizes = [line.count(" ") + 1 for line in full]
        if sum(size for size, end in zip(sizes, ends, strict=True) if end) >= BULK * sum(sizes):
            return True  # each line is a paragraph
    letters = [end["letter"] for end in ends if end]
    has_capitals = sum(map(str.isupper, letters)) > CONTINUED * sum(map(str.islower, letters))
    n = sum(below.lstrip()[0].islower() or above.endswith(CONTINUES) for above, below in breaks)
    if has_capitals and n_gaps >= BLANK * len(full):
        return n >= CONTINUED * len(breaks) and n >= CONTINUING * len(full)
    n_certain = BULK * len(breaks) + len(breaks) ** 0.5
    continued = n >= n_certain if has_capitals else len(letters) >= CONTINUING * len(full)
    inside = [(above, below) for above, below in breaks if not LAST_END.search(above)]  # of a sentence
    return bool(inside) and continued and n_at_width(inside, full) >= BULK * len(inside) + len(inside) ** 0.5


def indent(line):
    """The number of spaces before a line: the first line of a paragraph may have more than the line above."""
    return len(line) - len(line.lstrip())


def n_at_width(breaks, lines):
    """The number of breaks at the width of the page: the first word of the next line would exceed it."""
    width = sorted(map(len, lines))[int(WIDTH * len(lines))] if lines else 0
    return sum(len(above) + 1 + len(WORD.search(below)[0]) > width for above, below in breaks)
