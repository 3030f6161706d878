"""Rows of linear likelihoods: directions, dense or sparse, and documents; checks that name the first bad row."""

from functools import cached_property

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.checks import bad_row, check_rows, validated
from sparsemix._estimator.input.forms import is_sparse
from sparsemix._rows.blocks import Observation, Rows, part, spans
from sparsemix._rows.documents import DocumentBlock, Documents
from sparsemix._stats.linear.mixed import encoded


class Subsample:
    """A subsample that reports full-data totals: if ``whole`` is set, mass and total are those of all rows."""

    whole = None

    def read_as(self, family):
        """Read rows as a family does, which may determine their form."""

    @property
    def width(self):
        """Number of columns of the sums."""
        return self.X.shape[1]

    @property
    def mass(self):
        """Total weight."""
        return super().mass if self.whole is None else self.whole["mass"]

    @property
    def informative(self):
        """Whether the rows contain information."""
        return super().informative if self.whole is None else bool(np.any(self.whole["total"]))

    def total(self):
        """Weighted sum of the scaled rows."""
        return self.total_of_sample() if self.whole is None else self.whole["total"]

    def total_of_sample(self, size=1 << 12):
        """Weighted sum of the rows at hand."""
        total = np.zeros(self.width)
        for start, stop in spans(len(self), size):
            x, weight = self.read(slice(start, stop)), self.weight(slice(start, stop))
            weight = np.ones(len(x)) if weight is None else weight
            if isinstance(x, np.ndarray):
                total += weight @ x
            else:
                total += np.bincount(x.indices, weights=x.counts * weight[x.documents()], minlength=len(total))
        return total


class UnitRows(Subsample, Rows):
    """Dense rows, each scaled to length one as it is read. Rows of zeros stay: predictions use the weights alone."""

    observation = Observation()  # directions have no missing values

    def load(self, selection, start, stop, buffer):
        """See Rows."""
        if self.dtype == self.X.dtype:
            out = super().load(selection, start, stop, buffer)
        else:  # X may hold values that overflow in the model's dtype
            out, x = buffer[start:stop], self.X[part(selection, start, stop)]
            out[...] = x / largest_of(x)
        with np.errstate(over="ignore"):
            squares = np.einsum("nd,nd->n", out, out)
        extreme = ~((squares > 1e-20) & (squares < 1e20))  # these squares may underflow or overflow
        if extreme.any():
            out[extreme] /= largest_of(out[extreme])
            squares[extreme] = np.einsum("nd,nd->n", out[extreme], out[extreme])
        out /= np.sqrt(np.where(squares > 0.0, squares, 1.0))[:, None]
        return out

    def _is_view(self, selection):  # noqa: ARG002
        return False


class SparseDocuments(Subsample, Documents):
    """Documents in the form that the model reads."""


class BinaryRows(SparseDocuments):
    """Rows of zeros and ones; a row of zeros is informative too.

    NaN is a lost answer. If there are any, rows are read with D more columns, whose ones mark them.
    """

    @cached_property
    def has_missing(self):
        """Whether an answer is lost."""
        X = self.X.data if sparse.issparse(self.X) else self.X
        return X.dtype.kind == "f" and any(np.isnan(X[a:b]).any() for a, b in spans(len(X), 1 << 16))

    @property
    def width(self):
        """See Subsample; always with the columns of lost answers."""
        return 2 * self.X.shape[1]

    def _unweighted(self, selection):
        block = super()._unweighted(selection)
        if not self.has_missing:
            return block
        lost = np.isnan(block.counts)
        x = sparse.csr_array(
            (np.ones_like(block.counts), block.indices + lost * np.int32(block.n_words), block.indptr),
            shape=(len(block), 2 * block.n_words),
        )
        x.sort_indices()
        return DocumentBlock.of(x, block.counts.dtype)

    @property
    def informative(self):
        """Whether there is a row."""
        return len(self) > 0


class MixedRows(SparseDocuments):
    """Rows of codes (N, columns), read as the statistics T of columns of several kinds."""

    def __init__(self, X, sample_weight, kinds):
        super().__init__(X, sample_weight, np.float64)
        self.kinds = kinds

    def read_as(self, family):
        """See Subsample."""
        self.kinds = family.kinds

    @property
    def width(self):
        """See Subsample."""
        return sum(kind.width for kind in self.kinds)

    @property
    def entries(self):
        """See Documents."""
        return sum(kind.entries for kind in self.kinds)

    def _unweighted(self, selection):
        indptr, indices, values, width = encoded(self.kinds, self.X[selection])
        return DocumentBlock(indptr, indices, values, width)

    @property
    def informative(self):
        """Whether there is a row."""
        return len(self) > 0


