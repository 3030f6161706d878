"""Base class of mixtures with any likelihood: predictions, densities, and what their fits share."""

from copy import copy

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsemix._engine.blocks import Rows
from sparsemix._engine.loop import respond
from sparsemix._engine.threads import Workers
from sparsemix._estimator import features
from sparsemix._estimator.absent import Absent
from sparsemix._estimator.additive import AdditiveEstimator
from sparsemix._estimator.input.checks import check_explained, check_rows, check_weights
from sparsemix._kernels.vectors._log_sum import log_sum_exp
from sparsemix._models.mixture.candidates import CandidateLists
from sparsemix.mixture._starts._given import refuse_responsibilities


class MixtureEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, AdditiveEstimator):
    """A mixture with any likelihood; ``_fitted`` is its FittedMixture.

    In addition to what ``AdditiveEstimator`` requires, a subclass may override ``_checked(X)``, which checks rows,
    ``_exact_rows(X)``, which returns rows for predictions, and ``_rows(X)``, which returns rows as training reads them.
    """

    # Rows without a list of candidates try all components: a few random ones blur the initialisation. Benchmarks of
    # later epochs save the dense one.
    _fixed_params = AdditiveEstimator._fixed_params | {"all_first": True}
    predict_sparse_proba, transform = features.predict_sparse_proba, features.transform
    # Attributes of scikit-learn's clusterers.
    labels_ = Absent("a mixture does not keep labels of rows; call predict(X), or fit_predict(X) instead of fit(X)")
    inertia_ = Absent("a mixture has no sum of squared distances; compare mixtures by score(X)")

    def fit_predict(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn the mixture and return the component of each row.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Rows, as for ``fit``.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row in learning.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int64
            As ``fit(X).predict(X)``.
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def predict(self, X):
        """Component with the largest responsibility for each row, over all K; the lower index in a tie.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int64
        """
        rows, workers = self._ready(X)
        labels = np.empty(len(rows), dtype=np.int64)

        def best(start, stop, weights):
            labels[start:stop] = weights.argmax(axis=1)
            check_explained(weights.max(axis=1), start)

        with workers:
            self._fitted.each_tile("responsibility", rows, workers, best)
        return labels

    def predict_proba(self, X):
        """Responsibilities of all components as a dense array; for many components use ``predict_sparse_proba``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        resp : ndarray of shape (n_samples, n_components)
            In the dtype of ``X``; each row sums to one.
        """
        rows, workers = self._ready(X)
        resp = np.empty((len(rows), self._fitted.model.n_components), dtype=rows.dtype)

        def softmax(start, stop, weights):
            largest = weights.max(axis=1, keepdims=True)
            check_explained(largest, start)
            weights -= largest
            np.exp(weights, out=resp[start:stop])
            resp[start:stop] /= resp[start:stop].sum(axis=1, keepdims=True)

        with workers:
            self._fitted.each_tile("responsibility", rows, workers, softmax)
        return resp

    def _sparse_responsibilities(self, X):
        check_is_fitted(self)
        X = self._checked(X)
        model = copy(self._fitted.model)
        model.search = None  # exact
        rows = self._rows(X)
        with Workers(self._params.n_jobs) as workers:
            resp, _ = respond(model, rows, slice(0, len(rows)), workers)
        return resp.to_csr(model.n_components).astype(features.feature_dtype(X), copy=False)

    def score_samples(self, X):
        """Log density of each row under the mixture of all K components at their point estimates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64
            Natural logarithms.

        Notes
        -----
        The point estimates of VB are posterior means (Hughes and Sudderth 2016, Section 4). For covariances these are B
        / (nu - n_features - 1). In EM they are the maximum likelihood estimates.
        """
        rows, workers = self._ready(X, density=True)
        with workers:
            return self._log_density(rows, workers)

    def _log_density(self, rows, workers):
        out = np.empty(len(rows))

        def log_density(start, stop, weights):
            log_sum_exp(weights, out[start:stop])

        self._fitted.each_tile("density", rows, workers, log_density)
        return out

    def score(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Mean of ``score_samples``. It is comparable between all K, L and classes of mixtures.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; use held-out rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row in the mean.

        Returns
        -------
        log_likelihood : float
        """
        log_density = self.score_samples(X)
        return float(np.average(log_density, weights=check_weights(sample_weight, len(log_density))))

    def aic(self, X):
        """Akaike's information criterion of rows, -2 log likelihood + 2 parameters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        aic : float
            Lower is better.
        """
        return self._criterion(X, lambda _: 2.0)

    def bic(self, X):
        """Bayesian information criterion of rows, -2 log likelihood + log(n_samples) parameters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        bic : float
            Lower is better.
        """
        return self._criterion(X, np.log)

    def _criterion(self, X, price):
        """-2 log likelihood of rows + the price of a parameter, a function of their number."""
        log_density, model = self.score_samples(X), self._fitted.model
        n_parameters = model.family.n_parameters(model.n_components) + model.n_components - 1
        return -2.0 * float(np.average(log_density)) * len(log_density) + price(len(log_density)) * n_parameters

    @property
    def weights_(self):
        """Mixture weights of shape (n_components,); posterior means in VB."""
        return self._attribute("weights_").weights

    @property
    def _n_features_out(self):
        return self._fitted.model.n_components

    def __sklearn_is_fitted__(self):
        """Whether the estimator is fitted."""
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _attribute(self, name):
        """The fitted mixture; before a fit the AttributeError of a missing attribute."""
        if not hasattr(self, "_fitted"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r} before it is fitted")
        return self._fitted

    def _ready(self, X, density=False):
        check_is_fitted(self)
        return self._exact_rows(self._checked(X, density)), Workers(self._params.n_jobs)

    def _drawn_components(self, n_samples):
        """Components of the rows to draw, in increasing order, and the generator for the rows."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples is {n_samples}; ask for at least one row")
        rng = check_random_state(self._params.random_state)
        return np.repeat(np.arange(len(self.weights_)), rng.multinomial(n_samples, self.weights_)), rng

    def _checked(self, X, density=False):  # noqa: ARG002
        """Checked rows to predict, or to give a ``density`` of."""
        return check_rows(self, X, reset=False)

    def _exact_rows(self, X):
        """Rows in their own dtype if tables of this dtype can represent the model, else in the model's dtype."""
        dtype = X.dtype if self._fitted.in_single_precision else self._fitted.model.dtype
        return Rows(X, shift=self._fitted.model.shift, dtype=dtype)

    def _rows(self, X, sample_weight=None, model=None):
        """Rows in the form that a model reads, by default the fitted model."""
        model = self._fitted.model if model is None else model
        return Rows(X, sample_weight, model.shift, model.dtype)

    # -- inside a fit or a stream

    def _check_enough(self, rows, remedy):
        params = self._params
        if len(rows) < params.n_components:
            raise ValueError(
                f"n_samples={len(rows)} rows with positive weight are fewer than n_components={params.n_components}; "
                + remedy
            )

    def _attributes(self, monitor):
        attributes = super()._attributes(monitor)
        if self._params.candidates == "auto":
            attributes["_fitted"].model.search = None  # rows of a stream have no lists
        return attributes

    def _row_memory(self, model, n_rows, first_row):
        return None if model.search is None else CandidateLists(n_rows, model.search.size, first_row)

    def _refuse_blocks(self):
        refuse_responsibilities(self._params.init_params)
