"""Visits of documents with one sampled topic per token, in time proportional to the topics in each document."""

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy import sparse

from sparsemix._kernels.split import _split
from sparsemix._models.topics.token_topics import TokenTopics
from sparsemix._rows.documents import tiles
from sparsemix._stats.packed_counts import PackedCounts, space_for
from sparsemix._stats.sums import added
from sparsemix._stats.word_rows import DeferredRows, WordRows

# Entries per chunk. Sums of a chunk are computed after the visits of all its documents.
CHUNK_ENTRIES = 1 << 16
# Entries per tile. The memory stores the topics of a tile as one item.
TILE_ENTRIES = 1 << 13
# Up to this number of topics, counts by word and their sums are dense rows. With more, counts are packed and sums are
# sparse: instead of the fixed part of a word, N_EVEN topics per token are drawn from it and added.
DENSE_SUMS = 2000
N_EVEN = 8
# Upper limit of fixed parts, so that their sums times counts do not overflow in single precision.
LARGEST_FIXED = 1e20
# In tokens. Smaller packed counts are rounded at random to this or to zero. Otherwise words would never lose a topic.
LEAST_COUNT = 0.05


@dataclass(frozen=True)
class SplitGamma:
    """Results of the last sweep for each entry of a chunk: expected counts of its document's topics, and one factor.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of each document.
    records : ndarray of shape (nnz or more, 3), int64
        Addresses of the counts and of their topics in the workspaces, and the number of counts.
    shares : ndarray of shape (nnz or more,)
        Factor of the word's fixed part: fixed part times factor is the expected count that ``records`` lack.
    workspaces : list of Workspace
        Working memory, one per thread.
    afterwards : list of callable
        Deferred work, which runs while threads compute the sums.
    priors : list
        After the visit the fixed part, and the groups of documents that it is for: see ``GibbsSampler.priors``.
    """

    indptr: np.ndarray
    records: np.ndarray
    shares: np.ndarray
    workspaces: list
    afterwards: list
    priors: list

    def rows(self, start, stop):  # noqa: ARG002
        """View of the documents of a tile; a chunk is visited as one tile."""
        return self

    def finish(self):
        """Do the deferred work."""
        while self.afterwards:
            self.afterwards.pop()()


