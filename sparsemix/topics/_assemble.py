"""Priors, initial topics, documents, and models that sweep over documents, from parameters of topic estimators."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from sparsemix._engine.sweeps import RowState
from sparsemix._estimator.input.checks import SMALLEST_PRIOR, check_magnitude, of_positive_weight
from sparsemix._estimator.input.forms import floats_of, row_of
from sparsemix._models.topics.exact_model import ExactModel
from sparsemix._models.topics.sweep_models import GibbsModel, SecondOrderModel, ZeroOrderModel
from sparsemix._rows.blocks import spans
from sparsemix._rows.documents import Documents, canonical
from sparsemix.metrics._checks import check_token_list, first_part
from sparsemix.topics import _start
from sparsemix.topics._word_prior import LARGEST_PRIOR, aligned, holding, is_number, prior_counts, prior_of_words

# Topics with a smaller share of a document's tokens are not remembered between visits.
REMEMBERED_SHARE = 1e-3
# Default prior mass of a document over all topics, for many topics. A larger mass makes the topics of short documents
# too similar. All estimators use the same number, so that their scores are comparable.
PRIOR_MASS = 5.0
# Models that sweep over documents, by ``inference``.
MODELS = {"cvb0": ZeroOrderModel, "cvb": SecondOrderModel, "cvb_exact": ExactModel, "gibbs": GibbsModel}
# Whole numbers below this are exact in single precision.
EXACT = 1 << 24


def weighted_documents(X, sample_weight, dtype, may_be_empty=False):
    """Documents of positive weight. Raises if none has a token, unless ``may_be_empty``."""
    X, sample_weight, kept = of_positive_weight(X, sample_weight, may_be_empty)
    check_magnitude(X, sample_weight, part=may_be_empty)
    documents = Documents(X, sample_weight, dtype)
    documents.kept = kept
    if not may_be_empty and not documents.informative:
        raise ValueError("no document of X has a token of positive weight; give at least one that is not empty")
    return documents


def count_blocks(X):
    """Yield the first row and the counts of blocks of a CSR matrix or a dense array, as CSR without duplicates."""
    for start, stop in spans(X.shape[0], 1 << 16 if sparse.issparse(X) else max(1, (1 << 20) // X.shape[1])):
        yield start, canonical(X[start:stop])


def is_learned(prior):
    """Whether a parameter says that the prior is learned."""
    return isinstance(prior, str) and prior == "learned"


def default_prior_of_topics(n_components):
    """Default for every topic."""
    return min(_start.LARGEST_PRIOR, PRIOR_MASS / n_components)


def prior_of_topics(name, prior, n_components):
    """A checked prior by topic, shape (K,); None and "learned" mean the default."""
    if prior is None or is_learned(prior):
        prior = default_prior_of_topics(n_components)
    prior = floats_of(prior, name)
    if prior.shape not in ((), (n_components,)):
        raise ValueError(f"{name} has shape {prior.shape}, expected a number or ({n_components},): one for each topic")
    if not ((prior >= SMALLEST_PRIOR) & (prior <= LARGEST_PRIOR)).all():
        raise ValueError(
            f"{name} must be positive and finite for every topic, from {SMALLEST_PRIOR:g} to {LARGEST_PRIOR:g}"
        )
    return np.full(n_components, prior) if prior.shape == () else prior.copy()


def priors(params):
    """Arguments of a model: the initial values of both priors, and which of them it learns."""
    alpha, beta = params.doc_topic_prior, params.topic_word_prior
    return {
        "doc_topic_prior": prior_of_topics("doc_topic_prior", alpha, params.n_components),
        "topic_word_prior": prior_of_words(beta),
        "learn_alpha": is_learned(alpha),
        "learn_beta": is_learned(beta),
    }


def counts_of_prior(params, documents, dtype, times=1.0):
    """``PriorCounts`` of ``topic_word_prior`` for documents that are 1 / ``times`` of all; None for a number."""
    prior = params.topic_word_prior
    if is_number(prior):  # needs no pass over the documents
        return None
    return prior_counts(prior, params.n_components, documents.word_totals() * times, dtype)


def with_prior(params, stats, documents, dtype, aligns=True, times=1.0):
    """Initial statistics that hold the counts of ``topic_word_prior``.

    ``aligns``: topics may change places, so that seeded topics begin with the topics that have their words.
    """
    prior = counts_of_prior(params, documents, dtype, times)
    if prior is None:
        return stats if stats.prior is None else stats.hold(None)
    stats = stats.hold(None) if stats.prior is not None else stats
    return holding(aligned(stats, prior) if aligns and isinstance(params.init_params, str) else stats, prior)


def start_topics(method, model, documents, totals, rng, workers, verbose):
    """Initial counts by word and topic, (V, K), of any total; ``method`` is the parameter ``init_params``."""
    if not isinstance(method, str):
        return given_topics(method, model)
    if method == "random":
        return _start.random_topics(model, totals, rng, workers.split)
    if method == "bregman":
        return _start.bregman_topics(model, documents, totals, rng)
    return _start.smoothed_em_topics(model, documents, rng, workers, verbose)


def given_topics(components, model):
    """Given ``components_`` as counts by word and topic, scaled."""
    components = check_array(floats_of(components, "init_params"), input_name="init_params")
    expected = model.n_components, model.n_words
    if components.shape != expected:
        raise ValueError(f"init_params has shape {components.shape}, expected {expected}: topics by words")
    if (components < 0).any() or not components.any(axis=1).all():
        raise ValueError("init_params must not be negative, and every topic needs a word")
    # any scale gives the same bits; the power of two keeps large values in the range of single precision
    return np.ldexp(components, -np.frexp(components.max())[1]).T.copy()


# -- sweeps over documents: CollapsedLDA and GibbsLDA


def check_whole(X, remedy='use inference="cvb0"'):
    """Raise unless all counts are whole numbers, and small enough to list their tokens."""
    for start, block in count_blocks(X):
        if (part := first_part(block)) is not None:
            raise ValueError(
                f"row {start + row_of(block, part)} of X has the count {block.data[part]}, and Gibbs sampling needs "
                f"whole numbers of tokens; round the counts, or {remedy}"
            )
        check_token_list(block, start, f"{remedy}, which needs none")


def make_collapsed_model(cls, params, documents, seed, dtype):
    """A model of a class. Sets the precision in which documents are read."""
    dtype = np.dtype(dtype)
    if issubclass(cls, GibbsModel):  # counts must stay exact
        weight = documents.sample_weight
        whole = weight is None or (weight == np.floor(weight)).all()
        whole = whole and is_number(params.topic_word_prior)
        dtype = dtype if whole and documents.word_totals().sum() < EXACT else np.dtype(np.float64)
    if cls is ExactModel:  # round-off would let the bound fall
        dtype = np.dtype(np.float64)
    model = cls(documents.X.shape[1], params.n_components, dtype=dtype, **priors(params))
    model.seed = seed
    documents.dtype = dtype
    return model


def make_row_state(params, model, documents, rng, topics=None, state=None):
    """State of rows and statistics before the first sweep: from an old state, from topics, or at random."""
    tokens = documents.word_totals().sum()
    if topics is None and not isinstance(params.init_params, str):
        topics = given_topics(params.init_params, model)
    prior = counts_of_prior(params, documents, model.dtype)
    if prior is not None and prior.excludes and state is None and topics is None:  # topics that lack excluded words
        topics = _start.random_topics(model, documents.word_totals(), rng)
    if state is None and topics is not None:
        state = RowState(documents, model.n_components)
        state.fill(documents, model.empty_state)
        stats = _start.stats_of(model, topics, documents, tokens)
        return state, stats if prior is None else holding(stats, prior)
    if state is None:
        state = RowState(documents, model.n_components)
        state.fill(documents, lambda x: model.random_state(x, rng))
    stats = model.empty_stats()
    for name, total in model.totals_of(documents.mass, tokens).items():
        stats[name] += total
    if prior is not None:
        stats.hold(prior)
    model.recount(state.visits(documents), stats)
    return state, stats


def doc_counts(model, state, documents):
    """Tokens, or expected tokens, of each given row by topic, csr_array (n_samples, K); none in rows of weight zero.

    Parameters
    ----------
    model : SweepModel
    state : RowState
    documents : Documents
    """
    counts = sparse.vstack(
        [sparse.csr_array(model.doc_counts(x, part), dtype=model.dtype) for x, _, part, _ in state.visits(documents)]
    ).tocsr()
    if documents.kept is None:
        return counts
    lengths = np.zeros(len(documents.kept), dtype=counts.indptr.dtype)
    lengths[documents.kept] = np.diff(counts.indptr)
    indptr = np.append(0, np.cumsum(lengths))
    return sparse.csr_array((counts.data, counts.indices, indptr), shape=(len(lengths), counts.shape[1]))


def parts_of(counts):
    """The arrays of ``doc_counts``, which pickles hold."""
    return counts.data, counts.indices, counts.indptr


def proportions(counts, prior):
    """Posterior means of the topic proportions of documents, (n, K) float64, from ``parts_of`` their counts."""
    out = sparse.csr_array(counts, shape=(len(counts[2]) - 1, len(prior))).toarray() + prior
    out /= out.sum(axis=1, keepdims=True)
    return out
