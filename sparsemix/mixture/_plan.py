"""Values of a mixture's plan that do not depend on the likelihood: schedule, candidate search, warm start, checks."""

from sparsemix._engine.schedules import Batch, Memoized, Stochastic
from sparsemix._estimator.absent import check_continues
from sparsemix._models.mixture.candidates import PATIENCE, CandidateLists, CandidateSearch
from sparsemix._models.mixture.linear_search import DirectionSearch, SparseSearch
from sparsemix._rows.rates import rule_of
from sparsemix._stats.altered import altered
from sparsemix.mixture._fitted import FittedMixture

# Default batch sizes. A memoized batch is a tenth of the data. An online batch replaces much of the statistics, so it
# needs enough rows of each component for a covariance.
BATCH_ROWS, BATCH_ROWS_PER_COMPONENT, MEMOIZED_BATCHES = 1_000, 10, 10
# Length of a row's list of candidates, and minimum number of components for lists, of dense and of sparse rows.
CANDIDATES, CANDIDATES_FROM = 4, {False: 100, True: 500}
# From this number of components on, rows of directions try all of them once. With fewer, later screens take little time
# and gain more: 0.4 nats per held-out row with 200 components, 0.1 with 1,000.
SCREENED_ONCE = 1_000


def kept_entries(params):
    """L: the minimum of ``n_nonzero`` and K; None means K."""
    return params.n_components if params.n_nonzero is None else min(params.n_nonzero, params.n_components)


def check_enough(params, rows, remedy):
    """Refuse fewer rows than components."""
    if len(rows) < params.n_components:
        raise ValueError(
            f"n_samples={len(rows)} rows with positive weight are fewer than n_components={params.n_components}; "
            + remedy
        )


def structure_of(fitted):
    """Parameters that define a fitted mixture, with their values."""
    model = fitted.model
    return {"n_components": model.n_components, "inference": "vb" if model.variational else "em"}


def continued(params, fitted, rows, structure):
    """Model and statistics of a warm start."""
    check_continues(params, structure)
    model = altered(fitted.model, search=None, n_nonzero=kept_entries(params))
    stats = fitted.stats.copy()
    stats.scale(rows.mass / float(stats["mass"]))
    return model, stats


def schedule_of(params, rows, rng, directions=0):
    """The schedule of ``learning_method``."""
    n_rows, size = len(rows), rows_of_batch(params, len(rows), directions)
    if params.learning_method == "batch":
        schedule = Batch(n_rows)
    elif params.learning_method == "memoized":
        schedule = Memoized(n_rows, size, rng)
    else:
        if params.step_size[0] == "half_life":
            raise ValueError(
                f"step_size={params.step_size} is for partial_fit; give (offset, decay) to fit with "
                "learning_method='online'"
            )
        decay, offset, scale = rule_of(params.step_size)
        schedule = Stochastic(n_rows, size, rng, decay, offset, rows.mass, scale)
    return schedule if rows.source is None else schedule.over(rows.source.plan)


def rows_of_batch(params, n_rows, directions=0):
    """Rows of a batch; an online batch has a row of each component for each of the ``directions`` of a component."""
    if params.learning_method == "batch":
        return n_rows
    if params.batch_size is not None:
        return params.batch_size
    per_component = BATCH_ROWS_PER_COMPONENT
    if params.learning_method == "online":
        per_component = max(per_component, directions)
    size = max(BATCH_ROWS, per_component * params.n_components)
    return max(size, -(-n_rows // MEMOIZED_BATCHES)) if params.learning_method == "memoized" else size


def search_of(params, rng, step_rows, sparse=False, stored=True, linear=False):
    """The candidate search of a model; None computes the weights of all components.

    A list must be short relative to K to save time, and only ``stored`` rows have lists. By default rows try all
    components first: a few random ones would blur the initialisation.
    """
    n_components, size, least = params.n_components, params.candidates, kept_entries(params)
    if size == "auto":
        size = max(CANDIDATES, least)
        if not stored or n_components < CANDIDATES_FROM[sparse] or 4 * size > n_components:
            return None
    if size == "all":
        return None
    size = max(size, least)
    if size >= n_components:
        return None
    every = max(1, round(PATIENCE * n_components**1.5 / step_rows))
    seed = int(rng.integers(2**31))
    # Rows without a list try all components first: a few random ones blur the initialisation.
    dense = DirectionSearch if linear and n_components >= SCREENED_ONCE else CandidateSearch
    return (SparseSearch if sparse else dense)(size, seed, every, all_first=True)


def lists_of(search, rows):
    """Candidate lists of rows in memory; None without a search, or if others keep them."""
    return CandidateLists(len(rows), search.width) if search is not None and rows.source is None else None


def memory(model, n_rows, first_row):
    """Candidate lists of rows between visits; None without a search."""
    return None if model.search is None else CandidateLists(n_rows, model.search.width, first_row)


def published(params, model, stats, about):
    """Fitted attributes; rows of a stream have no lists unless the caller asked for candidates."""
    fitted = FittedMixture(model, stats)
    if params.candidates == "auto":
        fitted.model.use(None)
    return {"_fitted": fitted, **about}


def with_entries(params, fitted):
    """The fitted state of a stream whose ``n_nonzero`` may have changed."""
    model, n_nonzero = fitted.model, kept_entries(params)
    if n_nonzero == model.n_nonzero:
        return fitted
    short = model.search is not None and model.search.size < n_nonzero
    model = altered(model, n_nonzero=n_nonzero, search=None if short else model.search)
    return FittedMixture(model, fitted.stats.copy())
