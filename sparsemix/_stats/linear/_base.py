"""Shared code of likelihoods that are linear in the row: the table of weights, and the sums of rows."""

from abc import ABC, abstractmethod

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsemix._kernels.documents import _linear
from sparsemix._kernels.gaussians import _accumulate
from sparsemix._stats.families._tables import as_constants
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.sums import added


class LinearTable:
    """Weights x . eta_k + constants_k of sparse rows; eta (K, D) has the dtype of the rows."""

    def __init__(self, natural, constants):
        self.natural, self.dtype = natural, natural.dtype
        self.constants = as_constants(constants, natural.dtype)

    @property
    def linear(self):
        """The table for sparse rows."""
        return self

    def weights(self, x, out):
        """Weights of all components in ``out`` (n, K)."""
        _linear.weights(self.natural, self.constants, x.indptr, x.indices, x.counts, out)
        return out

    def pair_weights(self, x, starts, rows):
        """Weights of pairs, component by component."""
        out = np.empty(len(rows), dtype=self.natural.dtype)
        _linear.pair_weights(self.natural, self.constants, x.indptr, x.indices, x.counts, starts, rows, out)
        return out


class LinearFamily(ABC):
    """A likelihood that is linear in the row; its statistics are counts (K,) and sums of rows (K, D).

    Sums of few sparse rows are sparse; they can be added to dense sums.
    """

    tied = False

    def __init__(self, n_features):
        self.n_features = n_features

    def under(self, expected):  # noqa: ARG002
        """The family itself: there are no latent factors."""
        return self

    def empty_stats(self, n_components, shift=None, sparse=False):
        """Statistics of no rows, with dense or sparse sums."""
        zeros = csr_array if sparse else np.zeros
        return SufficientStatistics(
            {"count": np.zeros(n_components), "first": zeros((n_components, self.n_features))},
            {"mass": np.zeros(()), "entropy": np.zeros(())},
            shift,
        )

    def kept(self, parameters, stats):  # noqa: ARG002
        """Parameters that refer to ``stats``, a copy, because the arrays that they use will change in place."""
        return parameters

    def accumulate(self, stats, x, groups, first, last):
        """Add dense rows ``x``, grouped by component, to components ``first`` to ``last``."""
        if isinstance(x, np.ndarray):
            _accumulate.add_first(x, groups.starts, groups.rows, groups.resp, first, last, stats["first"])

    def accumulate_shared(self, stats, x, groups, sample_weight):  # noqa: ARG002
        """Add sparse rows to all components, by one product."""
        if isinstance(x, np.ndarray):
            return
        resp = csr_array((groups.resp, groups.rows, groups.starts), shape=(stats.n_components, len(x)))
        self.add_sums(stats, resp @ csr(x, x.n_words).astype(np.float64))

    def add_sums(self, stats, sums):
        """Add sparse sums of rows to the statistics."""
        stats.put_sums("first", added(stats["first"], sums, 1.0, signed=True))

    @abstractmethod
    def fit(self, stats, variational, previous=None):
        """Parameters of all components that maximise the objective given the statistics."""

    @abstractmethod
    def objective(self, parameters, stats, variational):
        """Data term of the bound, at the parameters that ``fit`` returned for these statistics."""

    @abstractmethod
    def log_evidences(self, stats, parameters):
        """Contribution of each component's rows to the evidence under hard assignments, (K,)."""

    @abstractmethod
    def expected(self, parameters, variational):
        """The expected log likelihood: an object whose ``table(log_weights, dtype, split)`` returns weights."""

    @abstractmethod
    def plug_in(self, parameters):
        """The log likelihood at the point estimates, as an object like ``expected``."""

    def axes(self, width):
        """Squared factors (``width``,) of the columns of a row, which determine the axes along which components split;
        zero for columns that mark lost answers.
        """
        return (np.arange(width) < self.n_features).astype(np.float64)

    def moments(self, parameters):
        """Gaussians with the moments of each component; only for likelihoods of dense rows, whose candidate search
        needs them."""
        raise NotImplementedError

    @abstractmethod
    def n_parameters(self, n_components):
        """Free parameters of the components."""

    @abstractmethod
    def seed_weights(self, x):
        """Function of row number i: weights (n,) of all rows in a component made of row i; (m, n) for m numbers."""

    @abstractmethod
    def own_weights(self, x):
        """The weight of each row under itself, (n,); the weight under another row is smaller by their divergence."""


def dense(sums):
    """Sums as a dense array; the sums of a single batch of sparse rows are sparse."""
    return sums.toarray() if issparse(sums) else sums


def csr(x, n_features):
    """A block of rows (indptr, indices, counts) as a sparse matrix, without a copy."""
    return csr_array((x.counts, x.indices, x.indptr), shape=(len(x), n_features))


def entries_of(x, rows):
    """Entries of some rows of a block: row position, column, value."""
    lengths = x.indptr[rows + 1] - x.indptr[rows]
    ends = np.cumsum(lengths)
    at = np.repeat(x.indptr[rows] - ends + lengths, lengths) + np.arange(ends[-1])
    return np.repeat(np.arange(len(rows)), lengths), x.indices[at], x.counts[at]
