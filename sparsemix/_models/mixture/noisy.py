"""Rows with measurement noise of known covariance: weights, and posteriors of the rows without their noise.

A row x is v + e, where v comes from the mixture and e has mean zero and covariance S, which is its own (Bovy, Hogg and
Roweis 2011). v is a latent variable of the row, as missing values are (see missing.py). Under Gaussian k, x has the
covariance T = C + S, and v has the mean m + C T^-1 (x - m) and the covariance C - C T^-1 C. The statistics add both.
The posterior's entropy, and its expected log density of the noise, join the bound, so that no step lowers it.

Rows are read as D values, then their noise: D variances, or D (D + 1) / 2 numbers of a packed matrix. A value NaN has
infinite noise.
"""

from dataclasses import replace

import numpy as np

from sparsemix._kernels.gaussians import _missing, _noisy
from sparsemix._models.mixture.missing import IncompleteTable
from sparsemix._stats import symmetric
from sparsemix._stats.families._tables import LOG_2PI


class NoisyTable:
    """Log densities of rows with noise, and their posteriors without it.

    Parameters
    ----------
    gaussians : Gaussians
    table : table of rows without noise
    """

    complete_pairs = None

    def __init__(self, gaussians, table):
        gaussians = gaussians.definite()
        self.dtype, self.n_features = table.dtype, gaussians.means.shape[1]
        log_dets = gaussians.log_dets()
        constants = table.kernel.constants.astype(np.float64)
        self.log_weights = constants + 0.5 * (log_dets + self.n_features * LOG_2PI)
        self.matrices = Matrices(gaussians)
        self.variances = None if gaussians.shape.correlated else Variances(gaussians)
        self._shared = None

    def __getstate__(self):
        return vars(self) | {"_shared": None}

    @property
    def completion(self):
        """See IncompleteTable."""
        return self

    def rank(self, x):
        """See Independent in missing.py."""

    def complete(self, k, x, rows, resp, out):
        """Posterior means of rows in ``out``; return the sum of their covariances, and of their terms of the bound."""
        return self._of(x.shape[1]).complete(k, x, rows, resp, out)

    def _of(self, width):
        variances = self.variances is not None and width == 2 * self.n_features
        return self.variances if variances else self.matrices

    def weights(self, x, out):
        """Log densities of rows ``x`` in ``out`` (n, K)."""
        noise = x[:, self.n_features :]
        if len(x) > 1 and (noise[1:] == noise[0]).all():
            return self._with(noise[0]).weights(np.ascontiguousarray(x[:, : self.n_features]), out)
        found = out if out.dtype == np.float64 else np.empty(out.shape)
        self._of(x.shape[1]).weights(x.astype(np.float64, copy=False), self.log_weights, found)
        if found is not out:
            with np.errstate(over="ignore"):
                out[...] = found
        return out

    def _with(self, noise):
        """The table of rows that share their noise, which is that of other covariances."""
        shared = self._shared
        if shared is None or not np.array_equal(shared[0], noise):
            gaussians = self._of(self.n_features + len(noise)).widened(noise.astype(np.float64))
            table = IncompleteTable(gaussians, gaussians.table(self.log_weights, self.dtype))
            self._shared = shared = np.array(noise), table
        return shared[1]


