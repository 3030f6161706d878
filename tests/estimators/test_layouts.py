"""The layout of dense rows in memory changes neither the results nor the memory of a fit."""

import tracemalloc

import forms
import numpy as np
import pytest
from estimator_cases import CASES, over
from fitted import assert_same, dense, few_epochs, said
from sklearn.utils import get_tags

from sparsemix._rows.blocks import Rows
from sparsemix._rows.documents import Documents
from sparsemix.mixture._annotations.rows import AnnotatedRows
from sparsemix.mixture._linear._rows import UnitRows

pytestmark = few_epochs
layouts = pytest.mark.parametrize("layout", forms.LAYOUTS)
MISSING = [case for case in CASES if get_tags(case.estimator).input_tags.allow_nan]


def learned(case, rows):
    """An estimator that has learned from all rows, with weights, and from a block where it can."""
    weight = None if case.rows_alone else np.random.default_rng(0).uniform(0.8, 2.0, len(rows))
    est = case.make().fit(rows, sample_weight=weight)
    return est.partial_fit(rows) if case.can("partial_fit") else est


def assert_the_layout_does_not_matter(case, rows, layout):
    form = forms.LAYOUTS[layout](rows)
    assert_same(*(said(learned(case, each), each) for each in (rows, form)))


@layouts
@over(CASES)
def test_layouts_give_the_same_bits(case, layout):
    assert_the_layout_does_not_matter(case, dense(case.data.rows).astype(np.float64), layout)


@layouts
@over(MISSING)
def test_layouts_of_rows_with_missing_values_give_the_same_bits(case, layout):
    rows = dense(case.data.rows).astype(np.float64)
    rows[::7, 0] = rows[3::9, 1] = np.nan
    assert_the_layout_does_not_matter(case, rows, layout)


def most_memory(call):
    """The most bytes that exist at once during a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ROWS = {
    "rows": Rows,
    "rows in another type": lambda X: Rows(X, dtype=np.float32),
    "centred rows": lambda X: Rows(X, shift=np.ones(X.shape[1])),
    "directions": UnitRows,
    "rows with labels": lambda X: AnnotatedRows(Rows(X), np.zeros(len(X), dtype=np.int64)),
    "rows with noise": lambda X: AnnotatedRows(Rows(X), noise=np.broadcast_to(np.eye(X.shape[1]), (len(X), 4, 4))),
    "documents": lambda X: Documents(X, None, np.float64),
}


@layouts
@pytest.mark.parametrize("kind", ROWS)
def test_reading_some_rows_copies_no_others(layout, kind):
    X = np.random.default_rng(0).uniform(0.5, 1.0, size=(100_000, 4))
    selection = np.random.default_rng(1).permutation(len(X))[:500]
    rows = ROWS[kind](np.asarray(forms.LAYOUTS[layout](X)))
    assert most_memory(lambda: rows.read(selection)) < X.nbytes // 10
    wanted, found = ROWS[kind](X).read(selection), rows.read(selection)
    np.testing.assert_array_equal(*(getattr(each, "counts", each) for each in (wanted, found)))
