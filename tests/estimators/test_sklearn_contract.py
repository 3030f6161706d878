"""SparseGaussianMixture as scikit-learn sees it: its own checks, meta-estimators, callbacks, data frames."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from sparsemix import SparseGaussianMixture

METHODS = ["batch", "memoized", "online"]
# Fits of a few passes on purpose: they are compared with each other, not brought to convergence.
few_passes = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SETTINGS = [
    SparseGaussianMixture(),
    SparseGaussianMixture(3, n_nonzero=2, covariance_type="full", learning_method="batch", max_iter=20),
    SparseGaussianMixture(3, n_nonzero=1, covariance_type="diag", inference="em", learning_method="batch", max_iter=20),
    SparseGaussianMixture(3, n_nonzero=2, covariance_type="spherical", learning_method="online", max_iter=5),
    SparseGaussianMixture(3, n_nonzero=2, covariance_type="tied", inference="em", max_iter=20),
    SparseGaussianMixture(3, n_nonzero=2, covariance_type="zero_mean", batch_size=8, max_iter=20),
    SparseGaussianMixture(
        3, n_nonzero=2, weight_concentration_prior_type="dirichlet_process", init_params="kmeans", max_iter=20
    ),
    SparseGaussianMixture(
        3, n_nonzero=None, inference="em", learning_method="online", reg_covar=1e-3, init_params="random_from_data",
        max_iter=5, n_jobs=2,
    ),
]  # fmt: skip


def expected_failures(est):
    """With one component the start draws nothing that matters, and k-means finds the same few clusters of either."""
    draws = est.covariance_type == "zero_mean" or est.init_params == "random_from_data"
    if est.n_components == 1 or not draws:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": "the start draws rows in proportion to their weights: one row "
        "of weight 2 and two rows of weight 1 take other random numbers, hence other clusters; with a given start "
        "and batch learning the fits are equal, which test_weights_equal_repeated_and_removed_rows asserts"
    }


@few_passes
@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


# -- parameters, tags, attributes


def test_parameters_survive_clone_and_set_params():
    est = SparseGaussianMixture(5, n_nonzero=2, mean_prior=np.arange(3.0), init_params=np.eye(5), random_state=3)
    twin = clone(est)
    assert twin is not est
    assert sorted(twin.get_params()) == sorted(est.get_params())
    for name, value in est.get_params().items():
        np.testing.assert_array_equal(twin.get_params()[name], value, err_msg=name)
    assert twin.set_params(n_components=7, covariance_type="diag") is twin
    assert (twin.n_components, twin.covariance_type, est.n_components) == (7, "diag", 5)
    with pytest.raises(ValueError, match="n_clusters"):
        est.set_params(n_clusters=2)
    assert repr(est).startswith("SparseGaussianMixture(")


def test_tags_say_density_estimator_for_dense_rows():
    tags = get_tags(SparseGaussianMixture())
    assert tags.estimator_type == "density_estimator"
    assert not tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert not tags.target_tags.required
    assert tags.requires_fit


def test_unfitted_estimator_says_so(rows):
    est = SparseGaussianMixture(2)
    with pytest.raises(NotFittedError):
        check_is_fitted(est)
    for method in ("predict", "predict_proba", "predict_sparse_proba", "score_samples", "score", "expected_stats",
                   "aic", "bic"):  # fmt: skip
        with pytest.raises(NotFittedError):
            getattr(est, method)(rows)
    with pytest.raises(NotFittedError):
        est.sample()
    for name in ("weights_", "means_", "covariances_", "precisions_", "n_iter_", "degrees_of_freedom_"):
        assert not hasattr(est, name)


def test_data_frame_gives_feature_names(rows):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows, columns=["height", "width"])
    est = SparseGaussianMixture(3, random_state=0, max_iter=500).fit(frame)
    assert list(est.feature_names_in_) == ["height", "width"]
    assert est.n_features_in_ == 2
    plain = SparseGaussianMixture(3, random_state=0, max_iter=500).fit(rows)
    # a frame's columns are contiguous, and numpy adds those in another order
    np.testing.assert_allclose(est.predict_proba(frame), plain.predict_proba(rows), atol=1e-10)
    with pytest.raises(ValueError, match="feature names"):
        est.predict(frame[["width", "height"]])
    with pytest.warns(UserWarning, match="feature names"):
        est.predict(rows)


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


@pytest.mark.parametrize("learning_method", METHODS)
def test_nested_parallelism_changes_no_result(rows, learning_method):
    max_iter = 3 if learning_method == "online" else 500  # online passes are not stopped by convergence
    base = SparseGaussianMixture(learning_method=learning_method, max_iter=max_iter, batch_size=50, random_state=0)
    grid = {"n_components": [2, 3]}
    one, two = (GridSearchCV(base.set_params(n_jobs=n), grid, cv=2).fit(rows) for n in (1, 2))
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


@few_passes
def test_sample_weights_are_routed_through_a_grid_search(rows):
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(rows))
    with config_context(enable_metadata_routing=True):
        base = SparseGaussianMixture(3, max_iter=3, random_state=0)
        base.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(base, {"n_nonzero": [2]}, cv=2).fit(rows, sample_weight=weight)
    weighed = SparseGaussianMixture(3, n_nonzero=2, max_iter=3, random_state=0).fit(rows, sample_weight=weight)
    np.testing.assert_array_equal(search.best_estimator_.means_, weighed.means_)
    first, second = np.split(np.arange(len(rows)), 2)
    halves = [weighed.fit(rows[a], sample_weight=weight[a]).score(rows[b], sample_weight=weight[b])
              for a, b in ((second, first), (first, second))]  # fmt: skip
    assert search.best_score_ == pytest.approx(np.mean(halves), rel=1e-12)


# -- starts again


@few_passes
def test_n_init_keeps_the_best_bound(rows):
    params = {"n_components": 4, "learning_method": "batch", "init_params": "random_from_data", "max_iter": 4}
    best = SparseGaussianMixture(**params, n_init=4, random_state=np.random.RandomState(3)).fit(rows)
    seeds = np.random.RandomState(3)  # four single fits draw the same four starts from it
    singles = [SparseGaussianMixture(**params, random_state=seeds).fit(rows) for _ in range(4)]
    bounds = [est.lower_bound_ for est in singles]
    assert len(set(bounds)) > 1
    assert best.lower_bound_ == max(bounds)
    np.testing.assert_array_equal(best.means_, singles[int(np.argmax(bounds))].means_)


@few_passes
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical", "zero_mean"])
def test_warm_start_continues(covariance_type, inference, rows):
    resp = np.random.default_rng(1).dirichlet(np.ones(4), size=len(rows))
    params = {"covariance_type": covariance_type, "inference": inference, "init_params": resp, "tol": 0.0}
    params |= {"n_components": 4, "n_nonzero": 2, "learning_method": "batch"}
    straight = SparseGaussianMixture(max_iter=6, **params).fit(rows)
    resumed = SparseGaussianMixture(max_iter=3, warm_start=True, **params).fit(rows).fit(rows)
    assert resumed.lower_bounds_ == pytest.approx(straight.lower_bounds_[3:], rel=1e-12)  # the same arithmetic
    np.testing.assert_allclose(resumed.means_, straight.means_, rtol=1e-10, atol=1e-10)


@few_passes
@pytest.mark.parametrize(("verbose", "n_lines"), [(0, 0), (1, 6), (2, 3)])
def test_verbose_prints_a_line_every_so_many_passes(verbose, n_lines, rows, capsys):
    SparseGaussianMixture(4, learning_method="batch", verbose=verbose, max_iter=6, tol=0.0).fit(rows)
    lines = [line for line in capsys.readouterr().out.splitlines() if "pass" in line]
    assert len(lines) == n_lines
    assert all("SparseGaussianMixture" in line and "lower bound per row" in line for line in lines)


def test_convergence_is_reported_and_its_absence_warned_of(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = SparseGaussianMixture(3, max_iter=200, tol=1e-3, random_state=0).fit(rows)
    assert est.converged_
    assert est.n_iter_ < 200
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        assert not est.set_params(max_iter=2, tol=0.0).fit(rows).converged_


# -- callbacks, from scikit-learn 1.9 on


class Recorder:
    """Writes down what happens; may stop the fit after some passes, or fail at one."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.calls, self.scores, self.seen = [], [], []

    def setup(self, estimator, context):  # noqa: ARG002
        self.calls.append("setup")

    def teardown(self, estimator, context):  # noqa: ARG002
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):  # noqa: ARG002
        self.calls.append(f"end {context.task_name}")
        self.scores.append(fitted_estimator.score(X))
        self.seen.append((fitted_estimator, fitted_estimator.predict_sparse_proba(X).toarray()))
        return self.stop_after is not None and self.calls.count("end pass") >= self.stop_after


