"""Lists of candidates: the weights of a row are computed for a few components only, for any K.

This is truncated variational learning. Every row stores the list of its best components. An epoch computes weights for
these, for their neighbours, and for a few random components; the best become the next list. The candidates of a row
always include its last support, so that no epoch lowers the bound.
"""

from copy import copy
from functools import cached_property

import numpy as np

from sparsemix._kernels.gaussians import _pairs, _quadratic
from sparsemix._kernels.vectors import _topl
from sparsemix._kernels.vectors._simd import aligned_empty
from sparsemix._models.mixture.groups import groups_of
from sparsemix._models.mixture.missing import IncompletePairs, IncompleteTable
from sparsemix._models.mixture.screen import Screen, suits
from sparsemix._stats import symmetric
from sparsemix._stats.altered import altered
from sparsemix._stats.families import serial

# Number of neighbours of each listed component, and of random components, that a row tries.
NEIGHBOURS = 8
RANDOM = 2
# At its first visit a row tries FIRST random components, and half as many at each further visit. Few random components
# keep the sizes of components balanced. After every PERIOD visits the number restarts at AGAIN, which finds components
# that lists do not reach.
FIRST = 32
AGAIN = 64
PERIOD = 8
# Rows that search in groups then try the neighbours of the best, ROUNDS times.
ROUNDS = 2
# Tile sizes in rows and in pairs of a row and a component.
TILE = 1 << 11
MOST_PAIRS = 1 << 20
# Weights of rows that try all components, in one step.
MOST_WEIGHTS = 1 << 21
# Neighbours are recomputed after this times K^1.5 rows.
PATIENCE = 5.0
# Number of matrix entries to unpack in one step.
UNPACKED = 1 << 21


class CandidateLists:
    """The best components of each row at its last visit, (N, C) int32, -1 before the first; and its number of visits.

    ``first_row`` is the index of the first of these rows in the whole data.
    """

    def __init__(self, n_rows, size, first_row=0):
        self.first_row = first_row
        self.lists = np.full((n_rows, size), -1, dtype=np.intc)
        self.visits = np.zeros(n_rows, dtype=np.uint8)

    def recall(self, numbers):
        """Lists of rows, and their number of visits."""
        at = numbers - self.first_row
        return self.lists[at], int(self.visits[at[0]])

    def remember(self, numbers, lists, visit):
        """Store lists for the next visit."""
        at, size = numbers - self.first_row, lists.shape[1]
        self.lists[at, :size], self.lists[at, size:] = lists, -1
        self.visits[at] = min(visit + 1, 255)

    def saved(self):
        """A function that restores the current lists."""
        lists, visits = self.lists.copy(), self.visits.copy()

        def restore():
            self.lists[...], self.visits[...] = lists, visits

        return restore


