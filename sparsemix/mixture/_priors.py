"""Default priors of a mixture of Gaussians, from the data's Gaussian and the number of components."""

from dataclasses import replace

import numpy as np

from sparsemix._estimator.gaussian_prior import prior_arguments

# A variance floor of this share of a column's variance: a thousandth of its standard deviation.
FLOOR = 1e-6
# Columns of less than this share of the median variance are constant, but for round-off.
CONSTANT = 1e-12
# From so many components on they are to describe a density rather than to be clusters, and learn their priors' scales.
LEARN_FROM = 16
# The least of these scales, in those of a prior that is not learned: components of a surface, or of a series' windows,
# are thinner than the data in every direction, and a pixel that a component has never seen should not draw it to zero.
LEAST_SCALE = 0.1


def make_prior(params, family, data, rows):
    """The prior of the components; where ``covariance_prior`` is None it follows the data, K and N.

    B0 / (nu0 - D - 1), the prior's mean of a covariance, is that of the data times K^(-2 / D), which is what is left
    when K clusters of one shape share its volume (Fraley and Raftery 2007), times min(1, D K / N): the prior counts
    as one row whatever there is, and where components have many rows for each of their D directions its row
    should not hide how small the smallest are. It is a tenth of that where components learn how much larger theirs is.
    """
    prior = family.prior(data, **prior_arguments(params, family, rows.shift, "covariance_type"))
    if params.covariance_prior is not None:
        return prior
    share = covariance_share(family.n_features, params.n_components, rows.mass)
    return replace(prior, scale=prior.scale * share * (LEAST_SCALE if learns_scales(params, family) else 1.0))


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


def make_floor(params, data, mass):
    """Variances (D,) of the cloud that every row stands for; None for none.

    A column without variance has shown one value in N rows. One row more may differ from it by about as much as rows
    differ in other columns, and the variance under which that costs least in all is theirs, divided by N.
    """
    d = data.means.shape[1]
    if params.reg_covar is not None:
        return np.full(d, float(params.reg_covar)) if params.reg_covar else None
    variances = data_variances(data)
    varying = variances[variances > CONSTANT * variances.max(initial=0.0)]
    level = np.median(varying) if len(varying) else 1.0
    return np.where(variances > CONSTANT * level, FLOOR * variances, level / (mass + 1.0))


def data_variances(data):
    """Variances (D,) of the columns, from all rows as one Gaussian."""
    d = data.means.shape[1]
    if data.shape == "spherical":
        return np.full(d, float(data.covariances[0]))
    if data.shape == "diag":
        return np.array(data.covariances).reshape(-1)
    diagonal = np.arange(d) * (np.arange(d) + 3) // 2
    return np.array(data.covariances).reshape(-1)[diagonal]
