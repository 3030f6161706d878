"""Priors of Gaussian clusters from the first rows: empirical Bayes, by the evidence of an epoch over a sample.

Two numbers determine the number of clusters: the within-cluster share of a column's variance, and the weight of the
expected covariance in rows. No fixed share works in 2 and in 50 dimensions, since the ratio of a new cluster's density
to an old one's is the D-th power of a ratio of distances. The search tries some pairs. Each pair is evaluated by an
epoch of assumed density filtering, whose sum of log predictive densities is the evidence of these rows.
"""

from dataclasses import dataclass, replace

import numpy as np

from sparsemix._estimator.input.columns import ColumnLimits
from sparsemix._estimator.input.gaussian_prior import prior_arguments
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._models.clusters.model import StreamingModel
from sparsemix._models.clusters.state import ClusterState
from sparsemix._stats import symmetric
from sparsemix._stats.families import GAUSSIANS
from sparsemix.clusters._gaussian._steps import jitter, redundant

# Maximum number of rows for the evidence, sampled from the first call.
SEARCH_ROWS = 1000
# Maximum number of clusters in an epoch. It suffices to recognise a prior that opens a cluster for each row.
MOST_CLUSTERS = 100
# Maximum number of multiplications in an epoch with matrices. Beyond about a hundred dimensions it reduces rows and
# clusters.
MOST_PRODUCTS = 4e9
# Within-cluster shares of the variance, tried in decreasing order until the evidence falls three times in a row.
SHARES = 0.8 * 0.5 ** np.arange(10)
# Strengths: weights of the expected covariance, in rows. The first search over the shares tries two of them.
STRENGTHS = (2.0, 8.0, 32.0, 128.0, 512.0)
FIRST_STRENGTHS = (2.0, 32.0)
# Shares of columns are clipped to within this factor of their median.
COLUMNS_APART = 4.0
# Factors of the within-cluster variances that ClustersPrior tries as expected variances: the best one depends on the
# strength.
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)
# A scatter is a difference of sums of squares; below this share of the sum it is round-off.
ROUND_OFF = 1e-14
# Maximum number of rounds that alternate clusters given the prior and the prior given the clusters' variances.
ROUNDS = 4


@dataclass(frozen=True)
class Guess:
    """One candidate prior.

    Attributes
    ----------
    variances : ndarray of shape (D,)
        Expected variances within clusters.
    mean_precision : float
        kappa_0.
    strength : float
        Degrees of freedom above the minimum for which the expected covariance exists.
    evidence : float
        Log evidence of the rows under this prior.
    within : ndarray of shape (D,) or None
        Variances within the clusters that this prior gave.
    pooled : ndarray of shape (D, D) or None
        Correlations within these clusters.
    n_clusters : int
        Number of these clusters.
    correlations : ndarray of shape (D, D) or None
        Expected correlations within clusters. None means that none are expected.
    """

    variances: np.ndarray
    mean_precision: float
    strength: float
    evidence: float = -np.inf
    within: np.ndarray = None
    pooled: np.ndarray = None
    n_clusters: int = 0
    correlations: np.ndarray = None


