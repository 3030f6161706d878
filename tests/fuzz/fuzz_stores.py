"""Blocks of files in every format whose package is installed, damaged or not, and fits over them."""

import importlib
import pickle
import tempfile
from pathlib import Path

import numpy as np
from fuzz_data import draw_counts, draw_rows
from fuzz_estimators import CLEAR, attempt, look, quiet, said_clearly
from fuzz_functions import damaged, lines
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix import SparseGaussianMixture, SparseLDA, blocks

SIZES = (None, 1, 3, 1000, 0, -1)


def try_store(rng):
    """What a file holds, block by block; or a clear error where it is not as it was written."""
    name = sorted(KINDS)[rng.integers(len(KINDS))]
    write, package = KINDS[name]
    if package is not None and not installed(package):
        return f"{name} is not installed"
    with tempfile.TemporaryDirectory() as folder, quiet():
        counts = name not in WIDE and rng.random() < 0.7
        X = matrix_of(draw_counts(rng) if counts else draw_rows(rng))
        path, opened, X = write(rng, X, Path(folder))
        hurt = path is not None and rng.random() < 0.5
        if hurt:
            hurt = damage(rng, path)
        try:
            data = opened()
            if rng.random() < 0.3:
                data = pickle.loads(pickle.dumps(data))
            parts = list(data)
            assert all(part.ndim == 2 for part in parts), "a block is no matrix"
            if data.sizes is not None:
                assert [part.shape[0] for part in parts] == list(data.sizes), "sizes are not those of the blocks"
        except (*CLEAR, OSError, KeyError, MemoryError) as error:
            if not hurt and X is not None:
                raise AssertionError("a good file is not read") from error
            return f"{name} {type(error if isinstance(error, MemoryError) else said_clearly(error)).__name__}"
        if not hurt and X is not None:
            check_whole(parts, X)
        outcome = learn_from(rng, data, counts or name in ("text", "long parquet"))
    return f"{name} {outcome}"


def installed(package):
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True


def matrix_of(X):
    """Rows as an array, or as CSR whose numbers point into it; nothing else is written by those who write files."""
    if not sparse.issparse(X):
        return np.array(X, dtype=None if isinstance(X, np.ndarray) else np.float64)
    X = sparse.csr_array(X, copy=True)
    if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        X.indices[...] %= X.shape[1]
    X.sum_duplicates()
    return X


