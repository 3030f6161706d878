"""Parameters that the mixtures without a fixed number of clusters share: constraints, and what follows from them."""

import numbers

import numpy as np

from sparsemix._compat import Interval, StrOptions
from sparsemix._engine.blocks import Rows
from sparsemix._engine.documents import Documents
from sparsemix._engine.threads import Workers
from sparsemix._estimator.checks import check_counts, check_rows, check_weights
from sparsemix._estimator.gaussian_prior import check_shape, prior_arguments
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters._gaussian_slots import GaussianSlots
from sparsemix.clusters._multinomial_slots import MultinomialSlots
from sparsemix.clusters._state import ClusterState
from sparsemix.mixture._start import data_gaussian

LIKELIHOODS = {"multinomial", *GAUSSIANS} - {"tied"}
# Rows of a block: what a kernel call does at once, between two chances to interrupt.
ROWS = 4096
# Of documents by default. A text of eight words shares one of them with some cluster or other, which speaks for that
# cluster by a factor of thousands; on texts of a hundred words nothing between 1 and 3000 makes a difference.
CONCENTRATION = 1000.0

SHARED = {
    "likelihood": [StrOptions(LIKELIHOODS)],
    "concentration": [Interval(numbers.Real, 0.0, None, closed="neither"), None],
    "discount": [Interval(numbers.Real, 0.0, 1.0, closed="left")],
    "tilt": [Interval(numbers.Real, 0.0, None, closed="left")],
    "max_components": [Interval(numbers.Integral, 1, None, closed="left"), None],
    "dirichlet_prior": [Interval(numbers.Real, 0.0, None, closed="neither")],
    "mean_precision_prior": [Interval(numbers.Real, 0.0, None, closed="neither"), None],
    "mean_prior": ["array-like", None],
    "degrees_of_freedom_prior": [Interval(numbers.Real, 0.0, None, closed="neither"), None],
    "covariance_prior": ["array-like", Interval(numbers.Real, 0.0, None, closed="neither"), None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}


def check_data(params, X, reset):
    """Rows of the likelihood's kind; a width that has changed is refused with the remedy for open vocabularies."""
    check = check_counts if params.likelihood == "multinomial" else check_rows
    try:
        return check(params, X, reset=reset)
    except ValueError as error:
        if params.likelihood == "multinomial" and "is expecting" in str(error):
            raise ValueError(
                f"{str(error).rstrip('.')}; for a stream whose vocabulary grows hash the words "
                "(sklearn.feature_extraction.text.HashingVectorizer with norm=None, alternate_sign=False)"
            ) from None
        raise


def weighted_rows(params, X, sample_weight, shift=None):
    """Rows of positive weight, and their numbers (None: all)."""
    sample_weight, kept = check_weights(sample_weight, X.shape[0]), None
    if sample_weight is not None and not sample_weight.all():
        kept = np.flatnonzero(sample_weight)
        X, sample_weight = X[kept], sample_weight[kept]
    if params.likelihood == "multinomial":
        return Documents(X, sample_weight, np.float64), kept
    return Rows(X, sample_weight, shift, np.float64), kept


def make_prior(params):
    """The prior of the partition."""
    if params.discount == params.tilt == 0:
        raise ValueError("discount and tilt are both 0; give one of them a positive value")
    concentration = params.concentration
    if concentration is None:
        concentration = CONCENTRATION if params.likelihood == "multinomial" else 1.0
    return NGGP(float(concentration), float(params.discount), float(params.tilt))


def make_state(params, rows):
    """A state without clusters, and rows as it reads them; priors that depend on data are fixed here."""
    n_features = rows.X.shape[1]
    if params.likelihood == "multinomial":
        return ClusterState(MultinomialSlots(n_features, params.dirichlet_prior)), rows
    family = GAUSSIANS[params.likelihood](n_features)
    shift = origin(params, rows) if family.has_means else None
    rows = Rows(rows.X, rows.sample_weight, shift, np.float64)
    prior = cluster_prior(params, family, rows, shift)
    return ClusterState(GaussianSlots(family, prior, shift=shift)), rows


def prior_is_given(params):
    """Whether a Gaussian prior takes nothing from the data."""
    return params.covariance_prior is not None and (params.mean_prior is not None or params.likelihood == "zero_mean")


def origin(params, rows):
    """What rows are taken relative to: a given prior mean, so that the first block says nothing, or its mean."""
    if params.mean_prior is None:
        return rows.mean()
    return check_shape("mean_prior", params.mean_prior, (rows.X.shape[1],))


def cluster_prior(params, family, rows, shift):
    """Prior of one cluster. By default a row under it has about the data's mean and covariance.

    A cluster's covariance is a tenth of that (``mean_precision_prior``), the rest is that of its mean.
    """
    arguments = prior_arguments(params, family, shift, "likelihood")
    if family.has_means and arguments["mean_precision"] is None:
        arguments["mean_precision"] = 0.1
    data = None
    if not prior_is_given(params):
        with Workers(1) as workers:
            data = data_gaussian(family, rows, workers)
    prior = family.prior(data, **arguments)
    if "covariance" not in arguments and family.has_means:
        kappa = arguments["mean_precision"]
        prior = type(prior)(prior.mean, prior.mean_precision, prior.dof, prior.scale * (kappa / (1.0 + kappa)))
    return prior
