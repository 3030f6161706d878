"""Builds model, priors and initial statistics of a mixture of Gaussians from its parameters and the data.

Columns may have different units, such as dates in seconds and temperatures. So the scale of one column never defines
what is small in another.
"""

from dataclasses import dataclass, replace

import numpy as np

from sparsemix._estimator.input.checks import check_columns
from sparsemix._estimator.input.columns import ColumnLimits, round_off, rounding_steps
from sparsemix._estimator.input.counts import WholeNumbers
from sparsemix._estimator.input.gaussian_prior import prior_arguments, scales_and_value
from sparsemix._estimator.input.labels import column_name
from sparsemix._estimator.learning import Plan
from sparsemix._heuristics.mixture.policy import few_components
from sparsemix._heuristics.mixture.start import Start, data_gaussian, subset
from sparsemix._models.mixture.model import MaximumLikelihoodMixture, VariationalMixture
from sparsemix._rows.blocks import COMPLETE, MISSING, NOISY
from sparsemix._stats import symmetric
from sparsemix._stats.altered import altered
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.weights import DirichletWeights, EqualWeights, weights_of
from sparsemix._warnings import warn_caller
from sparsemix.mixture._annotations.background import make_background
from sparsemix.mixture._annotations.noise import EquallyNoisyRows, noiseless_gaussian
from sparsemix.mixture._initial_values import Given
from sparsemix.mixture._loadings import plain_model, with_loadings
from sparsemix.mixture._missing import check_observed, completed, incomplete_gaussian, observed_sample
from sparsemix.mixture._plan import kept_entries

# Size of the initialisation's subset: many more rows than dimensions or components, few enough for seconds.
INIT_ROWS = 20_000
INIT_ROWS_PER_COMPONENT = 50
INIT_ROWS_PER_DIRECTION = 3.0
INIT_NUMBERS = 1 << 25
# Default rank of loadings: the maximum, and rows per component for each loading.
MOST_RANK, ROWS_PER_LOADING = 16, 5.0
# Default variance that EM adds, as in scikit-learn's GaussianMixture.
EM_FLOOR = 1e-6
# Hard-assignment iterations of the initialisation. On image patches they make cluster sizes uneven, and fits are better
# without. A stream never returns to its first block; on clustered rows three iterations gained most.
FIT_INIT_ITER = 0
STREAM_INIT_ITER = 3
# Variance floor as a share of a column's variance: a thousandth of its standard deviation.
FLOOR = 1e-6
# Prior variance of a constant column as a share of (N + 1) times its floor.
CONSTANT_SHARE = 1e-6
# Minimum of the learned scales, relative to the default prior. Matrices of smooth curves are far thinner than the data.
# Columns without correlations need more: two pixels that are constant in a component would shrink all its variances.
LEAST_SCALE, LEAST_SCALE_OF_MATRICES = 0.1, FLOOR
# Tables of fewer columns are never taken for counts.
COUNTED_COLUMNS = 5
# Least variance of a direction of standardised columns, relative to theirs, and least weight of its columns.
DEPENDENT, SHARED = 1e-10, 1e-5
# Variances within clusters, relative to those of the data without outliers, above which outliers have caused them.
WITHIN = 2.0
# With fewer rows per column than this the prior keeps only a part of the correlations.
FEW_ROWS = 8.0
# What kinds of values change in the initialisation: all rows as one Gaussian, and the rows that it sees.
GAUSSIANS_OF = {COMPLETE: data_gaussian, MISSING: incomplete_gaussian, NOISY: noiseless_gaussian}
SEEDS = {COMPLETE: lambda rows, *_: rows, MISSING: completed, NOISY: EquallyNoisyRows}


