"""Checks of the parameters of the prior of Gaussian components against the shape of the data."""

import numpy as np
from sklearn.utils import check_array

from sparsemix._estimator.input.checks import LARGEST_VARIANCE, SMALLEST_VARIANCE, largest_value
from sparsemix._estimator.input.forms import floats_of
from sparsemix._stats import symmetric


def prior_arguments(params, family, shift, kind):
    """Checked parameters of the prior; None if data determine a value. ``kind`` is the name of the family's parameter.
    """
    d = family.n_features
    arguments = {"mean_precision": params.mean_precision_prior, "dof": params.degrees_of_freedom_prior}
    least = family.shape.least_dof(d)
    if arguments["dof"] is not None and arguments["dof"] <= least:
        raise ValueError(
            f"degrees_of_freedom_prior is {arguments['dof']}; it must be greater than {least} for "
            f"{kind}={getattr(params, kind)!r} and {d} features"
        )
    if params.mean_prior is not None and family.has_means:
        mean = check_means("mean_prior", params.mean_prior, (d,))
        arguments["mean"] = mean - shift
    _, given = scales_and_value(params.covariance_prior)
    if given is not None:
        value = spread(given, family)
        arguments["covariance"] = check_covariances("covariance_prior", value, family, None)
    return arguments


def scales_and_value(prior):
    """What a ``covariance_prior`` says of learned scales ("learned", "fixed" or None), and its array; None if the data
    determine it.
    """
    if prior is None or isinstance(prior, str):
        return prior, None
    if isinstance(prior, tuple) and len(prior) == 2 and isinstance(prior[0], str):
        if prior[0] != "learned":
            raise ValueError(f"covariance_prior={prior!r} is not valid; give an array alone, or ('learned', array)")
        return prior
    return "fixed", prior


def spread(value, family):
    """A number as that multiple of the identity, if the family has more than one variance."""
    return value if np.ndim(value) > 0 else family.shape.multiple(value, family.n_features)


def check_shape(name, value, shape):
    """A finite float64 array of the given shape."""
    value = floats_of(value, name)
    value = check_array(value, ensure_2d=False, allow_nd=True, ensure_min_samples=0, input_name=name)
    if value.shape != shape:
        raise ValueError(f"{name} has shape {value.shape}, expected {shape}")
    return value


def check_means(name, value, shape):
    """Checked means, within the range of valid rows."""
    value, most = check_shape(name, value, shape), largest_value(np.float64)
    if not (np.abs(value) <= most).all():
        worst = value.flat[np.abs(value).argmax()]
        raise ValueError(f"{name} holds {worst:g}; it must be within {-most:g} and {most:g}")
    return value


def check_covariances(name, value, family, n_components):
    """Covariances or precisions in scikit-learn's shape: symmetric and positive definite, or positive."""
    d = family.n_features
    single = family.shape.of_one(d)
    shape = single if n_components is None or family.tied else (n_components, *single)
    if shape == ():
        return check_variances(name, np.float64(value))
    value = check_shape(name, value, shape)
    if not family.shape.correlated:
        return check_variances(name, value)
    diagonal = np.diagonal(value, axis1=-2, axis2=-1)
    roots = np.sqrt(np.abs(diagonal))
    most = 1e-8 * roots[..., :, None] * roots[..., None, :]  # columns may have any units
    alike = (np.abs(value - np.swapaxes(value, -1, -2)) <= most + 1e-5 * np.abs(value)).all()
    if not alike or np.isnan(symmetric.cholesky(np.atleast_2d(symmetric.pack(value)))).any():
        raise ValueError(f"{name} must be symmetric and positive definite; add a multiple of the identity")
    check_variances(f"the diagonal of {name}", diagonal)
    return value


def check_variances(name, value):
    """Checked positive numbers within the accepted range."""
    bad = value[~((value >= SMALLEST_VARIANCE) & (value <= LARGEST_VARIANCE))]
    if bad.size:
        raise ValueError(
            f"{name} holds {bad.flat[0]:g}; all its entries must be positive, from {SMALLEST_VARIANCE:g} to "
            f"{LARGEST_VARIANCE:g}"
        )
    return value
