"""Dirichlet-multinomial regression given the topics of tokens, by a truncated Newton method.

The likelihood of counts N_d of a document is that of a Dirichlet-multinomial with alpha_dk = exp(x_d' lambda_k).
Alternating expected tables and Poisson regressions (dirichlet_regression.py) climbs to its mode, but needs hundreds of
steps if documents have many tokens of each of their topics. Here the Poisson regressions are the preconditioner of
conjugate gradients on the exact Hessian. They are steeper than the likelihood everywhere, so each step begins as a step
of the alternation, and lengthens it where the curvature allows.
"""

from itertools import pairwise

import numpy as np
from scipy.special import psi

from sparsemix._models.topics.covariates.dirichlet_regression import BLOCK, blocks_of, products, rates

# Steps of Newton's method, and of conjugate gradients in each; a step changes no log alpha by more than one.
MOST_STEPS, MOST_PRODUCTS = 8, 20
# Newton's method ends when a step changes no log alpha by more, and conjugate gradients at this share of the slope.
SMALL_STEP, SMALL_SLOPE = 0.1, 0.1
# Directions whose curvature is below this share of that of the Poisson regressions are left for the next step.
LEAST_CURVATURE = 0.005
# Of log alpha, for derivatives of expected tables: digamma takes a tenth of the time of trigamma.
DIFFERENCE = 1e-4


