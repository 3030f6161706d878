"""Kinds of columns of a mixed table: exponential families, each with its conjugate prior.

The log density of a column is linear in a few statistics T(x) of its value, so that of a row is linear in the T of all
columns: the columns are independent within a component. The T of a missing value is zero, by which it drops out of the
likelihood and out of all sums.

============ ============================ ==================== =======================================
kind         T                            prior                log density without constants
============ ============================ ==================== =======================================
``Normals``  1, z, products of two z      Normal-Wishart       -(z - mu)' V^-1 (z - mu) / 2 - log|V| / 2
``Levels``   one of each level            Dirichlet            log theta_level
``Counts``   1, x, log x!, x^2            Gamma                x log lambda - lambda
``Shares``   x of each column             Dirichlet            sum of x log theta
============ ============================ ==================== =======================================

z is a number relative to a shift and a scale of its column, which keep sums of squares exact. A prior counts as
``rows`` rows that are distributed as all rows, with variances times ``share``. The mean of a normal distribution has
nearly no prior.

A kind has ``columns``, the numbers of its columns, and ``width``, the number of its statistics. In its methods ``sums``
are sums of T, (K, width), and ``prior`` are those of the prior (width,). ``entropic`` selects the expected log
likelihood of variational Bayes; otherwise parameters are those of greatest posterior probability.
"""

import numpy as np
from scipy.special import digamma, gammaln, multigammaln

# Rows of the prior of a mean, per row of the prior of its variance.
MEAN_ROWS = 1e-4
LOG_2PI = np.log(2.0 * np.pi)
# Smallest frequency of a level, and smallest mean of a count, in all rows together.
RARE = 1e-9
# Outliers: a variance of all rows of more than FAR squared is that of COUNTED squared, both in units of the column.
FAR, COUNTED = 30.0, 2.0


