"""Wrong input: a sentence that names the argument, the row and the remedy, and a model that stays as it was."""

import signal

import numpy as np
import pytest
from scipy import sparse

from sparsemix import SparseGaussianMixture
from sparsemix._engine import loop
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.schedules import Batch, Memoized, Stochastic
from sparsemix.mixture._model import MixtureModel

# Fits of a few passes: what they leave behind is looked at, not how far they came.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

K, D = 3, 2
X = np.random.default_rng(0).standard_normal((60, D)) + np.repeat([[-3, 0], [3, 0], [0, 4]], 20, axis=0)


def spoilt(value, row=41, column=1, rows=X):
    out = rows.copy()
    out[row, column] = value
    return out


def weights(value, row=17):
    out = np.ones(len(X))
    out[row] = value
    return out


def mixture(**params):
    return SparseGaussianMixture(K, **({"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "random_state": 0} | params))


# What is wrong, how it is passed, and what the message must say.
BAD_DATA = {
    "NaN": (spoilt(np.nan), None, r"NaN in row 41, column 1.*(remove|impute)"),
    "infinity": (spoilt(-np.inf), None, r"infinity in row 41, column 1.*(remove|impute)"),
    "float32 NaN": (spoilt(np.nan).astype(np.float32), None, "NaN in row 41, column 1"),
    "one dimension": (X[:, 0], None, "Reshape your data"),
    "no rows": (X[:0], None, "0 sample"),
    "no features": (X[:, :0], None, "0 feature"),
    "text": (np.full((60, D), "a"), None, "convert"),
    "complex": (X + 1j, None, "Complex data not supported"),
    "negative weight": (X, weights(-1.0), r"sample_weight of row 17 is -1\.0.*not negative"),
    "NaN weight": (X, weights(np.nan), "sample_weight of row 17 is nan.*finite"),
    "infinite weight": (X, weights(np.inf), "sample_weight of row 17 is inf.*finite"),
    "short weights": (X, np.ones(59), r"sample_weight has shape \(59,\), expected \(60,\).*one weight for each row"),
    "square weights": (X, np.ones((60, 2)), r"sample_weight has shape \(60, 2\)"),
    "zero weights": (X, np.zeros(60), "every sample_weight is zero.*at least one row"),
    "few rows": (X[:2], None, r"2 rows.*n_components=3.*n_components"),
    "few weighted rows": (X, np.r_[np.ones(2), np.zeros(58)], r"2 rows with positive weight.*n_components=3"),
}
BAD_ROWS_LATER = {name: case for name, case in BAD_DATA.items() if not name.startswith("few")} | {
    "wrong width": (np.ones((60, 5)), None, "5 features.*expecting 2 features"),
}


def matrix_with(value, row):
    out = np.full((60, K), 1 / K)
    out[row] = value
    return out


BAD_PARAMETERS = {
    "no components": ({"n_components": 0}, "n_components"),
    "no responsibilities": ({"n_nonzero": 0}, "n_nonzero"),
    "unknown covariance": ({"covariance_type": "round"}, "covariance_type"),
    "unknown inference": ({"inference": "gibbs"}, "inference"),
    "unknown method": ({"learning_method": "svi"}, "learning_method"),
    "unknown candidates": ({"candidates": "nearest"}, "candidates.*'a"),
    "unknown start": ({"init_params": "magic"}, "init_params"),
    "negative tol": ({"tol": -1.0}, "tol"),
    "decay of zero": ({"learning_decay": 0.0}, "learning_decay"),
    "negative concentration": ({"weight_concentration_prior": -1.0}, "weight_concentration_prior"),
    "dof too small": ({"degrees_of_freedom_prior": 1.0}, "degrees_of_freedom_prior is 1.0; it must be greater than 1"),
    "long mean": ({"mean_prior": np.zeros(3)}, r"mean_prior has shape \(3,\), expected \(2,\)"),
    "NaN mean": ({"mean_prior": [np.nan, 0.0]}, "mean_prior contains NaN"),
    "wide covariance": ({"covariance_prior": np.eye(3)}, r"covariance_prior has shape \(3, 3\), expected \(2, 2\)"),
    "indefinite": ({"covariance_prior": -np.eye(D)}, "covariance_prior must be.*positive definite"),
    "asymmetric": ({"covariance_prior": [[1.0, 0.5], [0.0, 1.0]]}, "covariance_prior must be symmetric"),
    "zero variance": ({"covariance_type": "diag", "covariance_prior": [1.0, 0.0]}, "covariance_prior.*positive"),
    "spherical matrix": ({"covariance_type": "spherical", "covariance_prior": -2.0}, "covariance_prior"),
    "few weights": ({"weights_init": [0.5, 0.5]}, r"weights_init has shape \(2,\), expected \(3,\)"),
    "weights sum": ({"weights_init": [0.5, 0.5, 0.5]}, "weights_init.*sum to one.*1.5"),
    "negative weights": ({"weights_init": [1.5, -0.5, 0.0]}, "weights_init must not be negative"),
    "few means": ({"means_init": np.zeros((2, D))}, r"means_init has shape \(2, 2\), expected \(3, 2\)"),
    "infinite means": ({"means_init": np.full((K, D), np.inf)}, "means_init contains infinity"),
    "few precisions": ({"precisions_init": np.eye(D)}, r"precisions_init has shape \(2, 2\), expected \(3, 2, 2\)"),
    "indefinite precisions": ({"precisions_init": -np.ones((K, 1, 1)) * np.eye(D)}, "precisions_init.*positive def"),
    "wide responsibilities": ({"init_params": np.ones((60, 4))}, "init_params has 4 columns.*3 components"),
    "short responsibilities": ({"init_params": np.ones((59, K))}, "init_params has 59 rows.*60 rows of X"),
    "long responsibilities": ({"init_params": np.ones((61, K))}, "init_params has 61 rows.*60 rows of X"),
    "empty responsibility": ({"init_params": matrix_with(0.0, 23)}, "row 23 of init_params.*non-negative"),
    "negative responsibility": ({"init_params": matrix_with([2.0, -1.0, 0.0], 23)}, "row 23 of init_params"),
    "empty sparse row": ({"init_params": sparse.csr_array(matrix_with(0.0, 23))}, "row 23 of init_params"),
    "n_init": ({"learning_method": "online", "n_init": 2}, "n_init > 1 needs a lower bound.*n_init=1"),
}


def snapshot(est):
    """All attributes by identity, and what the model says of rows, by value."""
    said = [est.predict_proba(X), est.predict_sparse_proba(X).toarray(), est.score_samples(X), est.means_]
    said += [est.weights_, est.covariances_, est.expected_stats(X)["count"]]
    return dict(vars(est)), said


def assert_unchanged(est, before, but=()):
    attributes, said = before
    now, says = snapshot(est)
    assert list(now) == list(attributes)
    assert [name for name in now if now[name] is not attributes[name]] == list(but)
    for a, b in zip(says, said, strict=True):
        np.testing.assert_array_equal(a, b)


def assert_never_fitted(est):
    assert sorted(vars(est)) == sorted(est.get_params())
    assert not hasattr(est, "means_")


# -- each mistake is named


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_predict"])
@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_is_named_and_leaves_an_unfitted_estimator_unfitted(name, method):
    rows, sample_weight, message = BAD_DATA[name]
    est = mixture()
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, method)(rows, sample_weight=sample_weight)
    assert_never_fitted(est)


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize(
    ("name", "method"),
    [(name, "fit") for name in BAD_DATA]
    + [(name, "partial_fit") for name in BAD_DATA if not name.startswith("few")],  # later blocks may be of any length
)
def test_bad_data_leaves_a_fitted_model_alone(name, method, inference, warm_start):
    rows, sample_weight, message = BAD_DATA[name]
    est = mixture(inference=inference, warm_start=warm_start).fit(X)
    before = snapshot(est)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, method)(rows, sample_weight=sample_weight)
    assert_unchanged(est, before)


WEIGHING = ["score", "expected_stats", "partial_fit"]
PREDICTING = ["predict", "predict_proba", "predict_sparse_proba", "score_samples", "aic", "bic"]


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, method) for name in BAD_ROWS_LATER for method in WEIGHING]
    + [(name, method) for name, case in BAD_ROWS_LATER.items() if case[1] is None for method in PREDICTING],
)
def test_bad_rows_are_named_after_the_fit(name, method):
    rows, sample_weight, message = BAD_ROWS_LATER[name]
    est = mixture().fit(X)
    before = snapshot(est)
    weights = {"sample_weight": sample_weight} if method in WEIGHING else {}
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, method)(rows, **weights)
    assert_unchanged(est, before)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict", "score_samples"])
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_rows_are_refused_clearly(kind, method):
    est = mixture() if method in ("fit", "partial_fit") else mixture().fit(X)
    with pytest.raises(TypeError, match=r"(?i)sparse data was passed.*dense"):
        getattr(est, method)(getattr(sparse, kind)(X))


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, "fit") for name in BAD_PARAMETERS] + [(name, "partial_fit") for name in BAD_PARAMETERS if name != "n_init"],
)
def test_bad_parameters_are_named_and_change_nothing(name, method):
    params, message = BAD_PARAMETERS[name]
    est = mixture().set_params(**params)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        getattr(est, method)(X)
    assert_never_fitted(est)
    if method == "fit":
        est = mixture().fit(X)
        before = snapshot(est)
        with pytest.raises(ValueError, match=f"(?s){message}"):
            est.set_params(**params).fit(X)
        est.set_params(**mixture().get_params())
        assert_unchanged(est, before)


