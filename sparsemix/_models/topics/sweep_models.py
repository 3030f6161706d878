"""Models of CollapsedLDA: sweeps over documents that update responsibilities, or topics, in place.

The distributions of documents and topics are integrated out ([TNW07] Eq. 7). The topics of the tokens remain: CVB
and CVB0 store a distribution for each word type of a document, Gibbs sampling stores one draw per token.
"""

import numpy as np
from scipy import sparse
from scipy.special import gammaln, polygamma, psi

from sparsemix._kernels.collapsed import _cvb, _gibbs
from sparsemix._kernels.documents import _special
from sparsemix._models.topics.word_prior import WORDS, log_evidence_of_words, maximize_topic_word_prior
from sparsemix._stats.dirichlet import maximize_prior
from sparsemix._stats.suffstats import SufficientStatistics

# Sweeps before priors are learned: randomly initialised topics are similar, and learned priors would keep them similar.
LEARN_AFTER = 10
# Sweeps between updates of alpha that take as long as several sweeps.
LEARN_EVERY = 5
# Sweeps between recomputations of the statistics from the state of rows, which remove accumulated round-off.
RECOUNT_EVERY = 10
# Responsibilities of documents whose moments are computed at once.
MOMENTS = 1 << 18
EPS = float(np.finfo(np.float64).eps)


class SweepModel:
    """Base class: priors, and statistics by word that contain every document.

    Parameters
    ----------
    n_words, n_components : int
        V, K.
    doc_topic_prior : ndarray of shape (K,)
        alpha.
    topic_word_prior : float
        beta, the Dirichlet parameter of every word.
    dtype : dtype
        Type of responsibilities, counts and statistics by word.
    learn_alpha, learn_beta : bool
        Learn the prior of documents, or that of words, from the statistics after each sweep, except the first
        ``learn_after``.

    Notes
    -----
    A row's weight multiplies its contribution to sums over documents, but never its own counts.
    """

    unit = "token"
    change = None
    whole_blocks = False
    recount_every = RECOUNT_EVERY
    learn_after = LEARN_AFTER
    learn_every = 1
    by_word = ("word_topic",)
    by_component = ("count",)

    def __init__(
        self, n_words, n_components, doc_topic_prior, topic_word_prior, dtype=np.float32, learn_alpha=False,
        learn_beta=False,
    ):  # fmt: skip
        self.n_words = n_words
        self.n_components = n_components
        self.doc_topic_prior = np.asarray(doc_topic_prior, dtype=np.float64)
        self.topic_word_prior = float(topic_word_prior)
        self.dtype = np.dtype(dtype)
        self.learn_alpha, self.learn_beta = learn_alpha, learn_beta

    # -- statistics

    def empty_stats(self):
        """Statistics of no documents."""
        shape = self.n_words, self.n_components
        shared = ("mass", "tokens", "change", "entropy", "alloc", "objective")
        return SufficientStatistics(
            {name: np.zeros(self.n_components) for name in ("log_pi", *self.by_component)},
            {name: np.zeros(()) for name in shared},
            by_word={name: np.zeros(shape, dtype=self.dtype) for name in self.by_word},
        )

    def totals_of(self, n_documents, n_tokens):
        """Shared sums of this number of documents and tokens."""
        return {"mass": n_documents, "tokens": n_tokens}

    def size(self, stats):
        """Number of tokens, the unit of the objective."""
        return float(stats["tokens"])

    def summary(self, stats):
        """A copy of the statistics that determine the topics."""
        out = SufficientStatistics(
            {"count": stats["count"].copy()},
            {name: stats[name].copy() for name in ("mass", "tokens")},
            by_word={"word_topic": stats["word_topic"].copy()},
        )
        out.prior = stats.prior
        return out

    # -- a sweep

    def begin(self, stats):
        """Reset the sums that every sweep computes."""
        for name in ("log_pi", "change", "entropy", "alloc"):
            stats[name] *= 0.0

    def _doc_topic(self, x):
        """Memory for N_jk of a block, if alpha is learned from it."""
        return np.empty((len(x), self.n_components), dtype=self.dtype) if self.learn_alpha else None

    def _sum_log_pi(self, x, weight, doc_topic, stats):
        """Add the documents' E[log pi], from which alpha is learned."""
        if doc_topic is None:
            return
        alpha, weight = self.doc_topic_prior, np.ones(len(x)) if weight is None else weight
        expected = np.empty(doc_topic.shape)
        _special.expected_log(doc_topic, alpha.astype(self.dtype), expected)
        stats["log_pi"] += weight @ expected + weight.sum() * psi(alpha) - weight @ psi(alpha.sum() + x.lengths())

    def _replace_counts(self, stats, word_topic):
        """Set statistics by word, and their totals, from sums in double precision."""
        stats.replace_counts(word_topic.astype(self.dtype), word_topic.sum(axis=0))

    def global_step(self, stats, epoch):
        """Compute the objective of the sweep under its priors, then the next priors."""
        stats["objective"] = self._objective(stats)
        if self.learn_alpha and epoch > self.learn_after and stats["log_pi"].any():
            self.doc_topic_prior = maximize_prior(self.doc_topic_prior, stats["log_pi"], float(stats["mass"]))
        if self.learn_beta and epoch > self.learn_after:
            self.topic_word_prior = maximize_topic_word_prior(self.topic_word_prior, stats)