class PriorSearch:
    """Search for the prior of largest evidence for one covariance structure; given parameters stay fixed.

    Parameters
    ----------
    structure : str
        Key of GAUSSIANS.
    arguments : dict
        Given parameters of the prior, or None, as ``prior_arguments`` returns them.
    x : ndarray of shape (n, D)
        Rows minus their mean.
    weight : ndarray of shape (n,) or None
    mean : ndarray of shape (D,)
        Prior mean minus the same mean.
    partition, threshold
        Prior of the partition, and threshold for opening a cluster.
    """

    def __init__(self, structure, arguments, x, weight, mean, partition, threshold):
        self.family = GAUSSIANS[structure](x.shape[1])
        # whether clusters may be expected to have correlations
        self.correlates = self.family.shape.correlated and self.family.has_means
        if self.family.shape.correlated:
            x = x[: max(100, int(MOST_PRODUCTS / x.shape[1] ** 2 / MOST_CLUSTERS))]
            weight = None if weight is None else weight[: len(x)]
        self.most_clusters = int(np.clip(MOST_PRODUCTS / x.shape[1] ** 2 / len(x), 8, MOST_CLUSTERS))
        self.structure = structure
        self.arguments = arguments
        self.steps = jitter(x)
        self.least_variances = self.steps**2 / 12.0
        self.lumpy = lumpy(x)
        # jitter within a rounding step: repeated values would have infinite density
        self.x = x + self.steps * (np.random.default_rng(0).random(x.shape) - 0.5)
        self.weight = weight
        self.mean = mean
        self.partition = partition
        self.threshold = threshold
        self.total = self._total()
        self.best = None

    def run(self):
        """Run the search; return the best guess."""
        self._search(None)
        if self.correlates and self.family.n_features > 1:
            self._correlate()
        return self.best

    def _search(self, correlations):
        """Try shares and strengths, then the variances within the clusters found."""
        given = self.arguments["dof"]
        for strength in FIRST_STRENGTHS if given is None else (given - self._least,):
            self._through_shares(strength, correlations)
        for _ in range(ROUNDS if self.family.has_means else 0):
            before = self.best
            self._from_clusters(before)
            if self.best.evidence < before.evidence + 1.0:
                break

    def _correlate(self):
        """Expect the correlations within the clusters found, if that has higher evidence and no more clusters.

        Without them a direction of variance far below those of the columns stays as wide as the prior. Pieces of
        skewed clusters have correlations too; expecting them gives more pieces. Correlations come from the same rows,
        so each must gain half the log of the number of rows, which chance may give (Schwarz 1978).
        """
        plain = self.best
        self._from_clusters(replace(plain, correlations=plain.pooled))
        if self.best is not plain:
            self._search(self.best.pooled)
        d = self.family.n_features
        least = 0.5 * np.log(len(self.x)) * d * (d - 1) / 2
        if self.best.evidence < plain.evidence + least or self.best.n_clusters > plain.n_clusters:
            self.best = plain

    def highest(self):
        """Log evidence of the best guess, or the larger one with the pooled correlations of its clusters.

        Without correlations, a thousand rows of many columns give little evidence for matrices. Correlations that gain
        too little for the prior of the fit may still show that matrices are right. They are estimated from the same
        rows, so half a nat is subtracted for each one, the expected gain if there were none (Wilks 1938).
        """
        if not self.correlates:
            return self.best.evidence
        d = self.family.n_features
        guesses = [replace(self.best, strength=s) for s in STRENGTHS if 1 / 8 < s / self.best.strength < 8]
        highest = max(self._pass(self.prior(replace(guess, correlations=self.best.pooled)))[0] for guess in guesses)
        return max(self.best.evidence, highest - 0.5 * d * (d - 1) / 2)

    def widths(self):
        """Standard deviations of the columns within clusters of the best guess, divided by their geometric mean, (D,).
        """
        log_widths = 0.5 * np.log(self.best.within)
        return np.exp(log_widths - log_widths.mean())

    def prior(self, guess):
        """The family's prior with the expected covariance of a guess."""
        dof = self._least + guess.strength
        scale = max(guess.strength, 1e-3)
        arguments = {**self.arguments, "dof": dof, "mean_precision": guess.mean_precision, "mean": self.mean}
        shape = self.family.shape
        if shape.correlated:
            arguments["covariance"] = scale * self._matrix(guess.variances, guess.correlations)
        else:
            arguments["covariance"] = scale * shape.of_variances(guess.variances)
        return self.family.prior(None, **arguments)

    @property
    def _least(self):
        """Minimum degrees of freedom for which the expected covariance exists."""
        return self.family.shape.least_dof_of_mean(self.family.n_features)

    def _matrix(self, variances, correlations):
        """Expected covariance. Zero-mean clusters use the correlations of all rows, and differ in scale."""
        if self.family.has_means:
            scale = np.sqrt(variances)
            matrix = np.diag(variances) if correlations is None else correlations * np.outer(scale, scale)
            return self._without_redundancy(matrix)
        scale = np.sqrt(variances / self.total)
        return self._correlated * scale * scale[:, None]

    def _without_redundancy(self, matrix):
        """An expected covariance with the variance of all rows in the directions of redundant columns.

        Copies of columns, totals and their parts leave directions of almost no variance. A prior that expects a share
        of the variance of the columns there would be many times too wide. A cluster with rows learns the small
        variance, so that each such direction would penalise a new cluster, and one cluster would take all rows.
        """
        variances, directions = self._redundant
        if not len(variances):
            return matrix
        scale = np.sqrt(self.total)
        kept = np.eye(len(scale)) - directions @ directions.T
        matrix = kept @ (matrix / np.outer(scale, scale)) @ kept + (directions * variances) @ directions.T
        return 0.5 * (matrix + matrix.T) * np.outer(scale, scale)

    def _total(self):
        """Variances of the columns without outliers. A constant column gets the mean variance of the varying columns.
        """
        n, d = self.x.shape
        weight = np.ones(n) if self.weight is None else self.weight
        has_means = self.family.has_means
        first = weight @ self.x / weight.sum() if has_means else np.zeros(d)
        variances = weight @ (self.x - first) ** 2 / weight.sum()
        varies = np.ptp(self.x, axis=0) > 0.0 if has_means else variances > 0.0
        total = ColumnLimits.of(self.x, has_means).variances(variances)
        total = np.where(varies, total, total[varies].mean() if varies.any() else 1.0)
        if not has_means:
            second = (self.x * weight[:, None]).T @ self.x / weight.sum()
            limited = varies & (total < variances)
            second[limited], second[:, limited] = 0.0, 0.0
            self._correlated = (n * second + d * np.diag(total)) / (n + d)  # always positive definite
            self._correlated[limited, limited] = total[limited]
        if self.correlates:
            centred = np.sqrt(weight / weight.sum())[:, None] * (self.x - first)
            limits = np.sqrt(total / np.where(varies, variances, total))  # of columns with outliers
            self._covariance = centred.T @ centred * np.outer(limits, limits)
            np.fill_diagonal(self._covariance, total)
            self._redundant = redundant(self._covariance / np.sqrt(np.outer(total, total)), n)
        return self.family.shape.pooled(total)

    def _through_shares(self, strength, correlations=None):
        highest, falls = -np.inf, 0
        for share in SHARES:
            evidence = self._try(share * self.total, strength, correlations)
            falls = 0 if evidence > highest else falls + 1
            highest = max(highest, evidence)
            if falls == 3:
                break

    def _from_clusters(self, guess):
        """Try the within-cluster variances and correlations of a guess as expected ones."""
        shares = guess.within / self.total
        usual = np.median(shares if self.lumpy.all() else shares[~self.lumpy])
        # a column of mostly one value gives no information on cluster sizes, but would dominate
        shares = np.where(self.lumpy, usual, np.clip(shares, usual / COLUMNS_APART, usual * COLUMNS_APART))
        variances = self.family.shape.pooled(np.clip(shares, 1e-9, 0.95) * self.total)
        correlations = None if guess.correlations is None else guess.pooled
        for strength in self._strengths(guess):
            self._try(variances, strength, correlations)

    def _strengths(self, guess):
        """Strengths near that of a guess, or the given one."""
        if self.arguments["dof"] is not None:
            return (guess.strength,)
        return [strength for strength in STRENGTHS if guess.strength / 8 < strength < guess.strength * 8]

    def _kappa(self, variances, correlations):
        """kappa_0 that gives the total variance: means have the part of it that is not within clusters.

        With correlations, directions count equally in units of their expected variances.
        """
        given = self.arguments.get("mean_precision")
        if given is not None or not self.family.has_means:
            return given
        ratio = np.mean(self.total / variances)
        if correlations is not None:
            expected, n_redundant = self._matrix(variances, correlations), len(self._redundant[0])
            scale = np.sqrt(np.diag(expected))
            ratio = np.trace(np.linalg.solve(*(m / np.outer(scale, scale) for m in (expected, self._covariance))))
            ratio = (ratio - n_redundant) / (len(scale) - n_redundant)  # redundant directions have the ratio one
        return 1.0 / max(float(ratio) - 1.0, 1e-2)

    def _try(self, variances, strength, correlations=None):
        """Evidence of a guess, which becomes ``best`` if it is higher."""
        kappa = self._kappa(variances, correlations)
        variances = np.maximum(variances, self.least_variances)
        guess = Guess(variances, kappa, strength, correlations=correlations)
        evidence, stats = self._pass(self.prior(guess))
        if self.best is None or evidence > self.best.evidence:
            pooled = self._pooled(stats) if self.correlates else None
            n_clusters = len(stats["count"])
            self.best = replace(
                guess, evidence=evidence, within=self._within(stats), pooled=pooled, n_clusters=n_clusters
            )
        return evidence

    def _pass(self, prior):
        """Log evidence of the rows in order, and the statistics of the resulting clusters."""
        state = ClusterState(GaussianSlots(self.family, prior, shift=None))
        model = StreamingModel(self.partition, self.threshold, max_components=self.most_clusters)
        model.stream(self.x, self.weight, state, 0)
        return float(model.sums[0]), state.sums.stats(state.live(self.partition.discount))

    def _within(self, stats):
        """Variances of the columns about the means of clusters."""
        counts = np.asarray(stats["count"])
        second, first = self.family.shape.second_moments(stats, self.family.n_features)
        scatter = second - first / counts[:, None]
        scatter[scatter < ROUND_OFF * second] = 0.0  # of a cluster far from zero
        scatter = scatter.sum(axis=0)
        return np.maximum(scatter / degrees_of(counts), 1e-9 * self.total)

    def _pooled(self, stats):
        """Correlations within clusters, shrunk by D pseudo-rows without correlation, (D, D)."""
        d, counts = self.family.n_features, np.asarray(stats["count"])
        scatter = symmetric.unpack(stats["second"] - symmetric.pack_outer(stats["first"]) / counts[:, None]).sum(axis=0)
        degrees = degrees_of(counts)
        scale = np.sqrt(np.maximum(np.diag(scatter), 1e-9 * degrees * self.total))
        correlations = degrees * scatter / np.outer(scale, scale) / (degrees + d)
        np.fill_diagonal(correlations, 1.0)
        return correlations