class CountRegression:
    """The log posterior of coefficients given counts of topics in documents.

    Parameters
    ----------
    rows : ndarray of shape (G, P)
        Distinct rows of covariates.
    groups : ndarray of shape (n,)
        Row of each document.
    counts : csr_array of shape (n, K)
        Tokens of each topic in each document.
    weight : ndarray of shape (n,)
        Of the documents.
    mean, precision : ndarrays of shapes (P, K) and (P,)
        Of the normal prior.
    """

    def __init__(self, rows, groups, counts, weight, mean, precision):
        order = np.argsort(groups, kind="stable")
        counts, self.groups, self.weight = counts[order], groups[order], weight[order]
        self.rows, self.mean, self.precision = rows, mean, precision
        self.documents = np.repeat(np.arange(len(order)), np.diff(counts.indptr))
        self.topics, self.counts, self.lengths = counts.indices, counts.data, counts.sum(axis=1)
        n_topics, owners = counts.shape[1], self.groups[self.documents]
        self.blocks = blocks_of(rows, n_topics)
        ends = np.searchsorted(owners, [*(block.start for block in self.blocks), len(rows)])
        self.entries = [slice(*pair) for pair in pairwise(ends)]
        self.cells = [
            (owners[part] - block.start) * n_topics + self.topics[part]
            for block, part in zip(self.blocks, self.entries, strict=True)
        ]

    def mode(self, start, max_steps=MOST_STEPS):
        """The mode (P, K), from ``start``."""
        out = np.array(start, dtype=np.float64)
        for _ in range(max_steps):
            at = self.expand(out)
            step = self.newton_step(at)
            longest = np.abs(self.rows @ step).max(initial=0.0)
            out += step / max(1.0, longest)
            if longest < SMALL_STEP:
                break
        return out

    def shift(self, coefficients, start, precision):
        """The mode of a shift of all intercepts with a normal prior around zero; other priors do not count."""
        out, ones = start, np.zeros_like(coefficients)
        ones[0] = 1.0
        for _ in range(MOST_STEPS):
            slope, curves, parts, rise = self.expand(coefficients + out * ones)
            slope = slope + self.precision[:, None] * (coefficients + out * ones - self.mean)
            steep = curves[:, 0, 0].sum() - self.precision[0] * len(curves)
            curve = (ones * self.product(ones, parts, rise)).sum() - self.precision[0] * len(curves)
            curve = max(curve, LEAST_CURVATURE * steep) + precision
            step = float(np.clip((slope[0].sum() - precision * out) / curve, -1.0, 1.0))
            out += step
            if abs(step) < SMALL_STEP:
                break
        return out

    def expand(self, coefficients):
        """Slope (P, K), curves of the Poisson regressions (K, P, P), and parts of the Hessian for ``product``."""
        alpha_of = self._alphas(coefficients)
        total = np.concatenate([alpha.sum(axis=1) for alpha in alpha_of()])
        exposure, rise = self._of_groups(total[self.groups], self.lengths, self.weight)
        alpha = np.concatenate([a.ravel()[cells] for a, cells in zip(alpha_of(), self.cells, strict=True)])
        tables = alpha * (psi(alpha + self.counts) - psi(alpha))
        more = alpha * (1.0 + DIFFERENCE)
        growth = (more * (psi(more + self.counts) - psi(more)) - tables) / DIFFERENCE
        weight, n_columns = self.weight[self.documents], self.rows.shape[1]
        slope = -self.precision[:, None] * (coefficients - self.mean)
        curves, flats = 0.0, []
        for block, part, cells, a in zip(self.blocks, self.entries, self.cells, alpha_of(), strict=True):
            x, expected = self.rows[block], exposure[block, None] * a
            found = np.bincount(cells, weight[part] * tables[part], a.size).reshape(a.shape)
            slope = slope + x.T @ (found - expected)
            curves = curves + expected.T @ products(x)
            flats.append(weight[part] * growth[part])
        curves = curves.reshape(-1, n_columns, n_columns) + np.diag(self.precision)
        kept = self._parts(alpha_of, exposure, flats) if sum(a.size for a in alpha_of()) <= 4 * BLOCK else None
        parts = (lambda: kept) if kept is not None else (lambda: self._parts(alpha_of, exposure, flats, lazy=True))
        return slope, curves, parts, rise

    def newton_step(self, at):
        """A step of conjugate gradients; never less than one along the slope of the Poisson regressions."""
        slope, curves, parts, rise = at
        inverse = np.linalg.inv(curves)

        def precondition(v):
            return np.einsum("kpq,qk->pk", inverse, v)

        out, rest = np.zeros_like(slope), slope.copy()
        direction = scaled = precondition(rest)
        size = first = (rest * scaled).sum()
        for _ in range(MOST_PRODUCTS):
            product = self.product(direction, parts, rise)
            curvature = (direction * product).sum()
            steep = np.einsum("pk,kpq,qk->", direction, curves, direction)
            if curvature < LEAST_CURVATURE * steep:
                out = out + size / (LEAST_CURVATURE * steep) * direction
                break
            out = out + size / curvature * direction
            rest = rest - size / curvature * product
            scaled = precondition(rest)
            before, size = size, (rest * scaled).sum()
            if size <= SMALL_SLOPE**2 * first:
                break
            direction = scaled + size / before * direction
        return out

    def product(self, direction, parts, rise):
        """The negative Hessian times a direction (P, K)."""
        out = self.precision[:, None] * direction
        for block, (a, diagonal) in zip(self.blocks, parts(), strict=True):
            change = self.rows[block] @ direction
            shared = rise[block] * (a * change).sum(axis=1)
            out = out + self.rows[block].T @ (diagonal * change - shared[:, None] * a)
        return out

    def _alphas(self, coefficients):
        """A function that makes alpha of the groups of all blocks; kept if it is small."""
        make = lambda: (rates(self.rows[block], coefficients) for block in self.blocks)  # noqa: E731
        if len(self.blocks) > 4:
            return make
        kept = list(make())
        return lambda: kept

    def _parts(self, alpha_of, exposure, flats, lazy=False):
        """alpha and the diagonal of the Hessian in log alpha, by block."""
        parts = (
            (a, exposure[block, None] * a - np.bincount(cells, flat, a.size).reshape(a.shape))
            for block, cells, a, flat in zip(self.blocks, self.cells, alpha_of(), flats, strict=True)
        )
        return parts if lazy else list(parts)

    def _of_groups(self, total, lengths, weight):
        """Sums over documents of exposures, and of their decreases with A, which raise the likelihood's curvature."""
        exposure = psi(total + lengths) - psi(total)
        more = total * (1.0 + DIFFERENCE)
        rise = (exposure - (psi(more + lengths) - psi(more))) / (DIFFERENCE * total)
        n = len(self.rows)
        return np.bincount(self.groups, weight * exposure, n), np.bincount(self.groups, weight * rise, n)
