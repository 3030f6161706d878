"""Labels of some rows: fits of single classes, a slow twin, predictions, streams, and refusals."""

import pickle

import forms
import numpy as np
import pytest
import sklearn
from fitted import few_epochs
from mixture_cases import assert_same_bits, fitted_arrays
from scipy.special import logsumexp
from sklearn.datasets import make_blobs
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV

from sparsemix import SparseGaussianMixture

pytestmark = few_epochs
X, CLUSTERS = make_blobs(900, n_features=3, centers=6, cluster_std=1.5, random_state=3)
Y = np.array([4, 9, 0, 9, 4, 9])[CLUSTERS]  # clusters of a label lie apart
SOME = np.where(np.random.default_rng(0).random(900) < 0.1, Y, -1)


def mixture(n_components=6, **params):
    return SparseGaussianMixture(n_components, **{"random_state": 0, "max_iter": 20, "tol": 0.0, **params})


# -- all labels are known


def test_one_component_for_each_label_is_a_quadratic_discriminant_analysis():
    est = mixture(3, inference="em", reg_covar=0.0, n_nonzero=None).fit(X, labels=Y)
    rival = QuadraticDiscriminantAnalysis().fit(X, Y)
    np.testing.assert_array_equal(est.component_labels_, rival.classes_)
    np.testing.assert_allclose(est.means_, rival.means_, rtol=1e-10)
    for label, covariance in zip(est.component_labels_, est.covariances_, strict=True):
        np.testing.assert_allclose(covariance, np.cov(X[label == Y].T, bias=True), rtol=1e-8)
    np.testing.assert_allclose(est.weights_, rival.priors_)
    assert (est.predict_labels(X) == rival.predict(X)).mean() > 0.99


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_components_of_a_label_are_a_mixture_of_its_rows(covariance_type):
    """EM over all rows equals scikit-learn's EM over the rows of each label, from the same parameters."""
    params = {"inference": "em", "covariance_type": covariance_type, "learning_method": "batch", "n_nonzero": None}
    start = mixture(9, **params, max_iter=0).fit(X, labels=Y)
    est = mixture(9, **params, max_iter=5).fit(X, labels=Y)
    assert np.bincount(est.component_labels_).max() > 2
    for label in np.unique(Y):
        of = np.flatnonzero(est.component_labels_ == label)
        alone = GaussianMixture(
            len(of), covariance_type=covariance_type, max_iter=5, tol=0.0, random_state=0,
            weights_init=start.weights_[of] / start.weights_[of].sum(), means_init=start.means_[of],
            precisions_init=start.precisions_[of],
        ).fit(X[label == Y])  # fmt: skip
        np.testing.assert_allclose(est.means_[of], alone.means_, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(est.covariances_[of], alone.covariances_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(est.weights_[of], alone.weights_ * (label == Y).mean(), rtol=1e-8)


def test_labels_of_components_follow_the_numbers_of_rows():
    counts = np.bincount(mixture(12).fit(X, labels=Y).component_labels_)
    np.testing.assert_array_equal(counts[counts > 0], [2, 4, 6])


# -- some labels are known


@pytest.mark.parametrize("n_nonzero", [1, 2, None])
def test_an_epoch_agrees_with_a_slow_twin(n_nonzero):
    params = {"inference": "em", "learning_method": "batch", "n_nonzero": n_nonzero}
    start = mixture(**params, max_iter=0).fit(X, labels=SOME)
    with np.errstate(divide="ignore"):
        logs = np.log(start.weights_)
    y = X[:, None] - start.means_
    square = np.einsum("nki,kij,nkj->nk", y, start.precisions_, y)
    logs = logs - 0.5 * (square + np.linalg.slogdet(2.0 * np.pi * start.covariances_)[1])
    logs[(SOME[:, None] >= 0) & (SOME[:, None] != start.component_labels_)] = -np.inf
    least = np.sort(logs, axis=1)[:, [-(n_nonzero or 6)]]
    logs[logs < least] = -np.inf
    resp = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    est = mixture(**params, max_iter=1).fit(X, labels=SOME)
    np.testing.assert_allclose(est.weights_, resp.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(est.means_, resp.T @ X / resp.sum(axis=0)[:, None], rtol=1e-8)


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", ("low_rank", 1), "zero_mean"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bounds_never_fall_and_threads_change_nothing(covariance_type, inference, learning_method, dtype):
    gaps = X.astype(dtype)
    gaps[::7, 1] = np.nan
    params = {"covariance_type": covariance_type, "inference": inference, "learning_method": learning_method}
    one, two = (mixture(20, **params, n_jobs=n).fit(gaps, labels=SOME) for n in (1, 2))
    assert np.diff(one.lower_bounds_).min() >= -1e-7 * np.abs(one.lower_bounds_).max()
    assert_same_bits(fitted_arrays(one, gaps), fitted_arrays(two, gaps))


def test_few_labels_find_clusters_of_the_same_label():
    est = mixture().fit(X, labels=SOME)
    assert (est.predict_labels(X) == Y).mean() > 0.95
    resp = est.predict_proba(X)
    by_label = np.stack([resp[:, est.component_labels_ == label].sum(axis=1) for label in (0, 4, 9)], axis=1)
    np.testing.assert_array_equal(est.predict_labels(X), np.array([0, 4, 9])[by_label.argmax(axis=1)])


def test_rare_labels_are_in_the_initialisation():
    """Twenty labelled rows of forty thousand, of which the initialisation reads a half."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40_000)
    rows, labels = rng.normal(6.0 * y[:, None], 1.0, (40_000, 2)), np.full(40_000, -1)
    labels[:20] = y[:20]
    est = mixture(2, max_iter=3).fit(rows, labels=labels)
    assert (est.predict_labels(rows) == y).mean() > 0.999


def test_rows_without_weight_have_no_label():
    weight = np.where(Y == 0, 0.0, 1.0)
    est = mixture().fit(X, sample_weight=weight, labels=SOME)
    assert set(est.component_labels_) == {4, 9}
    same = mixture().fit(X[weight > 0], sample_weight=weight[weight > 0], labels=SOME[weight > 0])
    assert_same_bits(fitted_arrays(est, X), fitted_arrays(same, X))


# -- texts

TEXTS = np.array(["cat", "a dog", "emu"])[np.searchsorted([0, 4, 9], SOME.clip(0))].astype(object)
FORMS = {
    "list": lambda texts, lost: [lost if unknown else text for text, unknown in zip(texts, SOME < 0, strict=True)],
    "array": lambda texts, lost: np.where(SOME < 0, "" if lost is None else str(lost), texts.astype(str)),
    "objects": lambda texts, lost: np.where(SOME < 0, lost, texts),
}
if forms.PANDAS:
    import pandas as pd

    FORMS |= {
        dtype: lambda texts, lost, dtype=dtype: pd.Series(np.where(SOME < 0, lost, texts), np.arange(900)).astype(dtype)
        for dtype in ("object", "category", "string")
    }
if forms.POLARS:
    import polars as pl

    FORMS["polars"] = lambda texts, _: pl.Series([None if s < 0 else t for s, t in zip(SOME, texts, strict=True)])


@pytest.mark.parametrize("lost", [None, np.nan])
@pytest.mark.parametrize("form", FORMS)
def test_texts_are_labels_in_all_forms(form, lost, tmp_path):
    numbers = np.searchsorted(["a dog", "cat", "emu"], TEXTS.astype(str))
    plain = mixture(max_iter=3).fit(X, labels=np.where(SOME < 0, -1, numbers))
    labels = FORMS[form](TEXTS, lost)
    est = mixture(max_iter=3).fit(X, labels=labels, checkpoint=tmp_path)
    est = pickle.loads(pickle.dumps(est))
    names = np.array(["a dog", "cat", "emu"])
    np.testing.assert_array_equal(est.label_classes_, names)
    np.testing.assert_array_equal(est.component_labels_, names[plain.component_labels_])
    np.testing.assert_array_equal(est.predict_labels(X), names[plain.predict_labels(X)])
    np.testing.assert_array_equal(est.predict_label_proba(X), plain.predict_label_proba(X))
    again = mixture(max_iter=3).fit(X, labels=labels, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.component_labels_, est.component_labels_)
    est.partial_fit(X, labels=labels).partial_fit(X[:5], labels=[None] * 5)
    with pytest.raises(ValueError, match=r"labels of row 1 is cow, a label without components.* here a dog, cat, emu"):
        est.partial_fit(X[:2], labels=[None, "cow"])


LARGE = 2**60 + 1  # floats do not hold it
GAPS = {
    "None": lambda n, lost: [None if gap else int(v) for v, gap in zip(n, lost, strict=True)],
    "NaN": lambda n, lost: [np.nan if gap else int(v) for v, gap in zip(n, lost, strict=True)],
    "objects": lambda n, lost: np.where(lost, None, n.astype(object)),
    "float32": lambda n, lost: np.where(lost, np.nan, n).astype(np.float32),
    "float64": lambda n, lost: np.where(lost, np.nan, n),
    "masked": lambda n, lost: np.ma.masked_array(n, lost),
    "masked uint": lambda n, lost: np.ma.masked_array(n.astype(np.uint64), lost),
}
if forms.PANDAS:
    GAPS |= {
        f"pandas {dtype}": lambda n, lost, dtype=dtype: pd.Series(GAPS["objects"](n, lost)).astype(dtype)
        for dtype in ("float64", "Int64", "UInt8", "Float64", "object", "category")
    }
    if forms.ARROW:
        GAPS["pandas Arrow"] = lambda n, lost: pd.Series(GAPS["objects"](n, lost)).astype("int64[pyarrow]")
if forms.ARROW:
    import pyarrow as pa

    GAPS |= {
        "Arrow": lambda n, lost: pa.array(GAPS["None"](n, lost)),
        "Arrow chunks": lambda n, lost: pa.chunked_array([GAPS["None"](n, lost)]),
    }
if forms.POLARS:
    GAPS["polars"] = lambda n, lost: pl.Series(GAPS["None"](n, lost))


@pytest.mark.parametrize("form", GAPS)
def test_missing_integers_are_unknown_labels(form):
    labels = GAPS[form](SOME, SOME < 0)
    est, same = mixture(max_iter=3).fit(X, labels=labels), mixture(max_iter=3).fit(X, labels=SOME)
    assert est.label_classes_.dtype == np.int64
    np.testing.assert_array_equal(est.label_classes_, [0, 4, 9])
    assert_same_bits(fitted_arrays(est, X), fitted_arrays(same, X))
    est.partial_fit(X[:3], labels=labels[:3])
    if "float" not in form.lower() and form != "pandas UInt8":
        large = GAPS[form](np.where(SOME == 9, LARGE, SOME), SOME < 0)
        assert mixture(max_iter=0).fit(X, labels=large).label_classes_.tolist() == [0, 4, LARGE]


@pytest.mark.parametrize("form", ["NaN", "float64", "polars" if forms.POLARS else "float32"])
def test_fractions_with_missing_labels_are_refused(form):
    values = [1.5 if i == 7 else float(y) for i, y in enumerate(Y)]
    values[3] = None if form == "polars" else np.nan
    labels = {"NaN": list, "polars": lambda v: pl.Series(v)}.get(form, np.array)(values)
    with pytest.raises(ValueError, match=r"labels of row 7 is 1.5, which is no whole number .*; give integers, and -1"):
        mixture().fit(X, labels=labels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_of_labels_are_sums_over_components(dtype):
    rows = X.astype(dtype)
    est = mixture().fit(rows, labels=SOME)
    proba, resp = est.predict_label_proba(rows), est.predict_proba(rows)
    np.testing.assert_array_equal(est.label_classes_, [0, 4, 9])
    for j, label in enumerate(est.label_classes_):
        np.testing.assert_allclose(proba[:, j], resp[:, est.component_labels_ == label].sum(axis=1), atol=1e-6)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)
    assert proba.dtype == dtype


# -- in other calls


def test_a_target_is_not_a_label():
    assert_same_bits(fitted_arrays(mixture().fit(X, Y), X), fitted_arrays(mixture().fit(X), X))


def test_streams_and_warm_starts_continue_with_the_labels():
    est = mixture().partial_fit(X[:300], labels=SOME[:300]).partial_fit(X[300:600], labels=Y[300:600])
    est = pickle.loads(pickle.dumps(est)).partial_fit(X[600:])
    assert (est.predict_labels(X) == Y).mean() > 0.95
    before = est.component_labels_.copy()
    est.set_params(warm_start=True, max_iter=2).fit(X, labels=Y)
    np.testing.assert_array_equal(est.component_labels_, before)
    weights = est.weights_.copy()
    with pytest.raises(ValueError, match=r"labels of row 1 is 5, a label without components, .* here 0, 4, 9; give"):
        est.partial_fit(X[:2], labels=[4, 5])
    with pytest.raises(ValueError, match="labels holds texts, and the labels of the first fit are integers; give int"):
        est.partial_fit(X[:2], labels=["4", ""])
    np.testing.assert_array_equal(est.weights_, weights)


def test_labels_are_routed_through_a_grid_search():
    with sklearn.config_context(enable_metadata_routing=True):
        base = mixture(3, max_iter=2).set_fit_request(labels=True)
        search = GridSearchCV(base, {"n_components": [3, 6]}, cv=2).fit(X, labels=SOME)
    assert set(search.best_estimator_.component_labels_) == {0, 4, 9}


def test_checkpoints_belong_to_the_labels(tmp_path):
    est = mixture(max_iter=2).fit(X, labels=SOME, checkpoint=tmp_path)
    more = mixture(max_iter=4).fit(X, labels=SOME, checkpoint=tmp_path)
    assert_same_bits(fitted_arrays(more, X), fitted_arrays(mixture(max_iter=4).fit(X, labels=SOME), X))
    assert est.n_iter_ == 2
    with pytest.raises(ValueError, match="data"):
        mixture(max_iter=4).fit(X, labels=Y, checkpoint=tmp_path)


@pytest.mark.parametrize(("labels", "message"), [
    (Y[:5], r"labels has shape \(5,\), expected \(900,\)"),
    (Y.astype("S"), "labels has the type .*; give integers, and -1"),
    (np.array(["a", 3] * 450, dtype=object), "labels of row 1 is 3, which is no text, .*; give texts, and None"),
    ([None] * 900, "no known label, only None; leave labels out"),
    ([""] * 900, "no known label, only None; leave labels out"),
    (np.where(SOME == 9, -2, SOME), "labels of row .* is -2; give integers from 0"),
    (np.full(900, -1), "no known label, only -1; leave labels out"),
    (np.full(900, np.nan), "no known label, only -1; leave labels out"),
    (np.arange(900), "labels has 900 different labels, more than n_components=6; raise n_components"),
])  # fmt: skip
def test_wrong_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        mixture().fit(X, labels=labels)


def test_labels_refuse_what_contradicts_them():
    with pytest.raises(ValueError, match="give init_params a name instead of values"):
        mixture(init_params=X[:6]).fit(X, labels=Y)
    with pytest.raises(ValueError, match=r"candidates=4 .* labels cannot be used with it; set candidates='auto'"):
        mixture(candidates=4).fit(X, labels=Y)
    plain = mixture().fit(X)
    with pytest.raises(ValueError, match="labels were given to a mixture that was fitted without labels; call fit"):
        plain.partial_fit(X, labels=Y)
    for name in ("component_labels_", "label_classes_", "predict_labels", "predict_label_proba"):
        with pytest.raises(AttributeError, match=f"no {name}: it was fitted without labels"):
            getattr(plain, name)(X) if name.startswith("predict") else getattr(plain, name)
