"""Clusters to start from: a label for each row of a subset."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from sparsemix._engine import initialize
from sparsemix.mixture._splitting import column_scales, grow

SEEDINGS = "auto", "kmeans", "kmeans_scaled", "k-means++", "splitting", "bregman", "random_from_data", "random"
# A start need not have converged; where it is a large share of the fit, even less.
KMEANS_ITER, FEW_KMEANS_ITER = 20, 8
# k-means++ draws its centres from this many rows a component at most; assignments then see all rows.
SEED_ROWS = 10
# Up to this many products of a seeding each centre is the best of several that are drawn.
GREEDY_NUMBERS = 1_000_000_000
# With so few products of rows and clusters k-means is repeated, and the most compact clusters are kept.
KMEANS_INIT, KMEANS_PAIRS = 5, 100_000


def labels(method, learner, rows, n_components, rng, workers):
    """Cluster of each of the rows by one of the methods of ``init_params``."""
    x, weight = rows.read(slice(0, len(rows))), rows.weight(slice(0, len(rows)))
    if method == "splitting":
        return grow(learner, rows, n_components, rng, workers)
    if method == "random":
        return initialize.random_labels(len(x), n_components, rng)
    if method == "kmeans":
        return kmeans(x, n_components, weight, rng)
    if method == "kmeans_scaled":
        return kmeans(x / column_scales(x), n_components, weight, rng)
    if method == "k-means++":
        return kmeans(x, n_components, weight, rng, max_iter=1, n_init=1)
    seed = initialize.plus_plus if method == "bregman" else initialize.random_centres
    return seed(learner.family.item_divergences(learner.wide_prior, x), len(x), n_components, rng, weight)


def few_pairs(n_rows, n_clusters):
    """Whether k-means costs so little that it is repeated."""
    return n_rows * n_clusters <= KMEANS_PAIRS


def kmeans(x, n_clusters, weight, rng, max_iter=None, n_init=None):
    """Labels of scikit-learn's k-means."""
    few = few_pairs(len(x), n_clusters)
    if max_iter is None:
        max_iter = FEW_KMEANS_ITER if len(x) * n_clusters * x.shape[1] > GREEDY_NUMBERS else KMEANS_ITER
    seed = int(rng.integers(2**31 - 1))
    init, n_init = "k-means++", (KMEANS_INIT if few else 1) if n_init is None else n_init
    if not few:
        chosen = rng.choice(len(x), size=min(len(x), SEED_ROWS * n_clusters), replace=False)
        greedy = len(chosen) * n_clusters * x.shape[1] <= GREEDY_NUMBERS
        trials = 2 + int(np.log(n_clusters)) if greedy else 1
        init = initialize.euclidean_centres(x[chosen], n_clusters, trials, rng)
    with warnings.catch_warnings():
        # fewer distinct rows than clusters: the other clusters start from the prior
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=seed).fit(
            x, sample_weight=weight
        ).labels_  # fmt: skip
