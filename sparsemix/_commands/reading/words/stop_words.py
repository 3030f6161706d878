"""Stop words: lists of packages, by language, and files."""

from collections import Counter
from pathlib import Path

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


def chosen_languages(given, seen):
    """Languages whose stop words are skipped, and files of further ones, from a list separated by commas.

    "auto" means the languages of the texts, whose numbers are in ``seen``.
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


def find_stop_words(given, encoding, languages):
    """The stop words of the option, and a sentence on where they come from.

    Parameters
    ----------
    given : str or None
    encoding : str
    languages : list of str
        Of the texts.
    """
    chosen, files = chosen_languages(given, Counter(languages))
    words, sources = {word for name in files for word in words_of_file(name, encoding)}, [*files]
    for language in chosen:
        found = listed(language)
        words |= found or set()
        sources.append(language if found is not None else f"{language} (no list)")
    if model() is None and chosen:
        sources[-1] += f" (for other languages, {EXTRA})"
    return words, ", ".join(sources) or "none"
