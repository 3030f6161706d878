"""Models of sweeps over positions in order; counts are updated after each position."""

import numpy as np
from scipy.special import gammaln

from sparsemix._kernels.collapsed import _mhw
from sparsemix._kernels.skipgram import _positions, _walk
from sparsemix._models.topics.word_prior import log_evidence_of_words
from sparsemix._stats.suffstats import SufficientStatistics


class GibbsSkipGramModel:
    """Collapsed Gibbs sampling of the topic of every position ([IF19] Eq. 5).

    Parameters
    ----------
    n_words, n_components : int
    doc_topic_prior : ndarray of shape (K,)
        alpha, of the topics of an input word.
    topic_word_prior : float
        beta.
    window : int
    annealing : Annealing or None
        None means temperature one.
    seed : int
        Seed; the seed, the row number, the sweep and the position determine each random number.
    """

    unit = "token"
    objective = "log_joint"
    change = None
    whole_blocks = False
    recount_every = 10
    state_dtype = np.dtype(np.int32)

    def __init__(self, n_words, doc_topic_prior, topic_word_prior, window, annealing, seed, dtype=np.float32):
        self.n_words, self.n_components = n_words, len(doc_topic_prior)
        self.doc_topic_prior = np.asarray(doc_topic_prior, dtype=np.float64)
        self.topic_word_prior = float(topic_word_prior)
        self.window, self.annealing, self.seed = window, annealing, seed
        self.dtype = np.dtype(dtype)

    @property
    def priors(self):
        """Priors as an argument of kernels."""
        return _positions.Priors(self.doc_topic_prior, self.topic_word_prior)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "logs"}

    def renewed(self, n_samples_seen):  # noqa: ARG002
        """The model itself: it stores nothing of the documents."""
        return self

    def empty_stats(self):
        """Statistics of no documents."""
        shape = self.n_words, self.n_components
        names = "mass", "documents", "offset", "objective", "change"
        return SufficientStatistics(
            {"count": np.zeros(self.n_components)},
            {name: np.zeros(()) for name in names} | {"proposals": np.zeros(2)},
            by_word={name: np.zeros(shape, dtype=self.dtype) for name in ("word_topic", "input_topic")},
        )

    def size(self, stats):
        """Number of positions."""
        return float(stats["mass"])

    def summary(self, stats):
        """A copy of the statistics that determine the topics."""
        return stats.copy()

    def random_state(self, x, rng):
        """A uniform random topic for each token."""
        return rng.integers(self.n_components, size=len(x.words), dtype=np.int32)

    def empty_state(self, x):
        """No topics; the first sweep draws them."""
        return np.full(len(x.words), -1, dtype=np.int32)

    def begin(self, stats):
        """Reset the sums that every sweep computes, and compute logarithms of the counts."""
        stats["change"] *= 0.0
        stats["proposals"] *= 0.0
        every = np.arange(self.n_words, dtype=np.int32)
        inputs, words = (_positions.log_table(self.n_words, self.n_components, self.dtype) for _ in range(2))
        base = np.full(self.n_components, self.topic_word_prior)
        _positions.log_rows(stats["input_topic"], every, None, 1.0, self.doc_topic_prior, inputs)
        _positions.log_rows(stats["word_topic"], every, None, 1.0, base, words)
        total = self.n_words * self.topic_word_prior
        self.logs = inputs, words, _positions.total_rows(stats["count"], total, self.window, self.dtype)

    def sweep(self, x, weight, topics, stats, first_row, number):  # noqa: ARG002
        """Draw the topics of all positions of a block in order, and update all counts."""
        stats["change"] += _positions.sweep(
            x.positions(self.window), self.priors, self.seed, first_row, number, topics, stats["input_topic"],
            stats["word_topic"], stats["count"], *self.logs,
        )  # fmt: skip

    def recount(self, visits, stats):
        """Recompute counts from the topics."""
        shape = self.n_words, self.n_components
        inputs, words = np.zeros(shape), np.zeros(shape)
        for x, _, topics, _ in visits:
            _positions.add_up(x.positions(self.window), topics, words, inputs)
        stats.replace("input_topic", inputs.astype(self.dtype))
        stats.replace("word_topic", words.astype(self.dtype))
        stats["count"] = words.sum(axis=0)

    def global_step(self, stats, epoch):  # noqa: ARG002
        """Compute log p(z, w) of the sweep's topics."""
        counts = stats["input_topic"]
        words, topics = np.nonzero(counts)
        alpha, values = self.doc_topic_prior, counts[words, topics].astype(np.float64)
        lengths = np.bincount(words, values, minlength=self.n_words)
        inputs = np.sum(gammaln(values + alpha[topics]) - gammaln(alpha[topics]))
        inputs += np.sum(gammaln(alpha.sum()) - gammaln(lengths + alpha.sum()))
        stats["objective"] = inputs + log_evidence_of_words(stats, self.topic_word_prior)

    def log_joint(self, stats):
        """log p(z, w) of the last sweep's topics."""
        return float(stats["objective"])

    def lower_bound(self, stats):  # noqa: ARG002
        """NaN: there is no bound."""
        return np.nan


class WalkingSkipGramModel(GibbsSkipGramModel):
    """Metropolis-Hastings-Walker chains with annealing: S proposals per position and sweep.

    The positions of a block are updated in two parts: even and odd positions of a document. The tables of a part are
    built from the counts of all positions outside it. So a proposal depends on no topic that changes while its table is
    in use, and every step leaves the posterior invariant for any number of proposals. A table of all counts would
    depend on the current topic of the position: the reverse proposal would have another density, and the acceptance
    ratio would be wrong.
    """

    n_samples = 1
    n_parts = 2

    def begin(self, stats):
        """Reset the sums that every sweep computes."""
        stats["change"] *= 0.0
        stats["proposals"] *= 0.0

    def sweep(self, x, weight, topics, stats, first_row, number):  # noqa: ARG002
        """Update the positions of a block part by part, and the counts after each position."""
        table, totals = stats["word_topic"], stats["count"]
        tables = _mhw.WordTables(self.n_words, self.n_components, self.dtype)
        tally, numbers = np.zeros(3, dtype=np.int64), np.arange(first_row, first_row + len(x))
        block = x.positions(self.window)
        for part in range(self.n_parts):
            self._build_tables(tables, x, topics, part, table, totals)
            _walk.sweep(
                block, numbers, tables, self.priors, self.annealing(number), self.seed, number, self.n_samples,
                stats["input_topic"], table, totals, topics, tally, self.n_parts, part,
            )  # fmt: skip
        stats["proposals"] += tally[:2]
        stats["change"] += tally[2]

    def _build_tables(self, tables, x, topics, part, table, totals):
        """Build the tables of the words of a block from the counts of all positions except those of one part."""
        in_part = (np.arange(len(topics)) - np.repeat(x.indptr[:-1], np.diff(x.indptr))) % self.n_parts == part
        left_out = np.where(in_part, topics, -1).astype(topics.dtype, copy=False)
        counted = left_out >= 0
        own = np.bincount(left_out[counted], x.context_sizes(self.window)[counted], minlength=self.n_components)
        inverse = 1.0 / (totals - own + self.n_words * self.topic_word_prior)
        counts = x.positions(self.window), left_out, table
        tables.clear(np.ones(self.n_components), inverse, self.topic_word_prior)
        _positions.add_up(*counts, amount=-1.0)
        tables.build(x.words, table, 1.0)
        _positions.add_up(*counts)
