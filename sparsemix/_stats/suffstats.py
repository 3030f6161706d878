"""Expected sufficient statistics: what every learning method adds, subtracts and scales."""

import numpy as np
from scipy import sparse

from sparsemix._kernels import _words


class SufficientStatistics:
    """Named sums over rows, one slice for each component, and sums that all components share.

    The posterior is a function of prior + statistics, so a learning method is a rule for these sums alone, and sums
    of different parts of the data may be computed anywhere and added.

    Parameters
    ----------
    by_component : dict of str to ndarray of shape (K, ...)
        Sums with the components first; ``count`` of shape (K,) is always among them.
    shared : dict of str to ndarray
        Sums over all components; ``mass`` (total weight of the rows) and ``entropy`` (of their responsibilities)
        are always among them.
    shift : ndarray of shape (D,) or None
        What was subtracted from the rows before they were summed. Statistics of different shifts do not add.
    by_word : dict of str to ndarray or csr_array of shape (V, K)
        Sums with the components last, for counts by word and topic. Sparse ones may be added to dense ones.

    Notes
    -----
    Scaling is lazy: ``scale`` multiplies one number, and the arrays follow when they are read. Two statistics compare
    and add by their values whatever their pending factors.
    """

    def __init__(self, by_component, shared, shift=None, by_word=None):
        self._by_component = dict(by_component)
        self._by_word = dict(by_word or {})
        self._shared = dict(shared)
        self._factor = 1.0
        self.shift = shift

    def __getitem__(self, name):
        self._fold()
        return self._find(name)

    def __setitem__(self, name, value):
        # so that ``stats["count"] += ...`` works, for arrays that are already there
        self[name][...] = value

    def _find(self, name):
        for arrays in (self._by_component, self._by_word):
            if name in arrays:
                return arrays[name]
        return self._shared[name]

    def replace(self, name, value):
        """Another array of the same shape in the place of one by word; it may be sparse where that was dense."""
        self._fold()
        self._by_word[name] = value

    def with_table(self, name, value):
        """A copy with another array in the place of one by word."""
        self._fold()
        out = self._map(copied, by_word=lambda kept: kept)
        out._by_word[name] = value
        return out

    def unfolded(self, name):
        """An array and the pending factor that it still has to be multiplied by."""
        return self._find(name), self._factor

    def __contains__(self, name):
        return any(name == other for other, _ in self._arrays())

    def __repr__(self):
        names = ", ".join(f"{name}{value.shape}" for name, value in self._arrays())
        return f"SufficientStatistics({names})"

    def _arrays(self):
        yield from self._by_component.items()
        yield from self._by_word.items()
        yield from self._shared.items()

    def _fold(self):
        """Let the pending factor reach the arrays."""
        if self._factor != 1.0:
            for _, value in self._arrays():
                value *= self._factor
            self._factor = 1.0

    @property
    def n_components(self):
        """Number of components K."""
        return len(self._by_component["count"])

    @property
    def nbytes(self):
        """Memory of all arrays."""
        return sum(
            value.data.nbytes + value.indices.nbytes + value.indptr.nbytes if sparse.issparse(value) else value.nbytes
            for _, value in self._arrays()
        )

    def _map(self, function, shared=None, by_word=None):
        shared, by_word = shared or copied, by_word or copied
        out = SufficientStatistics(
            {name: function(value) for name, value in self._by_component.items()},
            {name: shared(value) for name, value in self._shared.items()},
            self.shift,
            {name: by_word(value) for name, value in self._by_word.items()},
        )
        out._factor = self._factor
        return out

    def copy(self):
        """Independent copy."""
        return self._map(copied)

    def zeros_like(self):
        """The same arrays, all zero."""
        out = self._map(zeros, zeros, zeros)
        out._factor = 1.0
        return out

    def _check_shift(self, other):
        if (self.shift is None) != (other.shift is None) or (
            self.shift is not None and not np.array_equal(self.shift, other.shift)
        ):
            raise ValueError("statistics of different shifts cannot be added; take the shift from the same model")

    def scale(self, factor):
        """Multiply all sums by a non-negative number, lazily."""
        if factor == 0.0:
            for _, value in self._arrays():
                value *= 0.0
            self._factor = 1.0
        else:
            self._factor *= factor
            if not 1e-100 < self._factor < 1e100:
                self._fold()
        return self

    def add(self, other, factor=1.0):
        """Add ``factor`` times other statistics, in place."""
        self._check_shift(other)
        factor = factor * other._factor / self._factor
        theirs = dict(other._arrays())
        for arrays in (self._by_component, self._by_word, self._shared):
            for name, value in arrays.items():
                arrays[name] = added(value, theirs[name], factor)
        return self

    def __iadd__(self, other):
        return self.add(other)

    def __isub__(self, other):
        return self.add(other, -1.0)

    def __add__(self, other):
        return self.copy().add(other)

    def __sub__(self, other):
        return self.copy().add(other, -1.0)

    def take(self, components):
        """The given components, in that order; shared sums stay."""
        return self._map(lambda value: np.array(value[components]), by_word=lambda value: value[:, components])

    def drop(self, component):
        """All but one component."""
        return self.take(np.delete(np.arange(self.n_components), component))

    def merge(self, kept, merged):
        """Component ``merged`` added to component ``kept`` and dropped."""
        out = self.copy()
        for value in out._by_component.values():
            value[kept] += value[merged]
        for value in out._by_word.values():
            value[:, [kept]] += value[:, [merged]]
        return out.drop(merged)

    def append(self, other):
        """The components of ``other`` behind one's own; shared sums are added."""
        self._check_shift(other)
        other = other.copy()
        self._fold()
        other._fold()
        joined = {
            name: np.concatenate([value, other._by_component[name]]) for name, value in self._by_component.items()
        }
        by_word = {
            name: (sparse.hstack if sparse.issparse(value) else np.hstack)([value, other._by_word[name]])
            for name, value in self._by_word.items()
        }
        # np.array: the sum of two arrays without dimensions is a number, which nothing can be added to in place
        shared = {name: np.array(value + other._shared[name]) for name, value in self._shared.items()}
        return SufficientStatistics(joined, shared, self.shift, by_word)


def copied(value):
    """Independent copy of an array, dense or sparse."""
    return value.copy() if sparse.issparse(value) else np.copy(value)


def zeros(value):
    """Zeros in an array's shape; sparse ones have no entries."""
    return type(value)(value.shape, dtype=value.dtype) if sparse.issparse(value) else np.zeros_like(value)


def added(value, other, factor):
    """value + factor other, in place where the value is dense."""
    if sparse.issparse(value):
        return value + other * value.dtype.type(factor)
    if sparse.issparse(other):
        _words.add_rows(
            other.indptr.astype(np.int64), other.indices.astype(np.int32), other.data.astype(value.dtype), factor, value
        )
    elif factor == 1.0:
        value += other
    elif factor == -1.0:
        value -= other
    else:
        value += value.dtype.type(factor) * other
    return value
