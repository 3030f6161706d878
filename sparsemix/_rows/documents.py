"""Documents as word counts, read in blocks; the memory of documents between visits; the first documents of a stream."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
from scipy import sparse

from sparsemix._kernels.documents import _gather, _memory
from sparsemix._kernels.documents._entries import Entries
from sparsemix._kernels.split import _split
from sparsemix._rows import blocks
from sparsemix._rows.blocks import Observation, gathered, spans, tile_size
from sparsemix._stats.word_rows import ByWord

# Bytes of a chunk of documents: entries and responsibilities. The sums by word of a chunk form one sparse table, so a
# chunk should contain every frequent word many times.
CHUNK_BYTES = 1 << 25
# A stream initialises again when its entries have grown by this factor: all initialisations cost three times the last.
GROWTH = 1.5


@dataclass(frozen=True)
class DocumentBlock:
    """Some documents in compressed rows: words increasing, no word twice, counts positive.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of document d are indptr[d] to indptr[d + 1].
    indices : ndarray of shape (nnz,), int32
        Words.
    counts : ndarray of shape (nnz,), float32 or float64
        Their counts.
    n_words : int
        V.
    weight : ndarray of shape (n,) or None
        Weights of the documents, None if all are one.
    """

    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray
    n_words: int
    weight: np.ndarray | None = None

    @classmethod
    def of(cls, X, dtype):
        """Rows of a sparse matrix or a dense array; copies only what has the wrong type or layout."""
        X = canonical(X)
        indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
        return cls(indptr, indices, np.ascontiguousarray(X.data, dtype=dtype), X.shape[1])

    def __len__(self):
        return len(self.indptr) - 1

    def __getitem__(self, rows):
        return self.part(rows.start, rows.stop)

    def part(self, start, stop):
        """View of some documents, as ``block[start:stop]``."""
        if stop - start == len(self):
            return self
        first, last = self.indptr[start], self.indptr[stop]
        return DocumentBlock(
            self.indptr[start : stop + 1] - first, self.indices[first:last], self.counts[first:last], self.n_words,
            None if self.weight is None else self.weight[start:stop],
        )  # fmt: skip

    def entries(self, weight=None):
        """The block as an argument of kernels."""
        return Entries(self.indptr, self.indices, self.counts, weight)

    def documents(self):
        """Document of each entry, (nnz,) int32."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.indptr))

    def lengths(self):
        """Tokens of each document, (n,) float64."""
        return self._lengths

    # -- computed on first use, or ahead of time for the next block

    @cached_property
    def _lengths(self):
        return _gather.tokens(self.indptr, self.counts)

    @cached_property
    def n_tokens(self):
        """Tokens of all documents."""
        return float(self.counts.sum(dtype=np.float64))

    @cached_property
    def by_word(self):
        """Entries by word."""
        return ByWord.of(self.indices, self.n_words)

    @cached_property
    def longest_first(self):
        """Documents by decreasing number of entries: threads that take them in turn end at about the same time."""
        return _gather.longest_first(self.indptr)

    @cached_property
    def sample_starts(self):
        """Start of the samples of each document, (n + 1,)."""
        return _split.sample_starts(self.indptr, self.counts)

    def make_as(self, other):
        """Compute the cached properties that another block has computed."""
        for name in vars(other).keys() - vars(self).keys():
            getattr(self, name)
        return self


