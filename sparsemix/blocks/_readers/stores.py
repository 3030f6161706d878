"""Blocks of matrices in HDF5 and Zarr files: AnnData's files of single cells, and plain arrays."""

import os
import zlib
from collections.abc import Sequence
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import FilePath
from sparsemix.blocks._readers.arrays import Blocks, ConsecutiveBlocks, joined
from sparsemix.blocks._readers.paths import (
    changed,
    is_address,
    named_in_errors,
    needed,
    open_binary,
    paths_of,
    state_of,
)

PACKAGES = {"h5ad": "h5py", "zarr": "zarr"}
# Values that are compared at the beginning, in the middle and at the end of a matrix.
SAMPLE = 1000
# Parts of a Zarr array that writing changes: its description, and folders with the chunks of a line.
DESCRIPTIONS, FOLDERS = ("zarr.json", ".zarray", "data/zarr.json", "data/.zarray"), ("", "c", "data", "data/c")


@plain_arguments
def from_h5ad(
    paths: FilePath | Sequence[FilePath], layer: str | None = None, rows: int | None = None, raw: bool = False
) -> Blocks:
    """Blocks of the cells of AnnData files; reads only the matrix or layer.

    Parameters
    ----------
    paths : path-like or list of path-like
        ``.h5ad`` files whose matrix is dense or CSR (AnnData's default), with the same genes in the same order. Also
        folders, globs such as ``"run/*.h5ad"``, and addresses such as ``s3://bucket/x.h5ad`` (needs fsspec). Files of
        a folder or a glob are sorted by name.
    layer : str, default=None
        Name of a layer; None reads ``X``.
    rows : int, default=None
        Cells per block. None gives blocks of about 64 MB.
    raw : bool, default=False
        Read the matrix of ``adata.raw``, which often holds counts.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    ImportError
        If h5py is missing (``pip install h5py``; anndata is not needed).
    KeyError, ValueError
        For a missing layer, for a CSC matrix, whose rows are not contiguous, and for files with different genes.

    Examples
    --------
    >>> import os, tempfile
    >>> import h5py
    >>> from sparsemix.blocks import from_h5ad
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "cells.h5ad")
    ...     with h5py.File(path, "w") as file:
    ...         file["X"] = [[1, 0], [0, 2], [3, 0]]
    ...     [block.shape for block in from_h5ad(path, rows=2)]
    [(2, 2), (1, 2)]
    """
    if raw and layer is not None:
        raise ValueError(f"raw=True has no layers, and layer is {layer!r}; give one of the two")
    name = "raw/X" if raw else "X" if layer is None else f"layers/{layer}"
    return stores("h5ad", paths_of(paths, ".h5ad", is_marked), name, rows)


@plain_arguments
def from_zarr(paths: FilePath | Sequence[FilePath], array: str | None = None, rows: int | None = None) -> Blocks:
    """Blocks of the rows of Zarr arrays, or of sparse matrices written by AnnData.

    Parameters
    ----------
    paths : path-like or list of path-like
        Two-dimensional arrays, or groups, with the same columns. Also folders of ``.zarr`` stores, globs such as
        ``"run/*.zarr"``, and addresses such as ``s3://bucket/x.zarr`` (needs fsspec). Stores of a glob or a folder are
        sorted by name.
    array : str, default=None
        Name of the array in the group; AnnData's matrix is "X".
    rows : int, default=None
        Rows per block, preferably a multiple of the chunks on disk. None gives blocks of about 64 MB.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    ImportError
        If zarr is missing (``pip install zarr``).
    KeyError, ValueError
        For an array that is missing or not two-dimensional, and for a CSC matrix.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import zarr
    >>> from sparsemix.blocks import from_zarr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.zarr")
    ...     zarr.save(path, np.arange(6.0).reshape(3, 2))
    ...     [block.shape for block in from_zarr(path, rows=2)]
    [(2, 2), (1, 2)]
    """
    return stores("zarr", paths_of(paths, ".zarr", is_store), array, rows)


