"""Initial statistics of a fit: values that the caller gives, and the clusters that define the rest."""

import numpy as np

from sparsemix._engine import initialize
from sparsemix._engine.loop import collect, respond
from sparsemix._heuristics.mixture import policy
from sparsemix._heuristics.mixture.exchanges import exchange_components
from sparsemix._heuristics.mixture.labelled import balanced, clusters_of_labels
from sparsemix._heuristics.mixture.policy import few_components
from sparsemix._heuristics.mixture.seeds import (
    by_isolation,
    column_ranges,
    column_scales,
    kmeans,
    round_clusters,
    rows_for_shape,
)  # fmt: skip
from sparsemix._heuristics.mixture.splitting import climb, climb_from, grow, sized
from sparsemix._kernels.vectors import _log_sum
from sparsemix._models.mixture.few import FewGaussians, lower_bound
from sparsemix._models.mixture.model import MixtureModel
from sparsemix._rows.blocks import Rows, spans
from sparsemix._stats.altered import altered
from sparsemix._stats.families import Gaussians
from sparsemix._stats.responsibilities import SparseResponsibilities

SEEDINGS = (
    "auto", "kmeans", "kmeans_scaled", "kmeans_range", "kmeans_shape", "k-means++", "splitting", "bregman",
    "random_from_data", "random",
)  # fmt: skip
# Shares of isolated rows that initialisations with a background leave out, if they exceed twice the expected share. The
# true share may be far from the expected one; 0.6 suffices for two fifths of wrong rows.
LEFT_OUT = 0.3, 0.6
# Number of initialisations that get exchanges, the highest ones, for each of ``n_init``.
EXCHANGED = 2
# Held-out rows in one tile.
HELD_TILE = 512


def data_gaussian(family, rows, workers):
    """All rows as one Gaussian of the family, which scales the default prior."""
    one = MixtureModel(family, None, 1, 1, rows.dtype, rows.shift)
    moments = one_component if rows.source is None else rows.source.moments
    return family.maximum_likelihood(moments(one, rows, workers), 0.0)


def one_component(one, rows, workers):
    """Statistics of all rows under a model of one component."""
    resp = SparseResponsibilities.from_labels(np.zeros(len(rows), dtype=np.int32))
    return collect(one, rows, slice(0, len(rows)), workers, given=resp)


