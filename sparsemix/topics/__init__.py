"""Topic models for documents as word counts."""

from sparsemix.topics._choose import choose_n_topics
from sparsemix.topics._collapsed.collapsed_lda import CollapsedLDA
from sparsemix.topics._collapsed.sparse_scvb0_lda import SparseSCVB0LDA
from sparsemix.topics._edit.consensus import consensus_topics, fit_consensus
from sparsemix.topics._edit.names import name_topics
from sparsemix.topics._edit.outliers import outliers
from sparsemix.topics._gibbs_lda import GibbsLDA
from sparsemix.topics._variational.sparse_lda import SparseLDA

__all__ = [
    "CollapsedLDA",
    "GibbsLDA",
    "SparseLDA",
    "SparseSCVB0LDA",
    "choose_n_topics",
    "consensus_topics",
    "fit_consensus",
    "name_topics",
    "outliers",
]
