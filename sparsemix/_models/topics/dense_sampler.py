"""Visits of documents with responsibilities for all topics: clumped CVB0 and SCVB0."""

from dataclasses import dataclass

import numpy as np

from sparsemix._kernels.collapsed import _scvb
from sparsemix._kernels.documents import _words
from sparsemix._kernels.vectors._simd import aligned_empty
from sparsemix._models.topics.sums import Scratch
from sparsemix._models.topics.token_topics import TokenTopics
from sparsemix._stats.word_rows import DeferredRows, WordRows

# Responsibilities of a chunk, kept in full until they are summed by word: 16 MB.
CHUNK_NUMBERS = 1 << 22
# Memory that is reused for the next chunk, because page faults of new memory take as long as writing to it. The memory
# of a larger chunk, which has one long document, is freed.
MOST_KEPT = 4 * CHUNK_NUMBERS
# Tiles of a chunk, distributed among threads.
TILES = 8


@dataclass(frozen=True)
class DenseGamma:
    """Responsibilities gamma of the last sweep, for each entry of a chunk.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of each document.
    values : ndarray of shape (nnz, K padded)
    total : ndarray of shape (n, K)
        Sums of count times gamma over the entries of each document.
    """

    indptr: np.ndarray
    values: np.ndarray
    total: np.ndarray

    def rows(self, start, stop):
        """View of the documents of a tile."""
        first, last = self.indptr[start], self.indptr[stop]
        return DenseGamma(self.indptr[start : stop + 1] - first, self.values[first:last], self.total[start:stop])


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
    visits_chunks = False

    def __init__(self, n_sweeps, local_rate=None):
        self.n_sweeps = n_sweeps
        self.local_rate = local_rate
        self._buffer = None

    def __getstate__(self):
        return {**vars(self), "_buffer": None}

    def sums(self, model, rows, selection):
        """Zero sums for each word of the chosen documents."""
        return DenseSums(model, rows.words(selection))

    def blocking(self, model, rows):
        """Documents per tile and per chunk."""
        n_documents = CHUNK_NUMBERS / (rows.entries * model.n_components)
        tile = int(max(1, min(64, n_documents / TILES)))
        return tile, TILES * tile

    def forget(self):
        """Free the memory of the responsibilities."""
        self._buffer = None

    def begin(self, model):
        """No preparation: counts are read directly."""

    def prepare(self, model, x, workers):
        """No preparation: counts are read directly."""

    def empty_responsibilities(self, model, x, n_rows):
        """Memory for gamma."""
        width = -(-model.n_components // _scvb.PADDING) * _scvb.PADDING
        size = len(x.indices) * width
        buffer = self._buffer
        if buffer is None or len(buffer) < size or buffer.dtype != model.dtype:
            buffer = aligned_empty(size, model.dtype)
        if size <= MOST_KEPT:
            self._buffer = buffer
        total = np.empty((n_rows, model.n_components), dtype=model.dtype)
        return DenseGamma(x.indptr, buffer[:size].reshape(-1, width), total)

    def scratch(self, model, n_rows):
        """Working memory of one thread for a tile."""
        return Scratch(n_rows, model.n_components, model.dtype)

    def visit(self, model, x, resp, scratch, numbers, memory):
        """Sweep over each document of a tile, from its remembered topics or from equal shares.

        Returns the topics of its tokens, if alpha is learned.
        """
        doc_topic, lengths = scratch.doc_topic[: len(x)], x.lengths()
        known = memory is not None and memory.recall(numbers, doc_topic)
        if not known:
            doc_topic[...] = model.start_of(numbers, len(x)) * lengths[:, None]
        rates, exclude = None, excluded(x, known and not model.unseen)
        if self.local_rate is not None:
            rates, exclude = self.local_rate(int(self.n_sweeps * lengths.max(initial=0.0))), "none"
        inverse, alpha = (model.factor * model.inverse).astype(model.dtype), model.doc_topic_prior.astype(model.dtype)
        _scvb.local_step(
            x.entries(), model.table, model.factor, model.offset, model.topic_word_prior, inverse, alpha,
            self.n_sweeps, _scvb.EXCLUDE[exclude], rates, doc_topic, resp.values, resp.total, scratch.workspace,
        )  # fmt: skip
        if memory is not None:
            memory.remember(numbers, doc_topic)
        return TokenTopics.of_rows(doc_topic) if model.learn_alpha else None

    def take_back(self, resp):
        """Nothing: the memory is kept already."""

    def accumulate(self, model, x, resp, weight, stats, workers):
        """Add the responsibilities of a chunk to the sums of its words."""
        sums, starts, entries = stats.deferred("word_topic"), x.by_word.starts, x.by_word.entries
        counts = x.counts if weight is None else x.counts * np.repeat(weight.astype(model.dtype), np.diff(x.indptr))
        totals = (np.ones(len(x)) if weight is None else weight) @ resp.total
        made = stats["word_topic"] if sums is None else sums.made
        workers.split(
            lambda first, last: _words.sum_rows(
                starts, entries, counts, resp.values, made.words, first, last, made.rows
            ),
            len(made.words),
        )
        if sums is None:  # the sums have been materialised
            stats["count"] += totals
        else:
            sums.totals += totals
            sums.workers = workers


def excluded(x, known):
    """From which counts a token is excluded: those of its document, and of topics once these have the document.

    A document of weight below one has less than a token of each in them, and keeps it.
    """
    return "both" if known and (x.weight is None or x.weight.min() >= 1.0) else "document"


class DenseSums(DeferredRows):
    """Sums of some words, which threads add to the table of counts."""

    def __init__(self, model, words):
        self.table, self.unit = model.table, model.stats.word_unit
        self.shape, self.dtype, self.words = self.table.shape, self.table.dtype, words
        self.made = WordRows(words, np.zeros((len(words), self.shape[1]), dtype=self.dtype), self.shape[0])
        self.totals, self.workers = np.zeros(self.shape[1]), None

    def add_to_table(self, factor, scale):  # noqa: ARG002
        """Add the sums to the table, word by word. Return the totals."""
        words, rows = self.made.words, self.made.rows
        self.workers.split(
            lambda first, last: _words.add_whole_rows(words[first:last], rows[first:last], factor, self.table),
            len(words),
        )
        return self.totals

    def rows(self):
        """The sums, and their totals."""
        return self.made, self.totals
