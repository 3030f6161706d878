"""Languages of texts by their codes of ISO 639, and their stop words: by packages that the extra ``texts`` installs."""

import unicodedata
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from sparsemix.texts._reading.formats.files import Tally, lines, on_disk
from sparsemix.texts._reading.words.vectorizers import composed_lower

# Letters of a text that are looked at, from its middle: titles and licences are at its ends.
LOOKED_AT = 800
# A language is recognised at this probability. Of 5,700 texts in 32 languages that did not choose it, 98 % of those
# with 200 letters and more are recognised and 0.04 % mistaken; of those with 4 to 7 words, 80 % and 0.5 %.
LEAST_PROBABILITY = 0.6
# Likeliest languages of a text that are kept until the shares of all are learned; rounds of EM, and when it ends.
KEPT, MOST_ROUNDS, CONVERGED, TINY = 5, 100, 1e-6, 1e-300
# A language has a share if this part of its texts is recognised without the shares: 0.4 and more in corpora of known
# languages, 0.21 for texts of 1 to 3 words. In 17 of 21 corpora in ciphers no frequent language has that.
LEAST_SHOWN = 0.2
# A corpus has a language if it is that of this share of the texts.
LEAST_SHARE = 0.02
# Words of the corpus that the summary shows.
SHOWN = 5
EXTRA = "pip install 'sparsemix[texts]'"
# Languages of which stop-words lists a third of what stopwordsiso lists, and less.
SHORT_LISTS = ("ja", "zh")
# Words that the list of scikit-learn lacks.
MORE = (
    "does did doing having just isnt arent wasnt werent dont didnt doesnt hadnt havent wont wouldnt shouldnt im ive "
    "youre theyre thats"
)


@cache
def model():
    """The model of languages with a code of two letters; None without the extra."""
    if not all(map(find_spec, ("py3langid", "stop_words", "stopwordsiso"))):
        return None
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages([code for code in found.labels if len(code) == 2])
    return found


@cache
def codes():
    """The codes of languages by their codes and names; only that of English without the extra."""
    if model() is None:
        return {"en": "en", "english": "en"}
    from stop_words import LANGUAGE_MAPPING

    names = {name: code for code, name in LANGUAGE_MAPPING.items()}
    return {code: code for code in (*model().labels, *names.values())} | names | {"no": "nb"}


def code_of(given):
    """The code of the language of --language, or "unknown", which no text has; None for None."""
    if given is None:
        return None
    if model() is None:
        raise ValueError(f"--language needs packages that recognise languages: {EXTRA}.")
    return codes().get(given.lower(), "unknown")


@cache
def known():
    """Codes of the languages of the model."""
    return np.array([codes().get(label, label) for label in model().nb_classes], dtype=object)


