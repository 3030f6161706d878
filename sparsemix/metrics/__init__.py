"""Metrics that compare estimators of any library.

Mixtures: the density of held-out rows. Topic models: any object with ``components_``, including scikit-learn's
``LatentDirichletAllocation``, or the matrix (n_topics, n_words) of topic weights.
"""

from sparsemix.metrics._coherence import topic_coherence
from sparsemix.metrics._completion import completion_by_document, document_completion, perplexity
from sparsemix.metrics._mixtures import basis_without_constant, mixture_log_likelihood
from sparsemix.metrics._splits import split_by_token, split_by_type
from sparsemix.metrics._topics import align_topics, distinctive_words, top_words, topic_diversity, topic_exclusivity

__all__ = [
    "align_topics",
    "basis_without_constant",
    "completion_by_document",
    "distinctive_words",
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
