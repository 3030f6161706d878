"""Models that sweep over documents, and their initial state, from parameters of CollapsedLDA and GibbsLDA."""

import numpy as np
from scipy import sparse

from sparsemix._engine.sweeps import RowState
from sparsemix._models.topics.exact_model import ExactModel
from sparsemix._models.topics.sweep_models import GibbsModel, SecondOrderModel, ZeroOrderModel
from sparsemix.metrics._checks import check_token_list, first_part, row_of
from sparsemix.topics import _start
from sparsemix.topics._assemble import count_blocks, given_topics, priors

MODELS = {"cvb0": ZeroOrderModel, "cvb": SecondOrderModel, "cvb_exact": ExactModel, "gibbs": GibbsModel}
# Whole numbers below this are exact in single precision.
EXACT = 1 << 24


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
