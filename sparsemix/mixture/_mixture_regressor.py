"""Gaussian mixture regression: the conditional distribution of outcomes under a mixture of rows and outcomes."""

import numbers
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_random_state, check_X_y
from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator.base import SparsemixEstimator
from sparsemix._estimator.input.checks import check_number, check_rows
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.summary.summary import Summary, summary_of
from sparsemix._models.mixture.missing import LEAST
from sparsemix._rows.blocks import Rows, spans
from sparsemix._rows.threads import Workers
from sparsemix._typing import Array, ArrayLike, RowsLike
from sparsemix.mixture._sparse_gaussian_mixture import SparseGaussianMixture

# Components of the default mixture, halvings of an interval (to the last bits), numbers of rows drawn together.
COMPONENTS, HALVINGS, DRAWN = 5, 52, 1 << 22


class MixtureRegressor(RegressorMixin, SparsemixEstimator):
    """Gaussian mixture regression, which predicts distributions of one or several outcomes.

    A ``SparseGaussianMixture`` learns the joint distribution of features and outcomes. Given the features of a row, the
    outcomes have a mixture of normal distributions, whose means are linear in the features within each component, and
    whose weights depend on the features (Ghahramani and Jordan 1994). So predictions are smooth curves, and intervals
    follow noise that varies, is skewed or has several modes. Features may be missing (NaN), in fits and predictions.

    Parameters
    ----------
    mixture : SparseGaussianMixture, default=None
        Mixture to fit, which stays unchanged. None means ``SparseGaussianMixture(5, random_state=0)``. More components
        follow curves closer and need more rows; one is linear regression. A grid over ``mixture__n_components`` needs
        ``MixtureRegressor(SparseGaussianMixture())``, since None has no parameters.

    Attributes
    ----------
    mixture_ : SparseGaussianMixture
        Fitted mixture of the features, followed by the outcomes.
    n_outputs_ : int
        Number of outcomes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a data frame with names.

    References
    ----------
    Ghahramani, Z. and Jordan, M. I. (1994). Supervised learning from incomplete data via an EM approach. Advances in
    Neural Information Processing Systems 6.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import MixtureRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3.0, 3.0, size=(2_000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=2_000)
    >>> regressor = MixtureRegressor().fit(X, y)
    >>> regressor.score(X, y) > 0.95
    True
    >>> low, high = regressor.predict_interval([[0.5]], coverage=0.9)[0]
    >>> bool(low < np.sin(0.5) < high)
    True
    """

    _parameter_constraints = {"mixture": [SparseGaussianMixture, None]}  # noqa: RUF012

    def __init__(self, mixture: SparseGaussianMixture | None = None) -> None:
        self.mixture = mixture

    def fit(self, X: RowsLike, y: ArrayLike) -> Self:
        """Learn the mixture of features and outcomes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Outcomes.

        Returns
        -------
        self : estimator
        """
        with self._all_or_nothing():
            self._validate_params()
            X = check_rows(self, X, reset=True, missing=True)
            joint, self._is_single = self._joint(X, y)
            self.n_outputs_ = joint.shape[1] - X.shape[1]
            mixture = SparseGaussianMixture(COMPONENTS, random_state=0) if self.mixture is None else clone(self.mixture)
            self.mixture_ = mixture.fit(joint)
        return self

    def predict(self, X: RowsLike, return_std: bool = False) -> Any:
        """Conditional means of the outcomes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing value.
        return_std : bool, default=False
            Whether to return standard deviations of the outcomes too.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            Standard deviation of the outcome, noise included; only with ``return_std``.
        """
        rows = self._rows(X)
        means, variances = np.empty((2, len(rows), self.n_outputs_))

        def moments(start, stop, resp, centres, spreads):
            means[start:stop] = mean = np.einsum("nk,nkq->nq", resp, centres)
            variances[start:stop] = np.einsum("nk,nkq->nq", resp, spreads + (centres - mean[:, None]) ** 2)

        self._each_conditional(rows, moments)
        return (self._shaped(means), self._shaped(np.sqrt(variances))) if return_std else self._shaped(means)

    def predict_interval(self, X: RowsLike, coverage: float = 0.9) -> Array:
        """Intervals that hold each outcome with a given probability, half of the rest on either side.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing value.
        coverage : float, default=0.9
            Probability that an outcome is inside, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Quantiles ``(1 - coverage) / 2`` and ``(1 + coverage) / 2`` of the outcome given the row.
        """
        if not isinstance(coverage, numbers.Real) or not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage!r} is not a probability; give a number between 0 and 1, such as 0.9")
        rows = self._rows(X)
        out = np.empty((len(rows), self.n_outputs_, 2))

        def both(start, stop, resp, means, variances):
            for side, probability in enumerate([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]):
                out[start:stop, :, side] = quantiles(probability, resp, means, np.sqrt(variances))

        self._each_conditional(rows, both)
        return out[:, 0] if self._is_single else out

    def score(self, X: RowsLike, y: ArrayLike, sample_weight: Any = None) -> float:
        """Coefficient of determination R^2 of the predicted means, averaged over outcomes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True outcomes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            At most 1; 0 is the score of the mean outcome.
        """
        return super().score(X, y, sample_weight)

    def sample_y(self, X: RowsLike, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw outcomes given rows, independently for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows; NaN marks a missing value.
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        y : ndarray of shape (n_rows, n_samples) or (n_rows, n_outputs, n_samples)
        """
        check_number("n_samples", n_samples)
        rows, rng = self._rows(X), check_random_state(random_state)
        out = np.empty((len(rows), n_samples, self.n_outputs_))
        with Workers(self.mixture_._params.n_jobs) as workers:
            for start, stop in spans(len(rows), max(1, DRAWN // (n_samples * rows.X.shape[1]))):
                some = Rows(np.repeat(rows.X[start:stop], n_samples, axis=0), shift=rows.shift)
                found = self.mixture_._fitted.missing_values(some, rng.randint(1 << 31), workers)
                out[start:stop] = found[:, -self.n_outputs_ :].reshape(-1, n_samples, self.n_outputs_)
        return out[:, :, 0] if self._is_single else np.swapaxes(out, 1, 2)

    def log_density(self, X: RowsLike, y: ArrayLike) -> Array:
        """Log density of the outcomes given each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Outcomes.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Natural logarithms.
        """
        rows = self._rows(X)
        joint, _ = self._joint(rows.X[:, : self.n_features_in_], y)
        if joint.shape[1] != rows.X.shape[1]:
            raise ValueError(f"y has {joint.shape[1] - self.n_features_in_} columns; give {self.n_outputs_}, as in fit")
        return self.mixture_.score_samples(joint) - self.mixture_.score_samples(rows.X)

    @plain_arguments
    def summary(self, n_columns: int = 5) -> Summary:
        """What distinguishes each component from all rows, in features and outcomes.

        Parameters
        ----------
        n_columns : int, default=5
            Number of columns of a component that the text lists.

        Returns
        -------
        summary : Summary
            That of ``mixture_``; outcomes are called y, or y 0, y 1 and so on.
        """
        check_is_fitted(self)
        features = getattr(self, "feature_names_in_", [f"column {j}" for j in range(self.n_features_in_)])
        outcomes = ["y"] if self._is_single else [f"y {j}" for j in range(self.n_outputs_)]
        return summary_of(self.mixture_, n_columns, [*features, *outcomes])

    def _joint(self, X, y):
        """Features and outcomes side by side, and whether y has one axis."""
        _, y = check_X_y(X, y, multi_output=True, y_numeric=True, ensure_all_finite="allow-nan", estimator=self)
        return np.column_stack([X, y]).astype(np.float64, copy=False), y.ndim == 1

    def _rows(self, X):
        """Checked rows without outcomes, in float64."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, missing=True)
        joint = np.column_stack([X, np.full((len(X), self.n_outputs_), np.nan)])
        return Rows(joint.astype(np.float64, copy=False), shift=self.mixture_._fitted.model.shift)

    def _each_conditional(self, rows, function):
        with Workers(self.mixture_._params.n_jobs) as workers:
            self.mixture_._fitted.each_conditional(rows, self.n_outputs_, workers, function)

    def _shaped(self, values):
        return values[:, 0] if self._is_single else values

    def __sklearn_is_fitted__(self):
        return hasattr(self, "mixture_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags


def quantiles(probability, resp, means, scales):
    """Quantiles (n, Q) of mixtures of normals with weights (n, K), means and scales (n, K, Q), by bisection.

    The quantile of a mixture lies between those of its components.
    """
    counts = (resp >= LEAST)[:, :, None]
    each = means + ndtri(probability) * scales
    low, high = np.where(counts, each, np.inf).min(axis=1), np.where(counts, each, -np.inf).max(axis=1)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = np.einsum("nk,nkq->nq", resp, ndtr((middle[:, None] - means) / scales)) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)