class Start:
    """Initial statistics of a mixture, scaled to all rows.

    Given responsibilities, and clusters of all rows, are used directly. Clusters of a random subset become Gaussians
    smoothed by the prior, with one extra row each, scaled to all rows. Smoothing prevents overconfidence of clusters of
    few rows; the extra row keeps empty clusters alive.

    Parameters
    ----------
    model : MixtureModel
        The model to fit.
    learner : VariationalMixture
        The model for steps of the initialisation. In VB it is ``model`` with another prior of the weights. In EM it is
        a mixture with default priors, since maximum likelihood overfits few rows. Its ``wide_prior`` has the data's
        scale.
    seeding : str
        Name of the method if no responsibilities and no means are given.
    n_init_iter : int
        Hard-assignment iterations under the clusters' Gaussians before the statistics are computed.
    init_size : int
        Rows of the subset.
    given : Given
        Parameters and responsibilities that the caller gives.
    n_init : int
        Number of initialisations by each method.

    Attributes
    ----------
    method : str
        Name of the initialisation in use.
    row_labels : ndarray of shape (N,) or None
        Numbers of the rows' labels, which the caller may set.
    background : Background or None
        A background, which the caller may set.
    owners : ndarray of shape (K,) or None
        Number of the label of each component.
    """

    row_labels = owners = background = None

    def __init__(self, model, learner, seeding, n_init_iter, init_size, given, n_init=1):
        self.model = model
        self.learner = learner
        self.family = model.family
        self.seeding = seeding
        self.n_init_iter = n_init_iter
        self.n_init = n_init
        self.init_size = init_size
        self.given = given
        self.method = "given"
        self.hard = MixtureModel(model.family, None, model.n_components, 1, model.dtype, model.shift)

    def stats(self, rows, rng, workers):
        """Statistics of mass N."""
        given = self.given
        if given.covariances is not None and (given.means is not None or not self.family.has_means):
            return self._spread(np.ones(self.model.n_components), None, rows.mass)
        if given.responsibilities is not None:
            resp, everything = SparseResponsibilities.from_matrix(given.responsibilities), slice(0, len(rows))
            if not given.any_parameters():
                return collect(self.model, rows, everything, workers, given=resp)  # without smoothing
            return self._from_clusters(rows, everything, resp, workers)
        size = max(self.init_size, self.model.n_components)
        if self.row_labels is not None:
            return self._labelled(rows, balanced(self.row_labels, size, rng), rng, workers)
        selection = rows.with_values(subset(rows, size, rng), self.model.n_components)
        if self.background is not None:
            return self._without_background(rows, selection, rng, workers)
        return self._of_selection(rows, selection, rng, workers)

    def _of_selection(self, rows, selection, rng, workers):
        """Statistics from chosen rows."""
        if self.given.means is not None:
            return self._from_clusters(rows, selection, self._nearest(rows, selection, workers), workers)
        return self._seeded(rows, selection, rng, workers)

    def _without_background(self, rows, selection, rng, workers):
        """Statistics from rows without isolated ones; more are left out where all rows then become more likely.

        Clusters of isolated rows would be broad components, which compete with the background.
        """
        ordered, least, best, highest = by_isolation(rows, selection), self.model.n_components, None, -np.inf
        some = Rows(rows.read(selection), rows.weight(selection))
        expected, steps, tol = 2.0 * self.background.share, policy.POLICY.climb_steps, policy.POLICY.climb_tol
        for share in (expected, *(each for each in LEFT_OUT if each > expected)):
            kept = np.sort(ordered[: max(least, len(ordered) - int(share * len(ordered)))])
            stats = self._of_selection(rows, kept, rng, workers)
            model = altered(self.learner, background=self.background)
            initial = self.background.join(stats.copy().scale(some.mass / rows.mass), some.mass)
            resp = climb_from(initial, model, some, steps, workers, tol)[1]
            score = np.average(resp.log_z, weights=some.sample_weight)
            if best is None or score > highest + tol:
                best, highest = (self.method, stats), score
        self.method, stats = best
        return stats

    def _seeded(self, rows, selection, rng, workers):
        """Statistics from the best of the tried initialisations."""
        some = Rows(rows.read(selection), rows.weight(selection))
        few = few_components(self.model.n_components)
        self.method, resp = (self._highest if few else self._likeliest)(some, rng, workers)
        everything = slice(0, len(some))
        for _ in range(self.n_init_iter):
            resp = self._assign(self._smoothed(some, everything, resp, workers)[1], some, everything, workers)
        return self._of_subset(some, resp, rows.mass, workers)

    def _highest(self, some, rng, workers):
        """Method and responsibilities of the initialisation with the highest bound, as climbs and exchanges end.

        Exchanges cost most, and only the highest ones after climbs get them.
        """
        methods, seen, tried = self._methods(some) * self.n_init, [], []
        few = FewGaussians.of(self.learner, some)
        for method in methods:
            found = labels(method, self.learner, some, self.model.n_components, rng, workers)
            if not any(same_clusters(found, each) for each in seen):
                seen.append(found)
                tried.append((method, SparseResponsibilities.from_labels(found)))
        exchanges = self._exchanges(some)
        most = EXCHANGED * self.n_init if exchanges else 1
        if len(tried) > most:
            steps, tol = policy.POLICY.climb_steps, policy.POLICY.climb_tol
            climbs = [climb(self.learner, some, resp, steps, workers, tol, few) for _, resp in tried]
            bounds = [lower_bound(self.learner, stats, few) for stats, _ in climbs]
            order = np.argsort(-np.array(bounds), kind="stable")[:most]
            tried = [(tried[i][0], climbs[i][1] if exchanges else tried[i][1]) for i in order]
        if not exchanges:
            return tried[0]
        ends = [exchange_components(self.learner, some, resp, rng, workers, few=few) for _, resp in tried]
        best = int(np.argmax([bound for bound, _ in ends]))
        return tried[best][0], ends[best][1]

    def _likeliest(self, some, rng, workers):
        """Method and responsibilities of the initialisation under which held-out rows are most likely."""
        n_components = self.model.n_components
        first, *others = self._methods(some)
        tried = [labels(first, self.learner, some, n_components, rng, workers)]
        if others and n_components >= policy.POLICY.trial_from:
            others = others if promising(others, tried[0], self.learner, some, rng, workers) else []
        methods = [first, *others] * self.n_init
        tried += [labels(each, self.learner, some, n_components, rng, workers) for each in methods[1:]]
        best = best_labels(tried, self.learner, some, rng, workers) if len(tried) > 1 else 0
        resp = SparseResponsibilities.from_labels(tried[best])
        if self._exchanges(some):
            resp = exchange_components(self.learner, some, resp, rng, workers)[1]
        return methods[best], resp

    def _labelled(self, rows, selection, rng, workers):
        """Statistics of clusters of the rows of each label."""
        some = Rows(rows.read(selection), rows.weight(selection))
        self.method = self._methods(some)[0]

        def cluster(part, n):
            return labels(self.method, sized(self.learner, n), part, n, rng, workers)

        n_components = self.model.n_components
        chosen, self.owners = clusters_of_labels(some, self.row_labels[selection], n_components, cluster, rng)
        return self._of_subset(some, SparseResponsibilities.from_labels(chosen), rows.mass, workers)

    def _of_subset(self, some, resp, mass, workers):
        """Statistics of mass ``mass`` from clusters of a subset of the rows."""
        everything = slice(0, len(some))
        if some.mass == mass and self.model.posterior is not None and not self.given.any_parameters():
            return collect(self.model, some, everything, workers, given=resp)
        return self._spread(*self._smoothed(some, everything, resp, workers), mass)

    def _methods(self, some):
        """Names of the methods to try on these rows."""
        if self.seeding != "auto":
            return [self.seeding]
        if self.model.n_components == 1:
            return ["random_from_data"]
        if not self.family.has_means:
            first, others = "bregman", []
        elif self.family.shape.one_variance:  # depends on the units of the columns
            first, others = "kmeans", []
        else:
            first, others = "kmeans_range", ["kmeans"]
            if self.family.n_features > 1 and len(some) >= rows_for_shape(self.family.n_features):
                others = ["kmeans", "kmeans_shape"]
        # clusters of few rows: a component for most rows predicts well, but joins clusters
        return [first, *others] if few_components(self.model.n_components) else [first, "splitting"]

    def _exchanges(self, some):
        """Whether to exchange components; with few rows for each covariance the evidence joins clusters."""
        family, n = self.family, self.model.n_components
        needed = policy.POLICY.rows_per_column * family.n_features * (1 if family.tied else n)
        enough = len(some) >= needed or not family.shape.correlated
        return self.seeding == "auto" and n > 2 and enough and policy.POLICY.exchanges

    def _from_clusters(self, rows, selection, resp, workers):
        return self._spread(*self._smoothed(rows, selection, resp, workers), rows.mass)

    def _smoothed(self, rows, selection, resp, workers):
        """Counts and smoothed Gaussians of the clusters."""
        stats = collect(self.learner, rows, selection, workers, given=resp)
        return stats["count"] + 1.0, self.learner.point_estimate(stats)

    def _spread(self, counts, gaussians, mass):
        """Statistics of mass ``mass``; given parameters replace those of the clusters."""
        means, covariances, weights = self.given.means, self.given.covariances, self.given.weights
        if means is None:
            zeros = np.zeros((self.model.n_components, self.family.n_features))
            means = gaussians.means if gaussians is not None else zeros
        covariances = gaussians.covariances if covariances is None else covariances
        weights = counts / counts.sum() if weights is None else weights
        stats = self.family.stats_of(Gaussians(self.family.structure, means, covariances), mass * weights)
        stats.shift = self.model.shift
        return stats

    def _nearest(self, rows, selection, workers):
        """The nearest given mean of each row, in the metric of the default prior's covariance."""
        covariances = self.family.point_estimate(self.learner.wide_prior).covariances
        if not self.family.tied:
            covariances = np.repeat(covariances, self.model.n_components, axis=0)
        gaussians = Gaussians(self.family.structure, self.given.means, covariances)
        return self._assign(gaussians, rows, selection, workers)

    def _assign(self, gaussians, rows, selection, workers):
        """The most likely component of each row under equal weights."""
        table = gaussians.table(np.zeros(self.model.n_components), self.model.dtype)
        return respond(altered(self.hard, table=table), rows, selection, workers)[0]


