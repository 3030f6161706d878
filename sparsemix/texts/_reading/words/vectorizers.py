"""Vectorizers: cleaning of texts, patterns of words in all scripts, and the vocabulary of given counts."""

import html
import re
import sys
import unicodedata
from functools import cache

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix.datasets import read_vocabulary
from sparsemix.skipgram import TokenSequences

# Characters that NFKC leaves, or changes wrongly: in lower case the capital I with a dot is two characters; apostrophes
# have several forms; alef wasla is alef.
REPLACED = {"\u0130": "I", "\u00b4": "'", "\u2019": "'", "\u02bc": "'", "\u0671": "\u0627"}
# Scripts that write vowels as optional marks, and marks of stress that compose with no Cyrillic letter.
ABJADS = ("ARABIC", "HEBREW", "SYRIAC", "SAMARITAN")
STRESS = re.compile(r"[\u0300\u0301](?<=[\u0400-\u052f].)")
# The apostrophe of Ukrainian and Belarusian is a letter.
APOSTROPHE = re.compile("(?<=[\u0400-\u052f])'(?=[\u0400-\u052f])")
# Hidden characters that are inside of words, or between them.
JOINERS, ZERO_SPACE = "\u200c\u200d", "\u200b"
ENTITY = re.compile(r"&(?:amp;)*((?:[a-zA-Z][a-zA-Z0-9]{1,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)")
# What may be a tag, and what shows that it is one: its first or last signs, quotes, a name that HTML leaves open. A
# name that the text closes is one too; <file> alone is a word.
TAG = re.compile(
    r"<!\[cdata\[|<(?:(?:!--|!doctype|\?)[^<>]{0,1000}|/?([^\W\d_][\w:.-]{0,63})(?:\s[^<>]{0,1000})?/?)>", re.IGNORECASE
)
MARKUP = re.compile(r"""<[!?/]|.*(?:=\s*["']|/>)|<(?:p|li|d[td]|t[rdh]|[bh]r|img)[\s>]""", re.IGNORECASE | re.DOTALL)
CLOSING = re.compile(r"</([\w:.-]{1,64})\s*>")
MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
ADDRESS = re.compile(r"(?:\b(?:https?|ftp|file)://|\bwww\.)\S+", re.IGNORECASE)
DOMAIN = re.compile(r"\b(?:[\w-]{1,63}\.){1,8}(?:com|org|net|edu|gov)\b(?:/\S*)?", re.IGNORECASE)
# English contractions: words with "n't" are function words; other contractions end in a pronoun's verb or a possessive.
NEGATION = re.compile(r"\b[a-z]{1,12}n't\b", re.IGNORECASE)
CONTRACTION = re.compile(r"'(?<=\w')(?:s|re|ve|ll|d|m)\b", re.IGNORECASE)
# What is replaced by a space, and the strings that a text with it has: a search for them is a hundred times faster.
FRAGMENTS = (
    (MAIL, ("@",)), (ADDRESS, ("://", "www.")), (DOMAIN, (".com", ".org", ".net", ".edu", ".gov")),
    (NEGATION, ("n't", "N'T")), (CONTRACTION, ("'",)),
)  # fmt: skip
# Scripts without spaces between words: Han, its iteration mark and its extensions, and kana; Thai, Lao, Myanmar, Khmer.
HAN = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff" + HAN
UNSPACED_RUN, HAN_RUN = re.compile(f"[{UNSPACED}]+"), re.compile(f"[{HAN}]+")
LETTER = r"[^\W\d_]"
# Texts need a segmenter if this share of their letters is in runs of this mean length, or of the second one in Han.
# A run in segmented texts is a word of about two letters, of four in Thai; in other texts it is a verse or sentence.
UNSPACED_SHARE, LONG_RUN, LONG_HAN_RUN = 0.05, 6, 3
# Words with other characters than letters: Python tries the alternatives of a pattern one by one, in minutes.
MOST_ODD = 2000


def composed(text):
    """The text with one spelling for each word: letters with their marks as one character (NFKC), no optional ones."""
    if text.isascii():
        return text
    for given, wanted in REPLACED.items():
        text = text.replace(given, wanted)
    return APOSTROPHE.sub("\u02bc", STRESS.sub("", optional().sub("", unicodedata.normalize("NFKC", text))))


def composed_lower(text):
    """Preprocessor: the composed text in lower case."""
    return composed(text).lower()


def cleaned_lower(text):
    """Preprocessor: also without addresses, English contractions, tags and entities."""
    if "&" in text:
        text = ENTITY.sub(lambda match: html.unescape(f"&{match[1]}"), text)
    if "<" in text:
        closed = set(CLOSING.findall(text.lower())) if "</" in text else ()
        text = TAG.sub(lambda tag: " " if (tag[1] or "").lower() in closed or MARKUP.match(tag[0]) else tag[0], text)
    text = composed(text)
    for pattern, signs in FRAGMENTS:
        if any(sign in text for sign in signs):
            text = pattern.sub(" ", text)
    return text.lower()


