"""Labels and responsibilities of rows in blocks equal those of all rows, as a sequence and as one array of Dask."""

import numpy as np
import pytest
from fitted import few_epochs
from scipy import sparse
from test_fits_over_blocks import COUNTS, ROWS, cut, lda, mixture, words

import sparsemix
from sparsemix import blocks

pytestmark = [few_epochs, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")]


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("make", [mixture, words])
def test_labels_are_those_of_all_rows(make):
    X = ROWS if make is mixture else COUNTS
    est = make().fit(X)
    parts = list(blocks.predict(est, cut(X)))
    assert [len(part) for part in parts] == [block.shape[0] for block in cut(X)]
    assert {part.dtype for part in parts} == {est.predict(X).dtype}
    np.testing.assert_array_equal(np.concatenate(parts), est.predict(X))


def test_estimators_without_labels_are_refused():
    with pytest.raises(TypeError, match=r"SparseLDA has no predict; give a mixture, or call blocks\.transform"):
        blocks.predict(lda().fit(COUNTS), cut(COUNTS))
    with pytest.raises(ValueError, match="as_array is 'yes'; give True, False or None"):
        blocks.predict(mixture().fit(ROWS), cut(ROWS), as_array="yes")


def test_dense_output_holds_for_every_block():
    mixture = sparsemix.SparseGaussianMixture(2, dense_output=True, random_state=0).fit(ROWS)
    parts = list(blocks.transform(mixture, [ROWS[:50], ROWS[:0]]))
    assert [part.shape for part in parts] == [(50, 2), (0, 2)]
    assert all(isinstance(part, np.ndarray) for part in parts)


def test_empty_blocks_have_the_topics_that_were_found():
    est = sparsemix.SparseHDP(8, max_iter=4, random_state=0).fit(COUNTS)
    assert {part.shape[1] for part in blocks.transform(est, cut(COUNTS))} == {est.transform(COUNTS[:1]).shape[1]}


def readings():
    """Functions, fitted estimators, rows, and the method of the estimator."""
    return {
        "labels": (blocks.predict, mixture().fit(ROWS), ROWS, "predict"),
        "proportions": (blocks.transform, lda().fit(COUNTS), COUNTS, "transform"),
        "responsibilities": (blocks.transform, mixture().fit(ROWS), ROWS, "transform"),
    }


@pytest.mark.parametrize("name", ["labels", "proportions", "responsibilities"])
def test_arrays_of_dask(name):
    pytest.importorskip("dask.array")
    read, est, X, method = readings()[name]
    wanted = getattr(est, method)(X)
    for data, sizes in ((cut(X), [block.shape[0] for block in cut(X)]), (blocks.from_arrays(X, 90), None)):
        lazy = read(est, data, as_array=True)
        assert lazy.shape == wanted.shape
        assert lazy.dtype == (np.int64 if name == "labels" else np.float64)
        assert sizes is None or list(lazy.chunks[0]) == [size for size in sizes if size]
        computed = lazy.compute(scheduler="synchronous")
        assert sparse.issparse(computed) == sparse.issparse(wanted)
        np.testing.assert_array_equal(dense(computed), dense(wanted))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_of_dask_gives_one(dtype):
    array = pytest.importorskip("dask.array")
    est, X = mixture().fit(ROWS.astype(dtype)), ROWS.astype(dtype)
    given = array.from_array(X, chunks=(120, -1))
    unknown = given[given[:, 0] > -99.0]
    for lazy in (blocks.transform(est, given), blocks.transform(est, unknown)):
        assert isinstance(lazy, array.Array)
        assert lazy.dtype == dtype
        np.testing.assert_array_equal(dense(lazy.compute()), dense(est.transform(X)))
    assert blocks.predict(est, given).chunks == (given.chunks[0],)
    labels = blocks.predict(est, unknown)
    assert np.isnan(labels.shape[0])
    np.testing.assert_array_equal(labels.compute(), est.predict(X))
    assert not isinstance(blocks.predict(est, given, as_array=False), array.Array)
    est.fit(X[::-1] * 2.0)  # arrays keep the fit that they were made of
    np.testing.assert_array_equal(labels.compute(), mixture().fit(ROWS.astype(dtype)).predict(X))


def test_errors_name_a_block_once():
    def broken(i):
        if i == 1:
            raise OSError("no such disk")
        return ROWS

    data, est = blocks.from_function(2, broken), mixture().fit(ROWS)
    calls = [lambda: blocks.score(est, data), lambda: list(blocks.predict(est, data))]
    if pytest.importorskip("dask.array"):
        calls.append(lambda: blocks.predict(est, data, as_array=True).compute(scheduler="synchronous"))
    for call in calls:
        with pytest.raises(OSError, match=r"^block 1: no such disk$"):
            call()
