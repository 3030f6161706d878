"""The page on DuckDB: its code runs, and what it says of DuckDB is so."""

from contextlib import suppress

import numpy as np
import pytest
from example_pages import run_page

from sparsemix import SparseGaussianMixture

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
N = 3000
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def db():
    """A small table, whose batches of 1000 rows need several reads."""
    with duckdb.connect() as connection:
        fill(connection)
        yield connection


def fill(db):
    """40 clouds of people, and texts whose embeddings have 8 numbers."""
    db.execute("select setseed(0.5)").fetchall()
    db.execute(
        f"create table people as select i as id, i % 40 * 5 + random() as height, i % 40 * 3 + random() as weight "
        f"from range({N}) rows(i)"
    ).fetchall()
    numbers = ", ".join(["random() - 0.5"] * 8)
    query = f"select i as id, [{numbers}]::float[8] as embedding from range({N}) rows(i)"
    db.execute(f"create table texts as {query}").fetchall()


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("people.db") as connection:
        fill(connection)
    names = run_page("user_guide/duckdb.rst", {})
    db, columns = names["db"], "select height, weight from people order by id"
    X = db.sql(columns).to_arrow_table()
    first = SparseGaussianMixture(20, random_state=0).fit_predict(X)
    for table, wanted in (("clusters", first), ("labels", names["stream"].predict(X))):
        stored = db.sql(f"select cluster from {table} order by id").fetchnumpy()["cluster"]
        np.testing.assert_array_equal(stored, wanted)
    assert sum(count for _, count, _ in names["means"].fetchall()) == N
    for est in (names["mixture"], names["stream"]):
        assert est.feature_names_in_.tolist() == ["height", "weight"]
    assert len(names["labels"]) == N
    db.close()


def test_each_use_runs_a_query_again(db):
    query = db.sql("select random() from range(5)")
    assert query.fetchall() != query.fetchall()


def test_a_second_query_ends_a_reader(db):
    reader, rows = db.sql("select id from people").to_arrow_reader(1000), 0
    with suppress(duckdb.Error):  # of version 2
        for batch in reader:
            rows += batch.num_rows
            db.sql("select 1").fetchall()
    assert rows == 1000


def test_nulls_become_zeros_in_column_stack_and_missing_values_in_arrow(db):
    query = db.sql("select height, case when id % 5 > 0 then weight + 9 end as weight from people order by id")
    stacked = np.column_stack(list(query.fetchnumpy().values()))
    assert (stacked[::5, 1] == 0).all()
    missing = stacked.copy()
    missing[::5, 1] = np.nan
    wanted = SparseGaussianMixture(2, max_iter=2, random_state=0).fit(missing).means_
    for table in (query.to_arrow_table(), query.df()):
        found = SparseGaussianMixture(2, max_iter=2, random_state=0).fit(table).means_
        np.testing.assert_array_equal(found, wanted)


def test_record_batches_have_no_names_of_columns(db):
    (batch,) = db.sql("select height, weight from people").to_arrow_reader(10_000)
    est = SparseGaussianMixture(2, random_state=0).partial_fit(batch)
    assert not hasattr(est, "feature_names_in_")
    named = SparseGaussianMixture(2, random_state=0).partial_fit(pa.table(batch))
    np.testing.assert_array_equal(est.means_, named.means_)
    with pytest.raises(ValueError, match="must be in the same order"):
        named.partial_fit(pa.table(batch).select(["weight", "height"]))


def test_sums_and_literals_are_decimals_and_numbers(db):
    table = db.sql("select sum(id) as total, id % 7 + 1.5 as part from people group by id").to_arrow_table()
    assert [pa.types.is_decimal(kind) for kind in table.schema.types] == [True, True]
    numbers = table.to_pandas().astype(float)
    fits = (SparseGaussianMixture(2, max_iter=2, random_state=0).fit(each) for each in (table, numbers))
    np.testing.assert_array_equal(*(est.means_ for est in fits))
