"""Marginal and conditional mixtures of some columns, and rows completed by them.

The columns of a Gaussian are o (given) and m (all others). The marginal of o has mean mu_o and covariance S_oo. Given
x_o, the columns m have mean mu_m + A (x_o - mu_o) with A = S_mo S_oo^-1, and covariance S_mm - A S_om. The weight of a
component is multiplied by its marginal density of x_o. The functions are methods of ``SparseGaussianMixture``. They use
the parameters of the density (``density_parameters``), so that all results agree with ``score_samples``.
"""

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator.input.checks import check_rows
from sparsemix._estimator.input.forms import floats_of, frame_like, is_frame
from sparsemix._models.mixture.missing import is_missing
from sparsemix._rows.blocks import MISSING, Rows
from sparsemix._rows.threads import Workers
from sparsemix._typing import ArrayLike, Estimator, RowsLike


def marginal(self: Estimator, columns: ArrayLike) -> Estimator:
    """The marginal mixture of some columns.

    Parameters
    ----------
    columns : array-like of int or str
        Numbers of the columns to keep, or their names after a fit on a data frame, in the order of the result.

    Returns
    -------
    mixture : SparseGaussianMixture
        A fitted mixture of ``len(columns)`` features with the components and weights of this one.

    Raises
    ------
    ValueError
        If a column does not exist or is given twice.

    Examples
    --------
    >>> from sparsemix import SparseGaussianMixture
    >>> mixture = SparseGaussianMixture.from_parameters([0.5, 0.5], [[0.0, 1.0], [4.0, 9.0]], [1.0, 1.0],
    ...                                                 covariance_type="spherical")
    >>> mixture.marginal([1]).means_.ravel()
    array([1., 9.])
    """
    check_is_fitted(self)
    split = Split(self, column_numbers(self, columns))
    return _named(_like(self, *split.of_given()), self, split.given)


def condition(self: Estimator, columns: ArrayLike, values: ArrayLike) -> Estimator:
    """The mixture of all other columns, given the values of some.

    Use it for a regression with several outcomes: the conditional mixture has means, densities and draws. For many rows
    use ``MixtureRegressor``, or ``impute``.

    Parameters
    ----------
    columns : array-like of int or str
        Numbers of the given columns, or their names after a fit on a data frame.
    values : array-like of shape (len(columns),)
        Their values, in the units of the data.

    Returns
    -------
    mixture : SparseGaussianMixture
        A fitted mixture of the other columns, in their order. Component k is component k of this mixture given the
        values; its weight is the probability of component k given the values.

    Raises
    ------
    ValueError
        If a column does not exist or is given twice, if no column is left, or if a value is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseGaussianMixture
    >>> height = np.random.default_rng(0).normal(170.0, 10.0, size=5_000)
    >>> weight = 0.9 * height - 85.0 + np.random.default_rng(1).normal(0.0, 8.0, size=5_000)
    >>> mixture = SparseGaussianMixture(random_state=0).fit(np.c_[height, weight])
    >>> given = mixture.condition([0], [180.0])
    >>> bool(abs(given.means_[0, 0] - 77.0) < 1.0)
    True
    """
    check_is_fitted(self)
    given = column_numbers(self, columns)
    values = np.atleast_1d(floats_of(values, "values"))
    if values.shape != (len(given),):
        raise ValueError(f"values has shape {values.shape}; give one number for each of the {len(given)} columns")
    if not np.isfinite(values).all():
        raise ValueError("values contains NaN or infinity; leave out the columns whose values are not known")
    split = Split(self, given)
    if not len(split.rest):
        raise ValueError("columns names every column of the mixture; leave out those that the result is to describe")
    fitted, n_components = self._fitted, len(split.weights)
    x = np.full((n_components, self.n_features_in_), np.nan)
    x[:, given] = values
    x = Rows(x, shift=fitted.model.shift).read(slice(0, n_components))
    completion = fitted.table("density", x.dtype, MISSING).completion
    means = fitted.in_data_coordinates(completion.expect(x, np.eye(n_components), None))[:, split.rest]
    weights = _like(self, *split.of_given()).predict_proba(values[None])[0]
    return _named(_like(self, weights / weights.sum(), means, *split.of_rest()), self, split.rest)


