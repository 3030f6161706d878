"""von Mises-Fisher distributions on the unit sphere: mean directions have vMF posteriors, concentrations are points.

f(x | mu, kappa) = C(kappa) exp(kappa mu . x), C(kappa) = kappa^v / ((2 pi)^(v + 1) I_v(kappa)), v = D / 2 - 1
(Banerjee et al. 2005, Section 2). With a uniform prior of mu the posterior is q(mu_k) = vMF(S_k / |S_k|, kappa |S_k|),
and the evidence of a component is C(kappa)^N_k C(0) / C(kappa |S_k|).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial.polynomial import polyval

from sparsemix._kernels.gaussians import _quadratic
from sparsemix._stats.families import Gaussians, serial
from sparsemix._stats.families._tables import KernelTable
from sparsemix._stats.linear._base import LinearFamily, LinearTable, csr, dense, entries_of

# Smaller counts mean an empty component.
EMPTY = 1e-10
# Upper bound of concentrations: float32 resolves cosines to 1e-7.
MOST = 1e6
# Iterations for a concentration; each gains at least one digit.
NEWTON_STEPS, EM_STEPS = 60, 200
# Relative step that ends EM: the objective is flat there, so its error is the square of this.
CLOSE = 1e-7


def log_constant(n_features, kappa):
    """log C(kappa), and the mean resultant length A(kappa) = -d log C / d kappa = E[mu . x]."""
    order = 0.5 * n_features - 1.0
    g, mean_length = log_bessel(order, kappa)
    return -g - (order + 1.0) * np.log(2.0 * np.pi), mean_length


def coordinate_moments(means, kappa):
    """Means and variances of the coordinates, (K, D) each.

    E[x] = A mu, and E[x x^T] = (A / kappa) I + (1 - D A / kappa) mu mu^T, with A / kappa = 1 / D at kappa = 0.
    """
    n_features = means.shape[1]
    length = log_constant(n_features, kappa)[1]
    across = np.where(kappa > 0.0, length / np.where(kappa > 0.0, kappa, 1.0), 1.0 / n_features)[:, None]
    squares = means**2
    variances = across * (1.0 - squares) + (1.0 - (n_features - 1) * across - length[:, None] ** 2) * squares
    return length[:, None] * means, np.maximum(variances, 0.0)


def concentration_of(n_features, mean_length, near=None):
    """kappa with A(kappa) = ``mean_length``, elementwise, at most MOST: the maximum of the concave log C + kappa A.

    Newton's method, started at ``near``, by default the approximation of Banerjee et al. Eq. 4.4.
    """
    most = log_constant(n_features, MOST)[1]
    r = np.clip(mean_length, 0.0, most)
    kappa = np.minimum(r * (n_features - r**2) / np.maximum(1.0 - r**2, 1e-300), MOST) if near is None else near
    low, high = np.zeros_like(kappa), np.full_like(kappa, MOST)
    for _ in range(NEWTON_STEPS):
        a = log_constant(n_features, kappa)[1]
        low, high = np.where(a <= r, kappa, low), np.where(a >= r, kappa, high)
        safe = np.maximum(kappa, 1e-12)
        slope = np.where(kappa > 1e-6, 1.0 - a**2 - (n_features - 1) * a / safe, 1.0 / n_features)
        step = kappa - (a - r) / np.maximum(slope, 1e-300)
        new = np.where((step > low) & (step < high), step, 0.5 * (low + high))
        if np.all(np.abs(new - kappa) <= 1e-13 * kappa):
            break
        kappa = new
    return kappa


@dataclass(frozen=True)
class Cones:
    """Log densities scale_k means_k . x + constants_k at unit vectors."""

    means: np.ndarray  # (K, D), unit vectors
    scale: np.ndarray  # (K,)
    constants: np.ndarray  # (K,)

    def table(self, log_weights, dtype, split=serial):  # noqa: ARG002
        """Table of ``log_weights[k] + `` log densities."""
        return ConeTable(self.means, self.scale, log_weights + self.constants, np.dtype(dtype))


class ConeTable:
    """Weights computed as for spheres around the mean directions: mu . x = 1 - |x - mu|^2 / 2.

    This keeps the digits of cosines near one, a row's weights do not depend on other rows, and the Gaussian kernels
    for pairs apply. Sparse rows use products with scale * mean. Both tables are built on first use.
    """

    complete_pairs = None  # see KernelTable

    def __init__(self, means, scale, constants, dtype):
        self.dtype = dtype
        self.means, self.scale, self.constants = means, scale, constants

    @cached_property
    def kernel(self):
        """The table for dense rows."""
        constants = self.constants + self.scale
        return KernelTable(_quadratic.SPHERICAL, np.sqrt(self.scale), self.means, constants, self.dtype)

    def rows(self, x):
        """Rows in the coordinates of the kernel's table."""
        return x

    @cached_property
    def linear(self):
        """The table for sparse rows."""
        natural = np.empty(self.means.shape, dtype=self.dtype)
        np.multiply(self.scale[:, None], self.means, out=natural, casting="same_kind")
        return LinearTable(natural, self.constants)

    def weights(self, x, out):
        """Log densities of dense or sparse rows in ``out`` (n, K)."""
        return (self.kernel if isinstance(x, np.ndarray) else self.linear).weights(x, out)


