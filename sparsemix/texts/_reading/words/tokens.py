"""Words of a text after its pattern: forms of one word as one, and phrases as one word."""

import re
from collections import Counter
from math import log

import numpy as np

from sparsemix.texts._reading.words.languages import EXTRA, language_of
from sparsemix.texts._reading.words.segmenters import is_installed, segmented
from sparsemix.texts._reading.words.vectorizers import needs_segmenter

# Documents from which function words, forms and phrases are learned.
SAMPLE = 50_000
# Documents that show whether a language needs a segmenter.
CHECKED = 2_000
# A phrase occurs at least this often, and its strength is at least this: normalised pointwise mutual information, 0 for
# independent words, 1 for words that occur together only.
LEAST_COUNT, LEAST_STRENGTH = 5, 0.4
# Characters that may separate the words of a phrase.
BETWEEN = re.compile(r"[ \t]*(?:\r?\n)?[ \t]*|-")


class Tokenizer:
    """Split a text into words: find them by a pattern, replace forms, and join phrases by underscores.

    ``forms`` has the word to count for a form; the keys of ``phrases`` are such as "machine_learning".
    """

    def __init__(self, pattern, forms=None, phrases=None):
        self.pattern, self.forms, self.phrases = pattern, forms or {}, phrases or {}

    def __call__(self, text):
        """The words of a text in their order."""
        found, last = [], None
        for word, adjacent in self.pairs(text):
            joined = f"{last}_{word}" if adjacent and last is not None else None
            if joined in self.phrases:
                found[-1], last = joined, None  # a word is part of one phrase
            else:
                found.append(word)
                last = word
        return found

    def pairs(self, text):
        """The words, and whether only a space or hyphen separates each from the one before."""
        end = None
        for match in re.finditer(self.pattern, text):
            word = match[match.re.groups] or ""
            adjacent = end is not None and BETWEEN.fullmatch(text, end, match.start()) is not None
            yield self.forms.get(word, word), adjacent
            end = match.end()


class Analyzer:
    """Split a text into words by its language: by its segmenter, and without its stop words.

    ``skipped`` has the stop words by language, the main one first; texts in further languages are read as the main one.
    ``shares`` are those of the languages in the corpus; ``unspaced`` are the languages whose texts are segmented.
    """

    def __init__(self, prepare, tokenizer, skipped, shares=1, unspaced=()):
        self.prepare, self.tokenizer, self.skipped = prepare, tokenizer, skipped
        self.shares, self.unspaced = shares, unspaced

    def __call__(self, text):
        """The words of a text in their order."""
        language = self.language(text)
        return [word for word in self.tokenizer(self.prepared(text, language)) if word not in self.skipped[language]]

    def language(self, text):
        """The language as which a text is read."""
        return own_language(language_of(text, self.shares) if len(self.skipped) > 1 else "", self.skipped)

    def prepared(self, text, language):
        """The text cleaned, with spaces between its words."""
        text = self.prepare(text)
        return segmented(text, language) if language in self.unspaced else text


def own_language(language, known):
    """The language if it is known, else the main one, which is the first."""
    return language if language in known else next(iter(known))


def rows_by_language(languages, known, most):
    """Numbers of at most this many texts, evenly spread, by the language as which they are read."""
    rows = {language: [] for language in known}
    for row in np.linspace(0, len(languages) - 1, min(len(languages), most)).astype(int):
        rows[own_language(languages[row], known)].append(row)
    return rows


def unspaced_languages(analyzer, texts, languages):
    """Languages of these texts that have a segmenter and need it."""
    rows = rows_by_language(languages, analyzer.skipped, CHECKED)
    pattern, able = analyzer.tokenizer.pattern, filter(is_installed, rows)
    return tuple(one for one in able if needs_segmenter([texts[row] for row in rows[one]], pattern))


def forms_of(counts, language, skipped):
    """The most frequent form of each word that has several in a language. Skipped words stay as they are."""
    if not language:
        raise ValueError(f"--merge-forms needs texts in a language that is recognised, and {EXTRA}.")
    try:
        from simplemma import lemmatize
    except ImportError as error:
        raise ValueError(f"--merge-forms needs simplemma: {EXTRA}.") from error
    best, lemmas = {}, {}
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        if word not in skipped:
            try:
                lemmas[word] = lemmatize(word, lang=language).lower()
            except ValueError as error:
                raise ValueError(f"--merge-forms knows no forms of the words of {language} ({error}).") from error
            best.setdefault(lemmas[word], word)
    return {word: best[lemma] for word, lemma in lemmas.items() if best[lemma] != word}


def phrases_of(texts, tokenizer, skipped):
    """Pairs of adjacent words that form a phrase, joined by underscores, with their numbers of occurrences."""
    words, pairs, last = Counter(), Counter(), None
    for text in texts:
        for word, adjacent in tokenizer.pairs(text):
            words[word] += 1
            if word in skipped:
                last = None
                continue
            if adjacent and last is not None:
                pairs[last, word] += 1
            last = word
        last = None
    total = words.total()
    return {
        f"{a}_{b}": n for (a, b), n in pairs.items()
        if n >= LEAST_COUNT and a != b and log(n * total / (words[a] * words[b])) >= LEAST_STRENGTH * log(total / n)
    }  # fmt: skip


def learn_tokenizer(words, analyzer, texts, languages):
    """Set the forms and phrases of an analyzer for these texts; no phrase contains a skipped word.

    Forms are those of the main language. Each language has its own phrases, since its stop words separate them.
    """
    tokenizer, skipped = analyzer.tokenizer, analyzer.skipped
    rows = rows_by_language(languages, skipped, SAMPLE)

    def prepared(language):
        return (analyzer.prepared(text, language) for text in texts.whole(rows[language]))

    if words.merge_forms:
        main = next(iter(skipped))
        counts = Counter(word for text in prepared(main) for word in tokenizer(text))
        tokenizer.forms = forms_of(counts, main if main in languages else "", skipped[main])
    if words.phrases:
        for language in skipped:
            tokenizer.phrases |= phrases_of(prepared(language), tokenizer, skipped[language])
