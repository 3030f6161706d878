"""Clusters whose number grows with the data: normalized generalized gamma process mixtures."""

from sparsemix.clusters._gibbs_nggp_mixture import GibbsNGGPMixture
from sparsemix.clusters._select_nggp import select_nggp_hyperparameters
from sparsemix.clusters._streaming_nggp_mixture import StreamingNGGPMixture

__all__ = ["GibbsNGGPMixture", "StreamingNGGPMixture", "select_nggp_hyperparameters"]
