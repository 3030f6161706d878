"""Data that is drawn or ships with packages, for a seed, and figures of models fitted to it; for ``advice.py``."""

from functools import lru_cache

import numpy as np
from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, make_blobs
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize

from sparsemix.datasets import load_docstrings, load_image_patches
from sparsemix.metrics import document_completion
from sparsemix.skipgram import TokenSequences

# -- training rows and test rows of a seed


def halves(X, seed, n_train, n_test):
    """Random rows for training, and others for tests."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    return X[order[:n_train]], X[order[n_train : n_train + n_test]]


@lru_cache(1)
def texts():
    """Word counts and texts of docstrings."""
    bunch = load_docstrings()
    return bunch.data.tocsr().astype(np.float32), bunch.texts


@lru_cache(4)
def docstrings(seed, n_train=2000):
    return halves(texts()[0], seed, n_train, 300)


def fewer_docstrings(seed):
    return docstrings(seed, 1000)


def few_docstrings(seed):
    return docstrings(seed, 200)


@lru_cache(4)
def docstrings_in_order(seed):
    """Their words as sequences."""
    chosen = np.random.default_rng(seed).permutation(len(texts()[1]))[:800]
    sequences = TokenSequences(min_df=5).fit_transform([texts()[1][i][:600] for i in chosen])
    return sequences[:600], sequences[600:]


@lru_cache(4)
def common_topics(seed):
    """Drawn documents with two topics that most of them have, and eighteen rare ones."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.r_[3.0, 1.0, np.full(18, 0.03)], size=1300)
    words = rng.dirichlet(np.full(500, 0.05), size=20)
    X = sparse.csr_matrix(np.array([rng.multinomial(60, p) for p in shares @ words], np.float32))
    return X[:1000], X[1000:]


@lru_cache(4)
def directions(seed, n_train=2000):
    """TF-IDF rows of docstrings in 30 dimensions, of unit length."""
    rows = TruncatedSVD(30, random_state=0).fit_transform(TfidfTransformer().fit_transform(texts()[0]))
    return halves(normalize(rows), seed, n_train, 1000)


def few_directions(seed):
    """The same, ten rows for each of twenty components."""
    return directions(seed, 200)


def dark_pixels(seed):
    return halves((load_digits().data > 8).astype(float), seed, 1000, 700)


def diabetes(seed):
    return halves(StandardScaler().fit_transform(load_diabetes().data), seed, 150, 250)


def overlapping_blobs(seed):
    return halves(make_blobs(3000, 5, centers=20, cluster_std=3.0, random_state=seed)[0], seed, 2000, 1000)


def blobs_with_flags(seed):
    """Overlapping clusters, and a category of two values that says something of them."""
    X, y = make_blobs(3000, 5, centers=20, cluster_std=3.0, random_state=seed)
    flags = (y % 2 == 0) ^ (np.random.default_rng(seed).random(3000) < 0.2)
    return halves(np.column_stack([X, flags]), seed, 2000, 1000)


def blobs(seed, n_train=2000):
    """Twenty clusters of different volume, some of which overlap."""
    spreads = np.random.default_rng(seed).gamma(2.0, 1.0, 20) + 0.2
    return halves(make_blobs(3000, 3, centers=20, cluster_std=spreads, random_state=seed)[0], seed, n_train, 1000)


def few_blobs(seed):
    """The same for chains."""
    return blobs(seed, 300)


@lru_cache(4)
def patches(seed):
    """Patches of photographs, 144 pixels."""
    return halves(load_image_patches(12, stride=8, random_state=seed), seed, 1500, 1000)


def moving_blobs(seed):
    """Five clusters that move, and rows from where they end."""
    rng = np.random.default_rng(seed)
    centers, speed = rng.uniform(-10, 10, (5, 3)), rng.normal(size=(5, 3))
    labels, moment = rng.integers(5, size=6500), np.r_[np.linspace(0, 20, 6000), np.full(500, 20.0)]
    rows = centers[labels] + moment[:, None] * speed[labels] + rng.normal(size=(6500, 3))
    return rows[:6000], rows[6000:]


# -- figures of a fitted model


def equal_shares(shares):
    """Mean number of equal shares with the same entropy."""
    shares = np.asarray(shares.todense() if sparse.issparse(shares) else shares, float)
    shares = shares / shares.sum(axis=-1, keepdims=True)
    return float(np.exp(-(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=-1)).mean())


def word_shares(model):
    """Words of topics, or of components."""
    return model.topic_word_distribution_ if hasattr(model, "components_") else model.word_proportions_


FIGURES = {
    "processor seconds": lambda model, _: model.seconds,
    "held-out score": lambda model, test: float(model.score(test)),
    "held-out words": document_completion,
    "bound": lambda model, _: float(model.lower_bound_),
    "topics of a document": lambda model, test: equal_shares(model.transform(test)),
    "topics of a word": lambda model, _: equal_shares(model.word_topics_),
    "words of a topic": lambda model, _: equal_shares(word_shares(model)),
    "even weights": lambda model, _: equal_shares(model.weights_),
    "distance of means": lambda model, _: float(np.linalg.norm(model.means_ - model.mean_prior_, axis=1).mean()),
    "spread of log volumes": lambda model, _: float(np.linalg.slogdet(model.covariances_)[1].std()),
    "distance from 0 and 1": lambda model, _: float((0.5 - abs(model.probabilities_ - 0.5)).min()),
    "clusters": lambda model, _: int(model.n_clusters_),
}
