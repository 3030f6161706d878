"""Checks of input: rows, counts, weights; the first bad row is named, with the remedy."""

import numbers

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from sparsemix._compat import Interval
from sparsemix._engine.blocks import spans
from sparsemix._estimator.texts import texts_named

# Parameters that are to be positive: what is divided by still smaller ones, which have few digits, is infinite.
SMALLEST_NUMBER = 1e-300
# And counts that stand for words which nobody has seen, whose logarithms are multiplied by counts.
SMALLEST_PRIOR = 1e-37
PRIOR = Interval(numbers.Real, SMALLEST_PRIOR, None, closed="left")
POSITIVE = Interval(numbers.Real, SMALLEST_NUMBER, None, closed="left")

# What all weights together may be: their products with other sums are numbers.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-30, 1e28
# Counts times weights: ten thousand squares of them still have a sum in single precision.
SMALLEST_COUNT, LARGEST_COUNT = 1e-30, 1e17
COUNT = Interval(numbers.Real, SMALLEST_COUNT, LARGEST_COUNT, closed="both")
# Variances and precisions that are given: their products with counts, and with squares of rows, are numbers.
SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-140, 1e140
VARIANCE = Interval(numbers.Real, SMALLEST_VARIANCE, LARGEST_VARIANCE, closed="both")


