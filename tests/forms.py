"""Forms in which people have a matrix: those that are read as their numbers, those that are refused, damaged ones.

Each is a function of an array of whole numbers from 0 to 100. Forms of packages that are not installed are left out.
"""

import importlib.util
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import sparse

PANDAS, ARROW, POLARS = (importlib.util.find_spec(name) is not None for name in ("pandas", "pyarrow", "polars"))
NUMBERS = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float64", "longdouble",
    ">i2", ">i8", ">u4", ">f4", ">f8",
]  # fmt: skip
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


def names_of(A):
    return [f"x{j}" for j in range(A.shape[1])]


def objects(A, make=int):
    """An array of Python's objects."""
    out = np.empty(A.shape, dtype=object)
    for place, value in np.ndenumerate(A):
        out[place] = make(int(value))
    return out


def mapped(A):
    """A file in memory; the name of the file is gone and its contents stay as long as the map."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "a.npy"), A.astype(np.float64))
        return np.load(Path(folder, "a.npy"), mmap_mode="r")


def frozen(A):
    out = A.astype(np.float64)
    out.flags.writeable = False
    return out


def frame(A, dtype="float64"):
    import pandas as pd

    return pd.DataFrame(A.astype(np.int64), columns=names_of(A)).astype(dtype)


def mixed_frame(A):
    types = ["int8", "Int64", "float64", "Float64", "uint16", "object", "category"]
    return frame(A, {name: types[j % len(types)] for j, name in enumerate(names_of(A))})


def polars_frame(A, dtype="Float64"):
    import polars as pl

    return pl.DataFrame({name: A[:, j] for j, name in enumerate(names_of(A))}).cast(getattr(pl, dtype))


def arrow_table(A, dtype="float64"):
    import pyarrow as pa

    return pa.table({name: pa.array(A[:, j].astype(dtype)) for j, name in enumerate(names_of(A))})


def by_columns(A):
    """A data frame that stores each column apart from its neighbours."""
    import pandas as pd

    return pd.DataFrame({j: A[:, j] for j in range(A.shape[1])})


# Layouts in memory of one array of numbers of any type.
LAYOUTS = {
    "Fortran order": np.asfortranarray,
    "every second row": lambda A: np.repeat(A, 2, axis=0)[::2],
    "every second column": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "rows reversed": lambda A: A[::-1].copy()[::-1],
    "columns reversed": lambda A: A[:, ::-1].copy()[:, ::-1],
    "memory map": mapped,
    "memory map in Fortran order": lambda A: mapped(np.asfortranarray(A)),
}
if PANDAS:
    LAYOUTS["frame by columns"] = by_columns
DENSE = {
    **{dtype: lambda A, dtype=dtype: A.astype(dtype) for dtype in NUMBERS},
    "objects": objects,
    "fractions": lambda A: objects(A, Fraction),
    "decimals": lambda A: objects(A, Decimal),
    "text of numbers": lambda A: A.astype(np.int64).astype(str),
    "read-only": frozen,
    "nothing masked": lambda A: np.ma.masked_array(A.astype(np.float64), mask=False),
    "list": lambda A: A.astype(np.float64).tolist(),
    "list of tuples": lambda A: [tuple(row) for row in A.astype(np.int64).tolist()],
}
SINGLE = {"float32": lambda A: A.astype(np.float32)}  # read as float32
# In words' order a list of lists is something else.
LISTS = ("list", "list of tuples")
if PANDAS:
    DENSE |= {
        f"frame of {dtype}": lambda A, dtype=dtype: frame(A, dtype)
        for dtype in ("float64", "int64", "uint8", "Int64", "UInt16", "Float64", "category", "object", "float16")
    }
    DENSE |= {
        "frame of several types": mixed_frame,
        "frame of text of numbers": lambda A: frame(A, "object").map(str),
        "frame of some sparse columns": lambda A: frame(A, {"x0": "Sparse[int]"}),
    }
    SINGLE |= {f"frame of {dtype}": lambda A, dtype=dtype: frame(A, dtype) for dtype in ("float32", "Float32")}
if PANDAS and ARROW:
    DENSE |= {
        f"frame of {dtype}": lambda A, dtype=dtype: frame(A, dtype)
        for dtype in ("int64[pyarrow]", "uint8[pyarrow]", "double[pyarrow]")
    }
if POLARS:
    DENSE |= {
        f"polars {dtype}": lambda A, dtype=dtype: polars_frame(A, dtype)
        for dtype in ("Float64", "Int64", "UInt8", "Int16")
    }
    SINGLE |= {"polars Float32": lambda A: polars_frame(A, "Float32")}
if ARROW:
    DENSE |= {f"Arrow {dtype}": lambda A, dtype=dtype: arrow_table(A, dtype) for dtype in ("float64", "int64", "uint8")}
    SINGLE |= {"Arrow float32": lambda A: arrow_table(A, "float32")}


# -- sparse


def wide(A):
    out = sparse.csr_array(A)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def unsorted(A):
    out = sparse.csr_array(A)
    for start, stop in zip(out.indptr[:-1], out.indptr[1:], strict=True):
        out.indices[start:stop], out.data[start:stop] = out.indices[start:stop][::-1], out.data[start:stop][::-1]
    out.has_sorted_indices = False
    return out


def stored_zeros(A):
    out = sparse.csr_array(A.astype(np.int64) + 1)
    out.data -= 1
    return out


def longer_arrays(A):
    """More space than entries; the rest is garbage."""
    out = sparse.csr_array(A)
    out.indices, out.data = np.append(out.indices, np.int32(1 << 30)), np.append(out.data, out.data.dtype.type(7))
    return out


def fractions_in_integers(A):
    """One number in two parts that the type of the matrix does not hold."""
    out = sparse.lil_array(A.astype(np.int64))
    row = next(i for i, columns in enumerate(out.rows) if columns)
    out.rows[row].append(out.rows[row][0])
    out.data[row] = [out.data[row][0] - 0.25, *out.data[row][1:], 0.25]
    return out


def typed(A, layout, dtype):
    """A matrix whose stored numbers have any type, which SciPy's own conversions may not know."""
    out = getattr(sparse, f"{layout}_array")(sparse.csr_array(A.astype(np.int64)))
    out.data = out.data.astype(dtype)
    return out


