"""Topic models for documents as word counts."""

from sparsemix.topics._sparse_lda import SparseLDA

__all__ = ["SparseLDA"]
