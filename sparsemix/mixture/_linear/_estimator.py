"""Base class of the mixtures with linear likelihoods: fits, streams and predictions."""

import numbers
from copy import copy

import numpy as np

from sparsemix._compat import Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._estimator.absent import check_continues
from sparsemix._estimator.additive import FitSetup
from sparsemix._estimator.input.checks import COUNT, POSITIVE, STEP_SIZE
from sparsemix._models.mixture.candidates import CandidateLists
from sparsemix._models.mixture.linear_model import LinearMixture
from sparsemix._models.mixture.linear_search import SparseSearch
from sparsemix._stats.weights import DirichletWeights, MaximumLikelihoodWeights
from sparsemix.mixture._assemble import kept_entries, make_schedule, make_search, rows_of_batch
from sparsemix.mixture._estimator import MixtureEstimator
from sparsemix.mixture._linear._fitted import FittedLinear
from sparsemix.mixture._linear._rows import weighted
from sparsemix.mixture._linear._start import SEEDINGS, first_rows, seed_rows, start

CONSTRAINTS = {
    "n_components": [Interval(numbers.Integral, 1, None, closed="left")],
    "n_nonzero": [Interval(numbers.Integral, 1, None, closed="left"), None],
    "inference": [StrOptions({"vb", "em"})],
    "learning_method": [StrOptions({"batch", "memoized", "online"})],
    "candidates": [StrOptions({"auto", "all"}), Interval(numbers.Integral, 1, None, closed="left")],
    "weight_concentration_prior": [POSITIVE, None],
    "init_params": [StrOptions(set(SEEDINGS)), "array-like", dict],
    "max_iter": [Interval(numbers.Integral, 0, None, closed="left")],
    "tol": [Interval(numbers.Real, 0.0, None, closed="left")],
    "batch_size": [Interval(numbers.Integral, 1, None, closed="left"), None],
    "total_samples": [COUNT, None],
    "step_size": [STEP_SIZE],
    "warm_start": ["boolean"],
    "n_jobs": [numbers.Integral, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}

# Number of components from which on "auto" keeps lists of candidates for sparse rows.
SPARSE_FROM = 500


class LinearEstimator(MixtureEstimator):
    """Mixtures over a ``LinearFamily``. A subclass defines

    - ``_make_family(rows)``: the likelihood, with its data-dependent prior;
    - ``_sums_of(means, rows)``: sums (K, D) of one row in each component with given means, checked;
    - ``_make_rows(X, sample_weight)``: checked rows in the form that the model reads;
    - ``_check(X, reset)``: checked X; ``_refuse(X, kept)``: checks that skip rows of weight zero.
    """

    _fitted_class = FittedLinear
    _fixed_params = MixtureEstimator._fixed_params | {"first_epochs": {"em": 0, "vb": 0}}

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, checkpoint=None):  # noqa: ARG002
        """Learn the mixture from all rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. CSR needs no conversion, and ``fit`` makes no copy.
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
            For invalid values, with their row; negative weights; fewer rows than components. A previously fitted model
            stays unchanged.
        """
        return self._fit(X, sample_weight, checkpoint)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn from one more block of a stream.

        With ``total_samples=None`` every row counts the same: the statistics are the sum over all blocks. With
        ``total_samples`` the blocks are batches of a data set of that size, and step t moves the statistics towards
        those of the block by ``(t + offset) ** -decay``, the numbers of ``step_size``. Use it if rows repeat; it is the
        only setting that forgets.

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
            As ``fit``. A failed call leaves the model unchanged.
        """
        return self._partial_fit(X, sample_weight)

    def expected_stats(self, X, sample_weight=None, *, first_row=None, memory=None):
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
            Sums by component: ``stats["count"]`` (K,), and ``stats["first"]`` (K, n_features) of the rows.
        """
        return self._expected_stats(X, sample_weight, first_row, memory)

    @property
    def weight_concentration_prior_(self):
        """Concentration of the Dirichlet prior of the weights (VB): the given value or the default."""
        fitted = self._attribute("weight_concentration_prior_")
        if not fitted.model.variational:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'weight_concentration_prior_' after inference='em'"
            )
        return fitted.model.weights.concentration

    # -- inside a fit or a stream

    def _weighted(self, X, sample_weight, part):
        rows = weighted(X, sample_weight, self._make_rows, part=part)
        self._refuse(rows.X, rows.kept)
        return rows

    def _begin_fit(self, rows, rng, workers, warm):
        self._check_enough(rows, "give more rows or lower n_components")
        model, stats = self._resumed(rows) if warm else self._started(rows, rng, workers)
        schedule = make_schedule(self._params, rows, rng)
        if rows.source is not None:
            schedule = schedule.over(rows.source.plan)
        model.search = self._search(rows, rng, schedule.step_rows)
        if model.search is not None and rows.source is None:
            rows.memory = CandidateLists(len(rows), model.search.size)
        return FitSetup(rows, model, stats, schedule)

    def _begin_stream(self, rows, rng, workers):
        self._check_enough(rows, "give the first call of partial_fit at least n_components rows")
        model, stats = self._started(rows, rng, workers)
        model.search = self._search(rows, rng, len(rows), stored=False)
        return FitSetup(rows, model, stats)

    def _search(self, rows, rng, step_rows, stored=True):
        kind = {"kind": SparseSearch, "least": SPARSE_FROM} if rows.sparse else {}
        return make_search(self._params, rng, step_rows, stored, **kind)

    def _started(self, rows, rng, workers):
        params = self._params
        k, variational = params.n_components, params.inference == "vb"
        concentration = 1.0 / k if params.weight_concentration_prior is None else params.weight_concentration_prior
        weights = DirichletWeights(concentration) if variational else MaximumLikelihoodWeights()
        model = LinearMixture(self._make_family(rows), weights, k, kept_entries(params), rows.dtype, variational)
        return model, start(params, model, rows, rng, workers, self._sums_of)

    def _resumed(self, rows):
        params = self._params
        model = copy(self._fitted.model)
        model.search = None
        inference = "vb" if model.variational else "em"
        check_continues(params, n_components=model.n_components, inference=inference)
        model.n_nonzero, model.dtype = kept_entries(params), np.dtype(rows.dtype)
        stats = self._fitted.stats.copy()
        stats.scale(rows.mass / float(stats["mass"]))
        return model, stats

    def _checked(self, X, density=False):
        X = self._check(X, reset=False)
        if density:
            self._refuse(X, None)
        return X

    def _exact_rows(self, X):
        return self._make_rows(X, None)

    def _rows(self, X, sample_weight=None, model=None):
        rows = self._make_rows(X, sample_weight)
        rows.dtype = (self._fitted.model if model is None else model).dtype
        return rows

    # -- a fit over blocks

    def _survey(self, rows):
        return {"total": rows.total()}

    def _start_size(self, survey):  # noqa: ARG002
        return max(seed_rows(self._params), first_rows(self._params))

    def _whole(self, survey, X, weight, source):
        rows = self._make_rows(self._check(X, reset=False), weight)
        rows.source, rows.whole = source, {"mass": float(survey.sums["mass"]), "total": survey.sums["total"]}
        return rows

    def _step_size(self, rows, survey):  # noqa: ARG002
        return rows_of_batch(self._params, survey.n_rows)

    def _view(self, model, rows, n_seen):  # noqa: ARG002
        rows.dtype = model.dtype
        return model.reading(rows), rows
