"""Readers of blocks: the rows of the whole, block by block, and copies that carry paths and not contents."""

import gc
import os
import pickle
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from packing import PACKERS, provide_zstandard
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix import SparseGaussianMixture, SparseLDA, blocks
from sparsemix._engine.rounds.plan import Plan
from sparsemix._engine.rounds.sample import chosen_rows, hashed
from sparsemix._engine.rounds.tree import Tree, branches, reduced
from sparsemix.blocks._readers.texts import remove

RNG = np.random.default_rng(0)
X = RNG.normal(size=(23, 3))
COUNTS = sparse.csr_array(RNG.poisson(0.5, (23, 7)))
ROWS = [0, 1, 3, 4, 8, 9, 11, 12, 13, 17, 19, 22]  # no range


def joined(data):
    parts = list(data)
    return np.concatenate([part.toarray() if sparse.issparse(part) else part for part in parts])


def check(data, whole, portable, most=20_000):
    """All rows in order, sizes that are true, and a copy that reads the same."""
    whole = whole.toarray() if sparse.issparse(whole) else whole
    for one in (data, pickle.loads(pickle.dumps(data))):
        np.testing.assert_array_equal(joined(one), whole)
        assert one.portable == portable
        if one.sizes is not None:
            assert list(one.sizes) == [part.shape[0] for part in one]
    assert len(pickle.dumps(data)) < most
    with pytest.raises(IndexError):
        data[len(data)]
    np.testing.assert_array_equal(joined([data[-1]]), joined([data[len(data) - 1]]))


@pytest.mark.parametrize("rows", [None, 1, 4, 23, 100])
@pytest.mark.parametrize("kind", ["array", "float32", "fortran", "csr", "csr 64-bit", "list"])
def test_arrays(rows, kind):
    numbers = (part.astype(np.int64) for part in (COUNTS.indices, COUNTS.indptr))
    wide = sparse.csr_array((COUNTS.data, *numbers), COUNTS.shape)
    data = {"array": X, "float32": X.astype(np.float32), "fortran": np.asfortranarray(X), "csr": COUNTS,
            "csr 64-bit": wide, "list": X.tolist()}[kind]  # fmt: skip
    check(blocks.from_arrays(data, rows), X if kind == "list" else data, portable=False)


def test_default_blocks_hold_64_mb():
    data = blocks.from_arrays(np.broadcast_to(np.zeros(1), (1 << 16, 1024)))
    assert data.sizes == [8192] * 8


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maps_travel_as_paths(tmp_path, order, dtype):
    big = np.asarray(RNG.normal(size=(20_000, 3)), dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", big)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    check(blocks.from_arrays(mapped, 3000), big, portable=True, most=2000)
    check(blocks.from_npz(tmp_path / "x.npy"), big, portable=True, most=2000)
    assert not blocks.from_arrays(mapped[5:], 3000).portable  # a part of a map is no file
    np.testing.assert_array_equal(joined(pickle.loads(pickle.dumps(blocks.from_arrays(mapped[5:], 3000)))), big[5:])


def test_maps_of_a_matrix(tmp_path):
    big = sparse.random_array((5000, 50), density=0.1, format="csr", rng=RNG)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(big, name))
    parts = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr")]
    mapped = sparse.csr_array(tuple(parts), shape=big.shape, copy=False)
    check(blocks.from_arrays(mapped, 1100), big, portable=True, most=2000)


def test_wrong_arrays():
    with pytest.raises(TypeError, match="CSC format; give CSR"):
        blocks.from_arrays(COUNTS.tocsc())
    with pytest.raises(ValueError, match="1 dimensions; give rows and columns"):
        blocks.from_arrays(np.zeros(3))
    with pytest.raises(ValueError, match="rows is 0"):
        blocks.from_arrays(X, 0)


def squares(i):
    return np.full((i, 2), i**2)


def test_functions():
    whole = np.concatenate([squares(i) for i in range(4)])
    check(blocks.from_function(4, squares), whole, portable=True)
    check(blocks.from_function(4, squares, sizes=range(4)), whole, portable=True)
    with pytest.raises(ValueError, match="sizes has 3 numbers for 4 blocks"):
        blocks.from_function(4, squares, sizes=[1, 2, 3])


