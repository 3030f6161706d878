"""CVB with exact expectations ([TNW07] appendix A), for small corpora: a count is a sum of independent tokens.

E[log(a + n)] and E[log Gamma(a + n)] are integrals over the generating function E[exp(-n t)], which is a product over
tokens of 1 - gamma (1 - exp(-t)). Its logarithm is stored at fixed nodes t. So a token is taken out of a count, or put
back, by one subtraction per node, however many tokens the count has.
"""

import numpy as np
from scipy.special import gammaln, psi

from sparsemix._models.topics.sweep_models import ZeroOrderModel
from sparsemix._models.topics.word_prior import log_evidence_of_prior

# Nodes t = e^y are STEP apart in y, so errors of the trapezium rule are near exp(-pi^2 / STEP) = 2e-11. Integrands are
# below 1e-9 per token before the first one, and below 1e-10 after the last one for priors above SMALLEST_PRIOR.
STEP, FIRST, LAST = 0.4, -21.0, 10.8
SMALLEST_PRIOR = 5e-4
NODES = np.exp(np.arange(FIRST, LAST, STEP))
SHARES = -np.expm1(-NODES)
# Number of nodes below 1e-3, where a difference of two exponentials would cancel.
SMALL = int(np.searchsorted(NODES, 1e-3))
# Larger numbers have no exponential.
LARGEST_EXPONENT = 700.0
# Of a token that has the topic for certain: its logarithm stays finite, so that it can be subtracted again.
CERTAIN = -1.0 + 2.0**-53
# Entries times topics times nodes whose logarithms are computed at once.
TERMS = 1 << 20


def log_generating(gamma):
    """log E[exp(-z t)] at the nodes, (..., K, Q), for tokens whose topic is k with probability gamma (..., K)."""
    return np.log1p(np.maximum(-gamma[..., None] * SHARES, CERTAIN))


def difference(prior, mean, logs):
    """E[exp(-(prior + n) t)] - exp(-(prior + mean) t) at the nodes; ``logs`` are those of the generating function."""
    at_mean = np.exp(-(prior + mean)[..., None] * NODES)
    excess = logs[..., :SMALL] + mean[..., None] * NODES[:SMALL]
    small = at_mean[..., :SMALL] * np.expm1(np.minimum(excess, LARGEST_EXPONENT))  # at_mean is zero beyond it
    large = np.exp(logs[..., SMALL:] - prior[..., None] * NODES[SMALL:]) - at_mean[..., SMALL:]
    return np.concatenate([small, large], axis=-1)


def expected_log(prior, mean, logs):
    """E[log(prior + n)]: Frullani's integral of exp(-x t) / t."""
    return np.log(prior + mean) - STEP * difference(prior, mean, logs).sum(axis=-1)


def expected_log_gamma(prior, mean, logs):
    """E[log Gamma(prior + n)] - log Gamma(prior): Malmsten's integral, whose linear terms cancel."""
    kernel = STEP / SHARES
    return gammaln(prior + mean) - gammaln(prior) + difference(prior, mean, logs) @ kernel


def expected_psi(prior, mean, logs):
    """E[digamma(prior + n)]."""
    return psi(prior + mean) - difference(prior, mean, logs) @ (STEP * NODES / SHARES)


