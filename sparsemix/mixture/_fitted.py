"""A fitted mixture: its statistics, and attributes computed from them on first use."""

from copy import copy
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from sparsemix._estimator.input.checks import check_explained
from sparsemix._kernels.vectors._log_sum import log_sum_exp
from sparsemix._models.mixture.model import TABLES
from sparsemix._models.mixture.screen import ROWS, Screen, suits
from sparsemix._rows import blocks
from sparsemix._rows.blocks import COMPLETE, MISSING, Observation
from sparsemix._stats.altered import altered

# Most weights of a tile that is screened: products of few rows take longer.
MOST_WEIGHTS = 1 << 21
# Label of a row that belongs to the background.
BACKGROUND = -1


class FittedMixture:
    """Model and statistics of a completed step. Tables and attributes are computed on first use and not pickled."""

    shared = False  # whether another object may hold the same statistics
    counts_rows = "mass"

    def __init__(self, model, stats):
        self.model = copy(model)  # the original may learn later
        self.stats = stats
        stats.fold()  # now, not later in several reading threads
        self._tables = {}

    def keep(self, stats):
        """Replace the statistics by this copy, since the old ones, and what refers to them, are about to change."""
        self.stats = stats
        self.model.keep(stats)
        for name in ("expected", "plug_in"):
            vars(self).pop(name, None)

    def __getstate__(self):
        return {"model": altered(self.model, table=None), "stats": self.stats, "_tables": {}}

    def ready(self):
        """The model with the table of its local steps, which pickles lack."""
        if self.model.table is None:
            self.model = altered(self.model, table=self.model.table_of(self.expected, self.stats))
        return self.model

    def reading(self, rows):
        """The model as it reads these rows, which may have missing values, labels or noise."""
        model = self.model
        if model.observation.covers(rows.observation):
            return self.ready()
        return model.reading_more(rows, self.expected, self.stats)

    @cached_property
    def weights(self):
        """Mixture weights, (K,)."""
        return self.model.weights.mean(self.stats["count"])

    @property
    def masses(self):
        """Number of rows in each component, the sum of their responsibilities, (K,)."""
        return np.maximum(self.stats["count"], 0.0)

    @cached_property
    def expected(self):
        """The expected log likelihood; of Gaussians these are Gaussians with the published covariances."""
        return self.model.published(self.stats)

    @cached_property
    def plug_in(self):
        """The log likelihood of the predictive density: posterior means of the parameters; in EM, the estimates."""
        return self.model.point_estimate(self.stats)

    def table(self, kind, dtype, value=COMPLETE):
        """Table of ``"responsibility"`` weights or ``"density"``, in the dtype of the rows, for a kind of values."""
        key = kind, np.dtype(dtype), value
        if key not in self._tables:
            if kind == "responsibility":
                likelihood, log_weights = self.expected, self.model.weights.expected_log(self.stats["count"])
            else:
                with np.errstate(divide="ignore"):
                    likelihood, log_weights = self.plug_in, np.log(self.weights)
            self._tables[key] = TABLES[value](likelihood, likelihood.table(log_weights, dtype))
        return self._tables[key]

    @property
    def background_weight(self):
        """Share of the background; 0 without one."""
        return 0.0 if self.model.background is None else self.model.background.weight(self.stats)

    unassigned = background_weight  # the share of rows that belong to no component

    def background(self, kind, rows, start, stop):
        """Log weights of the background for rows, relative to a table of this kind, (n,)."""
        background = self.model.background
        log_odds = background.log_odds if kind == "responsibility" else logit(self.background_weight)
        return log_odds + background.log_density(rows.X[start:stop])

    def labels(self, rows, workers):
        """Component with the largest responsibility for each row, or BACKGROUND, (n,) int64."""
        labels = np.empty(len(rows), dtype=np.int64)
        table = self.table("responsibility", rows.dtype, rows.observation.value)
        plain = not rows.sparse and rows.observation == Observation() and self.model.background is None
        if plain and suits(table, np.inf):
            tile = max(blocks.tile_size(self.model.n_components), min(ROWS, MOST_WEIGHTS // self.model.n_components))
            self._tiles(rows, workers, tile, screened(Screen(table.kernel), table, labels))
            return labels

        def best(start, stop, weights):
            largest = weights.max(axis=1)
            check_explained(largest, start)
            labels[start:stop] = weights.argmax(axis=1)
            if self.model.background is not None:
                labels[start:stop][self.background("responsibility", rows, start, stop) > largest] = BACKGROUND

        self.each_tile("responsibility", rows, workers, best)
        return labels

    def responsibilities(self, rows, workers):
        """Responsibilities of all components, (n, K), in the dtype of the rows."""
        resp = np.empty((len(rows), self.model.n_components), dtype=rows.dtype)

        def share(start, stop, weights):
            out, log_z = resp[start:stop], np.empty(stop - start)
            if self.model.background is not None:
                log_sum_exp(weights, log_z)
            softmax(weights, start, out)
            if self.model.background is not None:
                out *= expit(log_z - self.background("responsibility", rows, start, stop))[:, None]

        self.each_tile("responsibility", rows, workers, share)
        return resp

    def certainties(self, rows, workers):
        """Logarithm of the largest responsibility of each row, (n,)."""
        out = np.empty(len(rows))

        def share(start, stop, weights):
            largest, log_z = weights.max(axis=1), out[start:stop]
            check_explained(largest, start)
            log_sum_exp(weights, log_z)
            if self.model.background is not None:
                other = self.background("responsibility", rows, start, stop)
                largest, log_z[...] = np.maximum(largest, other), np.logaddexp(log_z, other)
            np.subtract(largest, log_z, out=log_z)

        self.each_tile("responsibility", rows, workers, share)
        return out

    def log_density(self, rows, workers):
        """Log density of each row, (n,)."""
        out = np.empty(len(rows))

        def log_density(start, stop, weights):
            log_sum_exp(weights, out[start:stop])
            if self.model.background is not None:
                out[start:stop] = np.logaddexp(out[start:stop], self.background("density", rows, start, stop))
                out[start:stop] += np.log1p(-self.background_weight)

        self.each_tile("density", rows, workers, log_density)
        return out

    def missing_values(self, rows, seed, workers):
        """Expected missing values of float64 rows, (n, D), in the coordinates of the data; draws with a ``seed``."""
        completion = self.table("density", rows.dtype, MISSING).completion
        out = np.empty(rows.X.shape)

        def expect(start, stop, weights):
            softmax(weights, start, weights)
            x, normals = rows.read(slice(start, stop)), None
            if seed is not None:  # rows of a tile are the same for any number of threads
                rng = np.random.default_rng([seed, start])
                weights, normals = drawn(weights, rng), rng.standard_normal(x.shape)
            out[start:stop] = completion.expect(x, weights, normals)

        self.each_tile("density", rows, workers, expect)
        return self.in_data_coordinates(out)

    def each_conditional(self, rows, last, workers, function):
        """Call ``function(start, stop, resp, means, variances)`` for every tile: moments (n, K, last) of outcomes."""
        completion = self.table("density", rows.dtype, MISSING).completion

        def share(start, stop, weights):
            softmax(weights, start, weights)
            means, variances = completion.moments(rows.read(slice(start, stop)), last)
            shift = 0.0 if self.model.shift is None else self.model.shift[-last:]
            function(start, stop, weights, means + shift, variances)

        self.each_tile("density", rows, workers, share)

    def each_tile(self, kind, rows, workers, function):
        """Call ``function(start, stop, weights)`` for every tile of rows, weights (rows, K) under a table."""
        table = self.table(kind, rows.dtype, rows.observation.value)

        def weigh(part, x, scratch):
            function(part.start, part.stop, table.weights(x, scratch))

        self._tiles(rows, workers, blocks.tile_size(self.model.n_components), weigh)

    def _tiles(self, rows, workers, tile, function):
        """Call ``function(part, x, scratch)`` for every tile of rows, with memory for its weights (rows, K)."""

        def share(start, stop):
            scratch = np.empty((tile, self.model.n_components), dtype=rows.dtype)
            for a, b in blocks.spans(stop - start, tile):
                part = slice(start + a, start + b)
                function(part, rows.read(part), scratch[: b - a])

        workers.map(share, blocks.shares(len(rows), tile, workers.n_jobs))

    # -- Gaussians

    @cached_property
    def means(self):
        """Means in the coordinates of the data, (K, D)."""
        return self.in_data_coordinates(self.expected.means)

    def in_data_coordinates(self, means):
        """Means or rows (n, D) plus the shift."""
        return means.copy() if self.model.shift is None else means + self.model.shift

    @cached_property
    def definite(self):
        """The same Gaussians with positive definite matrices, which densities and responsibilities use."""
        return self.expected.definite()

    @cached_property
    def covariances(self):
        """Covariances in scikit-learn's shape."""
        return self.model.family.published_covariances(self.definite)

    @cached_property
    def in_single_precision(self):
        """Whether float32 can represent the inverses of the variances; float64 rows may have any scale."""
        family = self.model.family
        variances = family.shape.variances(self.expected.covariances, family.n_features)
        return bool(np.min(variances) > 1e-30 and np.max(variances) < 1e30)


def screened(screen, table, labels):
    """A function of a tile that writes the labels of its rows: exact weights decide where a screen cannot."""

    def label(part, x, scratch):
        found, close = screen.labels(table.rows(x), scratch)
        if len(close):
            weights, largest = table.weights(x[close], scratch[: len(close)]), np.zeros(len(x))
            largest[close] = weights.max(axis=1)
            check_explained(largest, part.start)
            found[close] = weights.argmax(axis=1)
        labels[part] = found

    return label


def softmax(weights, start, out):
    """Responsibilities in ``out`` of log weights (n, K), which are overwritten, of rows from ``start``."""
    largest = weights.max(axis=1, keepdims=True)
    check_explained(largest, start)
    weights -= largest
    np.exp(weights, out=out)
    out /= out.sum(axis=1, keepdims=True)


def drawn(resp, rng):
    """Ones at a random component of each row, which has this probability (n, K)."""
    totals = np.cumsum(resp, axis=1)
    labels = (totals <= totals[:, -1:] * rng.random((len(resp), 1))).sum(axis=1)
    return (np.arange(resp.shape[1]) == labels[:, None]).astype(np.float64)