def test_archives(tmp_path):
    sparse.save_npz(tmp_path / "0.npz", COUNTS[:9].tocsr())
    np.savez(tmp_path / "1.npz", X=COUNTS[9:].toarray())
    check(blocks.from_npz([tmp_path / "0.npz", tmp_path / "1.npz"]), COUNTS, portable=True)
    for kind in ("coo", "csc", "dia"):  # SciPy saves each with other arrays
        sparse.save_npz(tmp_path / f"{kind}.npz", COUNTS[:9].asformat(kind))
        np.testing.assert_array_equal(blocks.from_npz(tmp_path / f"{kind}.npz")[0].toarray(), COUNTS[:9].toarray())
    np.savez(tmp_path / "2.npz", a=X, b=X)
    with pytest.raises(ValueError, match="holds the arrays a, b; save one array"):
        blocks.from_npz(tmp_path / "2.npz")[0]
    np.savez(tmp_path / "2.npz", a=X[0])
    with pytest.raises(ValueError, match=r"2\.npz holds an array of shape \(\d+,\); save a matrix, \(rows, features\)"):
        blocks.from_npz(tmp_path / "2.npz")[0]
    with pytest.raises(FileNotFoundError, match=r"3\.npz does not exist"):
        blocks.from_npz(tmp_path / "3.npz")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_damaged_archives_are_named(kind, compressed, tmp_path):
    """Zip, zlib and NumPy have errors of their own, and a changed byte may name another compression or a password."""
    path = tmp_path / "0.npz"
    if kind == "matrix":
        sparse.save_npz(path, COUNTS.tocsr(), compressed=compressed)
    else:
        (np.savez_compressed if compressed else np.savez)(path, COUNTS.toarray())
    whole, rng, messages = path.read_bytes(), np.random.default_rng(0), []
    damaged = [whole[:at] for at in rng.integers(len(whole), size=20)] + [b"", b"nothing of the kind"]
    for at in [*rng.integers(len(whole), size=60), *range(40)]:
        damaged.append(whole[:at] + bytes([rng.integers(256)]) + whole[at + 1 :])
    for content in damaged:
        path.write_bytes(content)
        try:
            blocks.from_npz(path)[0]
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 15
    named = "0.npz is damaged, or not a file of NumPy or SciPy", "0.npz holds the arrays"
    assert [message for message in messages if not any(text in message for text in named)] == []


@pytest.mark.parametrize("lines", [1, 3, 100])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_texts(tmp_path, lines, end):
    texts = ["one two", "zwei drei vier fünf", "", "two two two", "one fünf"]
    (tmp_path / "a.txt").write_bytes(("\n".join(texts[:2]) + end).encode())
    (tmp_path / "b.txt").write_bytes((end or "\n").join(texts[2:]).encode())
    counter = CountVectorizer().fit(texts)
    data = blocks.from_text([tmp_path / "a.txt", tmp_path / "b.txt"], counter, lines)
    check(data, counter.transform(texts), portable=True)
    assert [text for i in range(len(data)) for text in data.texts(i)] == texts
    with pytest.raises(ValueError, match="lines is 0"):
        blocks.from_text(tmp_path / "a.txt", counter, 0)


class Counter:
    """A vectorizer that notes the texts of its calls."""

    def __init__(self, vectorizer):
        self.vectorizer, self.calls = vectorizer, []

    def transform(self, texts):
        self.calls.append(tuple(texts))
        return self.vectorizer.transform(texts)


