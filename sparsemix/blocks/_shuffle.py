"""Random shuffle of rows into new block files, so that every block is a sample of all rows."""

import os
import tempfile

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sparsemix._estimator.blockwise import block_named, n_rows_of
from sparsemix._estimator.input.forms import as_csr, numbers_of
from sparsemix._estimator.input.labels import check_labels, labels_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.writing import local_path
from sparsemix._typing import BlocksLike, FilePath, Seed
from sparsemix.blocks._data import as_blocks
from sparsemix.blocks._readers.arrays import BLOCK_BYTES, Blocks
from sparsemix.blocks._readers.files import from_npz


@plain_arguments
def shuffle(data: BlocksLike, folder: FilePath, *, n_blocks: int | None = None, random_state: Seed = None) -> Blocks:
    """Write the rows of all blocks in random order to new blocks on disk.

    Online and memoized learning visit one block after another, and learn slowly if neighbouring rows are related: rows
    of one day, one author, one plate. If the rows are not in random order, call this once before
    :func:`sparsemix.blocks.fit`. It reads the data once and writes them twice. In memory are at most one of the
    old blocks or three of the new ones.

    Parameters
    ----------
    data : sequence of blocks
        As in :func:`fit`: a reader of this module, or a list of blocks with the same columns.
    folder : path-like
        Folder for the new blocks, created if necessary. It must contain no ``.npz`` or ``.npy`` files.
    n_blocks : int, default=None
        Number of new blocks. None gives blocks of about 64 MB.
    random_state : int, RandomState instance or None, default=None
        Seed of the order. The same seed and the same blocks give the same files.

    Returns
    -------
    blocks : Blocks
        Reader of the new blocks, as from :func:`from_npz`: ``.npz`` files for sparse rows, else ``.npy``.

    Raises
    ------
    ValueError
        For data without rows, blocks with different columns, and a folder that already contains arrays.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sparsemix import blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mixed = blocks.shuffle([np.zeros((50, 1)), np.ones((50, 1))], folder, n_blocks=2, random_state=0)
    ...     [bool(0.3 < block.mean() < 0.7) for block in mixed]
    [True, True]
    """
    if n_blocks is not None and n_blocks < 1:
        raise ValueError(f"n_blocks is {n_blocks}; give at least 1")
    folder = local_path(folder, "folder")
    folder.mkdir(parents=True, exist_ok=True)
    if any(path.suffix in (".npz", ".npy") for path in folder.iterdir()):
        raise ValueError(f"{folder} holds arrays already; give another folder, or empty it")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        piles = deal(as_blocks(data), scratch, n_blocks, rng)
        if not piles:
            raise ValueError("data has no rows; give at least one block with rows")
        return from_npz([write(gathered(pile, rng), folder / f"block{i:05d}") for i, pile in enumerate(piles)])


def deal(data, scratch, n_blocks, rng):
    """Distribute rows at random to files. Return the paths of nonempty files."""
    paths = []
    for X in matrices(data):
        if not paths:
            n = n_blocks or max(1, round(nbytes(X) * len(data) / BLOCK_BYTES))
            paths = [os.path.join(scratch, f"{i:05d}") for i in range(n)]
        piles = rng.integers(len(paths), size=X.shape[0])
        order = np.argsort(piles, kind="stable")
        ends = np.cumsum(np.bincount(piles, minlength=len(paths)))
        for path, rows in zip(paths, np.split(order, ends[:-1]), strict=True):
            if len(rows):
                with open(path, "ab") as file:
                    for part in parts_of(X[rows]):
                        np.save(file, part, allow_pickle=False)
    return [path for path in paths if os.path.exists(path)]


def matrices(data):
    """The numbers of all blocks with rows. Raises if they have different columns."""
    first = None
    for number in range(len(data)):
        raw = data.raw(number)
        if not n_rows_of(raw):
            continue
        with block_named(number):
            X, labels = numbers_of(raw), labels_of(raw)
            if X.ndim != 2:
                raise ValueError(f"it has {X.ndim} dimensions; give rows and columns")
            first = (X.shape[1], labels) if first is None else first
            check_labels(labels, first[1])
            if X.shape[1] != first[0]:
                raise ValueError(f"it has {X.shape[1]} columns and the first block {first[0]}; give equal numbers")
        yield X


def gathered(path, rng):
    """The rows of a file, in random order."""
    pieces, end = [], os.path.getsize(path)
    with open(path, "rb") as file:
        while file.tell() < end:
            first = np.load(file)
            pieces.append(first if first.ndim == 2 else csr(first, np.load(file), np.load(file), np.load(file)))
    os.remove(path)
    if any(map(sparse.issparse, pieces)):
        X = sparse.vstack([piece if sparse.issparse(piece) else as_csr(piece) for piece in pieces], format="csr")
    else:
        X = np.concatenate(pieces)
    del pieces
    return X[rng.permutation(X.shape[0])]


def write(X, path):
    """Write a block. Return its path with the ending."""
    if sparse.issparse(X):
        path = f"{path}.npz"
        sparse.save_npz(path, X, compressed=False)
    else:
        path = f"{path}.npy"
        np.save(path, X, allow_pickle=False)
    return path


def parts_of(X):
    """Arrays from which a block can be restored; one-dimensional arrays begin a CSR matrix."""
    return (np.array(X.shape), X.indptr, X.indices, X.data) if sparse.issparse(X) else (X,)


def csr(shape, indptr, indices, data):
    """A CSR matrix from its parts."""
    return sparse.csr_array((data, indices, indptr), shape=tuple(shape))


def nbytes(X):
    """Bytes of the values and columns of a block."""
    return X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
