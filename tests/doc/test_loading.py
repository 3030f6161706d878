"""The examples of the page on loading data read files that other programs wrote, and its traps are traps.

``doc/blocks.py`` itself runs only pages that need no extras.
"""

import gzip
import re
import sqlite3
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from example_pages import examples
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix import SparseVonMisesFisherMixture, blocks

PAGE = "user_guide/loading.rst"
N = 200
RNG = np.random.default_rng(0)
HEIGHT, WEIGHT = RNG.normal(170.0, 10.0, N), RNG.normal(70.0, 10.0, N)
ROWS = np.column_stack([HEIGHT, WEIGHT])

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the example that names a file, in the folder of the test, by fits of two components and two epochs."""
    monkeypatch.chdir(tmp_path)

    def run(file):
        first, *more = examples(PAGE)
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
    codes = examples(PAGE)[1:]
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


# -- counts

WORDS = ["ant", "bee", "cat", "dog", "elk"]
COUNTS = np.array([[0, 2, 1, 0, 0], [0, 0, 3, 1, 0], [0, 1, 0, 2, 0], [0, 4, 0, 0, 0]] * 5)  # of the middle words
CORPUS = [[(int(word), int(counts[word])) for word in np.flatnonzero(counts)] for counts in COUNTS]


def matrix_market(counts, kind="integer"):
    """The text of a file. gensim reads the kind "real" alone."""
    entries = [f"{i + 1} {j + 1} {counts[i, j]}" for i, j in np.argwhere(counts)]
    size = f"{counts.shape[0]} {counts.shape[1]} {len(entries)}"
    return "\n".join([f"%%MatrixMarket matrix coordinate {kind} general", size, *entries]) + "\n"


def test_gensim(run, capsys):
    corpora, matutils = pytest.importorskip("gensim.corpora"), pytest.importorskip("gensim.matutils")
    dictionary = corpora.Dictionary([[word] for word in WORDS])
    dictionary.save("corpus.dict")
    Path("corpus.mm").write_text(matrix_market(COUNTS, "real"), encoding="utf-8")
    names = run("corpus.mm")
    np.testing.assert_array_equal(names["X"].toarray(), COUNTS)
    assert any(word in capsys.readouterr().out for word in WORDS)
    assert matutils.corpus2csc(CORPUS).shape == (4, len(COUNTS))
    assert names["lda"].fit(names["X"].T).n_features_in_ == len(COUNTS)
    fresh = corpora.Dictionary([[word] for word in WORDS])
    assert len(fresh.id2token) == 0
    assert fresh[2] == "cat"
    fresh.filter_extremes(no_below=1, no_above=1.0, keep_n=None)
    assert fresh[2] == "cat"
    fresh.add_documents([["ant"]] * 9)
    fresh.filter_extremes(no_below=1, no_above=0.5)
    assert fresh[2] == "dog"


def test_state_of_mallet(run):
    pandas = pytest.importorskip("pandas")
    words = ["cat", '"', "null", "nan", '"dog', "#elk"]
    counts = np.array([[2, 1, 0, 0, 0, 1], [0] * 6, [1, 0, 1, 2, 1, 0], [0] * 6] * 2)
    tokens = [(doc, word) for doc, row in enumerate(counts) for word in np.repeat(range(6), row)]
    lines = [f"{doc} NA {i} {word} {words[word]} 0" for i, (doc, word) in enumerate(tokens)]
    head = ["#doc source pos typeindex type topic", "#alpha : 0.5 0.5 ", "#beta : 0.01"]
    with gzip.open("state.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join([*head, *lines]) + "\n")
    names = run("state.gz")
    np.testing.assert_array_equal(names["X"].toarray(), counts[:-1])  # the last document has no words
    assert names["words"].to_list() == words
    quoted = pandas.read_csv("state.gz", sep=" ", skiprows=3, names=names["names"])
    assert len(quoted) < len(tokens)
    missing = pandas.read_csv("state.gz", sep=" ", skiprows=3, names=names["names"], quoting=3)
    assert set(names["state"]["type"][missing["type"].isna()]) == {"null", "nan"}


def write_ldac(path, corpus):
    lines = [" ".join([str(len(doc)), *(f"{word}:{count}" for word, count in doc)]) for doc in corpus]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_ldac_by_gensim(run):
    pytest.importorskip("gensim")
    Path("vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    write_ldac("ap.dat", [doc[::-1] for doc in CORPUS])
    np.testing.assert_array_equal(run("ap.dat")["X"].toarray(), COUNTS)
    with pytest.raises(ValueError, match="should be sorted"):
        load_svmlight_file("ap.dat", zero_based=True)
    write_ldac("sorted.dat", CORPUS)
    X, y = load_svmlight_file("sorted.dat", n_features=5, zero_based=True)
    np.testing.assert_array_equal(X.toarray(), COUNTS)
    np.testing.assert_array_equal(y, [len(doc) for doc in CORPUS])
    np.testing.assert_array_equal(load_svmlight_file("sorted.dat")[0].toarray(), COUNTS[:, 1:4])  # no word 0: shifted


def test_bag_of_words(run):
    head = [*COUNTS.shape, np.count_nonzero(COUNTS)]
    lines = [f"{i + 1} {j + 1} {COUNTS[i, j]}" for i, j in np.argwhere(COUNTS)]
    Path("docword.nips.txt").write_text("\n".join([*map(str, head), *lines]) + "\n", encoding="utf-8")
    Path("vocab.nips.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    names = run("docword.nips.txt")
    np.testing.assert_array_equal(names["corpus"].data.toarray(), COUNTS)
    assert names["corpus"].feature_names.tolist() == WORDS


def test_svmlight(run):
    lines = [" ".join(["1", *(f"{word}:{count}" for word, count in doc)]) for doc in CORPUS]
    Path("train.svm").write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.testing.assert_array_equal(run("train.svm")["X"].toarray()[:, :5], COUNTS)
    Path("other.svm").write_text("1 0:1\n", encoding="utf-8")
    guessed = [load_svmlight_file(path)[0].shape[1] for path in ("train.svm", "other.svm")]
    assert guessed == [3, 1]


def test_matrix_market_of_cells(run):
    with gzip.open("matrix.mtx.gz", "wt", encoding="utf-8") as file:
        file.write(matrix_market(COUNTS.T))
    names = run("matrix.mtx.gz")
    np.testing.assert_array_equal(names["X"].toarray(), COUNTS)


@pytest.mark.filterwarnings("ignore")  # of scanpy and anndata
def test_cells_of_10x_by_scanpy(run):
    h5py, scanpy = pytest.importorskip("h5py"), pytest.importorskip("scanpy")
    cells, kinds = sparse.csr_array(COUNTS.astype(np.int32)), ["Gene Expression"] * 4 + ["Antibody Capture"]
    features = {"id": WORDS, "name": ["ant", "ant", *WORDS[2:]], "feature_type": kinds, "genome": ["GRCh38"] * 5}
    with h5py.File("filtered_feature_bc_matrix.h5", "w") as file:
        matrix = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):  # of genes by cells as CSC, which cells by genes are as CSR
            matrix[name] = getattr(cells, name)
        matrix["shape"] = COUNTS.shape[::-1]
        matrix["barcodes"] = np.array([f"{i}-1" for i in range(len(COUNTS))], dtype="S")
        for name, values in features.items():
            matrix[f"features/{name}"] = np.array(values, dtype="S")
    with pytest.warns(UserWarning, match="Variable names are not unique"):
        names = run("filtered_feature_bc_matrix.h5")
    with pytest.warns(UserWarning, match="Variable names are not unique"):
        genes = scanpy.read_10x_h5("filtered_feature_bc_matrix.h5")
    assert genes.shape == (len(COUNTS), 4)
    np.testing.assert_array_equal(names["adata"].X.toarray(), COUNTS)
    assert names["lda"].n_features_in_ == 4


@pytest.mark.filterwarnings("ignore")
def test_anndata(run):
    anndata = pytest.importorskip("anndata")
    X = sparse.csr_matrix(COUNTS.astype(np.float32))
    with anndata.settings.override(allow_write_nullable_strings=True):  # names are such texts under pandas 3
        anndata.AnnData(X.log1p(), layers={"counts": X}).write_h5ad("cells.h5ad")
    names = run("cells.h5ad")
    np.testing.assert_array_equal(names["adata"].layers["counts"].toarray(), COUNTS)
    np.testing.assert_array_equal(np.concatenate([block.toarray() for block in names["cells"]]), COUNTS)
    names["lda"].fit(names["adata"].X)
    backed = anndata.read_h5ad("cells.h5ad", backed="r")
    assert sparse.issparse(backed.layers["counts"])
    with pytest.raises(TypeError, match="is no array"):
        names["lda"].fit(backed.X)
    backed.file.close()


# -- embeddings

VECTORS = RNG.normal(size=(N, 8)).astype(np.float32)


def test_npy(run):
    np.save("vectors.npy", VECTORS)
    names = run("vectors.npy")
    assert isinstance(names["X"], np.memmap)
    assert names["directions"].n_features_in_ == 8


def peak_of(fit, *arguments):
    tracemalloc.start()
    fit(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_half_precision_becomes_double(tmp_path):
    half = np.tile(VECTORS, (250, 12)).astype(np.float16)
    np.save(tmp_path / "vectors.npy", half)
    X = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    directions = SparseVonMisesFisherMixture(2, max_iter=1, init_params="random_from_data")
    assert peak_of(directions.fit, X) > 4 * X.nbytes
    assert peak_of(blocks.fit, directions, blocks.from_arrays(X, rows=5_000)) < 4 * X.nbytes
    for kind in (np.float32, np.float64):
        rows = X.astype(kind)
        assert peak_of(directions.fit, rows) < rows.nbytes
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="infinity"):
        directions.fit(np.full((9, 2), 1e5).astype(np.float16))


def test_vectors_of_parquet(run):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    table = polars.DataFrame({"id": range(N), "embedding": VECTORS.tolist()})
    table.write_parquet("vectors.parquet")
    names = run("vectors.parquet")
    np.testing.assert_array_equal(np.concatenate(list(names["rows"])), VECTORS)
    objects = pandas.read_parquet("vectors.parquet")["embedding"]
    np.testing.assert_array_equal(np.stack(objects), VECTORS)
    with pytest.raises(TypeError, match=r"give an array of them, numpy\.stack"):
        names["directions"].fit(objects.to_frame())
    np.testing.assert_array_equal(table["embedding"].list.to_array(8).to_numpy(), VECTORS)
    gap = polars.DataFrame({"embedding": [[1.0, 2.0], None]})
    assert np.isnan(gap["embedding"].list.to_array(2).to_numpy()[1]).all()
    gap.write_parquet("gap.parquet")
    with pytest.raises(ValueError, match="different lengths"):
        list(blocks.from_parquet("gap.parquet"))


def test_hdf5(run):
    h5py = pytest.importorskip("h5py")
    with h5py.File("vectors.h5", "w") as file:
        file["vectors"] = VECTORS
    assert run("vectors.h5")["directions"].n_features_in_ == 8
    with h5py.File("vectors.h5") as file:
        rows = blocks.from_arrays(file["vectors"])
    with pytest.raises(ValueError, match="identifier"):
        rows[0]


# -- texts

TEXTS = ["the cat C", "the dog R", "NA", "007"] * 5


def test_folder_of_texts(run):
    Path("texts").mkdir()
    for i, text in enumerate(TEXTS):
        Path(f"texts/{i:02}.txt").write_text(text, encoding="utf-8")
    names = run("texts/*.txt")
    assert names["X"].shape[0] == len(TEXTS)
    assert names["vectorizer"].get_feature_names_out().tolist() == ["007", "cat", "dog", "na", "the"]
    assert "txt" in CountVectorizer().fit(["texts/00.txt"]).vocabulary_


def test_column_of_csv(run):
    pandas = pytest.importorskip("pandas")
    Path("reviews.csv").write_text("\n".join(["id,body", *(f"1,{text}" for text in TEXTS)]) + "\n", encoding="utf-8")
    assert run("reviews.csv")["texts"].to_list()[:3] == TEXTS[:3]
    table = pandas.read_csv("reviews.csv")
    assert table["body"].isna().sum() == 5
    assert set(CountVectorizer().fit(table).vocabulary_) == {"id", "body"}


def test_json_lines(run):
    pandas = pytest.importorskip("pandas")
    Path("posts.jsonl").write_text("".join(f'{{"body": "{text}"}}\n' for text in ["007"] * 9), encoding="utf-8")
    assert run("posts.jsonl")["texts"].to_list() == ["007"] * 9
    assert pandas.read_json("posts.jsonl", lines=True)["body"][0] == 7
