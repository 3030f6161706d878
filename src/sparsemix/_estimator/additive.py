"""Estimators whose whole knowledge is prior + statistics: steps from statistics, wherever those were summed."""

import warnings
from copy import copy

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sparsemix._engine.interrupts import interrupts_wait
from sparsemix._engine.schedules import learning_rate, stream
from sparsemix._engine.threads import Workers
from sparsemix._estimator.base import SparsemixEstimator

# Attributes that tell of the last ``fit``; a later step of the stream makes them untrue.
OF_FIT = ("lower_bound_", "lower_bounds_", "converged_", "history_")


class AdditiveEstimator(SparsemixEstimator):
    """``_fitted`` holds model and statistics; ``total_samples`` and the learning rate's two numbers are parameters.

    A fit leaves monitors with their ``model`` and ``n_rows``, one a start; ``_fitted_class`` is made of the best.
    """

    # The statistic that counts rows, where the mass that statistics are scaled by is of something else.
    _rows_statistic = "mass"

    def __getstate__(self):
        if hasattr(self, "_fitted"):
            self._fitted.shared = True  # a copy may hold the same statistics: the next step copies them first
        return super().__getstate__()

    def _attributes(self, monitor):
        """Fitted attributes as of a monitor's last step."""
        attributes = {
            "_fitted": monitor.view(self._fitted_class(monitor.model, monitor.stats)),
            "n_samples_seen_": monitor.n_rows if self.max_iter else 0,  # a start has not seen rows
            "n_iter_": monitor.n_laps,
            "n_steps_": 0,
            "converged_": monitor.converged,
            "history_": list(monitor.history),
        }
        if monitor.lower_bounds:
            attributes |= {"lower_bounds_": monitor.lower_bounds, "lower_bound_": monitor.lower_bounds[-1]}
        return attributes

    def _publish(self, trials):
        """Publish the best trial that has completed a step; whether there is one."""
        trials = [monitor for monitor in trials if monitor.stats is not None]
        if not trials:
            return False
        best = max(trials, key=lambda monitor: monitor.lower_bounds[-1] if monitor.lower_bounds else -np.inf)
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(self._attributes(best))
        return True

    def _warn_unless_converged(self, could_have):
        if could_have and not self.converged_ and 0 < self.max_iter == self.n_iter_:
            warnings.warn(
                f"the fit did not converge in max_iter={self.max_iter} passes; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

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
            self._absorb(stats, round(float(stats[self._rows_statistic])), workers, learning_rate)
        return self

    def _absorb(self, new, n_rows, workers, rho=None):
        """S <- (1 - rho) (N_t / N_{t-1}) S + rho (N_t / n_b) s_b, in place, and a global step."""
        if not new["mass"]:  # nothing was seen, which should not make anything forgotten
            return
        model, stats = copy(self._fitted.model), self._fitted.stats
        total, first = self.total_samples, self.n_samples_seen_ == 0
        if rho is not None:
            total = float((stats if rho < 1.0 else new)["mass"])
        elif total is not None:
            total *= float(stats["mass"]) / float(stats[self._rows_statistic])
            rho = learning_rate(self.n_steps_ + 1, self.learning_decay, self.learning_offset)
        if rho == 1.0 or (first and total is None):  # nothing stays
            stats = stats.zeros_like()
        elif self._fitted.shared or not stats.writeable:
            stats = stats.copy()
        with interrupts_wait():
            undo = stats.undoing(new)
            try:
                stats = stream(stats, new, total, rho, first)
                model.global_step(stats, workers.split)
            except BaseException:
                undo()
                raise
            self._set_step(type(self._fitted)(model, stats), n_rows)

    def _set_step(self, fitted, n_rows):
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(
            _fitted=fitted,
            n_samples_seen_=self.n_samples_seen_ + n_rows,
            n_steps_=self.n_steps_ + 1,
        )
