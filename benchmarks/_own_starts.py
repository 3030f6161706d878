"""Mixtures that find their own start, as their users have them: held-out scores against seconds, the start included."""

import math
import time

import numpy as np
from _fits import REG_COVAR, Clock, TimeIsUpError, fit_rival, fitted_parameters, passes
from _tasks import scored
from sklearn.cluster import MiniBatchKMeans
from sklearn.mixture import GaussianMixture

from sparsemix import SparseGaussianMixture


class Observed(GaussianMixture):
    """scikit-learn's mixture, which tells ``clock`` of each epoch."""

    def _m_step(self, X, log_resp, **options):
        super()._m_step(X, log_resp, **options)
        if self.clock.epoch(lambda: fitted_parameters(self)):
            raise TimeIsUpError


def sparse(X, n_components, clock):
    """Ours, with its defaults."""
    mixture = SparseGaussianMixture(n_components, random_state=0).set_callbacks(passes(clock))
    clock.begin()
    mixture.fit(X)
    clock.end(fitted_parameters(mixture))


def scikit_learn(X, n_components, clock):
    """scikit-learn's, with its defaults, among them a start by k-means on all rows, but for the ridge.

    Patches less their means have no variance in one direction; with the default 1e-6 float32 rows end in an error.
    """
    mixture = Observed(n_components, reg_covar=REG_COVAR, random_state=0)
    mixture.clock = clock
    clock.begin()
    try:
        mixture.fit(X)
    except TimeIsUpError:
        return
    clock.end(fitted_parameters(mixture))


def minibatch_kmeans(X, n_components, clock):
    """scikit-learn's EM from the clusters of its k-means in minibatches: what its users do to save the start."""
    clock.begin()
    clusters = MiniBatchKMeans(n_components, random_state=0).fit(X)
    fit_rival(moments(X, clusters.labels_, clusters.cluster_centers_), X, "full", clock)


def moments(X, labels, means):
    """Weights, means and covariances of clusters; one of a single row has the covariance of all rows."""
    counts = np.bincount(labels, minlength=len(means))
    covariances = np.stack([np.cov((X[labels == k] if count > 1 else X).T, bias=True)
                            for k, count in enumerate(counts)])  # fmt: skip
    return np.maximum(counts, 1) / np.maximum(counts, 1).sum(), means, covariances + REG_COVAR * np.eye(X.shape[1])


CONTESTANTS = {
    "SparseGaussianMixture": sparse,
    "GaussianMixture": scikit_learn,
    "MiniBatchKMeans, GaussianMixture": minibatch_kmeans,
}


def own_start_curve(train, test, rows, contestant, n_components, budget, marks):
    """Held-out score against seconds of the processor, the start included."""
    clock = Clock(10_000, math.inf if budget is None else budget, marks, time.process_time)
    error = None
    try:
        CONTESTANTS[contestant](np.load(train)[:rows], n_components, clock)
    except ValueError as problem:  # a covariance that float32 cannot factor
        error = str(problem)
    out = scored(clock, test)
    return out | {"error": error or out["error"]}
