"""Edits of formulas that ``make mutants`` tries: each stands where it says, and so do the tests that must fail."""

import shlex
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MUTANTS = [
    mutant for path in sorted((TESTS / "mutants").glob("*.toml"))
    for mutant in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{Path(mutant['file']).name}: {mutant['old'][:40]}")
def test_edits_and_their_tests_are_there(mutant):
    text = (TESTS.parent / mutant["file"]).read_text(encoding="utf-8")
    assert text.count(mutant["old"]) == 1, "the formula has changed: change the edit with it"
    assert mutant["new"] != mutant["old"]
    for word in shlex.split(mutant["tests"]):
        path, _, name = word.partition("::")
        if path.startswith("tests/"):
            assert f"def {name.partition('[')[0]}(" in (TESTS.parent / path).read_text(encoding="utf-8") or not name
