"""Imperative sentences of parameters have a row in the table of advice, and its recorded differences hold."""

import re
import sys
from pathlib import Path

import pytest
from documented import entries
from estimator_cases import CLASSES

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import advice  # noqa: E402
from _results import read  # noqa: E402

# A sentence or clause that begins with such a verb says when to change a parameter.
VERBS = "raise|lower|increase|decrease|reduce|set|use|give|choose|try|prefer|compare"
ADVICE = re.compile(rf"(?:^|[.:;,] (?:and |or |but )?)(?=(?:{VERBS})\b)", re.IGNORECASE)
SHOWN = {(row.estimator, advice.label(row)): row for row in advice.ROWS}


def advice_of(text):
    """Where imperative sentences and clauses begin, to the end of the text."""
    return [text[found.end() :] for found in ADVICE.finditer(text)]


def recorded():
    """Differences of each recorded row over seeds."""
    gains = {}
    for one in read("advice"):
        gains.setdefault((one["estimator"], one["label"]), []).append(one["scores"]["gain"])
    return gains


def test_imperatives_are_found():
    assert advice_of("Number of rows. Raise it for more; lower it, or set 0.") == [
        "Raise it for more; lower it, or set 0.", "lower it, or set 0.", "set 0."
    ]  # fmt: skip
    assert advice_of("Use 2.") == ["Use 2."]
    assert advice_of("Seed of the draws. An integer that a lower bound uses; the set is empty.") == []


@pytest.mark.parametrize("cls", CLASSES)
def test_every_imperative_sentence_has_a_row(cls):
    texts = {name: text for name, (_, text) in entries(cls, "Parameters").items()}
    measured = {name: [row.words for row in advice.ROWS if (row.estimator, row.parameter) == (cls.__name__, name)]
                for name in texts}  # fmt: skip
    unmeasured = [f"{name}: {words}" for name, text in texts.items() for words in advice_of(text)
                  if not any(words.startswith(row) for row in measured[name])]  # fmt: skip
    assert not unmeasured, "measure it in benchmarks/advice.py, or state a fact:\n" + "\n".join(unmeasured)
    assert not [(name, row) for name, rows in measured.items() for row in rows if row not in texts[name]]


def test_rows_are_of_estimators_and_parameters():
    texts = {cls.__name__: entries(cls, "Parameters") for cls in CLASSES}
    assert not [row for row in advice.ROWS if row.parameter not in texts.get(row.estimator, ())]


def test_recorded_advice_holds():
    gains = recorded()
    assert gains.keys() == SHOWN.keys()
    assert len(SHOWN) == len(advice.ROWS)
    assert all(len(values) >= 5 for values in gains.values())
    assert not [row for row, values in gains.items() if not advice.holds(values)]


def test_advice_holds_by_two_standard_errors():
    assert advice.holds([0.5, 1.0, 1.5])  # mean 1, standard error 0.29
    assert not advice.holds([-0.5, 1.0, 2.5])  # mean 1, standard error 0.87
    assert not advice.holds([-0.5, -1.0, -1.5])
