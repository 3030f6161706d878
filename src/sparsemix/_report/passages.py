"""Documents that are shown: their beginnings, with the topic of each word."""

import re

import numpy as np

from sparsemix._report.gathering import shares_of

# Characters of a text, or words of a document without one; topics that a document is said to have.
MOST_CHARACTERS, MOST_WORDS, MOST_TOPICS = 1500, 80, 8
LEAST_SHARE = 0.02
RUN = re.compile(r"\w+")


def passages(model, X, rows, feature_names, documents=None, token_pattern=None, lowercase=True):
    """Shares and coloured words of some documents.

    Parameters
    ----------
    model : estimator
    X : CSR matrix of shape (n_documents, n_words)
    rows : ndarray of int
        Which documents.
    feature_names : sequence of str
    documents : sequence of str, default=None
        Texts of all documents; without them there are words with their counts.
    token_pattern : str, default=None
        What is a word of a text.
    lowercase : bool, default=True
        Whether words of the vocabulary are in lower case.

    Returns
    -------
    found : list of dict
        "shares": [topic, share] of the largest topics; "text": pieces that are in turn no word and a word of the
        vocabulary; "topics": the topic of each of the latter.
    """
    if len(rows) == 0:
        return []
    columns = {word: v for v, word in enumerate(feature_names)} if documents is not None else {}
    pattern = RUN if token_pattern is None else re.compile(token_pattern)
    components = model.components_
    totals = components.sum(axis=1, dtype=np.float64)
    found = []
    for row, shares in zip(rows, shares_of(model, X[rows]), strict=True):
        topics = np.argsort(-shares, kind="stable")[:MOST_TOPICS]
        topics = topics[shares[topics] >= min(LEAST_SHARE, shares.max())]
        words = X[row].indices
        belongs = shares[topics, None] * components[np.ix_(topics, words)] / totals[topics, None]
        topic_of = dict(zip(words.tolist(), topics[belongs.argmax(axis=0)].tolist(), strict=True))
        if documents is None:
            text, marks = from_counts(X[row], feature_names, topic_of)
        else:
            text, marks = from_text(documents[int(row)], pattern, columns, topic_of, lowercase)
        found.append({"shares": [[int(k), round(float(shares[k]), 3)] for k in topics], "text": text, "topics": marks})
    return found


def from_text(text, pattern, columns, topic_of, lowercase):
    """Pieces of the beginning of a text, and the topics of its words."""
    cut = len(text) > MOST_CHARACTERS
    text = text[:MOST_CHARACTERS]
    pieces, marks, end = [], [], 0
    for match in pattern.finditer(text):
        word = match[1] if pattern.groups else match[0]
        column = columns.get(word.lower() if lowercase else word)
        if column in topic_of:
            pieces += [text[end : match.start()], match[0]]
            marks.append(topic_of[column])
            end = match.end()
    return [*pieces, text[end:] + (" …" if cut else "")], marks


def from_counts(row, feature_names, topic_of):
    """The most frequent words in the place of a text."""
    order = np.argsort(-row.data, kind="stable")[:MOST_WORDS]
    pieces, marks, before = [], [], ""
    for word, count in zip(row.indices[order], row.data[order], strict=True):
        pieces += [before, str(feature_names[word])]
        marks.append(topic_of[int(word)])
        before = " " if count == 1 else f" ×{count:g} "
    return [*pieces, before + ("…" if len(row.data) > MOST_WORDS else "")], marks
