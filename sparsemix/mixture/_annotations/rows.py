"""Rows of which some have labels, or which have noise."""

import numpy as np

from sparsemix._engine.blocks import Rows, length, part
from sparsemix._models.mixture.annotated import UNKNOWN
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
        self.annotated = labels is not None
        if noise is not None:
            d = self.X.shape[1]
            self.noise = d if noise.ndim == 2 else symmetric.packed_size(d)

    @property
    def values(self):
        """See Rows."""
        rows = Rows(self.X, self.sample_weight, self.shift, self.dtype)
        rows.kept = self.kept
        return rows

    @property
    def unlabelled(self):
        """These rows without labels."""
        return altered(self, labels=None, annotated=False)

    def chosen(self, selection, dtype=None):
        """See Rows; without labels."""
        return AnnotatedRows(super().chosen(selection, dtype), noise=self.noise_variance[selection])

    def mean_noise(self):
        """Mean variances of the noise of the observed values, (D,)."""
        noise, seen = self.noise_variance, ~np.isnan(self.X)
        variances = noise if noise.ndim == 2 else np.diagonal(noise, axis1=1, axis2=2)
        return np.where(seen, variances, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)

    def number(self, classes=None):
        """Number the labels by the classes of a model, or by their own; return the classes."""
        classes, self.numbers = numbered(self.labels, classes)
        return classes

    def buffer(self, selection):
        """See Rows."""
        return np.empty((length(selection), self.X.shape[1] + self.noise + self.annotated), dtype=self.dtype)

    def load(self, selection, start, stop, buffer):
        """See Rows."""
        out, chosen, d = buffer[start:stop], part(selection, start, stop), self.X.shape[1]
        out[:, :d] = self.X[chosen]
        if self.shift is not None:
            np.subtract(out[:, :d], self.shift, out=out[:, :d], casting="same_kind")
        if self.noise:
            noise = self.noise_variance[chosen]
            out[:, d : d + self.noise] = noise if noise.ndim == 2 else symmetric.pack(noise)
        if self.annotated:
            out[:, -1] = UNKNOWN if self.numbers is None else self.numbers[chosen]
        return out

    def _is_view(self, selection):  # noqa: ARG002
        return False
