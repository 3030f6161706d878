"""Checks of input: rows, counts, weights; the first bad row is named, with the remedy."""

import numbers

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from sparsemix._engine.blocks import spans


def check_rows(estimator, X, reset):
    """Dense rows as float32 or float64, without a copy where they are; the first row with NaN or inf is named."""
    X = validate_data(
        estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False, accept_sparse=False
    )
    for start, stop in spans(len(X), max(1, (1 << 20) // X.shape[1])):
        finite = np.isfinite(X[start:stop])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value = "NaN" if np.isnan(X[start + row, column]) else "infinity"
            raise ValueError(
                f"Input X contains {value} in row {start + row}, column {column}; remove such rows or impute them "
                "(sklearn.impute.SimpleImputer)"
            )
    return X


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
    X = validate_data(
        estimator, X, reset=reset, dtype=[np.float64, np.float32, np.int64, np.int32], accept_sparse="csr",
        accept_large_sparse=True, ensure_all_finite=False,
    )  # fmt: skip
    if sparse.issparse(X):  # a new object: what the caller's has noted of its order is not trusted
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    n_rows = 1 << 16 if sparse.issparse(X) else max(1, (1 << 20) // X.shape[1])
    for start, stop in spans(X.shape[0], n_rows):
        block = X.data[X.indptr[start] : X.indptr[stop]] if sparse.issparse(X) else X[start:stop]
        if not block.size or (block.min() >= 0 and block.max() < np.inf):  # a NaN makes both false
            continue
        row = bad_row(X[start:stop])
        raise ValueError(
            f"Negative values in data passed to {type(estimator).__name__}, or NaN or infinity: row {start + row} of X "
            "has a count that is not a finite number >= 0; give counts or weights of words, and remove or mend that "
            "document"
        )
    return X


def bad_row(block):
    """The first row with an entry that is negative, NaN or infinite."""
    if sparse.issparse(block):
        bad = np.flatnonzero(~(np.isfinite(block.data) & (block.data >= 0)))[0]
        return int(np.searchsorted(block.indptr, bad, side="right") - 1)
    return int(np.flatnonzero(~(np.isfinite(block) & (block >= 0)).all(axis=1))[0])


def check_weights(sample_weight, n_rows, dtype=np.float64):
    """Sample weights as a vector; None stays None."""
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
    return sample_weight
