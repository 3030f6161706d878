"""Visits of documents with a few sampled topics per word: Metropolis-Hastings-Walker chains."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from sparsemix._kernels.collapsed import _mhw
from sparsemix._models.topics.dense_sampler import excluded
from sparsemix._models.topics.sums import sum_by_word
from sparsemix._models.topics.token_topics import TokenTopics

# Samples of a chunk, and its tiles, which are distributed among threads.
CHUNK_SAMPLES = 1 << 22
TILES = 16
# Share of a document's tokens; smaller counts are not kept between visits.
SHARE = 1e-3
# Tables are rebuilt after each of the first steps, which change most, and if fewer proposals than this are accepted.
EARLY_STEPS = 10
LEAST_ACCEPTANCE = 0.8
# Counts below this share of the prior are left out of a word's table: the proposal shared by all words covers them.
NEGLIGIBLE = 0.1


@dataclass(frozen=True)
class SampledGamma:
    """Samples of the last sweep for each entry of a chunk.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of each document.
    topics : ndarray of shape (nnz, M), int32
        Topics to add to the sums by word.
    values : ndarray of shape (nnz, M)
        Count divided by M.
    tally : ndarray of shape (n, 3), int64
        Draws, proposals from the document's part, accepted proposals.
    """

    indptr: np.ndarray
    topics: np.ndarray
    values: np.ndarray
    tally: np.ndarray

    def rows(self, start, stop):
        """View of the documents of a tile."""
        first, last = self.indptr[start], self.indptr[stop]
        indptr = self.indptr[start : stop + 1] - first
        return SampledGamma(indptr, self.topics[first:last], self.values[first:last], self.tally[start:stop])


class TableSampler:
    """Base class of chains: alias tables of words, which are not saved and expire after ``max_age`` global steps."""

    def __init__(self, max_age):
        self.max_age = max_age
        self.forget()

    def forget(self):
        """Drop all tables."""
        self._tables, self._age = None, self.max_age
        self._draws = self._accepted = 0

    def __getstate__(self):
        return {**vars(self), "_tables": None, "_age": self.max_age}

    def begin(self, counts):
        """Age the tables by one step; expire them in early steps and after too few acceptances."""
        if counts.step <= EARLY_STEPS or self._accepted < LEAST_ACCEPTANCE * self._draws:
            self._age = self.max_age
        self._age += 1

    def _build(self, counts, words, alpha, workers):
        """Build the tables of the words of a chunk, with prior weights ``alpha`` (K,) of topics."""
        if self._tables is None:
            self._tables = _mhw.WordTables(*counts.shape, counts.dtype)
            self._age = self.max_age
        if self._age >= self.max_age:
            self._tables.clear(alpha, counts.inverse, counts.offset + counts.beta)
            self._age = self._draws = self._accepted = 0
        smallest = NEGLIGIBLE * counts.beta
        self._tables.build(np.unique(words), counts.table, counts.factor, workers, smallest)


class WalkerSampler(TableSampler):
    """Sampler with S samples per word and sweep ([IF19] Section 3).

    Parameters
    ----------
    n_samples : int
        S, for the document's counts.
    n_even : int
        M topics for the sums by word, each for an equal part of the conditional; 0 uses the samples.
    n_sweeps, local_rate
        As in DenseSampler.
    sparsity : float
        Share of the last token's step below which a document's counts become zero after the burn-in.
    max_age : int
        Global steps between rebuilds of the words' tables.
    """

    name = "mhw"
    visits_chunks = False

    def __init__(self, n_samples, n_even, n_sweeps, local_rate, sparsity, max_age):
        self.n_samples = n_samples
        self.n_even = n_even
        self.n_sweeps = n_sweeps
        self.local_rate = local_rate
        self.sparsity = sparsity
        super().__init__(max_age)

    def sums(self, counts, rows, selection):  # noqa: ARG002
        """Zero sums, sparse."""
        return sparse.csr_array(counts.shape, dtype=counts.dtype)

    def blocking(self, rows, n_components, batch_size, step_rows):  # noqa: ARG002
        """Documents per tile and per chunk."""
        n_samples = max(self.n_samples, self.n_even)
        tile = int(np.clip(CHUNK_SAMPLES / TILES / (n_samples * rows.entries), 1, 1 << 12))
        return tile, TILES * tile

    def prepare(self, counts, x, workers):
        """Build the tables of the words of a chunk."""
        self._build(counts, x.indices, counts.prior.mean, workers)

    def empty_responsibilities(self, counts, x, n_rows):
        """Memory for the samples."""
        shape = len(x.indices), self.n_even or self.n_samples
        topics, values = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=counts.dtype)
        return SampledGamma(x.indptr, topics, values, np.zeros((n_rows, 3), dtype=np.int64))

    def scratch(self, counts, n_rows):  # noqa: ARG002
        """Working memory of one thread."""
        return _mhw.ChainWorkspace(counts.n_components, self.n_samples)

    def visit(self, counts, x, resp, scratch, numbers, memory, tile):  # noqa: ARG002
        """Sweep over each document of a tile, from its remembered topics or from none.

        Returns a function that makes the topics of their tokens.
        """
        start, states = (None, None) if memory is None else memory.recall_sparse(numbers)
        known = states is not None or start is not None
        states = np.full(len(x.indices), -1, dtype=np.int32) if states is None else states.astype(np.int32)
        capacity = _mhw.max_entries(x.indptr, start, counts.n_components, self.n_samples, self.n_sweeps)
        indptr, topics = np.empty(len(x) + 1, dtype=np.int64), np.empty(capacity, dtype=np.int32)
        values = np.empty(capacity, dtype=counts.dtype)
        rates, exclude = None, excluded(x, known and not counts.unseen)
        if self.local_rate is not None:
            rates, exclude = self.local_rate(int(self.n_sweeps * x.lengths().max(initial=0.0))), "none"
        samples, shares, even = resp.topics, resp.values, None
        if self.n_even:
            samples = np.empty((len(x.indices), self.n_samples), dtype=np.int32)
            shares, even = np.empty(samples.shape, dtype=counts.dtype), resp.topics
            resp.values[...] = x.counts[:, None] / self.n_even
        settings = _mhw.Settings(
            counts.factor, counts.offset, counts.beta, counts.inverse, counts.prior.mean, counts.seed,
            counts.step, self.n_samples, self.n_sweeps, rates, self.sparsity, exclude, SHARE,
            fresh=self._age == 0 and NEGLIGIBLE == 0.0,
        )  # fmt: skip
        _mhw.sample_documents(
            x.entries(), numbers, start, counts.table, settings, self._tables, states, samples, shares, indptr, topics,
            values, resp.tally, scratch, even,
        )  # fmt: skip
        if memory is not None:
            memory.remember_sparse(numbers, indptr, topics[: indptr[-1]], values[: indptr[-1]], states)
        # one sample per word: several, each for a part of its tokens, would be smoother than counts
        return partial(TokenTopics, x.indptr, np.ascontiguousarray(samples[:, -1]), x.counts)

    def later(self, resp, work):  # noqa: ARG002
        """Do some work at once."""
        work()

    def take_back(self, resp):
        """Nothing is kept."""

    def accumulate(self, counts, x, resp, weight, stats, workers):
        """Add the samples of a chunk to the sums by word."""
        if weight is not None:
            resp.values[...] *= np.repeat(weight, np.diff(x.indptr))[:, None]
        sums, _ = sum_by_word(x, resp, *counts.shape, workers)
        draws, _, accepted = resp.tally.sum(axis=0)
        self._draws, self._accepted = self._draws + draws, self._accepted + accepted
        stats["proposals"] += draws, accepted
        stats["count"] += np.bincount(sums.indices, sums.data, minlength=counts.n_components)
        stats.replace("word_topic", stats["word_topic"] + sums)
