"""Cleaning of texts before they are split into words."""

import html
import re
import unicodedata

# Characters that NFKC leaves, or changes wrongly: in lower case the capital I with a dot is two characters; apostrophes
# have several forms; soft hyphens, byte order marks and the stroke that lengthens Arabic words are not letters.
REPLACED = {"\u0130": "I", "\u00b4": "'", "\u2019": "'", "\u02bc": "'", "\u00ad": "", "\ufeff": "", "\u0640": ""}
ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
TAGS = "p|br|hr|div|span|a|b|i|u|em|strong|code|pre|ul|ol|li|dl|dt|dd|h[1-6]|table|t[rdh]|img|font|blockquote|sup|sub"
TAG = re.compile(rf"</?(?:{TAGS})(?:\s[^<>]{{0,1000}})?/?>", re.IGNORECASE)
MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
ADDRESS = re.compile(r"(?:\b(?:https?|ftp|file)://|\bwww\.)\S+", re.IGNORECASE)
ENDS = (".com", ".org", ".net", ".edu", ".gov")
DOMAIN = re.compile(r"\b(?:[\w-]{1,63}\.){1,8}(?:com|org|net|edu|gov)\b(?:/\S*)?", re.IGNORECASE)
# English contractions: words with "n't" are function words; other contractions end in a pronoun's verb or a possessive.
NEGATION = re.compile(r"\b[a-z]{1,12}n't\b", re.IGNORECASE)
CONTRACTION = re.compile(r"'(?<=\w')(?:s|re|ve|ll|d|m)\b", re.IGNORECASE)


def composed(text):
    """The text with one character for each letter: composed marks, no ligatures, no full-width letters (NFKC)."""
    if text.isascii():
        return text
    for given, wanted in REPLACED.items():
        text = text.replace(given, wanted)
    return unicodedata.normalize("NFKC", text)


def cleaned(text):
    """The composed text without web and mail addresses, English contractions, and tags and entities of HTML."""
    # most texts have few of these: a search for a plain string is a hundred times faster than a pattern
    if "&" in text:
        text = ENTITY.sub(lambda match: html.unescape(match[0]), text)
    if "<" in text:
        text = TAG.sub(" ", text)
    text = composed(text)
    if "@" in text:
        text = MAIL.sub(" ", text)
    if "://" in text or "www." in text:
        text = ADDRESS.sub(" ", text)
    if any(end in text for end in ENDS):
        text = DOMAIN.sub(" ", text)
    if "'" in text:
        if "n't" in text or "N'T" in text:
            text = NEGATION.sub(" ", text)
        text = CONTRACTION.sub(" ", text)
    return text


def composed_lower(text):
    """Preprocessor of word sequences: the composed text in lower case."""
    return composed(text).lower()


def cleaned_lower(text):
    """Preprocessor of word sequences: the cleaned text in lower case."""
    return cleaned(text).lower()
