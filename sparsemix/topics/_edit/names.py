"""Names of topics by a function of the user, such as a call of a language model."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.utils import Bunch

from sparsemix._estimator.input.forms import numbers_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import RowsLike
from sparsemix.metrics import distinctive_words
from sparsemix.metrics._checks import read_topics
from sparsemix.metrics._typical import typical_documents

PROMPT = """Give a short name to a topic of a collection of documents.

The words by which the topic differs most from the other topics, first the most distinctive one:
{words}
{passages}
Answer with the name only: at most five words, in the language of the words above."""
PASSAGES = """
Beginnings of the documents with most of the topic:
{}
"""


@plain_arguments
def name_topics(
    model: Any,
    function: Callable[[Any], str],
    vocabulary: Any,
    X: RowsLike | None = None,
    texts: Sequence[str] | None = None,
    *,
    n_top_words: int = 15,
    n_documents: int = 3,
    n_characters: int = 500,
) -> list[str]:
    """Name each topic by a function, which gets its words, its most typical documents and a prompt.

    The function may ask a language model, a person or a dictionary. This package calls no service.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``components_`` and, for texts, ``transform``; scikit-learn's too.
    function : callable
        Called once for each topic with a :class:`~sklearn.utils.Bunch`, whose attributes are "topic" (its index),
        "words" (list of str), "passages" (list of str, the beginnings of typical documents) and "prompt" (str, a
        request for a name with these words and passages). It returns the name.
    vocabulary : array-like of shape (n_features,) or vectorizer
        The words, or the vectorizer that counted them (any object with ``get_feature_names_out``).
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Input of ``transform`` for the texts. None gives the function words alone.
    texts : sequence of str of length n_samples, default=None
        The text of each row of X.
    n_top_words : int, default=15
        Words per topic, as :func:`sparsemix.metrics.distinctive_words` sorts them.
    n_documents : int, default=3
        Number of passages: from the documents in which the topic has its largest shares.
    n_characters : int, default=500
        Maximal length of a passage.

    Returns
    -------
    names : list of str, of length n_components
        One line each, without quotes around it. Where several topics get one name, each has one of its words behind
        it, in brackets, that they do not share. ``Report.rename`` takes this list.

    Raises
    ------
    ValueError
        For a name that is empty or no string, X without texts, and numbers of words or texts that do not fit.
    RuntimeError
        If the function raises an exception; the message names the topic.

    See Also
    --------
    sparsemix.metrics.distinctive_words : The words that the function gets.
    sparsemix.representative_documents : The documents whose passages the function gets.

    References
    ----------
    Lau, Grieser, Newman, Baldwin (2011). "Automatic Labelling of Topic Models", ACL.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.topics import name_topics
    >>> X = np.repeat([[5, 4, 0, 0], [0, 0, 6, 3]], 50, axis=0)
    >>> lda = SparseSCVB0LDA(2, random_state=0).fit(X)
    >>> words = ["river", "lake", "apple", "pear"]
    >>> sorted(name_topics(lda, lambda topic: " and ".join(topic.words[:2]), words))
    ['apple and pear', 'river and lake']
    """
    n_topics, n_words = read_topics(model, "model").shape
    if hasattr(vocabulary, "get_feature_names_out"):
        vocabulary = vocabulary.get_feature_names_out()
    if len(vocabulary) != n_words:
        raise ValueError(f"vocabulary has {len(vocabulary)} words but topics have {n_words}; give a word for each")
    listed = [[str(vocabulary[v]) for v in row] for row in distinctive_words(model, min(n_top_words, n_words))]
    passages = passages_of(model, X, texts, n_documents, n_characters) or [[]] * n_topics
    names = []
    for k, (words, shown) in enumerate(zip(listed, passages, strict=True)):
        numbered = "\n".join(f"{i}. {text}" for i, text in enumerate(shown, start=1))
        prompt = PROMPT.format(words=", ".join(words), passages=PASSAGES.format(numbered) if shown else "")
        topic = Bunch(topic=k, words=list(words), passages=list(shown), prompt=prompt)
        try:
            name = function(topic)
        except Exception as error:
            raise RuntimeError(f"function failed for topic {k} ({type(error).__name__}: {error})") from error
        line = one_line(name).strip("\"'“”„‘’«» ") if isinstance(name, str) else ""
        if not line:
            raise ValueError(f"function returned {name!r} for topic {k}; return a name, a string that is not empty")
        names.append(line)
    return distinct(names, listed)


def passages_of(model, X, texts, n_documents, n_characters):
    """Beginnings of the most typical documents of each topic; None without texts."""
    if (X is None) != (texts is None):
        raise ValueError("X and texts belong together; give both, or none of them")
    if texts is None:
        return None
    X, texts = numbers_of(X), list(texts)
    if len(texts) != X.shape[0]:
        raise ValueError(f"texts has {len(texts)} entries but X has {X.shape[0]} rows; give a text for each row")
    short = [[one_line(str(texts[row])) for row in rows] for rows in typical_documents(model, X, n_documents).documents]
    return [[text if len(text) <= n_characters else text[:n_characters] + " …" for text in each] for each in short]


def one_line(text):
    """The text in one line."""
    return " ".join(text.split())


def distinct(names, listed):
    """Names that differ: topics of one name get the first of their words that these topics do not share."""
    groups, found = defaultdict(list), list(names)
    for k, name in enumerate(names):
        groups[name.casefold()].append(k)
    for same in (group for group in groups.values() if len(group) > 1):
        for k in same:
            common = {word for other in same if other != k for word in listed[other]}
            found[k] = f"{names[k]} ({next((word for word in listed[k] if word not in common), k)})"
    return found
