"""Priors of Gaussian clusters from the first rows: empirical Bayes, by the evidence of a pass over some of them.

Two numbers decide how many clusters there are: which share of a column's variance is within clusters, and how many rows
the guess of a covariance counts as. No share that is fixed beforehand serves 2 and 50 dimensions, since the ratio of a
new cluster's density to an old one's goes with the power D of a ratio of distances. So some pairs are tried, each by a
pass of assumed density filtering, whose sum of log predictive densities is the evidence of these rows.
"""

from dataclasses import dataclass, replace

import numpy as np

from sparsemix._estimator.input.columns import ColumnLimits
from sparsemix._estimator.input.gaussian_prior import prior_arguments
from sparsemix._stats import symmetric
from sparsemix._stats.families import GAUSSIANS
from sparsemix.clusters._gaussian._slots import GaussianSlots
from sparsemix.clusters._gaussian._steps import rounding
from sparsemix.clusters._model import StreamingModel
from sparsemix.clusters._state import ClusterState

# Rows that the evidence is of, at most: drawn from the first call.
SEARCH_ROWS = 1000
# Clusters of a pass, at most. A prior that wants one for each row is told from others well before.
MOST_CLUSTERS = 100
# Multiplications of a pass with matrices, at most: beyond some hundred dimensions rows and clusters are fewer.
MOST_PRODUCTS = 4e9
# Shares of the variance that is within clusters, from the largest down until the evidence falls three times in a row.
SHARES = 0.8 * 0.5 ** np.arange(10)
# Rows that the guess of a covariance counts as; the first pass through the shares tries two of them.
STRENGTHS = (2.0, 8.0, 32.0, 128.0, 512.0)
FIRST_STRENGTHS = (2.0, 32.0)
# Columns keep their shares within this factor of the median.
COLUMNS_APART = 4.0
# For clusters as they are, expected variances so many times those within them: strengths of few rows want other ones.
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)
# A scatter that is less than this share of the sum of squares that it is a difference of is round-off.
ROUND_OFF = 1e-14
# Rounds of: clusters from the prior, the prior from the clusters' own variances.
ROUNDS = 4


@dataclass(frozen=True)
class Guess:
    """One prior that was tried.

    Attributes
    ----------
    variances : ndarray of shape (D,)
        Expected within clusters.
    mean_precision : float
        kappa_0.
    strength : float
        Degrees of freedom beyond the least for which the covariance has a mean.
    evidence : float
        Log evidence of the rows under it.
    within : ndarray of shape (D,) or None
        Variances within the clusters that it made.
    """

    variances: np.ndarray
    mean_precision: float
    strength: float
    evidence: float = -np.inf
    within: np.ndarray = None


