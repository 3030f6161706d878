"""Predictions, densities and attributes of mixtures without a fixed number of clusters."""

from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator import features
from sparsemix._estimator.absent import UNFITTED, Absent, by_fit
from sparsemix._estimator.input.checks import check_explained, check_weights
from sparsemix._estimator.input.forms import COUNTS, NUMBERS, NUMBERS_OR_COUNTS
from sparsemix._estimator.summary.columns import Numbers, Shares
from sparsemix._estimator.summary.summary import summary
from sparsemix._kernels.vectors._log_sum import log_sum_exp
from sparsemix._rows.blocks import spans
from sparsemix._typing import Array, RowsLike, Weights
from sparsemix.clusters._parameters import MAY_BE_COUNTS, OF_COUNTS, check_data, weighted_rows
from sparsemix.clusters._stepped_rows import ScaledRows

# Scores of one tile.
TILE_SCORES = 1 << 17
# Rows of one block of words.
BLOCK = 4096


class FittedClusters:
    """Predictive distributions of the clusters of a state, computed on first use and not pickled.

    Parameters
    ----------
    prior : NGGP
    state : ClusterState
    rule : {"mode", "quadrature"}
        Treatment of U in the weight of a new cluster.
    expected : float
        Number of clusters in the posterior of U.
    """

    shared = False  # whether another object may use the same state

    def __init__(self, prior, state, rule, expected):
        self.prior = prior
        self.state = state
        self.rule = rule
        self.expected = expected

    def __getstate__(self):
        return {name: vars(self)[name] for name in ("prior", "state", "rule", "expected")}

    @cached_property
    def slots(self):
        """Slots of the published clusters, in order of creation."""
        live = self.state.live(self.prior.discount)
        return live[np.argsort(self.state.ids[live])]

    @property
    def masses(self):
        """Expected number of rows in each cluster, (K,)."""
        return self.state.counts[self.slots]

    @cached_property
    def log_weights(self):
        """Log prior probability of each cluster for the next row, and last of a new cluster, (K + 1,)."""
        if not len(self.slots):
            return np.zeros(1)
        new = self.prior.log_new_weight(self.state.mass, self.expected, self.rule)
        weights = np.append(np.log(self.state.counts[self.slots] - self.prior.discount), new)
        return weights - logsumexp(weights)

    def each_tile(self, rows, function, every=False):
        """``function(start, stop, weights, new)``: log prior + log predictive density of rows, (n, K) and (n,).

        Clusters with a negligible share of a row get minus infinity; with ``every`` all weights are computed.
        """
        if not len(self.slots):
            raise ValueError(
                "there is no cluster yet, only rows without words or of weights below discount were seen; fit rows "
                "with words"
            )
        state, log_weights = self.state, self.log_weights
        columns = slice(None) if np.array_equal(self.slots, np.arange(state.n_slots)) else self.slots
        log_prior = np.full(state.n_slots, -np.inf)
        log_prior[self.slots] = log_weights[:-1]
        tile = max(16, TILE_SCORES // state.n_slots)
        for first, last in spans(len(rows), BLOCK):
            kernel = state.sums.kernel(rows.read(slice(first, last)), state.n_slots)
            for start, stop in spans(last - first, tile):
                scores, new = kernel.scores(start, stop, None if every else log_prior)
                weights = np.add(scores[:, columns], log_weights[:-1], order="C")
                function(first + start, first + stop, weights, new + log_weights[-1])

    def log_density(self, rows):
        """Log predictive density of each row, a new cluster included, (n,)."""
        out = np.empty(len(rows))

        def mix(start, stop, weights, new):
            part = out[start:stop]
            log_sum_exp(weights, part)
            np.logaddexp(part, new, out=part)

        self.each_tile(rows, mix)
        return out


def no_labels(estimator):
    """Reason for missing labels of the last fit, with a remedy."""
    return f"{by_fit(estimator)}, or predict(X)" if hasattr(estimator, "_fitted") else UNFITTED


class ClusterPredictMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods and attributes computed from ``_fitted``, a FittedClusters."""

    _fixed_params = {"n_nonzero": None}  # noqa: RUF012
    _learns_from_missing = "SparseGaussianMixture"  # named where missing values are refused
    _counts = None  # whether rows are word counts, if a caller decided it for likelihood="auto"
    converged_, history_, n_iter_ = Absent(by_fit), Absent(by_fit), Absent(by_fit)
    labels_ = Absent(no_labels)
    predict_sparse_proba, transform = features.predict_sparse_proba, features.transform
    summary = summary
    # Attributes of scikit-learn's clusterers.
    cluster_centers_ = Absent("read means_, the means of the clusters")
    inertia_ = Absent("a mixture has no sum of squared distances; compare mixtures by score(X)")

    def predict(self, X: RowsLike) -> Array:
        """Cluster with the largest responsibility for each row; the older one in a tie.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int64
            Indices into ``weights_`` and the other attributes by cluster. ``cluster_ids_[labels]`` are the permanent
            numbers of the clusters, which do not change as a stream continues.
        """
        return self._labels(self._rows(X))

    def predict_proba(self, X: RowsLike) -> Array:
        """Responsibilities of the clusters as a dense array; for many clusters use ``predict_sparse_proba``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        resp : ndarray of shape (n_samples, n_clusters), float64
            Each row sums to one. The probability of a new cluster is left out.
        """
        rows = self._rows(X)
        resp = np.empty((len(rows), self.n_clusters_))

        def respond(start, stop, weights, new):  # noqa: ARG001
            check_explained(weights.max(axis=1), start)
            resp[start:stop] = softmax(weights, axis=1)

        self._fitted.each_tile(rows, respond, every=True)
        return resp

    def _sparse_responsibilities(self, X):
        check_is_fitted(self)
        X = check_data(self, X, reset=False)[0]
        rows, dtype, tiles, n_nonzero = self._read(X), features.feature_dtype(X), [], self._params.n_nonzero

        def keep(start, stop, weights, new):  # noqa: ARG001
            check_explained(weights.max(axis=1), start)
            resp = softmax(weights, axis=1)
            resp[resp < 1e-6] = 0.0
            if n_nonzero is not None and n_nonzero < resp.shape[1]:
                others = np.argsort(-resp, axis=1, kind="stable")[:, n_nonzero:]
                np.put_along_axis(resp, others, 0.0, axis=1)
            tiles.append(sparse.csr_array((resp / resp.sum(axis=1, keepdims=True)).astype(dtype, copy=False)))

        self._fitted.each_tile(rows, keep)
        return sparse.csr_array(sparse.vstack(tiles))

    def score_samples(self, X: RowsLike) -> Array:
        """Log predictive density of each row given all learned rows; it includes the probability of a new cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64
            Natural logarithms. For word counts, densities of the words in order, without the multinomial coefficient.
        """
        return self._log_density(self._rows(X))

    def score(self, X: RowsLike, y: object = None, sample_weight: Weights = None, per: str = "row") -> float:  # noqa: ARG002
        """Mean log predictive density of rows; use held-out rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row in the mean.
        per : {"row", "token"}, default="row"
            Unit of the mean; "token" is for word counts.

        Returns
        -------
        score : float
            Comparable between all numbers of clusters, priors and settings of the same likelihood.
        """
        rows = self._rows(X)
        if per not in ("row", "token") or (per == "token" and self._fitted.state.sums.has_covariances):
            raise ValueError(f"per={per!r}; it must be 'row', or for likelihood='multinomial' 'token'")
        log_density = self._log_density(rows)
        weight = check_weights(sample_weight, len(log_density))
        if per == "row":
            return float(np.average(log_density, weights=weight))
        weight = np.ones(len(log_density)) if weight is None else weight
        lengths = rows.lengths()
        if not weight @ lengths > 0:
            raise ValueError("no document of X has a token, so there is no score per token")
        return float(weight @ log_density / (weight @ lengths))

    # -- the clusters

    @property
    def n_clusters_(self):
        """Number of clusters that a row may join."""
        return len(self._attribute("n_clusters_").slots)

    @property
    def likelihood_(self):
        """Likelihood in use: ``likelihood``, or the choice of "auto"."""
        return self._attribute("likelihood_").state.sums.likelihood

    @property
    def cluster_ids_(self):
        """Permanent number of each cluster, in order of creation, (n_clusters,)."""
        fitted = self._attribute("cluster_ids_")
        return fitted.state.ids[fitted.slots]

    @property
    def counts_(self):
        """Expected mass of rows in each cluster n_k, (n_clusters,)."""
        return self._attribute("counts_").masses

    @property
    def weights_(self):
        """Prior probability of each cluster for the next row, (n_clusters,); they sum to 1 - ``new_weight_``."""
        return np.exp(self._attribute("weights_").log_weights[:-1])

    @property
    def new_weight_(self):
        """Prior probability that the next row opens a cluster."""
        return float(np.exp(self._attribute("new_weight_").log_weights[-1]))

    @property
    def means_(self):
        """Posterior means of the clusters, (n_clusters, n_features): word distributions, or means of rows."""
        fitted = self._attribute("means_")
        return fitted.state.sums.means(fitted.slots)

    @property
    def covariances_(self):
        """Posterior mean covariances of Gaussian clusters, in scikit-learn's shapes; see ``column_scales_``."""
        return self._gaussian_sums("covariances_").covariances(self._fitted.slots)

    @property
    def column_scales_(self):
        """Scales by which columns are divided, (n_features,); ones except for "spherical" clusters.

        They are standard deviations within clusters, divided by their geometric mean. Densities therefore equal those
        of the original rows. ``covariances_`` describes divided columns, ``means_`` original columns.
        """
        sums = self._gaussian_sums("column_scales_")
        return np.ones(sums.n_features) if sums.scales is None else sums.scales.copy()

    def _gaussian_sums(self, name):
        """Slots of Gaussian clusters; raises for clusters of counts, which lack the attribute."""
        sums = self._attribute(name).state.sums
        if not sums.has_covariances:
            raise AttributeError(f"likelihood 'multinomial' has no covariances and no attribute {name!r}")
        return sums

    @property
    def n_samples_seen_(self):
        """Number of learned rows of positive weight."""
        return self._attribute("n_samples_seen_").state.n_rows

    @property
    def _takes(self):
        if self._params.likelihood in OF_COUNTS:
            return COUNTS
        return NUMBERS_OR_COUNTS if self._params.likelihood in MAY_BE_COUNTS else NUMBERS

    @property
    def _n_features_out(self):
        return self.n_clusters_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._params.likelihood in MAY_BE_COUNTS
        tags.input_tags.positive_only = self._params.likelihood in OF_COUNTS
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _columns(self, names, shares):
        """What ``summary`` says of the columns."""
        sums, slots = self._fitted.state.sums, self._fitted.slots
        if not sums.has_covariances:
            return [Shares.of_words(names, sums.means(slots), shares)]
        return [Numbers.of_moments(names, sums.means(slots), sums.variances(slots), shares)]

    def _rows(self, X):
        """Checked rows in the form that the fitted clusters read."""
        check_is_fitted(self)
        return self._read(check_data(self, X, reset=False)[0])

    def _read(self, X):
        """Rows that are already checked, in the form that the fitted clusters read."""
        sums = self._fitted.state.sums
        if not sums.has_covariances:
            return weighted_rows(X, True, None)[0]
        return ScaledRows(weighted_rows(X, False, None, sums.shift)[0], sums.scales)

    def _labels(self, rows):
        labels = np.empty(len(rows), dtype=np.int64)

        def best(start, stop, weights, new):  # noqa: ARG001
            check_explained(weights.max(axis=1), start)
            labels[start:stop] = weights.argmax(axis=1)

        self._fitted.each_tile(rows, best)
        return labels

    def _log_density(self, rows):
        return self._fitted.log_density(rows)
