"""Languages of texts by their codes of ISO 639: the model of py3langid, which the extra ``texts`` installs."""

from functools import cache
from importlib.util import find_spec

# Letters of a text that are looked at, from its middle: titles and licences are at its ends.
LOOKED_AT = 800
# A language is recognised at this probability. Of 5,700 texts in 32 languages that did not choose it, 98 % of those
# with 200 letters and more are recognised and 0.04 % mistaken; of those with 4 to 7 words, 80 % and 0.5 %.
LEAST_PROBABILITY = 0.6
# A corpus has a language if it is that of this share of the texts.
LEAST_SHARE = 0.02
EXTRA = "pip install 'sparsemix[texts]'"


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


def language_of(text):
    """The code of the language of a text, or "" if it is not recognised."""
    if model() is None:
        return ""
    start = max(0, (len(text) - LOOKED_AT) // 2)
    # slicing is cheap: texts may have millions of letters
    code, probability = model().classify(text[start : start + LOOKED_AT].lower())
    return codes().get(code, code) if probability > LEAST_PROBABILITY else ""


def main_languages(seen):
    """The languages of a corpus, most frequent first, without those that few texts seem to have.

    Parameters
    ----------
    seen : Counter
        Number of texts of each language; "" for texts without a recognised language.
    """
    least = LEAST_SHARE * seen.total()
    return [language for language, n in seen.most_common() if language and n >= least]
