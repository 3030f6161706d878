"""Model and initial state of CollapsedLDA from its parameters."""

import numpy as np

from sparsemix._engine.sweeps import RowState
from sparsemix._models.topics.sweep_models import MODELS
from sparsemix.metrics._checks import check_token_list, first_part, row_of
from sparsemix.topics import _start
from sparsemix.topics._assemble import count_blocks, given_topics, priors

# Whole numbers below this are exact in single precision.
EXACT = 1 << 24


def check_whole(X):
    """Raise unless all counts are whole numbers, and small enough to list their tokens."""
    for start, block in count_blocks(X):
        if (part := first_part(block)) is not None:
            raise ValueError(
                f"row {start + row_of(block, part)} of X has the count {block.data[part]}, and Gibbs "
                'sampling needs whole numbers of tokens; round the counts, or use inference="cvb0"'
            )
        check_token_list(block, start, 'use inference="cvb0", which needs none')


def make_collapsed_model(params, documents, seed, dtype):
    """The model of the chosen inference. Sets the precision in which documents are read."""
    dtype = np.dtype(dtype)
    if params.inference == "gibbs":  # counts must stay exact
        weight = documents.sample_weight
        whole = weight is None or (weight == np.floor(weight)).all()
        dtype = dtype if whole and documents.word_totals().sum() < EXACT else np.dtype(np.float64)
    model = MODELS[params.inference](documents.X.shape[1], params.n_components, dtype=dtype, **priors(params))
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
