"""Counts of topics in slices of time, under a prior of the counts of neighbouring slices."""

from copy import copy

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from sparsemix._stats.altered import altered
from sparsemix._stats.sums import added, as_sums
from sparsemix._stats.word_rows import WordRows
from sparsemix.topics._edit.edited import refitted

# In tokens. Smaller expected counts are rounded at random to this or to zero, so that counts stay sparse.
LEAST_COUNT = 0.05
# Discounts that are compared: about evenly spaced in log d - log (1 - d).
DISCOUNTS = np.array([0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.87, 0.92, 0.96, 0.98, 0.99, 0.999])
# About as many words suffice to compare discounts.
ENOUGH_WORDS = 8192


class Drift:
    """Expected counts of topics in each slice, and under the fitted topics those of two halves of its documents.

    Slice t has the prior beta + sum over s != t of d^(distance of s and t) N_s, with one discount d for each topic.
    ``rows`` are the documents of each slice.
    """

    def __init__(self, model, X, sample_weight, rows):
        self.model, self.X, self.sample_weight, self.n_visits = model, X, sample_weight, 0
        self.n_documents = [len(each) for each in rows]
        self.rows, self.starts = rows, np.cumsum([0, *self.n_documents]).tolist()
        self.memories = [model.row_memory(len(each), start) for each, start in zip(rows, self.starts, strict=False)]
        at_start, self.halves = with_steps(model, model._fitted, 0), []
        self.counts = [self._visit(at_start, each, t, self.memories[t]) for t, each in enumerate(rows)]
        for t, each in enumerate(rows):
            halves = np.array_split(np.random.default_rng(t).permutation(each), min(2, len(each)))
            self.halves.append([self._visit(at_start, half, t) for half in halves])

    def _visit(self, estimator, rows, t, memory=None):
        """Expected counts of documents of slice t under an estimator, csr_array (V, K)."""
        weight, start = None if self.sample_weight is None else self.sample_weight[rows], self.starts[t]
        counts = estimator.expected_stats(self.X[rows], weight, first_row=start, memory=memory)["word_topic"]
        if isinstance(counts, np.ndarray):
            counts = WordRows(np.arange(len(counts)), counts, len(counts))
        return sparse.csr_array(as_sums(counts).compressed(LEAST_COUNT, start + self.n_visits))

    def visit(self, discount):
        """Visit the documents of each second slice, then those of the slices between.

        Counts are means over visits: topics of tokens are sampled, and the noise of one sample costs held-out score.
        """
        self.n_visits += 1
        share = np.float32(1.0 / self.n_visits)
        for parity in (1, 0):  # slices of one parity read the counts of the other one only, and their own
            old = list(self.counts)
            for t in range(parity, len(old), 2):
                estimator = at_counts(self.model, posterior(old, t, discount), self.n_visits)
                new = self._visit(estimator, self.rows[t], t, self.memories[t])
                self.counts[t] = old[t] * (1 - share) + new * share if self.n_visits > 1 else new

    def learned_discount(self):
        """The discount of each topic that maximises the evidence of the slices, (K,).

        Of the words of a Dirichlet multinomial, some have the same law given the number of their tokens.
        """
        step = max(1, self.counts[0].shape[0] // ENOUGH_WORDS)
        counts, data = [each[::step] for each in self.counts], []
        for t, each in enumerate(counts):  # rounded at random; the means stay
            data.append(each.copy())
            data[t].data = np.floor(each.data + np.random.default_rng(t).random(each.nnz, dtype=each.dtype))
            data[t].eliminate_zeros()
        beta = prior_of(self.model)[::step]
        return DISCOUNTS[np.argmax([log_evidence(counts, data, each, beta) for each in DISCOUNTS], axis=0)]


def prior_of(model):
    """Prior of words in topics, (V, K)."""
    beta, given = model._fitted.model.topic_word_prior, model._fitted.stats.prior
    beta = beta if given is None else beta + given.toarray()
    return np.broadcast_to(beta, (model.n_features_in_, model.n_components))


def at_counts(model, counts, n_visits=0):
    """A copy of a fitted estimator whose topics have these counts, an array (V, K)."""
    fitted = model._fitted
    stats = fitted.stats.copy()
    kind, totals = type(stats["word_topic"]), counts.sum(axis=0, dtype=np.float64)
    stats.replace_counts(counts if kind is np.ndarray else kind.of(sparse.csr_array(counts)), totals)
    if "offset" in stats:
        stats["offset"] = 0.0  # the counts of documents have all tokens
    old, names = vars(fitted.model), ("doc_topic_prior", "topic_word_prior", "first_priors")
    priors = {name: old[name] for name in names if name in old}
    return with_steps(model, refitted(model, fitted, stats, priors), n_visits)


def with_steps(model, fitted, n_visits):
    """A copy of an estimator with this fitted state, whose next visit draws other random numbers than earlier ones."""
    out, old = copy(model), vars(fitted.model)
    new = {"n_steps": n_visits + old.get("n_steps", 0), "n_first": 0, "learn_alpha": False, "learn_beta": False}
    out._fitted = copy(fitted)
    out._fitted.model = altered(fitted.model, **{name: value for name, value in new.items() if name in old})
    return out


def posterior(counts, t, discount):
    """Counts of a slice plus the discounted counts of all slices before and after it, ndarray (V, K)."""
    out = np.zeros(counts[t].shape, dtype=counts[t].dtype)
    for s, each in enumerate(counts):
        share = (discount ** abs(t - s)).astype(out.dtype)
        scaled = sparse.csr_array((each.data * share[each.indices], each.indices, each.indptr), shape=each.shape)
        out = added(out, scaled, 1.0)
    return out


def log_evidence(counts, data, discount, beta):
    """Log probability of the data of all slices, each under the prior of the counts of all others, by topic, (K,).

    The data are whole counts. Small fractions of tokens, which the prior makes, would suggest that all slices agree.
    """
    totals, tokens = ([by_topic(each) for each in some] for some in (counts, data))
    at = [each.nonzero() for each in data]
    priors, sums = [beta[each] for each in at], [beta.sum(axis=0, dtype=np.float64)] * len(data)
    for order in (range(len(data)), range(len(data) - 1, -1, -1)):
        window, of_window = np.zeros(counts[0].shape, dtype=counts[0].dtype), 0.0
        for t in order:
            priors[t], sums[t] = priors[t] + window[at[t]], sums[t] + of_window
            window = added(window, counts[t], 1.0)
            window *= window.dtype.type(discount)
            of_window = discount * (of_window + totals[t])
    out = np.zeros(counts[0].shape[1])
    for prior, total, n, each in zip(priors, sums, tokens, data, strict=True):
        of_words, more = np.log(prior), each.data > 1.0  # log Gamma(a + 1) / Gamma(a) is log a
        of_words[more] = gammaln(prior[more] + each.data[more]) - gammaln(prior[more])
        out += np.bincount(each.indices, of_words, len(out)) + gammaln(total) - gammaln(total + n)
    return out


def by_topic(counts):
    """Sums of a csr_array (V, K) over words, (K,) float64."""
    return np.bincount(counts.indices, counts.data, counts.shape[1])
