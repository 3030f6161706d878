"""Base class of mixtures with any likelihood: fits, streams, predictions and densities."""

import numbers
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsemix._compat import Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.loop import respond
from sparsemix._engine.schedules import Batch, Memoized, Stochastic
from sparsemix._estimator import features
from sparsemix._estimator.absent import Absent, check_continues
from sparsemix._estimator.additive import AdditiveEstimator, FitSetup
from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import (
    COUNT,
    N_JOBS,
    POSITIVE,
    SMALLEST_NUMBER,
    STEP_SIZE,
    Several,
    check_number,
    check_rows,
    n_observed,
    weighted_mean,
)
from sparsemix._models.mixture.candidates import PATIENCE, CandidateLists, CandidateSearch
from sparsemix._models.mixture.linear_search import SparseSearch
from sparsemix._rows.blocks import Rows
from sparsemix._rows.rates import rule_of
from sparsemix._rows.threads import Workers
from sparsemix._stats.altered import altered
from sparsemix._stats.weights import EqualWeights
from sparsemix._typing import Array, Folder, RowsLike, Weights
from sparsemix.mixture._fitted import FittedMixture
from sparsemix.mixture._initial_values import refuse_responsibilities

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
    "n_jobs": [*N_JOBS],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}
# Default batch sizes. A memoized batch is a tenth of the data. An online batch replaces much of the statistics, so it
# needs enough rows of each component for a covariance.
BATCH_ROWS, BATCH_ROWS_PER_COMPONENT, MEMOIZED_BATCHES = 1_000, 10, 10
# Length of a row's list of candidates, and minimum number of components for lists, of dense and of sparse rows.
CANDIDATES, CANDIDATES_FROM = 4, {False: 100, True: 500}


def kept_entries(params):
    """L: the minimum of ``n_nonzero`` and K; None means K."""
    return params.n_components if params.n_nonzero is None else min(params.n_nonzero, params.n_components)


class MixtureEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, AdditiveEstimator):
    """A mixture with any likelihood; ``_fitted`` is its FittedMixture.

    A subclass defines what ``AdditiveEstimator`` requires, except for ``_begin_fit`` and ``_begin_stream``, and

    - ``_started(rows, rng, workers, stream)``: a ``FitSetup`` from an initialisation.

    It may override ``_checked(X)``, which checks rows, ``_exact_rows(X)``, which returns rows for predictions,
    ``_rows(X)``, which returns rows as training reads them, and ``_directions(n_features)``.
    """

    _fitted_class = FittedMixture
    predict_sparse_proba, transform = features.predict_sparse_proba, features.transform
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
            ``tol``, ``n_jobs`` and ``verbose``. If the fit has ended, the call loads its result.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            For invalid values, with their row; negative weights; fewer rows than components; priors that are not
            positive definite. A previously fitted model stays unchanged.
        """
        return self._fit(X, sample_weight, checkpoint)

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
        return self._partial_fit(X, sample_weight)

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
        return self._expected_stats(X, sample_weight, first_row, memory)

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
        return self.fit(X, sample_weight=sample_weight).predict(X)

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
        X = self._checked(X)
        rows = self._rows(X)
        model = altered(self._reading(self._fitted.model, rows), search=None)  # exact
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
        return self._log_densities(X)

    def _log_densities(self, X, **annotations):
        rows, workers = self._ready(X, density=True, **annotations)
        with workers:
            return self._log_density(rows, workers)

    def _log_density(self, rows, workers):
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

    def _criterion(self, X, price):
        """-2 log likelihood of rows + the price of a parameter, a function of their number."""
        log_density, model = self.score_samples(X), self._fitted.model
        n_weights = 0 if isinstance(model.weights, EqualWeights) else model.n_components - 1
        free = model.family.n_parameters(model.n_components) + n_weights + (model.background is not None)
        return -2.0 * float(np.average(log_density)) * len(log_density) + price(n_observed(self._checked(X))) * free

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

    def _ready(self, X, density=False, **annotations):
        check_is_fitted(self)
        return self._exact_rows(self._checked(X, density), **annotations), Workers(self._params.n_jobs)

    def _drawn_components(self, n_samples):
        """Components of the rows to draw, in increasing order, and the generator for the rows."""
        check_is_fitted(self)
        check_number("n_samples", n_samples)
        rng = check_random_state(self._params.random_state)
        return np.repeat(np.arange(len(self.weights_)), rng.multinomial(n_samples, self.weights_)), rng

    def _checked(self, X, density=False):  # noqa: ARG002
        """Checked rows to predict, or to give a ``density`` of."""
        return check_rows(self, X, reset=False)

    def _exact_rows(self, X):
        """Rows in their own precision if tables of this dtype can represent the model, else in the model's dtype."""
        dtype = features.feature_dtype(X) if self._fitted.in_single_precision else self._fitted.model.dtype
        return Rows(X, shift=self._fitted.model.shift, dtype=dtype)

    def _rows(self, X, sample_weight=None, model=None):
        """Rows in the form that a model reads, by default the fitted model."""
        model = self._fitted.model if model is None else model
        return Rows(X, sample_weight, model.shift, model.dtype)

    def _reading(self, model, rows):  # noqa: ARG002
        """The fitted model as it reads these rows."""
        return model

    # -- inside a fit or a stream

    def _begin_fit(self, rows, rng, workers, warm):
        self._check_enough(rows, "give more rows or lower n_components")
        begin = self._resumed(rows) if warm else self._started(rows, rng, workers)
        rows, schedule = begin.rows, self._make_schedule(begin.rows, rng)
        search = self._make_search(rng, schedule.step_rows, rows.sparse)
        if search is not None and rows.source is None:
            rows.memory = CandidateLists(len(rows), search.size)
        return replace(begin, schedule=schedule, model=altered(begin.model, search=search))

    def _begin_stream(self, rows, rng, workers):
        self._check_enough(rows, "give the first call of partial_fit at least n_components rows")
        begin = self._started(rows, rng, workers, stream=True)
        search = self._make_search(rng, len(rows), rows.sparse, stored=False)
        return replace(begin, model=altered(begin.model, search=search))

    def _structure(self):
        return super()._structure() | {"inference": "vb" if self._fitted.model.variational else "em"}

    def _resumed(self, rows):
        """Setup of a fit that continues from the fitted mixture."""
        params, stats = self._params, self._fitted.stats.copy()
        check_continues(params, self._structure())
        model = altered(self._fitted.model, search=None, n_nonzero=kept_entries(params))
        stats.scale(rows.mass / float(stats["mass"]))
        return FitSetup(rows, model, stats)

    def _make_schedule(self, rows, rng):
        """The schedule of ``learning_method``."""
        params, n_rows = self._params, len(rows)
        size = self._rows_of_batch(n_rows, rows.X.shape[1])
        if params.learning_method == "batch":
            schedule = Batch(n_rows)
        elif params.learning_method == "memoized":
            schedule = Memoized(n_rows, size, rng)
        else:
            if params.step_size[0] == "half_life":
                raise ValueError(
                    f"step_size={params.step_size} is for partial_fit; give (offset, decay) to fit with "
                    "learning_method='online'"
                )
            decay, offset, scale = rule_of(params.step_size)
            schedule = Stochastic(n_rows, size, rng, decay, offset, rows.mass, scale)
        return schedule if rows.source is None else schedule.over(rows.source.plan)

    def _rows_of_batch(self, n_rows, n_features):
        """Rows of a batch; an online batch has a row of each component for each of the ``_directions``."""
        params = self._params
        if params.learning_method == "batch":
            return n_rows
        if params.batch_size is not None:
            return params.batch_size
        per_component = BATCH_ROWS_PER_COMPONENT
        if params.learning_method == "online":
            per_component = max(per_component, self._directions(n_features))
        size = max(BATCH_ROWS, per_component * params.n_components)
        return max(size, -(-n_rows // MEMOIZED_BATCHES)) if params.learning_method == "memoized" else size

    def _directions(self, n_features):  # noqa: ARG002
        """Number of directions for which an online batch needs rows of each component."""
        return 0

    def _make_search(self, rng, step_rows, sparse=False, stored=True):
        """The candidate search of a model; None computes the weights of all components.

        A list must be short relative to K to save time, and only ``stored`` rows have lists. By default rows try all
        components first: a few random ones would blur the initialisation.
        """
        params = self._params
        n_components, size, least = params.n_components, params.candidates, kept_entries(params)
        if size == "auto":
            size = max(CANDIDATES, least)
            if not stored or n_components < CANDIDATES_FROM[sparse] or 4 * size > n_components:
                return None
        if size == "all":
            return None
        size = max(size, least)
        if size >= n_components:
            return None
        every = max(1, round(PATIENCE * n_components**1.5 / step_rows))
        seed = int(rng.integers(2**31))
        return (SparseSearch if sparse else CandidateSearch)(size, seed, every, all_first=True)

    def _step_size(self, rows, survey):
        """Rows of a batch of a fit over blocks."""
        return self._rows_of_batch(survey.n_rows, rows.X.shape[1])

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
            attributes["_fitted"].model.use(None)  # rows of a stream have no lists
        return attributes

    def _before_block(self, rows, workers):  # noqa: ARG002
        model, n_nonzero = self._fitted.model, kept_entries(self._params)
        if n_nonzero != model.n_nonzero:
            short = model.search is not None and model.search.size < n_nonzero
            model = altered(model, n_nonzero=n_nonzero, search=None if short else model.search)
            self._fitted = FittedMixture(model, self._fitted.stats.copy())
        return rows

    def _row_memory(self, model, n_rows, first_row):
        return None if model.search is None else CandidateLists(n_rows, model.search.size, first_row)

    def _refuse_blocks(self):
        refuse_responsibilities(self._params.init_params)
