"""Rows of ``compare.py --speed``, each in a process of its revision: seconds of ours, of a peer, and a score."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from _embeddings_tasks import embed, load
from _embeddings_tasks import measure as cluster
from _measure import peak_resident_bytes, resident_bytes, spent
from _threads_tasks import OneByOne
from _topics_tasks import corpus
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from sparsemix import SparseGaussianMixture, SparseSCVB0LDA, SparseVonMisesFisherMixture
from sparsemix.datasets import make_sparse_lda
from sparsemix.metrics import document_completion

warnings.simplefilter("ignore")
SEEDS = 3
# Rows, columns and clusters.
SHAPES = [
    (100, 2, 3), (150, 4, 3), (300, 2, 5), (300, 10, 8), (500, 5, 5), (1000, 2, 10), (1000, 10, 5), (2000, 5, 15),
    (2000, 20, 8), (5000, 2, 5), (5000, 10, 12), (5000, 30, 4),
]  # fmt: skip
IMPORTS = {
    "peer": "from sklearn.mixture import GaussianMixture",
    "ours": "from sparsemix import SparseGaussianMixture",
}


def small_tables():
    """Tables and their number of clusters: drawn ones with columns that depend on each other, and public ones."""
    for n, d, k in SHAPES:
        rng = np.random.default_rng(n + d + k)
        z, _ = make_blobs(n, d, centers=k, cluster_std=rng.uniform(1, 3, size=k), random_state=k)
        yield z @ (np.eye(d) + 0.4 * rng.standard_normal((d, d))), k
    yield load_iris().data, 3
    yield load_wine().data, 3
    yield load_breast_cancer().data[:, :10], 2
    yield PCA(10, random_state=0).fit_transform(load_digits().data), 10
    yield load_diabetes().data, 4


def median_seconds(function):
    """Median of processor seconds over seeds, and the results."""
    ends = [spent(lambda seed=seed: function(seed)) for seed in range(SEEDS)]
    return float(np.median([seconds for _, seconds in ends])), [result for result, _ in ends]


def small(covariance_type):
    """Medians and largest ratio over tables of 100 to 5,000 rows; the score is that of the rows, ours less theirs."""
    ours, theirs, ratios, gains = [], [], [], []
    kind = {"covariance_type": covariance_type}
    for X, k in small_tables():
        a, fits = median_seconds(lambda s: SparseGaussianMixture(k, random_state=s, n_jobs=1, **kind).fit(X))  # noqa: B023
        b, others = median_seconds(lambda s: GaussianMixture(k, random_state=s, **kind).fit(X))  # noqa: B023
        ours.append(a), theirs.append(b), ratios.append(a / b)
        gains.append(np.mean([est.score(X) for est in fits]) - np.mean([est.score(X) for est in others]))
    return {"seconds": sum(ours), "peer": sum(theirs), "ratio": float(np.median(ratios)), "worst": max(ratios),
            "score": float(np.mean(gains))}  # fmt: skip


def topics(path, n_components):
    """A fit of documents on one thread."""
    _, X = corpus(path)
    X = sparse.csr_array(X)
    train, held_out = X[np.arange(X.shape[0]) % 20 > 0], X[::20]
    SparseSCVB0LDA(n_components, random_state=0, max_iter=1, n_jobs=1).fit(train[:2000])
    seconds, fits = median_seconds(lambda s: SparseSCVB0LDA(n_components, random_state=s, n_jobs=1).fit(train))
    scores = [document_completion(est.components_, held_out, doc_topic_prior=0.1, random_state=0) for est in fits]
    return {"seconds": seconds, "score": float(np.mean(scores))}


def alone(path=None, n_components=100, covariance_type="full"):
    """Share of a fit outside of what threads share out; documents of a file, or rows without one."""
    if path is None:
        X = make_blobs(20_000, 16, centers=n_components, cluster_std=2.0, random_state=0)[0]
        est = SparseGaussianMixture(n_components, covariance_type=covariance_type, random_state=0, n_jobs=2)
    else:
        X, est = corpus(path)[1], SparseSCVB0LDA(n_components, random_state=0, n_jobs=2)
    with OneByOne(2) as pieces:
        begun = time.thread_time()
        est.fit(X)
        total = time.thread_time() - begun
    return {"seconds": total, "ratio": (total - pieces.shared) / total, "two": total / (total - pieces.saved)}


def embeddings(data, n_components):
    """Labels of 20news embeddings: ours, and SuperKMeans; scores are NMI."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.npz")
        embed(data, "20news", None, 256, path)
        found = {name: [cluster(path, name, n_components, seed) for seed in range(SEEDS)]
                 for name in ("directions", "superkmeans")}  # fmt: skip

    def mean(name, field):
        return None if found[name][0] is None else float(np.mean([end[field] for end in found[name]]))

    return {"seconds": mean("directions", "seconds"), "peer": mean("superkmeans", "seconds"),
            "score": mean("directions", "nmi"), "peer score": mean("superkmeans", "nmi")}  # fmt: skip


def labels(data, n_components):
    """``predict`` of 20news embeddings, and SuperKMeans' assignment where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.npz")
        embed(data, "20news", None, 256, path)
        x = load(path)[0]
    est = SparseVonMisesFisherMixture(n_components, random_state=0, max_iter=2, n_jobs=1).fit(x)
    calls = {"seconds": lambda: est.predict(x)}
    with contextlib.suppress(ImportError):
        from superkmeans import SuperKMeans

        means = SuperKMeans(n_components, x.shape[1], n_threads=1, angular=True, seed=1, iters=1)
        centroids = means.train(x)
        calls["peer"] = lambda: means.assign(x, centroids)
    seconds = [{name: spent(call)[1] for name, call in calls.items()} for _ in range(8)]
    return {name: min(each[name] for each in seconds[1:]) for name in calls}  # the first call warms caches


def first_epoch(n_components):
    """One epoch of 10,000 documents of 60 words with 100 topics (peer) and with more."""
    X, _, _ = make_sparse_lda(10_000, 5_000, 100, doc_length=60, random_state=0)
    one = [median_seconds(lambda s, k=k: SparseSCVB0LDA(k, random_state=s, max_iter=1, n_jobs=1).fit(X))[0]
           for k in (n_components, 100)]  # fmt: skip
    return {"seconds": one[0], "peer": one[1]}


def tables(path, n_components):
    """Peak of memory of a fit beyond its documents, in tables of K V numbers of four bytes."""
    X = sparse.csr_array(corpus(path)[1][:60_000])
    before = resident_bytes()
    _, seconds = spent(lambda: SparseSCVB0LDA(n_components, random_state=0, n_jobs=1).fit(X))
    table = 4 * n_components * len(np.unique(X.indices))
    return {"seconds": seconds, "ratio": (peak_resident_bytes() - before) / table}


def imports():
    """Seconds by the clock of a process that imports one class, the least of seven, with compiled files."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        seconds = {name: [] for name in IMPORTS}
        for _ in range(8):
            for name, kept in seconds.items():
                begun = time.perf_counter()
                subprocess.run([sys.executable, "-c", IMPORTS[name]], env=environment, check=True)
                kept.append(time.perf_counter() - begun)
    return {"seconds": min(seconds["ours"][1:]), "peer": min(seconds["peer"][1:])}
