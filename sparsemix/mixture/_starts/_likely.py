"""Clusters after steps of EM, as an alternative to the same after steps of VB.

VB penalises the uncertainty of components, most that of small ones. So rows join large components before all components
have converged. If components overlap or cover a surface, EM steps first lead to a better bound. With few rows per
component EM overfits. Held-out rows decide.
"""

from sparsemix._models.mixture.model import MaximumLikelihoodMixture
from sparsemix.mixture._starts._splitting import learn

# Steps of EM, which is slow to spread components over a surface, and of VB for comparison.
STEPS, OTHER_STEPS = 30, 10


def likely(learner, rows, labels, workers):
    """Labels after steps of VB, and after more steps of EM with the variance floor of VB."""
    floor = 0.0 if learner.floor is None else learner.floor
    sizes = learner.n_components, learner.n_nonzero, learner.dtype, learner.shift
    models = (learner, OTHER_STEPS), (MaximumLikelihoodMixture(learner.family, floor, *sizes), STEPS)
    return [learn(model, rows, labels, steps, workers)[1] for model, steps in models]
