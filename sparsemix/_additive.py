"""Estimators whose whole knowledge is prior + statistics: steps from statistics, wherever those were summed."""

from copy import copy

from sklearn.utils.validation import check_is_fitted

from sparsemix._base import SparsemixEstimator
from sparsemix._engine.schedules import learning_rate, stream
from sparsemix._engine.threads import Workers

# Attributes that tell of the last ``fit``; a later step of the stream makes them untrue.
OF_FIT = ("lower_bound_", "lower_bounds_", "converged_", "history_")


class AdditiveEstimator(SparsemixEstimator):
    """``_fitted`` holds model and statistics; ``total_samples`` and the learning rate's two numbers are parameters."""

    def update_from_stats(self, stats, learning_rate=None):
        """One global step from statistics that ``expected_stats`` gave.

        Parameters
        ----------
        stats : SufficientStatistics
            Of one block, or the sum over several.
        learning_rate : float in (0, 1], default=None
            How far the model's statistics move towards these, scaled to the whole data. 1 replaces them: with the
            statistics of all rows that is one step of batch learning. None follows the rule of ``partial_fit``.

        Returns
        -------
        self : estimator
        """
        check_is_fitted(self)
        if learning_rate is not None and not 0.0 < learning_rate <= 1.0:
            raise ValueError(f"learning_rate is {learning_rate}; it must be in (0, 1], or None")
        with self._all_or_nothing(), Workers(self.n_jobs) as workers:
            self._absorb(stats, round(float(stats["mass"])), workers, learning_rate)
        return self

    def _absorb(self, new, n_rows, workers, rho=None):
        """S <- (1 - rho) (N_t / N_{t-1}) S + rho (N_t / n_b) s_b, and a global step."""
        model, stats = self._fitted.model, self._fitted.stats
        total = self.total_samples
        if rho is not None:
            total = float((stats if rho < 1.0 else new)["mass"])
        elif total is not None:
            rho = learning_rate(self.n_steps_ + 1, self.learning_decay, self.learning_offset)
        stats = stream(stats, new, total, rho, first=self.n_samples_seen_ == 0)
        model = copy(model)
        model.global_step(stats, workers.split)
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(
            _fitted=type(self._fitted)(model, stats),
            n_samples_seen_=self.n_samples_seen_ + n_rows,
            n_steps_=self.n_steps_ + 1,
        )
