"""Stop words: by language, from a file, or derived from the corpus."""

from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from sparsemix._commands.reading.formats.files import Tally, lines, on_disk
from sparsemix._commands.reading.words.languages import CODES, function_words, main_languages

# Words of English that scikit-learn's list lacks.
MORE_ENGLISH = (
    "does did doing having just isnt arent wasnt werent dont didnt doesnt hadnt havent wont wouldnt shouldnt im ive "
    "youre theyre thats"
)
# A derived stop word occurs in this share of the documents, and in this share of the number of documents expected if
# its tokens were placed at random: words with a meaning concentrate in few documents. In German manual pages this finds
# 77 of the 80 stop words among the 300 most frequent words, and as many words of standard licence texts.
LEAST_DOCUMENTS, EVENNESS, MOST_WORDS = 0.1, 0.75, 300
# Documents from which stop words are derived, and their least number.
SAMPLE, FEWEST = 5000, 30
EXTRA = "pip install 'sparsemix[texts]'"


def chosen_languages(given, seen):
    """The languages whose stop words are skipped, and the files of others.

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
        plain = CODES.get(name.lower(), name.lower())
        if plain == "auto":
            languages += main_languages(seen) or ["english"]
        elif plain in CODES.values():
            languages.append(plain)
        else:
            files.append(name)
    return list(dict.fromkeys(languages)), files


def listed(language):
    """The stop words of a language and their source; None for a language without a list."""
    if language == "english":
        return sorted(ENGLISH_STOP_WORDS.union(MORE_ENGLISH.split())), "scikit-learn"
    try:
        from stop_words import LANGUAGE_MAPPING, get_stop_words
    except ImportError:
        return None
    if language not in LANGUAGE_MAPPING.values():
        return None
    return [*get_stop_words(language), *function_words(language)], "stop-words"


def words_of_file(name, encoding):
    """The words of a file, one on each line."""
    if not Path(name).exists() and name != "-":
        languages = ", ".join(sorted(set(CODES.values())))
        raise ValueError(f"--stop-words {name!r} is neither a file nor one of: auto, none, {languages}.")
    with on_disk(name) as path:
        return [line.lower() for _, line in lines(path, encoding, Tally())]


def derived(documents, analyze):
    """Stop words of a sample of documents in one language: frequent words that are spread evenly.

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
        return []
    lengths = np.array(lengths, dtype=np.float64)
    frequent = [word for word, _ in tokens.most_common(MOST_WORDS) if spread[word] >= LEAST_DOCUMENTS * len(lengths)]
    rates = {word: tokens[word] / lengths.sum() for word in frequent}
    # without clustering, the tokens of a word are a Poisson process
    expected = {word: -np.expm1(-rate * lengths).sum() for word, rate in rates.items()}
    return sorted(word for word, n in expected.items() if spread[word] > EVENNESS * n)


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
    words : list of str, or None
    told : str
    """
    languages, files = chosen_languages(given, Counter(texts.languages))
    words, sources = set(), []
    for name in files:
        words.update(words_of_file(name, encoding))
        sources.append(name)
    for language in languages:
        if (found := listed(language)) is not None:
            words.update(found[0])
            sources.append(language)
            continue
        rows = [i for i, name in enumerate(texts.languages) if name == language]
        rows = [rows[i] for i in np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE)).astype(int)]
        own, few = derived(texts.whole(rows), analyze), function_words(language)
        words.update(own, few)
        sources.append(f"{language} ({len(few)} function words, {len(own)} of the corpus; for a whole list, {EXTRA})")
    return sorted(words) or None, ", ".join(sources) or "none"
