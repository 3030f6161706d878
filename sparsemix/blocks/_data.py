"""Conversion of data to a sequence of blocks, and of weights to one array per block."""

import os
import sys
from collections.abc import Mapping
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import check_container, csr_of, floats_of, is_frame, refuse_known
from sparsemix.blocks._readers.arrays import Blocks, from_arrays, is_stored
from sparsemix.blocks._readers.paths import needed

# Errors of Dask about tasks and futures of a client that was closed or restarted.
CANCELLED = "CancelledError", "FutureCancelledError", "FuturesCancelledError", "ClosedClientError"


def as_blocks(data):
    """A sequence of blocks from an array, a matrix, a data frame, a list, a reader, or a Dask collection."""
    refuse_files(data)
    if type(data).__module__ == "dask.delayed":  # it seems to have every attribute
        raise TypeError("data is one Delayed, whose number of blocks is unknown; give a list of Delayed, one per block")
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):  # of polars
        raise TypeError("data is a LazyFrame, which is not computed yet; give data.collect(), or blocks.from_parquet")
    if isinstance(data, (list, tuple)) and len(data) and type(data[0]).__module__ == "distributed.client":  # futures
        data = [needed("dask").delayed(block) for block in data]
    if type(data).__module__.split(".")[0] == "dask" or (
        isinstance(data, (list, tuple)) and len(data) and hasattr(data[0], "__dask_graph__")
    ):
        return DelayedBlocks(data)
    if sparse.issparse(data) or is_frame(data) or is_stored(data) or hasattr(type(data), "__array__"):
        return from_arrays(data)
    if not isinstance(data, Blocks):
        refuse_known(data, "data")
    if isinstance(data, Mapping):
        check_container(data, "data")
    if hasattr(data, "__len__") and hasattr(data, "__getitem__"):
        if len(data) == 0:
            raise ValueError("data has no blocks; give at least one")
        if isinstance(data, (list, tuple)):
            refuse_files(data[0])
            if is_row(data[0]) and is_row(data[-1]):
                raise ValueError("data is a list of rows, and each would be a block; give numpy.asarray(data)")
        return data if isinstance(data, Blocks) else ListedBlocks(data)
    raise TypeError(
        f"data is a {type(data).__name__}; give a sequence of blocks of rows, a reader of sparsemix.blocks, a matrix, "
        "or a Dask collection"
    )


def refuse_files(data):
    """Raise for files and for objects that stand for files; the error names the reader."""
    name, package = type(data).__name__, type(data).__module__.split(".")[0]
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        readers = {".h5ad": "from_h5ad", ".parquet": "from_parquet", ".pq": "from_parquet", ".zarr": "from_zarr",
                   ".npz": "from_npz", ".npy": "from_npz", ".txt": "from_text"}  # fmt: skip
        reader = readers.get(os.path.splitext(path)[1], "a reader of sparsemix.blocks, such as from_parquet")
        raise TypeError(f"data is the path {path!r}; read it with {'blocks.' * (reader in readers.values())}{reader}")
    if package == "anndata" and not isinstance(data, np.ndarray) and not sparse.issparse(data):  # but views of X
        path = None if getattr(data, "is_view", False) else getattr(data, "filename", None)
        place = "data.X, its matrix" if path is None else f"blocks.from_h5ad({os.fspath(path)!r})"
        if not hasattr(data, "obs"):
            place = "blocks.from_h5ad(path) of its file, or data.to_memory()"
        raise TypeError(f"data is an {name} object; give {place}")
    if package == "pyarrow" and not hasattr(data, "column_names"):
        raise TypeError(f"data is a {name} of pyarrow; give blocks.from_parquet(paths) of its files, or a table")
    if package in ("h5py", "zarr") and hasattr(data, "keys"):
        reader = "from_h5ad" if package == "h5py" else "from_zarr"
        raise TypeError(f"data is a {name} of {package}; give its path to blocks.{reader}, or one of its arrays")


