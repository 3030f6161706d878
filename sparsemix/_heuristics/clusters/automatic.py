"""The automatic prior of Gaussian clusters: structure, parameters in the units of the rows, and a first partition."""

from dataclasses import dataclass
from itertools import repeat

import numpy as np

from sparsemix._heuristics.clusters.metrics import SMALLEST
from sparsemix._heuristics.clusters.rounding import Rounding, on_grid
from sparsemix._heuristics.clusters.search import search
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._models.clusters.model import RowResponsibilities, StreamingModel
from sparsemix._models.clusters.state import ClusterState
from sparsemix._stats.families import GAUSSIANS

# Rows of the first search. If clusters have fewer rows than FEW_ROWS on average, it is repeated with twice as many.
SEARCH_ROWS, MOST_ROWS, FEW_ROWS = 1000, 2000, 16
# With fewer rows kappa_0 is one: a prior that fits two rows explains each of them as well as a cluster does.
FEWEST_ROWS = 4
# Most numbers in the rows of a search.
MOST_NUMBERS = 4_000_000
# Standardised values are clipped here: one wrong value must not set the scale of its column.
CLIPPED = 30.0
# Visits of all rows that compare finalists, and the largest ratio of what two visits in turn gain.
SHARED_ROUNDS, GAINS = 3, 2.0
# Bound of rows without finite density.
LOWEST = -1e300
# Shares of the covariance of all rows, and weights in rows, that are tried for clusters without means.
SHARES, STRENGTHS = 0.8 * 0.5 ** np.arange(8), (2.0, 8.0, 32.0, 128.0)


@dataclass
class Automatic:
    """Result of a search.

    Attributes
    ----------
    family : GaussianFamily
    prior : ConjugateParameters
    steps : Rounding
    scales : ndarray of shape (D,) or None
        Divisors of the columns.
    rows : ndarray
        Indices of the rows of the search.
    labels : ndarray or None
        Cluster of each of these rows; None if the search has no partition.
    reason : str
        What was compared, and by how much it differs.
    """

    family: object
    prior: object
    steps: Rounding
    scales: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    reason: str = ""


