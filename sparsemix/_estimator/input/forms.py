"""Conversion of input to arrays, once and before all checks, so that later code uses the checked values.

Errors for texts instead of numbers name the row and a suitable vectorizer.
"""

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from itertools import chain
from numbers import Integral

import numpy as np
from scipy import sparse

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
    "rows of numbers; encode categories with sklearn.preprocessing.OneHotEncoder, and texts with a sentence encoder, "
    "or with sklearn.feature_extraction.text.TfidfVectorizer and sklearn.decomposition.TruncatedSVD"
)
NUMBERS_OR_COUNTS = (
    "rows of numbers or counts of words; encode categories with sklearn.preprocessing.OneHotEncoder, and count words "
    "of texts with sklearn.feature_extraction.text.CountVectorizer"
)
SEQUENCES = "numbers of words; make them with sparsemix.skipgram.TokenSequences().fit_transform(texts)"
# Characters of a text that an error quotes.
QUOTED = 30
# Containers that are refused as such, whatever they hold.
NO_ROWS = (Mapping, Set, Iterator)


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
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # of polars
        raise TypeError(f"{name} is a {kind}, whose rows are not computed yet; give {name}.collect()")
    if isinstance(X, Mapping):
        raise TypeError(f"{name} is a {kind}; give its columns as a table, pandas.DataFrame({name})")
    if isinstance(X, Set):
        raise TypeError(f"{name} is a {kind}, which has no order of rows; give a list of rows")
    if isinstance(X, Iterator):
        raise TypeError(f"{name} is a {kind}, whose rows can be read once only; give list({name})")
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise TypeError(
            f"row 0 of {name} is a {type(X[0]).__name__}; make a table of such rows with "
            f"sklearn.feature_extraction.DictVectorizer().fit_transform({name}) or pandas.DataFrame({name})"
        )


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


def floats_of(X, name):
    """The numbers of a dense array-like as float64; the argument of a parameter or a weight."""
    if sparse.issparse(X):
        raise TypeError(f"{name} is a sparse matrix; give a dense array, {name}.toarray()")
    with np.errstate(over="ignore"):
        return numbers_of(X, name).astype(np.float64, copy=False)


def array_numbers(X, name, line="row"):
    """An array-like as an array of numbers; ``line`` names its first axis in messages."""
    if np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
        place = place_of(np.argwhere(np.ma.getmaskarray(X))[0], line)
        raise ValueError(f"{name} is masked in {place} and has no number there; fill it, or remove the row")
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(
            f"{name} has rows of different lengths, so it is not an array of numbers; give rows of the same length"
        ) from None
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has the type {array.dtype}; give real numbers")
    if array.dtype.kind not in "OSU":
        remedy = REMEDIES.get(array.dtype.kind, "convert it to numbers")
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


def place_of(place, line):
    """Where an entry is, for messages."""
    if len(place) == 2:
        return f"{line} {place[0]}, column {place[1]}"
    return f"{line} {place[0]}" if len(place) == 1 else f"entry {tuple(int(i) for i in place)}"


# -- data frames


def is_frame(X):
    """Whether X is a data frame of pandas or polars, or a table of Arrow."""
    by_columns = hasattr(X, "iloc") or hasattr(X, "get_columns") or hasattr(X, "column_names")
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
    return hasattr(X, "iloc") and len(X.shape) == 2 and X.shape[1] > 0 and all(map(is_sparse_type, X.dtypes))


def is_sparse_type(dtype):
    """Whether this is a sparse type of pandas."""
    return hasattr(dtype, "fill_value")


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
    parts = [
        array_numbers(column_numbers(column), f"the column {label!r} of {name}") for label, column in columns_of(X)
    ]
    return np.column_stack(parts) if parts else np.empty((X.shape[0], 0))


def column_numbers(column):
    """A column as an array; missing numbers are NaN."""
    dtype = getattr(column, "dtype", None)
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "biuf":  # nullable, or Arrow's
        return column.to_numpy(dtype=np.float64 if column.isna().any() else dtype.numpy_dtype, na_value=np.nan)
    return column.to_numpy()


# -- sparse matrices


def csr_of(X, name="X"):
    """A sparse matrix of any format as CSR; its arrays are checked before SciPy reads them."""
    check_structure(X, name)
    if X.format in ("lil", "dok"):
        rows, columns, data = (lil_entries if X.format == "lil" else dok_entries)(X, name)
        return from_entries(X, rows, columns, values_of(data, name))
    data = values_of(X.data, name)
    if X.format == "csr":
        used = X.indptr[-1]
        parts = map(np.ascontiguousarray, (data[:used], X.indices[:used], X.indptr))  # kernels read no strided arrays
        return sparse.csr_array(tuple(parts), shape=X.shape)
    if X.format == "coo":
        return from_entries(X, X.row, X.col, data)
    if X.format == "dia":
        return sparse.csr_array(sparse.dia_array((data, X.offsets), shape=X.shape))
    kind = {"csc": sparse.csc_array, "bsr": sparse.bsr_array}[X.format]
    used = X.indptr[-1]
    return sparse.csr_array(kind((data[:used], X.indices[:used], X.indptr), shape=X.shape))


