"""Arguments that are arrays of whole numbers: any type that holds the numbers gives them exactly, or is refused."""

import fractions

import forms
import numpy as np
import pytest
from fitted import assert_same_bits, few_epochs

from sparsemix import SparseGaussianMixture, SparseSCVB0LDA, blocks
from sparsemix.topics import choose_n_topics

pytestmark = few_epochs
X = np.random.default_rng(0).normal(size=(60, 2)) + 5.0 * (np.arange(60) % 3)[:, None]
COUNTS = np.random.default_rng(0).poisson(1.0, (40, 8))
VALUES = 2, 3, 4
WHOLE = {
    **{
        dtype: lambda values, dtype=dtype: np.array(values).astype(dtype)
        for dtype in (
            "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4", ">u8",
            "float16", "float32", "float64", "longdouble", ">f8", "O",
        )
    },
    "list": list,
    "list of several types": lambda values: [np.uint8(values[0]), float(values[1]), *values[2:]],
    "objects of several types": lambda values: np.array([np.uint8(values[0]), float(values[1]), *values[2:]], object),
    "fractions": lambda values: [fractions.Fraction(int(value)) for value in values],
    "nothing masked": lambda values: np.ma.masked_array(values, mask=False),
    "strided": lambda values: np.repeat(values, 2)[::2],
}  # fmt: skip
LARGE = {
    "uint64": np.uint64(2**64 - 1), "largest": np.uint64(2**63), "int": 2**64 - 1, "float": 2.0**63,
    "below": -(2**63) - 1, "infinity": np.inf, "NaN": np.nan, "half": 2.5, "None": None, "text": "a", "complex": 1j,
    "longdouble": np.longdouble(2) ** 63,
}  # fmt: skip
if forms.PANDAS:
    import pandas as pd

    types = ["int64", "uint64", "Int8", "UInt64", "Float64", "category", "object"]
    types += ["uint64[pyarrow]"] * forms.ARROW
    WHOLE |= {
        f"series of {dtype}": lambda values, dtype=dtype: pd.Series(values, np.arange(len(values)) + 7).astype(dtype)
        for dtype in types
    }
    LARGE["pandas.NA"] = pd.NA
if forms.POLARS:
    import polars as pl

    WHOLE["polars"] = lambda values: pl.Series(values).cast(pl.UInt16)


def labelled(values):
    est = SparseGaussianMixture(3, max_iter=2, tol=0.0, random_state=0)
    return est.fit(X, labels=values).partial_fit(X, labels=values)


def chosen(values):
    """Numbers of topics, of which the last three are tried."""
    model = SparseSCVB0LDA(max_iter=1, random_state=0)
    results = choose_n_topics(model, COUNTS, values, n_top_words=2, random_state=0).results
    return [row["n_topics"] for row in results]


def sized(values):
    return blocks.from_function(len(values), lambda i: X[:i], sizes=values).sizes


@pytest.mark.parametrize("form", WHOLE)
def test_numbers_are_read_exactly(form):
    labels = np.array(VALUES)[np.arange(60) % 3]
    assert_same_bits(labelled(labels), labelled(WHOLE[form](labels)), X)
    for call in (chosen, sized):
        found = call(WHOLE[form](np.array(VALUES)))
        assert found == list(VALUES)
        assert set(map(type, found)) == {int}


# Labels may be unknown.
REFUSED = [(door, kind) for door in ("labels", "candidates", "sizes") for kind in LARGE
           if door != "labels" or kind not in ("NaN", "None", "pandas.NA")]  # fmt: skip


@pytest.mark.parametrize(("door", "kind"), REFUSED)
def test_other_numbers_are_refused_with_their_place(door, kind):
    n, call = {"labels": (60, labelled), "candidates": (3, chosen), "sizes": (3, sized)}[door]
    values = [2] * n
    values[1] = LARGE[kind]
    array = np.empty(n, dtype=object)
    array[:] = values
    given = [values, array]
    if isinstance(LARGE[kind], np.generic):
        given.append(np.array(values, dtype=LARGE[kind].dtype))
    for each in given:
        with pytest.raises(ValueError, match=rf"{door} of \w+ 1 is .*; give "):
            call(each)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "O"])
def test_hashes_are_distinct_to_the_last_bit(dtype):
    values = np.array([2**63 - 1, 2**63 - 2, 2**62])
    est = labelled(values[np.arange(60) % 3].astype(dtype))
    np.testing.assert_array_equal(np.unique(est.component_labels_), np.sort(values))
    assert set(est.predict_labels(X)) <= set(values.tolist())


def test_totals_of_small_types_do_not_wrap():
    sizes = np.array([240, 240], dtype=np.uint8)
    data = blocks.from_function(2, lambda i: X[30 * i : 30 * i + 30].repeat(8, axis=0), sizes)
    est = SparseGaussianMixture(3, max_iter=1, random_state=0)
    assert np.isfinite(blocks.fit(est, data, sample_weight=np.ones(480)).weights_).all()