@pytest.mark.parametrize(
    ("covariance_type", "least"), [("full", 1), ("tied", 1), ("zero_mean", 1), ("diag", 0), ("spherical", 0)]
)
def test_least_degrees_of_freedom(covariance_type, least):
    est = mixture(covariance_type=covariance_type, degrees_of_freedom_prior=least + 0.1).fit(X)
    assert np.isfinite(est.score(X))
    if least:
        with pytest.raises(ValueError, match="degrees_of_freedom_prior"):
            est.set_params(degrees_of_freedom_prior=least).fit(X)


@pytest.mark.parametrize("changed", [{"n_components": 5}, {"covariance_type": "diag"}])
def test_warm_start_of_another_kind_of_mixture_is_refused(changed):
    est = mixture(warm_start=True).fit(X)
    before = snapshot(est)
    with pytest.raises(ValueError, match=r"warm_start.*keep n_components.*warm_start=False"):
        est.set_params(**changed).fit(X)
    est.set_params(n_components=K, covariance_type="full")
    assert_unchanged(est, before)


READERS = ["predict", "predict_proba", "predict_sparse_proba", "partial_fit", "expected_stats"]


@pytest.mark.parametrize("method", READERS)
def test_row_too_extreme_for_every_component_is_named(method):
    est = mixture(covariance_type="diag").fit(X)
    extreme = np.repeat(X, 30, axis=0)
    extreme[1501 % len(extreme)] = 1e200
    with pytest.raises(ValueError, match=f"row {1501 % len(extreme)} .*extreme"), np.errstate(over="ignore"):
        getattr(est, method)(extreme)