def as_csr(X):
    """Numbers of a dense array as CSR."""
    return sparse.csr_array(X if X.dtype in TYPES else X.astype(np.float64))


def from_entries(X, rows, columns, data):
    """Entries in any order as CSR; those of the same place are added in floating point."""
    data = data.astype(np.float64) if data.dtype.kind == "i" else data
    return sparse.coo_array((data, (rows, columns)), shape=X.shape).tocsr()


def values_of(data, name):
    """The stored values of a sparse matrix, in a type of ``TYPES``."""
    data = array_numbers(data, name, "entry")
    if data.dtype in TYPES:
        return data
    with np.errstate(over="ignore"):
        return data.astype(np.float64)


def check_structure(X, name="X"):
    """Raise for a sparse matrix whose arrays contradict its shape; SciPy and compiled loops would read beyond them."""
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D input: {name} is a sparse array of shape {X.shape}. Reshape your data with "
            f"{name}.reshape(1, -1) if it is one row"
        )
    if X.format in ("csr", "csc", "bsr"):
        check_compressed(X, name)
    elif X.format == "coo":
        if len(getattr(X, "coords", (0, 0))) != 2:
            damaged(name, "it has not one array of row and one of column numbers")
        row, column = X.row, X.col
        if not (np.ndim(row) == np.ndim(column) == np.ndim(X.data) == 1 and len(row) == len(column) == len(X.data)):
            damaged(
                name, f"it has {np.size(row)} row and {np.size(column)} column numbers and {np.size(X.data)} values"
            )
        for numbers, n, kind in zip((row, column), X.shape, ("row", "column"), strict=True):
            bad = first_outside(numbers, n, f"{kind} numbers", name)
            if bad is not None:
                raise ValueError(f"entry {bad} of {name} has the {kind} number {numbers[bad]}; " + within(kind, n))
    elif X.format == "dia":
        offsets, (n_rows, n_columns) = np.asarray(X.offsets), X.shape
        if np.ndim(X.data) != 2 or offsets.ndim != 1 or len(offsets) != len(X.data):
            damaged(name, f"it has data of shape {np.shape(X.data)} for {offsets.size} diagonals")
        bad = first_outside(offsets, n_columns, "numbers of diagonals", name, least=1 - n_rows)
        if bad is not None or len(np.unique(offsets)) < len(offsets):
            damaged(name, f"it has the diagonals {offsets.tolist()[:9]}, which are not distinct ones within {X.shape}")


def check_compressed(X, name):
    """``check_structure`` of CSR, CSC and BSR."""
    n, line, kind = check_starts(X, name)
    numbers = X.indices[: X.indptr[-1]]
    bad = first_outside(numbers, n, f"{kind} numbers", name)
    if bad is not None:
        place = np.searchsorted(X.indptr, bad, side="right") - 1
        if X.format == "bsr":
            damaged(name, f"it has in its {place + 1}. line of blocks the block {numbers[bad]} of {n}")
        raise ValueError(f"{line} {place} of {name} has the {kind} number {numbers[bad]}; " + within(kind, n))


