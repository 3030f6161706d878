"""Builds model, prior, initialisation and schedule from an estimator's parameters, with checks that need the data's
shape."""

from copy import copy
from dataclasses import replace

import numpy as np

from sparsemix._engine.blocks import Rows
from sparsemix._engine.schedules import Batch, Memoized, Stochastic
from sparsemix._estimator.absent import check_continues
from sparsemix._estimator.additive import FitSetup
from sparsemix._estimator.input.checks import check_columns, check_weights
from sparsemix._estimator.input.columns import ColumnLimits
from sparsemix._models.mixture.candidates import PATIENCE, CandidateLists, CandidateSearch
from sparsemix._models.mixture.model import MaximumLikelihoodMixture, VariationalMixture
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.weights import DirichletWeights, StickBreakingWeights
from sparsemix.mixture._loadings import plain_model, with_loadings
from sparsemix.mixture._priors import (
    DataScale,
    conditioned,
    covariance_share,
    learns_scales,
    make_floor,
    make_prior,
    warn_of_flags,
    warn_of_wild_values,
)
from sparsemix.mixture._starts._given import Given
from sparsemix.mixture._starts._start import Start, data_gaussian, subset

# Size of the initialisation's subset: many more rows than dimensions or components, few enough for seconds.
INIT_ROWS = 20_000
INIT_ROWS_PER_COMPONENT = 50
INIT_ROWS_PER_DIRECTION = 3.0
INIT_NUMBERS = 1 << 25
# Default batch sizes: enough rows for every component. A memoized batch is a tenth of the data. An online batch
# replaces much of the statistics, so it needs enough rows of each component for a covariance.
BATCH_ROWS = 1_000
BATCH_ROWS_PER_COMPONENT = 10
MEMOIZED_BATCHES = 10
# Length of a row's list of candidates, and minimum number of components for lists.
CANDIDATES = 4
CANDIDATES_FROM = 100
# Default rank of loadings: the maximum, and rows per component for each loading.
MOST_RANK, ROWS_PER_LOADING = 16, 5.0
# Default variance that EM adds, as in scikit-learn's GaussianMixture.
EM_FLOOR = 1e-6
# Hard-assignment iterations of the initialisation. On image patches they make cluster sizes uneven, and fits are better
# without. A stream never returns to its first block; on clustered rows three iterations gained most.
FIT_INIT_ITER = 0
STREAM_INIT_ITER = 3


def weighted_rows(X, sample_weight, part=False):
    """Rows of positive weight; ``kept`` is their mask over the given rows (None: all)."""
    sample_weight = check_weights(sample_weight, len(X), part=part)
    if sample_weight is None or sample_weight.all():
        return Rows(X, sample_weight)
    kept = sample_weight > 0
    rows = Rows(X[kept], sample_weight[kept])
    rows.kept = kept
    return rows


def begin_fit(params, rows, rng, workers, fitted=None):
    """Setup of a fit: an initialisation, or the ``fitted`` mixture from which it continues."""
    if fitted is not None:
        rows, model, initial = resume(params, fitted, rows)
        method = "warm"
    else:
        kept = rows.kept
        rows, model, learner = assemble(params, rows, workers)
        initial, method = start_stats(params, model, learner, rows, kept, FIT_INIT_ITER, rng, workers)
        set_evidence_model(model, learner)
    schedule = make_schedule(params, rows, rng, directions_of_batch(params, rows.X.shape[1]))
    if rows.source is not None:
        schedule = schedule.over(rows.source.plan)
    model.search = make_search(params, rng, schedule.step_rows)
    if model.search is not None and rows.source is None:
        rows.memory = CandidateLists(len(rows), model.search.size)
    return FitSetup(rows, model, initial, schedule, {"init_params_": method})