def likelihoods_of(text):
    """Likelihoods of the known languages, which sum to 1; None for a text without letters, or without the extra."""
    start = max(0, (len(text) - LOOKED_AT) // 2)
    # slicing is cheap: texts may have millions of letters
    text = composed_lower(text[start : start + LOOKED_AT])
    # rank() takes half as long again, since it sorts pairs of names and numbers
    return model()._decide(text) if model() is not None and any(map(str.isalpha, text)) else None


def likeliest(text):
    """Numbers of the likeliest languages of a text, then their likelihoods; zeros where there are none."""
    if (likelihoods := likelihoods_of(text)) is None:
        return [0] * 2 * KEPT
    numbers = (-likelihoods).argsort(kind="stable")[:KEPT]
    return numbers.tolist() + likelihoods[numbers].tolist()


def language_of(text, shares=1):
    """The code of the language of a text in a corpus with these shares of languages, or "" if it is not recognised."""
    if (likelihoods := likelihoods_of(text)) is None:
        return ""
    weights = likelihoods * shares
    best = weights.argmax()
    return known()[best] if weights[best] > LEAST_PROBABILITY * weights.sum() else ""


def shares_of(numbers, likelihoods, rest):
    """The shares of the languages in a corpus, which is a mixture of them, by EM.

    ``rest`` is the likelihood of each language that is not kept. The share of a language that is hardly recognised
    without the shares goes to all languages in equal parts: it may only be the nearest one to texts in none.
    """
    size, n = len(known()), max(1, np.count_nonzero(likelihoods[:, 0]))
    shares = np.full(size, 1 / size)
    for _ in range(MOST_ROUNDS):
        weights = (likelihoods - rest) * shares[numbers]
        total = np.maximum(weights.sum(axis=1, keepdims=True) + rest, TINY)  # 0 for a text without letters
        kept = np.bincount(numbers.ravel(), (weights / total).ravel(), size)
        last, shares = shares, (kept + shares * (rest / total).sum()) / n
        if np.abs(shares - last).max() < CONVERGED:
            break
    shown = np.bincount(numbers[likelihoods[:, 0] > LEAST_PROBABILITY, 0], minlength=size)
    shares[shown < LEAST_SHOWN * n * shares] = 0
    return shares + max(0, 1 - shares.sum()) / size


def languages_of(scores):
    """The code of the language of each text of a corpus, or "", from the ``likeliest`` of each; and their shares."""
    if model() is None:
        return [""] * (len(scores) // (2 * KEPT)), 1
    numbers, likelihoods = np.reshape(scores, (-1, 2, KEPT)).astype(float).transpose(1, 0, 2)
    numbers, sums = numbers.astype(int), likelihoods.sum(axis=1, keepdims=True)
    rest = np.maximum((sums > 0) - sums, 0) / (len(known()) - KEPT)
    shares = shares_of(numbers, likelihoods, rest)
    total = ((likelihoods - rest) * shares[numbers]).sum(axis=1) + rest[:, 0]
    # of the languages that are not kept, only the one with the largest share can be recognised
    numbers = np.insert(numbers, KEPT, shares.argmax(), axis=1)
    weights = np.hstack([likelihoods, rest]) * shares[numbers]
    best = known()[numbers[np.arange(len(numbers)), weights.argmax(axis=1)]]
    return np.where(weights.max(axis=1) > LEAST_PROBABILITY * total, best, "").tolist(), shares


def main_languages(seen):
    """The languages of a corpus, from their counts, most frequent first, without those that few texts seem to have."""
    least = LEAST_SHARE * seen.total()
    return [language for language, n in seen.most_common() if language and n >= least]


def numbers_of(seen, most=None):
    """The languages of a corpus, or the most frequent ones, with their numbers of texts."""
    found = [f"{language or 'not recognised'} {n:,}" for language, n in seen.most_common()]
    return ", ".join(found[:most] + ([f"{len(found[most:])} more"] if most and found[most:] else []))


def chosen_languages(given):
    """Named languages and files with stop words of a list separated by commas, and whether it has "auto"."""
    languages, files, auto = [], [], False
    for name in filter(None, (part.strip() for part in str(given or "").split(","))):
        if name.lower() == "auto":
            auto = True
        elif name.lower() in codes():
            languages.append(codes()[name.lower()])
        else:
            files.append(name)
    return list(dict.fromkeys(languages)), files, auto


def listed(language):
    """The stop words of a language; None for a language without a list."""
    if language == "en":
        return {*ENGLISH_STOP_WORDS, *MORE.split()}
    from stop_words import LANGUAGE_MAPPING, get_stop_words
    from stopwordsiso import has_lang, stopwords

    if language not in LANGUAGE_MAPPING and not has_lang(language):
        return None
    other = language in SHORT_LISTS or language not in LANGUAGE_MAPPING
    words = stopwords(language) if other else get_stop_words(language)
    return set(map(composed_lower, words)) - {""}


def words_of_file(name, encoding):
    """The words of a file, one on each line."""
    if not Path(name).exists() and name != "-":
        known = "auto, none, a file, or a language such as de or german" + ("" if model() else f", which needs {EXTRA}")
        raise ValueError(f"--stop-words {name!r} is neither a file nor a language; give {known}.")
    with on_disk(name) as path:
        return [composed_lower(line) for _, line in lines(path, encoding, Tally())]


def script_of(word):
    """The script of the first letter of a word, such as "LATIN"."""
    return unicodedata.name(word[0], "").partition(" ")[0]


def with_foreign_words(lists):
    """The stop words of each language, and those of English and other ones in scripts that its own words lack."""
    every = listed("en").union(*lists.values())
    for language, words in lists.items():
        scripts = set(map(script_of, words))
        yield language, words | {word for word in every if words and script_of(word) not in scripts}


def find_stop_words(given, encoding, languages, learned):
    """The stop words of texts by their language, the main one first, and a sentence on where they come from.

    "auto" skips in a text the words of its language, and those of English and the other languages of the corpus in
    other scripts: a Japanese text may have English parts. Words of named languages and files are for all texts.
    Where no list helps, ``learned`` has words of the corpus; without the extra, English words are skipped in all texts.
    """
    named, files, auto = chosen_languages(given)
    mains = main_languages(Counter(languages)) or ["" if model() else "en"]
    lists, sources = {}, [*files]
    for language in dict.fromkeys([*named, *(mains if auto else [])]):
        lists[language], source = listed(language), language or "language not recognised"
        if lists[language] is None:
            found = learned(language, mains) if language in mains else []
            found = [word for word in found if script_of(word) == script_of(found[0])]
            kept = f"such as {', '.join(found[:SHOWN])}; --stop-words none keeps them"
            words = f": {len(found)} words of the corpus, {kept}" if found else ""
            lists[language], source = set(found), f"{source} (no list{words})"
        sources.append(source)
    common = {word for name in files for word in words_of_file(name, encoding)}
    common = common.union(*(lists[language] for language in named))
    own = with_foreign_words({language: lists[language] if auto else set() for language in mains})
    skipped = {language: common | words for language, words in own}
    if model() is None and lists:
        sources[-1] += f" (for other languages, {EXTRA})"
    if auto and len(mains) > 1:
        sources[-1] += " (each for its own texts)"
    return skipped, ", ".join(sources) or "none"