def impute(self: Any, X: RowsLike, *, draw: bool = False) -> Any:
    """Rows completed where values are missing.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Rows; NaN marks a missing value. A row may be NaN in every column.
    draw : bool, default=False
        False replaces missing values by their conditional means given the row's other values, which has the least
        squared error. True draws them from their conditional distribution, so that variances and correlations of the
        completed rows are not too small; draws follow ``random_state``.

    Returns
    -------
    X : ndarray or data frame of shape (n_samples, n_features)
        A copy with the missing values replaced: float32 if all of ``X`` is, else float64. A data frame of pandas or
        polars, or a table of Arrow, comes back as one, with its index and its columns in their order.

    Raises
    ------
    ValueError
        If a row has an infinite value, or X another number of columns than the mixture.

    Notes
    -----
    All components count, whatever ``n_nonzero`` is. Those with a responsibility below 1e-12 are left out of a mean. The
    cost is about that of ``score_samples``, plus that of a row under each component that counts.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseGaussianMixture
    >>> mixture = SparseGaussianMixture.from_parameters([1.0], [[0.0, 0.0]], [[[1.0, 0.9], [0.9, 1.0]]])
    >>> mixture.impute([[2.0, np.nan], [np.nan, np.nan]])
    array([[2. , 1.8],
           [0. , 0. ]])
    """
    check_is_fitted(self)
    if not isinstance(draw, (bool, np.bool_)):
        raise ValueError(f"draw={draw!r} is not a boolean; give True for draws, False for conditional means")
    done = np.array(check_rows(self, X, reset=False, missing=True))
    seed = check_random_state(self._params.random_state).randint(1 << 31) if draw else None
    incomplete = is_missing(done)
    if incomplete is not None:
        some = done[incomplete]
        rows = Rows(some, shift=self._fitted.model.shift, dtype=np.float64)
        with Workers(self._params.n_jobs) as workers:
            found = self._fitted.missing_values(rows, seed, workers)
        done[incomplete] = np.where(np.isnan(some), found, some)
    return frame_like(X, done) if is_frame(X) else done


class Split:
    """Density parameters of a mixture, with the columns cut into given ones and all others.

    Attributes
    ----------
    given, rest : ndarray of int
        Numbers of the given columns, and of all others in increasing order.
    weights : ndarray of shape (K,)
        Weights of the components.
    """

    def __init__(self, mixture, given):
        family, parameters = mixture._fitted.model.family, mixture.density_parameters()
        self.given, self.rest = given, np.setdiff1d(np.arange(family.n_features), given)
        self.weights, self.means = parameters["weights"], parameters["means"]
        kind = Loadings if family.has_loadings else Matrices if family.shape.correlated else Variances
        self.covariances = kind(family, parameters["covariances"])

    def of_given(self):
        """Arguments of ``from_parameters``: the marginal mixture of the given columns."""
        means = None if self.means is None else self.means[:, self.given]
        return self.weights, means, *self.covariances.of(self.given)

    def of_rest(self):
        """Covariances and covariance type of the other columns, given the given ones."""
        return self.covariances.of_rest(self.given, self.rest)


class Variances:
    """Columns are independent: given columns change the weights only."""

    def __init__(self, family, variances):
        self.family, self.variances = family, variances

    def of(self, columns):
        """Covariances and covariance type of some columns."""
        return (self.variances if self.family.shape.one_variance else self.variances[..., columns]), self.family.name

    def of_rest(self, given, rest):  # noqa: ARG002
        """Covariances and covariance type of the columns ``rest``, given the columns ``given``."""
        return self.of(rest)