def is_marked(path):
    """Whether a folder has the files of a Zarr store."""
    return any(os.path.exists(os.path.join(path, name)) for name in ("zarr.json", ".zarray", ".zgroup"))


def is_store(path):
    """Whether a folder is a Zarr store, and not a folder of stores."""
    if is_address(path) or is_marked(path):
        return True
    return not any(name.endswith(".zarr") for name in os.listdir(path))


def stores(kind, paths, name, rows):
    """One reader of several stores with the same columns."""
    for path in paths:
        if kind == "zarr" and path.endswith(".h5ad"):
            raise ValueError(f"{path} is a file of HDF5; give it to blocks.from_h5ad")
        if kind == "h5ad" and not is_address(path) and os.path.isdir(path):
            raise ValueError(f"{path} is a Zarr store; read it by blocks.from_zarr(path, array={name!r})")
    readers = [StoreBlocks(kind, path, name, rows) for path in paths]
    first = readers[0]
    for other in readers[1:]:
        if other.n_columns != first.n_columns:
            raise ValueError(
                f"{other.path} has {other.n_columns} columns, and {first.path} has {first.n_columns}; give stores with "
                "the same columns"
            )
        if first.genes is not None and other.genes is not None and (first.genes != other.genes).any():
            at = int(np.flatnonzero(first.genes != other.genes)[0])
            raise ValueError(
                f"column {at} of {other.path} is {text(other.genes[at])!r}, and of {first.path} "
                f"{text(first.genes[at])!r}; give files with the same genes in the same order"
            )
    for reader in readers:
        reader.genes = None
    return joined(readers)


