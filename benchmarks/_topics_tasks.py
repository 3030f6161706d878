"""Measurements of topic models, each function in its own child process.

``folder`` holds the corpus: training and held-out documents as arrays of CSR matrices.
"""

import dataclasses
import importlib
import sys
import time
from pathlib import Path

import numpy as np
from _clock import Clock
from _measure import peak_resident_bytes, resident_bytes
from _topics_ours import Setting
from scipy import sparse

from sparsemix.datasets import load_bag_of_words, load_docstrings
from sparsemix.metrics import document_completion, split_by_type, topic_coherence

MIN_TYPES = 10
MAX_TEST = 500
REPEATS = 5  # of transforming; the best counts
FLOOR = float(np.finfo(np.float32).tiny)
PARTS = ("data", "indices", "indptr")


# -- corpus


def prepare(path, n_test, folder):
    """Split a corpus and write both parts; what it is."""
    name, X = corpus(path)
    return prepared(name, X, n_test, folder)


def corpus(path=None):
    """Name and counts of a UCI bag of words, without empty documents; docstrings without a path."""
    X = sparse.csr_matrix(load_docstrings().data if path is None else load_bag_of_words(path, vocabulary=False).data)
    name = "docstrings" if path is None else Path(path).name.removeprefix("docword.").split(".")[0]
    return name, X[np.diff(X.indptr) > 0].astype(np.float32)


def prepared(name, X, n_test, folder):
    """Write training and held-out documents; what they are."""
    train, test = split(X, n_test)
    save(folder, "train", train)
    save(folder, "test", test)
    return {"corpus": name, "n_documents": train.shape[0], "n_tokens": int(train.sum(dtype=np.float64)),
            "n_test": test.shape[0]}  # fmt: skip


def split(X, n_test):
    """Training documents in random order and held-out ones, over the words of the training documents."""
    rng = np.random.default_rng(0)
    order = rng.permutation(X.shape[0])
    long_enough = order[np.diff(X.indptr)[order] >= MIN_TYPES]
    chosen = long_enough[: n_test or min(MAX_TEST, X.shape[0] // 10)]
    train, test = X[order[~np.isin(order, chosen)]], X[np.sort(chosen)]
    known = np.flatnonzero(train.getnnz(axis=0))
    return train[:, known], test[:, known]


def save(folder, name, X):
    for part in PARTS:
        np.save(Path(folder, f"{name}.{part}.npy"), getattr(X, part))
    np.save(Path(folder, f"{name}.shape.npy"), X.shape)


def load(folder, name):
    data, indices, indptr, shape = (np.load(Path(folder, f"{name}.{part}.npy")) for part in (*PARTS, "shape"))
    return sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))


# -- learning


def curve(folder, contestant, setting, seconds, of_processor):
    """Score and coherence against epochs and seconds of one contestant."""
    train, test = load(folder, "train"), load(folder, "test")

    def score(topics):
        prior = setting["doc_topic_prior"]
        return document_completion(
            topics, test, doc_topic_prior=prior, test_fraction=0.2, split="type", random_state=0
        ), npmi(topics, train)

    return follow(train, score, contestant, setting, seconds, of_processor)


def follow(train, score, contestant, setting, seconds, of_processor):
    """Scores of the topics of one contestant against epochs and seconds, its speed and memory."""

    def printed(topics):
        values = score(topics)
        print(*(f"{value:.3f}" for value in values), file=sys.stderr, flush=True)
        return values

    contestant = dict(contestant)
    clock = Clock(seconds, printed, of_processor, contestant.pop("epochs", None))
    _, n_bytes = learn(train, contestant, Setting(**setting), clock)
    rate = clock.passes_per_second()
    return {
        "checkpoints": clock.checkpoints,
        "tokens_per_second": None if rate is None else rate * float(train.sum(dtype=np.float64)),
        "cpu_share": clock.cpu_seconds / clock.seconds,
        "bytes": n_bytes,
    }


def learn(train, contestant, setting, clock):
    """The contestant when its time is over, and growth of resident memory beyond data and imports."""
    contestant = dict(contestant)
    setting = dataclasses.replace(setting, **contestant.pop("priors", {}))
    importlib.import_module(contestant.pop("package"))
    module, name = contestant.pop("adapter").split(":")
    adapter = getattr(importlib.import_module(module), name)
    before = resident_bytes()
    learner = adapter(train, setting, **contestant)
    learner.learn(clock)
    n_bytes = peak_resident_bytes() - before
    clock.finish(learner.topics)
    return learner, n_bytes


def npmi(topics, train):
    return float(topic_coherence(topics, train, n_top_words=10, measure="npmi").mean())


# -- new documents


def transform(folder, contestant, setting, seconds, of_processor):
    """Speed of the proportions of new documents, and how well they predict hidden words."""
    setting = Setting(**setting)
    A, B = split_by_type(load(folder, "test"), test_fraction=0.2, random_state=0)
    A, B = (sparse.csr_matrix(part[np.diff(B.indptr) > 0]) for part in (A, B))
    clock = Clock(seconds, None, of_processor)
    learner, _ = learn(load(folder, "train"), contestant, setting, clock)
    spent = []
    for _ in range(REPEATS):
        documents = learner.documents(A)
        begun, cpu_begun = time.perf_counter(), time.process_time()
        theta = learner.proportions(documents)
        spent.append((time.perf_counter() - begun, time.process_time() - cpu_begun))
    seconds, cpu_seconds = min(spent)
    topics = np.asarray(learner.topics(), dtype=np.float64)
    topics = topics / topics.sum(axis=1, keepdims=True)
    return {
        "documents_per_second": A.shape[0] / seconds,
        "cpu_share": cpu_seconds / seconds,
        "score": log_likelihood(theta, topics, B),
        "dense_score": document_completion(topics, load(folder, "test"), doc_topic_prior=setting.doc_topic_prior),
    }


def log_likelihood(theta, topics, X):
    """Mean log probability of the tokens of X under these proportions of its documents."""
    return float(X.data @ np.log(np.maximum(probabilities(theta, topics, X), FLOOR)) / X.data.sum(dtype=np.float64))


def probabilities(theta, topics, X):
    """Of the token of each entry of X, sum_k theta_dk phi_kv."""
    return np.concatenate([theta[d] @ topics[:, X.indices[X.indptr[d] : X.indptr[d + 1]]] for d in range(X.shape[0])])
