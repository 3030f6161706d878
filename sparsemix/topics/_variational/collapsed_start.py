"""Initial topics of variational inference: a few epochs of stochastic collapsed inference."""

import numpy as np

from sparsemix._engine.loop import run
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.schedules import MiniEpochs
from sparsemix._models.topics.dense_sampler import DenseSampler
from sparsemix._models.topics.gibbs_sampler import DENSE_SUMS, GibbsSampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._rows.documents import DocumentMemory, Documents
from sparsemix._rows.rates import LearningRates
from sparsemix.topics import _start
from sparsemix.topics._assemble import REMEMBERED_SHARE
from sparsemix.topics._stopping import n_averaged, n_epochs
from sparsemix.topics._word_prior import holding

# Least number of epochs; five give long documents a larger bound after the fit, but lower scores. Short documents get
# half of the epochs of a fit.
EPOCHS = 10
# Size of the subset: entries (half a minute on one core), and the least number of documents.
ENTRIES, LEAST_DOCUMENTS = 2e6, 2_000
# Documents of a batch: this number of tokens per topic, within these bounds, and at least this many batches per epoch.
TOKENS_A_TOPIC, BATCH, LEAST_STEPS = 160, (16, 500), 64
# Number of first batches with dense responsibilities (minimum, maximum), and the most documents times topics in them.
FIRST_BATCHES, FIRST_WORK = (10, 150), 2e7
# Step sizes of batches, and of the tokens of a document in the first batches: offset and decay.
STEPS, TOKEN_STEPS = (1.0, 0.6), (10.0, 0.9)
# Sweeps over the words of a document in a visit.
SWEEPS = 2


def n_documents(entries):
    """Number of documents of the subset, from their mean number of entries."""
    return max(LEAST_DOCUMENTS, int(ENTRIES / entries))


def collapsed_topics(model, documents, rng, workers, verbose=0, prior=None):
    """Counts by word and topic, (V, K), of a random subset; ``prior`` has the ``PriorCounts`` of all documents.

    Variational inference of short documents gives nearly all of a document to the topic that leads at first, and
    epochs hardly move a word to a topic that does not have it. Collapsed inference integrates the topics out, and its
    samples leave such optima.
    """
    size = min(len(documents), n_documents(documents.entries))
    chosen = np.sort(rng.choice(len(documents), size=size, replace=False))
    memory = DocumentMemory(REMEMBERED_SHARE)
    subset = Documents(documents.X[chosen], documents.weight(chosen), documents.dtype, memory)
    totals = subset.word_totals()
    n_tokens = float(totals.sum())
    if n_tokens == 0.0:  # all documents of the subset are empty
        return _start.random_topics(model, documents.word_totals(), rng, workers.split)
    batch = int(np.clip(min(TOKENS_A_TOPIC * model.n_components * subset.mass / n_tokens, size / LEAST_STEPS), *BATCH))
    rates = LearningRates(TOKEN_STEPS[1], TOKEN_STEPS[0])
    packed = model.n_components > DENSE_SUMS
    n_first = 0 if packed else int(np.clip(FIRST_WORK / model.n_components, *(n * batch for n in FIRST_BATCHES)))
    collapsed = StochasticCollapsedModel(
        model.n_words, model.doc_topic_prior, model.topic_word_prior, GibbsSampler(SWEEPS),
        DenseSampler(SWEEPS, rates), n_first, dtype=model.dtype, seed=int(rng.integers(2**63)),
    )  # fmt: skip
    if packed:
        topics = _start.topics_of_documents(collapsed, subset, rng)
        initial = _start.packed_stats_of(collapsed, topics, subset, n_tokens)
    else:
        topics = _start.random_topics(collapsed, totals, rng, workers.split)
        initial = _start.stats_of(collapsed, topics, subset, n_tokens)
    if prior is not None:
        holding(initial, prior.scaled(n_tokens / documents.word_totals().sum()))
    n_iter = max(EPOCHS, n_epochs(n_tokens / subset.mass, n_tokens) // 2)
    schedule = MiniEpochs(
        size, batch, rng, STEPS[1], STEPS[0], n_tokens, forget=memory.forget, last_warm=n_iter - n_averaged(n_iter)
    )
    monitor = Monitor(n_iter, 0.0, schedule, verbose, f"start from {size} documents:")
    stats = run(collapsed, subset, schedule, monitor, workers, initial)
    table, _ = (stats if prior is None else stats.hold(None)).unfolded("word_topic")
    return table if isinstance(table, np.ndarray) else table.toarray()