class ExactModel(ZeroOrderModel):
    """CVB: the optimal responsibilities given those of all other tokens, and the exact collapsed bound."""

    objective = "lower_bound"
    has_bound = True
    learn_every = 1
    by_word = ("word_topic", "word_logs")

    def __init__(self, *args, **params):
        super().__init__(*args, **params)
        if min(self.doc_topic_prior.min(), self.topic_word_prior) < SMALLEST_PRIOR:
            raise ValueError(
                f'inference="cvb_exact" needs priors of at least {SMALLEST_PRIOR:g}, got doc_topic_prior '
                f"{self.doc_topic_prior.min():g} and topic_word_prior {self.topic_word_prior:g}; raise them, or use "
                'inference="cvb0"'
            )

    def empty_stats(self):
        """Statistics of no documents; ``word_logs`` (V, K * Q) are sums over a word's tokens of ``log_generating``."""
        stats = super().empty_stats()
        stats.replace("word_logs", np.zeros((self.n_words, self.n_components * len(NODES))))
        return stats

    def _logs(self, stats):
        """A view of them, (V, K, Q)."""
        return stats["word_logs"].reshape(self.n_words, self.n_components, len(NODES))

    def sweep(self, x, weight, gamma, stats, first_row, number):  # noqa: ARG002
        """Update the responsibilities of all documents of a block in order, and all sums."""
        word_logs, words, totals = self._logs(stats), stats["word_topic"], stats["count"]
        total_logs, alpha = word_logs.sum(axis=0), self.doc_topic_prior
        beta = np.full(self.n_components, self.topic_word_prior)
        priors = np.stack([alpha, beta, self.n_words * beta])
        for d in range(len(x)):
            entries, w = slice(x.indptr[d], x.indptr[d + 1]), 1.0 if weight is None else weight[d]
            counts, own = x.counts[entries], gamma[entries]
            sums = [counts @ own, sum_of_logs(counts, own)]
            for e, word in enumerate(x.indices[entries]):
                by_word = words[word], word_logs[word]
                stats["change"] += self._visit(own[e], counts[e], w, priors, sums, by_word, (totals, total_logs))
            probable = np.maximum(own, np.finfo(np.float64).tiny)
            stats["entropy"] -= w * float(counts @ (probable * np.log(probable)).sum(axis=1))
            stats["alloc"] += w * expected_log_gamma(alpha, *sums).sum()
            stats["alloc"] += w * (gammaln(alpha.sum()) - gammaln(alpha.sum() + counts.sum()))
            if self.learn_alpha:
                stats["log_pi"] += w * (expected_psi(alpha, *sums) - psi(alpha.sum() + counts.sum()))

    def _visit(self, own, c, w, priors, document, by_word, overall):
        """Update one entry's responsibilities, in its document's, its word's and the total sums; return their change.

        Sums are means and logarithms of generating functions, (K,) and (K, Q). ``priors`` (3, K) are theirs.
        """
        old, old_logs = own.copy(), log_generating(own)
        one = min(c, 1.0)
        copy = np.array([one, one * min(w, 1.0), one * min(w, 1.0)])[:, None]
        means, logs = (np.stack(each) for each in zip(document, by_word, overall, strict=True))
        means, logs = np.maximum(means - copy * old, 0.0), np.minimum(logs - copy[:, :, None] * old_logs, 0.0)
        of_document, of_word, of_all = expected_log(priors, means, logs)
        odds = of_document + of_word - of_all
        odds = np.exp(odds - odds.max())
        own[...] = odds / odds.sum()
        changes = own - old, log_generating(own) - old_logs
        for sums, copies in ((document, c), (by_word, w * c), (overall, w * c)):
            for each, change in zip(sums, changes, strict=True):
                each += copies * change
        return w * c * np.abs(changes[0]).sum()

    def recount(self, visits, stats):
        """Recompute all sums by word from the responsibilities."""
        word_topic, logs = np.zeros((self.n_words, self.n_components)), self._logs(stats)
        logs[...] = 0.0
        for x, weight, gamma, _ in visits:
            weights = x.counts * (1.0 if weight is None else np.repeat(weight, np.diff(x.indptr)))
            np.add.at(word_topic, x.indices, weights[:, None] * gamma)
            for e, word in enumerate(x.indices):
                logs[word] += weights[e] * log_generating(gamma[e])
        if stats.prior is not None:  # constant counts: exp(-n t) is their generating function
            logs -= stats.prior.toarray()[..., None] * NODES
        self._replace_counts(stats, word_topic)

    def _objective(self, stats):
        """E_q[log p(z, w)] + H(q)."""
        prior, logs, out = np.full(self.n_components, self.topic_word_prior), self._logs(stats), 0.0
        for mean, of_word in zip(stats["word_topic"], logs, strict=True):
            out += expected_log_gamma(prior, mean, of_word).sum()
        out -= expected_log_gamma(self.n_words * prior, stats["count"], logs.sum(axis=0)).sum()
        out -= log_evidence_of_prior(stats, self.topic_word_prior)
        return float(stats["entropy"]) + float(stats["alloc"]) + out

    def global_step(self, stats, epoch):
        """Compute the bound of the sweep, then learn priors, not below the smallest that the nodes are for."""
        super().global_step(stats, epoch)
        self.doc_topic_prior = np.maximum(self.doc_topic_prior, SMALLEST_PRIOR)
        self.topic_word_prior = max(self.topic_word_prior, SMALLEST_PRIOR)

    def lower_bound(self, stats):
        """The bound after the last sweep, in nats."""
        return float(stats["objective"])


def sum_of_logs(counts, gamma):
    """Sum over entries of count times ``log_generating``, (K, Q), a few entries at a time."""
    out = np.zeros((gamma.shape[1], len(NODES)))
    step = max(1, TERMS // out.size)
    for a in range(0, len(counts), step):
        out += np.tensordot(counts[a : a + step], log_generating(gamma[a : a + step]), 1)
    return out
