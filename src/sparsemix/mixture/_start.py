"""The statistics that a fit starts from."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from sparsemix._engine import initialize
from sparsemix._engine.loop import collect, collect_given, respond
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

    Given responsibilities are taken as they are. Else rows (a random subset when there are many) are assigned
    to clusters; the clusters' smoothed Gaussians, with one row more in each than was assigned, then stand for all
    rows. The smoothing keeps clusters of few rows from overconfidence, the extra row keeps empty ones alive.

    Parameters
    ----------
    model : MixtureModel
        The model to be fitted.
    prior : prior of the family
        What clusters are smoothed by: scaled by the data, whatever prior the model has. A narrow prior of the model
        would make the first components narrow, and the few that fit best would take all rows.
    init_params : {"auto", "bregman", "kmeans", "random_from_data", "random"} or (N, K) matrix
    n_init_iter : int
        Hard assignments under the clusters' Gaussians before the statistics are taken.
    init_size : int
        Rows of the subset.
    weights, means, covariances : ndarray or None
        Given parameters (covariances in the family's shape, means relative to the shift).

    Attributes
    ----------
    method : str
        How the clusters were seeded.
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
        self.method = "given"
        self.hard = MixtureModel(model.family, None, model.n_components, 1, model.dtype, model.shift)

    def stats(self, rows, rng, workers):
        """Statistics of mass N."""
        if self.covariances is not None and (self.means is not None or not self.family.has_means):
            return self._spread(np.ones(self.model.n_components), None, rows.mass)
        if not isinstance(self.init_params, str):
            resp, everything = SparseResponsibilities.from_matrix(self.init_params), slice(0, len(rows))
            if self.weights is None and self.means is None and self.covariances is None:
                return collect_given(self.model, rows, everything, resp, workers)  # as they are, nothing smoothed
            return self._from_clusters(rows, everything, resp, workers)
        selection = subset(rows, max(self.init_size, self.model.n_components), rng)
        if self.means is not None:
            return self._from_clusters(rows, selection, self._nearest(rows, selection, workers), workers)
        return self._seeded(rows, selection, rng, workers)

    def _seeded(self, rows, selection, rng, workers):
        """From seeds of the chosen kind; "auto" keeps those whose lower bound is highest after one step.

        Bregman k-means++ finds each of a few distinct clusters; where rows differ more in scale than in kind (image
        patches) it spends its seeds on outliers, and rows drawn at random are the better start; where clusters are
        far apart along one line the data's covariance hides them, and k-means is.
        """
        auto = self.init_params == "auto" and self.model.n_components > 1
        if auto:
            methods = ["bregman", "random_from_data"] + ["kmeans"] * self.family.has_means
        else:
            methods = ["random_from_data" if self.init_params == "auto" else self.init_params]
        best, best_bound = None, -np.inf
        for method in methods:
            resp = SparseResponsibilities.from_labels(self._labels(method, rows, selection, rng))
            for _ in range(self.n_init_iter):
                resp = self._assign(self._smoothed(rows, selection, resp, workers)[1], rows, selection, workers)
            stats = self._from_clusters(rows, selection, resp, workers)
            bound = self._bound_after_step(stats, rows, selection, workers) if auto else 0.0
            if best is None or bound > best_bound:
                best, best_bound, self.method = stats, bound, method
        return best

    def _labels(self, method, rows, selection, rng):
        """Cluster of each row of the subset."""
        n_components = self.model.n_components
        x, weight = rows.read(selection), rows.weight(selection)
        if method == "random":
            return initialize.random_labels(len(x), n_components, rng)
        if method == "kmeans":
            return kmeans_labels(x, n_components, weight, rng)
        seed = initialize.plus_plus if method == "bregman" else initialize.random_centres
        return seed(self.family.item_divergences(self.prior, x), len(x), n_components, rng, weight)

    def _bound_after_step(self, stats, rows, selection, workers):
        """Lower bound on the subset after one local and one global step."""
        self.model.global_step(stats)
        stats = collect(self.model, rows, selection, workers)
        self.model.global_step(stats)
        return self.model.lower_bound(stats)

    def _from_clusters(self, rows, selection, resp, workers):
        return self._spread(*self._smoothed(rows, selection, resp, workers), rows.mass)

    def _smoothed(self, rows, selection, resp, workers):
        """Counts and smoothed Gaussians of the clusters."""
        stats = collect_given(self.hard, rows, selection, resp, workers)
        return stats["count"] + 1.0, self.family.point_estimate(self.family.posterior(self.prior, stats))

    def _spread(self, counts, gaussians, mass):
        """Statistics as of ``mass`` rows, with given parameters in the place of the clusters'."""
        means, covariances, weights = self.means, self.covariances, self.weights
        if means is None:
            zeros = np.zeros((self.model.n_components, self.family.n_features))
            means = gaussians.means if gaussians is not None else zeros
        covariances = gaussians.covariances if covariances is None else covariances
        weights = counts / counts.sum() if weights is None else weights
        stats = self.family.stats_of(Gaussians(self.family.structure, means, covariances), mass * weights)
        stats.shift = self.model.shift
        return stats

    def _nearest(self, rows, selection, workers):
        """The nearest given mean of each row, in the metric of the data's covariance."""
        covariances = data_gaussian(self.family, rows, workers).covariances
        if self.family.structure != "tied":
            covariances = np.repeat(covariances, len(self.means), axis=0)
        gaussians = Gaussians(self.family.structure, self.means, self.family.add_to_diagonal(covariances, 1e-6))
        return self._assign(gaussians, rows, selection, workers)

    def _assign(self, gaussians, rows, selection, workers):
        """The most likely component of each row, whatever the components' weights."""
        self.hard.table = gaussians.table(np.zeros(self.model.n_components), self.model.dtype)
        return respond(self.hard, rows, selection, workers)[0]


# A start need not have converged.
KMEANS_ITER = 20


def subset(rows, size, rng):
    """A random subset of the rows, in order; all of them when there are few."""
    if len(rows) <= size:
        return slice(0, len(rows))
    return np.sort(rng.choice(len(rows), size=size, replace=False))


def kmeans_labels(x, n_clusters, weight, rng):
    """Labels of scikit-learn's k-means."""
    kmeans = KMeans(n_clusters, n_init=1, max_iter=KMEANS_ITER, random_state=int(rng.integers(2**31 - 1)))
    with warnings.catch_warnings():
        # fewer distinct rows than clusters: the other clusters start from the prior
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kmeans.fit(x, sample_weight=weight).labels_
