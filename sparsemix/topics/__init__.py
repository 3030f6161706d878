"""Topic models for documents as word counts."""

from sparsemix.topics._collapsed_lda import CollapsedLDA
from sparsemix.topics._sparse_lda import SparseLDA
from sparsemix.topics._sparse_scvb0_lda import SparseSCVB0LDA

__all__ = ["CollapsedLDA", "SparseLDA", "SparseSCVB0LDA"]
