"""Topics that repeat another topic or the whole corpus, and words that fill many topics."""

from collections import Counter

import numpy as np
from scipy import sparse

from sparsemix._commands.quality.number import fewer_topics

# Two topics are alike if the sum over words of the root of their probabilities' product (Bhattacharyya's coefficient)
# exceeds this. In fits to documentation with enough words for each topic, the largest of any two topics was 0.6. The
# mean of a few topics is the corpus: they may resemble it.
ALIKE, LIKE_CORPUS, FEW = 0.8, 0.9, 5
# Words of each topic that are compared, most probable first.
COMPARED = 1000
# A word is a filler if at least this number of topics, and at least this share of all topics, list it; or if half of
# the topics do, and at least FILLED_HALF.
FILLED, FILLED_SHARE, FILLED_HALF = 5, 0.15, 3
# Words that a run proposes to skip.
MOST_FILLERS = 10
# Topics overlap if half of them list the same word, or if more than this share of the topics has this share of its
# words in common with another topic. In fits with enough words for each topic, at most 0.3 of the topics do.
OVERLAP, IN_COMMON = 1 / 3, 0.4


def roots(weights):
    """Unit vectors of the roots of word weights, of the most probable words of each row; CSR."""
    n, v = weights.shape
    m = min(COMPARED, v)
    words = np.argpartition(-weights, m - 1, axis=1)[:, :m]
    values = np.sqrt(np.take_along_axis(weights, words, axis=1).astype(np.float64))
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
    return sparse.csr_array((values.ravel(), words.ravel(), np.arange(n + 1) * m), shape=(n, v))


def likenesses(components, frequencies, order):
    """What each topic repeats: "the corpus", the number of a topic that precedes it in ``order``, or None.

    Parameters
    ----------
    components : ndarray of shape (n_topics, n_words)
        Weights of words; rows need not be normalised.
    frequencies : ndarray of shape (n_words,)
        Of the words in the corpus.
    order : sequence of int
        Topics; of several similar topics, the first is the one that later ones repeat.

    Returns
    -------
    repeated : list of length n_topics
    """
    topics = roots(components)
    general = (topics @ roots(np.asarray(frequencies, dtype=np.float64)[None, :]).T).toarray().ravel() > LIKE_CORPUS
    found, kept = [None] * len(components), []
    for k in order:
        if general[k] and len(components) > FEW:
            found[k] = "the corpus"
            continue
        near = (topics[kept] @ topics[[k]].T).toarray().ravel() if kept else np.zeros(0)
        if len(near) and near.max() > ALIKE:
            found[k] = int(kept[near.argmax()])
        else:
            kept.append(k)
    return found


def fillers(listed):
    """Words that many topics list, with their numbers of topics, most frequent first."""
    counts = Counter(word for words in listed for word in words)
    least = min(max(FILLED, FILLED_SHARE * len(listed)), max(FILLED_HALF, len(listed) / 2))
    return [(word, n) for word, n in counts.most_common() if n >= least]


def overlap(listed, n_words):
    """What topics have in common, as part of a sentence; "" if they differ, or if words are too few to differ."""
    counts = Counter(word for words in listed for word in words)
    if n_words < counts.total():
        return ""
    word, n = counts.most_common(1)[0] if counts else ("", 0)
    if n >= max(FILLED_HALF, len(listed) / 2):
        return f"{word} is among the {len(listed[0])} main words of {n} of {len(listed)} topics"
    sets = [set(words) for words in listed]
    least = max(2, IN_COMMON * max(map(len, sets), default=0))
    n = sum(any(len(one & other) >= least for other in sets if other is not one) for one in sets)
    return f"{n} of {len(sets)} topics share many main words with another topic" if n > OVERLAP * len(sets) else ""


def mark_alike(table, records, model, frequencies, most):
    """Mark the topics that repeat another one or the whole corpus. Return facts on topics and their words.

    ``most`` is the number of topics that a warning before the fit advised, or None.
    """
    repeated = likenesses(model.components_, frequencies, [row["topic"] for row in table])
    for row in (*table, *records):
        found = repeated[row["id"] if "id" in row else row["topic"]]
        row["repeats"] = f"topic {found}" if isinstance(found, int) else found
    facts, n_alike = [], sum(found is not None for found in repeated)
    if n_alike:
        facts.append(("distinct topics", f"{len(table) - n_alike} of {len(table)}"))
    listed = [row["words"] for row in table]
    if found := fillers(listed)[:MOST_FILLERS]:
        some, skip = ", ".join(f"{word} ({n})" for word, n in found), ",".join(word for word, _ in found)
        facts.append(("words of many topics", f"{some}; to fit without them, add --force --skip {skip}"))
    if told := fewer_topics(len(table), n_alike, overlap(listed, len(frequencies)), most, bool(found)):
        facts.append(("warning", told))
    return facts
