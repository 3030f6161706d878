"""Mixtures of hundreds or thousands of clusters from large data, on one machine, inside scikit-learn."""

from sparsemix._version import __version__
from sparsemix.mixture import SparseGaussianMixture

__all__ = ["SparseGaussianMixture", "__version__"]
