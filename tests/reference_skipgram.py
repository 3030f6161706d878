"""The mixed membership skip-gram topic model in plain NumPy: contexts, collapsed joint, conditional, enumeration."""

import itertools

import numpy as np
from scipy.special import gammaln


def context(places, e, window):
    """Entries of the context of entry e of a document."""
    return [i for i in range(len(places)) if i != e and abs(places[i] - places[e]) <= window]


def contexts(documents, window):
    """(word, context words) of every position; documents are lists of (place, word)."""
    out = []
    for document in documents:
        places = [place for place, _ in document]
        for e, (_, word) in enumerate(document):
            out.append((word, [document[i][1] for i in context(places, e, window)]))
    return out


def counts(positions, topics, n_words, n_components):
    """N^L (V, K), N^G (V, K); positions without a context are in neither."""
    inputs, words = np.zeros((2, n_words, n_components))
    for (word, around), k in zip(positions, topics, strict=True):
        if around:
            inputs[word, k] += 1
            np.add.at(words[:, k], around, 1)
    return inputs, words


def log_joint(inputs, words, alpha, beta):
    """log p(z, w) with both kinds of distributions integrated out, up to a constant of z."""
    n_words, total = len(words), words.sum(axis=0)
    left = gammaln(inputs + alpha).sum() - gammaln((inputs + alpha).sum(axis=1)).sum()
    right = gammaln(words + beta).sum() - gammaln(total + n_words * beta).sum()
    return left + right


def log_conditional(word, around, inputs, words, alpha, beta):
    """[IF19] Eq. 5 from counts without the position; with the product over the context in its order."""
    n_words, total = len(words), words.sum(axis=0)
    out = np.log(inputs[word] + alpha)
    for c, w in enumerate(around):
        out = out + np.log(words[w] + beta + around[:c].count(w)) - np.log(total + n_words * beta + c)
    return out


def softmax(x):
    p = np.exp(x - x.max())
    return p / p.sum()


def posterior(positions, n_words, n_components, alpha, beta):
    """Probabilities of all topics of the positions that have a context, by enumeration."""
    live = [i for i, (_, around) in enumerate(positions) if around]
    states = list(itertools.product(range(n_components), repeat=len(live)))
    logs = []
    for state in states:
        topics = np.zeros(len(positions), dtype=int)
        topics[live] = state
        logs.append(log_joint(*counts(positions, topics, n_words, n_components), alpha, beta))
    return states, softmax(np.array(logs))


def block(documents):
    """The arrays that kernels read."""
    indptr = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    places = np.array([place for document in documents for place, _ in document], dtype=np.int32)
    words = np.array([word for document in documents for _, word in document], dtype=np.int32)
    return indptr, places, words


def random_documents(rng, n_documents=6, n_words=8, longest=12, gaps=True):
    """Lists of (place, word); one is empty, one has a single word."""
    out = []
    for d in range(n_documents):
        n = (0, 1)[d] if d < 2 else int(rng.integers(2, longest))
        places = np.sort(rng.choice(2 * longest, size=n, replace=False)) if gaps else np.arange(n)
        out.append([(int(p), int(w)) for p, w in zip(places, rng.integers(n_words, size=n), strict=True)])
    return out