def subset(rows, size, rng):
    """A random subset of the rows, in order; all rows if they are few."""
    if len(rows) <= size:
        return slice(0, len(rows))
    return np.sort(rng.choice(len(rows), size=size, replace=False))


# -- choice


def same_clusters(first, second):
    """Whether two arrays of labels, numbers from 0 on, divide rows in the same way."""
    pairs = np.bincount(first.astype(np.int64) * (second.max() + 1) + second)
    n_pairs = np.count_nonzero(pairs)
    return n_pairs == np.count_nonzero(np.bincount(first)) == np.count_nonzero(np.bincount(second))


def best_labels(tried, learner, rows, rng, workers):
    """Index of the labels whose Gaussians give held-out rows the highest likelihood.

    A later one must exceed the best so far by more than ``Policy.sure`` standard errors of the mean difference, so that
    a few rows with extreme densities cannot decide.
    """
    n_held = min(int(policy.POLICY.held_out * len(rows)), policy.POLICY.most_held_out)
    if n_held < 2 or len(rows) - n_held < learner.n_components:
        return 0
    order = rng.permutation(len(rows))
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    weight = np.ones(n_held) if rows.sample_weight is None else rows.sample_weight[held]
    some, best, best_score = Rows(rows.X[kept], rows.weight(kept)), 0, None
    for i, each in enumerate(tried):
        score = short_run(learner, each[kept], some, rows.X[held], workers)
        if best_score is None or ahead(score - best_score, weight):
            best, best_score = i, score
    return best