def class_of(wanted, last=sys.maxunicode):
    """Ranges of a character class: all characters up to the last one for which a function is true."""
    points = np.flatnonzero([wanted(chr(c)) for c in range(last + 1)])
    cuts = np.flatnonzero(np.diff(points) > 1)
    firsts, lasts = points[np.r_[0, cuts + 1]], points[np.r_[cuts, len(points) - 1]]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts, strict=True))


@cache
def marks():
    """Character class of all combining marks and the two joiners that occur inside words.

    Python's ``\\w`` does not match marks: it would split a Hindi word at each vowel sign.
    """
    return class_of(lambda c: unicodedata.category(c)[0] == "M" or c in JOINERS)


def is_optional(c):
    """Whether a character spells one word in several ways: marks that writing may leave out, hidden characters."""
    kind = unicodedata.category(c)
    mark = kind in ("Mn", "Lm") and unicodedata.name(c, "").startswith(ABJADS)
    return mark or (kind == "Cf" and c not in JOINERS + ZERO_SPACE)


@cache
def optional():
    """Pattern of optional characters. Vowel signs of other scripts, such as Hindi and Thai, are part of the word."""
    return re.compile(f"[{class_of(is_optional, 0xFFFF)}]+")  # Python finds larger characters ten times slower


# Patterns with a name. Letters are runs of three or more, or of any number in scripts without spaces.
PATTERNS = {
    "letters": lambda: f"[{UNSPACED}]+|{LETTER}(?:{LETTER}|[{marks()}]){{2,}}",
    "words": lambda: rf"[\w{marks()}]+",
    "spaces": lambda: r"\S+",
}


def token_pattern(given):
    """The pattern with this name, or the given regular expression after a check."""
    if given in PATTERNS:
        return PATTERNS[given]()
    try:
        n_groups = re.compile(given).groups
    except re.error as error:
        raise ValueError(f"--token-pattern {given!r} is not a regular expression ({error}).") from error
    if n_groups > 1:
        raise ValueError(f"--token-pattern {given!r} has {n_groups} groups; write (?:...) for all groups but one.")
    return given


def make_vectorizer(words):
    """The vectorizer of the options, without stop words: it counts words, or numbers them in their order."""
    vocabulary = words.vocabulary
    if vocabulary is not None:
        listed = checked_words(read_vocabulary(vocabulary), vocabulary)
        vocabulary = list(dict.fromkeys(filter(None, map(composed, listed))))
    options = {
        "token_pattern": token_pattern(words.token_pattern), "min_df": words.min_df, "max_df": words.max_df,
        "vocabulary": vocabulary,
        # a pattern of the user's own finds everything that is in a text
        "preprocessor": cleaned_lower if words.token_pattern in ("letters", "words") else composed_lower,
    }  # fmt: skip
    return TokenSequences(**options) if words.in_order else CountVectorizer(dtype=np.float32, **options)


def vectorizer_of(words):
    """A vectorizer that counts these words in new texts."""
    lowercase, one_spelling = all(word == word.lower() for word in words), [composed(word) for word in words]
    prepare = composed_lower if lowercase else composed
    if len(set(one_spelling)) < len(set(words)):
        prepare, one_spelling = None, words  # each spelling of a word has its column
    words = one_spelling
    pattern, inside = PATTERNS["words"](), rf"[\w{marks()}]"
    odd = sorted((word for word in words if not re.fullmatch(pattern, word)), key=len, reverse=True)
    if len(odd) > MOST_ODD:
        pattern = PATTERNS["spaces"]()
    elif odd:
        pattern = rf"(?<!{inside})(?:{'|'.join(map(re.escape, odd))})(?!{inside})|{pattern}"
    return CountVectorizer(
        token_pattern=pattern, vocabulary=checked_words(words, "The vocabulary"), dtype=np.float32,
        lowercase=lowercase, preprocessor=prepare,
    )  # fmt: skip


def pattern_of(vectorizer):
    """The token pattern of a vectorizer, also if an analyzer of the command applies it."""
    return vectorizer.token_pattern or vectorizer.analyzer.tokenizer.pattern


def needs_segmenter(texts, pattern):
    """Whether a part of these texts is in a script without spaces between words, and not segmented into words."""
    tokens = [token for text in texts for token in re.findall(pattern, text)]
    runs = [token for token in tokens if UNSPACED_RUN.fullmatch(token)]
    n_letters, expected = sum(map(len, runs)), sum(LONG_HAN_RUN if HAN_RUN.match(run) else LONG_RUN for run in runs)
    return n_letters > UNSPACED_SHARE * sum(map(len, tokens)) and n_letters > expected


def checked_words(words, source):
    """The words, after a check that no word occurs twice."""
    distinct, counts = np.unique(words, return_counts=True)
    if len(words) == 0 or counts.max() > 1:
        twice = "no words" if len(words) == 0 else f"'{distinct[counts.argmax()]}' twice"
        raise ValueError(f"{source} has {twice}; list every word once, in the order of the columns.")
    return words
