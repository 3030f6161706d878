"""Short lists of candidates: a row's weights are made for a few components, whatever the number of all.

Truncated variational learning: every row keeps the list of its best components. A pass makes weights for these, for
their neighbours among the components, and for a few at random; the best become the next list. A row's last support is
always among its candidates, so that no pass lowers the bound.
"""

from copy import copy

import numpy as np

from sparsemix._kernels.gaussians import _pairs, _quadratic
from sparsemix._kernels.vectors import _topl
from sparsemix._kernels.vectors._simd import aligned_empty
from sparsemix._stats import symmetric
from sparsemix.mixture._groups import groups_of

# Neighbours of a component, and components at random, that a row looks at.
NEIGHBOURS = 8
RANDOM = 2
# At its first visit a row looks at this many components at random, then at half as many more each time. Few of them
# keep the sizes of components balanced. After so many visits this begins anew with more of them, which finds the
# components that lists do not lead to.
FIRST = 32
AGAIN = 64
PERIOD = 8
# Rows that are seen once look at this share of all components, or more where they miss much, then at the neighbours of
# the best, so many times.
SHARE_ONCE = 0.25
ROUNDS = 2
# Rows, and at most so many pairs, that are grouped by component at once; rows that are seen once have many more pairs.
TILE = 1 << 13
TILE_ONCE = 1 << 10
MOST_PAIRS = 1 << 20
# Neighbours are made anew after this times K^1.5 rows.
PATIENCE = 5.0
# Numbers of the matrices that are unpacked at once.
UNPACKED = 1 << 21


class CandidateLists:
    """The best components of each row at its last visit, (N, C) int32, -1 before the first; and how often it came.

    ``first_row`` is the number of the first of these rows in all the data.
    """

    def __init__(self, n_rows, size, first_row=0):
        self.first_row = first_row
        self.lists = np.full((n_rows, size), -1, dtype=np.intc)
        self.visits = np.zeros(n_rows, dtype=np.uint8)

    def recall(self, numbers):
        """Lists of rows, and their visits."""
        at = numbers - self.first_row
        return self.lists[at], int(self.visits[at[0]])

    def remember(self, numbers, lists, visit):
        """Keep them for the next visit."""
        at = numbers - self.first_row
        self.lists[at] = lists
        self.visits[at] = min(visit + 1, 255)

    def saved(self):
        """A function that brings back the lists of now."""
        lists, visits = self.lists.copy(), self.visits.copy()

        def restore():
            self.lists[...], self.visits[...] = lists, visits

        return restore


