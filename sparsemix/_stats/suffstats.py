"""Expected sufficient statistics, which every learning method adds, subtracts and scales."""

import math

import numpy as np
from scipy import sparse

from sparsemix._stats.packed_counts import PackedCounts
from sparsemix._stats.sums import added, as_sums, is_deferred

# Larger pending factors are applied to the arrays: added values are divided by them, and tables by word are float32.
LARGEST_FACTOR = 1e9
# Smaller parts of a constant part are not restored: factors that should be one have them.
ROUND_OFF = 1e-12


class SufficientStatistics:
    """Named sums over rows: one slice per component, and sums shared by all components.

    The posterior is a function of prior + statistics, so a learning method is an update rule of these sums. Sums of
    different parts of the data may be computed anywhere and added.

    Parameters
    ----------
    by_component : dict of str to ndarray of shape (K, ...), or csr_array of shape (K, D)
        Sums, components first; always includes ``count`` of shape (K,). Sparse sums can be added in place to dense
        ones.
    shared : dict of str to ndarray
        Sums over all components; always includes ``mass`` (total weight of the rows) and ``entropy`` (of their
        responsibilities).
    shift : ndarray of shape (D,) or None
        Subtracted from the rows before summation. Statistics with different shifts cannot be added.
    by_word : dict of str to ndarray, PackedCounts, csr_array, WordRows, DeferredRows or WordClocks of shape (V, K)
        Sums with the components last: counts by word and topic. Sparse forms can be added in place to dense ones.
        WordClocks ignore scaling; each addition is a step of the words it contains. DeferredRows are computed when
        added or read; until then ``count`` does not include them.

    Attributes
    ----------
    n_rows : int
        Rows visited for these sums, regardless of weight; added statistics add it.
    prior : PriorCounts or None
        Constant part of ``word_topic`` and ``count``, which ``scale`` and ``clear`` do not change. A sum has it once.

    Notes
    -----
    Scaling is lazy: ``scale`` multiplies one pending factor, which is applied to the arrays when they are read. Sums by
    word have a separate factor, and ``unfolded`` reads them without applying it. Two statistics compare and add by
    value, whatever their pending factors.
    """

    prior = None
    _held = 1.0  # share of the constant part that is in the sums; reads restore it to one

    def __init__(self, by_component, shared, shift=None, by_word=None):
        self._by_component = dict(by_component)
        self._by_word = dict(by_word or {})
        self._shared = dict(shared)
        self._factor = self._word_factor = 1.0
        self._log_unit = 0.0
        self.shift = shift
        self.n_rows = 0

    def __getitem__(self, name):
        if self._by_word or self.prior is not None:
            self.settle()
        if name in self._by_word:
            self._fold_words()
        else:
            self.fold()
        return self._find(name)

    def __setitem__(self, name, value):
        # supports ``stats["count"] += ...`` for existing arrays
        self[name][...] = value

    def _find(self, name):
        for arrays in (self._by_component, self._by_word):
            if name in arrays:
                return arrays[name]
        return self._shared[name]

    def replace(self, name, value):
        """Replace an array by word by another of the same shape; sparse may replace dense."""
        self._fold_words()
        self._by_word[name] = value

    def replace_counts(self, word_topic, count):
        """Replace ``word_topic`` and ``count`` by those of the rows; the constant part is added to them."""
        self.replace("word_topic", word_topic)
        self.fold()
        self._by_component["count"] = count
        self._held = 0.0

    def put_sums(self, name, value):
        """Replace sums by component by others of the same shape; sparse may replace dense."""
        self.fold()
        self._by_component[name] = value

    def defer(self, name, value):
        """Set deferred sums by word; the previous ones must be empty."""
        self.settle()
        self.fold()
        self._by_word[name] = value

    def add_to(self, **sums):
        """Add to sums that are not by word; deferred sums stay deferred."""
        self.fold()
        for name, value in sums.items():
            (self._shared if name in self._shared else self._by_component)[name] += value

    def deferred(self, name):
        """Sums by word if still deferred, else None."""
        return self._by_word[name] if is_deferred(self._by_word[name]) else None

    def settle(self):
        """Compute deferred sums; call this before their source tables change. Make the constant part whole."""
        for name, value in self._by_word.items():
            if is_deferred(value):
                self._by_word[name], totals = value.rows()
                self._by_component["count"] += totals
        if self.prior is not None and abs(1.0 - self._held) > ROUND_OFF:
            self._add_prior(1.0 - self._held)
            self._held = 1.0
            if self.prior.excludes:
                self._leave_out_excluded()

    def follow(self, old, copied):
        """Let deferred sums that refer to tables of ``old`` refer to its copy."""
        for name, value in self._by_word.items():
            if is_deferred(value) and value.table is old._by_word[name]:
                value.table, value.unit = copied._by_word[name], copied.word_unit

    @property
    def word_unit(self):
        """Log of the factor that folding has applied to the sums by word."""
        return self._log_unit

    @property
    def mass(self):
        """Total weight; deferred sums stay deferred."""
        return float(self._shared["mass"]) * self._factor

    @property
    def informative(self):
        """Whether any count is non-zero."""
        deferred = any(is_deferred(value) for value in self._by_word.values())
        return deferred or bool(self._by_component["count"].any())

    def unfolded(self, name):
        """An array by word, and the pending factor not yet applied to it."""
        self.settle()
        return self._by_word[name], self._word_factor

    def __contains__(self, name):
        return any(name == other for other, _ in self._arrays())

    def __repr__(self):
        names = ", ".join(f"{name}{value.shape}" for name, value in self._arrays())
        return f"SufficientStatistics({names})"

    def _arrays(self):
        self.settle()
        yield from self._by_component.items()
        yield from self._by_word.items()
        yield from self._shared.items()

    def fold(self):
        """Apply the pending factor to all arrays except those by word; later reads change nothing."""
        if self._factor != 1.0:
            for arrays in (self._by_component, self._shared):
                for name, value in arrays.items():
                    arrays[name] = as_sums(value).scaled(self._factor)
            self._factor = 1.0

    def _fold_words(self):
        """Apply the pending factor of the arrays by word."""
        if self._word_factor != 1.0:
            for name, value in self._by_word.items():
                self._by_word[name] = as_sums(value).scaled(self._word_factor)
            self._log_unit += math.log(self._word_factor)
            self._word_factor = 1.0

    @property
    def n_components(self):
        """Number of components K."""
        return len(self._by_component["count"])

    @property
    def nbytes(self):
        """Memory of all arrays."""
        return sum(as_sums(value).nbytes for _, value in self._arrays())

    @property
    def writeable(self):
        """Whether the arrays may change in place; read-only memory maps may not."""
        return all(as_sums(value).is_writeable for _, value in self._arrays())

    def _map(self, function, shared=None, by_word=None):
        self.settle()
        shared, by_word = shared or copied, by_word or copied
        out = SufficientStatistics(
            {name: function(value) for name, value in self._by_component.items()},
            {name: shared(value) for name, value in self._shared.items()},
            self.shift,
            {name: by_word(value) for name, value in self._by_word.items()},
        )
        out._factor, out._word_factor, out.n_rows = self._factor, self._word_factor, self.n_rows
        if self.prior is not None:
            out.prior, out._held = self.prior, self._held
        return out

    def copy(self):
        """Independent copy."""
        return self._map(copied)

    def zeros_like(self):
        """The same arrays, all zero but for the constant part."""
        out = self._map(zeros, zeros, zeros)
        out._factor = out._word_factor = 1.0
        out._held = 0.0
        return out

    def clear(self):
        """Zero all sums but for the constant part, in place."""
        for arrays in (self._by_component, self._by_word, self._shared):
            for name, value in arrays.items():
                arrays[name] = as_sums(value).cleared()
        self._factor = self._word_factor = 1.0
        self._held = 0.0
        return self

    # -- the constant part

    def hold(self, prior):
        """Make these ``PriorCounts`` the constant part, in place of earlier ones; None for no constant part."""
        if self.prior is not None:
            self.settle()
            self._add_prior(-1.0)
        self.prior, self._held = prior, 0.0
        return self

    def _add_prior(self, share):
        """Add a share of the constant part to the sums."""
        words, count = self._by_word["word_topic"], self._by_component["count"]
        packed = not isinstance(words, np.ndarray)  # keeps its form; dense tables stay without negative round-off
        self._by_word["word_topic"] = added(words, self.prior.table, share / self._word_factor, signed=packed)
        self._by_component["count"] = added(count, self.prior.totals, share / self._factor)

    def _leave_out_excluded(self):
        """Set the counts of excluded words to zero: however small they are, counts attract counts."""
        at, words = self.prior.excluded, self._by_word["word_topic"]
        if isinstance(words, np.ndarray):
            lost = np.bincount(at[1], words[at].astype(np.float64), self.n_components)
            words[at] = 0.0
            self._by_component["count"] -= lost * (self._word_factor / self._factor)

    @property
    def learned_count(self):
        """``count`` without the constant part: that of the rows."""
        return self["count"] if self.prior is None else self["count"] - self.prior.totals

    def check_alike(self, other):
        """Raise if the statistics belong to another model: other names, other shapes or another shift."""
        ours, theirs = ({name: value.shape for name, value in stats._arrays()} for stats in (self, other))
        for name in ours:
            if ours[name] != theirs.get(name):
                raise ValueError(
                    f"stats has {name!r} of shape {theirs.get(name)}, and the model {ours[name]}; give statistics that "
                    "expected_stats of this model, or of a copy of it, returned"
                )
        self._check_shift(other)

    def _check_shift(self, other):
        if (self.shift is None) != (other.shift is None) or (
            self.shift is not None and not np.array_equal(self.shift, other.shift)
        ):
            raise ValueError("statistics of different shifts cannot be added; take the shift from the same model")

    def scale(self, factor):
        """Multiply all sums by a non-negative number, lazily."""
        self.settle()
        if factor == 0.0:
            for _, value in self._arrays():
                value *= 0.0
            self._factor = self._word_factor = 1.0
            self._held = 0.0
            return self
        self._held *= factor
        self._factor *= factor
        self._word_factor *= factor
        if not 1.0 / LARGEST_FACTOR < self._factor < LARGEST_FACTOR:
            self.fold()
        if not 1.0 / LARGEST_FACTOR < self._word_factor < LARGEST_FACTOR:
            self._fold_words()
        return self

    def add(self, other, factor=1.0, totals=None):
        """Add ``factor`` times other statistics, in place.

        ``totals``, by name, are those of sums by word that have been added to the tables: see ``deferred_of``.
        """
        self._check_shift(other)
        if abs(factor) == 1.0:  # the statistics themselves, not a share of them
            self.n_rows += int(factor) * other.n_rows
        totals = totals or {}
        if not totals:
            other.settle()
        if other.prior is not None:
            self._held += factor * other._held
        for name, value in self._by_word.items():
            if name not in totals:
                of_words = factor * other._word_factor / self._word_factor
                self._by_word[name] = added(value, other._by_word[name], of_words)
        factor = factor * other._factor / self._factor
        for ours, theirs in ((self._by_component, other._by_component), (self._shared, other._shared)):
            for name, value in ours.items():
                new = theirs[name]
                if name == "count":
                    for more in totals.values():
                        new = new + more
                ours[name] = added(value, new, factor, signed=True)
        return self

    def deferred_of(self, other):
        """Deferred sums of ``other`` that can add themselves to tables of these statistics.

        Tuples of their name, the sums, the pending factor of the table, and its scale since the sums were deferred.
        """
        return [
            (name, value, self._word_factor, math.exp(self._log_unit - value.unit))
            for name, value in other._by_word.items()
            if is_deferred(value) and self._by_word[name] is value.table
        ]

    def undoing(self, other):
        """A function that undoes a ``scale`` and an ``add`` of ``other`` bit by bit; it stores what they change."""
        for fold, factor in ((self.fold, self._factor), (self._fold_words, self._word_factor)):
            if not LARGEST_FACTOR**-0.5 < factor < LARGEST_FACTOR**0.5:
                fold()  # now, so that neither call folds
        numbers = self._factor, self._word_factor, self._held, self.n_rows
        arrays = [(of, of.copy()) for of in (self._by_component, self._by_word, self._shared)]
        values = [(value, copied(value)) for of in (self._by_component, self._shared) for value in of.values()]
        undo_rows = [as_sums(value).kept(as_sums(other._by_word[name])) for name, value in self._by_word.items()]
        if self.prior is not None:
            undo_rows.append(as_sums(self._by_word["word_topic"]).kept(as_sums(self.prior.table)))

        def undo():
            for of, before in arrays:
                of.update(before)
            for value, before in values:
                value[...] = before
            for undo_of in undo_rows:
                undo_of()
            self._factor, self._word_factor, self._held, self.n_rows = numbers

        return undo

    def __iadd__(self, other):
        return self.add(other)

    def __isub__(self, other):
        return self.add(other, -1.0)

    def __add__(self, other):
        return self.copy().add(other)

    def __sub__(self, other):
        return self.copy().add(other, -1.0)

    def packed(self, smallest=1e-2, key=0):
        """The same sums with those by word as compressed rows, for transfer to another machine or for a memo.

        Entries below ``smallest`` are rounded at random to zero or ``smallest``; the totals of each word are unchanged,
        and ``count`` is recomputed. Statistics to be added should have different ``key``.
        """
        out = self._map(lambda value: value, lambda value: value, lambda value: value)
        for name, value in self._by_word.items():
            out._by_word[name] = rows = as_sums(value).compressed(smallest, key)
            if rows is not value and name == "word_topic":
                count = np.bincount(rows.indices, rows.data, minlength=self.n_components)
                out._by_component["count"] = count * (out._word_factor / out._factor)
        return out

    def take(self, components):
        """The given components, in that order; shared sums are unchanged."""
        out = self._map(lambda value: copied(value[components]), by_word=lambda value: columns(value, components))
        out.prior = None if self.prior is None else self.prior.taken(components)
        return out

    def combined(self, components, words=None, factors=None):
        """Sums of components, of the same kinds: component j is the sum of ``components[k, j]`` times component k.

        Shared sums are unchanged. The constant part is combined too.

        Parameters
        ----------
        components : csr_array of shape (K, J)
        words : csr_array of shape (V, W), default=None
            The same for the words of sums by word.
        factors : dict of int to ndarray of shape (W,), default=None
            Factors of each word for some components j of the result, in sums by word.
        """

        def by_word(value):
            table = sparse.csr_array(as_sums(value).tocsr()) @ components.astype(value.dtype)
            table = table if words is None else sparse.csr_array(words.T.astype(value.dtype)) @ table
            rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
            for component, factor in (factors or {}).items():
                at = table.indices == component
                table.data[at] *= factor[rows[at]].astype(value.dtype)
            table.sort_indices()
            if isinstance(value, np.ndarray):
                return table.toarray()
            return PackedCounts.of(table) if isinstance(value, PackedCounts) else table

        out = self._map(lambda value: components.T @ value, by_word=by_word)
        if self.prior is not None:
            out.prior = self.prior.combined(components, by_word)
        return out

    def put(self, components, other, factors, kept=0.0):
        """Set the given components to ``kept`` times themselves plus ``factors`` times those of ``other``."""
        self.fold()
        for name, value in self._by_component.items():
            theirs = other[name]
            value[components] = kept * value[components] + theirs * factors.reshape(-1, *[1] * (theirs.ndim - 1))
        return self


def columns(value, components):
    """These components of sums by word, in the order of C if dense."""
    return np.ascontiguousarray(value[:, components]) if isinstance(value, np.ndarray) else value[:, components]


def copied(value):
    """Independent copy of any kind of sums."""
    return as_sums(value).copy()


def zeros(value):
    """Zeros of the same shape and kind; sparse kinds get no entries."""
    return as_sums(value).zeros_like()
