"""Blocks of Parquet files: columns of features, a column of vectors, or long tables of counts."""

import numbers
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import index_columns, without_index
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import FilePath
from sparsemix.blocks._readers.arrays import Blocks, joined
from sparsemix.blocks._readers.paths import (
    check_unchanged,
    is_address,
    named_in_errors,
    needed,
    open_binary,
    paths_of,
    state_of,
)

# Types of columns that estimators take: all of them numbers, and those of mixed columns texts.
TYPES = "integer", "floating", "boolean", "decimal", "string", "large_string", "dictionary"


@plain_arguments
def from_parquet(
    paths: FilePath | Sequence[FilePath],
    *,
    doc: str | None = None,
    word: str | None = None,
    count: str | None = None,
    n_features: int | None = None,
    columns: Sequence[str] | None = None,
) -> Blocks:
    """One block per row group of Parquet files: columns are features, or a long table of counts sorted by document.

    Parameters
    ----------
    paths : path-like or list of path-like
        Files, folders, globs such as ``"run/*.parquet"``, and addresses such as ``s3://bucket/x.parquet`` (needs
        fsspec). Files of a folder or a glob are sorted by name. Their writer chose the number of rows per group.
    doc, word, count : str, default=None
        Columns of a table with one line for each word of a document: the document, in any order that keeps its lines
        together; the word number, from 0; the count, or None if it is always 1. Nulls are not allowed. Counts of lines
        with the same document and word are added in double precision. A document that continues in the next row groups
        belongs to the group of its first line. The lines of a document are in one file. One scan of the column ``doc``
        checks this, and counts the documents.
    n_features : int, default=None
        Size of the vocabulary, for counts; None takes the largest word number from the statistics of the file.
    columns : list of str, default=None
        Feature columns, if each line is a row; None takes all columns of the first file but an index of pandas.
        Columns are found by their names, which all files must have. A single column of lists of equal length, such as
        embeddings, is read as a matrix.

    Returns
    -------
    blocks : Blocks

    Raises
    ------
    ImportError
        If pyarrow is missing (``pip install pyarrow``).
    ValueError
        For missing columns, if ``n_features`` is needed, for a document whose lines are apart, and on reading a file
        that has changed since the call.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet
    >>> from sparsemix.blocks import from_parquet
    >>> counts = pa.table({"doc": [0, 0, 1], "word": [0, 2, 1], "count": [3, 1, 2]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "counts.parquet")
    ...     pa.parquet.write_table(counts, path)
    ...     [block.toarray() for block in from_parquet(path, doc="doc", word="word", count="count")]
    [array([[3., 0., 1.],
           [0., 2., 0.]])]
    """
    needed("pyarrow.parquet", "pyarrow")
    paths = paths_of(paths, (".parquet", ".pq"))
    if doc is None:
        readers = [TableBlocks(paths[0], columns)]
        for path in paths[1:]:
            readers.append(TableBlocks(path, readers[0].names, strict=columns is None))
    elif word is None:
        raise ValueError("doc is given without word; name the columns of document, word and count")
    else:
        seen = set()
        readers = [LongTableBlocks(path, doc, word, count, n_features, seen) for path in paths]
        for reader in readers:
            reader.n_features = max(other.n_features for other in readers)
    return joined(readers)


