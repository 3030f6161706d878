"""Mixture models: a given number of Gaussians, or as many clusters as the data asks for."""

from sparsemix.mixture._gibbs_nggp_mixture import GibbsNGGPMixture
from sparsemix.mixture._select_nggp import select_nggp_hyperparameters
from sparsemix.mixture._sparse_gaussian_mixture import SparseGaussianMixture
from sparsemix.mixture._streaming_nggp_mixture import StreamingNGGPMixture

__all__ = ["GibbsNGGPMixture", "SparseGaussianMixture", "StreamingNGGPMixture", "select_nggp_hyperparameters"]