def with_parts(A, make, layout="csr", parts=("data", "indices", "indptr")):
    """A compressed matrix with some of its arrays in another form."""
    out = getattr(sparse, f"{layout}_array")(sparse.csr_array(A.astype(np.float64)))
    for name in parts:
        setattr(out, name, make(getattr(out, name)))
    return out


def field(values):
    """The numbers as a field of a record array."""
    records = np.zeros(len(values), dtype=[("before", "i1"), ("number", values.dtype)])
    records["number"] = values
    return records["number"]


SPARSE = {
    **{
        f"{layout} with strided {part}": lambda A, layout=layout, part=part: with_parts(A, field, layout, [part])
        for layout in ("csr", "csc") for part in ("data", "indices", "indptr")
    },
    "csr of records": lambda A: with_parts(A, field),
    "csr of reversed arrays": lambda A: with_parts(A, lambda v: v[::-1].copy()[::-1]),
    **{
        f"{layout}_{kind}": lambda A, name=f"{layout}_{kind}": getattr(sparse, name)(A.astype(np.int64))
        for layout in FORMATS for kind in ("array", "matrix")
    },
    **{
        f"{layout} of {dtype}": lambda A, layout=layout, dtype=dtype: typed(A, layout, dtype)
        for layout in ("csr", "csc", "coo", "bsr") for dtype in ("uint8", "uint64", "float16", "longdouble", ">i4", "O")
    },
    "bsr of blocks": lambda A: sparse.bsr_array(A.astype(np.int64), blocksize=(2, 1) if len(A) % 2 == 0 else (1, 1)),
    "64-bit indices": wide,
    "unsorted": unsorted,
    "stored zeros": stored_zeros,
    "longer arrays": longer_arrays,
    "lil with an array as a row": lambda A: changed(A, "lil", lambda X: X.rows.__setitem__(1, np.array(X.rows[1]))),
}  # fmt: skip
if PANDAS:
    SPARSE |= {"frame of sparse columns": lambda A: frame(A, "Sparse[int]")}


