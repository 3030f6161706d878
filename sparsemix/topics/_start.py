"""Initialisation of topics: the first statistics."""

import numpy as np
from scipy import sparse

from sparsemix._engine import initialize
from sparsemix._engine.loop import run
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.schedules import Memoized
from sparsemix._models.topics.variational_model import TopicModel
from sparsemix._models.topics.word_prior import WORDS
from sparsemix._rows.blocks import spans
from sparsemix._rows.documents import DocumentMemory, Documents
from sparsemix._stats.families import serial
from sparsemix._stats.packed_counts import PackedCounts

# Shape of the Gamma noise around the word frequencies of the corpus.
NOISE_SHAPE = 30.0
# Parts of the vocabulary with random numbers for each, which threads share out.
NOISE_PARTS = 16
# Documents among which Bregman k-means++ chooses.
SEED_DOCUMENTS = 5_000
# Documents per topic, if topics are initialised as documents.
SEEDS_A_TOPIC = 3


def stats_of(model, word_topic, documents, tokens):
    """Statistics of all documents, from counts by word and topic of any total."""
    word_topic = np.ascontiguousarray(word_topic, dtype=model.dtype)  # scaled in place: callers pass a new array
    total = word_topic.sum(dtype=np.float64)
    if total > 0:  # all documents of the subset may be empty
        word_topic *= model.dtype.type(tokens / total)
    stats = model.empty_stats()
    stats["count"] += word_topic.sum(axis=0, dtype=np.float64)
    stats.replace("word_topic", word_topic)
    for name, total in model.totals_of(documents.mass, tokens).items():
        stats[name] += total
    return stats


def packed_stats_of(model, word_topic, documents, tokens):
    """Statistics of all documents from sparse counts, which stay packed."""
    word_topic = word_topic.astype(model.dtype) * model.dtype.type(tokens / word_topic.sum(dtype=np.float64))
    stats = model.empty_stats()
    stats["count"] += word_topic.sum(axis=0, dtype=np.float64)
    stats.replace("word_topic", PackedCounts.of(word_topic))
    for name, total in model.totals_of(documents.mass, tokens).items():
        stats[name] += total
    return stats


def trim(stats, smallest):
    """Set tiny counts by word to zero, in place."""
    counts, totals = stats["word_topic"], 0.0
    for first, last in spans(len(counts), WORDS):
        piece = counts[first:last]
        piece[piece < smallest] = 0.0
        totals += piece.sum(axis=0, dtype=np.float64)
    stats["count"] = totals


