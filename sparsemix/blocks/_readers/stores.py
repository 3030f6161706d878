"""Blocks of matrices in HDF5 and Zarr files: AnnData's files of single cells, and plain arrays."""

from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from scipy import sparse

from sparsemix._estimator.parameters import plain_arguments
from sparsemix.blocks._readers.arrays import Blocks, bounds_of, rows_of
from sparsemix.blocks._readers.files import named_in_errors, needed, paths_of

PACKAGES = {"h5ad": "h5py", "zarr": "zarr"}


@plain_arguments
def from_h5ad(path, layer=None, rows=None):
    """Blocks of the cells of an AnnData file; reads only the matrix or layer.

    Parameters
    ----------
    path : path-like
        A ``.h5ad`` file whose matrix is dense or CSR (AnnData's default).
    layer : str, default=None
        Name of a layer; None reads ``X``.
    rows : int, default=None
        Cells per block. None gives blocks of about 64 MB.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    ImportError
        If h5py is missing (``pip install h5py``; anndata is not needed).
    KeyError, ValueError
        For a missing layer, and for a CSC matrix, whose rows are not contiguous.
    """
    return StoreBlocks("h5ad", paths_of(path)[0], "X" if layer is None else f"layers/{layer}", rows)


@plain_arguments
def from_zarr(path, array=None, rows=None):
    """Blocks of the rows of a Zarr array, or of a sparse matrix written by AnnData.

    Parameters
    ----------
    path : path-like
        A two-dimensional array, or a group.
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
    """
    return StoreBlocks("zarr", paths_of(path)[0], array, rows)


class StoreBlocks(Blocks):
    """Blocks of consecutive rows of a dense array, or of a group with ``data``, ``indices`` and ``indptr``."""

    portable = True

    def __init__(self, kind, path, name, rows):
        self._kind, self._path, self._name = kind, path, name
        if rows is not None and rows < 1:
            raise ValueError(f"rows is {rows}; give at least 1 row per block")
        with named_in_errors(path, PACKAGES[kind]), self._open() as node:
            self._indptr, self._shape, n_bytes = self._look(node)
        self._bounds = bounds_of(self._shape[0], rows_of(n_bytes, self._shape[0]) if rows is None else rows)

    def _look(self, node):
        """Row pointers (None for a dense array), shape, and bytes of all rows."""
        if hasattr(node, "keys"):
            encoding = dict(node.attrs).get("encoding-type", "none")
            if encoding != "csr_matrix":
                raise ValueError(
                    f"{self._path} holds {self._name!r} as {encoding}, whose rows cannot be read separately; "
                    "write it as CSR, adata.X = adata.X.tocsr()"
                )
            indptr, shape = np.asarray(node["indptr"][:]), np.asarray(node.attrs["shape"])
            data, indices = node["data"], node["indices"]
            if not all(np.dtype(each.dtype).kind in "iu" for each in (indptr, shape, indices)):
                raise ValueError(
                    f"{self._path} has bounds of rows, columns or a shape of {self._name!r} that are not whole numbers"
                )
            indptr, shape = indptr.astype(np.int64), tuple(shape.tolist())
            fits = len(shape) == 2 and min(shape) >= 0 and indptr.shape == (shape[0] + 1,) and indptr[0] >= 0
            if not fits or (np.diff(indptr) < 0).any() or indptr[-1] > min(data.shape[0], indices.shape[0]):
                raise ValueError(
                    f"{self._path} has parts of {self._name!r} that do not fit each other: {len(indptr)} bounds of "
                    f"rows, {data.shape[0]} values, {indices.shape[0]} columns, shape {shape}"
                )
            return indptr, shape, int(indptr[-1]) * (data.dtype.itemsize + indices.dtype.itemsize)
        if len(node.shape) != 2:
            raise ValueError(f"{self._path} has {len(node.shape)} dimensions; give rows and columns")
        return None, tuple(node.shape), node.dtype.itemsize * node.shape[0] * node.shape[1]

    @contextmanager
    def _open(self):
        """Open the array or group for one read: an open HDF5 file is locked for writers."""
        if self._kind == "h5ad":
            with needed("h5py").File(self._path, "r") as root:
                yield self._member(root)
        else:
            yield self._member(needed("zarr").open(self._path, mode="r"))

    def _member(self, root):
        if self._name is None:
            return root
        if self._name not in root:
            raise KeyError(f"{self._path} has no {self._name!r}; it has {', '.join(sorted(root.keys()))}")
        return root[self._name]

    @property
    def sizes(self):
        """Rows of each block."""
        return [b - a for a, b in pairwise(self._bounds)]

    def __len__(self):
        return len(self._bounds) - 1

    def _read(self, i):
        start, stop = self._bounds[i : i + 2]
        with named_in_errors(self._path, PACKAGES[self._kind]), self._open() as node:
            if self._indptr is None:
                return np.asarray(node[start:stop])
            indptr = self._indptr[start : stop + 1]
            data, indices = (np.asarray(node[name][indptr[0] : indptr[-1]]) for name in ("data", "indices"))
            return sparse.csr_array((data, indices, indptr - indptr[0]), shape=(stop - start, self._shape[1]))