class Normals:
    """G groups of d columns with a normal distribution each; all arguments have the shape (G, d).

    ``rounding`` are variances of rounding errors, which the expected square of a value includes. No component has a
    smaller variance.
    """

    def __init__(self, columns, shift, scale, rounding):
        self.columns, self.shift, self.scale, self.rounding = columns, shift, scale, rounding
        self.size = d = columns.shape[1]
        self.lower = np.tril_indices(d)
        self.block = 1 + d + len(self.lower[0])  # statistics of a group
        self.width = self.entries = len(columns) * self.block
        self.n_parameters = len(columns) * (self.block - 1)

    def encode(self, X, places, values):
        """Write places and values of T of some rows; NaN marks a statistic that is zero."""
        z = ((X[:, self.columns.ravel()] - self.shift.ravel()) / self.scale.ravel()).reshape(-1, *self.columns.shape)
        out = values.reshape(len(X), len(self.columns), self.block)
        places[...] = np.arange(self.width)
        out[..., 1 : 1 + self.size] = z
        np.multiply(z[..., self.lower[0]], z[..., self.lower[1]], out=out[..., 1 + self.size :])
        out[..., 0] = 1.0 + 0.0 * z.sum(axis=2)

    @property
    def _units(self):
        """What the log density of a group lacks: normalising constants, and the units of its columns, (G,)."""
        return np.log(self.scale).sum(axis=1) + 0.5 * self.size * LOG_2PI

    def _parts(self, sums):
        """Counts (K, G), sums (K, G, d) and sums of products (K, G, d, d)."""
        parts = sums.reshape(len(sums), len(self.columns), self.block)
        products = np.empty((*parts.shape[:2], self.size, self.size))
        products[..., self.lower[0], self.lower[1]] = products[..., self.lower[1], self.lower[0]] = parts[
            ..., 1 + self.size :
        ]
        return parts[..., 0], parts[..., 1 : 1 + self.size], products

    def _natural(self, constant, linear, precisions):
        """Weights of T from a constant (K, G), linear terms (K, G, d) and precisions (K, G, d, d)."""
        out = np.empty((*constant.shape, self.block))
        out[..., 0], out[..., 1 : 1 + self.size] = constant, linear
        out[..., 1 + self.size :] = -precisions[..., self.lower[0], self.lower[1]]
        diagonal = 1 + self.size + np.flatnonzero(self.lower[0] == self.lower[1])
        out[..., diagonal] *= 0.5
        return out.reshape(len(out), self.width)

    def overall(self, total):
        """Mean (G, d) and variances (G, d) of all rows, without outliers, from their sums of T."""
        count, first, second = self._parts(total[None])
        count = np.maximum(count[0], 1.0)[:, None]
        mean = first[0] / count
        variances = np.einsum("gdd->gd", second[0]) / count - mean**2
        wild = variances > FAR**2
        return np.where(wild, 0.0, mean), np.where(wild, COUNTED**2, np.maximum(variances, 1e-12))

    def prior(self, total, rows, share):
        """Sums of the prior: a mean, which has hardly a weight, and squares relative to it."""
        mean, variances = self.overall(total)
        return {"rows": rows, "mean": mean, "scale": rows * share * variances}

    def posterior(self, prior, sums):
        """kappa, nu, means and scales: (K, G), (K, G), (K, G, d), (K, G, d, d)."""
        count, first, second = self._parts(sums)
        count = np.maximum(count, 0.0)
        kappa0, mean0 = MEAN_ROWS * max(prior["rows"], 1e-30), prior["mean"]
        kappa = kappa0 + count
        mean = (kappa0 * mean0 + first) / kappa[..., None]
        scale = second - kappa[..., None, None] * mean[..., :, None] * mean[..., None, :]
        scale += kappa0 * mean0[:, :, None] * mean0[:, None, :]
        at = np.arange(self.size)
        least = prior["scale"] + self.rounding * count[..., None]
        scale[..., at, at] = np.maximum(scale[..., at, at], 0.0) + least  # but for round-off
        return kappa, prior["rows"] + count, mean, scale

    def natural(self, prior, sums, entropic, rounded=True):
        """Weights of T, (K, width)."""
        kappa, rows, mean, scale = self.posterior(prior, sums)
        d = self.size
        nu = rows + d + 1.0 if entropic else np.maximum(rows, 1e-300)
        precisions = nu[..., None, None] * inverses(scale)
        log_det = d * np.log(nu) - log_dets(scale)
        if entropic:
            log_det += digamma(0.5 * (nu[..., None] - np.arange(d))).sum(axis=-1) + d * (np.log(2.0) - np.log(nu))
        linear = np.einsum("kgde,kge->kgd", precisions, mean)
        constant = 0.5 * (log_det - np.einsum("kgd,kgd->kg", linear, mean)) - self._units
        if rounded:
            constant -= 0.5 * np.einsum("kgdd,gd->kg", precisions, self.rounding)
        return self._natural(constant - (0.5 * d / kappa if entropic else 0.0), linear, precisions)

    def plug_in(self, prior, sums):
        """Weights of T at the posterior means, which are the modes; the density of values as they are."""
        return self.natural(prior, sums, entropic=False, rounded=False)

    def typical(self, prior, sums):
        """Means of the columns and variances of their values, (K, columns) in their units."""
        mean, (count, first, second) = self.posterior(prior, sums)[2], self._parts(sums)
        count = np.maximum(count, 1e-300)[..., None]
        variances = np.maximum(np.einsum("kgdd->kgd", second) / count - (first / count) ** 2, 0.0)
        parts = self.shift + self.scale * mean, self.scale**2 * variances
        return tuple(part.reshape(len(sums), -1) for part in parts)

    def known(self, sums):
        """Mass of the rows with a value, (K, columns)."""
        return np.repeat(np.maximum(self._parts(sums)[0], 0.0), self.size, axis=1)

    def evidence(self, prior, sums):
        """Log evidence of the rows of each component, (K,)."""
        before, after = (self._normalizer(self.posterior(prior, each)) for each in (np.zeros((1, self.width)), sums))
        return after - before - self._parts(sums)[0] @ self._units

    def _normalizer(self, post):
        kappa, rows, _, scale = post
        d = self.size
        nu = rows + d + 1.0
        out = 0.5 * nu * (d * np.log(2.0) - log_dets(scale))
        return (out + multigammaln(0.5 * nu, d) - 0.5 * d * np.log(kappa)).sum(axis=1)

    def penalised(self, prior, sums):
        """Log likelihood and log prior of each component at the greatest posterior, (K,)."""
        _, rows, _, scale = self.posterior(prior, sums)
        log_det = log_dets(scale) - self.size * np.log(np.maximum(rows, 1e-300))
        return -0.5 * (rows * (log_det + self.size)).sum(axis=1) - self._parts(sums)[0] @ self._units

    def seeds(self, total, rows):
        """Weights of T in components made of a row each, with the variances of all rows; ``rows`` are T, (m, width)."""
        mean, variances = self.overall(total)
        count, first, _ = self._parts(rows)
        means = np.where(count[..., None] > 0, first, mean)
        precisions = np.zeros((*means.shape, self.size)) + np.einsum("gd,de->gde", 1.0 / variances, np.eye(self.size))
        linear = means / variances
        return self._natural(-0.5 * (linear * means).sum(axis=-1), linear, precisions)

    def axes(self, total):
        """Squared factors of T that give the axes of a split: standardised values alone."""
        zeros = np.zeros((1, len(self.columns)))
        linear = 1.0 / self.overall(total)[1][None]
        return self._natural(zeros, linear, np.zeros((*linear.shape, self.size)))[0]


