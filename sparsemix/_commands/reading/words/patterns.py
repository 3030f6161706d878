"""Token patterns for words of all scripts."""

import re
import sys
import unicodedata
from functools import cache

import numpy as np

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han and its extensions.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
UNSPACED += "\U00020000-\U0003ffff"
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
LETTER = r"[^\W\d_]"
# Texts need a segmenter if this share of their letters is in runs of this mean length. A run in segmented texts is a
# word of about two letters; in other texts it is a sentence of ten and more.
UNSPACED_SHARE, LONG_RUN = 0.05, 6


@cache
def marks():
    """Character class of all combining marks and the two joiners that occur inside words.

    Python's ``\\w`` does not match marks: it would split a Hindi word, or an Arabic word with vowel marks.
    """
    points = [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c))[0] == "M"]
    points = np.array([*points, 0x200C, 0x200D])
    points.sort()
    cuts = np.flatnonzero(np.diff(points) > 1)
    firsts, lasts = points[np.r_[0, cuts + 1]], points[np.r_[cuts, len(points) - 1]]
    return "".join(chr(a) if a == b else f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts, strict=True))


def letters():
    """Pattern: runs of three or more letters with their marks; single letters in scripts without spaces."""
    return f"[{UNSPACED}]+|{LETTER}(?:{LETTER}|[{marks()}]){{2,}}"


def any_word():
    """Pattern: runs of letters with their marks, digits and underscores."""
    return rf"[\w{marks()}]+"


# Patterns with a name.
PATTERNS = {"letters": letters, "words": any_word, "spaces": lambda: r"\S+"}


def token_pattern(given):
    """The pattern with this name, or the given regular expression after a check."""
    pattern = PATTERNS[given]() if given in PATTERNS else given
    try:
        n_groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"--token-pattern {given!r} is not a regular expression ({error}).") from error
    if n_groups > 1:
        raise ValueError(f"--token-pattern {given!r} has {n_groups} groups; write (?:...) for all groups but one.")
    return pattern


def needs_segmenter(texts, pattern):
    """Whether a part of these texts is in a script without spaces between words, and not segmented into words."""
    tokens = [token for text in texts for token in re.findall(pattern, text) if isinstance(token, str)]
    runs = [token for token in tokens if UNSPACED_RUN.fullmatch(token)]
    n_letters = sum(map(len, runs))
    return n_letters > UNSPACED_SHARE * sum(map(len, tokens)) and n_letters > LONG_RUN * len(runs)
