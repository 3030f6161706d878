"""Topic models for documents as word counts."""

from sparsemix.topics._choose import choose_n_topics
from sparsemix.topics._collapsed.collapsed_lda import CollapsedLDA
from sparsemix.topics._collapsed.sparse_hdp import SparseHDP
from sparsemix.topics._collapsed.sparse_scvb0_lda import SparseSCVB0LDA
from sparsemix.topics._covariates.effects import TopicEffects, check_formula, estimate_effect
from sparsemix.topics._covariates.sparse_dmr import SparseDMR
from sparsemix.topics._edit.average import fit_consensus, mean_of_fits
from sparsemix.topics._edit.cells import store_topics
from sparsemix.topics._edit.consensus import consensus_topics, match_topics
from sparsemix.topics._edit.join import join_models
from sparsemix.topics._edit.names import name_topics
from sparsemix.topics._edit.operations import drop_topics, merge_topics, split_topic
from sparsemix.topics._edit.outliers import outliers
from sparsemix.topics._edit.reduce import reduce_topics, topic_hierarchy
from sparsemix.topics._gibbs_lda import GibbsLDA
from sparsemix.topics._time.result import TopicsOverTime, topics_over_time
from sparsemix.topics._variational.sparse_lda import SparseLDA
from sparsemix.topics._word_prior import WordPrior

__all__ = [
    "CollapsedLDA",
    "GibbsLDA",
    "SparseDMR",
    "SparseHDP",
    "SparseLDA",
    "SparseSCVB0LDA",
    "TopicEffects",
    "TopicsOverTime",
    "WordPrior",
    "check_formula",
    "choose_n_topics",
    "consensus_topics",
    "drop_topics",
    "estimate_effect",
    "fit_consensus",
    "join_models",
    "match_topics",
    "mean_of_fits",
    "merge_topics",
    "name_topics",
    "outliers",
    "reduce_topics",
    "split_topic",
    "store_topics",
    "topic_hierarchy",
    "topics_over_time",
]
