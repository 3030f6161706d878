"""Measurement noise of the rows: its check, the rows without it as one Gaussian, and rows for the initialisation."""

from dataclasses import replace

import numpy as np

from sparsemix._estimator.input.checks import largest_value
from sparsemix._estimator.input.forms import floats_of
from sparsemix._heuristics.mixture.start import data_gaussian, one_component, subset
from sparsemix._models.mixture.model import MixtureModel
from sparsemix._models.mixture.noisy import NoisyTable
from sparsemix._rows.blocks import Observation, gathered, spans
from sparsemix._stats import symmetric
from sparsemix._stats.altered import altered
from sparsemix.mixture._annotations.rows import AnnotatedRows, variances_of
from sparsemix.mixture._missing import ROWS, STEPS, CompletedRows, correlated, incomplete_gaussian, positive

# Least variance of the first step without noise, as a share of the variance with it.
LEAST_SHARE = 0.01
# Negative eigenvalues of a covariance matrix that are round-off, as a share of its largest variance.
ROUND_OFF = 1e-6
# Numbers of noise that are checked at once.
NUMBERS = 1 << 20
# Quantile of the noise that rows of the initialisation keep, found in so many rows. Without any, clusters are too
# narrow if all rows have large noise; a median is large if most rows have it.
USUAL, SOME_ROWS = 0.25, ROWS // 4


def check_noise(noise, X):
    """Noise of each row as an array of shape (N, D) or (N, D, D); without a copy of variances that rows share."""
    noise, (n, d) = floats_of(noise, "noise_variance"), X.shape
    if noise.shape == (d,):
        noise = np.broadcast_to(noise, (n, d))
    if noise.shape not in ((n, d), (n, d, d)):
        raise ValueError(
            f"noise_variance has shape {noise.shape}, expected ({d},), ({n}, {d}) or ({n}, {d}, {d}): give variances "
            "for all rows, variances of each row, or a covariance matrix of each row"
        )
    limit = largest_value(X.dtype) ** 2
    for start, stop in spans(n, max(1, NUMBERS // max(1, noise[:1].size))):
        block, seen = gathered(noise, slice(start, stop), np.float64), ~np.isnan(X[start:stop])
        read = seen if block.ndim == 2 else seen[:, :, None] & seen[:, None, :]
        block = np.where(read, block, 0.0)
        variances = variances_of(block)
        refuse(~((variances >= 0) & (variances <= limit)), start, variances, limit)
        if block.ndim == 3:
            refuse_matrices(block, start)
    return noise


def refuse(bad, start, variances, limit):
    """Raise the error of the first variance that is negative or not finite."""
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"noise_variance of row {start + row} is {variances[row, column]:g} in column {column}; give a variance "
            f"from 0 to {limit:g}, or NaN in X for a value that was not observed"
        )


def refuse_matrices(block, start):
    """Raise the error of the first matrix that is no covariance."""
    size = np.sqrt(np.einsum("nii,njj->nij", block, block))
    bad = ~(np.abs(block - np.swapaxes(block, 1, 2)) <= ROUND_OFF * size).all(axis=(1, 2))
    if not bad.any():
        scale = np.einsum("nii->ni", block).max(axis=1, initial=0.0)
        bad = np.linalg.eigvalsh(block).min(axis=1, initial=0.0) < -ROUND_OFF * scale
    if bad.any():
        raise ValueError(
            f"noise_variance of row {start + np.flatnonzero(bad)[0]} is no covariance matrix; give a symmetric matrix "
            "without negative eigenvalues"
        )


class EquallyNoisyRows(CompletedRows):
    """Posterior means of rows with their usual noise: values with large noise would look like a cluster."""

    def __init__(self, rows, family, workers):
        some = rows.chosen(subset(rows, SOME_ROWS, np.random.default_rng(0)))
        self._noise, self._usual = rows.noise_variance, some.usual_noise(USUAL)
        some = AnnotatedRows(some.values, noise=self._excess(some.noise_variance))
        gaussian = sampled_noiseless(correlated(family), some, workers)
        super().__init__(rows.values, NoisyTable(gaussian, gaussian.table(np.zeros(1), np.float64)))

    def _excess(self, noise):
        return np.maximum(variances_of(noise).astype(np.float64) - self._usual, 0.0)

    def _inexact(self, out, chosen):
        x = np.hstack([out, self._excess(self._noise[chosen])])
        return x, np.isnan(out) | (x[:, out.shape[1] :] > 0.0)


def noiseless_gaussian(family, rows, workers):
    """The rows without their noise as one Gaussian: steps of EM on a subsample, and one over all rows."""
    some = rows.chosen(subset(rows, ROWS, np.random.default_rng(0)))
    return step(family, rows, sampled_noiseless(family, some, workers), workers)


def sampled_noiseless(family, some, workers):
    """Some rows without their noise as one Gaussian with positive variances, by steps of EM."""
    begin = incomplete_gaussian if some.observation.missing else data_gaussian
    gaussian = positive(begin(family, some.values, workers))
    with_noise = family.shape.pooled(gaussian.variances()[0])
    share = 1.0 - family.shape.pooled(some.mean_noise()) / with_noise
    roots = np.sqrt(np.maximum(share, LEAST_SHARE))
    if family.shape.correlated:
        gaussian = replace(gaussian, covariances=gaussian.covariances * symmetric.pack_outer(roots))
    else:
        variances = with_noise * roots**2
        gaussian = replace(gaussian, covariances=family.shape.with_variances(gaussian.covariances, variances))
    for _ in range(STEPS):
        gaussian = positive(step(family, some, gaussian, workers))
    return gaussian


def step(family, rows, gaussian, workers):
    """One step of EM for one Gaussian."""
    table = NoisyTable(gaussian, gaussian.table(np.zeros(1), np.float64))
    observation = Observation(noise=rows.observation.noise)
    one = altered(MixtureModel(family, None, 1, 1, rows.dtype, rows.shift), observation=observation, table=table)
    return family.maximum_likelihood(one_component(one, rows, workers), 0.0)
