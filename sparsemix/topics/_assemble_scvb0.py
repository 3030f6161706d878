"""From the parameters of stochastic collapsed inference to model, start and schedule."""

from functools import partial

import numpy as np

from sparsemix._engine.documents import DocumentMemory
from sparsemix._engine.schedules import Memoized, MiniEpochs, learning_rates
from sparsemix.topics._assemble import REMEMBERED_SHARE, doc_topic_prior, start_topics
from sparsemix.topics._dense_sampler import DenseSampler
from sparsemix.topics._model import SMALLEST_COUNT
from sparsemix.topics._scvb import CollapsedModel, compressed
from sparsemix.topics._start import stats_of, trim
from sparsemix.topics._walker_sampler import WalkerSampler

# Up to so many topics all responsibilities of a word cost no more than the samples.
DENSE_COMPONENTS = 500
# Documents of a batch by default: of a memoized one at least, and a fortieth of the corpus; of a minibatch.
MEMOIZED_BATCHES = 32
LEAST_BATCH = 250
MINIBATCH = 100, 500
TABLE_AGE = 10


def make_model(params, n_words):
    """A model with the sampler that ``sampler`` names."""
    n_components = params.n_components
    kind = params.sampler
    if kind == "auto":
        kind = "dense" if n_components <= DENSE_COMPONENTS else "mhw"
    dense = DenseSampler(params.burn_in + 1, params.exclude_own, local_rates(params))
    later = dense
    if kind == "mhw":
        sparsity = 1.0 / n_components if params.sparsity is None else params.sparsity
        age = TABLE_AGE if params.max_table_age is None else params.max_table_age
        later = WalkerSampler(
            params.n_samples, params.burn_in + 1, params.exclude_own, local_rates(params), sparsity, age
        )
    return CollapsedModel(
        n_words, doc_topic_prior(params), 0.01 if params.topic_word_prior is None else params.topic_word_prior, later,
        dense, params.n_dense_samples, dtype=params._table_dtype,
    )  # fmt: skip


def local_rates(params):
    """Steps of a document's counts, or None where they are exact sums."""
    if params.exclude_own != "none":
        return None
    return partial(learning_rates, decay=params.local_decay, offset=params.local_offset)


def make_start(params, model, documents, rng, workers):
    """Statistics that learning starts from, in the shape of those of all documents."""
    model.seed = int(rng.integers(2**63))
    totals = documents.word_totals()
    if isinstance(params.init_params, str) and params.init_params == "uniform":
        return model.same_topics(documents.mass, totals.sum())
    topics = start_topics(params, model, documents, totals, rng, workers)
    return stats_of(model, topics, documents, totals.sum())


def make_memory():
    """Where documents are remembered."""
    return DocumentMemory(REMEMBERED_SHARE)


def make_schedule(params, documents, rng, initial):
    """The schedule of ``learning_method``."""
    n, size = len(documents), params.batch_size
    if params.learning_method == "memoized":
        size = max(LEAST_BATCH, -(-n // MEMOIZED_BATCHES)) if size is None else size
        trim(initial, SMALLEST_COUNT)
        initial["count"] += documents.X.shape[1] * initial["offset"]  # the background is not in the table
        schedule = Memoized(n, size, rng, partial(compressed, smallest=SMALLEST_COUNT))
        schedule.has_bound = False
        return schedule
    size = int(np.clip(n // MEMOIZED_BATCHES, *MINIBATCH)) if size is None else size
    return MiniEpochs(
        n, size, rng, params.learning_decay, params.learning_offset, float(initial["mass"]),
        params.mini_epoch_size, params.mini_epoch_passes, documents.memory.forget,
    )  # fmt: skip
