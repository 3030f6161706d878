"""Blocks of arrays, of memory-mapped files, and of a function."""

import bisect
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from sparsemix._estimator.blockwise import block_named
from sparsemix._estimator.input.forms import check_starts, check_whole, damage_named, is_frame, numbers_of
from sparsemix._estimator.input.integers import integers_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._rows.documents import csr_rows
from sparsemix._typing import RowsLike
from sparsemix.blocks._readers.paths import check_unchanged, state_of

# Bytes of a block by default: large enough that its overhead is negligible, small compared with any memory.
BLOCK_BYTES = 1 << 26


class Blocks:
    """Sequence of blocks of rows: ``len(blocks)``, ``blocks[i]``, iteration.

    Subclass it to write a reader: define ``__len__``, and ``_read(i)``, which returns rows as an array, a data frame or
    a sparse matrix. Set ``portable`` if a pickled copy reads the same data on another machine.

    Attributes
    ----------
    sizes : sequence of int or None
        Rows of each block, or None if they are unknown before reading.
    portable : bool
        Whether pickled copies work on machines that see the same files.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import blocks
    >>> class Squares(blocks.Blocks):
    ...     def __len__(self):
    ...         return 3
    ...     def _read(self, i):
    ...         return np.full((2, 1), i**2)
    >>> [int(block.sum()) for block in Squares()]
    [0, 2, 8]
    """

    sizes: Sequence[int] | None = None
    portable: bool = False

    def __len__(self) -> int:
        raise NotImplementedError

    def _read(self, i: int) -> Any:
        raise NotImplementedError

    def __getitem__(self, i: int) -> Any:
        """Rows of block ``i``: a checked array or CSR matrix."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"block {i} of {len(self)}")
        i %= len(self)
        return numbers_of(self._read(i), f"block {i}")

    def raw(self, i: int) -> Any:
        """Rows of block ``i`` as read, such as a data frame with its names."""
        with block_named(i):
            return self._read(i)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


@plain_arguments
def from_arrays(X: RowsLike, rows: int | None = None) -> Blocks:
    """Blocks of consecutive rows of an array, a data frame or a CSR matrix, in memory or on disk, without copies.

    Parameters
    ----------
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        Arrays of NumPy, h5py and Zarr; data frames of pandas and polars; tables of Arrow. A CSR matrix may consist of
        three memory maps. Memory maps of whole arrays (``numpy.load(path, mmap_mode="r")``) are pickled as their paths.
    rows : int, default=None
        Rows per block. None gives blocks of about 64 MB.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    TypeError, ValueError
        For input that is not two-dimensional, and for other sparse formats.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import blocks
    >>> [len(block) for block in blocks.from_arrays(np.zeros((10, 3)), rows=4)]
    [4, 4, 2]
    """
    if is_frame(X):
        return FrameBlocks(X, rows)
    if is_stored(X):
        pass
    elif not sparse.issparse(X):
        X = X if type(X) in (np.ndarray, np.memmap) else numbers_of(X)
    elif X.format != "csr":
        raise TypeError(f"X is a sparse matrix in {X.format.upper()} format; give CSR, whose rows are contiguous")
    else:
        with damage_named("X"):
            check_whole(X.indices, X.indptr)
            check_starts(X.indptr, X.shape[0], min(len(X.indices), len(X.data)))
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; give rows and columns")
    return ArrayBlocks(X, rows)


class ConsecutiveBlocks(Blocks):
    """Blocks of consecutive rows of one table.

    Parameters
    ----------
    n_rows, n_bytes : int
        Of the table.
    rows : int or None
        Rows per block; None makes blocks of ``BLOCK_BYTES``.
    """

    def __init__(self, n_rows, n_bytes, rows):
        if rows is None:
            rows = max(1, int(BLOCK_BYTES * n_rows // max(1, n_bytes)))
        elif rows < 1:
            raise ValueError(f"rows is {rows}; give at least 1 row per block")
        self._bounds = [*range(0, n_rows, rows), n_rows]

    @property
    def sizes(self):
        """Rows of each block."""
        return [b - a for a, b in pairwise(self._bounds)]

    def __len__(self):
        return len(self._bounds) - 1


class ArrayBlocks(ConsecutiveBlocks):
    """Blocks of consecutive rows of an array or CSR matrix."""

    def __init__(self, X, rows=None):
        super().__init__(X.shape[0], sum(part.nbytes for part in parts_of(X)[:2]), rows)  # not the few starts of rows
        self._X = X
        # of maps that the caller cannot write to: some systems note the times of other ones later
        maps = [found for part in parts_of(X) if (found := map_of(part)) is not None and found.mode in ("r", "c")]
        self._states = {path: state_of(path) for path in {os.fspath(found.filename) for found in maps}}

    @property
    def portable(self):
        """Whether all arrays are memory maps of files."""
        return all(map_of(part) is not None for part in parts_of(self._X))

    def _read(self, i):
        start, stop = self._bounds[i], self._bounds[i + 1]
        for path, state in self._states.items():
            check_unchanged(path, state)
        if sparse.issparse(self._X):
            return csr_rows(self._X, start, stop)
        return np.asarray(self._X[start:stop])

    def __getstate__(self):
        if not self.portable:
            return vars(self)
        maps, shape = [described(part) for part in parts_of(self._X)], self._X.shape
        return vars(self) | {"_X": (maps, shape)}

    def __setstate__(self, state):
        vars(self).update(state)
        if isinstance(self._X, tuple):
            maps, shape = self._X
            arrays = [np.memmap(**each) for each in maps]
            self._X = arrays[0] if len(arrays) == 1 else sparse.csr_array(tuple(arrays), shape=shape)


class JoinedBlocks(Blocks):
    """The blocks of several readers, one reader after the other."""

    def __init__(self, readers):
        self._readers = readers
        self._ends = np.cumsum([len(reader) for reader in readers]).tolist()

    @property
    def sizes(self):
        """Rows of each block, if all readers know them."""
        known = [reader.sizes for reader in self._readers]
        return None if any(sizes is None for sizes in known) else [n for sizes in known for n in sizes]

    @property
    def portable(self):
        """Whether all readers are portable."""
        return all(reader.portable for reader in self._readers)

    def __len__(self):
        return self._ends[-1]

    def _read(self, i):
        reader = bisect.bisect_right(self._ends, i)
        return self._readers[reader]._read(i - (self._ends[reader - 1] if reader else 0))


def joined(readers):
    """One reader of the blocks of several."""
    return readers[0] if len(readers) == 1 else JoinedBlocks(readers)


def parts_of(X):
    """The arrays of a matrix."""
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)


class FrameBlocks(ConsecutiveBlocks):
    """Blocks of consecutive rows of a data frame, which keep its names."""

    def __init__(self, X, rows=None):
        super().__init__(X.shape[0], 8 * X.shape[0] * X.shape[1], rows)
        self._X = X

    def _read(self, i):
        start, stop = self._bounds[i], self._bounds[i + 1]
        return self._X.iloc[start:stop] if hasattr(self._X, "iloc") else self._X.slice(start, stop - start)


def is_stored(X):
    """Whether X is an array of h5py or Zarr, whose slices are read from a file."""
    return type(X).__module__.split(".")[0] in ("h5py", "zarr") and hasattr(X, "shape")


def map_of(array):
    """The memory map whose whole data this array is: itself or, as SciPy keeps it, the base of a view; else None."""
    each = array
    while isinstance(each, np.ndarray):
        if isinstance(each, np.memmap) and each.filename is not None and isinstance(each.base, mmap.mmap):
            same = each.ctypes.data == array.ctypes.data and each.shape == array.shape and each.dtype == array.dtype
            return each if same else None
        each = each.base
    return None


def described(array):
    """Arguments that map the same file again."""
    array = map_of(array)
    order = "C" if array.flags.c_contiguous else "F"
    return {"filename": os.fspath(array.filename), "dtype": array.dtype, "shape": array.shape, "mode": "r",
            "offset": array.offset, "order": order}  # fmt: skip


@plain_arguments
def from_function(n_blocks: int, function: Callable[[int], Any], sizes: Sequence[int] | None = None) -> Blocks:
    """Blocks that a function returns.

    Parameters
    ----------
    n_blocks : int
    function : callable
        ``function(i)`` returns the rows of block i, the same rows in every call. For a cluster it must be importable on
        the workers.
    sizes : sequence of int, default=None
        Rows of each block, if they are known.

    Returns
    -------
    blocks : Blocks

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import blocks
    >>> rows = blocks.from_function(3, lambda i: np.random.default_rng(i).normal(size=(100, 2)))
    >>> rows[2].shape
    (100, 2)
    """
    return FunctionBlocks(n_blocks, function, sizes)


class FunctionBlocks(Blocks):
    """Blocks that a function returns."""

    portable = True

    def __init__(self, n_blocks, function, sizes=None):
        if sizes is not None:
            sizes = integers_of(sizes, "sizes", "give the number of rows of each block", "block").tolist()
            if len(sizes) != n_blocks:
                raise ValueError(f"sizes has {len(sizes)} numbers for {n_blocks} blocks; give one per block")
        self._n_blocks, self._function, self.sizes = n_blocks, function, sizes

    def __len__(self):
        return self._n_blocks

    def _read(self, i):
        return self._function(i)
