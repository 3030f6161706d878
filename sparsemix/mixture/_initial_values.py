"""Initial values that the caller gives: their check."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from sparsemix._estimator.input.forms import numbers_of
from sparsemix._estimator.input.gaussian_prior import check_covariances, check_means, check_shape


@dataclass
class Given:
    """Checked values; None if not given. Covariances have the family's shape, and means are relative to the shift."""

    weights: np.ndarray | None = None
    means: np.ndarray | None = None
    covariances: np.ndarray | None = None
    responsibilities: sparse.csr_array | None = None

    @classmethod
    def of(cls, init_params, model, n_rows, kept):
        """Check the values of ``init_params`` for a mixture of Gaussians and ``n_rows`` rows."""
        values = given_values(init_params, "weights", "means", "precisions", "responsibilities")
        family, n_components, out = model.family, model.n_components, cls()
        if "weights" in values:
            out.weights = check_weights_of("init_params['weights']", values["weights"], n_components)
        if "means" in values:
            if not family.has_means:
                raise ValueError("covariance_type='zero_mean' has no means; give init_params={'precisions': ...}")
            name = "init_params['means']" if isinstance(init_params, dict) else "init_params"
            means = check_means(name, values["means"], (n_components, family.n_features))
            out.means = means - model.shift
        if "precisions" in values:
            precisions = check_covariances("init_params['precisions']", values["precisions"], family, n_components)
            out.covariances = family.pack_covariances(family.shape.inverse(precisions))
        if "responsibilities" in values:
            out.responsibilities = check_responsibilities(values["responsibilities"], n_rows, n_components, kept)
        return out

    def any_parameters(self):
        """Whether weights, means or covariances are given."""
        return any(value is not None for value in (self.weights, self.means, self.covariances))


def given_values(init_params, *names):
    """The values that ``init_params`` gives by name: none if it is a name, means if it is an array."""
    if isinstance(init_params, str):
        return {}
    if not isinstance(init_params, dict):
        return {"means": init_params}
    unknown = [name for name in init_params if name not in names]
    if unknown:
        known = ", ".join(map(repr, names))
        raise ValueError(f"init_params has the key {unknown[0]!r}; the keys may be {known}")
    return {name: value for name, value in init_params.items() if value is not None}


def check_weights_of(name, weights, n_components):
    """Weights of components, checked."""
    weights = check_shape(name, weights, (n_components,))
    if (weights < 0).any() or not np.isclose(weights.sum(), 1.0):
        raise ValueError(f"{name} must not be negative and sum to one; they sum to {weights.sum()}")
    return weights


def check_responsibilities(resp, n_rows, n_components, kept):
    """Checked responsibilities (N, K), dense or sparse, as CSR of the rows that the mask ``kept`` selects."""
    name, n_rows = "init_params['responsibilities']", n_rows if kept is None else len(kept)
    resp = numbers_of(resp, name)
    resp = sparse.csr_array(check_array(resp, accept_sparse="csr", dtype=np.float64, input_name=name))
    if resp.shape[0] != n_rows:
        raise ValueError(f"{name} has {resp.shape[0]} rows, expected one for each of the {n_rows} rows of X")
    if resp.shape[1] != n_components:
        raise ValueError(f"{name} has {resp.shape[1]} columns, expected one for each of {n_components} components")
    bad = np.flatnonzero((np.asarray(resp.sum(axis=1)).ravel() <= 0) | (resp.min(axis=1).toarray().ravel() < 0))
    if len(bad):
        raise ValueError(f"row {bad[0]} of {name} is not a distribution; give no negative numbers, and a positive sum")
    return resp if kept is None else resp[kept]


def refuse_responsibilities(init_params):
    """Refuse responsibilities for a fit over blocks."""
    if isinstance(init_params, dict) and init_params.get("responsibilities") is not None:
        raise ValueError(
            "init_params['responsibilities'] has a row for every row of the data, which a fit over blocks does not "
            "hold; give means, or the name of an initialisation"
        )
