"""Empirical Bayes for clusters of independent columns: variances that are known or alike, means near or far."""

from copy import copy

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

# The hyperprior of each kappa is Gamma(3 / 2, PSEUDO / 2), and that of the degrees of freedom is one more cluster at
# USUAL of them: without them the likelihood is unbounded for one cluster.
PSEUDO, USUAL = 0.25, 8.0
# Range of the degrees of freedom.
LEAST_DOF, MOST_DOF = 0.5, 512.0
# Smallest variance, relative to that of all rows: below it there is round-off.
SMALLEST = 1e-9


class Independent:
    """Normal-Gamma prior: precisions Gamma(nu / 2, nu b / 2), a mean N(m, 1 / (kappa precision)), for each column.

    With ``shared``, a cluster has one precision for all columns, and kappa and b are the same for all columns.

    Parameters
    ----------
    n_features : int
    given : dict
        Values of "mean" (m), "mean_precision" (kappa), "dof" (nu) and "covariance" (nu b) that stay as they are; None
        or absent: estimated.
    shared : bool
    """

    def __init__(self, n_features, given, shared=False):
        self.n_features, self.given, self.shared = n_features, given, shared
        self.kappa = np.ones(n_features)
        self.n_shared = n_features if shared else 1  # columns of one precision

    def begin(self, groups):
        """Moments of the groups as a first estimate."""
        degrees = max(groups.count.sum() - np.minimum(groups.count, 1.0).sum(), 1.0)
        self.m = groups.mean.mean(axis=0)
        self.nu = USUAL
        self.b = np.maximum(self._pooled(groups.scatter.sum(axis=0)) / self.n_shared / degrees, SMALLEST)
        gaps = self._pooled((groups.mean - self.m) ** 2 / self.b)
        self.kappa = np.broadcast_to((len(groups.count) * self.n_shared + 1.0) / (gaps.sum(axis=0) + PSEUDO),
                                     self.n_features)  # fmt: skip
        return self._keep_given()

    def fit(self, groups, rounds):
        """Maximise the evidence by expectation maximisation: closed forms, and one equation for nu."""
        for _ in range(rounds):
            half_dof, rate, kappa, gap = self._posterior(groups)
            precision, log_precision = half_dof / rate, digamma(half_dof) - np.log(rate)
            means = self.m + groups.count[:, None] / kappa * gap
            self.m = (precision * means).sum(axis=0) / np.broadcast_to(precision, means.shape).sum(axis=0)
            spread = self._pooled(1.0 / kappa + precision * (means - self.m) ** 2).sum(axis=0)
            self.kappa = np.broadcast_to((len(means) * self.n_shared + 1.0) / (spread + PSEUDO), self.n_features)
            self.b = np.maximum(len(means) / precision.sum(axis=0), SMALLEST)
            self.nu = self._dof(log_precision + np.log(self.b) - self.b * precision + 1.0)
            self._keep_given()
        return self

    def _keep_given(self):
        given = self.given
        if given.get("mean") is not None:
            self.m = given["mean"]
        if given.get("mean_precision") is not None:
            self.kappa = np.full(self.n_features, given["mean_precision"])
        if given.get("dof") is not None:
            self.nu = given["dof"]
        if given.get("covariance") is not None:
            self.b = np.atleast_1d(given["covariance"]) / self.nu
        return self

    def _dof(self, terms):
        """The root of log(nu / 2) - digamma(nu / 2) + mean of the terms, of one more cluster too."""
        usual = terms.shape[1] * (digamma(USUAL / 2) - np.log(USUAL / 2))
        mean = (terms.sum() + usual) / (terms.size + terms.shape[1])

        def slope(nu):
            return np.log(nu / 2) - digamma(nu / 2) + mean

        if slope(MOST_DOF) > 0.0:
            return MOST_DOF
        return LEAST_DOF if slope(LEAST_DOF) < 0.0 else brentq(slope, LEAST_DOF, MOST_DOF, xtol=1e-3)

    def _pooled(self, values):
        """Sums over the columns of one precision."""
        return values.sum(axis=-1, keepdims=True) if self.shared else values

    def _posterior(self, groups):
        """Shape and rate of the precisions, kappa + n, and distances of the groups' means from m."""
        count = groups.count[:, None]
        kappa, gap = self.kappa + count, groups.mean - self.m
        squares = self._pooled(groups.scatter + self.kappa * count / kappa * gap**2)
        return 0.5 * (self.nu + self.n_shared * count), 0.5 * (self.nu * self.b + squares), kappa, gap

    def evidence(self, groups):
        """Log density of the rows of each group, (G,)."""
        half_dof, rate, kappa, _ = self._posterior(groups)
        prior, n_precisions = 0.5 * self.nu, len(self.b)
        log_ratio = (prior * np.log(prior * self.b) - half_dof * np.log(rate)).sum(axis=1)
        log_ratio += n_precisions * (gammaln(half_dof[:, 0]) - gammaln(prior))
        log_ratio += 0.5 * np.log(self.kappa / kappa).sum(axis=1)
        return log_ratio - 0.5 * groups.count * self.n_features * np.log(2.0 * np.pi)

    def log_hyperprior(self, count):
        """Log hyperprior of kappa, and half the log of its observations for each estimate (Schwarz 1978).

        The groups are the observations of m. Those of b are the rows, but a group's many rows count as nu.
        """
        log_prior = (0.5 * np.log(self.kappa) - 0.5 * PSEUDO * self.kappa).sum() / self.n_shared
        rows = self.n_shared * count
        log_rows = np.log1p((self.nu * rows / (self.nu + rows)).sum())
        return log_prior - 0.5 * (self.n_features * np.log1p(len(count)) + len(self.b) * log_rows)

    def copy(self):
        """A copy with its own estimates."""
        return copy(self)

    def arguments(self):
        """The estimates as arguments of a family's prior."""
        kappa, scale = self.kappa, self.nu * self.b
        if self.shared:
            kappa, scale = kappa[0], scale[0]
        return {"mean": self.m, "mean_precision": kappa, "dof": self.nu, "covariance": scale}
