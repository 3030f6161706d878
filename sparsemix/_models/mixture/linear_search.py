"""Candidate search for linear likelihoods: of directions, and of sparse rows with weights from sparse products."""

import numpy as np

from sparsemix._kernels.documents import _linear
from sparsemix._kernels.vectors import _topl
from sparsemix._models.mixture.candidates import NEIGHBOURS, CandidateSearch
from sparsemix._models.mixture.screen import ROWS
from sparsemix._stats.linear import dense

# Number of largest entries of a component's mean that determine its neighbours.
FEATURES = 64
# A component with a smaller count is empty.
EMPTY = 1e-10
# Maximum number of weights in one product.
WEIGHTS = 1 << 22
# The lists of first visits are this many times as long as later ones, a power of two.
WIDE = 2


class DirectionSearch(CandidateSearch):
    """Candidate search of a model of dense directions; screened rows try all components at their first visit only.

    Their first lists are longer, since means move most in the first epochs. A component that was far below the
    best then is rarely the best later.
    """

    @property
    def width(self):
        """See CandidateSearch."""
        return WIDE * self.size

    def local_step(self, x, resp, numbers, memory):
        """See CandidateSearch."""
        if not self.screens:
            super().local_step(x, resp, numbers, memory)
            return
        numbers = np.asarray(numbers, dtype=np.int64)
        lists, visit = memory.recall(numbers) if memory is not None else (None, 0)
        if visit == 0:
            lists = self._first(x, numbers, resp)
        else:
            tried, lists = lists, np.empty((len(x), max(self.size, self.width >> min(visit, 31))), dtype=np.intc)
            if not self._round(x, lists, numbers, 0, resp, tried=tried):
                self._all(x, lists, numbers, resp)
        if memory is not None:
            memory.remember(numbers, lists, visit)

    def _first(self, x, numbers, resp):
        """Responsibilities by a screen of all components, and the best of these."""
        n_components = len(self.neighbours)
        width = min(self.width, n_components)
        lists, scratch = np.empty((len(x), width), dtype=np.intc), np.empty((ROWS, n_components), dtype=x.dtype)
        values, log_z = np.empty((ROWS, width)), np.empty(ROWS)
        for start in range(0, len(x), ROWS):
            some = slice(start, min(start + ROWS, len(x)))
            n, names = some.stop - start, lists[some]
            weights = self.table.screen.weights(x[some], scratch[:n])
            _topl.top_l_responsibilities(weights, names, values[:n], log_z[:n], numbers[some])
            weights = np.take_along_axis(weights, names, axis=1)
            _topl.top_l_responsibilities(weights, resp.indices[some], resp.values[some], resp.log_z[some])
            resp.indices[some] = np.take_along_axis(names, resp.indices[some], axis=1)
        return lists


class SparsePairs:
    """The weights of a table, for chosen pairs of a sparse row and a component, or for all."""

    def __init__(self, table):
        self.whole = table.linear

    def rows(self, x):
        """The rows, unchanged."""
        return x

    def weights(self, x, starts, rows):
        """Weights of pairs, component by component."""
        return self.whole.pair_weights(x, starts, rows)


class SparseSearch(CandidateSearch):
    """Candidate search of a model of sparse rows."""

    sparse = True

    def prepare(self, table):
        """See CandidateSearch."""
        if self.table is None:
            self.table = SparsePairs(table)

    def may_screen(self, table):  # noqa: ARG002
        """No: the rows are sparse."""
        return False

    def grouped(self, stats):
        """None: neighbours are searched among all components."""

    def nearest(self, stats, table):
        """The components with the highest weights for the mean of each component, (K, G) int32."""
        x, linear = heaviest(stats, table.linear.natural.dtype), table.linear
        n_components = len(linear.constants)
        out = np.empty((n_components, min(NEIGHBOURS, n_components)), dtype=np.intc)
        step = max(1, WEIGHTS // n_components)
        for start in range(0, n_components, step):
            stop = min(start + step, n_components)
            expected = np.empty((stop - start, n_components), dtype=linear.natural.dtype)
            indptr = x[0][start : stop + 1] - x[0][start]
            entries = slice(x[0][start], x[0][stop])
            _linear.weights(linear.natural, linear.constants, indptr, x[1][entries], x[2][entries], expected)
            expected[np.arange(stop - start), np.arange(start, stop)] = np.finfo(expected.dtype).max
            best(expected, out[start:stop])
        return out


def heaviest(stats, dtype):
    """The largest entries of each component's mean, as CSR arrays."""
    first, count = dense(stats["first"]), stats["count"]
    count = np.where(count > EMPTY, count, 1.0)
    n_components, n_features = first.shape
    size = min(FEATURES, n_features)
    indices = np.empty((n_components, size), dtype=np.intc)
    for k, sums in enumerate(first):
        indices[k] = np.argpartition(np.abs(sums), n_features - size)[n_features - size :]
    indices.sort(axis=1)
    values = np.take_along_axis(first, indices, axis=1) / count[:, None]
    indptr = np.arange(0, (n_components + 1) * size, size, dtype=np.int64)
    return indptr, indices.ravel(), values.ravel().astype(dtype)


def best(weights, out):
    """Write the components with the largest weights of each row to ``out``."""
    values, log_z = np.empty(out.shape), np.empty(len(out))
    _topl.top_l_responsibilities(weights, out, values, log_z)