@dataclass(frozen=True)
class Directions:
    """Mean directions (K, D), concentrations (K,), and those of the directions' posteriors, (K,) or None."""

    means: np.ndarray
    kappa: np.ndarray
    certainty: np.ndarray | None


class VonMisesFisher(LinearFamily):
    """Parameters: mean directions with their posteriors, and one shared concentration or one per component.

    The prior of a per-component concentration counts as ``weight`` rows of mean resultant length ``mean_length``, in EM
    too: a component of one row, or of equal rows, has unbounded concentration otherwise.
    """

    def __init__(self, n_features, shared=True, weight=0.0, mean_length=0.0):
        super().__init__(n_features)
        self.shared = shared
        self.weight = weight
        self.mean_length = mean_length

    def fit(self, stats, variational, previous=None):
        """Mean directions in closed form, concentrations by solving one equation each."""
        count, first = np.maximum(stats["count"], 0.0), dense(stats["first"])
        norm = np.sqrt(np.einsum("kd,kd->k", first, first))
        length = np.minimum(norm, count)
        live = (count > EMPTY) & (length > EMPTY)
        means = first * (1.0 / np.where(live, norm, 1.0))[:, None]
        kappa = self._concentrations(count, length, variational, None if previous is None else previous.kappa)
        if not live.all():
            means[~live] = np.eye(1, self.n_features) if previous is None else previous.means[~live]
        return Directions(means, kappa, kappa * np.where(live, length, 0.0) if variational else None)

    def _concentrations(self, count, length, variational, kappa=None):
        """Solve for the zero of the objective's derivative; in VB by EM over the uncertain mean directions.

        Both iterations start at ``kappa``, the result of the last step.
        """
        n, pull = (count.sum(), 0.0) if self.shared else (count + self.weight, self.weight * self.mean_length)

        def from_certainties(certain, near):
            total = (length * certain).sum() if self.shared else length * certain + pull
            return concentration_of(self.n_features, np.asarray(total / n), near)

        if kappa is not None and self.shared:
            kappa = kappa[0]
        if kappa is None or not variational:
            kappa = from_certainties(np.ones_like(length), kappa)
        for _ in range(EM_STEPS if variational else 0):
            new = from_certainties(log_constant(self.n_features, kappa * length)[1], kappa)
            done = np.all(np.abs(new - kappa) <= CLOSE * kappa)
            kappa = new
            if done:
                break
        return np.broadcast_to(kappa, count.shape).copy()

    def log_evidences(self, stats, parameters):
        """See LinearFamily; at the mean of the concentrations of ``parameters``."""
        first = dense(stats["first"])
        kappa, length = parameters.kappa.mean(), np.sqrt(np.einsum("kd,kd->k", first, first))
        log_c = log_constant(self.n_features, kappa)[0]
        uniform = log_constant(self.n_features, 0.0)[0]
        return np.maximum(stats["count"], 0.0) * log_c + uniform - log_constant(self.n_features, kappa * length)[0]

    def objective(self, parameters, stats, variational):
        """See LinearFamily; adds the log prior of per-component concentrations."""
        kappa, count = parameters.kappa, np.maximum(stats["count"], 0.0)
        log_c = log_constant(self.n_features, kappa)[0]
        out = (count * log_c).sum()
        if not self.shared:
            out += (self.weight * (log_c + kappa * self.mean_length)).sum()
        if variational:
            uniform = log_constant(self.n_features, 0.0)[0]
            return float(out + (uniform - log_constant(self.n_features, parameters.certainty)[0]).sum())
        return float(out + (kappa * np.einsum("kd,kd->k", parameters.means, dense(stats["first"]))).sum())

    def expected(self, parameters, variational):
        """E[log f] = log C(kappa) + kappa E[mu] . x, E[mu] = A(kappa |S|) S / |S|."""
        scale = parameters.kappa
        if variational:
            scale = scale * log_constant(self.n_features, parameters.certainty)[1]
        return Cones(parameters.means, scale, log_constant(self.n_features, parameters.kappa)[0])

    def moments(self, parameters):
        """Gaussians with the moments of each component: mean A(kappa) mu, and mean squared length one."""
        length = log_constant(self.n_features, parameters.kappa)[1]
        return Gaussians("spherical", length[:, None] * parameters.means, (1.0 - length**2) / self.n_features)

    def plug_in(self, parameters):
        """See LinearFamily."""
        return self.expected(parameters, variational=False)

    def n_parameters(self, n_components):
        """See LinearFamily; directions have unit length."""
        return n_components * (self.n_features - 1) + (1 if self.shared else n_components)

    def seed_weights(self, x):
        """Cosines."""
        rows = x if isinstance(x, np.ndarray) else csr(x, self.n_features)

        def cosines(chosen):
            if rows is x:
                return x[chosen] @ x.T
            seeds = np.atleast_1d(chosen)
            owner, columns, values = entries_of(x, seeds)
            directions = np.zeros((self.n_features, len(seeds)), values.dtype)
            directions[columns, owner] = values
            out = rows @ directions
            return out.T if np.ndim(chosen) else out[:, 0]

        return cosines

    def own_weights(self, x):
        """One: the cosine of a row with itself."""
        return np.ones(len(x))