def sums_of(node):
    """What tells a matrix from another one in its place: shape, types, bounds of rows, and sums of some values."""
    data = node["data"] if hasattr(node, "keys") else node
    lines = max(1, SAMPLE // max(1, int(np.prod(data.shape[1:]))))
    sampled = [data[at : at + lines] for at in (0, data.shape[0] // 2, max(0, data.shape[0] - lines))]
    sums = [zlib.crc32(np.ascontiguousarray(part)) for part in sampled]
    if data is not node:
        sums += [zlib.crc32(np.ascontiguousarray(node["indptr"][:])), *np.asarray(node.attrs["shape"]).tolist()]
    return [data.shape, str(data.dtype), *sums]


def is_10x(root):
    """Whether this is a matrix of 10x Genomics, whose columns are the cells; older ones name it by the genome."""
    nodes = map(root.__getitem__, root.keys())
    return any({"barcodes", "indptr"} <= {*node.keys()} for node in nodes if hasattr(node, "keys"))


def text(value):
    """A name that may be stored as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


class StoreBlocks(ConsecutiveBlocks):
    """Blocks of consecutive rows of a dense array, or of a group with ``data``, ``indices`` and ``indptr``."""

    portable = True

    def __init__(self, kind, path, name, rows):
        self._kind, self.path, self._name = kind, path, name
        self._state = self._state_now()
        with named_in_errors(path, PACKAGES[kind]), self._opened() as root:
            node = self._member(root)
            self._indptr, self._shape, n_bytes = self._look(node)
            self._sums = sums_of(node)
            self.n_columns = self._shape[1]
            self.genes = self._names(root)
        super().__init__(self._shape[0], n_bytes, rows)

    def _look(self, node):
        """Row pointers (None for a dense array), shape, and bytes of all rows."""
        if hasattr(node, "keys"):
            encoding = dict(node.attrs).get("encoding-type", "none")
            if self._name is None and encoding not in ("csr_matrix", "csc_matrix"):
                raise ValueError(
                    f"{self.path} is a group of {', '.join(sorted(node.keys())) or 'nothing'}; give array, the name of "
                    "one: AnnData's matrix is array='X', and a layer array='layers/NAME'"
                )
            if encoding != "csr_matrix":
                raise ValueError(
                    f"{self.path} holds {self._name!r} as {encoding}, whose rows cannot be read separately; "
                    "write it as CSR, adata.X = adata.X.tocsr()"
                )
            indptr, shape = np.asarray(node["indptr"][:]), np.asarray(node.attrs["shape"])
            data, indices = node["data"], node["indices"]
            if not all(np.dtype(each.dtype).kind in "iu" for each in (indptr, shape, indices)):
                raise ValueError(
                    f"{self.path} has bounds of rows, columns or a shape of {self._name!r} that are not whole numbers"
                )
            indptr, shape = indptr.astype(np.int64), tuple(shape.tolist())
            fits = len(shape) == 2 and min(shape) >= 0 and indptr.shape == (shape[0] + 1,) and indptr[0] >= 0
            if not fits or (np.diff(indptr) < 0).any() or indptr[-1] > min(data.shape[0], indices.shape[0]):
                raise ValueError(
                    f"{self.path} has parts of {self._name!r} that do not fit each other: {len(indptr)} bounds of "
                    f"rows, {data.shape[0]} values, {indices.shape[0]} columns, shape {shape}"
                )
            return indptr, shape, int(indptr[-1]) * (data.dtype.itemsize + indices.dtype.itemsize)
        if len(node.shape) != 2:
            raise ValueError(f"{self.path} has {len(node.shape)} dimensions; give rows and columns")
        return None, tuple(node.shape), node.dtype.itemsize * node.shape[0] * node.shape[1]

    def _state_now(self):
        """States of the file, or of the parts of a folder that writing the matrix changes."""
        if self._kind == "h5ad" or (not is_address(self.path) and os.path.isfile(self.path)):
            return [state_of(self.path)]
        place = self.path if self._name is None else f"{self.path}/{self._name}"
        return [state_of(f"{place}/{part}") for part in DESCRIPTIONS + (() if is_address(self.path) else FOLDERS)]

    def _check(self, node):
        """Raise if the matrix has changed; other results may have been written to the store."""
        state = self._state_now()
        if state != self._state:
            if sums_of(node) != self._sums:
                raise changed(self.path)
            self._state = state

    def _names(self, root):
        """Names of the columns in an AnnData store; None if it has none."""
        place = "raw/var" if self._name is not None and self._name.startswith("raw/") else "var"
        if not hasattr(root, "keys") or place not in root or "_index" not in root[place].attrs:
            return None
        names = root[f"{place}/{root[place].attrs['_index']}"]
        names = names["values"] if hasattr(names, "keys") else names  # texts of pandas 3 are a group, with a mask
        return np.asarray(names[:]) if len(names.shape) == 1 and names.shape[0] == self.n_columns else None

    @contextmanager
    def _opened(self):
        """Open the store for one read: an open HDF5 file is locked for writers."""
        if self._kind == "zarr":
            yield needed("zarr").open(self.path, mode="r")
        elif is_address(self.path):
            with open_binary(self.path) as file, needed("h5py").File(file, "r") as root:
                yield root
        else:
            with needed("h5py").File(self.path, "r") as root:
                yield root

    def _member(self, root):
        if self._name is None:
            return root
        if self._name not in root:
            raise KeyError(
                f"{self.path} has no {self._name!r}; it has {', '.join(sorted(root.keys()))}"
                + ("; it is a file of 10x: scanpy.read_10x_h5(path).write_h5ad makes one of AnnData" * is_10x(root))
            )
        return root[self._name]

    def _read(self, i):
        start, stop = self._bounds[i : i + 2]
        with named_in_errors(self.path, PACKAGES[self._kind]), self._opened() as root:
            node = self._member(root)
            self._check(node)
            if self._indptr is None:
                return np.asarray(node[start:stop])
            indptr = self._indptr[start : stop + 1]
            data, indices = (np.asarray(node[name][indptr[0] : indptr[-1]]) for name in ("data", "indices"))
            return sparse.csr_array((data, indices, indptr - indptr[0]), shape=(stop - start, self._shape[1]))