def start_fit(params, rows, rng, workers, n_init_iter, background=None):
    """Rows, model and statistics of a fit or a stream, from an initialisation.

    ``background`` is the expected share of a background; None without one.
    """
    kept = rows.kept
    rows, model, learner = assemble(params, rows, workers, background)
    plain = plain_model(model) if model.family.has_loadings else model
    seen = SEEDS[rows.observation.value](rows.unlabelled, plain.family, workers)
    size = init_size(plain.family, model.n_components)
    seeding = params.init_params if isinstance(params.init_params, str) else "auto"
    given = Given.of(params.init_params, plain, len(rows), kept)
    start = Start(plain, learner, seeding, n_init_iter, size, given, params.n_init)
    background = None if background is None else make_background(background, rows, learner.floor)
    start.background, classes = background, None
    if rows.observation.labelled:
        classes = rows.number()
        start.row_labels = rows.numbers
    stats, priors = start.stats(seen, rng, workers), {}
    if shaped_by_clusters(params, model):
        priors = {"prior": within_clusters(model, learner, stats)}
    if plain is not model:
        selection = subset(rows, max(size, model.n_components), rng)
        stats = with_loadings(model, plain, stats, seen, selection, rng, workers)
    model = altered(model.for_rows(rows), classes=classes, owners=start.owners, background=background, **priors)
    model = with_evidence_model(model, learner)
    if background is not None:
        background.join(stats, rows.mass)
    return Plan(rows, model, stats, about={"init_params_": start.method})


def class_and_rank(covariance_type):
    """The class of family and the given rank of ``covariance_type``; None if data determine the rank."""
    name, rank = (covariance_type, None) if isinstance(covariance_type, str) else covariance_type
    return GAUSSIANS[name], rank


def make_family(covariance_type, n_components, n_features, n_rows=np.inf):
    """The family of ``covariance_type``; the default rank gives each loading several rows."""
    family, rank = class_and_rank(covariance_type)
    if not family.has_loadings:
        return family(n_features)
    if rank is not None:
        return family(n_features, rank)
    return family(n_features, int(np.clip(n_rows / (ROWS_PER_LOADING * n_components), 1, MOST_RANK)))


def assemble(params, rows, workers, background=None):
    """Shifted rows, a new model, and the model for its initialisation.

    This fixes all data-dependent values: the shift, default priors and the variance floor.
    """
    n_components, n_rows = params.n_components, params.total_samples or rows.mass
    family = make_family(params.covariance_type, n_components, rows.X.shape[1], n_rows)
    check_columns(rows.X, params)
    if rows.observation.missing:
        check_observed(rows.mean(), params)
    limits = ColumnLimits.of(observed_sample(rows.X) if rows.observation.missing else rows.X, family.has_means)
    if family.has_means:
        rows = rows.shifted(limits.means(rows.mean()))
    plain = family.plain
    data = GAUSSIANS_OF[rows.observation.value](plain, rows.unlabelled, workers)
    if family.tied:
        warn_of_wild_values(data, limits, rows, params)
    elif family.has_means and n_components > 1 and few_components(n_components) and background is None:
        warn_of_far_rows(limits, rows, params)
    if not family.shape.one_variance:
        warn_of_flags(limits, params)
    steps = rounding_steps(rows.X)
    scale = DataScale.of(data, rows.shift, rows.mass, limits, rows.X.dtype, steps)
    measured = not limits.flags.any() and not has_wild_values(data, limits)  # which correlate columns
    if family.has_means and family.shape.correlated and rows.mass > family.n_features and measured:
        warn_of_dependent(scale.gaussian.covariances, params)
    data, floor = conditioned(plain, scale.gaussian, rows.mass), make_floor(params.reg_covar, scale)
    sizes = n_components, kept_entries(params), rows.dtype, rows.shift
    weights, learn_scales = weights_of(params), False
    even = weights if isinstance(weights, EqualWeights) else DirichletWeights(1.0 / n_components)
    if params.inference == "em":
        prior = judging_prior(plain, data, n_components, rows.mass)
        reg_covar = EM_FLOOR if params.reg_covar is None else params.reg_covar
        model = MaximumLikelihoodMixture(family, weights, reg_covar, *sizes)
    else:
        learn_scales = learns_scales(params, family)
        prior = make_prior(params, family, data, rows, least_scale(family) if learn_scales else 1.0)
        usual = usual_scale(params, family, prior) if learn_scales else 1.0
        model = VariationalMixture(
            family, weights, prior, *sizes, floor=floor, learn_scales=learn_scales, usual_scale=usual,
            learned_prior=learned_prior(params, family),
        )  # fmt: skip
        if shaped_by_clusters(params, model):
            prior, learn_scales = make_prior(params, family, data, rows), False
    scales = {"floor": floor, "learn_scales": learn_scales, "wide_prior": plain.prior(data)}
    if learn_scales:
        scales["usual_scale"] = usual
    return rows, model.for_rows(rows.values), VariationalMixture(plain, even, prior, *sizes, **scales)


