"""Model of stochastic collapsed inference of skip-gram topics: statistics, sums, temperature."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._models.topics.topic_counts import TopicCounts
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.word_clocks import WordClocks


@dataclass(frozen=True)
class Annealing:
    """Temperatures: final + start cooling^epochs ([IF19] Section 5); epochs = visited / all documents."""

    start: float
    final: float
    cooling: float

    def __call__(self, n_passes):
        return self.final + self.start * self.cooling**n_passes


@dataclass(frozen=True)
class SampledTopics:
    """Sampled topics of the positions of a chunk.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Positions of each document.
    topics : ndarray of shape (n_tokens, M), int32
        Each for an equal part of a position.
    values : ndarray of shape (n_tokens, M)
        The size of that part in sums.
    sizes : ndarray of shape (n_tokens,), int32
        Number of context words.
    tally : ndarray of shape (n, 3), int64
        Proposals and accepted proposals of a tile, in the row of its first document.
    """

    indptr: np.ndarray
    topics: np.ndarray
    values: np.ndarray
    sizes: np.ndarray
    tally: np.ndarray

    def rows(self, start, stop):
        """View of the documents of a tile."""
        first, last = self.indptr[start], self.indptr[stop]
        part = slice(first, last)
        indptr = self.indptr[start : stop + 1] - first
        return SampledTopics(indptr, self.topics[part], self.values[part], self.sizes[part], self.tally[start:stop])


@dataclass(frozen=True, eq=False)
class SkipGramCounts(TopicCounts):
    """Counts and priors under which positions are visited.

    Attributes
    ----------
    totals : ndarray of shape (K,)
        Counts of the topics.
    inputs, input_factors : ndarrays of shapes (V, K) and (V,)
        Counts by input word before factors, and the factors.
    window : int
        Places of the context on each side.
    temperature : float
        Of the conditionals.
    """

    totals: np.ndarray
    inputs: np.ndarray
    input_factors: np.ndarray
    window: int
    temperature: float


class StochasticSkipGramModel(StochasticCollapsedModel):
    """SCVB0 of the mixed membership skip-gram topic model ([IF19] Section 5).

    Input words have the role of documents in the collapsed conditional. Their counts N_w are statistics by word, like
    those of the context words. While documents are visited, both are those of the last global step.

    Parameters
    ----------
    n_words, doc_topic_prior, topic_word_prior, sampler, dtype
        As in StochasticCollapsedModel; alpha is the prior of the input words' topics.
    window : int
        Places of the context on each side.
    annealing : Annealing
    n_documents : float or None
        Number of all documents, which defines an epoch. None, for streams of unknown length: the temperature is final.
    input_rule : tuple of three floats
        Decay, offset and scale of the step sizes of the input words.
    """

    def __init__(
        self, n_words, doc_topic_prior, topic_word_prior, sampler, window, annealing, n_documents,
        input_rule, dtype=np.float32,
    ):  # fmt: skip
        super().__init__(n_words, doc_topic_prior, topic_word_prior, sampler, dtype=dtype)
        self.window = window
        self.annealing = annealing
        self.n_documents = n_documents
        self.input_rule = input_rule

    @property
    def temperature(self):
        """Current temperature of the conditionals."""
        if self.n_documents is None:
            return self.annealing.final
        return self.annealing(self.n_visited / self.n_documents)

    def _make_counts(self, table, factor):
        counts = super()._make_counts(table, factor)
        return SkipGramCounts(
            **vars(counts), totals=self.stats["count"], window=self.window, temperature=self.temperature,
            **dict(zip(("inputs", "input_factors"), self.input_topic(), strict=True)),
        )  # fmt: skip

    # -- statistics

    def empty_stats(self, rows=None, selection=None):  # noqa: ARG002
        """Statistics of no documents."""
        shape = self.n_words, self.n_components
        return SufficientStatistics(
            {"count": np.zeros(self.n_components)},
            {name: np.zeros(()) for name in ("mass", "documents", "offset")} | {"proposals": np.zeros(2)},
            by_word={name: sparse.csr_array(shape, dtype=self.dtype) for name in ("word_topic", "input_topic")},
        )

    def first_stats(self, word_topic, input_totals, documents, n_positions):
        """Initial statistics from counts of context words (V, K), scaled to all documents; input words have no topics.

        ``input_totals`` (V,) are the occurrences of input words, one number if only their sum is known, or None if all
        documents of a stream have equal weight.
        """
        stats = self.empty_stats()
        stats["mass"] += n_positions
        stats["documents"] += documents
        stats["count"] += word_topic.sum(axis=0, dtype=np.float64)
        stats.replace("word_topic", np.ascontiguousarray(word_topic, dtype=self.dtype))
        shape = self.n_words, self.n_components
        if input_totals is None:
            stats.replace("input_topic", np.zeros(shape, dtype=self.dtype))
        else:
            stats.replace("input_topic", WordClocks(*shape, self.dtype, input_totals, *self.input_rule))
        return stats

    def input_topic(self, stats=None):
        """Counts of input words (V, K) before factors, and the factors (V,)."""
        value, factor = (self.stats if stats is None else stats).unfolded("input_topic")
        if isinstance(value, WordClocks):
            return value.rows, value.factors
        return value, np.full(self.n_words, factor)

    def accumulate(self, x, resp, sample_weight, stats, workers):
        """Add a chunk to the statistics."""
        weight = np.ones(len(x)) if sample_weight is None else sample_weight
        stats["mass"] += np.repeat(weight, np.diff(x.indptr))[resp.sizes > 0].sum()
        stats["documents"] += weight.sum()
        self.sampler.accumulate(self._counts, x, resp, weight, stats, workers)
        self.n_visited += len(x)
        self._counts = None  # the temperature has changed

    def continued(self, old, stats, documents):
        """Initial statistics from an earlier model, scaled to these documents. Also copies its seed and step number."""
        self.seed, self.n_steps = old.seed, old.n_steps
        inputs, contexts = documents.totals(self.window)
        stats = stats.copy()
        rows, factors = self.input_topic(stats)
        out = self.first_stats(stats["word_topic"] + float(stats["offset"]), inputs, documents.mass, inputs.sum())
        shares = rows * factors[:, None].astype(self.dtype) + 1e-3 / self.n_components
        clocks = out["input_topic"]
        clocks.rows[...] = shares / shares.sum(axis=1, keepdims=True)
        clocks.seen[...] = inputs  # as after one epoch
        out["word_topic"] *= contexts.sum() / out["count"].sum()
        out["count"] *= contexts.sum() / out["count"].sum()
        return out
