"""Copies and pickles: they are the fit, continue to the same bits, share nothing, and hold neither tables nor rows."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from copies import COPIES, by_pickle, by_read_only_memmap
from estimator_cases import CASES, CLASSES, over, with_methods, with_warm_start
from fitted import assert_never_fitted, assert_same, assert_same_bits, few_epochs, said
from scipy import sparse
from sklearn.base import clone

from sparsemix import __version__

pytestmark = few_epochs


per_copy = pytest.mark.parametrize("copied", COPIES)


@per_copy
@over(CASES)
def test_copy_of_a_fit_is_the_fit(case, copied, tmp_path):
    est = case.fitted()
    twin = copied(est, tmp_path)
    assert twin is not est
    assert_same_bits(est, twin, case.data.rows)
    assert twin.history_ == est.history_ or any(np.isnan(v) for record in est.history_ for v in record.values())
    assert "_sparsemix_version" not in vars(twin)
    before = said(twin, case.data.rows)
    est.fit(case.data.other)
    assert_same(before, said(twin, case.data.rows))


@per_copy
@over(with_methods("partial_fit"))
def test_stream_resumes_to_the_same_bits(case, copied, tmp_path):
    """The stream continues from a copy, which the original does not change."""
    rows, n = case.data.rows, case.data.rows.shape[0]
    weight = np.random.default_rng(0).uniform(0.8, 2.0, n)
    known = case.has("total_samples") and copied in (by_pickle, by_read_only_memmap)
    for total_samples in (None, 500) if known else (None,):
        params = {"total_samples": total_samples} if case.has("total_samples") else {}
        parts = [slice(0, 20), slice(20, 30), slice(30, 31), slice(31, n)]
        est = case.make(**params)
        for part in parts[:2]:
            est.partial_fit(rows[part], sample_weight=weight[part])
        half = said(est, rows)
        twin = copied(est, tmp_path)
        for part in parts[2:]:
            est.partial_fit(rows[part], sample_weight=weight[part])
        assert_same(half, said(twin, rows))
        other = copied(twin, tmp_path)
        for part in parts[2:]:
            twin.partial_fit(rows[part], sample_weight=weight[part])
        assert_same_bits(est, twin, rows)
        assert_same(half, said(other, rows))
        assert twin.n_samples_seen_ == n
        with pytest.raises(AssertionError):  # the rest of the stream was not for nothing
            assert_same(half, said(est, rows))


@per_copy
@over(with_warm_start())
def test_warm_start_continues_from_a_copy(case, copied, tmp_path):
    est = case.fitted(warm_start=True)
    twin = copied(est, tmp_path)
    rows = case.data.rows
    assert_same_bits(est.fit(rows), twin.fit(rows), rows)


@over(CASES)
def test_a_clone_is_unfitted(case):
    est = case.fitted()
    twin = clone(est)
    assert_never_fitted(twin)
    assert_same_bits(twin.fit(case.data.rows), est, case.data.rows)


@pytest.mark.parametrize("cls", CLASSES)
def test_pickle_carries_the_version(cls):
    case = next(case for case in CASES if type(case.estimator) is cls)
    for est in (case.make(), case.fitted()):
        assert est.__getstate__()["_sparsemix_version"] == __version__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pickle.loads(pickle.dumps(est))
    for other in ("0.0.1", None):
        state = dict(est.__getstate__())
        state["_sparsemix_version"] = other
        if other is None:
            del state["_sparsemix_version"]  # as if from before the stamp
        twin = cls()
        with pytest.warns(UserWarning, match=f"{cls.__name__} was pickled by sparsemix {other or 'unknown'} .*"):
            twin.__setstate__(state)
        assert_same_bits(est, twin, case.data.rows)


@over(CASES)
def test_pickle_holds_no_tables(case):
    """Tables that readings compute are not pickled; readings of the copy compute them again."""
    est, rows = case.fitted(), case.data.rows
    before = len(pickle.dumps(est))
    said(est, rows)
    single = est.score(rows.astype(np.float32))
    assert len(pickle.dumps(est)) == before
    twin = pickle.loads(pickle.dumps(est))
    assert twin.score(rows.astype(np.float32)) == single
    assert len(pickle.dumps(copy.copy(est))) == before


@over(CASES)
def test_pickle_holds_no_rows(case):
    """Only sums depend on ten times as many rows, and attributes with a value for each row."""
    few, rows = case.fitted(), case.data.rows
    many = case.make().fit((sparse.vstack if case.data.sparse else np.vstack)([rows] * 10))
    for est in (few, many):
        for name in ("labels_", "sampled_labels_", "_doc_counts"):
            vars(est).pop(name, None)
    added = 9 * (12 * rows.nnz if case.data.sparse else rows.nbytes)
    assert len(pickle.dumps(many)) < len(pickle.dumps(few)) + added / 5