@pytest.mark.parametrize("rate", [0.0, -0.5, 1.5])
def test_learning_rate_outside_its_range_is_refused(rate):
    est = mixture().fit(X)
    before = snapshot(est)
    stats = est.expected_stats(X)
    with pytest.raises(ValueError, match=r"learning_rate is .*\(0, 1\]"):
        est.update_from_stats(stats, learning_rate=rate)
    assert_unchanged(est, before)


def test_statistics_of_another_model_do_not_add():
    est, other = mixture().fit(X), mixture().fit(X + 1.0)
    before = snapshot(est)
    with pytest.raises(ValueError, match="different shifts"):
        est.update_from_stats(other.expected_stats(X))
    assert_unchanged(est, before)


@pytest.mark.parametrize("n_samples", [0, -3])
def test_sampling_no_rows_is_refused(n_samples):
    with pytest.raises(ValueError, match=f"n_samples is {n_samples}"):
        mixture().fit(X).sample(n_samples)


# -- interrupts and failures in the middle


METHODS = ["batch", "memoized", "online"]
STEPS = {"batch": 1, "memoized": 3, "online": 3}  # a pass, at batch_size=20
ABSORB = {"batch": Batch, "memoized": Memoized, "online": Stochastic}


def fail_at(monkeypatch, owner, name, call, error=KeyboardInterrupt):
    """From now on the given call of a method raises, before it does anything."""
    original, calls = getattr(owner, name), []

    def failing(*args, **kwargs):
        calls.append(name)
        if len(calls) == call:
            raise error
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, failing)


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("where", [(MixtureModel, "accumulate"), (MixtureModel, "local_step"), (Monitor, "step")])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("learning_method", METHODS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_failure_before_the_first_step_restores_the_model(
    learning_method, inference, where, error, warm_start, monkeypatch
):
    params = {"learning_method": learning_method, "inference": inference, "batch_size": 20, "warm_start": warm_start}
    est, new = mixture(**params).fit(X), mixture(**params)
    before = snapshot(est)
    for one in (est, new):
        with monkeypatch.context() as patch:
            fail_at(patch, *where, 1, error)
            with pytest.raises(error):
                one.fit(X * 2.0 + 1.0)
    assert_unchanged(est, before)
    assert_never_fitted(new)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("learning_method", METHODS)
def test_interrupt_publishes_the_last_completed_step(learning_method, inference, monkeypatch):
    params = {"learning_method": learning_method, "inference": inference, "batch_size": 20, "random_state": 4}
    est = mixture(max_iter=9, **params).fit(X + 50.0)  # an old model, which must not shine through
    with monkeypatch.context() as patch:
        fail_at(patch, loop, "collect", 2 * STEPS[learning_method] + 1)
        with pytest.raises(KeyboardInterrupt):
            est.fit(X)
    two = mixture(max_iter=2, **params).fit(X)  # the interrupt came right after the second pass
    assert est.n_iter_ == len(est.history_) == 2
    assert not est.converged_
    assert hasattr(est, "lower_bound_") == (learning_method != "online")
    for name in ("weights_", "means_", "covariances_"):
        np.testing.assert_array_equal(getattr(est, name), getattr(two, name))
    np.testing.assert_array_equal(est.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(est.predict_sparse_proba(X).toarray(), two.predict_sparse_proba(X).toarray())
    est.partial_fit(X)  # and it goes on learning
    assert np.isfinite(est.score(X))


@pytest.mark.parametrize("where", ["absorb", "step"])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("learning_method", METHODS)
def test_error_within_a_step_restores_the_model(learning_method, inference, where, monkeypatch):
    """Statistics change in place, so there is no complete step to publish."""
    params = {"learning_method": learning_method, "inference": inference, "batch_size": 20, "random_state": 4}
    est = mixture(**params).fit(X)
    before = snapshot(est)
    with monkeypatch.context() as patch:
        owner = ABSORB[learning_method] if where == "absorb" else Monitor
        fail_at(patch, owner, where, 2 * STEPS[learning_method] + 1, MemoryError)
        with pytest.raises(MemoryError):
            est.fit(X + 50.0)
    assert_unchanged(est, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("learning_method", ["memoized", "online"])
def test_ctrl_c_within_a_step_waits_for_its_end(learning_method, monkeypatch):
    est = mixture(learning_method=learning_method, batch_size=20, max_iter=5)
    steps = []
    original = Monitor.step

    def step(self, stats):
        if len(steps) == 1:
            signal.raise_signal(signal.SIGINT)
        original(self, stats)
        steps.append(stats.copy())

    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(Monitor, "step", step)
        with pytest.raises(KeyboardInterrupt):
            est.fit(X)
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(steps) == 2
    assert est.n_iter_ == 0  # no pass is complete
    assert not hasattr(est, "lower_bound_")
    np.testing.assert_array_equal(est._fitted.stats["count"], steps[-1]["count"])
    # the initial statistics stand for the rows that were not seen yet, so all rows count at every step
    np.testing.assert_allclose([stats["count"].sum() for stats in steps], len(X), rtol=1e-12)
    assert est.predict(X).shape == (60,)


def test_interrupt_of_a_later_start_keeps_the_best_so_far(monkeypatch):
    first = mixture(learning_method="batch", random_state=np.random.RandomState(1), max_iter=20).fit(X)
    est = mixture(learning_method="batch", random_state=np.random.RandomState(1), max_iter=20, n_init=3)
    fail_at(monkeypatch, Monitor, "step", 22)  # in the second pass of the second start
    with pytest.raises(KeyboardInterrupt):
        est.fit(X)
    assert est.lower_bound_ >= first.lower_bound_
    assert est.n_iter_ in (1, 20)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("name", ["accumulate", "local_step"])
def test_interrupted_block_of_a_stream_leaves_the_stream(name, inference, monkeypatch):
    est, new = mixture(inference=inference).partial_fit(X[:30]), mixture(inference=inference)
    before = snapshot(est)
    for one in (est, new):
        with monkeypatch.context() as patch:
            fail_at(patch, MixtureModel, name, 1)
            with pytest.raises(KeyboardInterrupt):
                one.partial_fit(X[30:])
    assert_unchanged(est, before)
    assert_never_fitted(new)


class Failing:
    """A callback that raises in one of its hooks."""

    def __init__(self, hook, task, call=1):
        self.hook, self.task, self.call, self.seen = hook, task, call, 0
        self.torn_down = False

    def _meet(self, hook, task):
        self.seen += (hook, task) == (self.hook, self.task)
        if (hook, task) == (self.hook, self.task) and self.seen == self.call:
            raise RuntimeError("the callback fails")

    def setup(self, estimator, context):  # noqa: ARG002
        self._meet("setup", "fit")

    def teardown(self, estimator, context):  # noqa: ARG002
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002
        self._meet("begin", context.task_name)

    def on_fit_task_end(self, estimator, context):  # noqa: ARG002
        self._meet("end", context.task_name)


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize(("hook", "task"), [("setup", "fit"), ("begin", "fit"), ("begin", "pass")])
def test_callback_that_fails_before_the_first_step_restores_the_model(hook, task, fitted):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    callback = Failing(hook, task)
    est = mixture().set_callbacks(callback)
    if fitted:
        est.set_callbacks().fit(X).set_callbacks(callback)
        before = snapshot(est)
    with pytest.raises(RuntimeError, match="the callback fails"):
        est.fit(X + 1.0)
    assert callback.torn_down
    if fitted:
        assert_unchanged(est, before)
    else:
        assert_never_fitted(est.set_callbacks())


@pytest.mark.parametrize(("hook", "task", "n_passes"), [("begin", "pass", 1), ("end", "pass", 2), ("end", "fit", 3)])
def test_callback_that_fails_later_publishes_the_last_step(hook, task, n_passes):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    callback = Failing(hook, task, call=1 if task == "fit" else 2)
    est = mixture().fit(X + 50.0).set_callbacks(callback)
    with pytest.raises(RuntimeError, match="the callback fails"):
        est.fit(X)
    assert callback.torn_down
    assert est.n_iter_ == n_passes
    want = mixture(max_iter=n_passes).fit(X)
    np.testing.assert_array_equal(est.predict_proba(X), want.predict_proba(X))
