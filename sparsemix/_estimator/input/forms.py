"""Conversion of input to arrays, once and before all checks, so that later code uses the checked values.

Errors for texts instead of numbers name the row and a suitable vectorizer.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import chain
from numbers import Number
from operator import attrgetter

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

# Every other type of numbers becomes float64, which holds all its values, or is infinite where they are too large.
TYPES = (np.float64, np.float32, np.int64, np.int32)
# How to make numbers of dates and durations.
REMEDIES = {
    "M": "convert dates to days, (dates - dates.min()) / numpy.timedelta64(1, 'D'), or leave them out",
    "m": "convert durations to days, durations / numpy.timedelta64(1, 'D'), or leave them out",
}
# Objects that NumPy converts to float64 and that are not real numbers.
NOT_REAL = (complex, np.complexfloating, np.datetime64, np.timedelta64)
COUNTS = "counts of words; count them with sklearn.feature_extraction.text.CountVectorizer().fit_transform(texts)"
NUMBERS = (
    "rows of numbers; SparseMixedMixture takes numbers and categories, and a sentence encoder makes numbers of texts, "
    "as do sklearn.feature_extraction.text.TfidfVectorizer and sklearn.decomposition.TruncatedSVD"
)
NUMBERS_OR_COUNTS = (
    "rows of numbers or counts of words; SparseMixedMixture takes numbers and categories, and words of texts are "
    "counted by sklearn.feature_extraction.text.CountVectorizer"
)
# Characters of a text that an error quotes.
QUOTED = 30
# How to make a matrix of compressed arrays, the axis of its indices, and what its lines and indices are.
COMPRESSED = {
    "csr": (sparse.csr_array, 1, "row", "column"),
    "csc": (sparse.csc_array, 0, "column", "row"),
    "bsr": (sparse.bsr_array, 1, "row of blocks", "block"),
}
# Containers that are refused as such, whatever they hold.
NO_ROWS = (Mapping, Set, Iterator)
# Methods by which other objects tell NumPy their numbers.
PROTOCOLS = "__array__", "__array_interface__", "__array_struct__"
# Attributes of objects that hold numbers in another way, and what to give in their place.
REMEDIES_OF_OBJECTS = {
    "layers": "its matrix {0}.X, or a layer such as {0}.layers['counts']; blocks.fit reads files by blocks.from_h5ad",
    "to_memory": "{0}.to_memory(), or read its file in blocks, blocks.from_h5ad(path)",
    "docbyoffset": "gensim.matutils.corpus2csc({0}, num_terms={0}.num_terms).T",  # of gensim's corpora
    "fid": "one of its arrays, {0}[name]",  # of numpy.load
    "__fspath__": "the rows in its file, read by the package of its format",
    "mod": "the matrix of one of its parts, such as {0}.mod['rna'].X",
    "data_vars": "one of its arrays, {0}[name]",
    "create_group": "one of its arrays, {0}[name]; blocks.from_h5ad and blocks.from_zarr read the groups of AnnData",
    "portable": "blocks.fit(estimator, {0})",
    "compute": "{0}.compute()",
    "to_pandas": "{0}.to_pandas()",
    "__arrow_c_stream__": "pyarrow.table({0})",
}


def numbers_of(X, name="X"):
    """The numbers of an array-like, a data frame or a sparse matrix.

    Parameters
    ----------
    X : array-like, data frame, table or sparse matrix
    name : str
        Of the argument, for messages.

    Returns
    -------
    numbers : ndarray or csr_array
        Missing values of data frames are NaN. The array is the caller's if its type allows that. A CSR matrix has a
        type of ``TYPES`` and may have unsorted or repeated entries, and zeros. It does not copy flags of ``X`` such as
        sorted indices.

    Raises
    ------
    ValueError, TypeError
        For text, dates, complex numbers, masked entries, and sparse matrices whose arrays contradict their shape.
    """
    if type(X) is np.ndarray:  # streams of single rows save the tests of other forms
        return array_numbers(X, name)
    if sparse.issparse(X):
        return csr_of(X, name)
    check_container(X, name)
    if is_frame(X):
        if is_sparse(X):
            return csr_of(X.sparse.to_coo(), name)
        return frame_numbers(X, name)
    if hasattr(X, "iloc") and hasattr(X, "to_numpy"):
        X = column_numbers(X)
    return array_numbers(X, name)


def check_container(X, name="X"):
    """Refuse objects that hold no rows, or hold them in a form that NumPy does not read."""
    if X is None:
        raise ValueError(f"{name} is None. Expected 2D array: give rows, an array of shape (n_samples, n_features)")
    kind = type(X).__name__
    if hasattr(type(X), "collect") and hasattr(type(X), "collect_schema"):  # of polars
        raise TypeError(f"{name} is a {kind}, whose rows are not computed yet; give {name}.collect()")
    odd = isinstance(X, Mapping) or not (is_readable(X) or is_frame(X))
    if odd:
        refuse_known(X, name)
    if isinstance(X, Mapping):
        raise TypeError(f"{name} is a {kind}; give its columns as a table, pandas.DataFrame({name})")
    if isinstance(X, Set):
        raise TypeError(f"{name} is a {kind}, which has no order of rows; give a list of rows")
    if isinstance(X, Iterator):
        raise TypeError(f"{name} is a {kind}, whose rows can be read once only; give list({name})")
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise TypeError(
            f"row 0 of {name} is a {type(X[0]).__name__}; make a table of them with pandas.DataFrame({name}), or of "
            f"counts with sklearn.feature_extraction.DictVectorizer().fit_transform({name})"
        )
    if odd:
        raise TypeError(f"{name} has the type {kind}, which is no array; give its numbers as an array")
    if isinstance(X, list) and is_bag(next((row for row in X if isinstance(row, list) and row), None)):
        raise ValueError(f"{name} has pairs of numbers; give counts, gensim.matutils.corpus2csc({name}, n_words).T")
    if isinstance(X, (list, tuple)) and X and hasattr(type(X[0]), "__getitem__"):
        check_container(X[0], f"{name}[0]")


def refuse_known(X, name):
    """Refuse objects of other packages whose numbers are elsewhere."""
    remedy = next((remedy for mark, remedy in REMEDIES_OF_OBJECTS.items() if hasattr(type(X), mark)), None)
    if remedy is not None:
        raise TypeError(f"{name} has the type {type(X).__name__}, which is no array; give {remedy.format(name)}")


def is_readable(X):
    """Whether NumPy reads an object as a whole. It walks through the items of other ones, at any cost."""
    if isinstance(X, (np.ndarray, Sequence, Number, np.generic)) or any(hasattr(type(X), name) for name in PROTOCOLS):
        return True
    try:
        return memoryview(X) is not None
    except TypeError:
        return False


def check_axes(X, name="X"):
    """Refuse arrays without exactly two axes; the words are those of scikit-learn's checks."""
    if X.ndim == 0:
        raise ValueError(
            f"Expected 2D array, got scalar array instead: {name} is one number. Reshape your data with "
            f"numpy.reshape({name}, (1, 1)) if it is one row of one feature"
        )
    if X.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead: {name} has the shape {X.shape}. Reshape your data with "
            f"numpy.reshape({name}, (-1, 1)) if it has a single feature, or (1, -1) if it is a single row"
        )
    if X.ndim > 2:
        raise ValueError(
            f"Found array with dim {X.ndim}, expected 2: {name} has the shape {X.shape}. Reshape your data with "
            f"numpy.reshape({name}, ({X.shape[0]}, -1)) if its first axis counts rows"
        )


