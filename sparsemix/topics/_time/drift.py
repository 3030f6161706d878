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
# A slice that all topics discount below this share is left out of a prior.
LEAST_SHARE = 1e-4


class Drift:
    """Expected counts of topics in each slice.

    Slice t has the prior beta + sum over s != t of d^(distance of s and t) N_s, with one discount d for each topic.

    Parameters
    ----------
    model : estimator
        Fitted; it does not change.
    X : {ndarray, CSR} of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,) or None
    rows : list of ndarray
        Documents of each slice.
    """

    def __init__(self, model, X, sample_weight, rows):
        self.model, self.X, self.sample_weight, self.rows = model, X, sample_weight, rows
        self.n_visits, self.starts = 0, np.cumsum([0, *map(len, rows)]).tolist()
        self.memories = [model.row_memory(len(each), start) for each, start in zip(rows, self.starts, strict=False)]
        at_start = with_steps(model, model._fitted, 0)
        self.counts = [self._visit(at_start, t) for t in range(len(rows))]

    def _visit(self, estimator, t):
        """Expected counts of the documents of a slice under an estimator, csr_array (V, K)."""
        rows, start = self.rows[t], self.starts[t]
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        stats = estimator.expected_stats(self.X[rows], weight, first_row=start, memory=self.memories[t])
        counts = stats["word_topic"]
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
                new = self._visit(estimator, t)
                self.counts[t] = sparse.csr_array(old[t] * (1 - share) + new * share) if self.n_visits > 1 else new

    def learned_discount(self):
        """The discount of each topic that maximises the evidence of the slices, (K,)."""
        data = [whole(counts, t) for t, counts in enumerate(self.counts)]
        fitted = self.model._fitted
        beta, given = fitted.model.topic_word_prior, fitted.stats.prior
        beta = beta if given is None else beta + given.toarray()
        evidence = np.array([log_evidence(self.counts, data, each, beta) for each in DISCOUNTS])
        return DISCOUNTS[evidence.argmax(axis=0)]


def at_counts(model, counts, n_visits=0):
    """A copy of a fitted estimator whose topics have these counts, an array (V, K)."""
    fitted = model._fitted
    stats = fitted.stats.copy()
    kind, totals = type(stats["word_topic"]), counts.sum(axis=0, dtype=np.float64)
    stats.replace_counts(counts if kind is np.ndarray else kind.of(sparse.csr_array(counts)), totals)
    if "offset" in stats:
        stats["offset"] = 0.0  # the counts of documents have all tokens
    old = fitted.model
    priors = {name: getattr(old, name) for name in ("doc_topic_prior", "topic_word_prior", "first_priors")
              if hasattr(old, name)}  # fmt: skip
    return with_steps(model, refitted(model, fitted, stats, priors), n_visits)


def with_steps(model, fitted, n_visits):
    """A copy of an estimator with this fitted state, whose next visit draws other random numbers than earlier ones."""
    new, changes = copy(fitted), {"n_steps": n_visits, "n_first": 0, "learn_alpha": False, "learn_beta": False}
    old = vars(fitted.model)
    changes["n_steps"] += old.get("n_steps", 0)
    new.model = altered(fitted.model, **{name: value for name, value in changes.items() if name in old})
    out = copy(model)
    out._fitted = new
    return out


def posterior(counts, t, discount):
    """Counts of a slice plus the discounted counts of all slices before and after it, ndarray (V, K)."""
    out = np.zeros(counts[t].shape, dtype=counts[t].dtype)
    for s, each in enumerate(counts):
        share = (discount ** abs(t - s)).astype(out.dtype)
        if share.max() >= LEAST_SHARE:
            scaled = sparse.csr_array((each.data * share[each.indices], each.indices, each.indptr), shape=each.shape)
            out = added(out, scaled, 1.0)
    return out


def whole(counts, seed):
    """Counts rounded at random to whole tokens; their means do not change."""
    rng = np.random.default_rng(seed)
    out = counts.copy()
    out.data = np.floor(counts.data + rng.random(len(counts.data), dtype=counts.data.dtype))
    out.eliminate_zeros()
    return out


def log_evidence(counts, data, discount, beta):
    """Log probability of the data of all slices, each under the prior of the counts of all others, by topic, (K,).

    The data are whole counts. Fractions of tokens are small where a topic has a word by its prior only. They would
    suggest that all slices agree. ``beta`` is a number, or an array (V, K).
    """
    (n_words, n_components), n_slices = counts[0].shape, len(counts)
    of_topics = n_words * beta if np.ndim(beta) == 0 else beta.sum(axis=0, dtype=np.float64)
    totals = np.array([np.bincount(each.indices, each.data, n_components) for each in counts])
    priors = [beta if np.ndim(beta) == 0 else beta.ravel()[places(each)] for each in data]
    sums = np.zeros((n_slices, n_components)) + of_topics
    for order in (range(n_slices), range(n_slices - 1, -1, -1)):
        window, of_window = np.zeros((n_words, n_components), dtype=counts[0].dtype), np.zeros(n_components)
        for t in order:
            priors[t] = priors[t] + window.ravel()[places(data[t])]
            sums[t] += of_window
            window = added(window, counts[t], 1.0)
            window *= window.dtype.type(discount)
            of_window = discount * (of_window + totals[t])
    out = np.zeros(n_components)
    for prior, total, each in zip(priors, sums, data, strict=True):
        of_words = gammaln(prior + each.data) - gammaln(prior)
        tokens = np.bincount(each.indices, each.data, n_components)
        out += np.bincount(each.indices, of_words, n_components) + gammaln(total) - gammaln(total + tokens)
    return out


def places(counts):
    """Positions of the entries of a csr_array in the flat table."""
    n_words, n_components = counts.shape
    return np.repeat(np.arange(n_words) * n_components, np.diff(counts.indptr)) + counts.indices
