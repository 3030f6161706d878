"""Rows of which some have labels, or which have noise."""

from dataclasses import replace

import numpy as np

from sparsemix._models.mixture.annotated import UNKNOWN
from sparsemix._rows.blocks import Observation, Rows, length, part
from sparsemix._stats import symmetric
from sparsemix._stats.altered import altered
from sparsemix.mixture._annotations.labels import numbered


class AnnotatedRows(Rows):
    """Rows that are read as their values, then their noise, then a label.

    See ``_models.mixture.noisy`` and ``_models.mixture.annotated``.

    Parameters
    ----------
    rows : Rows
    labels : ndarray of shape (N,), int64, or None
        Labels of the rows, or UNKNOWN; reads return their ``numbers`` among the classes of a model.
    noise : ndarray of shape (N, D) or (N, D, D), or None
        Variances or covariances of the noise.
    """

    numbers = None

    def __init__(self, rows, labels=None, noise=None):
        super().__init__(rows.X, rows.sample_weight, rows.shift, rows.dtype)
        self.kept, self.labels, self.noise_variance = rows.kept, labels, noise
        d, of_noise = self.X.shape[1], 0
        if noise is not None:
            of_noise = d if noise.ndim == 2 else symmetric.packed_size(d)
        self.observation = Observation(rows.observation.missing, of_noise, labels is not None)

    @property
    def values(self):
        """See Rows."""
        rows = Rows(self.X, self.sample_weight, self.shift, self.dtype)
        rows.kept = self.kept
        return rows

    @property
    def unlabelled(self):
        """See Rows."""
        if not self.observation.noise:
            return self.values
        return altered(self, labels=None, observation=replace(self.observation, labelled=False))

    @property
    def width(self):
        """See Rows."""
        return self.X.shape[1] + self.observation.noise

    def chosen(self, selection, dtype=None):
        """See Rows; without labels."""
        return AnnotatedRows(super().chosen(selection, dtype), noise=self.noise_variance[selection])

    def mean_noise(self):
        """Mean variances of the noise of the observed values, (D,)."""
        variances, weight = self.observed_noise()
        return (weight * variances).sum(axis=0) / np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)

    def usual_noise(self, share):
        """Quantile of the variances of the noise of the observed values, (D,)."""
        (variances, weight), columns = self.observed_noise(), np.arange(self.X.shape[1])
        order = np.argsort(variances, axis=0)
        totals = np.cumsum(weight[order, columns], axis=0)
        return variances[order, columns][(totals >= share * totals[-1]).argmax(axis=0), columns]

    def observed_noise(self):
        """Variances of the noise, and weights of the values; both zero for missing values, (N, D)."""
        seen = ~np.isnan(self.X)
        weight = seen.astype(np.float64) if self.sample_weight is None else seen * self.sample_weight[:, None]
        return np.where(seen, variances_of(self.noise_variance), 0.0), weight

    def number(self, classes=None):
        """Number the labels by the classes of a model, or by their own; return the classes."""
        classes, self.numbers = numbered(self.labels, classes)
        return classes

    def buffer(self, selection):
        """See Rows."""
        return np.empty((length(selection), self.width + self.observation.labelled), dtype=self.dtype)

    def load(self, selection, start, stop, buffer):
        """See Rows."""
        out, chosen, d = buffer[start:stop], part(selection, start, stop), self.X.shape[1]
        out[:, :d] = self.X[chosen]
        if self.shift is not None:
            np.subtract(out[:, :d], self.shift, out=out[:, :d], casting="same_kind")
        if self.observation.noise:
            noise = self.noise_variance[chosen]
            out[:, d : self.width] = noise if noise.ndim == 2 else symmetric.pack(noise)
        if self.observation.labelled:
            out[:, -1] = UNKNOWN if self.numbers is None else self.numbers[chosen]
        return out

    def _is_view(self, selection):  # noqa: ARG002
        return False


def variances_of(noise):
    """Variances (n, D) of noise that has variances or covariance matrices."""
    return noise if noise.ndim == 2 else np.diagonal(noise, axis1=1, axis2=2)
