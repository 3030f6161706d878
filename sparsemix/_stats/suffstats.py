"""Expected sufficient statistics: what every learning method adds, subtracts and scales."""

import numpy as np


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

    Notes
    -----
    Scaling is lazy: ``scale`` multiplies one number, and the arrays follow when they are read. Two statistics compare
    and add by their values whatever their pending factors.
    """

    def __init__(self, by_component, shared, shift=None):
        self._by_component = dict(by_component)
        self._shared = dict(shared)
        self._factor = 1.0
        self.shift = shift

    def __getitem__(self, name):
        self._fold()
        return self._by_component[name] if name in self._by_component else self._shared[name]

    def __setitem__(self, name, value):
        # so that ``stats["count"] += ...`` works, for arrays that are already there
        self[name][...] = value

    def __contains__(self, name):
        return name in self._by_component or name in self._shared

    def __repr__(self):
        names = ", ".join(f"{name}{value.shape}" for name, value in self._arrays())
        return f"SufficientStatistics({names})"

    def _arrays(self):
        yield from self._by_component.items()
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
        return sum(value.nbytes for _, value in self._arrays())

    def _map(self, function, shared=np.copy):
        out = SufficientStatistics(
            {name: function(value) for name, value in self._by_component.items()},
            {name: shared(value) for name, value in self._shared.items()},
            self.shift,
        )
        out._factor = self._factor
        return out

    def copy(self):
        """Independent copy."""
        return self._map(np.copy)

    def zeros_like(self):
        """The same arrays, all zero."""
        out = self._map(np.zeros_like, np.zeros_like)
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
                value[...] = 0.0
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
        for name, value in self._arrays():
            if factor == 1.0:
                value += theirs[name]
            elif factor == -1.0:
                value -= theirs[name]
            else:
                value += factor * theirs[name]
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
        return self._map(lambda value: np.array(value[components]))

    def drop(self, component):
        """All but one component."""
        return self._map(lambda value: np.delete(value, component, axis=0))

    def merge(self, kept, merged):
        """Component ``merged`` added to component ``kept`` and dropped."""
        out = self.copy()
        for value in out._by_component.values():
            value[kept] += value[merged]
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
        # np.array: the sum of two arrays without dimensions is a number, which nothing can be added to in place
        shared = {name: np.array(value + other._shared[name]) for name, value in self._shared.items()}
        return SufficientStatistics(joined, shared, self.shift)
