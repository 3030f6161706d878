"""Base class of estimators whose state is prior + statistics: what they publish, and steps from external statistics."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator import row_memory
from sparsemix._estimator.absent import UNFITTED, Absent, by_fit
from sparsemix._estimator.base import SparsemixEstimator
from sparsemix._estimator.learning import OF_STREAM
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.streams import absorb, step_was_made
from sparsemix._rows.threads import Workers
from sparsemix._stats.suffstats import SufficientStatistics


def no_bound(estimator):
    """Reason for a missing bound of the last fit, with a remedy."""
    if not hasattr(estimator, "_fitted"):
        return UNFITTED
    other = "call lower_bound(expected_stats(X))"
    if estimator._params.learning_method == "online":
        return f'learning_method="online" computes no bound of all rows; use "batch" or "memoized", or {other}'
    if "history_" not in vars(estimator):
        return f"only fit sets it, and what was learned last did not come from fit; {other}"
    if estimator._params.learning_method == "memoized":
        return f'learning_method="memoized" computes it from epoch 2 on; set max_iter to at least 2, or {other}'
    return f"the fit ran no epoch; set max_iter to at least 1, or {other}"


class Additive(SparsemixEstimator):
    """Learns by steps from statistics. ``_fitted`` holds a model and its statistics.

    An estimator has the parameters ``max_iter``, ``total_samples``, ``step_size``, ``warm_start``, ``n_jobs``,
    ``verbose`` and ``random_state``, may have ``tol``, and defines ``_recipe()``, which makes its ``Recipe``. Its
    documented public methods give the recipe to ``fit_rows``, ``absorb_rows`` and ``statistics_of``.
    """

    _fixed_params = {"tol": 0.0}  # noqa: RUF012
    lower_bound_, lower_bounds_ = Absent(no_bound), Absent(no_bound)
    converged_, history_, n_iter_ = Absent(by_fit), Absent(by_fit), Absent(by_fit)
    n_samples_seen_, n_steps_ = Absent(UNFITTED), Absent(UNFITTED)
    # Seconds after which the current epoch is the last; for the command line.
    _stop_after = None

    @plain_arguments
    def row_memory(self, n_rows: int, first_row: int = 0) -> Any:
        """An empty memory, in which ``expected_stats`` stores information on rows between visits.

        Parameters
        ----------
        n_rows : int
            Number of rows.
        first_row : int, default=0
            Index of the first row in the whole data.

        Returns
        -------
        memory : object or None
            Argument ``memory`` of ``expected_stats``. Use it for the same rows only, and not after another ``fit``.
            None if the estimator stores nothing for rows.

        Raises
        ------
        ValueError
            If ``n_rows`` or ``first_row`` is not an integer from 0 to 2**60.
        """
        check_is_fitted(self)
        row_memory.check_place(n_rows, first_row)
        model = self._fitted.model
        memory = self._recipe().memory(model, n_rows, first_row)
        return row_memory.label(memory, model, int(n_rows), int(first_row))

    def lower_bound(self, stats: Any = None) -> float:
        """Lower bound of the rows that the statistics summarise, at the posterior that these statistics give.

        Parameters
        ----------
        stats : SufficientStatistics, default=None
            Statistics of all rows: the sum over blocks of the results of ``expected_stats``. None means those of the
            last step; after ``update_from_stats`` with ``learning_rate=1`` these include all rows.

        Returns
        -------
        bound : float
            In nats, as ``lower_bound_``. NaN if the inference has no bound.

        Raises
        ------
        TypeError, ValueError
            For anything but statistics of this model's shapes.
        """
        check_is_fitted(self)
        if stats is not None:
            self._check_stats(stats)
        return float(self._fitted.model.lower_bound(self._fitted.stats if stats is None else stats))

    def _check_stats(self, stats):
        if not isinstance(stats, SufficientStatistics):
            raise TypeError(f"stats is a {type(stats).__name__}; give a result of expected_stats, or a sum of such")
        self._fitted.stats.check_alike(stats)

    @plain_arguments
    def update_from_stats(self, stats: Any, learning_rate: float | None = None) -> Self:
        """Take one global step from the statistics of ``expected_stats``.

        Parameters
        ----------
        stats : SufficientStatistics
            Statistics of one block, or the sum over several.
        learning_rate : float in (0, 1], default=None
            Step size rho: the model's statistics become (1 - rho) times themselves plus rho times these, scaled to the
            whole data. 1 replaces them; with the statistics of all rows that is one step of batch learning. None is the
            rule of ``partial_fit``.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            For anything but statistics of this model's shapes.

        Notes
        -----
        ``n_samples_seen_`` grows by the number of rows in the statistics. With ``learning_rate=1`` it becomes this
        number, since earlier rows no longer count.
        """
        check_is_fitted(self)
        if learning_rate is not None and not 0.0 < learning_rate <= 1.0:
            raise ValueError(f"learning_rate is {learning_rate}; it must be in (0, 1], or None")
        self._check_stats(stats)
        with self._all_or_nothing(step_was_made(self)), Workers(self._params.n_jobs) as workers:
            for name in OF_STREAM:
                vars(self).pop(name, None)
            absorb(self, stats, stats.n_rows, workers, learning_rate)
        return self
