"""Files that change after their blocks were made are named, by all readers; texts are read by their byte order mark."""

import os
import pickle

import numpy as np
import pytest
from packing import PACKERS, provide_zstandard
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix import SparseLDA, blocks

X = np.random.default_rng(0).poisson(1.0, (40, 6)).astype(np.float64)
TEXTS = [f"one fünf w{i} w{i % 7}" for i in range(90)]
COUNTER = CountVectorizer().fit(TEXTS)
CHANGED = "has changed since its blocks were made: make the blocks again"


def write_text(path, X):
    path.write_text("\n".join(" ".join(f"w{int(x)}" for x in row) for row in X), encoding="utf-8")


def write_npz(path, X):
    sparse.save_npz(path, sparse.csr_array(X))


def write_npy(path, X):
    np.save(path.with_suffix(".new.npy"), X)  # in its place: one may not cut a file that is mapped
    os.replace(path.with_suffix(".new.npy"), path)


def write_parquet(path, X):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])}), path, 9)


def write_long_parquet(path, X):
    pa = pytest.importorskip("pyarrow")
    doc, word = X.nonzero()
    table = pa.table({"doc": doc, "word": word, "count": X[doc, word].astype(int)})
    pytest.importorskip("pyarrow.parquet").write_table(table, path, 50)


def write_h5ad(path, X):
    with pytest.importorskip("h5py").File(path, "w") as file:
        file["X"] = X


def write_sparse_h5ad(path, X):
    with pytest.importorskip("h5py").File(path, "w") as file:
        write_csr(file.create_group("X"), X)


def write_csr(group, X):
    X, create = sparse.csr_array(X), getattr(group, "create_array", None) or group.create_dataset
    group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", list(X.shape)
    for part in ("data", "indices", "indptr"):
        create(part, data=getattr(X, part))


def write_zarr(path, X):
    pytest.importorskip("zarr").create_array(store=str(path), data=X, overwrite=True)


def write_sparse_zarr(path, X):
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(str(path), mode="w")
    write_csr(root.create_group("X"), X)


READERS = {
    "text": (".txt", write_text, lambda path: blocks.from_text(path, COUNTER, lines=9, cache=False)),
    "text with counts": (".txt", write_text, lambda path: blocks.from_text(path, COUNTER, lines=9)),
    "npz": (".npz", write_npz, blocks.from_npz),
    "npy": (".npy", write_npy, blocks.from_npz),
    "map": (".npy", write_npy, lambda path: blocks.from_arrays(np.load(path, mmap_mode="r"), rows=9)),
    "parquet": (".parquet", write_parquet, blocks.from_parquet),
    "long": (".parquet", write_long_parquet,
             lambda path: blocks.from_parquet(path, doc="doc", word="word", count="count", n_features=6)),
    "h5ad": (".h5ad", write_h5ad, lambda path: blocks.from_h5ad(path, rows=9)),
    "sparse h5ad": (".h5ad", write_sparse_h5ad, lambda path: blocks.from_h5ad(path, rows=9)),
    "zarr": (".zarr", write_zarr, lambda path: blocks.from_zarr(path, rows=9)),
    "sparse zarr": (".zarr", write_sparse_zarr, lambda path: blocks.from_zarr(path, "X", rows=9)),
}  # fmt: skip


@pytest.mark.parametrize("change", ["values", "fewer", "more"])
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_changes_is_named(tmp_path, reader, change):
    ending, write, read = READERS[reader]
    path = tmp_path / f"rows{ending}"
    write(path, X)
    data = read(path)
    copy = pickle.loads(pickle.dumps(data))
    first = data.raw(0)
    other = {"values": X[:, ::-1] + (X > 0), "fewer": X[:-1], "more": np.vstack([X, X])}[change]
    write(path, other)
    for each in (data, copy):
        for i in (0, len(each) - 1):  # it has read the first block before
            with pytest.raises(ValueError, match=rf"rows\{ending} {CHANGED}"):
                each[i]
    again = read(path)
    assert again[0].shape[1] == np.shape(first)[1]
    assert sum(block.shape[0] for block in again) == (other.any(axis=1).sum() if reader == "long" else len(other))


