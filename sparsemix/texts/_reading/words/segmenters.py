"""Words of scripts without spaces between words: by packages that the extra ``segmenters`` installs."""

from functools import cache
from importlib.util import find_spec

from sparsemix.texts._reading.words.vectorizers import UNSPACED_RUN

EXTRA = "pip install 'sparsemix[segmenters]'"
# The packages by language; the first one splits texts, the second one is its dictionary.
PACKAGES = {"zh": ("rjieba",), "ja": ("fugashi", "unidic_lite")}


def is_installed(language):
    """Whether there is a segmenter of this language."""
    return language in PACKAGES and all(map(find_spec, PACKAGES[language]))


@cache
def segmenter(language):
    """The function that splits a run of letters into words."""
    if not is_installed(language):
        raise ImportError(f"The words of texts in {language} need {PACKAGES[language][0]}: {EXTRA}.")
    if language == "zh":
        from rjieba import cut

        return cut
    from fugashi import Tagger

    tagger = Tagger()
    return lambda run: [word.surface for word in tagger(run)]


def segmented(text, language):
    """The text with a space between the words of scripts without spaces."""
    cut = segmenter(language)
    return UNSPACED_RUN.sub(lambda run: f" {' '.join(cut(run[0]))} ", text)
