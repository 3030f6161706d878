"""Measurements of the experiment ``growing`` of ``clusters.py``, in a child process: all methods on one drawing."""

import warnings

import numpy as np
from _clusters_tasks import finders, judged
from _growing_problems import draw, moving, parameters
from _measure import spent
from scipy.spatial.distance import cdist
from sklearn.cluster import Birch
from sklearn.metrics import adjusted_rand_score

from sparsemix import SparseGaussianMixture, StreamingNGGPMixture

ROWS_A_FEATURE = 4  # that a half needs twice of, for held-out scores
ENOUGH = 0.75  # agreement that each block of a moving stream should have


def growing(name, seed, numbers, block=None):
    """Clusters, agreement, seconds and held-out score of each method that can afford the problem.

    With ``block``, ours also reads the rows as a stream of blocks, in random order and sorted by label.
    """
    warnings.simplefilter("ignore")  # of convergence, and of a stream's first block
    X, labels = draw(name, seed)
    n_samples, n_features = X.shape
    more = parameters(name, n_features)
    order = np.random.default_rng(seed).permutation(n_samples)
    halves = np.array_split(X[order], 2) if n_samples >= ROWS_A_FEATURE * n_features else None
    methods = {"sparsemix": lambda X: StreamingNGGPMixture(**more, random_state=seed).fit(X)}
    methods |= peers(n_samples, n_features, numbers, seed)
    runs, densities = {}, {}
    for method, fit in methods.items():
        runs[method] = timed(lambda fit=fit: labels_of(fit(X), X), labels)
        if halves and method != "HDBSCAN":
            densities[method] = fit(halves[0]).score_samples(halves[1])
            runs[method] |= summary("held_out", densities[method])
    if "variational" in densities:
        above = densities["sparsemix"] - densities["variational"]
        runs["sparsemix"] |= summary("above", above) | {"better": float(np.mean(above > 0.0))}
    for method, rows in streams(order, labels) if block else ():
        runs[method] = timed(lambda rows=rows: streamed(X, rows, block, more), labels)
    return {"runs": runs}


def search(name, seed):
    """Clusters, agreement and seconds of fits after one that has loaded all code."""
    warnings.simplefilter("ignore")
    X, labels = draw(name, seed)
    models = {"sparsemix": StreamingNGGPMixture(random_state=seed)} | finders(seed)
    runs = {}
    for method, model in models.items():
        model.fit(X[:100])
        runs[method] = timed(lambda model=model: model.fit_predict(X), labels)
    return {"runs": runs}


def peers(n_samples, n_features, numbers, seed):
    """Fits of the methods that find a number of clusters too, where costs and limits allow it."""
    affordable = {"HDBSCAN": n_samples**2 * n_features <= 10**10, "variational": n_samples * n_features**2 <= 2 * 10**7}
    out = {name: model.fit for name, model in finders(seed).items() if affordable[name]}
    out["BIC"] = lambda X: least_bic(X, numbers, seed)
    return out


def least_bic(X, numbers, seed):
    """The mixture whose number of components has the least BIC."""
    shape = "full" if X.shape[1] <= 20 else "diag"
    fits = [SparseGaussianMixture(number, covariance_type=shape, random_state=seed).fit(X) for number in numbers]
    return min(fits, key=lambda fit: fit.bic(X))


def labels_of(model, X):
    """Labels of the rows that a model has learned."""
    return model.labels_ if hasattr(model, "labels_") else model.predict(X)


def streams(order, labels):
    """Names of orders, and the orders: a random one, and that order sorted by label."""
    return ("random stream", order), ("sorted stream", order[np.argsort(labels[order], kind="stable")])


def moved(seed, **sizes):
    """Agreement of each block of a moving stream after it was learned, by ours and by Birch with the true number.

    The nearest true centre is the best that can be had.
    """
    warnings.simplefilter("ignore")
    blocks, runs = list(moving(np.random.default_rng(seed), **sizes)), {}
    for method in ("sparsemix", "sparsemix, half-life", "Birch", "nearest centre"):
        model = {
            "sparsemix": StreamingNGGPMixture(), "sparsemix, half-life": StreamingNGGPMixture(half_life=500.0),
            "Birch": Birch(n_clusters=None),
        }.get(method)  # fmt: skip

        def found(X, centres, model=model):
            return cdist(X, centres).argmin(axis=1) if model is None else model.partial_fit(X).predict(X)

        rand, seconds = spent(lambda found=found: [adjusted_rand_score(y, found(X, at)) for X, y, at in blocks])
        runs[method] = {"mean": float(np.mean(rand)), "least": float(np.min(rand)), "seconds": seconds,
                        "blocks_below": int(np.sum(np.array(rand) < ENOUGH))}  # fmt: skip
        if model is not None and method != "Birch":
            runs[method]["n_clusters"] = model.n_clusters_
    return {"runs": runs}


def streamed(X, order, block, more):
    """Labels of all rows after a stream of blocks in some order."""
    model = StreamingNGGPMixture(**more)
    for start in range(0, len(order), block):
        model.partial_fit(X[order[start : start + block]])
    return model.predict(X)


def timed(predict, labels):
    predicted, seconds = spent(predict)
    return judged(predicted, labels) | {"seconds": seconds}


def summary(name, values):
    """Mean and its standard error over rows."""
    return {name: float(values.mean()), f"{name}_error": float(values.std(ddof=1) / len(values) ** 0.5)}
