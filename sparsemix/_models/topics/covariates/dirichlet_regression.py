"""Dirichlet-multinomial regression (Mimno and McCallum 2008): priors alpha_dk = exp(x_d' lambda_k) of documents.

Given the tables t_dk of a document (Antoniak 1974), or their expectations, and its exposure s_d = -log Beta(A_d, n_d)
with A_d = sum_k alpha_dk, or its expectation psi(A_d + n_d) - psi(A_d), the likelihood of lambda is that of K Poisson
regressions: t_dk ~ Poisson(s_d alpha_dk). It is concave, so Newton's method finds its mode.
"""

import numpy as np
from scipy.linalg import solve_triangular

# Numbers of a block of rows times topics.
BLOCK = 1 << 20
# alpha is below exp(LARGEST_LOG): as the largest prior that can be given.
LARGEST_LOG = 13.8
# Newton steps; convergence is quadratic. A step changes no log alpha by more than one.
MAX_STEPS, TOLERANCE = 100, 1e-3


def rates(rows, coefficients):
    """alpha of rows of covariates, (n, K)."""
    return np.exp(np.minimum(rows @ coefficients, LARGEST_LOG))


def blocks_of(rows, n_columns):
    """Slices of rows, of which arrays with this number of columns are small."""
    step = max(1, BLOCK // n_columns)
    return [slice(first, first + step) for first in range(0, len(rows), step)]


def sums_of_rates(rows, coefficients, weight):
    """Weighted sums of alpha over rows, (K,)."""
    out = np.zeros(coefficients.shape[1])
    for block in blocks_of(rows, len(out)):
        out += weight[block] @ rates(rows[block], coefficients)
    return out


def fit_rates(rows, exposure, totals, start, mean, precision, max_steps=MAX_STEPS):
    """The mode of all coefficients, (P, K), and the negative Hessians there, (K, P, P).

    Parameters
    ----------
    rows : ndarray of shape (n, P)
        Covariates; rows may be distinct rows, with the exposure of all documents that have them.
    exposure : ndarray of shape (n,)
        s_d, times the weight of the document.
    totals : ndarray of shape (P, K)
        Sum over documents of weight times x_d t_d'.
    start : ndarray of shape (P, K)
        Initial coefficients.
    mean, precision : ndarrays of shapes (P, K) and (P,)
        Of the normal prior.
    max_steps : int
    """
    out, kept = np.array(start, dtype=np.float64), products(rows) if rows.size * rows.shape[1] <= BLOCK else None
    for _ in range(max_steps):
        slope, curves = derivatives(rows, exposure, totals, out, mean, precision, kept)
        step = np.linalg.solve(curves, slope.T[:, :, None])[:, :, 0].T
        longest = np.max(np.abs(rows @ step), axis=0, initial=0.0) if len(rows) else np.zeros(len(slope.T))
        out += step / np.maximum(1.0, longest)
        if longest.max(initial=0.0) < TOLERANCE:
            break
    return out, derivatives(rows, exposure, totals, out, mean, precision, kept)[1]


def products(rows):
    """Products of the pairs of columns, (n, P P)."""
    return (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)


def derivatives(rows, exposure, totals, coefficients, mean, precision, kept=None):
    """Gradient (P, K) and negative Hessians (K, P, P) of the log posterior."""
    n_columns = rows.shape[1]
    slope = totals - precision[:, None] * (coefficients - mean)
    curves = np.zeros((coefficients.shape[1], n_columns * n_columns))
    for block in blocks_of(rows, max(coefficients.shape[1], n_columns * n_columns)):
        x = rows[block]
        expected = rates(x, coefficients) * exposure[block, None]
        slope -= x.T @ expected
        curves += expected.T @ (products(x) if kept is None else kept[block])
    return slope, curves.reshape(-1, n_columns, n_columns) + np.diag(precision)


def draw_rates(coefficients, curves, rng):
    """Draw all coefficients from the normal approximation at their mode."""
    noise = rng.standard_normal(coefficients.T.shape)
    drawn = [solve_triangular(np.linalg.cholesky(curve).T, z) for curve, z in zip(curves, noise, strict=True)]
    return coefficients + np.array(drawn).T