def table_of(X, name="X", dtype=TYPES, accept_sparse=True, estimator=None, own=False):
    """The numbers of X as an array or CSR with two axes and at least one row and column, in one of the types.

    Dense numbers of other types that float64 holds stay in their ``own``, if the caller converts them tile by tile.
    """
    with np.errstate(over="ignore"):
        X = numbers_of(X, name)
        check_axes(X, name)
        kept = X.dtype in dtype or (own and X.dtype.kind in "iuf" and X.dtype.itemsize <= 8)
        if type(X) is np.ndarray and X.size and kept:  # scikit-learn returns it, after slow tests
            return X
        return check_array(
            X, dtype=list(dtype), accept_sparse="csr" if accept_sparse else False, accept_large_sparse=True,
            ensure_all_finite=False, estimator=estimator, input_name=name,
        )  # fmt: skip


def row_of(X, entry):
    """Row of a stored entry of CSR, or of an entry of a dense array."""
    return int(np.searchsorted(X.indptr, entry, side="right") - 1 if sparse.issparse(X) else entry // X.shape[1])


def floats_of(X, name):
    """The numbers of a dense array-like as float64; the argument of a parameter or a weight."""
    if sparse.issparse(X):
        raise TypeError(f"{name} is a sparse matrix; give a dense array, {name}.toarray()")
    with np.errstate(over="ignore"):
        return numbers_of(X, name).astype(np.float64, copy=False)


def converted(X, name):
    """An array of what NumPy converts."""
    try:
        return np.asarray(X)
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(error, ValueError) and isinstance(X, Sequence):
            raise ValueError(
                f"{name} has rows of different lengths, so it is not an array of numbers; give rows of the same length"
            ) from None
        raise TypeError(
            f"{name} has the type {type(X).__name__} and does not convert to an array ({error}); give its numbers "
            "as an array"
        ) from error


def array_numbers(X, name, line="row"):
    """An array-like as an array of numbers; ``line`` names its first axis in messages."""
    if np.ma.isMaskedArray(X) and not X.dtype.names and np.ma.getmaskarray(X).any():
        place = place_of(np.argwhere(np.ma.getmaskarray(X))[0], line)
        raise ValueError(f"{name} is masked in {place} and has no number there; fill it, or remove the row")
    array = X if type(X) is np.ndarray else converted(X, name)  # an exception of a signal would be taken for X's
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has the type {array.dtype}; give real numbers")
    if array.dtype.kind not in "OSU":
        remedy = REMEDIES.get(array.dtype.kind, "convert it to numbers")
        if array.dtype.names:  # a table with named columns, such as those of FITS files
            frame, matrix = f"{name}.to_pandas()", f"numpy.lib.recfunctions.structured_to_unstructured({name})"
            remedy = f"give {frame if hasattr(X, 'to_pandas') else matrix}"
        raise TypeError(f"{name} has the type {array.dtype}, which is not a type of numbers; {remedy}")
    return parsed(array, name, line)


def parsed(array, name, line):
    """An array of objects or of text as float64; the first entry that is not a number is named."""
    types = set(map(type, array.flat)) if array.dtype.kind == "O" else ()
    try:
        if any(issubclass(kind, NOT_REAL) for kind in types):
            raise TypeError("NumPy would convert it")
        with np.errstate(over="ignore"):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        for place, value in np.ndenumerate(array):
            if isinstance(value, (complex, np.complexfloating)):
                raise ValueError(
                    f"Complex data not supported: {name} has {value} in {place_of(place, line)}; give real numbers"
                ) from None
            if isinstance(value, (list, tuple, np.ndarray)):
                raise stacking(name) from None
            try:
                if isinstance(value, NOT_REAL):
                    raise TypeError(f"it is a {type(value).__name__}")
                float(value.item() if isinstance(value, np.generic) else value)
            except (TypeError, ValueError, OverflowError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(
                    f"{name} has {str(value)[:40]!r} in {place_of(place, line)}, which is not a number "
                    f"({str(error)[:80]}); convert it to a number, or remove it"
                ) from None
        raise


def is_bag(row):
    """Whether this is a document as gensim has it: pairs of a word's number and its count."""
    return row is not None and all(isinstance(pair, tuple) and len(pair) == 2 for pair in row)


def stacking(name):
    """The error for a column of embeddings, or an array of them."""
    return TypeError(f"{name} holds several numbers in a row; give an array of them, numpy.stack(column)")


def place_of(place, line):
    """Where an entry is, for messages."""
    if len(place) == 2:
        return f"{line} {place[0]}, column {place[1]}"
    return f"{line} {place[0]}" if len(place) == 1 else f"entry {tuple(int(i) for i in place)}"


# -- data frames


def is_frame(X):
    """Whether X is a data frame of pandas or polars, or a table of Arrow."""
    kind = type(X)  # some objects seem to have every attribute
    by_columns = hasattr(kind, "iloc") or hasattr(kind, "get_columns")
    by_columns = by_columns or (hasattr(kind, "column_names") and hasattr(kind, "schema"))
    return by_columns and len(getattr(X, "shape", ())) == 2 and not isinstance(X, np.ndarray)


def without_index(X):
    """An Arrow table without the columns that hold an index of pandas, which are no features; other data unchanged."""
    if not hasattr(X, "column_names"):
        return X
    index = index_columns(X.schema)
    kept = [j for j, name in enumerate(X.column_names) if name not in index]
    return X if len(kept) == X.num_columns else X.select(kept)


def index_columns(schema):
    """Names of the columns of an Arrow schema that hold an index of pandas; a range is no column."""
    return [name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(name, str)]


def is_sparse(X):
    """Whether X is read as a sparse matrix: it is one, or a data frame all of whose columns are sparse."""
    if sparse.issparse(X):
        return True
    is_table = hasattr(X, "iloc") and X.ndim == 2 and X.shape[1] > 0
    return is_table and all(hasattr(dtype, "fill_value") for dtype in X.dtypes)


def columns_of(X):
    """Names and columns of a data frame."""
    if hasattr(X, "iloc"):
        return [(X.columns[j], X.iloc[:, j]) for j in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return [(column.name, column) for column in X.get_columns()]
    X = without_index(X)
    return list(zip(X.column_names, X.columns, strict=True))


def frame_numbers(X, name):
    """Columns as an array; their common type holds the numbers of all of them."""
    if hasattr(X, "iloc") and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in X.dtypes):
        return np.asarray(X)
    parts = []
    for label, column in columns_of(X):
        parts.append(array_numbers(column_numbers(column), f"the column {label!r} of {name}"))
        if parts[-1].ndim > 1:  # of several features, for which there is one name
            raise stacking(f"the column {label!r} of {name}")
    return np.column_stack(parts) if parts else np.empty((X.shape[0], 0))


def column_numbers(column):
    """A column as an array; missing numbers are NaN."""
    dtype = getattr(column, "dtype", None)
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "biuf":  # nullable, or Arrow's
        return column.to_numpy(dtype=np.float64 if column.isna().any() else dtype.numpy_dtype, na_value=np.nan)
    if hasattr(column, "null_count") and hasattr(column, "buffers"):  # an array of Arrow, not a chunked one
        return column.to_numpy(zero_copy_only=False)
    return column.to_numpy()


def frame_like(X, numbers):
    """A data frame of these numbers, of the kind of X and with its index and columns."""
    if hasattr(X, "iloc"):
        return type(X)(numbers, index=X.index, columns=X.columns)
    if hasattr(X, "get_columns"):
        return type(X)(numbers, schema=X.columns, orient="row")
    index = index_columns(X.schema)
    places = [j for j, name in enumerate(X.column_names) if name not in index]
    for j, values in zip(places, np.ascontiguousarray(numbers.T), strict=True):
        X = X.set_column(j, X.column_names[j], [values])
    return X


# -- sparse matrices


def csr_of(X, name="X"):
    """A sparse matrix of any format as CSR; its arrays are checked before SciPy reads them."""
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D input: {name} is a sparse array of shape {X.shape}. Reshape your data with "
            f"{name}.reshape(1, -1) if it is one row"
        )
    with damage_named(name):
        data, *places = PARTS[X.format](X)
        check_whole(*places)
    data = values_of(data, name, X.dtype if X.format in ("lil", "dok") else None)
    if X.format in COMPRESSED:
        return from_compressed(X, data, *places, name)
    if X.format == "dia":
        with damage_named(name):
            if not ((places[0] > -X.shape[0]) & (places[0] < X.shape[1])).all():
                raise ValueError(f"it has diagonals outside of its shape {X.shape}")
            return sparse.dia_array((data, *places), shape=X.shape).tocsr()
    return from_entries(X, data, *places, name)


def as_csr(X):
    """Numbers of a dense array as CSR."""
    return sparse.csr_array(X if X.dtype in TYPES else X.astype(np.float64))


def from_entries(X, data, rows, columns, name):
    """CSR from entries in any order; those of the same place are added in floating point."""
    with damage_named(name):
        if not len(rows) == len(columns) == len(data):
            raise ValueError(f"it has {len(rows)} row and {len(columns)} column numbers and {len(data)} values")
    check_within(rows, X.shape[0], "row", name, lambda entry: f"entry {entry}")
    check_within(columns, X.shape[1], "column", name, lambda entry: f"row {rows[entry]}")
    data = data.astype(np.float64) if data.dtype.kind == "i" else data
    with damage_named(name):
        return sparse.coo_array((data, (rows, columns)), shape=X.shape).tocsr()


def from_compressed(X, data, indices, indptr, name):
    """CSR from the arrays of CSR, CSC or BSR."""
    make, axis, line, kind = COMPRESSED[X.format]
    with damage_named(name):
        sizes = [n // size for n, size in zip(X.shape, data.shape[1:] or (1, 1), strict=True)]
        check_starts(indptr, sizes[1 - axis], min(len(indices), len(data)))
        used = indptr[-1]
        parts = map(np.ascontiguousarray, (data[:used], indices[:used], indptr))  # kernels read no strided arrays
        out = make(tuple(parts), shape=X.shape)
    check_within(out.indices, sizes[axis], kind, name, lambda entry: f"{line} {row_of(out, entry)}")
    return out.tocsr()


def lil_parts(X):
    """Values, rows and columns of a LIL matrix."""
    lengths = list(map(len, X.rows))
    if lengths != list(map(len, X.data)):
        raise ValueError("its rows have other numbers of values than of columns")
    columns = np.array([*chain.from_iterable(X.rows)] or np.empty(0, dtype=np.int64))
    return [*chain.from_iterable(X.data)], np.repeat(np.arange(X.shape[0]), lengths), columns


def dok_parts(X):
    """Values, rows and columns of a DOK matrix."""
    places = np.array([*X.keys()] or np.empty((0, 2), dtype=np.int64))
    return [*X.values()], *places.reshape(len(X.keys()), 2).T


# Values of the entries, and where they are.
PARTS = {
    "coo": attrgetter("data", "row", "col"),
    "dia": attrgetter("data", "offsets"),
    "dok": dok_parts,
    "lil": lil_parts,
} | dict.fromkeys(COMPRESSED, attrgetter("data", "indices", "indptr"))


def values_of(data, name, dtype=None):
    """Stored values in a type of ``TYPES``; those of lists in the ``dtype`` of their matrix if it holds all of them."""
    data = array_numbers(data, name, "entry")
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype is not None:
            narrow = data.astype(dtype)
            data = narrow if ((narrow == data) | (narrow != narrow)).all() else data
        return data if data.dtype in TYPES else data.astype(np.float64)


@contextmanager
def damage_named(name):
    """Turn an error about the arrays of a sparse matrix into one sentence with the remedy."""
    try:
        yield
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise ValueError(
            f"{name} is a damaged sparse matrix: {error}; build it again, for instance with "
            "scipy.sparse.csr_array((data, (rows, columns)), shape)"
        ) from error


def check_starts(indptr, n_lines, n_entries):
    """Raise unless the starts of lines rise, which SciPy does not check if a matrix has no entries."""
    if len(indptr) != n_lines + 1 or indptr[0] != 0 or indptr[-1] > n_entries or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"its indptr does not rise from 0 to the {n_entries} entries that it holds")


def check_whole(*places):
    """Raise for numbers of rows, columns or entries of other types than whole numbers."""
    for numbers in places:
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"it has numbers of rows or columns of the type {numbers.dtype}")


