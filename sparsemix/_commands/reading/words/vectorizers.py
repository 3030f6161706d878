"""Vectorizers: of the options, of the user, and of the vocabulary of given counts."""

import re

import joblib
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from sparsemix._commands.reading.words.cleaning import cleaned, cleaned_lower, composed, composed_lower
from sparsemix._commands.reading.words.patterns import PATTERNS, any_word, marks, token_pattern
from sparsemix.datasets._bag_of_words import read_vocabulary
from sparsemix.skipgram import TokenSequences

# Python tries the alternatives of a pattern one by one: with more alternatives, counting would take minutes.
MOST_ODD = 2000
# Patterns of words, whose texts are cleaned. A pattern of the user's own finds everything that is in a text.
CLEANED = ("letters", "words")


class ComposedVectorizer(CountVectorizer):
    """Count words of texts in composed characters: "é" is one character, and so is a full-width letter."""

    def decode(self, doc):
        """Decode a text and compose its characters."""
        return composed(super().decode(doc))


class CleanedVectorizer(CountVectorizer):
    """Count words of texts without addresses, English contractions, and tags and entities of HTML."""

    def decode(self, doc):
        """Decode a text and clean it."""
        return cleaned(super().decode(doc))


# Vectorizers whose words follow from a pattern.
BY_PATTERN = (CountVectorizer, ComposedVectorizer, CleanedVectorizer, TokenSequences)


def make_vectorizer(words):
    """The vectorizer of the options, without stop words: it counts words, or numbers them in their order."""
    if words.vectorizer is not None:
        return load_vectorizer(words.vectorizer, words.gaps is not None)
    vocabulary, plain = words.vocabulary, words.token_pattern in CLEANED
    if vocabulary is not None:
        vocabulary = checked_words([composed(word) for word in read_vocabulary(vocabulary)], vocabulary)
    options = {
        "token_pattern": token_pattern(words.token_pattern), "min_df": words.min_df, "max_df": words.max_df,
        "vocabulary": vocabulary,
    }  # fmt: skip
    if words.gaps is None:
        cls = CleanedVectorizer if plain else ComposedVectorizer
        return cls(dtype=np.float32, **options)
    return TokenSequences(gaps=words.gaps, preprocessor=cleaned_lower if plain else composed_lower, **options)


def load_vectorizer(path, in_order=False):
    """Load the user's vectorizer, fitted or not."""
    try:
        vectorizer = joblib.load(path)
    except FileNotFoundError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"--vectorizer {path} is not a pickle that can be loaded ({reason}).") from error
    needed = "fit_transform", "transform", "get_feature_names_out"
    missing = [name for name in needed if not hasattr(vectorizer, name)]
    if missing:
        raise ValueError(f"--vectorizer {path} holds a {type(vectorizer).__name__}, which has no method {missing[0]}.")
    if isinstance(vectorizer, TokenSequences) != in_order:
        wanted = "TokenSequences" if in_order else "a vectorizer that counts words"
        raise ValueError(
            f"--vectorizer {path} holds a {type(vectorizer).__name__}, but the --estimator needs {wanted}."
        )
    return vectorizer


def is_fitted(vectorizer):
    """Whether the vectorizer has a vocabulary."""
    try:
        check_is_fitted(vectorizer)
    except (TypeError, ValueError, AttributeError):  # NotFittedError is a subclass of the last two
        return False
    return True


def preparer_of(vectorizer):
    """The function with which a vectorizer of the options cleans a text before it finds words."""
    counter = vectorizer._counter() if isinstance(vectorizer, TokenSequences) else vectorizer
    decode, preprocess = counter.decode, counter.build_preprocessor()
    return lambda text: preprocess(decode(text))


def pattern_of(vectorizer):
    """The token pattern of a vectorizer, also if a tokenizer of the command applies it."""
    return getattr(vectorizer.tokenizer, "pattern", vectorizer.token_pattern)


def vectorizer_of(words):
    """A vectorizer that counts all of these words in new texts."""
    words, cls = checked_words(words, "The vocabulary"), ComposedVectorizer
    if len({composed(word) for word in words}) == len(words):
        words = [composed(word) for word in words]
    else:  # two words differ only in how their characters are composed
        cls = CountVectorizer
    whole = re.compile(any_word())
    odd = sorted((word for word in words if not whole.fullmatch(word)), key=len, reverse=True)
    pattern = any_word()
    if len(odd) > MOST_ODD:
        pattern = PATTERNS["spaces"]()
    elif odd:
        inside = rf"[\w{marks()}]"
        pattern = rf"(?<!{inside})(?:{'|'.join(map(re.escape, odd))})(?!{inside})|{pattern}"
    lowercase = all(word == word.lower() for word in words)
    return cls(token_pattern=pattern, vocabulary=words, dtype=np.float32, lowercase=lowercase)


def checked_words(words, source):
    """The words as a list, after a check that no word occurs twice."""
    distinct, counts = np.unique(words, return_counts=True)
    if len(words) == 0 or counts.max() > 1:
        twice = "no words" if len(words) == 0 else f"'{distinct[counts.argmax()]}' twice"
        raise ValueError(f"{source} has {twice}; list every word once, in the order of the columns.")
    return list(words)
