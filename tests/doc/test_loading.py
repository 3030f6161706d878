"""The examples of the page on loading data read files that other programs wrote, and its traps are traps.

``doc/blocks.py`` finds the examples; it runs only pages that need no extras.
"""

import importlib.util
import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest

DOC = Path(__file__).parents[2] / "doc"
PAGE = DOC / "user_guide" / "loading.rst"
N = 200
RNG = np.random.default_rng(0)
HEIGHT, WEIGHT = RNG.normal(170.0, 10.0, N), RNG.normal(70.0, 10.0, N)
ROWS = np.column_stack([HEIGHT, WEIGHT])

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def examples():
    """The code of the page: what all examples use, and then each of them."""
    spec = importlib.util.spec_from_file_location("blocks_of_pages", DOC / "blocks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [code for code, _ in module.blocks(PAGE)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the example that names a file, in the folder of the test, by fits of two components and two epochs."""
    monkeypatch.chdir(tmp_path)

    def run(file):
        first, *more = examples()
        (code,) = (code for code in more if f'"{file}"' in code)
        names = {}
        exec(first, names)
        for name in ("mixture", "lda", "directions"):
            names[name].set_params(n_components=2, max_iter=2)
        exec(compile(code, f"the example of {file}", "exec"), names)
        return names

    return run


def test_every_example_runs_in_one_test():
    files = set(re.findall(r"\brun\(\"(.+?)\"\)", Path(__file__).read_text(encoding="utf-8")))
    codes = examples()[1:]
    assert [sum(f'"{file}"' in code for file in files) for code in codes] == [1] * len(codes)


# -- tables


def test_csv_by_pandas(run):
    pandas = pytest.importorskip("pandas")
    lines = [f"{i:05},{height!r},{weight!r}" for i, (height, weight) in enumerate(ROWS.tolist())]
    Path("people.csv").write_text("\n".join(["id,height,weight", *lines]) + "\n", encoding="utf-8")
    names = run("people.csv")
    np.testing.assert_allclose(names["table"], ROWS, rtol=1e-14)  # read_csv rounds the last bit
    assert names["table"].index[7] == "00007"
    assert names["mixture"].feature_names_in_.tolist() == ["height", "weight"]
    plain = pandas.read_csv("people.csv")
    assert plain["id"][7] == 7
    assert names["mixture"].fit(plain).feature_names_in_.tolist() == ["id", "height", "weight"]


def test_missing_values_of_a_table_are_learned_from(run):
    pytest.importorskip("pandas")
    Path("people.csv").write_text("id,height,weight\n" + "a,1,2\nb,,3\nc,3,4\n" * 9, encoding="utf-8")
    assert np.isfinite(run("people.csv")["mixture"].means_).all()


def test_parquet_by_polars(run):
    pytest.importorskip("polars")
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"id": range(N), "height": HEIGHT, "weight": WEIGHT}), "people.parquet")
    names = run("people.parquet")
    np.testing.assert_array_equal(names["table"], ROWS)
    assert names["mixture"].n_features_in_ == 2


def test_polars_cuts_late_decimals_of_sqlite(tmp_path):
    polars = pytest.importorskip("polars")
    connection = write_people(tmp_path, [*range(150), 0.5])
    query = "select weight from people order by id"
    assert polars.read_database(query, connection)["weight"][-1] == 0
    assert polars.read_database(query, connection, infer_schema_length=None)["weight"][-1] == 0.5
    connection.close()