class ClustersPrior(PriorSearch):
    """Search for the prior of largest evidence for given clusters, without an epoch over the rows.

    Parameters
    ----------
    sums : GaussianSlots
    slots : ndarray
        Slots of the clusters.
    arguments : dict
        As of PriorSearch.
    x : ndarray of shape (n, D)
        Rows of the clusters.
    """

    def __init__(self, sums, slots, arguments, x):
        super().__init__(sums.family.name, arguments, x, None, sums.prior.mean[0], None, None)
        self.stats = sums.stats(slots)
        # correlations are expected if the prior of the stream expects them
        self.expected = self.correlates and has_correlations(sums.prior.scale)
        self.least_variances = 0.0 if sums.steps is None else sums.steps**2 / 12.0

    def run(self):
        """Try all strengths, with multiples of the within-cluster variances; return the best guess."""
        within = self._within(self.stats)
        pooled = self._pooled(self.stats) if self.expected else None
        for factor in FACTORS:
            self._from_clusters(Guess(within, None, None, within=factor * within, pooled=pooled, correlations=pooled))
        return self.best

    def _strengths(self, guess):  # noqa: ARG002
        given = self.arguments["dof"]
        return STRENGTHS if given is None else (given - self._least,)

    def _pass(self, prior):
        """Log evidence of the clusters."""
        post = self.family.posterior(prior, self.stats)
        gains = self.family.log_normalizers(post) - self.family.log_normalizers(prior)
        return float(gains.sum()), self.stats


