"""Samplers of positions under frozen counts: responsibilities for all topics, or a few proposals from context words."""

import numpy as np
from scipy import sparse

from sparsemix._kernels.skipgram import _positions, _walk
from sparsemix._models.skipgram.stochastic_model import SampledTopics
from sparsemix._models.topics.sums import sum_groups
from sparsemix._models.topics.walker_sampler import TableSampler
from sparsemix._stats.word_rows import ByWord


class Sampler:
    """Base class: memory for the topics of positions, and adding these topics to the counts."""

    def sums(self, counts, rows, selection):  # noqa: ARG002
        """Zero sums, sparse."""
        return sparse.csr_array(counts.shape, dtype=counts.dtype)

    def blocking(self, rows, n_components, batch_size, step_rows):  # noqa: ARG002
        """Documents per tile and per chunk."""
        return rows.blocking(n_components, self.n_topics)

    def accumulate(self, counts, x, resp, weight, stats, workers):
        """Add a chunk: every position to its input word, and to each word of its context."""
        per_token = np.where(resp.sizes > 0, np.repeat(weight, np.diff(x.indptr)), 0.0)
        resp.values[...] = (per_token / self.n_topics)[:, None]
        stats["proposals"] += resp.tally[:, :2].sum(axis=0)
        n_words, n_components = counts.shape
        by_word = ByWord.of(x.words, n_words)
        inputs, _ = sum_groups(by_word.starts, by_word.entries, resp, n_words, n_components, workers)
        words, _ = sum_groups(*pairs(x, counts), resp, n_words, n_components, workers)
        stats["count"] += np.bincount(words.indices, words.data, minlength=n_components)
        stats.replace("input_topic", stats["input_topic"] + inputs)
        stats.replace("word_topic", stats["word_topic"] + words)

    def empty_responsibilities(self, counts, x, n_rows):
        """Memory for the topics of a chunk."""
        shape = len(x.words), self.n_topics
        topics, values = np.zeros(shape, dtype=np.int32), np.empty(shape, dtype=counts.dtype)
        return SampledTopics(
            x.indptr, topics, values, np.zeros(len(x.words), dtype=np.int32), np.zeros((n_rows, 3), dtype=np.int64)
        )

    def scratch(self, counts, n_rows):  # noqa: ARG002
        """Working memory of one thread."""
        return None

    def forget(self):
        """Nothing to drop."""

    def begin(self, counts):
        """Hook after a global step."""


def pairs(x, counts):
    """Positions grouped by the words of their contexts."""
    starts = np.empty(counts.shape[0] + 1, dtype=np.int64)
    block = x.positions(counts.window)
    centres = np.empty(_positions.pairs(block, starts, None), dtype=np.int32)
    _positions.pairs(block, starts, centres)
    return starts, centres


def priors(counts, factors=None):
    """Priors, with the factors of rows by input word."""
    return _positions.Priors(counts.prior.mean, counts.beta, factors=factors, scale=counts.factor, offset=counts.offset)


class DenseSampler(Sampler):
    """Sampler with responsibilities for all topics, and M topics that represent equal parts of them.

    Parameters
    ----------
    n_even : int
        M.
    """

    name = "dense"
    visits_chunks = False

    def __init__(self, n_even):
        self.n_topics = n_even
        self._logs = None

    def __getstate__(self):
        return {**vars(self), "_logs": None}

    def forget(self):
        """Drop the logarithms."""
        self._logs = None

    def prepare(self, counts, x, workers):
        """Compute logarithms of the counts of a chunk's words."""
        words = np.unique(x.words)
        n_words, n_components = counts.shape
        slots = np.full(n_words, -1, dtype=np.int32)
        slots[words] = np.arange(len(words), dtype=np.int32)
        inputs, contexts = (_positions.log_table(len(words), n_components, counts.dtype) for _ in range(2))
        base = np.full(n_components, counts.offset + counts.beta)

        def share(first, last):
            some = words[first:last]
            _positions.log_rows(counts.inputs, some, counts.input_factors, 1.0, counts.prior.mean, inputs[first:last])
            _positions.log_rows(counts.table, some, None, counts.factor, base, contexts[first:last])

        workers.split(share, len(words))
        totals = _positions.total_rows(counts.totals, n_words * counts.beta, counts.window, counts.dtype)
        self._logs = slots, inputs, contexts, totals

    def visit(self, counts, x, resp, scratch, numbers, memory, tile):  # noqa: ARG002
        """Topics of the positions of a tile."""
        _positions.positions(
            x.positions(counts.window), *self._logs, counts.table, priors(counts), counts.temperature,
            counts.n_components, numbers, counts.seed, counts.step, resp.topics, None, None, resp.sizes,
        )  # fmt: skip


class WalkerSampler(TableSampler, Sampler):
    """Metropolis-Hastings-Walker chains; a uniformly chosen context word proposes topics ([IF19] Eq. 10).

    Parameters
    ----------
    n_samples : int
        S proposals of a position at each visit.
    max_age : int
        Global steps between rebuilds of the words' tables.
    """

    name = "mhw"
    visits_chunks = False

    def __init__(self, n_samples, max_age):
        self.n_topics = n_samples
        super().__init__(max_age)

    def prepare(self, counts, x, workers):
        """Build the tables of a chunk's words; context words propose topics regardless of the input word."""
        self._build(counts, x.words, np.ones(counts.n_components), workers)

    def visit(self, counts, x, resp, scratch, numbers, memory, tile):  # noqa: ARG002
        """Continue the chain of every position of a tile from its last visit by some steps."""
        topics = None if memory is None else memory.recall(numbers)
        topics = np.full(len(x.words), -1, dtype=np.int32) if topics is None else topics
        _walk.walk(
            x.positions(counts.window), numbers, self._tables, priors(counts, counts.input_factors),
            counts.temperature, counts.seed, counts.step, self.n_topics, counts.inputs, counts.table, counts.totals,
            topics, resp.topics, resp.tally[0], resp.sizes,
        )  # fmt: skip
        if memory is not None:
            memory.remember(numbers, topics)
