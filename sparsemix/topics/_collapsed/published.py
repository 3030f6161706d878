"""What estimators by stochastic collapsed inference publish and store; their classes assign it."""

from sparsemix._estimator.base import published
from sparsemix._models.topics.dense_sampler import DenseSampler
from sparsemix._models.topics.gibbs_sampler import GibbsSampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._models.topics.walker_sampler import WalkerSampler
from sparsemix._rows.documents import FirstDocuments
from sparsemix._rows.rates import LearningRates
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix._stats.prior_counts import PriorCounts
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.word_rows import WordRows
from sparsemix.topics._fitted import FittedCounts

NO_STOPPING = "only early stopping chooses an epoch; give fit validation_data, or set early_stopping=True"
# Classes of fitted state that files store as plain arrays.
STATE_CLASSES = (
    FittedCounts, FirstDocuments, StochasticCollapsedModel, PriorCounts, SufficientStatistics, WordRows,
    PackedCounts, DenseSampler, GibbsSampler, WalkerSampler, LearningRates,
)  # fmt: skip


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
