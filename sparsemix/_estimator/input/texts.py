"""Errors for texts instead of numbers, which name the row and a suitable vectorizer."""

from contextlib import contextmanager

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import columns_of, is_frame

COUNTS = "counts of words; count them with sklearn.feature_extraction.text.CountVectorizer().fit_transform(texts)"
NUMBERS = (
    "rows of numbers; encode categories with sklearn.preprocessing.OneHotEncoder, and texts with a sentence encoder, "
    "or with sklearn.feature_extraction.text.TfidfVectorizer and sklearn.decomposition.TruncatedSVD"
)
SEQUENCES = "numbers of words; make them with sparsemix.skipgram.TokenSequences().fit_transform(texts)"
# Characters of a text that an error quotes.
QUOTED = 30


@contextmanager
def texts_named(estimator, X):
    """Convert an error of the context into one about texts if X contains any."""
    try:
        yield
    except (ValueError, TypeError) as error:
        found = first_text(X)
        if found is None:
            raise
        row, text = found
        where = "X is" if row is None else f"row {row} of X holds"
        shown = repr(text[:QUOTED]) + ("..." if len(text) > QUOTED else "")
        name = type(estimator).__name__
        raise ValueError(f"{where} the text {shown}, and {name} takes {estimator._takes}") from error


def first_text(X):
    """Row (None: X itself) and value of the first string in X that spells no number; None without any."""
    if isinstance(X, (str, bytes)):
        return None, X
    if is_frame(X):
        found = [first_text(np.asarray(column)) for _, column in columns_of(X)]
        return min((each for each in found if each is not None), default=None, key=lambda each: each[0])
    if sparse.issparse(X) or not hasattr(X, "__iter__") or is_numeric(X):
        return None
    for row, cells in enumerate(X):
        for cell in [cells] if isinstance(cells, (str, bytes)) or not hasattr(cells, "__iter__") else cells:
            if isinstance(cell, (str, bytes)) and not is_number(cell):
                return row, cell
    return None


def is_number(text):
    """Whether a string spells a number, as in a CSV file."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_numeric(X):
    """Whether the dtype of X excludes strings."""
    return getattr(getattr(X, "dtype", None), "kind", "O") in "biufc"
