"""Documents as word sequences, read in blocks."""

from dataclasses import dataclass

import numpy as np

from sparsemix._kernels.skipgram import _positions
from sparsemix._rows.blocks import spans

# Tokens per tile; tiles per chunk, which are distributed among threads.
TILE_TOKENS = 1 << 12
TILES = 16
# Tokens per block when totals are counted.
BLOCK_TOKENS = 1 << 20


@dataclass(frozen=True)
class SequenceBlock:
    """Some documents as concatenated word sequences.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of document d are indptr[d] to indptr[d + 1].
    places : ndarray of shape (n_tokens,), int32
        Place of each word in its document, increasing; skipped numbers are places without a word.
    words : ndarray of shape (n_tokens,), int32
        Numbers of the words.
    """

    indptr: np.ndarray
    places: np.ndarray
    words: np.ndarray

    def __len__(self):
        return len(self.indptr) - 1

    def part(self, start, stop):
        """View of some documents."""
        first, last = self.indptr[start], self.indptr[stop]
        return SequenceBlock(self.indptr[start : stop + 1] - first, self.places[first:last], self.words[first:last])

    def positions(self, window):
        """The block as an argument of kernels."""
        return _positions.Positions(self.indptr, self.places, self.words, window)

    def documents(self):
        """Document of each token, (n_tokens,) int64."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def context_sizes(self, window):
        """Number of other words within a window around each token, (n_tokens,) int64."""
        documents = self.documents()
        far = int(self.places.max(initial=0)) + window + 1  # distance of documents that no window bridges
        at = documents * far + self.places
        ends = np.searchsorted(at, at + window, side="right") - np.searchsorted(at, at - window, side="left")
        return ends - 1


class Sequences:
    """Weighted documents as input of the fit loop, like ``Rows`` for mixtures.

    Parameters
    ----------
    X : csr_array of shape (N, longest)
        Word number + 1 at the place of each word, columns sorted, no stored zeros.
    n_words : int
        V.
    sample_weight : ndarray of shape (N,), float64, or None
    memory : TokenMemory or None
        Memory of the topics of tokens between visits.
    """

    dtype = np.dtype(np.int32)
    source = None  # the documents are not a sample of other documents
    first_row = 0  # number of the first document in the whole data, if these documents are a block of it

    def __init__(self, X, n_words, sample_weight=None, memory=None):
        self.X = X
        self.n_words = n_words
        self.sample_weight = sample_weight
        self.memory = memory

    def __len__(self):
        return self.X.shape[0]

    @property
    def mass(self):
        """Total weight of the documents."""
        return float(len(self) if self.sample_weight is None else self.sample_weight.sum())

    @property
    def n_tokens(self):
        """Number of words of all documents."""
        return self.X.nnz

    @property
    def informative(self):
        """Whether any document has a word."""
        return self.X.nnz > 0

    def blocking(self, n_components, n_nonzero):  # noqa: ARG002
        """Documents per tile and per chunk."""
        tile = max(1, int(TILE_TOKENS * len(self) / max(1, self.n_tokens)))
        return tile, TILES * tile

    def totals(self, window):
        """Weighted counts of each word, (V,) float64: as input word with a context, and as context word."""
        inputs, contexts = np.zeros((2, self.n_words))
        for first, x in self.blocks(BLOCK_TOKENS):
            sizes = x.context_sizes(window)
            weight = self.weight(slice(first, first + len(x)))
            weight = 1.0 if weight is None else np.repeat(weight, np.diff(x.indptr))
            inputs += np.bincount(x.words, (sizes > 0) * weight, minlength=self.n_words)
            contexts += np.bincount(x.words, sizes * weight, minlength=self.n_words)  # pairs are symmetric
        return inputs, contexts

    def weight(self, selection):
        """Weights of some documents, or None if all are one."""
        return None if self.sample_weight is None else np.ascontiguousarray(self.sample_weight[selection])

    def buffer(self, selection):
        """The selected documents, of which tiles are views."""
        indptr = self.X.indptr.astype(np.int64, copy=False)
        if isinstance(selection, slice):
            first, last = indptr[selection.start], indptr[selection.stop]
            indptr, entries = indptr[selection.start : selection.stop + 1] - first, slice(first, last)
        else:
            lengths = indptr[selection + 1] - indptr[selection]
            ends = np.cumsum(lengths)
            entries = np.repeat(indptr[selection] - (ends - lengths), lengths) + np.arange(lengths.sum())
            indptr = np.concatenate([[0], ends])
        words = self.X.data[entries].astype(np.int32)
        words -= 1
        return SequenceBlock(indptr, np.ascontiguousarray(self.X.indices[entries], dtype=np.int32), words)

    read = buffer

    def read_ahead(self, selection):
        """No reading ahead: blocks are read quickly."""

    def load(self, selection, start, stop, block):  # noqa: ARG002
        """Documents ``start`` to ``stop`` of a selection, from its block."""
        return block.part(start, stop)

    def blocks(self, size):
        """Consecutive blocks of about ``size`` tokens: (first document, block)."""
        per_document = max(1.0, self.n_tokens / max(1, len(self)))
        for start, stop in spans(len(self), max(1, int(size / per_document))):
            yield start, self.buffer(slice(start, stop))


class TokenMemory:
    """Topics of tokens between visits; tiles of documents are identified by row numbers, as in DocumentMemory."""

    def __init__(self):
        self._tiles = {}

    def recall(self, numbers):
        """Topics of the tokens of a tile, int32, or None."""
        kept = self._tiles.get((int(numbers[0]), len(numbers)))
        return None if kept is None else kept.astype(np.int32)

    def remember(self, numbers, topics):
        """Store the topics in the smallest type."""
        small = np.int16 if topics.max(initial=0) <= np.iinfo(np.int16).max else np.int32
        self._tiles[int(numbers[0]), len(numbers)] = topics.astype(small)

    def forget(self):
        """Drop all topics."""
        self._tiles.clear()
