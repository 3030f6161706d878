"""Stop words: lists of packages, by language, files, and words derived from the corpus."""

from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from sparsemix._commands.reading.formats.files import Tally, lines, on_disk
from sparsemix._commands.reading.words.languages import EXTRA, codes, main_languages, model

# Words that the lists of packages lack.
MORE = {
    "ar": "إلى إذا", "ca": "aquest aquesta del dels fins han més pel seva són", "da": "kan kun ved",
    "de": "falls mehr sei wurde", "id": "untuk", "it": "prima può quando", "nb": "mer", "ro": "această dacă după",
    "en": "does did doing having just isnt arent wasnt werent dont didnt doesnt hadnt havent wont wouldnt shouldnt im "
    "ive youre theyre thats", "tr": "ancak değil göre kadar olan olarak olduğu sonra tarafından var yok",
}  # fmt: skip
# A derived stop word occurs in this share of the documents, and in this share of the number of documents expected if
# its tokens were placed at random: words with a meaning concentrate in few documents.
LEAST_DOCUMENTS, EVENNESS, MOST_WORDS = 0.1, 0.75, 300
# Documents from which stop words are derived, and their least number.
SAMPLE, FEWEST = 5000, 30


def chosen_languages(given, seen):
    """The languages whose stop words are skipped, and the files of further stop words.

    Parameters
    ----------
    given : str or None
        Comma-separated languages, their codes, files, and "auto" for the languages of the texts.
    seen : Counter
        Number of texts of each language; "" for texts without a recognised language.

    Returns
    -------
    languages, files : list of str
    """
    languages, files = [], []
    for name in filter(None, (part.strip() for part in str(given or "").split(","))):
        if name.lower() == "auto":
            languages += main_languages(seen) or ["en"]
        elif name.lower() in codes():
            languages.append(codes()[name.lower()])
        else:
            files.append(name)
    return list(dict.fromkeys(languages)), files


def listed(language):
    """The stop words of a language; None for a language without a list."""
    if language == "en":
        return {*ENGLISH_STOP_WORDS, *MORE["en"].split()}
    from stop_words import LANGUAGE_MAPPING, get_stop_words
    from stopwordsiso import has_lang, stopwords

    if language in LANGUAGE_MAPPING:
        return {*get_stop_words(language), *MORE.get(language, "").split()}
    return stopwords(language) if has_lang(language) else None


def words_of_file(name, encoding):
    """The words of a file, one on each line."""
    if not Path(name).exists() and name != "-":
        known = "auto, none, a file, or a language such as de or german" + ("" if model() else f", which needs {EXTRA}")
        raise ValueError(f"--stop-words {name!r} is neither a file nor a language; give {known}.")
    with on_disk(name) as path:
        return [line.lower() for _, line in lines(path, encoding, Tally())]


def derived(documents, analyze):
    """Stop words of documents in one language: frequent words that are spread evenly.

    Parameters
    ----------
    documents : iterable of str
    analyze : callable
        Splits a text into words.
    """
    tokens, spread, lengths = Counter(), Counter(), []
    for text in documents:
        words = Counter(analyze(text))
        tokens.update(words)
        spread.update(words.keys())
        lengths.append(words.total())
    if len(lengths) < FEWEST:
        return set()
    # without clustering, the tokens of a word are a Poisson process
    rates = np.array(lengths) / max(1, sum(lengths))
    return {
        word for word, n in tokens.most_common(MOST_WORDS)
        if spread[word] >= max(LEAST_DOCUMENTS * len(lengths), -EVENNESS * np.expm1(-n * rates).sum())
    }  # fmt: skip


def find_stop_words(given, encoding, texts, analyze):
    """The stop words of the option for these texts, and a sentence on where they come from.

    Parameters
    ----------
    given : str or None
    encoding : str
    texts : Texts
        With the language of each.
    analyze : callable
        Splits a text into words.

    Returns
    -------
    words : set of str
    told : str
    """
    languages, files = chosen_languages(given, Counter(texts.languages))
    words, sources = set(), [*files]
    for name in files:
        words.update(words_of_file(name, encoding))
    for language in languages:
        found, source = listed(language), language
        if found is None:
            rows = np.flatnonzero([name == language for name in texts.languages])
            rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE)).astype(int)]
            found = derived(texts.whole(rows.tolist()), analyze)
            source = f"{language} ({len(found)} words, from the corpus)"
        words |= found
        sources.append(source)
    if model() is None and languages:
        sources[-1] += f" (for other languages, {EXTRA})"
    return words, ", ".join(sources) or "none"
