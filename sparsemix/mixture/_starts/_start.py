"""Initial statistics of a fit: values that the caller gives, and the clusters that define the rest."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from sparsemix._engine import initialize
from sparsemix._engine.blocks import Rows
from sparsemix._engine.loop import collect, respond
from sparsemix._estimator.input.forms import numbers_of
from sparsemix._estimator.input.gaussian_prior import check_covariances, check_means, check_shape
from sparsemix._models.mixture.model import MaximumLikelihoodMixture, MixtureModel
from sparsemix._stats.families import Gaussians
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix.mixture._annotations.labels import balanced, clusters_of_labels
from sparsemix.mixture._starts._splitting import column_ranges, column_scales, exchange_components, grow, learn, sized

K_MEANS = "kmeans", "kmeans_scaled", "kmeans_range"
SEEDINGS = "auto", *K_MEANS, "k-means++", "splitting", "bregman", "random_from_data", "random"
# k-means need not converge here. These limit its iterations, its iterations on large problems, and the number of
# multiplications on these. Without iterations, rows join the nearest seed, and epochs improve the clusters.
KMEANS_ITER, FEW_KMEANS_ITER = 20, 8
KMEANS_NUMBERS = 40_000_000_000
# k-means++ draws its centres from at most this many rows per component; assignments use all rows.
SEED_ROWS = 10
# Up to this number of multiplications each centre is the best of several draws (greedy k-means++).
GREEDY_NUMBERS = 1_000_000_000
# Minimum width of a row in cost estimates.
LEAST_WIDTH = 16
# With more pairs of a row and a cluster, k-means works in cells.
KMEANS_MOST_PAIRS = 4_000_000_000
# Up to KMEANS_PAIRS pairs of a row and a cluster, k-means runs KMEANS_INIT times, and the most compact clusters stay.
KMEANS_INIT, KMEANS_PAIRS = 5, 100_000
# "auto" compares initialisations after JUDGE_STEPS steps, by the likelihood of a held-out share of the subset's rows.
JUDGE_STEPS = 2
# With ``n_init`` > 1 initialisations of one kind differ less, so more steps precede the comparison.
JUDGE_STEPS_OF_MANY = 10
HELD_OUT, MOST_HELD_OUT = 0.25, 4_000
# Number of weights of held-out rows in one tile.
WEIGHTS = 1 << 22
# An initialisation replaces an earlier one if it is better by this number of standard errors. A single row can cause a
# difference of one.
SURE = 1.1
# Exchanges must gain more standard errors, and extreme differences are clipped: the density of one outlier can change
# by hundreds of nats.
EXCHANGED = {"sure": 2.0, "extreme": 0.05}
# From this number on, components describe a density rather than clusters, and "auto" also tries splitting.
SPLITTING_FROM = 16
# From TRIAL_FROM components on, other methods first run on a part of the rows: those of every TRIAL-th k-means cluster,
# with one component per such cluster. A method that is worse than k-means there is skipped. Fewer components on all
# rows would be no test: 300 clusters look like a continuum to 37 components.
TRIAL_FROM, TRIAL = 128, 8
# EM moves seeds if there are fewer components and at least this many rows. More components would have few rows each.
# Fewer rows would leave too few held-out rows for a decision.
LIKELY_BELOW, LIKELY_ROWS = 64, 1_000
# Steps of EM, which is slow to spread components over a surface, and of VB for comparison.
EM_STEPS, VB_STEPS = 30, 10
# The variance of a column is its influence on k-means. If the effective number of columns by variance is below this
# share, k-means on columns of equal standard deviation is tried too. Spherical components use raw columns, other types
# columns of range one.
FEW_COLUMNS, FEW_COLUMNS_OF_RANGE_ONE = 0.25, 0.5


@dataclass
class Given:
    """Checked values; None if not given. Covariances have the family's shape, and means are relative to the shift."""

    weights: np.ndarray | None = None
    means: np.ndarray | None = None
    covariances: np.ndarray | None = None
    responsibilities: sparse.csr_array | None = None

    @classmethod
    def of(cls, init_params, model, n_rows, kept):
        """Check the values of ``init_params`` for a mixture of Gaussians and ``n_rows`` rows."""
        values = given_values(init_params, "weights", "means", "precisions", "responsibilities")
        family, n_components, out = model.family, model.n_components, cls()
        if "weights" in values:
            out.weights = check_weights_of("init_params['weights']", values["weights"], n_components)
        if "means" in values:
            if not family.has_means:
                raise ValueError("covariance_type='zero_mean' has no means; give init_params={'precisions': ...}")
            name = "init_params['means']" if isinstance(init_params, dict) else "init_params"
            means = check_means(name, values["means"], (n_components, family.n_features))
            out.means = means - model.shift
        if "precisions" in values:
            precisions = check_covariances("init_params['precisions']", values["precisions"], family, n_components)
            out.covariances = family.pack_covariances(family.shape.inverse(precisions))
        if "responsibilities" in values:
            out.responsibilities = check_responsibilities(values["responsibilities"], n_rows, n_components, kept)
        return out

    def any_parameters(self):
        """Whether weights, means or covariances are given."""
        return any(value is not None for value in (self.weights, self.means, self.covariances))


