"""Model of SparseHDP: a prior of the topics' shares, and the evidence of merges of pairs of topics."""

import numpy as np
from scipy import sparse
from scipy.special import gammaln, psi, xlog1py, xlogy

from sparsemix._kernels.split import _split
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._models.topics.token_topics import TokenTopics

# A topic with fewer expected tables is not in use.
LEAST_TABLES = 0.5
SMALLEST_GAMMA = 1e-6
# Steps towards the most probable gamma of a result.
MOST_STEPS = 100


class HDPModel(StochasticCollapsedModel):
    """SCVB0 with theta ~ Dirichlet(c pi) and pi ~ Dirichlet(gamma / K), the finite form of a Dirichlet process.

    Notes
    -----
    ``draws`` of the base class are expected tables m_k of the Chinese restaurant franchise (Teh et al. 2006). Given
    them the mean of pi_k is (m_k + gamma / K) / (m + gamma), and c = m / per_prior. gamma follows from the number of
    topics in use (Antoniak 1974).
    """

    gamma = 1.0

    def _prior_from(self, stats):
        """c pi, where one pseudo-document has the first c."""
        per_prior, draws = float(stats["per_prior"]), stats["draws"]
        one = per_prior / float(stats["documents"])
        mass = (draws.sum() + one * self.first_priors[0].sum()) / (per_prior + one)
        return mass * (draws + self.gamma / self.n_components) / (draws.sum() + self.gamma)

    def _learn_priors(self, stats):
        super()._learn_priors(stats)
        if self.n_visited >= self.n_forming and float(stats["per_prior"]) > 0.0:
            self.gamma = next_gamma(self.gamma, stats["draws"])


def next_gamma(gamma, tables):
    """One step towards the gamma that is most probable for the number of topics in use and all tables.

    The optimum of the Chinese restaurant process has gamma [digamma(gamma + m) - digamma(gamma)] topics.
    """
    total, used = tables.sum(), np.count_nonzero(tables > LEAST_TABLES)
    rise = psi(gamma + total) - psi(gamma)  # zero for tables that gamma absorbs
    return float(max(SMALLEST_GAMMA, used / rise)) if rise > 0.0 else gamma


def most_probable_gamma(gamma, tables):
    """The limit of ``next_gamma``."""
    for _ in range(MOST_STEPS):
        gamma = next_gamma(gamma, tables)
    return gamma


def gains_of_documents(blocks, topics, prior):
    """Change of the bound's documents' part for all merges of two topics.

    The part is E[log p(z)] plus the entropy of z given its last sample. A merge adds log Gamma terms of the sum of two
    counts, and loses the entropy of the choice between both topics, in documents that have both.

    Parameters
    ----------
    blocks : iterable of tuple (x, states)
        Documents and the sampled topics of their tokens.
    topics : ndarray of shape (V, K)
        Probability of each word in each topic.
    prior : ndarray of shape (K,)
        alpha.

    Returns
    -------
    gains : ndarray of shape (K, K)
        Symmetric; the diagonal has no meaning.
    """
    n_topics = len(prior)
    gains, parts = np.zeros(n_topics * n_topics), []
    for x, states in blocks:
        tokens = TokenTopics.of_samples(x, states)
        counts = sparse.csr_array((tokens.values, tokens.topics, tokens.indptr), (len(x), n_topics), np.float64, True)
        counts.sum_duplicates()
        weight = np.ones(len(x)) if x.weight is None else x.weight
        parts.append((counts, weight))
        gains += gains_together(counts, weight, prior)
        gains -= lost_entropy(x, tokens, counts, weight, topics, prior)
    gains = gains.reshape(n_topics, n_topics)
    counts, weight = sparse.csc_array(sparse.vstack([c for c, _ in parts])), np.concatenate([w for _, w in parts])
    alone = np.zeros_like(gains)
    for k in range(n_topics):  # as if no document had both
        of_topic = slice(counts.indptr[k], counts.indptr[k + 1])
        values, places = np.unique(counts.data[of_topic], return_inverse=True)
        change = rising(prior[k] + prior[:, None], values) - rising(prior[k], values)
        alone[k] = change @ np.bincount(places, weight[counts.indices[of_topic]], len(values))
    gains += alone
    return gains + gains.T


def rising(a, n):
    """log Gamma(a + n) - log Gamma(a)."""
    return gammaln(a + n) - gammaln(a)


def gains_together(counts, weight, prior):
    """What documents with both topics add to the gain of a merge, (K K,)."""
    i, j = products(counts.indptr, counts.indptr)
    i, j = i[i < j], j[i < j]
    (k, n), (m, o) = ((counts.indices[e], counts.data[e]) for e in (i, j))
    a, n_topics = prior[k] + prior[m], len(prior)
    gain = rising(a, n + o) - rising(a, n) - rising(a, o)
    return np.bincount(k * np.int64(n_topics) + m, gain * np.repeat(weight, np.diff(counts.indptr))[i], n_topics**2)


def lost_entropy(x, tokens, counts, weight, topics, prior):
    """Entropy of the choice between the topic of each token and each other topic of its document, (K K,)."""
    n_topics = len(prior)
    document = np.repeat(np.arange(len(x)), np.diff(tokens.indptr))
    words = np.repeat(x.indices, np.diff(entry_starts(x)))
    i, j = products(tokens.indptr, counts.indptr)
    same = tokens.topics[i] == counts.indices[j]
    own = counts.data[j[same]] - np.minimum(1.0, tokens.values) + prior[tokens.topics]  # one item for each token
    own = topics[words, tokens.topics] * np.maximum(own, 0.0)
    i, j = i[~same], j[~same]
    k, m = tokens.topics[i], counts.indices[j]
    other = topics[words[i], m] * (counts.data[j] + prior[m])
    p = own[i] / (own[i] + other)
    entropy = -xlogy(p, p) - xlog1py(1.0 - p, -p)
    return np.bincount(k * np.int64(n_topics) + m, entropy * (tokens.values * weight[document])[i], n_topics**2)


def entry_starts(x):
    """Start of the samples of each entry, (nnz + 1,)."""
    return _split.sample_starts(np.arange(len(x.indices) + 1, dtype=np.int64), x.counts)


def products(starts, others):
    """All pairs of an item and another item of the same document, as numbers of items."""
    sizes = np.repeat(np.diff(others), np.diff(starts))
    first = np.repeat(others[:-1], np.diff(starts)) - (np.cumsum(sizes) - sizes)
    i = np.repeat(np.arange(len(sizes)), sizes)
    return i, np.arange(len(i)) + first[i]
