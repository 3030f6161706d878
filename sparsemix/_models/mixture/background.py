"""A background: one more component, of constant density, for rows that belong to no Gaussian.

Its density is 1 / V, where V is the volume of the box that holds the training rows. Its share rho has a Beta prior, and
q(rho) = Beta(a + N_0, b + N - N_0). N_0, its number of rows, is the mass less the counts of the Gaussians, so that it
needs no statistics. Rows with missing values have the density of their observed columns.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, digamma, entr, expit

from sparsemix._models.mixture.annotated import UNKNOWN

# The prior counts as one row, as that of the weights does: rows decide, and a background without rows has no weight.
PRIOR_ROWS = 1.0


@dataclass(frozen=True)
class Background:
    """Background of a mixture.

    Attributes
    ----------
    share : float
        Prior mean of rho.
    low, sides : ndarray of shape (D,)
        Lowest corner of the box in the coordinates of the data, and its sides.
    log_odds : float
        E[log rho] - E[log(1 - rho)] after the last global step.
    """

    share: float
    low: np.ndarray
    sides: np.ndarray
    log_odds: float = 0.0

    def posterior(self, stats):
        """Parameters of q(rho)."""
        count = stats["count"].sum()
        own = max(float(stats["mass"]) - count, 0.0)  # a difference of sums may have negative round-off
        return PRIOR_ROWS * self.share + own, PRIOR_ROWS * (1.0 - self.share) + count

    def join(self, stats, mass):
        """Give the background its expected share of initial statistics, whose mass becomes ``mass``."""
        stats.scale(1.0 - self.share)
        stats["mass"] = mass
        return stats

    def after(self, stats):
        """The background after a global step."""
        a, b = self.posterior(stats)
        return replace(self, log_odds=float(digamma(a) - digamma(b)))

    def weight(self, stats):
        """E[rho]."""
        a, b = self.posterior(stats)
        return float(a / (a + b))

    def evidence(self, stats):
        """Term of rho in the lower bound."""
        prior = PRIOR_ROWS * self.share, PRIOR_ROWS * (1.0 - self.share)
        return float(betaln(*self.posterior(stats)) - betaln(*prior))

    def log_density(self, x):
        """Log density of the observed values of rows, (n,)."""
        logs, missing = np.log(self.sides), np.isnan(x)
        out = np.full(len(x), -logs.sum())
        return out + missing @ logs if missing.any() else out

    def take(self, x, resp, labels):
        """Give the background its part of the responsibilities of a tile; rows with labels keep theirs."""
        log_odds = self.log_odds + self.log_density(x)
        if labels is not None:
            log_odds[labels != UNKNOWN] = -np.inf
        resp.values[...] *= expit(resp.log_z - log_odds)[:, None]
        resp.log_z[...] = np.logaddexp(resp.log_z, log_odds)

    def of_rows(self, x, resp, sample_weight):
        """Its entropy plus expected log density of a chunk, and the weight of each row for the Gaussians, (n,)."""
        kept = np.minimum(resp.values.sum(axis=1), 1.0)
        terms = entr(1.0 - kept) + (1.0 - kept) * self.log_density(x)
        weight = np.ones(len(x)) if sample_weight is None else sample_weight
        return float(terms @ weight), kept * weight
