"""Blocks of files: archives of NumPy and SciPy, and Parquet."""

import lzma
import numbers
import os
import struct
import tokenize
import zipfile
import zlib
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import csr_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix.blocks._readers.arrays import Blocks

# Errors of reading damaged archives; a changed byte may also select another compression.
DAMAGED = (
    ValueError, TypeError, KeyError, EOFError, OverflowError, RuntimeError, struct.error, lzma.LZMAError,
    zipfile.BadZipFile, zlib.error, tokenize.TokenError, OSError,
)  # fmt: skip


def needed(module, package=None):
    """Import an optional module; the error says how to install it."""
    try:
        return __import__(module, fromlist=["_"])
    except ImportError as error:
        package = package or module
        raise ImportError(f"{package} is needed to read this and is not installed: pip install {package}") from error


@contextmanager
def named_in_errors(path, package):
    """Turn any error of a damaged file into one sentence that names the file."""
    try:
        yield
    except (FileNotFoundError, PermissionError, ImportError, MemoryError):
        raise
    except Exception as error:
        if str(path) in str(error):  # this package's error
            raise
        raise ValueError(f"{path} is not as {package} wrote it ({error}); write it again") from error


def paths_of(paths):
    """One or several paths as a list of absolute paths; raises for a missing path."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    paths = [os.path.abspath(path) for path in paths]
    for path in paths:
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path} does not exist")
    return paths


def from_npz(paths):
    """One block per file: ``.npz`` of ``scipy.sparse.save_npz`` or with a single array, or ``.npy``, memory-mapped.

    Parameters
    ----------
    paths : path-like or list of path-like

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    FileNotFoundError
        For a missing path.
    ValueError
        On reading a block whose file is damaged, contains several arrays, or an array that is not a matrix.

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
    return ArchiveBlocks(paths_of(paths))


class ArchiveBlocks(Blocks):
    """One block per file."""

    portable = True

    def __init__(self, paths):
        self._paths = paths

    def __len__(self):
        return len(self._paths)

    def _read(self, i):
        path = self._paths[i]
        try:
            found = array_or_names(path)
        except (FileNotFoundError, PermissionError):
            raise
        except DAMAGED as error:
            raise ValueError(f"{path} is not as NumPy or SciPy wrote it ({error}); write it again") from error
        if isinstance(found, list):
            raise ValueError(f"{path} holds the arrays {', '.join(found)}; save one array, or scipy.sparse.save_npz")
        if found.ndim != 2:
            raise ValueError(f"{path} holds an array of shape {found.shape}; save a matrix, (rows, features)")
        return found


def array_or_names(path):
    """Content of a file: an array, a matrix, or the names of several arrays."""
    if path.endswith(".npy"):
        return np.load(path, mmap_mode="r")
    with open(path, "rb") as file:  # np.load would leave it open after an error
        archive = np.load(file)
        if isinstance(archive, np.ndarray):
            return archive
        if "indptr" in archive.files:
            file.seek(0)
            return csr_of(sparse.load_npz(file), "the matrix")
        return archive[archive.files[0]] if len(archive.files) == 1 else archive.files


@plain_arguments
def from_parquet(path, *, doc=None, word=None, count=None, n_features=None, columns=None):
    """One block per row group of a Parquet file: columns are features, or a long table of counts sorted by document.

    Parameters
    ----------
    path : path-like
        One file. Its writer chose the number of rows per group.
    doc, word, count : str, default=None
        Columns of a table with one line for each word of a document: the document, in any order that keeps its lines
        together; the word number, from 0; the count, or None if it is always 1. Nulls are not allowed. Counts of lines
        with the same document and word are added in double precision. A document that continues in the next row groups
        belongs to the group of its first line.
    n_features : int, default=None
        Size of the vocabulary, for counts; None takes the largest word number from the statistics of the file.
    columns : list of str, default=None
        Feature columns, if each line is a row; None takes all columns.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    ImportError
        If pyarrow is missing (``pip install pyarrow``).
    ValueError
        For missing columns, and if ``n_features`` is needed.
    """
    needed("pyarrow.parquet", "pyarrow")
    if doc is None:
        return TableBlocks(paths_of(path)[0], columns)
    if word is None:
        raise ValueError("doc is given without word; name the columns of document, word and count")
    return LongTableBlocks(paths_of(path)[0], doc, word, count, n_features)


