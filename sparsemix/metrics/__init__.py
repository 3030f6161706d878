"""Scores that mean the same for every estimator, whoever wrote it.

Mixtures: densities of held-out rows. Topic models: anything with ``components_``, scikit-learn's
``LatentDirichletAllocation`` included, or the plain (n_topics, n_words) matrix of its weights.
"""

from sparsemix.metrics._coherence import topic_coherence
from sparsemix.metrics._completion import document_completion, perplexity
from sparsemix.metrics._mixtures import basis_without_constant, mixture_log_likelihood
from sparsemix.metrics._splits import split_by_token, split_by_type
from sparsemix.metrics._topics import align_topics, top_words, topic_diversity, topic_exclusivity

__all__ = [
    "align_topics",
    "basis_without_constant",
    "document_completion",
    "mixture_log_likelihood",
    "perplexity",
    "split_by_token",
    "split_by_type",
    "top_words",
    "topic_coherence",
    "topic_diversity",
    "topic_exclusivity",
]
