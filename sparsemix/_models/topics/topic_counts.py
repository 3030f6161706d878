"""What visits of documents read: the counts and priors of a global step, as plain values."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class OnePrior:
    """The same prior of all documents.

    Attributes
    ----------
    mean : ndarray of shape (K,)
        alpha.
    """

    mean: np.ndarray

    def of(self, numbers):  # noqa: ARG002
        """alpha of some documents and None; with several priors (groups, K) and the group of each document."""
        return self.mean, None


@dataclass(frozen=True, eq=False)
class TopicCounts:
    """Counts and priors under which documents are visited; made by a global step, replaced by the next one.

    Attributes
    ----------
    table : ndarray, PackedCounts or csr_array of shape (V, K)
        Counts by word and topic are ``factor`` times this, plus ``offset``.
    factor, offset : float
    unit : float
        ``word_unit`` of the statistics that own the table.
    inverse : ndarray of shape (K,)
        1 / (N_k + V beta).
    prior : OnePrior, or another object with its attribute and method
        Of the topics of documents; ``mean`` (K,) is the mean over all documents.
    beta : float
        Prior of the words of topics.
    seed, step : int
        Keys of random numbers.
    random_start : bool
        Whether unknown documents begin with random proportions, as topics that are all alike need.
    unseen : bool
        Whether the visited documents are not in the counts.
    dtype : dtype
        Of inference and sums.
    """

    table: object
    factor: float
    offset: float
    unit: float
    inverse: np.ndarray
    prior: OnePrior
    beta: float
    seed: int
    step: int
    random_start: bool
    unseen: bool
    dtype: np.dtype

    @property
    def shape(self):
        """(V, K)."""
        return self.table.shape

    @property
    def n_components(self):
        """K."""
        return len(self.inverse)

    def start_of(self, numbers, n_documents):
        """Initial proportions of documents that are not in memory, (n, K) or (1, 1)."""
        if not self.random_start:
            return np.full((1, 1), 1.0 / self.n_components, dtype=self.dtype)
        rng = np.random.default_rng((self.seed, int(numbers[0])))
        shares = rng.random((n_documents, self.n_components), dtype=self.dtype)
        return shares / shares.sum(axis=1, keepdims=True)
