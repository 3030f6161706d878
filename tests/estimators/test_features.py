"""What estimators give to the next step of a pipeline: form, dtype, names, memory."""

import tracemalloc

import numpy as np
import pytest
from estimator_cases import CASES, CLASSES, FIRST, over, with_methods
from fitted import assert_same_bits, dense, few_epochs
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sparsemix import (
    SparseGaussianMixture,
    SparseMultinomialMixture,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
    TokenSequences,
)

pytestmark = few_epochs
MIXTURES = with_methods("predict_sparse_proba")
# The methods whose results are sparse, or may be.
READERS = ("predict_sparse_proba", "transform", "transform_words", "count_words")


@pytest.mark.parametrize("cls", CLASSES)
def test_every_estimator_is_a_transformer(cls):
    assert all(hasattr(cls, name) for name in ("transform", "fit_transform", "get_feature_names_out", "set_output"))


@over(MIXTURES)
def test_mixtures_transform_rows_to_sparse_responsibilities(case):
    est, rows = case.make(), case.data.rows
    resp = est.fit_transform(rows)
    assert sparse.issparse(resp)
    assert resp.format == "csr"
    assert resp.shape == (rows.shape[0], len(est.weights_)) == (rows.shape[0], len(est.get_feature_names_out()))
    np.testing.assert_array_equal(dense(resp), dense(est.predict_sparse_proba(rows)))
    assert_same_bits(est, case.fitted(), rows)
    most = est.get_params(deep=False).get("n_nonzero") or resp.shape[1]
    assert np.diff(resp.indptr).max() <= most


@over([case for case in CASES if case.data.kind != "words"])  # numbers of words have no precision
def test_features_have_the_dtype_of_the_rows(case):
    rows = case.data.rows
    for dtype, kept in [(np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64)]:
        given = (10 * rows if case.data.kind == "points" and dtype == np.int64 else rows).astype(dtype)
        est = case.make().fit(given)
        for name in ("transform", "predict_sparse_proba"):
            if case.can(name):
                out = getattr(est, name)(given)
                assert out.dtype == kept, name
                sums = np.asarray(out.sum(axis=1, dtype=np.float64)).ravel()
                np.testing.assert_allclose(sums, 1.0, rtol=1e-5 if kept == np.float32 else 1e-9)


@over(FIRST)
@pytest.mark.parametrize("interface", ["sparray", "spmatrix"])
def test_sparse_results_follow_the_setting_of_scikit_learn(case, interface):
    if "sparse_interface" not in get_config():
        pytest.skip("scikit-learn before 1.9 has no such setting")
    est, rows = case.fitted(), case.data.rows
    plain = {name: getattr(est, name)(rows) for name in READERS if case.can(name)}
    with config_context(sparse_interface=interface):
        found = {name: getattr(est, name)(rows) for name in READERS if case.can(name)}
        sequences = TokenSequences()
        found |= {"sequences": sequences.fit_transform(["one two", "two"]), "again": sequences.transform(["two"]),
                  "none": sequences.transform([])}  # fmt: skip
    for name, value in found.items():
        assert not sparse.issparse(value) or sparse.isspmatrix(value) == (interface == "spmatrix"), name
        if name in plain:
            np.testing.assert_array_equal(dense(value), dense(plain[name]), err_msg=name)


@over([case for case in FIRST if case in MIXTURES])
def test_mixtures_in_the_middle_of_pipelines(case):
    rows = dense(case.data.rows)
    y = np.arange(len(rows)) % 2
    y[np.argsort(rows.sum(axis=1))[len(y) // 2 :]] = 1
    est, last = case.make(), LogisticRegression(C=1e4, max_iter=1000)
    features = dense(case.fitted().transform(rows))
    alone = last.fit(features, y).predict_proba(features)
    pipeline = make_pipeline(est, LogisticRegression(C=1e4, max_iter=1000)).fit(rows, y)
    np.testing.assert_allclose(pipeline.predict_proba(rows), alone, atol=1e-6)
    search = GridSearchCV(pipeline, {"logisticregression__C": [1e-2, 1e2]}, cv=2).fit(rows, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    union = FeatureUnion([("one", est), ("two", "passthrough")])
    np.testing.assert_array_equal(dense(union.fit_transform(rows)), np.hstack([features, rows]))
    columns = ColumnTransformer([("all", est, slice(0, rows.shape[1]))], remainder="drop")
    np.testing.assert_array_equal(dense(columns.fit_transform(rows)), features)
    names = [f"all__{name}" for name in est.fit(rows).get_feature_names_out()]
    assert list(columns.get_feature_names_out()) == names
    pytest.importorskip("pandas")
    frame = columns.set_output(transform="pandas").fit_transform(rows)
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame.to_numpy(), features)


@over([case for case in FIRST if case in MIXTURES])
@pytest.mark.parametrize("step", [DecisionTreeClassifier(random_state=0), GaussianNB(), StandardScaler()])
def test_dense_output_feeds_steps_that_refuse_sparse_rows(case, step):
    rows = case.data.rows
    features = case.fitted(dense_output=True).transform(rows)
    assert isinstance(features, np.ndarray)
    np.testing.assert_array_equal(features, dense(case.fitted().transform(rows)))
    y = np.arange(rows.shape[0]) % 2
    pipeline = make_pipeline(case.make(dense_output=True), step).fit(rows, y)
    alone = step.fit(features, y)
    for name in ("predict", "transform"):
        if hasattr(alone, name):
            np.testing.assert_array_equal(getattr(pipeline, name)(rows), getattr(alone, name)(features))


@over([case for case in FIRST if case in MIXTURES])
def test_dense_output_may_change_after_a_fit(case):
    est, rows = case.fitted(), case.data.rows
    assert sparse.issparse(est.transform(rows))
    assert isinstance(est.set_params(dense_output=True).transform(rows), np.ndarray)
    assert sparse.issparse(est.predict_sparse_proba(rows))


N, K = 12_000, 10_000


def many_components(name):
    """Rows, and a mixture of so many components that dense responsibilities of the rows take 960 MB."""
    rng = np.random.default_rng(0)
    if name == "words":
        X = sparse.csr_array(rng.poisson(0.2, (N, 50)) + np.eye(50)[np.arange(N) % 50])
        return X, SparseMultinomialMixture(K, max_iter=0, init_params="random_from_data", random_state=0)
    X = rng.normal(size=(N, 4))
    if name == "directions":
        return X, SparseVonMisesFisherMixture(K, max_iter=0, init_params="random_from_data", random_state=0)
    mixture = SparseGaussianMixture(K, covariance_type="diag", max_iter=0, init_params="random_from_data",
                                    random_state=0)  # fmt: skip
    return X, mixture


@pytest.mark.slow
@pytest.mark.parametrize("name", ["points", "directions", "words"])
def test_features_of_ten_thousand_components_take_memory_by_row(name):
    X, est = many_components(name)
    est.fit(X)
    est.transform(X[:1])  # tables that are made once
    tracemalloc.start()
    resp = est.transform(X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert resp.nnz == 4 * N
    assert most < 8 * N * K / 20


def test_features_of_clusters_follow_the_stream():
    X = np.random.default_rng(0).normal(size=(60, 2)) + 30 * np.eye(2)[np.arange(60) % 2]
    est = StreamingNGGPMixture("diag", concentration=1.0).partial_fit(X[::2]).partial_fit(X)
    assert list(est.get_feature_names_out()) == [f"streamingnggpmixture{k}" for k in range(est.transform(X).shape[1])]
    assert est.transform(X).shape[1] == est.n_clusters_ > 1
