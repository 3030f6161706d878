"""Which words stand for a topic: frequent in it, or rare elsewhere, or anything between."""

import numpy as np

# Positions of the slider. Words are chosen so that the list is exact at each of them.
POSITIONS = np.linspace(0.0, 1.0, 11)
# Tokens that a topic must be expected to have of a word; fewer are the prior, and any word is distinctive by chance.
LEAST_TOKENS = 0.5
SMALLEST = np.finfo(float).tiny


def relevant_words(row, weight, word_counts, n_words):
    """Words that are among the most relevant ``n_words`` of a topic at some position of the slider.

    Relevance is :math:`\\lambda \\log \\phi_{kw} + (1 - \\lambda) \\log(\\phi_{kw} / p_w)`, with p the words'
    frequencies in the corpus (Sievert and Shirley 2014, "LDAvis: A method for visualizing and interpreting topics").

    Parameters
    ----------
    row : ndarray of shape (V,)
        The topic's weights of words.
    weight : float
        The topic's share of all tokens.
    word_counts : ndarray of shape (V,)
        Tokens of each word in the corpus.
    n_words : int
        How many words are shown.

    Returns
    -------
    words : ndarray of int
        The most probable first; fewer than asked for where the topic has no more.
    probabilities : ndarray of float
        Of these words in the topic.
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
