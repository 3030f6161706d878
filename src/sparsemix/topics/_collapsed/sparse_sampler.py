"""Documents visited with one sampled topic for each token, at the cost of the topics that a document has."""

from dataclasses import dataclass

import numpy as np

from sparsemix._kernels.collapsed import _split
from sparsemix._kernels.vectors._simd import aligned_empty
from sparsemix._stats.word_rows import WordRows
from sparsemix.topics._sums import group

# Entries of a chunk: what they leave for the sums waits for all of them.
CHUNK_ENTRIES = 1 << 16
# Tiles of a chunk, which threads share out.
TILES = 8
# Groups of words that threads share out; totals are summed by group, so that threads change no bit.
GROUPS = 8


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


class SparseSampler:
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

    name = "sparse"

    def __init__(self, n_sweeps, exclude_own):
        self.n_sweeps = n_sweeps
        self.exclude_own = exclude_own
        self.forget()

    def forget(self):
        """Give all room back."""
        self._rooms, self._blocks, self._grouped, self._fixed = [], None, None, None

    def __getstate__(self):
        return vars(SparseSampler(self.n_sweeps, self.exclude_own))

    def sums(self, model, rows, selection):
        """Zeros for each word of the chosen documents."""
        words = rows.words(selection)
        return WordRows(words, np.zeros((len(words), model.n_components), dtype=model.dtype), model.n_words)

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
        words = np.flatnonzero(np.diff(starts)).astype(np.int32)
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
        """Sweep over each document of a tile, from its samples, or from what is remembered of it without any."""
        states, start = None, (None, None, None)
        if memory is not None:
            states, start = memory.states(numbers), memory.recall_sparse(numbers) or start
        if states is None:
            states = np.full(_split.n_samples(x.counts), -1, dtype=np.int32)
        if start[0] is None and model.random_documents:
            start = self._random(model, x, numbers)
        try:
            room = self._rooms.pop()
        except IndexError:
            room = _split.Room(model.n_components)
        resp.rooms.append(room)
        states = states.astype(np.int32)
        _split.local_step(
            x.indptr, x.indices, x.counts, model.table, self._base, self._inverse, self._fixed,
            self._blocks, self.n_sweeps, self.exclude_own != "none", numbers + model.first_row, model.seed,
            model.n_steps, *start[:3], states, resp.records, resp.shares, room,
        )  # fmt: skip
        if memory is not None:
            memory.remember_states(numbers, states)

    def _random(self, model, x, numbers):
        """Random counts of all topics, for topics that are still the same."""
        values = model.start_of(numbers, len(x)) * x.lengths()[:, None].astype(model.dtype)
        n, n_components = values.shape
        topics = np.tile(np.arange(n_components, dtype=np.int32), n)
        return np.arange(n + 1, dtype=np.int64) * n_components, topics, values.ravel()

    def accumulate(self, model, x, resp, weight, stats, workers):
        """Add what the entries of a chunk left to the rows of their words."""
        starts, entries = self._grouped
        out = stats["word_topic"]
        words, n_components = out.words, model.n_components
        weights = None
        if (weight != 1.0).any():
            weights = np.repeat(weight.astype(model.dtype), np.diff(x.indptr))
        shares = np.linspace(0, starts[-1], GROUPS + 1)[1:-1]
        bounds = [0, *np.searchsorted(starts[words], shares), len(words)]
        totals = np.zeros((GROUPS, n_components))

        def share(first, last):
            row = aligned_empty(len(self._fixed), model.dtype)
            for g in range(first, last):
                _split.sum_rows(
                    starts, entries, resp.records, resp.shares, weights, model.table, self._base, self._fixed, words,
                    bounds[g], bounds[g + 1], row, out.rows, totals[g],
                )  # fmt: skip

        workers.split(share, GROUPS)
        stats["count"] += totals.sum(axis=0)
        self._rooms += resp.rooms
