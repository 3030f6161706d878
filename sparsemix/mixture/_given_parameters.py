"""``SparseGaussianMixture.from_parameters``: a mixture with given parameters, and the checks of these parameters."""

from typing import Any

import numpy as np

from sparsemix._estimator.base import seeded
from sparsemix._estimator.input.columns import ColumnLimits
from sparsemix._estimator.input.gaussian_prior import check_covariances, check_means, check_shape
from sparsemix._models.mixture.model import MaximumLikelihoodMixture, VariationalMixture
from sparsemix._stats.families import FactorAnalysers, Gaussians
from sparsemix._stats.weights import DirichletWeights, weights_of
from sparsemix._typing import ArrayLike, Estimator
from sparsemix.mixture._assemble import (
    EM_FLOOR,
    DataScale,
    class_and_rank,
    judging_prior,
    make_family,
    make_floor,
    with_evidence_model,
)
from sparsemix.mixture._fitted import FittedMixture
from sparsemix.mixture._initial_values import check_weights_of
from sparsemix.mixture._plan import BATCH_ROWS, kept_entries, search_of


def from_parameters(
    cls: type[Estimator],
    weights: ArrayLike,
    means: ArrayLike | None,
    covariances: ArrayLike,
    *,
    covariance_type: Any = "full",
    **params: Any,
) -> Estimator:
    """A mixture with given parameters, which predicts, scores and samples without a fit.

    It uses maximum likelihood. ``partial_fit`` and, with ``warm_start``, ``fit`` continue from it. The parameters
    determine the responsibilities of the first block or epoch, and have no other effect.

    Parameters
    ----------
    weights : array-like of shape (n_components,)
        Mixture weights; they sum to one.
    means : array-like of shape (n_components, n_features) or None
        Means; None for ``covariance_type="zero_mean"``.
    covariances : array-like
        Covariances, in the shape of ``covariances_``; for "low_rank" a pair of loadings and noise variances, in the
        shapes of ``loadings_`` and ``noise_variance_``.
    covariance_type : str or tuple, default="full"
        As for the constructor; the loadings determine the rank of "low_rank".
    **params : dict
        Other parameters of the constructor except ``n_components`` and ``inference``.

    Returns
    -------
    mixture : SparseGaussianMixture

    Raises
    ------
    ValueError
        If weights are not a distribution, shapes do not match, or covariances are not positive definite.

    Examples
    --------
    >>> from sparsemix import SparseGaussianMixture
    >>> mixture = SparseGaussianMixture.from_parameters([0.5, 0.5], [[0.0], [4.0]], [1.0, 1.0],
    ...                                                 covariance_type="spherical")
    >>> mixture.predict([[1.0], [3.0]])
    array([0, 1])
    """
    mixture = cls(max(1, np.size(weights)), inference="em", covariance_type=covariance_type, **params)
    mixture._validate_params()
    family, rank = class_and_rank(mixture._params.covariance_type)
    if family.has_loadings:
        found = given_rank(covariances, np.shape(means)[-1])
        if rank not in (None, found):
            raise ValueError(
                f"covariance_type={covariance_type!r}, but covariances has loadings of rank {found}; give "
                f"covariance_type={family.name!r}"
            )
        mixture.covariance_type = family.name, found
    search = search_of(mixture._params, seeded(mixture._params.random_state), BATCH_ROWS, stored=False)
    fitted = given_mixture(mixture._params, search, weights, means, covariances)
    vars(mixture).update(
        _fitted=fitted, n_features_in_=fitted.model.family.n_features, n_samples_seen_=0, n_steps_=0,
        init_params_="given",
    )  # fmt: skip
    return mixture


def given_mixture(params, search, weights, means, covariances):
    """A maximum likelihood mixture with these parameters, and with statistics of mass one that reproduce them."""
    has_means = class_and_rank(params.covariance_type)[0].has_means
    if has_means == (means is None):
        what = "needs means" if has_means else "has no means"
        raise ValueError(f"covariance_type={params.covariance_type!r} {what}; give them for all types but 'zero_mean'")
    name, sized = ("means", means) if has_means else ("covariances", covariances)
    if np.ndim(sized) < 2:
        raise ValueError(f"{name} has shape {np.shape(sized)}; give a row of it for each component")
    n_components = params.n_components
    family = make_family(params.covariance_type, n_components, np.shape(sized)[-1])
    weights = check_weights_of("weights", weights, n_components)
    shift, relative = None, np.zeros((n_components, family.n_features))
    if has_means:
        means = check_means("means", means, relative.shape)
        shift = weights @ means
        relative = means - shift
    gaussians = given_gaussians(family, relative, covariances)
    stats = family.stats_of(gaussians, weights)
    stats.shift = shift
    sizes = n_components, kept_entries(params), np.float64, shift
    reg_covar, prior_of_weights = EM_FLOOR if params.reg_covar is None else params.reg_covar, weights_of(params)
    if not np.allclose(prior_of_weights.mean(weights), weights):
        raise ValueError("weight_concentration_prior=inf makes all weights equal, but weights differ; leave it out")
    model = MaximumLikelihoodMixture(family, prior_of_weights, reg_covar, *sizes)
    one = stats.take([0])
    for each in ("count", *family.spec()[0]):
        one[each] = stats[each].sum(axis=0, keepdims=True)
    data = family.plain.maximum_likelihood(one, 0.0)
    scale = DataScale.of(data, shift, 1.0, ColumnLimits.none(family.n_features), np.float64)
    prior = judging_prior(family.plain, scale.gaussian, n_components, 1.0)
    even, floor = DirichletWeights(1.0 / n_components), make_floor(params.reg_covar, scale)
    model = with_evidence_model(model, VariationalMixture(family.plain, even, prior, *sizes, floor=floor))
    model.use(search)
    model.take(gaussians, stats)
    return FittedMixture(model, stats)


def given_rank(covariances, n_features):
    """The rank of given loadings."""
    if not (isinstance(covariances, (tuple, list)) and len(covariances) == 2 and np.ndim(covariances[0]) == 3):
        raise ValueError(
            "covariances of covariance_type='low_rank' are a pair; give loadings of shape (n_components, rank, "
            "n_features) and noise variances of shape (n_components, n_features)"
        )
    rank = np.shape(covariances[0])[1]
    if rank >= n_features:
        raise ValueError(
            f"covariances has loadings of rank {rank} for {n_features} features; give n_features - 1 at most"
        )
    return rank


def given_gaussians(family, means, covariances):
    """Gaussians with given parameters, checked."""
    if not family.has_loadings:
        covariances = check_covariances("covariances", covariances, family, len(means))
        return Gaussians(family.structure, means, family.pack_covariances(covariances))
    loadings = check_shape("covariances[0]", covariances[0], (len(means), family.rank, family.n_features))
    noise = check_covariances("covariances[1]", covariances[1], family, len(means))
    return FactorAnalysers(means=means, covariances=noise, loadings=loadings)
