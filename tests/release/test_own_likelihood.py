"""A likelihood of mixtures written with public names alone: exponential distributions, as durations have."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sparsemix import blocks
from sparsemix.extend import (
    LINEAR_CONSTRAINTS,
    LinearFamily,
    LinearRecipe,
    LinearTable,
    MixtureEstimator,
    SparseDocuments,
    check_counts,
)


class Rates:
    """Rates of exponential distributions, Gamma(shape, rate) each; ``mean_log`` is digamma or log."""

    def __init__(self, shape, rate, mean_log):
        self.shape, self.rate, self.mean_log = shape, rate, mean_log

    def table(self, log_weights, dtype, split=None):  # noqa: ARG002
        """Weights of rows are log_weights + sum of E[log rate] - E[rate] x."""
        logs = (self.mean_log(self.shape) - np.log(self.rate)).sum(axis=1)
        return LinearTable((-self.shape / self.rate).astype(dtype), log_weights + logs)


class Exponential(LinearFamily):
    """Columns are independent; each rate has the prior Gamma(1 + prior, prior times the mean of the column)."""

    def __init__(self, n_features, prior, means):
        super().__init__(n_features)
        self.prior, self.means = prior, means

    def fit(self, stats, variational, previous=None):  # noqa: ARG002
        sums = stats["first"].toarray() if hasattr(stats["first"], "toarray") else stats["first"]
        shape = stats["count"][:, None] + self.prior + variational
        return np.broadcast_to(shape, sums.shape), sums + self.prior * self.means

    def objective(self, parameters, stats, variational):  # noqa: ARG002
        shape, rate = parameters
        if not variational:
            return float((shape * (np.log(shape) - np.log(rate) - 1.0)).sum())
        a, b = 1.0 + self.prior, self.prior * self.means
        return float((gammaln(shape) - shape * np.log(rate) - gammaln(a) + a * np.log(b)).sum())

    def log_evidences(self, stats, parameters):  # noqa: ARG002
        shape, rate = self.fit(stats, variational=True)
        a, b = 1.0 + self.prior, self.prior * self.means
        return (gammaln(shape) - shape * np.log(rate) - gammaln(a) + a * np.log(b)).sum(axis=1)

    def expected(self, parameters, variational):
        return Rates(*parameters, digamma if variational else np.log)

    def plug_in(self, parameters):
        return Rates(*parameters, np.log)

    def n_parameters(self, n_components):
        return n_components * self.n_features

    def seed_weights(self, x):
        rows = dense(x, self.n_features)
        means = 0.5 * (rows + self.means)

        def weights(chosen):
            seeds = means[chosen]
            return -np.log(seeds).sum(axis=-1)[..., None] - (rows @ (1.0 / np.atleast_2d(seeds)).T).T.reshape(
                (*np.shape(chosen), len(rows))
            )

        return weights

    def own_weights(self, x):
        rows = dense(x, self.n_features)
        means = 0.5 * (rows + self.means)
        return -(np.log(means) + rows / means).sum(axis=1)


def dense(x, n_features):
    out = np.zeros((len(x), n_features))
    out[np.repeat(np.arange(len(x)), np.diff(x.indptr)), x.indices] = x.counts
    return out


class Durations:
    """Rows of durations; see ``LinearRecipe``."""

    def check(self, estimator, X, reset):
        return check_counts(estimator, X, reset)

    def refuse(self, X, kept):
        """All durations are fine."""

    def rows(self, X, sample_weight):
        return SparseDocuments(X, sample_weight, np.float64)

    def exact_rows(self, X):
        return SparseDocuments(X, None, np.float64)

    def check_information(self, rows):
        """Any row has information."""

    def family(self, params, rows):
        return Exponential(rows.X.shape[1], params.rate_prior, rows.total() / rows.mass)

    def sums(self, means, rows):  # noqa: ARG002
        return means


class ExponentialMixture(MixtureEstimator):
    """Mixture of exponential distributions."""

    _likelihood = Durations()
    _parameter_constraints: dict = LINEAR_CONSTRAINTS | {"rate_prior": [float]}
    _fixed_params = MixtureEstimator._fixed_params | {"first_epochs": {"em": 0, "vb": 0}}

    def __init__(
        self, n_components=1, *, n_nonzero=4, inference="em", learning_method="memoized", candidates="all",
        rate_prior=0.1, weight_concentration_prior=None, init_params="k-means++", max_iter=100, tol=1e-4,
        batch_size=None, total_samples=None, step_size=(10.0, 0.6), warm_start=False, n_jobs=None, verbose=0,
        random_state=None,
    ):  # fmt: skip
        for name, value in locals().items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _recipe(self):
        return LinearRecipe(self._params, self._likelihood)


RNG = np.random.default_rng(0)
TRUTH = np.array([[1.0, 20.0, 3.0], [10.0, 1.0, 3.0], [4.0, 4.0, 60.0]])
LABELS = RNG.integers(0, 3, 600)
X = RNG.exponential(TRUTH[LABELS])


@pytest.mark.parametrize("inference", ["em", "vb"])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_it_finds_the_classes_and_its_bound_never_falls(inference, learning_method):
    est = ExponentialMixture(3, inference=inference, learning_method=learning_method, random_state=0).fit(X)
    assert np.diff(est.lower_bounds_).min() >= -1e-9 * abs(est.lower_bound_)
    agreement = np.array([[np.mean(est.predict(X[k == LABELS]) == j) for j in range(3)] for k in range(3)])
    assert (agreement.max(axis=1) > 0.8).all()


def test_it_has_what_all_mixtures_have(tmp_path):
    """Streams, weights, fits over blocks, searches; checkpoints store no classes of others."""
    est = ExponentialMixture(3, random_state=0)
    stream = clone(est).partial_fit(X[:300]).partial_fit(X[300:])
    assert stream.n_samples_seen_ == 600
    twice = clone(est).fit(X, sample_weight=np.full(600, 2.0))
    np.testing.assert_allclose(np.sort(twice.weights_), np.sort(clone(est).fit(X).weights_), atol=0.02)
    with pytest.raises(TypeError, match="Exponential is not part of sparsemix; a checkpoint cannot store it"):
        clone(est).fit(X, checkpoint=tmp_path)
    over = blocks.fit(clone(est), [X[:200], X[200:]])
    assert over.score(X) == pytest.approx(clone(est).fit(X).score(X), abs=0.01)
    search = GridSearchCV(est, {"n_components": [1, 3]}, cv=2).fit(X)
    assert search.best_params_ == {"n_components": 3}
