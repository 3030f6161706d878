"""Documents shown in the report: their beginnings, with the topic of each word."""

import re

import numpy as np

from sparsemix.extend import shares_of
from sparsemix.texts._report.dates import is_blank

# Characters of a text; words of a document without text; topics listed for a document.
MOST_CHARACTERS, MOST_WORDS, MOST_TOPICS = 1500, 80, 8
LEAST_SHARE = 0.02
RUN = re.compile(r"\w+")


def passages(model, X, rows, feature_names, documents=None, token_pattern=None, lowercase=True):
    """Topic shares and coloured words of some documents; without a text, the words and their counts.

    For each document "shares" has [topic, share] of the largest topics; "text" alternating pieces, first text that is
    not in the vocabulary, then a word of the vocabulary; "topics" the topic of each such word.
    """
    if len(rows) == 0:
        return []
    columns = {word: v for v, word in enumerate(feature_names)} if documents is not None else {}
    pattern = RUN if token_pattern is None else re.compile(token_pattern)
    components = model.components_
    totals = components.sum(axis=1, dtype=np.float64)
    found = []
    for row, shares in zip(rows.tolist(), shares_of(model, X.rows[rows]), strict=True):
        topics = np.argsort(-shares, kind="stable")[:MOST_TOPICS]
        topics = topics[shares[topics] >= min(LEAST_SHARE, shares.max())]
        document = X.rows[[row]]
        if X.in_order:
            words, counts = document.data.astype(np.int64) - 1, np.ones(document.nnz)
            topic_of = InOrder(words.tolist(), model.transform_words(document, n_nonzero=1).indices.tolist())
        else:
            words, counts = document.indices, document.data
            belongs = shares[topics, None] * components[np.ix_(topics, words)] / totals[topics, None]
            topic_of = dict(zip(words.tolist(), topics[belongs.argmax(axis=0)].tolist(), strict=True)).get
        if documents is None or is_blank(documents[row]):
            text, marks = from_counts(words, counts, feature_names, topic_of)
        else:
            text, marks = from_text(documents[row], pattern, columns, topic_of, lowercase)
        found.append({"shares": [[int(k), round(float(shares[k]), 3)] for k in topics], "text": text, "topics": marks})
    return found


class InOrder:
    """Topics of the words of a document. Call it with the words in their order: each occurrence has a topic.

    A word out of order, as in a text that was not part of the fit, gets the topic that it has elsewhere in the
    document.
    """

    def __init__(self, words, topics):
        self.words, self.topics, self.at = words, topics, 0
        self.anywhere = dict(zip(words, topics, strict=True))

    def __call__(self, word):
        if self.at < len(self.words) and self.words[self.at] == word:
            self.at += 1
            return self.topics[self.at - 1]
        return self.anywhere.get(word)


def from_text(text, pattern, columns, topic_of, lowercase):
    """The beginning of a text, in pieces, and the topics of its words."""
    cut = len(text) > MOST_CHARACTERS
    text = text[:MOST_CHARACTERS]
    pieces, marks, end = [], [], 0
    for match in pattern.finditer(text):
        word = match[1] if pattern.groups else match[0]
        column = columns.get(word.lower() if lowercase else word)
        topic = None if column is None else topic_of(column)
        if topic is not None:
            pieces += [text[end : match.start()], match[0]]
            marks.append(topic)
            end = match.end()
    return [*pieces, text[end:] + (" …" if cut else "")], marks


def from_counts(words, counts, feature_names, topic_of):
    """Pieces for a document without text: its most frequent words, or its words in order."""
    order = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    pieces, marks, before = [], [], ""
    for word, count in zip(words[order].tolist(), counts[order], strict=True):
        pieces += [before, str(feature_names[word])]
        marks.append(topic_of(word))
        before = " " if count == 1 else f" ×{count:g} "
    return [*pieces, before + ("…" if len(words) > MOST_WORDS else "")], marks
