"""Default priors and variance floors of a mixture of Gaussians, from the data and the number of components.

Columns may have any units: dates in seconds stand beside temperatures. So no scale of one column decides what is small
in another one.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from sparsemix._estimator.input.columns import round_off
from sparsemix._estimator.input.gaussian_prior import prior_arguments
from sparsemix._stats import symmetric

# A variance floor of this share of a column's variance: a thousandth of its standard deviation.
FLOOR = 1e-6
# The prior's variance of a constant column, as a share of what its floor is N + 1 parts of.
CONSTANT_SHARE = 1e-6
# From so many components on they are to describe a density rather than to be clusters, and learn their priors' scales.
LEARN_FROM = 16
# The least of these scales, in those of a prior that is not learned: components of a surface, or of a series' windows,
# are thinner than the data in every direction, and a pixel that a component has never seen should not draw it to zero.
LEAST_SCALE = 0.1
# With fewer rows than this for each column the prior keeps only a part of the data's correlations. Learned scales then
# have a larger minimum: few rows of a component say too little about most directions.
FEW_ROWS = 8.0


@dataclass(frozen=True)
class DataScale:
    """All rows as one Gaussian in which every column has a variance, and the variance floor (D,) that follows."""

    gaussian: object
    floor: np.ndarray

    @classmethod
    def of(cls, data, shift, mass, limits, dtype):
        """From the rows' Gaussian, whose mean is relative to the shift.

        A column without variance has shown one value in N rows. One row more may differ from it by the size of this
        value or, as the value may be what centring has left of another one, by as much as rows differ in other columns
        (the median). The variance under which that costs least in all is the larger square, divided by N + 1. Floor
        and prior of the column are proportional to it, so that it moves all log densities alike.
        """
        mean = data.means[0] + (0.0 if shift is None else shift)
        means = data.means[0] + (limits.means(mean) - mean)
        variances, squares = data_variances(data), mean**2
        if data.shape == "spherical":  # all columns share one variance
            squares, limits = np.full_like(squares, squares.mean()), limits.pooled()
        varies = variances > round_off(squares, dtype)
        limited = limits.variances(variances)
        usual = np.median(limited[varies]) if varies.any() else 1.0
        levels = np.maximum(squares, usual)
        scales = np.where(varies, limited, CONSTANT_SHARE * levels)
        floor = np.where(varies, FLOOR * scales, levels / (mass + 1.0))
        return cls(replace(data, means=means[None], covariances=with_variances(data, scales)), floor)


def make_prior(params, family, data, rows):
    """The prior of the components; where ``covariance_prior`` is None it follows the data, K and N.

    B0 / (nu0 - D - 1), the prior's mean of a covariance, is that of the data times K^(-2 / D), which is what is left
    when K clusters of one shape share its volume (Fraley and Raftery 2007), times min(1, D K / N): the prior counts
    as one row whatever there is, and where components have many rows for each of their D directions its row
    should not hide how small the smallest are. It is a tenth of that where components learn how much larger theirs is,
    and more than a tenth where rows are few (``correlation_share``).
    """
    prior = family.prior(data, **prior_arguments(params, family, rows.shift, "covariance_type"))
    if params.covariance_prior is not None:
        return prior
    share = covariance_share(family.n_features, params.n_components, rows.mass)
    if learns_scales(params, family):
        share *= LEAST_SCALE ** correlation_share(family, rows.mass)
    return replace(prior, scale=prior.scale * share)


def conditioned(family, data, mass):
    """The data's Gaussian, whose correlations are multiplied by ``correlation_share``.

    The covariance of few rows has variances near zero in some directions, or zero, which other rows do not have. The
    variances of its columns are better known than their correlations (Schaefer and Strimmer 2005).
    """
    share = correlation_share(family, mass)
    if share == 1.0:
        return data
    diagonal = symmetric.diagonal_positions(family.n_features)
    covariances = share * data.covariances
    covariances[..., diagonal] = data.covariances[..., diagonal]
    return replace(data, covariances=covariances)


def correlation_share(family, mass):
    """How much of the data's correlations the prior keeps: all of them from FEW_ROWS rows a column on."""
    return min(1.0, mass / (FEW_ROWS * family.n_features)) if family.shape == "full" else 1.0


def covariance_share(n_features, n_components, mass):
    """How much smaller than the data's covariance the prior's is."""
    return n_components ** (-2.0 / n_features) * min(1.0, n_features * n_components / mass)


def learns_scales(params, family):
    """Whether each component learns the scale of its covariance's prior."""
    if params.optimize_priors is None:
        return family.has_scales and params.n_components >= LEARN_FROM and params.covariance_prior is None
    if params.optimize_priors and not family.has_scales:
        raise ValueError(
            f"optimize_priors learns how large the covariance of each component is to be, which covariance_type="
            f"{params.covariance_type!r} has no prior for; choose 'full', 'diag', 'low_rank' or 'zero_mean', or leave "
            "it None"
        )
    return params.optimize_priors


def warn_of_wild_values(data, limits, rows):
    """Warn of a value that one covariance for all components cannot describe."""
    limits_of = limits.pooled() if data.shape == "spherical" else limits
    if not limits_of.wild(data_variances(data)[: len(limits_of.spread)]).any():
        return
    row, column = limits.farthest(rows.X)
    number = row if rows.kept is None else np.flatnonzero(rows.kept)[row]
    warnings.warn(
        f"row {number} of X has the extreme value {rows.X[row, column]:g} in column {column}, which widens the "
        "covariance that all components share; check the value, or use covariance_type='full' or 'diag'",
        stacklevel=2,
    )


def warn_of_flags(limits):
    """Warn of flags among measurements: their density, which has hardly a bound, decides the components."""
    flags = np.flatnonzero(limits.flags)
    if 1 < len(flags) < len(limits.flags):
        names = ", ".join(map(str, flags[:5])) + ", ..." * (len(flags) > 5)
        warnings.warn(
            f"columns {names} of X hold two values each (flags or one-hot codes), and Gaussian components may follow "
            "them rather than the measurements; leave such columns out if that is not wanted",
            stacklevel=2,
        )


def make_floor(params, scale):
    """Variances (D,) of the cloud that every row stands for; None for none."""
    if params.reg_covar is not None:
        return np.full_like(scale.floor, params.reg_covar) if params.reg_covar else None
    return scale.floor


def data_variances(data):
    """Variances (D,) of the columns, from all rows as one Gaussian."""
    d = data.means.shape[1]
    if data.shape == "spherical":
        return np.full(d, float(data.covariances[0]))
    if data.shape == "diag":
        return np.array(data.covariances).reshape(-1)
    return np.array(data.covariances).reshape(-1)[symmetric.diagonal_positions(d)]


def with_variances(data, variances):
    """The Gaussian's covariances with other variances; a column that gets another one has no correlations."""
    if data.shape == "spherical":
        return np.full_like(data.covariances, variances[0])
    if data.shape == "diag":
        return variances.reshape(data.covariances.shape)
    out = np.array(data.covariances)
    packed = out.reshape(-1)
    diagonal = symmetric.diagonal_positions(len(variances))
    same = packed[diagonal] == variances
    packed *= symmetric.pack_outer(same.astype(np.float64))
    packed[diagonal] = variances
    return out