class Matrices:
    """Covariance matrices, one for each component or one for all."""

    def __init__(self, family, matrices):
        self.family, self.matrices = family, matrices

    def of(self, columns):
        """See Variances."""
        return self.matrices[..., columns[:, None], columns], self.family.name

    def of_rest(self, given, rest):
        """See Variances; rows of "zero_mean" have conditional means."""
        if self.family.tied:
            return conditional(self.matrices, given, rest), self.family.name
        return np.array([conditional(each, given, rest) for each in self.matrices]), "full"


def conditional(matrix, given, rest):
    """The covariance of the columns ``rest``, given the columns ``given``."""
    gain = np.linalg.solve(matrix[np.ix_(given, given)], matrix[np.ix_(given, rest)]).T
    out = matrix[np.ix_(rest, rest)] - gain @ matrix[np.ix_(given, rest)]
    return 0.5 * (out + out.T)


class Loadings:
    """Covariances W^T W + diag(v); M is I + W_o diag(v_o)^-1 W_o^T."""

    def __init__(self, family, parameters):
        self.family = family
        self.loadings, self.noise = parameters

    def of(self, columns):
        """See Variances."""
        return self._named(self.loadings[:, :, columns], self.noise[:, columns])

    def of_rest(self, given, rest):
        """See Variances: the covariances are W_m^T M^-1 W_m + diag(v_m)."""
        roots = np.linalg.cholesky(np.array([self._m(k, given) for k in range(len(self.noise))]))
        return self._named(np.linalg.solve(roots, self.loadings[:, :, rest]), self.noise[:, rest])

    def _m(self, k, given):
        part = self.loadings[k][:, given]
        return np.eye(len(part)) + (part / self.noise[k, given]) @ part.T

    def _named(self, loadings, noise):
        """As "low_rank" if the rank is below the number of columns, else as matrices."""
        n_columns = noise.shape[1]
        if loadings.shape[1] < n_columns:
            return (loadings, noise), self.family.name
        return np.swapaxes(loadings, 1, 2) @ loadings + noise[:, :, None] * np.eye(n_columns), "full"


def column_numbers(mixture, columns):
    """Numbers of columns given by number or by name."""
    if isinstance(columns, (str, numbers.Integral)):
        columns = [columns]
    if not np.iterable(columns):
        raise ValueError(f"columns is {columns!r}; give a list of numbers or names")
    columns = list(columns)
    names, n_features = list(getattr(mixture, "feature_names_in_", [])), mixture._fitted.model.family.n_features
    found = []
    for column in columns:
        if isinstance(column, str):
            if column not in names:
                known = f"the columns of the fit are {names}" if names else "the fit saw no names of columns"
                raise ValueError(f"columns contains {column!r}, but {known}")
            found.append(names.index(column))
        elif isinstance(column, numbers.Integral) and not isinstance(column, bool) and 0 <= column < n_features:
            found.append(int(column))
        else:
            raise ValueError(f"columns contains {column!r}; give names or numbers from 0 to {n_features - 1}")
    if not found or len(set(found)) < len(found):
        raise ValueError(f"columns is {columns}; give at least one column, and each only once")
    return np.array(found, dtype=np.intp)


def _like(mixture, weights, means, covariances, covariance_type):
    """A mixture with these parameters that predicts as ``mixture`` does."""
    params = mixture._params
    return type(mixture).from_parameters(
        weights, means, covariances, covariance_type=covariance_type, n_nonzero=params.n_nonzero, n_jobs=params.n_jobs,
        random_state=params.random_state,
    )  # fmt: skip


def _named(mixture, source, columns):
    """The mixture with the names of these columns of the source, if it has names."""
    if hasattr(source, "feature_names_in_"):
        mixture.feature_names_in_ = source.feature_names_in_[columns]
    return mixture
