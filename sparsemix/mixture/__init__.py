"""Mixtures of a given number of components."""

from sparsemix._estimator.summary.summary import Summary
from sparsemix.mixture._linear.sparse_bernoulli_mixture import SparseBernoulliMixture
from sparsemix.mixture._linear.sparse_mixed_mixture import SparseMixedMixture
from sparsemix.mixture._linear.sparse_multinomial_mixture import SparseMultinomialMixture
from sparsemix.mixture._linear.sparse_von_mises_fisher_mixture import SparseVonMisesFisherMixture
from sparsemix.mixture._mixture_regressor import MixtureRegressor
from sparsemix.mixture._sparse_gaussian_mixture import SparseGaussianMixture

__all__ = [
    "MixtureRegressor",
    "SparseBernoulliMixture",
    "SparseGaussianMixture",
    "SparseMixedMixture",
    "SparseMultinomialMixture",
    "SparseVonMisesFisherMixture",
    "Summary",
]
