"""Topic proportions under priors that depend on covariates, as a chain of draws from their joint posterior.

The topics are fixed. Data augmentation: topics of tokens, tables and exposures of documents, coefficients. Imputing
proportions under a prior without covariates would shrink effects, most of all for short documents.
"""

import numpy as np

from sparsemix._kernels.documents._entries import Entries
from sparsemix._kernels.split import _split
from sparsemix._models.topics.covariates.dirichlet_regression import draw_rates, fit_rates, rates
from sparsemix._rows.blocks import spans

# Tokens times topics of a block of documents.
BLOCK = 1 << 19
# Prior precision of coefficients of covariates with mean square one: standard deviation 2.
PRECISION = 0.25
# Least probability of a word, so that a word without a topic has some topic; sums with it are normal numbers.
FLOOR = 1e-300


class Chain:
    """The chain over documents: ``step`` makes one step, ``proportions`` draws those of a span of documents.

    Between steps a document has only the topics of its tokens: its proportions are drawn from these and from the
    coefficients. Random numbers depend on the seed, the step, and the span or document.
    """

    def __init__(self, counts, words, prior, covariates, seed, workers):
        self.covariates, self.seed, self.workers, (n, n_columns) = covariates, seed, workers, covariates.shape
        size = int(max(1, BLOCK // (len(prior) * max(1.0, counts.sum() / n))))
        self.spans = list(spans(n, size))
        self.tokens = [Tokens(counts[start:stop], len(prior)) for start, stop in self.spans]
        self.table = np.ascontiguousarray((words + FLOOR).T)
        # alpha of the fitted model, as near as the columns come to a constant
        self.mean = np.outer(covariates.mean(axis=0), np.log(prior))
        self.precision = np.full(n_columns, PRECISION)
        self.coefficients, self.n_steps = self.mean.copy(), 0

    def generator(self, i, what):
        """Random numbers of span i in this step, for one purpose."""
        return np.random.default_rng([self.seed, self.n_steps, what, i])

    def proportions(self, i):
        """Draw the proportions (n, K) of the documents of span i; repeated calls within a step give the same."""
        posterior = rates(self.covariates[slice(*self.spans[i])], self.coefficients) + self.tokens[i].of_topics()
        theta = self.generator(i, 0).standard_gamma(posterior)
        theta += np.finfo(float).tiny  # a document without topics yet, with a tiny prior
        return theta / theta.sum(axis=1, keepdims=True)

    def step(self):
        """Draw the topics of all tokens, then all coefficients."""
        exposure, totals = np.zeros(len(self.covariates)), [None] * len(self.spans)

        def visit(first, last):
            for i in range(first, last):
                rows, rng = slice(*self.spans[i]), self.generator(i, 1)
                alpha = rates(self.covariates[rows], self.coefficients)
                self.tokens[i].draw(alpha, self.table, np.arange(*self.spans[i]), self.seed, self.n_steps)
                found = self.tokens[i].of_topics()
                totals[i] = self.covariates[rows].T @ tables(found, alpha, rng)
                exposure[rows] = exposures(alpha.sum(axis=1), found.sum(axis=1), rng)

        self.workers.map(visit, spans(len(self.spans), 1))
        self.draw_coefficients(exposure, sum(totals))
        self.n_steps += 1

    def draw_coefficients(self, exposure, totals):
        """Propose the normal approximation at the mode, accept by topic: the chain then has the exact posterior."""
        rng = self.generator(0, 2)
        mode, curves = fit_rates(self.covariates, exposure, totals, self.coefficients, self.mean, self.precision)
        proposed = draw_rates(mode, curves, rng)

        def log_ratio(at):
            """Log posterior density of coefficients, less that of the approximation, (K,)."""
            change = at - mode
            return (
                (totals * at).sum(axis=0) - exposure @ rates(self.covariates, at)
                - 0.5 * self.precision @ (at - self.mean) ** 2 + 0.5 * np.einsum("pk,kpq,qk->k", change, curves, change)
            )  # fmt: skip

        gain = log_ratio(proposed) - log_ratio(self.coefficients)
        accepted = np.log(rng.random(len(gain))) < gain
        self.coefficients = np.where(accepted, proposed, self.coefficients)


class Tokens:
    """Topics of the tokens of a span of documents, in ``states``.

    Each token is an entry with count one, because the kernel draws topics of the tokens of an entry together.
    """

    def __init__(self, counts, n_components):
        sizes, self.n_components = counts.data.astype(np.int64), n_components
        self.starts = np.append(0, np.cumsum(sizes))[counts.indptr]
        self.words = np.repeat(counts.indices, sizes).astype(np.int32)
        self.states = np.full(len(self.words), -1, dtype=_split.state_dtype(n_components))

    def draw(self, alpha, table, numbers, seed, step):
        """One sweep of collapsed Gibbs sampling under priors alpha (n, K); words have the rows of table (V, K)."""
        n_tokens, n_components, groups = len(self.words), alpha.shape[1], np.arange(len(alpha), dtype=np.int32)
        inverse, priors = _split.padded(np.ones(n_components), np.float64), _split.padded(alpha, np.float64)
        topics = _split.Topics(table, 0.0, priors, inverse, None, groups)
        _split.local_step(
            Entries(self.starts, self.words, np.ones(n_tokens)), topics, 1, True, numbers, seed, step, None,
            self.starts, self.states, np.empty((n_tokens, 3), np.int64), np.empty(n_tokens), groups,
            [_split.Workspace(n_components)],
        )  # fmt: skip

    def of_topics(self):
        """The number of tokens of each topic in each document, (n, K)."""
        n, documents = len(self.starts) - 1, np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        cells = documents * self.n_components + self.states
        found = np.bincount(cells[self.states >= 0], minlength=n * self.n_components)
        return found.reshape(n, self.n_components)


def exposures(prior, sizes, rng):
    """Draw -log Beta(prior, sizes), which is finite for tiny priors, where the variable itself is rounded to zero."""
    log_first = np.log(rng.standard_gamma(prior + 1.0)) + np.log1p(-rng.random(len(prior))) / prior
    return np.logaddexp(log_first, np.log(rng.standard_gamma(sizes))) - log_first


def tables(counts, alpha, rng):
    """Draw the tables of Antoniak (1974): the sum over i < n of Bernoulli(alpha / (alpha + i)), as counts."""
    cells = np.flatnonzero(counts)
    sizes = counts.ravel()[cells]
    owners = np.repeat(np.arange(len(cells)), sizes)
    before = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    prior = alpha.ravel()[cells][owners]
    new = rng.random(len(owners)) * (prior + before) < prior
    out = np.zeros(counts.size)
    out[cells] = np.bincount(owners[new], minlength=len(cells))
    return out.reshape(counts.shape)
