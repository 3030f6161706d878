"""Measurements of ``skipgram.py``, each in a child process: seconds of a token, scores, senses, document vectors."""

import gzip
import re
import time
import warnings
from pathlib import Path

import numpy as np
from _measure import spent
from scipy import sparse

from sparsemix import SkipGramTopicModel, SparseSCVB0LDA, TokenSequences
from sparsemix.datasets import load_docstrings
from sparsemix.metrics import topic_coherence

KINDS = {
    "scvb0, dense": {"sampler": "dense"},
    "scvb0, chains": {"sampler": "mhw"},
    "gibbs": {"inference": "gibbs"},
    "mhw": {"inference": "mhw"},
}


def read(path, n_documents=None):
    """Documents as lists of words, a line each; the docstrings that are installed where there is no path."""
    if path is None:
        return [re.findall(r"[a-z]{3,}", text.lower()) for text in load_docstrings().texts[:n_documents]]
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return [line.split() for line in file][:n_documents]


def sequences(path, n_documents=None):
    """Word numbers of words of ten documents or more, and the words."""
    transformer = TokenSequences(analyzer=list, min_df=10, max_df=0.5)
    return transformer.fit_transform(read(path, n_documents)), transformer.get_feature_names_out()


def split(n, share=0.1):
    """Rows to learn from, and held-out ones."""
    order = np.random.default_rng(0).permutation(n)
    return np.sort(order[int(share * n) :]), np.sort(order[: int(share * n)])


def counts_of(X, n_words):
    """The same as counts of words."""
    documents = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return sparse.csr_array((np.ones(X.nnz, dtype=np.float32), (documents, X.data - 1)), shape=(X.shape[0], n_words))


def prepare(path, n_documents, folder):
    """Size of a corpus, and where its documents are now, a line each: to gather docstrings takes six seconds."""
    name = "docstrings" if path is None else Path(path).name.removeprefix("tokens.").partition(".")[0]
    copy = Path(folder, "documents.txt")
    copy.write_text("".join(" ".join(words) + "\n" for words in read(path, n_documents)), encoding="utf-8")
    X, names = sequences(copy, n_documents)
    return {"name": name, "path": str(copy), "n_documents": X.shape[0], "n_tokens": X.nnz, "n_words": len(names)}


def token_seconds(path, n_documents, kind, n_components, threads):
    """Seconds of a token in an epoch, without start and first epoch: of the processor, and by the clock."""
    X, names = sequences(path, n_documents)
    seconds = []
    for n_passes in (1, 4):
        model = SkipGramTopicModel(
            n_components, max_iter=n_passes, n_words=len(names), n_jobs=threads, random_state=0, **KINDS[kind]
        )
        start = time.process_time(), time.perf_counter()
        model.fit(X)
        seconds.append([time.process_time() - start[0], time.perf_counter() - start[1]])
    cpu, wall = (np.array(seconds[1]) - seconds[0]) / 3 / X.nnz
    return {"cpu": cpu, "wall": wall, "acceptance": model.acceptance_rate_, "digest": float(model.components_.sum())}


def score(path, n_documents, n_components, n_passes, parameters):
    """Held-out score, coherence and seconds of the processor after a fit."""
    X, names = sequences(path, n_documents)
    train, test = split(X.shape[0])
    model = SkipGramTopicModel(n_components, n_words=len(names), max_iter=n_passes, random_state=0, **parameters)
    _, seconds = spent(lambda: model.fit(X[train]))
    npmi = topic_coherence(model, counts_of(X[train], len(names)))
    return {"seconds": seconds, "score": model.score(X[test]), "npmi": float(npmi.mean()), "test": len(test)}


def senses(path, n_documents, n_components, n_passes, n_pairs, parameters):
    """Pseudo-words: pairs of words joined to one; how often the context identifies the original word."""
    X, names = sequences(path, n_documents)
    frequency = np.bincount(X.data - 1, minlength=len(names))
    common = np.argsort(-frequency, kind="stable")[50:1050]
    pairs = np.random.default_rng(0).permutation(common)[: 2 * n_pairs].reshape(-1, 2)
    joined, truth = X.copy(), X.data.copy()
    for first, second in pairs:
        joined.data[joined.data == second + 1] = first + 1
    model = SkipGramTopicModel(n_components, n_words=len(names), max_iter=n_passes, random_state=0, **parameters)
    _, seconds = spent(lambda: model.fit(joined))
    gamma = model.transform_words(joined, n_nonzero=16)
    correct, best = [], []
    rng = np.random.default_rng(1)
    for first, second in pairs:
        at = np.flatnonzero(joined.data == first + 1)
        is_second = truth[at] == second + 1
        half = rng.random(len(at)) < 0.5  # one half gives the meaning of each topic, the other is the test
        if not (0 < is_second[half].mean() < 1) or half.all():
            continue
        rows = gamma[at]
        weights = [np.asarray(rows[half & (is_second == b)].sum(axis=0)).ravel() for b in (0, 1)]
        prior = is_second[half].mean()
        second_given_topic = (weights[1] + prior) / (weights[0] + weights[1] + 1.0)
        said = rows @ second_given_topic > 0.5
        correct.append((said == is_second)[~half].mean())
        best.append(max(is_second[~half].mean(), 1 - is_second[~half].mean()))
    return {"seconds": seconds, "accuracy": float(np.mean(correct)), "majority": float(np.mean(best)),
            "n_pairs": len(correct)}  # fmt: skip


