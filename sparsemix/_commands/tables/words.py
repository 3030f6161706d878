"""words.csv of models of word sequences: counts, topics and similar words of each word."""

import numpy as np

from sparsemix._commands.outputs import cell
from sparsemix._engine.blocks import spans
from sparsemix.skipgram._vectors import nearest

WORD_COLUMNS = ["word", "count", "topics", "similar_words"]
# Topics of a word: smallest share and maximal number. Number of similar words.
LEAST_SHARE, MOST_TOPICS, NEIGHBOURS = 0.01, 10, 10
# Words per search for neighbours.
BLOCK = 1024


def word_rows(model, corpus):
    """Yield a row for each word, most frequent first: its count, its largest topics (its senses), its neighbours."""
    names, shares, vectors = corpus.feature_names, model.word_topics_, model.word_vectors_
    counts = np.asarray(corpus.counts.sum(axis=0), dtype=np.float64).ravel()
    order, known = np.argsort(-counts, kind="stable"), model._known()
    for start, stop in spans(len(order), BLOCK):
        near, _ = nearest(vectors, order[start:stop], NEIGHBOURS, known)
        for v, similar in zip(order[start:stop], near, strict=True):
            topics = np.argsort(-shares[v], kind="stable")[:MOST_TOPICS]
            listed = [k for k in topics if shares[v, k] >= LEAST_SHARE] or topics[:1]
            yield [
                cell(names[v]), f"{counts[v]:g}", " ".join(f"{k}:{shares[v, k]:.3f}" for k in listed),
                cell(" ".join(names[w] for w in similar)),
            ]  # fmt: skip
