"""The benchmark of mixed tables on its drawn table, with the packages that are installed."""

import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

pd = pytest.importorskip("pandas")
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import _mixed_tables_tasks as tasks  # noqa: E402
import mixed_tables  # noqa: E402
from _results import Recorder  # noqa: E402

TABLE = list(mixed_tables.DRAWN[0])
INSTALLED = [label for label in mixed_tables.LABELS
             if label not in mixed_tables.NEEDED or find_spec(mixed_tables.NEEDED[label])]  # fmt: skip


@pytest.mark.parametrize("contestant", INSTALLED)
def test_a_contestant_finds_the_drawn_classes(contestant):
    found = tasks.contest(contestant, [], TABLE, [0], 10.0)
    assert found["error"] is None
    assert found["rand"][0] > 0.4
    comparable = contestant not in ("SparseMixedMixture", "k-prototypes", "GaussianMixture, one-hot")
    assert (found["nats"][0] is not None) == comparable


def test_likelihoods_are_those_of_the_units_of_the_table():
    """The defaults on numbers in their units, and the other model on standardised ones, have nearly the same."""
    X, _ = tasks.load(*TABLE[:3], ())
    pairs = [("diag", ["size", "visits", "wealth"]), ("categorical", ["region"])]
    scores = [make(X, 3, 0, pairs)[1]() for make in (tasks.ours, tasks.ours_likewise)]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)


def test_a_record_without_results_says_why():
    written = []
    recorder = SimpleNamespace(add=lambda *of, **fields: written.extend(Recorder(None).add(*of, **fields)))
    about = tasks.describe([], TABLE)
    for found in ({"rand": [], "nats": [], "seconds": [], "error": "ValueError: no"}, None):
        mixed_tables.note(recorder, TABLE, about, "StepMix", found)
    assert [record["found"] for record in written] == ["ValueError: no", "too slow"]


def test_the_study_of_defaults_has_a_result_for_each_variant_and_fold():
    found = tasks.study([{}, {"prior_rows": 0.1}], 3, [], TABLE, 2)
    assert [len(each["held_out"]) for each in found] == [2, 2]


def test_no_table_is_of_both_halves():
    names = [table[1] for table in (*mixed_tables.CHOSEN, *mixed_tables.REPORTED)]
    assert len(set(names)) == len(names) >= 8