class Levels:
    """Categories; ``columns`` (G,) hold numbers of levels, of which column g has ``sizes[g]``."""

    def __init__(self, columns, sizes):
        self.columns, self.sizes = columns, sizes
        self.starts = np.cumsum(sizes) - sizes
        self.width, self.entries = int(sizes.sum()), len(columns)
        self.n_parameters = self.width - len(sizes)

    def encode(self, X, places, values):
        """See Normals."""
        codes = X[:, self.columns]
        values[...] = 1.0 + 0.0 * codes
        places[...] = self.starts + np.where(np.isnan(codes), 0.0, codes).astype(places.dtype)

    def _totals(self, sums):
        """Sums over the levels of each column, (K, G)."""
        return np.add.reduceat(sums, self.starts, axis=-1)

    def _each(self, totals):
        """Numbers of columns (..., G) in the place of each level."""
        return np.repeat(totals, self.sizes, axis=-1)

    def frequencies(self, total):
        """Frequencies of the levels in all rows together, (width,); none is zero."""
        return (total + self._each(1.0 / self.sizes)) / self._each(self._totals(total) + 1.0)

    def prior(self, total, rows, share):  # noqa: ARG002
        """Rows with the frequencies of all rows; of shares, words."""
        return rows * self.frequencies(total)

    def _posterior(self, prior, sums):
        """Parameters of the Dirichlet posteriors, and their sums (K, G)."""
        post = np.maximum(prior + np.maximum(sums, 0.0), 1e-300)
        return post, self._totals(post)

    def natural(self, prior, sums, entropic):
        """See Normals."""
        function, (post, totals) = digamma if entropic else np.log, self._posterior(prior, sums)
        return function(post) - self._each(function(totals))

    def plug_in(self, prior, sums):
        """See Normals."""
        return self.natural(prior, sums, entropic=False)

    def typical(self, prior, sums):
        """Probabilities of the levels, (K, width)."""
        return np.exp(self.natural(prior, sums, entropic=False))

    def known(self, sums):
        """See Normals."""
        return self._totals(np.maximum(sums, 0.0))

    def evidence(self, prior, sums):
        """See Normals."""
        post, totals = self._posterior(prior, sums)
        before = gammaln(prior).sum() - gammaln(self._totals(prior)).sum()
        return gammaln(post).sum(axis=1) - gammaln(totals).sum(axis=1) - before

    def penalised(self, prior, sums):
        """See Normals."""
        return (self._posterior(prior, sums)[0] * self.natural(prior, sums, entropic=False)).sum(axis=1)

    def seeds(self, total, rows):
        """See Normals; the row and one row with the frequencies of all rows count equally."""
        counts = self.frequencies(total) + rows
        return np.log(counts / self._each(self._totals(counts)))

    def axes(self, total):  # noqa: ARG002
        """See Normals."""
        return np.ones(self.width)


class Shares(Levels):
    """One group of counts of which the total says nothing, multinomial; ``columns`` (V,).

    Words are levels that a row may have many times. The likelihood is that of the words in their order, without the
    multinomial coefficient, which is the same in all components.
    """

    def __init__(self, columns):
        super().__init__(columns, np.array([len(columns)]))
        self.entries = len(columns)

    def encode(self, X, places, values):
        """See Normals."""
        x = X[:, self.columns]
        values[...], places[...] = np.where(x == 0.0, np.nan, x), np.arange(self.width)

    def known(self, sums):
        """See Normals; words do not say in how many rows they are."""
        return np.full((len(sums), len(self.columns)), np.nan)