class GibbsSampler:
    """Gibbs sampling of the topics of a document's words; sums get expected counts in place of the samples.

    The conditional phi_wk (N_jk + alpha_k) is split in two (Yao et al. 2009): the terms of the document's topics, and
    alpha_k phi_wk, which does not change between global steps. Both are summed exactly. Draws from the second part use
    sums over blocks of topics, computed once per word and batch. The expected counts of the second part are the word's
    fixed part times one factor per entry.

    Under fixed topics this samples the exact posterior of a document whose words all differ. For repeated words it is
    an approximation: all c tokens of a word are drawn from one conditional. Its counts exclude one token in total,
    1 / c at the previous topic of each of the c tokens. From the document's second visit on, counts by word exclude the
    same token at its topics of the last visit, as collapsed Gibbs sampling does (Griffiths & Steyvers 2004).

    Parameters
    ----------
    n_sweeps : int
        Sweeps per visit; the last one sets the expected counts.
    """

    name = "gibbs"
    visits_chunks = True

    def __init__(self, n_sweeps):
        self.n_sweeps = n_sweeps
        self.forget()

    def forget(self):
        """Free all memory."""
        self._workspaces, self._lists = [], []
        self._blocks = self._fixed = self._rows = None
        self._workers = None

    def __getstate__(self):
        return vars(GibbsSampler(self.n_sweeps))

    def is_sparse(self, n_components):
        """Whether sums are sparse, for very many topics."""
        return n_components > DENSE_SUMS

    def sums(self, counts, rows, selection):  # noqa: ARG002
        """Empty sums: rows of words are added with the chunks; sparse for very many topics."""
        if self.is_sparse(counts.n_components):
            return sparse.csr_array(counts.shape, dtype=counts.dtype)
        return no_rows(*counts.shape, counts.dtype)

    def blocking(self, rows, n_components, batch_size, step_rows):  # noqa: ARG002
        """Documents per tile and per chunk."""
        tile = int(max(1, TILE_ENTRIES / rows.entries))
        return tile, int(max(1, CHUNK_ENTRIES / rows.entries, step_rows + tile))

    def begin(self, counts):
        """Compute what the fixed parts of all words share, after a global step."""
        self._base = (counts.offset + counts.beta) / counts.factor
        # Weights of topics are relative: documents with almost no weight must not exceed single precision.
        self._inverse, self._fixed = _split.fixed_parts(
            counts.inverse, counts.factor, counts.prior.mean, LARGEST_FIXED, counts.dtype
        )

    def priors(self, counts, numbers):
        """The fixed part (K padded,) and None; with several priors (groups, K padded) and each document's group."""
        alpha, groups = counts.prior.of(numbers)
        if groups is None:
            return self._fixed, None
        return _split.padded(alpha * self._inverse[: counts.n_components], counts.dtype), groups

    def prepare(self, counts, x, workers):
        """Compute block sums of the fixed part of a chunk's words."""
        self._workers = workers
        if self._fixed is None:
            self.begin(counts)
        shape = counts.shape[0], _split.n_blocks(counts.n_components)
        if self._blocks is None or self._blocks.shape != shape or self._blocks.dtype != counts.dtype:
            self._blocks = np.zeros(shape, dtype=counts.dtype)
        topics, words = _split.Topics(counts.table, self._base, self._fixed), x.by_word.words
        workers.share(lambda pool: _split.sum_blocks(topics, words, self._blocks, pool))

    def empty_responsibilities(self, counts, x, n_rows):  # noqa: ARG002
        """Memory for the results of entries; the counts are in the workspaces of the threads."""
        nnz = len(x.indices)
        records, shares = self._lists.pop() if self._lists else (np.empty((0, 3), np.int64), np.empty(0, counts.dtype))
        if len(records) < nnz or shares.dtype != counts.dtype:
            records, shares = np.empty((nnz, 3), dtype=np.int64), np.empty(nnz, dtype=counts.dtype)
        return SplitGamma(x.indptr, records, shares, [], [], [])

    def scratch(self, counts, n_rows):
        """None: every thread uses its workspace."""

    def visit(self, counts, x, resp, scratch, numbers, memory, tile):  # noqa: ARG002
        """Sweep over each document of a chunk, starting at its last samples, or else at its remembered topics.

        Returns a function that makes the topics of their tokens.
        """
        starts, dtype = x.sample_starts, _split.state_dtype(counts.n_components)
        if memory is None:
            start, states = None, np.full(starts[-1], -1, dtype=dtype)
        else:
            spans = tiles(numbers, tile)
            start, states = memory.recall_states(numbers, starts, spans, dtype)
        own = None if memory is None or counts.unseen else tokens_in_table(counts, x)
        workers = self._workers
        workspaces = [self._workspace(counts.n_components) for _ in range(workers.n_jobs)]
        fixed, groups = self.priors(counts, numbers)
        resp.priors.append((fixed, groups))
        topics = _split.Topics(counts.table, self._base, fixed, self._inverse, self._blocks, groups)
        workers.share(
            lambda pool: _split.local_step(
                x.entries(), topics, self.n_sweeps, True, numbers, counts.seed, counts.step, start, starts, states,
                resp.records, resp.shares, x.longest_first, workspaces, own, pool,
            )
        )  # fmt: skip
        resp.workspaces.extend(workspaces)
        if memory is not None:
            resp.afterwards.append(partial(memory.remember_states, numbers, states, starts, spans))
        return partial(TokenTopics.of_samples, x, states)

    def _workspace(self, n_components):
        return self._workspaces.pop() if self._workspaces else _split.Workspace(n_components)

    def accumulate(self, counts, x, resp, weight, stats, workers):
        """Add the results of a chunk to the sums of its words."""
        weights = None if weight is None else np.repeat(weight.astype(counts.dtype), np.diff(x.indptr))
        kind = SparseSplitSums if self.is_sparse(counts.n_components) else SplitSums
        sums, old = kind(self, counts, x, resp, weights, workers), stats["word_topic"]
        if sums.at_once and not (old.nnz if sparse.issparse(old) else len(old.words)):
            stats.defer("word_topic", sums)
            return
        sums, totals = sums.rows()
        stats["count"] += totals
        stats.replace("word_topic", added(old, sums, 1.0))

    def zero_rows(self, n_rows, width, dtype):
        """Scratch rows of threads, which kernels leave zero."""
        rows = self._rows
        if rows is None or rows.shape != (n_rows, width) or rows.dtype != dtype:
            rows = self._rows = _split.padded(np.zeros(n_rows * width), dtype).reshape(n_rows, width)
        return rows

    def later(self, resp, work):
        """Do some work while threads compute the sums."""
        resp.afterwards.append(work)

    def take_back(self, resp):
        """Keep memory for other chunks: page faults of new memory take as long as writing to it."""
        resp.finish()
        self._workspaces += resp.workspaces
        self._lists.append((resp.records, resp.shares))


