"""Base class of the mixtures with linear likelihoods."""

from sparsemix._compat import StrOptions
from sparsemix.mixture._estimator import CONSTRAINTS, MixtureEstimator
from sparsemix.mixture._linear._start import SEEDINGS
from sparsemix.mixture._linear.recipe import LinearRecipe

LINEAR_CONSTRAINTS = CONSTRAINTS | {"init_params": [StrOptions(set(SEEDINGS)), "array-like", dict]}


class LinearEstimator(MixtureEstimator):
    """Mixtures over a ``LinearFamily``; a subclass has its ``_likelihood``."""

    _fixed_params = MixtureEstimator._fixed_params | {"first_epochs": {"em": 0, "vb": 0}}

    def _recipe(self):
        return LinearRecipe(self._params, self._likelihood)

    def __sklearn_tags__(self):
        """Accept sparse rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
