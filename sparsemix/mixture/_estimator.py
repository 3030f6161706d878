"""Base class of mixtures with any likelihood: fits, streams, predictions and densities."""

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsemix._compat import Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.loop import respond
from sparsemix._estimator import features
from sparsemix._estimator.absent import Absent
from sparsemix._estimator.additive import Additive
from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import (
    COUNT,
    N_JOBS,
    POSITIVE,
    SMALLEST_NUMBER,
    STEP_SIZE,
    Several,
    check_number,
    n_observed,
    weighted_mean,
)
from sparsemix._estimator.learning import fit_rows
from sparsemix._estimator.streams import absorb_rows, statistics_of
from sparsemix._estimator.summary.summary import summary
from sparsemix._rows.threads import Workers
from sparsemix._stats.altered import altered
from sparsemix._stats.weights import EqualWeights
from sparsemix._typing import Array, Folder, RowsLike, Weights

NATURAL = Interval(numbers.Integral, 1, None, closed="left")
# Constraints of the parameters that all mixtures have.
CONSTRAINTS = {
    "n_components": [NATURAL],
    "n_nonzero": [NATURAL, None],
    "inference": [StrOptions({"vb", "em"})],
    "learning_method": [StrOptions({"batch", "memoized", "online"})],
    "candidates": [StrOptions({"auto", "all"}), NATURAL],
    "weight_concentration_prior": [Interval(numbers.Real, SMALLEST_NUMBER, np.inf, closed="both"), None],
    "max_iter": [Interval(numbers.Integral, 0, None, closed="left")],
    "tol": [Interval(numbers.Real, 0.0, None, closed="left")],
    "batch_size": [NATURAL, None],
    "total_samples": [COUNT, None],
    "step_size": [*STEP_SIZE, Several(StrOptions({"half_life"}), POSITIVE)],
    "warm_start": ["boolean"],
    "dense_output": ["boolean"],
    "n_jobs": [*N_JOBS],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}

class MixtureEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, Additive):
    """A mixture with any likelihood; ``_fitted`` is its FittedMixture.

    A subclass defines ``_recipe``, whose recipe has, in addition to the methods of ``Recipe``,

    - ``readable(estimator, X, density)``: checked rows to predict, or to give a density of;
    - ``exact_rows(fitted, X)``: rows for predictions;
    - ``as_learned(fitted, X)``: the fitted model, and rows as learning reads them;
    - ``columns(fitted, names, shares)``: what a summary says of the columns.
    """

    predict_sparse_proba, transform = features.predict_sparse_proba, features.transform
    summary = summary
    # Attributes of scikit-learn's clusterers.
    labels_ = Absent("a mixture does not keep labels of rows; call predict(X), or fit_predict(X) instead of fit(X)")
    inertia_ = Absent("a mixture has no sum of squared distances; compare mixtures by score(X)")

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None, checkpoint: Folder = None) -> Self:  # noqa: ARG002
        """Learn the mixture from all rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. float32, float64 and CSR need no conversion, and ``fit`` makes no copy. Mixtures of Gaussians take
            dense rows only.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: a row of weight 2 counts as two rows.
        checkpoint : path-like, default=None
            Folder for this fit only. The fit writes its state there after every epoch. After a crash, the same call
            continues from there and gives the same bits. It refuses other rows or parameters, except ``max_iter``,
            ``tol``, ``dense_output``, ``n_jobs`` and ``verbose``. If the fit has ended, the call loads its result.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            For invalid values, with their row; negative weights; fewer rows than components; priors that are not
            positive definite. A previously fitted model stays unchanged.
        """
        return fit_rows(self, self._recipe(), X, sample_weight, checkpoint)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Learn from one more block of a stream.

        With ``total_samples=None`` every row counts the same: the statistics are the sum over all blocks. With
        ``step_size=("half_life", h)`` the sum is discounted, and components whose clusters have ended take a half of
        components whose rows show two clusters. With ``total_samples`` the blocks are batches of a data set of that
        size, and step t moves the statistics towards those of the block by ``(t + offset) ** -decay``, the numbers of
        ``step_size``. Use it if rows repeat.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of the block. The first block initialises the mixture and needs at least ``n_components`` rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            As ``fit``, or if ``n_components`` or ``inference`` changed. A failed call leaves the model unchanged.

        Notes
        -----
        Changes of ``n_nonzero``, ``total_samples`` and ``step_size`` take effect at once; priors and candidates stay.
        """
        return absorb_rows(self, self._recipe(), X, sample_weight)

    def expected_stats(
        self, X: RowsLike, sample_weight: Weights = None, *, first_row: int | None = None, memory: Any = None
    ) -> Any:
        """Expected sufficient statistics of rows under the fitted model, which stays unchanged.

        Add the statistics of several blocks, in any order and on any machine, and give the sum to
        ``update_from_stats``. One ``partial_fit`` is one ``expected_stats`` followed by one ``update_from_stats``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        first_row : int, default=None
            Index of the first row of X in the whole data. It seeds random numbers and appears in errors. None means 0.
        memory : object, default=None
            Result of ``row_memory`` for these rows. The call starts from the state of the previous visit and updates
            it.

        Returns
        -------
        stats : SufficientStatistics
            Sums by component: ``stats["count"]`` (K,), and sums of the rows: ``"first"`` (K, n_features), or, depending
            on the covariance type, ``"first"``, ``"second"`` or ``"scatter"`` of the rows minus a shift that the model
            stores, and for "low_rank" sums of factors.
        """
        return statistics_of(self, self._recipe(), X, sample_weight, first_row, memory)

    # -- predictions

    def fit_predict(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Array:  # noqa: ARG002
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
        self.fit(X, sample_weight=sample_weight)
        return self.labels_.copy() if "labels_" in vars(self) else self.predict(X)

    def predict(self, X: RowsLike) -> Array:
        """Component with the largest responsibility for each row, over all K; the lower index in a tie.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int64
        """
        return self._of_rows(X, "labels")

    def predict_proba(self, X: RowsLike) -> Array:
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
        return self._of_rows(X, "responsibilities")

    def _of_rows(self, X, method, **annotations):
        rows, workers = self._ready(X, **annotations)
        with workers:
            return getattr(self._fitted, method)(rows, workers)

    def _sparse_responsibilities(self, X):
        check_is_fitted(self)
        recipe = self._recipe()
        X = recipe.readable(self, X)
        model, rows = recipe.as_learned(self._fitted, X)
        model = altered(model, search=None)  # exact
        with Workers(self._params.n_jobs) as workers:
            resp, _ = respond(model, rows, slice(0, len(rows)), workers)
        return resp.to_csr(model.n_components).astype(features.feature_dtype(X), copy=False)

    def score_samples(self, X: RowsLike) -> Array:
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
            return self._fitted.log_density(rows, workers)

    def score(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> float:  # noqa: ARG002
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
        return weighted_mean(self.score_samples(X), sample_weight)

    def aic(self, X: RowsLike) -> float:
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

    def bic(self, X: RowsLike) -> float:
        """Bayesian information criterion, -2 log likelihood + log(n) parameters, of the n rows with a value.

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

    def icl(self, X: RowsLike) -> float:
        """Integrated completed likelihood: ``bic`` of rows whose components were known, those of ``predict``.

        It exceeds ``bic`` by -2 times the sum of the logarithms of the largest responsibilities [1]_. So it prefers
        fewer components than ``bic`` where components overlap, and counts clusters rather than densities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        icl : float
            Lower is better.

        References
        ----------
        .. [1] Biernacki, C., Celeux, G. and Govaert, G., "Assessing a Mixture Model for Clustering with the Integrated
           Completed Likelihood", IEEE TPAMI 2000.
        """
        return self.bic(X) - 2.0 * float(self._of_rows(X, "certainties").sum())

    def _criterion(self, X, price):
        """-2 log likelihood of rows + the price of a parameter, a function of their number."""
        log_density, model = self.score_samples(X), self._fitted.model
        n_weights = 0 if isinstance(model.weights, EqualWeights) else model.n_components - 1
        free = model.family.n_parameters(model.n_components) + n_weights + (model.background is not None)
        n_rows = n_observed(self._recipe().readable(self, X))
        return -2.0 * float(np.average(log_density)) * len(log_density) + price(n_rows) * free

    @published
    def weights_(self):
        """Mixture weights of shape (n_components,); posterior means in VB."""
        return self._attribute("weights_").weights

    @published
    def weight_concentration_prior_(self):
        """Concentration of the prior of the weights (VB): the given value or the default."""
        return self._attribute("weight_concentration_prior_", variational=True).model.weights.concentration

    @property
    def _n_features_out(self):
        return self._fitted.model.n_components

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _attribute(self, name, variational=False):
        """See SparsemixEstimator; ``variational`` attributes are missing after EM too."""
        fitted = super()._attribute(name)
        if variational and not fitted.model.variational:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r} after inference='em'")
        return fitted

    def _columns(self, names, shares):
        return self._recipe().columns(self._fitted, names, shares)

    def _ready(self, X, density=False, **annotations):
        check_is_fitted(self)
        recipe = self._recipe()
        rows = recipe.exact_rows(self._fitted, recipe.readable(self, X, density), **annotations)
        return rows, Workers(self._params.n_jobs)

    def _drawn_components(self, n_samples):
        """Components of the rows to draw, in increasing order, and the generator for the rows."""
        check_is_fitted(self)
        check_number("n_samples", n_samples)
        rng = check_random_state(self._params.random_state)
        return np.repeat(np.arange(len(self.weights_)), rng.multinomial(n_samples, self.weights_)), rng
