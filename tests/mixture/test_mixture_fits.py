"""Fits of mixtures: inside meta-estimators, from several starts, from the last fit, to convergence."""

import itertools
import warnings

import numpy as np
import pytest
from fitted import assert_same, assert_same_bits, few_epochs, readings
from interruptions import Recorder
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsemix import SparseGaussianMixture

# -- meta-estimators


@pytest.fixture
def rows():
    return make_blobs(150, centers=[[-8, 0], [8, 0], [0, 9]], random_state=0)[0]


def test_pipeline_scales_and_predicts(rows):
    pipeline = make_pipeline(StandardScaler(), SparseGaussianMixture(3, random_state=0, max_iter=500))
    labels = pipeline.fit(rows * [1.0, 1000.0]).predict(rows * [1.0, 1000.0])
    assert sorted(np.bincount(labels)) == [50, 50, 50]
    assert np.isfinite(pipeline.score(rows * [1.0, 1000.0]))


@pytest.mark.parametrize("inference", ["vb", "em"])
def test_grid_search_finds_the_number_of_clusters(rows, inference):
    base = SparseGaussianMixture(inference=inference, max_iter=500, n_init=3, random_state=0)
    search = GridSearchCV(base, {"n_components": [1, 2, 3, 6], "n_nonzero": [1, 2]}, cv=3).fit(rows)
    scores = search.cv_results_["mean_test_score"].reshape(4, 2)  # n_nonzero moves fastest
    # two and fewer cannot hold three blobs; six may split them, at little loss or gain of held-out likelihood
    assert search.best_params_["n_components"] >= 3
    assert (scores[2] > scores[0] + 0.5).all()
    assert (scores[2] > scores[1] + 0.1).all()
    assert search.predict(rows).shape == (150,)


# -- starts again


@few_epochs
def test_n_init_never_makes_labels_worse():
    """The bound would choose starts under which components die; one start of ten splits may be better by chance."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rand = {1: [], 10: []}
    for seed, n_init in itertools.product(range(10), rand):
        A, B, _, truth = train_test_split(X, y, train_size=0.7, random_state=seed)
        est = SparseGaussianMixture(2, covariance_type="tied", n_init=n_init, random_state=seed).fit(A)
        rand[n_init].append(adjusted_rand_score(truth, est.predict(B)))
    assert np.mean(rand[10]) > np.mean(rand[1]) - 0.03
    assert min(rand[10]) > 0.5


@few_epochs
@pytest.mark.parametrize("inference", ["vb", "em"])
def test_n_init_finds_better_starts(inference):
    X, _ = make_blobs(900, centers=15, center_box=(-30, 30), n_features=3, random_state=0)
    params = {"n_components": 15, "init_params": "random_from_data", "inference": inference, "max_iter": 30}
    fits = {1: [], 8: []}
    for n_init, seed in itertools.product(fits, range(6)):
        fits[n_init].append(SparseGaussianMixture(**params, n_init=n_init, random_state=seed).fit(X[:600]))
    once, more = (np.array([[est.lower_bound_, est.score(X[600:])] for est in fits[n_init]]) for n_init in (1, 8))
    gains = more - once
    assert gains[:, 0].min() > -10.0  # of the bound; the first of several starts is that of one
    assert gains[:, 0].mean() > 20.0
    assert gains[:, 1].mean() > 0.0


def test_n_init_is_for_streams_and_methods_without_a_bound_too(rows):
    online = SparseGaussianMixture(3, learning_method="online", n_init=3, max_iter=3, random_state=0).fit(rows)
    stream = SparseGaussianMixture(3, n_init=3, random_state=0).partial_fit(rows)
    assert np.isfinite([online.score(rows), stream.score(rows)]).all()


@few_epochs
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical", "zero_mean"])
def test_warm_start_continues(covariance_type, inference, rows):
    start = {"responsibilities": np.random.default_rng(1).dirichlet(np.ones(4), size=len(rows))}
    params = {"covariance_type": covariance_type, "inference": inference, "init_params": start, "tol": 0.0}
    params |= {"n_components": 4, "n_nonzero": 2, "learning_method": "batch"}
    straight = SparseGaussianMixture(max_iter=6, **params).fit(rows)
    resumed = SparseGaussianMixture(max_iter=3, warm_start=True, **params).fit(rows).fit(rows)
    assert resumed.lower_bounds_ == pytest.approx(straight.lower_bounds_[3:], rel=1e-12)  # the same arithmetic
    np.testing.assert_allclose(resumed.means_, straight.means_, rtol=1e-10, atol=1e-10)


def test_convergence_is_reported_and_its_absence_warned_of(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = SparseGaussianMixture(3, max_iter=200, tol=1e-3, random_state=0).fit(rows)
    assert est.converged_
    assert est.n_iter_ < 200
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        assert not est.set_params(max_iter=2, tol=1e-12).fit(rows).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est.set_params(tol=0.0).fit(rows)  # which asks for so many epochs


# -- callbacks of several starts


@few_epochs
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_callback_is_called_once_an_epoch_whatever_the_starts(learning_method, inference, rows):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    recorder = Recorder()
    est = SparseGaussianMixture(4, learning_method=learning_method, n_init=2, max_iter=3, tol=0.0, random_state=0)
    est.set_params(inference=inference, n_nonzero=2, covariance_type="diag").set_callbacks(recorder).fit(rows)
    passes = ["begin pass", "end pass"] * 3  # of the start that was chosen
    assert recorder.calls == ["setup", "begin fit", *passes, "end fit", "teardown"]
    assert recorder.scores[-1] == est.score(rows)  # at the end of the fit the fitted estimator is the result
    assert len(set(recorder.scores[:3])) == 3  # and before, that of its pass, for good
    for fitted, read in recorder.seen:
        assert_same(read, readings(fitted, rows))
    assert_same_bits(clone(est).set_callbacks().fit(rows), est, rows)


def test_callback_may_stop_the_fit_in_its_first_start(rows):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    recorder = Recorder(stop_after=2)
    est = SparseGaussianMixture(4, learning_method="batch", n_init=2, max_iter=50, tol=0.0, random_state=0)
    est.set_callbacks(recorder).fit(rows)  # without a warning: the user wanted it so
    assert est.n_iter_ == len(est.history_) == recorder.calls.count("end pass") == 2
    assert est.score(rows) == recorder.scores[-1]
