"""Empirical Bayes for clusters of independent columns: variances that are known or alike, means near or far."""

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from sparsemix._heuristics.clusters.estimates import PSEUDO, SMALLEST, Estimates

# Prior of the degrees of freedom: one more cluster at USUAL of them. Without it the likelihood is unbounded for one
# cluster.
USUAL = 8.0
# Range of the degrees of freedom, and steps to their maximum, which double the digits of an estimate to 1.5 %.
LEAST_DOF, MOST_DOF, NEWTON_STEPS = 0.5, 512.0, 4


class Independent(Estimates):
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

    names = ("m", "kappa", "nu", "b")

    def __init__(self, n_features, given, shared=False):
        self.n_features, self.given, self.shared = n_features, given, shared
        self.n_shared = n_features if shared else 1  # columns of one precision

    def begin(self, groups):
        """Moments of the groups as a first estimate."""
        self.m = groups.sums(groups.mean) / groups.sizes[:, None]
        self.nu = np.full(len(groups.sizes), USUAL)
        self.b = np.maximum(
            self._pooled(groups.sums(groups.scatter)) / self.n_shared / groups.degrees()[:, None], SMALLEST
        )
        gaps = groups.sums(self._pooled((groups.mean - groups.spread(self.m)) ** 2 / groups.spread(self.b)))
        self._set_kappa(groups, gaps)
        return self._keep_given()

    def fit(self, groups, rounds, shares=0.0):  # noqa: ARG002
        """Maximise the evidence by expectation maximisation: closed forms, and one equation for nu."""
        for _ in range(rounds):
            half_dof, rate, kappa, gap = self._posterior(groups)
            precision, log_precision = half_dof / rate, digamma(half_dof) - np.log(rate)
            apart = groups.count[:, None] / kappa * gap  # posterior means from m
            move = groups.sums(precision * apart) / (total := groups.sums(precision))
            self.m = self.m + move
            squares = self._pooled(1.0 / kappa + precision * (apart - groups.spread(move)) ** 2)
            self._set_kappa(groups, groups.sums(squares))
            self.b = np.maximum(groups.sizes[:, None] / total, SMALLEST)
            b = groups.spread(self.b)
            self.nu = self._dof(groups, groups.sums(log_precision + np.log(b) - b * precision + 1.0).sum(axis=1))
            self._keep_given()
        self.log_evidence = groups.sums(self.evidence(groups))
        return self

    def _set_kappa(self, groups, squares):
        kappa = (groups.sizes[:, None] * self.n_shared + 1.0) / (squares + PSEUDO)
        self.kappa = np.broadcast_to(kappa, self.m.shape)

    def _keep_given(self):
        given = self.given
        if given.get("mean") is not None:
            self.m = np.broadcast_to(given["mean"], self.m.shape)
        if given.get("mean_precision") is not None:
            self.kappa = np.broadcast_to(given["mean_precision"], self.kappa.shape)
        if given.get("dof") is not None:
            self.nu = np.full(len(self.nu), given["dof"])
        if given.get("covariance") is not None:
            self.b = np.broadcast_to(given["covariance"] / self.nu[:, None], self.b.shape)
        return self

    def _dof(self, groups, terms):
        """The root of log(nu / 2) - digamma(nu / 2) + mean of the terms, of one more cluster too.

        Newton's steps for 1 / nu, from the approximation of Minka (2002).
        """
        usual = self.b.shape[1] * (digamma(USUAL / 2) - np.log(USUAL / 2))
        gap = -(terms + usual) / ((groups.sizes + 1) * self.b.shape[1])
        gap = np.maximum(gap, 1e-3 / MOST_DOF)  # far beyond the largest degrees of freedom
        half = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
        for _ in range(NEWTON_STEPS):
            value, slope = np.log(half) - digamma(half) - gap, 1.0 / half - polygamma(1, half)
            half = half / (1.0 + value / (half * slope))
        return np.clip(2.0 * half, LEAST_DOF, MOST_DOF)

    def _pooled(self, values):
        """Sums over the columns of one precision."""
        return values.sum(axis=-1, keepdims=True) if self.shared else values

    def _posterior(self, groups):
        """Shape and rate of the precisions, kappa + n, and distances of the groups' means from m."""
        count, prior, nu = groups.count[:, None], groups.spread(self.kappa), groups.spread(self.nu)[:, None]
        kappa, gap = prior + count, groups.mean - groups.spread(self.m)
        squares = self._pooled(groups.scatter + prior * count / kappa * gap**2)
        return 0.5 * (nu + self.n_shared * count), 0.5 * (nu * groups.spread(self.b) + squares), kappa, gap

    def evidence(self, groups):
        """Log density of the rows of each group, (G,)."""
        half_dof, rate, kappa, _ = self._posterior(groups)
        prior, n_precisions = 0.5 * self.nu[:, None], self.b.shape[1]
        own = (prior * np.log(prior * self.b) - gammaln(prior)).sum(axis=1) + 0.5 * np.log(self.kappa).sum(axis=1)
        log_ratio = groups.spread(own) + n_precisions * gammaln(half_dof[:, 0])
        log_ratio -= (half_dof * np.log(rate)).sum(axis=1) + 0.5 * np.log(kappa).sum(axis=1)
        return log_ratio - 0.5 * groups.count * self.n_features * np.log(2.0 * np.pi)

    def log_hyperprior(self, groups):
        """Log hyperprior of kappa, and half the log of its observations for each estimate (Schwarz 1978), of each cut.

        The groups are the observations of m. Those of b are the rows, but a group's many rows count as nu.
        """
        log_prior = (0.5 * np.log(self.kappa) - 0.5 * PSEUDO * self.kappa).sum(axis=1) / self.n_shared
        log_rows = groups.log_rows(self.nu, self.n_shared)
        return log_prior - 0.5 * (self.n_features * np.log1p(groups.sizes) + self.b.shape[1] * log_rows)

    def arguments(self):
        """The estimates of one cut as arguments of a family's prior."""
        (m,), (kappa,), (nu,), (b,) = self.m, self.kappa, self.nu, self.b
        scale = nu * b
        if self.shared:
            kappa, scale = kappa[0], scale[0]
        return {"mean": m, "mean_precision": kappa, "dof": nu, "covariance": scale}
