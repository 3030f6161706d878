"""Docstrings of numpy, scipy and scikit-learn, a corpus that every installation has."""

import ast
import gc
import importlib.util
import re
import warnings
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch

from sparsemix._estimator.parameters import plain_arguments

PACKAGES = ("numpy", "scipy", "sklearn")
MIN_WORDS = 20
WORD = re.compile(r"[a-z]{3,}")
# A prompt and all lines up to the next empty line.
DOCTEST = re.compile(r"^[ \t]*>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@plain_arguments
def load_docstrings(*, min_df: float = 5, max_df: float = 0.5) -> Any:
    """Load the docstrings of numpy, scipy and scikit-learn as word counts.

    A real corpus without a download, for examples and first experiments with topic models: some six thousand
    documents, read in four to six seconds. Documents and words depend on the installed versions.

    The installed sources are parsed, not imported. A document is the docstring of a module, class, function or
    method, public or private, with at least twenty words; tests are skipped. Examples (``>>>``) are removed. Words are
    runs of three or more letters in lower case, without scikit-learn's English stop words. Of documents with the same
    text, the first is kept.

    Parameters
    ----------
    min_df : int or float, default=5
        Smallest number (int) or fraction (float) of documents with a word; rarer words are dropped.
    max_df : float or int, default=0.5
        Largest fraction (float) or number (int) of documents with a word; more frequent words are dropped.

    Returns
    -------
    docstrings : :class:`~sklearn.utils.Bunch`
        With these attributes:

        data : CSR matrix of shape (n_documents, n_words), float32
            Counts; no document is empty.
        feature_names : ndarray of shape (n_words,)
            The words, sorted.
        names : ndarray of shape (n_documents,)
            Qualified names of the documented objects, sorted.
        texts : list of str
            The docstrings without their examples, for models of word sequences.

    Raises
    ------
    ValueError
        If ``min_df`` and ``max_df`` leave no word.

    Examples
    --------
    >>> from sparsemix.datasets import load_docstrings
    >>> docstrings = load_docstrings()
    >>> docstrings.data.shape == (len(docstrings.names), len(docstrings.feature_names))
    True
    >>> "eigenvalues" in docstrings.feature_names
    True
    """
    names, texts = distinct(sorted(chain.from_iterable(map(docstrings_of_package, PACKAGES))))
    vectorizer = CountVectorizer(
        token_pattern=WORD.pattern, stop_words="english", min_df=min_df, max_df=max_df, dtype=np.float32
    )
    counts = vectorizer.fit_transform(texts)
    kept = np.flatnonzero(np.diff(counts.indptr))
    return Bunch(
        data=counts[kept], feature_names=vectorizer.get_feature_names_out(), names=np.array(names)[kept],
        texts=[texts[d] for d in kept],
    )  # fmt: skip


def distinct(documents):
    """Names and texts of documents that are long enough, without duplicates."""
    first = {}
    for name, text in documents:
        text = DOCTEST.sub("", text)
        if len(words := WORD.findall(text.lower())) >= MIN_WORDS:
            first.setdefault(tuple(words), (name, text))
    return [name for name, _ in first.values()], [text for _, text in first.values()]


def docstrings_of_package(package):
    """Qualified names and docstrings in the installed sources of a package."""
    (folder,) = importlib.util.find_spec(package).submodule_search_locations
    for path in Path(folder).rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        if "tests" not in parts:
            yield from docstrings_of_file(path, ".".join([package, *parts]).removesuffix(".__init__"))


def docstrings_of_file(path, module):
    """Docstrings of a module and of all its definitions."""
    with warnings.catch_warnings(), without_collections():
        # New versions of Python warn of escapes in other packages' sources.
        warnings.simplefilter("ignore")
        tree = ast.parse(path.read_bytes())
    yield from docstrings_of_node(tree, module)
    for statement in tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield from added_docstring(statement.value, module)


@contextmanager
def without_collections():
    """Collect no garbage meanwhile: a syntax tree has none, and looking for it takes as long as parsing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def docstrings_of_node(node, name):
    """The docstring of a node, then those of the definitions in its body."""
    if text := ast.get_docstring(node, clean=False):
        yield name, text
    for child in node.body:
        if isinstance(child, DEFINITIONS):
            yield from docstrings_of_node(child, f"{name}.{child.name}")


def added_docstring(call, module):
    """The docstring that ``add_newdoc(..., name, text)`` gives to a compiled function."""
    function = getattr(call.func, "id", getattr(call.func, "attr", ""))
    strings = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if function.endswith("add_newdoc") and len(strings) > 1:
        yield f"{module}.{strings[-2]}", strings[-1]
