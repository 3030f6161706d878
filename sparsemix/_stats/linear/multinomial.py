"""Multinomial distributions over words with a symmetric Dirichlet prior; omits the multinomial coefficient.

[HS16] Appendix B.2. In EM, word proportions are the posterior mode under Dirichlet(1 + prior): relative counts with
``prior`` added to each, because a word with count zero would otherwise have probability zero.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaln

from sparsemix._kernels.documents import _linear
from sparsemix._stats.families import serial
from sparsemix._stats.linear._base import LinearFamily, LinearTable, csr, dense, entries_of

# A document used as an initial cluster is smoothed by this many tokens distributed as in the corpus.
SEED_TOKENS = 1.0
# Smaller sums are round-off of additions and subtractions.
NOTHING = 1e-12


@dataclass(frozen=True)
class WordCounts:
    """Expected counts (K, V) and their prior. Most counts are zero, so a function of them is mostly one number."""

    sums: np.ndarray
    prior: float

    @cached_property
    def entries(self):
        """Components, words and counts above zero."""
        k, v = np.nonzero(self.sums > NOTHING)
        return k, v, self.sums[k, v]

    @cached_property
    def totals(self):
        """Sums of the Dirichlet parameters, (K,)."""
        return self.prior * self.sums.shape[1] + np.maximum(self.sums.sum(axis=1), 0.0)

    def logs(self, function, dtype, split=serial):
        """``function`` (digamma or np.log) of each Dirichlet parameter minus that of their sum, (K, V)."""
        out, totals = np.empty(self.sums.shape, dtype), function(self.totals)
        split(
            lambda first, last: _linear.word_logs(
                self.sums, self.prior, function is digamma, totals, first, last, out
            ),
            len(out),
        )  # fmt: skip
        return out

    @property
    def means(self):
        """Word proportions (K, V)."""
        return np.exp(self.logs(np.log, np.float64))


@dataclass(frozen=True)
class WordLogs:
    """E[log phi_kv] if ``function`` is digamma, log E[phi_kv] if it is np.log."""

    counts: WordCounts
    function: object

    def table(self, log_weights, dtype, split=serial):
        """Table of ``log_weights[k]`` + log likelihoods of documents."""
        return LinearTable(self.counts.logs(self.function, dtype, split), log_weights)


class Multinomial(LinearFamily):
    """V words, each with prior ``prior``; the proportions ``corpus`` (V,) smooth documents used as initial clusters."""

    def __init__(self, n_features, prior, corpus=None):
        super().__init__(n_features)
        self.prior = prior
        self.corpus = corpus

    def fit(self, stats, variational, previous=None):  # noqa: ARG002
        """Prior + statistics."""
        return WordCounts(dense(stats["first"]), self.prior)

    def kept(self, parameters, stats):  # noqa: ARG002
        """See LinearFamily; counts are the sums themselves."""
        return self.fit(stats, variational=None)

    def log_evidences(self, stats, parameters):  # noqa: ARG002
        """See LinearFamily."""
        counts, v = self.fit(stats, variational=True), self.n_features
        k, _, sums = counts.entries
        seen = np.bincount(k, gammaln(self.prior + sums) - gammaln(self.prior), minlength=len(counts.sums))
        return seen + gammaln(v * self.prior) - gammaln(counts.totals)

    def objective(self, parameters, stats, variational):
        """See LinearFamily; in EM includes the log prior, up to its constant."""
        n, v = parameters.sums.shape
        k, _, counts = parameters.entries
        n_zeros = n * v - len(counts)
        if not variational:
            post = self.prior + counts
            seen = post @ (np.log(post) - np.log(parameters.totals)[k])
            rest = n_zeros * np.log(self.prior) - (v - np.bincount(k, minlength=n)) @ np.log(parameters.totals)
            return float(seen + self.prior * rest)
        prior = gammaln(v * self.prior) - v * gammaln(self.prior)
        post = gammaln(self.prior + counts).sum() + n_zeros * gammaln(self.prior) - gammaln(parameters.totals).sum()
        return float(stats.n_components * prior + post)

    def expected(self, parameters, variational):
        """E[log phi_kv]."""
        return WordLogs(parameters, digamma if variational else np.log)

    def plug_in(self, parameters):
        """Logarithms of the posterior means."""
        return self.expected(parameters, variational=False)

    def n_parameters(self, n_components):
        """See LinearFamily; proportions sum to one."""
        return n_components * (self.n_features - 1)

    def seed_weights(self, x):
        """Log likelihoods under the document's smoothed proportions."""
        rows, smoothing = csr(x, self.n_features).astype(np.float64), SEED_TOKENS * self.corpus
        lengths, of_others = rows.sum(axis=1), rows @ np.log(smoothing)

        def weights(chosen):
            seeds = np.atleast_1d(chosen)
            owner, words, counts = entries_of(x, seeds)
            more = np.zeros((self.n_features, len(seeds)))
            more[words, owner] = np.log1p(counts / smoothing[words])
            out = rows @ more + of_others[:, None] - np.outer(lengths, np.log(lengths[seeds] + smoothing.sum()))
            return out.T if np.ndim(chosen) else out[:, 0]

        return weights

    def own_weights(self, x):
        """Log likelihood of each document under its own smoothed proportions."""
        rows = csr(x, self.n_features)
        lengths = rows.sum(axis=1)
        owner = np.repeat(np.arange(len(x)), np.diff(x.indptr))
        smoothed = (x.counts + SEED_TOKENS * self.corpus[x.indices]) / (lengths[owner] + SEED_TOKENS)
        return np.bincount(owner, weights=x.counts * np.log(smoothed), minlength=len(x))
