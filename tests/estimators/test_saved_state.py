"""What files and trackers of experiments see of an estimator: plain arrays of one class, and no estimator within it."""

import pickle

import joblib
import numpy as np
import pytest
import row_cases
from estimator_cases import CASES, over
from fitted import PLAIN, assert_same_bits, few_epochs, leaves
from sklearn.cluster import KMeans
from sklearn.utils import all_estimators

from sparsemix import SparseGaussianMixture
from sparsemix.topics import WordPrior

pytestmark = few_epochs


@over(CASES)
def test_state_is_plain(case):
    params = {name: value for name, value in (("warm_start", True), ("random_state", 0)) if case.has(name)}
    state = case.fitted(**params).__getstate__()
    assert {type(leaf).__name__ for leaf in leaves(state) if not isinstance(leaf, (*PLAIN, WordPrior))} == set()
    arrays = [leaf for leaf in leaves(state) if isinstance(leaf, np.ndarray)]
    tables = [id(array) for array in arrays if array.ndim > 1]
    assert len(set(tables)) == len(tables)  # what two parts share is there once
    assert not any(array.dtype.hasobject for array in arrays)


@over(CASES)
def test_skops_needs_to_trust_only_the_class(case):
    io = pytest.importorskip("skops.io")
    est, rows = case.fitted(), case.data.rows
    if case.can("partial_fit"):
        est.partial_fit(rows[:20])
    saved = io.dumps(est)
    trusted = [f"{each.__module__}.{each.__name__}" for each in (type(est), type(vars(est).get("topic_word_prior")))]
    trusted = sorted(name for name in trusted if name.startswith("sparsemix"))
    assert io.get_untrusted_types(data=saved) == trusted
    twin = io.loads(saved, trusted=trusted)
    assert_same_bits(est, twin, rows)
    if case.can("partial_fit"):
        assert_same_bits(est.partial_fit(rows[20:]), twin.partial_fit(rows[20:]), rows)


STREAMS = [case for case in CASES if case.can("partial_fit")]


@over(STREAMS)
def test_a_stream_of_default_settings_comes_back(case):
    """A fit may hold less than a stream, and its settings less than the defaults, such as an automatic prior."""
    defaults = {"random_state": 0} if case.has("random_state") else {}
    required = {name: case.estimator.get_params()[name] for name in ("n_components",) if case.has(name)}
    est = type(case.estimator)(**required, **defaults)
    rows = case.data.rows
    for block in (rows[:20], rows[20:]):
        est.partial_fit(block)
        twin = pickle.loads(pickle.dumps(est))
        assert_same_bits(est, twin, rows)
    assert_same_bits(est.partial_fit(rows), twin.partial_fit(rows), rows)


def test_what_a_forgetting_stream_remembers_is_plain():
    io = pytest.importorskip("skops.io")
    est = SparseGaussianMixture(4, step_size=("half_life", 150), random_state=0)
    for block in (row_cases.CLOUDS[:100], row_cases.CLOUDS[100:]):
        est.partial_fit(block)
    saved = io.dumps(est)
    (trusted,) = io.get_untrusted_types(data=saved)
    twin = io.loads(saved, trusted=[trusted])
    assert_same_bits(est.partial_fit(row_cases.CLOUDS), twin.partial_fit(row_cases.CLOUDS), row_cases.CLOUDS)


@over(STREAMS)
def test_a_stream_continues_from_read_only_memory_maps(case, tmp_path):
    """joblib sends large models to workers as such maps."""
    rows, est = case.data.rows, case.fitted()
    joblib.dump(est, tmp_path / "model.joblib")
    twin = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    for block in (rows[:20], rows[20:]):
        assert_same_bits(est.partial_fit(block), twin.partial_fit(block), rows)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_components_open_in_a_read_only_memory_map(covariance_type, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 4))
    est = SparseGaussianMixture(4, covariance_type=covariance_type, random_state=0).fit(X)
    joblib.dump(est, tmp_path / "model.joblib")
    twin = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert_same_bits(est.partial_fit(X[:20] + 40), twin.partial_fit(X[:20] + 40), X)


@pytest.fixture
def no_fit_of_scikit_learn(monkeypatch):
    """As MLflow's autologging does, which logs what calls the fit of a class of scikit-learn."""

    def patched(self, *args, **kwargs):  # noqa: ARG001
        raise AssertionError(f"a fit calls {type(self).__name__}, which autologging takes for the user's model")

    for _, cls in all_estimators():
        for name in {"fit", "fit_predict", "fit_transform"} & set(vars(cls)):
            monkeypatch.setattr(cls, name, patched)


@pytest.mark.usefixtures("no_fit_of_scikit_learn")
@over(CASES)
def test_a_fit_calls_no_estimator_of_scikit_learn(case):
    case.fitted()


@pytest.mark.usefixtures("no_fit_of_scikit_learn")
@pytest.mark.parametrize("init_params", ["kmeans", "kmeans_range", "auto"])
def test_k_means_starts_call_no_estimator_of_scikit_learn(init_params):
    SparseGaussianMixture(3, init_params=init_params, random_state=0).fit(row_cases.CLOUDS)
    with pytest.raises(AssertionError, match="a fit calls KMeans"):
        KMeans(2).fit(row_cases.CLOUDS)


def test_a_parameter_that_came_later_has_its_default():
    est = SparseGaussianMixture(2, max_iter=1, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    state = est.__getstate__()
    del state["dense_output"]
    state["_sparsemix_names"] = sorted(set(state["_sparsemix_names"]) - {"dense_output"})
    old = SparseGaussianMixture.__new__(SparseGaussianMixture)
    old.__setstate__(state)
    assert old.get_params() == est.get_params()