def is_row(X):
    """Whether X is one row of numbers, and no block."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(np.isscalar(value) for value in X)


class ListedBlocks(Blocks):
    """Blocks of another sequence."""

    def __init__(self, data):
        self._data = data

    @property
    def sizes(self):
        """Rows of each block, if they are known without reading."""
        return [len_of(block) for block in self._data] if isinstance(self._data, (list, tuple)) else None

    def __len__(self):
        return len(self._data)

    def _read(self, i):
        return self._data[i]


def len_of(block):
    """Number of rows of a block."""
    return block.shape[0] if hasattr(block, "shape") else len(block)


class DelayedBlocks(Blocks):
    """Blocks of a ``dask.array`` in chunks of rows, of a bag, or of a list of Delayed, each computed separately."""

    def __init__(self, data):
        if hasattr(data, "rechunk") and data.ndim == 2 and data.numblocks[1] > 1:
            raise ValueError(
                f"data is a dask array in {data.numblocks[1]} chunks of columns; give it whole rows: "
                "data.rechunk({1: -1})"
            )
        # what workers of a cluster hold, as after persist()
        self._held = sys.modules["distributed"].futures_of(data) if "distributed" in sys.modules else []
        if any(future.status == "cancelled" for future in self._held):
            raise ValueError(cancelled("data"))
        parts = data.to_delayed() if hasattr(data, "to_delayed") else data
        self.delayed = list(np.asarray(parts, dtype=object).ravel())
        rows = data.chunks[0] if hasattr(data, "chunks") and hasattr(data, "rechunk") else [np.nan]
        self.sizes = None if np.isnan(rows).any() else list(rows)

    def __len__(self):
        return len(self.delayed)

    def _read(self, i):
        part = self.delayed[i]
        with cancellation_named(cancelled("data")):
            if self._held:
                return block_of(self._held[0].client.compute(part, sync=True))
            return block_of(needed("dask").compute(part, scheduler="synchronous")[0])


def cancelled(name):
    """The sentence about an argument whose client was closed."""
    return f"{name} holds futures of a client that was closed or restarted; make {name} again with an open Client"


@contextmanager
def cancellation_named(sentence):
    """Turn an error of Dask about a client that was closed into a sentence with the remedy."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ in CANCELLED:
            raise ValueError(sentence) from error
        raise


def raw_of(number, source):
    """A block as it was given, from a reader or from the value of a Dask partition."""
    return source.raw(number) if hasattr(source, "portable") else block_of(source)


def block_of(value):
    """Rows of a Dask partition: an array, a matrix, or a list of rows."""
    if isinstance(value, list) and len(value) and sparse.issparse(value[0]):
        return sparse.vstack([csr_of(rows, "a row") for rows in value], format="csr")
    return value


def weights_of(sample_weight, data):
    """Weights of each block in float64, or None. Given per block, or for all rows if the sizes of blocks are known."""
    if sample_weight is None:
        return None
    if any(hasattr(part, "__dask_graph__") for part in (sample_weight, *sample_weight[:1])):
        with cancellation_named(cancelled("sample_weight")):
            (sample_weight,) = needed("dask").compute(sample_weight)
    if is_row(sample_weight):
        sample_weight = np.asarray(sample_weight)
    whole = isinstance(sample_weight, np.ndarray) and sample_weight.dtype != object
    if whole:
        if data.sizes is None:
            raise ValueError("sample_weight is one array but the sizes of the blocks are unknown; give one per block")
        if sample_weight.shape != (sum(data.sizes),):
            raise ValueError(f"sample_weight has shape {sample_weight.shape}, expected ({sum(data.sizes)},)")
        sample_weight = np.split(sample_weight, np.cumsum(data.sizes)[:-1])
    if len(sample_weight) != len(data):
        raise ValueError(f"sample_weight has {len(sample_weight)} arrays for {len(data)} blocks; give one for each")
    return [np.ascontiguousarray(floats_of(weight, "sample_weight")) for weight in sample_weight]