def automatic_prior(structures, given, rows, order, bulk, partition, threshold):
    """Estimate the prior of clusters from rows.

    Parameters
    ----------
    structures : list of str
        One structure, or "full" and "diag".
    given : callable
        ``given(structure)``: given parameters of the prior, as for Independent.
    rows : Rows
        Shifted rows.
    order : ndarray
        Indices of rows; the first ones are used.
    bulk : callable
        ``bulk(x)``: rows without far values, and variances of columns without them.
    partition : NGGP
    threshold : float
        Responsibility of a new cluster above which a row opens one.
    """
    most = max(100, MOST_NUMBERS // rows.X.shape[1])
    size = min(SEARCH_ROWS, most)
    while True:
        selection = order[:size]
        found = _Sample(rows, selection, given, bulk, partition, threshold).choose(structures)
        n_rows, size = len(selection), 2 * size
        if found.labels is None or found.labels.max() + 1 <= n_rows / FEW_ROWS or n_rows == len(order):
            return found
        if size > min(MOST_ROWS, most):
            return found


class _Sample:
    """Rows of a search, standardised on demand."""

    def __init__(self, rows, selection, given, bulk, partition, threshold):
        x = rows.read(selection)
        self.rows, n_rows = selection, len(selection)
        self.copy_of = np.arange(n_rows)
        if not on_grid(x):  # copies of a row are no cluster of their own
            first, copy_of = np.unique(x, axis=0, return_index=True, return_inverse=True)[1:]
            place = np.argsort(np.argsort(first))  # rows keep their order
            x, self.copy_of = x[np.sort(first)], place[copy_of.reshape(n_rows)]
        self.steps, self.lumpy = Rounding(x, bulk(x)[0]), lumpy(x).any()
        # jitter within a rounding step: repeated values would have infinite density
        self.x = x + self.steps.widths(x) * (np.random.default_rng(0).random(x.shape) - 0.5)
        self.given, self.partition, self.threshold = given, partition, threshold
        self.varies = np.ptp(self.x, axis=0) > 0.0
        total = np.where(self.varies, bulk(self.x)[1], 1.0)
        self.total = np.where(self.varies, total, total[self.varies].mean() if self.varies.any() else 1.0)
        self.log_u = partition.log_mode(float(len(x)), 1.0)  # the same for all partitions

    def choose(self, structures):
        """The result for the structure that the rows have."""
        if not self.varies.any():
            return self._result(structures[-1], None)
        if not GAUSSIANS[structures[0]].has_means:
            return self._scales_of_one_covariance(structures[0])

        def gain_of(found):
            return correlation_gain(found.groups, found.groups.count)

        if len(structures) == 1:
            found, reason = self._search(structures[0]), ""
        else:
            found = self._search(structures[0], worth=lambda found: np.subtract(*gain_of(found)) >= 0.0)
            gain, least = gain_of(found)
            reason = f"correlations within {len(found.nodes)} clusters gain {gain:.0f} nats, with {least:.0f} needed"
            if gain < least:
                structures = structures[1:]
                found = self._search(structures[0])
        if self._family(structures[0]).shape.one_variance:
            return self._in_units_of_clusters(structures[0], found)
        return self._result(structures[0], found, reason=reason)

    def _family(self, structure):
        return GAUSSIANS[structure](len(self.varies))

    def _search(self, structure, scales=None, worth=lambda _: True):
        """Search in standardised units; ``scales`` divide the columns first."""
        x = self.x if scales is None else self.x / scales
        unit = self._unit(structure, scales)
        given = dict(self.given(structure))
        if len(self.x) < FEWEST_ROWS and given.get("mean_precision") is None:
            given["mean_precision"] = 1.0
        if given.get("mean") is not None:
            given["mean"] = (given["mean"] / unit)[self.varies]
        if given.get("covariance") is not None:
            given["covariance"] = self._inner(np.asarray(given["covariance"]), 1.0 / unit)
        x = np.ascontiguousarray(np.clip(x / unit, -CLIPPED, CLIPPED)[:, self.varies])

        def partition(counts):
            return self.partition.log_kappa(counts, self.log_u)

        family = GAUSSIANS[structure](x.shape[1])
        return self._best(family, search(family, given, x, partition, worth), x)

    def _best(self, family, finalists, x):
        """The cut of largest bound after all visits; a cut that can no longer be it gets no further ones."""
        visits = [self._visits(family, found, x) for found in finalists]
        bounds, kept = np.full(len(visits), -np.inf), np.arange(len(visits))
        for left in range(SHARED_ROUNDS, -1, -1):
            if len(kept) == 1:
                break
            new = np.array([next(visits[i]) for i in kept])
            reach = new + GAINS * left * np.maximum(new - bounds[kept], 0.0) if left else new
            bounds[kept] = new
            kept = kept[reach >= new.max()]
        return finalists[kept[0]]

    def _visits(self, family, found, x):
        """Variational bounds of rows that share clusters, instead of the score of rows that belong to one each.

        If clusters touch, rows between them make each too wide, and one cluster seems better than two.
        """
        prior = family.prior(None, **found.prior.arguments())
        state, part = ClusterState(GaussianSlots(family, prior)), RowResponsibilities(len(x))
        model = StreamingModel(self.partition, self.threshold, record=True)
        log_hyperprior = found.prior.log_hyperprior(found.groups)[0]
        try:
            model.divide(x, None, state, found.labels.astype(np.intc), part)
            while True:
                yield model.bound(part, state) + log_hyperprior
                model.revisit(x, None, part, state, 0)
        except ValueError:  # a row without finite density
            yield from repeat(LOWEST)

    def _unit(self, structure, scales=None):
        """Divisors of the columns."""
        total = self.total if scales is None else self.total / scales**2
        one = self._family(structure).shape.one_variance
        return np.sqrt(np.full_like(total, total[self.varies].mean()) if one else total)

    def _inner(self, covariance, factor):
        """A covariance of varying columns in units multiplied by ``factor``."""
        factor = factor[self.varies]
        if covariance.ndim == 2:
            return covariance[np.ix_(self.varies, self.varies)] * np.outer(factor, factor)
        return covariance * factor[0] ** 2 if covariance.ndim == 0 else covariance[self.varies] * factor**2

    def _result(self, structure, found, scales=None, reason=""):
        """The prior in the units of the rows."""
        family, given = self._family(structure), self.given(structure)
        if found is None:  # equal rows
            arguments = {"mean": np.zeros(len(self.varies)), "mean_precision": 1.0}
            arguments |= {"dof": family.shape.least_dof_of_mean(len(self.varies)) + 2.0}
            arguments |= {"covariance": 2.0 * family.shape.multiple(1.0, len(self.varies))}
        else:
            arguments = self._outer(found.prior.arguments(), self._unit(structure, scales), family.shape)
        arguments |= {name: value for name, value in given.items() if value is not None}
        labels = np.zeros(len(self.x), dtype=np.intc) if found is None else found.labels.astype(np.intc)
        labels = labels[self.copy_of]
        return Automatic(family, family.prior(None, **arguments), self.steps, scales, self.rows, labels, reason)

    def _outer(self, arguments, unit, shape):
        """Arguments for all columns in their units; constant columns get the median of the varying ones."""
        mean = np.zeros(len(unit))
        mean[self.varies] = arguments["mean"] * unit[self.varies]
        out = {**arguments, "mean": mean}
        if shape.one_variance:
            out["covariance"] = arguments["covariance"] * unit[0] ** 2
            return out
        if not shape.correlated:
            for name in ("covariance", "mean_precision"):
                out[name] = np.full(len(unit), np.median(arguments[name]))
                out[name][self.varies] = arguments[name]
            out["covariance"] *= unit**2
            return out
        matrix = np.eye(len(unit)) * np.median(np.diag(arguments["covariance"]))
        matrix[np.ix_(self.varies, self.varies)] = arguments["covariance"]
        # degrees of freedom count columns
        out["dof"] = arguments["dof"] + np.count_nonzero(~self.varies)
        out["covariance"] = matrix * np.outer(unit, unit)
        return out

    def _in_units_of_clusters(self, structure, balls):
        """Spherical clusters on the original columns, or on columns of equal width within clusters.

        Often columns were divided by their total standard deviations; their widths within clusters then depend on the
        distances between clusters. The scales have geometric mean one, so that densities are those of the original
        rows. They must gain half the log of the number of rows for each free scale (Schwarz 1978). A column of mostly
        one value has no known width; with such a column the original units stay.
        """
        if len(self.varies) == 1 or not self.varies.all() or self.lumpy:
            return self._result(structure, balls)
        log_widths = 0.5 * np.log(self._search("diag").within()) + np.log(self._unit("diag"))
        scales = np.exp(log_widths - log_widths.mean())
        scaled = self._search(structure, scales)
        n_rows, change = len(self.x), self._unit(structure, scales)[0] / self._unit(structure)[0]
        change = n_rows * len(scales) * np.log(change)
        least = 0.5 * (len(scales) - 1) * np.log(n_rows)
        if scaled.score - change > balls.score + least:
            return self._result(structure, scaled, scales)
        return self._result(structure, balls)

    def _scales_of_one_covariance(self, structure):
        """Clusters without means: shares of the covariance of all rows, by the evidence of an epoch over the rows."""
        d, given, family = len(self.varies), self.given(structure), self._family(structure)
        second = self.x.T @ self.x / len(self.x)
        limited = np.sqrt(np.where(self.varies, np.minimum(self.total / np.maximum(np.diag(second), 1e-300), 1.0), 1.0))
        second = second * np.outer(limited, limited)
        matrix = (len(self.x) * second + d * np.diag(self.total)) / (len(self.x) + d)  # always positive definite
        best, highest = None, -np.inf
        for strength in STRENGTHS:
            for share in SHARES:
                arguments = {"dof": family.shape.least_dof_of_mean(d) + strength}
                arguments |= {"covariance": strength * share * matrix}
                arguments |= {name: value for name, value in given.items() if value is not None}
                prior = family.prior(None, **arguments)
                state = ClusterState(GaussianSlots(family, prior))
                model = StreamingModel(self.partition, self.threshold, max_components=FEW_ROWS)
                model.stream(self.x, None, state, 0)
                if model.sums[0] > highest:
                    best, highest = prior, model.sums[0]
        return Automatic(family, best, self.steps, None, self.rows, None)


def lumpy(x):
    """Whether one value fills more than half of a column, (D,)."""
    return (x == np.median(x, axis=0)).mean(axis=0) > 0.5


def correlation_gain(groups, n_rows):
    """Gain in nats of correlations within groups of ``n_rows`` (G,), and the gain that chance may give (Schwarz 1978).

    The larger gain counts: of correlations that all groups share, or of own ones of groups with enough rows. Variances
    take no part: the evidence of clusters with own variances prefers independent columns if a column is constant in
    some clusters, since its density is almost infinite there.
    """
    d, n_groups = groups.mean.shape[1], len(n_rows)
    if n_rows.sum() - n_groups <= d:
        return 0.0, np.inf
    large = n_rows > 2 * d
    scatter = np.concatenate([groups.scatter.sum(axis=0)[None], groups.scatter[large]]) + SMALLEST * np.eye(d)
    degrees = np.append(n_rows.sum() - n_groups, n_rows[large] - 1.0)
    widths = np.sqrt(np.diagonal(scatter, axis1=1, axis2=2))
    gains = -0.5 * degrees * np.linalg.slogdet(scatter / (widths[:, :, None] * widths[:, None]))[1]
    least = 0.25 * d * (d - 1) * np.log(degrees)
    if (gains - least)[1:].sum() > gains[0] - least[0]:
        return gains[1:].sum(), least[1:].sum()
    return gains[0], least[0]
