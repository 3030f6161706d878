"""Words: what a text is cut into, and a vectorizer that counts them again in new texts."""

import re
import sys
import unicodedata
from functools import cache

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han with its extensions.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
UNSPACED += "\U00020000-\U0003ffff"
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
LETTER = r"[^\W\d_]"
# Explicit alternatives of a pattern are tried one after the other: beyond so many, counting would take minutes.
MOST_ODD = 2000


@cache
def marks():
    """Ranges of all combining marks, and the two joiners that stand inside of words, for a character class.

    Python's ``\\w`` has no marks: without them a Hindi word, or an Arabic one with its vowels, falls to pieces.
    """
    points = [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c))[0] == "M"]
    points = np.array([*points, 0x200C, 0x200D])
    points.sort()
    cuts = np.flatnonzero(np.diff(points) > 1)
    firsts, lasts = points[np.r_[0, cuts + 1]], points[np.r_[cuts, len(points) - 1]]
    return "".join(chr(a) if a == b else f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts, strict=True))


def letters():
    """Runs of three letters with their marks, and of one where words have no spaces between them: segmented texts."""
    return f"[{UNSPACED}]+|{LETTER}(?:{LETTER}|[{marks()}]){{2,}}"


def any_word():
    """Runs of letters with their marks, digits and underscores."""
    return rf"[\w{marks()}]+"


# Patterns that have names.
PATTERNS = {"letters": letters, "words": any_word, "spaces": lambda: r"\S+"}


class ComposedVectorizer(CountVectorizer):
    """Counts words of texts in composed characters: "é" is one, and not an e with a mark, as the command reads them."""

    def decode(self, doc):
        """A text in composed characters."""
        return unicodedata.normalize("NFC", super().decode(doc))


def composed_lower(text):
    """The same of a text, in small letters: a preprocessor."""
    return unicodedata.normalize("NFC", text).lower()


def composed(words):
    """The words in composed characters."""
    return [unicodedata.normalize("NFC", word) for word in words]


def token_pattern(given):
    """A pattern by its name, or as it is."""
    pattern = PATTERNS[given]() if given in PATTERNS else given
    try:
        n_groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"--token-pattern {given!r} is no regular expression ({error}).") from error
    if n_groups > 1:
        raise ValueError(f"--token-pattern {given!r} has {n_groups} groups; write (?:...) for all but one.")
    return pattern


def vectorizer_of(words):
    """A vectorizer that counts every one of these words in new texts."""
    words, cls = checked_words(words, "The vocabulary"), ComposedVectorizer
    if len(set(composed(words))) == len(words):
        words = composed(words)
    else:  # two of them look alike
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
    """The words as a list, unless one of them occurs twice."""
    distinct, counts = np.unique(words, return_counts=True)
    if len(words) == 0 or counts.max() > 1:
        twice = "no words" if len(words) == 0 else f"'{distinct[counts.argmax()]}' twice"
        raise ValueError(f"{source} has {twice}; a word stands for one column.")
    return list(words)


def needs_segmenter(texts, pattern):
    """Whether these texts are in a script without spaces, and nobody has put spaces between their words.

    Then a run of such letters is a sentence: its mean length is some ten characters where that of words is two.
    """
    tokens = [token for text in texts for token in re.findall(pattern, text)]
    runs = [token for token in tokens if isinstance(token, str) and UNSPACED_RUN.fullmatch(token)]
    return len(runs) > 0.3 * len(tokens) and np.mean([len(run) for run in runs]) > 6
