"""The statistics that a fit starts from."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from sparsemix._engine import initialize
from sparsemix._engine.blocks import length
from sparsemix._engine.loop import collect_given, respond
from sparsemix._stats.families import Gaussians
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix.mixture._model import MixtureModel


def data_gaussian(family, rows, workers):
    """All rows as one Gaussian of the family, which scales the default prior."""
    one = MixtureModel(family, None, 1, 1, rows.dtype, rows.shift)
    everything = slice(0, len(rows))
    resp = SparseResponsibilities.from_labels(np.zeros(len(rows), dtype=np.int32))
    return family.maximum_likelihood(collect_given(one, rows, everything, resp, workers), 0.0)


class Start:
    """Initial statistics of a mixture, in the shape of those of all rows.

    Rows (a random subset when there are many) are assigned to clusters; the clusters' smoothed Gaussians, with one
    row more in each than was assigned, then stand for all rows. The smoothing by the prior keeps clusters of few
    rows from overconfidence, the extra row keeps empty ones alive.

    Parameters
    ----------
    model : MixtureModel
        The model to be fitted; its family, sizes and dtype count.
    prior : prior of the family
    init_params : {"bregman", "kmeans", "random_from_data", "random"} or (N, K) matrix
    n_init_iter : int
        Hard assignments under the clusters' Gaussians before the statistics are taken.
    init_size : int
        Rows of the subset.
    weights, means, covariances : ndarray or None
        Given parameters (covariances in the family's shape, means relative to the shift).
    """

    def __init__(self, model, prior, init_params, n_init_iter, init_size, weights=None, means=None, covariances=None):
        self.model = model
        self.family = model.family
        self.prior = prior
        self.init_params = init_params
        self.n_init_iter = n_init_iter
        self.init_size = init_size
        self.weights = weights
        self.means = means
        self.covariances = covariances
        self.hard = MixtureModel(model.family, None, model.n_components, 1, model.dtype, model.shift)

    def stats(self, rows, rng, workers):
        """Statistics of mass N."""
        if self._is_given():
            counts = np.ones(self.model.n_components)
            gaussians = Gaussians(self.family.structure, self._given_means(), self.covariances)
        else:
            selection, resp = self._responsibilities(rows, rng, workers)
            counts, gaussians = self._smoothed(rows, selection, resp, workers)
            gaussians = Gaussians(
                gaussians.structure,
                gaussians.means if self.means is None else self.means,
                gaussians.covariances if self.covariances is None else self.covariances,
            )
        counts = counts / counts.sum() if self.weights is None else self.weights
        stats = self.family.stats_of(gaussians, rows.mass * counts)
        stats.shift = self.model.shift
        return stats

    def _is_given(self):
        return self.covariances is not None and (self.means is not None or not self.family.has_means)

    def _given_means(self):
        return np.zeros((self.model.n_components, self.family.n_features)) if self.means is None else self.means

    def _smoothed(self, rows, selection, resp, workers):
        stats = collect_given(self.hard, rows, selection, resp, workers)
        post = self.family.posterior(self.prior, stats)
        return stats["count"] + 1.0, self.family.point_estimate(post)

    def _responsibilities(self, rows, rng, workers):
        """Rows of the subset and their responsibilities."""
        n_components = self.model.n_components
        if not isinstance(self.init_params, str):
            return slice(0, len(rows)), SparseResponsibilities.from_matrix(self.init_params)
        selection = subset(rows, max(self.init_size, n_components), rng)
        weight = rows.weight(selection)
        if self.means is not None:
            labels = self._nearest(rows, selection, workers)
        elif self.init_params == "random":
            labels = initialize.random_labels(length(selection), n_components, rng)
        elif self.init_params == "kmeans":
            labels = kmeans_labels(rows.read(selection), n_components, weight, rng)
        else:
            x = np.asarray(rows.read(selection), dtype=np.float64)
            from_row = self.family.item_divergences(self.prior, x)
            seed = initialize.plus_plus if self.init_params == "bregman" else initialize.random_centres
            labels = seed(from_row, len(x), n_components, rng, weight)
        resp = SparseResponsibilities.from_labels(labels)
        if self.init_params != "random":
            for _ in range(self.n_init_iter):
                _, gaussians = self._smoothed(rows, selection, resp, workers)
                resp = self._assign(gaussians, rows, selection, workers)
        return selection, resp

    def _nearest(self, rows, selection, workers):
        """Labels of the nearest given mean, in the metric of the data's covariance."""
        data = data_gaussian(self.family, rows, workers)
        covariances = data.covariances
        if self.family.structure != "tied":
            covariances = np.repeat(covariances, len(self.means), axis=0)
        gaussians = Gaussians(self.family.structure, self.means, self.family.add_to_diagonal(covariances, 1e-6))
        return self._assign(gaussians, rows, selection, workers).indices[:, 0]

    def _assign(self, gaussians, rows, selection, workers):
        """The most likely component of each row, whatever the components' weights."""
        self.hard.table = gaussians.table(np.zeros(self.model.n_components), self.model.dtype)
        return respond(self.hard, rows, selection, workers)[0]


def subset(rows, size, rng):
    """A random subset of the rows, in order; all of them when there are few."""
    if len(rows) <= size:
        return slice(0, len(rows))
    return np.sort(rng.choice(len(rows), size=size, replace=False))


def kmeans_labels(x, n_clusters, weight, rng):
    """Labels of scikit-learn's k-means."""
    kmeans = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31 - 1)))
    with warnings.catch_warnings():
        # fewer distinct rows than clusters: the other clusters start from the prior
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kmeans.fit(x, sample_weight=weight).labels_
