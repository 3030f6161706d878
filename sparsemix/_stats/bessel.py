"""Modified Bessel functions of the first kind in logarithms, for orders and arguments of any size.

log I_v(t) diverges with log t as t goes to zero, so all functions use g_v(t) = log I_v(t) - v log t, which is smooth
there. From order LEAST on, Debye's uniform expansions are accurate (DLMF 10.41); smaller orders use the downward
recurrence, which is stable.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.polynomial.polynomial import polyval

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
