"""What likelihoods that are linear in the row share: their table, and the sums of rows that they all keep."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sparsemix._kernels.gaussians import _accumulate
from sparsemix._stats.families import serial
from sparsemix._stats.suffstats import SufficientStatistics


@dataclass(frozen=True)
class Linear:
    """Natural parameters eta (K, D) and constants (K,) of K components; log F(x | k) = x . eta_k + constants_k."""

    natural: np.ndarray
    constants: np.ndarray

    def table(self, log_weights, dtype, split=serial):  # noqa: ARG002
        """Table of ``log_weights[k] + log F(x | k)``."""
        return LinearTable(self.natural, log_weights + self.constants, np.dtype(dtype))


class LinearTable:
    """Weights of a tile of rows: one product of matrices."""

    def __init__(self, natural, constants, dtype):
        self.dtype = dtype
        self.natural = np.ascontiguousarray(natural.T, dtype=dtype)  # (D, K): an entry of a sparse row reads a line
        self.constants = np.ascontiguousarray(constants, dtype=dtype)

    def weights(self, x, out):
        """Weights of rows ``x``, dense or in compressed rows, in ``out`` (n, K)."""
        if isinstance(x, np.ndarray):
            np.matmul(x, self.natural, out=out)
        else:
            out[...] = csr(x, len(self.natural)) @ self.natural
        out += self.constants
        return out


class LinearFamily(ABC):
    """A likelihood that is linear in the row; its statistics are counts and sums of rows, (K,) and (K, D)."""

    tied = False

    def __init__(self, n_features):
        self.n_features = n_features

    def empty_stats(self, n_components, shift=None):
        """Statistics of no rows."""
        return SufficientStatistics(
            {"count": np.zeros(n_components), "first": np.zeros((n_components, self.n_features))},
            {"mass": np.zeros(()), "entropy": np.zeros(())},
            shift,
        )

    def accumulate(self, stats, x, groups, first, last):
        """Add rows ``x``, grouped by component, to components ``first`` to ``last``."""
        out = stats["first"]
        if isinstance(x, np.ndarray):
            _accumulate.add_first(x, groups.starts, groups.rows, groups.resp, first, last, out)
            return
        part = slice(groups.starts[first], groups.starts[last])
        indptr = groups.starts[first : last + 1] - groups.starts[first]
        resp = sparse.csr_array((groups.resp[part], groups.rows[part], indptr), shape=(last - first, len(x)))
        sums = resp @ csr(x, self.n_features)
        out[first + np.repeat(np.arange(last - first), np.diff(sums.indptr)), sums.indices] += sums.data

    def accumulate_shared(self, stats, x, sample_weight):  # noqa: B027
        """Nothing is shared."""

    @abstractmethod
    def fit(self, stats, variational, previous=None):
        """What maximises the objective given the statistics: parameters of all components."""

    @abstractmethod
    def objective(self, parameters, stats, variational):
        """Data term of the bound at the parameters that ``fit`` gave for these statistics."""

    @abstractmethod
    def expected(self, parameters, variational):
        """``Linear`` of the expected log likelihood."""

    @abstractmethod
    def plug_in(self, parameters):
        """``Linear`` of the density at the point estimates."""

    @abstractmethod
    def seed_weights(self, x, i):
        """Weights (n,) of all rows ``x`` under row i as if it were a component."""

    @abstractmethod
    def own_weights(self, x):
        """The weight of each row under itself, (n,): that under another row is smaller by their divergence."""


def csr(x, n_features):
    """A block of rows (indptr, indices, counts) as a sparse matrix; nothing is copied."""
    return sparse.csr_array((x.counts, x.indices, x.indptr), shape=(len(x), n_features))