def test_folder_of_parquet_by_arrow(run):
    polars, parquet = pytest.importorskip("polars"), pytest.importorskip("pyarrow.parquet")
    for year, half in ((2020, slice(0, N // 2)), (2021, slice(N // 2, N))):
        folder = Path(f"people/year={year}")
        folder.mkdir(parents=True)
        polars.DataFrame({"height": HEIGHT[half], "weight": WEIGHT[half]}).write_parquet(folder / "part.parquet")
    names = run("people")
    np.testing.assert_array_equal(np.column_stack(names["table"].columns), ROWS)
    np.testing.assert_array_equal(np.concatenate(list(names["rows"])), ROWS)
    assert parquet.read_table("people").column_names == ["height", "weight", "year"]
    assert names["blocks"].from_parquet("people")[0].shape[1] == 2


def write_people(folder, weights):
    """A table of SQLite; the open connection."""
    connection = sqlite3.connect(folder / "people.db")
    connection.execute("create table people (id integer, height real, weight)")
    rows = [(i, height, weight) for i, (height, weight) in enumerate(zip(HEIGHT, weights, strict=False))]
    connection.executemany("insert into people values (?, ?, ?)", rows)
    connection.commit()
    return connection


def test_sqlite_by_adbc(run, tmp_path):
    pytest.importorskip("adbc_driver_sqlite")
    write_people(tmp_path, WEIGHT.tolist()).close()
    names = run("people.db")
    np.testing.assert_array_equal(np.column_stack(names["table"].columns), ROWS)


def test_adbc_refuses_late_decimals_without_a_cast(tmp_path):
    sqlite = pytest.importorskip("adbc_driver_sqlite.dbapi")
    connection = write_people(tmp_path, [])
    connection.executemany("insert into people values (?, 1.5, ?)", [(i, i) for i in range(3000)] + [(3000, 0.5)])
    connection.commit()
    connection.close()
    with sqlite.connect(str(tmp_path / "people.db")) as database, database.cursor() as cursor:
        with pytest.raises(Exception, match="expected INT64 but got DOUBLE"):
            cursor.execute("select weight from people order by id").fetch_arrow_table()
        cursor.execute("select cast(weight as real) as weight from people order by id")
        assert cursor.fetch_arrow_table()["weight"][-1].as_py() == 0.5


def write_fits(path, missing):
    """A table of FITS with the code -999 of a missing magnitude, by hand: cards of 80 letters, blocks of 2880 bytes."""
    columns = np.empty(N, dtype=[("colour", ">f8"), ("magnitude", ">i4"), ("spectrum", ">f4", (2,))])
    columns["colour"], columns["magnitude"], columns["spectrum"] = HEIGHT, np.round(WEIGHT), ROWS
    columns["magnitude"][missing] = -999
    first = [("SIMPLE", "T"), ("BITPIX", 8), ("NAXIS", 0), ("EXTEND", "T")]
    second = [
        ("XTENSION", "'BINTABLE'"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", columns.itemsize), ("NAXIS2", N),
        ("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", 3), ("TTYPE1", "'colour  '"), ("TFORM1", "'D       '"),
        ("TTYPE2", "'magnitude'"), ("TFORM2", "'J       '"), ("TNULL2", -999), ("TTYPE3", "'spectrum'"),
        ("TFORM3", "'2E      '"),
    ]  # fmt: skip
    parts = ["".join(f"{f'{key:8}= {value!s:>20}':80}" for key, value in cards) + f"{'END':80}"
             for cards in (first, second)]  # fmt: skip
    packed = [part.encode() + b" " * (-len(part) % 2880) for part in parts] + [columns.tobytes()]
    Path(path).write_bytes(b"".join(packed) + b"\0" * (-len(packed[-1]) % 2880))


def test_fits_by_astropy(run):
    pytest.importorskip("astropy")
    write_fits("stars.fits", missing=5)
    names = run("stars.fits")
    table = names["table"]
    frame = table["colour", "magnitude"].to_pandas()
    np.testing.assert_array_equal(frame["colour"], HEIGHT)
    assert frame["magnitude"].isna().tolist() == [i == 5 for i in range(N)]
    assert names["mixture"].means_[:, 1].min() > 0
    assert table["colour"].dtype.byteorder == ">"
    assert np.asarray(table["magnitude"])[5] == -999
    assert np.asarray(np.column_stack([table["colour"], table["magnitude"]]))[5, 1] == -999
    assert isinstance(table.to_pandas()["spectrum"][0], list)
    mixture = names["mixture"].fit(np.asarray(table["spectrum"]))
    np.testing.assert_array_equal(mixture.means_, mixture.fit(ROWS.astype(np.float32).astype(float)).means_)


def write_fcs(path, events, channels, **text):
    """A file of FCS 3.1 by hand: a header of 58 letters, keys with their values, then the events in float32."""
    keys = {"$BYTEORD": "1,2,3,4", "$DATATYPE": "F", "$MODE": "L", "$NEXTDATA": 0, "$PAR": len(channels),
            "$TOT": len(events), "$BEGINANALYSIS": 0, "$ENDANALYSIS": 0, "$BEGINSTEXT": 0, "$ENDSTEXT": 0}  # fmt: skip
    for i, channel in enumerate(channels, start=1):
        keys |= {f"$P{i}N": channel, f"$P{i}B": 32, f"$P{i}E": "0,0", f"$P{i}R": 262144}
    keys |= {f"${key.upper()}": value for key, value in text.items()}
    data, begin = events.astype("<f4").tobytes(), 2048
    keys |= {"$BEGINDATA": begin, "$ENDDATA": begin + len(data) - 1}
    pairs = "".join(f"/{key}/{value}" for key, value in keys.items()) + "/"
    header = "FCS3.1    " + "".join(f"{at:8}" for at in (58, 57 + len(pairs), begin, begin + len(data) - 1, 0, 0))
    Path(path).write_bytes((header + pairs).encode().ljust(begin) + data)


def test_fcs_by_flowio(run):
    pytest.importorskip("flowio")
    pytest.importorskip("flowutils")
    light, spill = np.abs(RNG.normal(size=(N, 2))) * 100, np.array([[1.0, 0.2], [0.1, 1.0]])
    seen = light @ spill  # what the channels of both dyes show
    events = np.column_stack([HEIGHT, seen[:, 1], seen[:, 0], np.arange(N)])
    matrix = "2,FITC-A,PE-A," + ",".join(map(str, spill.ravel()))  # not in the order of the channels
    write_fcs("blood.fcs", events, ["FSC-A", "PE-A", "FITC-A", "Time"], spillover=matrix, timestep=0.01)
    names = run("blood.fcs")
    np.testing.assert_allclose(names["X"], light, atol=1e-3)
    raw = names["flow"].as_array()
    np.testing.assert_allclose(raw[:, 1:3], seen[:, ::-1], rtol=1e-6)
    np.testing.assert_allclose(raw[:, 3], np.arange(N) * 0.01)
    assert np.abs(raw[:, [2, 1]] - light).max() > 10
