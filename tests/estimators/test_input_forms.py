"""What is read of every form of data: its numbers, or one sentence; nothing else."""

import warnings
from itertools import product

import forms
import numpy as np
from estimator_cases import CASES, DIRECTIONS, QUICK, over
from fitted import assert_same, attributes, few_epochs
from scipy import sparse
from sklearn.utils import get_tags
from test_wrong_input import refused

pytestmark = few_epochs
N = 24
# A setting tries every so many-th form of a table; settings begin at different ones, so that together they try all.
STEP = 10


def takes_sparse(case):
    return case.data.sparse or case.data is DIRECTIONS


def numbers_of(case):
    """Some rows of the case as whole numbers."""
    rows = case.data.rows[:N]
    return rows.toarray().astype(np.int64) if case.data.sparse else np.abs(np.rint(4 * rows)).astype(np.int64) + 1


# What an estimator of columns of several kinds says: it takes texts, and names columns as they are named.
OF_COLUMNS = r"column '?\w+'? of X|in column '?\w+'?|\bX\b.*(give|make|fill|convert|Reshape|Expected|not supported)"


def some(case, names, quick=1):
    """The forms that a setting tries; the first setting of each class and kind of data tries more."""
    step = quick if case in QUICK else STEP
    if case.data.categories:  # where the text of a number is another category than the number
        names = [name for name in names if "text of numbers" not in name]
    return list(names)[CASES.index(case) % step :: step]


def learned(case, X):
    """What a short fit says of itself and of the same rows."""
    est = case.make(**({"max_iter": 1} if case.has("max_iter") else {}))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* clusters were opened for")  # few rows
        warnings.filterwarnings("ignore", ".*feature names")  # those of Arrow are not known to every scikit-learn
        est.fit(X)
        out = attributes(est) | {"rows": est.transform(X) if hasattr(est, "transform") else est.predict_proba(X)}
    for name in ("feature_names_in_", "columns_"):  # names of columns
        out.pop(name, None)
    return out


@over(CASES)
def test_forms_are_their_numbers(case):
    A = numbers_of(case)
    tables = [(A.astype(np.float64), forms.DENSE), (A.astype(np.float32), forms.SINGLE)]
    if takes_sparse(case):
        more = {} if case.data.kind == "words" else forms.REPEATED
        tables.append((sparse.csr_array(A.astype(np.float64)), forms.SPARSE | more))
    for canonical, table in tables:
        wanted = learned(case, canonical)
        for name in some(case, table, quick=2):
            if case.data.kind == "words" and name in forms.LISTS:
                continue
            try:
                assert_same(wanted, learned(case, table[name](A)))
            except Exception as error:
                raise AssertionError(f"{name}: {error}") from error


@over(CASES)
def test_what_is_not_a_number_is_refused(case):
    A, table = numbers_of(case), dict(forms.WRONG)
    if case.data.kind == "words":
        del table["rows of different lengths"]
        table |= forms.NO_WORDS
    if takes_sparse(case):
        table |= forms.WRONG_SPARSE
    for name in some(case, table):
        form, message = table[name]
        message = OF_COLUMNS if get_tags(case.estimator).input_tags.string else message
        if forms.is_missing(name, case.data.categories) and get_tags(case.estimator).input_tags.allow_nan:
            assert np.isfinite(case.make().fit(form(A)).score(form(A))), name
            continue
        with refused(name, message):
            case.make().fit(form(A))


@over(CASES)
def test_objects_that_are_no_arrays_are_refused_without_reading_them(case):
    A = numbers_of(case)
    for name, (make, message) in forms.OBJECTS.items():
        with refused(name, f"X.*{message}"):
            case.make().fit(make())
        if not case.rows_alone:
            with refused(f"sample_weight as {name}", f"sample_weight.*{message}"):
                case.make().fit(A, sample_weight=make())


@over(CASES)
def test_damaged_matrices_are_refused(case):
    """The error comes before SciPy or a compiled loop reads beyond an array."""
    A = numbers_of(case)
    message = forms.DAMAGE_IS_SAID if takes_sparse(case) else f"{forms.DAMAGE_IS_SAID}|Sparse data was passed"
    for name, kind in some(case, product(forms.DAMAGED, ("array", "matrix"))):
        with refused(f"{kind} {name}", message):
            case.make().fit(forms.damaged(name, A, kind))