def given_values(init_params, *names):
    """The values that ``init_params`` gives by name: none if it is a name, means if it is an array."""
    if isinstance(init_params, str):
        return {}
    if not isinstance(init_params, dict):
        return {"means": init_params}
    unknown = [name for name in init_params if name not in names]
    if unknown:
        known = ", ".join(map(repr, names))
        raise ValueError(f"init_params has the key {unknown[0]!r}; the keys may be {known}")
    return {name: value for name, value in init_params.items() if value is not None}


def check_weights_of(name, weights, n_components):
    """Weights of components, checked."""
    weights = check_shape(name, weights, (n_components,))
    if (weights < 0).any() or not np.isclose(weights.sum(), 1.0):
        raise ValueError(f"{name} must not be negative and sum to one; they sum to {weights.sum()}")
    return weights


def check_responsibilities(resp, n_rows, n_components, kept):
    """Checked responsibilities (N, K), dense or sparse, as CSR of the rows that the mask ``kept`` selects."""
    name, n_rows = "init_params['responsibilities']", n_rows if kept is None else len(kept)
    resp = numbers_of(resp, name)
    resp = sparse.csr_array(check_array(resp, accept_sparse="csr", dtype=np.float64, input_name=name))
    if resp.shape[0] != n_rows:
        raise ValueError(f"{name} has {resp.shape[0]} rows, expected one for each of the {n_rows} rows of X")
    if resp.shape[1] != n_components:
        raise ValueError(f"{name} has {resp.shape[1]} columns, expected one for each of {n_components} components")
    bad = np.flatnonzero((np.asarray(resp.sum(axis=1)).ravel() <= 0) | (resp.min(axis=1).toarray().ravel() < 0))
    if len(bad):
        raise ValueError(f"row {bad[0]} of {name} is not a distribution; give no negative numbers, and a positive sum")
    return resp if kept is None else resp[kept]


def refuse_responsibilities(init_params):
    """Refuse responsibilities for a fit over blocks."""
    if isinstance(init_params, dict) and init_params.get("responsibilities") is not None:
        raise ValueError(
            "init_params['responsibilities'] has a row for every row of the data, which a fit over blocks does not "
            "hold; give means, or the name of an initialisation"
        )


