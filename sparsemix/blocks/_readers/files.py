"""Blocks of archives of NumPy and SciPy."""

import lzma
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import csr_of
from sparsemix._typing import FilePath
from sparsemix.blocks._readers.arrays import Blocks
from sparsemix.blocks._readers.paths import check_unchanged, is_address, open_binary, paths_of, state_of

# Errors of reading damaged archives; a changed byte may also select another compression.
DAMAGED = (
    ValueError, TypeError, KeyError, EOFError, OverflowError, RuntimeError, struct.error, lzma.LZMAError,
    zipfile.BadZipFile, zlib.error, tokenize.TokenError, OSError,
)  # fmt: skip


def from_npz(paths: FilePath | Sequence[FilePath]) -> Blocks:
    """One block per file: ``.npz`` of ``scipy.sparse.save_npz`` or with a single array, or ``.npy``, memory-mapped.

    Parameters
    ----------
    paths : path-like or list of path-like
        Files, folders, globs such as ``"run/*.npz"``, and addresses such as ``s3://bucket/x.npz`` (needs fsspec).
        Files of a folder or a glob are sorted by name.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    FileNotFoundError
        For a missing path.
    ValueError
        On reading a block whose file is damaged, has changed since the call, contains several arrays, or an array that
        is not a matrix.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sparsemix import blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(2):
    ...         np.savez(Path(folder, f"{i}.npz"), X=np.full((3, 2), i))
    ...     [int(block.sum()) for block in blocks.from_npz(sorted(Path(folder).iterdir()))]
    [0, 6]
    """
    return ArchiveBlocks(paths_of(paths, (".npz", ".npy")))


class ArchiveBlocks(Blocks):
    """One block per file."""

    portable = True

    def __init__(self, paths):
        self._paths, self._states = paths, [state_of(path) for path in paths]

    def __len__(self):
        return len(self._paths)

    def _read(self, i):
        path = self._paths[i]
        check_unchanged(path, self._states[i])
        try:
            found = array_or_names(path)
        except (FileNotFoundError, PermissionError):
            raise
        except DAMAGED as error:
            raise ValueError(f"{path} is damaged, or not a file of NumPy or SciPy ({error}); write it again") from error
        if isinstance(found, list):
            raise ValueError(f"{path} holds the arrays {', '.join(found)}; save one array, or scipy.sparse.save_npz")
        if found.ndim != 2:
            raise ValueError(f"{path} holds an array of shape {found.shape}; save a matrix, (rows, features)")
        return found


def array_or_names(path):
    """Content of a file: an array, a matrix, or the names of several arrays."""
    if path.endswith(".npy") and not is_address(path):
        return np.load(path, mmap_mode="r")
    with open_binary(path) as file:  # np.load would leave it open after an error
        archive = np.load(file)
        if isinstance(archive, np.ndarray):
            return archive
        if "format" in archive.files:  # of any sparse matrix
            file.seek(0)
            return csr_of(sparse.load_npz(file), "the matrix")
        return archive[archive.files[0]] if len(archive.files) == 1 else archive.files
