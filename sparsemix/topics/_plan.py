"""Parts of the plans of topic models: warm starts, streams that begin again, samples of blocks of documents."""

from dataclasses import replace

from sparsemix._engine.rounds.sample import SampledDocuments
from sparsemix._estimator.absent import check_continues
from sparsemix._estimator.streams import StreamState, begin_stream, times_of
from sparsemix._rows.documents import FirstDocuments
from sparsemix.topics import _start

# Epochs over the first block of a stream before it is counted; no later call sees this block.
FIRST_PASSES = 5
# Number of entries stored from the beginning of a stream: 34 MB.
MOST_ENTRIES = 1 << 22


def structure_of(fitted):
    """Parameters that define fitted topics, with their values."""
    return {"n_components": fitted.model.n_components}


def continued(params, model, fitted, documents):
    """Initial statistics for ``warm_start``."""
    check_continues(params, structure_of(fitted))
    return model.continued(fitted.model, fitted.stats, documents)


# -- streams


def times_of_block(params, documents):
    """Ratio of the corpus to the first block of a stream."""
    return 1.0 if params.total_samples is None else times_of(params, documents.mass)


def first_state(params, fitted, documents):
    """State of a stream before its first block is counted: it stores the documents, to initialise topics again."""
    given = params.total_samples is not None or not isinstance(params.init_params, str)
    kept = None if given else FirstDocuments.of(documents)
    return StreamState(fitted, 0, 0, None if given or kept.n_entries >= MOST_ENTRIES else kept)


def begun_again(recipe, state, documents, workers):
    """State of a stream and the documents to absorb: topics begin again from all stored ones, if many are new."""
    if state.kept is None or state.n_seen == 0:
        return state, documents
    kept = state.kept.grown(documents)
    if not kept.outgrown and kept.n_entries < MOST_ENTRIES:
        return replace(state, kept=kept), documents
    documents = kept.documents()
    begun, _ = begin_stream(recipe, documents, workers)
    return replace(begun, n_steps=state.n_steps), documents


# -- fits over blocks


def survey_of(documents):
    """Sums of a block that a plan needs of all documents."""
    return {"totals": documents.word_totals(), "entries": documents.entries * len(documents)}


def seed_documents(params, survey):
    """Number of documents for the initialisation."""
    method = params.init_params
    if not isinstance(method, str) or method in ("random", "uniform"):
        return 1
    if method == "bregman":
        return max(_start.SEED_DOCUMENTS, 2 * params.n_components)
    entries = max(1.0, survey.sums["entries"] / survey.n_rows)
    return _start.em_documents(entries, min(params.n_components, _start.EM_COMPONENTS))


def sampled_documents(survey, X, weight, dtype, source):
    """A sample of documents that reports the totals of all."""
    sums, n_rows = survey.sums, survey.n_rows
    if not sums["totals"].any():
        raise ValueError("no document of data has a token of positive weight; give at least one that is not empty")
    entries = max(1.0, sums["entries"] / n_rows)
    return SampledDocuments(X, weight, dtype, source, n_rows, float(sums["mass"]), entries, sums["totals"])
