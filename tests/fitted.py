"""What a fitted estimator says of itself and of rows, and comparisons of it to the bit."""

import numbers

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

# Fits of a few epochs on purpose: they are compared with each other, not brought to convergence.
few_epochs = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Types of what a file of plain arrays holds, within dicts, lists and tuples.
PLAIN = str, bytes, numbers.Number, np.bool_, type(None), np.ndarray

READERS = ("transform", "predict", "predict_proba", "predict_sparse_proba", "score_samples", "transform_words", "score")


def dense(X):
    """An array of what may be sparse."""
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def records(table):
    """Rows of a table as dicts: of a data frame where pandas is installed."""
    return table.to_dict("records") if hasattr(table, "to_dict") else table


def attributes(est):
    """Fitted attributes by name, those that are made on demand too; epochs without their seconds."""
    out = {}
    for name in sorted({*dir(type(est)), *vars(est)}):
        if name.endswith("_") and not name.startswith("_") and hasattr(est, name):
            out[name] = getattr(est, name)
    if "history_" in out:
        out["history_"] = [{key: record[key] for key in record if key != "seconds"} for record in out["history_"]]
    return out


def readings(est, rows):
    """What an estimator says of rows, by the method that says it."""
    out = {name: getattr(est, name)(rows) for name in READERS if hasattr(est, name)}
    if hasattr(est, "expected_stats"):
        out |= {f"expected {name}": value for name, value in est.expected_stats(rows)._arrays()}
    return {name: value.toarray() if hasattr(value, "toarray") else value for name, value in out.items()}


def said(est, rows):
    """Everything."""
    return attributes(est) | readings(est, rows)


def assert_same(first, second, but=()):
    """Two dictionaries of values have the same names and the same bits."""
    assert sorted(first) == sorted(second)
    for name, value in first.items():
        if name in but:
            continue
        if isinstance(value, (np.ndarray, np.generic)):
            np.testing.assert_array_equal(value, second[name], strict=True, err_msg=name)
        elif sparse.issparse(value):
            np.testing.assert_array_equal(value.toarray(), second[name].toarray(), strict=True, err_msg=name)
        elif isinstance(value, BaseEstimator):  # a parameter with parameters
            assert repr(value) == repr(second[name]), name
        else:
            np.testing.assert_equal(value, second[name], err_msg=name)


def assert_close(first, second, rtol):
    """Two dictionaries of values have the same names, and numbers that agree but for rounding."""
    assert sorted(first) == sorted(second)
    for name, value in first.items():
        if isinstance(value, (np.ndarray, np.generic, float)):
            np.testing.assert_allclose(value, second[name], rtol=rtol, err_msg=name)
        else:
            np.testing.assert_equal(value, second[name], err_msg=name)


def leaves(value):
    """The values in nested dicts, lists and tuples."""
    if isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


def assert_same_bits(first, second, rows, but=()):
    """Two estimators say the same, but for some names."""
    assert_same(said(first, rows), said(second, rows), but)


def snapshot(est, rows):
    """What an estimator holds and says, to compare with later."""
    before = said(est, rows)
    return dict(vars(est)), before


def assert_holds(est, before):
    """It holds the same objects."""
    held, _ = before
    assert list(vars(est)) == list(held), set(vars(est)) ^ set(held)
    assert [name for name, value in vars(est).items() if value is not held[name]] == []


def assert_unchanged(est, before, rows):
    """It holds the same objects and says the same."""
    assert_holds(est, before)
    assert_same(before[1], said(est, rows))


def assert_never_fitted(est):
    """Nothing but parameters."""
    assert sorted(vars(est)) == sorted(est.get_params(deep=False))
    assert attributes(est) == {}


def sums_of(est):
    """The statistics that an estimator holds, read without folding a pending factor in, which moves last bits."""
    stats = est._fitted.stats.copy()
    out = {name: stats[name] for name, _ in stats._arrays()}
    return {name: value.toarray() if hasattr(value, "toarray") else value for name, value in out.items()}