def check_starts(X, name):
    """``check_structure`` of CSR, CSC and BSR but for the contents of the indices, which may be on a disk.

    Returns
    -------
    n : int
        Exclusive upper limit of the indices.
    line, kind : str
        Axis that ``indptr`` describes, and axis of the indices, for messages.
    """
    blocks = np.shape(X.data)[1:] if X.format == "bsr" else (1, 1)
    if np.ndim(X.data) != (3 if X.format == "bsr" else 1) or np.ndim(X.indices) != 1 or np.ndim(X.indptr) != 1:
        damaged(name, f"it has data of shape {np.shape(X.data)}, indices of {np.shape(X.indices)}")
    if 0 in blocks or any(n % size for n, size in zip(X.shape, blocks, strict=True)):
        damaged(name, f"it has the shape {X.shape}, which blocks of {blocks} do not fill")
    sizes, kinds = [n // size for n, size in zip(X.shape, blocks, strict=True)], ["row", "column"]
    if X.format == "csc":
        sizes, kinds = sizes[::-1], kinds[::-1]
    (n_lines, n), (line, kind) = sizes, kinds
    starts, n_stored = X.indptr, min(len(X.indices), len(X.data))
    check_whole(starts, f"bounds of {line}s", name)
    check_whole(X.indices, f"{kind} numbers", name)
    if len(starts) != n_lines + 1 or starts[0] != 0 or starts[-1] > n_stored or (starts[1:] < starts[:-1]).any():
        damaged(name, f"its indptr does not rise from 0 to the {n_stored} entries that it holds")
    return n, line, kind


def first_outside(numbers, n, kinds, name, least=0):
    """The first of some whole numbers below ``least``, or not below n; None where there is none."""
    check_whole(numbers, kinds, name)
    if not len(numbers) or (numbers.min() >= least and numbers.max() < n):
        return None
    return int(np.flatnonzero((numbers < least) | (numbers >= n))[0])


def check_whole(numbers, kinds, name):
    """Raise for an array of indices that is not of a type of whole numbers."""
    if getattr(numbers, "dtype", np.dtype(object)).kind not in "iu":
        damaged(name, f"it has {kinds} of the type {getattr(numbers, 'dtype', type(numbers).__name__)}")


def damaged(name, what):
    """Raise an error for a damaged sparse matrix."""
    raise ValueError(
        f"{name} is a damaged sparse matrix: {what}; build it again, for instance with "
        "scipy.sparse.csr_array((data, (rows, columns)), shape)"
    )


def lil_entries(X, name):
    """Rows, columns and values of a LIL matrix."""
    rows, data = X.rows, X.data
    if not len(rows) == len(data) == X.shape[0]:
        damaged(name, f"it has {len(rows)} lists of columns and {len(data)} of values for {X.shape[0]} rows")
    for row, (columns, values) in enumerate(zip(rows, data, strict=True)):
        if not isinstance(columns, list) or not isinstance(values, list):
            damaged(name, f"it has no list of columns or of values in row {row}")
        if len(columns) != len(values):
            damaged(name, f"it has {len(columns)} columns and {len(values)} values in row {row}")
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    owners = np.repeat(np.arange(len(rows)), lengths)
    columns = indices_of(chain.from_iterable(rows), X.shape[1], "column", owners, name)
    return owners, columns, stored_values(chain.from_iterable(data), len(owners), X.dtype, name)


def dok_entries(X, name):
    """Rows, columns and values of a DOK matrix."""
    keys, n = list(X.keys()), len(X.keys())
    for entry, key in enumerate(keys):
        if not isinstance(key, tuple) or len(key) != 2:
            damaged(name, f"it has the key {key!r} of entry {entry}, which is not a pair of a row and a column")
    entries = np.arange(n)
    rows = indices_of((key[0] for key in keys), X.shape[0], "row", entries, name, "entry")
    columns = indices_of((key[1] for key in keys), X.shape[1], "column", entries, name, "entry")
    return rows, columns, stored_values(X.values(), n, X.dtype, name)


def indices_of(items, n, kind, owners, name, line="row"):
    """Row or column numbers as int64; the first that is outside the shape, or not whole, is named."""
    numbers = list(items)
    whole = all(issubclass(each, Integral) and each is not bool for each in set(map(type, numbers)))
    if not whole or (numbers and not (min(numbers) >= 0 and max(numbers) < n)):
        for owner, number in zip(owners, numbers, strict=True):
            if not isinstance(number, Integral) or isinstance(number, bool) or not 0 <= number < n:
                raise ValueError(f"{line} {owner} of {name} has the {kind} number {number!s}; " + within(kind, n))
    return np.fromiter(numbers, dtype=np.int64, count=len(numbers))


def stored_values(items, n, dtype, name):
    """Values of lists, in the type of their matrix if that holds all of them."""
    values = np.empty(n, dtype=object)
    for entry, value in enumerate(items):
        values[entry] = value
    if not n:
        return np.empty(0, dtype=dtype)
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has the type {dtype}; give real numbers")
    exact = parsed(values, name, "entry")
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = exact.astype(dtype)
    same = (narrow == exact) | (np.isnan(exact) if dtype.kind == "f" else False)
    return narrow if same.all() else exact


def within(kind, n):
    """The remedy for a number beyond the shape."""
    return (
        f"the matrix has {n} {kind}s, which count from 0 to {n - 1}: subtract 1 from numbers that count from 1, or "
        "build the matrix again with a larger shape"
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
        name = type(estimator).__name__
        raise ValueError(f"{where} the text {shown}, and {name} takes {estimator._takes}") from error


def first_text(X):
    """Row (None: X itself) and value of the first string in X that spells no number; None without any."""
    if isinstance(X, (str, bytes)):
        return None, X
    if is_frame(X):
        found = [first_text(np.asarray(column)) for _, column in columns_of(X)]
        return min((each for each in found if each is not None), default=None, key=lambda each: each[0])
    if sparse.issparse(X) or not hasattr(X, "__iter__") or is_numeric(X) or isinstance(X, NO_ROWS):
        return None
    for row, cells in enumerate(X):
        if isinstance(cells, Mapping):
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


def is_numeric(X):
    """Whether the dtype of X excludes strings."""
    return getattr(getattr(X, "dtype", None), "kind", "O") in "biufc"
