"""Model, initialisation and schedule of SparseLDA from its parameters."""

import numpy as np

from sparsemix._engine.schedules import Batch, Memoized, Stochastic
from sparsemix._kernels.documents._docstep import MAX_SELECT
from sparsemix._models.topics.variational_model import TopicModel
from sparsemix._rows.documents import DocumentMemory
from sparsemix._rows.rates import rule_of
from sparsemix.topics import _start
from sparsemix.topics._assemble import REMEMBERED_SHARE, counts_of_prior, priors, start_topics
from sparsemix.topics._variational.collapsed_start import collapsed_topics

# Least documents per batch by default; memoized batches are a tenth of the data. A batch needs tokens of every topic.
BATCH_DOCUMENTS = 1_000
MEMOIZED_BATCHES = 10


def make_model(params, n_words, dtype):
    """A model with given or default priors."""
    n_components = params.n_components
    n_nonzero = n_components if params.n_nonzero is None else min(params.n_nonzero, n_components)
    if MAX_SELECT < n_nonzero < n_components:
        raise ValueError(
            f"n_nonzero={n_nonzero} is larger than {MAX_SELECT} and smaller than n_components={n_components}; give at "
            f"most {MAX_SELECT}, or None for dense responsibilities"
        )
    return TopicModel(
        n_words, n_components, n_nonzero, dtype=dtype, max_doc_iter=params.max_doc_update_iter,
        doc_tol=params.doc_update_tol, n_restarts=params.n_restarts, **priors(params),
    )  # fmt: skip


def starts_collapsed(params):
    """Whether topics are initialised by collapsed inference."""
    return isinstance(params.init_params, str) and params.init_params == "collapsed"


def make_start(params, model, documents, rng, workers):
    """Initial statistics, scaled to all documents."""
    totals = documents.word_totals()
    if starts_collapsed(params):
        prior = counts_of_prior(params, documents, model.dtype)
        topics = collapsed_topics(model, documents, rng, workers, params.verbose, prior)
    else:
        topics = start_topics(params.init_params, model, documents, totals, rng, workers, params.verbose)
    return _start.stats_of(model, topics, documents, totals.sum())


def make_memory(params):
    """Memory of the documents' topics, or None."""
    cold = params.warm_documents
    if not cold or params.learning_method == "online":
        return None
    return DocumentMemory(REMEMBERED_SHARE, cold_visits=max(1, int(cold)))


def make_schedule(params, documents, rng, initial):
    """The schedule of ``learning_method``."""
    n = len(documents)
    if params.learning_method == "batch":
        return Batch(n)
    size = documents_of_step(params, n)
    if params.learning_method == "memoized":
        _start.trim(initial, TopicModel.smallest_count)
        return Memoized(n, size, rng)
    decay, offset, scale = rule_of(params.step_size)
    return Stochastic(n, size, rng, decay, offset, documents.mass, scale)


def documents_of_step(params, n_documents):
    """Documents per step."""
    if params.learning_method == "batch":
        return n_documents
    if params.batch_size is not None:
        return params.batch_size
    if params.learning_method == "memoized":
        return max(BATCH_DOCUMENTS, -(-n_documents // MEMOIZED_BATCHES))
    return online_size(n_documents)


def online_size(n_documents):
    """Documents per online batch: about a hundred steps per epoch, if there are enough documents."""
    return int(np.clip(n_documents // 100, 256, 4096))
