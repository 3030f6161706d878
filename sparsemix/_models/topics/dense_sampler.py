"""Visits of documents with responsibilities for all topics: clumped CVB0 and SCVB0."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from sparsemix._kernels.collapsed import _scvb
from sparsemix._kernels.documents import _words
from sparsemix._kernels.vectors._simd import aligned_empty
from sparsemix._models.topics.token_topics import TokenTopics
from sparsemix._stats.sums import added
from sparsemix._stats.word_rows import GROUPS, DeferredRows, WordRows

# Responsibilities of a chunk, kept in full until they are summed by word: 16 MB.
CHUNK_NUMBERS = 1 << 22
# Memory that is reused for the next chunk, because page faults of new memory take as long as writing to it. The memory
# of a larger chunk, which has one long document, is freed.
MOST_KEPT = 4 * CHUNK_NUMBERS


@dataclass(frozen=True)
class DenseGamma:
    """Responsibilities gamma of the last sweep, for each entry of a chunk.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of each document.
    values : ndarray of shape (nnz, K padded)
    """

    indptr: np.ndarray
    values: np.ndarray

    def rows(self, start, stop):
        """View of some documents."""
        if stop - start == len(self.indptr) - 1:
            return self
        first, last = self.indptr[start], self.indptr[stop]
        return DenseGamma(self.indptr[start : stop + 1] - first, self.values[first:last])


class DenseSampler:
    """Sampler that computes the whole conditional of each word of a document in each sweep.

    Parameters
    ----------
    n_sweeps : int
        Sweeps per visit; the last one sets the responsibilities that are summed.
    local_rate : callable or None
        Called with n; returns at least n step sizes rho, by which N_j is updated after each token of a visit ([IF19]
        Eq. 9). None: N_j is an exact sum, from which a token's own responsibility is removed before its topic is
        inferred.
    """

    name = "dense"
    visits_chunks = True

    def __init__(self, n_sweeps, local_rate=None):
        self.n_sweeps = n_sweeps
        self.local_rate = local_rate
        self.forget()

    def __getstate__(self):
        return vars(DenseSampler(self.n_sweeps, self.local_rate))

    def sums(self, counts, rows, selection):
        """Sums of no documents yet, for each word of the chosen documents."""
        words = rows.words(selection)
        size, buffer = len(words) * counts.n_components, self._rows
        if buffer is None or len(buffer) < size or buffer.dtype != counts.dtype:
            buffer = aligned_empty(size, counts.dtype)
        self._rows = None  # until the sums have been added
        return DenseSums(counts, words, buffer, self)

    def blocking(self, rows, n_components, batch_size, step_rows):
        """Documents per tile and per chunk. A step has chunks of about the same size."""
        n_documents = max(1.0, CHUNK_NUMBERS / (rows.entries * n_components))
        step = step_rows or batch_size or n_documents
        return int(min(64, n_documents)), math.ceil(step / max(1, round(step / n_documents)))

    def forget(self):
        """Free all memory."""
        self._buffer = self._rows = self._workers = None

    def begin(self, counts):
        """No preparation: counts are read directly."""

    def prepare(self, counts, x, workers):  # noqa: ARG002
        """Nothing to compute: counts are read directly."""
        self._workers = workers

    def empty_responsibilities(self, counts, x, n_rows):  # noqa: ARG002
        """Memory for gamma."""
        width = -(-counts.n_components // _scvb.PADDING) * _scvb.PADDING
        size = len(x.indices) * width
        buffer = self._buffer
        if buffer is None or len(buffer) < size or buffer.dtype != counts.dtype:
            buffer = aligned_empty(size, counts.dtype)
        if size <= MOST_KEPT:
            self._buffer = buffer
        return DenseGamma(x.indptr, buffer[:size].reshape(-1, width))

    def scratch(self, counts, n_rows):
        """None: threads share out the documents of a chunk."""

    def visit(self, counts, x, resp, scratch, numbers, memory, tile):  # noqa: ARG002
        """Sweep over each document of a chunk, from its remembered topics or from equal shares.

        Returns a function that makes the topics of their tokens.
        """
        lengths, doc_topic = x.lengths(), np.empty((len(x), counts.n_components), dtype=counts.dtype)
        parts = [(0, len(x), False)] if memory is None else memory.recall_tiles(numbers, doc_topic, tile)
        for first, last, known in parts:
            if not known:
                start = counts.start_of(numbers[first:last], last - first)
                doc_topic[first:last] = start * lengths[first:last, None]
            self._sweep(counts, x.part(first, last), resp.rows(first, last), doc_topic[first:last], known)
        if memory is not None:
            self._workers.share(lambda pool: memory.remember(numbers, doc_topic, tile, pool))
        return partial(TokenTopics.of_rows, doc_topic)

    def _sweep(self, counts, x, resp, doc_topic, known):
        """Sweep over documents that are all remembered, or none."""
        rates, exclude = None, excluded(x, known and not counts.unseen)
        if self.local_rate is not None:
            rates, exclude = self.local_rate(int(self.n_sweeps * x.lengths().max(initial=0.0))), "none"
        inverse = (counts.factor * counts.inverse).astype(counts.dtype)
        alpha = counts.prior.mean.astype(counts.dtype)
        memory = _scvb.memory_of(self._workers.n_jobs, counts.n_components, counts.dtype)
        self._workers.share(
            lambda pool: _scvb.local_step(
                x.entries(), counts.table, counts.factor, counts.offset, counts.beta, inverse, alpha,
                self.n_sweeps, _scvb.EXCLUDE[exclude], rates, doc_topic, resp.values, x.longest_first, memory, pool,
            )
        )  # fmt: skip

    def later(self, resp, work):  # noqa: ARG002
        """Do some work at once."""
        work()

    def take_back(self, resp):
        """Nothing: the memory is kept already."""

    def accumulate(self, counts, x, resp, weight, stats, workers):
        """Add the responsibilities of a chunk to the sums of its words."""
        tokens = x.counts if weight is None else x.counts * np.repeat(weight.astype(counts.dtype), np.diff(x.indptr))
        sums = stats.deferred("word_topic")
        if sums is not None:
            sums.add(x.by_word, tokens, resp.values, workers)
            return
        words = x.by_word.words  # the sums have been materialised
        sums = DenseSums(counts, words, aligned_empty(len(words) * counts.n_components, counts.dtype), self)
        sums.add(x.by_word, tokens, resp.values, workers)
        rows, totals = sums.rows()
        stats.add_to(count=totals)
        stats.replace("word_topic", added(stats["word_topic"], rows, 1.0))

    def keep(self, buffer):
        """Keep the memory of sums for the next ones: page faults of new memory take as long as writing to it."""
        if len(buffer) <= MOST_KEPT:
            self._rows = buffer


def excluded(x, known):
    """From which counts a token is excluded: those of its document, and of topics once these have the document.

    A document of weight below one has less than a token of each in them, and keeps it.
    """
    return "both" if known and (x.weight is None or x.weight.min() >= 1.0) else "document"


class DenseSums(DeferredRows):
    """Sums of some words, which threads add to the table of counts."""

    def __init__(self, counts, words, buffer, sampler):
        self.table, self.unit = counts.table, counts.unit
        self.shape, self.dtype, self.words = self.table.shape, self.table.dtype, words
        self._buffer, self._sampler, self._workers = buffer, sampler, None
        self._rows = buffer[: len(words) * self.shape[1]].reshape(len(words), self.shape[1])
        self._fresh = True  # nothing has been added yet, and the rows are not initialised

    def add(self, by_word, tokens, gamma, workers):
        """Add tokens times gamma of the entries of some documents."""
        workers.share(
            lambda pool: _words.sum_rows(
                by_word.starts, by_word.entries, tokens, gamma, self.words, self._fresh, self._rows, pool
            )
        )
        self._fresh, self._workers = False, workers

    def add_to_table(self, factor, scale):  # noqa: ARG002
        """Add the sums to the table, word by word. Return the totals."""
        totals = np.zeros((GROUPS, self.shape[1]))
        if not self._fresh:
            self._workers.share(
                lambda pool: _words.add_whole_rows(self.words, self._rows, factor, self.table, totals, pool)
            )
        self._sampler.keep(self._buffer)
        self._buffer = self._rows = None  # sums are added only once
        return totals.sum(axis=0)

    def rows(self):
        """The sums, and their totals."""
        if self._fresh:
            self._rows[...] = 0.0
        return WordRows(self.words, self._rows, self.shape[0]), self._rows.sum(axis=0, dtype=np.float64)