def random_topics(model, word_totals, rng, split=serial):
    """The word frequencies of the corpus with independent noise for each topic."""
    noise, n_words = np.empty((model.n_words, model.n_components), dtype=np.float32), model.n_words
    totals, parts = word_totals[:, None].astype(np.float32), rng.spawn(NOISE_PARTS)

    def share(first, last):
        for part in range(first, last):
            words = slice(n_words * part // NOISE_PARTS, n_words * (part + 1) // NOISE_PARTS)
            parts[part].standard_gamma(NOISE_SHAPE, dtype=np.float32, out=noise[words])
            noise[words] *= totals[words]

    split(share, NOISE_PARTS)
    return noise


def topics_of_documents(model, documents, rng):
    """Topics as sums of a few documents each, (V, K) sparse: topics that differ from the beginning, at no cost.

    The documents of a topic have equal shares. Every topic has the same total.
    """
    n_components = model.n_components
    chosen = rng.permutation(np.flatnonzero(documents.lengths()))
    each = int(np.clip(len(chosen) // n_components, 1, SEEDS_A_TOPIC))
    chosen = np.resize(chosen, each * n_components)  # repeats documents if there are fewer than topics
    X = sparse.csr_array(documents.X[chosen], dtype=np.float64)
    X.sum_duplicates()
    X = sparse.diags_array(1.0 / X.sum(axis=1)) @ X
    topics = sparse.csr_array((np.ones(len(chosen)), (np.arange(len(chosen)) % n_components, np.arange(len(chosen)))))
    word_topic = sparse.csr_array((topics @ X).T)
    word_topic.sort_indices()
    return word_topic


def bregman_topics(model, documents, word_totals, rng):
    """Topics from documents chosen by Bregman k-means++ for Dirichlet-multinomial clusters ([HS16] Section 6).

    The counts of a topic are those of the documents nearest to its seed, plus the word frequencies of the corpus.
    """
    size = min(len(documents), max(SEED_DOCUMENTS, 2 * model.n_components))
    chosen = np.sort(rng.choice(len(documents), size=size, replace=False))
    X = sparse.csr_array(documents.X[chosen], dtype=np.float64)
    X.sum_duplicates()
    prior = model.topic_word_prior
    lengths = np.asarray(X.sum(axis=1)).ravel() + prior * model.n_words
    own = X.copy()
    own.data = (own.data + prior) * np.log(own.data + prior) - prior * np.log(prior)
    own = np.asarray(own.sum(axis=1)).ravel() + model.n_words * prior * np.log(prior) - lengths * np.log(lengths)

    def from_document(n):
        centre = (X[[n]].toarray().ravel() + prior) / lengths[n]
        log_centre = np.log(centre)
        return np.maximum(own - X @ log_centre - prior * log_centre.sum(), 0.0)

    labels = initialize.plus_plus(from_document, size, model.n_components, rng, documents.weight(chosen))
    member = sparse.csr_array((np.ones(size), (labels, np.arange(size))), shape=(model.n_components, size))
    counts = sparse.csr_array((member @ X).T, dtype=np.float32).toarray()
    counts += (word_totals / word_totals.sum()).astype(np.float32)[:, None]
    return counts


def smoothed_em_topics(model, documents, rng, workers, verbose=0):
    """Counts by word and topic after a few epochs of dense smoothed EM on a random subset, initialised at random.

    EM uses posterior means, which are soft with few tokens and many topics. With exp E[log p], the first topics that
    lead by chance would take all tokens, and most topics would keep unrelated words. The cost of EM grows with K, so
    beyond ``EM_COMPONENTS`` every topic of the EM is split into parts that differ by noise.
    """
    n_components = min(model.n_components, EM_COMPONENTS)
    size = min(len(documents), em_documents(documents.entries, n_components))
    chosen = np.sort(rng.choice(len(documents), size=size, replace=False))
    memory = DocumentMemory(EM_SHARE)
    subset = Documents(documents.X[chosen], documents.weight(chosen), documents.dtype, memory)
    prior = np.full(n_components, min(model.doc_topic_prior.sum() / n_components, LARGEST_PRIOR))
    em = TopicModel(
        model.n_words, n_components, n_components, prior, model.topic_word_prior, model.dtype, EM_DOC_ITER, EM_DOC_TOL,
        posterior_means=True,
    )  # fmt: skip
    totals = subset.word_totals()
    initial = stats_of(em, random_topics(em, totals, rng, workers.split), subset, totals.sum())
    schedule = Memoized(size, -(-size // EM_BATCHES), rng)
    n_epochs = EM_PASSES if size == documents.n_rows else EM_PASSES_OF_SUBSET
    monitor = Monitor(n_epochs, 0.0, schedule, verbose, f"start from {size} documents:")
    stats = run(em, subset, schedule, monitor, workers, initial)
    del schedule, subset, memory, em, monitor, initial  # free their memory before the peak
    return split_topics(stats, model.n_components, rng)


def em_documents(entries, n_components):
    """Number of documents of the EM subset, so that EM takes limited time: small corpora are used whole."""
    return max(EM_LEAST_DOCUMENTS, int(EM_SIZE / (entries * n_components)))


def split_topics(stats, n_components, rng):
    """Counts of more topics: each old topic, largest first, is divided into equal parts with noise."""
    topics, n_old = stats["word_topic"], stats.n_components
    if n_old == n_components:
        return topics
    parents = np.argsort(-stats["count"], kind="stable")[np.arange(n_components) % n_old]
    parts = np.bincount(parents, minlength=n_old)[parents]
    shares = 1.0 / parts.astype(np.float32)
    split = np.empty((len(topics), n_components), dtype=np.float32)
    for first, last in spans(len(topics), WORDS):
        piece = split[first:last]
        rng.standard_gamma(SPLIT_SHAPE, dtype=np.float32, out=piece)
        piece *= topics[first:last, parents]
        piece *= shares
    return split


# Epochs of the smoothed EM: topics form in about five, and more epochs overfit a subset.
EM_PASSES = 5
EM_PASSES_OF_SUBSET = 6
# Smoothed EM: iterations per document, their tolerance in tokens, batches, and the least share of a document's tokens
# with which a topic is remembered.
EM_DOC_ITER = 8
EM_DOC_TOL = 0.05
EM_BATCHES = 4
EM_SHARE = 1e-3
# Size of the subset: entries times topics (half a minute on one core), and the least number of documents.
EM_SIZE = 9e8
EM_LEAST_DOCUMENTS = 2_000
# Limits of the EM: topics, and prior mass of a topic. Shape of the noise of split topics.
EM_COMPONENTS = 200
LARGEST_PRIOR = 0.1
SPLIT_SHAPE = 10.0
