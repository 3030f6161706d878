"""Token patterns, and vectorizers that count the words of a vocabulary in new texts."""

import re
import sys
import unicodedata
from functools import cache

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han and its extensions.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
UNSPACED += "\U00020000-\U0003ffff"
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
LETTER = r"[^\W\d_]"
# Python tries the alternatives of a pattern one by one: with more alternatives, counting would take minutes.
MOST_ODD = 2000


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


class ComposedVectorizer(CountVectorizer):
    """Count words of texts in composed characters (NFC), as the command reads them: "é" is one character."""

    def decode(self, doc):
        """Decode a text and compose its characters."""
        return unicodedata.normalize("NFC", super().decode(doc))


def composed_lower(text):
    """Preprocessor: composed characters in lower case."""
    return unicodedata.normalize("NFC", text).lower()


def composed(words):
    """Words in composed characters."""
    return [unicodedata.normalize("NFC", word) for word in words]


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


def vectorizer_of(words):
    """A vectorizer that counts all of these words in new texts."""
    words, cls = checked_words(words, "The vocabulary"), ComposedVectorizer
    if len(set(composed(words))) == len(words):
        words = composed(words)
    else:  # two words differ only in how their characters are composed
        cls = CountVectorizer
    whole = re.compile(any_word())
    odd = sorted((word for word in words if not whole.fullmatch(word)), key=len, reverse=True)
    pattern = any_word()
    if len(odd) > MOST_ODD:
        pattern = r"\S+"
    elif odd:
        inside = rf"[\w{marks()}]"
        pattern = rf"(?<!{inside})(?:{'|'.join(map(re.escape, odd))})(?!{inside})|{pattern}"
    lowercase = all(word == word.lower() for word in words)
    return cls(token_pattern=pattern, vocabulary=words, dtype=np.float32, lowercase=lowercase)


def checked_words(words, source):
    """The words as a list, after a check that no word occurs twice."""
    distinct, counts = np.unique(words, return_counts=True)
    if len(words) == 0 or counts.max() > 1:
        twice = "no words" if len(words) == 0 else f"'{distinct[counts.argmax()]}' twice"
        raise ValueError(f"{source} has {twice}; list every word once, in the order of the columns.")
    return list(words)


def needs_segmenter(texts, pattern):
    """Whether these texts are in a script without spaces between words, and are not segmented into words.

    A run of such letters is then a sentence, with a mean length of some ten characters. That of words is two.
    """
    tokens = [token for text in texts for token in re.findall(pattern, text)]
    runs = [token for token in tokens if isinstance(token, str) and UNSPACED_RUN.fullmatch(token)]
    return len(runs) > 0.3 * len(tokens) and np.mean([len(run) for run in runs]) > 6