class CandidateSearch:
    """How a model finds the candidates of rows; a new one for each step, since fitted models share them.

    Parameters
    ----------
    size : int
        C, components on a list; at least L.
    seed : int
        Keys the random candidates, with the row's number and the number of the step.
    every : int
        Steps after which neighbours are made anew; in the beginning after 1, 2, 4, ...
    all_first : bool
        Whether rows look at all components at their first visit, or at a few at random. Of thousands of components they
        look at those of the best groups, unless that has missed much (``by_groups``).
    """

    groups, by_groups = None, True

    def __init__(self, size, seed, every=1, all_first=False):
        self.size = size
        self.seed = seed
        self.every = every
        self.all_first = all_first
        self.share = SHARE_ONCE
        self.n_steps = 0
        self.neighbours = self.table = None
        self.ids = self.places = None

    def __getstate__(self):
        return vars(self) | {"table": None}

    def updated(self, gaussians, table):
        """The search under new weights."""
        new = copy(self)
        new.n_steps += 1
        if self.neighbours is None or new.n_steps % self.every == 0 or new.n_steps & self.n_steps == 0:
            new.groups = self.grouped(gaussians)
            new.neighbours = new.nearest(gaussians, table)
        return new

    def grouped(self, gaussians):
        """Groups of near components, where there are so many that they are sought in groups; else None."""
        return groups_of(gaussians) if self.by_groups else None

    def nearest(self, gaussians, table):
        """The neighbours of each component."""
        n_neighbours = min(NEIGHBOURS, len(gaussians.means))
        if self.groups is not None:
            return nearest_in_groups(gaussians, table, n_neighbours, self.groups)
        return nearest(gaussians, table, n_neighbours)

    def renewed(self):
        """The search when components have become others: their neighbours are made anew in the next step."""
        new = copy(self)
        new.neighbours = None
        return new

    def permuted(self, order):
        """The search when components have changed their order; lists of rows keep the names that they began with."""
        new = copy(self)
        new.ids = order if self.ids is None else self.ids[order]
        new.places = np.argsort(new.ids).astype(np.intc)
        new.ids = new.ids.astype(np.intc)
        new.neighbours = np.argsort(order).astype(np.intc)[self.neighbours[order]]
        new.groups = None if self.groups is None else self.groups.permuted(order)
        return new

    def prepare(self, table):
        """Before local steps: the table in the form that pairs need, which is neither copied nor pickled."""
        if self.table is None:
            self.table = PairTable(table)

    def local_step(self, x, resp, numbers, memory):
        """Responsibilities of a tile of rows from their candidates, and their lists for the next visit."""
        given, x, numbers = x, self.table.rows(x), np.asarray(numbers, dtype=np.int64)
        if memory is None:
            lists = np.full((len(x), self.size), -1, dtype=np.intc)
            rounds = max(AGAIN, int(self.share * len(self.neighbours))), *[0] * ROUNDS
            rounds = () if self.share >= 1.0 else rounds
        else:
            lists, visit = memory.recall(numbers)
            lists = renamed(lists, self.places)
            n_random = max(RANDOM, (FIRST if visit < PERIOD else AGAIN) >> visit % PERIOD)
            rounds = () if self.all_first and visit == 0 else (n_random,)
        bad, chosen = 0, None
        if self.groups is not None and (not rounds or memory is None):
            chosen, rounds = self.groups.best(given, numbers), [0] * (1 + ROUNDS)
        for n_random in rounds:
            bad = self._round(x, lists, numbers, n_random, resp, groups=chosen)
            chosen = None
            if bad >= 0:
                break
        if bad >= 0:  # rows look at all components: at first, or where those that one of them found have no weight
            bad = self._round(x, lists, numbers, 0, resp, least=len(self.neighbours))
        if bad >= 0:
            raise ValueError(
                f"every weight of row {numbers[bad]} is -inf or not a number; no component explains it, check for "
                "extreme values"
            )
        if memory is not None:
            memory.remember(numbers, renamed(lists, self.ids), visit)

    def _round(self, x, lists, numbers, n_random, resp, least=1, groups=None):
        """Look at neighbours and random components; the best replace the lists in place, and give responsibilities.

        Where rows have chosen ``groups`` they look at the members of these. Returns a row that found no finite weight,
        or -1.
        """
        least = max(least, resp.indices.shape[1])
        width = max(self.size * (self.neighbours.shape[1] + 1) + n_random, least)
        width = width if groups is None else groups.shape[1] * self.groups.largest
        step = max(1, MOST_PAIRS // width)
        for start in range(0, len(x), step):
            part = slice(start, min(start + step, len(x)))
            outputs = lists[part], resp.indices[part], resp.values[part], resp.log_z[part]
            if groups is None:
                found = self._expanded(lists[part], numbers[part], n_random, least, width)
            else:
                found = self.groups.candidates(groups[part])
            bad = self._look(x[part], *found, outputs)
            if bad >= 0:
                return start + bad
        return -1

    def _expanded(self, lists, numbers, n_random, least, width):
        """Candidates of rows from their lists: where those of a row begin, and components row by row."""
        n = len(lists)
        indptr, candidates = np.empty(n + 1, dtype=np.int64), np.empty(n * width, dtype=np.intc)
        n_pairs = _pairs.expand(
            lists, self.neighbours, numbers, n_random, least, self.seed, self.n_steps, indptr, candidates
        )
        return indptr, candidates[:n_pairs]

    def _look(self, x, indptr, candidates, outputs):
        """Weigh the candidates of some rows, and choose the best."""
        n_pairs = len(candidates)
        starts, (rows, places) = np.empty(len(self.neighbours) + 1, dtype=np.intp), np.empty((2, n_pairs), np.intc)
        _pairs.group(indptr, candidates, starts, rows, places)
        weights = self.table.weights(x, starts, rows)
        return _pairs.choose(indptr, candidates, places, weights, *outputs)


def renamed(lists, names):
    """Lists with other names of components; -1 stays."""
    return lists if names is None else np.where(lists < 0, lists, names[lists])


class PairTable:
    """The weights of a table of Gaussians, for chosen pairs."""

    SHAPES = {  # noqa: RUF012
        _quadratic.TRIANGULAR: _pairs.TRIANGULAR,
        _quadratic.DIAGONAL: _pairs.DIAGONAL,
        _quadratic.SPHERICAL: _pairs.SPHERICAL,
    }

    def __init__(self, table):
        self.rows = table.rows
        self.complete = getattr(table, "complete_pairs", None)
        kernel = table.kernel
        self.shape, self.constants = self.SHAPES[kernel.shape], kernel.constants
        self.factors, self.offsets = kernel.factors, kernel.offsets
        if kernel.shape == _quadratic.TRIANGULAR:
            n_components, n_features = kernel.offsets.shape
            padded = -(-n_features // _pairs.BLOCK) * _pairs.BLOCK
            self.factors = _pairs.by_columns(kernel.factors, n_features)
            self.offsets = aligned_empty(n_components * padded, kernel.dtype).reshape(n_components, padded)
            self.offsets[:, :n_features] = kernel.offsets
            self.offsets[:, n_features:] = 0

    def weights(self, x, starts, rows):
        """Weights of pairs, component by component."""
        out = np.empty(len(rows), dtype=x.dtype)
        _pairs.log_density(self.shape, x, self.factors, self.offsets, self.constants, starts, rows, out)
        if self.complete is not None:
            self.complete(x, starts, rows, out)
        return out


def nearest(gaussians, table, n_neighbours):
    """The components that give the rows of each one the highest expected weights, itself among them, (K, G) int32.

    The expectation of a quadratic form needs first and second moments only: one product of two tall matrices.
    """
    n_components = len(gaussians.means)
    expected_of = expected_about_means if hasattr(table, "complete_pairs") else expected_by_moments
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
    """The same, sought among the members of the groups that are near to a component's own."""
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
    """The same for covariances of low rank: the weights of the means less what is lost by their diagonals.

    The products of loadings with loadings would be Q^2 as many, and only choose neighbours.
    """
    means = gaussians.means.astype(table.dtype)
    diagonals, precisions = gaussians.diagonals(), 0.5 * gaussians.precision_diagonals().T

    def expected(start, stop):
        out = np.empty((stop - start, len(means)), dtype=table.dtype)
        return table.weights(means[start:stop], out) - diagonals[start:stop] @ precisions

    return expected


def expected_weights(gaussians, table):
    """Factors (K, P) and constants (K,) of E_k[W_l] = moments_k . natural_l + constant_l.

    In float32, which is exact enough to choose; in float64 where float32 cannot hold the products.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        moments, natural, constants = expected_in(np.float32, gaussians, table)
        largest = [np.maximum(m.max(axis=0), -m.min(axis=0)).astype(np.float64) for m in (moments, natural)]
        if largest[0] @ largest[1] < np.finfo(np.float32).max:  # and not NaN
            return moments, natural, constants
    return expected_in(np.float64, gaussians, table)


def expected_in(dtype, gaussians, table):
    """The same in a precision."""
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
