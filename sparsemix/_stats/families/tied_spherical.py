"""Gaussians that share one variance, Normal-Gamma prior with one Gamma: k-means with probabilities."""

import numpy as np

from sparsemix._stats.families.spherical import SphericalGaussian
from sparsemix._stats.families.tied_diag import TiedDiagonalGaussian


class TiedSphericalGaussian(TiedDiagonalGaussian):
    """Sums of rows (K, D), and the shared sum of squared lengths of all rows (1, 1)."""

    structure = "tied_spherical"
    alone = SphericalGaussian

    @property
    def n_shared(self):
        """All dimensions have one variance."""
        return self.n_features

    def fold(self, squares):
        """See TiedDiagonalGaussian."""
        return squares.sum(axis=-1, keepdims=True)

    def pack_covariances(self, covariances):
        """One number."""
        return np.array([covariances], dtype=np.float64)

    def unpack_covariances(self, covariances):
        """One number."""
        return float(covariances[0])
