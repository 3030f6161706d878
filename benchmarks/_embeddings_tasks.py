"""Processes of ``embeddings.py``: make embeddings or counts, fit one contestant, and judge its labels."""

import gzip
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from _measure import peak_resident_bytes, resident_bytes, spent
from scipy import sparse
from sklearn.cluster import HDBSCAN, MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from sparsemix import SparseGaussianMixture, SparseMultinomialMixture, SparseVonMisesFisherMixture
from sparsemix.datasets import load_bag_of_words

# Corpora that defaults were chosen on: kind of inference, tolerance, epochs before learning.
TUNED_ON = {
    "SparseMultinomialMixture": ["news_t", "tweets_t"],
    "SparseVonMisesFisherMixture": ["20news", "arxiv"],
}
GSDMM_ITERATIONS = 30
# HDBSCAN's time grows with the square of the rows: it has the first of them, and is judged by these.
FIRST_ROWS = {"hdbscan 8000": 8000, "directions 8000": 8000}


def read(data, corpus, n_rows):
    """Counts and labels of documents in random order; of several words in a line of labels the first counts."""
    path = next(path for path in Path(data).glob(f"docword.{corpus}.txt*"))
    X = sparse.csr_array(load_bag_of_words(path, vocabulary=False).data)
    path = next(path for path in Path(data).glob(f"labels.{corpus}.txt*"))
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as lines:
        labels = np.unique([line.split()[0] for line in lines], return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(X.shape[0])[:n_rows]
    return X[order], labels[order]


def reduced(X, n_features):
    """TF-IDF of counts, and its truncated SVD."""
    return TruncatedSVD(n_features, random_state=0).fit_transform(TfidfTransformer(sublinear_tf=True).fit_transform(X))


def embed(data, corpus, n_rows, n_features, out):
    """Write TF-IDF and truncated SVD of a corpus, rows of unit length; returns their number."""
    if not Path(out).exists():
        X, labels = read(data, corpus, n_rows)
        x = reduced(X, n_features)
        norms = np.linalg.norm(x, axis=1)
        x, labels = x[norms > 0] / norms[norms > 0, None], labels[norms > 0]
        np.savez(out, x=x.astype(np.float32), labels=labels)
    return len(np.load(out)["labels"])


def count(data, corpus, n_rows, out):
    """Write the counts of a corpus; returns the number of documents."""
    if not Path(out).exists():
        X, labels = read(data, corpus, n_rows)
        np.savez(out, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, labels=labels)
    return len(np.load(out)["labels"])


def load(path):
    """Rows and labels, the first nine tenths and the last one."""
    file = np.load(path)
    if "x" in file:
        x = file["x"]
    else:
        x = sparse.csr_array((file["data"].astype(np.float64), file["indices"], file["indptr"]), shape=file["shape"])
    n = x.shape[0] - x.shape[0] // 10
    return x[:n], x[n:], file["labels"][:n]


def measure(path, name, n_components, seed):
    """Fit a contestant and judge its labels of the training rows; None where a peer is not installed."""
    x, held_out, labels = load(path)
    x, labels = (part[: FIRST_ROWS.get(name)] for part in (x, labels))
    try:
        estimator, fit = CONTESTANTS[name](n_components, seed)
    except (ImportError, LookupError):
        return None
    fit(x[: min(len(labels), 4 * n_components)], warm=True)  # imports and first calls are not counted
    before = resident_bytes()
    (found, score), seconds = spent(lambda: fit(x))
    if isinstance(found, list):  # layers of clusters, from fine to coarse: the one that agrees best with the labels
        found = max(found, key=lambda layer: normalized_mutual_info_score(labels, layer))
    memory = max(0, peak_resident_bytes() - before)
    table = contingency_matrix(labels, found)
    sizes = np.bincount(found[found >= 0])
    return {
        "estimator": name_of(estimator), "parameters": parameters_of(estimator),
        "tuned_on": TUNED_ON.get(type(estimator).__name__, []),
        "nmi": normalized_mutual_info_score(labels, found), "ari": adjusted_rand_score(labels, found),
        "purity": float(table.max(axis=0).sum() / table.sum()), "largest": int(sizes.max(initial=0)),
        "alive": int((sizes > 0).sum()), "held_out": None if score is None else float(score(held_out)),
        "seconds": seconds, "megabytes": memory / 1e6,
    }  # fmt: skip


def name_of(estimator):
    """The class of an estimator, or the name that a contestant without a class gives with its parameters."""
    return estimator[0] if isinstance(estimator, tuple) else type(estimator).__name__


def parameters_of(estimator):
    """Parameters that differ between settings of one class, or from the defaults of a package without classes."""
    if isinstance(estimator, tuple):
        return estimator[1]
    names = "covariance_type", "concentration_type", "inference", "mean_precision_prior"
    return {name: getattr(estimator, name) for name in names if getattr(estimator, name, None) is not None}


def of_sparsemix(cls, **params):
    def make(n_components, seed):
        est = cls(n_components, random_state=seed, **params)
        est._validate_params()

        def fit(x, warm=False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                est.set_params(max_iter=1 if warm else 100).fit(x)
                return est.predict(x), est.score

        return est, fit

    return make


def gaussian(covariance_type, **params):
    """SparseGaussianMixture, where it has this covariance."""

    def make(n_components, seed):
        try:
            return of_sparsemix(SparseGaussianMixture, covariance_type=covariance_type, **params)(n_components, seed)
        except ValueError as error:
            raise LookupError(covariance_type) from error

    return make


def faiss(n_components, seed, **parameters):
    """k-means, all rows in each iteration; it ends when the objective stays the same, or after 25 iterations."""
    import faiss

    names = {"k-means++": getattr(faiss, "ClusteringInitMethod_KMEANS_PLUS_PLUS", None)}
    given = parameters | {name: names[value] for name, value in parameters.items() if name == "init_method"}

    def fit(x, warm=False):
        # rows have unit length: with "spherical" faiss normalises centroids only, and long rows would weigh more;
        # by default it draws 256 rows a centroid, which a corpus can exceed, and warns below 39
        means = faiss.Kmeans(
            x.shape[1], n_components, seed=seed + 1, max_points_per_centroid=len(x), min_points_per_centroid=1,
            **given | ({"niter": 1} if warm else {}),
        )  # fmt: skip
        means.train(x)
        return means.index.search(x, 1)[1].ravel(), None

    return ("faiss k-means", parameters), fit


def superkmeans(n_components, seed, **parameters):
    """Spherical k-means of SuperKMeans, by default 10 iterations on three tenths of the rows."""
    from superkmeans import SuperKMeans

    # early termination, pruning and the random rotation are on by default; one thread, as all have

    def fit(x, warm=False):  # noqa: ARG001
        means = SuperKMeans(n_components, x.shape[1], n_threads=1, angular=True, seed=seed + 1, **parameters)
        return means.assign(x, means.train(x)), None

    return ("SuperKMeans", parameters | {"angular": True}), fit


def minibatch(n_components, seed):
    est = MiniBatchKMeans(n_components, random_state=seed)
    return est, lambda x, warm=False: (est.fit_predict(x), None)  # noqa: ARG005


def hdbscan(n_components, seed):  # noqa: ARG001
    """HDBSCAN with its defaults, which finds its own number of clusters; rows that it calls noise are one."""
    est = HDBSCAN(copy=True)  # rows have unit length, so Euclidean distances rank as cosines do
    return est, lambda x, warm=False: (est.fit_predict(x), None)  # noqa: ARG005


def evoc(n_components, seed, best=False):  # noqa: ARG001
    """EVoC with its defaults: the layer that it takes for its ``labels_``, or all of its layers to choose from."""
    from evoc import EVoC

    est = EVoC(random_state=seed)  # compares directions, as these rows are meant; noise is one cluster

    def fit(x, warm=False):  # noqa: ARG001
        est.fit(x)
        return (list(est.cluster_layers_) if best else est.labels_), None

    return ("EVoC", {"layer": "best by labels"} if best else {}), fit


def gsdmm(n_components, seed):
    """Dirichlet multinomial mixture by Gibbs sampling [Yin & Wang 2014], a loop of this file and no package.

    Their alpha = beta = 0.1 and 30 iterations, as published.
    """

    def fit(x, warm=False):
        return gibbs(x, n_components, 0 if warm else GSDMM_ITERATIONS, np.random.default_rng(seed)), None

    return ("GSDMM", {"alpha": 0.1, "beta": 0.1, "iterations": GSDMM_ITERATIONS}), fit


def gibbs(x, n_components, n_iterations, rng, alpha=0.1, beta=0.1):
    """Labels after sweeps over all documents; clusters of a document are weighed together, by NumPy."""
    n, v = x.shape
    labels = rng.integers(n_components, size=n)
    documents = [(x.indices[a:b], x.data[a:b]) for a, b in zip(x.indptr[:-1], x.indptr[1:], strict=True)]
    steps = [rising(counts) for _, counts in documents]
    lengths = [np.arange(counts.sum()) for _, counts in documents]
    sizes, tokens, words = np.zeros(n_components), np.zeros(n_components), np.zeros((v, n_components))
    for k, (indices, counts) in zip(labels, documents, strict=True):
        sizes[k] += 1
        tokens[k] += counts.sum()
        words[indices, k] += counts
    for _ in range(n_iterations):
        for d, (indices, counts) in enumerate(documents):
            k = labels[d]
            sizes[k] -= 1
            tokens[k] -= counts.sum()
            words[indices, k] -= counts
            which, more = steps[d]
            weights = np.log(sizes + alpha) + np.log(words[indices[which]] + more + beta).sum(axis=0)
            weights -= np.log(tokens + v * beta + lengths[d][:, None]).sum(axis=0)
            sums = np.cumsum(np.exp(weights - weights.max()))
            k = labels[d] = np.searchsorted(sums, rng.random() * sums[-1])
            sizes[k] += 1
            tokens[k] += counts.sum()
            words[indices, k] += counts
    return labels


def rising(counts):
    """Of each token of a document its word, and how many of the same came before, as a column."""
    which = np.repeat(np.arange(len(counts)), counts.astype(int))
    return which, np.concatenate([np.arange(count) for count in counts])[:, None]


CONTESTANTS = {
    "faiss": partial(faiss, spherical=True),
    "faiss 10": partial(faiss, spherical=True, niter=10),
    "faiss ++": partial(faiss, spherical=True, init_method="k-means++"),
    # ending at a gain below a thousandth of the objective halves the time, at an NMI that differs by less than seeds do
    "faiss early": partial(faiss, spherical=True, early_stop_threshold=1e-3),
    # what an early end saves pays for k-means++: the best NMI of faiss here that takes no more time than its defaults
    "faiss ++ early": partial(faiss, spherical=True, init_method="k-means++", early_stop_threshold=1e-3),
    "superkmeans": superkmeans,
    "superkmeans all": partial(superkmeans, iters=25, sampling_fraction=1.0),
    "faiss k-means": faiss,
    "minibatch k-means": minibatch,
    "hdbscan 8000": hdbscan,
    "evoc": evoc,
    "evoc best layer": partial(evoc, best=True),
    "directions": of_sparsemix(SparseVonMisesFisherMixture),
    "directions 8000": of_sparsemix(SparseVonMisesFisherMixture),
    "directions vb": of_sparsemix(SparseVonMisesFisherMixture, inference="vb"),
    "directions own": of_sparsemix(SparseVonMisesFisherMixture, concentration_type="own"),
    **{name: gaussian(name) for name in ("tied_spherical", "tied_diag", "tied", "diag", "low_rank")},
    "tied_spherical em": gaussian("tied_spherical", inference="em"),
    # the variance of rows in their component over that of the means, as it is on these embeddings with many components
    "tied_spherical kappa": gaussian("tied_spherical", mean_precision_prior=2.0),
    "words": of_sparsemix(SparseMultinomialMixture),
    "words vb": of_sparsemix(SparseMultinomialMixture, inference="vb"),
    "gsdmm": gsdmm,
}
