"""Topic models for documents as word counts."""

from sparsemix.topics._collapsed_lda import CollapsedLDA
from sparsemix.topics._sparse_lda import SparseLDA

__all__ = ["CollapsedLDA", "SparseLDA"]