class SplitSums(DeferredRows):
    """Sums of a chunk as dense rows, one per word: counts of its entries, plus the word's fixed part times a factor.

    They keep the working memory of the visit until they have been computed.
    """

    at_once = True  # whether the sums can be added to the table without being stored first

    def __init__(self, sampler, counts, x, resp, weights, workers):
        self.table, self.unit, self.words = counts.table, counts.unit, x.by_word.words
        self.shape, self.dtype = self.table.shape, self.table.dtype
        self._base, self._bounds, self._blocks = sampler._base, x.by_word.bounds, sampler._blocks
        self._fixed, groups = resp.priors[0]
        groups = None if groups is None else np.repeat(groups, np.diff(x.indptr))
        self._records = _split.Records(x.by_word.starts, x.by_word.entries, resp.records, resp.shares, weights, groups)
        self._resp, self._workers, self._give_back = resp, workers, sampler.take_back
        self._memory = sampler.zero_rows

    def _topics(self, scale=1.0):
        """Topics in units of the table, which ``scale`` divides."""
        fixed = self._fixed if scale == 1.0 else _split.padded(self._fixed[..., : self.shape[1]] / scale, self.dtype)
        return _split.Topics(self.table, self._base * scale, fixed, blocks=self._blocks)

    def add_to_table(self, factor, scale):
        """Add the sums to the table; each row is read and written once."""
        topics = self._topics(scale)
        totals = np.zeros((len(self._bounds) - 1, self.shape[1]))
        memory = self._memory(self._workers.n_jobs, (self._fixed.ndim + 1) * self._fixed.shape[-1], self.dtype)
        with self._workers.meanwhile(self._resp.finish):
            self._workers.share(
                lambda pool: _split.add_rows(
                    self._records, topics, self.words, self._bounds, factor, totals, memory, pool
                )
            )
        return self._over(totals)

    def rows(self):
        """Compute the sums without adding them."""
        rows, topics = np.empty((len(self.words), self.shape[1]), dtype=self.dtype), self._topics()

        def share(first, last, totals):
            row = _split.padded(np.zeros(2 * self._fixed.shape[-1]), self.dtype)
            _split.sum_rows(self._records, topics, self.words, first, last, row, rows, totals)

        totals = self._make(share)
        return WordRows(self.words, rows, self.shape[0]), totals

    def _make(self, share):
        """Distribute groups of words among threads. Return the totals."""
        bounds, n_groups = self._bounds, len(self._bounds) - 1
        totals = np.zeros((n_groups, self.shape[1]))

        def share_groups(first, last):
            for g in range(first, last):
                share(bounds[g], bounds[g + 1], totals[g])

        step = max(1, n_groups // (4 * self._workers.n_jobs))
        with self._workers.meanwhile(self._resp.finish):
            self._workers.map(share_groups, [(g, min(g + step, n_groups)) for g in range(0, n_groups, step)])
        return self._over(totals)

    def _over(self, totals):
        """Release the memory of the visit. Return the totals of all groups, added in their order."""
        self._give_back(self._resp)
        self._resp = self._records = None  # sums are computed only once, because the table has changed
        return totals.sum(axis=0)


class SparseSplitSums(SplitSums):
    """Sparse sums: counts of the topics of entries, and of topics drawn at random in place of the fixed part."""

    def __init__(self, sampler, counts, x, resp, weights, workers):
        super().__init__(sampler, counts, x, resp, weights, workers)
        self.at_once = isinstance(self.table, PackedCounts)
        self._keys = counts.seed, counts.step
        self._least = LEAST_COUNT / counts.factor
        tokens = x.counts if weights is None else x.counts * weights
        starts, entries = x.by_word.starts, x.by_word.entries
        drawn = np.minimum(N_EVEN * tokens[entries], counts.n_components).astype(np.int64)
        sizes = resp.records[entries, 2] + drawn + 2
        self._ends = np.concatenate([[0], np.cumsum(sizes)])[np.append(starts[self.words], starts[-1])]

    def add_to_table(self, factor, scale):
        """Add the sums to the table; rows that already have the topics change in place."""
        table, n_components = self.table, self.shape[1]
        table.reserve(space_for(table.lengths(self.words), np.minimum(np.diff(self._ends), n_components)))
        least, frozen = self._least * scale, self._topics(scale)

        def share(first, last, totals):
            topics, values = np.empty(n_components, dtype=np.int32), np.empty(n_components, dtype=self.dtype)
            self._sum(frozen, first, last, topics, values, factor, least, totals)

        return self._make(share) / factor

    def rows(self):
        """Compute the sums as a sparse table without adding them."""
        parts = {}
        lengths, frozen = np.zeros(len(self.words), dtype=np.int64), self._topics()

        def share(first, last, totals):
            size = self._ends[last] - self._ends[first]
            topics, values = np.empty(size, dtype=np.int32), np.empty(size, dtype=self.dtype)
            n = self._sum(frozen, first, last, topics, values, lengths=lengths)
            parts[first, last] = topics[:n].copy(), values[:n].copy()  # keyed by both ends: empty groups share a start
            totals += np.bincount(topics[:n], values[:n], minlength=len(totals))

        totals = self._make(share)
        topics, values = (
            np.concatenate(arrays) for arrays in zip(*(parts[bounds] for bounds in sorted(parts)), strict=True)
        )
        indptr = np.zeros(self.shape[0] + 1, dtype=np.int32 if len(topics) <= np.iinfo(np.int32).max else np.int64)
        indptr[self.words + 1] = lengths
        return sparse.csr_array((values, topics, np.cumsum(indptr, dtype=indptr.dtype)), shape=self.shape), totals

    def _sum(self, frozen, first, last, topics, values, factor=1.0, least=0.0, gains=None, lengths=None):
        lengths = np.empty(len(self.words), dtype=np.int64) if lengths is None else lengths
        return _split.sum_sparse(
            self._records, frozen, self.words, first, last, N_EVEN, *self._keys, lengths, topics, values, factor,
            least, gains,
        )  # fmt: skip


@lru_cache(maxsize=16)
def no_rows(n_words, n_components, dtype):
    """Sums of no words; immutable, so all steps share them."""
    return WordRows(np.empty(0, np.int32), np.empty((0, n_components), dtype=dtype), n_words)


def tokens_in_table(counts, x):
    """What the table of counts has of one token of each document, (n,), in units of the table.

    A document of weight w below one has w of it. One of a larger weight counts as several documents, whose other tokens
    remain.
    """
    own = np.full(len(x), 1.0 / counts.factor)
    return own if x.weight is None else own * np.minimum(x.weight, 1.0)