def draws(means, kappa, labels, rng):
    """Unit vectors from the distributions named by ``labels`` (Wood 1994): rejection for cosines, then directions.

    Works with 1 - cosine, which stays accurate for large concentrations.
    """
    n_features = means.shape[1]
    below = below_one(n_features, kappa[labels], rng)
    x = rng.standard_normal((len(labels), n_features))
    mu = means[labels]
    x -= np.einsum("nd,nd->n", x, mu)[:, None] * mu
    x *= np.sqrt(below * (2.0 - below) / np.maximum(np.einsum("nd,nd->n", x, x), 1e-300))[:, None]
    x += (1.0 - below)[:, None] * mu
    return x / np.sqrt(np.einsum("nd,nd->n", x, x))[:, None]


def below_one(n_features, kappa, rng):
    """A draw of 1 - mu . x for each concentration."""
    if n_features == 1:  # the sphere is two points
        return 2.0 * (rng.random(len(kappa)) > 1.0 / (1.0 + np.exp(-2.0 * kappa)))
    m = n_features - 1.0
    b = m / (2.0 * kappa + np.hypot(2.0 * kappa, m))
    centre = 2.0 * b / (1.0 + b)  # 1 minus x_0 of the paper
    out, left = np.empty(len(kappa)), np.arange(len(kappa))
    while len(left):
        z = rng.beta(0.5 * m, 0.5 * m, len(left))
        c, t = centre[left], 2.0 * b[left] * z / (1.0 - (1.0 - b[left]) * z)
        log_ratio = kappa[left] * (c - t) + m * np.log((t + c * (1.0 - t)) / (c * (2.0 - c)))
        accepted = np.log1p(-rng.random(len(left))) <= log_ratio
        out[left[accepted]] = t[accepted]
        left = left[~accepted]
    return out


# -- modified Bessel functions
#
# log I_v(t) diverges with log t as t goes to zero, so these functions use g_v(t) = log I_v(t) - v log t, which is
# smooth there. From order LEAST on, Debye's uniform expansions are accurate (DLMF 10.41); smaller orders use the
# downward recurrence, which is stable.

# Number of terms, and the order from which the expansions are exact to double precision: the next term is below
# 50 ** -9.
TERMS = 9
LEAST = 50.0


def debye_polynomials(n_terms):
    """U_0, U_1, ... (DLMF 10.41.9) as rows of coefficients, in exact arithmetic."""
    out = [[Fraction(1)]]
    for _ in range(n_terms - 1):
        u = out[-1]
        new = [Fraction(0)] * (len(u) + 3)
        for i, c in enumerate(u):
            new[i + 1] += Fraction(i, 2) * c + Fraction(1, 8) * c / (i + 1)  # p^2 U' / 2, and the integral of U / 8
            new[i + 3] -= Fraction(i, 2) * c + Fraction(5, 8) * c / (i + 3)
        out.append(new)
    return np.array([[float(c) for c in u + [0] * (len(out[-1]) - len(u))] for u in out])


U = debye_polynomials(TERMS)


@lru_cache(maxsize=256)
def coefficients(order):
    """Coefficients of sum_k U_k(p) / v^k and of sum_k (U_k(p) / 2 + p U_k'(p)) / v^(k + 1), as polynomials of p."""
    total = order ** -np.arange(TERMS, dtype=np.float64) @ U
    return total, (0.5 + np.arange(len(total))) * total / order


def expansions(order, t):
    """g_v(t), and the ratio I_{v + 1}(t) / I_v(t) divided by t, for an order of at least LEAST; elementwise."""
    h = np.hypot(1.0, t / order)
    total, slope = (polyval(1.0 / h, c) for c in coefficients(order))
    g = order * (h - np.log(order) - np.log1p(h)) - 0.5 * np.log(2.0 * np.pi * order * h) + np.log(total)
    # I' / I by DLMF 10.41.5, minus v / t; the terms that cancel as t goes to zero are removed analytically
    return g, (1.0 / (1.0 + h) - slope / total / h / h) / order


def log_bessel(order, t):
    """log I_v(t) - v log t, and the ratio I_{v + 1}(t) / I_v(t), for t >= 0 elementwise and one order v > -1."""
    t = np.asarray(t, dtype=np.float64)
    n_above = max(0, int(np.ceil(LEAST - order)))
    g, ratio = expansions(order + n_above, t)
    for j in range(n_above - 1, -1, -1):  # I_{w - 1} = (2 w / t) I_w + I_{w + 1}, w = v + j + 1
        ratio = 1.0 / (2.0 * (order + j + 1) + t * (t * ratio))
        g = g - np.log(ratio)
    return g, t * ratio
