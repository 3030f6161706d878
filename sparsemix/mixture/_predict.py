"""Methods and attributes of fitted mixtures that only mixtures of Gaussians have; their class assigns them."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import weighted_mean
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import Array, ArrayLike, RowsLike, Weights
from sparsemix.mixture._annotations.labels import labelled
from sparsemix.mixture._estimator import MixtureEstimator
from sparsemix.mixture._fitted import BACKGROUND


def parameter(read):
    """A read-only property whose setter refers to ``from_parameters``."""

    def refuse(self, value):  # noqa: ARG001
        raise AttributeError(
            f"{read.__name__} is computed by fits and cannot be set; {type(self).__name__}.from_parameters("
            "weights, means, covariances, covariance_type=...) makes a mixture with given parameters"
        )

    return published(read).setter(refuse)


weights_ = parameter(MixtureEstimator.weights_.fget)


def predict(self, X: RowsLike, *, noise_variance: ArrayLike | None = None) -> Array:
    """Component with the largest responsibility for each row, over all K; the lower index in a tie.

    After a fit with ``background``, -1 for rows that most probably belong to the background.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    noise_variance : array-like, default=None
        Noise of the rows, as for ``fit``.

    Returns
    -------
    labels : ndarray of shape (n_samples,), int64
    """
    return self._of_rows(X, "labels", noise_variance=noise_variance)


def predict_proba(self, X: RowsLike, *, noise_variance: ArrayLike | None = None) -> Array:
    """Responsibilities of all components as a dense array; for many components use ``predict_sparse_proba``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    noise_variance : array-like, default=None
        Noise of the rows, as for ``fit``.

    Returns
    -------
    resp : ndarray of shape (n_samples, n_components)
        In the dtype of ``X``; each row sums to one, less the probability of the background if there is one.
    """
    return self._of_rows(X, "responsibilities", noise_variance=noise_variance)


def score_samples(self, X: RowsLike, *, noise_variance: ArrayLike | None = None) -> Array:
    """Log density of each row under the mixture of all K components at their point estimates.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    noise_variance : array-like, default=None
        Noise of the rows, as for ``fit``; the density is that of rows with noise.

    Returns
    -------
    log_density : ndarray of shape (n_samples,), float64
        Natural logarithms.

    Notes
    -----
    The point estimates of VB are posterior means (Hughes and Sudderth 2016, Section 4). For covariances these are B
    / (nu - n_features - 1). In EM they are the maximum likelihood estimates.
    """
    rows, workers = self._ready(X, density=True, noise_variance=noise_variance)
    with workers:
        out = self._fitted.log_density(rows, workers)
        lost = np.flatnonzero(out == -np.inf) if rows.dtype == np.float32 else []
        if len(lost):  # these underflow in float32
            out[lost] = self._fitted.log_density(rows.chosen(lost, np.float64), workers)
    return out


def score(
    self,
    X: RowsLike,
    y: object = None,  # noqa: ARG001
    sample_weight: Weights = None,
    *,
    noise_variance: ArrayLike | None = None,
) -> float:
    """Mean of ``score_samples``. It is comparable between all K, L and classes of mixtures.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows; use held-out rows.
    y : None
        Ignored.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row in the mean.
    noise_variance : array-like, default=None
        Noise of the rows, as for ``fit``; the density is that of rows with noise.

    Returns
    -------
    log_likelihood : float
    """
    return weighted_mean(self.score_samples(X, noise_variance=noise_variance), sample_weight)


@plain_arguments
def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
    """Draw rows from the mixture whose log densities ``score_samples`` returns.

    Parameters
    ----------
    n_samples : int, default=1
        Number of rows.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows, grouped by component.
    y : ndarray of shape (n_samples,), int64
        Component of each row; -1 for rows of the background, which are uniform in its box.
    """
    labels, rng = self._drawn_components(n_samples)
    background = self._fitted.model.background
    X = rng.standard_normal((n_samples, self.n_features_in_))
    square_root = self._fitted.model.family.square_roots(self._fitted.plug_in.definite())
    for k in np.unique(labels):
        X[labels == k] = X[labels == k] @ square_root(k).T
    X += self.means_[labels]
    if background is not None:
        labels[rng.random(n_samples) < self.background_weight_] = BACKGROUND
        lost = labels == BACKGROUND
        X[lost] = background.low + background.sides * rng.random((lost.sum(), X.shape[1]))
        order = np.argsort(labels, kind="stable")
        X, labels = X[order], labels[order]
    return X, labels


def density_parameters(self) -> dict[str, Any]:
    """Parameters of the mixture whose log densities ``score_samples`` returns.

    Use them to rebuild that mixture: they are the arguments of ``SparseGaussianMixture.from_parameters``. They lack
    a background.

    Returns
    -------
    parameters : dict
        "weights" of shape (n_components,), "means" of shape (n_components, n_features) or None for "zero_mean",
        "covariances" in the shape of ``covariances_``, and "covariance_type". For "low_rank" the covariances are a
        pair of loadings and noise variances.

    Notes
    -----
    In VB the covariances are posterior means, B / (nu - n_features - 1). For diagonal and spherical ones, and the
    noise of "low_rank", they are b / (nu - 2). ``covariances_`` has the smaller B / nu, as scikit-learn's
    BayesianGaussianMixture has. In EM both are the estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseGaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> mixture = SparseGaussianMixture(2, random_state=0).fit(X)
    >>> same = SparseGaussianMixture.from_parameters(**mixture.density_parameters())
    >>> np.allclose(same.score_samples(X), mixture.score_samples(X))
    True
    """
    check_is_fitted(self)
    fitted = self._fitted
    family, gaussians = fitted.model.family, fitted.plug_in.definite()
    means = fitted.in_data_coordinates(gaussians.means) if family.has_means else None
    return {
        "weights": fitted.weights,
        "means": means,
        "covariances": family.density_covariances(gaussians),
        "covariance_type": family.name,
    }


# -- fitted attributes that follow from the statistics


@published
def component_labels_(self):
    """Label of each component, (n_components,), after ``fit`` or ``partial_fit`` with ``labels``."""
    model = labelled(self, "component_labels_")
    return model.classes[model.owners]


@published
def background_weight_(self):
    """Share of the background, which belongs to no Gaussian; 0 after a fit without ``background``."""
    return self._attribute("background_weight_").background_weight


@published
def label_classes_(self):
    """Distinct labels in increasing order, (n_labels,): the columns of ``predict_label_proba``."""
    return labelled(self, "label_classes_").classes


@parameter
def means_(self):
    """Means of shape (n_components, n_features)."""
    return self._attribute("means_").means


@parameter
def covariances_(self):
    """Covariances in scikit-learn's shapes.

    (n_components, n_features, n_features) for "full" and "zero_mean", (n_components, n_features) for "diag",
    (n_components,) for "spherical"; (n_features, n_features) for "tied", (n_features,) for "tied_diag", a number
    for "tied_spherical". In VB they are B / nu, as in
    BayesianGaussianMixture. ``score_samples`` uses the posterior means B / (nu - n_features - 1), which
    ``density_parameters`` returns. For "low_rank" they are (n_components, n_features, n_features) matrices, made on
    access; ``loadings_`` and ``noise_variance_`` hold the same with rank + 1 numbers for each feature.

    Matrices are positive definite. If round-off makes one indefinite, fits, predictions and this attribute add 1e-6
    times its variances to its diagonal and warn.
    """
    return self._attribute("covariances_").covariances


@parameter
def precisions_(self):
    """Inverses of the covariances, in the same shapes."""
    fitted = self._attribute("precisions_")
    return fitted.model.family.published_precisions(fitted.definite)


@parameter
def precisions_cholesky_(self):
    """Upper triangular factors U of the precisions U U^T, in the same shapes; for "diag" and "spherical" square
    roots of the precisions."""
    fitted = self._attribute("precisions_cholesky_")
    return fitted.model.family.precision_factors(fitted.definite)


@parameter
def loadings_(self):
    """Loadings ("low_rank"), (n_components, rank, n_features); rotated loadings describe the same mixture.

    A covariance is ``loadings_[k].T @ loadings_[k] + np.diag(noise_variance_[k])``.
    """
    return analysers(self, "loadings_").loadings


@parameter
def noise_variance_(self):
    """Variances of the noise ("low_rank"), (n_components, n_features); in VB B / nu."""
    return analysers(self, "noise_variance_").covariances


def analysers(self, name):
    fitted = self._attribute(name)
    if not fitted.model.family.has_loadings:
        raise AttributeError(f"covariance_type={self._params.covariance_type!r} has no attribute {name!r}")
    return fitted.expected


@published
def mean_precision_prior_(self):
    """kappa_0 (VB, not for "zero_mean"): the given value, the learned one or the default."""
    return float(prior_of(self, "mean_precision_prior_").mean_precision[0])


@published
def mean_prior_(self):
    """Prior of the means (VB, not for "zero_mean"), (n_features,), in the coordinates of the data."""
    return prior_of(self, "mean_prior_").mean[0] + self._fitted.model.shift


@published
def degrees_of_freedom_prior_(self):
    """nu_0 (VB): the given value, the learned one or the default."""
    return float(np.ravel(prior_of(self, "degrees_of_freedom_prior_", has_means=False).dof)[0])


@published
def covariance_prior_(self):
    """B_0 (VB), given, learned or the default, in the shape of the parameter ``covariance_prior``."""
    prior = prior_of(self, "covariance_prior_", has_means=False)
    return self._fitted.model.family.published_scale(prior)


@published
def covariance_prior_scales_(self):
    """Learned scales s_k of ``covariance_prior_`` (VB), (n_components,); ones if they are not learned."""
    fitted = self._attribute("covariance_prior_scales_", variational=True)
    return fitted.model.prior_scales(fitted.stats)


@published
def weight_concentration_(self):
    """Parameters of q(weights) (VB): one array (n_components,), or two for the Dirichlet process.

    The sticks of a Dirichlet process are taken by decreasing count; the arrays are in the order of the components.
    """
    fitted = self._attribute("weight_concentration_", variational=True)
    return fitted.model.weights.posterior(fitted.stats["count"])


@published
def mean_precision_(self):
    """kappa of each component (VB, not for "zero_mean"), (n_components,)."""
    kappa = posterior_of(self, "mean_precision_").mean_precision
    if kappa is None:
        raise AttributeError("covariance_type='zero_mean' has no means and no attribute 'mean_precision_'")
    return kappa


@published
def degrees_of_freedom_(self):
    """nu of each component (VB), (n_components,); one number when tied."""
    return posterior_of(self, "degrees_of_freedom_").dof


def prior_of(self, name, has_means=True):
    model = self._attribute(name, variational=True).model
    if has_means and not model.family.has_means:
        raise AttributeError(f"covariance_type='zero_mean' has no means and no attribute {name!r}")
    return model.prior


def posterior_of(self, name):
    fitted = self._attribute(name, variational=True)
    return fitted.model.posterior(fitted.stats)
