"""From the parameters of stochastic collapsed inference to model, start and schedule."""

from functools import partial

import numpy as np

from sparsemix._engine.documents import DocumentMemory
from sparsemix._engine.schedules import LearningRates, Memoized, MiniEpochs
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix.topics._assemble import REMEMBERED_SHARE, doc_topic_prior, start_topics, topic_word_prior
from sparsemix.topics._collapsed.dense_sampler import DenseSampler
from sparsemix.topics._collapsed.gibbs_sampler import GibbsSampler
from sparsemix.topics._collapsed.stochastic_model import StochasticCollapsedModel
from sparsemix.topics._collapsed.walker_sampler import WalkerSampler
from sparsemix.topics._start import packed_stats_of, stats_of, topics_of_documents, trim
from sparsemix.topics._sums import SMALLEST_COUNT

# Documents of a memoized batch by default: at least so many, and a 32nd of the corpus.
MEMOIZED_BATCHES = 32
LEAST_BATCH = 250
# Documents of a minibatch by default: so many tokens a topic, within bounds, and so many minibatches a pass at least.
# The noise of a small one's step is what makes topics coherent; in one too small rare topics drown in it.
TOKENS_A_TOPIC = 160
MINIBATCH = 16, 500
LEAST_STEPS = 64
# Minibatches that are visited together at most, from so many topics on, whose rows no cache holds.
TOGETHER = 8
TOGETHER_COMPONENTS = 500
# Minibatches that are visited densely in steps by default, until topics differ; and documents times topics, which make
# them fewer, but not than the first number, for very many topics.
START_BATCHES = 10, 150
START_WORK = 2e7
TABLE_AGE = 10
# Of the passes of a fit so many are the last ones, whose documents are cold and whose topics are averaged, when a fit
# has so many passes. Warm documents hold on to what they had, which raises scores and costs coherence.
AVERAGED_SHARE = 0.45
LEAST_AVERAGED_ITER = 5


def make_model(params, n_words, dtype):
    """A model with the samplers that ``sampler`` and ``n_start_samples`` name."""
    n_sweeps, exclude_own, n_components = params.burn_in + 1, params.exclude_own, params.n_components
    rates = LearningRates(params.local_decay, params.local_offset)
    first = DenseSampler(n_sweeps, "none", rates)
    later_rates = rates if exclude_own == "none" else None
    kind = params.sampler
    if kind == "auto":
        kind = "dense" if exclude_own == "both" else "gibbs"
    if kind == "mhw":
        sparsity = 1.0 / n_components if params.sparsity is None else params.sparsity
        age = TABLE_AGE if params.max_table_age is None else params.max_table_age
        sampler = WalkerSampler(
            params.n_samples, params.n_even_samples, n_sweeps, exclude_own, later_rates, sparsity, age
        )
    elif kind == "gibbs":
        if exclude_own == "both":
            raise ValueError('exclude_own="both" needs sampler="dense" or "mhw"; give "document" for sampler="gibbs"')
        sampler = GibbsSampler(n_sweeps, exclude_own)
    else:
        sampler = DenseSampler(n_sweeps, exclude_own, later_rates)
    return StochasticCollapsedModel(
        n_words, doc_topic_prior(params), topic_word_prior(params), sampler, first,
        params.n_start_samples or 0, dtype=dtype, learn_priors=params.optimize_priors,
    )  # fmt: skip


def make_start(params, model, documents, rng, workers):
    """Statistics that learning starts from, in the shape of those of all documents."""
    model.seed = int(rng.integers(2**63))
    totals = documents.word_totals()
    if starts_packed(params, model):
        return packed_stats_of(model, topics_of_documents(model, documents, rng), documents, totals.sum())
    alike = isinstance(params.init_params, str) and params.init_params in ("random", "uniform")
    if params.n_start_samples is None and alike and params.learning_method == "online":
        least, most = START_BATCHES
        size = batch_size(params, documents, totals.sum())
        model.n_first = int(np.clip(START_WORK / model.n_components, least * size, most * size))
    if isinstance(params.init_params, str) and params.init_params == "uniform":
        return model.same_topics(documents.mass, totals.sum())
    topics = start_topics(params, model, documents, totals, rng, workers)
    return stats_of(model, topics, documents, totals.sum())