def test_results_may_be_written_next_to_a_matrix(tmp_path):
    zarr = pytest.importorskip("zarr")
    write_sparse_zarr(tmp_path / "cells.zarr", X)
    data = blocks.from_zarr(tmp_path / "cells.zarr", "X", rows=9)
    zarr.open_group(str(tmp_path / "cells.zarr"), mode="r+").create_array("theta", data=np.ones(2))
    np.testing.assert_array_equal(np.concatenate([block.toarray() for block in data]), X)
    (tmp_path / "cells.zarr" / "X" / "data" / "zarr.json").touch()
    assert data[0].shape == (9, 6)


def test_an_address_that_changes_is_named(tmp_path):
    system = pytest.importorskip("fsspec").filesystem("memory")
    place = f"/{tmp_path.name}/rows.txt"
    system.pipe(place, "\n".join(TEXTS).encode())
    data = blocks.from_text(f"memory:/{place}", COUNTER, lines=9, cache=False)
    assert data[0].shape[0] == 9
    system.pipe(place, "\n".join(TEXTS[::-1]).encode())
    with pytest.raises(ValueError, match=f"rows.txt {CHANGED}"):
        data[1]


def test_a_fit_does_not_read_a_text_that_shrinks(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    data = blocks.from_text(path, COUNTER, lines=20, cache=False)
    path.write_text("\n".join(TEXTS[:30]), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"block 0: .*t\.txt {CHANGED}"):
        blocks.fit(SparseLDA(3, max_iter=2), data)


def test_counts_that_are_kept_are_refused_once_the_text_has_changed(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    data = blocks.from_text(path, COUNTER, lines=50)
    model = SparseLDA(2, max_iter=2, tol=0.0, random_state=0)
    blocks.fit(model, data)
    path.write_text("one", encoding="utf-8")
    for i in range(2):
        with pytest.raises(ValueError, match=CHANGED):
            data[i]
    with pytest.raises(ValueError, match=CHANGED):
        blocks.fit(model, data)


@pytest.mark.parametrize("ending", ["", *PACKERS])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
def test_texts_are_read_by_their_byte_order_mark(tmp_path, monkeypatch, encoding, ending):
    if ending == ".zst":
        provide_zstandard(monkeypatch)
    path, mark = tmp_path / f"t.txt{ending}", "\ufeff" * (encoding == "utf-16-be")
    for end in ("\n", "\r\n"):
        content = (mark + end.join([*TEXTS, "\u0a0a\u0d0d"])).encode(encoding)  # characters with bytes of line ends
        path.write_bytes(PACKERS[ending](content) if ending else content)
        data = blocks.from_text(path, COUNTER, lines=40)
        assert [text for i in range(3) for text in data.texts(i)] == [*TEXTS, "\u0a0a\u0d0d"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
def test_other_encodings_without_a_mark_are_refused(tmp_path, encoding):
    (tmp_path / "t.txt").write_bytes("\n".join(TEXTS).encode(encoding))
    message = rf"t\.txt is not text in UTF-8: document 1 of block 0 has zero bytes; it seems to be in {encoding}: con"
    with pytest.raises(ValueError, match=message):
        blocks.from_text(tmp_path / "t.txt", COUNTER)


def test_bytes_that_are_not_utf8_are_named_once(tmp_path):
    whole, damaged = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    whole.write_text("café\n\ufffd is a character\n", encoding="utf-8")
    damaged.write_bytes(PACKERS[".gz"]("plain\ncafé\nthé\n".encode("latin-1")))
    message = r"2 documents have bytes other than UTF-8, .*; the first one is line 2 of .*b\.txt\.gz; convert"
    with pytest.warns(UserWarning, match=message) as caught:
        data = blocks.from_text([whole, damaged], COUNTER, lines=2)
    assert [len(caught), caught[0].filename] == [1, __file__]
    assert data.texts(1) == ["plain", "caf\ufffd"]  # warnings are errors
