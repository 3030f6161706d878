"""Model, initialisation and schedule of the skip-gram topic model from its parameters."""

import numpy as np

from sparsemix._engine.schedules import MiniEpochs
from sparsemix._engine.sweeps import RowState
from sparsemix._estimator.absent import check_continues
from sparsemix._estimator.input.checks import of_positive_weight
from sparsemix._models.skipgram.samplers import DenseSampler, WalkerSampler
from sparsemix._models.skipgram.stochastic_model import Annealing, StochasticSkipGramModel
from sparsemix._models.skipgram.sweep_models import GibbsSkipGramModel, WalkingSkipGramModel
from sparsemix._rows.rates import rule_of
from sparsemix._rows.sequences import BLOCK_TOKENS, Sequences, TokenMemory
from sparsemix.topics._assemble import given_topics, prior_of_topics
from sparsemix.topics._start import NOISE_SHAPE
from sparsemix.topics._word_prior import prior_of_words

# Default prior of a context word, per place of a window.
PRIOR_OF_A_PLACE = 0.01
# Up to this number of topics, the default computes all responsibilities of a position.
DENSE_COMPONENTS = 2000
# Default tokens of a batch: this number per topic, within bounds, and a least number of batches per epoch.
TOKENS_A_TOPIC = 100
BATCH_LIMITS = 2_000, 50_000
LEAST_STEPS = 64
# Steps between rebuilds of alias tables.
TABLE_AGE = 10
# Default samples of a position: topics that it adds to the counts, and proposals of its chain.
EVEN_SAMPLES = 16
PROPOSALS = 5
# Default factor of the temperature in an epoch: 0.9^5, as in [IF19].
COOLING = 0.59
# Tokens whose proposals use the same tables in a sweep of "mhw".
SWEEP_TOKENS = 1 << 16


def priors(params):
    """Both priors of a model. That of words is for all places of a window: a word is counted in all of its contexts."""
    beta = params.topic_word_prior
    return {
        "doc_topic_prior": prior_of_topics("input_topic_prior", params.input_topic_prior, params.n_components),
        "topic_word_prior": PRIOR_OF_A_PLACE * 2 * params.window if beta is None else prior_of_words(beta),
    }


def annealing(params):
    """Temperature by epoch."""
    return Annealing(*((2.0 * params.window, 1.0, COOLING) if params.annealing is None else params.annealing))


def weighted_sequences(X, n_words, sample_weight, window, may_be_empty=False):
    """Documents of positive weight. Raises if no word has a context."""
    X, sample_weight, _ = of_positive_weight(X, sample_weight, may_be_empty)
    documents = Sequences(X, n_words, sample_weight)
    if not may_be_empty and not documents.totals(window)[0].any():
        raise ValueError(
            "no document of X has two words within the window; give at least one, or a wider window: words without a "
            "context teach nothing"
        )
    return documents


def make_model(params, n_words, n_documents, dtype):
    """The model of ``inference="scvb0"``."""
    kind = params.sampler
    if kind == "auto":
        kind = "dense" if params.n_components <= DENSE_COMPONENTS else "mhw"
    if kind == "dense":
        sampler = DenseSampler(EVEN_SAMPLES if params.n_samples is None else params.n_samples)
    else:
        sampler = WalkerSampler(n_proposals(params), TABLE_AGE)
    return StochasticSkipGramModel(
        n_words, sampler=sampler, window=params.window, annealing=annealing(params), n_documents=n_documents,
        input_rule=rule_of(params.input_step_size), dtype=dtype, **priors(params),
    )  # fmt: skip


def n_proposals(params):
    """Proposals of a chain in a visit."""
    return PROPOSALS if params.n_samples is None else params.n_samples


def make_start(params, model, documents, rng, streaming=False):
    """Initial statistics, scaled to all documents."""
    model.seed = int(rng.integers(2**63))
    inputs, contexts = documents.totals(params.window)
    words = start_topics(params, model, contexts, rng)
    words *= words.dtype.type(contexts.sum() / words.sum(dtype=np.float64))
    mass = inputs.sum()
    if streaming:  # the number of words is not known yet
        total = params.total_samples
        inputs = None if total is None else float(mass * total / documents.mass)
    return model.first_stats(words, inputs, documents.mass, mass)


def continued(params, model, fitted, documents):
    """Initial statistics for ``warm_start``."""
    old = fitted.model
    check_continues(params, {"n_components": old.n_components})
    return model.continued(old, fitted.stats, documents)


def start_topics(params, model, contexts, rng):
    """Initial counts of context words by topic, of any total: word frequencies with noise, or given topics."""
    if not isinstance(params.init_params, str):
        return given_topics(params.init_params, model).astype(model.dtype)
    noise = rng.standard_gamma(NOISE_SHAPE, (model.n_words, model.n_components), dtype=np.float32)
    return (noise * contexts[:, None].astype(np.float32)).astype(model.dtype)


def batch_size(params, documents):
    """Documents per batch."""
    n = len(documents)
    if params.batch_size is not None:
        return params.batch_size
    tokens = np.clip(TOKENS_A_TOPIC * params.n_components, *BATCH_LIMITS)
    wanted = min(tokens * n / max(1, documents.n_tokens), n / LEAST_STEPS)
    return max(1, int(wanted))


def make_schedule(params, documents, rng, initial):
    """Schedule of random batches."""
    decay, offset, scale = rule_of(params.step_size)
    return MiniEpochs(
        len(documents), batch_size(params, documents), rng, decay, offset, float(initial["mass"]),
        *(params.mini_epoch or (None, 1)), documents.memory.forget, scale=scale,
    )  # fmt: skip


def make_memory():
    """Memory of the chains."""
    return TokenMemory()


def make_sweep_model(params, n_words, seed, dtype):
    """The model of ``inference="gibbs"`` or "mhw"."""
    kind = GibbsSkipGramModel if params.inference == "gibbs" else WalkingSkipGramModel
    model = kind(n_words, window=params.window, annealing=annealing(params), seed=seed, dtype=dtype, **priors(params))
    model.n_samples = n_proposals(params)
    return model


def make_row_state(params, model, documents, rng):
    """Topics of positions and statistics before the first sweep: at random, or from given topics."""
    size = max(1, int((SWEEP_TOKENS if params.inference == "mhw" else BLOCK_TOKENS) * len(documents)
                      / max(1, documents.n_tokens)))  # fmt: skip
    state = RowState(documents, model.n_components, size)
    stats = model.empty_stats()
    inputs, contexts = documents.totals(params.window)
    stats["mass"] += inputs.sum()
    stats["documents"] += documents.mass
    if isinstance(params.init_params, str):
        state.fill(documents, lambda x: model.random_state(x, rng))
        model.recount(state.visits(documents), stats)
        return state, stats
    state.fill(documents, model.empty_state)
    words = given_topics(params.init_params, model)
    stats.replace("word_topic", (words * (contexts.sum() / words.sum())).astype(model.dtype))
    stats["count"] = stats["word_topic"].sum(axis=0, dtype=np.float64)
    return state, stats