def repeated(A, layout="coo", dtype=np.int64):
    """Each number in two parts at the same place."""
    coo = sparse.coo_array(A.astype(np.int64))
    rows, columns = np.r_[coo.row, coo.row], np.r_[coo.col, coo.col]
    data = np.r_[coo.data - coo.data // 2, coo.data // 2].astype(dtype)
    if layout == "coo":
        return sparse.coo_array((data, (rows, columns)), shape=A.shape)
    if layout == "lil":
        out = sparse.lil_array(A.shape, dtype=dtype)
        for row, column, value in zip(rows, columns, data, strict=True):
            out.rows[row].append(column)
            out.data[row].append(value)
        return out
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(A)))])
    return sparse.csr_array((data[order], columns[order], indptr), shape=A.shape)


REPEATED = {
    f"{layout} with repeated places": lambda A, layout=layout: repeated(A, layout) for layout in ("coo", "csr", "lil")
} | {"lil with fractions among integers": fractions_in_integers}


# -- refused


def with_value(A, value, dtype=object):
    """The matrix with something else in row 1, column 0."""
    out = A.astype(dtype)
    out[1, 0] = value
    return out


def frame_with(A, value, dtype):
    out = frame(A, "object")
    out.iloc[1, 0] = value
    return out.astype({"x0": dtype})


def polars_with(A, dtype, value):
    import polars as pl

    column = pl.Series("x0", [None if i == 1 else value for i in range(len(A))], dtype=getattr(pl, dtype))
    return polars_frame(A).with_columns(column)


def arrow_with(A, values, dtype):
    import pyarrow as pa

    return arrow_table(A).set_column(0, "x0", pa.array(values(A), dtype))


def half_masked(A):
    return np.ma.masked_array(A.astype(np.float64), mask=np.eye(*A.shape, k=-1, dtype=bool))


WRONG = {
    "complex64": (lambda A: A.astype(np.complex64), "Complex data not supported"),
    "complex128": (lambda A: A + 1j, "Complex data not supported"),
    "complex object": (lambda A: with_value(A, 1j), "Complex data not supported.*row 1, column 0"),
    "object of NumPy's complex": (lambda A: with_value(A, np.complex64(1j)), "Complex data not supported.*row 1"),
    "None": (lambda A: with_value(A, None), "row 1"),
    "text": (lambda A: with_value(A, "a"), "row 1 of X holds the text 'a'"),
    "array of text": (lambda A: with_value(A, "a", "U5"), "row 1 of X holds the text 'a'"),
    "dictionary": (lambda A: with_value(A, {}), "in row 1, column 0.*not a number"),
    "date object": (lambda A: with_value(A, np.datetime64("2020-01-01")), "row 1, column 0.*not a number"),
    "dates": (lambda A: A.astype("M8[s]"), "type datetime64.*convert"),
    "durations": (lambda A: A.astype("m8[s]"), "type timedelta64.*convert"),
    "huge integer": (lambda A: with_value(A, 10**400), "row 1, column 0.*not a number"),
    "bytes": (lambda A: A.astype(np.float64).view("V8"), "has the type.*convert"),
    "masked": (half_masked, "masked in row 1, column 0"),
    "three dimensions": (lambda A: np.stack([A, A]), r"X has the shape \(2, .*numpy.reshape\(X, \(2, -1\)\)"),
    "one number": (lambda A: 3.0, "X is one number.*Reshape"),  # noqa: ARG005
    "nothing": (lambda A: None, "X is None.*give rows"),  # noqa: ARG005
    "columns by name": (lambda A: dict(enumerate(A.T)), r"X is a dict.*pandas.DataFrame\(X\)"),
    "rows by name": (lambda A: [dict(enumerate(row)) for row in A], "row 0 of X is a dict.*DictVectorizer"),
    "rows to read once": (lambda A: (row for row in A), r"X is a generator.*list\(X\)"),
    "a set": (lambda A: set(A.ravel().tolist()), "X is a set.*list of rows"),
    "a list of texts": (lambda A: ["a text"] * len(A), "row 0 of X holds the text 'a text'"),
    "one dimension": (lambda A: A[0].astype(float), "Reshape your data"),
    "rows of different lengths": (lambda A: [[[1]], [[2, 3]]], "same length"),  # noqa: ARG005
    **{
        f"NaN as {dtype}": (lambda A, dtype=dtype: with_value(A, np.nan, dtype), "row 1")
        for dtype in ("float16", "float32", "float64", "longdouble", ">f8", "O")
    },
    "infinite longdouble": (lambda A: with_value(A, np.longdouble("1e4000"), "longdouble"), "row 1"),
}
if PANDAS:
    import pandas as pd

    WRONG |= {
        "pd.NA object": (lambda A: with_value(A, pd.NA), "<NA>.* in row 1, column 0"),
        **{
            f"frame of {dtype} with pd.NA": (lambda A, dtype=dtype: frame_with(A, pd.NA, dtype), "row 1")
            for dtype in ("Int64", "Float64", *(["int64[pyarrow]", "double[pyarrow]"] * ARROW))
        },
        "frame with dates": (lambda A: frame(A).assign(x0=pd.Timestamp("2020-01-01")), "column 'x0' of X.*convert"),
        "frame with zoned dates": (
            lambda A: frame(A).assign(x0=pd.Timestamp("2020-01-01", tz="UTC")), "column 'x0' of X .*row 0.*convert"
        ),
        "frame with text": (lambda A: frame(A).assign(x0="a"), "row 0 of X holds the text 'a'"),
        "frame with categories": (
            lambda A: frame(A).assign(x0=pd.Categorical(["a"] * len(A))), "row 0 of X holds the text 'a'"
        ),
        "frame of complex": (lambda A: frame(A).assign(x0=1j), "Complex data not supported.*x0"),
    }  # fmt: skip
