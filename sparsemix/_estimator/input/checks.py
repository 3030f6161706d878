"""Checks of rows, counts and weights; errors name the first invalid row and the remedy."""

import numbers
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from sparsemix._compat import Interval, Options
from sparsemix._estimator.features import feature_dtype
from sparsemix._estimator.input.forms import TYPES, floats_of, row_of, table_of, texts_named, without_index
from sparsemix._estimator.input.labels import column_name
from sparsemix._rows.blocks import gathered, spans
from sparsemix._rows.documents import canonical
from sparsemix._typing import Array, RowsLike
from sparsemix._warnings import warn_caller

# Minimum of positive parameters: division by smaller ones overflows.
SMALLEST_NUMBER = 1e-300
# Minimum of the pseudo-count of an unseen word. Its logarithm is multiplied by counts, and must stay finite.
SMALLEST_PRIOR = 1e-37
PRIOR = Interval(numbers.Real, SMALLEST_PRIOR, None, closed="left")
POSITIVE = Interval(numbers.Real, SMALLEST_NUMBER, None, closed="left")

# joblib's meaning: a number of threads, or -1 for all cores, -2 for all but one, and so on.
N_JOBS = (
    Interval(numbers.Integral, 1, None, closed="left"),
    Interval(numbers.Integral, None, -1, closed="right"),
    None,
)
# Range of the sum of all weights, so that products with other sums stay finite.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-30, 1e28
# Weights of this many rows or more are light if none of them reaches this size, or if all together are one row. The
# largest weight decides, and not the mean, since old rows of a discounted stream may well have weights near zero.
LIGHT_ROWS, LIGHT_WEIGHT = 10, 0.05
# Range of counts times weights, so that float32 can represent the sum of ten thousand squares.
SMALLEST_COUNT, LARGEST_COUNT = 1e-30, 1e17
COUNT = Interval(numbers.Real, SMALLEST_COUNT, LARGEST_COUNT, closed="both")
# Range of given variances and precisions, so that products with counts and squares of rows stay finite.
SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-140, 1e140
VARIANCE = Interval(numbers.Real, SMALLEST_VARIANCE, LARGEST_VARIANCE, closed="both")


# Rows of the sample that shows whether X holds counts.
SAMPLE_ROWS = 100
# To see whether X holds logarithms: least number of values that exceed the smallest one of their row, the values that
# count, and the multiples of the smallest one that float32 represents well.
LOG_VALUES, LARGEST_LOG, MOST_TIMES = 20, 16.0, 30.0
# Rows are light if the mean of their positive values, which is at least 1 for counts, and their mean sum are below
# these. Documents of 100 tokens fill 15 components of words; scaled to 30 they fill 14, to 20 or less 11 at most.
# Documents of 1,300 tokens fill 18 of 20 after they are scaled to 130. Numbers from 0 to 1, such as grey values, have
# the mean 0.5; rows of length one have at most 0.4 from seven words on.
LIGHT_VALUE, LIGHT_ROW = 0.4, 50.0


class Several(Options):
    """Constraint of a parameter: a tuple of values, each of which satisfies its constraint."""

    def __init__(self, *parts):
        super().__init__(tuple, set())
        self.parts = parts

    def is_satisfied_by(self, val):
        """See Interval."""
        if not (isinstance(val, tuple) and len(val) == len(self.parts)):
            return False
        return all(part.is_satisfied_by(each) for part, each in zip(self.parts, val, strict=True))

    def __str__(self):
        return f"a tuple of {', '.join(map(str, self.parts[:-1]))} and {self.parts[-1]}"


# Offset and decay of the step sizes (t + offset) ** -decay; or scale, offset and decay.
RULE = Interval(numbers.Real, 0.0, None, closed="left"), Interval(numbers.Real, 0.0, 1.0, closed="right")
STEP_SIZE = [Several(*RULE), Several(POSITIVE, *RULE)]


def validated(estimator, X, reset, dtype=TYPES, accept_sparse=False, own=False):
    """scikit-learn's checks of the shape, and of the names and the number of features, after the conversion."""
    with texts_named(estimator, X):
        numbers = table_of(X, dtype=dtype, accept_sparse=accept_sparse, estimator=estimator, own=own)
    nameless = type(X) is np.ndarray and not hasattr(estimator, "feature_names_in_")
    if reset or not nameless or numbers.shape[1] != getattr(estimator, "n_features_in_", None):  # it finds names slowly
        validate_data(estimator, without_index(X), reset=reset, skip_check_array=True)
    return numbers