class UnitDocuments(SparseDocuments):
    """Sparse rows, each scaled to length one as it is read, without a dense copy."""

    @property
    def block_dtype(self):
        """Dtype of the rows before scaling: their values may overflow in the model's dtype."""
        return self.X.dtype

    def buffer(self, selection):
        """See Documents."""
        block = super().buffer(selection)
        lengths = np.diff(block.indptr)
        lengths, starts = lengths[lengths > 0], block.indptr[:-1][lengths > 0]
        if not len(starts):
            return DocumentBlock(block.indptr, block.indices, block.counts.astype(self.dtype), block.n_words)
        values = block.counts / np.repeat(np.maximum.reduceat(np.abs(block.counts), starts), lengths)
        norms = np.sqrt(np.add.reduceat(values**2, starts))
        values /= np.repeat(norms, lengths)
        return DocumentBlock(block.indptr, block.indices, values.astype(self.dtype, copy=False), block.n_words)


def largest_of(x):
    """The largest absolute value (N, 1) of each row; one for zeros."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    return np.where(largest > 0, largest, 1)


def check_directions(estimator, X, reset):
    """Checked finite rows, dense or CSR, float32 or float64."""
    if is_sparse(X):
        X = validated(estimator, X, reset, (np.float64, np.float32), accept_sparse=True)
        if not np.isfinite(X.data).all():
            row = bad_row(abs(X))
            raise ValueError(f"Input X contains NaN or infinity in row {row}; remove or correct that row")
        return X
    return check_rows(estimator, X, reset)


def check_zeros(X, kept, name):
    """Refuse a row of zeros, which has no direction; X are the rows ``kept`` of those given (None: all)."""
    for start, stop in spans(X.shape[0], 1 << 14):
        if sparse.issparse(X):
            zero = abs(X[start:stop]).max(axis=1).toarray().ravel() == 0.0
        else:
            zero = (X[start:stop].max(axis=1) == 0.0) & (X[start:stop].min(axis=1) == 0.0)
        if zero.any():
            row = start + np.flatnonzero(zero)[0]
            row = row if kept is None else np.flatnonzero(kept)[row]
            raise ValueError(
                f"row {row} of X is zero and has no direction, which {name} needs; remove "
                "such rows, or give them sample_weight 0"
            )


def check_binary(estimator, X, reset, threshold=None):
    """Checked rows of zeros, ones and NaN, dense or CSR, of any numeric type; a threshold makes larger values ones.

    The error names the first row with another value.
    """
    X = validated(estimator, X, reset, accept_sparse=True)
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    for start, stop in spans(X.shape[0], 1 << 16 if sparse.issparse(X) else max(1, (1 << 20) // X.shape[1])):
        block = X.data[X.indptr[start] : X.indptr[stop]] if sparse.issparse(X) else X[start:stop]
        fits = np.isfinite(block) if threshold is not None else (block == 0) | (block == 1)
        if not fits.all():
            fits |= np.isnan(block)
        if not fits.all():
            place = np.argwhere(~fits)[0]
            value = block[tuple(place)]
            row = place[0] if block.ndim == 2 else np.searchsorted(X.indptr, X.indptr[start] + place[0], "right") - 1
            raise ValueError(message_of_binary(type(estimator).__name__, value, start * (block.ndim == 2) + row))
    if threshold is None:
        return X
    threshold = np.float64(threshold)  # beyond the range of float32 too
    if not sparse.issparse(X):
        return binarized(X, threshold, np.float32 if X.dtype == np.float32 else bool)
    return sparse.csr_array((binarized(X.data, threshold, X.dtype), X.indices, X.indptr), shape=X.shape)


def binarized(values, threshold, dtype):
    """Whether values exceed a threshold, as ones and zeros; NaN stays."""
    lost = np.isnan(values)
    ones = np.greater(values, threshold)
    return np.where(lost, values, ones) if lost.any() else ones.astype(dtype, copy=False)


def message_of_binary(name, value, row):
    """The error of a value that is neither 0 nor 1."""
    if not np.isfinite(value):
        return f"Input X contains infinity in row {row}; correct that row, or give NaN for an unobserved answer"
    return (
        f"{'Negative values in data: r' if value < 0 else 'r'}ow {row} of X holds {value:g}, and {name} takes 0 and 1; "
        "set binarize to a threshold (binarize=0 makes all positive values ones), or correct that row"
    )