def promising(methods, first, learner, rows, rng, workers):
    """Whether one of the methods is better than the first clusters, on the rows of some of these."""
    n = learner.n_components // policy.POLICY.trial
    place = np.full(learner.n_components, -1, dtype=np.int32)
    place[rng.permutation(np.unique(first))[:n]] = np.arange(min(n, len(np.unique(first))))
    part = np.flatnonzero(place[first] >= 0)
    few, learner = Rows(rows.X[part], rows.weight(part)), sized(learner, n)
    tried = [place[first[part]], *(labels(method, learner, few, n, rng, workers) for method in methods)]
    return best_labels(tried, learner, few, rng, workers) > 0


def short_run(learner, labels, rows, held, workers):
    """Log densities of held-out rows after a few steps on the remaining rows."""
    resp = SparseResponsibilities.from_labels(labels)
    stats, _ = climb(learner, rows, resp, policy.POLICY.judge_steps, workers)
    log_weights = np.log(learner.weights.mean(stats["count"]))
    table = learner.point_estimate(stats).table(log_weights, held.dtype)
    log_densities = np.empty(len(held))

    def share(first, last):
        weights = table.weights(held[first:last], np.empty((last - first, len(log_weights)), held.dtype))
        _log_sum.log_sum_exp(weights, log_densities[first:last])

    workers.map(share, spans(len(held), HELD_TILE))
    return log_densities


def ahead(difference, weight):
    """Whether a weighted mean difference is significant, and more than rounding."""
    mean = np.average(difference, weights=weight)
    variance = np.average((difference - mean) ** 2, weights=weight)
    return mean > max(policy.POLICY.climb_tol, policy.POLICY.sure * np.sqrt(variance / len(difference)))


# -- methods

# Divisors of columns for k-means.
SCALES = {"kmeans_scaled": column_scales, "kmeans_range": column_ranges}


def labels(method, learner, rows, n_components, rng, workers):
    """Cluster of each of the rows by one of the methods of ``init_params``."""
    x, weight = rows.read(slice(0, len(rows))), rows.weight(slice(0, len(rows)))
    if method == "splitting":
        return grow(learner, rows, n_components, rng, workers)
    if method == "random":
        return initialize.random_labels(len(x), n_components, rng)
    if method == "kmeans":
        return kmeans(x, n_components, weight, rng, workers)
    if method in SCALES:
        return kmeans(x / SCALES[method](x), n_components, weight, rng, workers)
    if method == "kmeans_shape":
        return kmeans(round_clusters(x, n_components, weight, rng), n_components, weight, rng, workers)
    if method == "k-means++":
        return kmeans(x, n_components, weight, rng, workers, max_iter=1)
    from_row = learner.family.item_divergences(learner.wide_prior, x)
    if method == "bregman":
        return initialize.plus_plus(from_row, len(x), n_components, rng, weight)
    return initialize.random_centres(from_row, len(x), n_components, rng, weight, in_parts=True)
