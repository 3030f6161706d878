"""Chapters of a book, by its headings with numbers."""

import re
from itertools import pairwise

import numpy as np

HEADING = re.compile(
    r"^[ \t\f#*_]*(?P<word>[^\W\d_]{2,20}[ \t\u00a0]+)?(?P<number>\d{1,3}|[IVXLCivxlc]{1,8})(?!\w)"
    r"(?:[.:)]?[*_\r]*$|(?:(?(word)[.:)—–-]?|[.:)])[ \t])[^\n]{0,80}$)", re.MULTILINE
)
TITLE = re.compile(
    r"(?:\A|(?:\A|\n)[ \t\r]*\n)[ \t\f]*(?P<title>[^\W\d_][^\n\d.,;:!?\"'“”„«»()-]{3,50}?)(?=[ .\r]*\n[ \t\r]*\n)"
)
# Headings in words have at most this number of them, and share a word that has this number of occurrences for each.
MOST_WORDS, ELSEWHERE = 4, 2
# Numbers are those of pages if there are many, fewer words lie between them on average, and the standard deviation of
# their distances is below this share of the mean.
MANY, PAGE, EVEN = 10, 1000, 0.25
# The least number of chapters, the share of headings that counts up, the numbers that may be missing between two, the
# largest number with which a part begins, the words of a chapter, in the middle and on average (pages have fewer),
# and the characters around a heading with an empty line.
LEAST_CHAPTERS, MOST_IN_ORDER, MISSING, FIRST, LEAST_WORDS, MEAN_WORDS, NEAR = 3, 0.7, 3, 2, 100, 600, 9
ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def chapters(text):
    """Titles and beginnings of the chapters of a text; none if it has no headings with numbers.

    A heading is a line that begins with a word and a number, such as "CHAPTER IV. Home", or with a number, such as 12,
    if the line before or after it is empty. The numbers of headings with one word count up, and may begin again in a
    next part. Numbers may be written out, as in "Erstes Kapitel".
    """
    kinds = {}
    for match in HEADING.finditer(text):
        before, after = text[max(0, match.start() - NEAR) : match.start()], text[match.end() : match.end() + NEAR]
        lines = before[len(before.rstrip()) :].count("\n"), after[: len(after) - len(after.lstrip())].count("\n")
        if match["word"]:
            kinds.setdefault(match["word"].strip().casefold(), []).append(match)
        elif max(lines) > 1 or not match.start():
            for kind in (None, match["number"].isdecimal()):  # sections of chapters may have the other numerals
                kinds.setdefault(kind, []).append(match)
    n_words = len(text.split())
    parts = max((parts_of(matches, text, n_words) for matches in kinds.values()), key=mean_size, default=[])
    if parts:
        return [(" ".join(match[0].split()), match.start()) for part in parts for match in part]
    found = written_out(text)
    return found if len(found) >= LEAST_CHAPTERS and n_words >= MEAN_WORDS * len(found) else []


def mean_size(parts):
    """Mean number of the headings of a part: sections begin again in every chapter, and chapters seldom."""
    return sum(map(len, parts)) / max(1, len(parts))


def parts_of(matches, text, n_words):
    """Headings that count up, a list for each part of the book; none if they are no headings of chapters.

    The first part may be a table of contents, which counts up too, but has no chapters between its lines.
    """
    chain = longest_chain([number_of(match["number"]) for match in matches])
    found = [matches[i] for i in chain]
    numbers, words = [number_of(match["number"]) for match in found], words_between(found, text)
    ends = [i for i in range(1, len(found) + 1) if i == len(found) or numbers[i] <= numbers[i - 1]]
    parts = [found[a:b] for a, b in pairwise([0, *ends]) if np.median(words[a:b]) > LEAST_WORDS]
    parts = [part for part in parts if len(part) > 1 or len(parts) == 1]
    n = sum(map(len, parts))
    counted = sum(number_of(part[-1]["number"]) - number_of(part[0]["number"]) + 1 for part in parts)
    enough = n >= max(LEAST_CHAPTERS, MOST_IN_ORDER * counted) and len(chain) >= MOST_IN_ORDER * len(matches)
    pages = n_words < PAGE * n and are_even(parts)
    return parts if enough and n_words >= MEAN_WORDS * n and not pages else []


def are_even(parts):
    """Whether headings are many numbers alone at nearly equal distances."""
    starts = [match.start() for part in parts for match in part if not match["word"] and match["number"].isdecimal()]
    return len(starts) >= MANY and np.std(np.diff(starts)) < EVEN * np.mean(np.diff(starts))


def longest_chain(numbers):
    """Places of the longest chain of numbers that count up, in which few are missing and which may begin again."""
    none = (0, 0, None)  # length, last number, last link
    ending, longest = {}, none
    for i, number in enumerate(numbers):
        before = [ending[number - step] for step in range(1, MISSING + 2) if number - step in ending]
        if number <= FIRST and longest[1] > number:
            before.append(longest)
        length, _, link = max(before, key=lambda chain: chain[0], default=none)
        chain = length + 1, number, (i, link)
        ending[number] = max(chain, ending.get(number, none), key=lambda chain: chain[0])
        longest = max(longest, chain, key=lambda chain: chain[0])
    places, link = [], longest[2]
    while link is not None:
        places.append(link[0])
        link = link[1]
    return places[::-1]


def number_of(text):
    """The value of a number in digits or in Roman numerals."""
    if text.isdecimal():
        return int(text)
    values = [ROMAN[letter] for letter in text.upper()]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))


def written_out(text):
    """Headings of few words, alone between empty lines, which share a word that the text has seldom elsewhere."""
    found, best, folded = {}, [], text.casefold()
    for match in TITLE.finditer(text):
        words = match["title"].casefold().split()
        for word in {words[0], words[-1]} if 2 <= len(words) <= MOST_WORDS else ():
            found.setdefault(word, []).append(match)
    for word, matches in found.items():
        if len(word) > 2 and folded.count(word) <= ELSEWHERE * len(matches):
            words = words_between(matches, text)
            headings = [(" ".join(match["title"].split()), match.start("title"))
                        for match, n in zip(matches, words, strict=True) if n > LEAST_WORDS]  # fmt: skip
            running = any(a[0] == b[0] for a, b in pairwise(headings))  # heads of pages
            best = best if running else max(best, headings, key=len)
    return best


def words_between(matches, text):
    """Words after each heading, up to the next one; more than ``LEAST_WORDS`` are not counted."""
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return [len(text[match.end() : end].split(maxsplit=LEAST_WORDS)) for match, end in zip(matches, ends, strict=True)]