class TableBlocks(Blocks):
    """Blocks of row groups whose columns are features."""

    portable = True

    def __init__(self, path, columns):
        self._path, self._columns = path, columns
        with named_in_errors(path, "pyarrow"):
            file = self._file()
            names = file.schema_arrow.names
            missing = [name for name in self._names() if name not in names]
            if missing:
                raise ValueError(f"{path} has no column {missing[0]!r}; it has {', '.join(names)}")
            self._rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]

    def _names(self):
        return self._columns or []

    def _file(self):
        return needed("pyarrow.parquet", "pyarrow").ParquetFile(self._path)

    @property
    def sizes(self):
        """Rows of each block."""
        return self._rows

    def __len__(self):
        return len(self._rows)

    def _read(self, i):
        with named_in_errors(self._path, "pyarrow"):
            table = self._file().read_row_group(i, columns=self._columns)
            columns = [column.to_numpy() for column in table.columns]
            for name, column in zip(table.column_names, columns, strict=True):
                if column.dtype.kind not in "biuf":
                    raise ValueError(f"{self._path} has no numbers in the column {name!r}; choose others by columns")
            return np.column_stack(columns)


class LongTableBlocks(TableBlocks):
    """Blocks of row groups of (document, word, count) as count matrices."""

    sizes = None

    def __init__(self, path, doc, word, count, n_features):
        self._doc, self._word, self._count = doc, word, count
        super().__init__(path, [name for name in (doc, word, count) if name is not None])
        if n_features is None:
            with named_in_errors(path, "pyarrow"):
                n_features = self._vocabulary()
        elif not isinstance(n_features, numbers.Integral) or n_features < 1:
            raise ValueError(f"n_features is {n_features!r}; give the number of words, or None")
        self._n_features = int(n_features)

    def _vocabulary(self):
        metadata = self._file().metadata
        at = metadata.schema.names.index(self._word)
        statistics = [metadata.row_group(i).column(at).statistics for i in range(len(self))]
        if not all(each is not None and each.has_min_max for each in statistics):
            raise ValueError(f"{self._path} has no statistics of {self._word!r}; give n_features")
        largest = max((each.max for each in statistics), default=0)
        if not isinstance(largest, int) or largest >= np.iinfo(np.int64).max:
            raise ValueError(f"{self._path} has no numbers of words in the column {self._word!r}, such as {largest!r}")
        return 1 + largest

    def _group(self, i, names=None):
        with named_in_errors(self._path, "pyarrow"):
            table = self._file().read_row_group(i, columns=names or self._columns)
            parts = {name: self._values(i, name, table[name]) for name in table.column_names}
        return parts

    def _values(self, i, name, column):
        """A column with its type in the file; with nulls, integers would become inexact floats."""
        missing = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy())
        if len(missing):
            raise ValueError(
                f"{self._path} has no value in line {missing[0]} of row group {i} in the column {name!r}; remove the "
                "line, or fill it"
            )
        return column.to_numpy()

    def _read(self, i):
        parts = self._group(i)
        documents = parts[self._doc]
        if i > 0:  # skip lines of a document that began in an earlier group
            last = self._group(i - 1, [self._doc])[self._doc][-1:]
            own = documents != last if len(last) else np.ones(len(documents), dtype=bool)
            parts = {name: values[own] for name, values in parts.items()}
        pieces, j = [parts], i + 1
        while j < len(self) and len(parts[self._doc]):
            following = self._group(j)
            goes_on = following[self._doc] == parts[self._doc][-1]
            pieces.append({name: values[goes_on] for name, values in following.items()})
            if not goes_on.all():
                break
            j += 1
        joined = {name: np.concatenate([piece[name] for piece in pieces]) for name in parts}
        documents = joined[self._doc]
        rows = np.cumsum(np.concatenate([[False], documents[1:] != documents[:-1]])) if len(documents) else []
        counts = np.ones(len(documents)) if self._count is None else self._counts(joined[self._count])
        shape = int(rows[-1]) + 1 if len(documents) else 0, self._n_features
        self._check(joined[self._word])
        return sparse.csr_array((counts, (rows, joined[self._word])), shape=shape)

    def _counts(self, counts):
        """Counts in a type whose sums do not overflow."""
        if counts.dtype.kind not in "biuf":
            raise ValueError(f"{self._path} has no numbers in the column {self._count!r}")
        return counts.astype(np.float64)

    def _check(self, words):
        """Raise for values that are not word numbers."""
        if words.dtype.kind not in "iu":
            raise ValueError(f"{self._path} has no whole number in each line of the column {self._word!r}")
        if len(words) and not 0 <= words.min() <= words.max() < self._n_features:
            wrong = words[(words < 0) | (words >= self._n_features)][0]
            raise ValueError(
                f"{self._path} has the word {wrong}, but n_features is {self._n_features}; number words from 0"
            )
