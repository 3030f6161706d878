"""Model, initialisation and schedule of SparseSCVB0LDA from its parameters."""

from functools import partial

import numpy as np

from sparsemix._engine.schedules import Memoized, MiniEpochs
from sparsemix._models.topics.dense_sampler import DenseSampler
from sparsemix._models.topics.gibbs_sampler import GibbsSampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._models.topics.sums import SMALLEST_COUNT
from sparsemix._models.topics.walker_sampler import WalkerSampler
from sparsemix._rows.documents import DocumentMemory
from sparsemix._rows.rates import LearningRates, rule_of
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix.topics._assemble import REMEMBERED_SHARE, priors, start_topics
from sparsemix.topics._start import packed_stats_of, stats_of, topics_of_documents, trim

# Documents of a memoized batch by default: a 32nd of the corpus, but at least LEAST_BATCH.
MEMOIZED_BATCHES = 32
LEAST_BATCH = 250
# Documents of an online batch by default: this number of tokens per topic, within bounds, and at least LEAST_STEPS
# batches per epoch. The noise of small batches makes topics coherent; in too small batches it hides rare topics.
TOKENS_A_TOPIC = 160
BATCH_LIMITS = 16, 500
LEAST_STEPS = 64
# Maximal number of batches visited together, and the least number of topics for this. Then rows of counts exceed
# the cache.
TOGETHER = 8
TOGETHER_COMPONENTS = 500
# Least and largest number of batches that are visited densely at first, until topics differ. Documents times
# topics of these batches, which reduces their number for many topics.
START_BATCHES = 10, 150
START_WORK = 2e7
# Offset and decay of the steps of a document's counts in these batches.
LOCAL_STEP_SIZE = 10.0, 0.9
# For "mhw": global steps between rebuilds of the words' tables; topics of a word that are added to the topics' counts,
# each for an equal part of its responsibilities; and the threshold tau of [IF19] times the number of topics.
TABLE_AGE = 10
EVEN_SAMPLES = 16
SPARSITY = 1.0


def make_model(params, n_words, dtype, model_class=StochasticCollapsedModel):
    """The model of a class, with the samplers given by ``sampler`` and ``local_step_size``."""
    n_sweeps, steps, kind = params.burn_in + 1, params.local_step_size, params.sampler
    rates = LearningRates(*rule_of(LOCAL_STEP_SIZE if steps is None else steps))
    later_rates = None if steps is None else rates
    if kind == "auto":
        kind = "gibbs" if steps is None else "dense"
    if kind == "mhw":
        n_even = EVEN_SAMPLES if steps is None else 0  # [IF19] has steps and adds the samples themselves
        sampler = WalkerSampler(
            params.n_samples, n_even, n_sweeps, later_rates, SPARSITY / params.n_components, TABLE_AGE
        )
    elif kind == "gibbs":
        if steps is not None:
            raise ValueError('local_step_size needs sampler="dense" or "mhw"; set local_step_size=None for "gibbs"')
        sampler = GibbsSampler(n_sweeps)
    else:
        sampler = DenseSampler(n_sweeps, later_rates)
    first = DenseSampler(n_sweeps, rates)
    return model_class(n_words, sampler=sampler, first_sampler=first, dtype=dtype, **priors(params))


def make_start(params, model, documents, rng, workers):
    """Initial statistics, scaled to all documents."""
    model.seed = int(rng.integers(2**63))
    totals = documents.word_totals()
    if starts_packed(params, model):
        return packed_stats_of(model, topics_of_documents(model, documents, rng), documents, totals.sum())
    alike = isinstance(params.init_params, str) and params.init_params in ("random", "uniform")
    if alike and params.learning_method == "online":
        least, most = START_BATCHES
        size = batch_size(params, documents, totals.sum())
        model.n_first = int(np.clip(START_WORK / model.n_components, least * size, most * size))
    if isinstance(params.init_params, str) and params.init_params == "uniform":
        return model.same_topics(documents.mass, totals.sum())
    topics = start_topics(params.init_params, model, documents, totals, rng, workers, params.verbose)
    return stats_of(model, topics, documents, totals.sum())