class ZeroOrderModel(SweepModel):
    """CVB0 (Asuncion et al. 2009): responsibilities from the means of the counts."""

    objective = "change"
    has_bound = False
    learn_every = LEARN_EVERY

    @property
    def state_dtype(self):
        """Type of the responsibilities."""
        return self.dtype

    def _doc_topic(self, x):
        """None: alpha is learned from the responsibilities themselves."""

    def random_state(self, x, rng):
        """Responsibilities (nnz, K) drawn from a flat Dirichlet distribution."""
        gamma = rng.standard_exponential((len(x.indices), self.n_components), dtype=self.dtype)
        gamma /= gamma.sum(axis=1, keepdims=True)
        return gamma

    def empty_state(self, x):
        """No responsibilities; the first sweep computes them."""
        return np.zeros((len(x.indices), self.n_components), dtype=self.dtype)

    def sweep(self, x, weight, gamma, stats, first_row, number):  # noqa: ARG002
        """Update the responsibilities of all documents of a block in order, and all sums."""
        doc_topic, sums = self._doc_topic(x), np.zeros(3)
        _cvb.sweep(
            x.entries(weight), self.doc_topic_prior.astype(self.dtype), self.topic_word_prior, gamma,
            stats["word_topic"], stats["count"], *self._variances(stats), doc_topic, sums,
        )  # fmt: skip
        for name, value in zip(("change", "entropy", "alloc"), sums, strict=True):
            stats[name] += value
        if self.learn_alpha and (number + 1) % self.learn_every == 0:
            self._sum_log_pi_of(x, weight, gamma, doc_topic, stats)

    def doc_counts(self, x, gamma):
        """Expected tokens by document and topic, (n, K)."""
        return sparse.csr_array((x.counts, np.arange(len(gamma)), x.indptr), shape=(len(x), len(gamma))) @ gamma

    def _sum_log_pi_of(self, x, weight, gamma, doc_topic, stats):  # noqa: ARG002
        """Add E[digamma(alpha + N_j)] of independent tokens: N_j is often zero, where digamma is far from linear."""
        weight, alpha = np.ones(len(x)) if weight is None else weight, self.doc_topic_prior
        step = max(1, MOMENTS * len(x) // max(1, gamma.size))
        for first in range(0, len(x), step):
            indptr = x.indptr[first : first + step + 1]
            entries, n = slice(indptr[0], indptr[-1]), len(indptr) - 1
            columns = np.arange(indptr[-1] - indptr[0])
            counts = sparse.csr_array((x.counts[entries], columns, indptr - indptr[0]), shape=(n, len(columns)))
            expected = expected_digamma(alpha, counts.astype(np.float64), gamma[entries].astype(np.float64))
            stats["log_pi"] += weight[first : first + n] @ expected
        stats["log_pi"] -= weight @ psi(alpha.sum() + x.lengths())

    def _variances(self, stats):  # noqa: ARG002
        return None, None

    def recount(self, visits, stats):
        """Recompute statistics by word from the responsibilities."""
        word_topic = np.zeros((self.n_words, self.n_components))
        for x, weight, gamma, _ in visits:
            _cvb.add_up(x.entries(weight), gamma, word_topic, None)
        self._replace_counts(stats, word_topic)

    def _objective(self, stats):
        return stats["change"]

    def change(self, stats):
        """Sum over tokens and topics of the change of responsibilities."""
        return float(stats["change"])


def expected_digamma(alpha, counts, gamma):
    """E[digamma(alpha + n)] by document and topic, n the number of a document's tokens that have the topic.

    The probability of n = 0 is exact for independent tokens; for n > 0 it is a second-order expansion (Teh, Kurihara &
    Welling 2008).

    Parameters
    ----------
    alpha : ndarray of shape (K,)
    counts : csr_array of shape (n, nnz)
        Tokens of each entry, in the row of its document.
    gamma : ndarray of shape (nnz, K)
        Responsibilities.
    """
    mean, variance = counts @ gamma, counts @ (gamma * (1.0 - gamma))
    none = np.exp(counts @ np.log1p(-np.minimum(gamma, 1.0 - EPS)))
    some = np.maximum(1.0 - none, EPS)
    mean_of_some = mean / some
    variance_of_some = np.maximum((variance + mean**2) / some - mean_of_some**2, 0.0)
    of_some = psi(alpha + mean_of_some) + 0.5 * variance_of_some * polygamma(2, alpha + mean_of_some)
    return none * psi(alpha) + (1.0 - none) * of_some


class SecondOrderModel(ZeroOrderModel):
    """CVB ([TNW07]): responsibilities from means and variances of the counts, and a bound to second order."""

    objective = "lower_bound"
    has_bound = True
    learn_every = 1
    _doc_topic = SweepModel._doc_topic
    by_word = ("word_topic", "word_variance")
    by_component = ("count", "count_variance")

    def _variances(self, stats):
        return stats["word_variance"], stats["count_variance"]

    def _sum_log_pi_of(self, x, weight, gamma, doc_topic, stats):  # noqa: ARG002
        """Add digamma(alpha + E[N_j]): the prior must not lower the bound, which has no more than two moments."""
        self._sum_log_pi(x, weight, doc_topic, stats)

    def recount(self, visits, stats):
        """Recompute means and variances by word from the responsibilities."""
        means, variances = np.zeros((2, self.n_words, self.n_components))
        for x, weight, gamma, _ in visits:
            _cvb.add_up(x.entries(weight), gamma, means, variances)
        self._replace_counts(stats, means)
        stats.replace("word_variance", variances.astype(self.dtype))
        stats["count_variance"] = variances.sum(axis=0)

    def _objective(self, stats):
        """E_q[log p(z, w)] + H(q) to second order ([TNW07] Section 3.1)."""
        beta, total = self.topic_word_prior, self.n_words * self.topic_word_prior
        words = stats["word_topic"], stats["word_variance"]
        if stats.prior is None:
            topics = sum(
                _cvb.expected_log_gamma_sum(words[0][a : a + WORDS], words[1][a : a + WORDS], beta)
                for a in range(0, self.n_words, WORDS)
            )
            topics -= _cvb.expected_log_gamma_sum(stats["count"][None], stats["count_variance"][None], total)
        else:
            more, mean = stats.prior.toarray(), stats.learned_count
            topics = expected_log_gamma(words[0] - more, words[1], beta + more).sum()
            topics -= expected_log_gamma(mean, stats["count_variance"], total + stats.prior.totals).sum()
        return float(stats["entropy"]) + float(stats["alloc"]) + topics

    def lower_bound(self, stats):
        """The bound after the last sweep, in nats."""
        return float(stats["objective"])


def expected_log_gamma(mean, variance, prior):
    """E[log Gamma(prior + n)] - log Gamma(prior), n = 0 by itself, as ``_cvb.expected_log_gamma_sum``; by array."""
    mean = np.maximum(mean, EPS)
    success = np.clip(1.0 - variance / mean, 1e-8, 1.0 - EPS)
    positive = -np.expm1(mean / success * np.log1p(-success))
    some = mean / positive
    spread = np.maximum((variance + mean**2) / positive - some**2, 0.0)
    return positive * (gammaln(prior + some) - gammaln(prior) + 0.5 * spread * polygamma(1, prior + some))


class GibbsModel(SweepModel):
    """Collapsed Gibbs sampling (Griffiths & Steyvers 2004): one topic for each token.

    ``seed``, the row number, the sweep and the token determine each random number.
    """

    objective = "log_joint"
    has_bound = False
    state_dtype = np.dtype(np.int32)
    seed = 0

    def random_state(self, x, rng):
        """A uniform random topic for each token."""
        return rng.integers(self.n_components, size=int(x.counts.sum(dtype=np.float64)), dtype=np.int32)

    def empty_state(self, x):
        """No topics; the first sweep draws them."""
        return np.full(int(x.counts.sum(dtype=np.float64)), -1, dtype=np.int32)

    def sweep(self, x, weight, topics, stats, first_row, number):
        """Draw the topics of all tokens of a block in order, and update all counts."""
        doc_topic, sums = self._doc_topic(x), np.zeros(2)
        _gibbs.sweep(
            x.entries(weight), self.doc_topic_prior.astype(self.dtype), self.topic_word_prior, self.seed, first_row,
            number, topics, stats["word_topic"], stats["count"], doc_topic, sums,
        )  # fmt: skip
        stats["change"] += sums[0]
        stats["alloc"] += sums[1]
        self._sum_log_pi(x, weight, doc_topic, stats)

    def doc_counts(self, x, topics):
        """Tokens by document and topic, (n, K)."""
        lengths = np.diff(np.append(0, np.cumsum(x.counts, dtype=np.int64))[x.indptr])
        cells = np.repeat(np.arange(len(x)), lengths)[topics >= 0] * self.n_components + topics[topics >= 0]
        return np.bincount(cells, minlength=len(x) * self.n_components).reshape(len(x), self.n_components)

    def recount(self, visits, stats):
        """Recompute counts by word from the topics."""
        word_topic = np.zeros((self.n_words, self.n_components))
        for x, weight, topics, _ in visits:
            _gibbs.add_up(x.entries(weight), topics, word_topic)
        self._replace_counts(stats, word_topic)

    def _objective(self, stats):
        return float(stats["alloc"]) + log_evidence_of_words(stats, self.topic_word_prior)

    def log_joint(self, stats):
        """log p(z, w) of the last sweep's topics."""
        return float(stats["objective"])


class UncollapsedModel(GibbsModel):
    """Gibbs sampling of proportions and topics too (Linderman 2022): phi, then theta, then z, each given the rest.

    A document's proportions are drawn when it is visited, so there is no array by document and topic.
    """

    by_word = ("word_topic", "probability")

    def sweep(self, x, weight, topics, stats, first_row, number):
        """Draw the proportions of the documents of a block, then the topics of all their tokens, and update counts."""
        rng = np.random.default_rng([self.seed, number, first_row])
        if first_row == 0:
            self._draw_probabilities(stats, rng)
        theta = rng.standard_gamma(self.doc_topic_prior + self.doc_counts(x, topics))
        largest = np.maximum(theta.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        stats["change"] += _gibbs.draw(
            x.entries(weight), (theta / largest).astype(self.dtype), stats["probability"], self.seed, first_row, number,
            topics, stats["word_topic"], stats["count"],
        )  # fmt: skip
        counts, weights = self.doc_counts(x, topics), np.ones(len(x)) if weight is None else weight
        stats["alloc"] += weights @ log_evidence_of_rows(self.doc_topic_prior, counts)
        self._sum_log_pi(x, weight, counts.astype(self.dtype) if self.learn_alpha else None, stats)

    def _draw_probabilities(self, stats, rng):
        """Draw the probabilities of words in topics given all counts, (V, K)."""
        table, totals = stats["word_topic"], np.zeros(self.n_components)
        phi = np.empty_like(table)
        for a in range(0, self.n_words, WORDS):
            drawn = rng.standard_gamma(np.maximum(table[a : a + WORDS], 0.0) + self.topic_word_prior)
            phi[a : a + WORDS] = drawn
            totals += drawn.sum(axis=0)
        phi /= np.maximum(totals, np.finfo(np.float64).tiny)
        stats.replace("probability", phi)


def log_evidence_of_rows(prior, counts):
    """Log probability of the tokens of each row, in a given order, under Polya's urn with this prior; (n,)."""
    rows, columns = np.nonzero(counts)
    of_topics = gammaln(prior[columns] + counts[rows, columns]) - gammaln(prior[columns])
    total = prior.sum()
    return np.bincount(rows, of_topics, len(counts)) + gammaln(total) - gammaln(total + counts.sum(axis=1))