class CandidateSearch:
    """Candidate search of a model; each step makes a new one, since fitted models share them.

    Parameters
    ----------
    size : int
        Length C of a list, at least L.
    seed : int
        Seed of the random candidates, together with row and step numbers.
    every : int
        Number of steps after which neighbours are recomputed; at first after 1, 2, 4, ... steps.
    all_first : bool
        Whether rows try all components at their first visit, or a few random ones. With thousands of components "all"
        means those of the best groups, unless these have missed much (``by_groups``). With a screen, rows try all at
        visits 0, 1, 2, 4, 8, ..., the epochs after births, and between them only the components on their lists.
    """

    sparse = False  # kind of the rows
    groups, by_groups, screens = None, True, False

    def __init__(self, size, seed, every=1, all_first=False):
        self.size = size
        self.seed = seed
        self.every = every
        self.all_first = all_first
        self.n_steps = 0
        self.neighbours = self.table = None

    def __getstate__(self):
        return vars(self) | {"table": None}

    @property
    def width(self):
        """Length of the lists in memory."""
        return self.size

    def updated(self, gaussians, table):
        """The search after a step, with new neighbours if they are due."""
        new = copy(self)
        new.n_steps += 1
        new.screens = self.all_first and self.may_screen(table)
        if new.screens:
            new.groups, new.neighbours = None, np.arange(len(gaussians.means), dtype=np.intc)[:, None]
        elif self.neighbours is None or self.screens or self._due(new.n_steps):
            new.groups = self.grouped(gaussians)
            new.neighbours = new.nearest(gaussians, table)
        return new

    def _due(self, step):
        """Whether this step recomputes neighbours."""
        return step % self.every == 0 or step & (step - 1) == 0

    def may_screen(self, table):
        """Whether rows may try all components by a matrix product."""
        return suits(table)

    def grouped(self, gaussians):
        """Groups of neighbouring components if there are enough for groups; else None."""
        return groups_of(gaussians) if self.by_groups else None

    def nearest(self, gaussians, table):
        """The neighbours of each component."""
        n_neighbours = min(NEIGHBOURS, len(gaussians.means))
        if self.groups is not None:
            return nearest_in_groups(gaussians, table, n_neighbours, self.groups)
        return nearest(gaussians, table, n_neighbours)

    def renewed(self):
        """The search after components were replaced: the next step recomputes neighbours."""
        return altered(self, neighbours=None)

    def prepare(self, table):
        """Convert the table for pairs before local steps; the result is neither copied nor pickled."""
        if self.table is None:
            self.table = IncompletePairs(table) if isinstance(table, IncompleteTable) else PairTable(table)

    def local_step(self, x, resp, numbers, memory):
        """Responsibilities of a tile of rows from their candidates, and their lists for the next visit."""
        given, x, numbers = x, self.table.rows(x), np.asarray(numbers, dtype=np.int64)
        lists, visit = memory.recall(numbers) if memory is not None else (self._no_lists(len(x)), 0)
        tried, chosen = None, None
        if self.screens:
            tried, rounds = self._screened(x, lists, visit), (0,)
        elif visit or not (self.all_first or memory is None):
            rounds = (max(RANDOM, (FIRST if visit < PERIOD else AGAIN) >> visit % PERIOD),)
        elif self.groups is not None:
            chosen, rounds = self.groups.best(given, numbers), [0] * (1 + ROUNDS)
        else:
            rounds = ()
        finite = bool(rounds)
        for n_random in rounds:
            finite = self._round(x, lists, numbers, n_random, resp, groups=chosen, tried=tried)
            chosen = None
            if not finite:
                break
        if not finite:  # at first visits, or if all candidates of a row have weight -inf
            self._all(given, lists, numbers, resp)
        if memory is not None:
            memory.remember(numbers, lists, visit)

    def _no_lists(self, n):
        """Empty lists of rows."""
        return np.full((n, self.size), -1, dtype=np.intc)

    def _screened(self, x, lists, visit):
        """The lists, longer by the best of all components if these are due."""
        return lists if visit & (visit - 1) else np.hstack([lists, self.table.screen.best(x, self.size)])

    def _all(self, x, lists, numbers, resp):
        """Try all components: one dense weight takes half the time of a pair's or less."""
        step, table = max(1, MOST_WEIGHTS // len(self.neighbours)), self.table.whole
        for start in range(0, len(x), step):
            part = slice(start, min(start + step, len(x)))
            weights = table.weights(x[part], np.empty((part.stop - start, len(self.neighbours)), dtype=table.dtype))
            values, log_z = np.empty(lists[part].shape), np.empty(part.stop - start)
            _topl.top_l_responsibilities(weights, lists[part], values, log_z, numbers[part])
            chosen = resp.indices[part], resp.values[part], resp.log_z[part]
            _topl.top_l_responsibilities(weights, *chosen, numbers[part])

    def _round(self, x, lists, numbers, n_random, resp, groups=None, tried=None):
        """Try neighbours and random components; the best replace the lists in place and define responsibilities.

        With ``tried`` start from these lists. With ``groups`` try the members of these instead. Return whether all rows
        have a finite weight.
        """
        least = resp.indices.shape[1]
        tried = lists if tried is None else tried
        width = max(tried.shape[1] * (self.neighbours.shape[1] + 1) + n_random, least)
        width = width if groups is None else groups.shape[1] * self.groups.largest
        step = max(1, MOST_PAIRS // width)
        for start in range(0, len(x), step):
            part = slice(start, min(start + step, len(x)))
            outputs = lists[part], resp.indices[part], resp.values[part], resp.log_z[part]
            if groups is None:
                found = self._expanded(tried[part], numbers[part], n_random, least, width)
            else:
                found = self.groups.candidates(groups[part])
            if self._look(x[part], *found, outputs) >= 0:
                return False
        return True

    def _expanded(self, lists, numbers, n_random, least, width):
        """Candidates of rows from their lists in CSR form: starts of rows, and components row by row."""
        n = len(lists)
        indptr, candidates = np.empty(n + 1, dtype=np.int64), np.empty(n * width, dtype=np.intc)
        n_pairs = _pairs.expand(
            lists, self.neighbours, numbers, n_random, least, self.seed, self.n_steps, indptr, candidates
        )
        return indptr, candidates[:n_pairs]

    def _look(self, x, indptr, candidates, outputs):
        """Compute the weights of the candidates of some rows, and choose the best; a row that has none, or -1."""
        n_pairs = len(candidates)
        starts, (rows, places) = np.empty(len(self.neighbours) + 1, dtype=np.intp), np.empty((2, n_pairs), np.intc)
        _pairs.group(indptr, candidates, starts, rows, places)
        weights = self.table.weights(x, starts, rows)
        return _pairs.choose(indptr, candidates, places, weights, *outputs)


class PairTable:
    """Weights of chosen pairs of a row and a component under a table of Gaussians, ``whole``."""

    SHAPES = {  # noqa: RUF012
        _quadratic.TRIANGULAR: _pairs.TRIANGULAR,
        _quadratic.DIAGONAL: _pairs.DIAGONAL,
        _quadratic.SPHERICAL: _pairs.SPHERICAL,
    }

    def __init__(self, table):
        self.whole = table
        self.rows = table.rows
        self.complete = table.complete_pairs
        self.kernel = kernel = table.kernel
        self.shape, self.constants = self.SHAPES[kernel.shape], kernel.constants
        self.factors, self.offsets = kernel.factors, kernel.offsets
        if kernel.shape == _quadratic.TRIANGULAR:
            n_components, n_features = kernel.offsets.shape
            padded = -(-n_features // _pairs.BLOCK) * _pairs.BLOCK
            self.factors = _pairs.by_columns(kernel.factors, n_features)
            self.offsets = aligned_empty(n_components * padded, kernel.dtype).reshape(n_components, padded)
            self.offsets[:, :n_features] = kernel.offsets
            self.offsets[:, n_features:] = 0

    @cached_property
    def screen(self):
        """The screen of the table."""
        return Screen(self.kernel)

    def weights(self, x, starts, rows, split=serial):
        """Weights of pairs, component by component."""
        out, size = np.empty(len(rows), dtype=x.dtype), len(self.factors) // max(1, len(self.constants))

        def share(first, last):
            some, factors = slice(first, last), self.factors[first * size : last * size]
            part = self.offsets[some], self.constants[some], starts[first : last + 1]
            _pairs.log_density(self.shape, x, factors, *part, rows, out)

        split(share, len(self.constants))
        if self.complete is not None:
            self.complete(x, starts, rows, out)
        return out


def nearest(gaussians, table, n_neighbours):
    """The components with the highest expected weights for the rows of each component, itself included, (K, G) int32.

    The expectation of a quadratic form needs first and second moments only: one product of two tall matrices.
    """
    n_components = len(gaussians.means)
    expected_of = expected_about_means if table.complete_pairs is not None else expected_by_moments
    expected_of = expected_of(gaussians, table)
    out = np.empty((n_components, n_neighbours), dtype=np.intc)
    size = max(1, UNPACKED // n_components)
    values, log_z = np.empty((size, n_neighbours)), np.empty(size)
    for start in range(0, n_components, size):
        stop = min(start + size, n_components)
        expected = expected_of(start, stop)
        expected[np.arange(stop - start), np.arange(start, stop)] = np.finfo(expected.dtype).max
        chosen = expected, out[start:stop], values[: stop - start], log_z[: stop - start]
        _topl.top_l_responsibilities(*chosen)  # takes an eighth of the time of NumPy's partition
    return out


def nearest_in_groups(gaussians, table, n_neighbours, groups):
    """The same, searched among the members of the groups near a component's own group."""
    moments, natural, constants = expected_weights(gaussians, table)
    out = np.empty((len(constants), n_neighbours), dtype=np.intc)
    for near in groups.near():  # its own group first
        _, others = groups.candidates(near[None])
        mine = groups.of(near[0])
        expected = moments[mine] @ natural[others].T + constants[others]
        np.fill_diagonal(expected, np.finfo(expected.dtype).max)
        chosen, values = np.empty((len(mine), n_neighbours), dtype=np.intc), np.empty((len(mine), n_neighbours))
        _topl.top_l_responsibilities(expected, chosen, values, np.empty(len(mine)))
        out[mine] = others[chosen]
    return out


def expected_by_moments(gaussians, table):
    """Function of a range of components k: E_k[W_l], (n, K)."""
    moments, natural, constants = expected_weights(gaussians, table)
    return lambda start, stop: moments[start:stop] @ natural.T + constants


def expected_about_means(gaussians, table):
    """An approximation for low-rank covariances: the weights of the means minus the loss from the diagonals.

    The exact products of loadings would cost Q^2 times as much, only to choose neighbours.
    """
    means = gaussians.means.astype(table.dtype)
    diagonals, precisions = gaussians.variances(), 0.5 * gaussians.precision_diagonals().T

    def expected(start, stop):
        out = np.empty((stop - start, len(means)), dtype=table.dtype)
        return table.weights(means[start:stop], out) - diagonals[start:stop] @ precisions

    return expected


def expected_weights(gaussians, table):
    """Factors (K, P) and constants (K,) of E_k[W_l] = moments_k . natural_l + constant_l.

    In float32, which is exact enough for a choice; in float64 if the products overflow in float32.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        moments, natural, constants = expected_in(np.float32, gaussians, table)
        largest = [np.maximum(m.max(axis=0), -m.min(axis=0)).astype(np.float64) for m in (moments, natural)]
        if largest[0] @ largest[1] < np.finfo(np.float32).max:  # and not NaN
            return moments, natural, constants
    return expected_in(np.float64, gaussians, table)


def expected_in(dtype, gaussians, table):
    """The same in a given dtype."""
    kernel = table.kernel
    means = table.rows(gaussians.means.astype(kernel.dtype))
    wide = np.promote_types(kernel.dtype, dtype)
    means, factors, offsets = (a.astype(wide, copy=False) for a in (means, kernel.factors, kernel.offsets))
    d = means.shape[1]
    if kernel.shape == _quadratic.TRIANGULAR:
        second = gaussians.covariances + symmetric.pack_outer(means)
        quadratic, linear = precisions(factors, offsets, dtype)
        squares = (offsets**2).sum(axis=1)
    elif kernel.shape == _quadratic.DIAGONAL:
        factors = factors.reshape(-1, d)
        second, quadratic, linear = gaussians.covariances + means**2, factors**2, factors * offsets
        squares = (offsets**2).sum(axis=1)
    else:
        variances = 1.0 if gaussians.tied else gaussians.covariances
        second = (d * variances + (means**2).sum(axis=1))[:, None]
        quadratic = factors[:, None] ** 2
        linear, squares = quadratic * offsets, quadratic[:, 0] * (offsets**2).sum(axis=1)
    moments = np.hstack([second, means]).astype(dtype)
    natural = np.hstack([-0.5 * quadratic, linear]).astype(dtype)
    return moments, natural, (kernel.constants - 0.5 * squares).astype(dtype)


def precisions(factors, offsets, dtype):
    """R_k^T R_k packed, off-diagonal entries doubled, and R_k^T o_k, of packed triangles R_k."""
    n_components, d = offsets.shape
    factors = factors.reshape(n_components, -1)
    packed, linear = np.empty(factors.shape, dtype=dtype), np.empty((n_components, d), dtype=dtype)
    rows, columns = np.tril_indices(d)
    doubled = np.where(rows == columns, 1.0, 2.0).astype(dtype)
    step = max(1, UNPACKED // d**2)
    for start in range(0, n_components, step):
        part = slice(start, start + step)
        r = np.zeros((len(factors[part]), d, d), dtype=dtype)
        r[:, rows, columns] = factors[part]
        transposed = r.transpose(0, 2, 1)
        packed[part] = (transposed @ r)[:, rows, columns] * doubled
        linear[part] = (transposed @ offsets[part, :, None].astype(dtype))[:, :, 0]
    return packed, linear
