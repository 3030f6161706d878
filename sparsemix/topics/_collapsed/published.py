"""What estimators by stochastic collapsed inference publish and store; their classes assign it."""

from sparsemix._estimator.base import published

NO_STOPPING = "only early stopping chooses an epoch; give fit validation_data, or set early_stopping=True"

@published
def sampler_(self):
    """The sampler in use."""
    return self._fitted_part("model").later_sampler.name


@published
def batch_size_(self):
    """Documents per batch of the last fit."""
    return self._fitted_part("model").batch_size


@published
def acceptance_rate_(self):
    """Share of proposals accepted in the last epoch or block; NaN without proposals."""
    proposed, accepted = self._fitted_part("stats")["proposals"]
    return float(accepted / proposed) if proposed else float("nan")
