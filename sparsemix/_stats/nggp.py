"""Normalized generalized gamma processes as priors of partitions, and the process of Pitman and Yor."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, exprel, gammaln, psi

from sparsemix._kernels.clusters import _nggp

# Numbers of clusters with a smaller probability are ignored in expectations.
NEGLIGIBLE = 1e-18
# Limit for the rejection sampler of log U; about one proposal in six is rejected if its density is nearly a parabola.
MOST_PROPOSALS = 1000


@dataclass(frozen=True)
class NGGP:
    """A random measure with Levy intensity a / Gamma(1 - sigma) w^(-1 - sigma) exp(-tau w), divided by its total T.

    sigma = 0 is the Dirichlet process with concentration a, for any tau; sigma = 1/2 the normalized inverse Gaussian;
    tau = 0 the normalized stable process. Otherwise partitions depend on a and tau only through a tau^sigma. Given T,
    the auxiliary variable U of n rows is Gamma(n) / T. All methods use v = log U, whose density is strictly log-concave
    (James, Lijoi and Prünster 2009; Favaro and Teh 2013).

    theta > 0 multiplies the law of the stable process by T^-theta, and so the density of U by u^theta: this is the
    process of Pitman and Yor (1997), for any a. Given U a new cluster has the weight a u^sigma, which is sigma times a
    Gamma(theta / sigma + k) variable, of mean theta + sigma k.
    """

    concentration: float
    discount: float
    tilt: float
    theta: float = 0.0

    def __post_init__(self):
        if not (0 < self.concentration < np.inf and 0 <= self.discount < 1 and 0 <= self.tilt < np.inf):
            raise ValueError(
                "concentration must be positive, discount in [0, 1) and tilt not negative, "
                f"got {self.concentration}, {self.discount} and {self.tilt}."
            )
        if self.discount == self.tilt == 0:
            raise ValueError("tilt must be positive where discount is 0.")
        if not (0 <= self.theta < np.inf and self.theta * self.tilt == 0):
            raise ValueError(f"theta must not be negative, and 0 where tilt is positive, got {self.theta}.")

    @classmethod
    def pitman_yor(cls, theta, discount):
        """The process of Pitman and Yor; without discount it is a Dirichlet process."""
        return cls(theta, discount, 0.0, theta) if discount else cls(theta, 0.0, 1.0)

    @property
    def measure(self):
        """All parameters, as kernels take them."""
        return self.concentration, self.discount, self.tilt, self.theta

    # -- the measure

    def log_shift(self, v):
        """log(u + tau)."""
        return np.logaddexp(v, np.log(self.tilt)) if self.tilt else np.asarray(v, dtype=np.float64)

    def laplace_exponent(self, v):
        """-log E[exp(-u T)] at u = e^v: (a / sigma) ((u + tau)^sigma - tau^sigma), or its limit a log(1 + u / tau)."""
        if not self.tilt:
            return self.concentration / self.discount * np.exp(self.discount * np.asarray(v))
        rise = self.log_shift(v) - np.log(self.tilt)
        return self.concentration * self.tilt**self.discount * rise * exprel(self.discount * rise)

    def log_kappa(self, m, v):
        """Log of the tilted moment: the integral of w^m exp(-u w) times the intensity."""
        scale = gammaln(m - self.discount) - gammaln(1 - self.discount)
        return np.log(self.concentration) + scale - (m - self.discount) * self.log_shift(v)

    # -- the auxiliary variable

    def log_density_of_log_u(self, v, n, k):
        """Log density of log U for n rows in k clusters, up to a constant."""
        # n (v - log(u + tau)) as one term: as a difference it would cancel completely for 1e20 rows
        power = self.theta + self.discount * k
        return power * self.log_shift(v) - n * self._log_gap(v) - self.laplace_exponent(v)

    def slope_of_log_density(self, v, n, k):
        """Derivative of the log density with respect to v."""
        falling = self.concentration * np.exp(self.discount * self.log_shift(v)) - (self.theta + self.discount * k)
        return n * -np.expm1(-self._log_gap(v)) - falling * np.exp(-self._log_gap(v))

    def _log_gap(self, v):
        """log(1 + tau / u)."""
        return np.logaddexp(0.0, np.log(self.tilt) - v) if self.tilt else np.zeros_like(v, dtype=np.float64)

    def log_mode(self, n, k):
        """Mode of log U, where a (u + tau)^sigma = theta + sigma k + n tau / u; n and k may be real, or arrays."""
        n, k, shape = _flat(n, k)
        out = np.empty_like(n)
        _nggp.log_mode(n, k, *self.measure, out)
        return out.reshape(shape)[()]

    def sample_log_u(self, n, k, rng):
        """An exact draw of log U for n rows in k >= 1 clusters, independent of earlier draws.

        Rejection from an envelope of tangents to the log density on both sides of the mode, and a constant between
        them; five of six proposals are accepted if it is nearly a parabola. If round-off leaves no valid tangents,
        because the density is too narrow or too flat for floating point, the result is the mode.
        """
        mode = float(self.log_mode(n, k))
        with np.errstate(all="ignore"):
            return self._drawn(mode, n, k, rng)

    def _drawn(self, mode, n, k, rng):
        gap = float(self._log_gap(mode))
        s = np.exp(-gap)
        curvature = n * -np.expm1(-gap) * (1 + self.discount * s) + k * (self.discount * s) ** 2
        width = 1.0 / np.sqrt(curvature + self.theta * self.discount)
        touch = mode + np.array([-width, width])
        peak = self.log_density_of_log_u(mode, n, k)
        slopes = self.slope_of_log_density(touch, n, k)
        left, right = touch + (peak - self.log_density_of_log_u(touch, n, k)) / slopes  # tangents at peak height
        tails = 1.0 / np.abs(slopes)
        pieces = np.cumsum([tails[0], right - left, tails[1]])
        if not (slopes[0] > 0.0 > slopes[1] and left < right and np.isfinite(pieces).all()):
            return mode
        for _ in range(MOST_PROPOSALS):
            place, tail = rng.uniform(0.0, pieces[-1]), rng.exponential()
            if place < pieces[0]:
                v, envelope = left - tail * tails[0], -tail
            elif place < pieces[1]:
                v, envelope = left + place - pieces[0], 0.0
            else:
                v, envelope = right + tail * tails[1], -tail
            if -rng.exponential() <= self.log_density_of_log_u(v, n, k) - peak - envelope:
                return float(v)
        return mode

    # -- partitions

    def log_joint(self, counts, n, v):
        """Log joint density of a partition of n rows and U at v = log u, up to a constant."""
        power = n - 1.0 + self.theta
        return power * v - self.laplace_exponent(v) + self.log_kappa(counts, v).sum()

    def log_partition(self, counts, n):
        """Log probability of a partition of n rows, up to a constant, given U at its mode for one cluster.

        For the process of Pitman and Yor U is integrated out. Its weight of a new cluster grows with their number.
        """
        if not self.theta:
            return self.log_kappa(counts, self.log_mode(n, 1.0)).sum()
        opened = np.log(self.theta + self.discount * np.arange(len(counts))).sum()
        return opened + (gammaln(counts - self.discount) - gammaln(1.0 - self.discount)).sum()

    def log_new_weight(self, n, k, rule="quadrature"):
        """Log weight of a new cluster for row n + 1, relative to weights n_k - sigma of existing clusters.

        The rule "mode" is log a + sigma log(u + tau) at the mode of log U; n and k may be expectations. The rule
        "quadrature" is log(a E[u (u + tau)^(sigma - 1)] / E[u / (u + tau)]), the weight of exact prediction.
        """
        n, k, shape = _flat(n, k)
        out = np.empty_like(n)
        _nggp.log_new(n, k, *self.measure, rule == "quadrature", np.empty_like(n), out)
        return out.reshape(shape)[()]

    def expected_clusters(self, n):
        """Expected number of clusters of n rows; takes time n times the number of probable values."""
        if self.discount == 0:
            return float(self.concentration * (psi(self.concentration + n) - psi(self.concentration)))
        first, probabilities = 1, np.ones(1)  # of `first`, first + 1, ... clusters
        for m in range(1, n):
            k = first + np.arange(len(probabilities))
            opens = probabilities * expit(self.log_new_weight(m, k) - np.log(m - self.discount * k))
            probabilities = np.append(probabilities - opens, 0.0)
            probabilities[1:] += opens
            likely = np.flatnonzero(probabilities > NEGLIGIBLE)
            first += likely[0]
            probabilities = probabilities[likely[0] : likely[-1] + 1]
        return float(probabilities @ (first + np.arange(len(probabilities))))

    def sample_concentration(self, k, v, rng, shape, rate):
        """Draw a given k clusters and v = log U, under a Gamma(shape, rate) prior of a."""
        return float(rng.gamma(shape + k, 1.0 / (rate + self.laplace_exponent(v) / self.concentration)))


def _flat(n, k):
    """Two contiguous arrays of equal length for a kernel, and the shape of its result."""
    n, k = np.broadcast_arrays(n, k)
    return np.ascontiguousarray(n, dtype=np.float64).ravel(), np.ascontiguousarray(k, dtype=np.float64).ravel(), n.shape
