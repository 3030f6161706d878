"""Dirichlet distributions: normaliser, expectations, and priors learned from expected logarithms."""

import numpy as np
from scipy.special import gammaln, polygamma, psi

# Newton steps for a prior; convergence is quadratic.
MAX_STEPS = 50
# Upper bound of the mean of a learned prior (or its old value): equal draws would make it infinite.
LARGEST = 1e6
# Below this, the rank-one part of the Hessian cancels its diagonal to round-off.
SINGULAR = 1e-12


def log_normalizer(a):
    """log Gamma(sum a) - sum log Gamma(a): the log normalising constant of the density."""
    return float(gammaln(np.sum(a)) - np.sum(gammaln(a)))


def maximize_prior(prior, expected_log, mass):
    """The prior a that maximises mass * log_normalizer(a) + sum_k a_k expected_log_k (Minka 2000, Section 1).

    Newton's method on log a, which keeps a positive; the Hessian is diagonal plus rank one.

    Parameters
    ----------
    prior : ndarray of shape (K,)
        Initial value.
    expected_log : ndarray of shape (K,)
        Sum over draws of E[log p_k].
    mass : float
        Number of draws.
    """
    a = np.array(prior, dtype=np.float64)
    if len(a) == 1:
        return a  # every draw is (1.0,), so the likelihood is constant
    target = expected_log / mass
    largest = max(LARGEST * len(a), a.sum())
    for _ in range(MAX_STEPS):
        slope = a * (psi(a.sum()) - psi(a) + target)
        diagonal = np.minimum(slope, 0.0) - a * a * polygamma(1, a)  # far from the optimum it may be convex
        rank_one = polygamma(1, a.sum())
        # (diag + r a a^T)^-1 slope by the Sherman-Morrison formula
        left = 1.0 + rank_one * np.sum(a * a / diagonal)
        if left > SINGULAR:
            step = (slope - rank_one * np.sum(a * slope / diagonal) / left * a) / diagonal
            step /= max(1.0, np.abs(step).max())
        else:
            step = np.full(len(a), -np.sign(slope.sum()))
        before = a
        a = a * np.exp(-step)
        a *= min(1.0, largest / a.sum())
        if np.abs(a - before).max() <= 1e-10 * a.max():
            break
    return a


def maximize_symmetric_prior(prior, size, expected_log, mass):
    """``maximize_prior`` for a symmetric prior: one number for all ``size`` entries; ``expected_log`` is summed."""
    a = float(prior)
    target = expected_log / (mass * size)
    for _ in range(MAX_STEPS):
        slope = a * (psi(size * a) - psi(a) + target)
        curve = slope + a * a * (size * polygamma(1, size * a) - polygamma(1, a))
        step = float(np.clip(slope / min(curve, -1e-3 * a * a * polygamma(1, a)), -1.0, 1.0))
        a *= np.exp(-step)
        if abs(step) < 1e-10:
            break
    return a
