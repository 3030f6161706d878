"""Clusters by maximum likelihood: what some steps of EM make of them before VB does.

VB charges every component for what is unsure of it, small ones most, and so rows join large components before all have
found their place; where components overlap, or tile a surface, that ends in a worse bound than to find places by EM
first. Where components have few rows EM narrows them to these rows. Rows that were not used tell.
"""

from sparsemix.mixture._model import MaximumLikelihoodMixture
from sparsemix.mixture._starts._splitting import learn

# Steps of EM, which is slow to spread components over a surface, and of VB, beside which that is judged.
STEPS, OTHER_STEPS = 30, 10


def likely(learner, rows, labels, workers):
    """Labels after some steps in VB, and after more of EM with the variance floor of VB."""
    floor = 0.0 if learner.floor is None else learner.floor
    sizes = learner.n_components, learner.n_nonzero, learner.dtype, learner.shift
    models = (learner, OTHER_STEPS), (MaximumLikelihoodMixture(learner.family, floor, *sizes), STEPS)
    return [learn(model, rows, labels, steps, workers)[1] for model, steps in models]
