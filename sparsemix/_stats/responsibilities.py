"""Sparse responsibilities with a fixed number of entries per row."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import entr


@dataclass(frozen=True)
class SparseResponsibilities:
    """At most L responsibilities per row, as two rectangular arrays.

    Attributes
    ----------
    indices : ndarray of shape (n, L), int32
        Components of each row, increasing.
    values : ndarray of shape (n, L), float64
        Their responsibilities; each row sums to one.
    log_z : ndarray of shape (n,), float64
        Log of the sum of exp(weights) over the row's support: the row's term of the objective.
    """

    indices: np.ndarray
    values: np.ndarray
    log_z: np.ndarray

    @classmethod
    def empty(cls, n_rows, n_nonzero):
        """Uninitialised responsibilities of ``n_rows`` rows."""
        return cls(np.empty((n_rows, n_nonzero), dtype=np.int32), np.empty((n_rows, n_nonzero)), np.empty(n_rows))

    @classmethod
    def from_labels(cls, labels):
        """Hard assignment: one entry, equal to one, per row."""
        labels = np.asarray(labels, dtype=np.int32)
        return cls(labels[:, None], np.ones((len(labels), 1)), np.zeros(len(labels)))

    @classmethod
    def from_matrix(cls, resp):
        """The non-zeros of a dense or sparse (n, K) matrix, with rows normalised."""
        resp = sparse.csr_array(resp, dtype=np.float64)
        if not resp.has_canonical_format:
            resp = resp.copy()  # it may share its arrays with the caller's matrix
            resp.sum_duplicates()
        lengths = np.diff(resp.indptr)
        out = cls.empty(resp.shape[0], max(1, lengths.max(initial=0)))
        kept = np.arange(out.indices.shape[1]) < lengths[:, None]
        out.indices[...] = 0
        out.values[...] = 0.0
        out.indices[kept] = resp.indices
        out.values[kept] = resp.data
        out.values[...] /= out.values.sum(axis=1, keepdims=True)
        out.log_z[...] = 0.0
        return out

    def __len__(self):
        return len(self.indices)

    def rows(self, start, stop):
        """View of the rows ``start`` to ``stop``."""
        return SparseResponsibilities(self.indices[start:stop], self.values[start:stop], self.log_z[start:stop])

    def entropy(self, sample_weight=None):
        """Weighted sum over rows of ``-sum_k r log r``."""
        per_row = entr(self.values).sum(axis=1)
        return float(per_row.sum() if sample_weight is None else per_row @ sample_weight)

    def to_csr(self, n_components):
        """CSR matrix of shape (n, K) with L entries per row."""
        n_rows, n_nonzero = self.indices.shape
        indptr = np.arange(n_rows + 1) * n_nonzero
        return sparse.csr_array((self.values.ravel(), self.indices.ravel(), indptr), shape=(n_rows, n_components))