class PriorSearch:
    """The prior of largest evidence for one structure of covariances; what the caller gives stays as it is.

    Parameters
    ----------
    structure : str
        Of GAUSSIANS.
    arguments : dict
        Parameters of the prior that are given, or None, as ``prior_arguments`` has them.
    x : ndarray of shape (n, D)
        Rows, less their mean.
    weight : ndarray of shape (n,) or None
    mean : ndarray of shape (D,)
        Prior mean, relative to the same.
    partition, threshold
        Prior of the partition, and when a row opens a cluster.
    """

    def __init__(self, structure, arguments, x, weight, mean, partition, threshold):
        self.family = GAUSSIANS[structure](x.shape[1])
        if structure not in ("diag", "spherical"):
            x = x[: max(100, int(MOST_PRODUCTS / x.shape[1] ** 2 / MOST_CLUSTERS))]
            weight = None if weight is None else weight[: len(x)]
        self.most_clusters = int(np.clip(MOST_PRODUCTS / x.shape[1] ** 2 / len(x), 8, MOST_CLUSTERS))
        self.structure = structure
        self.arguments = arguments
        self.steps = rounding(x)
        self.least_variances = self.steps**2 / 12.0
        self.lumpy = lumpy(x)
        # a column that is recorded in steps has the density of its roundings: else equal values would be infinitely so
        self.x = x + self.steps * (np.random.default_rng(0).random(x.shape) - 0.5)
        self.weight = weight
        self.mean = mean
        self.partition = partition
        self.threshold = threshold
        self.total = self._total()
        self.best = None

    def run(self):
        """The best guess."""
        given = self.arguments["dof"]
        for strength in FIRST_STRENGTHS if given is None else (given - self._least,):
            self._through_shares(strength)
        for _ in range(ROUNDS if self.family.has_means else 0):
            before = self.best
            self._from_clusters(before)
            if self.best.evidence < before.evidence + 1.0:
                break
        return self.best

    def highest(self):
        """Log evidence of the best guess, or where that is more with the correlations that its clusters share.

        Without them a thousand rows of many columns say little for matrices, which they have yet to fill. As the prior
        of a fit they would cut skewed data into twice the pieces. They come from the rows that they are judged by: half
        a nat for each is what they would gain if there were none (Wilks 1938).
        """
        if self.structure != "full":
            return self.best.evidence
        d = self.family.n_features
        correlations = self._pooled(self._pass(self.prior(self.best))[1])
        guesses = [replace(self.best, strength=s) for s in STRENGTHS if 1 / 8 < s / self.best.strength < 8]
        highest = max(self._pass(self.prior(guess, correlations))[0] for guess in guesses)
        return max(self.best.evidence, highest - 0.5 * d * (d - 1) / 2)

    def widths(self):
        """Standard deviations of the columns within the clusters of the best guess, over their geometric mean, (D,)."""
        log_widths = 0.5 * np.log(self.best.within)
        return np.exp(log_widths - log_widths.mean())

    def prior(self, guess, correlations=None):
        """The family's prior with the expected variances of a guess; its correlations are for the rows to show."""
        dof = self._least + guess.strength
        scale = max(guess.strength, 1e-3)
        arguments = {**self.arguments, "dof": dof, "mean_precision": guess.mean_precision, "mean": self.mean}
        if self.structure == "diag":
            arguments["covariance"] = scale * guess.variances
        elif self.structure == "spherical":
            arguments["covariance"] = scale * guess.variances.mean()
        else:
            arguments["covariance"] = scale * self._matrix(guess.variances, correlations)
        return self.family.prior(None, **arguments)

    @property
    def _least(self):
        """Degrees of freedom from which on a covariance has a mean under the prior."""
        return 2.0 if self.structure in ("diag", "spherical") else self.family.n_features + 1.0

    def _matrix(self, variances, correlations):
        """Clusters around zero differ by the size of what they share, the correlations of all rows."""
        if self.family.has_means:
            scale = np.sqrt(variances)
            return np.diag(variances) if correlations is None else correlations * np.outer(scale, scale)
        scale = np.sqrt(variances / self.total)
        return self._correlated * scale * scale[:, None]

    def _total(self):
        """Variances of the columns without wild values; a constant column gets the mean of the varying
        ones, as no value of it can disagree.
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
            self._correlated = (n * second + d * np.diag(total)) / (n + d)  # definite, whatever the rows are
            self._correlated[limited, limited] = total[limited]
        return np.full(d, total.mean()) if self.structure == "spherical" else total

    def _through_shares(self, strength):
        highest, falls = -np.inf, 0
        for share in SHARES:
            evidence = self._try(Guess(share * self.total, self._kappa(share * self.total), strength))
            falls = 0 if evidence > highest else falls + 1
            highest = max(highest, evidence)
            if falls == 3:
                break

    def _from_clusters(self, guess):
        """Expected variances as they are within the clusters of a guess."""
        shares = guess.within / self.total
        usual = np.median(shares if self.lumpy.all() else shares[~self.lumpy])
        # what is one value most of the time says nothing of the clusters' sizes, and would say it loudest
        shares = np.where(self.lumpy, usual, np.clip(shares, usual / COLUMNS_APART, usual * COLUMNS_APART))
        variances = np.clip(shares, 1e-9, 0.95) * self.total
        if self.structure == "spherical":
            variances = np.full_like(variances, variances.mean())
        for strength in self._strengths(guess):
            self._try(Guess(variances, self._kappa(variances), strength))

    def _strengths(self, guess):
        """Those about the strength of a guess, or the one that is given."""
        if self.arguments["dof"] is not None:
            return (guess.strength,)
        return [strength for strength in STRENGTHS if guess.strength / 8 < strength < guess.strength * 8]

    def _kappa(self, variances):
        """kappa_0 for which rows vary as all rows do: the means have what the clusters leave."""
        given = self.arguments.get("mean_precision")
        if given is not None or not self.family.has_means:
            return given
        return 1.0 / max(float(np.mean(self.total / variances)) - 1.0, 1e-2)

    def _try(self, guess):
        """Evidence of a guess; the best one stays."""
        guess = replace(guess, variances=np.maximum(guess.variances, self.least_variances))
        evidence, stats = self._pass(self.prior(guess))
        if self.best is None or evidence > self.best.evidence:
            self.best = replace(guess, evidence=evidence, within=self._within(stats))
        return evidence

    def _pass(self, prior):
        """Log evidence of the rows in their order, and the statistics of the clusters that they make."""
        state = ClusterState(GaussianSlots(self.family, prior, shift=None))
        model = StreamingModel(self.partition, self.threshold, max_components=self.most_clusters)
        model.stream(self.x, self.weight, state, 0)
        return float(model.sums[0]), state.sums.stats(state.live(self.partition.discount))

    def _within(self, stats):
        """Variances of the columns about the means of clusters."""
        d, counts, second = self.family.n_features, np.asarray(stats["count"]), np.asarray(stats["second"])
        first = stats["first"] ** 2 if self.family.has_means else np.zeros((len(counts), d))
        if self.structure == "spherical":
            second, first = np.repeat(second / d, d, axis=1), first.mean(axis=1, keepdims=True)
        elif self.structure != "diag":
            second = second[:, symmetric.diagonal_positions(d)]
        scatter = second - first / counts[:, None]
        scatter[scatter < ROUND_OFF * second] = 0.0  # of a cluster far out
        scatter = scatter.sum(axis=0)
        return np.maximum(scatter / degrees_of(counts), 1e-9 * self.total)

    def _pooled(self, stats):
        """Correlations within clusters, shrunk as by a row for each column without any, (D, D)."""
        d, counts = self.family.n_features, np.asarray(stats["count"])
        scatter = symmetric.unpack(stats["second"] - symmetric.pack_outer(stats["first"]) / counts[:, None]).sum(axis=0)
        degrees = degrees_of(counts)
        scale = np.sqrt(np.maximum(np.diag(scatter), 1e-9 * degrees * self.total))
        return (degrees * scatter / np.outer(scale, scale) + d * np.eye(d)) / (degrees + d)


class ClustersPrior(PriorSearch):
    """The prior of largest evidence for clusters as they are; no pass is made.

    Parameters
    ----------
    sums : GaussianSlots
    slots : ndarray
        The clusters.
    arguments : dict
        As of PriorSearch.
    x : ndarray of shape (n, D)
        Their rows.
    """

    def __init__(self, sums, slots, arguments, x):
        super().__init__(sums.structure, arguments, x, None, sums.prior.mean[0], None, None)
        self.stats = sums.stats(slots)
        self.least_variances = 0.0 if sums.steps is None else sums.steps**2 / 12.0

    def run(self):
        """The best guess: all strengths, and variances about those within the clusters."""
        within = self._within(self.stats)
        for factor in FACTORS:
            self._from_clusters(Guess(within, None, None, within=factor * within))
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
    """Prior that clusters ask for, where the caller leaves it to the data; see ClustersPrior."""
    search = ClustersPrior(sums, slots, arguments, x)
    return search.prior(search.run())


def degrees_of(counts):
    """Rows less one for each cluster, at least one."""
    return max(counts.sum() - np.minimum(counts, 1.0).sum(), 1.0)


def lumpy(x):
    """Whether one value fills more than half of a column, (D,)."""
    middle = np.median(x, axis=0)
    return (x == middle).mean(axis=0) > 0.5


def search_prior(params, structures, rows, shift, partition, threshold):
    """Family and prior of largest evidence, for rows with a shift; the steps and the scales of their columns."""
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
    if best.structure == "spherical":
        best, scales = in_units_of_clusters(best, x, search)
    return best.family, best.prior(best.best), rounding(x), scales


def in_units_of_clusters(balls, x, search):
    """Balls, or where rows are likelier so balls in units in which columns within clusters are equally wide.

    Columns that were divided by their standard deviations are the usual case: how wide they are within clusters then
    depends on how far apart these are. The scales have the geometric mean one, so that densities are those of the rows
    as they came; half the logarithm of the rows for each of the others is what chance may gain (Schwarz 1978). How wide
    a column is that has one value most of the time cannot be told; where there is one, units stay as they came.

    Returns
    -------
    search : PriorSearch
    scales : ndarray of shape (D,) or None
        By which columns are divided.
    """
    if x.shape[1] == 1 or balls.lumpy.any():
        return balls, None
    scales = search("diag", x).widths()
    scaled = search("spherical", x / scales)
    least = 0.5 * (len(scales) - 1) * np.log(len(x))
    if scaled.best.evidence > balls.best.evidence + least:
        return scaled, scales
    return balls, None