def refuse_values(init_params):
    """Refuse initial values for a fit with labels."""
    if not isinstance(init_params, str):
        raise ValueError(
            "labels determine which rows each component starts from; with labels, give init_params a name instead of "
            "values"
        )


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
    given : Given or None
        Given parameters and responsibilities.
    n_init : int
        Number of initialisations by each method.

    Attributes
    ----------
    method : str
        Name of the initialisation in use.
    row_labels : ndarray of shape (N,) or None
        Numbers of the rows' labels, which the caller may set.
    owners : ndarray of shape (K,) or None
        Number of the label of each component.
    """

    row_labels = owners = None

    def __init__(self, model, learner, seeding, n_init_iter, init_size, given=None, n_init=1):
        self.model = model
        self.learner = learner
        self.family = model.family
        self.seeding = seeding
        self.n_init_iter = n_init_iter
        self.n_init = n_init
        self.init_size = init_size
        self.given = Given() if given is None else given
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
        if given.means is not None:
            return self._from_clusters(rows, selection, self._nearest(rows, selection, workers), workers)
        return self._seeded(rows, selection, rng, workers)

    def _seeded(self, rows, selection, rng, workers):
        """Statistics from the best of the tried initialisations, by the likelihood of held-out rows."""
        some = Rows(rows.read(selection), rows.weight(selection))
        everything = slice(0, len(some))
        n_components = self.model.n_components
        methods = self._methods(some)
        first = labels(methods[0], self.learner, some, n_components, rng, workers)
        if methods[0] in K_MEANS and len(methods) > 1 and n_components >= TRIAL_FROM:
            methods = self._trial(methods, first, some, rng, workers)
        methods = methods * (self.n_init if n_components > 1 else 1)
        tried = [first, *(labels(each, self.learner, some, n_components, rng, workers) for each in methods[1:])]
        best = self._best(tried, self.learner, some, rng, workers) if len(tried) > 1 else 0
        self.method, chosen = methods[best], tried[best]
        if self._exchanges():
            after = exchange_components(self.learner, some, chosen, rng, workers)
            if after is not None and self._best([chosen, after], self.learner, some, rng, workers, **EXCHANGED):
                chosen = after
        if self._likely(some):
            tried = likely(self.learner, some, chosen, workers)
            if self._best(tried, self.learner, some, rng, workers, **EXCHANGED):
                chosen = tried[1]
        resp = SparseResponsibilities.from_labels(chosen)
        for _ in range(self.n_init_iter):
            resp = self._assign(self._smoothed(some, everything, resp, workers)[1], some, everything, workers)
        return self._of_subset(some, resp, rows.mass, workers)

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
        """Names of the methods to try."""
        n_components = self.model.n_components
        if self.seeding != "auto":
            return [self.seeding]
        if n_components == 1:
            return ["random_from_data"]
        if not self.family.has_means:
            return ["bregman", "random_from_data", "splitting"]
        if self.family.tied and self.family.shape.one_variance:  # its epochs are those of k-means: seeds are enough
            return ["kmeans" if few_pairs(len(some), n_components) else "k-means++"]
        clusters, raw = n_components < SPLITTING_FROM, self.family.shape.one_variance
        if clusters and not raw:  # no scaling is best everywhere, and two cost little
            return ["kmeans_range", "kmeans_scaled"]
        variances = some.X.var(axis=0, dtype=np.float64)
        if not raw:
            variances /= np.square(column_ranges(some.X), dtype=np.float64)
        share = FEW_COLUMNS if raw else FEW_COLUMNS_OF_RANGE_ONE
        few = variances.sum() ** 2 < share * len(variances) * (variances**2).sum()
        methods = ["kmeans" if raw else "kmeans_range"] + ["kmeans_scaled"] * bool(few)
        return methods if clusters else [*methods, "splitting"]

    def _exchanges(self):
        """Whether to exchange components: if they are few, k-means may have divided clusters badly."""
        return self.seeding == "auto" and self.family.has_means and 2 < self.model.n_components < SPLITTING_FROM

    def _likely(self, some):
        """Whether to try EM steps on the seeds."""
        if self.seeding != "auto" or self.model.posterior is None:
            return False
        shaped = self.family.shape.correlated and not self.family.tied  # other types gain nothing
        return shaped and 1 < self.model.n_components < LIKELY_BELOW and len(some) >= LIKELY_ROWS

    def _trial(self, methods, first, some, rng, workers):
        """The first method, and the best other method if it wins on the rows of some clusters of the first."""
        clusters = rng.permutation(np.unique(first))[: self.model.n_components // TRIAL]
        place = np.full(self.model.n_components, -1, dtype=np.int32)
        place[clusters] = np.arange(len(clusters))
        part = np.flatnonzero(place[first] >= 0)
        few, learner = Rows(some.X[part], some.weight(part)), sized(self.learner, len(clusters))
        tried = [labels(method, learner, few, len(clusters), rng, workers) for method in methods[1:]]
        best = self._best([*tried, place[first[part]]], learner, few, rng, workers)
        return [methods[0], *methods[1:][best : best + 1]]

    def _best(self, tried, learner, some, rng, workers, **how):
        """Index of the labels whose Gaussians give held-out rows the highest likelihood.

        A later one must exceed the best so far by more than SURE standard errors of the mean difference, so that a few
        rows with extreme densities cannot decide.
        """
        n_held = min(int(HELD_OUT * len(some)), MOST_HELD_OUT)
        if n_held < 2 or len(some) - n_held < learner.n_components:
            return 0
        order = rng.permutation(len(some))
        held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
        weight = np.ones(n_held) if some.sample_weight is None else some.sample_weight[held]
        best, best_score = 0, None
        for i, each in enumerate(tried):
            score = self._short_run(learner, each[kept], Rows(some.X[kept], some.weight(kept)), some.X[held], workers)
            if best_score is None or ahead(score - best_score, weight, **how):
                best, best_score = i, score
        return best

    def _short_run(self, learner, labels, rows, held, workers):
        """Log densities of held-out rows after a few steps on the remaining rows."""
        stats, _ = learn(learner, rows, labels, JUDGE_STEPS if self.n_init == 1 else JUDGE_STEPS_OF_MANY, workers)
        log_weights = np.log(learner.weights.mean(stats["count"]))
        table = learner.point_estimate(stats).table(log_weights, held.dtype)
        scratch = np.empty((max(1, WEIGHTS // len(log_weights)), len(log_weights)), held.dtype)
        tiles = [held[start : start + len(scratch)] for start in range(0, len(held), len(scratch))]
        return np.concatenate([logsumexp(table.weights(tile, scratch[: len(tile)]), axis=1) for tile in tiles])

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
        self.hard.table = gaussians.table(np.zeros(self.model.n_components), self.model.dtype)
        return respond(self.hard, rows, selection, workers)[0]


def subset(rows, size, rng):
    """A random subset of the rows, in order; all rows if they are few."""
    if len(rows) <= size:
        return slice(0, len(rows))
    return np.sort(rng.choice(len(rows), size=size, replace=False))


def ahead(difference, weight, sure=SURE, extreme=0.0):
    """Whether a weighted mean difference is significant; the ``extreme`` share at each end is clipped."""
    if extreme:
        difference = np.clip(difference, *np.quantile(difference, [extreme, 1.0 - extreme]))
    mean = np.average(difference, weights=weight)
    variance = np.average((difference - mean) ** 2, weights=weight)
    return mean > sure * np.sqrt(variance / len(difference))


# -- seeds

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
        return kmeans(x, n_components, weight, rng)
    if method in SCALES:
        return kmeans(x / SCALES[method](x), n_components, weight, rng)
    if method == "k-means++":
        return kmeans(x, n_components, weight, rng, max_iter=1, n_init=1)
    from_row = learner.family.item_divergences(learner.wide_prior, x)
    if method == "bregman":
        return initialize.plus_plus(from_row, len(x), n_components, rng, weight)
    return initialize.random_centres(from_row, len(x), n_components, rng, weight, in_parts=True)


def few_pairs(n_rows, n_clusters):
    """Whether k-means is cheap enough to repeat."""
    return n_rows * n_clusters <= KMEANS_PAIRS


def kmeans(x, n_clusters, weight, rng, max_iter=None, n_init=None):
    """Labels of scikit-learn's k-means, or for very many clusters of ours, which tries only nearby clusters."""
    few, width = few_pairs(len(x), n_clusters), max(x.shape[1], LEAST_WIDTH)
    if min(len(x), SEED_ROWS * n_clusters) * n_clusters > KMEANS_MOST_PAIRS:
        max_iter = FEW_KMEANS_ITER if max_iter is None else max_iter
        return initialize.kmeans_in_cells(x, n_clusters, weight, SEED_ROWS * n_clusters, max_iter, rng)
    if max_iter is None:
        numbers = len(x) * n_clusters * width
        max_iter = KMEANS_ITER if numbers <= GREEDY_NUMBERS else min(FEW_KMEANS_ITER, KMEANS_NUMBERS // numbers)
    seed = int(rng.integers(2**31 - 1))
    if weight is not None:  # scikit-learn casts them to the dtype of the rows
        weight = np.ldexp(weight, -np.frexp(weight.max())[1])
    init, n_init = "k-means++", (KMEANS_INIT if few else 1) if n_init is None else n_init
    if not few:
        chosen = rng.choice(len(x), size=min(len(x), SEED_ROWS * n_clusters), replace=False)
        greedy = len(chosen) * n_clusters * width <= GREEDY_NUMBERS
        trials = 2 + int(np.log(n_clusters)) if greedy else 1
        init = initialize.euclidean_centres(x[chosen], n_clusters, trials, rng)
    if max_iter == 0:
        return initialize.nearest_centres(x, init)
    with warnings.catch_warnings():
        # fewer distinct rows than clusters: the remaining clusters start from the prior
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=seed).fit(
            x, sample_weight=weight
        ).labels_  # fmt: skip


def likely(learner, rows, labels, workers):
    """Labels after steps of VB, and after more steps of EM with the variance floor of VB.

    VB penalises uncertain components, and small components are the most uncertain. So rows join large components before
    all components have converged. If components overlap or cover a surface, EM steps before VB lead to a better bound.
    With few rows per component EM overfits. Held-out rows decide.
    """
    floor = 0.0 if learner.floor is None else learner.floor
    sizes = learner.n_components, learner.n_nonzero, learner.dtype, learner.shift
    models = (learner, VB_STEPS), (MaximumLikelihoodMixture(learner.family, floor, *sizes), EM_STEPS)
    return [learn(model, rows, labels, steps, workers)[1] for model, steps in models]