def check_within(numbers, n, kind, name, place):
    """Raise for the first number of a row or column outside of the shape; ``place(entry)`` says where it is."""
    if not len(numbers) or (numbers.min() >= 0 and numbers.max() < n):
        return
    entry = int(np.flatnonzero((numbers < 0) | (numbers >= n))[0])
    raise ValueError(
        f"{place(entry)} of {name} has the {kind} number {numbers[entry]}; the matrix has {n} {kind}s, which count "
        f"from 0 to {n - 1}: subtract 1 from numbers that count from 1, or build the matrix again with a larger shape"
    )


# -- texts instead of numbers


@contextmanager
def texts_named(estimator, X):
    """Convert an error of the context into one about texts if X contains any."""
    try:
        yield
    except (ValueError, TypeError) as error:
        found = first_text(X)
        if found is None:
            raise
        row, text = found
        where = "X is" if row is None else f"row {row} of X holds"
        shown = repr(text[:QUOTED]) + ("..." if len(text) > QUOTED else "")
        name, takes = type(estimator).__name__, estimator._takes
        words = X[row] if row is not None and isinstance(X, list) else None
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            takes = takes.replace("CountVectorizer()", "CountVectorizer(analyzer=list)")
        raise ValueError(f"{where} the text {shown}, and {name} takes {takes}") from error


def first_text(X):
    """Row (None: X itself) and value of the first string in X that spells no number; None without any."""
    if isinstance(X, (str, bytes)):
        return None, X
    if is_frame(X):
        found = [first_text(np.asarray(column)) for _, column in columns_of(X)]
        return min((each for each in found if each is not None), default=None, key=lambda each: each[0])
    if sparse.issparse(X) or isinstance(X, NO_ROWS) or not is_readable(X):
        return None
    if not isinstance(X, (np.ndarray, Sequence)):
        try:
            X = np.asarray(X)
        except Exception:  # the conversion of another package, whose error is known
            return None
    if getattr(X, "ndim", 1) == 0:
        return None
    if getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
        return None
    for row, cells in enumerate(X):
        if isinstance(cells, Mapping) or (hasattr(cells, "__iter__") and not is_readable(cells)):
            return None
        for cell in [cells] if isinstance(cells, (str, bytes)) or not hasattr(cells, "__iter__") else cells:
            if isinstance(cell, (str, bytes)) and not is_number(cell):
                return row, cell
    return None


def is_number(text):
    """Whether a string spells a number, as in a CSV file."""
    try:
        float(text)
    except ValueError:
        return False
    return True