def test_words_are_counted_once_per_block(tmp_path):
    texts = [f"one fünf w{i} w{i % 7}" for i in range(90)]
    (tmp_path / "t.txt").write_text("\n".join(texts), encoding="utf-8")
    fits = []
    for cache, n_calls in ((None, 3), (tmp_path / "new" / "counts", 3), (False, 3 * 4)):
        counter = Counter(CountVectorizer().fit(texts))
        data = blocks.from_text(tmp_path / "t.txt", counter, 40, cache=cache)
        fits.append(blocks.fit(SparseLDA(3, max_iter=2, tol=0.0, random_state=0), data).components_)
        assert len(counter.calls) == n_calls
        assert len(set(counter.calls)) == 3
        copy, folder = pickle.loads(pickle.dumps(data)), data._cache
        assert folder is None or len(list(Path(folder).iterdir())) == 3
        np.testing.assert_array_equal(joined(copy), counter.vectorizer.transform(texts).toarray())
        assert bool(copy._vectorizer.calls[n_calls:]) == (cache is False)
        del data
        gc.collect()  # the fit made cycles
        assert folder is None or not Path(folder).exists()
        np.testing.assert_array_equal(joined(copy), counter.vectorizer.transform(texts).toarray())
        assert not list((tmp_path / "new" / "counts").glob("*"))
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0], other)
    with pytest.raises(TypeError, match="cache is 3; give a folder, None for a temporary one, or False"):
        blocks.from_text(tmp_path / "t.txt", counter, cache=3)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_counts_that_were_not_written_are_counted_again(tmp_path, monkeypatch, error):
    (tmp_path / "t.txt").write_text("one two\ntwo\n")
    counter = Counter(CountVectorizer().fit(["one two"]))
    data, save = blocks.from_text(tmp_path / "t.txt", counter, cache=tmp_path), sparse.save_npz

    def interrupted(file, X, **options):
        save(file, X, **options)
        raise error

    monkeypatch.setattr(sparse, "save_npz", interrupted)
    with pytest.raises(KeyboardInterrupt) if error is KeyboardInterrupt else nullcontext():
        np.testing.assert_array_equal(data[0].toarray(), [[1, 1], [0, 1]])
    assert not list(Path(data._cache).iterdir())
    monkeypatch.undo()
    for _ in range(2):
        np.testing.assert_array_equal(data[0].toarray(), [[1, 1], [0, 1]])
    assert len(counter.calls) == 2


def test_damaged_counts_are_counted_again_and_only_their_process_removes_them(tmp_path):
    (tmp_path / "t.txt").write_text("one two\ntwo\n")
    counter = Counter(CountVectorizer().fit(["one two"]))
    data = blocks.from_text(tmp_path / "t.txt", counter, cache=tmp_path / "counts")
    for n_calls in (1, 2):
        np.testing.assert_array_equal(data[0].toarray(), [[1, 1], [0, 1]])
        assert len(counter.calls) == n_calls
        (path,) = Path(data._cache).iterdir()
        path.write_bytes(path.read_bytes()[:90])
    remove(data._cache, os.getpid() + 1)  # as in a process that was forked
    assert Path(data._cache).exists()


@pytest.mark.parametrize("lines", [1, 40, 100])
@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_texts(tmp_path, monkeypatch, ending, lines):
    if ending == ".zst":
        provide_zstandard(monkeypatch)
    texts = [f"one fünf w{i}" for i in range(105)]
    packed = PACKERS[ending]("\n".join(texts).encode())
    (tmp_path / f"t.txt{ending}").write_bytes(packed)
    counter = CountVectorizer().fit(texts)
    places = [tmp_path / f"t.txt{ending}", str(tmp_path / "*.txt.*")]
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe(f"/{tmp_path.name}{ending}", packed)
    places.append(f"memory://{tmp_path.name}{ending}")
    for place in places:
        data = blocks.from_text(place, counter, lines)
        check(data, counter.transform(texts), portable=True)
        assert [text for i in range(len(data)) for text in data.texts(i)] == texts


# -- optional packages