def begin_stream(params, rows, rng, workers):
    """Setup of a stream from its first block."""
    kept = rows.kept
    rows, model, learner = assemble(params, rows, workers)
    stats, method = start_stats(params, model, learner, rows, kept, STREAM_INIT_ITER, rng, workers)
    set_evidence_model(model, learner)
    model.search = make_search(params, rng, len(rows), stored=False)
    return FitSetup(rows, model, stats, about={"init_params_": method})


def start_stats(params, model, learner, rows, kept, n_init_iter, rng, workers):
    """Initial statistics, and the name of the initialisation."""
    plain = plain_model(model)
    start = make_start(params, plain, learner, len(rows), kept, n_init_iter)
    stats = start.stats(rows, rng, workers)
    if plain is not model:
        selection = subset(rows, max(start.init_size, model.n_components), rng)
        stats = with_loadings(model, plain, stats, rows, selection, rng, workers)
    return stats, start.method


def class_and_rank(params):
    """The class of family and the given rank of ``covariance_type``; None if data determine the rank."""
    kind = params.covariance_type
    name, rank = (kind, None) if isinstance(kind, str) else kind
    return GAUSSIANS[name], rank


def make_family(params, n_features, n_rows=np.inf):
    """The family of ``covariance_type``; the default rank gives each loading several rows."""
    family, rank = class_and_rank(params)
    if not family.has_loadings:
        return family(n_features)
    if rank is not None:
        return family(n_features, rank)
    return family(n_features, int(np.clip(n_rows / (ROWS_PER_LOADING * params.n_components), 1, MOST_RANK)))


def assemble(params, rows, workers):
    """Shifted rows, a new model, and the model for its initialisation.

    This fixes all data-dependent values: the shift, default priors and the variance floor.
    """
    family = make_family(params, rows.X.shape[1], params.total_samples or rows.mass)
    check_columns(rows.X)
    limits = ColumnLimits.of(rows.X, family.has_means)
    if family.has_means:
        rows = rows.shifted(limits.means(rows.mean()))
    plain = family.plain
    data = data_gaussian(plain, rows, workers)
    if family.tied:
        warn_of_wild_values(data, limits, rows)
    if not family.shape.one_variance:
        warn_of_flags(limits)
    scale = DataScale.of(data, rows.shift, rows.mass, limits, rows.X.dtype)
    data, floor = conditioned(plain, scale.gaussian, rows.mass), make_floor(params, scale)
    sizes = params.n_components, kept_entries(params), rows.dtype, rows.shift
    even, learn_scales = DirichletWeights(1.0 / params.n_components), False
    if params.inference == "em":
        prior = judging_prior(plain, data, params.n_components, rows.mass)
        model = MaximumLikelihoodMixture(family, EM_FLOOR if params.reg_covar is None else params.reg_covar, *sizes)
    else:
        prior, learn_scales = make_prior(params, family, data, rows), learns_scales(params, family)
        concentration = params.weight_concentration_prior
        concentration = 1.0 / params.n_components if concentration is None else concentration
        sticks = params.weight_concentration_prior_type == "dirichlet_process"
        weights = (StickBreakingWeights if sticks else DirichletWeights)(concentration)
        model = VariationalMixture(family, weights, prior, *sizes, floor=floor, learn_scales=learn_scales)
    learner = VariationalMixture(plain, even, prior, *sizes, floor=floor, learn_scales=learn_scales)
    learner.wide_prior = plain.prior(data)
    return rows, model, learner


def judging_prior(family, data, n_components, mass):
    """The default prior, with which EM evaluates births."""
    prior = family.prior(data)
    return replace(prior, scale=prior.scale * covariance_share(family.n_features, n_components, mass))


def set_evidence_model(model, learner):
    """Give an EM model the prior of its initialisation to evaluate births."""
    if model.posterior is None:
        model.evidence_model, learner.table = learner, None


