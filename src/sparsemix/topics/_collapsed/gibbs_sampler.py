"""Documents visited with one sampled topic for each token, at the cost of the topics that a document has."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sparsemix._kernels.split import _split
from sparsemix._kernels.vectors._simd import aligned_empty
from sparsemix._stats.suffstats import rows_added
from sparsemix._stats.word_rows import WordRows
from sparsemix.topics._collapsed.token_topics import TokenTopics
from sparsemix.topics._sums import group

# Entries of a chunk: what they leave for the sums waits for all of them.
CHUNK_ENTRIES = 1 << 16
# Tiles of a chunk, which threads share out.
TILES = 8
# Groups of words that threads share out; totals are summed by group, so that threads change no bit.
GROUPS = 8
# Up to so many topics sums by word are whole rows. Beyond, they are sparse, and what the fixed part of a word holds
# goes to a few topics that are drawn, so many for each token of it.
DENSE_SUMS = 2000
N_EVEN = 8


@dataclass(frozen=True)
class SplitGamma:
    """What the last sweep leaves of each entry of a chunk: expected counts on its document's topics, and one number.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of each document.
    records : ndarray of shape (nnz, 3), int64
        Where the counts and their topics stand in the rooms, and how many there are.
    shares : ndarray of shape (nnz,)
        Factor of the word's fixed part, which holds the rest of the entry's count.
    rooms : list of Room
    """

    indptr: np.ndarray
    records: np.ndarray
    shares: np.ndarray
    rooms: list

    def rows(self, start, stop):
        """View of the documents of a tile."""
        first, last = self.indptr[start], self.indptr[stop]
        indptr = self.indptr[start : stop + 1] - first
        return SplitGamma(indptr, self.records[first:last], self.shares[first:last], self.rooms)


class GibbsSampler:
    """Gibbs sweeps over a document's words; the topics' counts get the whole conditional of each.

    The conditional phi_wk (N_jk + alpha_k) is split in two (Yao et al. 2009): the terms of the topics that the document
    has, and alpha_k phi_wk, which is fixed while the topics are. Both are summed exactly; the second is drawn from by
    sums over blocks of topics that are made once for a word and minibatch, and its expectation costs one number an
    entry.

    Parameters
    ----------
    n_sweeps : int
        At each visit; the last one leaves the expected counts.
    exclude_own : {"none", "document"}
        Counts that a token itself is left out of.
    """

    name = "gibbs"

    def __init__(self, n_sweeps, exclude_own):
        self.n_sweeps = n_sweeps
        self.exclude_own = exclude_own
        self.forget()

    def forget(self):
        """Give all room back."""
        self._rooms, self._blocks, self._fixed = [], None, None
        self._grouped = self._words = None

    def __getstate__(self):
        return vars(GibbsSampler(self.n_sweeps, self.exclude_own))

    def sums(self, model, rows, selection):  # noqa: ARG002
        """No sums yet: rows of words, which come with the chunks; sparse for very many topics."""
        if model.n_components > DENSE_SUMS:
            return sparse.csr_array((model.n_words, model.n_components), dtype=model.dtype)
        return WordRows(np.empty(0, np.int32), np.empty((0, model.n_components), dtype=model.dtype), model.n_words)

    def blocking(self, model, rows):  # noqa: ARG002
        """Documents of a tile, and of a chunk."""
        tile = int(max(1, CHUNK_ENTRIES / TILES / rows.entries))
        return tile, TILES * tile

    def begin(self, model):
        """The fixed parts of words are those of the last counts no longer."""
        inverse = model.factor * model.inverse
        self._base = (model.offset + model.topic_word_prior) / model.factor
        self._inverse = _split.padded(inverse, model.dtype)
        self._fixed = _split.padded(inverse * model.doc_topic_prior, model.dtype)

    def prepare(self, model, x, workers):
        """Sums of the fixed part of the words of a chunk."""
        if self._fixed is None:
            self.begin(model)
        shape = model.n_words, _split.n_blocks(model.n_components)
        if self._blocks is None or self._blocks.shape != shape or self._blocks.dtype != model.dtype:
            self._blocks = np.zeros(shape, dtype=model.dtype)
        self._grouped = starts, _ = group(x, model.n_words)
        self._words = words = np.flatnonzero(np.diff(starts)).astype(np.int32)
        workers.split(
            lambda first, last: _split.sum_blocks(
                model.table, self._base, self._fixed, words, first, last, self._blocks
            ),
            len(words),
        )

    def empty_responsibilities(self, model, x, n_rows):  # noqa: ARG002
        """Room for what entries leave; the counts themselves are in the rooms of the tiles."""
        nnz = len(x.indices)
        return SplitGamma(x.indptr, np.empty((nnz, 3), dtype=np.int64), np.empty(nnz, dtype=model.dtype), [])

    def scratch(self, model, n_rows):
        """Nothing: every tile has a room of its own."""

    def visit(self, model, x, resp, scratch, numbers, memory):  # noqa: ARG002
        """Sweep over each document of a tile, from its samples, or from what is remembered of it without any.

        Returns the tokens of its samples.
        """
        *start, states = (None, None, None, None) if memory is None else memory.recall_sparse(numbers)
        if states is None:
            states = np.full(_split.n_samples(x.counts), -1, dtype=np.int32)
        try:
            room = self._rooms.pop()
        except IndexError:
            room = _split.Room(model.n_components)
        resp.rooms.append(room)
        states = states.astype(np.int32)
        _split.local_step(
            x.indptr, x.indices, x.counts, model.table, self._base, self._inverse, self._fixed,
            self._blocks, self.n_sweeps, self.exclude_own != "none", numbers, model.seed,
            model.n_steps, *start, states, resp.records, resp.shares, room,
        )  # fmt: skip
        if memory is not None:
            memory.remember_states(numbers, states)
        return TokenTopics.of_samples(x, states) if model.learn_priors else None

    def accumulate(self, model, x, resp, weight, stats, workers):
        """Add what the entries of a chunk left to the rows of their words."""
        weights = None
        if (weight != 1.0).any():
            weights = np.repeat(weight.astype(model.dtype), np.diff(x.indptr))
        if model.n_components > DENSE_SUMS:
            sums = self._sum_sparse(model, x, resp, weights, workers)
            stats["count"] += np.bincount(sums.indices, sums.data, minlength=model.n_components)
            stats.replace("word_topic", stats["word_topic"] + sums)
        else:
            sums, totals = self._sum_rows(model, resp, weights, workers)
            stats["count"] += totals
            old = stats["word_topic"]
            stats.replace("word_topic", rows_added(old, sums, 1.0) if len(old.words) else sums)
        self._rooms += resp.rooms

    def _sum_rows(self, model, resp, weights, workers):
        """Sums of a chunk in whole rows of its words, and their totals."""
        words, bounds = self._words, self._bounds()
        rows, totals = np.empty((len(words), model.n_components), model.dtype), np.zeros((GROUPS, model.n_components))

        def share(first, last):
            room = aligned_empty(len(self._fixed), model.dtype)
            for g in range(first, last):
                _split.sum_rows(
                    *self._grouped, resp.records, resp.shares, weights, model.table, self._base, self._fixed, words,
                    bounds[g], bounds[g + 1], room, rows, totals[g],
                )  # fmt: skip

        workers.split(share, GROUPS)
        return WordRows(words, rows, model.n_words), totals.sum(axis=0)

    def _sum_sparse(self, model, x, resp, weights, workers):
        """Sums of a chunk on the topics that its entries have, and some that are drawn for the rest."""
        words, bounds, (starts, entries) = self._words, self._bounds(), self._grouped
        tokens = x.counts if weights is None else x.counts * weights
        drawn = np.minimum(N_EVEN * tokens[entries], model.n_components).astype(np.int64)
        room = resp.records[entries, 2] + drawn + 2
        ends = np.concatenate([[0], np.cumsum(room)])[np.append(starts[words], starts[-1])]
        lengths, parts = np.zeros(len(words), dtype=np.int64), [None] * GROUPS

        def share(first, last):
            for g in range(first, last):
                size = ends[bounds[g + 1]] - ends[bounds[g]]
                topics, values = np.empty(size, dtype=np.int32), np.empty(size, dtype=model.dtype)
                n = _split.sum_sparse(
                    starts, entries, resp.records, resp.shares, weights, model.table, self._base, self._fixed,
                    self._blocks, words, bounds[g], bounds[g + 1], N_EVEN, model.seed, model.n_steps, lengths, topics,
                    values,
                )  # fmt: skip
                parts[g] = topics[:n].copy(), values[:n].copy()

        workers.split(share, GROUPS)
        topics, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        indptr = np.zeros(model.n_words + 1, dtype=np.int32 if len(topics) <= np.iinfo(np.int32).max else np.int64)
        indptr[words + 1] = lengths
        shape = model.n_words, model.n_components
        return sparse.csr_array((values, topics, np.cumsum(indptr, dtype=indptr.dtype)), shape=shape)

    def _bounds(self):
        """Where groups of words begin, each with about as many entries as the others."""
        starts, _ = self._grouped
        shares = np.linspace(0, starts[-1], GROUPS + 1)[1:-1]
        return [0, *(int(b) for b in np.searchsorted(starts[self._words], shares)), len(self._words)]
