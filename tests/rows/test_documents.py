"""Documents as they are read: chosen ones copied from where they lie."""

import numpy as np
import pytest
from scipy import sparse

from sparsemix._rows.documents import Documents

COUNTS = sparse.random_array((40, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
COUNTS.data = np.ceil(4 * COUNTS.data)
ROWS = np.array([0, 3, 4, 17, 39])


def assert_same(block, expected):
    indptr, indices, data = expected.indptr, expected.indices, expected.data
    for found, wanted in ((block.indptr, indptr), (block.indices, indices), (block.counts, data)):
        np.testing.assert_array_equal(found, wanted)
    assert (block.indptr.dtype, block.indices.dtype) == (np.int64, np.int32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [np.int32, np.int64, np.float32, np.float64, np.int16, bool])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_chosen_documents(dtype, count, index, kind):
    X = kind(COUNTS, dtype=count)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    block = Documents(X, dtype=dtype).buffer(ROWS)
    assert_same(block, COUNTS[ROWS].astype(count))
    assert block.counts.dtype == dtype
    assert len(Documents(X, dtype=dtype).buffer(ROWS[:0])) == 0


@pytest.mark.parametrize("spoil", ["zero", "twice", "order"])
def test_chosen_documents_of_other_matrices(spoil):
    """Stored zeros, words that stand twice or in no order: what is read has none of that."""
    X = COUNTS.copy()
    a = X.indptr[3]
    if spoil == "zero":
        X.data[a] = 0.0
    elif spoil == "twice":
        X.indices[a + 1] = X.indices[a]
    else:
        X.indices[[a, a + 1]] = X.indices[[a + 1, a]]
    X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    documents = Documents(X)
    assert not documents.is_canonical
    expected = X[ROWS]
    expected.sum_duplicates()
    expected.eliminate_zeros()
    assert_same(documents.buffer(ROWS), expected)


def test_rows_that_are_not_there():
    with pytest.raises(IndexError, match="no row 40"):
        Documents(COUNTS).buffer(np.array([1, 40]))
