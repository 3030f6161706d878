"""Pickles: streams resume to the same bits, versions are stamped, caches stay behind."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest

from sparsemix import SparseGaussianMixture, __version__

# Fits of a few passes: they are compared with their copies, not brought to convergence.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FAMILIES = ["full", "tied", "diag", "spherical", "zero_mean"]
X = np.random.default_rng(0).standard_normal((120, 3)) + np.repeat([[-3, 0, 0], [3, 0, 0], [0, 4, 1]], 40, axis=0)
BLOCKS = np.split(X[np.random.default_rng(1).permutation(120)], 4)


def mixture(**params):
    return SparseGaussianMixture(3, **({"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "random_state": 0} | params))


def by_pickle(est, tmp_path):  # noqa: ARG001
    return pickle.loads(pickle.dumps(est))


def by_old_pickle(est, tmp_path):  # noqa: ARG001
    return pickle.loads(pickle.dumps(est, protocol=2))


def by_joblib(est, tmp_path):
    joblib.dump(est, tmp_path / "mixture.joblib")
    return joblib.load(tmp_path / "mixture.joblib")


def by_read_only_memmap(est, tmp_path):
    joblib.dump(est, tmp_path / "mixture.joblib")
    return joblib.load(tmp_path / "mixture.joblib", mmap_mode="r")


def by_deepcopy(est, tmp_path):  # noqa: ARG001
    return copy.deepcopy(est)


COPIES = [by_pickle, by_old_pickle, by_joblib, by_read_only_memmap, by_deepcopy]


def said(est):
    """What a mixture says of rows and of itself."""
    arrays = [est.predict_proba(X), est.predict_sparse_proba(X).toarray(), est.score_samples(X), est.predict(X)]
    return [*arrays, est.weights_, est.means_, est.covariances_, est.expected_stats(X)["count"]]


def assert_same_bits(first, second):
    for a, b in zip(said(first), said(second), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_copy_of_a_fit_is_the_fit(covariance_type, inference, copied, tmp_path):
    est = mixture(covariance_type=covariance_type, inference=inference).fit(X)
    twin = copied(est, tmp_path)
    assert twin is not est
    assert_same_bits(est, twin)
    assert (twin.n_iter_, twin.history_, twin.lower_bounds_) == (est.n_iter_, est.history_, est.lower_bounds_)
    assert "_sparsemix_version" not in vars(twin)


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("total_samples", [None, 500])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_stream_resumes_to_the_same_bits(covariance_type, inference, total_samples, copied, tmp_path):
    est = mixture(covariance_type=covariance_type, inference=inference, total_samples=total_samples)
    est.partial_fit(BLOCKS[0]).partial_fit(BLOCKS[1])
    twin = copied(est, tmp_path)
    for block in BLOCKS[2:]:
        est.partial_fit(block)
        twin.partial_fit(block)
    assert_same_bits(est, twin)
    assert (twin.n_samples_seen_, twin.n_steps_) == (120, 4)


def test_copies_do_not_share_what_they_learn():
    est = mixture().partial_fit(BLOCKS[0])
    before = said(est)
    for twin in (copy.deepcopy(est), copy.copy(est), pickle.loads(pickle.dumps(est))):
        twin.partial_fit(BLOCKS[1])
        assert not np.array_equal(twin.means_, est.means_)
    for a, b in zip(before, said(est), strict=True):
        np.testing.assert_array_equal(a, b)


def test_warm_start_goes_on_after_a_pickle():
    est = mixture(warm_start=True, learning_method="batch").fit(X)
    twin = pickle.loads(pickle.dumps(est))
    assert_same_bits(est.fit(X), twin.fit(X))


@pytest.mark.parametrize("fitted", [False, True])
def test_pickle_carries_the_version(fitted):
    est = mixture().fit(X) if fitted else mixture()
    assert est.__getstate__()["_sparsemix_version"] == __version__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(pickle.dumps(est))


@pytest.mark.parametrize("other", ["0.0.1", None])
def test_pickle_of_another_version_warns_and_loads(other):
    est = mixture().fit(X)
    state = est.__getstate__()
    if other is None:
        del state["_sparsemix_version"]  # as if from before the stamp
    else:
        state["_sparsemix_version"] = other
    twin = SparseGaussianMixture()
    with pytest.warns(UserWarning, match=f"pickled by sparsemix {other or 'unknown'} .*{__version__}"):
        twin.__setstate__(state)
    assert_same_bits(est, twin)


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_tables_made_by_predictions_are_not_pickled(covariance_type, inference):
    est = mixture(covariance_type=covariance_type, inference=inference).fit(X)
    before = pickle.dumps(est)
    said(est)
    said_in_float32 = est.predict_proba(X.astype(np.float32))
    assert len(pickle.dumps(est)) == len(before)
    twin = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(twin.predict_proba(X.astype(np.float32)), said_in_float32)


def test_pickle_holds_no_rows():
    few, many = (mixture(random_state=0).fit(np.tile(X, (n, 1))) for n in (1, 20))
    # what remains of the rows are sums: the difference is in the digits of a few integers
    assert abs(len(pickle.dumps(many)) - len(pickle.dumps(few))) < 100
