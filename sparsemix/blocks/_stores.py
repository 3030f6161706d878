"""Blocks of matrices in HDF5 and Zarr: AnnData's files of single cells, and plain arrays."""

from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from scipy import sparse

from sparsemix._estimator.parameters import plain_arguments
from sparsemix.blocks._arrays import Blocks, bounds_of, rows_of
from sparsemix.blocks._files import named_in_errors, needed, paths_of

PACKAGES = {"h5ad": "h5py", "zarr": "zarr"}


@plain_arguments
def from_h5ad(path, layer=None, rows=None):
    """Cells of an AnnData file, read block by block: nothing else of the file is loaded.

    Parameters
    ----------
    path : path-like
        A ``.h5ad`` file whose matrix is dense or CSR (AnnData's default).
    layer : str, default=None
        A layer; None means ``X``.
    rows : int, default=None
        Cells of a block. None means as many as 64 MB hold.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    ImportError
        Without h5py (``pip install h5py``; anndata itself is not needed).
    KeyError, ValueError
        For a layer that is missing, and for CSC, whose rows do not lie together.
    """
    return StoreBlocks("h5ad", paths_of(path)[0], "X" if layer is None else f"layers/{layer}", rows)


@plain_arguments
def from_zarr(path, array=None, rows=None):
    """Rows of a Zarr array, or of a sparse matrix as AnnData writes it.

    Parameters
    ----------
    path : path-like
        Of an array with two dimensions, or of a group.
    array : str, default=None
        Name of the array within a group; AnnData's is "X".
    rows : int, default=None
        Rows of a block. None means as many as 64 MB hold; best a multiple of the chunks on disk.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    ImportError
        Without zarr (``pip install zarr``).
    KeyError, ValueError
        For an array that is missing or has not two dimensions, and for CSC.
    """
    return StoreBlocks("zarr", paths_of(path)[0], array, rows)


class StoreBlocks(Blocks):
    """Consecutive rows of a dense array or of a group with ``data``, ``indices`` and ``indptr``."""

    portable = True

    def __init__(self, kind, path, name, rows):
        self._kind, self._path, self._name = kind, path, name
        if rows is not None and rows < 1:
            raise ValueError(f"rows is {rows}; a block needs one at least")
        with named_in_errors(path, PACKAGES[kind]), self._open() as node:
            self._indptr, self._shape, n_bytes = self._look(node)
        self._bounds = bounds_of(self._shape[0], rows_of(n_bytes, self._shape[0]) if rows is None else rows)

    def _look(self, node):
        """Where rows begin, None for a dense array; its shape, and the bytes of all rows."""
        if hasattr(node, "keys"):
            encoding = dict(node.attrs).get("encoding-type", "none")
            if encoding != "csr_matrix":
                raise ValueError(
                    f"{self._path} holds {self._name!r} as {encoding}, whose rows cannot be read one after the other; "
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
        """The array or group, for one look: HDF5 lets nobody write to a file that is open here."""
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
