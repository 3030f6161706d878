"""Sums by word with a step size per word, so that rare and frequent words average equally many occurrences."""

from functools import lru_cache

import numpy as np

from sparsemix._kernels.documents import _words

# Smaller pending factors are applied to the rows, which are float32.
SMALLEST_FACTOR = 1e-15
# Step sizes decrease up to this many occurrences of a word, then stay constant.
MOST_STEPS = 1 << 20


@lru_cache(maxsize=64)
def log_kept(n, decay, offset, scale):
    """Cumulative sums of log(1 - rho_t) over 0 to n steps."""
    rates = np.minimum(1.0 - 1e-9, scale * (offset + np.arange(1.0, n + 1.0)) ** -decay)
    sums = np.concatenate([[0.0], np.cumsum(np.log1p(-rates))])
    sums.flags.writeable = False
    return sums


class WordClocks:
    """A table (V, K) whose rows advance once per occurrence of their word ([IF19] Section 6.3).

    With t occurrences so far and c in a batch with sums s_w, a row becomes
    :math:`N_w \\leftarrow \\kappa N_w + (1 - \\kappa) C_w s_w / c`, where :math:`\\kappa` is the product of
    :math:`1 - \\rho` over steps t + 1 to t + c, and C_w counts the occurrences in all data. The table stores shares of
    C_w, initially uniform.

    Parameters
    ----------
    n_words, n_components : int
    dtype : dtype
    totals : ndarray of shape (V,), or float
        C_w. A number is the sum of all C_w, distributed in proportion to the occurrences seen.
    decay, offset, scale : float
        :math:`\\rho_t = \\min(1, \\mathrm{scale} (\\mathrm{offset} + t)^{-\\mathrm{decay}})`.
    """

    def __init__(self, n_words, n_components, dtype, totals, decay, offset, scale=1.0):
        self.rows = np.full((n_words, n_components), 1.0 / n_components, dtype=dtype)
        self.pending = np.ones(n_words)
        self.seen = np.zeros(n_words)
        self.totals = totals
        self.rule = decay, offset, scale

    @property
    def shape(self):
        """(V, K)."""
        return self.rows.shape

    @property
    def dtype(self):
        """Dtype of the rows."""
        return self.rows.dtype

    @property
    def nbytes(self):
        """Memory of the rows."""
        return self.rows.nbytes

    @property
    def factors(self):
        """Factors that convert the stored shares to counts, (V,)."""
        totals = self.totals
        if np.ndim(totals) == 0:
            totals = totals / max(1.0, self.seen.sum()) * self.seen
        return self.pending * totals

    def toarray(self):
        """The counts as a dense array."""
        return self.rows * self.factors[:, None].astype(self.dtype)

    def copy(self):
        """Independent copy."""
        out = object.__new__(type(self))
        vars(out).update({name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in vars(self).items()})
        return out

    def zeros_like(self):
        """A table in the initial state."""
        return type(self)(*self.shape, self.dtype, self.totals, *self.rule)

    def __getitem__(self, key):
        """``table[:, components]``: the given components, in that order."""
        out = self.copy()
        out.rows = np.ascontiguousarray(self.rows[key])
        return out

    def advance(self, sums):
        """Advance every word that has sums (csr_array) in a batch."""
        lengths = np.diff(sums.indptr)
        words = np.flatnonzero(lengths)
        if not len(words):
            return self
        # summed separately: differences of a running sum would round small counts between large ones to zero
        counts = np.add.reduceat(sums.data[: sums.indptr[-1]], sums.indptr[words], dtype=np.float64)
        words, counts = words[counts > 0.0], counts[counts > 0.0]
        if not self.rows.flags.writeable:  # a read-only memory map
            self.rows = self.rows.copy()
        then, now = self.seen[words], self.seen[words] + counts
        kept = np.exp(self._log_kept(now) - self._log_kept(then))
        self.seen[words] = now
        self.pending[words] *= kept
        small = words[self.pending[words] < SMALLEST_FACTOR]
        self.rows[small] *= self.pending[small, None].astype(self.dtype)
        self.pending[small] = 1.0
        share = np.zeros(self.shape[0])
        share[words] = (1.0 - kept) / (counts * self.pending[words])
        data = (sums.data * np.repeat(share, lengths)).astype(self.dtype)
        indptr, indices = sums.indptr.astype(np.int64, copy=False), sums.indices.astype(np.int32, copy=False)
        _words.add_rows(indptr, indices, data, 1.0, self.rows)
        return self

    def _log_kept(self, t):
        """Sum of log(1 - rho) over the first t steps, linearly interpolated for fractional t."""
        sums = log_kept(1 << max(6, int(min(MOST_STEPS - 1, t.max(initial=0.0))).bit_length()), *self.rule)
        most = len(sums) - 1
        whole = np.minimum(t, most - 1).astype(np.int64)
        return sums[whole] + (t - whole) * (sums[whole + 1] - sums[whole])  # constant steps after the last

    # -- the protocol of sums

    is_deferred = False
    is_writeable = True  # ``advance`` copies read-only rows
    cleared = zeros_like

    def scaled(self, factor):  # noqa: ARG002
        """Unchanged: the occurrences of words define their scale."""
        return self

    def plus(self, other, factor, signed=False):  # noqa: ARG002
        """A step of each word that has sums."""
        return self.advance(other.tocsr())

    def compressed(self, smallest, key):  # noqa: ARG002
        """Unchanged."""
        return self

    def kept(self, other):
        """A function that restores the rows of the words of ``other`` and their clocks."""
        words = other.words
        before = self.rows, self.rows[words], self.pending.copy(), self.seen.copy()

        def put_back():
            self.rows, rows, self.pending, self.seen = before
            if self.rows.flags.writeable:
                self.rows[words] = rows

        return put_back
