"""The statistics that topics are learned from."""

import numpy as np
from scipy import sparse

from sparsemix._engine import initialize
from sparsemix._engine.documents import DocumentMemory, Documents
from sparsemix._engine.loop import run
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.schedules import Memoized
from sparsemix.topics._model import TopicModel

# Spread of the random start about the corpus' own word frequencies, as the shape of a Gamma distribution.
NOISE_SHAPE = 30.0
# Documents that Bregman k-means++ chooses among.
SEED_DOCUMENTS = 5_000


def stats_of(model, word_topic, documents, tokens):
    """Statistics as of all documents, from counts by word and topic of any total."""
    word_topic = np.ascontiguousarray(word_topic, dtype=np.float64)
    word_topic *= tokens / word_topic.sum()
    stats = model.empty_stats()
    stats["count"] += word_topic.sum(axis=0)
    stats.replace("word_topic", word_topic.astype(model.dtype))
    stats["mass"] += documents.mass
    stats["tokens"] += tokens
    return stats


def random_topics(model, word_totals, rng):
    """The word frequencies of the corpus, each topic with noise of its own."""
    noise = rng.standard_gamma(NOISE_SHAPE, (model.n_words, model.n_components), dtype=np.float32)
    return noise * word_totals[:, None]


def bregman_topics(model, documents, word_totals, rng):
    """Documents chosen by Bregman k-means++ for Dirichlet-multinomial clusters ([HS16] Section 6).

    A cluster's counts are those of the documents nearest to its seed, over the word frequencies of the corpus.
    """
    size = min(len(documents), max(SEED_DOCUMENTS, 2 * model.n_components))
    chosen = np.sort(rng.choice(len(documents), size=size, replace=False))
    X = sparse.csr_array(documents.X[chosen], dtype=np.float64)
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
    return (member @ X).T.toarray() + word_totals[:, None] / word_totals.sum()


def smoothed_em_topics(model, documents, init_size, n_iter, rng, workers):
    """Topics after some passes of dense smoothed EM over a random subset, from a random start.

    EM with posterior means is soft where few tokens meet many topics: there exp E[log p] lets the first topics that
    are ahead by chance take all, and most topics are left with words that have nothing to do with each other.
    """
    size = min(len(documents), init_size)
    chosen = np.sort(rng.choice(len(documents), size=size, replace=False))
    subset = Documents(
        documents.X[chosen], documents.weight(chosen), documents.dtype, DocumentMemory(EM_SHARE)
    )
    em = TopicModel(
        model.n_words, model.n_components, model.n_components, model.doc_topic_prior, model.topic_word_prior,
        model.dtype, EM_DOC_ITER, EM_DOC_TOL, posterior_means=True,
    )  # fmt: skip
    totals = subset.word_totals()
    initial = stats_of(em, random_topics(em, totals, rng), subset, totals.sum())
    schedule = Memoized(size, -(-size // EM_BATCHES), rng, initial)
    stats = run(em, subset, schedule, Monitor(n_iter, 0.0, schedule), workers, initial)
    return stats["word_topic"]


# Of the smoothed EM: iterations of a document, their tolerance in tokens, batches, and what is remembered.
EM_DOC_ITER = 8
EM_DOC_TOL = 0.05
EM_BATCHES = 4
EM_SHARE = 1e-3