class Variances:
    """Gaussians without correlations under noise without correlations."""

    def __init__(self, gaussians):
        self.means = np.ascontiguousarray(gaussians.means, dtype=np.float64)
        self.variances = np.array(gaussians.variances(), dtype=np.float64)
        self.gaussians = gaussians

    def widened(self, noise):
        """The Gaussians of rows with this noise (D,)."""
        return replace(self.gaussians, structure="diag", covariances=self.variances + noise, extra=0.0, floor=None)

    def weights(self, x, log_weights, out):
        """Log weights + log densities of rows in ``out`` (n, K)."""
        d = self.means.shape[1]
        out[...] = 0.0
        for j in range(d):
            seen = ~np.isnan(x[:, j])
            everywhere = seen.all()
            values, noise = (x[:, j], x[:, d + j]) if everywhere else (x[seen, j], x[seen, d + j])
            widths = self.variances[:, j] + noise[:, None]
            terms = (values[:, None] - self.means[:, j]) ** 2
            terms /= widths
            terms += np.log(widths)
            terms += LOG_2PI
            if everywhere:
                out += terms
            else:
                out[seen] += terms
        out *= -0.5
        out += log_weights

    def complete(self, k, x, rows, resp, out):
        """See NoisyTable; the covariances are (D,)."""
        d, variances = self.means.shape[1], self.variances[k]
        values, noise = x[rows, :d].astype(np.float64), x[rows, d:].astype(np.float64)
        lost = np.isnan(values)
        widths = variances + np.where(lost, 0.0, noise)
        residuals = np.where(lost, 0.0, values - self.means[k])
        shares = np.where(lost, 0.0, noise / widths)  # of the noise
        gains = np.where(lost, 0.0, variances / widths)
        out[...] = self.means[k] + gains * residuals
        terms = np.log(variances / widths) + shares * (1.0 - residuals**2 / widths)
        terms = np.where(lost, np.log(variances) + LOG_2PI + 1.0, terms)
        return resp @ (1.0 - gains) * variances, 0.5 * float((resp @ terms).sum())


class Matrices:
    """Gaussians, or noise, with correlations."""

    def __init__(self, gaussians):
        self.means = np.ascontiguousarray(gaussians.means, dtype=np.float64)
        self.correlated, self.gaussians = gaussians.shape.correlated, gaussians
        self.log_dets = gaussians.log_dets()
        self._blocks = self._covariances = None

    def __getstate__(self):
        return vars(self) | {"_blocks": None}  # in aligned memory, which files do not restore

    @property
    def covariances(self):
        """Matrices, (K, D, D), or (1, D, D) if tied."""
        if self._covariances is None:
            if self.correlated:
                self._covariances = symmetric.unpack(np.atleast_2d(self.gaussians.covariances))
            else:
                self._covariances = self.gaussians.variances()[:, :, None] * np.eye(self.means.shape[1])
        return self._covariances

    def widened(self, noise):
        """The Gaussians of rows with this noise, (D,) or (D (D + 1) / 2,)."""
        d, given = self.means.shape[1], self.gaussians
        if len(noise) == d:
            noise = symmetric.pack(np.diag(noise))
        covariances = given.covariances if self.correlated else symmetric.pack(self.covariances)
        structure = given.structure if self.correlated else "full"
        return replace(given, structure=structure, covariances=covariances + noise, extra=0.0, floor=None)

    def weights(self, x, log_weights, out):
        """See Variances."""
        if self._blocks is None:
            covariances = np.broadcast_to(self.covariances, (len(self.means), *self.covariances.shape[1:]))
            logs = np.log(np.diagonal(covariances, axis1=1, axis2=2))
            self._blocks = _missing.in_blocks(covariances), _missing.in_blocks(np.stack([self.means, logs], axis=-1))
        _noisy.log_density(np.ascontiguousarray(x), *self._blocks, log_weights, self.means.shape[1], out)

    def complete(self, k, x, rows, resp, out):
        """See NoisyTable; the covariances are (D, D), or (D,) of components without correlations."""
        d, shared = self.means.shape[1], min(k, len(self.covariances) - 1)
        some, spread = x[rows].astype(np.float64), np.zeros((d, d))
        found = _noisy.denoise(
            some, np.arange(len(rows), dtype=np.intc), resp, np.ascontiguousarray(self.covariances[shared]),
            self.means[k], float(self.log_dets[min(k, len(self.log_dets) - 1)]), spread, out,
        )  # fmt: skip
        return spread + np.tril(spread, -1).T if self.correlated else spread.diagonal(), found
