"""Relevance of words to a topic: between frequency in the topic and distinctiveness."""

from math import log

import numpy as np

# Positions of the slider. The list of words is exact at each of them.
POSITIONS = np.linspace(0.0, 1.0, 11)
# The position at which people named topics best (Sievert and Shirley 2014).
POSITION = 0.6
# Minimum of a word's expected tokens in a topic. Words with fewer have most of their weight from the prior, and are
# distinctive by chance.
LEAST_TOKENS = 0.5
SMALLEST = np.finfo(float).tiny


def relevance_order(pairs, data, position=POSITION):
    """Pairs of a word number and its probability in a topic, most relevant first, for the data of a report.

    ``position`` weights frequency against distinctiveness.
    """
    counts, total = data["counts"], data.get("nTokens") or sum(data["counts"])

    def relevance(pair):
        return log(max(pair[1], 1e-300)) - (1 - position) * log(max(counts[pair[0]], LEAST_TOKENS) / total)

    return sorted(pairs, key=relevance, reverse=True)


def relevant_words(row, weight, word_counts, n_words):
    """Words that are among the ``n_words`` most relevant words of a topic at some position of the slider.

    Relevance is :math:`\\lambda \\log \\phi_{kw} + (1 - \\lambda) \\log(\\phi_{kw} / p_w)`, where p are the word
    frequencies in the corpus (Sievert and Shirley 2014, "LDAvis: A method for visualizing and interpreting topics").

    ``weight`` is the topic's share of all tokens, ``word_counts`` (V,) are the tokens of each word. Returns the words,
    most probable first, and their probabilities; fewer than ``n_words`` if the topic has fewer.
    """
    probabilities = row / row.sum(dtype=np.float64)
    n_words, n_tokens = min(n_words, len(row)), max(word_counts.sum(), LEAST_TOKENS)
    able = np.flatnonzero(probabilities * weight * n_tokens >= LEAST_TOKENS)
    if len(able) == 0:
        able = np.argsort(-probabilities, kind="stable")[:n_words]
    log_p = np.log(np.maximum(probabilities[able], SMALLEST))
    log_lift = log_p - np.log(np.maximum(word_counts[able], LEAST_TOKENS) / n_tokens)
    chosen = set()
    for position in POSITIONS:
        relevance = position * log_p + (1.0 - position) * log_lift
        chosen.update(np.argsort(-relevance, kind="stable")[:n_words].tolist())
    words = able[sorted(chosen)]
    words = words[np.argsort(-probabilities[words], kind="stable")]
    return words, probabilities[words]
