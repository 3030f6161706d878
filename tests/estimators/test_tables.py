"""Results in rows are data frames where pandas is installed, else lists of dicts with the same values."""

import sys

import numpy as np
import pytest
from fitted import records

from sparsemix import SkipGramTopicModel, SparseSCVB0LDA, report, representative_documents
from sparsemix.datasets import make_bars, make_skip_gram
from sparsemix.topics import estimate_effect, topics_over_time

X = make_bars(n_samples=120, random_state=0)[0]
YEAR = np.arange(120) % 4
LDA = SparseSCVB0LDA(10, max_iter=20, random_state=0).fit(X)
SKIPGRAM = SkipGramTopicModel(3, max_iter=2, random_state=0).fit(make_skip_gram(50, random_state=0)[0])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def effects():
    pytest.importorskip("formulaic")
    return estimate_effect(LDA, X, {"year": YEAR}, "year", n_draws=2)


TABLES = {
    "topic_table": lambda: LDA.topic_table(),
    "word_topic_table": lambda: SKIPGRAM.word_topic_table(0),
    "representative_documents": lambda: representative_documents(LDA, X),
    "report": lambda: report(LDA, X).table(),
    "changes": lambda: topics_over_time(LDA, X, YEAR, max_iter=1).changes(),
}


@pytest.mark.parametrize("name", TABLES)
def test_results_in_rows_are_data_frames_with_pandas_and_lists_without(name, monkeypatch):
    pandas = pytest.importorskip("pandas")
    frame = TABLES[name]()
    assert isinstance(frame, pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    rows = TABLES[name]()
    assert isinstance(rows, list)
    assert rows == records(frame)


def test_effects_are_data_frames(effects):
    """Formulas need pandas."""
    columns = ["estimate", "std", "low", "high"]
    assert list(effects.table()) == ["topic", "term", *columns]
    assert list(effects.contrast({"year": [3]}, {"year": [0]})) == ["topic", *columns]
    assert list(effects.predict({"year": [3, 0]})) == ["row", "topic", "mean", "std", "low", "high"]


def test_rows_of_predictions_are_those_of_the_arrays(effects):
    rows, found = records(effects.predict({"year": [3, 0]})), effects._expected({"year": [3, 0]})
    assert [(row["row"], row["topic"]) for row in rows] == [(i, k) for i in range(2) for k in range(10)]
    for name in ("mean", "std", "low", "high"):
        np.testing.assert_array_equal([row[name] for row in rows], found[name].ravel())
