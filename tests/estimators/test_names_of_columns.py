"""Data frames, names of features and outputs, meta-estimators, weights on their way through them."""

import copy
import inspect

import numpy as np
import pytest
from estimator_cases import FIRST, of_kind, over, with_methods, with_parameters, with_weights
from fitted import READERS, assert_same, assert_same_bits, few_epochs, readings
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_score

pytestmark = few_epochs


def frame_of(case):
    pd = pytest.importorskip("pandas")
    rows = case.data.rows.toarray() if case.data.sparse else case.data.rows
    names = [f"column{v}" for v in range(rows.shape[1])]
    # in the layout of an array; the columns of another are added in another order
    return pd.DataFrame(np.ascontiguousarray(rows), columns=names, index=np.arange(len(rows)) + 1000, copy=False)


@over(of_kind("points", "counts"))  # columns of words in their order are places
def test_data_frame_gives_feature_names(case):
    frame = frame_of(case)
    est, plain = case.make().fit(frame), case.make().fit(frame.to_numpy())
    assert list(est.feature_names_in_) == list(frame.columns)
    assert est.n_features_in_ == frame.shape[1]
    assert_same(readings(plain, frame.to_numpy()), readings(est, frame))
    turned = frame[frame.columns[::-1]]
    methods = [name for name in (*READERS, "partial_fit", "expected_stats", "perplexity") if case.can(name)]
    for method in methods:
        with pytest.raises(ValueError, match="feature names"):
            getattr(est, method)(turned)
        with pytest.warns(UserWarning, match="feature names"):
            getattr(copy.copy(est), method)(case.data.rows)
    assert_same(readings(plain, frame.to_numpy()), readings(est, frame))
    if case.can("partial_fit"):
        assert_same(readings(plain.partial_fit(frame.to_numpy()), frame.to_numpy()),
                    readings(est.partial_fit(frame), frame))  # fmt: skip
        streamed = case.make().partial_fit(frame)
        assert list(streamed.feature_names_in_) == list(frame.columns)


@over(with_methods("set_output"))
def test_set_output_gives_a_data_frame(case):
    frame = frame_of(case)
    est = case.make().fit(frame)
    plain = est.transform(frame)
    out = est.set_output(transform="pandas").transform(frame)
    names = [f"{type(est).__name__.lower()}{k}" for k in range(plain.shape[1])]
    assert list(out.columns) == list(est.get_feature_names_out()) == names
    assert list(out.index) == list(frame.index)
    np.testing.assert_array_equal(out.to_numpy(), plain.toarray() if sparse.issparse(plain) else plain)


@over(with_methods("predict_proba"))
def test_predictions_agree(case):
    est, rows = case.fitted(), case.data.rows
    resp = est.predict_proba(rows)
    assert resp.dtype == np.float64
    np.testing.assert_allclose(resp.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(est.predict(rows), resp.argmax(axis=1))
    kept = sparse.csr_array(est.predict_sparse_proba(rows))
    assert kept.shape == resp.shape
    np.testing.assert_allclose(kept.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(np.asarray(kept.argmax(axis=1)).ravel(), est.predict(rows))
    np.testing.assert_array_equal(est.transform(rows).toarray(), kept.toarray())


@over(with_weights(FIRST))
def test_sample_weights_are_routed_through_a_grid_search(case):
    rows, n = case.data.rows, case.data.rows.shape[0]
    weight = np.random.default_rng(2).uniform(0.8, 2.0, n)
    scores = "sample_weight" in inspect.signature(case.estimator.score).parameters
    with config_context(enable_metadata_routing=True):
        base = case.make().set_fit_request(sample_weight=True)
        base = base.set_score_request(sample_weight=True) if scores else base
        search = GridSearchCV(base, {"random_state": [0]}, cv=2).fit(rows, sample_weight=weight)
    assert_same_bits(search.best_estimator_, case.make(random_state=0).fit(rows, sample_weight=weight), rows)
    first, second = np.split(np.arange(n), 2)
    halves = []
    for a, b in ((second, first), (first, second)):
        params = {"sample_weight": weight[b]} if scores else {}
        halves.append(case.make().fit(rows[a], sample_weight=weight[a]).score(rows[b], **params))
    np.testing.assert_allclose(search.best_score_, np.mean(halves), rtol=1e-12)


@over(with_parameters("n_jobs"))
def test_nested_parallelism_changes_no_score(case):
    one, two = (cross_val_score(case.make(n_jobs=n), case.data.rows, cv=2) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