class Documents:
    """Documents with their weights, as read by the fit loop; the counterpart of ``Rows``.

    Parameters
    ----------
    X : csr_array or ndarray of shape (N, V)
        Counts of any numeric type, not negative.
    sample_weight : ndarray of shape (N,), float64, or None
    dtype : dtype
        Of the counts as read.
    memory : DocumentMemory or None
        Where N_dk is kept between visits.
    """

    source = None  # visitor of the full blocks, if these documents are a subsample
    sparse = True  # kind of the blocks as read
    observation = Observation()  # counts are never missing
    first_row = 0  # number of the first document, if these documents are a block of the data
    kept = None  # mask of the given rows that are these documents, whose weights are positive; None: all

    def __init__(self, X, sample_weight=None, dtype=np.float32, memory=None):
        self.X = X
        self.sample_weight = sample_weight
        self.dtype = np.dtype(dtype)
        self.memory = memory
        self._canonical = None
        self._block, self._ahead = None, (None, None)  # the last block; the next selection and its block

    def __len__(self):
        return self.X.shape[0]

    @property
    def block_dtype(self):
        """Dtype of the counts of a block."""
        return self.dtype

    @property
    def is_canonical(self):
        """Whether X is CSR without duplicates and stored zeros; cached, because the check reads all entries."""
        if self._canonical is None:
            X = self.X
            self._canonical = bool(
                sparse.issparse(X) and X.format == "csr" and X.data.dtype.char in "ilqfd"
                and X.indices.dtype.char in "ilq" and X.indptr.dtype == X.indices.dtype
                and X.has_canonical_format and X.data.all()
            )  # fmt: skip
        return self._canonical

    @property
    def mass(self):
        """Total weight of the documents."""
        return float(len(self) if self.sample_weight is None else self.sample_weight.sum())

    @property
    def n_rows(self):
        """Number of documents represented; for ``Documents``, their own number."""
        return len(self)

    @property
    def informative(self):
        """Whether any document has a token."""
        return bool((self.X.data if sparse.issparse(self.X) else self.X).any())

    @cached_property
    def entries(self):
        """Mean number of distinct words per document, at least one. Skips zeros, so dense rows are cut as CSR."""
        counts = self.X.data[: self.X.indptr[-1]] if sparse.issparse(self.X) else self.X
        return max(1.0, np.count_nonzero(counts) / max(1, len(self)))

    def chunk_size(self, n_components, n_nonzero):
        """Documents of a chunk, a multiple of the tile."""
        entries = self.entries
        if n_nonzero < n_components:
            document_bytes = entries * (12 + n_nonzero * (4 + self.dtype.itemsize))
        else:
            document_bytes = entries * (12 + self.dtype.itemsize) + n_components * self.dtype.itemsize
        tile = tile_size(n_components)
        return max(1, int(CHUNK_BYTES // document_bytes) // tile) * tile

    def blocking(self, n_components, n_nonzero):
        """Documents per tile and per chunk."""
        return tile_size(n_components), self.chunk_size(n_components, n_nonzero)

    def weight(self, selection):
        """Weights of the selected documents, or None when all are one."""
        return None if self.sample_weight is None else np.ascontiguousarray(self.sample_weight[selection])

    def buffer(self, selection):
        """The selected documents; tiles are views of them."""
        (expected, block), self._ahead, self._block = self._ahead, (None, None), None
        if block is None or not blocks.same(selection, expected):
            block = self._read(selection)
        self._block = block
        return block

    def read_ahead(self, selection):
        """Read the next selection, and compute the cached properties that the last block has."""
        if selection is not None:
            self._ahead = selection, self._read(selection).make_as(self._block)

    def _read(self, selection):
        block = self._unweighted(selection)
        return block if self.sample_weight is None else replace(block, weight=self.weight(selection))

    def _unweighted(self, selection):
        if isinstance(selection, slice) and sparse.issparse(self.X):
            return DocumentBlock.of(csr_rows(self.X, selection.start, selection.stop), self.block_dtype)
        if self.is_canonical and not isinstance(selection, slice):
            return self._gathered(np.asarray(selection, dtype=np.int64))
        return DocumentBlock.of(self.X[selection], self.block_dtype)

    def _gathered(self, rows):
        """Selected documents, copied into consecutive memory."""
        X, indptr = self.X, np.empty(len(rows) + 1, dtype=np.int64)
        _gather.lengths(X.indptr, X.indices, X.data, rows, indptr)
        indices, counts = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=self.block_dtype)
        _gather.gather(X.indptr, X.indices, X.data, rows, indptr, indices, counts)
        return DocumentBlock(indptr, indices, counts, X.shape[1])

    def read(self, selection):
        """All selected documents, as ``buffer``."""
        return self.buffer(selection)

    def load(self, selection, start, stop, block):  # noqa: ARG002
        """Documents ``start`` to ``stop`` of a selection, from the block returned by ``buffer``."""
        return block.part(start, stop)

    def words(self, selection):
        """Words of the selected documents, increasing, int32."""
        expected, block = self._ahead
        if block is not None and blocks.same(selection, expected):
            return block.by_word.words
        present = np.zeros(self.X.shape[1], dtype=bool)
        if not sparse.issparse(self.X):
            present |= (self.X[selection] != 0).any(axis=0)
        elif isinstance(selection, slice):
            present[self.X.indices[self.X.indptr[selection.start] : self.X.indptr[selection.stop]]] = True
        else:
            present[self._read(selection).indices] = True
        return np.flatnonzero(present).astype(np.int32)

    def lengths(self):
        """Tokens of each document, (N,) float64."""
        if sparse.issparse(self.X):
            return np.asarray(self.X.sum(axis=1, dtype=np.float64)).ravel()
        parts = [gathered(self.X, slice(*span)).sum(axis=1, dtype=np.float64) for span in self._spans()]
        return np.concatenate(parts)

    def word_totals(self):
        """Weighted tokens of each word, (V,) float64."""
        total = np.zeros(self.X.shape[1])
        for start, stop in self._spans():
            weight = self.weight(slice(start, stop))
            block = self.X[start:stop] if sparse.issparse(self.X) else gathered(self.X, slice(start, stop))
            total += block.sum(axis=0) if weight is None else block.T @ weight
        return total

    def _spans(self):
        """Spans of documents whose sums are computed at once."""
        return spans(len(self), 1 << 16)


def canonical(X):
    """Documents as CSR without duplicates or stored zeros; integers are added as float64, which does not overflow.

    Leaves the caller's arrays unchanged.
    """
    X = sparse.csr_array(X)
    if not X.has_canonical_format or not X.data.all():
        X = X.astype(np.float64 if X.dtype.kind == "i" else X.dtype)
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def csr_rows(X, start, stop):
    """Consecutive rows of a CSR matrix as views of its arrays."""
    first, last = X.indptr[start], X.indptr[stop]
    return sparse.csr_array(
        (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first),
        shape=(stop - start, X.shape[1]),
    )


class DocumentMemory:
    """Sparse N_dk of documents, kept between visits.

    The key of a tile of documents is its row numbers, which are the same at every visit of a batch.

    Parameters
    ----------
    share : float
        Entries above this share of a document's tokens are kept.
    cold_visits : int
        Number of first visits of a document that start without memory.
    """

    def __init__(self, share, cold_visits=1):
        self.share = share
        self.cold_visits = cold_visits
        self._visits = {}
        self._tiles = {}

    def recall(self, numbers, out):
        """Fill ``out`` (n, K) with the stored N_dk; False if there is none."""
        kept = self._find(numbers)
        if kept is None:
            return False
        _memory.fill_rows(*kept[:3], out)
        return True

    def recall_tiles(self, numbers, out, tile):
        """As ``recall`` for documents of several tiles; parts (start, stop, whether they are stored) of them."""
        found = [(a, b, self.recall(numbers[a:b], out[a:b])) for a, b in tiles(numbers, tile)]
        parts = (list(alike) for _, alike in groupby(found, key=itemgetter(2)))
        return [(alike[0][0], alike[-1][1], alike[0][2]) for alike in parts]

    def remember(self, numbers, doc_topic, tile=None, pool=None):
        """Store N_dk (n, K) of the documents of one or several tiles, unless their next visit starts without memory."""
        spans = [span for span in tiles(numbers, tile or len(numbers)) if not self._cold(numbers[slice(*span)])]
        if not spans:
            return
        n, n_topics = doc_topic.shape
        lengths, topics = np.empty(n, dtype=np.int32), np.empty(n * n_topics, dtype=topic_dtype(n_topics))
        values = np.empty(n * n_topics, dtype=doc_topic.dtype)
        _memory.keep_large(doc_topic, self.share, lengths, topics, values, pool)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        for first, last in spans:
            kept = slice(ends[first], ends[last])
            self._keep(numbers[first:last], lengths[first:last], topics[kept].copy(), values[kept].copy(), None)

    def recall_sparse(self, numbers):
        """N_dk of documents as (indptr, topics, values), and their states; None for what is not stored.

        If N_dk can be computed from the states, only the states are stored.
        """
        kept = self._find(numbers)
        lengths, topics, values, states = kept or (None, None, None, None)
        if lengths is None:
            return None, states
        return (np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), topics.astype(np.int32), values), states

    def remember_sparse(self, numbers, indptr, topics, values, states=None):
        """Store a sparse N_dk and the matching states."""
        if not self._cold(numbers):
            topics = topics.astype(topic_dtype(topics.max(initial=0) + 1))
            if states is not None:
                states = states.astype(np.int16 if states.max(initial=0) <= np.iinfo(np.int16).max else np.int32)
            self._keep(numbers, np.diff(indptr).astype(np.int32), topics, values.copy(), states)

    def recall_states(self, numbers, starts, spans, dtype):
        """N_dk of the documents of several tiles, and their states where stored.

        Parameters
        ----------
        numbers : ndarray of shape (n,)
        starts : ndarray of shape (n + 1,)
            Where the states of each document begin.
        spans : list of tuple
            Documents of each tile, from ``tiles``.
        dtype : dtype
            Of the states.

        Returns
        -------
        start : tuple of ndarray, as of ``recall_sparse``, or None
        states : ndarray of shape (starts[-1],)
            -1 throughout a document without stored states.
        """
        states, kept = np.empty(starts[-1], dtype=dtype), []
        for first, last in spans:
            found, of_tile = self._find(numbers[first:last]), slice(starts[first], starts[last])
            if found is not None and found[3] is not None:
                states[of_tile] = found[3]
                continue
            states[of_tile] = -1
            if found is not None:
                kept.append((first, *found[:3]))
        if not kept:
            return None, states
        lengths = np.zeros(len(numbers) + 1, dtype=np.int64)
        for first, of_tile, _, _ in kept:
            lengths[first + 1 : first + 1 + len(of_tile)] = of_tile
        topics = np.concatenate([topics for _, _, topics, _ in kept]).astype(np.int32)
        return (np.cumsum(lengths), topics, np.concatenate([values for *_, values in kept])), states

    def remember_states(self, numbers, states, starts, spans):
        """Store the states of the documents of several tiles, without a copy; the caller must not change them."""
        for first, last in spans:
            of_tile = numbers[first:last]
            if not self._cold(of_tile):
                self._keep(of_tile, None, None, None, states[starts[first] : starts[last]])

    def _cold(self, numbers):
        """Whether the next visit of a tile is to start without memory."""
        key = tile_key(numbers)
        self._visits[key] = self._visits.get(key, 0) + 1
        return self._visits[key] < self.cold_visits

    def _find(self, numbers):
        return self._tiles.get(tile_key(numbers))

    def _keep(self, numbers, lengths, topics, values, states):
        self._tiles[tile_key(numbers)] = lengths, topics, values, states

    def forget(self):
        """Drop everything."""
        self._visits.clear()
        self._tiles.clear()


