"""Sums of clusters of documents in slots: multinomials with a symmetric Dirichlet prior, integrated out."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sparsemix._kernels.clusters._clusters import SLOTS
from sparsemix._kernels.clusters._multinomial import MultinomialClusters, encode, look
from sparsemix._kernels.vectors._simd import aligned_empty
from sparsemix._models.clusters.merge_search import MergeSearch

# Maximum number of panels; a further one triggers packing into one. Fifteen panels made reads of rows half as slow
# again. A single table, copied at every growth, took up to two thirds of the time of a stream that opened thousands of
# clusters.
MOST_PANELS = 6
# Number of words of the representative document of a cluster.
PROBE_WORDS = 16
# Cost of a search for merges, in counts read per word of the vocabulary: it takes no logarithm, but comparisons follow.
LOOK_PRICE = 2
# Number of words in one copy operation.
TILE_WORDS = 256


class Panel:
    """Consecutive slots: prior + S_wk of every word, and a code of each sum, from which kernels bound densities.

    Parameters
    ----------
    n_features, width : int
    prior : float

    Attributes
    ----------
    sums : ndarray of shape (V, width)
    codes : ndarray of shape (V, width), uint8
        Codes of the sums, filled on the first request of a kernel.
    coded : ndarray of shape (1,), int64
        Non-zero if the codes are filled.
    """

    def __init__(self, n_features, width, prior):
        self.prior = prior
        self.sums = aligned_empty(n_features * width, np.float64).reshape(n_features, width)
        self.codes, self.coded = np.empty((n_features, width), dtype=np.uint8), np.zeros(1, dtype=np.int64)

    @classmethod
    def of(cls, sums, prior):
        """A panel with a copy of these sums: memory of a pickle is not aligned, and a memory map is read-only."""
        panel = cls(*sums.shape, prior)
        panel.sums[...] = sums
        return panel

    @property
    def width(self):
        """Number of slots."""
        return self.sums.shape[1]

    def clear(self, columns):
        """Reset some slots to the prior."""
        self.sums[:, columns] = self.prior
        if self.coded[0]:
            self.codes[:, columns] = 0

    def write(self, columns, values):
        """Write sums to some slots."""
        self.sums[:, columns] = values
        if self.coded[0]:
            codes = np.empty(values.shape, dtype=np.uint8)
            encode(np.ascontiguousarray(values), self.prior, codes)
            self.codes[:, columns] = codes

    def take(self, words, places, other, columns):
        """Copy the sums of some words from columns of another panel to ``places`` of this one, without codes."""
        self.sums[words, places] = np.take(other.sums[words], columns, axis=1, mode="clip")


class Probes(NamedTuple):
    """Documents with the attributes of a DocumentBlock."""

    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray


class MultinomialSlots:
    """Prior + S_wk of every word and slot, in float64. The first axis is words, since a document reads all clusters of
    its words.

    Slots are stored in panels. Growth adds a panel and does not move existing slots.

    Parameters
    ----------
    n_features : int
        Number of words V.
    prior : float
        Dirichlet parameter beta of each word.

    Attributes
    ----------
    panels : list of Panel
    totals : ndarray of shape (capacity,)

    Notes
    -----
    The panels take 9 V bytes for each slot. There are up to a quarter more slots than clusters.
    """

    likelihood = "multinomial"
    has_covariances = False
    steps = None  # counts need no jitter

    def __init__(self, n_features, prior):
        self.n_features = n_features
        self.prior = float(prior)
        self.panels, self.totals = [], self._empty_totals(0)

    def __getstate__(self):
        return {**vars(self), "panels": [panel.sums for panel in self.panels]}

    def __setstate__(self, state):
        vars(self).update(state)
        self.panels = [Panel.of(sums, self.prior) for sums in state["panels"]]
        self.totals = on_cache_lines(state["totals"])

    def _empty(self, capacity):
        """A panel without documents."""
        panel = Panel(self.n_features, capacity, self.prior)
        panel.clear(slice(None))
        return panel

    def _empty_totals(self, capacity):
        totals = aligned_empty(capacity, np.float64)
        totals[...] = self.prior * self.n_features
        return totals

    @property
    def capacity(self):
        """Number of allocated slots."""
        return len(self.totals)

    @property
    def look_price(self):
        """Number of counts that a stream reads before the next search for merges, which reads all words."""
        return LOOK_PRICE * self.n_features

    @property
    def table(self):
        """A copy of all panels as one array."""
        return self.columns(np.arange(self.capacity))

    def columns(self, slots):
        """Prior + S_wk of some slots, (V, len(slots))."""
        slots = np.asarray(slots, dtype=np.intp)
        out = np.empty((self.n_features, len(slots)))
        for panel, places, columns in self._by_panel(slots):
            out[:, places] = panel.sums[:, columns]
        return out

    def set_columns(self, slots, values):
        """Write prior + S_wk of some slots."""
        for panel, places, columns in self._by_panel(np.asarray(slots, dtype=np.intp)):
            panel.write(columns, values[:, places])

    def _by_panel(self, slots):
        """For each panel with some of the slots: the panel, their positions in ``slots``, their columns."""
        start = 0
        for panel in self.panels:
            stop = start + panel.width
            places = np.flatnonzero((slots >= start) & (slots < stop))
            if len(places):
                yield panel, places, slots[places] - start
            start = stop

    def take(self, slots, capacity):
        """Keep these slots, in this order, and allocate ``capacity`` slots."""
        n, old = len(slots), self.totals
        grows = capacity > self.capacity and np.array_equal(slots, np.arange(n))
        if grows and 0 < len(self.panels) < MOST_PANELS:
            for panel, _, unused in self._by_panel(np.arange(n, self.capacity)):
                panel.clear(unused)
            self.panels = [*self.panels, self._empty(capacity - self.capacity)]
        else:
            self.panels = [self._packed(slots, capacity)] if capacity else []
        self.totals = self._empty_totals(capacity)
        self.totals[:n] = old[slots]

    def _packed(self, slots, capacity):
        """One panel of ``capacity`` slots that begins with these slots."""
        out = Panel(self.n_features, capacity, self.prior)
        for panel, places, columns in self._by_panel(np.asarray(slots, dtype=np.intp)):
            places = as_slice(places)
            for start in range(0, self.n_features, TILE_WORDS):  # one copy of all words takes thirty times as long
                out.take(slice(start, start + TILE_WORDS), places, panel, columns)
        out.clear(slice(len(slots), None))
        return out

    def copy(self):
        """A deep copy."""
        twin = MultinomialSlots(self.n_features, self.prior)
        twin.panels = [Panel.of(panel.sums, self.prior) for panel in self.panels]
        twin.totals = on_cache_lines(self.totals)
        return twin

    def clear(self):
        """Reset all slots to the prior."""
        for panel in self.panels:
            panel.clear(slice(None))
        self.totals[...] = self.prior * self.n_features

    def kernel(self, x, n_slots):
        """Kernel object for a block of documents; it changes the sums in place."""
        panels = ([getattr(panel, name) for panel in self.panels] for name in ("sums", "codes", "coded"))
        return MultinomialClusters(
            x.indptr, x.indices, x.counts, *panels, self.totals, self.prior, self.n_features, n_slots
        )

    # -- merges

    def held(self, slots):
        """Content of some slots, for ``put_back``."""
        return self.columns(slots), self.totals[slots]

    def put_back(self, slots, held):
        """Restore the content of slots."""
        columns, self.totals[slots] = held
        self.set_columns(slots, columns)

    def put(self, slots, other, theirs):
        """Copy clusters of another object with the same prior into free slots."""
        self.set_columns(slots, other.columns(theirs))
        self.totals[slots] = other.totals[theirs]

    def add_since(self, slots, base, other):
        """Add to these slots the difference between ``other`` and ``base``."""
        self.set_columns(slots, self.columns(slots) + (other.columns(slots) - base.columns(slots)))
        self.totals[slots] += other.totals[slots] - base.totals[slots]

    def merge(self, kept, gone):
        """Add the documents of one slot to another's, and clear it."""
        whole = self.prior * self.n_features
        first, second = self.columns([kept, gone]).T
        joined = np.column_stack([first + (second - self.prior), np.full(self.n_features, self.prior)])
        self.set_columns([kept, gone], joined)
        self.totals[kept] += self.totals[gone] - whole
        self.totals[gone] = whole

    def fade(self, slots, factor):
        """Multiply the weight of the documents in these slots by ``factor``."""
        slots = np.asarray(slots, dtype=np.intp)
        for panel, _, columns in self._by_panel(slots):
            panel.write(columns, self.prior + factor * (panel.sums[:, columns] - self.prior))
        whole = self.prior * self.n_features
        self.totals[slots] = whole + factor * (self.totals[slots] - whole)

    def evidence(self, slots):
        """A(posterior) - A(prior) of each slot: log evidence of its documents as sequences of words, (len(slots),)."""
        return self._evidence(self.columns(slots), self.totals[slots])

    def merged_evidence(self, slot, others):
        """The same for the union of one slot with each of ``others``, (len(others),)."""
        table = self.columns(others) + (self.columns([slot]) - self.prior)
        return self._evidence(table, self.totals[others] + (self.totals[slot] - self.prior * self.n_features))

    def union_gains(self, slot, others):
        """Gain of evidence from merging one slot with each of ``others``, (len(others),).

        It is the difference of the log predictive densities of all its documents, under each other cluster and the
        prior.
        """
        counts = self.columns([slot])[:, 0] - self.prior
        words = np.flatnonzero(counts > 0.0)
        counts, indptr = counts[words], np.array([0, len(words)])
        new = self.kernel(Probes(indptr, words.astype(np.int32), counts), 0).scores(0, 1)[1]
        few = MultinomialSlots(len(words), self.prior)  # sums of these words in the other clusters
        few.take(np.arange(0), rounded(len(others)))
        few.totals[: len(others)] = self.totals[others]
        for panel, places, columns in self._by_panel(np.asarray(others, dtype=np.intp)):
            few.panels[0].write(places, panel.sums[words[:, None], columns])
        among = Probes(indptr, np.arange(len(words), dtype=np.int32), counts)
        return few.kernel(among, len(others)).scores(0, 1)[0][0] - new[0]

    def _evidence(self, table, totals):
        beta, total = self.prior, self.prior * self.n_features
        words, slots = np.nonzero(table > beta)  # zero counts add nothing
        gains = gammaln(table[words, slots]) - gammaln(beta)
        return np.bincount(slots, gains, len(totals)) - (gammaln(totals) - gammaln(total))

    def look(self, slots, n_slots):
        """Search for clusters to merge with these ascending slots; it reads the first ``n_slots`` once."""
        return DocumentMergeSearch(self, slots, n_slots)

    def entries(self, words, slots):
        """S_wk of M words (n, M) in m slots each (n, m): (n, m, M)."""
        out, start = np.empty((*slots.shape, words.shape[1])), 0
        for panel in self.panels:
            i, j = np.nonzero((slots >= start) & (slots < start + panel.width))
            out[i, j] = panel.sums[words[i], slots[i, j, None] - start] - self.prior
            start += panel.width
        return out

    def similarity(self, slots, others):
        """Cosines of the posterior mean word distributions, (len(slots), len(others))."""
        return self._directions(slots).T @ self._directions(others)

    def _directions(self, slots):
        columns = self.columns(slots)
        return columns / np.linalg.norm(columns, axis=0)

    # -- fitted attributes

    def means(self, slots):
        """Posterior mean word distributions, (len(slots), V)."""
        return np.ascontiguousarray((self.columns(slots) / self.totals[slots]).T)

    def statistics(self, slots):
        """Expected counts of words, (len(slots), V)."""
        return np.ascontiguousarray(np.maximum(self.columns(slots) - self.prior, 0.0).T)


