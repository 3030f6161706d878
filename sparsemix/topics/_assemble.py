"""From an estimator's parameters to model, start and schedule, with the checks that need the data's shape."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from sparsemix._base import check_weights
from sparsemix._engine.blocks import spans
from sparsemix._engine.documents import DocumentMemory, Documents
from sparsemix._engine.schedules import Batch, Memoized, Stochastic
from sparsemix._engine.sweeps import RowState
from sparsemix._kernels._docstep import MAX_SELECT
from sparsemix.metrics._checks import row_of
from sparsemix.topics import _start
from sparsemix.topics._collapsed import MODELS
from sparsemix.topics._model import TopicModel

# Documents of a batch by default: a memoized one is a tenth of the data, and both need some of every topic.
BATCH_DOCUMENTS = 1_000
MEMOIZED_BATCHES = 10
# Of a document's tokens; smaller entries are not remembered from visit to visit.
REMEMBERED_SHARE = 1e-3
# Whole numbers below this are exact in single precision.
EXACT = 1 << 24
# Prior mass of a document over all topics by default, where that is less than the largest prior for each.
PRIOR_MASS = 20.0


def make_model(params, n_words):
    """A model with given or default priors."""
    n_components = params.n_components
    n_nonzero = n_components if params.n_nonzero is None else min(params.n_nonzero, n_components)
    if MAX_SELECT < n_nonzero < n_components:
        raise ValueError(
            f"n_nonzero={n_nonzero} is larger than {MAX_SELECT} and smaller than n_components={n_components}; give at "
            f"most {MAX_SELECT}, or None for dense responsibilities"
        )
    return TopicModel(
        n_words, n_components, n_nonzero, doc_topic_prior(params), topic_word_prior(params), params._table_dtype,
        params.max_doc_update_iter, params.doc_update_tol, params.n_restarts, params.optimize_priors,
    )  # fmt: skip


def doc_topic_prior(params, mass=PRIOR_MASS):
    """alpha, (K,); of a document's topics together it is ``mass`` by default, where no prior would be too large."""
    prior, n_components = params.doc_topic_prior, params.n_components
    if prior is None:
        prior = min(_start.LARGEST_PRIOR, mass / n_components)
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape not in ((), (n_components,)):
        raise ValueError(
            f"doc_topic_prior has shape {prior.shape}, expected a number or ({n_components},): one for each topic"
        )
    if not (np.isfinite(prior).all() and (prior > 0).all()):
        raise ValueError("doc_topic_prior must be positive and finite for every topic")
    return np.full(n_components, prior) if prior.shape == () else prior.copy()


def topic_word_prior(params):
    """lambda_0."""
    return 0.01 if params.topic_word_prior is None else params.topic_word_prior


def make_start(params, model, documents, rng, workers):
    """Statistics that learning starts from, in the shape of those of all documents."""
    totals = documents.word_totals()
    topics = start_topics(params, model, documents, totals, rng, workers)
    return _start.stats_of(model, topics, documents, totals.sum())


def start_topics(params, model, documents, totals, rng, workers):
    """Counts by word and topic, (V, K), of any sum."""
    method = params.init_params
    if not isinstance(method, str):
        return given_topics(method, model)
    if method == "random":
        return _start.random_topics(model, totals, rng)
    if method == "bregman":
        return _start.bregman_topics(model, documents, totals, rng)
    size, n_iter, verbose = params.init_size, params.n_init_iter, params.verbose
    return _start.smoothed_em_topics(model, documents, size, n_iter, rng, workers, verbose)


def given_topics(components, model):
    """Given ``components_`` as counts by word and topic."""
    components = check_array(components, dtype=np.float64, input_name="init_params")
    expected = model.n_components, model.n_words
    if components.shape != expected:
        raise ValueError(f"init_params has shape {components.shape}, expected {expected}: topics by words")
    if (components < 0).any() or not components.sum(axis=1).all():
        raise ValueError("init_params must not be negative, and every topic needs a word")
    return components.T.copy()  # it is scaled in place


def make_memory(params):
    """Where documents are remembered, or None."""
    cold = params.warm_documents
    if not cold or params.learning_method == "online":
        return None
    return DocumentMemory(REMEMBERED_SHARE, cold_visits=max(1, int(cold)))


def make_schedule(params, documents, rng, initial):
    """The schedule of ``learning_method``."""
    n = len(documents)
    if params.learning_method == "batch":
        return Batch(n)
    size = params.batch_size
    if size is None:
        memoized = params.learning_method == "memoized"
        size = max(BATCH_DOCUMENTS, -(-n // MEMOIZED_BATCHES)) if memoized else online_size(n)
    if params.learning_method == "memoized":
        _start.trim(initial, TopicModel.smallest_count)
        return Memoized(n, size, rng)
    return Stochastic(n, size, rng, params.learning_decay, params.learning_offset, documents.mass)


def online_size(n_documents):
    """Documents of an online minibatch: hundreds of steps a pass where there are enough documents."""
    return int(np.clip(n_documents // 100, 256, 4096))


def weighted_documents(X, sample_weight, dtype, may_be_empty=False):
    """Documents of positive weight, of which at least one has a token."""
    sample_weight = check_weights(sample_weight, X.shape[0])
    if sample_weight is not None and not sample_weight.all():
        kept = sample_weight > 0
        X, sample_weight = X[kept], sample_weight[kept]
    documents = Documents(X, sample_weight, dtype)
    if not may_be_empty and not documents.has_tokens:
        raise ValueError("no document of X has a token of positive weight; give at least one that is not empty")
    return documents


# -- collapsed inference


def check_whole(X):
    """Counts that are numbers of tokens; the first document with another is named."""
    for start, stop in spans(X.shape[0], 1 << 16 if sparse.issparse(X) else max(1, (1 << 20) // X.shape[1])):
        block = sparse.csr_array(X[start:stop])
        broken = np.flatnonzero(block.data != np.floor(block.data))
        if len(broken):
            raise ValueError(
                f"row {start + row_of(block, broken[0])} of X has the count {block.data[broken[0]]}, and Gibbs "
                'sampling needs whole numbers of tokens; round the counts, or use method="cvb0"'
            )


def make_collapsed_model(params, documents, seed):
    """A model of the chosen method; documents are read in its precision from now on."""
    dtype = np.dtype(params._table_dtype)
    if params.method == "gibbs":  # counts stay exact
        weight = documents.sample_weight
        whole = weight is None or (weight == np.floor(weight)).all()
        dtype = dtype if whole and documents.word_totals().sum() < EXACT else np.dtype(np.float64)
    model = MODELS[params.method](
        documents.X.shape[1], params.n_components, doc_topic_prior(params), topic_word_prior(params), dtype,
        params.optimize_priors,
    )  # fmt: skip
    model.seed = seed
    documents.dtype = dtype
    return model


def make_row_state(params, model, documents, rng, topics=None, state=None):
    """What a sweep begins with, state of rows and statistics: from an old state, from topics, or at random."""
    tokens = documents.word_totals().sum()
    if topics is None and not isinstance(params.init_params, str):
        topics = given_topics(params.init_params, model)
    if state is None and topics is not None:
        state = RowState(documents, model.n_components)
        state.fill(documents, model.empty_state)
        return state, _start.stats_of(model, topics, documents, tokens)
    if state is None:
        state = RowState(documents, model.n_components)
        state.fill(documents, lambda x: model.random_state(x, rng))
    stats = model.empty_stats()
    for name, total in model.totals_of(documents.mass, tokens).items():
        stats[name] += total
    model.recount(state.visits(documents), stats)
    return state, stats