class TableBlocks(Blocks):
    """Blocks of row groups whose columns are features."""

    portable = True

    def __init__(self, path, columns, strict=False):
        self._path, self._columns, self._state = path, columns, state_of(path)
        with named_in_errors(path, "pyarrow"):
            file = self._file()
            names, index = file.schema_arrow.names, index_columns(file.schema_arrow)
            missing = [name for name in self._names() if name not in names]
            if missing:
                raise ValueError(f"{path} has no column {missing[0]!r}; it has {', '.join(names)}")
            features = [name for name in names if name not in index]
            more = [name for name in features if name not in self._names()]
            if strict and more:
                raise ValueError(f"{path} has the column {more[0]!r}, and the first file has not; choose by columns")
            self.names = columns or features
            self._rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]

    def _names(self):
        return self._columns or []

    def _file(self):
        check_unchanged(self._path, self._state)
        source = open_binary(self._path) if is_address(self._path) else self._path
        return needed("pyarrow.parquet", "pyarrow").ParquetFile(source)

    @property
    def sizes(self):
        """Rows of each block."""
        return self._rows

    def __len__(self):
        return len(self._rows)

    def _read(self, i):
        with named_in_errors(self._path, "pyarrow"):
            table = self._file().read_row_group(i, columns=self._columns)
            # named columns are features, also if they hold an index
            table = without_index(table) if self._columns is None else table.replace_schema_metadata(None)
            if table.num_columns == 1 and hasattr(table.schema.types[0], "value_type"):
                return self._vectors(table.column_names[0], table.column(0))
            types = needed("pyarrow").types
            for name, kind in zip(table.column_names, table.schema.types, strict=True):
                if types.is_nested(kind) and not types.is_dictionary(kind):
                    raise ValueError(f"{self._path} has lists next to other columns; give columns=[{name!r}] alone")
                if not any(getattr(types, f"is_{each}")(kind) for each in TYPES):
                    raise ValueError(
                        f"{self._path} has neither numbers nor texts in the column {name!r}, which is of type {kind}; "
                        "choose others by columns"
                    )
            return table

    def _vectors(self, name, column):
        """A column of lists as a matrix."""
        lists = column.combine_chunks()
        lengths = set(needed("pyarrow.compute", "pyarrow").list_value_length(lists).to_pylist())
        if len(lengths) > 1 or None in lengths:
            shown = ", ".join(sorted(map(str, lengths))[:5])
            raise ValueError(f"{self._path} has lists of different lengths in the column {name!r}: {shown}")
        return lists.flatten().to_numpy(zero_copy_only=False).reshape(len(lists), *lengths)


class LongTableBlocks(TableBlocks):
    """Blocks of row groups of (document, word, count) as count matrices.

    ``seen`` holds the documents of earlier files, and receives those of this one.
    """

    def __init__(self, path, doc, word, count, n_features, seen):
        self._doc, self._word, self._count = doc, word, count
        super().__init__(path, [name for name in (doc, word, count) if name is not None])
        if n_features is None:
            with named_in_errors(path, "pyarrow"):
                n_features = self._vocabulary()
        elif not isinstance(n_features, numbers.Integral) or n_features < 1:
            raise ValueError(f"n_features is {n_features!r}; give the number of words, or None")
        self.n_features = int(n_features)
        self._rows = list(self._documents(seen))

    def _documents(self, seen):
        """Number of documents that begin in each group; raises for one that began before other documents."""
        last = None
        for i in range(len(self)):
            lines = self._group(i, [self._doc])[self._doc]
            begins = np.concatenate([[True], lines[1:] != lines[:-1]])[: len(lines)]
            documents = lines[begins].tolist()
            if last is not None and documents[:1] == [last]:
                del documents[0]
            for document in documents:
                if document in seen:
                    raise ValueError(
                        f"{self._path} has lines of document {document!r} in row group {i}, and others apart from "
                        f"these; sort the lines of all files by {self._doc!r}, such as with table.sort_by of pyarrow "
                        "or orderBy of Spark"
                    )
                seen.add(document)
            last = lines[-1:].tolist()[0] if len(lines) else last
            yield len(documents)

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
        shape = int(rows[-1]) + 1 if len(documents) else 0, self.n_features
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
        if len(words) and not 0 <= words.min() <= words.max() < self.n_features:
            wrong = words[(words < 0) | (words >= self.n_features)][0]
            raise ValueError(
                f"{self._path} has the word {wrong}, but n_features is {self.n_features}; number words from 0"
            )