def judging_prior(family, data, n_components, mass):
    """The default prior, with which EM evaluates births."""
    prior = family.prior(data)
    return replace(prior, scale=prior.scale * covariance_share(family.n_features, n_components, mass))


def with_evidence_model(model, learner):
    """The model; with EM it gets the prior of its initialisation to evaluate births."""
    return altered(model, evidence_model=altered(learner, table=None)) if model.posterior is None else model


def type_of(family, params):
    """The ``covariance_type`` of a fitted family: that of ``params`` if it gives the same family."""
    wanted, rank = class_and_rank(params.covariance_type)
    if rank is None or not family.has_loadings:
        return family.name
    return params.covariance_type if wanted(family.n_features, rank).rank == family.rank else (family.name, family.rank)


def init_size(family, n_components):
    """Rows of the initialisation's subset: several for each dimension of a component, within a memory limit."""
    d = family.n_features
    per_component = max(INIT_ROWS_PER_COMPONENT, round(INIT_ROWS_PER_DIRECTION * family.directions))
    return min(max(INIT_ROWS, per_component * n_components), max(INIT_NUMBERS // d, 10 * n_components))


# -- priors and floors


@dataclass(frozen=True)
class DataScale:
    """All rows as one Gaussian with positive variances in all columns, and the resulting variance floor (D,)."""

    gaussian: object
    floor: np.ndarray

    @classmethod
    def of(cls, data, shift, mass, limits, dtype, steps=0.0):
        """From the rows' Gaussian, whose mean is relative to the shift.

        A constant column has one value in N rows. The next row may differ by the size of this value. Or it may differ
        by the median standard deviation of the other columns, since centring may have removed a larger value. The
        variance of maximum likelihood for N equal rows and this one is the larger square, divided by N + 1. Floor and
        prior of the column are proportional to it, so that it changes all log densities equally.

        A value that is rounded to multiples of a step has at least the variance of a uniform distribution of its width.
        """
        mean = data.means[0] + (0.0 if shift is None else shift)
        means = data.means[0] + (limits.means(mean) - mean)
        variances, squares = np.array(data.variances()[0]), mean**2
        if data.shape.one_variance:  # all columns share one variance
            squares, limits = np.full_like(squares, squares.mean()), limits.pooled()
        varies = variances > round_off(squares, dtype)
        limited = limits.variances(variances)
        usual = np.median(limited[varies]) if varies.any() else 1.0
        levels = np.maximum(squares, usual)
        scales = np.where(varies, limited, CONSTANT_SHARE * levels)
        rounding = np.minimum(steps**2 / 12.0, scales / 3.0)
        rounding = np.full_like(rounding, rounding.mean()) if data.shape.one_variance else rounding
        floor = np.where(varies, np.maximum(FLOOR * scales, rounding), levels / (mass + 1.0))
        covariances = data.shape.with_variances(data.covariances, scales)
        return cls(replace(data, means=means[None], covariances=covariances), floor)


def make_prior(params, family, data, rows, scale=1.0):
    """The prior of the components; without a given ``covariance_prior`` it depends on the data, K and N.

    B0 / (nu0 - D - 1), the prior mean of a covariance, is that of the data times ``scale`` and two factors. K^(-2 / D)
    divides its volume among K clusters of one shape (Fraley and Raftery 2007). min(1, D K / N) is needed since the
    prior always counts as one row: with many rows for each direction of a component, this row should not hide the
    smallest components.
    """
    prior = family.prior(data, **prior_arguments(params, family, rows.shift, "covariance_type"))
    if has_given_scale(params):
        return prior
    scale = scale * covariance_share(family.n_features, params.n_components, rows.mass)
    return replace(prior, scale=prior.scale * scale)


def has_given_scale(params):
    """Whether the caller gives the value of B0."""
    return scales_and_value(params.covariance_prior)[1] is not None


def shaped_by_clusters(params, model):
    """Whether B0 has the shape of the initial clusters, which are found under the prior of the data.

    It has if components should match clusters, its scale is learned, and its value is not given.
    """
    if model.posterior is None or not model.learn_scales or not few_components(model.n_components):
        return False
    return not has_given_scale(params)


def within_clusters(model, learner, stats):
    """The prior with the shape of the covariance within the initial clusters, and the least scale.

    A column that varies far more within clusters than in the data without outliers has the variance of the latter.
    """
    family, scale, mass = learner.family, learner.posterior(stats).scale, float(stats["count"].sum())
    pooled = (scale if family.tied else scale.sum(axis=0, keepdims=True)) / mass
    data = family.point_estimate(learner.wide_prior)
    within, usual = replace(data, covariances=pooled).variances()[0], data.variances()[0]
    pooled = family.shape.with_variances(pooled, np.where(within > WITHIN * usual, usual, within))
    data = conditioned(family, replace(data, covariances=pooled), mass)
    share = least_scale(family) * covariance_share(family.n_features, model.n_components, mass)
    scale = family.prior(data, dof=float(np.ravel(model.prior.dof)[0])).scale
    return replace(model.prior, scale=share * scale)


def usual_scale(params, family, prior):
    """The scale at which the prior expects the precision of the data, relative to the least; 1 if B0 is given."""
    if has_given_scale(params):
        return 1.0
    dof = float(np.ravel(prior.dof)[0])
    return dof / max(dof - family.shape.least_dof_of_mean(family.n_features), 1e-3) / least_scale(family)


def least_scale(family):
    """Minimum of the learned scales, relative to the default prior."""
    return LEAST_SCALE_OF_MATRICES if family.shape.correlated else LEAST_SCALE


def conditioned(family, data, mass):
    """The data's Gaussian with correlations multiplied by ``correlation_share``.

    The covariance of few rows has variances near zero in some directions, which further rows would not confirm.
    Variances of columns are estimated better than correlations (Schaefer and Strimmer 2005).
    """
    share = correlation_share(family, mass)
    if share == 1.0:
        return data
    diagonal = symmetric.diagonal_positions(family.n_features)
    covariances = share * data.covariances
    covariances[..., diagonal] = data.covariances[..., diagonal]
    return replace(data, covariances=covariances)


def correlation_share(family, mass):
    """Share of the data's correlations in the prior: one from FEW_ROWS rows per column on."""
    return min(1.0, mass / (FEW_ROWS * family.n_features)) if family.shape.correlated else 1.0


def covariance_share(n_features, n_components, mass):
    """Ratio of the prior mean of a covariance to the data's covariance."""
    return n_components ** (-2.0 / n_features) * min(1.0, n_features * n_components / mass)


def learns_scales(params, family):
    """Whether each component learns the scale of its covariance's prior."""
    scales, _ = scales_and_value(params.covariance_prior)
    if scales is None:
        return family.has_scales
    if scales == "learned" and not family.has_scales:
        raise ValueError(
            f"covariance_prior='learned' learns the scale of several variances, and covariance_type="
            f"{params.covariance_type!r} has one; choose another type, or set covariance_prior='fixed' or a number"
        )
    return scales == "learned"


def learned_prior(params, family):
    """What the components learn of the prior that they share; see VariationalMixture.

    Few components say little of it, variances alone gain nothing, and what the caller gives stays.
    """
    given = has_given_scale(params) or params.degrees_of_freedom_prior is not None
    if given or few_components(params.n_components) or not family.directions or family.has_loadings:
        return None
    if not learns_scales(params, family):
        return None
    return "all" if family.has_means and params.mean_precision_prior is None else "covariances"


def has_wild_values(data, limits):
    """Whether outliers make a variance of the data."""
    limits_of = limits.pooled() if data.shape.one_variance else limits
    return limits_of.wild(data.variances()[0, : len(limits_of.spread)]).any()


def warn_of_wild_values(data, limits, rows, params):
    """Warn of an outlier that widens a covariance shared by all components."""
    if not has_wild_values(data, limits):
        return
    row, column = limits.farthest(rows.X)
    number = row if rows.kept is None else np.flatnonzero(rows.kept)[row]
    warn_caller(
        f"row {number} of X has the extreme value {rows.X[row, column]:g} in column {column_name(params, column)}, "
        "which widens the covariance that all components share; check the value, or use covariance_type='full' or "
        "'diag'",
    )


def warn_of_far_rows(limits, rows, params):
    """Warn of rows far from the bulk, which take components from it, unless noise explains them."""
    if rows.observation.value == NOISY:
        return
    far, columns = limits.far(rows.X)
    if len(far):
        number = far[0] if rows.kept is None else np.flatnonzero(rows.kept)[far[0]]
        warn_caller(
            f"rows of X are far from the bulk of the rows ({len(np.unique(far))} of them, such as row {number} with "
            f"{rows.X[far[0], columns[0]]:g} in column {column_name(params, columns[0])}) and may take a component "
            "from it; replace codes of missing values by NaN, and give background=True to fit for rows that belong "
            "to no component",
        )


def warn_of_flags(limits, params):
    """Warn of flags among measurements: their density, which has hardly a bound, decides the components."""
    flags = np.flatnonzero(limits.flags)
    if 1 < len(flags) < len(limits.flags):
        warn_caller(
            f"columns {listed(flags, params)} of X hold two values each (flags or one-hot codes), and "
            "Gaussian components may follow them rather than the measurements; SparseMixedMixture takes numbers and "
            "categories",
        )


def warn_of_dependent(packed, params):
    """Warn of columns that depend linearly on each other, as a total and its parts, so that their density has no bound.
    """
    covariance = symmetric.unpack(packed.reshape(-1))
    deviations = np.sqrt(np.diagonal(covariance))
    shares, directions = np.linalg.eigh(covariance / np.outer(deviations, deviations))
    if shares[0] > DEPENDENT:
        return
    columns = np.flatnonzero(np.abs(directions[:, 0]) > SHARED)
    warn_caller(
        f"columns {listed(columns, params)} of X depend linearly on each other, so that their density has no "
        "bound and follows from reg_covar alone; leave one out to compare scores",
    )


def listed(columns, params):
    """The first few columns for a message."""
    return ", ".join(column_name(params, column) for column in columns[:5]) + ", ..." * (len(columns) > 5)


def warn_of_counts(n_components, X):
    """Warn of a table of flags or of one like word counts: whole numbers, most of them zero."""
    if n_components == 1 or X.shape[1] < COUNTED_COLUMNS:
        return
    found = WholeNumbers.of(X)
    if found is None or not found.mostly_zero:
        return
    what, remedy = "whole numbers", "for word counts use SparseMultinomialMixture"
    if found.zeros_and_ones:
        what, remedy = "zeros and ones", f"for flags or codes use SparseBernoulliMixture, {remedy}"
    warn_caller(f"X holds {what}, most of them zero, which Gaussian components describe badly; {remedy}")


def make_floor(reg_covar, scale):
    """Variances (D,) of the Gaussian noise around every row; None for none."""
    if reg_covar is not None:
        return np.full_like(scale.floor, reg_covar) if reg_covar else None
    return scale.floor
