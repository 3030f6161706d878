"""Topics of tokens, from which the prior of documents is learned."""

from dataclasses import dataclass

import numpy as np
from scipy.special import psi

from sparsemix._kernels.documents import _special
from sparsemix._kernels.split import _split


@dataclass(frozen=True)
class TokenTopics:
    """N_jk of some documents, each as a list of terms.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Terms of document j are indptr[j] to indptr[j + 1].
    topics : ndarray, int16 or int32
    values : ndarray
    """

    indptr: np.ndarray
    topics: np.ndarray
    values: np.ndarray

    @classmethod
    def of_samples(cls, x, states):
        """One term for each sample of a tile's entries."""
        tokens = np.empty(len(states), dtype=x.counts.dtype)
        _split.tokens_of_samples(x.indptr, x.counts, tokens)
        return cls(x.sample_starts, states, tokens)

    @classmethod
    def of_rows(cls, doc_topic):
        """One term for each topic, from N_jk (n, K)."""
        n, n_topics = doc_topic.shape
        topics = np.tile(np.arange(n_topics, dtype=np.int32), n)
        return cls(np.arange(n + 1, dtype=np.int64) * n_topics, topics, doc_topic.ravel().copy())

    def draws(self, weight, alpha):
        """Expected number of tokens of each topic that are draws from the prior itself, (K,)."""
        out = np.zeros(len(alpha))
        _special.sum_draws(self.indptr, self.topics, self.values, weight, alpha, out)
        return out


def draws_for_prior(alpha, lengths):
    """Expected draws from the prior, per unit of prior mass: digamma(A + N_j) - digamma(A)."""
    total = alpha.sum()
    if len(lengths) > (longest := lengths.max(initial=0.0)):  # many may have the same length
        gains = _special.gains_of_whole(lengths, psi(total + np.arange(longest + 1.0)))
        if gains is not None:
            return gains
    return psi(total + lengths) - psi(total)