class DocumentMergeSearch(MergeSearch):
    """Merge search of clusters of documents: their most frequent words, and the norms of the columns of all clusters.

    It reads the table row by row. Reads of single columns took most of the time of a stream with merges.

    Parameters
    ----------
    sums : MultinomialSlots
    slots : ndarray of shape (n,)
        In ascending order.
    n_slots : int
        Number of slots in use.
    """

    def __init__(self, sums, slots, n_slots):
        self.sums, self.slots = sums, np.ascontiguousarray(slots, dtype=np.int64)
        shape = len(slots), min(PROBE_WORDS, sums.n_features)
        self.words, self.counts = np.empty(shape, dtype=np.intc), np.empty(shape)
        self.squares = np.empty(n_slots)
        look([panel.sums for panel in sums.panels], sums.prior, self.slots, self.words, self.counts, self.squares)

    def probes(self):
        """Representative documents of the clusters: their most frequent words, each once."""
        seen = self.counts > 0.0
        return Probes(np.append(0, np.cumsum(seen.sum(axis=1))), self.words[seen], np.ones(seen.sum()))

    def bounds(self, others):
        """See MergeSearch. Bounds of cosines: exact for the most frequent words, by norms for the rest."""
        sums, slots, seen = self.sums, self.slots, self.counts > 0.0
        counts = np.where(seen, self.counts, 0.0)[:, None]
        theirs = np.where(seen[:, None], sums.entries(self.words, others), 0.0)
        rest = np.maximum(self.squares[slots, None] - (counts**2).sum(axis=2), 0.0)
        other_rest = np.maximum(self.squares[others] - (theirs**2).sum(axis=2), 0.0)
        most = (counts * theirs).sum(axis=2) + np.sqrt(rest * other_rest)
        return self._cosines(slots[:, None], others, most)

    def similarity(self, i, others):
        """See MergeSearch."""
        column = self.sums.columns(self.slots[i : i + 1])[:, 0] - self.sums.prior
        words = np.flatnonzero(column > 0.0)
        inner = self.sums.entries(words[None], others[None])[0] @ column[words]
        return self._cosines(self.slots[i], others, inner)

    def _cosines(self, slots, others, inner):
        """Cosines of prior + S_wk of pairs, from the inner products of their S_wk."""
        prior, n = self.sums.prior, self.sums.n_features
        mass, other_mass = (self.sums.totals[k] - prior * n for k in (slots, others))
        base = prior**2 * n
        lengths = (base + 2.0 * prior * m + self.squares[k] for m, k in ((mass, slots), (other_mass, others)))
        return (base + prior * (mass + other_mass) + inner) / np.sqrt(next(lengths) * next(lengths))


def as_slice(index):
    """A slice for an array of consecutive indices; any other array unchanged."""
    whole = np.array_equal(index, np.arange(index[0], index[0] + len(index)))
    return slice(index[0], index[-1] + 1) if whole else index


def rounded(capacity):
    """Capacity rounded up to the multiple that kernels require."""
    return -(-capacity // SLOTS) * SLOTS


def on_cache_lines(array):
    """A copy with the alignment that kernels require."""
    out = aligned_empty(array.size, np.float64).reshape(array.shape)
    out[...] = array
    return out
