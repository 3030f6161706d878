"""Mixture models for real-valued rows."""

from sparsemix.mixture._sparse_gaussian_mixture import SparseGaussianMixture

__all__ = ["SparseGaussianMixture"]