class Counts:
    """Whole numbers with a Poisson distribution each; ``columns`` (G,).

    Sums of squares are no part of the likelihood: they say how far the numbers spread.
    """

    def __init__(self, columns):
        self.columns = columns
        self.width = self.entries = 4 * len(columns)
        self.n_parameters = len(columns)

    def encode(self, X, places, values):
        """See Normals."""
        x = X[:, self.columns]
        out = values.reshape(len(X), len(self.columns), 4)
        places[...] = np.arange(self.width)
        out[..., 0], out[..., 1], out[..., 2], out[..., 3] = 1.0 + 0.0 * x, x, gammaln(x + 1.0), x**2

    def means(self, total):
        """Means of the columns in all rows, (G,)."""
        return np.maximum(total[1::4], RARE) / np.maximum(total[::4], 1.0)

    def prior(self, total, rows, share):  # noqa: ARG002
        """Rows with the mean of all rows."""
        return np.stack([np.full(len(self.columns), rows), rows * self.means(total)], axis=1).reshape(-1)

    def _posterior(self, prior, sums):
        """Rows and totals of the Gamma posteriors, (K, G) each."""
        post = prior.reshape(-1, 2) + np.maximum(sums, 0.0).reshape(len(sums), -1, 4)[..., :2]
        return np.maximum(post[..., 0], 1e-300), np.maximum(post[..., 1], 1e-300)

    def natural(self, prior, sums, entropic):
        """See Normals."""
        rows, totals = self._posterior(prior, sums)
        out = np.zeros((*rows.shape, 4))
        out[..., 0], out[..., 2] = -totals / rows, -1.0
        out[..., 1] = (digamma if entropic else np.log)(totals) - np.log(rows)
        return out.reshape(len(sums), self.width)

    def plug_in(self, prior, sums):
        """See Normals."""
        return self.natural(prior, sums, entropic=False)

    def typical(self, prior, sums):
        """Means (K, G) of the columns, and variances of their values."""
        rows, totals = self._posterior(prior, sums)
        count, total, _, squares = np.moveaxis(sums.reshape(len(sums), -1, 4), -1, 0)
        count = np.maximum(count, 1e-300)
        return totals / rows, np.maximum(squares / count - (total / count) ** 2, 0.0)

    def known(self, sums):
        """See Normals."""
        return np.maximum(sums[:, ::4], 0.0)

    def evidence(self, prior, sums):
        """See Normals."""
        before, after = (self._posterior(prior, each) for each in (np.zeros((1, self.width)), sums))
        out = [(gammaln(totals) - totals * np.log(rows)).sum(axis=1) for rows, totals in (before, after)]
        return out[1] - out[0] - sums[:, 2::4].sum(axis=1)

    def penalised(self, prior, sums):
        """See Normals."""
        rows, totals = self._posterior(prior, sums)
        return (totals * (np.log(totals) - np.log(rows)) - totals).sum(axis=1) - sums[:, 2::4].sum(axis=1)

    def seeds(self, total, rows):
        """See Normals; the count of the row and the mean of all rows count equally."""
        out, means = np.zeros((len(rows), len(self.columns), 4)), self.means(total)
        rates = (means + rows[:, 1::4]) / (1.0 + rows[:, ::4])
        out[..., 0], out[..., 1] = -rates, np.log(rates)
        return out.reshape(len(rows), self.width)

    def axes(self, total):
        """See Normals."""
        return np.outer(1.0 / self.means(total), [0.0, 1.0, 0.0, 0.0]).ravel()


def inverses(matrices):
    """Inverses of positive definite matrices (..., d, d)."""
    return 1.0 / matrices if matrices.shape[-1] == 1 else np.linalg.inv(matrices)


def log_dets(matrices):
    """Logarithms of the determinants of positive definite matrices (..., d, d)."""
    return np.log(matrices[..., 0, 0]) if matrices.shape[-1] == 1 else np.linalg.slogdet(matrices)[1]