@pytest.fixture
def recorder():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    return Recorder()


@few_passes
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize(
    ("learning_method", "n_init"), [("batch", 1), ("memoized", 1), ("online", 1), ("batch", 2), ("memoized", 2)]
)
def test_callback_is_called_once_a_pass(learning_method, n_init, inference, rows, recorder):
    est = SparseGaussianMixture(4, learning_method=learning_method, n_init=n_init, max_iter=3, tol=0.0, random_state=0)
    est.set_params(inference=inference, n_nonzero=2, covariance_type="diag").set_callbacks(recorder).fit(rows)
    passes = ["begin pass", "end pass"] * 3 * n_init
    assert recorder.calls == ["setup", "begin fit", *passes, "end fit", "teardown"]
    assert recorder.scores[-1] == est.score(rows)  # at the end of the fit the fitted estimator is the result
    assert len(set(recorder.scores[:3])) == 3  # and before, that of its pass, for good
    for fitted, said in recorder.seen:
        np.testing.assert_array_equal(fitted.predict_sparse_proba(rows).toarray(), said)
    plain = clone(est).set_callbacks().fit(rows)
    np.testing.assert_array_equal(plain.means_, est.means_)


@pytest.mark.parametrize("n_init", [1, 2])
def test_callback_may_stop_the_fit(rows, recorder, n_init):
    recorder.stop_after = 2
    est = SparseGaussianMixture(4, learning_method="batch", n_init=n_init, max_iter=50, tol=0.0, random_state=0)
    est.set_callbacks(recorder).fit(rows)  # without a warning: the user wanted it so
    assert est.n_iter_ == len(est.history_) == 2
    assert recorder.calls.count("end pass") == 2
    assert est.score(rows) == recorder.scores[-1]


@few_passes
def test_callback_reaches_the_mixture_inside_a_pipeline(rows, recorder):
    mixture = SparseGaussianMixture(3, max_iter=2, tol=0.0, random_state=0).set_callbacks(recorder)
    make_pipeline(StandardScaler(), mixture).fit(rows)
    assert recorder.calls.count("end pass") == 2
    assert recorder.calls.count("setup") == recorder.calls.count("teardown") == 1


@few_passes
def test_progress_bar_of_sklearn_runs_along(rows, recorder):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    est = SparseGaussianMixture(3, max_iter=3, tol=0.0, random_state=0).set_callbacks(ProgressBar(), recorder).fit(rows)
    assert recorder.calls.count("end pass") == est.n_iter_ == 3
