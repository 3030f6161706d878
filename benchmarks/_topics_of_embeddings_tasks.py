"""Processes of ``topics_of_embeddings.py``: embed documents, fit one contestant, and judge its topics."""

import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _embeddings_tasks import read, reduced
from _measure import spent
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import normalize

from sparsemix import SparseSCVB0LDA, SparseVonMisesFisherMixture
from sparsemix.metrics import topic_coherence, topic_diversity

WARM_UP = 400  # documents of a first fit, which compiles and imports


def prepare(data, corpus, n_rows, n_features, folder):
    """Write counts, labels and embeddings of unit length of the documents that have one."""
    X, labels = read(data, corpus, n_rows)
    x, seconds = spent(lambda: reduced(X, n_features))
    kept = np.linalg.norm(x, axis=1) > 0
    sparse.save_npz(Path(folder, "counts.npz"), sparse.csr_array(X[kept], dtype=np.float64))
    np.savez(Path(folder, "rows.npz"), x=normalize(x[kept]).astype(np.float32), labels=labels[kept])
    return {"n_documents": int(kept.sum()), "seconds": seconds}


def measure(folder, name, n_components, seed):
    """Scores of what a contestant gives, by label."""
    if name.startswith("BERTopic") and find_spec("bertopic") is None:
        return {}
    counts, rows = sparse.load_npz(Path(folder, "counts.npz")), np.load(Path(folder, "rows.npz"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # UMAP: a seed leaves it one thread
        first = counts[:WARM_UP], rows["x"][:WARM_UP], n_components and 5, seed
        list(CONTESTANTS[name](*first))
        results = clocked(CONTESTANTS[name](counts, rows["x"], n_components, seed))
    chosen = Path(folder, f"chosen-{seed}.npy")
    if name == "BERTopic":
        np.save(chosen, results[0][1] >= 0)
    there = np.load(chosen) if chosen.exists() else None
    return {label: scores(counts, rows["labels"], found, there) | {"seconds": seconds}
            for label, found, seconds in results}  # fmt: skip


def clocked(results):
    """Labels and topics of documents, with CPU seconds from the start to each."""
    begun = time.process_time()
    return [(label, np.asarray(found), time.process_time() - begun) for label, found in results]


def scores(counts, labels, found, there):
    """Agreement with labels on all documents, where -1 is a cluster, and on those to which BERTopic gives a topic."""
    words = class_tf_idf(counts, found)
    parts = {"": slice(None)} | ({} if there is None else {"_there": there})
    return {
        "topics": len(words), "without": float(np.mean(found < 0)),
        "largest": float(np.bincount(found[found >= 0]).max() / len(found)),
        **{"nmi" + of: normalized_mutual_info_score(labels[part], found[part]) for of, part in parts.items()},
        **{"ari" + of: adjusted_rand_score(labels[part], found[part]) for of, part in parts.items()},
        "npmi": float(np.mean(topic_coherence(words, counts))), "diversity": topic_diversity(words, 10),
    }  # fmt: skip


def class_tf_idf(counts, found):
    """c-TF-IDF of the words of each topic, as BERTopic computes it: one document for all documents of a topic."""
    inside = np.flatnonzero(found >= 0)
    topics, number = np.unique(found[inside], return_inverse=True)
    of_topic = sparse.csr_array((np.ones(len(inside)), (number, inside)), shape=(len(topics), len(found)))
    words = (of_topic @ counts).toarray()
    return normalize(words, "l1") * np.log1p(words.sum() / len(words) / np.maximum(words.sum(axis=0), 1))


# -- contestants: a label and the topic of each document, -1 of those without


class Clusters(SparseVonMisesFisherMixture):
    """Labels as BERTopic reads them from the estimator that replaces HDBSCAN."""

    def fit(self, X, y=None):  # noqa: ARG002
        super().fit(X)
        self.labels_ = self.predict(X)
        return self


def bertopic(counts, x, n_components, seed):
    """BERTopic on given embeddings: with its defaults, or with directions in place of UMAP and HDBSCAN."""
    from bertopic import BERTopic
    from bertopic.backend import BaseEmbedder
    from bertopic.dimensionality import BaseDimensionalityReduction
    from umap import UMAP

    documents = texts(counts)
    if n_components is None:
        # its default, and a seed
        parts = {"umap_model": UMAP(15, 5, min_dist=0.0, metric="cosine", low_memory=False, random_state=seed)}
    else:
        clusters = Clusters(n_components, random_state=seed)
        parts = {"umap_model": BaseDimensionalityReduction(), "hdbscan_model": clusters}
    words = CountVectorizer(token_pattern=r"\S+")
    # HDBSCAN with its min_topic_size of 10 and topics named by c-TF-IDF of words, its defaults
    model = BERTopic(embedding_model=BaseEmbedder(), vectorizer_model=words, **parts)
    found, _ = model.fit_transform(documents, x)
    yield "BERTopic" if n_components is None else "BERTopic, directions", found
    if -1 in found and max(found) >= 0:
        found = model.reduce_outliers(documents, found, strategy="embeddings", embeddings=x)
        yield "BERTopic, outliers assigned", found


def texts(counts):
    """Documents of a bag of words: each word as often as it was counted."""
    names = np.array([f"w{i}" for i in range(counts.shape[1])])
    return [" ".join(np.repeat(names[counts.indices[a:b]], counts.data[a:b].astype(int)))
            for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)]  # fmt: skip


def directions(counts, x, n_components, seed):  # noqa: ARG001
    yield "directions", SparseVonMisesFisherMixture(n_components, random_state=seed).fit_predict(x)


def topics_of_counts(counts, x, n_components, seed):  # noqa: ARG001
    """The largest topic of each document."""
    shares = SparseSCVB0LDA(n_components, random_state=seed).fit_transform(counts)
    yield "SparseSCVB0LDA", np.argmax(shares, axis=1)


CONTESTANTS = {
    "BERTopic": bertopic,
    "BERTopic, directions": bertopic,
    "directions": directions,
    "SparseSCVB0LDA": topics_of_counts,
}
