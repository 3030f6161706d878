"""Empirical Bayes for clusters with full covariances."""

from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from sparsemix._heuristics.clusters.estimates import PSEUDO, SMALLEST, Estimates, hopeless
from sparsemix._heuristics.clusters.metrics import repaired, shrunk

# Values of nu and kappa, and steps of the scale: the evidence is a smooth function of their logs.
DOFS, KAPPAS, WIDE, NARROW = 2.0 ** np.arange(10), 10.0 ** np.arange(-20.0, 2.1, 0.25), 2.0, 2.0**0.5
# First scale and nu, and the range of the scale.
FIRST, LEAST_SCALE, MOST_SCALE = 8.0, 1e-3, 1e5
# A number that exceeds all squared distances.
CORNER = 1e200


class Matrices(Estimates):
    """Normal-Wishart prior: precisions Wishart(nu + D - 1, scale W), a mean N(m, (kappa precision)^-1).

    W is the pooled covariance within the groups, so that three numbers are left to choose: the scale needs a
    factorisation of all groups for each value, nu and kappa none.

    Parameters
    ----------
    n_features : int
    given : dict
        As for Independent; "dof" is nu + D - 1, "covariance" scale times W.
    """

    names = ("m", "matrix", "log_det", "scale", "kappa", "nu")

    def __init__(self, n_features, given):
        self.n_features, self.given = n_features, given
        dof, kappa = given.get("dof"), given.get("mean_precision")
        self.dofs = DOFS if dof is None else np.array([dof - n_features + 1.0])
        self.kappas = KAPPAS if kappa is None else np.array([kappa])
        self.scale = np.array([FIRST])

    def begin(self, groups):
        """Moments of the groups as a first estimate."""
        n_cuts, d = len(groups.sizes), self.n_features
        weight = np.sqrt(groups.count)[:, None]
        self.m = groups.sums(weight * groups.mean) / groups.sums(weight)
        if self.given.get("mean") is not None:
            self.m = np.tile(self.given["mean"], (n_cuts, 1))
        self.scale = np.full(n_cuts, self.scale[-1])
        if self.given.get("covariance") is not None:
            self.scale, self.matrix = np.ones(n_cuts), np.tile(self.given["covariance"], (n_cuts, 1, 1))
        else:
            degrees = groups.degrees()
            within = groups.sums(groups.scatter) / degrees[:, None, None] + SMALLEST * np.eye(d)
            self.matrix = shrunk(within, degrees)
        self.log_det = np.linalg.slogdet(self.matrix)[1]
        return self

    def fit(self, groups, rounds, shares=0.0):  # noqa: ARG002
        """Maximise the evidence: a line search of the scale, and the best kappa and nu for each value.

        Partitions of log probabilities ``shares`` that are hopeless keep the first scale.
        """
        terms = self._terms(groups)
        value, self.kappa, self.nu = self._best(groups, terms, self.scale)
        score = value + shares + self.log_hyperprior(groups)
        kept = (score >= score.max() - hopeless(groups)) & (self.given.get("covariance") is None)
        for factor in (WIDE, 1.0 / WIDE, NARROW, 1.0 / NARROW):
            if factor > 1.0:
                still = kept.copy()  # cuts that this direction does not improve get the other one
            cuts = np.flatnonzero(still)
            while len(cuts):
                scale = self.scale[cuts] * factor
                new = self.take(cuts)._best(groups.cuts(cuts), terms[cuts], scale)
                rises = new[0] > value[cuts]
                cuts = cuts[rises]
                value[cuts], self.kappa[cuts], self.nu[cuts], self.scale[cuts] = (one[rises] for one in (*new, scale))
                still[cuts] = False
                inside = (self.scale[cuts] > LEAST_SCALE) & (self.scale[cuts] < MOST_SCALE)
                cuts = cuts[inside & (factor in (WIDE, 1.0 / WIDE))]  # two narrow steps are a wide one
        self.log_evidence = value - self._log_kappa(self.kappa)
        return self

    @staticmethod
    def _log_kappa(kappa):
        """Log hyperprior of kappa."""
        return 0.5 * np.log(kappa) - 0.5 * PSEUDO * kappa

    def _terms(self, groups):
        """What the evidence of each cut owes to the numbers of rows alone, for all kappa and nu."""
        d, kappa, n = self.n_features, self.kappas, groups.count[:, None]
        shares = groups.sums(np.log(kappa / (kappa + n)))
        hyper = self._log_kappa(kappa) - 0.5 * d * np.log(np.pi) * groups.sums(n)
        return (0.5 * d * shares + hyper)[:, :, None] + groups.sums(self._gammas(groups.count))[:, None]

    def _best(self, groups, terms, scale):
        """Largest evidence of each cut for its scale, with kappa and nu."""
        logs, squares = self._factored(groups, scale)
        kappa, n, dof = self.kappas, groups.count[:, None], self.dofs + self.n_features - 1.0
        logs = logs[:, None] + np.log1p(kappa / (1.0 + kappa / n) * squares[:, None])
        prior = groups.sizes * (self.n_features * np.log(scale) + self.log_det)
        logs, weighted = groups.sums(logs), groups.sums(n * logs)
        value = terms + 0.5 * dof * (prior[:, None] - logs)[:, :, None] - 0.5 * weighted[:, :, None]
        best = value.reshape(len(value), -1).argmax(axis=1)
        i, j = np.unravel_index(best, value.shape[1:])
        return value[np.arange(len(value)), i, j], kappa[i], self.dofs[j]

    def _factored(self, groups, scale):
        """log |B| without the distance of the mean from m, and that distance in units of B, (G,) each."""
        d = self.n_features
        b = np.empty((len(groups.count), d + 1, d + 1))
        for cut, first, last in zip(range(len(scale)), groups.starts, groups.starts + groups.sizes, strict=True):
            np.add(groups.scatter[first:last], scale[cut] * self.matrix[cut], out=b[first:last, :d, :d])
        b[:, d, :d] = groups.mean - groups.spread(self.m)  # the factor's last row solves for these distances
        b[:, d, d] = CORNER
        try:
            low = np.linalg.cholesky(b)
        except np.linalg.LinAlgError:
            b[:, :d, :d] = repaired(b[:, :d, :d])
            low = np.linalg.cholesky(b)
        logs = 2.0 * np.log(np.diagonal(low, axis1=1, axis2=2)[:, :d]).sum(axis=1)
        return logs, (low[:, d, :d] ** 2).sum(axis=1)

    def _gammas(self, count):
        """Differences of log gamma functions of dof + n and dof, (G, number of dofs)."""
        most = 1 << int(count.max()).bit_length()
        return gammas(self.n_features, tuple(self.dofs), most)[count.astype(np.intp)]

    def evidence(self, groups):
        """Log density of the rows of each group, (G,)."""
        d, n, kappa = self.n_features, groups.count, groups.spread(self.kappa)
        logs, squares = self._factored(groups, self.scale)
        logs += np.log1p(kappa / (1.0 + kappa / n) * squares)
        dof = self.nu + d - 1.0
        prior = groups.spread(0.5 * dof * (d * np.log(self.scale) + self.log_det))
        prior = prior + 0.5 * d * np.log(kappa / (kappa + n))
        gamma = self._gammas(n)[np.arange(len(n)), groups.spread(np.searchsorted(self.dofs, self.nu))]
        return gamma + prior - 0.5 * (groups.spread(dof) + n) * logs - 0.5 * n * d * np.log(np.pi)

    def log_hyperprior(self, groups):
        """As of Independent, for kappa, m and W."""
        d = self.n_features
        log_rows = groups.log_rows(self.nu + d - 1.0)
        return self._log_kappa(self.kappa) - 0.5 * (d * np.log1p(groups.sizes) + 0.5 * d * (d + 1) * log_rows)

    def arguments(self):
        """The estimates of one cut as arguments of a family's prior."""
        return {
            "mean": self.m[0], "mean_precision": self.kappa[0], "dof": self.nu[0] + self.n_features - 1.0,
            "covariance": self.scale[0] * self.matrix[0],
        }  # fmt: skip


@lru_cache(maxsize=8)
def gammas(n_features, dofs, most):
    """Log of Gamma_D((nu + D - 1 + n) / 2) / Gamma_D((nu + D - 1) / 2) for n = 0, 1, ..., ``most``, of each nu."""
    column = np.arange(most)[:, None] + np.array(dofs)
    steps = gammaln(0.5 * (column + n_features)) - gammaln(0.5 * column)
    return np.cumsum(np.concatenate([np.zeros((1, len(dofs))), steps]), axis=0)
