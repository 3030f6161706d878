"""Warnings point at the line of the user that called, and name columns of data frames by their names."""

import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sparsemix import (
    GibbsNGGPMixture,
    SparseGaussianMixture,
    SparseLDA,
    SparseSCVB0LDA,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
    blocks,
)
from sparsemix._estimator import base

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(200, 3))
FLAGS, DEPENDENT = np.c_[ROWS, np.eye(3)[RNG.integers(3, size=200)]], np.c_[ROWS, ROWS[:, 0] + ROWS[:, 2]]
FAR = np.where(np.arange(600).reshape(200, 3) == 3 * 17 + 1, 1e9, ROWS)
CODED = np.where(np.arange(200)[:, None] % 50 == 7, -999.0, ROWS)
COUNTS = RNG.poisson(0.2, (200, 20))
COUNTS[:, 0] += 1
MIXTURE = SparseGaussianMixture(2, random_state=0)
TIED = clone(MIXTURE).set_params(covariance_type="tied")
# What warns, and the words of the warning with the names of the columns.
OF_COLUMNS = {
    "wild": (TIED, FAR, r"row 17 of X has the extreme value 1e\+09 in column 'b', which"),
    "far": (MIXTURE, FAR, r"such as row 17 with 1e\+09 in column 'b'\) and may"),
    "flags": (MIXTURE, FLAGS, r"columns 'd', 'e', 'f' of X hold two values each"),
    "dependent": (MIXTURE, DEPENDENT, r"columns 'a', 'c', 'd' of X depend linearly"),
}
WARN = {
    **OF_COLUMNS,
    "counts": (MIXTURE, COUNTS, r"X holds whole numbers, most of them zero"),
    "epochs": (SparseLDA(2, max_iter=1, learning_method="batch"), COUNTS, r"did not converge in max_iter=1"),
    "weights": (SparseSCVB0LDA(2, max_iter=2, random_state=0), COUNTS / 1e3, r"as TF-IDF and shares have"),
    "direction": (SparseVonMisesFisherMixture(2, random_state=0), 1e6 + ROWS, r"nearly the same direction"),
    "likelihood": (StreamingNGGPMixture(random_state=0), FLAGS[:, 3:], r"treats X as measurements"),
    "code": (StreamingNGGPMixture("diag", random_state=0), CODED, r"hold -999, which"),
    "chains": (GibbsNGGPMixture("diag", max_iter=4, n_chains=2, random_state=0), CODED, r"hold -999, which"),
}  # fmt: skip
CALLS = {
    "fit": lambda est, X: est.fit(X),
    "fit_transform": lambda est, X: est.fit_transform(X),
    "pipeline": lambda est, X: make_pipeline(FunctionTransformer(), est).fit(X),
    "partial_fit": lambda est, X: est.partial_fit(X),
    "blocks": lambda est, X: blocks.fit(est, [X]),
}


def warned(call):
    """The warnings of a call."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return found


@pytest.mark.parametrize("call", ["fit", "fit_transform", "pipeline"])
@pytest.mark.parametrize("name", WARN)
def test_warnings_point_at_the_line_that_fits(name, call):
    est, X, message = WARN[name]
    found = warned(lambda: CALLS[call](clone(est), X))
    assert {one.filename for one in found} == {__file__}
    assert name in OF_COLUMNS or any(re.search(message, str(one.message)) for one in found)


@pytest.mark.parametrize("call", ["fit", "fit_transform", "partial_fit", "blocks"])
@pytest.mark.parametrize("name", OF_COLUMNS)
def test_warnings_name_the_columns_of_data_frames(name, call):
    est, X, message = OF_COLUMNS[name]
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcdef"[: X.shape[1]]))
    with pytest.warns(UserWarning, match=message) as found:
        CALLS[call](clone(est), frame)
    assert {one.filename for one in found} == {__file__}


def test_errors_name_the_columns_of_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0, np.nan], "income": [1.0, np.inf, 3.0]})
    with pytest.raises(ValueError, match=r"contains infinity in row 1, column 'income';"):
        MIXTURE.fit(frame)
    with pytest.raises(ValueError, match=r"contains NaN in row 2, column 'age';"):
        StreamingNGGPMixture("diag").fit(frame[["age"]])
    with pytest.raises(ValueError, match=r"column 'income' of X is NaN in every row"):
        MIXTURE.fit(frame.assign(income=np.nan))
    with pytest.raises(ValueError, match=r"column 'age' of X has values of at most"):
        MIXTURE.fit(pandas.DataFrame({"age": np.arange(9) * 1e-200}))


def test_a_fit_to_numbers_forgets_the_names_of_a_frame():
    frame = pytest.importorskip("pandas").DataFrame(ROWS, columns=list("abc"))
    est = clone(TIED).fit(frame)
    with pytest.warns(UserWarning, match=r"in column 1, which"):
        est.fit(FAR)


def test_a_fit_may_have_threads():
    """Their stacks have no line of the user."""
    assert {one.filename for one in warned(lambda: clone(TIED).set_params(n_jobs=2).fit(FAR))} == {__file__}


def test_pickles_of_another_version_point_at_the_line_that_loads(monkeypatch):
    saved = pickle.dumps(clone(MIXTURE))
    monkeypatch.setattr(base, "__version__", "another")
    (found,) = warned(lambda: pickle.loads(saved))
    assert found.filename == __file__
