"""Empirical Bayes for clusters with full covariances."""

from copy import copy

import numpy as np
from scipy.linalg import lapack
from scipy.special import gammaln

from sparsemix._heuristics.clusters.independent import PSEUDO, SMALLEST
from sparsemix._heuristics.clusters.metrics import factors, shrunk

# Values of nu and kappa, and steps of the scale: the evidence is a smooth function of their logs.
DOFS, KAPPAS, STEPS = 2.0 ** np.arange(10), 10.0 ** np.arange(-20.0, 2.1, 0.25), (2.0, 2.0**0.5)
# Range of the scale.
LEAST_SCALE, MOST_SCALE = 1e-3, 1e5


class Matrices:
    """Normal-Wishart prior: precisions Wishart(nu + D - 1, scale W), a mean N(m, (kappa precision)^-1).

    W is the pooled covariance within the groups, so that three numbers are left to choose: the scale needs a
    factorisation of all groups for each value, nu and kappa none.

    Parameters
    ----------
    n_features : int
    given : dict
        As for Independent; "dof" is nu + D - 1, "covariance" scale times W.
    """

    def __init__(self, n_features, given):
        self.n_features, self.given = n_features, given
        self.m, self.scale, self.kappa, self.nu = np.zeros(n_features), 8.0, 0.1, 8.0
        dof, kappa = given.get("dof"), given.get("mean_precision")
        self.dofs = DOFS if dof is None else np.array([dof - n_features + 1.0])
        self.kappas = KAPPAS if kappa is None else np.array([kappa])
        if given.get("mean") is not None:
            self.m = given["mean"]

    def begin(self, groups):
        """Moments of the groups as a first estimate."""
        if self.given.get("mean") is None:
            weight = np.sqrt(groups.count)
            self.m = weight @ groups.mean / weight.sum()
        if self.given.get("covariance") is not None:
            self._expect(self.given["covariance"])
            self.scale = 1.0
            return self
        degrees = max(groups.count.sum() - np.minimum(groups.count, 1.0).sum(), 1.0)
        within = groups.scatter.sum(axis=0) / degrees
        within[np.diag_indices(self.n_features)] += SMALLEST
        self._expect(shrunk(within, degrees))
        return self

    def _expect(self, matrix):
        self.matrix, self.log_det = matrix, np.linalg.slogdet(matrix)[1]

    def fit(self, groups, rounds):  # noqa: ARG002
        """Maximise the evidence: a line search of the scale, and the best kappa and nu for each value."""
        found = {}

        def value(scale):
            if scale not in found:
                found[scale] = self._best(groups, scale)
            return found[scale][0]

        value(self.scale)
        for step in () if self.given.get("covariance") is not None else STEPS:
            before = None
            while (best := max(found, key=value)) != before and LEAST_SCALE < best < MOST_SCALE:
                before = best
                value(best * step)
                value(best / step)
        self.scale = max(found, key=value)
        _, self.kappa, self.nu = found[self.scale]
        return self

    def _best(self, groups, scale):
        """Largest evidence for one scale, with its kappa and nu."""
        factors, kappa, nu = self._factored(groups, scale), self.kappa, self.nu
        for _ in range(2):
            nu = self.dofs[self._evidence(groups.count, factors, scale, kappa, self.dofs).sum(axis=0).argmax()]
            evidence = self._evidence(groups.count, factors, scale, self.kappas, nu).sum(axis=0)
            evidence += 0.5 * np.log(self.kappas) - 0.5 * PSEUDO * self.kappas
            kappa = self.kappas[evidence.argmax()]
        return evidence.max(), kappa, nu

    def _factored(self, groups, scale):
        """log |B| without the distance of the mean from m, and that distance in units of B, (G,) each."""
        low = factors(groups.scatter + scale * self.matrix)
        logs = 2.0 * np.log(np.diagonal(low, axis1=1, axis2=2)).sum(axis=1)
        # LAPACK reads a factor in C order as its transpose; numpy has no solver for triangles
        apart = np.stack([lapack.dtrtrs(f.T, m, trans=1)[0] for f, m in zip(low, groups.mean - self.m, strict=True)])
        return logs[:, None], (apart**2).sum(axis=1)[:, None]

    def _evidence(self, count, factors, scale, kappa, nu):
        """Log density of the rows of each group, (G, ...), for one or several values of kappa or nu."""
        d, n = self.n_features, count[:, None]
        nu = np.atleast_1d(nu)
        logs = factors[0] + np.log1p(kappa * n / (kappa + n) * factors[1])
        sizes, where = np.unique(count, return_inverse=True)
        column = nu + np.arange(d)[:, None, None]
        gammas = (gammaln(0.5 * (column + sizes[:, None])) - gammaln(0.5 * column)).sum(axis=0)[where]
        dof = nu + d - 1.0
        prior = 0.5 * dof * (d * np.log(scale) + self.log_det) + 0.5 * d * np.log(kappa / (kappa + n))
        return gammas + prior - 0.5 * (dof + n) * logs - 0.5 * n * d * np.log(np.pi)

    def evidence(self, groups):
        """Log density of the rows of each group, (G,)."""
        return self._evidence(groups.count, self._factored(groups, self.scale), self.scale, self.kappa, self.nu)[:, 0]

    def log_hyperprior(self, count):
        """As of Independent, for kappa, m and W."""
        d, dof = self.n_features, self.nu + self.n_features - 1.0
        log_rows = np.log1p((dof * count / (dof + count)).sum())
        log_prior = 0.5 * np.log(self.kappa) - 0.5 * PSEUDO * self.kappa
        return log_prior - 0.5 * (d * np.log1p(len(count)) + 0.5 * d * (d + 1) * log_rows)

    def copy(self):
        """A copy with its own estimates."""
        return copy(self)

    def arguments(self):
        """The estimates as arguments of a family's prior."""
        return {
            "mean": self.m, "mean_precision": self.kappa, "dof": self.nu + self.n_features - 1.0,
            "covariance": self.scale * self.matrix,
        }  # fmt: skip