def nearest_words(path, n_documents, n_components, n_passes, words, analogies):
    """The eight words that are nearest to each of some words, and five to b - a + c of each analogy."""
    X, names = sequences(path, n_documents)
    model = SkipGramTopicModel(n_components, n_words=len(names), max_iter=n_passes, random_state=0)
    _, seconds = spent(lambda: model.fit(X))
    near = [[word, ", ".join(other for other, _ in model.most_similar(word, 8, names))]
            for word in words if word in names]  # fmt: skip
    vectors, number = model.word_vectors_, {name: v for v, name in enumerate(names)}
    frequent, found = np.bincount(X.data - 1, minlength=len(names)) >= 20, []
    for analogy in analogies:
        if all(word in number for word in analogy):
            a, b, c = (number[word] for word in analogy)
            likeness = np.where(frequent, vectors @ (vectors[b] - vectors[a] + vectors[c]), -np.inf)
            likeness[[a, b, c]] = -np.inf
            best = np.argsort(-likeness, kind="stable")[:5]
            found.append(["{} : {} = {} : ?".format(*analogy), ", ".join(names[best])])
    return {"seconds": seconds, "words": near, "analogies": found}


def support(path, n_documents, n_components, n_passes):
    """Means over positions: topics of the word, of any word around it, of all of these, and where the mass is."""
    X, names = sequences(path, n_documents)
    model = SkipGramTopicModel(
        n_components, inference="mhw", n_words=len(names), max_iter=n_passes, burn_in=n_passes, random_state=0
    ).fit(X)  # burn_in: counts of the last sweep, which are whole numbers
    inputs, words = (model._fitted.stats[name] > 0 for name in ("input_topic", "word_topic"))
    theta, phi = np.log(model.word_topics_), np.log(model.topic_word_distribution_.T)
    found = []
    for a, b in zip(X.indptr[:-1:10], X.indptr[1::10], strict=False):
        document = X.data[a:b] - 1
        for e in range(model.window, len(document) - model.window, 10):
            around = np.delete(document[e - model.window : e + model.window + 1], model.window)
            own, near = inputs[document[e]], words[around]
            logs = (theta[document[e]] + phi[around].sum(axis=0)).astype(np.float64)
            p = np.exp(logs - logs.max())
            p /= p.sum()
            needed = 1 + (np.cumsum(np.sort(p)[::-1]) < 0.999).sum()
            found.append([own.sum(), near.any(axis=0).sum(), near.sum(), p[own].sum(), needed])
    return dict(zip(("own", "union", "entries", "mass", "needed"), np.mean(found, axis=0).tolist(), strict=True))


def labels_of(path):
    """First label of each document, "-" where it has none."""
    return np.array([fields[0].partition(",")[0] if fields else "-" for fields in read(path)])


def classify(path, labels, n_documents, n_components, n_passes, method):
    """Share of held-out documents whose label logistic regression predicts from their vectors."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    X, names = sequences(path, n_documents)
    y = labels_of(labels)[: X.shape[0]]
    common, sizes = np.unique(y, return_counts=True)
    kept = np.flatnonzero(np.isin(y, [c for c, n in zip(common, sizes, strict=True) if c != "-" and n >= 100]))
    train, test = (kept[part] for part in split(len(kept), 0.3))
    vectors, seconds = spent(lambda: vectors_of(method, X, len(names), n_components, n_passes))
    scaler = StandardScaler().fit(vectors[train])
    classifier = LogisticRegression(C=0.05, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(scaler.transform(vectors[train]), y[train])
    accuracy = classifier.score(scaler.transform(vectors[test]), y[test])
    return {"seconds": seconds, "accuracy": accuracy, "n_labels": len(set(y[kept])), "n_test": len(test)}


def vectors_of(method, X, n_words, n_components, n_passes):
    if method == "word2vec":
        return word2vec_documents(X, n_words, n_components, n_passes)
    if method == "SparseSCVB0LDA":
        model = SparseSCVB0LDA(n_components, max_iter=n_passes, random_state=0)
        return np.sqrt(model.fit_transform(counts_of(X, n_words)))
    model = SkipGramTopicModel(n_components, n_words=n_words, max_iter=n_passes, random_state=0, **KINDS[method])
    return np.sqrt(model.fit(X).transform(X))


def word2vec_documents(X, n_words, size, n_passes):
    """Mean vectors of documents' words by gensim's skip-gram with negative sampling."""
    from gensim.models import Word2Vec

    texts = [[str(v - 1) for v in X.data[a:b]] for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    # window, vector size and epochs of all contestants; five negative samples and the step sizes by default
    model = Word2Vec(texts, vector_size=size, window=5, sg=1, min_count=1, epochs=n_passes, workers=1, seed=0)
    vectors = np.zeros((n_words, size), dtype=np.float32)
    for word, at in model.wv.key_to_index.items():
        vectors[int(word)] = model.wv.vectors[at]
    counts = counts_of(X, n_words)
    return (counts @ vectors) / np.maximum(1, counts.sum(axis=1))[:, None]