def starts_packed(params, model):
    """Whether counts are packed from the beginning, for very many topics; topics are then initialised as documents."""
    random = isinstance(params.init_params, str) and params.init_params == "random"
    sparse = model.later_sampler.name == "gibbs" and model.later_sampler.is_sparse(model.n_components)
    return sparse and random and params.learning_method == "online"


def batch_size(params, documents, n_tokens):
    """Documents per batch."""
    n = documents.n_rows
    if documents.source is not None and documents.source.plan is not None:
        return documents.source.plan.step_rows
    if params.batch_size is not None:
        return params.batch_size
    if params.learning_method == "memoized":
        return max(LEAST_BATCH, -(-n // MEMOIZED_BATCHES))
    return int(np.clip(wanted_rows(params, documents, n_tokens), *BATCH_LIMITS))


def wanted_rows(params, documents, n_tokens):
    """Documents per step that give enough tokens per topic and enough steps per epoch."""
    enough = TOKENS_A_TOPIC * params.n_components * documents.mass / n_tokens
    return min(enough, documents.n_rows / LEAST_STEPS)


def join_minibatches(params, begin):
    """Visit several batches of a fit together, under the same counts, once steps are small.

    The bounds of the batch size suit early learning. With very many topics a batch has few tokens of each topic, and
    reading and writing rows of counts dominates the time of a step. Later steps may have as many tokens per topic as
    other fits. The minimal number of steps per epoch does not change: with fewer steps, short documents lose score
    and coherence.
    """
    model, schedule = begin.model, begin.schedule
    default = params.batch_size is None and params.learning_method == "online"
    default = default and not (model.learn_alpha or model.learn_beta)
    many = model.n_components >= TOGETHER_COMPONENTS and model.later_sampler.name == "gibbs"
    if not default or not many or begin.rows.source is not None:
        return
    wanted = wanted_rows(params, begin.rows, model.size(begin.stats))
    schedule.together = int(np.clip(wanted / schedule.batch_size, 1, TOGETHER))
    schedule.alone = -(-model.n_first // schedule.batch_size)
    if schedule.together > 1:
        model.step_rows = schedule.together * schedule.batch_size


def averages(params):
    """Whether the last epochs of a fit may be averaged."""
    return params.learning_method == "online" and (params.n_averaged_iter is not None or params.mini_epoch is None)


def move_last_passes(schedule, n_averaged, max_iter):
    """Move the averaged epochs to the end of a fit that resumes with another ``max_iter``.

    If they begin after the epochs so far, learning continues, even if a shorter fit had begun to average. Otherwise an
    average that has begun continues.
    """
    last_warm = max_iter - n_averaged
    if isinstance(schedule, MiniEpochs) and (schedule.last_step is None or last_warm >= schedule.epoch):
        schedule.last_warm, schedule.last_step, schedule.count = last_warm, None, None


def make_memory():
    """Memory of the documents' topics."""
    return DocumentMemory(REMEMBERED_SHARE)


def make_schedule(params, documents, rng, initial, last_warm):
    """The schedule of ``learning_method``; topics are averaged after epoch ``last_warm``."""
    n, n_tokens = len(documents), float(initial["mass"])
    size = batch_size(params, documents, n_tokens)
    if params.learning_method == "memoized":
        trim(initial, SMALLEST_COUNT)
        initial["count"] += documents.X.shape[1] * initial["offset"]  # the table does not contain the background
        return Memoized(n, size, rng, partial(SufficientStatistics.packed, smallest=SMALLEST_COUNT), has_bound=False)
    decay, offset, scale = rule_of(params.step_size)
    return MiniEpochs(
        n, size, rng, decay, offset, n_tokens, *(params.mini_epoch or (None, 1)), documents.memory.forget, last_warm,
        scale,
    )  # fmt: skip