def make_search(params, rng, step_rows, stored=True, kind=CandidateSearch, least=CANDIDATES_FROM):
    """The candidate search of a model; None computes the weights of all components.

    A list must be short relative to K to save time, and only ``stored`` rows have lists. By default rows try all
    components first: a few random ones would blur the initialisation. ``least`` is the minimum number of components for
    lists.
    """
    n_components, size = params.n_components, params.candidates
    if size == "auto":
        size = max(CANDIDATES, kept_entries(params))
        if not stored or n_components < least or 4 * size > n_components:
            return None
    if size == "all":
        return None
    size = max(size, kept_entries(params))
    if size >= n_components:
        return None
    every = max(1, round(PATIENCE * n_components**1.5 / step_rows))
    seed = int(rng.integers(2**31))
    return kind(size, seed, every, all_first=params.all_first)


def kept_entries(params):
    """L: the minimum of ``n_nonzero`` and K; None means K."""
    return params.n_components if params.n_nonzero is None else min(params.n_nonzero, params.n_components)


def type_of(family, params):
    """The ``covariance_type`` of a fitted family: that of ``params`` if it gives the same family."""
    wanted, rank = class_and_rank(params)
    if rank is None or not family.has_loadings:
        return family.name
    return params.covariance_type if wanted(family.n_features, rank).rank == family.rank else (family.name, family.rank)


def resume(params, fitted, rows):
    """Rows, model and initial statistics of a fit that continues from a fitted mixture."""
    model = copy(fitted.model)
    inference = "vb" if model.variational else "em"
    kind = type_of(model.family, params)
    check_continues(params, n_components=model.n_components, covariance_type=kind, inference=inference)
    model.n_nonzero = kept_entries(params)
    stats = fitted.stats.copy()
    stats.scale(rows.mass / float(stats["mass"]))
    rows = rows.shifted(model.shift)
    rows.dtype = model.dtype
    return rows, model, stats


def init_size(family, n_components):
    """Rows of the initialisation's subset: several for each dimension of a component, within a memory limit."""
    d = family.n_features
    per_component = max(INIT_ROWS_PER_COMPONENT, round(INIT_ROWS_PER_DIRECTION * family.directions))
    return min(max(INIT_ROWS, per_component * n_components), max(INIT_NUMBERS // d, 10 * n_components))


def make_start(params, model, learner, n_rows, kept=None, n_init_iter=0):
    """The initialisation of a fit; ``kept`` is the mask of the rows among those that the caller gave."""
    size = init_size(model.family, model.n_components)
    seeding = params.init_params if isinstance(params.init_params, str) else "auto"
    given = Given.of(params.init_params, model, n_rows, kept)
    return Start(model, learner, seeding, n_init_iter, size, given, params.n_init)


def make_schedule(params, rows, rng, directions=0):
    """The schedule of ``learning_method``."""
    n_rows = len(rows)
    if params.learning_method == "batch":
        return Batch(n_rows)
    size = rows_of_batch(params, n_rows, directions)
    if params.learning_method == "memoized":
        return Memoized(n_rows, size, rng)
    offset, decay = params.step_size
    if offset == "half_life":
        raise ValueError(
            f"step_size={params.step_size} is for partial_fit; give (offset, decay) to fit with "
            "learning_method='online'"
        )
    return Stochastic(n_rows, size, rng, decay, offset, rows.mass)


def directions_of_batch(params, n_features):
    """Number of directions for which an online batch needs rows of each component."""
    family, rank = class_and_rank(params)
    return family.directions_of_batch(n_features, rank or MOST_RANK)


def rows_of_batch(params, n_rows, directions=0):
    """Rows of a batch; an online batch has a row of each component for each of the ``directions``."""
    if params.learning_method == "batch":
        return n_rows
    if params.batch_size is not None:
        return params.batch_size
    per_component = BATCH_ROWS_PER_COMPONENT
    if params.learning_method == "online":
        per_component = max(per_component, directions)
    size = max(BATCH_ROWS, per_component * params.n_components)
    return max(size, -(-n_rows // MEMOIZED_BATCHES)) if params.learning_method == "memoized" else size