def damage(rng, path):
    """One file of a store is not as it was written; whether it differs."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    each = files[rng.integers(len(files))]
    before = each.read_bytes()
    each.write_bytes(damaged(rng, before))
    return each.read_bytes() != before


def check_whole(parts, X):
    """The blocks are all rows, in their order."""
    whole = np.concatenate([part.toarray() if sparse.issparse(part) else part for part in parts] or [X[:0]])
    np.testing.assert_array_equal(whole, X.toarray() if sparse.issparse(X) else X)


def learn_from(rng, data, counts):
    """A fit over the blocks: a model of finite numbers, or a clear error."""
    est = (
        SparseLDA(2, max_iter=1, random_state=0) if counts
        else SparseGaussianMixture(2, covariance_type="diag", max_iter=1, random_state=0)
    )  # fmt: skip
    error = attempt(lambda blocks_: blocks.fit(est, blocks_), data)
    if error is not None:
        assert sorted(vars(est)) == sorted(est.get_params(deep=False)), "a failed fit left attributes"
        return f"fit {type(error).__name__}"
    if rng.random() < 0.3 and len(data):
        look(est, data[0])
    return "good"


def size_of(rng):
    return SIZES[rng.integers(len(SIZES))] if rng.random() < 0.5 else None


def good(rows, X):
    """What is expected of a size of blocks: nothing where it is none."""
    return None if rows is not None and rows < 1 else X


# -- writers: the path, what opens it, and what is in it (None where opening may fail)


def npz(rng, X, folder):
    path = folder / "a.npz"
    if sparse.issparse(X):
        sparse.save_npz(path, X, compressed=bool(rng.integers(2)))
    else:
        (np.savez_compressed if rng.integers(2) else np.savez)(path, X)
    return path, lambda: blocks.from_npz(path), X


def npy(rng, X, folder):  # noqa: ARG001
    path = folder / "a.npy"
    X = X.toarray() if sparse.issparse(X) else X
    np.save(path, X)
    return path, lambda: blocks.from_npz([path]), X


def text(rng, X, folder):  # noqa: ARG001
    path, n = folder / "a.txt", size_of(rng) or 20
    path.write_bytes(lines(rng, "", path) + b"a b\n" * int(rng.integers(3)))
    counter = CountVectorizer(token_pattern=r"\w").fit(["a b c d", "e f g h"])
    return path, lambda: blocks.from_text(path, counter, lines=n), None


def parquet(rng, X, folder):
    import pyarrow
    from pyarrow import parquet

    path = folder / "a.parquet"
    X = X.toarray() if sparse.issparse(X) else X
    names = [f"x{j}" for j in range(X.shape[1])]
    table = pyarrow.table({name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(names)})
    spoilt = rng.random() < 0.2
    if spoilt:
        column = [["a", None, b"x", 1.5][rng.integers(4)]] * len(X)
        table = table.append_column("x", [column])
    parquet.write_table(table, path, row_group_size=int(rng.integers(1, 30)))
    columns = names if rng.random() < 0.3 else names[::-1][:2] if rng.random() < 0.2 else None
    expected = None if spoilt and columns is None else X if columns is None else X[:, [names.index(c) for c in columns]]
    if rng.random() < 0.1:
        columns, expected = ["no such"], None
    return path, lambda: blocks.from_parquet(path, columns=columns), expected


def long_parquet(rng, X, folder):
    import pyarrow
    from pyarrow import parquet

    path, X = folder / "a.parquet", sparse.coo_array(X)
    order = np.argsort(X.row, kind="stable")
    words, counts = X.col[order].astype(np.int64), X.data[order]
    spoilt = rng.random() < 0.2 and len(words)
    if spoilt:
        words[rng.integers(len(words))] = rng.choice([-1, 1 << 40, X.shape[1]])
    columns = {"doc": X.row[order].astype(np.int64), "word": words, "count": counts}
    kind = rng.integers(8)
    if kind == 0:
        columns["word"] = [str(word) for word in words]
    elif kind == 1:
        columns["doc"] = [f"d{row}" for row in columns["doc"]]
    elif kind == 2:
        columns["word"] = [None if i == 0 else int(word) for i, word in enumerate(words)]
    parquet.write_table(pyarrow.table(columns), path, row_group_size=int(rng.integers(1, 30)),
                        write_statistics=bool(rng.random() < 0.8))  # fmt: skip
    n = [None, X.shape[1], 1, -1, "x"][rng.integers(5)]
    count = "count" if rng.random() < 0.8 else None
    return path, lambda: blocks.from_parquet(path, doc="doc", word="word", count=count, n_features=n), None


def h5ad(rng, X, folder):
    import h5py

    path, rows = folder / "a.h5ad", size_of(rng)
    with h5py.File(path, "w") as root:
        spoilt = write_node(rng, root, X, lambda name, values: root["X"].create_dataset(name, data=values),
                            lambda values: root.create_dataset("X", data=values),
                            lambda: root.create_group("X"))  # fmt: skip
    layer = None if rng.random() < 0.9 else "no such"
    return path, lambda: blocks.from_h5ad(path, layer, rows), None if spoilt or layer else good(rows, X)


def zarr(rng, X, folder):
    import zarr

    path, rows = folder / "a.zarr", size_of(rng)
    root = zarr.open_group(path, mode="w")

    def array_in(group, name, values):
        values = np.asarray(values)
        chunks = tuple(max(1, n) for n in values.shape)
        node = group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=chunks)
        node[...] = values

    spoilt = write_node(rng, root, X, lambda name, values: array_in(root["X"], name, values),
                        lambda values: array_in(root, "X", values), lambda: root.create_group("X"))  # fmt: skip
    name = "X" if rng.random() < 0.9 else [None, "no such"][rng.integers(2)]
    return path, lambda: blocks.from_zarr(path, name, rows), None if spoilt or name != "X" else good(rows, X)


def write_node(rng, root, X, put, put_dense, make_group):
    """The matrix as AnnData writes it; whether something is wrong with it."""
    if not sparse.issparse(X):
        put_dense(X)
        return False
    make_group()
    parts = {"data": X.data, "indices": X.indices.copy(), "indptr": X.indptr.copy()}
    attributes = {"encoding-type": "csr_matrix", "shape": list(X.shape)}
    spoilt = rng.random() < 0.4
    if spoilt:
        spoil(rng, parts, attributes)
    for name, values in parts.items():
        put(name, values)
    for name, value in attributes.items():
        root["X"].attrs[name] = value
    return spoilt


def spoil(rng, parts, attributes):
    """Parts that do not fit each other."""
    kind = rng.integers(8)
    if kind == 0:
        attributes["shape"] = [[3], [5, -1], [1 << 40, 2], [0, 0], [2.5, 3]][rng.integers(5)]
    elif kind == 1:
        del attributes["shape"]
    elif kind == 2:
        attributes["encoding-type"] = "csc_matrix"
    elif kind == 3:
        del parts[sorted(parts)[rng.integers(3)]]
    elif kind == 4 and len(parts["indices"]):
        parts["indices"][rng.integers(len(parts["indices"]))] = rng.choice([-1, 1 << 30])
    elif kind == 5:
        parts["indptr"][rng.integers(len(parts["indptr"]))] = rng.choice([-5, 1 << 30])
    elif kind == 6:
        parts["data"] = parts["data"][:-1]
    else:
        parts["indptr"] = parts["indptr"][:-1]


WIDE = ("npy", "parquet")
KINDS = {
    "npz": (npz, None), "npy": (npy, None), "text": (text, None), "parquet": (parquet, "pyarrow"),
    "long parquet": (long_parquet, "pyarrow"), "h5ad": (h5ad, "h5py"), "zarr": (zarr, "zarr"),
}  # fmt: skip