def check_rows(estimator, X, reset, dtype=None):
    """Dense rows as float32 or float64, without a copy where they are; the first row with NaN or inf is named, or with
    a value whose square is beyond the numbers of ``dtype`` (None: of the rows).
    """
    with texts_named(estimator, X):
        X = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False, accept_sparse=False
        )
    dtype = X.dtype if dtype is None else np.result_type(dtype)
    limit = largest_value(dtype)
    for start, stop in spans(len(X), max(1, (1 << 20) // X.shape[1])):
        block = X[start:stop]
        if float(block.min()) >= -limit and float(block.max()) <= limit:  # a NaN makes both false
            continue
        row, column = np.argwhere(~(np.abs(block) <= block.dtype.type(min(limit, float(np.finfo(block.dtype).max)))))[0]
        value = block[row, column]
        if np.isfinite(value):
            raise ValueError(
                f"row {start + row} of X holds the extreme value {value:.3g} in column {column}, whose powers "
                f"{dtype} cannot hold; scale the columns, or remove the row"
            )
        raise ValueError(
            f"Input X contains {'NaN' if np.isnan(value) else 'infinity'} in row {start + row}, column {column}; "
            "remove such rows or impute them (sklearn.impute.SimpleImputer)"
        )
    return X


def check_columns(X, dtype=None):
    """Refuse columns of values so small that the inverses of their squares are beyond the numbers of ``dtype``."""
    limit = 1.0 / largest_value(dtype or X.dtype)
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    bad = np.flatnonzero((largest > 0) & (largest < limit))
    if len(bad):
        raise ValueError(
            f"column {bad[0]} of X holds no value beyond {largest[bad[0]]:.3g}, whose powers {dtype or X.dtype} cannot "
            "hold; scale the columns"
        )


def largest_value(dtype):
    """Rows are accepted up to this value: sums of squares are numbers, in float64 of its fourth powers too."""
    return 1e17 if dtype == np.float32 else 1e70


def check_explained(largest, start):
    """Refuse a row that is beyond the reach of every component: it has no responsibilities."""
    bad = np.flatnonzero(~(largest > -np.inf))
    if len(bad):
        raise ValueError(
            f"every weight of row {start + bad[0]} is -inf; no component explains it, check for extreme values"
        )


def check_structure(X, name="X"):
    """Row and column numbers within a sparse matrix: SciPy takes them on trust, and compiled loops would read there."""
    if X.format == "coo":
        for numbers, n, kind in zip((X.row, X.col), X.shape, ("row", "column"), strict=True):
            bad = np.flatnonzero((numbers < 0) | (numbers >= n)) if len(numbers) else ()
            if len(bad):
                number = numbers[bad[0]]
                raise ValueError(f"entry {bad[0]} of {name} has the {kind} number {number}; " + within(kind, n))
    elif X.format in ("csr", "csc"):
        by_row = X.format == "csr"
        (n_lines, n), (line, kind) = (X.shape, ("row", "column")) if by_row else (X.shape[::-1], ("column", "row"))
        starts, n_stored = X.indptr, min(len(X.indices), len(X.data))
        if len(starts) != n_lines + 1 or starts[0] != 0 or starts[-1] > n_stored or (starts[1:] < starts[:-1]).any():
            raise ValueError(
                f"{name} is a sparse matrix whose indptr does not rise from 0 to the {n_stored} entries that it holds; "
                "build it anew, for instance with scipy.sparse.csr_array((data, (rows, columns)))"
            )
        numbers = X.indices[: starts[-1]]
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n):
            bad = np.flatnonzero((numbers < 0) | (numbers >= n))[0]
            place = np.searchsorted(starts, bad, side="right") - 1
            raise ValueError(f"{line} {place} of {name} has the {kind} number {numbers[bad]}; " + within(kind, n))
    elif X.format == "bsr":
        X.check_format(full_check=True)


def within(kind, n):
    """The remedy for a number beyond the shape."""
    return (
        f"the matrix has {n} {kind}s, which count from 0 to {n - 1}: subtract 1 from numbers that count from 1, or "
        "build the matrix anew with a larger shape"
    )


def check_counts(estimator, X, reset):
    """Word counts as CSR or a dense array of any numeric type, not copied; the first bad document is named."""
    if sparse.issparse(X):
        check_structure(X)
    with texts_named(estimator, X):
        X = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32, np.int64, np.int32], accept_sparse="csr",
            accept_large_sparse=True, ensure_all_finite=False,
        )  # fmt: skip
    if sparse.issparse(X):  # a new object: what the caller's has noted of its order is not trusted
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    n_rows, largest = 1 << 16 if sparse.issparse(X) else max(1, (1 << 20) // X.shape[1]), 0.0
    for start, stop in spans(X.shape[0], n_rows):
        block = X.data[X.indptr[start] : X.indptr[stop]] if sparse.issparse(X) else X[start:stop]
        if not block.size:
            continue
        if block.min() >= 0 and block.max() < np.inf:  # a NaN makes both false
            largest = max(largest, float(block.max()))
            continue
        row = bad_row(X[start:stop])
        raise ValueError(
            f"Negative values in data passed to {type(estimator).__name__}, or NaN or infinity: row {start + row} of X "
            "has a count that is not a finite number >= 0; give counts or weights of words, and remove or mend that "
            "document"
        )
    if largest > LARGEST_COUNT:
        check_magnitude(X, None)
    return X


def check_magnitude(X, sample_weight, part=False):
    """Counts whose weighted sums single precision can hold, squared too; the largest one is named.

    Those of a ``part`` of the rows may be as small as they like.
    """
    data = X.data if sparse.issparse(X) else X
    largest = float(data.max()) if data.size else 0.0
    heaviest = 1.0 if sample_weight is None else float(sample_weight.max())
    if largest * heaviest > LARGEST_COUNT or (0 < largest * heaviest < SMALLEST_COUNT and not part):
        entry = int(np.argmax(data))
        row = np.searchsorted(X.indptr, entry, side="right") - 1 if sparse.issparse(X) else entry // X.shape[1]
        heaviest_row = 0 if sample_weight is None else np.argmax(sample_weight)
        weight = "" if sample_weight is None else f", and sample_weight of row {heaviest_row} is {heaviest:g}"
        raise ValueError(
            f"X has the count {largest:g} in row {row}{weight}; together they must be from {SMALLEST_COUNT:g} to "
            f"{LARGEST_COUNT:g}: multiply or divide all counts or all weights by a number"
        )


def bad_row(block):
    """The first row with an entry that is negative, NaN or infinite."""
    if sparse.issparse(block):
        bad = np.flatnonzero(~(np.isfinite(block.data) & (block.data >= 0)))[0]
        return int(np.searchsorted(block.indptr, bad, side="right") - 1)
    return int(np.flatnonzero(~(np.isfinite(block) & (block >= 0)).all(axis=1))[0])


def check_weights(sample_weight, n_rows, dtype=np.float64, part=False):
    """Sample weights as a vector; None stays None. Those of a ``part`` of the rows may be as small as they like."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, sample_weight)
    sample_weight = np.ascontiguousarray(sample_weight, dtype=dtype)
    if sample_weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {sample_weight.shape}, expected ({n_rows},): give one weight for each row of X"
        )
    bad = np.flatnonzero(~(np.isfinite(sample_weight) & (sample_weight >= 0)))
    if len(bad):
        raise ValueError(
            f"sample_weight of row {bad[0]} is {sample_weight[bad[0]]}; weights must be finite and not negative"
        )
    if not sample_weight.any():
        raise ValueError("every sample_weight is zero; give at least one row a positive weight")
    total = sample_weight.sum(dtype=np.float64)
    if total > LARGEST_WEIGHT or (total < SMALLEST_WEIGHT and not part):
        row = int(sample_weight.argmax())
        raise ValueError(
            f"sample_weight of row {row} is {sample_weight[row]:g}; all weights together must be from "
            f"{SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}: multiply or divide them by a number"
        )
    return sample_weight