def topic_dtype(n_topics):
    """The smallest topic dtype that the memory kernels read."""
    return np.uint16 if n_topics <= 1 << 16 else np.int32


def tiles(numbers, tile):
    """Spans of documents, one per tile. Batches of a joint selection keep separate tiles.

    A new batch begins where row numbers decrease.
    """
    begins = (numbers[1:] < numbers[:-1]).nonzero()[0] + 1
    bounds = [0, *begins.tolist(), len(numbers)]
    return [(a, min(a + tile, last)) for first, last in pairwise(bounds) for a in range(first, last, tile)]


def tile_key(numbers):
    """The dictionary key of a tile of row numbers."""
    return int(numbers[0]), len(numbers)


class FirstDocuments:
    """The documents of a stream so far, to initialise from again. Immutable: ``grown`` returns a new object.

    Parameters
    ----------
    n_words : int
        V.
    dtype : dtype
        Of the counts.
    n_begun : int
        Entries at the last initialisation.
    """

    def __init__(self, n_words, dtype, n_begun=0):
        self.n_words, self.dtype, self.n_begun = n_words, np.dtype(dtype), n_begun
        self.n_entries = self._n_parts = 0
        self._parts = []  # shared with older objects, each of which counts its own parts

    @classmethod
    def of(cls, documents):
        """The documents of the latest initialisation."""
        out = cls(documents.X.shape[1], documents.dtype).grown(documents)
        out.n_begun = out.n_entries
        return out

    def grown(self, documents):
        """A new object with more documents."""
        block = DocumentBlock.of(documents.X, self.dtype)
        weight = documents.sample_weight
        arrays = np.diff(block.indptr), block.indices, block.counts, np.ones(len(block)) if weight is None else weight
        out = FirstDocuments(self.n_words, self.dtype, self.n_begun)
        out._parts = self._parts if len(self._parts) == self._n_parts else self._parts[: self._n_parts]
        out._parts.append(tuple(np.array(array) for array in arrays))  # copies: the caller owns the block
        out._n_parts, out.n_entries = self._n_parts + 1, self.n_entries + len(block.indices)
        return out

    @property
    def outgrown(self):
        """Whether the topics should be initialised again."""
        return self.n_entries >= GROWTH * self.n_begun

    def documents(self):
        """All documents so far."""
        lengths, indices, counts, weight = self._arrays()
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        X = sparse.csr_array((counts, indices, indptr), shape=(len(lengths), self.n_words))
        return Documents(X, None if (weight == 1.0).all() else weight, self.dtype)

    def _arrays(self):
        return [np.concatenate(arrays) for arrays in zip(*self._parts[: self._n_parts], strict=True)]

    def __getstate__(self):
        return {**vars(self), "_parts": [self._arrays()], "_n_parts": 1}