if POLARS:
    import datetime

    day = datetime.date(2020, 1, 1)
    WRONG |= {
        "polars with nothing": (lambda A: polars_with(A, "Int64", 1), "row 1"),
        "polars with dates": (lambda A: polars_with(A, "Date", day), "column 'x0' of X.*convert"),
        "polars' rows to compute": (lambda A: polars_frame(A).lazy(), r"X is a LazyFrame.*X\.collect\(\)"),
        "polars with text": (lambda A: polars_with(A, "String", "a"), "row 0 of X holds the text 'a'"),
        "polars with categories": (lambda A: polars_with(A, "Categorical", "a"), "row 0 of X holds the text 'a'"),
    }
if ARROW:
    WRONG |= {
        "Arrow with a null": (lambda A: arrow_with(A, lambda A: [1, None] * (len(A) // 2), "int64"), "row 1"),
        "Arrow with dates": (lambda A: arrow_with(A, lambda A: [1] * len(A), "date32"), "column 'x0' of X.*convert"),
        "Arrow with text": (lambda A: arrow_with(A, lambda A: ["a"] * len(A), "string"), "row 0 of X .* text 'a'"),
    }
def is_missing(name, categories=()):
    """Whether this entry of WRONG holds a missing value, which some estimators take; those of categories any."""
    some = name in ("None", "polars with nothing", "Arrow with a null", *["pd.NA object"] * len(categories))
    return some or name.startswith("NaN as") or name.endswith(" with pd.NA")


WRONG_SPARSE = {
    **{
        f"complex {layout}": (lambda A, layout=layout: typed(A, layout, np.complex128), "Complex data not supported")
        for layout in ("csr", "csc", "coo", "bsr")
    },
    "text in lil": (lambda A: changed(A, "lil", lambda X: X.data[1].__setitem__(0, "a")), "X has 'a' in entry"),
    "dates in csr": (lambda A: typed(A, "csr", "M8[s]"), "type datetime64.*convert"),
    "sparse with one dimension": (lambda A: sparse.coo_array(A[0]), "Reshape your data"),
}
class Unread:
    """An object with many rows that no reader may visit: each could take a millisecond."""

    n_rows = 10**9

    def __len__(self):
        return self.n_rows

    def __getitem__(self, key):
        raise AssertionError(f"item {key} was read")

    def __iter__(self):
        raise AssertionError("it was iterated")


def unread(bases=(Unread,), **attributes):
    return type("Unread", bases, attributes)()


def refuse_conversion(*_, **__):
    raise RuntimeError("call detach() first")


# In the manner of AnnData, MuData, datasets of xarray, groups of HDF5 and Zarr, Delayed, tables of Hugging Face,
# relations of DuckDB, tensors, and groups of pandas.
OBJECTS = {
    "cells": (lambda: unread(layers={}), r"has the type Unread, which is no array; give its matrix \S+\.X, or a"),
    "parts": (lambda: unread(mod={}), r"give the matrix of one of its parts, such as \S+\.mod\['rna'\]\.X"),
    "arrays by name": (lambda: unread((Unread, Mapping), data_vars={}, __array__=refuse_conversion), r"\S+\[name\]"),
    "group": (lambda: unread(create_group=None), r"give one of its arrays, \S+\[name\]"),
    "not computed": (lambda: unread(compute=None), r"give \S+\.compute\(\)"),
    "table": (lambda: unread(shape=(10**9, 2), column_names=["a", "b"], to_pandas=None), r"give \S+\.to_pandas\(\)"),
    "stream": (lambda: unread(__arrow_c_stream__=None), r"give pyarrow\.table\(\S+\)"),
    "tensor": (lambda: unread(__array__=refuse_conversion, ndim=2, shape=(10**9, 2)),
               r"has the type Unread and does not convert to an array \(call detach\(\) first\); give its numbers"),
    "groups": (unread, r"has the type Unread, which is no array; give its numbers as an array"),
    "list of cells": (lambda: [unread(layers={})] * 3, r"\[0\] has the type Unread, which is no array"),
}  # fmt: skip
# Of words in their order: neither is a word, and no type makes one of it.
NO_WORDS = {
    **{
        f"2.5 as {dtype}": (lambda A, dtype=dtype: with_value(A, 2.5, dtype), "row 1 of X has 2.5 at place 0")
        for dtype in ("float16", "float32", "float64", "longdouble", ">f4", "O")
    },
    **{
        f"large {dtype}": (lambda A, dtype=dtype: with_value(A, 2**32 + 3, dtype), "row 1 of X has 4294967299")
        for dtype in ("int64", "uint64", "float64", "longdouble", ">i8", "O")
    },
    **{
        f"large {dtype} in {layout}": (
            lambda A, layout=layout, dtype=dtype: typed(with_value(A, 2**32 + 3, np.int64), layout, dtype),
            "row 1 of X has 4294967299",
        )
        for layout in ("csr", "csc", "coo", "bsr") for dtype in ("uint64", "longdouble", "O")
    },
    **{name: (make, "two words at place") for name, make in REPEATED.items()},
}  # fmt: skip
if PANDAS:
    NO_WORDS |= {
        f"2.5 in a frame of {dtype}": (lambda A, dtype=dtype: frame_with(A, 2.5, dtype), "row 1 of X has 2.5")
        for dtype in ("Float64", "object", *(["double[pyarrow]"] * ARROW))
    }
    NO_WORDS |= {
        f"large in a frame of {dtype}": (lambda A, dtype=dtype: frame_with(A, 2**32 + 3, dtype), "row 1 of X has 42949")
        for dtype in ("Int64", "UInt64", *(["uint64[pyarrow]"] * ARROW))
    }


# -- damaged


def fits(X):
    """Whether a matrix can be given to the functions of this file."""
    if isinstance(X, list) or min(np.shape(X)) < 2 or len(np.shape(X)) != 2:
        return False
    if sparse.issparse(X):
        if X.format != "csr" or X.nnz < 5 or not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
            return False
        X = X.data
    return bool(((X >= 0) & (X <= 100) & (np.floor(X) == X)).all())


def changed(A, layout, change, kind="array"):
    """A sparse matrix whose parts somebody has changed."""
    make, sizes = getattr(sparse, f"{layout}_{kind}"), {"blocksize": (1, 1)} if layout == "bsr" else {}
    out = make(sparse.csr_array(A.astype(np.int64)), **sizes)
    change(out)
    return out


def set_part(part, value):
    """Set an attribute to a function of it."""
    return lambda X: setattr(X, part, value(getattr(X, part)))


def put(place, number):
    """A function of an array: a copy with a number at a place."""

    def change(values):
        values = values.copy()
        values[place] = number
        return values

    return change


def move_entry(X, key):
    """Give the first entry of a DOK matrix another key, as its dictionary allows."""
    X._dict[key] = X._dict.pop(next(iter(X._dict)))


FAR = 50_000_000
OUTSIDE = (-1, 1 << 20, FAR)
COMPRESSED = {
    **{f"the index {number}": ("indices", put(3, number)) for number in OUTSIDE},
    "another length": ("indptr", lambda starts: starts[:-1]),
    "falling indptr": ("indptr", put(1, FAR)),
    "indptr that falls to no entries": ("indptr", lambda starts: put(slice(1, -1), 5)(0 * starts)),
    "a long indptr": ("indptr", put(-1, FAR)),
    "indptr from -5": ("indptr", put(0, -5)),
    "fractions as indices": ("indices", lambda numbers: numbers + 0.5),
    "text as indices": ("indices", lambda numbers: numbers.astype(str)),
    "short data": ("data", lambda data: data[:-2]),
}
DAMAGED = {
    **{
        f"{layout} with {name}": (layout, set_part(*change))
        for layout in ("csr", "csc", "bsr") for name, change in COMPRESSED.items()
    },
    "bsr with blocks of nothing": ("bsr", set_part("data", lambda d: d[:, :0])),
    "bsr with flat data": ("bsr", set_part("data", lambda d: d.ravel())),
    **{f"coo with the row {n}": ("coo", lambda X, n=n: set_coo(X, put(2, n)(X.row), X.col)) for n in OUTSIDE},
    **{f"coo with the column {n}": ("coo", lambda X, n=n: set_coo(X, X.row, put(2, n)(X.col))) for n in OUTSIDE},
    "coo with short data": ("coo", set_part("data", lambda d: d[:-2])),
    "coo with fewer rows": ("coo", lambda X: set_coo(X, X.row[:-1], X.col)),
    "coo without column numbers": ("coo", lambda X: setattr(X, "coords", (X.row,))),
    "coo with fractions as rows": ("coo", lambda X: set_coo(X, X.row + 0.5, X.col)),
    **{f"dia with the diagonal {n}": ("dia", set_part("offsets", put(0, n))) for n in (1 << 20, -FAR, FAR)},
    "dia with a diagonal twice": ("dia", set_part("offsets", lambda o: np.r_[o[1], o[1:]])),
    "dia with fewer offsets": ("dia", set_part("offsets", lambda o: o[:-1])),
    "dia with fractions as offsets": ("dia", set_part("offsets", lambda o: o + 0.5)),
    "dia with flat data": ("dia", set_part("data", lambda d: d.ravel())),
    **{f"lil with the column {n}": ("lil", lambda X, n=n: X.rows[1].__setitem__(0, n)) for n in (*OUTSIDE, 10**30)},
    "lil with a fraction as column": ("lil", lambda X: X.rows[1].__setitem__(0, 0.5)),
    "lil with text as column": ("lil", lambda X: X.rows[1].__setitem__(0, "a")),
    "lil with more columns": ("lil", lambda X: X.rows[1].append(0)),
    "lil with more values": ("lil", lambda X: X.data[1].append(1)),
    "lil with fewer rows": ("lil", set_part("rows", lambda r: r[:-1])),
    "lil with fewer lists": ("lil", set_part("data", lambda d: d[:-1])),
    "lil with None as a row": ("lil", lambda X: X.rows.__setitem__(1, None)),
    **{f"dok with the column {n}": ("dok", lambda X, n=n: move_entry(X, (0, n))) for n in (*OUTSIDE, 10**30)},
    **{f"dok with the row {n}": ("dok", lambda X, n=n: move_entry(X, (n, 0))) for n in OUTSIDE},
    "dok with a number as key": ("dok", lambda X: move_entry(X, 3)),
    "dok with three numbers": ("dok", lambda X: move_entry(X, (0, 0, 0))),
    "dok with a fraction": ("dok", lambda X: move_entry(X, (0.5, 0))),
    "dok with text": ("dok", lambda X: move_entry(X, ("a", 0))),
}  # fmt: skip
DAMAGE_IS_SAID = r"damaged sparse matrix: .*build it again|number .*; the matrix has .* count from 0 to"


def set_coo(X, rows, columns):
    """Row and column numbers as they are, without SciPy's checks."""
    X.coords = (rows, columns)


def damaged(name, A, kind="array"):
    """The damaged matrix of that name."""
    layout, change = DAMAGED[name]
    return changed(A, layout, change, kind)