@pytest.mark.parametrize(
    ("module", "read"),
    [
        ("h5py", blocks.from_h5ad),
        ("zarr", blocks.from_zarr),
        ("pyarrow", lambda path: blocks.from_parquet(path, doc="doc", word="word")),
    ],
)
def test_what_is_missing_is_named(module, read, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    message = f"{module} is needed to read this and is not installed: pip install {module}"
    with pytest.raises(ImportError, match=message):
        read(tmp_path / "file")


@pytest.mark.parametrize("kind", ["csr", "dense", "layer"])
def test_single_cells(tmp_path, kind):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        place = file.create_group("layers") if kind == "layer" else file
        name = "binary" if kind == "layer" else "X"
        if kind == "dense":
            place[name] = COUNTS.toarray()
        else:
            group = place.create_group(name)
            group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", COUNTS.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(COUNTS, part)
    data = blocks.from_h5ad(tmp_path / "cells.h5ad", layer="binary" if kind == "layer" else None, rows=5)
    check(data, COUNTS, portable=True)
    with h5py.File(tmp_path / "cells.h5ad", "r+") as file:  # topics may be written next to what was read
        file["theta"] = np.ones(2)
    check(data, COUNTS, portable=True)
    with pytest.raises(KeyError, match="has no 'layers/raw'"):
        blocks.from_h5ad(tmp_path / "cells.h5ad", layer="raw")


def test_files_that_anndata_wrote(tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(sparse.csr_matrix(COUNTS.astype(np.float32)))
    cells.layers["columns"] = sparse.csc_matrix(COUNTS)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    check(blocks.from_h5ad(tmp_path / "cells.h5ad", rows=6), COUNTS, portable=True)
    with pytest.raises(ValueError, match=r"as csc_matrix, whose rows cannot be read.*tocsr"):
        blocks.from_h5ad(tmp_path / "cells.h5ad", layer="columns")


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.save(str(tmp_path / "x.zarr"), X)
    check(blocks.from_zarr(tmp_path / "x.zarr", rows=5), X, portable=True)
    zarr.save(str(tmp_path / "line.zarr"), X[:, 0])
    with pytest.raises(ValueError, match="has 1 dimensions; give rows and columns"):
        blocks.from_zarr(tmp_path / "line.zarr")
    cells = zarr.open_group(str(tmp_path / "cells.zarr"), mode="w")
    cells.attrs["encoding-type"] = "anndata"
    cells.create_array("X", data=X)
    with pytest.raises(ValueError, match=r"is a group of X; give array, .*array='X'"):
        blocks.from_zarr(tmp_path / "cells.zarr")
    check(blocks.from_zarr(tmp_path / "cells.zarr", "X", rows=5), X, portable=True)
    (tmp_path / "cells.h5ad").touch()
    with pytest.raises(ValueError, match=r"cells\.h5ad is a file of HDF5; give it to blocks\.from_h5ad"):
        blocks.from_zarr(tmp_path / "cells.h5ad")
    with pytest.raises(ValueError, match=r"cells\.zarr is a Zarr store; .* blocks\.from_zarr\(path, array='X'\)"):
        blocks.from_h5ad(tmp_path / "cells.zarr")


@pytest.mark.parametrize("group", ["matrix", "GRCh38"])  # of versions 3 and 2
def test_files_of_10x_are_named(tmp_path, group):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "filtered.h5", "w") as file:
        node = file.create_group(group)
        for name in ("barcodes", "data", "indices", "indptr", "shape"):
            node[name] = np.zeros(2, dtype=int)
    with pytest.raises(KeyError, match=rf"no 'X'; it has {group}; it is a file of 10x: scanpy\.read_10x_h5"):
        blocks.from_h5ad(tmp_path / "filtered.h5")


@pytest.mark.parametrize("paths", [X, [X], 3, [b"x.npz"]])
def test_what_is_no_path_is_refused(paths):
    for read in (blocks.from_npz, blocks.from_h5ad, blocks.from_zarr, blocks.from_parquet):
        with pytest.raises(TypeError, match=r"paths holds the type .*, which is no path; give the path of the file"):
            read(paths)


@pytest.mark.parametrize("group", [1, 3, 10, 1000])
@pytest.mark.parametrize("counted", [True, False])
def test_long_tables(tmp_path, group, counted):
    """Documents that continue in later groups, over several of them, are whole and come once."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    docs, words = COUNTS.nonzero()
    table = {"d": docs + 100, "w": words, "n": COUNTS.data}
    if not counted:
        table = {name: np.repeat(values, COUNTS.data) for name, values in table.items()}
    parquet.write_table(pyarrow.table(table), tmp_path / "t.parquet", row_group_size=group)
    count = "n" if counted else None
    data = blocks.from_parquet(tmp_path / "t.parquet", doc="d", word="w", count=count)
    kept = COUNTS[np.flatnonzero(np.diff(COUNTS.indptr))]
    assert data.sizes == [block.shape[0] for block in data]
    np.testing.assert_array_equal(joined(pickle.loads(pickle.dumps(data))), kept.toarray())
    assert blocks.from_parquet(tmp_path / "t.parquet", doc="d", word="w", n_features=9)[0].shape[1] == 9
    with pytest.raises(ValueError, match="has no column 'x'; it has d, w, n"):
        blocks.from_parquet(tmp_path / "t.parquet", doc="d", word="x")
    with pytest.raises(ValueError, match="doc is given without word"):
        blocks.from_parquet(tmp_path / "t.parquet", doc="d")


@pytest.mark.parametrize("group", [1, 2, 1000])
@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ([[3, 3, 1, 1, 2]], None),  # in any order that keeps lines together
        ([[3, 3], [], [1, 1], [2]], None),
        ([[3, 1, 3]], 3),
        ([[3, 3, 3, 1, 2, 1]], 1),
        ([[3, 1], [2, 3]], 3),
        ([[3, 1, 1], [1, 2]], 1),  # continues in the next file
    ],
)
def test_scattered_documents_are_named(tmp_path, group, kind, files, wrong):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    dtype = {int: pyarrow.int64(), str: pyarrow.string()}[kind]
    for i, docs in enumerate(files):
        table = {"day": pyarrow.array([kind(doc) for doc in docs], dtype), "w": np.zeros(len(docs), int)}
        parquet.write_table(pyarrow.table(table), tmp_path / f"{i}.parquet", row_group_size=group)

    def read():
        return blocks.from_parquet(tmp_path, doc="day", word="w", n_features=1)

    if wrong is None:
        assert sum(read().sizes) == len(joined(read())) == 3
        return
    with pytest.raises(ValueError, match=rf"{len(files) - 1}\.parquet has lines of document {kind(wrong)!r} in row .*"
                                         r"sort the lines of all files by 'day'"):  # fmt: skip
        read()


def test_tables_that_hold_no_counts(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"

    def read(word, n_features=4, count=(1, 1, 1)):
        parquet.write_table(pyarrow.table({"doc": [0, 0, 1], "word": word, "count": list(count)}), path)
        return list(blocks.from_parquet(path, doc="doc", word="word", count="count", n_features=n_features))

    assert read([0, 1, 3])[0].shape == (2, 4)
    wrong = {
        "word 4": [0, 1, 4], "word -1": [0, -1, 3], "no whole": ["a", "b", "c"],
        "no value in line 1 of row group 0": [0, None, 3],
    }  # fmt: skip
    for message, word in wrong.items():
        with pytest.raises(ValueError, match=message):
            read(word)
    with pytest.raises(ValueError, match="no numbers in the column 'count'"):
        read([0, 1, 3], count="abc")
    with pytest.raises(ValueError, match="n_features is -1"):
        read([0, 1, 3], -1)
    with pytest.raises(ValueError, match="no numbers of words"):
        read(["a", "b", "c"], None)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="not a file of pyarrow"):
        blocks.from_parquet(path)


@pytest.mark.parametrize("part", ["indptr", "indices", "shape", "short"])
def test_parts_of_single_cells_that_do_not_fit(tmp_path, part):
    h5py = pytest.importorskip("h5py")
    X = sparse.csr_array(np.eye(5))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    if part == "indptr":
        X.indptr[2] = 1 << 30
    elif part == "indices":
        parts["indices"] = X.indices[:-1]
    elif part == "short":
        parts["indptr"] = X.indptr[:-1]
    with h5py.File(tmp_path / "x.h5ad", "w") as root:
        for name, values in parts.items():
            root[f"X/{name}"] = values
        root["X"].attrs["encoding-type"] = "csr_matrix"
        root["X"].attrs["shape"] = (5, -1) if part == "shape" else (5, 5)
    with pytest.raises(ValueError, match="do not fit each other"):
        blocks.from_h5ad(tmp_path / "x.h5ad")
    (tmp_path / "x.h5ad").write_bytes(b"no such file")
    with pytest.raises(ValueError, match="not a file of h5py"):
        blocks.from_h5ad(tmp_path / "x.h5ad")


@pytest.mark.parametrize("part", ["indptr", "indices", "shape"])
def test_fractions_are_no_places_in_a_matrix(tmp_path, part):
    h5py = pytest.importorskip("h5py")
    X = sparse.csr_array(np.eye(5))
    with h5py.File(tmp_path / "x.h5ad", "w") as root:
        for name in ("data", "indices", "indptr"):
            root[f"X/{name}"] = getattr(X, name) + (0.5 if name == part else 0)
        root["X"].attrs["encoding-type"] = "csr_matrix"
        root["X"].attrs["shape"] = (5.5, 5.0) if part == "shape" else (5, 5)
    with pytest.raises(ValueError, match=r"x\.h5ad has bounds of rows, columns or a shape of 'X' that are not whole"):
        blocks.from_h5ad(tmp_path / "x.h5ad")


def test_wide_tables(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({c: X[:, i] for i, c in enumerate("abc")})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=9)
    check(blocks.from_parquet(tmp_path / "t.parquet"), X, portable=True)
    check(blocks.from_parquet(tmp_path / "t.parquet", columns=["c", "a"]), X[:, [2, 0]], portable=True)


@pytest.mark.parametrize("named", [True, False])
def test_an_index_of_pandas_is_no_feature(tmp_path, named):
    """The index is no feature, as in pandas and Dask, unless the caller names its column; tables in memory too."""
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X, columns=list("abc")).iloc[ROWS].rename_axis("id" if named else None)
    index = "id" if named else "__index_level_0__"
    for name in "xy":
        frame.to_parquet(tmp_path / f"{name}.parquet")
    data = blocks.from_parquet(tmp_path)
    check(data, np.concatenate([X[ROWS]] * 2), portable=True)
    check(blocks.from_parquet(tmp_path / "x.parquet", columns=[index, "a"]),
          np.column_stack([ROWS, X[ROWS, 0]]), portable=True)  # fmt: skip
    whole = pyarrow.Table.from_pandas(frame)
    assert index in whole.column_names
    np.testing.assert_array_equal(joined(blocks.from_arrays(whole, 5)), X[ROWS])
    for est in (blocks.fit(SparseGaussianMixture(2, max_iter=1, tol=0, random_state=0), data),
                SparseGaussianMixture(2, max_iter=1, tol=0, random_state=0).fit(whole)):  # fmt: skip
        assert est.n_features_in_ == 3
        assert est.transform(whole).shape == est.transform(frame).shape == (12, 2)


# -- several files

PARTS = (slice(0, 9), slice(9, 10), slice(10, 23))


def write_parts(kind, folder):
    """Three files of a kind, the middle one with its columns in another order where they have names."""
    if kind == "npz":
        for i, part in enumerate(PARTS):
            sparse.save_npz(folder / f"{i}.npz", COUNTS[part])
        return blocks.from_npz, 1
    if kind == "parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        for i, part in enumerate(PARTS):
            columns = {name: COUNTS.toarray()[part, j] for j, name in enumerate("abcdefg")}
            names = "gabcdef" if i == 1 else "abcdefg"
            table = pyarrow.table({name: columns[name] for name in names})
            parquet.write_table(table, folder / f"{i}.parquet", row_group_size=5)
        return blocks.from_parquet, 2
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("zarr" if kind == "zarr" else "h5py")
    for i, part in enumerate(PARTS):
        cells = anndata.AnnData(sparse.csr_matrix(COUNTS[part].astype(np.float32)))
        cells.raw = cells.copy()
        cells.X = cells.X * 0.5
        (cells.write_h5ad if kind == "h5ad" else cells.write_zarr)(folder / f"{i}.{kind}")
    if kind == "h5ad":
        return lambda paths: blocks.from_h5ad(paths, raw=True, rows=5), 2
    return lambda paths: blocks.from_zarr(paths, "raw/X", rows=5), 2


@pytest.mark.filterwarnings("ignore")  # of anndata and zarr
@pytest.mark.parametrize("kind", ["npz", "parquet", "h5ad", "zarr"])
def test_lists_folders_globs_and_addresses_are_all_their_files(tmp_path, kind):
    read, per_nine = write_parts(kind, tmp_path)
    paths = [tmp_path / f"{i}.{kind}" for i in range(3)]
    for form in (paths, tuple(map(str, paths)), tmp_path, str(tmp_path / f"*.{kind}"), str(tmp_path / f"[0-2].{kind}")):
        data = read(form)
        check(data, COUNTS, portable=True)
        assert len(data) == (per_nine + 1 + (3 if per_nine == 2 else 1))
    np.testing.assert_array_equal(joined(read(paths[::2])), np.delete(COUNTS.toarray(), 9, axis=0))
    with pytest.raises(ValueError, match="the list of paths is empty"):
        read([])
    (tmp_path / "empty").mkdir()
    if kind != "zarr":  # where an empty folder may be a store
        with pytest.raises(FileNotFoundError, match=rf"empty has no file that ends in .*\.{kind}"):
            read(tmp_path / "empty")
    with pytest.raises(FileNotFoundError, match="matches no file"):
        read(str(tmp_path / "q*"))
    if kind != "zarr":
        fsspec = pytest.importorskip("fsspec")
        system = fsspec.filesystem("memory")
        for path in paths:
            system.pipe(f"/{tmp_path.name}/{path.name}", path.read_bytes())
        for form in (f"memory://{tmp_path.name}", f"memory://{tmp_path.name}/*.{kind}"):
            np.testing.assert_array_equal(joined(read(form)), COUNTS.toarray())
        with pytest.raises(FileNotFoundError, match="memory://nothing does not exist"):
            read("memory://nothing")


@pytest.mark.filterwarnings("ignore")
def test_files_with_other_columns_are_refused(tmp_path):
    anndata = pytest.importorskip("anndata")
    for name, genes in (("a", "0123456"), ("b", "0123465")):
        cells = anndata.AnnData(sparse.csr_matrix(COUNTS.astype(np.float32)))
        cells.var_names = list(genes)
        cells.write_h5ad(tmp_path / f"{name}.h5ad")
    with pytest.raises(ValueError, match=r"column 5 of .*b\.h5ad is .6., and of .*a\.h5ad .5.; give files"):
        blocks.from_h5ad(tmp_path)
    cells[:, :4].copy().write_h5ad(tmp_path / "b.h5ad")
    with pytest.raises(ValueError, match=r"b\.h5ad has 4 columns, and .*a\.h5ad has 7"):
        blocks.from_h5ad(tmp_path)


def test_tables_with_other_columns_are_refused_and_lists_are_rows(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = {"a": "ab", "b": "abc"}
    for name, columns in names.items():
        parquet.write_table(pyarrow.table({c: X[:, i] for i, c in enumerate(columns)}), tmp_path / f"{name}.parquet")
    a, b = (tmp_path / f"{name}.parquet" for name in names)
    with pytest.raises(ValueError, match=r"b\.parquet has the column 'c', and the first file has not"):
        blocks.from_parquet([a, b])
    with pytest.raises(ValueError, match=r"a\.parquet has no column 'c'; it has a, b"):
        blocks.from_parquet([b, a])
    check(blocks.from_parquet([b, a], columns=["b", "a"]), np.concatenate([X[:, 1::-1]] * 2), portable=True)
    fixed = pyarrow.FixedSizeListArray.from_arrays(X.ravel(), 3)
    for vectors in (pyarrow.array(X.tolist()), fixed):
        parquet.write_table(pyarrow.table({"id": range(23), "vector": vectors}), a, row_group_size=9)
        check(blocks.from_parquet(a, columns=["vector"]), X, portable=True)
    with pytest.raises(ValueError, match=r"a\.parquet has lists next to .*; give columns=\['vector'\] alone"):
        list(blocks.from_parquet(a))
    parquet.write_table(pyarrow.table({"vector": [[1.0], [1.0, 2.0]]}), a)
    with pytest.raises(ValueError, match="lists of different lengths in the column 'vector': 1, 2"):
        list(blocks.from_parquet(a))


# -- plans, sums, samples


@pytest.mark.parametrize("sizes", [[100], [10] * 7, [0, 5, 0], [1, 1000, 3, 0, 250], [3] * 50])
@pytest.mark.parametrize("step_rows", [1, 7, 64, 300, 5000])
def test_plans_visit_every_row_once_in_about_equal_steps(sizes, step_rows):
    plan = Plan(sizes, step_rows, np.random.default_rng(0))
    rows = np.concatenate([np.arange(a, b) + 10_000 * block for block, a, b in plan.units])
    assert sorted(rows) == [r + 10_000 * block for block, n in enumerate(sizes) for r in range(n)]
    assert sorted(np.concatenate(plan.steps)) == list(range(len(plan.units)))
    assert sorted(np.concatenate(plan.groups)) == list(range(len(plan.steps)))
    found = [plan.rows(step) for step in plan.steps]
    assert min(found) > 0
    largest = max(b - a for _, a, b in plan.units)
    assert max(found) <= 1.5 * step_rows + 2 * largest
    assert largest <= max(1.5 * step_rows, 1)


@pytest.mark.parametrize("n", range(1, 20))
def test_both_trees_are_one(n):
    class Sum(str):
        __slots__ = ()

        def add(self, other):
            return Sum(f"({self}+{other})")

    tree, leaves = Tree(), [Sum(i) for i in range(n)]
    for leaf in leaves:
        tree.push(leaf)
    total = reduced(leaves, lambda left, right: left.add(right))
    assert tree.total() == total
    for size in (1, 2, 4, 8, 32):  # sums of parts, each by itself, and then of these
        parts = [reduced(part, lambda left, right: left.add(right)) for part in branches(leaves, size)]
        assert len(parts) == -(-n // size)
        assert reduced(parts, lambda left, right: left.add(right)) == total
    assert Tree().total() is None


def test_samples_depend_on_seed_and_number_alone():
    few, many = chosen_rows(3_000_000, 50, 3), chosen_rows(3_000_000, 500, 3)
    assert set(few) <= set(many)  # the smallest hashes
    assert len(np.unique(many)) == 500
    assert 0.4 < np.mean(many) / 1_500_000 < 1.6
    np.testing.assert_array_equal(few, np.sort(np.argsort(hashed(np.arange(3_000_000), 3))[:50]))
    assert not np.array_equal(few, chosen_rows(3_000_000, 50, 4))
    np.testing.assert_array_equal(chosen_rows(5, 9, 0), np.arange(5))


# -- rows in random order


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_shuffled_rows_are_the_same_rows_in_blocks_that_are_alike(tmp_path, kind):
    """Sorted rows become blocks of nearly one mean; the seed alone says which."""
    rows = np.sort(RNG.poisson(5.0, (4000, 3)), axis=0).astype(np.float32)
    data = blocks.from_arrays(rows if kind == "dense" else sparse.csr_array(rows), rows=300)
    mixed = blocks.shuffle(data, tmp_path / "one", n_blocks=7, random_state=3)
    found = joined(mixed)
    assert len(mixed) == 7
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[np.lexsort(found.T)], rows[np.lexsort(rows.T)])
    means = [block.mean() for block in mixed]
    assert max(means) - min(means) < 0.6 < rows[-500:].mean() - rows[:500].mean()
    assert abs(np.corrcoef(found[:, 0], np.arange(4000))[0, 1]) < 0.1  # within blocks too
    again = blocks.shuffle(data, tmp_path / "two", n_blocks=7, random_state=3)
    np.testing.assert_array_equal(joined(again), found)
    other = blocks.shuffle(data, tmp_path / "three", n_blocks=7, random_state=4)
    assert (joined(other) != found).any()
    assert sorted(path.suffix for path in (tmp_path / "one").iterdir()) == 7 * [".npy" if kind == "dense" else ".npz"]


def test_shuffled_blocks_have_64_mb(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsemix.blocks._shuffle.BLOCK_BYTES", 1000)
    mixed = blocks.shuffle([X, X[:0], X], tmp_path)  # 552 bytes each
    assert len(mixed) == 2
    assert sum(len(block) for block in mixed) == 46


def test_what_cannot_be_shuffled(tmp_path):
    with pytest.raises(ValueError, match="n_blocks is 0"):
        blocks.shuffle([X], tmp_path, n_blocks=0)
    with pytest.raises(ValueError, match="data has no rows"):
        blocks.shuffle([X[:0]], tmp_path)
    blocks.shuffle([X], tmp_path)
    with pytest.raises(ValueError, match="holds arrays already"):
        blocks.shuffle([X], tmp_path)