def prior_of_clusters(sums, slots, arguments, x):
    """Prior of largest evidence for the clusters, within the given arguments; see ClustersPrior."""
    search = ClustersPrior(sums, slots, arguments, x)
    return search.prior(search.run())


def has_correlations(scale):
    """Whether a packed matrix (1, D (D + 1) / 2) has entries off its diagonal, beyond round-off."""
    matrix = symmetric.unpack(scale)[0]
    widths = np.sqrt(np.diag(matrix))
    return bool((np.abs(matrix / np.outer(widths, widths) - np.eye(len(matrix))) > ROUND_OFF).any())


def degrees_of(counts):
    """Degrees of freedom: mass of rows minus one for each cluster, at least one."""
    return max(counts.sum() - np.minimum(counts, 1.0).sum(), 1.0)


def lumpy(x):
    """Whether one value fills more than half of a column, (D,)."""
    middle = np.median(x, axis=0)
    return (x == middle).mean(axis=0) > 0.5


def search_prior(params, structures, rows, shift, partition, threshold):
    """Family and prior of largest evidence for shifted rows, and the rounding steps and scales of the columns."""
    selection = np.random.default_rng(1).permutation(len(rows))[:SEARCH_ROWS]  # rows may come sorted
    x, weight = rows.read(selection), rows.weight(selection)
    best, highest, scales = None, -np.inf, None

    def search(structure, x):
        arguments = prior_arguments(params, GAUSSIANS[structure](x.shape[1]), shift, "likelihood")
        mean = arguments.pop("mean", np.zeros(x.shape[1]))
        found = PriorSearch(structure, arguments, x, weight, mean, partition, threshold)
        found.run()
        return found

    for structure in structures:
        found = search(structure, x)
        evidence = found.highest() if len(structures) > 1 else np.inf
        if evidence > highest:
            best, highest = found, evidence
    if best.family.shape.one_variance:
        best, scales = in_units_of_clusters(best, x, search)
    return best.family, best.prior(best.best), jitter(x), scales


def in_units_of_clusters(balls, x, search):
    """Spherical clusters on the original columns, or on columns of equal within-cluster width if that has higher
    evidence.

    Often columns were divided by their total standard deviations; their within-cluster widths then depend on the
    distances between clusters. The scales have geometric mean one, so that densities are those of the original rows.
    Scales must gain half the log of the number of rows for each free one, which chance may give (Schwarz 1978). The
    width of a column of mostly one value is unknown; with such a column the original units stay.

    Returns
    -------
    search : PriorSearch
    scales : ndarray of shape (D,) or None
        Divisors of the columns.
    """
    if x.shape[1] == 1 or balls.lumpy.any():
        return balls, None
    scales = search("diag", x).widths()
    scaled = search("spherical", x / scales)
    least = 0.5 * (len(scales) - 1) * np.log(len(x))
    if scaled.best.evidence > balls.best.evidence + least:
        return scaled, scales
    return balls, None