def starts_packed(params, model):
    """Whether counts are packed from the beginning, for very many topics: then topics begin as documents."""
    online = params.learning_method == "online" and not params.n_start_samples
    random = isinstance(params.init_params, str) and params.init_params == "random"
    return model.later_sampler.name == "gibbs" and model.later_sampler.is_sparse(model) and online and random


def batch_size(params, documents, n_tokens):
    """Documents of a batch, or of a minibatch."""
    n = documents.n_rows
    if documents.source is not None and documents.source.plan is not None:
        return documents.source.plan.step_rows
    if params.batch_size is not None:
        return params.batch_size
    if params.learning_method == "memoized":
        return max(LEAST_BATCH, -(-n // MEMOIZED_BATCHES))
    return int(np.clip(wanted_rows(params, documents, n_tokens), *MINIBATCH))


def wanted_rows(params, documents, n_tokens):
    """Documents of a step, as far as topics and passes go."""
    enough = TOKENS_A_TOPIC * params.n_components * documents.mass / n_tokens
    return min(enough, documents.n_rows / LEAST_STEPS)


def join_minibatches(params, begin):
    """Let minibatches of a fit be visited together, under the same counts, once steps are small.

    The bounds of a minibatch are those of early learning. With very many topics it has few tokens of each, and what a
    step costs is to read and write rows of counts; later ones may have as many tokens a topic as those of other fits,
    and a pass still has as many steps: with fewer, short documents lose score and coherence.
    """
    model, schedule = begin.model, begin.schedule
    default = params.batch_size is None and params.learning_method == "online" and not model.learn_priors
    many = model.n_components >= TOGETHER_COMPONENTS and model.later_sampler.name == "gibbs"
    if not default or not many or begin.rows.source is not None:
        return
    wanted = wanted_rows(params, begin.rows, model.size(begin.stats))
    schedule.together = int(np.clip(wanted / schedule.batch_size, 1, TOGETHER))
    schedule.alone = -(-model.n_first // schedule.batch_size)
    if schedule.together > 1:
        model.step_rows = schedule.together * schedule.batch_size


def n_averaged_iter(params):
    """Last passes that topics are averaged over; where a fit may end sooner there are none."""
    if params.n_averaged_iter is not None:
        return params.n_averaged_iter
    if params.early_stopping or params.mini_epoch_size is not None or params.max_iter < LEAST_AVERAGED_ITER:
        return 0
    return int(AVERAGED_SHARE * params.max_iter)


def move_last_passes(params, schedule):
    """A fit that is gone on with under another ``max_iter`` has its averaged passes at its own end.

    Those that have begun go on: what is in the average stays there.
    """
    if params.learning_method == "online" and schedule.last_step is None:
        schedule.last_warm = params.max_iter - n_averaged_iter(params)


def prepare_first_passes(params, begin, rng, n_passes):
    """The first block of a stream is learned in minibatches, as in a fit: densely in the first half of the passes."""
    begin.rows.memory = make_memory()
    begin.schedule = make_schedule(params, begin.rows, rng, begin.stats)
    begin.schedule.last_warm = np.inf
    if params.n_start_samples is None:
        begin.model.n_first = min(begin.model.n_first, n_passes * len(begin.rows) / 2)


def make_memory():
    """Where documents are remembered."""
    return DocumentMemory(REMEMBERED_SHARE)


def make_schedule(params, documents, rng, initial):
    """The schedule of ``learning_method``."""
    n, n_tokens = len(documents), float(initial["mass"])
    size = batch_size(params, documents, n_tokens)
    if params.learning_method == "memoized":
        trim(initial, SMALLEST_COUNT)
        initial["count"] += documents.X.shape[1] * initial["offset"]  # the background is not in the table
        return Memoized(n, size, rng, partial(SufficientStatistics.packed, smallest=SMALLEST_COUNT), has_bound=False)
    return MiniEpochs(
        n, size, rng, params.learning_decay, params.learning_offset, n_tokens, params.mini_epoch_size,
        params.mini_epoch_passes, documents.memory.forget, params.max_iter - n_averaged_iter(params),
    )  # fmt: skip