def check_rows(
    estimator: Any, X: RowsLike, reset: bool, dtype: Any = None, missing: bool = False, own: bool = False
) -> Array:
    """Checked dense rows as float32 or float64, copied only for a conversion.

    Parameters
    ----------
    estimator : estimator
        It gets the number and the names of the features, or has them.
    X : array-like of shape (n_samples, n_features)
        Numbers, or a data frame.
    reset : bool
        Whether a fit begins; otherwise the features must be those of the fit.
    dtype : dtype, default=None
        Type in which squares of values must not overflow; None means that of the rows.
    missing : bool, default=False
        Whether values may be NaN.
    own : bool, default=False
        Whether rows of other types of numbers stay as they are.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        For NaN, infinity and extreme values, with the first such row, and for other features.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from sparsemix.extend import check_rows
    >>> estimator = BaseEstimator()
    >>> check_rows(estimator, [[1, 2], [3, 4]], reset=True).dtype
    dtype('float64')
    >>> estimator.n_features_in_
    2
    """
    X = validated(estimator, X, reset, (np.float64, np.float32), own=own)
    kind = feature_dtype(X)
    dtype = kind if dtype is None else np.result_type(dtype)
    limit = largest_value(dtype)
    for start, stop in spans(len(X), max(1, (1 << 16) // X.shape[1])):
        block = gathered(X, slice(start, stop), kind)  # NumPy reads it several times, strided arrays slowly
        block = np.where(np.isnan(block), kind.type(0), block) if missing else block
        if float(block.min()) >= -limit and float(block.max()) <= limit:  # a NaN makes both false
            continue
        row, column = np.argwhere(~(np.abs(block) <= block.dtype.type(min(limit, float(np.finfo(block.dtype).max)))))[0]
        value, column = block[row, column], column_name(estimator, column)
        if np.isfinite(value):
            raise ValueError(
                f"row {start + row} of X holds the extreme value {value:.3g} in column {column}, whose powers "
                f"{dtype} cannot represent; scale the columns, or remove the row"
            )
        sibling = getattr(estimator, "_learns_from_missing", None) if np.isnan(value) else None
        raise ValueError(
            f"Input X contains {'NaN' if np.isnan(value) else 'infinity'} in row {start + row}, column {column}; "
            "remove such rows or impute them (sklearn.impute.SimpleImputer)"
            + (f", or use {sibling}, which learns from incomplete rows" if sibling else "")
        )
    return X


def check_columns(X, estimator, dtype=None):
    """Refuse columns of values so small that the inverses of their squares overflow in ``dtype``."""
    limit = 1.0 / largest_value(dtype or X.dtype)
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    bad = np.flatnonzero((largest > 0) & (largest < limit))
    if len(bad):
        raise ValueError(
            f"column {column_name(estimator, bad[0])} of X has values of at most {largest[bad[0]]:.3g}, too small for "
            f"{dtype or X.dtype}; scale the columns"
        )


def largest_value(dtype):
    """Largest accepted value: sums of squares stay finite, in float64 also sums of fourth powers."""
    return 1e17 if dtype == np.float32 else 1e70


def check_explained(largest, start):
    """Refuse a row whose weights are all -inf: it has no responsibilities."""
    bad = np.flatnonzero(~(largest > -np.inf))
    if len(bad):
        raise ValueError(
            f"the log weight of row {start + bad[0]} is -inf for every component; check the row for extreme values"
        )


def check_counts(estimator, X, reset):
    """Word counts as CSR or a dense array of any numeric type, not copied; the first bad document is named."""
    X = validated(estimator, X, reset, accept_sparse=True)
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
            "has a count that is not a finite number >= 0; give counts or weights of words, and remove or correct that "
            "document"
        )
    if largest > LARGEST_COUNT:
        check_magnitude(X, None)
    if reset and X.dtype.kind == "f":
        warn_of_weights(X)
    if X.dtype.kind == "i" and largest * (X.nnz if sparse.issparse(X) else X.size) > np.iinfo(np.int64).max:
        return X.astype(np.float64)  # int64 does not hold the sums
    return X


def warn_of_weights(X):
    """Warn of weights of words that models of counts cannot describe: light ones, and logarithms."""
    if not X.shape[0]:
        return
    sample = np.unique(np.linspace(0, X.shape[0] - 1, SAMPLE_ROWS).astype(int))
    some = canonical(X[sample]) if sparse.issparse(X) else X[sample]
    rows = np.split(some.data, some.indptr[1:-1]) if sparse.issparse(X) else some
    rows = [values[values > 0].astype(np.float64) for values in rows]
    rows = [values for values in rows if len(values)]
    if not rows:
        return
    total, n_words = np.mean([(values.sum(), len(values)) for values in rows], axis=0)
    if total < LIGHT_ROW and total < LIGHT_VALUE * n_words:
        warn_caller(
            f"X has the sum {total:.3g} over the {n_words:.0f} words of a mean row, as TF-IDF and shares have, but "
            "should hold counts: priors count tokens and outweigh so few; give counts, or multiply each row by the "
            "number of tokens of its document, divided by the sum of the row",
        )
    elif are_logarithms(rows):
        warn_caller(
            "X seems to hold logarithms, log1p of counts, and its rows should be counts; give the counts, which users "
            "of AnnData often keep in a layer, such as adata.layers['counts']",
        )


def are_logarithms(rows):
    """Whether positive values of rows are log1p of counts, scaled or not, which ``X`` of AnnData often holds.

    In a row of log1p(c f), where c are counts and f is a factor, expm1 of a value is a whole multiple of expm1 of the
    smallest value, for which c = 1. Only logarithms have such multiples: counts and scaled counts are themselves
    multiples of the smallest one, and weights such as TF-IDF are not multiples of anything.
    """
    logarithmic, plain = [np.empty(0)], [np.empty(0)]
    for row in rows:
        values = row[row < LARGEST_LOG]
        if len(values):
            ratios = np.expm1(values) / np.expm1(values.min())
            kept = (ratios > 1.5) & (ratios < MOST_TIMES)
            logarithmic.append(ratios[kept])
            plain.append(values[kept] / values.min())
    ratios = np.concatenate(logarithmic)
    if len(ratios) < LOG_VALUES or share_whole(ratios) < 0.9 or share_whole(np.concatenate(plain)) > 0.5:
        return False
    return len(np.unique(np.rint(ratios))) > 1  # of two values alone the ratio is whole by chance


def share_whole(ratios):
    """Share of numbers that are whole, up to rounding of float32."""
    return np.mean(np.abs(ratios - np.rint(ratios)) < 1e-3)


def check_magnitude(X, sample_weight, part=False):
    """Refuse counts whose weighted sums of squares overflow in float32; the error names the largest count.

    Counts of a ``part`` of the rows have no minimum.
    """
    data = X.data if sparse.issparse(X) else X
    largest = float(data.max()) if data.size else 0.0
    heaviest = 1.0 if sample_weight is None else float(sample_weight.max())
    if largest * heaviest > LARGEST_COUNT or (0 < largest * heaviest < SMALLEST_COUNT and not part):
        entry = int(np.argmax(data))
        heaviest_row = 0 if sample_weight is None else np.argmax(sample_weight)
        weight = "" if sample_weight is None else f", and sample_weight of row {heaviest_row} is {heaviest:g}"
        raise ValueError(
            f"X has the count {largest:g} in row {row_of(X, entry)}{weight}; together they must be from "
            f"{SMALLEST_COUNT:g} to {LARGEST_COUNT:g}: multiply or divide all counts or all weights by a number"
        )


def bad_row(block):
    """The first row with an entry that is negative, NaN or infinite."""
    data = block.data if sparse.issparse(block) else np.ravel(block)
    return row_of(block, np.flatnonzero(~(np.isfinite(data) & (data >= 0)))[0])


def check_weights(sample_weight, n_rows, part=False):
    """Sample weights as a vector; None stays None. Weights of a ``part`` of the rows have no minimum."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, floats_of(sample_weight, "sample_weight"))
    sample_weight = np.ascontiguousarray(floats_of(sample_weight, "sample_weight"))
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


def weighted_mean(values, sample_weight):
    """Mean of one value of each row."""
    return float(np.average(values, weights=check_weights(sample_weight, len(values))))


def n_observed(X):
    """Number of rows with a value: a row of missing values says nothing."""
    if not sparse.issparse(X):
        return len(X) - int(np.isnan(X).all(axis=1).sum()) if X.dtype.kind == "f" else len(X)
    lost = sparse.csr_array(X).astype(np.float64)
    lost.data = np.isnan(lost.data).astype(np.float64)
    return int((lost.sum(axis=1) < X.shape[1]).sum())


def of_positive_weight(X, sample_weight, part=False):
    """Rows of positive weight, their checked weights, and their mask over the given rows (None: all)."""
    sample_weight = check_weights(sample_weight, X.shape[0], part=part)
    if sample_weight is None or sample_weight.all():
        return X, sample_weight, None
    kept = sample_weight > 0
    return X[kept], sample_weight[kept], kept


def warn_of_light_weights(*weights):
    """Warn of weights in place of counts of rows, such as weights that sum to one: priors outweigh such rows.

    ``weights`` are arrays of weights, or None, of all rows that count together.
    """
    kept = [weight[weight > 0] for weight in weights if weight is not None]
    n_rows, total = sum(map(len, kept)), float(sum(weight.sum(dtype=np.float64) for weight in kept))
    largest = max((weight.max() for weight in kept if len(weight)), default=0.0)
    if n_rows >= LIGHT_ROWS and (largest < LIGHT_WEIGHT or total <= 1.0 + 1e-6):
        warn_caller(
            f"sample_weight has the sum {total:.3g} over {n_rows} rows of positive weight, but weights count rows, and "
            "so few hardly change a prior or an initialisation; pass w * len(w) / w.sum() if weights w are relative",
        )


def check_number(name: str, value: Any) -> None:
    """Raise unless a number of items is an integer of at least 1.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        Its value.

    Returns
    -------
    nothing : None

    Raises
    ------
    ValueError
        For anything but a whole number above zero.

    Examples
    --------
    >>> from sparsemix.extend import check_number
    >>> check_number("n_topics", 3)
    >>> check_number("n_topics", 0)
    Traceback (most recent call last):
    ...
    ValueError: n_topics is 0; give a whole number above zero
    """
    if not isinstance(value, numbers.Integral) or isinstance(value, (bool, np.bool_)) or value < 1:
        raise ValueError(f"{name} is {value!r}; give a whole number above zero")
