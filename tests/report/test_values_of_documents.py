"""Names, texts, dates and groups of documents, of any type of pandas, polars and Arrow, with missing values."""

import importlib.util
import warnings
from datetime import date

import numpy as np
import pytest

from sparsemix import SparseSCVB0LDA, report
from sparsemix.datasets import make_bars

N = 30
X = make_bars(n_samples=N, random_state=0)[0]
FORMS = {
    "list with None": lambda values: [None, *values],
    "list with NaN": lambda values: [float("nan"), *values],
    "objects": lambda values: np.array([None, *values], dtype=object),
}
if importlib.util.find_spec("pandas"):
    import pandas as pd

    def series(values, dtype):
        """Under an index that neither numbers the documents nor is in their order."""
        return pd.Series([None, *values], index=range(7 + N, 7, -1), dtype=dtype)

    FORMS |= {
        f"series of {dtype}": lambda values, dtype=dtype: series(values, dtype)
        for dtype in ("object", "category", "string", "Int64", "Float64", "boolean", "datetime64[ns]")
    }
    FORMS["list with pandas.NA"] = lambda values: [pd.NA, *values]
    FORMS["array of string"] = lambda values: pd.array([None, *values], dtype="string")
if importlib.util.find_spec("polars"):
    import polars as pl

    FORMS["polars"] = lambda values: pl.Series([None, *values])
if importlib.util.find_spec("pyarrow"):
    import pyarrow as pa

    FORMS["Arrow"] = lambda values: pa.array([None, *values])
VALUES = {
    "boolean": [True, False], "Int64": [2019, 2020], "Float64": [2019.0, 2020.0], "datetime64[ns]": [date(2020, 1, 2)],
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return SparseSCVB0LDA(3, max_iter=2, random_state=0).fit(X)


def made(form, default):
    """Values of 29 documents in a form, after a missing one."""
    values = VALUES.get(form.removeprefix("series of "), default)
    return FORMS[form]((values * N)[: N - 1])


def page_of(model, **values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return report(model, X, n_documents=N, **values)


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_group_is_counted(form, model):
    page = page_of(model, groups=made(form, ["a", "b"]))
    assert dict(page.data["facts"])["documents without a group"] == "1"
    (stratum,) = page.data["strata"]
    assert sum(stratum["sizes"]) == N - 1


@pytest.mark.parametrize("form", [form for form in FORMS if form != "series of boolean"])
def test_a_missing_date_is_counted(form, model):
    page = page_of(model, dates=made(form, ["2020-01-31"]))
    assert dict(page.data["facts"])["documents without a date"] == "1"


@pytest.mark.parametrize("form", FORMS)
def test_a_document_without_a_name_has_its_number(form, model):
    values = made(form, ["a", "b"])
    names = [document["name"] for document in page_of(model, names=values).data["documents"]]
    assert "0" in names
    assert not {"None", "nan", "NaT", "<NA>"} & set(names)


@pytest.mark.parametrize("form", [form for form in FORMS if form.removeprefix("series of ") not in VALUES])
def test_a_document_without_a_text_shows_its_words(form, model):
    texts = made(form, ["pixel3 and", "pixel4 or"])
    pages = [page_of(model, names=range(N), documents=documents) for documents in (texts, None)]
    shown, counted = ({each["name"]: each["text"] for each in page.data["documents"]} for page in pages)
    assert shown["0"] == counted["0"]
    assert shown["1"] != counted["1"]


@pytest.mark.parametrize("name", ["documents", "names", "dates", "groups"])
def test_series_are_read_by_position(name, model):
    pandas = pytest.importorskip("pandas")
    values = [f"{1990 + i}" for i in range(N)]
    plain = page_of(model, **{name: values}).data
    assert plain == page_of(model, **{name: pandas.Series(values, index=range(N - 1, -1, -1))}).data


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_name_of_a_topic_is_no_name(form, model):
    page = page_of(model)
    page.rename(list(made(form, ["a", "b"]))[:3])
    assert {int(topic) for topic in page.data["names"]} == {1, 2}
