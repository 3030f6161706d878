"""Mixtures of a given number of components."""

from sparsemix.mixture._sparse_gaussian_mixture import SparseGaussianMixture

__all__ = ["SparseGaussianMixture"]
