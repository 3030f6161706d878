"""What all estimators share: input checks, pickling, and calls that leave a fitted model alone when they fail."""

import numbers
import warnings
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from sparsemix._compat import CallbackSupportMixin
from sparsemix._engine.blocks import spans
from sparsemix._version import __version__


class SparsemixEstimator(CallbackSupportMixin, BaseEstimator):
    """Version-stamped pickles, calls that change all or nothing, scikit-learn's callbacks where it has them."""

    def __getstate__(self):
        return {**super().__getstate__(), "_sparsemix_version": __version__}

    def __setstate__(self, state):
        version = dict(state).pop("_sparsemix_version", "unknown")
        if version != __version__:
            warnings.warn(
                f"{type(self).__name__} was pickled by sparsemix {version} and is loaded by {__version__}; fit it "
                "anew if results differ",
                UserWarning,
                stacklevel=2,
            )
        super().__setstate__({name: value for name, value in state.items() if name != "_sparsemix_version"})

    @contextmanager
    def _all_or_nothing(self, salvage=lambda: False):
        """Restore all attributes when the block raises, unless ``salvage`` can publish a completed step."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            if salvage():
                raise
            # scikit-learn tears its callbacks down after this and needs what it has noted about them
            callbacks = {name: value for name, value in vars(self).items() if "_callback" in name}
            vars(self).clear()
            vars(self).update(before | callbacks)
            raise


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


def check_counts(estimator, X, reset):
    """Word counts as CSR or a dense array of any numeric type, not copied; the first bad document is named."""
    X = validate_data(
        estimator, X, reset=reset, dtype=[np.float64, np.float32, np.int64, np.int32], accept_sparse="csr",
        accept_large_sparse=True, ensure_all_finite=False,
    )  # fmt: skip
    X = sparse.csr_array(X) if sparse.issparse(X) else X
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


def seeded(random_state):
    """A generator of random numbers, from what ``random_state`` may be."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
